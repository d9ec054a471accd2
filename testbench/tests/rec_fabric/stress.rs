//! Free-running traffic: every CU loads, stores and adds at random while others release and acquire, each load held against what it must see.
//!
//! A word is written by one CU only, with rising numbers, or is a counter that everyone adds to; so "older" is "smaller". What a load may return
//! (rec.md section 7): nothing older than what its CU has seen or written itself, nothing older than what had been released when the CU last
//! began an acquire, nothing that was not written. A release covers all that its CU had written or seen, also the writes of other GPUs.

use crate::bench::{Answer, Fabric, Noise, Op, Request};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use weft_blocks::fabric::FabricParams;
use weft_engine::Design;

/// Words used of each line, one in 16 bytes.
const WORDS: usize = 4;
/// Loads and stores that a CU has open at most.
const OPEN: usize = 6;

/// What a run has shown besides being right, by ledger id.
pub type Hits = BTreeMap<String, u64>;

enum Phase {
    Work,
    /// The L1's release is under way.
    Draining(u64),
    /// The GPU's fence of this number is under way.
    Fencing(u64),
    Acquiring(u64, Vec<u32>),
}

struct Open {
    op: Op,
    line: usize,
    /// What a load of each word must not be older than; what a store writes.
    words: [u32; WORDS],
}

struct Cu {
    open: HashMap<u64, Open>,
    seen: Vec<u32>,
    phase: Phase,
    /// What the release under way covers.
    covers: Vec<u32>,
}

/// The run.
pub struct Stress {
    f: Fabric,
    rng: SmallRng,
    gpus: usize,
    cus: Vec<Vec<Cu>>,
    lines: Vec<u64>,
    /// Writer of each word; `None`: a counter.
    owner: Vec<Option<(usize, usize)>>,
    issued: Vec<u32>,
    /// Numbers that additions have returned.
    returned: Vec<BTreeSet<u32>>,
    released: Vec<u32>,
    /// The newest value that the home GPU has read.
    at_home: Vec<u32>,
    fences: Vec<u64>,
    hot: Vec<usize>,
    stores: f64,
    /// Loads answered.
    pub loads: u64,
    /// Loads that had to be newer than what the CU knew itself.
    pub demanded: u64,
    hits: Hits,
}

impl Stress {
    /// A run over these lines, given as home and line number within the home's memory.
    pub fn new(p: &FabricParams, design: &Arc<Design>, noise: Noise, lines: &[(u64, u64)]) -> Stress {
        let mut rng = SmallRng::seed_from_u64(noise.seed ^ 0x5eed);
        let mut f = Fabric::on(p, design, noise);
        let (gpus, l1s) = (p.sys.gpus as usize, p.sys.l1s as usize);
        let lines: Vec<u64> = lines.iter().map(|(home, n)| f.line_at(*home, *n)).collect();
        let mut owner = Vec::new();
        for line in &lines {
            f.fill(*line, vec![0; p.sys.line as usize]);
            let one = |rng: &mut SmallRng| Some((rng.random_range(0..gpus), rng.random_range(0..l1s)));
            match rng.random_range(0..4) {
                0 => owner.extend([one(&mut rng); 1].repeat(WORDS)),
                1 => owner.extend([None; WORDS]),
                _ => owner.extend((0..WORDS).map(|_| one(&mut rng))),
            }
        }
        let words = owner.len();
        let cu = || Cu { open: HashMap::new(), seen: vec![0; words], phase: Phase::Work, covers: Vec::new() };
        Stress {
            f,
            gpus,
            cus: (0..gpus).map(|_| (0..l1s).map(|_| cu()).collect()).collect(),
            hot: (0..lines.len()).collect(),
            lines,
            owner,
            issued: vec![0; words],
            returned: vec![BTreeSet::new(); words],
            released: vec![0; words],
            at_home: vec![0; words],
            fences: vec![0; gpus],
            stores: 0.3,
            loads: 0,
            demanded: 0,
            hits: Hits::new(),
            rng,
        }
    }

    /// Looks for races inside the hardware too.
    pub fn watch(mut self) -> Stress {
        self.f.watch();
        self
    }

    /// Runs for so many cycles, then lets everything finish and checks that all CUs see the last values. Returns the hits of the ledger.
    pub fn run(mut self, cycles: u64) -> Stress {
        for cycle in 0..cycles {
            if cycle % 256 == 0 {
                self.change_mood();
            }
            self.each_cu(true);
            self.f.step();
        }
        let mut waited = 0;
        while !self.at_rest() {
            self.each_cu(false);
            self.f.step();
            waited += 1;
            assert!(waited < 100_000, "no progress: {}", self.stuck());
        }
        self.finish();
        self
    }

    /// Covers of the hardware and hits of this scoreboard.
    pub fn hits(&self) -> Hits {
        let mut all = self.hits.clone();
        all.extend(self.f.seen());
        for p in self.f.sim.probes().filter(|p| p.kind == weft_rtl::ir::ProbeKind::Cover) {
            *all.entry(p.name.to_string()).or_default() += p.count;
        }
        all
    }

    fn change_mood(&mut self) {
        let all = self.lines.len();
        let n = if self.rng.random_bool(0.5) { self.rng.random_range(2..8) } else { all };
        self.hot = (0..n).map(|_| self.rng.random_range(0..all)).collect();
        self.stores = [0.05, 0.3, 0.6][self.rng.random_range(0..3)];
    }

    fn at_rest(&self) -> bool {
        let work = |c: &Cu| c.open.is_empty() && matches!(c.phase, Phase::Work);
        self.cus.iter().flatten().all(work)
            && self.fences.iter().enumerate().all(|(g, n)| self.f.released(g) == *n)
    }

    fn stuck(&self) -> String {
        let mut text = format!("cycle {}", self.f.sim.cycle());
        for (g, cus) in self.cus.iter().enumerate() {
            for (c, cu) in cus.iter().enumerate() {
                let open: Vec<String> =
                    cu.open.values().map(|o| format!("{:?} {:#x}", o.op, self.lines[o.line])).collect();
                text += &format!("; GPU {g} CU {c}: {open:?}");
            }
            text += &format!("; fence {} of {}", self.f.released(g), self.fences[g]);
        }
        text
    }

    fn each_cu(&mut self, work: bool) {
        for g in 0..self.gpus {
            for c in 0..self.cus[g].len() {
                for (id, answer) in self.f.answers(g, c) {
                    self.answered(g, c, id, &answer);
                }
                if let Phase::Fencing(number) = self.cus[g][c].phase
                    && self.f.released(g) >= number
                {
                    self.publish(g, c);
                }
                if work && self.rng.random_bool(0.3) {
                    self.act(g, c);
                }
            }
        }
    }

    fn act(&mut self, g: usize, c: usize) {
        if !matches!(self.cus[g][c].phase, Phase::Work) {
            return;
        }
        let kernel = self.rng.random_bool(0.5);
        let (release, acquire) = if kernel { (Op::End, Op::Begin) } else { (Op::Release, Op::Acquire) };
        match self.rng.random_range(0..100) {
            0 => {
                let id = self.f.ask(g, c, request(release, 0, 0, Vec::new()));
                let cu = &mut self.cus[g][c];
                cu.phase = Phase::Draining(id);
                cu.covers = cu.seen.clone();
                for o in cu.open.values().filter(|o| o.op == Op::Store) {
                    let own = &mut cu.covers[o.line * WORDS..][..WORDS];
                    own.iter_mut().zip(o.words).for_each(|(w, v)| *w = v.max(*w));
                }
            }
            1 | 2 => {
                let id = self.f.ask(g, c, request(acquire, 0, 0, Vec::new()));
                self.cus[g][c].phase = Phase::Acquiring(id, self.released.clone());
            }
            _ if self.cus[g][c].open.len() < OPEN => self.access(g, c),
            _ => {}
        }
    }

    fn access(&mut self, g: usize, c: usize) {
        let line = self.hot[self.rng.random_range(0..self.hot.len())];
        let words = &self.owner[line * WORDS..][..WORDS];
        let mine: Vec<usize> = (0..WORDS).filter(|k| words[*k] == Some((g, c))).collect();
        let counter = words[0].is_none();
        let write = self.rng.random_bool(self.stores);
        let op = match (write, counter, mine.is_empty()) {
            (true, true, _) => Op::Add,
            (true, false, false) => Op::Store,
            _ => Op::Load,
        };
        let cu = &self.cus[g][c];
        // A CU orders its own accesses to a word unless both are loads; stores to different words may be under way together.
        if cu.open.values().any(|o| o.line == line && (o.op != op || op != Op::Load)) {
            return;
        }
        match op {
            Op::Add => {
                let k = self.rng.random_range(0..WORDS);
                self.issued[line * WORDS + k] += 1;
                let mut words = [0; WORDS];
                words[k] = 1;
                self.ask(g, c, Op::Add, line, 0xf << (16 * k), words, words);
            }
            Op::Store => {
                let full = mine.len() == WORDS && self.rng.random_bool(0.5);
                let (mut words, mut mask) = ([0; WORDS], if full { u64::MAX } else { 0 });
                for k in mine {
                    if full || self.rng.random_bool(0.6) {
                        let w = line * WORDS + k;
                        self.issued[w] += 1;
                        words[k] = self.issued[w];
                        mask |= 0xf << (16 * k);
                    }
                }
                if mask != 0 {
                    self.ask(g, c, Op::Store, line, mask, words, words);
                }
            }
            _ => {
                let floor: [u32; WORDS] = std::array::from_fn(|k| cu.seen[line * WORDS + k]);
                self.ask(g, c, Op::Load, line, u64::MAX, [0; WORDS], floor);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn ask(
        &mut self,
        g: usize,
        c: usize,
        op: Op,
        line: usize,
        mask: u64,
        data: [u32; WORDS],
        words: [u32; WORDS],
    ) {
        let mut bytes = vec![0; self.f.p.sys.line as usize];
        for (k, v) in data.into_iter().enumerate() {
            bytes[16 * k..16 * k + 4].copy_from_slice(&v.to_le_bytes());
        }
        let id = self.f.ask(g, c, request(op, self.lines[line], mask, bytes));
        self.cus[g][c].open.insert(id, Open { op, line, words });
    }

    fn answered(&mut self, g: usize, c: usize, id: u64, answer: &Answer) {
        match &mut self.cus[g][c].phase {
            Phase::Draining(n) if *n == id => {
                self.fences[g] += 1;
                self.f.start_fence(g, self.fences[g]);
                self.cus[g][c].phase = Phase::Fencing(self.fences[g]);
                return;
            }
            Phase::Acquiring(n, released) if *n == id => {
                let released = std::mem::take(released);
                let cu = &mut self.cus[g][c];
                let newer = cu.seen.iter().zip(&released).filter(|(s, r)| r > s).count();
                self.demanded += newer as u64;
                cu.seen.iter_mut().zip(released).for_each(|(s, r)| *s = r.max(*s));
                cu.phase = Phase::Work;
                return;
            }
            _ => {}
        }
        let open = self.cus[g][c].open.remove(&id).expect("every answer belongs to one open request");
        let at = open.line * WORDS;
        let value =
            |k: usize| u32::from_le_bytes(answer.data[16 * k..16 * k + 4].try_into().expect("a word"));
        for k in 0..WORDS {
            let w = at + k;
            let seen = &mut self.cus[g][c].seen[w];
            match open.op {
                Op::Load => {
                    let (got, floor) = (value(k), open.words[k]);
                    let place = || {
                        format!(
                            "GPU {g} CU {c}, line {:#x} word {k}, cycle {}",
                            self.lines[open.line],
                            self.f.sim.cycle()
                        )
                    };
                    assert!(got >= floor, "{}: {got} is older than {floor}", place());
                    assert!(
                        got <= self.issued[w],
                        "{}: {got} was never written, the last is {}",
                        place(),
                        self.issued[w]
                    );
                    self.note_load(g, w, got, answer.src);
                    let seen = &mut self.cus[g][c].seen[w];
                    *seen = got.max(*seen);
                }
                Op::Store => *seen = open.words[k].max(*seen),
                _ if open.words[k] == 1 => {
                    let old = value(k);
                    assert!(old < self.issued[w], "counter {w} returned {old}");
                    *seen = (old + 1).max(*seen);
                    assert!(self.returned[w].insert(old), "two additions returned {old}");
                }
                _ => {}
            }
        }
        self.loads += u64::from(open.op == Op::Load);
    }

    /// What a load shows about the copies: the ledger entries that only a whole fabric can hit.
    fn note_load(&mut self, g: usize, w: usize, got: u32, src: u64) {
        let shift = self.f.p.sys.home_shift - self.f.p.sys.line.trailing_zeros();
        let home = (self.lines[w / WORDS] >> shift) as usize;
        if home == g && src != 0 {
            self.at_home[w] = self.at_home[w].max(got);
        }
        if home != g && src == 1 && got < self.at_home[w] {
            *self.hits.entry("rec.race.stale_read_between_acquires".into()).or_default() += 1;
        }
    }

    fn publish(&mut self, g: usize, c: usize) {
        let cu = &mut self.cus[g][c];
        cu.phase = Phase::Work;
        for (w, v) in std::mem::take(&mut cu.covers).into_iter().enumerate() {
            let others = self.owner[w].is_some_and(|(writer, _)| writer != g);
            if v > self.released[w] && others {
                *self.hits.entry("rec.race.cumulative_release".into()).or_default() += 1;
            }
            self.released[w] = self.released[w].max(v);
        }
    }

    /// A release of every GPU, an acquire of every CU, and a load of every line.
    fn finish(&mut self) {
        let all: Vec<(usize, usize)> =
            (0..self.gpus).flat_map(|g| (0..self.cus[g].len()).map(move |c| (g, c))).collect();
        for g in 0..self.gpus {
            self.fences[g] += 1;
            self.f.start_fence(g, self.fences[g]);
        }
        while !self.at_rest() {
            self.f.step();
        }
        let most = self.fences.iter().copied().min().unwrap_or(0);
        for (g, c) in &all {
            self.f.ask(*g, *c, request(Op::Acquire, 0, 0, Vec::new()));
        }
        self.f.settle(most);
        for (g, c) in all {
            self.f.answers(g, c);
            let asked: Vec<u64> = self
                .lines
                .clone()
                .iter()
                .map(|l| self.f.ask(g, c, request(Op::Load, *l, u64::MAX, Vec::new())))
                .collect();
            self.f.settle(most);
            for (line, id) in asked.into_iter().enumerate() {
                let data = self.f.take(g, c, id).data;
                let got: Vec<u32> = (0..WORDS)
                    .map(|k| u32::from_le_bytes(data[16 * k..16 * k + 4].try_into().expect("a word")))
                    .collect();
                assert_eq!(
                    got,
                    self.issued[line * WORDS..][..WORDS],
                    "GPU {g} CU {c}, line {:#x} at the end",
                    self.lines[line]
                );
            }
        }
    }
}

fn request(op: Op, line: u64, mask: u64, mut data: Vec<u8>) -> Request {
    data.resize(64, 0);
    Request { op, line, mask, data }
}
