//! The slot: what it sees, and what the CU's operations and the store buffer do in it.

use super::Core;
use super::arrays::Found;
use super::misses::{OfLine, Operand, Target};
use super::params::Inject;
use super::table::{Access, Words, operations};
use super::turn::{Turn, Turns};
use super::wbb::WrittenBack;
use crate::amo::WordAlu;
use crate::gpu_l1::op::{Kind, Op, Part, merge, spread};
use crate::gpu_l1::store_buffer::{Buffered, Oldest};
use crate::msg::{Req, ReqOp, Rsp, Wb, WordOp};
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    pub rsp: &'a InChannel<Rsp>,
    pub line: Bits,
    pub found: Found,
    pub op: Op,
    part: Part,
    request: Bool,
    pub of_line: OfLine,
    pub buffered: Buffered,
    pub back: WrittenBack,
    oldest: Oldest,
}

/// What an operation does.
pub(super) struct Plan {
    row: Decoded,
    pub looks: Bool,
    pub goes: Bool,
    pub leaves: Bool,
    queues: Bool,
    acquires: Bool,
    /// Words of the operation that are here, and that are not.
    words: Bits,
    missing: Bits,
    /// The line must take a way, and the way's owned words leave.
    takes: Bool,
    evicts: Bool,
    /// Nothing of the operation is left.
    last: Bool,
    waits: Bool,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns, rsp: &'a InChannel<Rsp>) -> Slot<'a> {
        let op = mux(turns.is(Turn::Release), core.releases.queue.head, turns.s1.get());
        let oldest = core.buffer.oldest();
        let done = core.misses.line(turns.done_mshr(core));
        let done = mux(turns.done_sb.get(), core.buffer.line(turns.done_entry(core)), done);
        let replay = core.misses.line(turns.replay_at.get());
        let fwd = mux(turns.replay.get(), replay, turns.fwd.msg.line);
        let lines = [(Turn::Done, done), (Turn::Fwd, fwd), (Turn::Drain, oldest.line)];
        let line = lines.iter().fold(op.line, |rest, (t, line)| mux(turns.is(*t), *line, rest));
        let line = line.named("slot_line");
        let request = (turns.is(Turn::Cu) & turns.s1_valid.get()) | turns.is(Turn::Release);
        Slot {
            core,
            turns,
            rsp,
            line,
            found: core.arrays.look_up(line, !turns.is(Turn::None)),
            part: op.part(),
            op,
            request: request.named("slot_request"),
            of_line: core.misses.of_line(line),
            buffered: core.buffer.look(line),
            back: core.wbb.look(line),
            oldest,
        }
    }

    pub fn is(&self, kind: Kind) -> Bool {
        self.op.kind.is(kind)
    }

    pub fn none(&self) -> Bits {
        lit_bv(Bv::zero(self.found.valid.width()))
    }

    fn released_first(&self) -> Bool {
        self.is(Kind::Release) | (self.is(Kind::Sync) & self.op.releases)
    }

    /// The read entry that a load may use, and what it brings.
    fn read(&self) -> (Bool, Bits, Bits) {
        let (fresh, misses) = (self.of_line.fresh, &self.core.misses);
        let entry = fresh.lowest_set();
        (fresh.any(), entry, mux(fresh.any(), misses.coming(entry), self.none()))
    }

    /// Owned words that the CU and the store buffer may use.
    fn usable(&self) -> Bits {
        self.found.owned & !self.of_line.owning
    }

    /// Valid words hidden from the load: an acquire left them because of their region, and the load is not of one.
    fn hides(&self) -> Bool {
        self.found.fixed & !self.turns.region()
    }

    /// A load's words: what is missing, what comes already; whether it must wait.
    fn load(&self) -> (Bits, Bool, Bool) {
        let valid = self.found.valid & !self.hides().repeat(self.found.valid.width());
        let here = valid | self.usable() | self.buffered.words;
        let missing = self.part.words & !here;
        let no_wait = self.core.p.inject == Inject::NoWait;
        let open = if no_wait { self.none() } else { self.back.open };
        let blocked = (missing & (self.of_line.owning | open)).any();
        let (some, entry, coming) = self.read();
        let misses = &self.core.misses;
        // What a response changes in this cycle is not changed by a slot too.
        let now = self.rsp.valid & self.rsp.msg.tag.eq(entry.resize(self.rsp.msg.tag.width()));
        let shut = some & (misses.is_ready(entry) | !misses.takes_more(entry) | now);
        let comes = some & (missing & !coming).none();
        (missing, comes, missing.any() & (blocked | shut))
    }

    /// Decides what the operation does.
    pub fn plan(&self) -> Plan {
        let (core, op) = (self.core, &self.op);
        let drain = self.turns.is(Turn::Drain);
        let from_cu = self.request & self.turns.is(Turn::Cu);
        let memory = op.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync]);
        let looks =
            (self.request & memory & !(from_cu & self.released_first())) | (drain & self.oldest.there);
        let looks = looks.named("slot_looks");
        let (row, words, missing) = self.decode(looks);
        let rmw = self.is(Kind::Sync) | (self.is(Kind::Store) & self.part.bytes);
        let owned = self.usable();
        let some_owned = (self.part.words & owned).any() & rmw & !drain;
        let last = self.part.last & !(some_owned & (self.part.words & !owned).any());
        let acks = self.is(Kind::Store) & op.want_ack & last & !drain;
        let may_queue = !core.releases.queue.full;
        let sends = looks & (row.action("read") | row.action("own") | row.action("ask"));
        let enters = looks & (row.action("own") | (row.action("read") & !self.read().0));
        let no_entry = enters & core.misses.full();
        let takes = sends & !self.found.present & !self.at_llc(&row);
        let evicts = takes & self.found.victim_owned.any();
        let can_send = !sends | core.req.free;
        let can_take = !takes | (self.found.room & (!evicts | (!core.wbb.full() & core.wb.free)));
        let answers = row.action("hit") | (row.action("perform") & self.is(Kind::Sync));
        let can_answer = !answers | core.replies.room();
        let waits = looks & (row.action("wait") | no_entry | !can_take);
        let goes = looks & !waits & can_send & can_answer & (!acks | may_queue);
        let goes = goes.named("slot_goes");
        let queues = (goes & acks) | (from_cu & self.released_first() & may_queue);
        let acquires = self.request & self.is(Kind::Acquire) & core.replies.room();
        let done = self.turns.is(Turn::Release) & op.kind.is_any(&[Kind::Release, Kind::Ack]);
        let leaves = (goes & last & !drain) | (queues & !looks) | acquires | (done & core.replies.room());
        Plan {
            row,
            looks,
            goes,
            leaves: leaves.named("slot_leaves"),
            queues,
            acquires,
            words,
            missing,
            takes,
            evicts,
            last,
            waits,
        }
    }

    /// The row, the words it is done to, and those that it asks for.
    fn decode(&self, looks: Bool) -> (Decoded, Bits, Bits) {
        let (owned, of_line, buffered) = (self.usable(), &self.of_line, &self.buffered);
        let drain = self.turns.is(Turn::Drain);
        let access = |a: Access| enum_lit(a);
        let state = |w: Words| enum_lit(w);
        let store = mux(self.part.bytes, access(Access::Rmw), access(Access::St));
        let atomic = if self.core.p.through() { Access::Through } else { Access::Rmw };
        let kind = mux(self.is(Kind::Load), access(Access::Ld), access(atomic));
        let kind = mux(self.is(Kind::Store), store, kind);
        let kind = mux(drain, access(Access::Drain), kind);
        let words = mux(drain, self.oldest.mask, self.part.words);
        let absent = words & !owned;
        let asked = of_line.owning | of_line.reading | self.back.open;
        // A load.
        let (missing, comes, busy) = self.load();
        let ld = mux(comes, state(Words::Coming), state(Words::Missing));
        let ld = mux(missing.none(), state(Words::Here), mux(busy, state(Words::Busy), ld));
        // A store: in place only where nothing older of it is buffered.
        let in_place = absent.none() & (words & buffered.words).none();
        let full = !buffered.open & self.core.buffer.full();
        let blocked = (words & of_line.owning).any() | (!in_place & full);
        let st = mux(in_place, state(Words::Here), state(Words::Missing));
        let st = mux(blocked, state(Words::Busy), st);
        let behind = (words & (buffered.words | asked)).any();
        let rmw = mux((words & owned).any(), state(Words::Here), state(Words::Missing));
        let rmw = mux(behind, state(Words::Busy), rmw);
        let dr = mux(absent.none(), state(Words::Here), state(Words::Missing));
        let dr = mux((absent & asked).any(), state(Words::Busy), dr);
        let found = mux(kind.is(Access::Ld), ld, mux(kind.is(Access::St), st, rmw));
        let found = mux(drain, dr, found);
        let row = operations(self.core.p.through()).decode(looks, &[kind.bits(), found.bits()]);
        let here = mux(row.action("perform") | drain, words & owned, words);
        (row, here, mux(kind.is(Access::Ld), missing & !self.read().2, absent))
    }

    /// Carries the operation out.
    pub fn access(&self, plan: &Plan) {
        let core = self.core;
        let does = |action: &str| plan.goes & plan.row.action(action);
        when(plan.goes & plan.takes, || self.take_way(plan));
        let touched = does("hit") | does("store") | does("perform");
        when(touched & self.found.present, || core.arrays.touch(&self.found));
        self.states(plan);
        when(does("read") | does("join"), || self.read_or_join(plan));
        when(does("buffer"), || {
            core.buffer.store(&self.buffered, self.op.line, self.part.words, self.op.data);
            let fresh = self.of_line.fresh;
            let kept = (self.part.words, self.op.data);
            when(fresh.any(), || core.misses.keep(fresh.lowest_set(), kept));
        });
        when(does("own"), || self.own(self.at_llc(&plan.row)));
        when(self.turns.is(Turn::Drain) & plan.goes, || self.drain(plan));
        let changes = does("store") | does("buffer") | does("perform") | does("own") | does("ask");
        when(changes, || core.misses.spoil(self.of_line.all));
        // What has not left is waited for only once it is asked to leave.
        let behind =
            plan.looks & plan.row.action("wait") & !self.turns.is(Turn::Drain) & !self.is(Kind::Load);
        let wants = behind & self.buffered.open & (self.buffered.unissued & self.part.words).any();
        when(wants, || core.buffer.want(self.buffered.at));
        self.order(plan);
        self.answer(plan);
        self.tell_stall(plan);
        self.observe(plan);
    }

    /// Counters (section 13).
    fn observe(&self, plan: &Plan) {
        let does = |action: &str| plan.goes & plan.row.action(action);
        let drain = self.turns.is(Turn::Drain);
        let owned = (self.part.words & self.found.owned).any();
        count("denovo_l1_hit_owned", does("hit") & owned, "loads answered here, some words owned");
        count("denovo_l1_hit", does("hit") & !owned, "loads answered here from valid or buffered words");
        count("denovo_l1_misses", does("read"), "reads of words");
        count("denovo_l1_merged", does("join"), "loads that join a read");
        count("denovo_l1_stores_owned", does("store") & !drain, "stores done in place");
        count("denovo_l1_stores_buffered", does("buffer"), "stores buffered");
        count("denovo_l1_ownership", does("ask"), "requests for ownership");
        count("denovo_l1_atomics_owned", does("perform"), "atomics and byte stores done in place");
        count("denovo_l1_atomics", does("own"), "requests for ownership and data");
        count("denovo_l1_write_backs", plan.goes & plan.evicts, "lines with owned words replaced");
        let waits = self.turns.s1_valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        count("denovo_l1_wait_cycles", waits, "cycles in which the request at the head waits");
    }

    /// Word states and data of the way.
    fn states(&self, plan: &Plan) {
        let core = self.core;
        let does = |action: &str| plan.goes & plan.row.action(action);
        let found = &self.found;
        let old = core.arrays.data(found);
        let drain = self.turns.is(Turn::Drain);
        let given = mux(drain, self.oldest.data, self.op.data);
        let performed = self.alu().line(plan.words, old, self.op.data).0;
        let data = mux(plan.row.action("perform"), performed, merge(plan.words, given, old));
        // A load that joins the read afterwards must see it, even if the word is lost meanwhile.
        let fresh = self.of_line.fresh;
        let kept = (plan.words, mux(plan.row.action("perform"), performed, given));
        let keeps = (does("store") | does("perform")) & !drain & fresh.any();
        when(keeps, || core.misses.keep(fresh.lowest_set(), kept));
        let writes = (does("store") & plan.words.any()) | does("perform");
        when(writes & found.present, || core.arrays.put_data(found, data));
        // Words for which ownership is asked, or that wait in the buffer, are not valid any more.
        let gone = mux(does("own") | does("ask") | does("buffer"), plan.missing, self.none());
        let copy = self.at_llc(&plan.row) & bool_lit(core.p.inject == Inject::KeepsCopy);
        let gone = gone & !copy.repeat(gone.width());
        // What a region kept is not mixed with what others read.
        let rereads = (does("read") | does("join")) & self.hides();
        let gone = mux(rereads, found.valid, gone);
        let valid = found.valid & !gone;
        let changes = (plan.goes & plan.takes) | ((gone & found.valid).any() & found.present);
        when(changes, || core.arrays.set_words(found, valid, found.owned));
        when(rereads | (plan.goes & plan.takes), || core.arrays.fix(found, bool_lit(false)));
        let writes = does("store") | does("buffer") | does("perform") | does("own");
        let text = "a read-only region is not written: the program is wrong";
        assert_always("denovo_l1_region", !(writes & found.fixed), text);
    }

    fn alu(&self) -> WordAlu {
        let amo = mux(self.part.bytes, enum_lit(WordOp::Merge), self.op.amo);
        WordAlu { op: amo, cmp: self.op.cmp, bmask: self.part.bmask }
    }

    /// The line takes a way; owned words of the line that had it go to the write-back buffer.
    fn take_way(&self, plan: &Plan) {
        let (core, found) = (self.core, &self.found);
        core.arrays.take(found, self.line);
        when(plan.evicts, || {
            let (line, mask) = (found.victim_line, found.victim_owned);
            let data = core.arrays.data(found);
            let at = core.wbb.take(line, mask, data);
            let s = &core.p.l1.spandex;
            core.wb.send(&Wb {
                line,
                mask,
                src: core.own,
                dst: s.home(line),
                tag: at.resize(s.tag_bits()) + u64::from(s.mshrs + s.sb),
                dirty: bool_lit(true),
                data,
            });
        });
    }

    fn send(&self, op: ReqOp, tag: Bits, mask: Bits) {
        self.core.req.send(&self.request_of(op, tag, mask));
    }

    fn request_of(&self, op: ReqOp, tag: Bits, mask: Bits) -> Req {
        let s = &self.core.p.l1.spandex;
        Req {
            op: enum_lit(op),
            line: self.line,
            mask,
            src: self.core.own,
            dst: s.home(self.line),
            tag,
            flex: bool_lit(op == ReqOp::ReqV),
            fwd: bool_lit(false),
            amo: enum_lit(WordOp::Read),
            cmp: lit(0, 32),
            bmask: lit(0, 4),
            data: lit_bv(Bv::zero(s.data_bits())),
        }
    }

    fn read_or_join(&self, plan: &Plan) {
        let core = self.core;
        let (some, entry, coming) = self.read();
        let (missing, _, _) = self.load();
        let old = core.arrays.data(&self.found);
        let here = merge(self.buffered.words, self.buffered.data, old);
        let kept = (self.part.words & !missing, here);
        let more = missing & !coming;
        let region = self.turns.region();
        when(some, || core.misses.join(entry, more, kept, region, &self.as_target()))
            .otherwise(|| core.misses.open(self.line, missing, kept, region, &self.as_target()));
        let tag = mux(some, entry, core.misses.free_entry()).resize(core.p.l1.spandex.tag_bits());
        when(plan.row.action("read"), || {
            self.send(ReqOp::ReqV, tag, more);
            core.arrays.take(&self.found, self.line);
        });
    }

    /// The operation of a row is done at the LLC.
    fn at_llc(&self, row: &Decoded) -> Bool {
        if self.core.p.through() { row.action("through") } else { bool_lit(false) }
    }

    fn own(&self, at_llc: Bool) {
        let (core, op) = (self.core, &self.op);
        let operand = Operand {
            amo: mux(self.part.bytes, enum_lit(WordOp::Merge), op.amo),
            cmp: op.cmp,
            bmask: self.part.bmask,
            data: op.data,
        };
        core.misses.own((self.line, self.part.words), at_llc, &self.of_line, &operand, &self.as_target());
        let tag = core.misses.free_entry().resize(core.p.l1.spandex.tag_bits());
        let asks = self.request_of(ReqOp::ReqOData, tag, self.part.words);
        if core.p.through() {
            let Operand { amo, cmp, bmask, data } = operand;
            let op = mux(at_llc, enum_lit(ReqOp::ReqWtData), asks.op);
            core.req.send(&Req { op, amo, cmp, bmask, data, ..asks });
        } else {
            core.req.send(&asks);
        }
        when(!at_llc, || core.arrays.take(&self.found, self.line));
    }

    /// The oldest entry of the store buffer leaves: in place, or asking for what is missing.
    fn drain(&self, plan: &Plan) {
        let core = self.core;
        let at = self.oldest.at;
        when(plan.row.action("ask"), || {
            core.buffer.leave(&self.oldest);
            core.buffer.shrink(at, plan.missing);
            core.pending.ask(at, plan.missing);
            let s = &core.p.l1.spandex;
            self.send(ReqOp::ReqO, at.resize(s.tag_bits()) + u64::from(s.mshrs), plan.missing);
            core.arrays.take(&self.found, self.line);
        })
        .otherwise(|| core.buffer.leave_done(&self.oldest));
    }

    fn as_target(&self) -> Target {
        let op = &self.op;
        let sync = self.is(Kind::Sync);
        let bytes = spread(self.part.words, 4) & op.mask;
        Target {
            ack: sync & op.store,
            silent: self.is(Kind::Store),
            acquires: sync & op.acquires,
            mask: bytes,
            id: op.id,
        }
    }

    /// What is queued, what is left of an operation, acquires.
    fn order(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        when(plan.queues, || {
            let kind = mux(self.is(Kind::Store), enum_lit(Kind::Ack), op.kind);
            core.releases.queue.push(&Op { kind, ..*op });
        });
        when(plan.goes & self.turns.is(Turn::Cu) & !plan.last, || {
            let words = mux(plan.row.action("perform"), plan.words, self.part.words);
            let bytes = spread(words, 4) & op.mask;
            self.turns.s1.set(Op { mask: op.mask & !bytes, ..*op });
        });
        let performed = plan.goes & plan.row.action("perform") & self.is(Kind::Sync) & plan.last;
        let kernel = plan.acquires & self.turns.region();
        when(plan.acquires | (performed & op.acquires), || core.flash(kernel));
        let released = self.turns.is(Turn::Release);
        when(released & plan.leaves, || core.releases.pop());
        when(released & plan.waits, || core.releases.wait());
        when(self.turns.is(Turn::Drain) & plan.waits, || self.turns.hold_drain());
    }

    /// What the CU gets.
    fn answer(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        let hit = plan.goes & plan.row.action("hit");
        let performed = plan.goes & plan.row.action("perform") & self.is(Kind::Sync);
        let acked = plan.leaves & !plan.looks & !plan.queues;
        let old = core.arrays.data(&self.found);
        let bytes = spread(plan.words, 4) & op.mask;
        let none = lit_bv(Bv::zero(op.mask.width()));
        when(hit | performed | acked, || {
            core.replies.send(&CuRsp {
                id: op.id,
                kind: mux(hit, lit(0, 2), (acked | op.store).bits().zext(2)),
                mask: mux(acked, none, mux(hit, op.mask, bytes)),
                data: mux(hit, merge(self.buffered.words, self.buffered.data, old), old),
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
        let load = mux(self.is(Kind::Load), cause(StallCause::MshrFull), cause(StallCause::SbFull));
        let why = mux(plan.waits, load, cause(StallCause::Other));
        let why = mux(plan.looks, why, cause(StallCause::Release));
        let why = mux(self.turns.is(Turn::Cu), why, cause(StallCause::Bank));
        let blocked = self.turns.s1_valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(self.core.releases.queue.valid);
    }
}
