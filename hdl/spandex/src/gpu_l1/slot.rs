//! The slot: a cycle's one access to lines, MSHRs and store buffer, done as a whole or not at all; and the write-through that leaves beside it.

use super::Core;
use super::arrays::Found;
use super::misses::{OfLine, Target};
use super::op::{Kind, Op, Part, merge};
use super::params::Inject;
use super::store_buffer::{Buffered, Oldest};
use super::table::{Access, Buffer, Read, answers, operations};
use super::turn::{Turn, Turns};
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
    pub row: Decoded,
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
    pub fill: Decoded,
    /// The MSHRs are full.
    no_entry: Bool,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let op = mux(turns.is(Turn::Release), core.releases.queue.head, turns.s1.get());
        let filled = core.misses.line(core.filler.entry.get());
        let line = mux(turns.is(Turn::Fill), filled, op.line).named("slot_line");
        let request = (turns.is(Turn::Cu) & turns.s1_valid.get()) | turns.is(Turn::Release);
        Slot {
            core,
            turns,
            line,
            found: core.arrays.look_up(line, !turns.is(Turn::None)),
            part: op.part(),
            op,
            request: request.named("slot_request"),
            of_line: core.misses.of_line(line),
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
        let both = self.of_line.fresh.any() & self.found.state.is(super::table::LineState::V);
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
        let memory = op.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync]);
        let looks = self.request & memory & !(self.turns.is(Turn::Cu) & self.released_first());
        let looks = looks.named("slot_looks");
        let row = self.decode(looks);
        let acks = self.is(Kind::Store) & op.want_ack & self.part.last;
        let may_queue = !core.releases.queue.full;
        let stores = looks & row.action("buffer") & (!acks | may_queue);
        let drains = self.drain(stores);
        let opens = row.action("open") | row.action("send");
        let no_entry = opens & core.misses.full();
        let can_open = !opens | (core.req.free & !drains & !no_entry);
        let can_answer = !row.action("hit") | core.replies.room();
        let goes = looks & !row.action("wait") & can_open & can_answer & (!acks | may_queue);
        let goes = goes.named("slot_goes");
        let queues = (goes & acks) | (from_cu & self.released_first() & may_queue);
        let acquires = self.request & self.is(Kind::Acquire) & core.replies.room();
        let done = self.turns.is(Turn::Release) & op.kind.is_any(&[Kind::Release, Kind::Ack]);
        let leaves = (goes & self.part.last) | (queues & !looks) | acquires | (done & core.replies.room());
        let fill = self.decode_fill();
        let waits_for_cu = fill.action("answer") & !core.replies.room();
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

    fn decode(&self, looks: Bool) -> Decoded {
        let access = |a: Access| enum_lit(a);
        let store = mux(self.part.bytes, access(Access::Bytes), access(Access::St));
        let other = mux(self.is(Kind::Load), access(Access::Ld), access(Access::Amo));
        let kind = mux(self.is(Kind::Store), store, other);
        let fresh = self.of_line.fresh;
        let more = self.core.misses.takes_more(fresh.lowest_set());
        let some = mux(more, enum_lit(Read::Open), enum_lit(Read::Full));
        let read = mux(fresh.any(), some, enum_lit(Read::None));
        let inputs = [kind.bits(), self.found.state.bits(), read.bits(), self.buffer_case(kind).bits()];
        operations().decode(looks, &inputs)
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
        let full = !self.buffered.open & self.core.buffer.full();
        let store = mux(full, case(Buffer::Waits), case(Buffer::Free));
        let none = lit_bv(Bv::zero(words.width()));
        let overtakes = self.core.p.inject == Inject::AtomicOvertakes;
        let earlier = if overtakes { none } else { self.buffered.words | self.of_line.storing };
        let atomic = mux((words & earlier).any(), case(Buffer::Waits), case(Buffer::Free));
        mux(kind.is(Access::Ld), load, mux(kind.is(Access::St), store, atomic))
    }

    fn decode_fill(&self) -> Decoded {
        let (misses, filler) = (&self.core.misses, &self.core.filler);
        let entry = filler.entry.get();
        let atomic = misses.is_atomic(entry);
        let acquires = misses.target().acquires.bits().zext(2);
        let at = mux(misses.is_bytes(entry), lit(2, 2), acquires);
        let mark = mux(atomic, at, misses.is_stale(entry).bits().zext(2));
        let op = mux(atomic, enum_lit(GpuOp::At), enum_lit(GpuOp::Rd));
        answers().decode(self.filling() & filler.first(), &[op.bits(), mark])
    }

    /// The oldest write-through leaves, if one should and can. `stores`: the slot's store is buffered, which an entry must not leave in the midst of.
    fn drain(&self, stores: Bool) -> Bool {
        let (core, oldest) = (self.core, &self.oldest);
        let merges = stores & self.buffered.open & self.buffered.at.eq(oldest.at);
        let storing = (core.misses.of_line(oldest.line).storing & oldest.mask).any();
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
        let (arrays, misses) = (&core.arrays, &core.misses);
        let does = |action: &str| plan.goes & plan.row.action(action);
        let words = self.part.words;
        let valid = found.state.is(super::table::LineState::V);
        when((does("hit") & valid) | does("update"), || arrays.touch(found, found.way));
        when(does("open"), || {
            let captured = (self.seen(), self.buffered.data);
            misses.open(op.line, &self.as_target(), captured, self.of_line.atomic);
            self.send(enum_lit(GpuOp::Rd));
        });
        when(does("join"), || misses.join(self.of_line.fresh.lowest_set(), &self.as_target()));
        when(does("buffer"), || {
            core.buffer.store(&self.buffered, op.line, words, op.data);
        });
        when(does("update"), || {
            let old = arrays.data(found.way);
            arrays.put_data(found, found.way, merge(words, op.data, old));
        });
        when(does("capture"), || misses.capture(self.of_line.fresh.lowest_set(), words, op.data));
        when(does("send"), || {
            misses.send(op.line, words, &self.of_line, self.part.bytes, &self.as_target());
            self.send(enum_lit(GpuOp::At));
        });
        when(does("drop"), || arrays.drop(found));
        // What has not left is waited for only once it is asked to leave.
        let early = plan.looks & plan.row.action("wait") & !self.is(Kind::Load) & self.buffered.open;
        let leaves = plan.drains & self.oldest.at.eq(self.buffered.at);
        let wants = early & (self.buffered.unissued & words).any() & !leaves;
        when(wants, || core.buffer.want(self.buffered.at));
    }

    fn send(&self, kind: Enum<GpuOp>) {
        let (core, op) = (self.core, &self.op);
        core.req.send(&GpuReq {
            op: kind,
            line: op.line,
            mask: self.part.words,
            tag: core.misses.free_entry().resize(core.p.spandex.tag_bits()),
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
            let bytes = super::op::spread(self.part.words, 4) & op.mask;
            self.turns.s1.set(Op { mask: op.mask & !bytes, ..*op });
        });
        let flash = plan.acquires | (plan.fills & plan.fill.action("flash"));
        when(flash, || {
            core.arrays.flash();
            core.misses.flash();
        });
        let released = self.turns.is(Turn::Release);
        when(released & plan.leaves, || core.releases.pop());
        let waits = plan.looks & (plan.row.action("wait") | plan.no_entry);
        when(released & waits, || core.releases.wait());
    }

    /// The line of the answer at work, with what was stored here meanwhile.
    fn filled(&self) -> Bits {
        let (misses, filler) = (&self.core.misses, &self.core.filler);
        let entry = filler.entry.get();
        let (words, own) = misses.own(entry);
        let kept = words & (!misses.is_atomic(entry)).repeat(words.width());
        if self.core.p.inject == Inject::FillOverStore {
            return filler.data.get();
        }
        merge(kept, own, filler.data.get())
    }

    /// The answer at work.
    fn fill(&self, plan: &Plan) {
        let core = self.core;
        let installs = plan.fills & core.filler.first() & plan.fill.action("install");
        when(installs, || core.arrays.install(&self.found, self.line, self.filled()));
        when(plan.fills, || core.filler.served(&core.misses));
    }

    /// What the CU gets.
    fn answer(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        let filler = &core.filler;
        let target = core.misses.target();
        let fills = plan.fills & plan.fill.action("answer");
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
        let hit = plan.goes & plan.row.action("hit");
        let acked = plan.leaves & !plan.looks & !plan.queues;
        let valid = self.found.state.is(super::table::LineState::V);
        let none = lit_bv(Bv::zero(op.mask.width()));
        when(hit | acked, || {
            core.replies.send(&CuRsp {
                id: op.id,
                kind: (!hit).bits().zext(2),
                mask: mux(hit, op.mask, none),
                data: mux(valid, core.arrays.data(self.found.way), self.buffered.data),
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
        let waits = plan.row.action("wait");
        let load = mux(self.is(Kind::Load), cause(StallCause::MshrFull), cause(StallCause::SbFull));
        let why = mux(waits, load, cause(StallCause::Other));
        let why = mux(plan.no_entry, cause(StallCause::MshrFull), why);
        let why = mux(plan.looks, why, cause(StallCause::Release));
        let why = mux(self.turns.is(Turn::Cu), why, cause(StallCause::Bank));
        let blocked = self.turns.s1_valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(self.core.releases.queue.valid);
    }
}
