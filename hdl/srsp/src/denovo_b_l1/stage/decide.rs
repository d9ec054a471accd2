//! What a slot does, and what it waits for.

use super::{Own, Plan, Slot};
use crate::denovo_b_l1::table::{Case, LineState, Operate, Part, Program, leaving, operations};
use crate::denovo_b_l1::turn::Turn;
use crate::write_combining::head::Why;
use crate::write_combining::op::{Kind, perform};
use crate::write_combining::slot::Waits;
use weft_rtl::prelude::*;

impl Slot<'_> {
    /// Decides.
    pub(super) fn plan(&self) -> Plan {
        let (core, turns, op) = (self.core, self.turns, &self.at.op);
        let releases = self.at.is(Kind::Sync) & op.releases();
        let steps = self.at.request & (!op.is_memory() | releases);
        let looks = ((self.at.request & !steps) | self.access).named("slot_looks");
        let row = self.decode(looks);
        let does = |action| looks & row.does(action);
        let absent = self.at.found.state.is(LineState::I);
        let opens = does(Operate::Reserve) | does(Operate::Take) | (does(Operate::Register) & absent);
        let drains = turns.is(Turn::Drain) & core.sfifo.some();
        let walks = self.walks & core.sync.walk_ways(self.ways.owned).any();
        let opened = opens & self.at.found.room;
        let leave = self.at.leaving(&core.arrays, &leaving(), [drains, walks, opened]);
        let registers = drains & leave.does(Part::Register);
        let behind = registers & core.unregs.has(core.sfifo.oldest());
        let gives = opens & leave.does(Part::GiveBack);
        let no_channel = gives & !core.can_give_back();
        let waits = self.waits(&row, (looks, steps, opens));
        let (word, wrote) =
            perform(&op.atomic(), op.old_word(core.arrays.data(self.at.way)), core.p.shape.srsp.data_bits());
        let performs = does(Operate::Perform) & !self.acquires();
        let stores = looks & self.at.is(Kind::Store) & op.want_ack;
        let answers = !(does(Operate::Hit) | performs | stores) | core.replies.room();
        let sends = !(does(Operate::Reserve) | does(Operate::Register)) | core.l2.req.free;
        let free = sends & answers & !no_channel & !waits_for(&waits);
        let goes = (looks & free & !row.does(Operate::Wait)).named("slot_goes");
        let queues = steps & core.sync.room();
        let leaves = (goes & !row.does(Operate::Again)) | queues;
        let evicts = (goes & gives) | (walks & core.can_give_back());
        Plan {
            looks,
            goes,
            leaves: leaves.named("slot_leaves"),
            queues,
            wb_goes: evicts.named("slot_gives_back"),
            pushes: goes & does(Operate::Dirties),
            word,
            wrote,
            pops: (drains & (!registers | (core.can_register() & !behind))).named("slot_pops"),
            own: Own {
                evicts,
                no_channel,
                registers,
                behind_unreg: behind,
                wants_pop: looks & waits.room & self.ways.written,
            },
            row,
            leave,
            waits,
        }
    }

    /// The program of a request with steps.
    pub(super) fn program(&self) -> Enum<Program> {
        let several = [Program::FenceAcq, Program::FenceRel, Program::Begin, Program::End];
        let other = self.at.program(several);
        let access = mux(self.at.op.releases(), enum_lit(Program::Release), enum_lit(Program::Acquire));
        mux(self.at.is(Kind::Sync), access, other)
    }

    fn decode(&self, looks: Bool) -> Decoded<LineState, Operate> {
        let (misses, state) = (&self.core.misses, self.at.found.state);
        let entry = self.open_entry();
        let case = |case: Case| lit(case.encoding(), 2);
        let yes = |now: Bool| mux(now, case(Case::Yes), case(Case::No));
        let joins = mux(misses.takes_more(entry.lowest_set()), case(Case::Yes), case(Case::Shut));
        let alone = state.is(LineState::PR) & misses.alone(entry.lowest_set());
        let joins = mux(entry.any() & !alone, joins, case(Case::No));
        let covered = yes(self.at.covered(&self.core.arrays));
        let later = yes(self.at.request & self.acquires());
        let case = mux(state.is(LineState::W), covered, mux(state.is(LineState::O), later, joins));
        operations().decode_about(self.at.op.line, looks, (self.at.op.access(), state, case))
    }

    fn waits(&self, row: &Decoded<LineState, Operate>, (looks, steps, opens): (Bool, Bool, Bool)) -> Waits {
        let core = self.core;
        let does = |action| looks & row.does(action);
        let asks = does(Operate::Reserve) | does(Operate::Register);
        // An acquire of the CU takes a place of the sync unit's queue wherever it waits.
        let later = does(Operate::Register) | does(Operate::Join) | does(Operate::Queue);
        let acquires = self.at.request & self.acquires() & later;
        Waits {
            queue: (steps | acquires) & !core.sync.room(),
            push: does(Operate::Dirties) & core.sfifo.full(),
            mshr: asks & core.misses.all.full(),
            room: opens & !self.at.found.room,
            acked: asks & core.unregs.has(self.at.op.line),
        }
    }

    /// Why requests are not taken, for the CU.
    pub(super) fn tell_stall(&self, plan: &Plan) {
        let (waits, open) = (&plan.waits, self.core.gate_open());
        let why = Why {
            other: waits.room | waits.acked | waits.push | plan.own.no_channel,
            misses: waits.mshr | (plan.looks & plan.row.does(Operate::Wait)),
            steps: waits.queue | !open,
            slot: self.turns.is(Turn::Cu) | !open,
        };
        let leaves = plan.leaves & self.turns.is(Turn::Cu);
        self.turns.head.tell(leaves, &why, self.core.sync.steps.queue.valid);
    }
}

fn waits_for(waits: &Waits) -> Bool {
    waits.queue | waits.push | waits.mshr | waits.room | waits.acked
}
