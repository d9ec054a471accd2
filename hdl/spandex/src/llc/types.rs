//! Records that travel and rest inside a bank.

use super::params::LlcParams;
use crate::msg::{Fwd, FwdOp, Req, ReqOp, WordOp};
use weft_rtl::prelude::*;

/// What the arrays know of a line but for its words: a tag, and a state of which only absence and sharers matter to them.
pub(crate) trait LineTag: Data<Shape = LlcParams> + Copy {
    /// Tag of the line.
    fn tag(&self) -> Bits;
    /// The way is empty.
    fn absent(&self) -> Bool;
    /// Sharers are invalidated before the line changes.
    fn shared(&self) -> Bool;
}

/// State of a line; a word that is owned is O whatever its line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum LineState {
    /// Not here.
    I,
    /// Here, no sharers.
    V,
    /// Here, sharers are invalidated before a word that nobody owns is written.
    S,
}

/// One way of a set, but for what the arrays of words and sharers hold.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LlcParams)]
pub(super) struct Tag {
    #[width(p.tag_bits())]
    #[field("tag")]
    pub tag: Bits,
    #[field("state")]
    pub state: Enum<LineState>,
    /// Words that nobody owns may differ from memory.
    #[field("dirty")]
    pub dirty: Bool,
}

impl LineTag for Tag {
    fn tag(&self) -> Bits {
        self.tag
    }
    fn absent(&self) -> Bool {
        self.state.is(LineState::I)
    }
    fn shared(&self) -> Bool {
        self.state.is(LineState::S)
    }
}

/// What is kept of a [`Req`]: in the pipeline, in a TBE, in the stall memory.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LlcParams)]
pub(crate) struct Held {
    pub op: Enum<ReqOp>,
    #[width(p.s.line_bits())]
    pub line: Bits,
    #[width(p.s.words())]
    pub mask: Bits,
    #[width(p.s.dev_bits())]
    pub src: Bits,
    #[width(p.s.tag_bits())]
    pub tag: Bits,
    pub flex: Bool,
    pub fwd: Bool,
    pub amo: Enum<WordOp>,
    #[width(32)]
    pub cmp: Bits,
    #[width(4)]
    pub bmask: Bits,
    #[width(p.s.data_bits())]
    pub data: Bits,
}

impl Held {
    /// A request, but for its destination.
    pub fn of(m: &Req) -> Held {
        let Req { op, line, mask, src, tag, flex, fwd, amo, cmp, bmask, data, .. } = *m;
        Held { op, line, mask, src, tag, flex, fwd, amo, cmp, bmask, data }
    }
}

/// A request as the bank treats it: of a ReqS its option counts, of a ReqWT where it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Ask {
    /// Words to read.
    ReqV,
    /// ReqS, answered by RspS.
    ReqS1,
    /// ReqS, answered by RspV.
    ReqS2,
    /// ReqS, answered by RspO+data.
    ReqS3,
    /// Words to write here.
    #[hw(label = "ReqWT")]
    ReqWt,
    /// Words to write at their owner, if they have one.
    #[hw(label = "ReqWTfwd")]
    ReqWtFwd,
    /// Ownership.
    ReqO,
    /// An operation to be done here.
    #[hw(label = "ReqWTdata")]
    ReqWtData,
    /// Ownership with the words.
    #[hw(label = "ReqOdata")]
    ReqOData,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum Kind {
    /// A request from the channel.
    Req,
    /// The first request of a stall list.
    Replay,
    /// The request of a TBE that has all it waited for.
    Commit,
    /// A write-back.
    Wb,
    /// RspRvkO.
    Rvk,
    /// Ack.
    Ack,
    /// A line has come from memory.
    Mem,
}

/// An operation in the pipeline; messages other than requests use of `req` what they have.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LlcParams)]
pub(super) struct Op {
    pub kind: Enum<Kind>,
    /// TBE of all but requests from the channel and write-backs.
    #[width(p.s.tbe_bits())]
    pub tbe: Bits,
    #[shape(p.clone())]
    pub req: Held,
    /// Words that come back differ from memory.
    pub dirty: Bool,
    /// RspRvkO: a write-back brings the data.
    pub nodata: Bool,
    /// RspRvkO: the owner has become a sharer.
    pub kept: Bool,
}

/// What stage 1 has found.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LlcParams)]
pub(super) struct Look {
    /// The line is in the way.
    pub hit: Bool,
    /// The line's way, or the TBE's, or the one to replace.
    #[width(p.way_bits())]
    pub way: Bits,
    #[shape(p.clone())]
    pub there: Tag,
    #[width(p.s.words())]
    pub owned: Bits,
    #[width(p.sharing())]
    pub sharers: Bits,
    /// The set's pseudo-LRU tree.
    #[width(p.ways - 1)]
    pub tree: Bits,
    /// A TBE blocks the line; of a write-back: revokes words of it.
    pub blocked: Bool,
    /// No way of the set may be replaced.
    pub full: Bool,
    /// TBE that blocks the line, else one that blocks a way of its set.
    #[width(p.s.tbe_bits())]
    pub by: Bits,
}

/// What a TBE is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum TbeKind {
    /// Its line comes from memory.
    #[hw(label = "FILL")]
    Fill,
    /// Sharers and owners of its line are asked before its request commits.
    #[hw(label = "PHASE1")]
    Phase1,
    /// Sharers and owners of its line are asked before another takes its place.
    #[hw(label = "EVICT")]
    Evict,
    /// Its own request is done; its stall list replays.
    #[hw(label = "LIST")]
    List,
}

/// What a TBE waits for, and what it remembers.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LlcParams)]
pub(super) struct Progress {
    /// Devices whose Ack is to come.
    #[width(p.sharing())]
    pub ack: Bits,
    /// Words whose RspRvkO is to come.
    #[width(p.s.words())]
    pub rv: Bits,
    /// Words that it has revoked.
    #[width(p.s.words())]
    pub rvm: Bits,
    /// Words that owners answer to the requestor.
    #[width(p.s.words())]
    pub ans: Bits,
    /// Owners that have become sharers.
    #[width(p.sharing())]
    pub kept: Bits,
    /// How the request is treated.
    pub ask: Enum<Ask>,
    /// Sharers were invalidated.
    pub inv: Bool,
}

/// The forwards of a commit.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LlcParams)]
pub(crate) struct Job {
    pub op: Enum<FwdOp>,
    #[width(p.s.line_bits())]
    pub line: Bits,
    /// Words to be forwarded.
    #[width(p.s.words())]
    pub mask: Bits,
    /// Owner of each word.
    #[width(p.owners_bits())]
    pub owners: Bits,
    #[width(p.s.dev_bits())]
    pub req: Bits,
    #[width(p.s.tag_bits())]
    pub tag: Bits,
    pub flex: Bool,
    pub for_wt: Bool,
    #[width(p.s.data_bits())]
    pub data: Bits,
}

/// A write of the line replaced, and the read of the one that takes its place; each may be alone.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = LlcParams)]
pub(super) struct Order {
    pub write: Bool,
    #[width(p.s.line_bits())]
    pub write_line: Bits,
    pub read: Bool,
    #[width(p.s.tbe_bits())]
    pub tbe: Bits,
    #[width(p.s.line_bits())]
    pub read_line: Bits,
    #[width(p.s.data_bits())]
    pub data: Bits,
}

/// Zeros in every leaf of a record.
pub(crate) fn blank<T: Data>(shape: &T::Shape) -> T {
    let leaves: Vec<Bits> = leaves_of::<T>(shape, "zero").iter().map(|l| lit_bv(Bv::zero(l.width))).collect();
    T::from_leaves(shape, &mut leaves.into_iter())
}

/// Owner of the lowest word of a mask, and the words of `among` that it owns.
pub(crate) fn group(mask: Bits, owners: Bits, among: Bits, dev_bits: u32) -> (Bits, Bits) {
    let who = owners.element(mask.lowest_set(), dev_bits);
    let its: Vec<Bool> = (0..mask.width()).map(|w| owners.slice(w * dev_bits, dev_bits).eq(who)).collect();
    (who, pack_bools(&its) & among)
}

/// A forward with nothing in it but what all have.
pub(crate) fn fwd_to(p: &LlcParams, own: Bits, dst: Bits) -> Fwd {
    Fwd { src: own, dst, ..blank::<Fwd>(&p.s) }
}
