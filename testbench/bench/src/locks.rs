//! CUs of a whole fabric that pass locks round, whatever is below them.
//!
//! Each lock has an owner, which uses it more than the others. Behind each lock are words that all hold the number of critical sections so far; who has the lock reads them all, compares,
//! and writes the next number. [`Manner`] says by which operations a lock is taken and given.

use crate::{Bench, Msg};
use rand::Rng;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::sync::Arc;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp, Sys};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;

/// By which operations locks are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// At cmp scope by everybody.
    Cmp,
    /// At work-group scope by the owner, by remote operations of the others.
    Scoped,
    /// Scope and remote bit are random: they must not matter.
    Any,
}

/// Memory below a fabric, behind its ports.
pub trait Below {
    /// Takes its place at the fabric's ports.
    fn connect(&self, b: &mut Bench);
    /// Sends what is due, before a cycle.
    fn send(&mut self, b: &mut Bench);
    /// Takes what has come, after cycle `now`.
    fn take(&mut self, b: &mut Bench, now: u64);
    /// A line is zero.
    fn clear(&mut self, line: u64);
    /// Other delays and back-pressure from now on.
    fn change(&mut self, b: &mut Bench);
}

/// What a CU asks of a word of 4 bytes; all but plain stores are answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    /// Plain load.
    Load(u64),
    /// Plain store.
    Store(u64, u64),
    /// Compare-and-swap 0 to 1.
    Take(u64),
    /// Store of 0.
    Give(u64),
    /// Exchange with 0.
    Swap(u64),
}

impl Ask {
    /// The request; scope and remote bit are those of the synchronising ones.
    pub fn message(self, sys: &Sys, id: u64, scope: u64, remote: u64) -> Msg {
        let line = u64::from(sys.line);
        let (addr, value, op, sync, sem, amo) = match self {
            Ask::Load(a) => (a, 0, CuOp::Ld, 0, 0, AmoOp::Add),
            Ask::Store(a, v) => (a, v, CuOp::St, 0, 0, AmoOp::Add),
            Ask::Take(a) => (a, 1, CuOp::Amo, 1, 1, AmoOp::Cas),
            Ask::Give(a) => (a, 0, CuOp::St, 1, 2, AmoOp::Add),
            Ask::Swap(a) => (a, 0, CuOp::Amo, 1, 3, AmoOp::Exch),
        };
        let at = addr % line;
        let fields = [
            ("id", id),
            ("op", op as u64),
            ("sync", sync),
            ("sem", sem),
            ("scope", if sync == 1 { scope } else { 0 }),
            ("remote", if sync == 1 { remote } else { 0 }),
            ("class", 0),
            ("want_ack", sync),
            ("amo", amo as u64),
            ("line", addr / line),
            ("cmp", 0),
        ];
        let data: Vec<Bv> =
            (0..line / 4).map(|i| Bv::from_u64(if 4 * i == at { value } else { 0x55aa }, 32)).collect();
        let mask: Vec<Bv> =
            (0..line).map(|i| Bv::from_u64(u64::from((at..at + 4).contains(&i)), 1)).collect();
        Msg::of::<CuReq>(sys, &fields).with("data", Bv::concat(&data)).with("mask", Bv::concat(&mask))
    }
}

/// Where a CU stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Thinks(u64),
    Takes(usize),
    Reads(usize, usize),
    Gives(usize),
    Done,
}

/// A lock and the words behind it.
pub struct Lock {
    addr: u64,
    words: Vec<u64>,
    /// Critical sections so far.
    pub truth: u64,
    holder: Option<usize>,
    owner: usize,
    /// Critical sections of the owner, and of others.
    pub sections: [u64; 2],
}

/// A fabric at work.
pub struct World<B> {
    /// The hardware.
    pub b: Bench,
    sys: Sys,
    manner: Manner,
    /// What is below it.
    pub below: B,
    /// The locks.
    pub locks: Vec<Lock>,
    cus: Vec<(At, u64)>,
    next_id: u64,
    open: Vec<Option<(u64, Ask)>>,
    /// Part of the critical sections that are on one's own lock.
    pub own: f64,
    /// The first thing that was wrong.
    pub complaint: Option<String>,
}

/// Senders and receivers for the CUs of a fabric of one node.
pub fn connect(b: &mut Bench, sys: &Sys, cus: u32) {
    for c in 0..cus {
        b.source::<CuReq>(&format!("g0_cu{c}_req"), sys);
        b.sink::<CuRsp>(&format!("g0_cu{c}_rsp"), sys);
    }
}

impl<B: Below> World<B> {
    /// A fabric of so many CUs, which have `sections` critical sections each before them.
    ///
    /// # Panics
    /// When the module does not compile.
    pub fn new(
        module: &Arc<Module>,
        (sys, cus): (Sys, u32),
        manner: Manner,
        (locks, sections): (usize, u64),
        below: B,
        seed: u64,
    ) -> World<B> {
        World::begin(Bench::new(module, seed), (sys, cus), manner, (locks, sections), below)
    }

    /// The fabric is reset in the middle of whatever it does, and another program begins on this memory, as in [`World::new`].
    pub fn again(mut self, work: (usize, u64), below: B, seed: u64) -> World<B> {
        self.b.reset();
        self.b.rng = SmallRng::seed_from_u64(seed);
        let cus = self.cus.len() as u32;
        World::begin(self.b, (self.sys, cus), self.manner, work, below)
    }

    fn begin(
        mut b: Bench,
        (sys, cus): (Sys, u32),
        manner: Manner,
        (locks, sections): (usize, u64),
        mut below: B,
    ) -> World<B> {
        connect(&mut b, &sys, cus);
        below.connect(&mut b);
        let line = u64::from(sys.line);
        let lock = |l: usize| {
            let base = 0x1_0000 + l as u64 * 8 * line;
            // The last word of every other lock lies in the lock's own line.
            let near = if l.is_multiple_of(2) { 0 } else { 4 };
            let words = vec![base + line, base + 2 * line + 4, base + 3 * line + 8, base + near * line + 12];
            let owner = l % cus as usize;
            Lock { addr: base, words, truth: 0, holder: None, owner, sections: [0; 2] }
        };
        let locks: Vec<Lock> = (0..locks).map(lock).collect();
        for lock in &locks {
            for k in 0..8 {
                below.clear(lock.addr / line + k);
            }
        }
        let cus = cus as usize;
        World {
            sys,
            manner,
            b,
            below,
            locks,
            cus: vec![(At::Thinks(0), sections); cus],
            next_id: 0,
            open: vec![None; cus],
            own: 0.6,
            complaint: None,
        }
    }

    fn complain(&mut self, text: String) {
        let cycle = self.b.sim.cycle();
        self.complaint.get_or_insert(format!("cycle {cycle}: {text}"));
    }

    /// Scope and remote bit of a CU's operations on a lock.
    fn manner(&mut self, c: usize, lock: usize) -> (u64, u64) {
        match (self.manner, self.locks[lock].owner == c) {
            (Manner::Cmp, _) => (1, 0),
            (Manner::Scoped, true) => (0, 0),
            (Manner::Scoped, false) => (1, 1),
            (Manner::Any, _) => [(0, 0), (1, 0), (1, 1)][self.b.rng.random_range(0..3)],
        }
    }

    fn send(&mut self, c: usize, lock: usize, ask: Ask) {
        let id = self.next_id;
        self.next_id = (id + 1) % 4096;
        let (scope, remote) = self.manner(c, lock);
        let msg = ask.message(&self.sys, id, scope, remote);
        self.b.send(&format!("g0_cu{c}_req"), msg);
        if !matches!(ask, Ask::Store(..)) {
            self.open[c] = Some((id, ask));
        }
    }

    /// A CU that waits for nothing goes on.
    fn go_on(&mut self, c: usize) {
        let now = self.b.sim.cycle();
        let (At::Thinks(until), left) = self.cus[c] else { return };
        if left == 0 {
            self.cus[c].0 = At::Done;
        } else if until <= now {
            let any = self.b.rng.random_range(0..self.locks.len());
            let mine =
                self.locks.iter().position(|l| l.owner == c).filter(|_| self.b.rng.random_bool(self.own));
            let lock = mine.unwrap_or(any);
            self.cus[c].0 = At::Takes(lock);
            let addr = self.locks[lock].addr;
            self.send(c, lock, Ask::Take(addr));
        }
    }

    fn pause(&mut self, longest: u64) -> At {
        At::Thinks(self.b.sim.cycle() + self.b.rng.random_range(0..longest))
    }

    /// The answer to what a CU waits for.
    fn answer(&mut self, c: usize, m: &Msg) {
        let Some((id, ask)) = self.open[c].take() else {
            return self.complain(format!("CU {c} gets an answer to nothing: {m:?}"));
        };
        if id != m.get("id") {
            return self.complain(format!("CU {c}: {ask:?} is answered under another number"));
        }
        let at = |addr: u64| (addr % u64::from(self.sys.line)) as u32 * 8;
        let word = |addr: u64| m.wide("data").slice(at(addr), 32).low_u64();
        match (self.cus[c].0, ask) {
            (At::Takes(lock), Ask::Take(addr)) => {
                let old = word(addr);
                self.taken(c, lock, old);
            }
            (At::Reads(lock, k), Ask::Load(addr)) => {
                let (found, truth) = (word(addr), self.locks[lock].truth);
                if found != truth {
                    self.complain(format!(
                        "CU {c} reads {found} at {addr:#x} behind lock {lock} instead of {truth}"
                    ));
                }
                self.read(c, lock, k + 1);
            }
            (At::Gives(_), _) => {
                self.cus[c].1 -= 1;
                let at = self.pause(100);
                self.cus[c].0 = at;
            }
            state => self.complain(format!("CU {c} at {state:?}")),
        }
    }

    fn taken(&mut self, c: usize, lock: usize, old: u64) {
        if old != 0 {
            let at = self.pause(60);
            self.cus[c].0 = at;
            return;
        }
        if let Some(other) = self.locks[lock].holder.replace(c) {
            self.complain(format!("lock {lock} is held by CU {other} and by CU {c}"));
        }
        let foreign = usize::from(self.locks[lock].owner != c);
        self.locks[lock].sections[foreign] += 1;
        self.read(c, lock, 0);
    }

    /// Reads the next word, or writes them all and gives the lock back.
    fn read(&mut self, c: usize, lock: usize, k: usize) {
        let words = self.locks[lock].words.clone();
        if let Some(addr) = words.get(k) {
            self.cus[c].0 = At::Reads(lock, k);
            return self.send(c, lock, Ask::Load(*addr));
        }
        let next = self.locks[lock].truth + 1;
        words.iter().for_each(|addr| self.send(c, lock, Ask::Store(*addr, next)));
        self.locks[lock].truth = next;
        self.locks[lock].holder = None;
        let addr = self.locks[lock].addr;
        self.cus[c].0 = At::Gives(lock);
        let give = if self.b.rng.random_bool(0.7) { Ask::Give(addr) } else { Ask::Swap(addr) };
        self.send(c, lock, give);
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.b.sim.cycle();
        (0..self.cus.len()).for_each(|c| self.go_on(c));
        self.below.send(&mut self.b);
        self.b.advance();
        if let Some(failure) = self.b.sim.failures().first() {
            let text = format!("{failure:?}");
            self.complain(text);
        }
        self.below.take(&mut self.b, now);
        for c in 0..self.cus.len() {
            while let Some((_, m)) = self.b.received(&format!("g0_cu{c}_rsp")) {
                self.answer(c, &m);
            }
        }
    }

    /// Runs until all critical sections are over.
    pub fn run(&mut self, longest: u64) {
        for cycle in 0..longest {
            if cycle % 500 == 0 {
                self.below.change(&mut self.b);
            }
            if self.complaint.is_some() || self.cus.iter().all(|cu| cu.0 == At::Done) {
                return;
            }
            self.step();
        }
        let cus = format!("{:?}", self.cus);
        self.complain(format!("not done: {cus}"));
    }

    /// Nothing was wrong, and no critical section was lost.
    ///
    /// # Panics
    /// Otherwise.
    pub fn check(&self) {
        if let Some(complaint) = &self.complaint {
            panic!("{complaint}");
        }
        for (l, lock) in self.locks.iter().enumerate() {
            assert_eq!(lock.sections.iter().sum::<u64>(), lock.truth, "lock {l}");
        }
    }
}
