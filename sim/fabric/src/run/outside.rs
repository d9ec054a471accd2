//! Memory that is not behind the fabric's own ports, as compute units see it: that of the host, and pages that move between it and the GPUs
//! (dnn-step.md).
//!
//! The program's own addresses, marked, stand for physical ones here. An access to memory of the host never reaches the L1: it goes over the host's link
//! and is performed there. An access to a paged array waits at the compute unit until its page is in memory of its GPU, and goes on with the physical
//! address there. A page that moves gets fresh physical addresses, so what caches hold of the old ones is never found again.

mod pages;
mod remote;

use super::counter::Counter;
use super::memory::HOST;
use crate::cu::{LineAccess, LineReply};
use crate::family::{HostSide, Links, Shape, Unit};
use crate::memory::Memory;
use crate::perform::perform;
use pages::Paged;
use remote::Remote;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use weft_blocks::msg::CuOp;
use weft_workload::{Array, Place};

pub(super) use pages::Moves;

/// As [`HOST`], of pages that move, until a compute unit sends the access.
const PAGED: u64 = 1 << 61;

/// Arrays that are not placed as all others are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Areas(Vec<(Range<u64>, u64)>);

impl Areas {
    /// Those of a program.
    pub fn new(arrays: &[Array]) -> Areas {
        let area = |array: &Array| {
            let mark = match array.place {
                Place::Host => HOST,
                Place::Managed => PAGED,
                Place::Policy | Place::Split | Place::Near { .. } | Place::Part { .. } => return None,
            };
            Some((array.addr..array.addr + array.bytes(), mark))
        };
        Areas(arrays.iter().filter_map(area).collect())
    }

    /// None is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The address that stands for one of the program's, if it lies in one of these arrays. Arrays begin and end with lines.
    #[inline]
    pub fn mark(&self, addr: u64) -> Option<u64> {
        let after = self.0.partition_point(|(range, _)| range.start <= addr);
        let (range, mark) = self.0.get(after.checked_sub(1)?)?;
        (addr < range.end).then_some(mark | addr)
    }

    /// A page of the program has bytes of a paged array.
    fn pages(&self, page: Range<u64>) -> bool {
        self.0.iter().any(|(range, mark)| *mark == PAGED && range.start < page.end && page.start < range.end)
    }
}

/// What becomes of an access.
pub(super) enum Claim {
    /// It is one of the fabric's own.
    Own,
    /// It goes to this line.
    Line(u64),
    /// Its page is elsewhere.
    Wait,
    /// The host has it.
    Taken,
}

/// What changes while a program runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    remote: Remote,
    paged: Paged,
}

/// The host's memory and the pages that move.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    areas: Arc<Areas>,
    links: Links,
    host: HostSide,
    shape: Shape,
    s: State,
}

impl Outside {
    /// Of a program with such arrays, on a fabric with a link to the host.
    pub fn new(arrays: &[Array], links: Links, shape: Shape) -> Option<Outside> {
        let (areas, host) = (Areas::new(arrays), links.host?);
        let gpus = (shape.nodes / shape.gpms) as usize;
        let s = State { remote: Remote::new(gpus), paged: Paged::new(gpus) };
        (!areas.is_empty()).then(|| Outside { areas: Arc::new(areas), links, host, shape, s })
    }

    /// Which arrays are concerned.
    pub fn areas(&self) -> Arc<Areas> {
        self.areas.clone()
    }

    /// A compute unit wants to send an access; `memory` is by the program's addresses, `find` gives the physical address of one of them.
    pub fn claim(
        &mut self,
        unit: Unit,
        access: &LineAccess,
        now: u64,
        memory: &mut Memory,
        find: &dyn Fn(u64) -> Option<u64>,
    ) -> Claim {
        let (line, gpu) = (u64::from(self.shape.line), unit.0 / self.shape.gpms);
        let marked = access.line * line;
        if access.mask == 0 || marked < PAGED {
            return Claim::Own;
        }
        let addr = marked & (PAGED - 1);
        if marked & HOST != 0 {
            let data = perform(memory, line, addr, access);
            self.s.remote.send(&self.host, line, (unit, gpu), access, data, (addr, now));
            return Claim::Taken;
        }
        if !self.s.paged.enter(&self.host, (unit, gpu), access.id, addr, now) {
            return Claim::Wait;
        }
        perform(memory, line, addr, access);
        find(addr).map_or(Claim::Wait, |at| Claim::Line(at / line))
    }

    /// An answer of the host for a compute unit in this cycle.
    pub fn answer(&mut self, unit: Unit, now: u64) -> Option<LineReply> {
        self.s.remote.answer(unit, now)
    }

    /// An access is answered completely.
    pub fn done(&mut self, unit: Unit, id: u16) {
        self.s.paged.done(unit, id);
    }

    /// Accesses of a compute unit that the host has not answered, and when it answers the first.
    pub fn held(&self, unit: Unit) -> (usize, u64) {
        self.s.remote.held(unit)
    }

    /// The next access of a compute unit waits for a page.
    pub fn waits(&self, unit: Unit) -> bool {
        self.s.paged.waits(unit)
    }

    /// Pages are asked for.
    pub fn is_asked(&self) -> bool {
        self.s.paged.is_asked()
    }

    /// Pages go on; the compute units that need wait no longer, and the next cycle in which something happens by itself.
    ///
    /// # Errors
    /// A GPU without room for a page.
    pub fn tick(&mut self, now: u64, moves: &mut Moves) -> Result<(Vec<Unit>, Option<u64>), String> {
        let State { paged, .. } = &mut self.s;
        paged.tick(now, &self.links, &self.host, &self.areas, &self.shape, moves)
    }

    /// What has to be saved.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.s).expect("plain data is always encoded")
    }

    /// Goes on from what [`Outside::save`] gave; false when the bytes are damaged or of another fabric.
    #[must_use]
    pub fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok(state) = postcard::from_bytes::<State>(bytes) else { return false };
        let same = state.remote.gpus() == self.s.remote.gpus();
        if same {
            self.s = state;
        }
        same
    }

    /// What was counted, as `block.counter`; of what the program has not, nothing.
    pub fn counters(&self) -> BTreeMap<String, Counter> {
        let State { remote, paged } = &self.s;
        let remote = remote.is_used().then(|| remote.counters());
        let paged = paged.is_used().then(|| paged.counters());
        remote.into_iter().chain(paged).flatten().collect()
    }
}

/// All counters that a run may have.
pub(super) fn all_counters() -> BTreeMap<String, Counter> {
    Remote::new(0).counters().into_iter().chain(Paged::new(0).counters()).collect()
}

/// A counter with its name.
fn counter(name: &str, value: u64, about: &str) -> (String, Counter) {
    (name.into(), Counter { value, about: about.into() })
}

/// Bytes of an access and of its answer on a link, without coherence (mgcc.md section 10).
fn bytes(access: &LineAccess, line: u64) -> (u64, u64) {
    let whole = access.mask.count_ones() == line as u32;
    match access.op {
        CuOp::St if whole => (12 + line, 12),
        CuOp::St => (20 + line, 12),
        CuOp::Amo => (28, 24 + line),
        _ => (12, 16 + line),
    }
}
