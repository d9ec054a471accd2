//! Records that travel and rest inside a bank.

use super::{Bank, Looked};
use crate::msg::{RspOp, Written};
use weft_rtl::prelude::*;

/// States of a line. The first six are those that banks of all systems have, in this order; a system may have more.
pub(crate) trait BankState: HwEnum {
    /// Not here.
    const I: Self = Self::VARIANTS[0];
    /// On its way from memory, no byte valid.
    const P: Self = Self::VARIANTS[1];
    /// On its way from memory, the masked bytes valid and dirty.
    const PD: Self = Self::VARIANTS[2];
    /// All bytes valid, none dirty.
    const V: Self = Self::VARIANTS[3];
    /// All bytes valid, the masked ones dirty.
    const D: Self = Self::VARIANTS[4];
    /// Only the masked bytes valid, all of them dirty.
    const W: Self = Self::VARIANTS[5];
}

/// Whether the dirty mask of a line says anything while the line is in the state of this code: not of one that is not here, on its way without bytes,
/// or clean.
pub fn masked(code: u64) -> bool {
    !matches!(code, 0 | 1 | 3)
}

/// Signals whose widths a bank's sizes fix.
pub(crate) trait BankData: Data<Shape = Bank> + Copy {}
impl<T: Data<Shape = Bank> + Copy> BankData for T {}

/// One way of a set.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Tag<S: BankState> {
    #[width(p.tag_bits())]
    pub tag: Bits,
    pub state: Enum<S>,
}

/// The operation in stage 1, of a kind `K`.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Op<K: HwEnum, A: BankData> {
    pub kind: Enum<K>,
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
    /// What it is about.
    #[flat]
    #[shape(p.clone())]
    pub about: A,
    #[flat]
    #[shape(p.srsp.clone())]
    pub written: Written,
    /// Own MSHR of a line that has come, else the number of what memory has answered.
    #[width(p.own_bits())]
    pub own: Bits,
}

/// Who reads a line, and with which MSHR.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Asker {
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
}

/// What stage 2 answers; its data as `S` says.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Reply<S: HwEnum> {
    /// An answer is sent.
    pub answer: Bool,
    pub rsp: Enum<RspOp>,
    pub shows: Enum<S>,
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
}

impl<S: HwEnum> Reply<S> {
    /// The reply to an operation: whether and how it is answered, and with what; `hit`: the line was here.
    pub fn to<K: HwEnum, A: BankData>(
        op: &Op<K, A>,
        (answer, rsp): (Bool, Enum<RspOp>),
        shows: Enum<S>,
        hit: Bool,
    ) -> Reply<S> {
        let Written { wbt, epoch, .. } = op.written;
        Reply { answer, rsp, shows, dst: op.src, mshr: op.mshr, wbt, epoch, hit }
    }

    /// It is an answer of this kind.
    pub fn is(&self, op: RspOp) -> Bool {
        self.answer & self.rsp.is(op)
    }
}

/// A write to memory, and what follows it; each may be alone.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Order<A: BankData> {
    /// Bytes are written.
    pub write: Bool,
    #[width(p.srsp.line_bits())]
    pub write_line: Bits,
    #[width(p.write_bits())]
    pub write_id: Bits,
    /// What follows.
    #[flat]
    #[shape(p.clone())]
    pub then: A,
}

/// What stage 2 does to its line, which `P` says, and sends; the data of its answer as `S` says.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Work<P: HwEnum, S: HwEnum, A: BankData> {
    /// Dirty bytes of the line before, or of the one that leaves its place.
    #[width(p.srsp.line)]
    pub dirty: Bits,
    pub put: Enum<P>,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
    #[flat]
    #[shape(p.clone())]
    pub reply: Reply<S>,
    /// An order goes to memory.
    pub orders: Bool,
    #[shape(p.clone())]
    pub order: Order<A>,
}

impl<P: HwEnum, S: HwEnum, A: BankData> Work<P, S, A> {
    /// What follows from an operation and what it finds.
    pub fn of<K: HwEnum, B: BankData, L: BankState, E>(
        (op, look): (&Op<K, B>, &Looked<L, E>),
        put: Enum<P>,
        reply: Reply<S>,
        (orders, order): (Bool, Order<A>),
    ) -> Work<P, S, A> {
        let Written { mask, data, .. } = op.written;
        Work { dirty: look.mask, put, mask, data, reply, orders, order }
    }
}

/// An order to memory with the bytes that it writes.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Job<A: BankData> {
    #[shape(p.clone())]
    pub order: Order<A>,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
}
