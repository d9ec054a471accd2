//! Stage 0: what enters the pipeline. First what memory has sent and who waited for it, then pops of the sFIFO, then the messages of the L1s in turn.

use super::arrays::Select;
use super::data::Outputs;
use super::ingress::{Ingress, Supplies};
use super::memory::UnderWay;
use super::params::HlrcL2Params;
use super::revokes::Revokes;
use super::types::{Kind, Named, Op};
use crate::bank::Bank;
use crate::sfifo::Sfifo;
use weft_rtl::prelude::*;

/// Everything that stages look at.
pub(super) struct Parts<'a> {
    pub p: &'a HlrcL2Params,
    pub bank: &'a Bank,
    pub ingress: &'a Ingress,
    pub memory: &'a UnderWay,
    pub outs: &'a Outputs,
    pub sfifo: &'a Sfifo,
    pub revokes: &'a Revokes,
    pub select: &'a Select,
}

/// What stage 0 did.
pub(super) struct Choice {
    /// A message of an L1 entered.
    pub message: Bool,
    /// A pop entered, for room in the sFIFO.
    pub pops: Bool,
}

/// Chooses and moves an operation into stage 1.
pub(super) fn connect(with: &Parts) -> Choice {
    let Parts { bank, ingress, memory, outs, sfifo, revokes, select, .. } = with;
    let enter = (select.open & outs.room()).named("s0_enter");
    let op = wire_or::<Op>("s0_op", (*bank).clone(), ingress.blank());
    let first = memory.choose(ingress, &op, enter).named("s0_first");
    let free = enter & !first & !memory.fills.reserves();
    let in_s1 = select.s1_is(&[Kind::Pop]);
    let popping = in_s1 | select.held.get() | !memory.write_free().0;
    let pops = (ingress.short.wants_room() & sfifo.full() & !popping & free).named("s0_pops");
    when(pops, || {
        let blank = ingress.blank();
        let about = Named { line: sfifo.oldest(), ..blank.about };
        op.set(Op { kind: enum_lit(Kind::Pop), from_head: bool_lit(false), about, ..blank });
    });
    let busy = ingress.queues.in_s1(select.s1_valid.get(), &select.s1.get());
    let has = Supplies { supply: memory.supplies(), room: !sfifo.full(), entry: !revokes.full() };
    ingress.choose(busy);
    let waits = ingress.waits(has);
    let message = ingress.serve((waits, busy), || free & !pops, |queue| ingress.message(queue, &op));
    let go = (enter & first) | pops | message;
    select.enter(go, || op.get(), || op.get().about.line);
    Choice { message, pops }
}
