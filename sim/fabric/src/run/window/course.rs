//! What happens in one part of the simulation in the cycles of a window.

use super::Shared;
use crate::activity::{CUS, FENCES, MEMORY, PROCESSOR};
use crate::lanes::PartLanes;
use crate::placement::PageTable;
use crate::run::dispatch::{Blocks, Going, Rules};
use crate::run::fences::{Fence, NodeFences, Waiter};
use crate::run::groups::Units;
use crate::run::observe::PartNotes;
use weft_engine::Part;
use weft_engine::activity::Activity;

/// What a part keeps from one stretch of a window to the next.
#[derive(Clone, Default)]
pub(in crate::run) struct Course {
    /// Fences have gone on in the present cycle; whether it is one more of the same kind is not known.
    pub fenced: bool,
    /// Models have acted in the present cycle, which is not clocked.
    pub acted: bool,
    /// Something happens by itself in the next cycle, or a message is on its way.
    pub stirs: bool,
    /// Since this cycle nothing can happen unless another part sends something.
    pub quiet: u64,
    /// What went wrong in the models, in the present cycle, and its place among what one thread does in a cycle.
    pub failed: Option<(u8, String)>,
}

/// What all parts have in common.
#[derive(Clone, Copy)]
pub(super) struct Common<'a> {
    pub shared: &'a Shared,
    /// First cycle that is not gone through.
    pub until: u64,
    pub table: &'a PageTable,
    /// Compute units of a node.
    pub cus: usize,
    /// What nodes do by themselves until all are through with it; else the window is of one cycle, whose fences
    /// and work-groups somebody has seen to.
    pub going: Option<Going<'a>>,
    /// Checks hear of the ports.
    pub checked: bool,
    /// Tells something of the cycles before the window; false if nothing is left, or somebody else does.
    pub tell: &'a (dyn Fn() -> bool + Sync),
}

/// The nodes of a group.
pub(super) struct Nodes<'a> {
    pub first: usize,
    pub fences: &'a mut [NodeFences],
    pub blocks: &'a mut [Blocks],
    /// By compute unit.
    pub ended: &'a mut [bool],
}

/// A part with what goes on there.
pub(super) struct Item<'a> {
    pub part: &'a mut Part,
    pub number: usize,
    pub course: &'a mut Course,
    pub notes: &'a mut PartNotes,
    pub units: Option<Units<'a>>,
    pub nodes: Option<Nodes<'a>>,
    pub lanes: Option<&'a mut dyn PartLanes>,
}

/// A part goes on. When it no longer does, also because something in it has panicked, nobody is to wait for it.
struct Stops<'a> {
    shared: &'a Shared,
    part: usize,
}

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.shared.stop(self.part);
    }
}

impl Item<'_> {
    /// Goes through cycles up to the end of the window, or until others must do something first.
    pub fn go(&mut self, common: Common) {
        let stops = Stops { shared: common.shared, part: self.number };
        while self.cycle(common) {}
        drop(stops);
        while (common.tell)() {}
    }

    /// One cycle, or what is left of it; whether another one may follow.
    fn cycle(&mut self, common: Common) -> bool {
        let now = self.part.cycle();
        if !self.course.acted {
            if self.course.failed.is_some() || self.part.has_failed() || self.has_touched() {
                return false;
            }
            self.notes.listen(now, common.checked);
            if !self.course.fenced {
                if now >= common.until {
                    return false;
                }
                self.fences(common, now);
                self.course.fenced = true;
            }
            if !self.is_like_the_last(common, now) {
                return false;
            }
            self.course.fenced = false;
            if let Err(failed) = self.act(common, now) {
                self.course.failed = Some(failed);
                return false;
            }
            self.course.acted = true;
        }
        self.part.begin();
        if !self.hear(common) {
            return false;
        }
        if self.course.stirs || !self.part.asleep() {
            self.course.quiet = now + 1;
        }
        self.part.end();
        self.course.acted = false;
        true
    }

    /// A page was touched first that is not placed.
    fn has_touched(&self) -> bool {
        self.units.as_ref().is_some_and(|units| !units.group.left.touched.is_empty())
    }

    /// In this cycle nodes do what they have done in the one before. A part that is through with it may not be
    /// the last, and then it must go on.
    fn is_like_the_last(&mut self, common: Common, now: u64) -> bool {
        let Common { shared, going: Some(going), cus, .. } = common else { return true };
        if let (Going::Wait(waits), Some(nodes), Some(units)) = (going, &self.nodes, &self.units) {
            let mut by_node = nodes.fences.iter().zip(units.seats.chunks(cus));
            if !by_node.all(|(fences, seats)| waits.over(fences, seats)) {
                shared.goes_on(self.number, now);
                return true;
            }
            shared.is_through(self.number);
        }
        if !shared.has_part_through(self.number) {
            return true;
        }
        self.wait(common, || shared.lasts(now), || shared.all_through_or_stopped(self.number))
    }

    /// Hears the other parts, unless one stops before it has got so far.
    fn hear(&mut self, common: Common) -> bool {
        let Common { shared, .. } = common;
        let mut wait = Wait::default();
        loop {
            let heard = self.part.hear().and_then(|()| self.part.may_send());
            let Err(other) = heard else {
                return true;
            };
            if shared.is_stopped(other) {
                // It may have got there before it stopped.
                return self.part.hear().and_then(|()| self.part.may_send()).is_ok();
            }
            wait.longer(common);
        }
    }

    /// Waits for something, unless it will not come.
    fn wait(&self, common: Common, ready: impl Fn() -> bool, lost: impl Fn() -> bool) -> bool {
        let mut wait = Wait::default();
        loop {
            if ready() {
                return true;
            }
            if lost() {
                return ready();
            }
            wait.longer(common);
        }
    }

    /// Everything beside the hardware acts in the present cycle.
    fn act(&mut self, common: Common, now: u64) -> Result<(), (u8, String)> {
        if let Some(Going::Run(rules)) = common.going {
            self.dispatch(common, rules, now).map_err(|text| (0, text))?;
        }
        let mut due = u64::MAX;
        if let Some(units) = &mut self.units {
            CUS.begin();
            units.go(self.part, common.table, common.cus, self.notes);
            if let Some(problem) = units.group.left.failed.take() {
                return Err((1, problem));
            }
            due = units.group.left.due;
        }
        if let Some(lanes) = &mut self.lanes {
            MEMORY.begin();
            due = due.min(lanes.tick(self.part).unwrap_or(u64::MAX));
            self.notes.memory(lanes.transfers());
        }
        self.course.stirs |= due != u64::MAX;
        Activity::SCHEDULE.begin();
        Ok(())
    }

    /// Fences of the part's nodes go on.
    fn fences(&mut self, common: Common, now: u64) {
        self.course.stirs = false;
        let (Some(nodes), Some(units)) = (&mut self.nodes, &mut self.units) else { return };
        FENCES.begin();
        let Nodes { first, fences, blocks, .. } = nodes;
        let left = &mut units.group.left;
        left.freed.drain(..).for_each(|node| blocks[node - *first].freed());
        left.asks.drain(..).for_each(|(node, fence, waiter)| fences[node - *first].ask(fence, waiter));
        let mut finished: Vec<(Fence, Waiter)> = Vec::new();
        for (fences, seats) in fences.iter_mut().zip(units.seats.chunks_mut(common.cus)) {
            self.course.stirs |= fences.tick(self.part, &mut self.notes.fences, &mut finished);
            for (fence, waiter) in finished.drain(..) {
                match waiter {
                    Waiter::Processor => left.fenced += 1,
                    Waiter::Cu { cu, id } => seats[cu as usize].fenced(fence, id, now),
                }
            }
        }
    }

    /// Work-groups are launched on the part's nodes.
    fn dispatch(&mut self, common: Common, rules: Rules, now: u64) -> Result<(), String> {
        let (Some(nodes), Some(units)) = (&mut self.nodes, &mut self.units) else { return Ok(()) };
        PROCESSOR.begin();
        let cus = common.cus;
        let by_node = units.seats.chunks_mut(cus).zip(nodes.ended.chunks_mut(cus));
        let mut over = true;
        for (blocks, (seats, ended)) in nodes.blocks.iter_mut().zip(by_node) {
            self.course.stirs |= blocks.dispatch(rules, seats, ended, now)?;
            over &= blocks.over(cus);
        }
        match over {
            true => common.shared.is_through(self.number),
            false => common.shared.goes_on(self.number, now + 1),
        }
        Ok(())
    }
}

/// Looks after which a thread that waits lets another one go on, if there are others: a few microseconds.
const LOOKS: u32 = 128;

/// A thread that waits for another: meanwhile it tells what happened before the window.
#[derive(Default)]
struct Wait {
    looks: u32,
}

impl Wait {
    fn longer(&mut self, common: Common) {
        Activity::WAITING.begin();
        self.looks += 1;
        if (common.tell)() {
            return;
        }
        if common.shared.crowded || self.looks.is_multiple_of(LOOKS) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
