//! The slot: a cycle's one access to lines, MSHRs and store buffer, done as a whole or not at all; and the write-through that leaves beside it.

use super::Core;
use super::arrays::Found;
use super::mshrs::{OfLine, Target};
use super::op::{Kind, Op, Part};
use super::params::Inject;
use super::store_buffer::{Buffered, Oldest};
use super::table::{
    Access, Answer, Buffer, LineState, Local, Mark, Operate, Read, Words, answers, locals, operations,
};
use super::turn::{Turn, Turns};
use crate::amo::{WordAlu, merge, spread};
use crate::msg::{GpuOp, GpuReq, WordOp};
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    line: Bits,
    pub found: Found,
    pub op: Op,
    pub part: Part,
    /// The slot is that of a request: from S1, or one whose release is complete.
    request: Bool,
    pub of_line: OfLine,
    pub buffered: Buffered,
    pub oldest: Oldest,
}

/// What a slot does.
pub(super) struct Plan {
    pub row: Choice,
    /// The operation looks its line up.
    pub looks: Bool,
    /// The row is carried out.
    pub goes: Bool,
    /// The request leaves S1, or the queue of releases.
    pub leaves: Bool,
    /// It goes into that queue, to be carried out or acknowledged afterwards.
    pub queues: Bool,
    /// An acquire.
    pub acquires: Bool,
    /// A write-through leaves.
    pub drains: Bool,
    /// An answer is at work, and gets on.
    pub fills: Bool,
    pub fill: Decoded<LineState, Answer>,
    /// The MSHRs are full.
    no_entry: Bool,
}

/// The row of an operation: of the LLC and the buffer, or of what is done here.
pub(super) struct Choice {
    row: Decoded<LineState, Operate>,
    /// `scopes=1`: the operation is of CU scope, and its row.
    local: Option<(Bool, Decoded<LineState, Local>)>,
}

impl Choice {
    /// The operation's row takes an action of [`operations`].
    pub fn does(&self, action: Operate) -> Bool {
        let taken = self.row.does(action);
        self.local.as_ref().map_or(taken, |(here, _)| taken & !*here)
    }

    /// It takes an action of [`locals`].
    pub fn here(&self, action: Local) -> Bool {
        self.local.as_ref().map_or(bool_lit(false), |(here, row)| *here & row.does(action))
    }

    /// Asserts that its row leads to `after`, if it is carried out.
    fn leads_to_when(&self, done: Bool, after: Enum<LineState>) {
        self.row.leads_to_when(done, after);
        if let Some((_, row)) = &self.local {
            row.leads_to_when(done, after);
        }
    }

    /// It waits.
    fn waits(&self) -> Bool {
        self.does(Operate::Wait) | self.here(Local::Wait)
    }
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let op = mux(turns.is(Turn::Release), core.releases.queue.head, turns.head.op.get());
        let filled = core.mshrs.line(core.filler.entry.get());
        let line = mux(turns.is(Turn::Fill), filled, op.line).named("slot_line");
        let request = (turns.is(Turn::Cu) & turns.head.valid.get()) | turns.is(Turn::Release);
        Slot {
            core,
            turns,
            line,
            found: core.arrays.look_up(line, !turns.is(Turn::None)),
            part: op.part(),
            op,
            request: request.named("slot_request"),
            of_line: core.mshrs.of_line(line),
            buffered: core.buffer.look(line),
            oldest: core.buffer.oldest(),
        }
    }

    fn is(&self, kind: Kind) -> Bool {
        self.op.kind.is(kind)
    }

    /// Decides what the slot does and does it.
    pub fn carry_out(&self) -> Plan {
        let plan = self.plan();
        self.access(&plan);
        self.order(&plan);
        self.fill(&plan);
        self.answer(&plan);
        self.tell_stall(&plan);
        let text = "a read that is under way is that of an absent line";
        let both = self.of_line.fresh.any() & self.found.state.is(LineState::V);
        let shown = !self.turns.is(Turn::None);
        assert_always("gpu_l1_read_absent", !(shown & both & !plan.fills), text);
        let once = self.of_line.fresh.popcount().zext(16).le(1);
        assert_always("gpu_l1_one_fresh", !shown | once, "at most one read of a line is fresh");
        plan
    }

    /// A release comes first.
    fn released_first(&self) -> Bool {
        self.is(Kind::Release) | (self.is(Kind::Sync) & self.op.releases)
    }

    fn plan(&self) -> Plan {
        let (core, op) = (self.core, &self.op);
        let from_cu = self.request & self.turns.is(Turn::Cu);
        let memory = op.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync, Kind::Local]);
        let looks = self.request & memory & !(self.turns.is(Turn::Cu) & self.released_first());
        let looks = looks.named("slot_looks");
        let row = self.choose(looks);
        let acks = self.is(Kind::Store) & op.want_ack & self.part.last;
        let may_queue = !core.releases.queue.full;
        let stores = looks & (row.does(Operate::Buffer) | row.here(Local::Apply)) & (!acks | may_queue);
        let drains = self.drain(stores);
        let opens = row.does(Operate::Open) | row.does(Operate::Send) | row.here(Local::Fetch);
        let no_entry = opens & core.mshrs.full();
        let can_open = !opens | (core.req.free & !drains & !no_entry);
        let can_answer = !(row.does(Operate::Hit) | row.here(Local::Apply)) | core.replies.room();
        let goes = looks & !row.waits() & can_open & can_answer & (!acks | may_queue);
        let goes = goes.named("slot_goes");
        let queues = (goes & acks) | (from_cu & self.released_first() & may_queue);
        let acquires = self.request & self.is(Kind::Acquire) & core.replies.room();
        let done = self.turns.is(Turn::Release) & op.kind.is_any(&[Kind::Release, Kind::Ack]);
        let leaves = (goes & !row.here(Local::Stay) & self.part.last)
            | (queues & !looks)
            | acquires
            | (done & core.replies.room());
        let fill = self.decode_fill();
        let waits_for_cu = fill.does(Answer::Answer) & !core.replies.room();
        Plan {
            row,
            looks,
            goes,
            leaves: leaves.named("slot_leaves"),
            queues: queues.named("slot_queues"),
            acquires,
            drains,
            fills: (self.filling() & !waits_for_cu).named("slot_fills"),
            fill,
            no_entry,
        }
    }

    fn filling(&self) -> Bool {
        self.turns.is(Turn::Fill) & self.core.filler.valid.get()
    }

    fn choose(&self, looks: Bool) -> Choice {
        if !self.core.p.scopes {
            return Choice { row: self.decode(looks), local: None };
        }
        let here = self.is(Kind::Local);
        let local = Some((here, self.decode_local(looks & here)));
        Choice { row: self.decode(looks & !here), local }
    }

    fn decode(&self, looks: Bool) -> Decoded<LineState, Operate> {
        let access = |a: Access| enum_lit(a);
        let store = mux(self.part.bytes, access(Access::Bytes), access(Access::St));
        let other = mux(self.is(Kind::Load), access(Access::Ld), access(Access::Amo));
        let kind = mux(self.is(Kind::Store), store, other);
        let fresh = self.of_line.fresh;
        let more = self.core.mshrs.takes_more(fresh.lowest_set());
        let some = mux(more, enum_lit(Read::Open), enum_lit(Read::Full));
        let read = mux(fresh.any(), some, enum_lit(Read::None));
        let inputs = (kind, self.found.state, read, self.buffer_case(kind));
        operations().decode_about(self.line, looks, inputs)
    }

    /// Words of the line whose buffered value a load sees.
    fn seen(&self) -> Bits {
        let none = lit_bv(Bv::zero(self.part.words.width()));
        if self.core.p.inject == Inject::BufferUnseen { none } else { self.buffered.words }
    }

    fn buffer_case(&self, kind: Enum<Access>) -> Enum<Buffer> {
        let case = |b: Buffer| enum_lit(b);
        let words = self.part.words;
        let missing = words & !self.seen();
        let behind_bytes = (missing & self.of_line.storing).any();
        let load = mux(missing.none(), case(Buffer::Covers), case(Buffer::Free));
        let load = mux(behind_bytes, case(Buffer::Waits), load);
        let store = mux(self.no_room(), case(Buffer::Waits), case(Buffer::Free));
        let none = lit_bv(Bv::zero(words.width()));
        let overtakes = self.core.p.inject == Inject::AtomicOvertakes;
        let earlier = if overtakes { none } else { self.buffered.words | self.of_line.storing };
        let atomic = (words & earlier).any();
        // With scopes the whole line: other words of it may be those of atomics done here.
        let behind =
            if self.core.p.scopes && !overtakes { self.buffered.words.any() } else { bool_lit(false) };
        let held = kind.is(Access::Bytes) & self.held();
        let atomic =
            mux(atomic | (behind & kind.is(Access::Amo)) | held, case(Buffer::Waits), case(Buffer::Free));
        mux(kind.is(Access::Ld), load, mux(kind.is(Access::St), store, atomic))
    }

    /// A release drains the store buffer: nothing may come in.
    fn held(&self) -> Bool {
        if self.core.p.hold { self.core.releases.queue.valid } else { bool_lit(false) }
    }

    /// A store finds no entry, or may not take one.
    fn no_room(&self) -> Bool {
        (!self.buffered.open & self.core.buffer.full()) | self.held()
    }

    /// The row of an operation of CU scope.
    fn decode_local(&self, valid: Bool) -> Decoded<LineState, Local> {
        let state = |w: Words| enum_lit(w);
        let words = self.part.words;
        let line = self.found.state.is(LineState::V);
        let here = line | (words & !self.seen()).none();
        let behind = (words & self.of_line.storing).any() | (!here & self.of_line.atomic);
        let case = mux(here, state(Words::Here), state(Words::Missing));
        let case = mux(self.no_room() | behind, state(Words::Waits), case);
        let fresh = self.of_line.fresh;
        let some =
            mux(self.core.mshrs.takes_more(fresh.lowest_set()), enum_lit(Read::Open), enum_lit(Read::Full));
        let read = mux(fresh.any(), some, enum_lit(Read::None));
        locals().decode_about(self.line, valid, (self.found.state, read, case))
    }

    /// Youngest words of the line, as far as they are here.
    fn youngest(&self) -> Bits {
        let valid = self.found.state.is(LineState::V);
        mux(valid, self.core.arrays.data(self.found.way), self.buffered.data)
    }

    fn decode_fill(&self) -> Decoded<LineState, Answer> {
        let (mshrs, filler) = (&self.core.mshrs, &self.core.filler);
        let entry = filler.entry.get();
        let atomic = mshrs.is_atomic(entry);
        let mark = |mark: Mark| lit(mark.encoding(), 2);
        let acquires = mshrs.target().acquires.bits().zext(2);
        let at = mux(mshrs.is_bytes(entry), mark(Mark::Bytes), acquires);
        let marked = mux(atomic, at, mshrs.is_stale(entry).bits().zext(2));
        let op = mux(atomic, enum_lit(GpuOp::At), enum_lit(GpuOp::Rd));
        answers().decode_about(self.line, self.filling() & filler.first(), (op, marked))
    }

    /// The oldest write-through leaves, if one should and can. `stores`: the slot's store is buffered, which an entry must not leave in the midst of.
    fn drain(&self, stores: Bool) -> Bool {
        let (core, oldest) = (self.core, &self.oldest);
        let merges = stores & self.buffered.open & self.buffered.at.eq(oldest.at);
        let storing = (core.mshrs.of_line(oldest.line).storing & oldest.mask).any();
        let may = oldest.there & !oldest.behind & !storing & !merges;
        let goes = (may & core.buffer.drains(core.releases.writes()) & core.req.free).named("drain_goes");
        let s = &core.p.spandex;
        when(goes, || {
            core.buffer.leave(oldest);
            core.req.send(&GpuReq {
                op: enum_lit(GpuOp::Wt),
                line: oldest.line,
                mask: oldest.mask,
                tag: oldest.at.resize(s.tag_bits()) + u64::from(s.mshrs),
                amo: enum_lit(WordOp::Write),
                cmp: lit(0, 32),
                bmask: lit(0xf, 4),
                data: oldest.data,
            });
        });
        let words = oldest.mask.popcount().zext(32);
        count_amount("gpu_l1_flushed_words", goes, words, "words written through");
        let race = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.race.{name}"), cond, text);
        let wants = oldest.there & core.buffer.drains(core.releases.writes());
        race(
            "gpu_second_wt",
            wants & oldest.behind,
            "a write-through waits for the one of its line before it",
        );
        race("gpu_wt_behind_bytes", wants & storing, "a write-through waits for a byte store to its words");
        goes
    }

    /// An operation on its line.
    fn access(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.op, &self.found);
        let (arrays, mshrs) = (&core.arrays, &core.mshrs);
        let does = |action| plan.goes & plan.row.does(action);
        let words = self.part.words;
        let valid = found.state.is(LineState::V);
        when((does(Operate::Hit) & valid) | does(Operate::Update), || arrays.touch(found, found.way));
        when(does(Operate::Open), || {
            let captured = (self.seen(), self.buffered.data);
            mshrs.open(op.line, &self.as_target(), captured, self.of_line.atomic);
            self.send(enum_lit(GpuOp::Rd));
        });
        when(does(Operate::Join), || mshrs.join(self.of_line.fresh.lowest_set(), &self.as_target()));
        when(does(Operate::Buffer), || {
            core.buffer.store(&self.buffered, op.line, words, op.data);
        });
        when(does(Operate::Update), || {
            let old = arrays.data(found.way);
            arrays.put_data(found, found.way, merge(words, op.data, old));
        });
        when(does(Operate::Capture), || mshrs.capture(self.of_line.fresh.lowest_set(), words, op.data));
        when(does(Operate::Send), || {
            mshrs.send(op.line, words, &self.of_line, self.part.bytes, &self.as_target());
            self.send(enum_lit(GpuOp::At));
        });
        when(does(Operate::Drop), || arrays.drop(found));
        if core.p.scopes {
            self.access_here(plan);
        }
        plan.row.leads_to_when(plan.goes, arrays.state_after(found));
        let overtakes = core.p.inject == Inject::AtomicOvertakes;
        let early = does(Operate::Send) & self.is(Kind::Sync) & (words & self.buffered.words).any();
        let text = "no atomic is sent to the LLC while its words are buffered here";
        assert_always("gpu_l1_atomic_buffered", !early | bool_lit(overtakes), text);
        // What has not left is waited for only once it is asked to leave.
        let early = plan.looks & plan.row.does(Operate::Wait) & !self.is(Kind::Load) & self.buffered.open;
        let leaves = plan.drains & self.oldest.at.eq(self.buffered.at);
        let words = if core.p.scopes {
            mux(self.is(Kind::Sync), lit_bv(Bv::ones(words.width())), words)
        } else {
            words
        };
        let wants = early & (self.buffered.unissued & words).any() & !leaves;
        when(wants, || core.buffer.want(self.buffered.at));
    }

    /// An operation of CU scope: on the youngest words, which are those of the copy or of the buffer.
    fn access_here(&self, plan: &Plan) {
        let (core, op, found) = (self.core, &self.op, &self.found);
        let does = |action| plan.goes & plan.row.here(action);
        let alu = WordAlu { op: op.amo, cmp: op.cmp, bmask: lit(0xf, 4) };
        let (after, wrote) = alu.line(self.part.words, self.youngest(), op.data);
        let inject = core.p.inject;
        let buffers = does(Local::Apply) & wrote.any() & bool_lit(inject != Inject::LocalUnbuffered);
        when(buffers, || {
            core.buffer.store(&self.buffered, op.line, wrote, after);
        });
        when(does(Local::Renew), || {
            core.arrays.touch(found, found.way);
            core.arrays.put_data(found, found.way, after);
        });
        let captures = does(Local::Keep) & wrote.any() & bool_lit(inject != Inject::LocalUncaptured);
        when(captures, || core.mshrs.capture(self.of_line.fresh.lowest_set(), wrote, after));
        when(does(Local::Fetch), || {
            core.mshrs.fetch(op.line, (self.seen(), self.buffered.data));
            self.send(enum_lit(GpuOp::Rd));
        });
        count("gpu_l1_atomics_here", does(Local::Apply), "atomics and stores of CU scope done here");
        let fails = does(Local::Apply) & wrote.none();
        count("gpu_l1_swaps_failed_here", fails, "compare-and-swaps among these that found another value");
    }

    fn send(&self, kind: Enum<GpuOp>) {
        let (core, op) = (self.core, &self.op);
        core.req.send(&GpuReq {
            op: kind,
            line: op.line,
            mask: self.part.words,
            tag: core.mshrs.free_entry().resize(core.p.spandex.tag_bits()),
            amo: mux(self.part.bytes, enum_lit(WordOp::Merge), op.amo),
            cmp: op.cmp,
            bmask: self.part.bmask,
            data: op.data,
        });
    }

    fn as_target(&self) -> Target {
        let op = &self.op;
        let sync = self.is(Kind::Sync);
        Target { ack: sync & op.store, acquires: sync & op.acquires, mask: op.mask, id: op.id }
    }

    /// What is queued, what is left of a store, acquires.
    fn order(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        when(plan.queues, || {
            let kind = mux(self.is(Kind::Store), enum_lit(Kind::Ack), op.kind);
            core.releases.queue.push(&Op { kind, ..*op });
        });
        when(plan.goes & self.turns.is(Turn::Cu) & !self.part.last, || {
            let bytes = spread(self.part.words, 4) & op.mask;
            self.turns.head.op.set(Op { mask: op.mask & !bytes, ..*op });
        });
        let flash = plan.acquires | (plan.fills & plan.fill.does(Answer::Flash));
        when(flash, || {
            if core.p.inject != Inject::KeepsCopies {
                core.arrays.flash();
            }
            core.mshrs.flash();
        });
        let released = self.turns.is(Turn::Release);
        when(released & plan.leaves, || core.releases.pop());
        let waits = plan.looks & (plan.row.waits() | plan.no_entry);
        when(released & waits, || core.releases.wait());
    }

    /// The line of the answer at work, with what was stored here meanwhile.
    fn filled(&self) -> Bits {
        let (mshrs, filler) = (&self.core.mshrs, &self.core.filler);
        let entry = filler.entry.get();
        let (words, own) = mshrs.own(entry);
        let kept = words & (!mshrs.is_atomic(entry)).repeat(words.width());
        if self.core.p.inject == Inject::FillOverStore {
            return filler.data.get();
        }
        merge(kept, own, filler.data.get())
    }

    /// The answer at work.
    fn fill(&self, plan: &Plan) {
        let core = self.core;
        let installs = plan.fills & core.filler.first() & plan.fill.does(Answer::Install);
        when(installs, || core.arrays.install(&self.found, self.line, self.filled()));
        plan.fill.leads_to_when(plan.fills, core.arrays.installed(&self.found));
        when(plan.fills, || core.filler.served(&core.mshrs));
    }

    /// What the CU gets.
    fn answer(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        let filler = &core.filler;
        let target = core.mshrs.target();
        let fills = plan.fills & plan.fill.does(Answer::Answer);
        // What waits for its line outside has left a place that nobody is answered for.
        let fills = if core.p.scopes { fills & target.mask.any() } else { fills };
        let from = mux(filler.peer.get(), lit(2, 3), lit(1, 3));
        when(fills, || {
            core.replies.send(&CuRsp {
                id: target.id,
                kind: target.ack.bits().zext(2),
                mask: target.mask,
                data: self.filled(),
                src: from,
                merged: !filler.first(),
            });
        });
        let here = plan.goes & plan.row.here(Local::Apply);
        let hit = (plan.goes & plan.row.does(Operate::Hit)) | here;
        let acked = plan.leaves & !plan.looks & !plan.queues;
        let none = lit_bv(Bv::zero(op.mask.width()));
        when(hit | acked, || {
            core.replies.send(&CuRsp {
                id: op.id,
                kind: (!hit | (here & op.store)).bits().zext(2),
                mask: mux(hit, op.mask, none),
                data: self.youngest(),
                src: lit(0, 3),
                merged: bool_lit(false),
            });
        });
    }

    /// Why requests are not taken, for the CU.
    fn tell_stall(&self, plan: &Plan) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let busy = output_reg::<Bool>("busy_release", ()).doc("A release is not complete.");
        let cause = |c: StallCause| enum_lit(c);
        let waits = plan.row.waits();
        let load = mux(self.is(Kind::Load), cause(StallCause::MshrFull), cause(StallCause::SbFull));
        let why = mux(waits, load, cause(StallCause::Other));
        let stores = self.is(Kind::Store) | self.is(Kind::Local);
        let why = mux(waits & stores & self.held(), cause(StallCause::Release), why);
        let why = mux(plan.no_entry, cause(StallCause::MshrFull), why);
        let why = mux(plan.looks, why, cause(StallCause::Release));
        let why = mux(self.turns.is(Turn::Cu), why, cause(StallCause::Bank));
        let blocked = self.turns.head.valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(self.core.releases.queue.valid);
    }
}
