//! Which node and which compute unit runs a work-group: key `cta_schedule` (cu-and-consistency.md section 1.2).

use crate::config::CtaSchedule;
use crate::family::Shape;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Work-groups of a kernel that one node runs, in the order in which it launches them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The next one.
    pub next: u32,
    /// All are below.
    pub end: u32,
    /// From one to the next.
    pub step: u32,
}

impl Part {
    /// How many are left.
    pub fn left(&self) -> u32 {
        if self.next < self.end { (self.end - self.next).div_ceil(self.step) } else { 0 }
    }
}

/// The part of a node among `blocks`: equal contiguous ranges for the GPUs, and of these for their GPMs; or in turn over the GPUs, and of what each gets over its
/// GPMs.
pub(super) fn part(schedule: CtaSchedule, shape: &Shape, node: u32, blocks: Range<u32>) -> Part {
    let (gpus, gpms) = (shape.nodes / shape.gpms, shape.gpms);
    let (gpu, gpm) = (node / gpms, node % gpms);
    if schedule == CtaSchedule::Rr {
        return Part { next: blocks.start + gpu + gpus * gpm, end: blocks.end, step: gpus * gpms };
    }
    let of_gpu = range(&blocks, gpus, gpu);
    let own = range(&of_gpu, gpms, gpm);
    Part { next: own.start, end: own.end, step: 1 }
}

/// Range `i` of so many equal ones.
fn range(all: &Range<u32>, parts: u32, i: u32) -> Range<u32> {
    let count = u64::from(all.end - all.start);
    let begin = |i: u32| all.start + (u64::from(i) * count / u64::from(parts)) as u32;
    begin(i)..begin(i + 1)
}

/// Which of a node's `count` compute units are asked for room for work-group `group`, in order: all from the one whose turn it is, or one of its own.
pub(super) fn units(
    schedule: CtaSchedule,
    group: u32,
    turn: usize,
    count: usize,
) -> impl Iterator<Item = usize> {
    let fixed = schedule == CtaSchedule::RrCu;
    let (first, asked) = if fixed { (group as usize, 1) } else { (turn, count) };
    (0..asked).map(move |i| (first + i) % count)
}

#[cfg(test)]
mod tests;
