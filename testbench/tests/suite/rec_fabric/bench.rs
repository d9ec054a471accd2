//! A REC fabric with plain CUs, DRAM, command processors and (protocol ideal) directories around it.

use crate::rec_fabric::stress::Hits;
use crate::rec_fabric::watch::Watch;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use weft_blocks::fabric::{FabricParams, rec_fabric};
use weft_engine::{Design, InPort, Options, OutPort, Sim};
use weft_rtl::bv::Bv;

/// Operations of a CU, by their encoding on the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Load of a line.
    Load,
    /// Store of the masked bytes, acknowledged.
    Store,
    /// Atomic addition to the masked word.
    Add,
    /// Release of system scope.
    Release,
    /// Acquire of system scope.
    Acquire,
    /// Kernel begins.
    Begin,
    /// Kernel ends.
    End,
}

/// How irregular the world around the fabric is.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Seed of everything random in it.
    pub seed: u64,
    /// Cycles from the acceptance of a read to its answer; answers overtake each other.
    pub memory: RangeInclusive<u64>,
    /// Chance that memory takes a request offered in a cycle.
    pub memory_ready: f64,
    /// Chance that an ideal directory works in a cycle.
    pub directory_ready: f64,
}

impl Noise {
    /// None.
    pub fn none() -> Noise {
        Noise { seed: 0, memory: 25..=25, memory_ready: 1.0, directory_ready: 1.0 }
    }
}

/// A request of a CU.
#[derive(Clone, Debug)]
pub struct Request {
    pub op: Op,
    /// 0 CU, 1 GPU, 2 system.
    pub scope: u64,
    pub line: u64,
    pub mask: u64,
    pub data: Vec<u8>,
}

/// An answer to a CU.
#[derive(Clone, Debug)]
pub struct Answer {
    pub data: Vec<u8>,
    /// Who served it, as `CuRsp::src`.
    pub src: u64,
}

/// Ports of one channel.
struct Channel<V, R> {
    valid: V,
    ready: R,
    leaves: HashMap<&'static str, V>,
}

type Into = Channel<InPort, OutPort>;
type From = Channel<OutPort, InPort>;

fn channel_in(sim: &Sim, name: &str, leaves: &[&'static str]) -> Into {
    let port = |n: &str| sim.input(n).unwrap_or_else(|| panic!("no input {n}"));
    Channel {
        valid: port(&format!("{name}_valid")),
        ready: sim.output(&format!("{name}_ready")).expect("a ready"),
        leaves: leaves.iter().map(|l| (*l, port(&format!("{name}_{l}")))).collect(),
    }
}

fn channel_out(sim: &Sim, name: &str, leaves: &[&'static str]) -> From {
    let port = |n: &str| sim.output(n).unwrap_or_else(|| panic!("no output {n}"));
    Channel {
        valid: port(&format!("{name}_valid")),
        ready: sim.input(&format!("{name}_ready")).expect("a ready"),
        leaves: leaves.iter().map(|l| (*l, port(&format!("{name}_{l}")))).collect(),
    }
}

struct Cu {
    req: Into,
    rsp: From,
    queue: VecDeque<(u64, Request)>,
    open: BTreeSet<u64>,
    answers: BTreeMap<u64, Answer>,
    next: u64,
}

struct Dram {
    gpu: usize,
    req: From,
    rsp: Into,
    flight: Vec<(u64, u64, Vec<u8>)>,
    /// Number of the answer on offer.
    offered: Option<usize>,
}

struct Ideal {
    req: From,
    rsp: Into,
    inv: Into,
    sharers: HashMap<u64, u64>,
    /// Operations: id, hit, line and mask of the invalidation still to be handed over.
    queue: VecDeque<(u64, bool, u64, u64)>,
}

struct Processor {
    start: Into,
    done: From,
    /// Fences not yet given, with their numbers.
    asked: VecDeque<(Fence, u64)>,
    /// By kind of fence: the last number given, and completed.
    given: [u64; 4],
    finished: [u64; 4],
}

/// A kind of fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fence {
    /// 1 GPU, 2 system.
    pub scope: u64,
    pub acquire: bool,
}

impl Fence {
    /// A release of system scope, the only one in flat fabrics.
    pub const RELEASE: Fence = Fence { scope: 2, acquire: false };

    /// Its place among the kinds.
    pub fn kind(self) -> usize {
        usize::from(self.scope == 2) * 2 + usize::from(self.acquire)
    }
}

pub struct Fabric {
    pub sim: Sim,
    pub p: FabricParams,
    cus: Vec<Vec<Cu>>,
    drams: Vec<Dram>,
    ideals: Vec<(usize, Ideal)>,
    processors: Vec<Processor>,
    memory: HashMap<u64, Vec<u8>>,
    line: usize,
    noise: Noise,
    rng: SmallRng,
    watch: Option<Watch>,
    /// Ledger entries that only the surroundings can see.
    pub hits: Hits,
}

impl Fabric {
    /// The fabric compiled, for any number of runs.
    pub fn design(p: &FabricParams) -> Arc<Design> {
        let module = rec_fabric(p).unwrap_or_else(|e| panic!("{e}"));
        Design::new(&module, Options::default()).expect("a fabric")
    }

    pub fn new(p: &FabricParams) -> Fabric {
        Fabric::on(p, &Fabric::design(p), Noise::none())
    }

    pub fn on(p: &FabricParams, design: &Arc<Design>, noise: Noise) -> Fabric {
        let sim = Sim::new(design);
        let s = &p.sys;
        let gpus = s.nodes() as usize;
        let cu = |g: usize, c: u32| Cu {
            req: channel_in(
                &sim,
                &format!("g{g}_cu{c}_req"),
                &["op", "want_ack", "scope", "line", "mask", "data", "id", "amo"],
            ),
            rsp: channel_out(&sim, &format!("g{g}_cu{c}_rsp"), &["id", "kind", "mask", "data", "src"]),
            queue: VecDeque::new(),
            open: BTreeSet::new(),
            answers: BTreeMap::new(),
            next: 0,
        };
        let dram = |g: usize, b: u32| Dram {
            gpu: g,
            req: channel_out(&sim, &format!("g{g}_mem{b}_req"), &["write", "line", "data", "id"]),
            rsp: channel_in(&sim, &format!("g{g}_mem{b}_rsp"), &["id", "data"]),
            flight: Vec::new(),
            offered: None,
        };
        let ideal = |g: usize, b: u32| Ideal {
            req: channel_out(&sim, &format!("g{g}_b{b}_dir_req"), &["op", "src", "line", "id"]),
            rsp: channel_in(&sim, &format!("g{g}_b{b}_dir_rsp"), &["id", "hit", "evicted"]),
            inv: channel_in(&sim, &format!("g{g}_b{b}_inv"), &["line", "dest", "cause", "grp"]),
            sharers: HashMap::new(),
            queue: VecDeque::new(),
        };
        let processor = |g: usize| Processor {
            start: channel_in(&sim, &format!("g{g}_fence_start"), &["seq", "scope", "acquire"]),
            done: channel_out(&sim, &format!("g{g}_fence_done"), &["seq", "scope", "acquire"]),
            asked: VecDeque::new(),
            given: [0; 4],
            finished: [0; 4],
        };
        let each_bank = || (0..gpus).flat_map(|g| (0..s.banks).map(move |b| (g, b)));
        let is_ideal = p.outside_directory();
        Fabric {
            cus: (0..gpus).map(|g| (0..s.l1s).map(|c| cu(g, c)).collect()).collect(),
            drams: each_bank().map(|(g, b)| dram(g, b)).collect(),
            ideals: each_bank().filter(|_| is_ideal).map(|(g, b)| (g, ideal(g, b))).collect(),
            processors: (0..gpus).map(processor).collect(),
            memory: HashMap::new(),
            line: s.line as usize,
            p: p.clone(),
            sim,
            rng: SmallRng::seed_from_u64(noise.seed),
            noise,
            watch: None,
            hits: Hits::new(),
        }
    }

    /// Line number of line `n` of a GPU's memory.
    pub fn line_at(&self, home: u64, n: u64) -> u64 {
        n | home << (self.p.sys.home_shift - self.p.sys.line.trailing_zeros())
    }

    /// What memory holds before anything is written.
    pub fn initial(&self, line: u64) -> Vec<u8> {
        (0..self.line as u64).map(|i| (line.wrapping_mul(0x9e37_79b9) >> 5 ^ i) as u8).collect()
    }

    /// From now on looks into the hardware (protocols with a directory in RTL that sends no group Invs, one Inv per slice and cycle).
    pub fn watch(&mut self) {
        self.watch = Some(Watch::default());
    }

    /// What was seen there and in the surroundings.
    pub fn seen(&self) -> Hits {
        let mut all = self.hits.clone();
        all.extend(self.watch.iter().flat_map(|w| w.hits.clone()));
        all
    }

    /// Sets memory before anything has touched the line.
    pub fn fill(&mut self, line: u64, bytes: Vec<u8>) {
        self.memory.insert(line, bytes);
    }

    /// Answers of a CU that have come since the last call, in order of the requests.
    pub fn answers(&mut self, gpu: usize, cu: usize) -> BTreeMap<u64, Answer> {
        std::mem::take(&mut self.cus[gpu][cu].answers)
    }

    /// Number of the last release that a GPU's fence unit has completed.
    pub fn released(&self, gpu: usize) -> u64 {
        self.completed(gpu, Fence::RELEASE)
    }

    /// Every fence asked for is complete.
    pub fn fences_done(&self) -> bool {
        self.processors.iter().all(|p| p.asked.is_empty() && p.finished == p.given)
    }

    /// Number of the last fence of a kind that a node's fence unit has completed.
    pub fn completed(&self, node: usize, fence: Fence) -> u64 {
        self.processors[node].finished[fence.kind()]
    }

    /// Puts a request into a CU's queue; returns its number.
    pub fn ask(&mut self, gpu: usize, cu: usize, request: Request) -> u64 {
        let cu = &mut self.cus[gpu][cu];
        let id = cu.next;
        cu.next += 1;
        cu.queue.push_back((id, request));
        id
    }

    /// A request is answered.
    pub fn is_answered(&self, gpu: usize, cu: usize, id: u64) -> bool {
        self.cus[gpu][cu].answers.contains_key(&id)
    }

    /// Takes the answer to a request.
    pub fn take(&mut self, gpu: usize, cu: usize, id: u64) -> Answer {
        self.cus[gpu][cu].answers.remove(&id).expect("the request is answered")
    }

    /// Asks a GPU's fence unit for a release; numbers rise by one.
    pub fn start_fence(&mut self, gpu: usize, seq: u64) {
        self.ask_fence(gpu, Fence::RELEASE, seq);
    }

    /// Asks a node's fence unit for a fence; the numbers of each kind rise by one.
    pub fn ask_fence(&mut self, node: usize, fence: Fence, number: u64) {
        self.processors[node].asked.push_back((fence, number));
    }

    /// All queues are empty and everything asked for is answered, fences too.
    pub fn quiet(&self, fence: u64) -> bool {
        let cus = self.cus.iter().flatten().all(|c| c.queue.is_empty() && c.open.is_empty());
        cus && self
            .processors
            .iter()
            .all(|p| p.asked.is_empty() && p.finished[2] >= fence && p.finished == p.given)
    }

    /// Runs until quiet.
    pub fn settle(&mut self, fence: u64) {
        for _ in 0..200_000 {
            if self.quiet(fence) {
                return;
            }
            self.step();
        }
        let waiting: Vec<String> = self
            .cus
            .iter()
            .enumerate()
            .map(|(g, c)| {
                format!(
                    "GPU {g}: open {:?}",
                    c.iter().map(|c| c.open.len() + c.queue.len()).collect::<Vec<_>>()
                )
            })
            .collect();
        panic!("no progress after {} cycles: {waiting:?}", self.sim.cycle());
    }

    fn bytes(&mut self, port: OutPort) -> Vec<u8> {
        self.sim.get_bv(port).limbs().iter().flat_map(|l| l.to_le_bytes()).collect()
    }

    fn put(&mut self, port: InPort, bytes: &[u8]) {
        let limbs: Vec<u64> =
            bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().expect("whole words"))).collect();
        self.sim.set_bv(port, &Bv::from_limbs(&limbs, 8 * bytes.len() as u32));
    }

    pub fn step(&mut self) {
        self.step_cus();
        self.step_drams();
        self.step_ideals();
        self.step_processors();
        if let Some(watch) = &mut self.watch {
            watch.before(&self.sim, &self.p);
        }
        self.sim.step();
        if let Some(watch) = &mut self.watch {
            watch.after(&self.sim);
        }
        if let Some(f) = self.sim.failures().first() {
            panic!("cycle {}: {}: {}: {} ({})", f.cycle, f.path, f.name, f.text, f.at);
        }
    }

    fn step_cus(&mut self) {
        let mut cus = std::mem::take(&mut self.cus);
        for cu in cus.iter_mut().flatten() {
            self.sim.set(cu.rsp.ready, 1);
            if self.sim.get(cu.rsp.valid) == 1 {
                let id = self.sim.get(cu.rsp.leaves["id"]);
                let number = *cu.open.iter().find(|n| *n % 4096 == id).expect("an open request");
                cu.open.remove(&number);
                let data = self.bytes(cu.rsp.leaves["data"]);
                let src = self.sim.get(cu.rsp.leaves["src"]);
                cu.answers.insert(number, Answer { data, src });
            }
            let offer = cu.queue.front().cloned();
            self.sim.set(cu.req.valid, u64::from(offer.is_some()));
            if let Some((id, r)) = offer {
                let op = match r.op {
                    Op::Load => 0,
                    Op::Store => 1,
                    Op::Add => 2,
                    Op::Release => 3,
                    Op::Acquire => 4,
                    Op::Begin => 5,
                    Op::End => 6,
                };
                let fields =
                    [("op", op), ("want_ack", 1), ("scope", r.scope), ("line", r.line), ("mask", r.mask)];
                for (leaf, value) in fields.into_iter().chain([("id", id % 4096), ("amo", 0)]) {
                    self.sim.set(cu.req.leaves[leaf], value);
                }
                self.put(cu.req.leaves["data"], &r.data);
                if self.sim.get(cu.req.ready) == 1 {
                    cu.queue.pop_front();
                    cu.open.insert(id);
                }
            }
        }
        self.cus = cus;
    }

    fn step_drams(&mut self) {
        let now = self.sim.cycle();
        let mut drams = std::mem::take(&mut self.drams);
        for dram in &mut drams {
            let ready = self.rng.random_bool(self.noise.memory_ready);
            self.sim.set(dram.req.ready, u64::from(ready));
            if ready && self.sim.get(dram.req.valid) == 1 {
                let line = self.sim.get(dram.req.leaves["line"]);
                if self.sim.get(dram.req.leaves["write"]) == 1 {
                    // Without a fence in flight a line is written back because it is a victim.
                    let fence = &self.processors[dram.gpu];
                    let shared = |i: &(usize, Ideal)| i.1.sharers.get(&line).is_some_and(|s| *s != 0);
                    if fence.asked.is_empty()
                        && fence.given == fence.finished
                        && self.ideals.iter().any(shared)
                    {
                        *self.hits.entry("rec.race.home_victim_keeps_directory".into()).or_default() += 1;
                    }
                    let data = self.bytes(dram.req.leaves["data"]);
                    self.memory.insert(line, data);
                } else {
                    let data = self.memory.get(&line).cloned().unwrap_or_else(|| self.initial(line));
                    let due = now + self.rng.random_range(self.noise.memory.clone());
                    dram.flight.push((due, self.sim.get(dram.req.leaves["id"]), data));
                }
            }
            let first = || dram.flight.iter().position(|f| f.0 <= now);
            dram.offered = dram.offered.or_else(first);
            self.sim.set(dram.rsp.valid, u64::from(dram.offered.is_some()));
            if let Some(i) = dram.offered {
                self.sim.set(dram.rsp.leaves["id"], dram.flight[i].1);
                let data = dram.flight[i].2.clone();
                self.put(dram.rsp.leaves["data"], &data);
                if self.sim.get(dram.rsp.ready) == 1 {
                    dram.flight.remove(i);
                    dram.offered = None;
                }
            }
        }
        self.drams = drams;
    }

    fn step_ideals(&mut self) {
        let mut ideals = std::mem::take(&mut self.ideals);
        for (home, dir) in &mut ideals {
            let ready = dir.queue.len() < 4 && self.rng.random_bool(self.noise.directory_ready);
            self.sim.set(dir.req.ready, u64::from(ready));
            if ready && self.sim.get(dir.req.valid) == 1 {
                let field = |sim: &mut Sim, f| sim.get(dir.req.leaves[f]);
                let (op, src) = (field(&mut self.sim, "op"), field(&mut self.sim, "src"));
                let (line, id) = (field(&mut self.sim, "line"), field(&mut self.sim, "id"));
                let old = dir.sharers.get(&line).copied().unwrap_or(0);
                let me = 1 << src;
                let (new, inv) = match op {
                    0 => (old | me, 0),
                    1 => (me, old & !me),
                    2 => (0, old),
                    _ => (0, old & !me),
                };
                assert_eq!((old | new) >> *home & 1, 0, "the home is never a sharer");
                dir.sharers.insert(line, new);
                dir.queue.push_back((id, old != 0, line, inv));
            }
            let head = dir.queue.front().copied();
            let invalidates = head.is_some_and(|h| h.3 != 0);
            self.sim.set(dir.inv.valid, u64::from(invalidates));
            self.sim.set(dir.rsp.valid, u64::from(head.is_some() && !invalidates));
            if let Some((id, hit, line, inv)) = head {
                for (leaf, value) in [("line", line), ("dest", inv), ("cause", 0), ("grp", 0)] {
                    self.sim.set(dir.inv.leaves[leaf], value);
                }
                self.sim.set(dir.rsp.leaves["id"], id);
                self.sim.set(dir.rsp.leaves["hit"], u64::from(hit));
                if invalidates && self.sim.get(dir.inv.ready) == 1 {
                    dir.queue[0].3 = 0;
                } else if !invalidates && self.sim.get(dir.rsp.ready) == 1 {
                    dir.queue.pop_front();
                }
            }
        }
        self.ideals = ideals;
    }

    fn step_processors(&mut self) {
        let mut processors = std::mem::take(&mut self.processors);
        for p in &mut processors {
            self.sim.set(p.done.ready, 1);
            if self.sim.get(p.done.valid) == 1 {
                let seq = self.sim.get(p.done.leaves["seq"]);
                let scope = self.sim.get(p.done.leaves["scope"]);
                let acquire = self.sim.get(p.done.leaves["acquire"]) == 1;
                let kind = Fence { scope, acquire }.kind();
                p.finished[kind] = p.given[kind] - (p.given[kind].wrapping_sub(seq) & 0xff);
            }
            self.sim.set(p.start.valid, u64::from(!p.asked.is_empty()));
            if let Some((fence, number)) = p.asked.front().copied() {
                self.sim.set(p.start.leaves["seq"], number & 0xff);
                self.sim.set(p.start.leaves["scope"], fence.scope);
                self.sim.set(p.start.leaves["acquire"], u64::from(fence.acquire));
                if self.sim.get(p.start.ready) == 1 {
                    p.asked.pop_front();
                    p.given[fence.kind()] = number;
                }
            }
        }
        self.processors = processors;
    }
}
