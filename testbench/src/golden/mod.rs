//! Golden models: untimed models of the blocks, written from the specification and never from the RTL.
//!
//! | module | models | section of rec.md |
//! | --- | --- | --- |
//! | [`params`] | parameters of a directory, legal ranges, set and bank index | 2 |
//! | [`entry`] | entry layouts, bit for bit, and storage counts | 3 |
//! | [`dir_table`] | transition tables of the directories, as data | 4 |
//! | [`directory`] | `dir_perline`, `dir_group4`, `rec_dir`, `dir_ideal` | 4 |
//! | [`evb`] | the eviction buffer and the stalls it causes | 4.1 |
//! | [`mod@slice`] | checker for the ports of a directory slice | 4, 4.1 |
//! | [`egress`] | `inv_egress` and `inv_ingress` | 4.1, 5, 7 |
//! | [`l2_table`], [`l2`] | one line in an L2 bank, requester and home side | 6 |
//! | [`fence_table`], [`fence`] | the fence unit and its message counts | 7 |
//! | [`order`] | the tokens that banks give back before a fence marker leaves | 7 |
//! | [`races`] | the races that the specification names | all |
//!
//! Each table row has an identifier; `IDS.md` in this folder lists all of them. A block's cover points carry exactly
//! these identifiers as names, and [`crate::ledger`] counts them.

pub mod dir_table;
pub mod directory;
pub mod egress;
pub mod entry;
pub mod evb;
pub mod fence;
pub mod fence_table;
pub mod l2;
pub mod l2_table;
pub mod order;
pub mod params;
pub mod races;
pub mod slice;

use serde::{Deserialize, Serialize};

/// A set of GPUs: bit `g` stands for GPU `g` (at most 16 GPUs).
pub type GpuMask = u32;

/// The mask that holds only GPU `gpu`.
pub fn only(gpu: u32) -> GpuMask {
    1 << gpu
}

/// The GPUs of `mask`, lowest first.
pub fn gpus_of(mask: GpuMask) -> impl Iterator<Item = u32> {
    (0..GpuMask::BITS).filter(move |g| mask >> g & 1 == 1)
}

/// Why an invalidation was sent (field `cause` of `inv`, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum InvCause {
    /// A write or an atomic took the sharers' copies away.
    Write,
    /// The directory entry that tracked the line was replaced.
    Evict,
}

/// One message on the `inv` port of a directory slice (section 4): a line number and the GPUs to invalidate it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Inv {
    /// Line number (byte address / line bytes). With `grp`, the first of the aligned 4 lines.
    pub line: u64,
    /// Destinations; never empty, never the home GPU.
    pub dest: GpuMask,
    /// Why the copies are invalidated.
    pub cause: InvCause,
    /// True when the aligned 4 lines are meant (`dir_group4` only).
    pub grp: bool,
}

impl Inv {
    /// The lines that a receiver drops: one, or the aligned 4 lines that hold `line` when `grp` is set.
    pub fn lines(&self) -> std::ops::Range<u64> {
        if self.grp { self.line & !3..(self.line & !3) + 4 } else { self.line..self.line + 1 }
    }

    /// The same message with a group's line brought to the first of its 4 lines, so that a sender that names another
    /// line of the group compares equal.
    pub fn canonical(self) -> Inv {
        Inv { line: self.lines().start, ..self }
    }
}

#[cfg(test)]
mod tests;
