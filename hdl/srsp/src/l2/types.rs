//! Records that travel and rest inside a bank.

use super::params::L2Params;
use crate::msg::{Atomic, RspOp};
use weft_rtl::prelude::*;

/// State of a line.
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
}

/// One way of a set.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Tag {
    #[width(p.tag_bits())]
    #[field("tag")]
    pub tag: Bits,
    #[field("state")]
    pub state: Enum<LineState>,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub(super) enum Kind {
    Rd,
    Atm,
    /// Atomic at memory.
    AtmSys,
    RemLock,
    Token,
    SysFlush,
    SysInv,
    Wb,
    RemOp,
    RemUnlock,
    TokenRel,
    /// The head of the sFIFO leaves.
    Pop,
    /// A line has come from memory.
    Fill,
    /// Memory has acknowledged a write-around.
    Ack,
    /// Memory has answered an atomic.
    AmoAck,
    /// SYS FLUSH or SYS INV is done.
    SysAck,
}

/// The operation in stage 1.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
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
    /// The access; its address is the line also where there is no access.
    #[shape(p.srsp.clone())]
    pub atomic: Atomic,
    pub keep: Bool,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    #[width(1)]
    pub epoch: Bits,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
    /// Own MSHR of a Fill, number of the write or atomic of an Ack or AmoAck.
    #[width(p.mshr_bits().max(p.write_bits()))]
    pub own: Bits,
}

/// Who waits for a line from memory: a read, which is kept here, or an atomic, which stays at the head of its queue.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Target {
    /// A read.
    pub read: Bool,
    /// An atomic's queue: WB, else REQ.
    pub wb: Bool,
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    /// MSHR of the L1 that reads.
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
    /// The result of the atomic.
    Amo,
}

/// What goes to memory after a write-back, or alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Then {
    Nothing,
    Read,
    Amo,
}

/// Data of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Shows {
    /// None.
    Nothing,
    /// The line.
    Line,
    /// The word before the atomic.
    Old,
    /// The word that memory has sent.
    Memory,
}

/// A write to memory, and what follows it.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Order {
    /// Bytes are written.
    pub write: Bool,
    #[width(p.srsp.line_bits())]
    pub write_line: Bits,
    #[width(p.write_bits())]
    pub write_id: Bits,
    pub then: Enum<Then>,
    #[width(p.mshr_bits().max(p.write_bits()))]
    pub then_id: Bits,
    /// Access of an atomic, address of a read.
    #[shape(p.srsp.clone())]
    pub atomic: Atomic,
}

/// An order with the bytes that it writes.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
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
#[bundle(params = L2Params)]
pub(super) struct Step {
    #[width(p.set_bits())]
    pub set: Bits,
    #[width(p.way_bits())]
    pub way: Bits,
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// State of the line before.
    pub state: Enum<LineState>,
    /// Its dirty bytes before, or those of the line that leaves its place.
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
    /// It writes the message's bytes, not those of the line.
    pub around: Bool,
    /// The atomic ends the lock, unless it keeps it.
    pub unlocks: Bool,
    pub keep: Bool,
    #[width(p.lock_bits())]
    pub lock: Bits,
}
