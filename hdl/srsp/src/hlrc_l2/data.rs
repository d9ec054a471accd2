//! Stage 2: reads and writes a line, sends answers and orders to memory.

use super::types::*;
use crate::bank::{Job, Stage2, merged, numbered};
use crate::msg::{Atomic, MemOp, SyncOp};
use weft_rtl::prelude::*;

/// Stage 2 and the outputs.
pub(super) type Outputs = Stage2<Step, (), Follows>;

/// Carries stage 2 out; `landed`: the line from memory.
pub(super) fn connect(stage: &Outputs, landed: Bits) {
    let (s2, line) = (stage.step.get(), stage.lines.look.lane(0));
    let filled = mux(s2.put.is(Put::Fill), merged(line, !s2.dirty, landed), line);
    let after = mux(s2.put.is(Put::Merge), merged(line, s2.mask, s2.data), filled).named("s2_after");
    when(stage.valid.get(), || {
        when(s2.put.is_any(&[Put::Merge, Put::Fill]), || stage.lines.put.write(s2.row, &after));
        when(s2.reply.answer, || {
            stage.answers.push(&s2.reply, bool_lit(false), shown(&s2, after, landed));
        });
        when(s2.orders, || stage.jobs.queue.push(&job(&s2, line, after)));
    });
    stage.send_answers(s2.reply.answer);
    send_jobs(stage);
}

fn shown(s2: &Step, line: Bits, landed: Bits) -> Bits {
    let is = |shows| s2.reply.shows.is(shows);
    let none = lit_bv(Bv::zero(line.width()));
    mux(is(Shows::Line), line, mux(is(Shows::Memory), landed, none))
}

fn job(s2: &Step, before: Bits, after: Bits) -> Job<Follows> {
    let is = |sends| s2.sends.is(sends);
    let data = mux(is(Sends::Message), s2.data, mux(is(Sends::After), after, before));
    Job { order: s2.order, mask: s2.out_mask, data }
}

fn send_jobs(stage: &Outputs) {
    let (jobs, order) = (&stage.jobs, stage.jobs.queue.head.order);
    let Follows { read, direct, read_line, read_id } = order.then;
    let writes = jobs.writes();
    let id = mux(direct, numbered(3, read_id), read_id.zext(8));
    let line = mux(writes, order.write_line, read_line);
    let atomic = Atomic {
        op: enum_lit(SyncOp::Ld),
        wide: bool_lit(false),
        addr: stage.bank.address(line),
        opnd: lit(0, 64),
        cmp: lit(0, 64),
    };
    let sent = jobs.send(writes, (read, !read), (enum_lit(MemOp::Rd), id), || atomic);
    count("l2_dram_reads", sent & !writes, "reads of lines sent to memory");
}
