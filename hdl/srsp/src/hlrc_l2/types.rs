//! Records that travel and rest inside a bank.

use super::params::HlrcL2Params;
use crate::msg::{ReqOp, RspOp, WbOp};
use weft_rtl::prelude::*;

/// State of a line; its eight values still take three bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LineState {
    /// Not here.
    I,
    /// On its way from memory, no byte valid.
    P,
    /// On its way from memory, the masked bytes valid and dirty.
    Pd,
    /// All bytes valid, none dirty.
    V,
    /// All bytes valid, the masked ones dirty.
    D,
    /// Only the masked bytes valid, all of them dirty.
    W,
    /// Registered: an L1 may have newer bytes. All bytes valid, the masked ones dirty.
    R,
    /// The same, and the L1 has been asked to give it back.
    RV,
}

/// One way of a set.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Tag {
    #[width(p.tag_bits())]
    #[field("tag")]
    pub tag: Bits,
    #[field("state")]
    pub state: Enum<LineState>,
}

/// What is kept of a [`Req`](crate::msg::Req).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct HeldReq {
    pub op: Enum<ReqOp>,
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
    #[width(p.srsp.line_bits())]
    pub line: Bits,
}

/// What is kept of a [`Wb`](crate::msg::Wb).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct HeldWb {
    pub op: Enum<WbOp>,
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    pub has: Bool,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    #[width(1)]
    pub epoch: Bits,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub(super) enum Kind {
    Rd,
    Rdu,
    Reg,
    Wb,
    Unreg,
    RevokeAck,
    /// The head of the sFIFO leaves.
    Pop,
    /// A line has come from memory.
    Fill,
    /// Memory has acknowledged a write of an L1.
    Ack,
    /// A line has come from memory that is only passed on.
    Direct,
}

/// The operation in stage 1.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Op {
    pub kind: Enum<Kind>,
    /// It stands at the head of an ingress queue.
    pub from_head: Bool,
    /// That queue: WB, else REQ.
    pub wb: Bool,
    /// It waited for the line that has just come.
    pub target: Bool,
    /// Who asks, or is answered.
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    /// MSHR of the L1.
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    /// A RevokeAck brings the line.
    pub has: Bool,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    #[width(1)]
    pub epoch: Bits,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
    /// Own MSHR of a Fill, number of the write or read of an Ack or Direct.
    #[width(p.own_bits())]
    pub own: Bits,
}

/// Who waits for a line from memory.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Target {
    /// A registration, else a read.
    pub reg: Bool,
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    /// MSHR of the L1.
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
}

/// What stage 2 writes into the line's row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Put {
    Nothing,
    /// The message's bytes.
    Merge,
    /// The line from memory, but for dirty bytes.
    Fill,
}

/// Data of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Shows {
    /// None.
    Nothing,
    /// The line as stage 2 leaves it.
    Line,
    /// What memory has sent.
    Memory,
}

/// Bytes that are written to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Sends {
    /// The row as stage 2 found it.
    Before,
    /// The row as stage 2 leaves it.
    After,
    /// The message's.
    Message,
}

/// A write to memory, and the read that follows it; each may be alone.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Order {
    /// Bytes are written.
    pub write: Bool,
    #[width(p.srsp.line_bits())]
    pub write_line: Bits,
    #[width(p.write_bits())]
    pub write_id: Bits,
    /// A line is read.
    pub read: Bool,
    /// Around the bank.
    pub direct: Bool,
    #[width(p.srsp.line_bits())]
    pub read_line: Bits,
    #[width(p.own_bits())]
    pub read_id: Bits,
}

/// An order with the bytes that it writes.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Job {
    #[shape(p.clone())]
    pub order: Order,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
}

/// The operation in stage 2.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Step {
    #[width(p.row_bits())]
    pub row: Bits,
    /// Dirty bytes of the line before.
    #[width(p.srsp.line)]
    pub dirty: Bits,
    pub put: Enum<Put>,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
    /// An answer is sent.
    pub answer: Bool,
    pub rsp: Enum<RspOp>,
    pub shows: Enum<Shows>,
    #[width(p.srsp.cu_bits())]
    pub dst: Bits,
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    #[width(1)]
    pub epoch: Bits,
    /// The line was here, without memory.
    pub hit: Bool,
    /// An order goes to memory.
    pub orders: Bool,
    #[shape(p.clone())]
    pub order: Order,
    pub sends: Enum<Sends>,
    /// Bytes that it writes.
    #[width(p.srsp.line)]
    pub out_mask: Bits,
}
