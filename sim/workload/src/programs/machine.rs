//! Programs whose work-groups synchronise inside one GPU: which GPU a work-group is on.
//!
//! They rely on the contiguous cut of `cu-and-consistency.md` section 1.2: with a number of work-groups that is a
//! multiple of `gpus`, GPU g runs an equal, contiguous part. What crosses GPUs crosses a kernel boundary, too.

use super::WorkloadError;
use super::params::{Legal, ParamSpec, Params};
use super::simt::Thread;
use crate::op::Scope;

/// Parameter `gpus`; `weft run` sets it to the fabric's.
pub const GPUS: ParamSpec = ParamSpec {
    name: "gpus",
    default: "4",
    legal: Legal::Integer { min: 1, max: 64 },
    unit: "GPUs",
    about: "Parts of each launch whose work-groups synchronise at .gpu scope; a multiple of the fabric's GPUs (its own number unless given), work-groups dispatched contiguously.",
};

/// Parameter `cus`; `weft run` sets it to the fabric's.
pub const CUS: ParamSpec = ParamSpec {
    name: "cus",
    default: "4",
    legal: Legal::Integer { min: 1, max: 1024 },
    unit: "CUs",
    about: "CUs of a GPU: as many work-groups of 64 threads wait for one another in each GPU, so all are resident (the fabric's own number unless given).",
};

/// The GPUs that a program counts on.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// GPUs.
    pub gpus: u64,
}

impl Machine {
    /// As the parameters say.
    pub fn new(params: &Params) -> Self {
        Self { gpus: params.integer("gpus") }
    }

    /// The least number of work-groups that is a multiple of the GPUs and not below `blocks`.
    pub fn padded(self, blocks: u64) -> u64 {
        blocks.next_multiple_of(self.gpus)
    }

    /// GPU of a thread in a launch of `blocks` work-groups, a multiple of the GPUs.
    pub fn gpu_of(self, thread: &Thread, blocks: u64) -> u64 {
        thread.block / (blocks / self.gpus)
    }
}

/// Parameter `gpms`; `weft run` sets it to the fabric's.
pub const GPMS: ParamSpec = ParamSpec {
    name: "gpms",
    default: "1",
    legal: Legal::Integer { min: 1, max: 64 },
    unit: "GPMs",
    about: "Equal parts of a GPU's CUs, each with a contiguous part of its work-groups (the fabric's own number unless given).",
};

/// Parameter `line`; `weft run` sets it to the fabric's.
pub const LINE: ParamSpec = ParamSpec {
    name: "line",
    default: "64",
    legal: Legal::Choice(&["64", "128"]),
    unit: "bytes",
    about: "Cache line: what is to have a line of its own has one (the fabric's own unless given).",
};

/// On which CU each work-group of a launch is that gives every CU equally many.
///
/// Work-groups are cut contiguously into the GPUs' parts and these into the GPMs'; inside a part, work-group b is on CU
/// b mod the number of its CUs. With one part that is the published rule, block b on CU b mod 15. All of them are
/// resident, so that no CU is passed over.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Parts: GPMs of all GPUs.
    parts: u64,
    /// CUs of a part.
    cus: u64,
    /// Work-groups of a CU.
    pub per_cu: u64,
    /// Scope in which all CUs are.
    pub all: Scope,
}

/// A work-group's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// CU among all.
    pub cu: u64,
    /// Work-group among those of the CU.
    pub turn: u64,
}

impl Grid {
    /// As the parameters `gpus`, `gpms` and `cus` say.
    ///
    /// # Errors
    /// The CUs of a GPU are not divided evenly among its GPMs.
    pub fn new(params: &Params, per_cu: u64) -> Result<Self, WorkloadError> {
        let [gpus, gpms, cus] = ["gpus", "gpms", "cus"].map(|key| params.integer(key));
        if cus % gpms != 0 {
            return Err(params.illegal("gpms", format!("a divisor of cus = {cus}")));
        }
        let all = if gpus == 1 { Scope::Gpu } else { Scope::Sys };
        Ok(Self { parts: gpus * gpms, cus: cus / gpms, per_cu, all })
    }

    /// All CUs.
    pub fn cus(self) -> u64 {
        self.parts * self.cus
    }

    /// All work-groups.
    pub fn blocks(self) -> u64 {
        self.cus() * self.per_cu
    }

    /// Where work-group `block` is.
    pub fn spot(self, block: u64) -> Spot {
        let own = self.cus * self.per_cu;
        let (part, block) = (block / own, block % own);
        Spot { cu: part * self.cus + block % self.cus, turn: block / self.cus }
    }

    /// A number for each place: those of one CU are equal modulo the number of all CUs.
    pub fn number(self, spot: Spot) -> u64 {
        spot.turn * self.cus() + spot.cu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_takes_work_groups_in_turn() {
        let grid = Grid { parts: 1, cus: 15, per_cu: 3, all: Scope::Gpu };
        for block in 0..grid.blocks() {
            assert_eq!(grid.spot(block), Spot { cu: block % 15, turn: block / 15 });
            assert_eq!(grid.number(grid.spot(block)), block);
        }
    }

    #[test]
    fn parts_are_contiguous_and_every_place_is_taken_once() {
        let grid = Grid { parts: 4, cus: 3, per_cu: 2, all: Scope::Sys };
        assert_eq!((grid.cus(), grid.blocks()), (12, 24));
        assert_eq!(grid.spot(6), Spot { cu: 3, turn: 0 });
        assert_eq!(grid.spot(10), Spot { cu: 4, turn: 1 });
        let mut numbers: Vec<u64> = (0..24).map(|b| grid.number(grid.spot(b))).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..24));
    }
}
