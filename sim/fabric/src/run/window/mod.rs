//! Cycles gone through side by side: each part of the simulation goes on by itself, with its compute units,
//! memory channels, fences and work-groups, as long as it hears the others.
//!
//! ```text
//!  part 0   models | inner units | hears the others | other units | models | inner units | ...
//!  part 1        models | inner units | hears the others | other units | models | ...
//! ```
//!
//! A part needs from others what they have sent in the cycle before, and that only for the units that hear
//! it, which are clocked last. So a thread waits only for another that is about a cycle behind. All parts stop
//! at the end of a window; before it at the end of a kernel, and each of them
//! - when a page was touched first, until all have gone that far and it is placed;
//! - when something went wrong, or when it needs a part that has stopped.
//!
//! What observers must hear of is noted, and told while the next window is gone through, in the order of one
//! thread, by threads that would wait.

mod course;
mod telling;

use super::course::Course;
use super::dispatch::Going;
use super::groups::units;
use super::model::FabricModel;
use super::ranks::Lap;
use crate::activity::CHECKS;
use crate::lanes::ByPart;
use course::{Common, Item, Nodes};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use telling::Telling;
use weft_engine::activity::Activity;
use weft_engine::runner::Problem;
use weft_engine::team::Team;
use weft_engine::{Part, Sim};

/// Most cycles of a window.
const CYCLES: u64 = 64;

/// What threads tell each other while they go through a window.
pub(super) struct Shared {
    parts: Vec<Word>,
    /// There are more threads than processors.
    crowded: bool,
}

/// Of a part.
#[repr(align(128))]
struct Word {
    /// It goes on only when somebody has done something.
    stopped: AtomicBool,
    /// Twice the last cycle of which it is known here that nodes do in it what they did before, and one if those
    /// of this part are through with it.
    lasts: AtomicU64,
}

impl Shared {
    /// Nodes do in all cycles up to `lasts` what they do in the first; parts are `through` with it or not.
    fn new(lasts: u64, through: impl Iterator<Item = bool>, crowded: bool) -> Shared {
        let word = |through| Word {
            stopped: AtomicBool::new(false),
            lasts: AtomicU64::new(2 * lasts + u64::from(through)),
        };
        Shared { parts: through.map(word).collect(), crowded }
    }

    fn stop(&self, part: usize) {
        self.parts[part].stopped.store(true, Ordering::Release);
    }

    fn is_stopped(&self, part: usize) -> bool {
        self.parts[part].stopped.load(Ordering::Acquire)
    }

    /// All parts go on.
    pub fn go_on(&self) {
        self.parts.iter().for_each(|part| part.stopped.store(false, Ordering::Release));
    }

    /// What a part of another rank tells of its nodes: [`Word::lasts`], which only rises.
    fn learn(&self, part: usize, lasts: u64) {
        self.parts[part].lasts.fetch_max(lasts, Ordering::AcqRel);
    }

    /// [`Word::lasts`] of a part.
    fn told(&self, part: usize) -> u64 {
        self.parts[part].lasts.load(Ordering::Acquire)
    }

    /// Nodes of a part are not through: all do in this cycle what they did before.
    fn goes_on(&self, part: usize, cycle: u64) {
        self.parts[part].lasts.store(2 * cycle, Ordering::Release);
    }

    /// Nodes of a part are through.
    fn is_through(&self, part: usize) {
        self.parts[part].lasts.fetch_or(1, Ordering::Release);
    }

    fn has_part_through(&self, part: usize) -> bool {
        self.parts[part].lasts.load(Ordering::Relaxed) & 1 == 1
    }

    /// A part is through, or goes on only when somebody has done something.
    fn is_settled(&self, part: usize) -> bool {
        self.is_stopped(part) || self.told(part) & 1 == 1
    }

    /// Nodes do in this cycle what they did before.
    fn lasts(&self, cycle: u64) -> bool {
        self.parts.iter().any(|part| part.lasts.load(Ordering::Acquire) >> 1 >= cycle)
    }

    /// What is known of [`Shared::lasts`] from other parts will not change unless somebody does something.
    fn all_through_or_stopped(&self, own: usize) -> bool {
        (0..self.parts.len()).all(|part| part == own || self.is_settled(part))
    }
}

impl FabricModel {
    /// Goes through cycles up to `until`, or up to the one in which all nodes are through with what they do by
    /// themselves; there fences have gone on already. Without `by_nodes` it is one cycle, in which somebody has
    /// seen to fences and the command processor.
    pub fn window(
        &mut self,
        sim: &mut Sim,
        team: &mut Team,
        until: u64,
        by_nodes: bool,
    ) -> Result<(), Problem> {
        let begin = sim.cycle();
        let mut until = until.min(begin + if by_nodes { CYCLES } else { 1 });
        self.call_window(sim, begin..until);
        let shared = self.begin_window(begin, by_nodes, self.is_crowded(team));
        let mut found = Ok(());
        loop {
            shared.go_on();
            let lap = Lap::new();
            let told = self.stretch(sim, team, &shared, until, by_nodes);
            self.note_stretch(lap);
            found = found.and(told);
            self.hear_reports(sim);
            until = self.wrong_in(sim).map_or(until, |wrong| until.min(wrong + 1));
            if !self.place_touched(sim, until) {
                break;
            }
            self.call_stretch(until);
        }
        Activity::MESSAGES.begin();
        // What happened before the window comes first.
        found?;
        self.over(sim, begin)
    }

    /// A window begins in which all parts go on.
    pub fn begin_window(&mut self, begin: u64, by_nodes: bool, crowded: bool) -> Shared {
        let runs = matches!(self.processor.going(), Some((Going::Run(_), ..)));
        let through = (0..self.courses.len()).map(|part| !self.notes.order.contains(&part));
        for course in &mut self.courses {
            (course.quiet, course.fenced, course.stirs) = (begin, !by_nodes, !by_nodes);
        }
        Shared::new(begin - u64::from(!runs), through, crowded)
    }

    /// Each part goes on until it has to stop. What is told meanwhile may be wrong.
    pub fn stretch(
        &mut self,
        sim: &mut Sim,
        team: &mut Team,
        shared: &Shared,
        until: u64,
        by_nodes: bool,
    ) -> Result<(), Problem> {
        let FabricModel { notes, told, observer, groups, seats, table, around, processor, fences, .. } = self;
        let (ranks, cus, checked) = (self.company.0.as_ref(), processor.cus, self.checked);
        let ByPart { lanes, channel_of, .. } = around.by_part();
        let telling = Telling::new(|| {
            CHECKS.begin();
            told.tell_one(&*channel_of, observer)
        });
        let tell = || telling.one();
        let mut items: Vec<Item> = sim
            .parts()
            .zip(&mut self.courses)
            .zip(&mut notes.parts)
            .enumerate()
            .map(|(number, ((part, course), notes))| {
                let (units, nodes, lanes) = (None, None, None);
                Item {
                    part,
                    number,
                    course,
                    notes,
                    units,
                    nodes,
                    lanes,
                    letter: Vec::new(),
                    over: Vec::new(),
                }
            })
            .collect();
        lanes.into_iter().for_each(|(part, lanes)| items[part].lanes = Some(lanes));
        let mut all = processor.going().filter(|_| by_nodes);
        let going = all.as_ref().map(|(going, ..)| *going);
        let mut rest = all.as_mut().map(|(_, blocks, ended)| (&mut **blocks, &mut **ended, &mut fences[..]));
        for units in units(groups, seats) {
            let item = &mut items[units.group.part];
            if let Some((blocks, ended, fences)) = rest.take() {
                let (first, own) = (units.group.seats.start / cus, units.seats.len());
                let (blocks, blocks_left) = blocks.split_at_mut(own / cus);
                let (ended, ended_left) = ended.split_at_mut(own);
                let (fences, fences_left) = fences.split_at_mut(own / cus);
                item.nodes = Some(Nodes { first, fences, blocks, ended });
                rest = Some((blocks_left, ended_left, fences_left));
            }
            item.units = Some(units);
        }
        items.retain(|item| ranks.is_none_or(|ranks| ranks.is_own(item.number)));
        let common = Common { shared, until, table, cus, going, checked, ranks, tell: &tell };
        team.together(&mut items, &|item| item.go(common));
        telling.found()
    }

    /// The first cycle in which something has gone wrong.
    fn wrong_in(&self, sim: &mut Sim) -> Option<u64> {
        let in_hardware = |part: &Part| part.has_failed().then(|| part.cycle() - 1);
        let in_model = |part: &Part, course: &Course| course.failed.as_ref().map(|_| part.cycle());
        let parts = sim.parts().zip(&self.courses);
        parts.filter_map(|(part, course)| in_model(part, course).or(in_hardware(part))).min()
    }

    /// Places pages that were touched first in the first cycle in which some were, unless it lies behind the
    /// window; whether there were any.
    fn place_touched(&mut self, sim: &mut Sim, until: u64) -> bool {
        // Of a part that is not in the midst of a cycle: the one that begins.
        let between: Vec<Option<u64>> = sim
            .parts()
            .zip(&self.courses)
            .map(|(part, course)| (!course.acted && course.failed.is_none()).then_some(part.cycle()))
            .collect();
        let touched = self.groups.iter().filter(|group| !group.left.touched.is_empty());
        let first = touched.filter_map(|group| between[group.part]).min();
        let Some(first) = first.filter(|first| *first <= until) else { return false };
        let groups = self.groups.iter_mut().filter(|group| between[group.part] == Some(first));
        let touched: Vec<(usize, u64)> = groups.flat_map(|group| group.left.touched.drain(..)).collect();
        self.place_pages(&touched);
        let fresh = self.fill_fresh();
        self.call_place(touched, fresh);
        true
    }

    /// The window that began in cycle `begin` is over: what is left, and what went wrong in it.
    fn over(&mut self, sim: &mut Sim, begin: u64) -> Result<(), Problem> {
        self.tell_all()?;
        std::mem::swap(&mut self.notes, &mut self.told);
        if let Some(wrong) = self.wrong_in(sim) {
            return self.fail(sim, begin, wrong);
        }
        let end = sim.cycle();
        self.note_window(end - begin);
        let fenced = self.courses[0].fenced;
        let together =
            sim.parts().zip(&self.courses).all(|(part, c)| part.cycle() == end && c.fenced == fenced);
        assert!(together, "all parts end a window in the same cycle");
        self.told.cycles = begin..end;
        self.told.carry_fences(end, &mut self.notes);
        self.processor.ends();
        self.take_left();
        let quiet = self.courses.iter().map(|course| course.quiet).max();
        if let Some(since) = quiet.filter(|since| *since < end && !fenced) {
            // One thread would have looked in the first such cycle whether anything can happen at all.
            self.tell_all()?;
            self.gather(sim);
            sim.settle();
            sim.go_back(since);
        }
        Ok(())
    }

    /// Tells up to the cycle in which something went `wrong`, and what it was.
    fn fail(&mut self, sim: &mut Sim, begin: u64, wrong: u64) -> Result<(), Problem> {
        self.told.cycles = begin..wrong;
        self.tell_all()?;
        let first = sim.parts().zip(&mut self.courses).filter(|(part, _)| part.cycle() == wrong);
        let failed = first.filter_map(|(_, course)| course.failed.take());
        if let Some((_, text)) = failed.min_by_key(|(place, _)| *place) {
            return Err(Problem { at: Some(wrong), ..text.into() });
        }
        // What a check says of that cycle comes before what the hardware says.
        self.told.cycles = wrong..wrong + 1;
        self.tell_all()?;
        sim.note_failures();
        Ok(())
    }

    /// There are fewer processors than threads.
    fn is_crowded(&self, team: &Team) -> bool {
        !team.has_room() || self.company.0.as_ref().is_some_and(|ranks| ranks.link.crowded())
    }

    /// Tells all that is not told.
    pub fn tell_all(&mut self) -> Result<(), Problem> {
        let FabricModel { told, observer, around, .. } = self;
        while told.tell_one(&|line| around.channel_of(line), observer)? {}
        Ok(())
    }
}
