//! What a slot does to lines and tables.

use super::{Plan, Slot};
use crate::denovo_b_l1::misses::Miss;
use crate::denovo_b_l1::params::DenovoInject;
use crate::denovo_b_l1::table::{Asked, Install, LineState, Operate, Part, answers};
use crate::denovo_b_l1::turn::Turn;
use crate::msg::ReqOp;
use crate::registering::slot::comes;
use crate::write_combining::op::{Kind, spread};
use weft_rtl::prelude::*;

impl Slot<'_> {
    /// The first slot of a FILL or REG_DATA.
    pub(super) fn install(&self) {
        let (core, found) = (self.core, &self.at.found);
        let (filler, misses, arrays) = (&core.filler, &core.misses, &core.arrays);
        let here = filler.installs(self.turns.is(Turn::Fill));
        let entry = filler.entry.get();
        let miss = misses.miss(entry);
        let comes = comes(filler.note.get());
        let inputs = (found.state, comes, miss.asked, misses.all.noinst(entry));
        let row = answers().decode_about(miss.line, here, inputs);
        let does = |action| here & row.does(action);
        when(here, || {
            misses.filled(entry);
            filler.serves.set(true);
            filler.follow(&misses.all);
        });
        // A line that is registered because it is written may have nobody who waits for it.
        let left = misses.all.waiting(entry).left;
        when(here & left.none(), || {
            misses.all.leave(entry, left);
            filler.valid.set(false);
            filler.ends.set(true);
        });
        when(does(Install::Copy) | does(Install::Own), || {
            let data = mux(row.does(Install::Own), self.granted(miss.way), filler.data.get());
            arrays.put_data(found, miss.way, data);
            arrays.touch(found, miss.way);
        });
        when(does(Install::Copy), || arrays.set_state(found, miss.way, enum_lit(LineState::V)));
        when(does(Install::Skip), || arrays.set_state(found, miss.way, enum_lit(LineState::I)));
        when(does(Install::Own), || {
            arrays.set_state(found, miss.way, enum_lit(LineState::O));
            when(miss.counts, || core.fence.acked(miss.epoch));
        });
        let text = "an answer is of the line to which the frame belongs";
        assert_always("denovo_b_l1_fill_frame", !here | found.way.eq(miss.way), text);
        row.leads_to(arrays.state_after(found, miss.way, found.state));
        self.see_grant(does(Install::Own), miss.way);
    }

    /// The line of a REG_DATA: bytes that are written here stay.
    fn granted(&self, way: Bits) -> Bits {
        let (arrays, data) = (&self.core.arrays, self.core.filler.data.get());
        let here = spread(arrays.mask(way));
        match self.core.p.inject {
            DenovoInject::GrantOverwrites => data,
            _ => (arrays.data(way) & here) | (data & !here),
        }
    }

    fn see_grant(&self, owns: Bool, way: Bits) {
        let mask = self.core.arrays.mask(way);
        let race = |name: &str, cond: Bool, text: &str| {
            cover(&format!("srsp.race.denovo_b_l1_{name}"), cond, text);
        };
        race("grant_around_bytes", owns & mask.any(), "REG_DATA comes around bytes that are written here");
        let waits = self.core.misses.all.waiting(self.core.filler.entry.get()).left.any();
        race("grant_serves", owns & waits & mask.any(), "operations wait for a line that is written");
    }

    /// A target of a FILL or REG_DATA.
    pub(super) fn serve(&self, plan: &Plan) {
        let (core, arrays) = (self.core, &self.core.arrays);
        let filler = &core.filler;
        let grants = filler.note.get();
        let performs = self.at.target & grants & self.at.is(Kind::Sync);
        let acquires = performs & self.acquires();
        let answers = self.at.target & !acquires & core.replies.room();
        when(answers | acquires, || {
            filler.advance(filler.here(), |left| core.misses.all.leave(filler.entry.get(), left));
        });
        when(answers, || {
            let data = mux(grants, arrays.data(self.at.way), filler.data.get());
            core.replies.send(&self.at.reply(data, filler));
        });
        when(performs & (answers | acquires) & plan.wrote, || self.at.write_owned(arrays, plan.word));
        when(acquires, || {
            let mut target = core.misses.all.target();
            target.waiter.word.opnd = self.at.op.old_word(arrays.data(self.at.way));
            core.sync.push_acquired(&target, self.at.op.line, filler.from_l2.get());
        });
        let owned = self.at.found.state.is(LineState::O);
        let text = "what waits for a REG_DATA is done on the owned line";
        assert_always("denovo_b_l1_grant_owned", !(self.at.target & grants) | owned, text);
        let text = "loads alone wait for a FILL";
        let loads = !(self.at.target & !grants) | self.at.is(Kind::Load);
        assert_always("denovo_b_l1_fill_loads", loads, text);
    }

    /// An operation on its line.
    pub(super) fn operate(&self, plan: &Plan) {
        let (core, op, found, way) = (self.core, &self.at.op, &self.at.found, self.at.way);
        let arrays = &core.arrays;
        let does = |action| plan.does(action);
        let uses = [
            Operate::Hit,
            Operate::Merge,
            Operate::Keep,
            Operate::Perform,
            Operate::Take,
            Operate::Reserve,
            Operate::Register,
        ];
        when(any_of(&uses.map(does)), || arrays.touch(found, way));
        when(does(Operate::Reserve), || self.reserve());
        when(does(Operate::Register), || self.register(plan));
        when(does(Operate::Join), || core.misses.all.join(self.open_entry().lowest_set(), &self.as_target()));
        when(does(Operate::Merge) | does(Operate::Take), || arrays.merge(found, way, op.mask, || op.data));
        when(does(Operate::Take), || arrays.put_tag(found, way, op.line));
        when(does(Operate::Keep), || self.at.write_owned(arrays, op.data));
        when(does(Operate::Perform) & plan.wrote, || self.at.write_owned(arrays, plan.word));
        when(does(Operate::Queue), || core.sync.push(self.program(), op));
        let waits = (does(Operate::Register) | does(Operate::Join)) & self.acquires();
        when(waits, || core.sync.hold());
        when(plan.pushes, || core.sfifo.push(op.line));
        when((plan.looks & plan.waits.push) | plan.own.wants_pop, || core.drain.ask_pop());
        plan.row.leads_to_when(plan.goes, arrays.state_after(found, way, found.state));
    }

    /// Takes a frame and an MSHR, and sends RD.
    fn reserve(&self) {
        let (core, line) = (self.core, self.at.op.line);
        core.arrays.put_tag(&self.at.found, self.at.way, line);
        core.arrays.set_state(&self.at.found, self.at.way, enum_lit(LineState::P));
        let entry = core.misses.all.free_entry();
        core.misses.take(entry, &self.miss(line, Asked::Rd, bool_lit(false)), &self.as_target());
        core.l2.ask(ReqOp::Rd, line, entry);
    }

    fn miss(&self, line: Bits, asked: Asked, counts: Bool) -> Miss {
        let epoch = self.core.fence.epoch();
        Miss { line, way: self.at.way, asked: enum_lit(asked), counts, epoch }
    }

    /// An operation registers its line.
    fn register(&self, plan: &Plan) {
        let (core, line, found) = (self.core, self.at.op.line, &self.at.found);
        core.arrays.put_tag(found, self.at.way, line);
        let clean = found.state.is_any(&[LineState::I, LineState::V]);
        when(clean, || core.arrays.put_mask(found, self.at.way, lit_bv(Bv::zero(core.p.shape.srsp.line))));
        let (entry, miss) = self.send_reg(line, !clean);
        when(plan.row.does(Operate::Again), || core.misses.take_alone(entry, &miss))
            .otherwise(|| core.misses.take(entry, &miss, &self.as_target()));
    }

    /// Sends REG for a line, which is under way from now on; a release waits for the answer if bytes were written (`counts`). Its MSHR, and what that asks for.
    fn send_reg(&self, line: Bits, counts: Bool) -> (Bits, Miss) {
        let core = self.core;
        core.arrays.set_state(&self.at.found, self.at.way, enum_lit(LineState::PR));
        let entry = core.misses.all.free_entry();
        let miss = self.miss(line, Asked::Reg, counts);
        when(counts, || {
            core.fence.sent();
        });
        core.l2.ask(ReqOp::Reg, line, entry);
        (entry, miss)
    }

    /// What leaves: by a pop, as a victim, or at a kernel's end.
    pub(super) fn line_leaves(&self, plan: &Plan) {
        let (core, found) = (self.core, &self.at.found);
        let arrays = &core.arrays;
        when(plan.pops, || core.sfifo.pop());
        when(plan.pops & plan.leave.does(Part::Register), || {
            let (entry, miss) = self.send_reg(core.sfifo.oldest(), bool_lit(true));
            core.misses.take_alone(entry, &miss);
        });
        // The frame of a victim is taken in the same slot.
        when(plan.own.evicts & self.walks, || {
            arrays.set_state(found, self.at.way, enum_lit(LineState::I));
        });
        let takes = plan.row.does(Operate::Reserve) | plan.row.does(Operate::Take);
        let opens = takes | (plan.row.does(Operate::Register) & found.state.is(LineState::I));
        self.at.check_left(arrays, plan, [opens, plan.own.evicts & self.walks]);
        when(plan.own.evicts, || {
            let line = arrays.line_in(found, self.at.way);
            core.give_back(line, (arrays.mask(self.at.way), arrays.data(self.at.way)));
        });
    }

    /// The answer of the slot's operation, unless it comes later.
    pub(super) fn answer(&self, plan: &Plan) {
        let core = self.core;
        let performed = plan.does(Operate::Perform) & !self.acquires();
        let stored = plan.goes & self.at.is(Kind::Store) & self.at.op.want_ack;
        when(plan.does(Operate::Hit) | performed | stored, || {
            let line = core.arrays.data(self.at.found.way);
            core.replies.send(&self.at.reply(line, &core.filler));
        });
    }
}
