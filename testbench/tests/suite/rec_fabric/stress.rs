//! Free-running traffic: every CU loads, stores and adds at random while others release and acquire, each load held against what it must see.
//!
//! A word is written by one CU only, with rising numbers, or is a counter that everyone adds to; so "older" is "smaller". What a load may return
//! (rec.md section 7): nothing older than what its CU has seen or written itself, nothing older than what had been released when the CU last
//! began an acquire, nothing that was not written. A release covers all that its CU had written or seen, also the writes of other GPUs.
//!
//! In GPUs of several GPMs releases, acquires and some loads are of GPU or system scope (hmg.md sections 5.1 and 6). A release of GPU scope covers what its CU
//! has written, what a CU of its GPU has written and it has seen, and what it has acquired; a scoped load must see what an acquire of that scope would
//! give. Some counters are added to in one GPU only, with GPU scope.

use crate::rec_fabric::bench::{Answer, Fabric, Fence, Noise, Op, Request};
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
    /// The L1's release is under way, and its scope.
    Draining(u64, u64),
    /// The node's fence of this number is under way; then what the release covers is public in its scope.
    Fencing(Fence, u64, u64),
    /// The node's fence before an acquire of this kind and scope is under way, and what must be seen after it.
    Dropping(Fence, u64, Op, u64, Vec<u32>),
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
    /// Part of it that a release of GPU scope covers.
    known: Vec<u32>,
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
    /// By word: GPU that adds to a counter with GPU scope.
    adders: Vec<Option<usize>>,
    /// Public in the whole system.
    released: Vec<u32>,
    /// By GPU: public in it.
    near: Vec<Vec<u32>>,
    /// The newest value that the home GPU has read.
    at_home: Vec<u32>,
    /// By node and kind: fences asked for.
    fences: Vec<[u64; 4]>,
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
        let (gpus, l1s) = (p.sys.nodes() as usize, p.sys.l1s as usize);
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
        let cu = || Cu {
            open: HashMap::new(),
            seen: vec![0; words],
            known: vec![0; words],
            phase: Phase::Work,
            covers: Vec::new(),
        };
        let mut adders = vec![None; words];
        if p.sys.gpms > 1 {
            for of_line in adders.chunks_mut(WORDS) {
                let gpu = rng.random_range(0..p.sys.gpus as usize);
                of_line.fill(rng.random_bool(0.5).then_some(gpu));
            }
        }
        Stress {
            f,
            gpus,
            cus: (0..gpus).map(|_| (0..l1s).map(|_| cu()).collect()).collect(),
            hot: (0..lines.len()).collect(),
            lines,
            owner,
            issued: vec![0; words],
            returned: vec![BTreeSet::new(); words],
            adders,
            released: vec![0; words],
            near: vec![vec![0; words]; p.sys.gpus as usize],
            at_home: vec![0; words],
            fences: vec![[0; 4]; gpus],
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
        self.cus.iter().flatten().all(work) && self.f.fences_done()
    }

    fn stuck(&self) -> String {
        let mut text = format!("cycle {}", self.f.sim.cycle());
        for (g, cus) in self.cus.iter().enumerate() {
            for (c, cu) in cus.iter().enumerate() {
                let open: Vec<String> =
                    cu.open.values().map(|o| format!("{:?} {:#x}", o.op, self.lines[o.line])).collect();
                text += &format!("; GPU {g} CU {c}: {open:?}");
            }
            text += &format!("; fence {} of {}", self.f.released(g), self.fences[g][2]);
        }
        text
    }

    fn each_cu(&mut self, work: bool) {
        for g in 0..self.gpus {
            for c in 0..self.cus[g].len() {
                for (id, answer) in self.f.answers(g, c) {
                    self.answered(g, c, id, &answer);
                }
                self.fenced(g, c);
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
        let near = self.f.p.sys.gpms > 1 && !kernel && self.rng.random_bool(0.5);
        let scope = if near { 1 } else { 2 };
        match self.rng.random_range(0..100) {
            0 => {
                let id = self.f.ask(g, c, Request { scope, ..request(release, 0, 0, Vec::new()) });
                let cu = &mut self.cus[g][c];
                cu.phase = Phase::Draining(id, scope);
                cu.covers = if scope == 1 { cu.known.clone() } else { cu.seen.clone() };
                for o in cu.open.values().filter(|o| o.op == Op::Store) {
                    let own = &mut cu.covers[o.line * WORDS..][..WORDS];
                    own.iter_mut().zip(o.words).for_each(|(w, v)| *w = v.max(*w));
                }
            }
            1 | 2 => {
                let public = self.public(g, scope);
                match self.f.p.acquire_fence(scope as u8) {
                    Some(wide) => {
                        let fence = Fence { scope: u64::from(wide), acquire: true };
                        let number = self.fence(g, fence);
                        self.cus[g][c].phase = Phase::Dropping(fence, number, acquire, scope, public);
                    }
                    None => self.acquire(g, c, acquire, scope, public),
                }
            }
            _ if self.cus[g][c].open.len() < OPEN => self.access(g, c),
            _ => {}
        }
    }

    /// What an acquire, or a load, of a scope that begins now at a node must see.
    fn public(&self, g: usize, scope: u64) -> Vec<u32> {
        let near = &self.near[self.f.p.sys.gpu_of_node(g as u32) as usize];
        match scope {
            0 => vec![0; near.len()],
            1 => near.clone(),
            _ => near.iter().zip(&self.released).map(|(n, r)| *n.max(r)).collect(),
        }
    }

    fn acquire(&mut self, g: usize, c: usize, op: Op, scope: u64, public: Vec<u32>) {
        let id = self.f.ask(g, c, Request { scope, ..request(op, 0, 0, Vec::new()) });
        self.cus[g][c].phase = Phase::Acquiring(id, public);
    }

    /// Asks for a fence; returns its number.
    fn fence(&mut self, g: usize, fence: Fence) -> u64 {
        let number = &mut self.fences[g][fence.kind()];
        *number += 1;
        self.f.ask_fence(g, fence, *number);
        *number
    }

    /// Goes on when the fence that a CU waits for is complete.
    fn fenced(&mut self, g: usize, c: usize) {
        match &mut self.cus[g][c].phase {
            Phase::Fencing(fence, number, scope) if self.f.completed(g, *fence) >= *number => {
                let scope = *scope;
                self.publish(g, c, scope);
            }
            Phase::Dropping(fence, number, op, scope, public) if self.f.completed(g, *fence) >= *number => {
                let (op, scope, public) = (*op, *scope, std::mem::take(public));
                self.acquire(g, c, op, scope, public);
            }
            _ => {}
        }
    }

    fn access(&mut self, g: usize, c: usize) {
        let line = self.hot[self.rng.random_range(0..self.hot.len())];
        let words = &self.owner[line * WORDS..][..WORDS];
        let mine: Vec<usize> = (0..WORDS).filter(|k| words[*k] == Some((g, c))).collect();
        let counter = words[0].is_none();
        let write = self.rng.random_bool(self.stores);
        let own_gpu = self.f.p.sys.gpu_of_node(g as u32) as usize;
        let adds = counter && self.adders[line * WORDS].is_none_or(|gpu| gpu == own_gpu);
        let op = match (write && (adds || !counter), counter, mine.is_empty()) {
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
                let scope = if self.adders[line * WORDS].is_some() { 1 } else { 2 };
                self.ask(g, c, (Op::Add, scope), line, 0xf << (16 * k), words, words);
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
                    self.ask(g, c, (Op::Store, 2), line, mask, words, words);
                }
            }
            _ => {
                let scoped = self.f.p.sys.gpms > 1 && self.rng.random_bool(0.2);
                let scope = if scoped { self.rng.random_range(1..3) } else { 0 };
                let (seen, public) = (&self.cus[g][c].seen, self.public(g, scope));
                let floor = |k: usize| seen[line * WORDS + k].max(public[line * WORDS + k]);
                let floor: [u32; WORDS] = std::array::from_fn(floor);
                self.ask(g, c, (Op::Load, scope), line, u64::MAX, [0; WORDS], floor);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn ask(
        &mut self,
        g: usize,
        c: usize,
        (op, scope): (Op, u64),
        line: usize,
        mask: u64,
        data: [u32; WORDS],
        words: [u32; WORDS],
    ) {
        let mut bytes = vec![0; self.f.p.sys.line as usize];
        for (k, v) in data.into_iter().enumerate() {
            bytes[16 * k..16 * k + 4].copy_from_slice(&v.to_le_bytes());
        }
        let id = self.f.ask(g, c, Request { scope, ..request(op, self.lines[line], mask, bytes) });
        self.cus[g][c].open.insert(id, Open { op, line, words });
    }

    fn answered(&mut self, g: usize, c: usize, id: u64, answer: &Answer) {
        match &mut self.cus[g][c].phase {
            Phase::Draining(n, scope) if *n == id => {
                let scope = *scope;
                let wide =
                    self.f.p.release_fence(scope as u8).expect("releases here are of a scope with a fence");
                let fence = Fence { scope: u64::from(wide), acquire: false };
                let number = self.fence(g, fence);
                self.cus[g][c].phase = Phase::Fencing(fence, number, scope);
                return;
            }
            Phase::Acquiring(n, released) if *n == id => {
                let released = std::mem::take(released);
                let cu = &mut self.cus[g][c];
                let newer = cu.seen.iter().zip(&released).filter(|(s, r)| r > s).count();
                self.demanded += newer as u64;
                cu.seen.iter_mut().zip(&released).for_each(|(s, r)| *s = *r.max(s));
                cu.known.iter_mut().zip(&released).for_each(|(s, r)| *s = *r.max(s));
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
                    self.saw(g, c, w, got, false);
                }
                Op::Store => self.saw(g, c, w, open.words[k], true),
                _ if open.words[k] == 1 => {
                    let old = value(k);
                    assert!(old < self.issued[w], "counter {w} returned {old}");
                    assert!(self.returned[w].insert(old), "two additions returned {old}");
                    self.saw(g, c, w, old + 1, true);
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

    /// A CU has seen, or with `own` written, a value of a word.
    fn saw(&mut self, g: usize, c: usize, w: usize, value: u32, own: bool) {
        let gpu = self.f.p.sys.gpu_of_node(g as u32);
        let near = match self.owner[w] {
            Some((writer, _)) => self.f.p.sys.gpu_of_node(writer as u32) == gpu,
            None => self.adders[w] == Some(gpu as usize),
        };
        let cu = &mut self.cus[g][c];
        cu.seen[w] = cu.seen[w].max(value);
        if own || near {
            cu.known[w] = cu.known[w].max(value);
        }
    }

    fn publish(&mut self, g: usize, c: usize, scope: u64) {
        let gpu = self.f.p.sys.gpu_of_node(g as u32) as usize;
        let cu = &mut self.cus[g][c];
        cu.phase = Phase::Work;
        for (w, v) in std::mem::take(&mut cu.covers).into_iter().enumerate() {
            let others = self.owner[w].is_some_and(|(writer, _)| writer != g);
            if v > self.released[w] && others {
                *self.hits.entry("rec.race.cumulative_release".into()).or_default() += 1;
            }
            self.near[gpu][w] = self.near[gpu][w].max(v);
            if scope == 2 {
                self.released[w] = self.released[w].max(v);
            }
        }
    }

    /// A release of every GPU, an acquire of every CU, and a load of every line.
    fn finish(&mut self) {
        let all: Vec<(usize, usize)> =
            (0..self.gpus).flat_map(|g| (0..self.cus[g].len()).map(move |c| (g, c))).collect();
        for g in 0..self.gpus {
            self.fence(g, Fence::RELEASE);
        }
        while !self.at_rest() {
            self.f.step();
        }
        if self.f.p.software() {
            (0..self.gpus).for_each(|g| _ = self.fence(g, Fence { scope: 2, acquire: true }));
            while !self.at_rest() {
                self.f.step();
            }
        }
        let most = self.fences.iter().map(|f| f[2]).min().unwrap_or(0);
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
    let scope = if op == Op::Load { 0 } else { 2 };
    Request { op, scope, line, mask, data }
}
