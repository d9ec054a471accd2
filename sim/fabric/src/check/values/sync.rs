//! Releases and acquires of compute units in the present kernel, and what they make visible (hmg.md sections 5.1 and 6).
//!
//! A write is *seen* by a look when a release of the writer's compute unit, begun after the write, was complete before an acquire of the looking compute
//! unit began that was complete before the look, both of a scope that includes the other unit. From then on nothing older may be found. That is more
//! than programs may rely on (they must have read the released flag), but no less than what fabrics promise: a release is complete when all caches of
//! its scope have applied it.

use super::page::{Map, Write};
use serde::{Deserialize, Serialize};

/// Scope of the whole system; 1 is that of a GPU.
const SYSTEM: u8 = 2;

/// A release or acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Span {
    /// 1 GPU, 2 system.
    pub scope: u8,
    /// Cycle in which it was taken.
    pub start: u64,
    /// Cycle in which it was complete.
    pub end: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Unit {
    /// By start.
    releases: Vec<Span>,
    /// By end.
    acquires: Vec<Span>,
}

/// Those of all compute units, by [`super::report::Writer::unit`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Syncs {
    units: Map<u32, Unit>,
    /// GPU of a unit = unit >> this.
    gpu_shift: u32,
}

impl Syncs {
    /// None, in a system with GPUs of so many GPMs.
    pub fn new(gpms: u32) -> Syncs {
        Syncs { units: Map::default(), gpu_shift: 16 + gpms.next_power_of_two().trailing_zeros() }
    }

    /// A kernel begins.
    pub fn clear(&mut self) {
        self.units.clear();
    }

    /// A release of a unit is complete.
    pub fn release(&mut self, unit: u32, span: Span) {
        let of = &mut self.units.entry(unit).or_default().releases;
        let place = of.partition_point(|r| r.start <= span.start);
        of.insert(place, span);
    }

    /// An acquire of a unit is complete.
    pub fn acquire(&mut self, unit: u32, span: Span) {
        self.units.entry(unit).or_default().acquires.push(span);
    }

    fn same_gpu(&self, a: u32, b: u32) -> bool {
        a >> self.gpu_shift == b >> self.gpu_shift
    }

    /// What `unit` wrote in cycle `at` was released with scope `least` or more before `until`.
    fn released(&self, unit: u32, at: u64, least: u8, until: u64) -> bool {
        let Some(of) = self.units.get(&unit) else { return false };
        let first = of.releases.partition_point(|r| r.start < at);
        let after = of.releases[first..].iter().take_while(|r| r.start <= until);
        after.into_iter().any(|r| r.scope >= least && r.end <= until)
    }

    /// Beginning of the last acquire of scope `least` or more of a unit that was complete in cycle `by`.
    fn acquired(&self, unit: u32, least: u8, by: u64) -> Option<u64> {
        let of = self.units.get(&unit)?;
        of.acquires.iter().rev().find(|a| a.end <= by && a.scope >= least).map(|a| a.start)
    }

    /// A look of compute unit `cu`, which its L1 took in cycle `issued`, must find this write of `unit`, or a later one.
    pub fn seen(&self, unit: u32, write: &Write, cu: u32, issued: u64) -> bool {
        let through = |least: u8| {
            let acquired = self.acquired(cu, least, issued);
            acquired.is_some_and(|start| self.released(unit, write.at, least, start))
        };
        unit != cu && (through(SYSTEM) || (self.same_gpu(unit, cu) && through(1)))
    }

    /// The first of two writes, each with its unit, was performed before the second for certain.
    pub fn before(&self, first: (u32, &Write), second: (u32, &Write)) -> bool {
        if first.0 == second.0 {
            return first.1.at < second.1.at;
        }
        let least = if self.same_gpu(first.0, second.0) { 1 } else { SYSTEM };
        self.released(first.0, first.1.at, least, second.1.at)
    }
}
