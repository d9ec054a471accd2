//! Golden models: untimed models of the blocks, written from the specification and never from the RTL.
//!
//! | module | models | section of rec.md (and of hmg.md for `nhcc` and `hmg`) |
//! | --- | --- | --- |
//! | [`params`] | parameters of a directory, legal ranges, set and bank index | 2 |
//! | [`entry`] | entry layouts, bit for bit, and storage counts | 3 |
//! | [`dir_table`] | transition tables of the directories, as data | 4 |
//! | [`directory`] | `dir_perline`, `dir_group4`, `rec_dir`, `dir_ideal`, and the directories of NHCC, HMG and its REC | 4, 8.1 |
//! | [`evb`] | the eviction buffer and the stalls it causes | 4.1 |
//! | [`mod@slice`] | checker for the ports of a directory slice | 4, 4.1 |
//! | [`egress`] | `inv_egress` and `inv_ingress` | 4.1, 5, 7 |
//! | [`l1_table`] | a request at the L1 | 7 to 9; 5.1 of hmg.md |
//! | [`l2`], [`l2::table`] | one line in an L2 bank, requester and home side | 6 |
//! | [`l2::hier_table`], [`l2::hier`] | one line at its GPU home, loads of wider scopes | hmg.md 5 |
//! | [`l2::held_table`] | lines with dirty bytes (write-back) | hmg.md 5.2 |
//! | [`fence_table`], [`fence`] | the fence unit and its message counts | 7 |
//! | [`order`] | the tokens that banks give back before a fence marker leaves | 7 |
//! | [`planes`] | `inv_egress` and `inv_ingress` on two planes | hmg.md 6 |
//! | [`hier_fence::table`], [`hier_fence`], [`hier_fence::marks`] | the fence unit of hierarchical systems | hmg.md 6, 8 |
//! | [`gpu_vi`] | the directory of GPU-VI | hmg.md 8 |
//! | [`moesi`] | banks, home sides and slices of MOESI, whole systems of them, all their interleavings | moesi.md |
//! | [`mgcc`] | names of rows and races of MGPU-TSM, whose golden models are in `testbench/mgcc` | mgcc.md |
//! | [`srsp`] | those of sRSP, whose golden models are in `testbench/srsp` | srsp.md |
//! | [`spandex`] | those of Spandex, whose golden models are in `testbench/spandex` | spandex.md |
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
pub mod gpu_vi;
pub mod hier_fence;
pub mod l1_table;
pub mod l2;
pub mod mgcc;
pub mod moesi;
pub mod order;
pub mod params;
pub mod planes;
pub mod races;
pub mod slice;
pub mod spandex;
pub mod srsp;

use serde::{Deserialize, Serialize};

/// What a protocol's own golden models name: rows of its tables and its races.
pub struct Part {
    /// Block whose rows they are, by its name on the command line.
    pub block: &'static str,
    /// Page of the specification.
    pub page: &'static str,
    /// Section of that page which has its tables.
    pub section: &'static str,
    /// Identifier of each row, and the row in words.
    pub rows: fn() -> Vec<(&'static str, String)>,
    /// Its races.
    pub races: &'static [races::Race],
}

/// The protocols of the directory family that have golden models of their own; the others share those of [`directory`].
pub const PARTS: &[Part] = &[gpu_vi::PART, moesi::SLICE, moesi::BANK];

/// A set of nodes: bit `n` stands for node `n`, which is a GPU (at most 16), or a GPU module with the number {GPU, GPM} (at most 128 numbers).
pub type GpuMask = u128;

/// The mask that holds only node `gpu`.
pub fn only(gpu: u32) -> GpuMask {
    1 << gpu
}

/// The nodes of `mask`, lowest first.
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
    /// Line number (byte address / line bytes). With `grp`, the first of the aligned lines.
    pub line: u64,
    /// Destinations; never empty, never the home.
    pub dest: GpuMask,
    /// Why the copies are invalidated.
    pub cause: InvCause,
    /// True when an aligned group of lines is meant: 4 in `dir_group4`, the parameter `group` in `nhcc` and `hmg`.
    pub grp: bool,
}

impl Inv {
    /// The lines that a receiver drops: one, or the aligned `group` lines that hold `line` when `grp` is set.
    pub fn lines_in(&self, group: u64) -> std::ops::Range<u64> {
        let size = if self.grp { group } else { 1 };
        let first = self.line - self.line % size;
        first..first + size
    }

    /// [`Inv::lines_in`] for groups of 4.
    pub fn lines(&self) -> std::ops::Range<u64> {
        self.lines_in(4)
    }

    /// The same message with a group's line brought to the first of its lines, so that a sender that names another
    /// line of the group compares equal.
    pub fn canonical_in(self, group: u64) -> Inv {
        Inv { line: self.lines_in(group).start, ..self }
    }
}

#[cfg(test)]
mod tests;
