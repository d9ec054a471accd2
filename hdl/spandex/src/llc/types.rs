//! Records that travel and rest inside a bank.

use super::params::LlcParams;
use crate::bank::Bank;
use crate::bank::records;
pub(super) use crate::bank::request::{Ask, Held, fwd_to, group};
pub(super) use crate::bank::{blank, some};
use weft_rtl::prelude::*;

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
#[bundle(params = Bank)]
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
    #[width(p.bank.s.tbe_bits())]
    pub tbe: Bits,
    #[shape(p.bank.s.clone())]
    pub req: Held,
    /// Words that come back differ from memory.
    pub dirty: Bool,
    /// RspRvkO: a write-back brings the data.
    pub nodata: Bool,
    /// RspRvkO: the owner has become a sharer.
    pub kept: Bool,
}

records!(Tag: absent in state LineState::I; Op: of Kind);

/// What stage 1 has found.
pub(super) type Look = crate::bank::look::Look<Tag>;

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
    #[width(p.bank.s.words())]
    pub rv: Bits,
    /// Words that it has revoked.
    #[width(p.bank.s.words())]
    pub rvm: Bits,
    /// Words that owners answer to the requestor.
    #[width(p.bank.s.words())]
    pub ans: Bits,
    /// Owners that have become sharers.
    #[width(p.sharing())]
    pub kept: Bits,
    /// How the request is treated.
    pub ask: Enum<Ask>,
    /// Sharers were invalidated.
    pub inv: Bool,
}

/// A bank of the LLC, as one whose words devices own.
pub(super) struct Llc;

/// The operation with its decision.
pub(super) type Act<'a> = crate::bank::act::Act<'a, Llc>;
