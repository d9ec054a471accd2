//! L1s, a memory with timestamps and an epoch controller around one bank of the L2.
//!
//! The memory keeps every version of every line with its time, so that each answer has exactly one right value (mgcc.md section 3, golden checker), and answers
//! late, in any order between lines. Other GPUs read and write there, too.
//!
//! A write-back bank performs the requests of a line in the order in which it takes them, so that here, too, each answer has one right value.
#![allow(dead_code)] // The bench serves several tests.

mod check;
pub mod convert;
mod l1s;
mod memory;
mod ports;
mod step;

pub use l1s::{Ask, L1};
pub use memory::{Grant, MemReq, Memory, Time, golden_atomic, op};
pub use step::Answered;

use crate::wire::far;
use ports::{Bytes, Mask, Ports};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use weft_bench::Checked;
use weft_mgcc::l2::{L2Params, Policy, l2_wb, mgcc_l2};
use weft_mgcc::params::Tsm;
use weft_rtl::ir::ProbeKind;

/// Cover points hit so far, over several runs.
pub type Seen = BTreeMap<String, u64>;

/// Number of the GPU and of the bank under test.
pub const GPU: u64 = 1;
/// See [`GPU`].
pub const BANK: u64 = 1;

/// How hard the surroundings press, redrawn every few hundred cycles.
#[derive(Clone, Debug)]
pub struct Mood {
    /// Chance that an L1 asks in a cycle.
    pub ask: f64,
    /// Kinds of requests: weights of reads, forced reads, partial writes, full writes, atomics.
    pub kinds: [u32; 5],
    /// Chance that the request is for the line that everybody wants.
    pub hot: f64,
    /// Chance that an output is ready.
    pub rsp_ready: f64,
    pub mem_ready: f64,
    /// Chance that the memory performs a request in a cycle, and that an answer is brought.
    pub serve: f64,
    pub bring: f64,
    /// Acknowledgements are not taken.
    pub shut: bool,
    /// Chance that another GPU reads or writes a line in a cycle.
    pub others: f64,
    /// Chance that an L1's clock rises by itself in a cycle.
    pub clocks: f64,
    /// Chance that an epoch ends, and that one of its steps happens.
    pub roll: f64,
    pub roll_step: f64,
}

impl Mood {
    /// Everything flows.
    pub fn calm() -> Mood {
        Mood {
            ask: 0.0,
            kinds: [4, 1, 2, 1, 1],
            hot: 0.0,
            rsp_ready: 1.0,
            mem_ready: 1.0,
            serve: 1.0,
            bring: 1.0,
            shut: false,
            others: 0.0,
            clocks: 0.0,
            roll: 0.0,
            roll_step: 0.5,
        }
    }

    fn draw(rng: &mut SmallRng) -> Mood {
        let some = |rng: &mut SmallRng, values: &[f64]| values[rng.random_range(0..values.len())];
        let kinds = [[8, 1, 2, 1, 1], [20, 1, 1, 1, 0], [2, 1, 4, 3, 1], [1, 1, 1, 1, 1], [6, 3, 0, 6, 0]];
        Mood {
            ask: some(rng, &[0.05, 0.3, 0.8, 1.0]),
            kinds: kinds[rng.random_range(0..kinds.len())],
            hot: some(rng, &[0.0, 0.0, 0.3, 0.9]),
            rsp_ready: some(rng, &[0.1, 0.6, 1.0, 1.0]),
            mem_ready: some(rng, &[0.1, 0.6, 1.0, 1.0]),
            serve: some(rng, &[0.05, 0.3, 1.0]),
            bring: some(rng, &[0.05, 0.3, 1.0]),
            shut: false,
            others: some(rng, &[0.0, 0.02, 0.1]),
            clocks: some(rng, &[0.0, 0.01, 0.1]),
            roll: some(rng, &[0.0, 0.002, 0.01]),
            roll_step: some(rng, &[0.02, 0.1, 0.5]),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        weft_mgcc_bench::bench::note_covers(&self.sim, self.seed);
    }
}

/// An epoch that is being opened.
struct Rolling {
    l1s_left: Vec<usize>,
    memory_left: bool,
    bank_sent: bool,
    bank_acked: bool,
}

/// The bank and its surroundings.
pub struct Bench {
    pub sim: Checked,
    ports: Ports,
    pub p: L2Params,
    rng: SmallRng,
    seed: u64,
    pub mood: Mood,
    pub lines: Vec<u64>,
    pub l1s: Vec<L1>,
    pub memory: Memory,
    /// Epoch of the controller, and the roll under way.
    pub epoch: u64,
    rolling: Option<Rolling>,
    rolls: u64,
    /// Loads answered, to be judged when every write is known.
    loads: Vec<check::Load>,
    /// The clock that the bank must have reached in its newest epoch.
    pub clock: Time,
    /// Leases as they were granted: line, epoch, wts, rts.
    leases: BTreeSet<(u64, u64, u64, u64)>,
    /// Newest version of a line that has left the bank (without timestamps); cycle of the last read of a line that memory took.
    known: BTreeMap<u64, usize>,
    reads: BTreeMap<u64, u64>,
    /// The memory sends the line with every write's answer.
    pub full_data: bool,
    /// Messages are kept for a directed test.
    pub keep: bool,
    /// Answers are judged (not after a published slip).
    pub judges: bool,
    roll_offered: bool,
    /// Of a write-back bank: each line after all requests taken, as far as its own bytes are concerned.
    pub truth: BTreeMap<u64, Bytes>,
    /// Bytes that only this bank's L1s write.
    pub own: Mask,
    /// Requests offered and not taken, by L1 in turn.
    offered: Option<Ask>,
    brought: Option<Grant>,
    /// What the bank has sent to memory, oldest first.
    pub sent: Vec<MemReq>,
    pub notes: Vec<(u64, u64)>,
    pub answers: Vec<Answered>,
    /// Command that is offered.
    pub maint: Option<u64>,
    pub maint_done: u64,
}

/// Small widths: 2 banks, 4 L1s, 4 MSHRs each.
pub fn small(ts: u32) -> L2Params {
    let tsm = Tsm {
        gpus: 2,
        cus: 4,
        banks: 2,
        lanes: 1,
        il: 7,
        addr_bits: 32,
        ts,
        eb: 3,
        cts: 40,
        l1_mshrs: 4,
        l2_mshrs: 4,
    };
    L2Params { size: 512, ways: 4, pool: 8, ..L2Params::published(tsm) }
}

impl Bench {
    /// A bank out of reset.
    pub fn new(p: &L2Params, seed: u64) -> Bench {
        let module = match p.policy {
            Policy::Through => mgcc_l2(p),
            Policy::Back => l2_wb(p),
        };
        let module = module.expect("legal parameters");
        let sim = Checked::new(&module);
        let mut rng = SmallRng::seed_from_u64(seed);
        let lines = lines(p);
        let memory = Memory::new(p, &lines, &mut rng);
        let mut bench = Bench {
            truth: lines.iter().map(|l| (*l, memory.value(*l))).collect(),
            own: Mask::MAX,
            ports: Ports::new(&module),
            sim,
            seed,
            mood: Mood::calm(),
            l1s: (0..p.tsm.cus).map(|_| L1::new(p.tsm.l1_mshrs)).collect(),
            memory,
            lines,
            epoch: 0,
            rolling: None,
            rolls: 0,
            loads: Vec::new(),
            clock: (0, 0),
            leases: BTreeSet::new(),
            known: BTreeMap::new(),
            reads: BTreeMap::new(),
            full_data: false,
            keep: false,
            judges: true,
            roll_offered: false,
            offered: None,
            brought: None,
            sent: Vec::new(),
            notes: Vec::new(),
            answers: Vec::new(),
            maint: None,
            maint_done: 0,
            rng,
            p: p.clone(),
        };
        bench.set("own_gpu", GPU);
        bench
    }

    /// Random traffic.
    pub fn run(&mut self, cycles: u64) {
        for i in 0..cycles {
            if i % 200 == 0 {
                self.mood = Mood::draw(&mut self.rng);
            }
            if i % 1000 == 999 {
                self.drain();
            }
            self.cycle();
        }
        self.drain();
        self.judge();
    }

    /// Adds what was covered.
    pub fn collect(&self, seen: &mut Seen) {
        for probe in self.sim.probes().filter(|p| p.kind == ProbeKind::Cover && p.count > 0) {
            *seen.entry(probe.name.to_string()).or_default() += probe.count;
        }
    }

    /// A counter's reading.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.sim.probes().find(|p| p.name == name);
        found.unwrap_or_else(|| panic!("no counter {name}")).count
    }

    /// Names of all cover points.
    pub fn covers(&self) -> Vec<String> {
        self.sim.probes().filter(|p| p.kind == ProbeKind::Cover).map(|p| p.name.to_string()).collect()
    }

    /// A register.
    pub fn peek(&self, name: &str) -> u64 {
        self.sim.peek(name).unwrap_or_else(|| panic!("no register {name}")).low_u64()
    }

    fn chance(&mut self, p: f64) -> bool {
        p >= 1.0 || self.rng.random_bool(p)
    }
}

/// Lines of the bank: three times as many as two of its sets hold.
fn lines(p: &L2Params) -> Vec<u64> {
    let (low, select) = (p.tsm.il - 6, p.tsm.bank_select());
    let sets = u64::from(p.sets());
    let mut lines = Vec::new();
    for set in 0..sets.min(2) {
        for tag in 0..u64::from(3 * p.ways) {
            let inside = far(tag, p.tag_bits()) * sets + set;
            let bank = if select == 0 { 0 } else { BANK << low };
            lines.push((inside >> low) << (low + select) | bank | (inside & ((1 << low) - 1)));
        }
    }
    lines
}
