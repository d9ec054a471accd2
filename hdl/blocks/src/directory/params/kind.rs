//! A kind of directory slice, as data: what an entry covers, whom it records, what operations do to it.

use super::{DirParams, Policy};
use crate::directory::operations::{DirAct, Operation};
use crate::registry::BlockInfo;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Who is a sharer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Sharers {
    /// Every other GPU, in a system of at most 16 (rec.md).
    Gpus,
    /// Every other node of up to 64, GPM or GPU, whatever its GPU (hmg.md, NHCC).
    Nodes,
    /// The other GPMs of the GPU, and the other GPUs as a whole; Invs received at a GPU home are passed on (hmg.md, HMG).
    TwoLevel,
}

/// What one entry covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Covers {
    /// This many aligned lines, a power of two, with one sharer vector.
    Lines(u32),
    /// An aligned group of lines with one sharer vector; their number is a parameter (`group`).
    Group,
    /// An aligned range of lines with sharers of their own for each; its bytes are a parameter (`range`): REC's layout and transitions.
    Range,
}

/// What a kind of slice is.
pub struct Layout {
    /// What its rows' identifiers and its parameter `kind` are named for, snake_case.
    pub name: &'static str,
    /// Name of its transition table.
    pub table: &'static str,
    /// The block of the catalogue.
    pub info: BlockInfo,
    /// Who is a sharer.
    pub sharers: Sharers,
    /// What an entry covers.
    pub covers: Covers,
    /// Invs are acknowledged, and a store waits for that (hmg.md section 8).
    pub acked: bool,
    /// An entry names an owner, too, and messages carry what that needs (docs/moesi.md).
    pub owners: bool,
    /// What operations do, for [`crate::directory::table::table`]; none if its slice has tables of its own.
    pub operations: &'static [Operation],
    /// Entries of a node, ways and policy as published, or decided where a paper is silent.
    pub published: (u32, u32, Policy),
    /// Describes the slice, inside its module.
    pub slice: fn(&DirParams),
    /// Parameter sets of the block, as `key=value` words, at which everything is compared: small ones and odd ones.
    pub sets: [&'static str; 3],
}

/// A kind of directory slice. Two of a name are the same.
#[derive(Clone, Copy)]
pub struct DirKind(&'static Layout);

impl DirKind {
    /// The kind with this layout.
    pub const fn of(layout: &'static Layout) -> DirKind {
        DirKind(layout)
    }

    /// An entry covers a range, with sharers of their own for each of its lines: REC's layout and transitions.
    pub fn ranges(self) -> bool {
        self.covers == Covers::Range
    }

    /// The nodes may be GPMs: a directory of hmg.md's systems.
    pub fn modules(self) -> bool {
        self.sharers != Sharers::Gpus
    }

    /// Other GPUs are sharers as a whole, and Invs received at a GPU home are passed on.
    pub fn two_level(self) -> bool {
        self.sharers == Sharers::TwoLevel
    }

    /// An entry has one vector for a group of lines whose number is a parameter.
    pub fn groups(self) -> bool {
        self.covers == Covers::Group
    }

    /// Some operation does this.
    pub fn does(self, action: DirAct) -> bool {
        let of = |op: &Operation| [op.1, op.2, op.3].iter().any(|actions| actions.contains(&action));
        self.operations.iter().any(of)
    }

    /// Atomics count as stores, so that who asks for one is recorded (hmg.md section 4); with the others it is not (rec.md section 4).
    pub fn records_atomics(self) -> bool {
        self.groups()
    }
}

impl std::ops::Deref for DirKind {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        self.0
    }
}

impl PartialEq for DirKind {
    fn eq(&self, other: &DirKind) -> bool {
        self.name == other.name
    }
}

impl Eq for DirKind {}

impl Hash for DirKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for DirKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&camel(self.name))
    }
}

/// A name of words joined by `-` or `_` as a type's name.
pub(in crate::directory) fn camel(name: &str) -> String {
    let words = name.split(['-', '_']);
    let upper = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.map(upper).collect()
}
