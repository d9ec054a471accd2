//! Happens-before: program order, barriers of work-groups, and synchronisation, as vector clocks at paired accesses, fences and barriers.
//!
//! `so` goes from a paired write that releases to every paired read of the location, later in coherence order, that acquires; and from a release fence, by an atomic write behind
//! it, through read-modify-writes, to an atomic read and the acquire fence behind that; each where the scopes include each other's thread. Where the order of a location is not known,
//! only what is known makes order, so that no obligation is made up.

use crate::clock::{Clock, join};
use crate::coherence::Order;
use crate::kernel::{Cut, INIT, Id, Kernel, Op, What};
use crate::report::{Axiom, Step, Violation};
use crate::source::Sources;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use weft_litmus::test::Place;
use weft_workload::op::Scope;

/// Who releases, as far as scopes tell it: scope, remote promotion and place; the same for all without scopes.
type Key = (Scope, bool, Place);

/// Clocks of releases, by who releases.
#[derive(Clone, Debug, Default)]
struct Released(Vec<(Key, Arc<Clock>)>);

impl Released {
    fn add(&mut self, key: Key, clock: &Arc<Clock>) {
        match self.0.iter_mut().find(|(of, _)| *of == key) {
            Some((_, own)) => {
                join(own, clock);
            }
            None => self.0.push((key, clock.clone())),
        }
    }

    fn all(&mut self, other: &Released) {
        other.0.iter().for_each(|(key, clock)| self.add(*key, clock));
    }
}

/// Something at which a thread's knowledge may change.
#[derive(Clone, Copy, Debug)]
enum At {
    Op(u32),
    Barrier(Cut),
}

/// Happens-before of a kernel.
pub struct HappensBefore {
    /// Of each thread: from this place in program order on, it knows this; and the rank of that moment.
    epochs: Vec<Vec<(u32, Arc<Clock>, u32)>>,
    /// Relaxed atomics that go round in circles: what one of each circle has learned for fences behind it was left out.
    pub circles: u64,
}

struct Thread {
    steps: VecDeque<At>,
    clock: Arc<Clock>,
    /// What its last release fence publishes.
    fenced: Option<(Key, Arc<Clock>)>,
    /// What its next acquire fence learns.
    pending: Released,
    /// Operations passed.
    passed: u32,
    /// It waits for this operation.
    blocked: Option<u32>,
}

/// A barrier under way.
#[derive(Default)]
struct Meeting {
    members: u32,
    arrived: Vec<u32>,
    clock: Option<Arc<Clock>>,
}

struct Walk<'a> {
    k: &'a Kernel,
    sources: &'a Sources,
    orders: &'a HashMap<u32, Order>,
    scopes: bool,
    /// The kernel has fences, so that every atomic access may carry what they publish.
    fences: bool,
    threads: Vec<Thread>,
    meetings: Vec<Meeting>,
    /// What a write's releases before it in coherence order publish, itself included.
    published: HashMap<(u32, Id), Released>,
    /// Its own part.
    own: HashMap<Id, Released>,
    /// What is published through chains of read-modify-writes, to fences.
    carried: HashMap<Id, Released>,
    positions: HashMap<u32, HashMap<Id, usize>>,
    waiting: HashMap<u32, Vec<u32>>,
    /// Lanes that are done.
    done: HashSet<Id>,
    /// What lanes of an operation under way have learned.
    learned: HashMap<u32, Arc<Clock>>,
    epochs: Vec<Vec<(u32, Arc<Clock>, u32)>>,
    rank: u32,
    circles: u64,
}

impl HappensBefore {
    /// Of a kernel, with scopes or as if all reached everything; and a violation if it is cyclic.
    pub fn new(
        k: &Kernel,
        sources: &Sources,
        orders: &HashMap<u32, Order>,
        scopes: bool,
    ) -> (HappensBefore, Option<Violation>) {
        let mut walk = Walk::new(k, sources, orders, scopes);
        let violation = walk.run();
        (HappensBefore { epochs: walk.epochs, circles: walk.circles }, violation)
    }

    /// Whether an operation happens before another one.
    pub fn before(&self, k: &Kernel, a: u32, b: u32) -> bool {
        let (a, b) = (&k.ops[a as usize], &k.ops[b as usize]);
        if a.thread == b.thread {
            return a.index < b.index;
        }
        self.epoch(b).is_some_and(|(_, clock, _)| clock.of(a.thread) > a.index)
    }

    /// A number that is no smaller than that of anything that happens before.
    pub fn rank(&self, op: &Op) -> u32 {
        self.epoch(op).map_or(0, |(_, _, rank)| *rank)
    }

    fn epoch(&self, op: &Op) -> Option<&(u32, Arc<Clock>, u32)> {
        let epochs = &self.epochs[op.thread as usize];
        epochs.partition_point(|(index, ..)| *index <= op.index).checked_sub(1).map(|at| &epochs[at])
    }
}

impl<'a> Walk<'a> {
    fn new(k: &'a Kernel, sources: &'a Sources, orders: &'a HashMap<u32, Order>, scopes: bool) -> Walk<'a> {
        let fences = k.ops.iter().any(|op| op.what == What::Fence);
        let mut meetings: Vec<Meeting> = (0..k.barriers).map(|_| Meeting::default()).collect();
        let mut threads = Vec::new();
        for of in &k.threads {
            let (mut steps, mut cuts) = (VecDeque::new(), of.cuts.iter().copied().peekable());
            for number in of.ops.clone() {
                let op = &k.ops[number as usize];
                while let Some(cut) = cuts.next_if(|cut| cut.index <= op.index) {
                    steps.push_back(At::Barrier(cut));
                }
                if op.acquires || op.releases || (fences && op.atomic()) {
                    steps.push_back(At::Op(number));
                }
            }
            steps.extend(cuts.map(At::Barrier));
            for cut in &of.cuts {
                meetings[cut.barrier as usize].members += 1;
            }
            threads.push(Thread {
                steps,
                clock: Arc::default(),
                fenced: None,
                pending: Released::default(),
                passed: 0,
                blocked: None,
            });
        }
        let mut positions = HashMap::new();
        for (loc, order) in orders.iter().filter(|(_, order)| order.total) {
            positions.insert(*loc, order.writes.iter().copied().zip(0..).collect());
        }
        let epochs = vec![vec![(0, Arc::default(), 0)]; threads.len()];
        Walk {
            circles: 0,
            k,
            sources,
            orders,
            scopes,
            fences,
            threads,
            meetings,
            published: HashMap::new(),
            own: HashMap::new(),
            carried: HashMap::new(),
            positions,
            waiting: HashMap::new(),
            done: HashSet::new(),
            learned: HashMap::new(),
            epochs,
            rank: 0,
        }
    }

    fn key(&self, op: &Op) -> Key {
        if self.scopes {
            (op.scope, op.remote, self.k.threads[op.thread as usize].place)
        } else {
            (Scope::Sys, false, Place::default())
        }
    }

    fn reaches(&self, (scope, remote, place): Key, op: &Op) -> bool {
        let (own, promoted, here) = self.key(op);
        remote || promoted || (place.reaches(scope, here) && here.reaches(own, place))
    }

    fn run(&mut self) -> Option<Violation> {
        let mut queue: VecDeque<u32> = (0..self.threads.len() as u32).collect();
        let mut violation = None;
        loop {
            while let Some(thread) = queue.pop_front() {
                while self.step(thread, &mut queue) {}
            }
            let stuck = self.threads.iter().position(|thread| thread.blocked.is_some());
            let Some(stuck) = stuck else { return violation };
            let circle = self.circle(stuck as u32);
            let stuck = match circle.iter().find(|thread| !self.synchronises(**thread)) {
                // Relaxed atomics may go round in circles.
                Some(relaxed) => {
                    self.circles += 1;
                    *relaxed as usize
                }
                None => {
                    violation.get_or_insert_with(|| self.cyclic(&circle));
                    stuck
                }
            };
            // What it waits for is left out, so that the rest is judged.
            let Some(At::Op(number)) = self.threads[stuck].steps.pop_front() else { return violation };
            self.threads[stuck].blocked = None;
            self.pass(number, &mut queue);
            queue.push_back(stuck as u32);
        }
    }

    /// Does a thread's next step, if it can be done.
    fn step(&mut self, thread: u32, queue: &mut VecDeque<u32>) -> bool {
        let Some(at) = self.threads[thread as usize].steps.front().copied() else {
            self.reach(thread, u32::MAX, queue);
            return false;
        };
        self.threads[thread as usize].blocked = None;
        match at {
            At::Barrier(cut) => {
                self.reach(thread, cut.index, queue);
                if !self.meet(thread, cut, queue) {
                    return false;
                }
            }
            At::Op(number) => {
                let op = &self.k.ops[number as usize];
                self.reach(thread, op.index, queue);
                if let Err(writes) = self.operation(number, queue) {
                    self.wait(thread, number, &writes);
                    return false;
                }
                self.pass(number, queue);
            }
        }
        self.threads[thread as usize].steps.pop_front();
        true
    }

    /// A thread's operation cannot go on before these, which may be of itself: other lanes. Whichever comes first, it looks again.
    fn wait(&mut self, thread: u32, number: u32, writes: &[u32]) {
        let others = || writes.iter().copied().filter(|write| *write != number);
        self.threads[thread as usize].blocked = Some(others().next().unwrap_or(number));
        for write in others() {
            let waiting = self.waiting.entry(self.k.ops[write as usize].thread).or_default();
            if !waiting.contains(&thread) {
                waiting.push(thread);
            }
        }
    }

    fn pass(&mut self, number: u32, queue: &mut VecDeque<u32>) {
        let op = &self.k.ops[number as usize];
        self.reach(op.thread, op.index + 1, queue);
    }

    /// A thread has passed so many operations; those that wait for it look again.
    fn reach(&mut self, thread: u32, passed: u32, queue: &mut VecDeque<u32>) {
        let of = &mut self.threads[thread as usize];
        if of.passed < passed {
            of.passed = passed;
            self.wake(thread, queue);
        }
    }

    fn wake(&mut self, thread: u32, queue: &mut VecDeque<u32>) {
        queue.extend(self.waiting.remove(&thread).unwrap_or_default());
    }

    /// Arrives at a barrier; true when it is open.
    fn meet(&mut self, thread: u32, cut: Cut, queue: &mut VecDeque<u32>) -> bool {
        let meeting = &mut self.meetings[cut.barrier as usize];
        if meeting.clock.is_none() {
            if !meeting.arrived.contains(&thread) {
                meeting.arrived.push(thread);
            }
            if (meeting.arrived.len() as u32) < meeting.members {
                return false;
            }
            let mut all = Clock::default();
            for member in &meeting.arrived {
                let of = &self.threads[*member as usize];
                all.join(&of.clock);
                all.learn(*member, of.passed);
            }
            meeting.clock = Some(Arc::new(all));
            queue.extend(meeting.arrived.iter().filter(|member| **member != thread));
            self.rank += 1;
        }
        let clock = self.meetings[cut.barrier as usize].clock.clone().unwrap_or_default();
        let of = &mut self.threads[thread as usize];
        join(&mut of.clock, &clock);
        let (clock, rank) = (of.clock.clone(), self.rank);
        self.epochs[thread as usize].push((cut.index, clock, rank));
        true
    }

    /// What a thread publishes that knows this, so many operations of its own included.
    fn snapshot(clock: &Clock, thread: u32, count: u32) -> Arc<Clock> {
        let mut clock = clock.clone();
        clock.learn(thread, count);
        Arc::new(clock)
    }

    /// A step of an operation, or the operations that its lanes wait for. Lanes go each by itself: what one has learned, it publishes, and all that follows the operation knows.
    fn operation(&mut self, number: u32, queue: &mut VecDeque<u32>) -> Result<(), Vec<u32>> {
        let op = &self.k.ops[number as usize];
        let thread = op.thread as usize;
        if op.what == What::Fence {
            self.fence(op);
            return Ok(());
        }
        let mut all = self.learned.remove(&number).unwrap_or_else(|| self.threads[thread].clock.clone());
        let (mut waits, mut more) = (Vec::new(), true);
        while std::mem::take(&mut more) {
            waits.clear();
            for id in op.events.clone() {
                if self.done.contains(&id) {
                    continue;
                }
                match self.lane(id, number) {
                    Ok(clock) => {
                        join(&mut all, &clock);
                        self.done.insert(id);
                        more = true;
                    }
                    Err(write) => waits.push(write),
                }
            }
            if more {
                self.wake(op.thread, queue);
            }
        }
        if !waits.is_empty() {
            self.learned.insert(number, all);
            return Err(waits);
        }
        self.threads[thread].clock = all.clone();
        self.rank += 1;
        let from = op.index + u32::from(op.events.len() > 1);
        self.epochs[thread].push((from, all, self.rank));
        Ok(())
    }

    /// One lane learns and publishes; gives what it knows.
    fn lane(&mut self, id: Id, number: u32) -> Result<Arc<Clock>, u32> {
        let op = &self.k.ops[number as usize];
        let (thread, e) = (op.thread as usize, self.k.event(id));
        let (mut learned, mut carried) = (Released::default(), Released::default());
        if let Some(source) = self.sources.known(id).filter(|source| *source != INIT) {
            if op.acquires {
                learned.all(&self.publish(e.loc, source, id)?);
            }
            self.passed(source, id)?;
            if let Some(chain) = self.carried.get(&source) {
                carried.all(chain);
            }
        }
        if op.acquires {
            learned.all(&carried);
        }
        let mut clock = self.threads[thread].clock.clone();
        for (_, other) in learned.0.iter().filter(|(key, _)| self.reaches(*key, op)) {
            join(&mut clock, other);
        }
        self.threads[thread].pending.all(&carried);
        if e.wrote.is_some() {
            self.release(id, op, &clock, carried);
        }
        Ok(clock)
    }

    /// A lane publishes what it knows. Of an operation of several lanes the others are not before it.
    fn release(&mut self, id: Id, op: &Op, clock: &Clock, carried: Released) {
        let key = self.key(op);
        let mut chain = if self.k.event(id).read.is_some() { carried } else { Released::default() };
        if let Some((key, clock)) = &self.threads[op.thread as usize].fenced {
            chain.add(*key, clock);
        }
        if op.releases {
            let clock = Self::snapshot(clock, op.thread, op.index + u32::from(op.events.len() == 1));
            self.own.entry(id).or_default().add(key, &clock);
            chain.add(key, &clock);
        }
        if !chain.0.is_empty() {
            self.carried.insert(id, chain);
        }
    }

    /// A fence learns what atomics before it have found published, and publishes for atomics behind it.
    fn fence(&mut self, op: &Op) {
        let thread = op.thread as usize;
        let mut clock = self.threads[thread].clock.clone();
        if op.acquires {
            let pending = std::mem::take(&mut self.threads[thread].pending);
            for (_, other) in pending.0.iter().filter(|(key, _)| self.reaches(*key, op)) {
                join(&mut clock, other);
            }
        }
        if op.releases {
            let published = Self::snapshot(&clock, op.thread, op.index + 1);
            self.threads[thread].fenced = Some((self.key(op), published));
        }
        self.threads[thread].clock = clock.clone();
        self.rank += 1;
        self.epochs[thread].push((op.index, clock, self.rank));
    }

    /// That an event is done, or the operation to wait for; `by` does not wait for itself.
    fn passed(&self, id: Id, by: Id) -> Result<(), u32> {
        let op = self.k.op(id);
        let step = op.acquires || op.releases || (self.fences && op.atomic());
        let done = !step
            || id == by
            || self.done.contains(&id)
            || self.threads[op.thread as usize].passed > op.index;
        if done { Ok(()) } else { Err(self.k.event(id).op) }
    }

    /// What is published at a location up to a write, for event `by`.
    fn publish(&mut self, loc: u32, write: Id, by: Id) -> Result<Released, u32> {
        if let Some(made) = self.published.get(&(loc, write)) {
            return Ok(made.clone());
        }
        let Some(order) = self.orders.get(&loc) else {
            self.passed(write, by)?;
            return Ok(self.own.get(&write).cloned().unwrap_or_default());
        };
        match self.positions.get(&loc).and_then(|places| places.get(&write)) {
            Some(at) => self.publish_in_order(loc, &order.writes[..=*at], by),
            None => self.publish_known(order, write, by),
        }
    }

    /// The same of writes whose order is known; what others need too is kept.
    fn publish_in_order(&mut self, loc: u32, writes: &[Id], by: Id) -> Result<Released, u32> {
        let made = writes.iter().rposition(|w| self.published.contains_key(&(loc, *w)));
        let mut all = made.map_or(Released::default(), |at| self.published[&(loc, writes[at])].clone());
        let mut keep = true;
        for write in &writes[made.map_or(0, |at| at + 1)..] {
            self.passed(*write, by)?;
            if let Some(own) = self.own.get(write) {
                all.all(own);
            }
            keep &= *write != by;
            if keep {
                self.published.insert((loc, *write), all.clone());
            }
        }
        Ok(all)
    }

    /// The same where only some pairs are known.
    fn publish_known(&self, order: &Order, write: Id, by: Id) -> Result<Released, u32> {
        let mut before: HashMap<Id, Vec<Id>> = HashMap::new();
        order.known.iter().for_each(|(a, b)| before.entry(*b).or_default().push(*a));
        let (mut seen, mut stack) = (HashSet::from([write]), vec![write]);
        let mut all = Released::default();
        while let Some(at) = stack.pop() {
            self.passed(at, by)?;
            if let Some(own) = self.own.get(&at) {
                all.all(own);
            }
            let more = before.get(&at).into_iter().flatten().filter(|w| **w != INIT);
            stack.extend(more.copied().filter(|w| seen.insert(*w)));
        }
        Ok(all)
    }

    /// Threads that wait for each other, each for the next and the last one for the first; a thread that does not go on is among them, or waits for one.
    fn circle(&self, start: u32) -> Vec<u32> {
        let (mut seen, mut at) = (Vec::new(), start);
        while !seen.contains(&at) {
            seen.push(at);
            let of = &self.threads[at as usize];
            let Some(write) = of.blocked else { break };
            at = self.k.ops[write as usize].thread;
        }
        let begin = seen.iter().position(|thread| *thread == at).unwrap_or(0);
        seen.split_off(begin)
    }

    /// A thread waits for what its next operation acquires from one that releases, so that one is before the other. Other atomics only carry what fences
    /// publish.
    fn synchronises(&self, thread: u32) -> bool {
        let of = &self.threads[thread as usize];
        let op = |number: u32| &self.k.ops[number as usize];
        match (of.steps.front(), of.blocked) {
            (Some(At::Op(number)), Some(write)) => op(*number).acquires && op(write).releases,
            _ => true,
        }
    }

    /// The violation of threads that wait for each other.
    fn cyclic(&self, circle: &[u32]) -> Violation {
        let at = circle[0];
        let front = |thread: u32| match self.threads[thread as usize].steps.front() {
            Some(At::Op(number)) => self.k.ops[*number as usize].events.start,
            _ => self.k.ops[self.k.threads[thread as usize].ops.start as usize].events.start,
        };
        let name = |id: Id| (id, &self.k.locs[self.k.event(id).loc as usize]);
        let (id, loc) = name(front(at));
        let mut steps = vec![Step::start(self.k, loc, id)];
        for thread in circle {
            let Some(write) = self.threads[*thread as usize].blocked else { continue };
            let (id, loc) = name(self.k.ops[write as usize].events.start);
            steps.push(Step::to(self.k, loc, "so^-1", id));
            let (id, loc) = name(front(self.k.ops[write as usize].thread));
            steps.push(Step::to(self.k, loc, "po^-1", id));
        }
        Violation::new(self.k, Axiom::HappensBefore, "happens-before has a cycle", steps)
    }
}
