//! Records that travel and rest inside a bank.

use super::params::MesiLlcParams;
use crate::bank::Bank;
use crate::bank::entries::Start;
use crate::bank::records;
pub(super) use crate::bank::{blank, some};
use crate::hmesi::msg::HFwdOp;
use crate::mesi_port::Get;
use weft_rtl::prelude::*;

/// State of a line that is not busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum LineState {
    /// Not here.
    I,
    /// Here, no client has a copy.
    C,
    /// Clients share it.
    SS,
    /// A client owns it.
    MT,
}

/// One way of a set, but for the line's data and its sharers.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Tag {
    #[width(p.tag_bits())]
    #[field("tag")]
    pub tag: Bits,
    #[field("state")]
    pub state: Enum<LineState>,
    /// The line differs from memory.
    #[field("dirty")]
    pub dirty: Bool,
    /// MT: its client.
    #[width(p.s.client_bits())]
    #[field("owner")]
    pub owner: Bits,
}

/// What is kept of a request: in the pipeline, in a TBE, in the stall memory.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiLlcParams)]
pub(super) struct Held {
    pub op: Enum<Get>,
    #[width(p.bank.s.line_bits())]
    pub line: Bits,
    /// Client.
    #[width(p.bank.s.client_bits())]
    pub src: Bits,
    #[width(p.bank.s.tag_bits())]
    pub tag: Bits,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub(super) enum Kind {
    /// A request from the channel.
    Req,
    /// The first request of a stall list.
    Replay,
    /// The request of a TBE that has all it waited for.
    Commit,
    /// Put.
    Put,
    /// InvAck of an eviction.
    InvAck,
    /// WbData.
    WbData,
    /// Unblock.
    Unblock,
    /// UnblockX.
    UnblockX,
    /// A line has come from memory.
    Mem,
}

/// An operation in the pipeline; messages other than requests use of `req` what they have.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiLlcParams)]
pub(super) struct Op {
    pub kind: Enum<Kind>,
    /// TBE of all but requests from the channel and Puts.
    #[width(p.bank.s.tbe_bits())]
    pub tbe: Bits,
    #[shape(p.clone())]
    pub req: Held,
    /// Put, WbData: the line was M; its data is here.
    pub dirty: Bool,
    /// WbData: the owner keeps a copy.
    pub kept: Bool,
    #[width(p.bank.s.data_bits())]
    pub data: Bits,
}

records!(Tag: absent in state LineState::I; Op: of Kind);

/// What stage 1 has found.
pub(super) type Look = crate::bank::look::Look<Tag>;

/// What a TBE is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum TbeKind {
    /// Its line comes from memory.
    #[hw(label = "FETCH")]
    Fetch,
    /// The copies of its line come back before another takes its place.
    #[hw(label = "EVICT")]
    Evict,
    /// busy-X: its requestor becomes the owner.
    #[hw(label = "BUSY_X")]
    BusyX,
    /// busy-IIB: its requestor and the old owner become sharers.
    #[hw(label = "BUSY_IIB")]
    BusyIib,
    /// Its own request is done; its stall list replays.
    #[hw(label = "LIST")]
    List,
}

/// What a TBE waits for, and what it remembers.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiLlcParams)]
pub(super) struct Progress {
    /// Clients whose InvAck is to come.
    #[width(p.bank.s.clients())]
    pub acks: Bits,
    /// WbData is to come.
    pub wb: Bool,
    /// Unblock or UnblockX is to come.
    pub unblock: Bool,
    /// The old owner keeps a copy.
    pub kept: Bool,
}

/// How a transaction begins.
pub(super) struct Begin {
    pub start: Start<TbeKind, Progress>,
    /// Clients that are sent `fwd`.
    pub todo: Bits,
    pub fwd: Enum<HFwdOp>,
}
