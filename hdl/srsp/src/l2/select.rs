//! Stage 0: what enters the pipeline. First what memory has sent and who waited for it, then pops of the sFIFO, then the answer of a SYS operation, then the messages of the L1s
//! in turn. An atomic has stages 1 and 2 to itself, since what it does to line and lock is known only in stage 2.

use super::data::Outputs;
use super::ingress::{Ingress, Supplies};
use super::memory::UnderWay;
use super::params::L2Params;
use super::sys::SysUnit;
use super::types::{Access, Arrays, Kind, LineState, Op, Select};
use crate::bank::Bank;
use crate::lock_tbl::LockTbl;
use crate::msg::Atomic;
use crate::sfifo::Sfifo;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) struct Parts<'a> {
    pub p: &'a L2Params,
    pub bank: &'a Bank,
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

/// What stage 0 did.
pub(super) struct Choice {
    /// A message of an L1 entered.
    pub message: Bool,
    /// A pop entered because somebody needs room.
    pub overflow: Bool,
    /// The answer of a SYS operation entered.
    pub sys_answer: Bool,
}

/// Chooses and moves an operation into stage 1.
pub(super) fn connect(with: &Parts) -> Choice {
    let Parts { bank, ingress, memory, outs, sfifo, locks, sys, token, select, .. } = with;
    let alone = select.s1_is(&[Kind::Atm, Kind::RemOp]);
    let enter =
        (select.open & !alone & outs.stage.room() & !sys.dropping() & !ingress.expired()).named("s0_enter");
    let blank = ingress.blank();
    let op = wire_or::<Op>("s0_op", (*bank).clone(), blank);
    let (first, target) = memory.choose(ingress, &op, enter);
    let first = first.named("s0_first");
    let free = enter & !first & !memory.fills.reserves();
    let overflow = ingress.short.wants_room() & sfifo.full();
    let popping = select.s1_is(&[Kind::Pop]) | select.held.get() | !memory.write_free().0;
    let pops = ((overflow | sys.wants_pop()) & sfifo.some() & !popping & free).named("s0_pops");
    let sys_answer = (free & !pops & sys.wants_answer()).named("s0_sys_answer");
    let idle = Op { from_head: bool_lit(false), ..ingress.blank() };
    when(pops, || {
        let atomic = Atomic { addr: bank.address(sfifo.oldest()), ..idle.about.atomic };
        op.set(Op { kind: enum_lit(Kind::Pop), about: Access { atomic, ..idle.about }, ..idle });
    });
    when(sys_answer, || op.set(Op { kind: enum_lit(Kind::SysAck), src: sys.src.get(), ..idle }));
    let busy = ingress.queues.in_s1(select.s1_valid.get(), &select.s1.get());
    let has = Supplies {
        entry: !locks.full(),
        token: !token.held.get(),
        sys: sys.idle(),
        supply: memory.supplies(),
        room: !sfifo.full(),
    };
    let may = || free & !pops & !sys_answer & !sys.closed();
    let message = ingress.serve((ingress.waits(has), busy), may, |queue| ingress.message(queue, &op));
    let go = (enter & first) | pops | sys_answer | message;
    let entering = || Op { target, ..op.get() };
    let line = || bank.srsp.line_of(op.get().about.atomic.addr);
    select.enter(go, entering, line).elsewhen(sys.dropping(), || select.rows.present(sys.set.get()));
    Choice { message, overflow: pops & overflow, sys_answer }
}

/// Empties the sets for SYS INV, and looks whether each was free of dirty bytes.
pub(super) fn drop_sets(arrays: &Arrays, sys: &SysUnit) {
    let was = reg::<Bool>("drop_checks", ());
    let row = reg::<Bits>("drop_row", sys.set.get().width());
    was.set(sys.dropping());
    when(sys.dropping(), || row.set(sys.set.get()));
    when(was.get(), || arrays.empty(row.get()));
    let text = "no line is dirty or on its way when all are dropped";
    assert_always("l2_drop_is_clean", !was.get() | arrays.all_in(&[LineState::I, LineState::V]), text);
}
