//! Records that travel and rest inside a bank.

use super::params::GpuL2Params;
use crate::bank::Bank;
use crate::bank::records;
pub(super) use crate::bank::request::{Ask, Held, fwd_to, group};
pub(super) use crate::bank::{blank, some};
use crate::hmesi::msg::{HFwdOp, HRspOp};
use weft_rtl::prelude::*;

/// What the L3 has granted of a line; words of it that GPU L1s own are only in M.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Perm {
    /// Not here.
    I,
    /// To be read.
    S,
    /// The only copy, clean.
    E,
    /// The only copy, to be given back with its data.
    M,
}

/// One way of a set, but for what the arrays of words hold.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct L2Tag {
    #[width(p.tag_bits())]
    #[field("tag")]
    pub tag: Bits,
    #[field("state")]
    pub perm: Enum<Perm>,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum Kind {
    /// A request from the channel.
    Req,
    /// The first request that is to be tried again.
    Replay,
    /// The request of a TBE that has all it waited for, or the forward for which it revoked words.
    Commit,
    /// A write-back of a GPU L1.
    Wb,
    /// RspRvkO.
    Rvk,
    /// An answer of the L3 or of a client.
    Answer,
    /// A forward of the L3.
    Fwd,
}

/// An operation in the pipeline; messages other than requests use of `req` what they have.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = GpuL2Params)]
pub(super) struct Op {
    pub kind: Enum<Kind>,
    /// TBE of all but requests from the channel, write-backs and forwards.
    #[width(p.bank.s.tbe_bits())]
    pub tbe: Bits,
    /// Replay: place in the stall memory.
    #[width(p.bank.stall_bits())]
    pub place: Bits,
    #[shape(p.bank.s.clone())]
    pub req: Held,
    /// RspRvkO: a write-back brings the data.
    pub nodata: Bool,
    /// Answer: its kind, InvAcks to come, from a former owner.
    pub rsp: Enum<HRspOp>,
    #[width(p.bank.s.client_bits())]
    pub acks: Bits,
    pub peer: Bool,
    /// Forward: its kind, and the node that gets the answer.
    pub fwd: Enum<HFwdOp>,
    #[width(p.bank.s.h_node_bits())]
    pub node: Bits,
}

records!(L2Tag: absent in perm Perm::I; Op: of Kind);

/// What a TBE is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum TbeKind {
    /// Its line comes from the L3, or the right to write it.
    #[hw(label = "FILL")]
    Fill,
    /// Owners of its line are asked before its request commits.
    #[hw(label = "PHASE1")]
    Phase1,
    /// Owners of its line are asked before another takes its place.
    #[hw(label = "EVICT")]
    Evict,
    /// Owners of its line are asked before a forward of the L3 is answered.
    #[hw(label = "REVOKE")]
    Revoke,
    /// Its own request is done; the line replaced is still on its way to the L3.
    #[hw(label = "PUT")]
    Put,
}

/// State of a line that comes from the L3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Getting {
    /// To be read.
    Is,
    /// To be read once: an Inv has come.
    Isi,
    /// To be written.
    Im,
    /// The same of a line that is here in S.
    Sm,
}

/// State of a line that leaves for the L3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Leaving {
    /// There is none.
    No,
    /// Its WBAck is to come.
    Mi,
    /// The same, and a forward has taken it.
    Ii,
}

/// What a TBE waits for, and what it remembers.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = GpuL2Params)]
pub(super) struct Progress {
    /// Words whose RspRvkO is to come.
    #[width(p.bank.s.words())]
    pub rv: Bits,
    /// Words that it has revoked.
    #[width(p.bank.s.words())]
    pub rvm: Bits,
    /// Fill: the line has come.
    pub come: Bool,
    /// InvAcks that its line said are to come, and those that have.
    #[width(p.bank.s.client_bits())]
    pub need: Bits,
    #[width(p.bank.s.client_bits())]
    pub acks: Bits,
    /// Unblock is due, UnblockX is.
    pub unblock: Bool,
    pub unblock_x: Bool,
    /// Revoke: the forward, and who gets the answer; its transaction is that of the request.
    pub fwd: Enum<HFwdOp>,
    #[width(p.bank.s.h_node_bits())]
    pub node: Bits,
}

/// Answers to clients and the L3: one to whoever is named, WbData, or both.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = GpuL2Params)]
pub(super) struct Reply {
    #[width(p.bank.s.line_bits())]
    pub line: Bits,
    pub first: Bool,
    pub op: Enum<HRspOp>,
    #[width(p.bank.s.h_node_bits())]
    pub dst: Bits,
    #[width(p.bank.s.tag_bits())]
    pub tag: Bits,
    pub wb: Bool,
    /// The line was written.
    pub dirty: Bool,
    /// A shared copy stays.
    pub kept: Bool,
    #[width(p.bank.s.data_bits())]
    pub data: Bits,
}

/// A bank of the GPU L2, as one whose words devices own.
pub(super) struct GpuL2;

/// The operation with its decision.
pub(super) type Act<'a> = crate::bank::act::Act<'a, GpuL2>;
