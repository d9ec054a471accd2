//! The slot: a cycle's one access to lines and tables, done as a whole or not at all.

use super::Core;
use super::capture::Revoke;
use super::fill;
use super::misses::{Miss, Target};
use super::params::HlrcInject;
use super::plan::{Own, Plan};
use super::table::{Answer, Asked, Case, Operate, OwnState, Part, Program, Step};
use super::table::{answers, leaving, operations};
use super::turn::{Turn, Turns};
use crate::msg::{ReqOp, WbOp};
use crate::registering::slot::comes;
use crate::write_combining::head::{self, Why};
use crate::write_combining::op::{Kind, perform};
use crate::write_combining::slot::{Looked, Waits};
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    /// Its request is from S1.
    pub at: Looked<OwnState>,
    /// Ways of the row that are owned.
    owned: Bits,
    revoke: Revoke,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let (s1, filler) = (turns.head.op.get(), &core.filler);
        let entry = filler.entry.get();
        let given = core.misses.all.target().again(|| core.misses.miss(entry).line, &core.p.shape);
        let op = mux(turns.is(Turn::Cu), s1, given);
        let lines = [
            (Turn::Probe, core.capture.probed_line(&core.p)),
            (Turn::Sync, core.sync.walk_line()),
            (Turn::Drain, core.sfifo.oldest()),
        ];
        let line = head::line_of(turns.turn.get(), &lines, op.line);
        let looked = !turns.is(Turn::None) & !turns.is(Turn::Hand);
        let (found, owned) = core.arrays.look_up(line.named("slot_line"), looked, core.p.owned_aware);
        let revoke = core.capture.plan(core, turns.is(Turn::Probe), &found);
        let served = filler.does_target(turns.is(Turn::Fill));
        let absent = found.state.is(OwnState::I) & turns.is(Turn::Cu);
        let way = mux(absent, found.victim, found.way);
        let walked = core.sync.walk_ways(owned).lowest_set();
        let request = turns.is(Turn::Cu) & turns.head.valid.get() & core.gate_open();
        let way = mux(turns.is(Turn::Sync), walked, way).named("slot_way");
        let request = request.named("slot_request");
        let at = Looked { found, way, op, request, target: served.named("slot_target") };
        Slot { core, turns, at, owned, revoke }
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
        let several = [Program::FenceAcq, Program::FenceRel, Program::Begin, Program::End];
        when(plan.queues, || core.sync.push(self.at.program(several), self.at.op.id));
        core.sync.slot(core, self.turns.is(Turn::Sync), self.owned, plan.own.evicts);
        core.capture.run(core, &self.revoke);
        core.capture.hand(core, self.turns.is(Turn::Hand));
        self.tell_stall(&plan);
        self.check(&plan);
        plan
    }

    fn plan(&self) -> Plan {
        let (core, turns) = (self.core, self.turns);
        let captured = self.at.op.is_memory() & core.capture.holds(self.at.op.line);
        let looks = (self.at.request & self.at.op.is_memory() & !captured).named("slot_looks");
        let row = self.decode(looks);
        let does = |action| looks & row.does(action);
        let absent = self.at.found.state.is(OwnState::I);
        let opens = does(Operate::Reserve) | does(Operate::Take) | (does(Operate::Register) & absent);
        let drains = turns.is(Turn::Drain) & core.sfifo.some();
        let ways = core.sync.walk_ways(self.owned);
        let walks = turns.is(Turn::Sync) & core.sync.is(&[Step::GiveBack]) & ways.any();
        let opened = opens & self.at.found.room;
        let leave = self.at.leaving(&core.arrays, &leaving(), [drains, walks, opened]);
        let write_back = (leave.does(Part::WriteBack) & (opens | drains))
            | does(Operate::WriteBack)
            | does(Operate::Through);
        let wb_free = !write_back | (core.l2.wb.free & core.wbt.table.room());
        let atomic = self.at.op.atomic();
        let old = self.at.op.old_word(core.arrays.data(self.at.way));
        let result = perform(&atomic, old, core.p.shape.srsp.data_bits());
        let push = does(Operate::Dirties);
        let captures = opens & leave.does(Part::Capture);
        let waits = self.waits(&row, looks, push);
        let buffer = captures & !core.can_capture();
        let reply = does(Operate::Hit)
            | does(Operate::Perform)
            | (looks & self.at.is(Kind::Store) & self.at.op.want_ack);
        let free = wb_free & !waits.push & (!reply | core.replies.room());
        let goes = (looks & free & !row.does(Operate::Wait) & self.can_open(&row, &waits, buffer))
            .named("slot_goes");
        let queues = self.at.request & self.at.op.has_steps() & core.sync.room();
        let fence = self.at.fences(&core.replies);
        let leaves = (goes & !row.does(Operate::WriteBack)) | queues | fence;
        Plan {
            looks,
            goes,
            leaves: leaves.named("slot_leaves"),
            queues,
            wb_goes: (write_back & wb_free & (goes | drains)).named("slot_writes_back"),
            pushes: goes & push,
            word: result.0,
            wrote: result.1,
            pops: drains & wb_free,
            own: Own {
                evicts: ((goes & captures) | (walks & core.can_capture())).named("slot_evicts"),
                revokes: self.revoke.captures,
                captured: captured & self.at.request,
                buffer,
            },
            row,
            leave,
            waits,
        }
    }

    /// One bit: the open MSHR of the line.
    fn open_entry(&self) -> Bits {
        self.core.misses.of_line(self.at.op.line)
    }

    fn decode(&self, looks: Bool) -> Decoded<OwnState, Operate> {
        let access = self.at.op.access();
        let state = self.at.found.state;
        let entry = self.open_entry();
        let more = self.core.misses.takes_more(entry.lowest_set());
        let case = |case: Case| lit(case.encoding(), 2);
        let joins = mux(more, case(Case::Yes), case(Case::Shut));
        let joins = mux(entry.any(), joins, case(Case::No));
        let covered = self.at.covered(&self.core.arrays);
        let covered = mux(covered, case(Case::Yes), case(Case::No));
        let case = mux(state.is(OwnState::W), covered, joins);
        operations().decode_about(self.at.op.line, looks, (access, state, case))
    }

    fn waits(&self, row: &Decoded<OwnState, Operate>, looks: Bool, push: Bool) -> Waits {
        let core = self.core;
        let does = |action| looks & row.does(action);
        let asks = does(Operate::Reserve) | does(Operate::Register) | does(Operate::Ask);
        let takes = does(Operate::Reserve)
            | does(Operate::Take)
            | (does(Operate::Register) & self.at.found.state.is(OwnState::I));
        let acked = asks & core.wbt.table.has(self.at.op.line);
        let fault = core.p.inject == HlrcInject::ReadPastWb;
        Waits {
            queue: self.at.request & self.at.op.has_steps() & !core.sync.room(),
            push: push & core.sfifo.full(),
            mshr: asks & core.misses.all.full(),
            room: takes & !self.at.found.room,
            acked: if fault { acked & !does(Operate::Ask) } else { acked },
        }
    }

    fn can_open(&self, row: &Decoded<OwnState, Operate>, waits: &Waits, buffer: Bool) -> Bool {
        let asks = row.does(Operate::Reserve) | row.does(Operate::Register) | row.does(Operate::Ask);
        let sends = !asks | self.core.l2.req.free;
        sends & !waits.mshr & !waits.room & !waits.acked & !buffer
    }

    /// The first slot of a FILL or REG_DATA.
    fn install(&self) {
        let (core, found) = (self.core, &self.at.found);
        let (filler, misses, arrays) = (&core.filler, &core.misses, &core.arrays);
        let here = filler.installs(self.turns.is(Turn::Fill));
        let entry = filler.entry.get();
        let miss = misses.miss(entry);
        let comes = comes(filler.note.get());
        let marked = misses.all.noinst(entry);
        let inputs = (found.state, comes, miss.asked, marked);
        let row = answers().decode_about(miss.line, here, inputs);
        let does = |action| here & row.does(action);
        when(here, || fill::install(filler, misses));
        when(does(Answer::Install) | does(Answer::Own), || {
            arrays.put_data(found, miss.way, filler.data.get());
            arrays.touch(found, miss.way);
        });
        when(does(Answer::Install), || arrays.set_state(found, miss.way, enum_lit(OwnState::V)));
        when(does(Answer::Skip), || arrays.set_state(found, miss.way, enum_lit(OwnState::I)));
        when(does(Answer::Own), || {
            arrays.set_state(found, miss.way, enum_lit(OwnState::O));
            arrays.put_mask(found, miss.way, lit_bv(Bv::zero(core.p.shape.srsp.line)));
            misses.gain(entry, filler.from_l2.get());
            core.sync.push_gain(entry);
        });
        let text = "an answer is of the line to which the frame belongs";
        let framed = miss.asked.is(Asked::Rdu) | found.way.eq(miss.way);
        assert_always("hlrc_l1_fill_frame", !here | framed, text);
        row.leads_to(arrays.state_after(found, miss.way, found.state));
        let during = core.misses.some_gained();
        let text = "a line is gained while the invalidation of another gain is at work: its atomics are done all the same";
        cover("srsp.race.hlrc_l1_gain_in_gain", does(Answer::Own) & during, text);
    }

    /// A target of a FILL or REG_DATA.
    fn serve(&self, plan: &Plan) {
        let core = self.core;
        let filler = &core.filler;
        let grants = filler.note.get();
        let answers = self.at.target & !grants & core.replies.room();
        let performs = self.at.target & grants;
        when(answers | performs, || fill::served(filler, &core.misses));
        when(answers, || core.replies.send(&self.at.reply(filler.data.get(), filler)));
        when(performs, || {
            when(plan.wrote, || self.at.write_owned(&core.arrays, plan.word));
            let mut done = core.misses.all.target();
            done.word.opnd = self.at.op.old_word(core.arrays.data(self.at.way));
            core.misses.performed(filler.entry.get(), filler.target(), &done);
        });
        let owned = self.at.found.state.is(OwnState::O) & self.at.is(Kind::Sync);
        let text = "the atomics of a REG_DATA are done on the owned line, and nothing but them";
        assert_always("hlrc_l1_grant_performs", !performs | owned, text);
        let text = "loads alone wait for a FILL";
        assert_always("hlrc_l1_fill_loads", !(self.at.target & !grants) | self.at.is(Kind::Load), text);
    }

    /// An operation on its line.
    fn access(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.at.op, &self.at.found);
        let arrays = &core.arrays;
        let does = |action| plan.does(action);
        let [hit, merge, perform] = [Operate::Hit, Operate::Merge, Operate::Perform].map(does);
        let [take, reserve, register] = [Operate::Take, Operate::Reserve, Operate::Register].map(does);
        let used = [hit, merge, perform, take, reserve, register, does(Operate::Through)];
        when(any_of(&used), || arrays.touch(found, self.at.way));
        when(does(Operate::Reserve), || self.ask(ReqOp::Rd, Asked::Rd, Some(OwnState::P)));
        when(does(Operate::Register), || self.ask(ReqOp::Reg, Asked::Reg, Some(OwnState::PR)));
        when(does(Operate::Ask), || self.ask(ReqOp::Rdu, Asked::Rdu, None));
        when(does(Operate::Join), || core.misses.all.join(self.open_entry().lowest_set(), &self.as_target()));
        when(does(Operate::Merge) | does(Operate::Take), || self.write(plan));
        when(does(Operate::Perform) & plan.wrote, || self.at.write_owned(arrays, plan.word));
        when(does(Operate::Through), || {
            // The bytes here follow, or an atomic would not see what its own wavefront has stored.
            arrays.put_bytes(found, self.at.way, op.mask, op.data);
        });
        when(does(Operate::Drop), || arrays.set_state(found, found.way, enum_lit(OwnState::I)));
        when(plan.pushes, || core.sfifo.push(op.line));
        when(plan.looks & plan.waits.push, || core.drain.ask_pop());
        plan.row.leads_to_when(plan.goes, arrays.state_after(found, self.at.way, found.state));
    }

    /// Takes an MSHR and sends its request; with a state, the frame is reserved.
    fn ask(&self, op: ReqOp, asked: Asked, state: Option<OwnState>) {
        let (core, line) = (self.core, self.at.op.line);
        if let Some(state) = state {
            core.arrays.put_tag(&self.at.found, self.at.way, line);
            core.arrays.set_state(&self.at.found, self.at.way, enum_lit(state));
        }
        let entry = core.misses.all.free_entry();
        let miss = Miss { line, way: self.at.way, asked: enum_lit(asked) };
        core.misses.take(entry, &miss, &self.as_target());
        core.l2.ask(op, line, entry);
    }

    /// A plain store.
    fn write(&self, plan: &Plan) {
        let (arrays, op, found, way) = (&self.core.arrays, &self.at.op, &self.at.found, self.at.way);
        arrays.merge(found, way, op.mask, || op.data);
        when(plan.row.does(Operate::Take), || arrays.put_tag(found, way, op.line));
    }

    /// What leaves: by a pop, as a victim, revoked, or at a kernel's end.
    fn line_leaves(&self, plan: &Plan) {
        let (core, found) = (self.core, &self.at.found);
        let arrays = &core.arrays;
        let leave = &plan.leave;
        let gone = (plan.pops & leave.does(Part::Drop)) | plan.own.revokes;
        when(gone, || arrays.set_state(found, found.way, enum_lit(OwnState::I)));
        // The frame of a victim is taken in the same slot.
        when(plan.own.evicts & self.turns.is(Turn::Sync), || {
            arrays.set_state(found, self.at.way, enum_lit(OwnState::I));
        });
        when(plan.pops & leave.does(Part::Clean), || {
            arrays.set_state(found, found.way, enum_lit(OwnState::V));
        });
        let takes = plan.row.does(Operate::Reserve) | plan.row.does(Operate::Take);
        let opens = takes | (plan.row.does(Operate::Register) & found.state.is(OwnState::I));
        let walks = plan.own.evicts & self.turns.is(Turn::Sync);
        self.at.check_left(arrays, plan, [opens, walks]);
        when(plan.pops, || core.sfifo.pop());
        let line = arrays.line_in(found, self.at.way);
        let (mask, data) = (arrays.mask(self.at.way), arrays.data(self.at.way));
        when(plan.wb_goes, || {
            let through = plan.row.does(Operate::Through) & plan.looks;
            let bytes = (mux(through, self.at.op.mask, mask), mux(through, self.at.op.data, data));
            let wbt = core.wbt.enter(line);
            core.l2.send(WbOp::Wb, line, (bool_lit(false), bool_lit(false)), wbt, bytes);
        });
        when(plan.own.evicts | plan.own.revokes, || {
            core.capture.take(core, line, (mask, data), plan.own.revokes)
        });
    }

    fn answer(&self, plan: &Plan) {
        let core = self.core;
        let hit = plan.goes & (plan.row.does(Operate::Hit) | plan.row.does(Operate::Perform));
        let port = (&core.replies, &core.filler);
        self.at.answer([plan.goes, hit], &core.arrays, port);
    }

    fn as_target(&self) -> Target {
        self.at.op.waiter()
    }

    /// Why requests are not taken, for the CU.
    fn tell_stall(&self, plan: &Plan) {
        let (waits, open) = (&plan.waits, self.core.gate_open());
        let why = Why {
            other: waits.room | waits.acked | waits.push | plan.own.buffer,
            misses: waits.mshr | (plan.looks & plan.row.does(Operate::Wait)),
            steps: plan.own.captured | waits.queue | !open,
            slot: self.turns.is(Turn::Cu) | !open,
        };
        let leaves = plan.leaves & self.turns.is(Turn::Cu);
        self.turns.head.tell(leaves, &why, self.core.sync.steps.queue.valid);
    }

    fn check(&self, plan: &Plan) {
        self.at.check_open("hlrc_l1", &self.core.misses);
        plan.check("hlrc_l1");
        let one = !(plan.own.evicts & plan.own.revokes)
            & (!(plan.own.evicts | plan.own.revokes) | !self.core.capture.busy.get());
        assert_always("hlrc_l1_capture_once", one, "the capture buffer takes one line at a time");
    }
}
