//! The port between a MESI L1 and what is below it: plain MESI, so that the same L1 sits on a Spandex translation unit (spandex.md section 6) and on a client of a MESI directory
//! (section 9).
//!
//! | channel | from L1 | message | may wait |
//! | --- | --- | --- | --- |
//! | `l1_req` | yes | [`MesiReq`]: GetS, GetM | for anything |
//! | `l1_up` | yes | [`MesiUp`]: Put, Found, Done, in the order of the L1's slots | no: always taken |
//! | `l1_down` | no | [`MesiDown`]: Data of an answer, a write-back entry that is free again | for targets of the answer before |
//! | `ext` | no | [`MesiExt`]: one lookup and change of a line, answered by Found | for answers that came before |
//!
//! A Put, the Found of a lookup and the Done of an answer share one channel. So a Put of an earlier slot is there before the Found of a later one, which therefore finds a line
//! either in the L1 or in the write-back buffer, never in neither.

use crate::params::Spandex;
use weft_cache::Geometry;
use weft_rtl::prelude::*;

/// What fixes the widths of the port: the system and the shape of the L1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MesiPort {
    /// Widths of messages; MSHRs, store buffer, write-back buffer.
    pub spandex: Spandex,
    /// Bytes of data in the L1.
    pub size: u32,
    /// Ways of a set.
    pub ways: u32,
}

impl MesiPort {
    /// The published L1: 32 KB in 8 ways.
    pub fn published(spandex: Spandex) -> MesiPort {
        MesiPort { spandex, size: 32 << 10, ways: 8 }
    }
    /// Sets of the L1.
    pub fn sets(&self) -> u32 {
        self.geometry().sets
    }
    /// Sets and ways.
    pub fn geometry(&self) -> Geometry {
        Geometry::new(self.size, self.spandex.line, self.ways, self.spandex.line_bits())
    }
    /// Width of a way number.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }
}

/// State of a line of the L1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LineState {
    /// Invalid.
    I,
    /// Shared: others may read it, the directory will invalidate it.
    S,
    /// Exclusive, clean.
    E,
    /// Exclusive, dirty.
    M,
    /// Pending: the way is reserved for an answer.
    P,
    /// Being written back in place (WBP), clean.
    WE,
    /// Being written back in place (WBP), dirty.
    WM,
}

impl LineState {
    /// Being written back in place, as the specification's WBP.
    pub const WBP: [LineState; 2] = [LineState::WE, LineState::WM];
    /// Owned and open to the core.
    pub const OWNED: [LineState; 2] = [LineState::E, LineState::M];
}

/// Kinds of [`MesiReq`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Get {
    /// A line to read.
    GetS,
    /// A line to write.
    GetM,
}

/// L1 to unit (channel `l1_req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiPort)]
pub struct MesiReq {
    /// Kind.
    pub op: Enum<Get>,
    /// Line number.
    #[width(p.spandex.line_bits())]
    pub line: Bits,
    /// MSHR of the L1.
    #[width(p.spandex.mshr_bits())]
    pub tag: Bits,
}

/// Kinds of [`MesiUp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum UpOp {
    /// An owned line is evicted (`state` E or M). Sent only while the L1 knows a free entry of the write-back buffer.
    Put,
    /// What a lookup found, before its change.
    Found,
    /// All operations that an answer could serve are done.
    Done,
}

/// L1 to unit (channel `l1_up`; always taken).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiPort)]
pub struct MesiUp {
    /// Kind.
    pub op: Enum<UpOp>,
    /// Line number.
    #[width(p.spandex.line_bits())]
    pub line: Bits,
    /// Done: MSHR.
    #[width(p.spandex.mshr_bits())]
    pub tag: Bits,
    /// State of the line; of Done after its operations.
    pub state: Enum<LineState>,
    /// Its way.
    #[width(p.way_bits())]
    pub way: Bits,
    /// Its data.
    #[width(p.spandex.data_bits())]
    pub data: Bits,
}

/// Kinds of [`MesiDown`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum DownOp {
    /// Answer to a GetS or GetM.
    Data,
    /// An entry of the write-back buffer is free again.
    Free,
}

/// Unit to L1 (channel `l1_down`; always taken in the end).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiPort)]
pub struct MesiDown {
    /// Kind.
    pub op: Enum<DownOp>,
    /// Data: MSHR.
    #[width(p.spandex.mshr_bits())]
    pub tag: Bits,
    /// Data: state in which the line is installed; I: it serves the loads that wait and is not kept.
    pub state: Enum<LineState>,
    /// Data: some words came from another device.
    pub peer: Bool,
    /// Data: the line.
    #[width(p.spandex.data_bits())]
    pub data: Bits,
}

/// Kinds of [`MesiExt`]: what becomes of a line in one of the states named; in others it stays as it is. What takes something away also closes the MSHR of a pending line, which
/// later operations then do not join.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum ExtOp {
    /// Nothing.
    Look,
    /// Words are written: E, M to M.
    Write,
    /// E, M to S.
    Share,
    /// E, M to I.
    Drop,
    /// E, M to WBP.
    Hold,
    /// S to I.
    Inv,
    /// WBP to I.
    Free,
    /// WBP to S.
    Keep,
}

/// Unit to L1 (channel `ext`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiPort)]
pub struct MesiExt {
    /// Kind.
    pub op: Enum<ExtOp>,
    /// Line number.
    #[width(p.spandex.line_bits())]
    pub line: Bits,
    /// Write: words.
    #[width(p.spandex.words())]
    pub mask: Bits,
    /// Write: words in place.
    #[width(p.spandex.data_bits())]
    pub data: Bits,
}
