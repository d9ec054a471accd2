//! Candidate executions: a path of each thread, a source for each read, an order of the writes to each location.

use crate::barrier;
use crate::paths::{Bounds, EnumError, Event, Kind, Path, Picks};
use crate::relation::{MOST, Rel, Set};
use crate::test::{Outcome, Region, Test};
use crate::values::all_paths;

/// One candidate execution, with the relations that models are written in. Initial writes are the first events, one per location.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    /// The test.
    pub test: &'a Test,
    /// Events: initial writes, then thread by thread in program order.
    pub events: Vec<Event>,
    /// Program order, of one thread.
    pub po: Rel,
    /// From a write to the reads that find it.
    pub rf: Rel,
    /// Order of the writes of each location; initial ones first.
    pub co: Rel,
    /// From a read to the writes that come after what it found.
    pub fr: Rel,
    /// Read and write of a read-modify-write.
    pub rmw: Rel,
    /// Address dependence.
    pub addr: Rel,
    /// Data dependence.
    pub data: Rel,
    /// Control dependence.
    pub ctrl: Rel,
    /// Of a value, an address or whether something happens on what was read, by a choice only.
    pub picks: [Rel; 3],
    /// From a barrier to those that wait for it.
    pub bar: Rel,
    /// Reads whose values are used: they reach an operation, or the condition names their register.
    pub used: Set,
    /// How it ends.
    pub end: Outcome,
}

impl Execution<'_> {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Events for which `holds`.
    pub fn set(&self, holds: impl Fn(&Event) -> bool) -> Set {
        self.events.iter().enumerate().filter(|(_, e)| holds(e)).fold(0, |set, (n, _)| set | 1 << n)
    }

    /// All reads.
    pub fn reads(&self) -> Set {
        self.set(|e| e.kind == Kind::Read)
    }

    /// All writes.
    pub fn writes(&self) -> Set {
        self.set(|e| e.kind == Kind::Write)
    }

    /// All fences.
    pub fn fences(&self) -> Set {
        self.set(|e| e.kind == Kind::Fence)
    }

    /// Accesses of local memory or of global memory, and fences and barriers that order it (OpenCL).
    pub fn region(&self, local: bool) -> Set {
        self.set(|e| match (e.kind, e.attr.region) {
            (Kind::Fence, Region::All) => true,
            (Kind::Fence, region) => (region == Region::Local) == local,
            _ => self.test.locs[e.loc].local == local,
        })
    }

    /// Initial writes.
    pub fn initial(&self) -> Set {
        (1 << self.test.locs.len()) - 1
    }

    /// Pairs of accesses to one location.
    pub fn same_loc(&self) -> Rel {
        self.pairs(|a, b| a.kind != Kind::Fence && b.kind != Kind::Fence && a.loc == b.loc)
    }

    /// Pairs of different threads; an initial write belongs to none.
    pub fn ext(&self) -> Rel {
        self.pairs(|a, b| a.thread != b.thread)
    }

    /// Pairs whose scopes include each other's threads. A remote operation promotes what it reaches to its own scope
    /// (srsp.md section 1).
    pub fn inclusive(&self) -> Rel {
        let place = |e: &Event| e.thread.map(|t| self.test.threads[t].place);
        self.pairs(|a, b| match (place(a), place(b)) {
            (Some(x), Some(y)) => {
                let (there, back) = (x.reaches(a.attr.scope, y), y.reaches(b.attr.scope, x));
                (there && (back || a.attr.remote)) || (b.attr.remote && back)
            }
            _ => true,
        })
    }

    /// Pairs of events for which `holds`.
    pub fn pairs(&self, holds: impl Fn(&Event, &Event) -> bool) -> Rel {
        Rel::of(self.len(), |a, b| holds(&self.events[a], &self.events[b]))
    }

    /// `rf | co | fr`.
    pub fn com(&self) -> Rel {
        self.rf.or(&self.co).or(&self.fr)
    }

    /// Address, data or control dependence.
    pub fn dep(&self) -> Rel {
        let all = self.addr.or(&self.data).or(&self.ctrl);
        self.picks.iter().fold(all, |all, pick| all.or(pick))
    }

    /// From what comes before a barrier of these to what comes behind one that waits for it.
    pub fn met(&self, barriers: Set) -> Rel {
        self.po.then(&self.bar.from(barriers).to(barriers)).then(&self.po)
    }

    /// Whether no write comes between the halves of a read-modify-write.
    pub fn atomic(&self) -> bool {
        self.rmw.and(&self.fr.then(&self.co)).is_empty()
    }
}

struct Search<'a, 'f> {
    test: &'a Test,
    paths: &'a [Vec<Path>],
    bounds: Bounds,
    steps: u64,
    see: &'f mut dyn FnMut(&Execution),
}

/// Calls `see` with every candidate execution of a test.
///
/// # Errors
/// A test that is too large, or accesses what is no location.
pub fn for_each(test: &Test, bounds: Bounds, see: &mut dyn FnMut(&Execution)) -> Result<(), EnumError> {
    let paths = all_paths(test, bounds)?;
    for_each_of(test, &paths, bounds, see)
}

/// [`for_each`] with paths already made.
///
/// # Errors
/// As [`for_each`].
pub fn for_each_of(
    test: &Test,
    paths: &[Vec<Path>],
    bounds: Bounds,
    see: &mut dyn FnMut(&Execution),
) -> Result<(), EnumError> {
    let mut search = Search { test, paths, bounds, steps: 0, see };
    search.choose(&mut Vec::new())
}

impl<'a> Search<'a, '_> {
    fn step(&mut self) -> Result<(), EnumError> {
        self.steps += 1;
        if self.steps > self.bounds.steps {
            return Err(EnumError::Steps { test: self.test.name.clone(), most: self.bounds.steps });
        }
        Ok(())
    }

    fn choose(&mut self, chosen: &mut Vec<usize>) -> Result<(), EnumError> {
        let thread = chosen.len();
        if thread == self.paths.len() {
            return self.join(chosen);
        }
        for path in 0..self.paths[thread].len() {
            chosen.push(path);
            self.choose(chosen)?;
            chosen.pop();
        }
        Ok(())
    }

    /// Puts paths together and looks for sources of their reads.
    fn join(&mut self, chosen: &[usize]) -> Result<(), EnumError> {
        self.step()?;
        let paths: Vec<&Path> = chosen.iter().zip(self.paths).map(|(n, of)| &of[*n]).collect();
        let mut events: Vec<Event> = (0..self.test.locs.len()).map(|loc| self.initial(loc)).collect();
        let mut first = Vec::new();
        for path in &paths {
            first.push(events.len());
            events.extend(&path.events);
        }
        if events.len() > MOST {
            let (test, events) = (self.test.name.clone(), events.len());
            return Err(EnumError::Events { test, events, most: MOST });
        }
        let sources = |n: usize| {
            let read = &events[n];
            let fits = |w: &&Event| w.kind == Kind::Write && w.loc == read.loc && w.value == read.value;
            // No model lets a thread read what it writes later.
            let own = |m: usize| {
                m > n && events[m].thread == read.thread && events[m].attr.address == read.attr.address
            };
            events.iter().enumerate().filter(|(m, w)| fits(w) && !own(*m)).map(|(m, _)| m).collect::<Vec<_>>()
        };
        let bound = |n: &usize| events[*n].kind == Kind::Read && !events[*n].free;
        let reads: Vec<usize> = (0..events.len()).filter(bound).collect();
        let choices: Vec<Vec<usize>> = reads.iter().map(|n| sources(*n)).collect();
        if choices.iter().any(Vec::is_empty) {
            return Ok(());
        }
        let mut made = self.skeleton(events, &first, &paths);
        let order: Vec<Vec<usize>> = (0..self.test.locs.len()).map(|loc| vec![loc]).collect();
        let writes = (order.len()..made.len()).filter(|n| made.events[*n].kind == Kind::Write);
        let writes: Vec<usize> = writes.collect();
        for bar in barrier::meetings(self.test, &made.events) {
            // Who would have to be past a barrier to come to it never comes.
            if made.po.then(&bar).acyclic() {
                made.bar = bar;
                self.orders(&mut made, &writes, order.clone(), (&reads, &choices))?;
            }
        }
        Ok(())
    }

    fn initial(&self, loc: usize) -> Event {
        Event {
            thread: None,
            kind: Kind::Write,
            loc,
            value: self.test.locs[loc].init,
            attr: crate::test::Attr::default(),
            rmw: false,
            read: None,
            meets: None,
            free: false,
            instr: 0,
            data: 0,
            addr: 0,
            ctrl: 0,
            picks: Picks::default(),
        }
    }

    fn skeleton(&self, events: Vec<Event>, first: &[usize], paths: &[&Path]) -> Execution<'a> {
        let n = events.len();
        let po =
            Rel::of(n, |a, b| a < b && events[a].thread.is_some() && events[a].thread == events[b].thread);
        let mut rmw = Rel::empty(n);
        for (at, event) in events.iter().enumerate() {
            if let (Some(thread), Some(read)) = (event.thread, event.read) {
                rmw.add(first[thread] + read, at);
            }
        }
        let dep = |of: fn(&Event) -> Set| {
            Rel::of(n, |a, b| {
                let (x, y) = (&events[a], &events[b]);
                y.thread.is_some()
                    && x.thread == y.thread
                    && of(y) >> (a - first[y.thread.unwrap_or(0)]) & 1 == 1
            })
        };
        let (addr, data, ctrl) = (dep(|e| e.addr), dep(|e| e.data), dep(|e| e.ctrl));
        let picks = [dep(|e| e.picks.data), dep(|e| e.picks.addr), dep(|e| e.picks.ctrl)];
        let mut used = 0;
        for (path, first) in paths.iter().zip(first) {
            used |= path.used << first;
        }
        self.test.condition.regs(&mut |thread, reg| {
            let path = paths[thread];
            used |= (path.from[reg] | path.picked[reg]) << first[thread];
        });
        let end = Outcome {
            regs: paths.iter().map(|path| path.regs.clone()).collect(),
            mem: vec![0; self.test.locs.len()],
        };
        let none = Rel::empty(n);
        Execution {
            test: self.test,
            events,
            po,
            rf: none.clone(),
            co: none.clone(),
            fr: none.clone(),
            rmw,
            addr,
            data,
            ctrl,
            picks,
            bar: none,
            used,
            end,
        }
    }

    /// Puts the writes, one by one, into every place of their location's order behind the initial write; then
    /// gives each read its source.
    fn orders(
        &mut self,
        made: &mut Execution<'a>,
        writes: &[usize],
        order: Vec<Vec<usize>>,
        (reads, choices): (&[usize], &[Vec<usize>]),
    ) -> Result<(), EnumError> {
        let Some((write, rest)) = writes.split_first() else {
            self.ordered(made, &order);
            let mut places = vec![0; made.len()];
            for of in &order {
                of.iter().enumerate().for_each(|(place, write)| places[*write] = place);
            }
            return self.sources(made, reads, choices, &mut places);
        };
        let event = &made.events[*write];
        let (loc, plain) = (event.loc, self.test.locs[event.loc].plain);
        // No model reorders a thread's writes of one location; of an ordinary object of OpenCL the order has
        // no meaning.
        let earlier = |n: &usize| {
            let other = &made.events[*n];
            !plain && other.thread == event.thread && other.attr.address == event.attr.address
        };
        let least = order[loc].iter().rposition(earlier).map_or(1, |last| last + 1);
        for place in least..=order[loc].len() {
            let mut next = order.clone();
            next[loc].insert(place, *write);
            self.orders(made, rest, next, (reads, choices))?;
        }
        Ok(())
    }

    /// Gives each read its source. `places` has, of each write and of each read that has a source, the place
    /// in the order of its location.
    fn sources(
        &mut self,
        made: &mut Execution<'a>,
        reads: &[usize],
        choices: &[Vec<usize>],
        places: &mut [usize],
    ) -> Result<(), EnumError> {
        let Some((read, rest)) = reads.split_first() else { return self.complete(made) };
        for source in &choices[0] {
            places[*read] = places[*source];
            if self.bounds.coherent >> made.events[*read].loc & 1 == 1 && !coherent(made, *read, places) {
                continue;
            }
            let before = made.rf.clone();
            made.rf.add(*source, *read);
            self.sources(made, rest, &choices[1..], places)?;
            made.rf = before;
        }
        Ok(())
    }

    fn ordered(&self, made: &mut Execution<'a>, order: &[Vec<usize>]) {
        let mut co = Rel::empty(made.len());
        for (loc, writes) in order.iter().enumerate() {
            for (place, write) in writes.iter().enumerate() {
                writes[place + 1..].iter().for_each(|later| co.add(*write, *later));
            }
            made.end.mem[loc] = made.events[writes[writes.len() - 1]].value;
        }
        made.co = co;
    }

    fn complete(&mut self, made: &mut Execution<'a>) -> Result<(), EnumError> {
        self.step()?;
        made.fr = made.rf.inverse().then(&made.co).minus(&Rel::identity(made.len(), u64::MAX));
        (self.see)(made);
        Ok(())
    }
}

/// Whether a read stays within the order of its location: not before what its thread has seen or written
/// there, not behind what it writes later, and without a write of another thread before its own write if it is
/// part of a read-modify-write.
fn coherent(made: &Execution, read: usize, places: &[usize]) -> bool {
    let (event, place) = (&made.events[read], places[read]);
    let here = |n: &usize| {
        let other = &made.events[*n];
        other.kind != Kind::Fence && other.thread == event.thread && other.loc == event.loc
    };
    let own = made.rmw.after(read);
    let between = |m: usize, last: usize| {
        let other = &made.events[m];
        let inside = other.kind == Kind::Write && place < places[m] && places[m] < last;
        inside && other.loc == event.loc && other.thread != event.thread
    };
    (0..read).filter(here).all(|n| made.events[n].free || places[n] <= place)
        && (read + 1..made.len()).filter(here).all(|n| match made.events[n].kind {
            Kind::Write if own >> n & 1 == 1 => !(0..made.len()).any(|m| between(m, places[n])),
            Kind::Write => places[n] > place,
            _ => true,
        })
}
