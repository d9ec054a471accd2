//! Stage 0: what enters the pipeline. First what memory has sent and who waited for it, then pops of the sFIFO, then the messages of the L1s in turn.

use super::arrays::Arrays;
use super::data::Outputs;
use super::ingress::{Ingress, Supplies};
use super::memory::UnderWay;
use super::params::HlrcL2Params;
use super::revokes::Revokes;
use super::types::{Kind, Op};
use crate::sfifo::Sfifo;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) struct Parts<'a> {
    pub p: &'a HlrcL2Params,
    /// The bank's number.
    pub own: Bits,
    pub arrays: &'a Arrays,
    pub ingress: &'a Ingress,
    pub memory: &'a UnderWay,
    pub outs: &'a Outputs,
    pub sfifo: &'a Sfifo,
    pub revokes: &'a Revokes,
    pub select: &'a Select,
}

/// Stage 0 and the register of stage 1.
pub(super) struct Select {
    /// Sets cleared since reset.
    cleared: Reg<Bits>,
    /// All sets are clear.
    pub open: Bool,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<Op>,
    /// The head of the sFIFO is on its way from memory.
    pub held: Reg<Bool>,
}

/// What stage 0 did.
pub(super) struct Choice {
    /// A message of an L1 entered.
    pub message: Bool,
    /// A pop entered, for room in the sFIFO.
    pub pops: Bool,
}

impl Select {
    /// Declares the registers.
    pub fn new(p: &HlrcL2Params) -> Select {
        let bits = p.sets().trailing_zeros() + 1;
        let cleared = reg::<Bits>("cleared", bits).doc("Sets cleared since reset.");
        let open = cleared.get().bit(bits - 1).named("open");
        Select {
            cleared,
            open,
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<Op>("s1", p.clone()).field("queue"),
            held: reg::<Bool>("head_held", ()),
        }
    }

    /// Empties the arrays, a set per cycle.
    pub fn clear(&self, p: &HlrcL2Params, arrays: &Arrays) {
        when(!self.open, || {
            self.cleared.set(self.cleared.get() + 1);
            arrays.empty(self.cleared.get().resize(p.set_bits()));
        });
    }

    /// Chooses and moves an operation into stage 1.
    pub fn connect(&self, with: &Parts) -> Choice {
        let Parts { p, arrays, ingress, memory, outs, sfifo, revokes, .. } = with;
        let enter = (self.open & outs.room()).named("s0_enter");
        let op = wire_or::<Op>("s0_op", (*p).clone(), ingress.blank());
        let first = memory.offer(ingress, &op, enter).named("s0_first");
        let free = enter & !first & !memory.reserves();
        let in_s1 = self.s1_valid.get() & self.s1.get().kind.is(Kind::Pop);
        let popping = in_s1 | self.held.get() | !memory.write_free().0;
        let pops = (ingress.wants_room() & sfifo.full() & !popping & free).named("s0_pops");
        when(pops, || {
            let low = bool_lit(false);
            op.set(Op { kind: enum_lit(Kind::Pop), from_head: low, line: sfifo.oldest(), ..ingress.blank() });
        });
        let s1 = self.s1.get();
        let from_head = self.s1_valid.get() & s1.from_head;
        let busy = ingress.bit(s1.wb, s1.src) & from_head.repeat(p.heads());
        let has = Supplies {
            supply: memory.write_free().0 & memory.direct_free().0 & !memory.lines.full(),
            room: !sfifo.full(),
            entry: !revokes.full(),
        };
        ingress.choose(busy);
        let pick = ingress.pick(has, busy);
        let message = (free & !pops & pick.any).named("s0_message");
        when(message, || {
            let (wb, src) = ingress.place(pick);
            ingress.message(wb, src, &op);
            ingress.picked(pick);
        });
        let go = (enter & first) | pops | message;
        self.s1_valid.set(go);
        when(go, || {
            self.s1.set(op.get());
            arrays.present(p.set_of(op.get().line));
        });
        Choice { message, pops }
    }
}
