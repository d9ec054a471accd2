//! The slot: a cycle's one access to lines and tables, done as a whole or not at all.

mod act;
mod decide;

use super::Core;
use super::arrays::Ways;
use super::misses::Target;
use super::owner::Asked;
use super::plan::{Own, Plan};
use super::table::{LineState, Operate, Step};
use super::turn::{Turn, Turns};
use crate::write_combining::head;
use crate::write_combining::op::Kind;
use crate::write_combining::slot::Looked;
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    /// Its request is from S1.
    pub at: Looked<LineState>,
    /// The slot is that of the sync unit's access.
    pub access: Bool,
    /// The slot is that of a kernel's end that gives lines back.
    walks: Bool,
    ways: Ways,
    pub asked: Asked,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns) -> Slot<'a> {
        let (s1, filler) = (turns.head.op.get(), &core.filler);
        let asked_for = core.misses.miss(filler.entry.get()).line;
        let given = core.misses.all.target().again(asked_for, &core.p.shape);
        let op = mux(turns.is(Turn::Sync), core.sync.access(&core.p.shape), given);
        let op = mux(turns.is(Turn::Cu), s1, op);
        let lines = [
            (Turn::Probe, core.owner.line(&core.p)),
            (Turn::Sync, core.sync.line()),
            (Turn::Drain, core.sfifo.oldest()),
        ];
        let line = head::line_of(turns.turn.get(), &lines, op.line);
        let looked = !turns.is(Turn::None);
        let (found, ways) = core.arrays.look_up(line.named("slot_line"), looked, core.p.owned_aware);
        let asked = core.owner.plan(core, turns.is(Turn::Probe), &found);
        let served = filler.does_target(turns.is(Turn::Fill));
        let access = (turns.is(Turn::Sync) & core.sync.is(&[Step::Access])).named("slot_access");
        let walks = turns.is(Turn::Sync) & core.sync.is(&[Step::GiveBack]);
        let absent = found.state.is(LineState::I) & (turns.is(Turn::Cu) | access);
        let walked = core.sync.walk_ways(ways.owned).lowest_set();
        let way = mux(absent, found.victim, found.way);
        let way = mux(walks, walked, way).named("slot_way");
        let request = turns.is(Turn::Cu) & turns.head.valid.get() & core.gate_open();
        let request = request.named("slot_request");
        let at = Looked { found, way, op, request, target: served.named("slot_target") };
        Slot { core, turns, at, access, walks, ways, asked }
    }

    /// Decides what the slot does and does it.
    pub fn carry_out(&self) -> Plan {
        let plan = self.plan();
        self.install();
        self.serve(&plan);
        self.operate(&plan);
        self.line_leaves(&plan);
        self.answer(&plan);
        let core = self.core;
        when(plan.queues, || core.sync.push(self.program(), &self.at.op));
        when(self.access & plan.goes, || {
            let old = self.at.op.old_word(core.arrays.data(self.at.way));
            core.sync.accessed(self.acquires() & plan.row.does(Operate::Perform), old);
        });
        core.sync.slot(core, self.turns.is(Turn::Sync), &self.ways, plan.own.evicts);
        core.owner.run(core, &self.asked, &self.at.found);
        self.tell_stall(&plan);
        self.check(&plan);
        plan
    }

    /// The operation is an atomic that acquires.
    fn acquires(&self) -> Bool {
        self.at.is(Kind::Sync) & self.at.op.acquires()
    }

    /// What is kept of it while it waits.
    fn as_target(&self) -> Target {
        Target::of(&self.at.op, self.acquires())
    }

    /// One bit: the open MSHR of the line.
    fn open_entry(&self) -> Bits {
        self.core.misses.of_line(self.at.op.line)
    }

    fn check(&self, plan: &Plan) {
        self.at.check_open("denovo_b_l1", &self.core.misses);
        plan.check("denovo_b_l1");
    }
}
