//! n GPUs x m L1s over banks and lanes: the block models joined by networks that keep what section 10 promises and nothing more.
//!
//! - A request network keeps the order per source and destination: a queue per (L1, bank) and per (bank, lane's UMC). Answers keep none: sets.
//! - A step ([`Step`]) is one event in one block. [`System::enabled`] gives all that may happen next, so a run is a choice at each step: seeded ([`run`]), to completion
//!   of one operation after the other ([`System::execute`]), or all choices ([`explore`]).
//! - Waves issue their programs: SC one operation at a time, RC without waiting except around fences.
//! - The log of operations goes to the checker ([`System::checker`]); what the models see by themselves is in [`System::faults`].

use super::inject::Inject;
use super::l1::{CuReq, CuRsp, CuWork, L1, L1Params};
use super::l2::{L2, L2Params};
use super::layout::Layout;
use super::msg::{Atomic, Data, UmcReq, UmcRsp, UpReq, UpRsp};
use super::time::{Time, Widths};
use super::tracker::TrackerParams;
use super::tsu::TsuParams;
use super::umc::{Initial, Lane};
use crate::checker::{Access, Kind, LogicalTime, Promise};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

pub mod explore;
mod invariants;
pub mod run;
mod step;

pub use step::{Message, Step};

/// Parameters of a system.
#[derive(Clone, Copy, Debug)]
pub struct SystemParams {
    /// GPUs.
    pub gpus: usize,
    /// L1s per GPU.
    pub cus: usize,
    /// Banks, lanes, interleaving.
    pub layout: Layout,
    /// Widths of stamps and tags.
    pub widths: Widths,
    /// {sets, ways} of an L1.
    pub l1: (usize, usize),
    /// {sets, ways} of a bank.
    pub l2: (usize, usize),
    /// {sets, ways} of a lane's TSU.
    pub tsu: (usize, usize),
    /// {MSHRs, pool} of an L1.
    pub l1_mshrs: (usize, usize),
    /// {MSHRs, pool} of a bank.
    pub l2_mshrs: (usize, usize),
    /// {entries, AGE_MAX} of a request tracker.
    pub tracker: (usize, u32),
    /// Sequential consistency, else release consistency.
    pub sc: bool,
    /// Reads raise clocks at the fill.
    pub eager: bool,
    /// `MERGE_RAW`.
    pub merge_raw: bool,
    /// `RD_EXTEND = accumulate`.
    pub accumulate: bool,
    /// `TSU_WTS = exact`.
    pub exact: bool,
    /// `SELF_INC`.
    pub self_inc: u64,
    /// `REPL_TS`.
    pub repl_ts: bool,
    /// `WRSP_DATA = always`.
    pub wrsp_always: bool,
    /// Banks tell the TSU what they drop.
    pub evict_notes: bool,
    /// {RdLease, WrLease} at the start.
    pub leases: (u64, u64),
    /// A published rule in place of its correction, everywhere.
    pub inject: Option<Inject>,
    /// What memory holds at first.
    pub initial: Initial,
}

impl SystemParams {
    /// The smallest system in which everything happens (mgcc.md section 11): 2 GPUs x 2 L1s, 2 banks, 2-line caches, 2-entry TSUs.
    pub fn small(sc: bool, ts: u32) -> SystemParams {
        SystemParams {
            gpus: 2,
            cus: 2,
            layout: Layout { banks: 2, lanes: 1, il: 6 },
            widths: Widths { ts, eb: 3 },
            l1: (1, 2),
            l2: (1, 2),
            tsu: (1, 2),
            l1_mshrs: (2, 2),
            l2_mshrs: (3, 3),
            tracker: (4, 8),
            sc,
            eager: sc,
            merge_raw: sc,
            accumulate: true,
            exact: true,
            self_inc: 4,
            repl_ts: true,
            wrsp_always: false,
            evict_notes: true,
            leases: (10, 5),
            inject: None,
            initial: |_| Data::default(),
        }
    }
}

/// An operation of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WaveOp {
    /// LD, or LD_SYNC.
    Load {
        /// Line number.
        line: u64,
        /// Bytes.
        mask: u64,
        /// Goes to memory.
        sync: bool,
    },
    /// ST.
    Store {
        /// Line number.
        line: u64,
        /// Bytes.
        mask: u64,
        /// Their values in place.
        data: Data,
    },
    /// AMO.
    Atomic {
        /// Line number.
        line: u64,
        /// What is done.
        atomic: Atomic,
    },
    /// Waits for all before it, then folds.
    Fence,
}

/// A wave: where it runs and what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wave {
    /// GPU.
    pub gpu: usize,
    /// L1 in the GPU.
    pub cu: usize,
    /// Its program.
    pub program: Rc<Vec<WaveOp>>,
    /// Operations issued.
    issued: usize,
    outstanding: BTreeSet<u32>,
    /// What loads and atomics got, by place in the program.
    results: BTreeMap<u32, Data>,
}

impl Wave {
    /// A wave that has done nothing.
    pub fn new(gpu: usize, cu: usize, program: Vec<WaveOp>) -> Wave {
        Wave {
            gpu,
            cu,
            program: Rc::new(program),
            issued: 0,
            outstanding: BTreeSet::new(),
            results: BTreeMap::new(),
        }
    }
    /// The bytes that the load or atomic at a place of the program got.
    pub fn result(&self, seq: usize) -> Option<Data> {
        self.results.get(&(seq as u32)).copied()
    }
}

/// On a bank's link to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Link {
    /// A request.
    Req(UmcReq),
    /// An EvictNote.
    Note {
        /// Line number.
        line: u64,
        /// Epoch, EB bits.
        tag: u64,
        /// The dropped block's rts.
        rts: u64,
    },
}

/// Who receives a roll.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Target {
    /// An L1 by its number in the system.
    L1(usize),
    /// A bank by its number in the system.
    L2(usize),
    /// A lane by its number in the system.
    Lane(usize),
}

/// The roll controller.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Control {
    epoch: u64,
    /// Rolls on their way.
    rolls: BTreeSet<(Target, u64)>,
    /// Epochs whose end somebody wants.
    asked: BTreeSet<u64>,
}

/// A system in some state. Blocks and logs are shared by clones until they change: an explorer clones a state for every step.
#[derive(Clone, Debug)]
pub struct System {
    p: SystemParams,
    l1: Vec<Rc<L1>>,
    l2: Vec<Rc<L2>>,
    lanes: Vec<Rc<Lane>>,
    /// Per L1 and bank number.
    up: Vec<VecDeque<UpReq>>,
    /// Per L1, sorted.
    down: Vec<Vec<UpRsp>>,
    /// Per bank.
    link: Vec<VecDeque<Link>>,
    /// Per bank, sorted.
    back: Vec<Vec<UmcRsp>>,
    control: Control,
    waves: Vec<Wave>,
    log: Rc<BTreeMap<(u32, u32), Access>>,
    ghost: invariants::Ghost,
}

impl std::hash::Hash for System {
    /// All that tells two states of one run apart: not the parameters, the programs and the values logged.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.l1, &self.l2, &self.lanes).hash(state);
        (&self.up, &self.down, &self.link, &self.back).hash(state);
        (&self.control, &self.ghost).hash(state);
        self.waves.iter().for_each(|wave| (wave.issued, &wave.outstanding, &wave.results).hash(state));
        self.log.iter().for_each(|(key, access)| (key, access.time).hash(state));
    }
}

impl System {
    /// After reset, with these waves.
    pub fn new(p: SystemParams, waves: Vec<Wave>) -> System {
        let banks = p.layout.banks as usize;
        let l1 = |i: usize| {
            L1::new(L1Params {
                own: (i % p.cus) as u32,
                sets: p.l1.0,
                ways: p.l1.1,
                layout: p.layout,
                widths: p.widths,
                mshrs: p.l1_mshrs.0,
                pool: p.l1_mshrs.1,
                coherent: true,
                eager: p.eager,
                self_inc: p.self_inc,
                repl_ts: p.repl_ts,
                inject: p.inject,
            })
        };
        let l2 = |i: usize| {
            L2::new(L2Params {
                gpu: (i / banks) as u32,
                sets: p.l2.0,
                ways: p.l2.1,
                layout: p.layout,
                widths: p.widths,
                mshrs: p.l2_mshrs.0,
                pool: p.l2_mshrs.1,
                coherent: true,
                eager: p.eager,
                repl_ts: p.repl_ts,
                wrsp_always: p.wrsp_always,
                inject: p.inject,
            })
        };
        let (l1s, l2s) = (p.gpus * p.cus, p.gpus * banks);
        System {
            p,
            l1: (0..l1s).map(|i| Rc::new(l1(i))).collect(),
            l2: (0..l2s).map(|i| Rc::new(l2(i))).collect(),
            lanes: (0..banks * p.layout.lanes as usize).map(|_| Rc::new(lane(&p))).collect(),
            up: vec![VecDeque::new(); l1s * banks],
            down: vec![Vec::new(); l1s],
            link: vec![VecDeque::new(); l2s],
            back: vec![Vec::new(); l2s],
            control: Control::default(),
            waves,
            log: Rc::new(BTreeMap::new()),
            ghost: invariants::Ghost::default(),
        }
    }
    /// The parameters.
    pub fn params(&self) -> &SystemParams {
        &self.p
    }
    /// An L1.
    pub fn l1(&self, gpu: usize, cu: usize) -> &L1 {
        &self.l1[gpu * self.p.cus + cu]
    }
    /// A bank.
    pub fn l2(&self, gpu: usize, bank: usize) -> &L2 {
        &self.l2[gpu * self.p.layout.banks as usize + bank]
    }
    /// The lane of a line.
    pub fn lane(&self, line: u64) -> &Lane {
        &self.lanes[self.lane_of(line)]
    }
    /// The waves.
    pub fn waves(&self) -> &[Wave] {
        &self.waves
    }
    /// The epoch of the roll controller.
    pub fn epoch(&self) -> u64 {
        self.control.epoch
    }
    /// Sets {RdLease, WrLease} of every lane.
    pub fn set_leases(&mut self, leases: (u64, u64)) {
        self.lanes.iter_mut().for_each(|lane| Rc::make_mut(lane).leases = leases);
    }
    /// Starts in the middle of an epoch: every lease up to `ts` may have been given.
    pub fn start_at(&mut self, ts: u64) {
        self.lanes.iter_mut().for_each(|lane| Rc::make_mut(lane).tsu_mut().raise_floors(ts));
    }
    /// All programs are done and nothing is under way except hints and rolls.
    pub fn done(&self) -> bool {
        self.waves.iter().all(|wave| wave.issued == wave.program.len() && wave.outstanding.is_empty())
    }
    /// Rules of the protocol that the run broke, as the models saw it.
    pub fn faults(&self) -> &[String] {
        &self.ghost.faults
    }
    /// The log for the checker.
    pub fn checker(&self) -> LogicalTime {
        let mut checker = LogicalTime::new(if self.p.sc { Promise::Sc } else { Promise::Rc });
        self.log.values().for_each(|access| checker.access(*access));
        for (number, wave) in self.waves.iter().enumerate() {
            let fences = wave.program.iter().enumerate().filter(|(_, op)| **op == WaveOp::Fence);
            fences.for_each(|(seq, _)| checker.fence(number as u32, seq as u32));
        }
        checker
    }
    /// Adds an operation to the wave of an L1 (a wave of its own, the first there) and lets everything run until nothing moves: the CU's answer and all messages.
    pub fn execute(&mut self, gpu: usize, cu: usize, op: WaveOp) -> (Option<CuRsp>, Vec<Message>) {
        let at = self.waves.iter().position(|wave| (wave.gpu, wave.cu) == (gpu, cu));
        let at = at.unwrap_or_else(|| {
            self.waves.push(Wave::new(gpu, cu, Vec::new()));
            self.waves.len() - 1
        });
        Rc::make_mut(&mut self.waves[at].program).push(op);
        let mut messages = Vec::new();
        while let Some(step) = self.enabled().first() {
            messages.extend(self.step(*step));
        }
        let rsp = messages.iter().find_map(|message| match message {
            Message::Cu { rsp, .. } => Some(*rsp),
            _ => None,
        });
        (rsp, messages)
    }

    fn lane_of(&self, line: u64) -> usize {
        self.p.layout.bank(line) * self.p.layout.lanes as usize + self.p.layout.lane(line)
    }
    fn l1_of(&self, wave: usize) -> usize {
        self.waves[wave].gpu * self.p.cus + self.waves[wave].cu
    }
    fn gpu_of_l1(&self, l1: usize) -> usize {
        l1 / self.p.cus
    }
    /// The next request of a wave, if it may issue now.
    fn next_request(&self, number: usize) -> Option<CuReq> {
        let wave = &self.waves[number];
        let op = wave.program.get(wave.issued)?;
        let waits = self.p.sc || *op == WaveOp::Fence || wave.fenced();
        if waits && !wave.outstanding.is_empty() {
            return None;
        }
        let id = (number as u32) << 16 | wave.issued as u32;
        Some(match *op {
            WaveOp::Load { line, mask, sync } => CuReq { id, line, mask, work: CuWork::Load { sync } },
            WaveOp::Store { line, mask, data } => {
                let data = data.masked(mask);
                CuReq { id, line, mask, work: CuWork::Store { data, want_ack: true } }
            }
            WaveOp::Atomic { line, atomic } => {
                CuReq { id, line, mask: atomic.mask(), work: CuWork::Atomic(atomic) }
            }
            WaveOp::Fence => CuReq { id, line: 0, mask: 0, work: CuWork::Fence },
        })
    }
    /// Takes an answer of an L1.
    fn complete(&mut self, rsp: &CuRsp) {
        let (number, seq) = (rsp.id >> 16, rsp.id & 0xffff);
        let wave = &mut self.waves[number as usize];
        assert!(wave.outstanding.remove(&seq), "operation {seq} of wave {number} is answered twice");
        let CuRsp { time, data, .. } = *rsp;
        let (line, mask, kind) = match wave.program[seq as usize] {
            WaveOp::Load { line, mask, .. } => (line, mask, Kind::Load(data)),
            WaveOp::Store { line, mask, data } => (line, mask, Kind::Store(data)),
            WaveOp::Atomic { line, atomic } => {
                let old = data.number(4 * atomic.word as usize, atomic.size());
                (line, atomic.mask(), Kind::Atomic(atomic, old))
            }
            WaveOp::Fence => return,
        };
        if !rsp.ack {
            wave.results.insert(seq, data);
        }
        Rc::make_mut(&mut self.log)
            .insert((number, seq), Access { wave: number, seq, line, mask, time, kind });
    }
    /// Clocks of all caches: L1s, then banks.
    fn clocks(&self) -> impl Iterator<Item = Time> + '_ {
        self.l1.iter().map(|l1| l1.cts()).chain(self.l2.iter().map(|l2| l2.cts()))
    }
}

impl Wave {
    /// The last operation issued is a fence.
    fn fenced(&self) -> bool {
        self.issued > 0 && self.program[self.issued - 1] == WaveOp::Fence
    }
}

fn lane(p: &SystemParams) -> Lane {
    let tracker = TrackerParams {
        entries: p.tracker.0,
        age_max: p.tracker.1,
        sc: p.sc,
        merge_raw: p.merge_raw,
        coherent: true,
        wrsp_always: p.wrsp_always,
        layout: p.layout,
        widths: p.widths,
    };
    let tsu = TsuParams {
        sets: p.tsu.0,
        ways: p.tsu.1,
        widths: p.widths,
        accumulate: p.accumulate,
        exact: p.exact,
        inject: p.inject,
    };
    Lane::new(tracker, tsu, p.initial, p.leases)
}
