//! What happens in one part of the simulation in the cycles of a window.

use super::Shared;
use crate::activity::{CUS, FENCES, MEMORY, PROCESSOR};
use crate::lanes::PartLanes;
use crate::placement::PageTable;
use crate::run::course::Course;
use crate::run::dispatch::{Blocks, Going, Rules};
use crate::run::fence::Fence;
use crate::run::fences::{NodeFences, Waiter};
use crate::run::groups::Units;
use crate::run::observe::PartNotes;
use crate::run::ranks::Ranks;
use weft_engine::Part;
use weft_engine::activity::Activity;

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
    /// The ranks, if there are several.
    pub ranks: Option<&'a Ranks>,
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
    /// Room for a letter to or from a part of another rank.
    pub letter: Vec<u64>,
    /// Parts of other ranks that have said to this one that they stop.
    pub over: Vec<usize>,
}

/// In a letter to a part of another rank in place of a cycle: no further one comes.
const LAST: u64 = u64::MAX;

/// It tells of the nodes only.
const NOTHING: u64 = u64::MAX - 1;

/// A part goes on. When it no longer does, also because something in it has panicked, nobody is to wait for it.
struct Stops<'a> {
    common: Common<'a>,
    part: usize,
}

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        let Stops { common: Common { shared, ranks, .. }, part } = *self;
        shared.stop(part);
        if let Some(ranks) = ranks.filter(|_| std::thread::panicking()) {
            // It tells others that it stops in an orderly way otherwise, and then hears them out.
            let last = [part as u64, LAST, shared.told(part)];
            let others = (0..shared.parts.len()).filter(|other| !ranks.is_own(*other));
            others.for_each(|other| ranks.link.post(ranks.owner(other), other, &last));
        }
    }
}

impl Item<'_> {
    /// Goes through cycles up to the end of the window, or until others must do something first.
    pub fn go(&mut self, common: Common) {
        let stops = Stops { common, part: self.number };
        while self.cycle(common) {}
        drop(stops);
        self.part_from_others(common);
        while (common.tell)() {}
    }

    /// Parts of other ranks hear that this one goes on no longer; nothing that they have sent is left behind.
    fn part_from_others(&mut self, common: Common) {
        let Some(ranks) = common.ranks else { return };
        self.post(common, LAST);
        let others = (0..common.shared.parts.len()).filter(|part| !ranks.is_own(*part)).count();
        let mut wait = Wait::default();
        self.collect(common);
        while self.over.len() < others {
            wait.longer(common);
            self.collect(common);
        }
    }

    /// A letter goes to parts of other ranks, to be read at the begin of a cycle: to those that hear this one, and
    /// to those that are through and wait for the word that others are not. What is no cycle goes to all.
    fn post(&mut self, common: Common, cycle: u64) {
        let Common { shared, ranks: Some(ranks), .. } = common else { return };
        Activity::MESSAGES.begin();
        for part in (0..shared.parts.len()).filter(|part| !ranks.is_own(*part)) {
            if cycle >= NOTHING || self.part.reaches(part) || shared.has_part_through(part) {
                self.post_to(common.shared, ranks, part, cycle);
            }
        }
    }

    /// A letter goes to one of these parts.
    fn post_to(&mut self, shared: &Shared, ranks: &Ranks, part: usize, cycle: u64) {
        self.letter.clear();
        self.letter.extend([self.number as u64, cycle, shared.told(self.number)]);
        if cycle < NOTHING {
            self.part.letter_to(part, &mut self.letter);
        }
        ranks.costs.letter(self.letter.len());
        ranks.link.post(ranks.owner(part), part, &self.letter);
    }

    /// Takes what parts of other ranks have sent.
    fn collect(&mut self, common: Common) {
        let Common { shared, ranks: Some(ranks), .. } = common else { return };
        while ranks.link.collect(self.number, &mut self.letter) {
            let [from, cycle, lasts, text @ ..] = &self.letter[..] else {
                panic!("a letter of another rank has a head");
            };
            let (from, through) = (*from as usize, lasts & 1 == 1);
            shared.learn(from, *lasts);
            match *cycle {
                LAST => {
                    shared.stop(from);
                    self.over.push(from);
                }
                // It waits for the word that this part is not through, and letters from before its own came here
                // have not gone to it. This part may not end another cycle before that one goes on. What it had
                // to say when it stopped or was through has gone to all.
                NOTHING if through && !shared.is_settled(self.number) => {
                    self.post_to(shared, ranks, from, NOTHING);
                }
                NOTHING => {}
                cycle => self.part.deliver(from, cycle, text),
            }
        }
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
        self.post(common, now + 1);
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
            self.is_through(common);
        }
        if !shared.has_part_through(self.number) {
            return true;
        }
        let number = self.number;
        self.wait(common, || shared.lasts(now), || shared.all_through_or_stopped(number))
    }

    /// The part's nodes are through, of which the others must know.
    fn is_through(&mut self, common: Common) {
        if !common.shared.has_part_through(self.number) {
            common.shared.is_through(self.number);
            self.post(common, NOTHING);
        }
    }

    /// Hears the other parts, unless one stops before it has got so far.
    fn hear(&mut self, common: Common) -> bool {
        let mut wait = Wait::default();
        loop {
            self.collect(common);
            let Err(other) = self.part.hear().and_then(|()| self.part.may_send()) else {
                return true;
            };
            if self.has_stopped(common, other) {
                // It may have got there before it stopped; then another one may still be on its way.
                self.collect(common);
                match self.part.hear().and_then(|()| self.part.may_send()) {
                    Ok(()) => return true,
                    Err(still) if still == other => return false,
                    Err(_) => {}
                }
            }
            wait.longer(common);
        }
    }

    /// Nothing comes from another part any more. What one of another rank has sent may be here later than what it has
    /// told a neighbour of this one.
    fn has_stopped(&self, common: Common, other: usize) -> bool {
        match common.ranks {
            Some(ranks) if !ranks.is_own(other) => self.over.contains(&other),
            _ => common.shared.is_stopped(other),
        }
    }

    /// Waits for something, unless it will not come.
    fn wait(&mut self, common: Common, ready: impl Fn() -> bool, lost: impl Fn() -> bool) -> bool {
        let mut wait = Wait::default();
        loop {
            self.collect(common);
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
            true => self.is_through(common),
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
        if let Some(ranks) = common.ranks.filter(|_| self.looks.is_multiple_of(LOOKS)) {
            ranks.link.wait();
        }
        if common.shared.crowded || self.looks.is_multiple_of(LOOKS) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
