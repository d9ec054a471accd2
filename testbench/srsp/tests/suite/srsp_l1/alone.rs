//! One operation after the other, and a model of what they leave (srsp.md sections 4 and 5): states and bytes
//! of the lines, pseudo-LRU trees, the sFIFO. So it is known of each operation whether it hits, what is
//! fetched and what is written back, byte by byte.

use crate::l1_bench::ask::{ACQ, Ask, REL, extreme, word_of};
use crate::l1_bench::banks::LINE;
use crate::srsp_l1::world::{World, small};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, VecDeque};
use weft_blocks::msg::{CuOp, CuReq};
use weft_rtl::bv::Bv;
use weft_srsp::Shape;
use weft_srsp::l1::L1Params;
use weft_srsp::msg::SyncOp;
use weft_srsp::params::Impl;
use weft_srsp_bench::arith::OPS;
use weft_srsp_bench::bench::{Msg, random_bits};
use weft_srsp_bench::memory::{Access, Line, bytes, mask, merge};

/// A line in the L1; clean and whole, dirty and whole, or written bytes only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    V,
    D,
    W,
}

#[derive(Clone)]
struct Cached {
    line: u64,
    state: State,
    dirty: Vec<bool>,
    bytes: Line,
}

/// The ways of a set, and its tree: of each inner node, in the order of a heap, whether the upper half is the
/// older one.
struct Set {
    ways: Vec<Option<Cached>>,
    upper: Vec<bool>,
}

impl Set {
    /// Nodes on the way from the root to a way, and whether it is in the upper half of each.
    fn path(&self, way: usize) -> Vec<(usize, bool)> {
        let depth = self.ways.len().trailing_zeros();
        let mut node = 0;
        let step = |level: u32| {
            let here = (node, way >> (depth - 1 - level) & 1 == 1);
            node = 2 * node + 1 + usize::from(here.1);
            here
        };
        (0..depth).map(step).collect()
    }

    fn touch(&mut self, way: usize) {
        for (node, is_upper) in self.path(way) {
            self.upper[node] = !is_upper;
        }
    }

    /// The lowest empty way, else the one to which the tree leads.
    fn victim(&self) -> usize {
        let oldest =
            |way: &usize| self.path(*way).iter().all(|(node, is_upper)| self.upper[*node] == *is_upper);
        let empty = self.ways.iter().position(Option::is_none);
        empty.or_else(|| (0..self.ways.len()).find(oldest)).expect("a way")
    }
}

/// The L1, and what is below it.
struct Model {
    sets: Vec<Set>,
    sfifo: VecDeque<u64>,
    depth: usize,
    /// Releases are registered: each has an entry of the sFIFO.
    registers: bool,
    below: BTreeMap<u64, Line>,
    /// What the present operation has sent.
    fetched: Vec<u64>,
    written: Vec<(u64, u64)>,
}

impl Model {
    fn new(p: &L1Params) -> Model {
        let (sets, ways) = (p.shape.size / (64 * p.shape.ways), p.shape.ways as usize);
        let set = |_| Set { ways: vec![None; ways], upper: vec![false; ways - 1] };
        Model {
            sets: (0..sets).map(set).collect(),
            sfifo: VecDeque::new(),
            depth: p.shape.sfifo as usize,
            registers: p.system.selective(),
            below: BTreeMap::new(),
            fetched: Vec::new(),
            written: Vec::new(),
        }
    }

    fn below(&mut self, line: u64) -> &mut Line {
        self.below.entry(line).or_insert_with(|| vec![0; LINE as usize])
    }

    fn set(&mut self, line: u64) -> &mut Set {
        let count = self.sets.len() as u64;
        &mut self.sets[(line % count) as usize]
    }

    fn way(&mut self, line: u64) -> Option<usize> {
        self.set(line).ways.iter().position(|way| way.as_ref().is_some_and(|c| c.line == line))
    }

    fn cached(&mut self, line: u64) -> Option<&mut Cached> {
        self.set(line).ways.iter_mut().flatten().find(|c| c.line == line)
    }

    /// Dirty bytes of a line go to the L2.
    fn write_back(&mut self, c: &Cached) {
        if c.state != State::V {
            merge(self.below(c.line), &c.dirty, &c.bytes);
            let mask = c.dirty.iter().rev().fold(0, |sum, bit| sum << 1 | u64::from(*bit));
            self.written.push((c.line, mask));
        }
    }

    /// The line in a way leaves, if one is there.
    fn leaves(&mut self, line: u64, way: usize) {
        if let Some(c) = self.set(line).ways[way].take() {
            self.write_back(&c);
        }
    }

    /// A line gets a way.
    fn enters(&mut self, c: Cached) {
        let line = c.line;
        let way = self.set(line).victim();
        self.leaves(line, way);
        self.set(line).ways[way] = Some(c);
        self.set(line).touch(way);
    }

    fn fetch(&mut self, line: u64) {
        let bytes = self.below(line).clone();
        self.fetched.push(line);
        self.enters(Cached { line, state: State::V, dirty: vec![false; LINE as usize], bytes });
    }

    /// The head of the sFIFO leaves it: its line stays clean if it is whole.
    fn pop(&mut self) {
        let line = self.sfifo.pop_front().expect("an entry");
        let Some(way) = self.way(line) else { return };
        let c = self.cached(line).expect("there").clone();
        if c.state == State::W {
            self.leaves(line, way);
        } else {
            self.write_back(&c);
            let c = self.cached(line).expect("there");
            (c.state, c.dirty) = (State::V, vec![false; LINE as usize]);
        }
    }

    /// There is an entry of the sFIFO to push.
    fn room(&mut self) {
        if self.sfifo.len() == self.depth {
            self.pop();
        }
    }

    /// The line is here whole; whether it was.
    fn whole(&mut self, line: u64, has: impl Fn(&Cached) -> bool) -> bool {
        let here = self.cached(line).is_some_and(|c| has(c));
        if let Some(way) = self.way(line) {
            if here {
                self.set(line).touch(way);
                return true;
            }
            self.leaves(line, way);
        }
        self.fetch(line);
        false
    }

    fn load(&mut self, line: u64, mask: &[bool]) -> (bool, Line) {
        let covers = |c: &Cached| c.dirty.iter().zip(mask).all(|(has, wants)| *has || !wants);
        let hit = self.whole(line, |c| c.state != State::W || covers(c));
        (hit, self.cached(line).expect("there").bytes.clone())
    }

    fn store(&mut self, line: u64, mask: &[bool], data: &[u8]) {
        let clean = self.cached(line).is_none_or(|c| c.state == State::V);
        if clean {
            self.room();
            self.sfifo.push_back(line);
        }
        match self.way(line) {
            Some(way) => self.set(line).touch(way),
            None => {
                let (dirty, bytes) = (vec![false; LINE as usize], vec![0; LINE as usize]);
                self.enters(Cached { line, state: State::W, dirty, bytes });
            }
        }
        let c = self.cached(line).expect("there");
        merge(&mut c.bytes, mask, data);
        c.dirty.iter_mut().zip(mask).for_each(|(dirty, written)| *dirty |= written);
        if c.state == State::V {
            c.state = State::D;
        }
    }

    /// An atomic done here: whether it hits, the word before, whether it had to wait for room in the sFIFO.
    fn atomic(&mut self, access: &Access, releases: bool) -> (bool, u64, bool) {
        let line = access.addr / LINE;
        let hit = self.whole(line, |c| c.state != State::W);
        let (old, wrote) = access.perform(&mut self.cached(line).expect("there").bytes.clone());
        let clean = self.cached(line).expect("there").state == State::V;
        let pushes = wrote && (clean || (releases && self.registers));
        let waits = pushes && self.sfifo.len() == self.depth;
        if pushes {
            self.room();
            self.sfifo.push_back(line);
        }
        if wrote {
            // What left the sFIFO may have made this line clean.
            let c = self.cached(line).expect("there");
            access.perform(&mut c.bytes);
            c.state = State::D;
            let (at, size) = ((access.addr % LINE) as usize, if access.wide { 8 } else { 4 });
            c.dirty[at..at + size].fill(true);
        }
        (hit, old, waits)
    }

    fn flush(&mut self) {
        while !self.sfifo.is_empty() {
            self.pop();
        }
    }

    fn drop_all(&mut self) {
        self.flush();
        self.sets.iter_mut().for_each(|set| set.ways.fill(None));
    }
}

/// A run of one operation after the other.
struct Alone {
    w: World,
    model: Model,
    lines: Vec<u64>,
    hits: [u64; 2],
}

impl Alone {
    fn new(p: &L1Params, seed: u64) -> Alone {
        let mut w = World::new(p, seed);
        w.banks.slow = 1;
        w.rest(40);
        let mut run = Alone { w, model: Model::new(p), lines: Vec::new(), hits: [0; 2] };
        run.choose_lines();
        run
    }

    /// In each of two sets some more lines than it has ways; each differs from another one in one bit of its
    /// tag.
    fn choose_lines(&mut self) {
        let sets = self.model.sets.len() as u64;
        let tags = self.w.p.shape.srsp.line_bits() - sets.trailing_zeros();
        let rng = &mut self.w.b.rng;
        let set = rng.random_range(0..sets);
        self.lines.clear();
        for set in [set, (set + 1) % sets] {
            let mut tag = rng.random_range(0..1u64 << tags);
            for _ in 0..self.model.sets[0].ways.len() + 2 {
                self.lines.push(tag * sets + set);
                tag ^= 1 << rng.random_range(0..tags);
            }
        }
    }

    fn line(&mut self) -> u64 {
        let at = self.w.b.rng.random_range(0..self.lines.len());
        self.lines[at]
    }

    /// A plain access to some bytes of a line.
    fn plain(&mut self, op: CuOp, line: u64) {
        let some = [some_bytes(&mut self.w.b.rng), random_bits(&mut self.w.b.rng, 8 * LINE as u32)];
        let [bits, data] = some.clone();
        let id = self.w.send(|cu, id| {
            let fields =
                [("op", op as u64), ("sync", 0), ("class", 0), ("want_ack", 1), ("line", line), ("id", id)];
            Msg::of::<CuReq>(cu, &fields).with("mask", bits).with("data", data)
        });
        let (_, m) = self.w.answered_to(id);
        let (bits, data) = (mask(&some[0]), bytes(&some[1]));
        assert_eq!(mask(m.wide("mask")), bits, "bytes answered");
        if op == CuOp::St {
            self.model.store(line, &bits, &data);
            assert_eq!(m.get("kind"), 1);
            return;
        }
        let (hit, expected) = self.model.load(line, &bits);
        self.served_by(&m, hit);
        let found = bytes(m.wide("data"));
        let wrong = (0..bits.len()).find(|i| bits[*i] && found[*i] != expected[*i]);
        assert_eq!((m.get("kind"), wrong), (0, None), "line {line:#x}: {found:x?} instead of {expected:x?}");
    }

    /// The CU is told who has served it.
    fn served_by(&mut self, m: &Msg, hit: bool) {
        let from = if self.w.banks.had { 1 } else { 3 };
        assert_eq!((m.get("src"), m.get("merged")), (if hit { 0 } else { from }, 0), "{m:?}");
        self.hits[usize::from(hit)] += 1;
    }

    /// An atomic of work-group scope.
    fn atomic(&mut self, line: u64) {
        let rng = &mut self.w.b.rng;
        let op = OPS[rng.random_range(0..OPS.len())];
        let wide = op != SyncOp::Fadd32 && rng.random();
        let word = rng.random_range(0..LINE / 4);
        let addr = LINE * line + 4 * if wide { word & !1 } else { word };
        let [opnd, cmp] = [(); 2].map(|()| extreme(rng, 0) & word_of(wide));
        let access = Access { op, wide, addr, opnd, cmp };
        let sem = match op {
            SyncOp::Ld => [0, ACQ][rng.random_range(0..2)],
            SyncOp::St => [0, REL][rng.random_range(0..2)],
            _ => rng.random_range(0..4),
        };
        let (_, m) = self.w.answer(Ask::Sync(access, (sem, 0, false)));
        let (hit, old, waits) = self.model.atomic(&access, sem & REL != 0);
        if op != SyncOp::St {
            let size = if wide { 64 } else { 32 };
            assert_eq!(m.wide("data").slice(8 * (addr % LINE) as u32, size).low_u64(), old, "{access:x?}");
        }
        // What has waited for room is looked up again, and found.
        if !waits {
            self.served_by(&m, hit);
        }
    }

    /// Writes everything back, and perhaps drops everything.
    fn fence(&mut self) {
        let acquire = self.w.b.rng.random();
        let ask = match self.w.b.rng.random_range(0..3) {
            0 if acquire => Ask::Begin,
            0 => Ask::End,
            scope => Ask::Fence { acquire, scope },
        };
        self.w.answer(ask);
        if acquire { self.model.drop_all() } else { self.model.flush() }
    }

    fn step(&mut self) {
        let line = self.line();
        (self.w.banks.seen, self.w.banks.log) = (Vec::new(), Vec::new());
        (self.model.fetched, self.model.written) = (Vec::new(), Vec::new());
        match self.w.b.rng.random_range(0..100) {
            0..35 => self.plain(CuOp::Ld, line),
            35..65 => self.plain(CuOp::St, line),
            65..96 => self.atomic(line),
            _ => self.fence(),
        }
        self.w.rest(12);
        let fetched: Vec<String> = self.model.fetched.iter().map(|line| format!("RD {line}")).collect();
        let seen: Vec<String> = self.w.banks.seen.iter().filter(|s| s.starts_with("RD")).cloned().collect();
        assert_eq!(seen, fetched);
        let banks = u64::from(self.w.banks.p.banks);
        for bank in 0..banks {
            let of = |list: &[(u64, u64)]| {
                list.iter().filter(|w| w.0 % banks == bank).copied().collect::<Vec<_>>()
            };
            assert_eq!(of(&self.w.banks.log), of(&self.model.written), "write-backs to bank {bank}");
        }
        for (line, _) in self.model.written.clone() {
            assert_eq!(bytes(&self.w.banks.line(line)), *self.model.below(line), "bytes of line {line:#x}");
        }
    }

    fn run(&mut self, rounds: usize, steps: usize) {
        for _ in 0..rounds {
            (0..steps).for_each(|_| self.step());
            self.choose_lines();
        }
        assert!(self.hits.iter().all(|n| *n > (rounds * steps) as u64 / 8), "misses, hits: {:?}", self.hits);
    }
}

/// A word, all bytes, or any.
fn some_bytes(rng: &mut SmallRng) -> Bv {
    let size = LINE as u32;
    match rng.random_range(0..4) {
        0 => Bv::ones(size),
        1 => Bv::from_u64(0xf << (4 * rng.random_range(0..16)), size),
        2 => Bv::from_u64(1 << rng.random_range(0..64), size),
        _ => Bv::from_u64(rng.random::<u64>() | 1 << rng.random_range(0..64), size),
    }
}

#[test]
fn each_operation_leaves_what_the_model_says() {
    let wide = |ways, size| small(Impl::Srsp).sized(|s| Shape { ways, size, sfifo: 6, latency: 4, ..s });
    let few = [small(Impl::Srsp), small(Impl::Base), wide(4, 1024), wide(16, 2048)];
    for (seed, p) in few.iter().enumerate() {
        Alone::new(p, 90 + seed as u64).run(6, 150);
    }
}

#[test]
fn long_each_operation_leaves_what_the_model_says() {
    for (seed, ways) in (0..12).zip([2, 4, 8, 16].into_iter().cycle()) {
        let p = small(Impl::SrspOpt).sized(|s| Shape { ways, size: 64 * 2 * ways, ..s });
        Alone::new(&p, 300 + seed).run(20, 300);
    }
}
