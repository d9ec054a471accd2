//! Stage 0: what enters the pipeline. First what memory has sent and who waited for it, then pops of the sFIFO, then the answer of a SYS operation, then the messages of the L1s
//! in turn. An atomic has stages 1 and 2 to itself, since what it does to line and lock is known only in stage 2.

use super::arrays::Arrays;
use super::data::Outputs;
use super::ingress::{Ingress, Supplies};
use super::memory::UnderWay;
use super::params::L2Params;
use super::sys::SysUnit;
use super::types::{Kind, Op};
use crate::lock_tbl::LockTbl;
use crate::sfifo::Sfifo;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) struct Parts<'a> {
    pub p: &'a L2Params,
    /// The bank's number.
    pub own: Bits,
    pub arrays: &'a Arrays,
    pub ingress: &'a Ingress,
    pub memory: &'a UnderWay,
    pub outs: &'a Outputs,
    pub sfifo: &'a Sfifo,
    pub locks: &'a LockTbl,
    pub sys: &'a SysUnit,
    pub token: &'a Token,
    pub select: &'a Select,
}

/// The right to a remote operation of bRSP with a token, in bank 0.
pub(super) struct Token {
    pub held: Reg<Bool>,
    pub owner: Reg<Bits>,
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
    /// A pop entered because somebody needs room.
    pub overflow: Bool,
    /// The answer of a SYS operation entered.
    pub sys_answer: Bool,
}

impl Select {
    /// Declares the registers.
    pub fn new(p: &L2Params) -> Select {
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

    /// Stage 1 holds an operation of a kind.
    pub fn s1_is(&self, kinds: &[Kind]) -> Bool {
        self.s1_valid.get() & self.s1.get().kind.is_any(kinds)
    }

    /// Empties the arrays, a set per cycle.
    pub fn clear(&self, p: &L2Params, arrays: &Arrays) {
        when(!self.open, || {
            self.cleared.set(self.cleared.get() + 1);
            arrays.empty(self.cleared.get().resize(p.set_bits()), bool_lit(true));
        });
    }

    /// Chooses and moves an operation into stage 1.
    pub fn connect(&self, with: &Parts) -> Choice {
        let Parts { p, arrays, ingress, memory, outs, sfifo, locks, sys, token, .. } = with;
        let alone = self.s1_is(&[Kind::Atm, Kind::RemOp]);
        let enter =
            (self.open & !alone & outs.room() & !sys.dropping() & !ingress.expired()).named("s0_enter");
        let blank = ingress.blank();
        let op = wire_or::<Op>("s0_op", (*p).clone(), blank);
        let (first, target) = memory.offer(ingress, &op, enter);
        let first = first.named("s0_first");
        let free = enter & !first & !memory.reserves();
        let overflow = ingress.wants_room() & sfifo.full();
        let popping = self.s1_is(&[Kind::Pop]) | self.held.get() | !memory.write_free().0;
        let pops = ((overflow | sys.wants_pop()) & sfifo.some() & !popping & free).named("s0_pops");
        let sys_answer = (free & !pops & sys.wants_answer()).named("s0_sys_answer");
        let idle = Op { from_head: bool_lit(false), ..ingress.blank() };
        when(pops, || {
            let atomic = crate::msg::Atomic { addr: p.address(sfifo.oldest()), ..idle.atomic };
            op.set(Op { kind: enum_lit(Kind::Pop), atomic, ..idle });
        });
        when(sys_answer, || op.set(Op { kind: enum_lit(Kind::SysAck), src: sys.src.get(), ..idle }));
        let s1 = self.s1.get();
        let in_s1 = self.s1_valid.get() & s1.from_head;
        let busy = ingress.bit(s1.wb, s1.src) & in_s1.repeat(p.heads());
        let has = Supplies {
            entry: !locks.full(),
            token: !token.held.get(),
            sys: sys.idle(),
            supply: memory.write_free().0 & memory.amo_free().0 & !memory.lines.full(),
            room: !sfifo.full(),
        };
        let pick = ingress.pick(has, busy);
        let message = (free & !pops & !sys_answer & !sys.closed() & pick.any).named("s0_message");
        when(message, || {
            let (wb, src) = ingress.place(pick);
            ingress.message(wb, src, &op);
            ingress.picked(pick);
        });
        let go = (enter & first) | pops | sys_answer | message;
        self.s1_valid.set(go);
        when(go, || {
            self.s1.set(Op { target, ..op.get() });
            arrays.present(p.set_of(p.srsp.line_of(op.get().atomic.addr)));
        })
        .elsewhen(sys.dropping(), || arrays.present(sys.set.get()));
        Choice { message, overflow: pops & overflow, sys_answer }
    }

    /// Empties the sets for SYS INV, and looks whether each was free of dirty bytes.
    pub fn drop_sets(&self, arrays: &Arrays, sys: &SysUnit) {
        let was = reg::<Bool>("drop_checks", ());
        let row = reg::<Bits>("drop_row", sys.set.get().width());
        was.set(sys.dropping());
        when(sys.dropping(), || row.set(sys.set.get()));
        when(was.get(), || arrays.empty(row.get(), bool_lit(false)));
        let text = "no line is dirty or on its way when all are dropped";
        assert_always("l2_drop_is_clean", !was.get() | arrays.is_quiet(), text);
    }
}
