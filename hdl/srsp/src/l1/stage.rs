//! The slot: a cycle's one access to lines and tables, done as a whole or not at all.

use super::Core;
use super::micro::Program;
use super::misses::Target;
use super::params::Inject;
use super::plan::{Own, Plan, Route};
use super::probe_unit::ProbePlan;
use super::table::{Leave, LineState, Operate, Part, fills, leaving, operations};
use super::turn::{Turn, Turns};
use crate::lr_tbl::LrFound;
use crate::msg::{Req, ReqOp, Wb, WbOp, Written};
use crate::pa_tbl::PaFound;
use crate::params::Impl;
use crate::write_combining::head::{self, Why};
use crate::write_combining::op::{CMP, Kind, Op, SYS, WG, Waiter, perform, word_at};
use crate::write_combining::slot::{Looked, Waits};
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    pub line: Bits,
    /// Its request is from S1, or replayed.
    pub at: Looked<LineState>,
    pub lr: Option<LrFound>,
    pub pa: Option<PaFound>,
    probe: ProbePlan,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let p = &core.p;
        let (s1, filler) = (turns.head.op.get(), &core.filler.at);
        let replayed = turns.is(Turn::Replay);
        let entry = mux(replayed, turns.note.entry.get(), filler.entry.get());
        let given = from_target(core, entry, &core.misses.all.target());
        let op = mux(turns.is(Turn::Cu), s1, given);
        let probed = &core.probe.probe.msg;
        let lines = [
            (Turn::Probe, p.shape.srsp.line_of(probed.addr)),
            (Turn::Sync, core.sync.line(p)),
            (Turn::Drain, core.sfifo.oldest()),
        ];
        let line = head::line_of(turns.turn.get(), &lines, op.line);
        let line = line.named("slot_line");
        let addr = mux(turns.is(Turn::Probe), probed.addr, op.atomic().addr);
        let word = addr.slice(2, p.shape.srsp.word_bits()).named("slot_word");
        let lr = core.lr.as_ref().map(|table| {
            table.check(word, core.sfifo.head());
            table.look(word)
        });
        let pa = core.pa.as_ref().map(|table| table.look(word));
        let probe = core.probe.plan(core, turns.is(Turn::Probe), pa.as_ref());
        let taken = (turns.is(Turn::Cu) & turns.head.valid.get()) | replayed;
        let served = filler.does_target(turns.is(Turn::Fill));
        let found = core.arrays.look_up(line, !turns.is(Turn::None));
        let absent = found.state.is(LineState::I) & (turns.is(Turn::Cu) | replayed);
        let way = mux(absent, found.victim, found.way).named("slot_way");
        let request = (taken & core.gate.open()).named("slot_request");
        let at = Looked { found, way, op, request, target: served.named("slot_target") };
        Slot { core, turns, line, at, lr, pa, probe }
    }

    /// Where and how the operation is done.
    fn route(&self) -> Route {
        let op = &self.at.op;
        let sync = self.at.is(Kind::Sync);
        let own = match &self.lr {
            Some(found) if self.core.p.system == Impl::SrspOpt => found.hit,
            _ => bool_lit(false),
        };
        let converted = sync & op.remote & own;
        let wg = sync & ((op.scope.eq(WG) & !op.remote) | converted);
        let owed = self.pa.map_or(bool_lit(false), |found| found.hit);
        let promoted = wg & op.acquires() & owed;
        Route { wg, local: wg & !promoted, promoted, converted, program: self.program(promoted) }
    }

    fn program(&self, promoted: Bool) -> Enum<Program> {
        let op = &self.at.op;
        let code = |program: Program| enum_lit(program);
        let by_sem = |list: [Program; 4]| {
            let codes: Vec<Bits> = list.iter().map(|program| code(*program).bits()).collect();
            select(&codes, op.sem).as_enum::<Program>()
        };
        let cmp = by_sem([Program::RlxCmp, Program::AcqCmp, Program::RelCmp, Program::ArCmp]);
        let sys = by_sem([Program::RlxSys, Program::AcqSys, Program::RelSys, Program::ArSys]);
        let remote = by_sem([Program::RemAcq, Program::RemAcq, Program::RemRel, Program::RemAr]);
        let system = op.scope.eq(SYS);
        let access = mux(op.remote, remote, mux(system, sys, cmp));
        let owed = mux(op.releases(), code(Program::PromotedAr), code(Program::PromotedAcq));
        let access = mux(promoted, owed, access);
        let acquire = mux(system, code(Program::FenceAcqSys), code(Program::FenceAcqCmp));
        let release = mux(system, code(Program::FenceRelSys), code(Program::FenceRelCmp));
        let fence = mux(self.at.is(Kind::Acq), acquire, release);
        let kernel = mux(self.at.is(Kind::Begin), code(Program::Kbegin), code(Program::Kend));
        let other = mux(self.at.op.kind.is_any(&[Kind::Acq, Kind::Rel]), fence, kernel);
        mux(self.at.is(Kind::Sync), access, other)
    }

    /// Decides what the slot does and does it.
    pub fn carry_out(&self) -> Plan {
        let plan = self.plan();
        self.install();
        self.serve(&plan);
        self.access(&plan);
        self.line_leaves(&plan);
        self.answer(&plan);
        let core = self.core;
        when(plan.queues, || core.sync.push(plan.own.route.program, &self.at.op));
        when(self.turns.is(Turn::Replay) & plan.leaves, || self.taken_from_mshr(&plan));
        core.sync.slot(core, self.turns.is(Turn::Sync), plan.own.inv_goes);
        let probe_goes = !self.probe.inv | plan.own.inv_goes;
        core.probe.run(core, &self.probe, probe_goes, self.lr.as_ref(), self.pa.as_ref());
        self.tell_stall(&plan);
        self.check(&plan);
        plan
    }

    fn plan(&self) -> Plan {
        let (core, op, turns) = (self.core, &self.at.op, self.turns);
        let route = self.route();
        let barred = core.gate.bars(op.kind, op.line);
        let held = self.at.op.is_memory() & core.sync.holds_line(&core.p, op.line);
        let kept = held | barred;
        // Targets of an MSHR that a replay has opened again may be owed a promotion: their own look-up decides.
        let now = core.gate.open() & !barred & !route.promoted;
        let served = self.at.target & !core.filler.at.note.get() & (self.at.is(Kind::Load) | now);
        let here = self.at.is(Kind::Load) | self.at.is(Kind::Store) | route.local;
        let looks = (served | (self.at.request & here & !kept)).named("slot_looks");
        let row = self.decode(looks);
        let opens = looks & (row.does(Operate::Reserve) | row.does(Operate::Take));
        let drains = turns.is(Turn::Drain) & core.sfifo.some();
        let invs = self.probe.inv | (turns.is(Turn::Sync) & core.sync.needs_inv());
        let leave = self.decode_leave(drains, opens, opens & self.at.found.room | drains | invs);
        let write_back =
            (leave.does(Part::WriteBack) & (opens | drains | invs)) | (looks & row.does(Operate::WriteBack));
        let wb_free = !write_back | (core.wb.free & core.wbt.table.room());
        let atomic = op.atomic();
        let old = word_at(&atomic, core.arrays.data(self.at.way));
        let result = perform(&atomic, old, core.p.shape.srsp.data_bits());
        let performs = looks & row.does(Operate::Perform);
        let registers =
            if core.p.system.selective() { performs & op.releases() & result.1 } else { bool_lit(false) };
        let dirties = looks & row.does(Operate::Dirties) & (!performs | result.1);
        let push = dirties | registers;
        let waits = self.waits(&row, looks, push);
        let reply = looks & (row.does(Operate::Hit) | performs | (self.at.is(Kind::Store) & op.want_ack));
        let free = wb_free & !(push & core.sfifo.full()) & (!reply | core.replies.room());
        let joins = looks & row.does(Operate::Join);
        let goes =
            looks & free & !row.does(Operate::Wait) & self.can_open(&row, &waits) & !(joins & self.replays());
        let goes = goes.named("slot_goes");
        let queues = self.at.request & self.has_program(&route) & !kept & !waits.queue;
        let fence = self.at.fences(&core.replies);
        let leaves = (goes & !row.does(Operate::WriteBack) & !self.at.target) | queues | fence;
        Plan {
            looks,
            goes,
            leaves: leaves.named("slot_leaves"),
            queues,
            wb_goes: (write_back & wb_free & (goes | drains | invs)).named("slot_writes_back"),
            pushes: goes & push,
            word: result.0,
            wrote: result.1,
            pops: drains & wb_free,
            own: Own {
                route,
                registers: goes & registers,
                inv_goes: invs & wb_free,
                held: held & self.at.request,
                barred: barred & self.at.request,
            },
            row,
            leave,
            waits,
        }
    }

    fn replays(&self) -> Bool {
        self.turns.is(Turn::Replay)
    }

    fn has_program(&self, route: &Route) -> Bool {
        (self.at.is(Kind::Sync) & !route.local) | self.at.op.has_steps()
    }

    fn decode(&self, looks: Bool) -> Decoded<LineState, Operate> {
        let access = self.at.op.access();
        let state = self.at.found.state;
        let entry = self.core.misses.of_line(self.at.op.line) & self.core.misses.all.open.get();
        let joins = entry.any() & self.core.misses.takes_more(entry.lowest_set());
        let covered = self.at.covered(&self.core.arrays);
        let case = mux(state.is(LineState::W), covered, joins & state.is(LineState::P));
        operations().decode_about(self.at.op.line, looks, (access, state, case))
    }

    fn decode_leave(&self, drains: Bool, opens: Bool, valid: Bool) -> Decoded<LineState, Part> {
        let event = mux(opens, enum_lit(Leave::Evict), enum_lit(Leave::Inv));
        let event = mux(drains, enum_lit(Leave::Pop), event);
        let state = mux(opens, self.at.found.victim_state, self.at.found.state);
        let line = self.core.arrays.line_in(&self.at.found, self.at.way);
        leaving().decode_about_but(line, &["evict.I"], valid, (event, state))
    }

    fn waits(&self, row: &Decoded<LineState, Operate>, looks: Bool, push: Bool) -> Waits {
        let core = self.core;
        let misses = &core.misses;
        let reserve = looks & row.does(Operate::Reserve);
        let opens = reserve | (looks & row.does(Operate::Take));
        let no_entry = misses.all.full() | misses.of_line(self.at.op.line).any();
        Waits {
            queue: core.sync.steps.queue.full,
            push: push & core.sfifo.full(),
            mshr: reserve & no_entry & !self.replays(),
            room: opens & !self.at.found.room,
            acked: reserve & core.wbt.table.has(self.at.op.line),
        }
    }

    fn can_open(&self, row: &Decoded<LineState, Operate>, waits: &Waits) -> Bool {
        let sends = !row.does(Operate::Reserve) | self.core.req.free;
        sends & !waits.mshr & !waits.room & !waits.acked
    }

    /// The FILL's first slot.
    fn install(&self) {
        let core = self.core;
        let filler = &core.filler.at;
        let here = filler.installs(self.turns.is(Turn::Fill));
        let entry = filler.entry.get();
        let (noinst, replay) = (core.misses.all.noinst(entry), core.misses.replay(entry));
        let marked = noinst | replay;
        when(here, || {
            core.filler.install(&core.misses, marked);
            let way = core.misses.way(entry);
            when(marked, || core.arrays.set_state(&self.at.found, way, enum_lit(LineState::I))).otherwise(
                || {
                    core.arrays.set_state(&self.at.found, way, enum_lit(LineState::V));
                    core.arrays.put_data(&self.at.found, way, filler.data.get());
                    core.arrays.touch(&self.at.found, way);
                },
            );
        });
        let way = core.misses.way(entry);
        let text = "a FILL is of the line to which the frame belongs";
        assert_always("srsp_l1_fill_frame", !here | self.at.found.way.eq(way), text);
        let row = fills().decode(here, (self.at.found.state, noinst, replay));
        row.leads_to(core.arrays.state_after(&self.at.found, way, self.at.found.state));
    }

    /// A FILL's target.
    fn serve(&self, plan: &Plan) {
        let core = self.core;
        let filler = &core.filler;
        let marked = filler.at.note.get();
        let load = self.at.is(Kind::Load);
        // What cannot be done in this slot stays; a FILL waits for nothing but the CU.
        let promoted = plan.own.route.promoted;
        let shut = !core.gate.open() | core.gate.bars(self.at.op.kind, self.at.op.line);
        let stays = !load & (marked | shut | promoted | plan.waits.push);
        let goes = self.at.target & core.replies.room();
        when(goes, || filler.served(&core.misses, stays));
        when(goes & marked & load, || core.replies.send(&self.at.reply(filler.at.data.get(), &filler.at)));
        cover(
            "srsp.l1.fill.answer_marked",
            goes & marked & load,
            "A load of a marked MSHR is answered with the data.",
        );
        cover("srsp.l1.fill.stays_marked", goes & marked & stays, "An atomic of a marked MSHR is replayed.");
        let closed = goes & !marked & !load & shut;
        cover("srsp.l1.fill.stays_gate", closed, "An atomic is replayed because the gate is closed.");
        if core.pa.is_some() {
            let owed = goes & !marked & !load & !shut & promoted;
            let text = "An acquire is replayed because it is owed a promotion.";
            cover("srsp.l1.fill.stays_promoted", owed, text);
        }
        cover(
            "srsp.l1.fill.stays_full",
            goes & plan.waits.push,
            "An atomic is replayed because the sFIFO is full.",
        );
        let done = plan.goes | stays | (marked & load);
        let text = "a target is answered or stays";
        assert_always("srsp_l1_target_done", !goes | done, text);
    }

    /// An operation on its line.
    fn access(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.at.op, &self.at.found);
        let arrays = &core.arrays;
        let does = |action| plan.does(action);
        let touched = does(Operate::Hit)
            | does(Operate::Merge)
            | does(Operate::Perform)
            | does(Operate::Take)
            | does(Operate::Reserve);
        when(touched, || arrays.touch(found, self.at.way));
        when(does(Operate::Reserve), || self.reserve());
        when(does(Operate::Join), || {
            let entry = core.misses.of_line(op.line) & core.misses.all.open.get();
            core.misses.all.join(entry.lowest_set(), &self.as_target());
        });
        let stores = does(Operate::Merge) | does(Operate::Take);
        let writes = stores | (does(Operate::Perform) & plan.wrote);
        when(writes, || self.write(plan));
        when(does(Operate::Drop), || arrays.set_state(found, found.way, enum_lit(LineState::I)));
        when(plan.pushes, || core.sfifo.push(op.line));
        if let (Some(table), Some(look)) = (&core.lr, &self.lr) {
            when(plan.own.registers, || table.register(look, core.sfifo.tail()));
        }
        when(plan.looks & plan.waits.push & !self.at.target, || core.drain.ask_pop());
        plan.row.leads_to_when(plan.goes, arrays.state_after(found, self.at.way, found.state));
    }

    fn reserve(&self) {
        let (core, op, found) = (self.core, &self.at.op, &self.at.found);
        let misses = &core.misses;
        let way = found.victim;
        core.arrays.put_tag(found, way, op.line);
        core.arrays.set_state(found, way, enum_lit(LineState::P));
        let entry = mux(self.replays(), self.turns.note.entry.get(), misses.all.free_entry());
        when(self.replays(), || misses.open(entry, way))
            .otherwise(|| misses.take(entry, op.line, way, &self.as_target()));
        let mut atomic = op.atomic();
        atomic.addr = cat(&[op.line, lit(0, core.p.shape.offset_bits())]);
        let sys = bool_lit(false);
        core.req.send(&Req { op: enum_lit(ReqOp::Rd), src: core.own, mshr: entry, sys, atomic });
    }

    fn write(&self, plan: &Plan) {
        let (core, op, found, way) = (self.core, &self.at.op, &self.at.found, self.at.way);
        core.arrays.merge(found, way, op.mask, || mux(self.at.is(Kind::Store), op.data, plan.word));
        when(plan.row.does(Operate::Take), || core.arrays.put_tag(found, way, op.line));
    }

    /// What leaves: by a pop, a probe, an own operation, or as a victim.
    fn line_leaves(&self, plan: &Plan) {
        let (core, found) = (self.core, &self.at.found);
        let leave = &plan.leave;
        let gone = plan.pops | plan.own.inv_goes;
        when(gone & leave.does(Part::Drop), || {
            core.arrays.set_state(found, found.way, enum_lit(LineState::I));
        });
        when(plan.pops & leave.does(Part::Clean), || {
            core.arrays.set_state(found, found.way, enum_lit(LineState::V));
        });
        if core.p.inject != Inject::NoReplay {
            when(plan.own.inv_goes & leave.does(Part::Mark), || core.misses.mark(self.line));
        }
        self.check_left(plan);
        when(plan.pops, || {
            core.sfifo.pop();
            core.lr.iter().for_each(|table| table.popped(core.sfifo.head()));
        });
        when(plan.wb_goes, || {
            let line = core.arrays.line_in(found, self.at.way);
            let (wbt, epoch) = core.wbt.enter(line);
            let mut atomic = self.at.op.atomic();
            atomic.addr = cat(&[line, lit(0, core.p.shape.offset_bits())]);
            core.wb.send(&Wb {
                op: enum_lit(WbOp::Wb),
                src: core.own,
                atomic,
                keep: bool_lit(false),
                has: bool_lit(false),
                written: Written {
                    wbt,
                    epoch,
                    mask: core.arrays.mask(self.at.way),
                    data: core.arrays.data(self.at.way),
                },
            });
        });
    }

    /// The line that leaves is left as its row says. A free frame, which is taken, has none.
    fn check_left(&self, plan: &Plan) {
        let found = &self.at.found;
        let opens = plan.row.does(Operate::Reserve) | plan.row.does(Operate::Take);
        let evicts = plan.goes & opens;
        let line = evicts & !found.victim_state.is(LineState::I);
        let before = mux(evicts, found.victim_state, found.state);
        let after = self.core.arrays.left_in(found, self.at.way, before);
        plan.leave.leads_to_when(plan.pops | plan.own.inv_goes | line, after);
    }

    fn taken_from_mshr(&self, plan: &Plan) {
        let misses = &self.core.misses;
        let entry = self.turns.note.entry.get();
        let left = misses.all.waiting(entry).left;
        let here = self.turns.note.target.get().one_hot(left.width());
        let opens = plan.goes & plan.row.does(Operate::Reserve);
        when(!opens, || misses.all.leave(entry, left & !here));
    }

    fn answer(&self, plan: &Plan) {
        let core = self.core;
        let hit = plan.goes & (plan.row.does(Operate::Hit) | plan.row.does(Operate::Perform));
        let port = (&core.replies, &core.filler.at);
        self.at.answer([plan.goes, hit], &core.arrays, port);
    }

    fn as_target(&self) -> Target {
        let (op, Waiter { what, word }) = (&self.at.op, self.at.op.waiter());
        Target { what, sem: op.sem, remote: op.remote, word }
    }

    /// Why requests are not taken, for the CU.
    fn tell_stall(&self, plan: &Plan) {
        let (waits, open) = (&plan.waits, self.core.gate.open());
        let why = Why {
            other: waits.room | waits.acked | waits.push,
            misses: waits.mshr | plan.row.does(Operate::Wait),
            steps: plan.own.held | plan.own.barred | !open | (waits.queue & !plan.looks),
            slot: self.turns.is(Turn::Cu) | !self.core.gate.open(),
        };
        let leaves = plan.leaves & self.turns.is(Turn::Cu);
        self.turns.head.tell(leaves, &why, self.core.sync.steps.queue.valid);
    }

    fn check(&self, plan: &Plan) {
        let core = self.core;
        let remotes = core.p.system != Impl::Base;
        self.at.check("srsp_l1", remotes);
        let replay = self.at.request & self.replays() & plan.looks & plan.row.does(Operate::Join);
        let text = "a replayed atomic never finds its line under way";
        assert_always("srsp_l1_replay_alone", !replay, text);
        if let (Some(lr), Some(look)) = (&core.lr, &self.lr) {
            let holds = core.sfifo.line(look.ptr).eq(self.line);
            let live = core.sfifo.live(look.ptr) & holds;
            let used = self.at.request & self.at.is(Kind::Sync) & look.hit;
            let text = "an LR entry points to a live place of the sFIFO that holds its line";
            assert_always("srsp_l1_lr_live", !used | live, text);
            let over = plan.own.registers & !look.hit & lr.full();
            assert_always("srsp_l1_lr_room", !over, "the LR-TBL never overflows");
        }
        plan.check("srsp_l1");
    }
}

/// The operation that a target gives back.
fn from_target(core: &Core, entry: Bits, t: &Target) -> Op {
    let waiter = Waiter { what: t.what, word: t.word };
    let op = waiter.again(|| core.misses.line(entry), &core.p.shape);
    Op { sem: t.sem, scope: mux(t.remote, lit(CMP, 2), lit(WG, 2)), remote: t.remote, ..op }
}
