//! The slot: a cycle's one access to lines and tables, done as a whole or not at all.

use super::Core;
use super::arrays::Found;
use super::micro::Program;
use super::misses::Target;
use super::op::{CMP, Kind, Op, SYS, WG, place, spread, word_of};
use super::params::Inject;
use super::probe_unit::ProbePlan;
use super::table::{Access, Leave, LineState, Operate, Part, fills, leaving, operations};
use super::turn::{Turn, Turns};
use crate::amo::amo;
use crate::lr_tbl::LrFound;
use crate::msg::{Atomic, Req, ReqOp, SyncOp, Wb, WbOp};
use crate::pa_tbl::PaFound;
use crate::params::Impl;
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    pub line: Bits,
    pub found: Found,
    /// The way whose line is read: the matching one, or the victim of an operation that takes a frame.
    way: Bits,
    pub op: Op,
    /// The slot is that of a request: from S1, or replayed.
    pub request: Bool,
    /// The slot is that of a FILL's target.
    pub target: Bool,
    pub lr: Option<LrFound>,
    pub pa: Option<PaFound>,
    probe: ProbePlan,
}

/// How the operation is carried out.
pub(super) struct Route {
    /// It is at work group scope, or is done there.
    pub wg: Bool,
    /// It is done in its line here, now or after a fill.
    pub local: Bool,
    /// Its address is in the PA-TBL.
    pub promoted: Bool,
    /// A remote operation that the own LR-TBL answers.
    pub converted: Bool,
    pub program: Enum<Program>,
}

/// What a slot does.
pub(super) struct Plan {
    pub route: Route,
    pub row: Decoded<LineState, Operate>,
    pub leave: Decoded<LineState, Part>,
    /// The operation looks its line up.
    pub looks: Bool,
    /// The row is carried out.
    pub goes: Bool,
    /// The request leaves S1 or its MSHR.
    pub leaves: Bool,
    pub queues: Bool,
    pub wb_goes: Bool,
    pub pushes: Bool,
    pub registers: Bool,
    /// What an atomic leaves, in every place of its line, and whether it writes.
    word: Bits,
    pub wrote: Bool,
    pub pops: Bool,
    pub inv_goes: Bool,
    /// Why a request waits.
    pub waits: Waits,
}

/// Why a request waits.
pub(super) struct Waits {
    pub held: Bool,
    /// By the lock of another CU's broadcast.
    pub barred: Bool,
    pub queue: Bool,
    pub push: Bool,
    pub mshr: Bool,
    pub room: Bool,
    pub acked: Bool,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let p = &core.p;
        let (s1, filler) = (turns.s1.get(), &core.filler);
        let replayed = turns.is(Turn::Replay);
        let entry = mux(replayed, turns.entry.get(), filler.entry.get());
        let given = from_target(core, entry, &core.misses.target());
        let op = mux(turns.is(Turn::Cu), s1, given);
        let probed = &core.probe.probe.msg;
        let lines = [
            (Turn::Probe, p.srsp.line_of(probed.addr)),
            (Turn::Sync, core.sync.line(p)),
            (Turn::Drain, core.sfifo.oldest()),
        ];
        let line = lines.iter().fold(op.line, |rest, (t, line)| mux(turns.is(*t), *line, rest));
        let line = line.named("slot_line");
        let addr = mux(turns.is(Turn::Probe), probed.addr, op.atomic().addr);
        let word = addr.slice(2, p.srsp.word_bits()).named("slot_word");
        let lr = core.lr.as_ref().map(|table| {
            table.check(word, core.sfifo.head());
            table.look(word)
        });
        let pa = core.pa.as_ref().map(|table| table.look(word));
        let probe = core.probe.plan(core, turns.is(Turn::Probe), pa.as_ref());
        let taken = (turns.is(Turn::Cu) & turns.s1_valid.get()) | replayed;
        let served = turns.is(Turn::Fill) & filler.valid.get() & filler.serves.get();
        let found = core.arrays.look_up(line, !turns.is(Turn::None));
        let absent = found.state.is(LineState::I) & (turns.is(Turn::Cu) | replayed);
        Slot {
            core,
            turns,
            line,
            way: mux(absent, found.victim, found.way).named("slot_way"),
            found,
            op,
            request: (taken & core.gate.open()).named("slot_request"),
            target: served.named("slot_target"),
            lr,
            pa,
            probe,
        }
    }

    fn is(&self, kind: Kind) -> Bool {
        self.op.kind.is(kind)
    }

    /// Where and how the operation is done.
    fn route(&self) -> Route {
        let op = &self.op;
        let sync = self.is(Kind::Sync);
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
        let op = &self.op;
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
        let fence = mux(self.is(Kind::Acq), acquire, release);
        let kernel = mux(self.is(Kind::Begin), code(Program::Kbegin), code(Program::Kend));
        let other = mux(self.op.kind.is_any(&[Kind::Acq, Kind::Rel]), fence, kernel);
        mux(self.is(Kind::Sync), access, other)
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
        when(plan.queues, || core.sync.push(plan.route.program, &self.op));
        when(self.turns.is(Turn::Replay) & plan.leaves, || self.taken_from_mshr(&plan));
        core.sync.slot(core, self.turns.is(Turn::Sync), plan.inv_goes);
        let probe_goes = !self.probe.inv | plan.inv_goes;
        core.probe.run(core, &self.probe, probe_goes, self.lr.as_ref(), self.pa.as_ref());
        self.tell_stall(&plan);
        self.check(&plan);
        plan
    }

    fn plan(&self) -> Plan {
        let (core, op, turns) = (self.core, &self.op, self.turns);
        let route = self.route();
        let barred = core.gate.bars(op.kind, op.line);
        let held = self.is_memory() & core.sync.holds_line(&core.p, op.line);
        let kept = held | barred;
        // Targets of an MSHR that a replay has opened again may be owed a promotion: their own look-up decides.
        let now = core.gate.open() & !barred & !route.promoted;
        let served = self.target & !core.filler.marked.get() & (self.is(Kind::Load) | now);
        let here = self.is(Kind::Load) | self.is(Kind::Store) | route.local;
        let looks = (served | (self.request & here & !kept)).named("slot_looks");
        let row = self.decode(looks);
        let opens = looks & (row.does(Operate::Reserve) | row.does(Operate::Take));
        let drains = turns.is(Turn::Drain) & core.sfifo.some();
        let invs = self.probe.inv | (turns.is(Turn::Sync) & core.sync.needs_inv());
        let leave = self.decode_leave(drains, opens, opens & self.found.room | drains | invs);
        let write_back =
            (leave.does(Part::WriteBack) & (opens | drains | invs)) | (looks & row.does(Operate::WriteBack));
        let wb_free = !write_back | (core.wb.free & core.wbt.room());
        let result = self.result();
        let performs = looks & row.does(Operate::Perform);
        let registers =
            if core.p.system.selective() { performs & op.releases() & result.1 } else { bool_lit(false) };
        let dirties = looks & row.does(Operate::Dirties) & (!performs | result.1);
        let push = dirties | registers;
        let waits = self.waits(&row, looks, [held, barred], push);
        let reply = looks & (row.does(Operate::Hit) | performs | (self.is(Kind::Store) & op.want_ack));
        let free = wb_free & !(push & core.sfifo.full()) & (!reply | core.replies.room());
        let joins = looks & row.does(Operate::Join);
        let goes =
            looks & free & !row.does(Operate::Wait) & self.can_open(&row, &waits) & !(joins & self.replays());
        let goes = goes.named("slot_goes");
        let queues = self.request & self.has_program(&route) & !kept & !waits.queue;
        let fence = self.request & self.at_once() & core.replies.room();
        let leaves = (goes & !row.does(Operate::WriteBack) & !self.target) | queues | fence;
        Plan {
            route,
            looks,
            goes,
            leaves: leaves.named("slot_leaves"),
            queues,
            wb_goes: (write_back & wb_free & (goes | drains | invs)).named("slot_writes_back"),
            pushes: goes & push,
            registers: goes & registers,
            word: result.0,
            wrote: result.1,
            pops: drains & wb_free,
            inv_goes: invs & wb_free,
            row,
            leave,
            waits,
        }
    }

    fn is_memory(&self) -> Bool {
        self.op.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync])
    }

    fn replays(&self) -> Bool {
        self.turns.is(Turn::Replay)
    }

    /// Nothing is to be done: a fence of work-group scope.
    fn at_once(&self) -> Bool {
        self.op.kind.is_any(&[Kind::Acq, Kind::Rel]) & self.op.scope.eq(WG)
    }

    fn has_program(&self, route: &Route) -> Bool {
        (self.is(Kind::Sync) & !route.local) | (!self.is_memory() & !self.at_once())
    }

    fn decode(&self, looks: Bool) -> Decoded<LineState, Operate> {
        let access = mux(self.is(Kind::Store), enum_lit(Access::St), enum_lit(Access::Atomic));
        let access = mux(self.is(Kind::Load), enum_lit(Access::Ld), access);
        let state = self.found.state;
        let entry = self.core.misses.of_line(self.op.line) & self.core.misses.open.get();
        let joins = entry.any() & self.core.misses.takes_more(entry.lowest_set());
        let covered = (self.op.mask & !self.core.arrays.mask(self.found.way)).none();
        let case = mux(state.is(LineState::W), covered, joins & state.is(LineState::P));
        operations().decode_about(self.op.line, looks, (access, state, case))
    }

    fn decode_leave(&self, drains: Bool, opens: Bool, valid: Bool) -> Decoded<LineState, Part> {
        let event = mux(opens, enum_lit(Leave::Evict), enum_lit(Leave::Inv));
        let event = mux(drains, enum_lit(Leave::Pop), event);
        let state = mux(opens, self.found.victim_state, self.found.state);
        let line = self.core.arrays.line_in(&self.found, self.way);
        leaving().decode_about_but(line, &["evict.I"], valid, (event, state))
    }

    fn waits(
        &self,
        row: &Decoded<LineState, Operate>,
        looks: Bool,
        [held, barred]: [Bool; 2],
        push: Bool,
    ) -> Waits {
        let core = self.core;
        let misses = &core.misses;
        let reserve = looks & row.does(Operate::Reserve);
        let opens = reserve | (looks & row.does(Operate::Take));
        let no_entry = misses.full() | misses.of_line(self.op.line).any();
        Waits {
            held: held & self.request,
            barred: barred & self.request,
            queue: core.sync.queue.full,
            push: push & core.sfifo.full(),
            mshr: reserve & no_entry & !self.replays(),
            room: opens & !self.found.room,
            acked: reserve & core.wbt.has(self.op.line),
        }
    }

    fn can_open(&self, row: &Decoded<LineState, Operate>, waits: &Waits) -> Bool {
        let sends = !row.does(Operate::Reserve) | self.core.req.free;
        sends & !waits.mshr & !waits.room & !waits.acked
    }

    /// The word an atomic leaves, in every place of a line, and whether it writes.
    fn result(&self) -> (Bits, Bool) {
        let op = &self.op;
        let atomic: Atomic = op.atomic();
        let first = atomic.addr.slice(0, self.core.p.offset_bits());
        let line = self.core.arrays.data(self.way);
        let done = amo(&atomic, word_of(line, first, atomic.wide));
        (place(done.new, atomic.wide, self.core.p.srsp.data_bits()), done.wrote)
    }

    /// The FILL's first slot.
    fn install(&self) {
        let core = self.core;
        let filler = &core.filler;
        let here = self.turns.is(Turn::Fill) & filler.valid.get() & !filler.serves.get();
        let entry = filler.entry.get();
        let (noinst, replay) = (core.misses.noinst(entry), core.misses.replay(entry));
        let marked = noinst | replay;
        when(here, || {
            filler.install(&core.misses, marked);
            let way = core.misses.way(entry);
            when(marked, || core.arrays.set_state(&self.found, way, enum_lit(LineState::I))).otherwise(
                || {
                    core.arrays.set_state(&self.found, way, enum_lit(LineState::V));
                    core.arrays.put_data(&self.found, way, filler.data.get());
                    core.arrays.touch(&self.found, way);
                },
            );
        });
        let way = core.misses.way(entry);
        let text = "a FILL is of the line to which the frame belongs";
        assert_always("srsp_l1_fill_frame", !here | self.found.way.eq(way), text);
        let row = fills().decode(here, (self.found.state, noinst, replay));
        row.leads_to(core.arrays.state_after(&self.found, way, self.found.state));
    }

    /// A FILL's target.
    fn serve(&self, plan: &Plan) {
        let core = self.core;
        let filler = &core.filler;
        let marked = filler.marked.get();
        let load = self.is(Kind::Load);
        // What cannot be done in this slot stays; a FILL waits for nothing but the CU.
        let promoted = plan.route.promoted;
        let shut = !core.gate.open() | core.gate.bars(self.op.kind, self.op.line);
        let stays = !load & (marked | shut | promoted | plan.waits.push);
        let goes = self.target & core.replies.room();
        when(goes, || filler.served(&core.misses, stays));
        when(goes & marked & load, || core.replies.send(&self.reply(filler.data.get())));
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
        let (core, op, found) = (self.core, &self.op, &self.found);
        let arrays = &core.arrays;
        let does = |action| plan.goes & plan.row.does(action);
        let touched = does(Operate::Hit)
            | does(Operate::Merge)
            | does(Operate::Perform)
            | does(Operate::Take)
            | does(Operate::Reserve);
        when(touched, || arrays.touch(found, self.way));
        when(does(Operate::Reserve), || self.reserve());
        when(does(Operate::Join), || {
            let entry = core.misses.of_line(op.line) & core.misses.open.get();
            core.misses.join(entry.lowest_set(), &self.as_target());
        });
        let stores = does(Operate::Merge) | does(Operate::Take);
        let writes = stores | (does(Operate::Perform) & plan.wrote);
        when(writes, || self.write(plan));
        when(does(Operate::Drop), || arrays.set_state(found, found.way, enum_lit(LineState::I)));
        when(plan.pushes, || core.sfifo.push(op.line));
        if let (Some(table), Some(look)) = (&core.lr, &self.lr) {
            when(plan.registers, || table.register(look, core.sfifo.tail()));
        }
        when(plan.looks & plan.waits.push & !self.target, || core.drain.ask_pop());
        plan.row.leads_to_when(plan.goes, arrays.state_after(found, self.way, found.state));
    }

    fn reserve(&self) {
        let (core, op, found) = (self.core, &self.op, &self.found);
        let (misses, p) = (&core.misses, &core.p);
        let way = found.victim;
        core.arrays.put_tag(found, way, op.line);
        core.arrays.set_state(found, way, enum_lit(LineState::P));
        let entry = mux(self.replays(), self.turns.entry.get(), misses.free_entry());
        when(self.replays(), || misses.open(entry, way))
            .otherwise(|| misses.take(entry, op.line, way, &self.as_target()));
        let mut atomic = op.atomic();
        atomic.addr = cat(&[op.line, lit(0, p.offset_bits())]);
        let sys = bool_lit(false);
        core.req.send(&Req { op: enum_lit(ReqOp::Rd), src: core.own, mshr: entry, sys, atomic });
    }

    fn write(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.op, &self.found);
        let way = self.way;
        let absent = found.state.is(LineState::I);
        let bits = core.p.srsp.data_bits();
        let (zero, none) = (lit_bv(Bv::zero(bits)), lit_bv(Bv::zero(core.p.srsp.line)));
        let old = mux(absent, zero, core.arrays.data(way));
        let clean = !found.state.is_any(&[LineState::D, LineState::W]);
        let dirty = mux(clean, none, core.arrays.mask(way));
        let given = mux(self.is(Kind::Store), op.data, plan.word);
        let here = spread(op.mask);
        core.arrays.put_data(found, way, (old & !here) | (given & here));
        core.arrays.put_mask(found, way, dirty | op.mask);
        let partial = absent | found.state.is(LineState::W);
        let state = mux(partial, enum_lit(LineState::W), enum_lit(LineState::D));
        core.arrays.set_state(found, way, state);
        when(plan.row.does(Operate::Take), || core.arrays.put_tag(found, way, op.line));
    }

    /// What leaves: by a pop, a probe, an own operation, or as a victim.
    fn line_leaves(&self, plan: &Plan) {
        let (core, found) = (self.core, &self.found);
        let leave = &plan.leave;
        let gone = plan.pops | plan.inv_goes;
        when(gone & leave.does(Part::Drop), || {
            core.arrays.set_state(found, found.way, enum_lit(LineState::I));
        });
        when(plan.pops & leave.does(Part::Clean), || {
            core.arrays.set_state(found, found.way, enum_lit(LineState::V));
        });
        if core.p.inject != Inject::NoReplay {
            when(plan.inv_goes & leave.does(Part::Mark), || core.misses.mark(self.line));
        }
        self.check_left(plan);
        when(plan.pops, || {
            core.sfifo.pop();
            core.lr.iter().for_each(|table| table.popped(core.sfifo.head()));
        });
        when(plan.wb_goes, || {
            let line = core.arrays.line_in(found, self.way);
            let (wbt, epoch) = core.wbt.send(line);
            let mut atomic = self.op.atomic();
            atomic.addr = cat(&[line, lit(0, core.p.offset_bits())]);
            core.wb.send(&Wb {
                op: enum_lit(WbOp::Wb),
                src: core.own,
                atomic,
                keep: bool_lit(false),
                has: bool_lit(false),
                wbt,
                epoch,
                mask: core.arrays.mask(self.way),
                data: core.arrays.data(self.way),
            });
        });
    }

    /// The line that leaves is left as its row says. A free frame, which is taken, has none.
    fn check_left(&self, plan: &Plan) {
        let found = &self.found;
        let opens = plan.row.does(Operate::Reserve) | plan.row.does(Operate::Take);
        let evicts = plan.goes & opens;
        let line = evicts & !found.victim_state.is(LineState::I);
        let before = mux(evicts, found.victim_state, found.state);
        let after = self.core.arrays.left_in(found, self.way, before);
        plan.leave.leads_to_when(plan.pops | plan.inv_goes | line, after);
    }

    fn taken_from_mshr(&self, plan: &Plan) {
        let misses = &self.core.misses;
        let entry = self.turns.entry.get();
        let left = misses.waiting(entry).left;
        let here = self.turns.target.get().one_hot(left.width());
        let opens = plan.goes & plan.row.does(Operate::Reserve);
        when(!opens, || misses.leave(entry, left & !here));
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
        Target {
            load: self.is(Kind::Load),
            op: op.op,
            sem: op.sem,
            remote: op.remote,
            mask: op.mask,
            opnd,
            cmp: op.cmp,
            id: op.id,
        }
    }

    /// Why requests are not taken, for the CU.
    fn tell_stall(&self, plan: &Plan) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let busy = output_reg::<Bool>("busy_release", ()).doc("An operation of several steps is at work.");
        let cause = |c: StallCause| enum_lit(c);
        let waits = &plan.waits;
        let room = waits.room | waits.acked | waits.push;
        let why = mux(room, cause(StallCause::Other), cause(StallCause::None));
        let why = mux(waits.mshr | plan.row.does(Operate::Wait), cause(StallCause::MshrFull), why);
        let steps = waits.held | waits.barred | !self.core.gate.open() | (waits.queue & !plan.looks);
        let why = mux(steps, cause(StallCause::Release), why);
        let why = mux(self.turns.is(Turn::Cu) | !self.core.gate.open(), why, cause(StallCause::Bank));
        let blocked = self.turns.s1_valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(self.core.sync.queue.valid);
    }

    fn check(&self, plan: &Plan) {
        let core = self.core;
        let remotes = core.p.system != Impl::Base;
        let text = "an operation is one that the specification lists";
        assert_always("srsp_l1_legal", !self.request | self.op.legal(remotes), text);
        let replay = self.request & self.replays() & plan.looks & plan.row.does(Operate::Join);
        let text = "a replayed atomic never finds its line under way";
        assert_always("srsp_l1_replay_alone", !replay, text);
        if let (Some(lr), Some(look)) = (&core.lr, &self.lr) {
            let holds = core.sfifo.line(look.ptr).eq(self.line);
            let live = core.sfifo.live(look.ptr) & holds;
            let used = self.request & self.is(Kind::Sync) & look.hit;
            let text = "an LR entry points to a live place of the sFIFO that holds its line";
            assert_always("srsp_l1_lr_live", !used | live, text);
            let over = plan.registers & !look.hit & lr.full();
            assert_always("srsp_l1_lr_room", !over, "the LR-TBL never overflows");
        }
        let twice = plan.pops & plan.pushes;
        assert_always("srsp_l1_one_slot", !twice, "a slot pops or pushes");
    }
}

/// The operation that a target gives back.
fn from_target(core: &Core, entry: Bits, t: &Target) -> Op {
    let bits = core.p.srsp.data_bits();
    let wide = {
        let first = t.mask.lowest_set();
        t.mask.bit_at(first.zext(first.width() + 1) + 4)
    };
    Op {
        kind: mux(t.load, enum_lit(Kind::Load), enum_lit(Kind::Sync)),
        op: t.op,
        sem: t.sem,
        scope: mux(t.remote, lit(CMP, 2), lit(WG, 2)),
        remote: t.remote,
        want_ack: bool_lit(false),
        line: core.misses.line(entry),
        mask: t.mask,
        data: place(t.opnd, wide, bits),
        cmp: t.cmp,
        id: t.id,
    }
}
