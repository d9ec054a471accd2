//! Stage 2: reads and writes a line, sends answers and orders to memory.

use super::types::*;
use crate::bank::{Job, Stage2, merged, numbered};
use crate::msg::{Atomic, MemOp};
use weft_rtl::prelude::*;

/// Stage 2 and the outputs.
pub(super) type Outputs = Stage2<Step, (), Follows>;

/// Carries stage 2 out; `landed`: the line from memory.
pub(super) fn connect(stage: &Outputs, landed: Bits) {
    let (s2, line) = (stage.step.get(), stage.lines.look.lane(0));
    let filled = mux(s2.work.put.is(Put::Fill), merged(line, !s2.work.dirty, landed), line);
    let after =
        mux(s2.work.put.is(Put::Merge), merged(line, s2.work.mask, s2.work.data), filled).named("s2_after");
    when(stage.valid.get(), || {
        when(s2.work.put.is_any(&[Put::Merge, Put::Fill]), || stage.lines.put.write(s2.row, &after));
        let shown = || shown(&s2, after, landed);
        stage.send(&s2.work, (bool_lit(false), shown), || job(&s2, line, after));
    });
    stage.send_answers(s2.work.reply.answer);
    send_jobs(stage);
}

fn shown(s2: &Step, line: Bits, landed: Bits) -> Bits {
    let is = |shows| s2.work.reply.shows.is(shows);
    let none = lit_bv(Bv::zero(line.width()));
    mux(is(Shows::Line), line, mux(is(Shows::Memory), landed, none))
}

fn job(s2: &Step, before: Bits, after: Bits) -> Job<Follows> {
    let is = |sends| s2.sends.is(sends);
    let data = mux(is(Sends::Message), s2.work.data, mux(is(Sends::After), after, before));
    Job { order: s2.work.order, mask: s2.out_mask, data }
}

fn send_jobs(stage: &Outputs) {
    let (jobs, order) = (&stage.jobs, stage.jobs.queue.head.order);
    let Follows { read, direct, read_line, read_id } = order.then;
    let writes = jobs.writes();
    let id = mux(direct, numbered(3, read_id), read_id.zext(8));
    let line = mux(writes, order.write_line, read_line);
    let atomic = Atomic::at(stage.bank.address(line));
    let sent = jobs.send(writes, (read, !read), (enum_lit(MemOp::Rd), id), || atomic);
    count("l2_dram_reads", sent & !writes, "reads of lines sent to memory");
}
