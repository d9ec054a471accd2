//! Records that travel and rest inside a bank.

use super::{Bank, BankData, bundle_of};
use crate::msg::RspOp;
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

bundle_of! {
    /// One way of a set.
    struct Tag<S: BankState>(p: Bank) {
        tag: Bits = p.tag_bits(),
        state: Enum<S> = (),
    }
}

bundle_of! {
    /// The operation in stage 1, of a kind `K`.
    struct Op<K: HwEnum, A: BankData>(p: Bank) {
        kind: Enum<K> = (),
        /// It stands at the head of an ingress queue.
        from_head: Bool = (),
        /// That queue: WB, else REQ.
        wb: Bool = (),
        /// It waited for the line that has just come.
        target: Bool = (),
        /// Who asks, or is answered.
        src: Bits = p.srsp.cu_bits(),
        /// MSHR of the L1.
        mshr: Bits = p.srsp.mshr_bits(),
        /// What it is about.
        about flat: A = p.clone(),
        wbt: Bits = p.srsp.wbt_bits(),
        epoch: Bits = 1,
        mask: Bits = p.srsp.line,
        data: Bits = p.srsp.data_bits(),
        /// Own MSHR of a line that has come, else the number of what memory has answered.
        own: Bits = p.own_bits(),
    }
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

bundle_of! {
    /// What stage 2 answers; its data as `S` says.
    struct Reply<S: HwEnum>(p: Bank) {
        /// An answer is sent.
        answer: Bool = (),
        rsp: Enum<RspOp> = (),
        shows: Enum<S> = (),
        dst: Bits = p.srsp.cu_bits(),
        mshr: Bits = p.srsp.mshr_bits(),
        wbt: Bits = p.srsp.wbt_bits(),
        epoch: Bits = 1,
        /// The line was here, without memory.
        hit: Bool = (),
    }
}

impl<S: HwEnum> Reply<S> {
    /// It is an answer of this kind.
    pub fn is(&self, op: RspOp) -> Bool {
        self.answer & self.rsp.is(op)
    }
}

bundle_of! {
    /// A write to memory, and what follows it; each may be alone.
    struct Order<A: BankData>(p: Bank) {
        /// Bytes are written.
        write: Bool = (),
        write_line: Bits = p.srsp.line_bits(),
        write_id: Bits = p.write_bits(),
        /// What follows.
        then flat: A = p.clone(),
    }
}

bundle_of! {
    /// An order to memory with the bytes that it writes.
    struct Job<A: BankData>(p: Bank) {
        order: Order<A> = p.clone(),
        mask: Bits = p.srsp.line,
        data: Bits = p.srsp.data_bits(),
    }
}
