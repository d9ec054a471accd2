//! Assertions, races and counters that both banks have (mgcc.md section 13).

use super::clock::{Sweep, SweepState};
use super::decide::Parts;
use super::mshr::Match;
use super::select::Choice;
use super::tags::Lookup;
use super::types::{Class, Op};
use super::walker::WalkState;
use crate::bytes;
use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// What these observers look at.
pub(super) struct Basics<'a> {
    pub parts: &'a Parts<'a>,
    pub choice: &'a Choice,
    pub sweep: &'a Sweep,
    pub op: &'a Op,
    pub look: &'a Lookup,
    pub found: &'a Match,
    /// A request or a replay.
    pub asked: Bool,
    pub fill: Bool,
    /// A request waits behind a transaction of its line.
    pub append: Bool,
    /// A transaction begins.
    pub opens: Bool,
    /// A block or line answers.
    pub hits: Bool,
    /// The walker's answer was sent.
    pub served: Bool,
    /// Beginning of the names of races.
    pub prefix: &'static str,
}

impl Basics<'_> {
    fn first(&self) -> Bool {
        self.asked & self.op.class.is(Class::Request)
    }
    fn replay(&self) -> Bool {
        self.asked & self.op.class.is(Class::Replay)
    }
    /// A race's cover point.
    pub fn race(&self, name: &str, cond: Bool, text: &str) {
        cover(&format!("mgcc.race.{}_{name}", self.prefix), cond, text);
    }
}

/// Declares them.
pub(super) fn connect(b: &Basics) {
    let one = b.look.matches.popcount().le(1);
    assert_always("l2_one_way_per_line", !(b.asked | b.fill) | one, "a line is in one way at most");
    transactions(b);
    lists(b);
    accesses(b);
    waits(b);
    messages(b);
    latency(b);
}

/// MSHRs and answers.
fn transactions(b: &Basics) {
    let Parts { m, select, .. } = b.parts;
    assert_always(
        "l2_one_transaction_per_line",
        !b.asked | b.found.entries.popcount().le(1),
        "a line has one transaction at most",
    );
    let mem = &select.mem;
    let index = mem.msg.txn;
    let open = m.valid().bit_at(index) & !m.landed.at(index) & !m.walk.at(index);
    assert_always("l2_answer_expected", !mem.valid | open, "memory answers once, and only what it was asked");
    let kind = m.info(index).op;
    assert_always(
        "l2_answer_of_its_kind",
        !mem.valid | kind.bits().eq(mem.msg.op.bits()),
        "memory answers with the operation that it was asked for",
    );
    let carries = mem.msg.op.is(TsmOp::Wr) | mem.msg.with_data;
    assert_always("l2_answer_has_line", !mem.valid | carries, "a read's and an atomic's answer has the line");
    let own = m.valid().bit_at(b.op.mshr);
    assert_always("l2_mshr_stays", !(b.fill | b.replay()) | own, "an MSHR stays until its list is empty");
    let bare = b.first() & b.op.req.op.is(TsmOp::Evict);
    assert_always("l2_no_note_from_above", !bare, "an L1 sends no EvictNote");
}

/// Lists of waiting requests.
fn lists(b: &Basics) {
    let Parts { m, walker, .. } = b.parts;
    let kind = m.info(b.found.index).op;
    b.race("behind_write", b.append & kind.is(TsmOp::Wr), "a request waits behind a write of its line");
    b.race("behind_atomic", b.append & kind.is(TsmOp::Amo), "a request waits behind an atomic of its line");
    let same = b.append & b.found.index.eq(walker.mshr.get());
    let serving = walker.state.get().is(WalkState::Serve);
    b.race("append_while_served", same & serving, "a request joins the list that is being gone through");
    let list = m.list(walker.mshr.get());
    let ends = same & serving & list.count.none();
    b.race("append_to_empty", ends, "a request joins a list that was about to end");
    if !b.parts.p.gtsc() {
        b.race("list_served", b.served, "a read of the list is answered with the line of another's miss");
    }
    b.race("take_over", b.replay() & b.opens, "the head of a list takes the MSHR over");
    b.race("replay_hits", b.replay() & b.hits, "a replayed request is answered here");
}

/// Requests by kind.
fn accesses(b: &Basics) {
    let op = |op| b.first() & b.op.req.op.is(op);
    let (read, forced) = (op(TsmOp::Rd), b.op.req.force);
    count("l2_reads", read, "reads taken");
    count("l2_writes", op(TsmOp::Wr), "writes taken");
    count("l2_atomics", op(TsmOp::Amo), "atomics taken");
    count("l2_hits", read & b.hits, "reads answered from a block at once");
    let cold = read & b.opens & !forced & !b.look.hit;
    count("l2_misses_cold", cold, "reads of a line that is not here: cold and capacity misses");
    count("l2_forced", read & b.opens & forced, "reads that had to go to memory");
    count("l2_merged", read & b.append, "reads of a line that has a transaction");
    let locked = b.parts.m.info(b.found.index).op.is(TsmOp::Wr);
    count("l2_lock_waits", b.append & locked, "requests that waited behind a write of their line");
    count("l2_replays", b.replay(), "requests of lists that went through the pipeline again");
}

/// Waits and sweeps.
fn waits(b: &Basics) {
    let (choice, sweep) = (b.choice, b.sweep);
    count("l2_mshr_stalls", choice.waits & choice.no_mshr, "cycles in which a request waited for an MSHR");
    count(
        "l2_pool_stalls",
        choice.waits & choice.no_pool,
        "cycles in which a request waited for a pool entry",
    );
    let sweeps = sweep.state.get().is_any(&[SweepState::Roll, SweepState::Maint]);
    count("l2_sweep_cycles", sweeps, "cycles of sweeps");
    if b.parts.clock.is_some() {
        let last = sweep.set.get().eq(u64::from(b.parts.p.sets() - 1));
        count("l2_rolls", sweep.state.get().is(SweepState::Roll) & last, "epochs begun");
    }
}

/// Messages and bytes by class and direction.
fn messages(b: &Basics) {
    let Parts { p, select, outs, .. } = b.parts;
    let (t, coherent) = (&p.tsm, p.mgcc());
    let classes = |direction: &str, there: Bool, op: Enum<TsmOp>, bytes: Bits| {
        for (name, kind) in [("rd", TsmOp::Rd), ("wr", TsmOp::Wr), ("amo", TsmOp::Amo)] {
            let text = format!("bytes of messages of this class, {direction}");
            count_amount(&format!("l2_bytes_{direction}_{name}"), there & op.is(kind), bytes, &text);
        }
    };
    let taken = select.s1_is(Class::Request);
    let req = select.s1.get().req;
    let bytes = match p.gtsc() {
        true => bytes::gtsc_req(t, req.op, req.mask, req.amo),
        false => bytes::up_req(t, &req),
    };
    classes("l1_req", taken, req.op, bytes);
    let (rsp, up) = (&outs.rsp.out, &outs.req.out);
    classes("l1_rsp", rsp.waiting & rsp.free, rsp.held.op, bytes::up_rsp(t, &rsp.held, p.coherent()));
    let goes = up.waiting & up.free;
    classes("mem_req", goes, up.held.op, bytes::umc_req(t, &up.held, coherent));
    if coherent {
        let bytes = bytes::umc_req(t, &up.held, true);
        count_amount(
            "l2_bytes_mem_req_note",
            goes & up.held.op.is(TsmOp::Evict),
            bytes,
            "bytes of EvictNotes",
        );
    }
    let mem = &select.mem;
    classes("mem_rsp", mem.valid, mem.msg.op, bytes::umc_rsp(t, &mem.msg, coherent));
}

/// Average access latency: `l2_latency` divided by the answers.
fn latency(b: &Basics) {
    let Parts { p, outs, .. } = b.parts;
    let most = p.tsm.l2_mshrs + p.pool + 16;
    let unanswered =
        reg::<Bits>("unanswered", bits_for(u64::from(most))).doc("Requests taken and not answered.");
    let answered = outs.rsp.out.waiting & outs.rsp.out.free;
    when(b.choice.request & !answered, || unanswered.set(unanswered.get() + 1));
    when(!b.choice.request & answered, || unanswered.set(unanswered.get() - 1));
    assert_always(
        "l2_one_answer_per_request",
        !answered | unanswered.get().any(),
        "no answer without a request",
    );
    count("l2_answers", answered, "answers given");
    count_amount(
        "l2_latency",
        unanswered.get().any(),
        unanswered.get(),
        "sum over all requests of the cycles from taking to answering",
    );
}
