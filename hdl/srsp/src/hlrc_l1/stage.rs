//! The slot: a cycle's one access to lines and tables, done as a whole or not at all.

use super::Core;
use super::arrays::Found;
use super::capture::Revoke;
use super::misses::{Miss, Target};
use super::params::HlrcInject;
use super::table::{Access, Answer, Asked, Case, Comes, Leaves, Operate, OwnState, Part, Program, Step};
use super::table::{answers, leaving, operations};
use super::turn::{Turn, Turns};
use crate::amo::amo;
use crate::l1::op::{Kind, Op, WG, place, spread, word_of};
use crate::msg::{Req, ReqOp, SyncOp, WbOp};
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    pub found: Found,
    /// The way whose line is read: the matching one, the victim of an operation that takes a frame, or the owned one that a kernel's end gives back.
    way: Bits,
    pub op: Op,
    /// The slot is that of a request in S1.
    pub request: Bool,
    /// The slot is that of an answer's target.
    pub target: Bool,
    revoke: Revoke,
}

/// What a slot does.
pub(super) struct Plan {
    pub row: Decoded<OwnState, Operate>,
    pub leave: Decoded<OwnState, Part>,
    /// The operation looks its line up.
    pub looks: Bool,
    /// The row is carried out.
    pub goes: Bool,
    /// The request leaves S1.
    pub leaves: Bool,
    /// It goes to the sync unit.
    pub queues: Bool,
    pub wb_goes: Bool,
    pub pushes: Bool,
    /// What an atomic leaves, in every place of its line, and whether it writes.
    word: Bits,
    pub wrote: Bool,
    pub pops: Bool,
    /// An owned line leaves: as a victim, or at a kernel's end.
    pub evicts: Bool,
    /// An owned line leaves because it is revoked.
    pub revokes: Bool,
    /// Why a request waits.
    pub waits: Waits,
}

/// Why a request waits.
pub(super) struct Waits {
    /// Its line is in the capture buffer.
    pub captured: Bool,
    pub queue: Bool,
    pub push: Bool,
    pub mshr: Bool,
    pub room: Bool,
    /// A write-back or UNREG of its line is under way.
    pub acked: Bool,
    /// Its victim is owned, and the capture buffer or the WBT has no room.
    pub buffer: Bool,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let (s1, filler) = (turns.s1.get(), &core.filler);
        let given = from_target(core, filler.entry.get(), &core.misses.target());
        let op = mux(turns.is(Turn::Cu), s1, given);
        let lines = [
            (Turn::Probe, core.capture.probed_line(&core.p)),
            (Turn::Sync, core.sync.walk_line()),
            (Turn::Drain, core.sfifo.oldest()),
        ];
        let line = lines.iter().fold(op.line, |rest, (t, line)| mux(turns.is(*t), *line, rest));
        let looked = !turns.is(Turn::None) & !turns.is(Turn::Hand);
        let found = core.arrays.look_up(line.named("slot_line"), looked);
        let revoke = core.capture.plan(core, turns.is(Turn::Probe), &found);
        let served = turns.is(Turn::Fill) & filler.valid.get() & filler.serves.get();
        let absent = found.state.is(OwnState::I) & turns.is(Turn::Cu);
        let way = mux(absent, found.victim, found.way);
        let walked = core.sync.walk_ways(&found).lowest_set();
        let request = turns.is(Turn::Cu) & turns.s1_valid.get() & core.gate_open();
        Slot {
            core,
            turns,
            way: mux(turns.is(Turn::Sync), walked, way).named("slot_way"),
            found,
            op,
            request: request.named("slot_request"),
            target: served.named("slot_target"),
            revoke,
        }
    }

    fn is(&self, kind: Kind) -> Bool {
        self.op.kind.is(kind)
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
        when(plan.queues, || core.sync.push(self.program(), self.op.id));
        core.sync.slot(core, self.turns.is(Turn::Sync), &self.found, plan.evicts);
        core.capture.run(core, &self.revoke);
        core.capture.hand(core, self.turns.is(Turn::Hand));
        self.tell_stall(&plan);
        self.check(&plan);
        plan
    }

    fn plan(&self) -> Plan {
        let (core, turns) = (self.core, self.turns);
        let captured = self.is_memory() & core.capture.holds(self.op.line);
        let looks = (self.request & self.is_memory() & !captured).named("slot_looks");
        let row = self.decode(looks);
        let does = |action| looks & row.does(action);
        let absent = self.found.state.is(OwnState::I);
        let opens = does(Operate::Reserve) | does(Operate::Take) | (does(Operate::Register) & absent);
        let drains = turns.is(Turn::Drain) & core.sfifo.some();
        let ways = core.sync.walk_ways(&self.found);
        let walks = turns.is(Turn::Sync) & core.sync.is(&[Step::GiveBack]) & ways.any();
        let leave = self.decode_leave(drains, walks, opens & self.found.room);
        let write_back = (leave.does(Part::WriteBack) & (opens | drains))
            | does(Operate::WriteBack)
            | does(Operate::Through);
        let wb_free = !write_back | (core.wb.free & core.wbt.room());
        let result = self.result();
        let push = does(Operate::Dirties);
        let captures = opens & leave.does(Part::Capture);
        let waits = self.waits(&row, looks, captures, (captured, push));
        let reply =
            does(Operate::Hit) | does(Operate::Perform) | (looks & self.is(Kind::Store) & self.op.want_ack);
        let free = wb_free & !waits.push & (!reply | core.replies.room());
        let goes = (looks & free & !row.does(Operate::Wait) & self.can_open(&row, &waits)).named("slot_goes");
        let queues = self.request & self.has_program() & core.sync.room();
        let fence = self.request & self.at_once() & core.replies.room();
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
            evicts: ((goes & captures) | (walks & core.can_capture())).named("slot_evicts"),
            revokes: self.revoke.captures,
            row,
            leave,
            waits,
        }
    }

    fn is_memory(&self) -> Bool {
        self.op.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync])
    }

    /// Nothing is to be done: a fence of work-group scope.
    fn at_once(&self) -> Bool {
        self.op.kind.is_any(&[Kind::Acq, Kind::Rel]) & self.op.scope.eq(WG)
    }

    fn has_program(&self) -> Bool {
        !self.is_memory() & !self.at_once()
    }

    fn program(&self) -> Enum<Program> {
        let code = |program: Program| enum_lit(program);
        let fence = mux(self.is(Kind::Acq), code(Program::FenceAcq), code(Program::FenceRel));
        let kernel = mux(self.is(Kind::Begin), code(Program::Begin), code(Program::End));
        mux(self.op.kind.is_any(&[Kind::Acq, Kind::Rel]), fence, kernel)
    }

    /// One bit: the open MSHR of the line.
    fn open_entry(&self) -> Bits {
        self.core.misses.of_line(self.op.line)
    }

    fn decode(&self, looks: Bool) -> Decoded<OwnState, Operate> {
        let access = mux(self.is(Kind::Store), enum_lit(Access::St), enum_lit(Access::Atomic));
        let access = mux(self.is(Kind::Load), enum_lit(Access::Ld), access);
        let state = self.found.state;
        let entry = self.open_entry();
        let more = self.core.misses.takes_more(entry.lowest_set());
        let case = |case: Case| lit(case.encoding(), 2);
        let joins = mux(more, case(Case::Yes), case(Case::Shut));
        let joins = mux(entry.any(), joins, case(Case::No));
        let covered = (self.op.mask & !self.core.arrays.mask(self.found.way)).none();
        let covered = mux(covered, case(Case::Yes), case(Case::No));
        let case = mux(state.is(OwnState::W), covered, joins);
        operations().decode_about(self.op.line, looks, (access, state, case))
    }

    fn decode_leave(&self, drains: Bool, walks: Bool, opens: Bool) -> Decoded<OwnState, Part> {
        let event = mux(drains, enum_lit(Leaves::Pop), enum_lit(Leaves::Evict));
        let state = mux(opens, self.found.victim_state, self.found.state);
        let state = mux(walks, enum_lit(OwnState::O), state);
        let line = self.core.arrays.line_in(&self.found, self.way);
        leaving().decode_about_but(line, &["evict.I"], opens | drains | walks, (event, state))
    }

    fn waits(
        &self,
        row: &Decoded<OwnState, Operate>,
        looks: Bool,
        captures: Bool,
        (captured, push): (Bool, Bool),
    ) -> Waits {
        let core = self.core;
        let does = |action| looks & row.does(action);
        let asks = does(Operate::Reserve) | does(Operate::Register) | does(Operate::Ask);
        let takes = does(Operate::Reserve)
            | does(Operate::Take)
            | (does(Operate::Register) & self.found.state.is(OwnState::I));
        let acked = asks & core.wbt.has(self.op.line);
        let fault = core.p.inject == HlrcInject::ReadPastWb;
        Waits {
            captured: captured & self.request,
            queue: self.request & self.has_program() & !core.sync.room(),
            push: push & core.sfifo.full(),
            mshr: asks & core.misses.full(),
            room: takes & !self.found.room,
            acked: if fault { acked & !does(Operate::Ask) } else { acked },
            buffer: captures & !core.can_capture(),
        }
    }

    fn can_open(&self, row: &Decoded<OwnState, Operate>, waits: &Waits) -> Bool {
        let asks = row.does(Operate::Reserve) | row.does(Operate::Register) | row.does(Operate::Ask);
        let sends = !asks | self.core.req.free;
        sends & !waits.mshr & !waits.room & !waits.acked & !waits.buffer
    }

    /// The word an atomic leaves, in every place of a line, and whether it writes.
    fn result(&self) -> (Bits, Bool) {
        let atomic = self.op.atomic();
        let line = self.core.arrays.data(self.way);
        let done = amo(&atomic, self.old_word(line));
        (place(done.new, atomic.wide, self.core.p.srsp.data_bits()), done.wrote)
    }

    fn old_word(&self, line: Bits) -> Bits {
        let atomic = self.op.atomic();
        word_of(line, atomic.addr.slice(0, self.core.p.offset_bits()), atomic.wide)
    }

    /// The first slot of a FILL or REG_DATA.
    fn install(&self) {
        let (core, found) = (self.core, &self.found);
        let (filler, misses, arrays) = (&core.filler, &core.misses, &core.arrays);
        let here = self.turns.is(Turn::Fill) & filler.valid.get() & !filler.serves.get();
        let entry = filler.entry.get();
        let miss = misses.miss(entry);
        let comes = mux(filler.grants.get(), enum_lit(Comes::RegData), enum_lit(Comes::Fill));
        let marked = misses.noinst(entry);
        let inputs = (found.state, comes, miss.asked, marked);
        let row = answers().decode_about(miss.line, here, inputs);
        let does = |action| here & row.does(action);
        when(here, || filler.install(misses));
        when(does(Answer::Install) | does(Answer::Own), || {
            arrays.put_data(found, miss.way, filler.data.get());
            arrays.touch(found, miss.way);
        });
        when(does(Answer::Install), || arrays.set_state(found, miss.way, enum_lit(OwnState::V)));
        when(does(Answer::Skip), || arrays.set_state(found, miss.way, enum_lit(OwnState::I)));
        when(does(Answer::Own), || {
            arrays.set_state(found, miss.way, enum_lit(OwnState::O));
            arrays.put_mask(found, miss.way, lit_bv(Bv::zero(core.p.srsp.line)));
            misses.gain(entry, filler.from_l2.get());
            core.sync.push_gain(entry);
        });
        let text = "an answer is of the line to which the frame belongs";
        let framed = miss.asked.is(Asked::Rdu) | found.way.eq(miss.way);
        assert_always("hlrc_l1_fill_frame", !here | framed, text);
        row.leads_to(arrays.state_after(found, miss.way, found.state));
        let during = core.misses.gained.get().any();
        let text = "a line is gained while the invalidation of another gain is at work: its atomics are done all the same";
        cover("srsp.race.hlrc_l1_gain_in_gain", does(Answer::Own) & during, text);
    }

    /// A target of a FILL or REG_DATA.
    fn serve(&self, plan: &Plan) {
        let core = self.core;
        let filler = &core.filler;
        let grants = filler.grants.get();
        let answers = self.target & !grants & core.replies.room();
        let performs = self.target & grants;
        when(answers | performs, || filler.served(&core.misses));
        when(answers, || core.replies.send(&self.reply(filler.data.get())));
        when(performs, || {
            when(plan.wrote, || self.write_owned(plan));
            let mut done = core.misses.target();
            done.opnd = self.old_word(core.arrays.data(self.way));
            core.misses.performed(filler.entry.get(), filler.target(), &done);
        });
        let owned = self.found.state.is(OwnState::O) & self.is(Kind::Sync);
        let text = "the atomics of a REG_DATA are done on the owned line, and nothing but them";
        assert_always("hlrc_l1_grant_performs", !performs | owned, text);
        let text = "loads alone wait for a FILL";
        assert_always("hlrc_l1_fill_loads", !(self.target & !grants) | self.is(Kind::Load), text);
    }

    /// An atomic has written into its owned line.
    fn write_owned(&self, plan: &Plan) {
        let (arrays, found) = (&self.core.arrays, &self.found);
        let here = spread(self.op.mask);
        arrays.put_data(found, self.way, (arrays.data(self.way) & !here) | (plan.word & here));
        arrays.put_mask(found, self.way, arrays.mask(self.way) | self.op.mask);
    }

    /// An operation on its line.
    fn access(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.op, &self.found);
        let arrays = &core.arrays;
        let does = |action| plan.goes & plan.row.does(action);
        let [hit, merge, perform] = [Operate::Hit, Operate::Merge, Operate::Perform].map(does);
        let [take, reserve, register] = [Operate::Take, Operate::Reserve, Operate::Register].map(does);
        let used = [hit, merge, perform, take, reserve, register, does(Operate::Through)];
        when(any_of(&used), || arrays.touch(found, self.way));
        when(does(Operate::Reserve), || self.ask(ReqOp::Rd, Asked::Rd, Some(OwnState::P)));
        when(does(Operate::Register), || self.ask(ReqOp::Reg, Asked::Reg, Some(OwnState::PR)));
        when(does(Operate::Ask), || self.ask(ReqOp::Rdu, Asked::Rdu, None));
        when(does(Operate::Join), || core.misses.join(self.open_entry().lowest_set(), &self.as_target()));
        when(does(Operate::Merge) | does(Operate::Take), || self.write(plan));
        when(does(Operate::Perform) & plan.wrote, || self.write_owned(plan));
        when(does(Operate::Through), || {
            // The bytes here follow, or an atomic would not see what its own wavefront has stored.
            let here = spread(op.mask);
            arrays.put_data(found, self.way, (arrays.data(self.way) & !here) | (op.data & here));
        });
        when(does(Operate::Drop), || arrays.set_state(found, found.way, enum_lit(OwnState::I)));
        when(plan.pushes, || core.sfifo.push(op.line));
        when(plan.looks & plan.waits.push, || core.drain.ask_pop());
        plan.row.leads_to_when(plan.goes, arrays.state_after(found, self.way, found.state));
    }

    /// Takes an MSHR and sends its request; with a state, the frame is reserved.
    fn ask(&self, op: ReqOp, asked: Asked, state: Option<OwnState>) {
        let (core, line) = (self.core, self.op.line);
        if let Some(state) = state {
            core.arrays.put_tag(&self.found, self.way, line);
            core.arrays.set_state(&self.found, self.way, enum_lit(state));
        }
        let entry = core.misses.free_entry();
        let miss = Miss { line, way: self.way, asked: enum_lit(asked) };
        core.misses.take(entry, &miss, &self.as_target());
        let (atomic, sys) = (core.at_line(line), bool_lit(false));
        core.req.send(&Req { op: enum_lit(op), src: core.own, mshr: entry, sys, atomic });
    }

    /// A plain store.
    fn write(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.op, &self.found);
        let (arrays, way) = (&core.arrays, self.way);
        let absent = found.state.is(OwnState::I);
        let (zero, none) = (lit_bv(Bv::zero(core.p.srsp.data_bits())), lit_bv(Bv::zero(core.p.srsp.line)));
        let old = mux(absent, zero, arrays.data(way));
        let clean = !found.state.is_any(&[OwnState::D, OwnState::W]);
        let dirty = mux(clean, none, arrays.mask(way));
        let here = spread(op.mask);
        arrays.put_data(found, way, (old & !here) | (op.data & here));
        arrays.put_mask(found, way, dirty | op.mask);
        let partial = absent | found.state.is(OwnState::W);
        let state = mux(partial, enum_lit(OwnState::W), enum_lit(OwnState::D));
        arrays.set_state(found, way, state);
        when(plan.row.does(Operate::Take), || arrays.put_tag(found, way, op.line));
    }

    /// What leaves: by a pop, as a victim, revoked, or at a kernel's end.
    fn line_leaves(&self, plan: &Plan) {
        let (core, found) = (self.core, &self.found);
        let arrays = &core.arrays;
        let leave = &plan.leave;
        let gone = (plan.pops & leave.does(Part::Drop)) | plan.revokes;
        when(gone, || arrays.set_state(found, found.way, enum_lit(OwnState::I)));
        // The frame of a victim is taken in the same slot.
        when(plan.evicts & self.turns.is(Turn::Sync), || {
            arrays.set_state(found, self.way, enum_lit(OwnState::I));
        });
        when(plan.pops & leave.does(Part::Clean), || {
            arrays.set_state(found, found.way, enum_lit(OwnState::V));
        });
        self.check_left(plan);
        when(plan.pops, || core.sfifo.pop());
        let line = arrays.line_in(found, self.way);
        let (mask, data) = (arrays.mask(self.way), arrays.data(self.way));
        when(plan.wb_goes, || {
            let through = plan.row.does(Operate::Through) & plan.looks;
            let bytes = (mux(through, self.op.mask, mask), mux(through, self.op.data, data));
            let wbt = core.wbt.send(line);
            core.send_wb(WbOp::Wb, line, bool_lit(false), wbt, bytes);
        });
        when(plan.evicts | plan.revokes, || core.capture.take(core, line, (mask, data), plan.revokes));
    }

    /// The line that leaves is left as its row says. A free frame, which is taken, has none.
    fn check_left(&self, plan: &Plan) {
        let found = &self.found;
        let takes = plan.row.does(Operate::Reserve) | plan.row.does(Operate::Take);
        let opens = takes | (plan.row.does(Operate::Register) & found.state.is(OwnState::I));
        let frame = plan.goes & opens;
        let line = frame & !found.victim_state.is(OwnState::I);
        let walks = plan.evicts & self.turns.is(Turn::Sync);
        let before = mux(frame, found.victim_state, found.state);
        let before = mux(walks, enum_lit(OwnState::O), before);
        let after = self.core.arrays.left_in(found, self.way, before);
        plan.leave.leads_to_when(plan.pops | walks | line, after);
    }

    fn answer(&self, plan: &Plan) {
        let core = self.core;
        let hit = plan.goes & (plan.row.does(Operate::Hit) | plan.row.does(Operate::Perform));
        let ack = plan.goes & self.is(Kind::Store) & self.op.want_ack;
        let fence = self.request & self.at_once() & core.replies.room();
        let line = core.arrays.data(self.found.way);
        when(hit | ack | fence, || core.replies.send(&self.reply(line)));
    }

    fn reply(&self, data: Bits) -> CuRsp {
        let op = &self.op;
        let filler = &self.core.filler;
        let store = self.is(Kind::Store) | (self.is(Kind::Sync) & op.op.is(SyncOp::St));
        let plain = store | !self.is_memory();
        let from = mux(filler.from_l2.get(), lit(1, 3), lit(3, 3));
        let none = lit_bv(Bv::zero(op.mask.width()));
        CuRsp {
            id: op.id,
            kind: mux(plain, lit(1, 2), lit(0, 2)),
            mask: mux(self.is_memory(), op.mask, none),
            data,
            src: mux(self.target, from, lit(0, 3)),
            merged: self.target & filler.target().any(),
        }
    }

    fn as_target(&self) -> Target {
        let op = &self.op;
        let opnd = op.atomic().opnd;
        Target { load: self.is(Kind::Load), op: op.op, mask: op.mask, opnd, cmp: op.cmp, id: op.id }
    }

    /// Why requests are not taken, for the CU.
    fn tell_stall(&self, plan: &Plan) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let busy = output_reg::<Bool>("busy_release", ()).doc("An operation of several steps is at work.");
        let cause = |c: StallCause| enum_lit(c);
        let (waits, open) = (&plan.waits, self.core.gate_open());
        let room = waits.room | waits.acked | waits.push | waits.buffer;
        let why = mux(room, cause(StallCause::Other), cause(StallCause::None));
        let under_way = plan.looks & plan.row.does(Operate::Wait);
        let why = mux(waits.mshr | under_way, cause(StallCause::MshrFull), why);
        let why = mux(waits.captured | waits.queue | !open, cause(StallCause::Release), why);
        let why = mux(self.turns.is(Turn::Cu) | !open, why, cause(StallCause::Bank));
        let blocked = self.turns.s1_valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(self.core.sync.queue.valid);
    }

    fn check(&self, plan: &Plan) {
        let text = "an operation is one that the specification lists";
        assert_always("hlrc_l1_legal", !self.request | self.op.legal(true), text);
        let twice = plan.pops & plan.pushes;
        assert_always("hlrc_l1_one_slot", !twice, "a slot pops or pushes");
        let one =
            !(plan.evicts & plan.revokes) & (!(plan.evicts | plan.revokes) | !self.core.capture.busy.get());
        assert_always("hlrc_l1_capture_once", one, "the capture buffer takes one line at a time");
        let entry = self.open_entry();
        let alone = entry.popcount().zext(8).le(1);
        assert_always("hlrc_l1_one_open", !self.request | alone, "a line has one open MSHR at most");
    }
}

/// The operation that a target gives back.
fn from_target(core: &Core, entry: Bits, t: &Target) -> Op {
    let first = t.mask.lowest_set();
    let wide = t.mask.bit_at(first.zext(first.width() + 1) + 4);
    Op {
        kind: mux(t.load, enum_lit(Kind::Load), enum_lit(Kind::Sync)),
        op: t.op,
        sem: lit(0, 2),
        scope: lit(WG, 2),
        remote: bool_lit(false),
        want_ack: bool_lit(false),
        line: core.misses.miss(entry).line,
        mask: t.mask,
        data: place(t.opnd, wide, core.p.srsp.data_bits()),
        cmp: t.cmp,
        id: t.id,
    }
}
