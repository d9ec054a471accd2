//! Recorded executions judged by axiomatic memory models (cu-and-consistency.md sections 5.2 and 6), kernel by kernel.
//!
//! ```text
//! recording --[kernel]--> events --[source]--> reads-from, by value --[order]--> coherence order of atomics     A1, A4
//!                                                                 --[hb]-----> happens-before, by vector clocks
//!                                                                 --[order]--> coherence order of everything    A1, A2, A4
//!                                                                 --[causality]--> one graph                    A3, A5, sc
//!                                                                 --[race]---> races of the program
//! ```
//!
//! **What is not judged** is counted in [`Counts`], never passed in silence: reads that several writes explain (they are still held against A2: one of these writes must be possible), locations
//! whose coherence order leaves a choice that is too large to be tried, atomics whose scopes do not include each other, accesses that were under way when a run failed.
//!
//! A kernel's end orders everything: it is judged by itself, and begins with what the last writes before it have left.

mod causality;
mod clock;
mod coherence;
mod graph;
mod hb;
mod kernel;
mod memory;
mod order;
mod race;
mod report;
mod sound;
mod source;

pub use report::{Axiom, Named, Race, Step, Violation};

use coherence::Order;
use hb::HappensBefore;
use kernel::{Gathered, INIT, Id, Kernel, Loc};
use memory::Memory;
use order::{Rules, order};
use serde::Serialize;
use source::{Source, Sources};
use std::collections::{BTreeMap, HashMap};
use thiserror::Error;
use weft_litmus::model::drf::Level;
use weft_recording::{Head, Reader, Record, RecordingError};

/// What an execution is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Classes that are told apart.
    pub level: Level,
    /// Scopes are honoured.
    pub scopes: bool,
    /// Data obey A1, too.
    pub data_coherent: bool,
}

impl Model {
    /// The model that a recording's fabric keeps to; none if its head names no model.
    pub fn of(head: &Head) -> Option<Model> {
        let level = Level::ALL.into_iter().find(|level| level.name() == head.model)?;
        Some(Model { level, scopes: head.scopes, data_coherent: head.data_coherent })
    }
}

/// Why a recording cannot be judged.
#[derive(Debug, Error)]
pub enum JudgeError {
    /// It cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Its records do not fit together.
    #[error("the recording is of no run: {0}; record the run anew")]
    Order(&'static str),
}

/// What could not be judged, while a kernel is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    open: u64,
}

/// How much was judged, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Kernels.
    pub kernels: u64,
    /// Operations.
    pub operations: u64,
    /// Accesses to locations that are written in the kernel.
    pub events: u64,
    /// Reads of locations that nothing writes: each was compared with what memory holds.
    pub constant: u64,
    /// Reads that several writes explain.
    pub ambiguous: u64,
    /// Locations whose coherence order leaves a choice that was not tried.
    pub undecided: u64,
    /// Locations with atomics whose scopes do not include each other.
    pub mixed_scopes: u64,
    /// Accesses under way at the end; their locations are not judged in that kernel.
    pub open: u64,
    /// Kernels with too many fences for A5.
    pub fences: u64,
    /// Relaxed atomics that go round in circles, so that what fences publish by one of them was left out.
    pub circles: u64,
    /// Kernels too large to be looked through for non-ordering races.
    pub non_ordering: u64,
}

/// What a recording showed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How much was judged.
    pub counts: Counts,
    /// The first violations.
    pub violations: Vec<Violation>,
    /// Violations in all, by axiom.
    pub violated: BTreeMap<&'static str, u64>,
    /// The first races of each kind.
    pub races: Vec<Race>,
    /// Races in all, by kind.
    pub raced: BTreeMap<&'static str, u64>,
    /// Why the run failed, if it has.
    pub failure: Option<String>,
}

/// Violations and races kept in full.
const KEPT: usize = 16;

impl Report {
    /// Whether a race makes the program illegal.
    pub fn racy(&self) -> bool {
        self.raced.keys().any(|kind| *kind != "quantum_load")
    }

    fn violation(&mut self, violation: Violation) {
        *self.violated.entry(violation.axiom).or_default() += 1;
        if self.violations.len() < KEPT {
            self.violations.push(violation);
        }
    }
}

/// Judges a recording.
///
/// # Errors
/// A recording that is truncated, damaged, or of no run.
pub fn judge(reader: &mut Reader, model: Model) -> Result<Report, JudgeError> {
    let head = reader.head().clone();
    judge_records(&head, &mut || reader.next_record().map_err(JudgeError::from), model)
}

/// The same of records from elsewhere.
///
/// # Errors
/// Those of `next`; records of no run.
pub fn judge_records(
    head: &Head,
    next: &mut dyn FnMut() -> Result<Option<Record>, JudgeError>,
    model: Model,
) -> Result<Report, JudgeError> {
    let mut judge = Judge { head, model, memory: Memory::default(), report: Report::default() };
    let mut kernel: Option<Gathered> = None;
    let thread =
        |known: bool| if known { Ok(()) } else { Err(JudgeError::Order("a thread acts before it begins")) };
    while let Some(record) = next()? {
        sound::check(&record).map_err(JudgeError::Order)?;
        let inside = JudgeError::Order("an access lies outside of any kernel");
        match record {
            Record::Memory { addr, bytes } => judge.memory.write(addr, &bytes),
            Record::Kernel { name, cycle } => kernel = Some(Gathered::new(name, cycle)),
            Record::Thread(t) => kernel.as_mut().ok_or(inside)?.thread(t),
            Record::Barrier { block, .. } => kernel.as_mut().ok_or(inside)?.barrier(block),
            Record::Access(access) => thread(kernel.as_mut().ok_or(inside)?.access(*access))?,
            Record::Fence(fence) => thread(kernel.as_mut().ok_or(inside)?.fence(fence))?,
            Record::Open(access) => thread(kernel.as_mut().ok_or(inside)?.open(*access))?,
            Record::Boundary { .. } => kernel.take().into_iter().for_each(|kernel| judge.kernel(kernel)),
            Record::End { failure, .. } => {
                kernel.take().into_iter().for_each(|kernel| judge.kernel(kernel));
                judge.report.failure = failure;
            }
        }
    }
    Ok(judge.report)
}

struct Judge<'a> {
    head: &'a Head,
    model: Model,
    memory: Memory,
    report: Report,
}

impl Judge<'_> {
    fn kernel(&mut self, gathered: Gathered) {
        let mut skipped = Skipped::default();
        let k = gathered.kernel(&self.memory, self.head, self.model, &mut skipped);
        let counts = &mut self.report.counts;
        counts.kernels += 1;
        counts.operations += k.ops.len() as u64;
        counts.events += k.events.len() as u64;
        counts.constant += k.constant;
        counts.open += skipped.open;
        counts.mixed_scopes += k.locs.iter().filter(|loc| loc.mixed).count() as u64;
        self.constants(&k);
        let mut sources = Sources::new(&k);
        self.unexplained(&k, &sources);
        let (orders, hb) = self.synchronise(&k, &mut sources);
        let sc = self.model.level == Level::Sc;
        self.report.counts.ambiguous += sources.ambiguous();
        let rules = Rules { hb: (!sc).then_some(&hb), data: self.model.data_coherent };
        let mut all = HashMap::new();
        for (number, loc) in
            judged(&k).filter(|(number, loc)| !loc.atomic || loc.mixed || orders.contains_key(number))
        {
            match order(&k, loc, &sources, rules) {
                Ok(order) => {
                    all.insert(number, order);
                }
                Err((axiom, steps)) => {
                    self.report.violation(Violation::new(&k, axiom, text(axiom), steps));
                }
            }
        }
        let found = causality::judge(&k, &sources, &all);
        self.report.counts.undecided += found.undecided;
        self.report.counts.fences += found.fences;
        found.violation.into_iter().for_each(|violation| self.report.violation(violation));
        self.races(&k, &sources, &all, &hb, &orders);
        self.leave(&k, &all);
    }

    /// Order of atomics, then happens-before, then what that tells of reads that several writes explain; over again while it tells something.
    fn synchronise(&mut self, k: &Kernel, sources: &mut Sources) -> (HashMap<u32, Order>, HappensBefore) {
        loop {
            let (mut orders, mut wrong) = (HashMap::new(), Vec::new());
            for (number, loc) in judged(k).filter(|(_, loc)| loc.atomic && !loc.mixed) {
                match order(k, loc, sources, Rules { hb: None, data: self.model.data_coherent }) {
                    Ok(order) => {
                        orders.insert(number, order);
                    }
                    Err((axiom, steps)) => wrong.push(Violation::new(k, axiom, text(axiom), steps)),
                }
            }
            let (hb, cyclic) = HappensBefore::new(k, sources, &orders, self.model.scopes);
            if self.model.level != Level::Sc {
                let before = sources.ambiguous();
                self.refute(k, &hb, sources);
                if sources.ambiguous() < before {
                    continue;
                }
                wrong.extend(cyclic);
            }
            wrong.into_iter().for_each(|violation| self.report.violation(violation));
            self.report.counts.circles += hb.circles;
            return (orders, hb);
        }
    }

    /// Reads of locations that nothing writes.
    fn constants(&mut self, k: &Kernel) {
        for (op, addr, found, holds) in &k.wrong {
            let text = format!(
                "{addr:#x} holds {holds}, which nothing changes in this kernel, and a read finds {found}"
            );
            let step = Step::fence(k, "", *op);
            self.report.violation(Violation::new(k, Axiom::ReadsFrom, &text, vec![step]));
        }
    }

    /// Reads that no write explains.
    fn unexplained(&mut self, k: &Kernel, sources: &Sources) {
        for (_, loc) in judged(k) {
            let nothing = |id: &&Id| sources.of(**id) == Some(&Source::Nothing);
            for id in loc.events.iter().filter(nothing) {
                let text = "a read finds what neither memory held nor any write had left";
                let steps = vec![Step::start(k, loc, *id)];
                self.report.violation(Violation::new(k, Axiom::ReadsFrom, text, steps));
            }
        }
    }

    /// Of reads that several writes explain, leaves out those that happens-before forbids.
    fn refute(&mut self, k: &Kernel, hb: &HappensBefore, sources: &mut Sources) {
        for (_, loc) in judged(k) {
            let mut writes: BTreeMap<u32, Vec<Id>> = BTreeMap::new();
            for id in loc.events.iter().filter(|id| k.event(**id).wrote.is_some()) {
                writes.entry(k.op(*id).thread).or_default().push(*id);
            }
            for read in &loc.events {
                let Some(Source::Many(found)) = sources.of(*read) else { continue };
                let found = found.clone();
                let last = latest(k, hb, &writes, *read);
                let possible = |w: &&Id| forbidden(k, hb, &last, *read, **w).is_none();
                let left: Vec<Id> = found.iter().filter(possible).copied().collect();
                if left.is_empty() {
                    let steps = forbidden(k, hb, &last, *read, found[0]).expect("none is possible");
                    let steps =
                        steps.into_iter().map(|(relation, id)| Step::to(k, loc, relation, id)).collect();
                    let text = format!(
                        "{}; nor may it find any of {} other writes of that value",
                        text(Axiom::HappensBefore),
                        found.len() - 1
                    );
                    self.report.violation(Violation::new(k, Axiom::HappensBefore, &text, steps));
                }
                sources.set(*read, Source::of(left));
            }
        }
    }

    fn races(
        &mut self,
        k: &Kernel,
        sources: &Sources,
        all: &HashMap<u32, Order>,
        hb: &HappensBefore,
        orders: &HashMap<u32, Order>,
    ) {
        let unscoped = self.model.scopes.then(|| HappensBefore::new(k, sources, orders, false).0);
        let races = race::races(k, sources, all, hb, unscoped.as_ref());
        self.report.counts.non_ordering += u64::from(races.left_out);
        for (kind, count) in races.counts {
            *self.report.raced.entry(kind).or_default() += count;
        }
        for race in races.list {
            let alike = self.report.races.iter().filter(|other| other.kind == race.kind).count();
            if alike < KEPT {
                self.report.races.push(race);
            }
        }
    }

    /// Memory at the kernel's end.
    fn leave(&mut self, k: &Kernel, orders: &HashMap<u32, Order>) {
        for (number, loc) in (0..).zip(&k.locs) {
            let any = || loc.events.clone();
            let last = orders.get(&number).map_or_else(any, Order::last);
            let mut values: Vec<u32> = last.iter().filter_map(|id| k.event(*id).wrote).collect();
            values.sort_unstable();
            values.dedup();
            if !values.is_empty() {
                self.memory.choice(loc.addr, loc.size, values);
            }
        }
    }
}

/// Locations that are judged.
fn judged(k: &Kernel) -> impl Iterator<Item = (u32, &Loc)> {
    (0..).zip(&k.locs).filter(|(_, loc)| !loc.open)
}

fn text(axiom: Axiom) -> &'static str {
    match axiom {
        Axiom::HappensBefore => "a read finds what happens after it, or what was overwritten before it",
        Axiom::Atomicity => "something comes between the halves of a read-modify-write",
        _ => "the accesses of one location are in no order",
    }
}

/// Of each thread that writes, its latest write that happens before a read.
fn latest(k: &Kernel, hb: &HappensBefore, writes: &BTreeMap<u32, Vec<Id>>, read: Id) -> Vec<Id> {
    let before = |own: &Vec<Id>| own.partition_point(|w| hb.before(k, k.event(*w).op, k.event(read).op));
    writes.values().filter_map(|own| before(own).checked_sub(1).map(|at| own[at])).collect()
}

/// The cycle that forbids a read to find a write, if there is one.
fn forbidden(
    k: &Kernel,
    hb: &HappensBefore,
    last: &[Id],
    read: Id,
    write: Id,
) -> Option<Vec<(&'static str, Id)>> {
    let op = |id: Id| k.event(id).op;
    if write != INIT && hb.before(k, op(read), op(write)) {
        return Some(vec![("", write), ("rf", read), ("hb", write)]);
    }
    let over = |w: &&Id| **w != write && **w != read && (write == INIT || hb.before(k, op(write), op(**w)));
    last.iter().find(over).map(|w| vec![("", *w), ("hb", read), ("fr", *w)])
}
