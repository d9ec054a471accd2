//! CUs of a whole GPU, each with several wavefronts, and its memory.
//!
//! | wavefronts | work |
//! | --- | --- |
//! | of a lock | take it, compare every word behind it with the number of critical sections, write the next number, give it back |
//! | of counters | add to counters that all CUs share, in one line with words that each CU uses plainly and knows |
//!
//! Locks are taken by accesses that acquire and given back by ones that release, which DeNovo-B looks at. Counters are relaxed.
//!
//! When all work is done each CU ends its kernel, and one of them begins another and reads every word plainly.

use crate::hlrc_gpu::gpu::gpu;
use rand::Rng;
use std::collections::BTreeMap;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_srsp::fabric::System;
use weft_srsp::hlrc_l2::HlrcL2Params;
use weft_srsp::msg::{MemReq, MemRsp};
use weft_srsp::params::Srsp;
use weft_srsp::registering::RegisteringParams;
use weft_srsp_bench::bench::{Bench, Msg};
use weft_srsp_bench::memory::Memory;

/// Bytes of a line.
pub const LINE: u64 = 64;
const LOCKS: u64 = 0x1_0000;
const COUNTERS: u64 = 0x2_0000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ask {
    Load(u64),
    Store(u64, u64),
    /// Compare-and-swap 0 to 1.
    Take(u64),
    /// Atomic store of 0.
    Give(u64),
    Add(u64, u64),
    Begin,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Thinks,
    Takes(usize),
    Reads(usize, usize),
    Gives,
    /// An operation on a counter or a plain word.
    Counts,
    Ends,
    Done,
}

struct Lock {
    addr: u64,
    words: Vec<u64>,
    truth: u64,
    holder: Option<usize>,
}

struct Wave {
    cu: usize,
    locks: bool,
    at: At,
    left: u64,
    wakes: u64,
    open: Option<(u64, Ask)>,
}

/// A GPU.
pub struct World {
    pub b: Bench,
    memory: Memory,
    banks: usize,
    cus: usize,
    locks: Vec<Lock>,
    waves: Vec<Wave>,
    counters: BTreeMap<u64, u64>,
    /// Words that a wavefront uses plainly.
    plain: BTreeMap<u64, u64>,
    shared: u64,
    next_id: u64,
    s: Srsp,
}

impl World {
    /// `waves` wavefronts per CU with `work` pieces of work each; counters in so many lines.
    pub fn new<I: System>(
        p: (&RegisteringParams<I>, &HlrcL2Params),
        waves: usize,
        work: u64,
        shared: u64,
        seed: u64,
    ) -> World {
        let s = &p.0.shape.srsp;
        let mut b = Bench::new(&gpu(p.0, p.1), seed);
        for c in 0..s.cus {
            b.source::<CuReq>(&format!("cu{c}_req"), &s.cu());
            b.sink::<CuRsp>(&format!("cu{c}_rsp"), &s.cu());
        }
        for bank in 0..s.banks {
            b.sink::<MemReq>(&format!("mem{bank}_req"), s);
            b.source::<MemRsp>(&format!("mem{bank}_rsp"), s);
        }
        let lock = |l: u64| {
            let base = LOCKS + l * 8 * LINE;
            // The last word of every other lock lies in the lock's own line.
            let near = if l.is_multiple_of(2) { 0 } else { 4 };
            let words = vec![base + LINE, base + 2 * LINE + 4, base + 3 * LINE + 8, base + near * LINE + 12];
            Lock { addr: base, words, truth: 0, holder: None }
        };
        let mut memory = Memory::new(s);
        for line in (LOCKS / LINE..LOCKS / LINE + 32).chain(COUNTERS / LINE..COUNTERS / LINE + shared) {
            memory.now.insert(line, vec![0; LINE as usize]);
        }
        let wave = |i: usize| Wave {
            cu: i / waves,
            locks: i.is_multiple_of(2),
            at: At::Thinks,
            left: work,
            wakes: 0,
            open: None,
        };
        World {
            b,
            memory,
            banks: s.banks as usize,
            cus: s.cus as usize,
            locks: (0..4).map(lock).collect(),
            waves: (0..waves * s.cus as usize).map(wave).collect(),
            counters: BTreeMap::new(),
            plain: BTreeMap::new(),
            shared,
            next_id: 0,
            s: s.clone(),
        }
    }

    fn message(&mut self, ask: Ask) -> (u64, Msg) {
        let id = self.next_id;
        self.next_id = (id + 1) % 4096;
        let (addr, value, op, atomic, amo) = match ask {
            Ask::Load(a) => (a, 0, CuOp::Ld, 0, AmoOp::Add),
            Ask::Store(a, v) => (a, v, CuOp::St, 0, AmoOp::Add),
            Ask::Take(a) => (a, 1, CuOp::Amo, 1, AmoOp::Cas),
            Ask::Give(a) => (a, 0, CuOp::St, 1, AmoOp::Add),
            Ask::Add(a, v) => (a, v, CuOp::Amo, 1, AmoOp::Add),
            Ask::Begin => (0, 0, CuOp::Kbegin, 0, AmoOp::Add),
            Ask::End => (0, 0, CuOp::Kend, 0, AmoOp::Add),
        };
        let at = addr % LINE;
        let order = match ask {
            // One in two takes releases, too.
            Ask::Take(_) => 1 + 2 * (id % 2),
            Ask::Give(_) => 2,
            _ => 0,
        };
        let fields = [
            ("id", id),
            ("op", op as u64),
            ("sync", atomic),
            ("sem", order),
            ("scope", 1),
            ("remote", 0),
            ("class", 0),
            ("want_ack", atomic),
            ("amo", amo as u64),
            ("line", addr / LINE),
            ("cmp", 0),
            ("mask", 0xf << at),
        ];
        let data: Vec<Bv> =
            (0..LINE / 4).map(|i| Bv::from_u64(if 4 * i == at { value } else { 0x55aa }, 32)).collect();
        (id, Msg::of::<CuReq>(&self.s.cu(), &fields).with("data", Bv::concat(&data)))
    }

    fn send(&mut self, w: usize, ask: Ask) {
        let (id, msg) = self.message(ask);
        self.b.send(&format!("cu{}_req", self.waves[w].cu), msg);
        if !matches!(ask, Ask::Store(..)) {
            self.waves[w].open = Some((id, ask));
        }
    }

    /// A wavefront that waits for nothing begins its next piece of work.
    fn go_on(&mut self, w: usize) {
        let now = self.b.sim.cycle();
        if self.waves[w].at != At::Thinks || self.waves[w].wakes > now {
            return;
        }
        if self.waves[w].left == 0 {
            self.waves[w].at = At::Done;
            return;
        }
        self.waves[w].left -= 1;
        if self.waves[w].locks {
            let lock = self.b.rng.random_range(0..self.locks.len());
            self.waves[w].at = At::Takes(lock);
            return self.send(w, Ask::Take(self.locks[lock].addr));
        }
        let base = COUNTERS + LINE * self.b.rng.random_range(0..self.shared);
        // Words 0..4 of a line are counters, the others a wavefront's each.
        let own = base + 16 + 4 * (w as u64 % 12);
        let value = self.b.rng.random_range(1..1000);
        let mine = w < 12;
        let what = self.b.rng.random_range(0..3);
        if mine && what == 0 {
            self.plain.insert(own, value);
            self.send(w, Ask::Store(own, value));
            return self.rest(w, 20);
        }
        self.waves[w].at = At::Counts;
        if mine && what == 1 {
            return self.send(w, Ask::Load(own));
        }
        let addr = base + 4 * self.b.rng.random_range(0..4);
        *self.counters.entry(addr).or_default() += value;
        self.send(w, Ask::Add(addr, value));
    }

    fn rest(&mut self, w: usize, longest: u64) {
        self.waves[w].wakes = self.b.sim.cycle() + self.b.rng.random_range(0..longest);
        self.waves[w].at = At::Thinks;
    }

    fn answer(&mut self, cu: usize, m: &Msg) {
        let id = m.get("id");
        let waits = |w: &Wave| w.cu == cu && w.open.is_some_and(|open| open.0 == id);
        let w = self.waves.iter().position(waits).unwrap_or_else(|| panic!("CU {cu}: an answer to nothing"));
        let ask = self.waves[w].open.take().expect("found").1;
        let word = |addr: u64| m.wide("data").slice((addr % LINE) as u32 * 8, 32).low_u64();
        match (self.waves[w].at, ask) {
            (At::Takes(lock), Ask::Take(addr)) if word(addr) == 0 => {
                assert_eq!(self.locks[lock].holder.replace(w), None, "lock {lock} is held");
                self.read(w, lock, 0);
            }
            (At::Takes(_), _) => {
                self.waves[w].left += 1;
                self.rest(w, 100);
            }
            (At::Reads(lock, k), Ask::Load(addr)) => {
                let truth = self.locks[lock].truth;
                assert_eq!(word(addr), truth, "CU {cu} reads old data at {addr:#x} behind lock {lock}");
                self.read(w, lock, k + 1);
            }
            (At::Counts, Ask::Load(addr)) => {
                let expected = self.plain.get(&addr).copied().unwrap_or(0);
                assert_eq!(word(addr), expected, "CU {cu}'s word {addr:#x}");
                self.rest(w, 20);
            }
            (At::Gives | At::Counts, _) => self.rest(w, 60),
            (At::Ends, _) => self.waves[w].at = At::Done,
            state => panic!("{state:?}"),
        }
    }

    fn read(&mut self, w: usize, lock: usize, k: usize) {
        let words = self.locks[lock].words.clone();
        if let Some(addr) = words.get(k) {
            self.waves[w].at = At::Reads(lock, k);
            return self.send(w, Ask::Load(*addr));
        }
        let next = self.locks[lock].truth + 1;
        words.iter().for_each(|addr| self.send(w, Ask::Store(*addr, next)));
        (self.locks[lock].truth, self.locks[lock].holder) = (next, None);
        self.waves[w].at = At::Gives;
        self.send(w, Ask::Give(self.locks[lock].addr));
    }

    fn step(&mut self) {
        let now = self.b.sim.cycle();
        (0..self.waves.len()).for_each(|w| self.go_on(w));
        while let Some((bank, m)) = self.memory.answer(now) {
            self.b.send(&format!("mem{bank}_rsp"), m);
        }
        self.b.step();
        for bank in 0..self.banks {
            while let Some((_, m)) = self.b.received(&format!("mem{bank}_req")) {
                self.memory.request(bank, &m, now, &mut self.b.rng);
            }
        }
        for cu in 0..self.cus {
            while let Some((_, m)) = self.b.received(&format!("cu{cu}_rsp")) {
                self.answer(cu, &m);
            }
        }
    }

    fn until_done(&mut self, longest: u64) {
        for cycle in 0..longest {
            if cycle % 500 == 0 {
                self.memory.delay = [0, 30, 200][self.b.rng.random_range(0..3)];
                for (name, sink) in &mut self.b.sinks {
                    let chance = [0.2, 1.0][self.b.rng.random_range(0..2)];
                    sink.chance = if name.starts_with("mem") { chance } else { 1.0 };
                }
            }
            if self.waves.iter().all(|w| w.at == At::Done) {
                return;
            }
            self.step();
        }
        let left: Vec<_> = self.waves.iter().map(|w| (w.cu, w.at, w.open)).collect();
        panic!("not done: {left:?}");
    }

    /// All of the work, the kernel's end, and a look at every word by a CU that may not have written it.
    pub fn run(&mut self, longest: u64) {
        self.until_done(longest);
        let waves = self.waves.len() / self.cus;
        for ask in [Ask::End, Ask::Begin] {
            for cu in 0..self.cus {
                self.waves[cu * waves].at = At::Ends;
                self.send(cu * waves, ask);
            }
            self.until_done(20_000);
        }
        let locks = self.locks.iter().flat_map(|lock| {
            let words = lock.words.iter().map(|addr| (*addr, lock.truth));
            words.chain([(lock.addr, 0)])
        });
        let all: Vec<(u64, u64)> = locks.chain(self.counters.clone()).chain(self.plain.clone()).collect();
        for (addr, value) in all {
            let cu = self.b.rng.random_range(0..self.cus);
            self.plain.insert(addr, value);
            self.waves[cu * waves].at = At::Counts;
            self.send(cu * waves, Ask::Load(addr));
            self.waves[cu * waves].left = 0;
            self.until_done(20_000);
        }
    }

    /// Critical sections so far.
    pub fn sections(&self) -> u64 {
        self.locks.iter().map(|lock| lock.truth).sum()
    }
}
