//! Programs whose work-groups synchronise inside one GPU: which GPU a work-group is on.
//!
//! They rely on the contiguous cut of `cu-and-consistency.md` section 1.2: with a number of work-groups that is a
//! multiple of `gpus`, GPU g runs an equal, contiguous part. What crosses GPUs crosses a kernel boundary, too.

use super::params::{Legal, ParamSpec, Params};
use super::simt::Thread;

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
