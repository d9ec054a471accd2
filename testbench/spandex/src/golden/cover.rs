//! What a run has reached: cells of the two tables, pairs of cells in one message, and marks.

use super::device::table::{COLUMNS, EXTERNAL};
use super::llc::table::COMMIT;

/// Something rare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Mark {
    // bank
    CrossedWriteBack,
    DroppedWriteBack,
    Phase1Inv,
    Phase1Revoke,
    Phase1Share,
    Eviction,
    VictimBlocked,
    Stalled,
    ReplayWaits,
    UpgradeAlone,
    KeptS,
    // device, race 1
    AnsweredInPo,
    DelayedReqV,
    DelayedRemoval,
    NackedInPd,
    // device, race 2
    AnsweredFromBuffer,
    ForwardBeforeRspWb,
    RspWbBeforeForward,
    InvDuringUpgrade,
    // device, race 3
    NackedReqV,
    InvWithoutCopy,
    // device, other
    UseOnce,
    Retry,
    Escalation,
    StaleFill,
    Triggered,
    DirectHit,
    DirectMiss,
    ForwardedWrite,
    NackedWrite,
    Extras,
    LocalDrain,
    OptionTwoNacked,
}

/// Number of marks.
pub const MARKS: usize = Mark::OptionTwoNacked as usize + 1;

/// A set of cells, pairs and marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cover {
    /// Per row of the commit table, bit 2a+b: one request had words in column a and in column b.
    pub commit: [u8; COMMIT.len()],
    /// Per row of the table of external requests, bit 5a+b: the same.
    pub external: [u32; EXTERNAL.len()],
    /// One bit per [`Mark`].
    pub marks: u64,
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
    /// A request met words of these columns.
    pub fn commit(&mut self, row: usize, columns: u8) {
        for (a, b) in pairs(2, u32::from(columns)) {
            self.commit[row] |= 1 << (2 * a + b);
        }
    }
    /// A message met words of these columns.
    pub fn external(&mut self, row: usize, columns: u8) {
        for (a, b) in pairs(COLUMNS, u32::from(columns)) {
            self.external[row] |= 1 << (COLUMNS * a + b);
        }
    }
}

fn pairs(columns: usize, set: u32) -> impl Iterator<Item = (usize, usize)> {
    let all = (0..columns).flat_map(move |a| (0..columns).map(move |b| (a, b)));
    all.filter(move |(a, b)| set >> a & 1 == 1 && set >> b & 1 == 1)
}
