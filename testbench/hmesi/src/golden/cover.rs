//! What a run has reached: cells of the tables, and marks.

use super::client::table as client;
use super::l3::table as l3;
use weft_spandex_bench::golden::system::explore::Reached;

/// Something rare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// L3: a miss evicts a line.
    Victim,
    /// L3: a Put waits for a busy line.
    PutWaits,
    /// L2: a forward waits for phase 1.
    ForwardWaitsForPhase1,
    /// L2: a forward waits for an eviction whose words have not come.
    ForwardWaitsForEviction,
    /// L2: words are revoked for a forward.
    Revocation,
    /// L2: a forward takes the reserved TBE.
    Reserved,
    /// L2: phase 1.
    Phase1,
    /// L2: an eviction revokes words.
    EvictionRevokes,
    /// L2: a ReqWB of a word that is being revoked, or of nobody's.
    CrossedWriteBack,
    /// L2: a request waits for a blocked line.
    Stalled,
    /// L2: a replayed request waits.
    ReplayWaits,
}

/// Number of marks.
pub const MARKS: usize = Mark::ReplayWaits as usize + 1;

/// A set of cells and marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cover {
    /// Per event of the L3, one bit per state.
    pub l3: [u16; l3::EVENTS],
    /// Per event of a CPU, one bit per state.
    pub cpu: [u16; client::EVENTS],
    /// Per event of the L2, one bit per state.
    pub l2: [u16; client::EVENTS],
    /// One bit per [`Mark`].
    pub marks: u32,
}

impl Reached for Cover {
    fn add(&mut self, other: &Cover) {
        self.l3.iter_mut().zip(other.l3).for_each(|(mine, theirs)| *mine |= theirs);
        self.cpu.iter_mut().zip(other.cpu).for_each(|(mine, theirs)| *mine |= theirs);
        self.l2.iter_mut().zip(other.l2).for_each(|(mine, theirs)| *mine |= theirs);
        self.marks |= other.marks;
    }
}

impl Cover {
    /// Adds a mark.
    pub fn mark(&mut self, mark: Mark) {
        self.marks |= 1 << mark as u32;
    }
    /// Whether it has a mark.
    pub fn has(&self, mark: Mark) -> bool {
        self.marks >> mark as u32 & 1 == 1
    }
}
