//! One `mgcc-l1` between a CU and a [`Memory`], step by step against the golden L1.
//!
//! The golden model has no cycles: it is told what the hardware did (its counters say what happened in a cycle) and says what must come out.

mod memory;

pub use memory::Memory;

use crate::wire::{AMOS, answer_message, compare_l1, cu_message, data_of, far, layout, work_of};
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_blocks::msg::{AmoOp, CuReq as CuReqMsg, CuRsp as CuRspMsg};
use weft_mgcc::choice::Inject;
use weft_mgcc::l1::{L1Params, mgcc_l1};
use weft_mgcc::msg::{Roll, RollAck, UpReq as UpReqMsg, UpRsp as UpRspMsg};
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::golden::inject::Inject as GoldenInject;
use weft_mgcc_bench::golden::l1::{CuReq, CuRsp, CuWork, L1, L1Action, L1Params as GoldenParams};
use weft_mgcc_bench::golden::msg::{Atomic, Data, UpReq, UpRsp};
use weft_mgcc_bench::golden::time::{Time, Widths};
use weft_rtl::value::HwEnum;

/// Number of the L1 under test.
const OWN: u64 = 1;

/// What happens in a cycle, by the counters that tell it; at most one of them.
const EVENTS: [&str; 7] = [
    "mgcc_l1_taken",
    "mgcc_l1_replays",
    "mgcc_l1_responses",
    "mgcc_l1_fences",
    "mgcc_l1_rolls_told",
    "mgcc_l1_rolls_response",
    "mgcc_l1_sweeps_begin",
];

/// Kind of traffic.
#[derive(Clone, Copy)]
pub struct Traffic {
    /// Lines used.
    pub lines: u64,
    /// Requests open at most.
    pub open: usize,
    /// Chance of a request in a cycle.
    pub chance: f64,
    /// Chance per cycle that another GPU writes a line.
    pub others: f64,
    /// Chance per cycle of a new epoch.
    pub rolls: f64,
    /// Chance that a receiver is ready.
    pub ready: f64,
    /// The CU too is sometimes not ready.
    pub slow_cu: bool,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic { lines: 12, open: 24, chance: 0.7, others: 0.03, rolls: 0.002, ready: 0.7, slow_cu: false }
    }
}

/// A small L1: 2 sets of 2 ways, short times, two banks.
pub fn small(p: &L1Params) -> L1Params {
    let tsm = Tsm {
        gpus: 2,
        cus: 4,
        banks: 2,
        lanes: 2,
        il: 6,
        addr_bits: 32,
        ts: 7,
        eb: 3,
        cts: 20,
        l1_mshrs: 4,
        ..Tsm::default()
    };
    L1Params { tsm, size: 256, ways: 2, latency: 7, pool: 5, self_inc: 7, observe: true, ..p.clone() }
}

/// The golden model of the same parameters.
fn golden(p: &L1Params) -> L1 {
    let inject = match p.inject {
        Inject::LitNoTs => Some(GoldenInject::LitNoTs),
        Inject::LitReadCts => Some(GoldenInject::LitReadCts),
        Inject::LitBrts => Some(GoldenInject::LitBrts),
        Inject::LitAckNodata => Some(GoldenInject::LitAckNodata),
        _ => None,
    };
    L1::new(GoldenParams {
        own: OWN as u32,
        sets: p.sets() as usize,
        ways: p.ways as usize,
        layout: layout(&p.tsm),
        widths: widths(p),
        mshrs: p.mshrs() as usize,
        // A refused primary goes back into the model's FIFO, not into the hardware's pool.
        pool: (p.pool + p.mshrs()) as usize,
        coherent: p.coherent(),
        eager: p.eager,
        self_inc: u64::from(p.self_inc),
        repl_ts: p.repl_ts,
        inject,
    })
}

fn widths(p: &L1Params) -> Widths {
    Widths { ts: p.tsm.ts, eb: p.tsm.eb }
}

/// A run.
pub struct Trial {
    pub b: Bench,
    pub p: L1Params,
    pub golden: L1,
    pub memory: Memory,
    pub traffic: Traffic,
    /// Requests offered and not yet taken, taken and not yet carried out.
    offered: VecDeque<CuReq>,
    entered: VecDeque<CuReq>,
    /// Answered to the CU at some time.
    open: BTreeMap<u32, CuReq>,
    /// What must come out.
    up: VecDeque<UpReq>,
    cu: BTreeMap<u32, CuRsp>,
    /// Responses offered, taken and not yet carried out.
    sent: VecDeque<UpRsp>,
    responses: VecDeque<UpRsp>,
    /// Rolls told and not acknowledged; the next one to tell.
    rolls: VecDeque<u64>,
    untold: Option<(u64, u64)>,
    /// Line of each open transaction.
    line_of: BTreeMap<u32, u64>,
    /// The fence in the hardware, and whether it is a kernel's begin.
    fence: Option<(u32, bool)>,
    /// Without coherence: the kernel's begin has swept.
    begun: bool,
    next_id: u32,
    counters: Vec<usize>,
    seen: Vec<u64>,
    /// Answers by source: block, L2, merged.
    pub answers: [u64; 3],
    /// Answers in order: (cycle, answer).
    pub log: Vec<(u64, CuRsp)>,
    /// Cycle in which each open request was taken; sum of latencies of what was answered.
    taken_at: BTreeMap<u32, u64>,
    pub latency: u64,
    /// Bytes of requests sent and of responses taken.
    pub bytes: [u64; 2],
}

impl Trial {
    pub fn new(p: &L1Params, seed: u64, traffic: Traffic) -> Trial {
        let module = mgcc_l1(p).expect("legal parameters");
        let mut b = Bench::new(&module, seed);
        b.source::<CuReqMsg>("cu_req", &p.tsm.cu());
        b.sink::<CuRspMsg>("cu_rsp", &p.tsm.cu());
        b.sink::<UpReqMsg>("up_req", &p.tsm);
        b.source::<UpRspMsg>("dn_rsp", &p.tsm);
        b.source::<Roll>("roll", &p.tsm);
        b.sink::<RollAck>("roll_ack", &p.tsm);
        b.set("own", OWN);
        crate::wire::age_alike(&mut b.sim, p.sets());
        b.sink_mut("up_req").chance = traffic.ready;
        b.sink_mut("roll_ack").chance = traffic.ready;
        b.sink_mut("cu_rsp").chance = if traffic.slow_cu { 0.8 } else { 1.0 };
        let find = |name: &&str| b.sim.probes().position(|probe| probe.name == *name).unwrap_or(usize::MAX);
        let counters: Vec<usize> = EVENTS.iter().map(find).collect();
        Trial {
            golden: golden(p),
            memory: Memory::new(p.coherent(), p.eager, widths(p), layout(&p.tsm)),
            p: p.clone(),
            b,
            traffic,
            offered: VecDeque::new(),
            entered: VecDeque::new(),
            open: BTreeMap::new(),
            up: VecDeque::new(),
            cu: BTreeMap::new(),
            sent: VecDeque::new(),
            responses: VecDeque::new(),
            rolls: VecDeque::new(),
            untold: None,
            line_of: BTreeMap::new(),
            fence: None,
            begun: false,
            next_id: 0,
            seen: vec![0; counters.len()],
            counters,
            answers: [0; 3],
            log: Vec::new(),
            taken_at: BTreeMap::new(),
            latency: 0,
            bytes: [0; 2],
        }
    }

    /// Offers a request to the L1; its number.
    pub fn offer(&mut self, line: u64, mask: u64, work: CuWork) -> u32 {
        while self.open.contains_key(&self.next_id) {
            self.next_id = (self.next_id + 1) % 4096;
        }
        let req = CuReq { id: self.next_id, line, mask, work };
        self.next_id = (self.next_id + 1) % 4096;
        let answered = !matches!(work, CuWork::Store { want_ack: false, .. });
        if answered {
            self.open.insert(req.id, req);
        }
        let msg = self.cu_message(&req);
        self.b.send("cu_req", msg);
        self.offered.push_back(req);
        req.id
    }

    fn cu_message(&mut self, req: &CuReq) -> Msg {
        let rng = &mut self.b.rng;
        let release = rng.random_bool(0.5);
        let work = match req.work {
            // Sequential consistency has no LD_SYNC: the mark must not matter.
            CuWork::Load { .. } if !self.p.has_sync_loads() => CuWork::Load { sync: release },
            work => work,
        };
        let fence = u64::from(!release);
        cu_message(&self.p.tsm, &CuReq { work, ..*req }, fence, || Data::from_words(rng.random()))
    }

    /// A random request.
    fn random(&mut self) {
        let rng = &mut self.b.rng;
        let line = far(rng.random_range(0..self.traffic.lines), self.p.tsm.line_bits());
        let any = 1u64 << rng.random_range(0..64) | rng.random::<u64>();
        let wide = rng.random_bool(0.5);
        let word = rng.random_range(0..16u32) & if wide { 14 } else { 15 };
        let kind = rng.random_range(0..100);
        let (mask, work) = match kind {
            0..50 => (any, CuWork::Load { sync: self.p.has_sync_loads() && rng.random_bool(0.15) }),
            50..82 => {
                let mask = if rng.random_bool(0.4) { u64::MAX } else { any };
                let data = Data::from_words(rng.random());
                (mask, CuWork::Store { data, want_ack: rng.random_bool(0.5) })
            }
            82..92 => {
                let op = AmoOp::enum_type().variants[rng.random_range(0..11)].1;
                let a = Atomic {
                    op: AMOS[op as usize],
                    signed: rng.random(),
                    word,
                    wide,
                    operand: if wide { rng.random() } else { u64::from(rng.random::<u32>()) },
                    compare: if wide { rng.random() } else { u64::from(rng.random::<u32>()) },
                };
                (a.mask(), CuWork::Atomic(a))
            }
            92..96 => (0, CuWork::Fence),
            96..98 => (0, CuWork::Kend),
            _ => {
                let ts = rng.random_range(0..self.p.tsm.ts_max() / 2);
                (0, CuWork::Kbegin(Time::new(0, ts)))
            }
        };
        if let CuWork::Kbegin(time) = work {
            let newer = self.p.coherent() && self.untold.is_none() && self.b.rng.random_bool(0.2);
            if newer {
                self.begin_epoch();
            }
            let epoch = if self.p.coherent() { self.memory.epoch } else { 0 };
            self.offer(line, mask, CuWork::Kbegin(Time::new(epoch, time.ts)));
        } else {
            self.offer(line, mask, work);
        }
    }

    /// The memory begins an epoch, if it may; the L1 is told later.
    pub fn begin_epoch(&mut self) {
        let settled = self.untold.is_none() && self.rolls.is_empty() && self.memory.may_roll();
        let fits = self.memory.epoch + 1 < 1 << self.p.tsm.epoch_bits();
        if settled && fits && self.p.coherent() {
            self.memory.roll();
            let due = self.b.sim.cycle() + self.b.rng.random_range(0..100);
            self.untold = Some((due, self.memory.epoch));
        }
    }

    fn below(&mut self) {
        let now = self.b.sim.cycle();
        let full = self.memory.tick(now, &mut self.b.rng);
        if full || self.b.rng.random_bool(self.traffic.rolls) {
            self.begin_epoch();
        }
        if self.b.rng.random_bool(self.traffic.others) {
            let line = far(self.b.rng.random_range(0..self.traffic.lines), self.p.tsm.line_bits());
            self.memory.other_writer(line, &mut self.b.rng);
        }
        if let Some((_, epoch)) = self.untold.take_if(|(due, _)| *due <= now) {
            self.rolls.push_back(epoch);
            self.b.send("roll", Msg::of::<Roll>(&self.p.tsm, &[("epoch", epoch)]));
        }
        if self.sent.len() < 2
            && let Some(rsp) = self.memory.deliver(now, &mut self.b.rng)
        {
            let msg = answer_message(&self.p.tsm, &rsp);
            self.b.send("dn_rsp", msg);
            self.sent.push_back(rsp);
        }
    }

    /// One cycle; `offer`: the CU may have a new request.
    pub fn cycle(&mut self, offer: bool) {
        let room = self.open.len() + self.offered.len() < self.traffic.open;
        if offer && room && self.offered.is_empty() && self.b.rng.random_bool(self.traffic.chance) {
            self.random();
        }
        self.below();
        let time = if self.p.observe { self.b.get("cu_time") } else { 0 };
        let at = self.b.sim.peek("replay_at").expect("a register").low_u64() as u32;
        self.b.step();
        if self.b.taken("cu_req").is_some() {
            let req = self.offered.pop_front().expect("it was offered");
            self.taken_at.insert(req.id, self.b.sim.cycle() - 1);
            self.entered.push_back(req);
        }
        if self.b.taken("dn_rsp").is_some() {
            let rsp = self.sent.pop_front().expect("it was offered");
            self.bytes[1] += rsp.bytes(self.p.coherent());
            self.responses.push_back(rsp);
        }
        self.events(at);
        self.outputs(time);
    }

    fn events(&mut self, at: u32) {
        let mut happened = Vec::new();
        let counts: Vec<u64> = self.b.sim.probes().map(|probe| probe.count).collect();
        for (i, counter) in self.counters.iter().enumerate().filter(|(_, c)| **c != usize::MAX) {
            if counts[*counter] > self.seen[i] {
                happened.push(EVENTS[i]);
            }
            self.seen[i] = counts[*counter];
        }
        assert!(happened.len() < 2, "one operation per cycle, not {happened:?}");
        let Some(event) = happened.first() else { return };
        let actions = self.apply(event, at);
        for action in actions {
            match action {
                L1Action::Up(req) => self.up.push_back(req),
                L1Action::Cu(rsp) => assert!(self.cu.insert(rsp.id, rsp).is_none()),
                L1Action::RollAck(_) => (),
            }
        }
        if self.p.coherent() {
            self.compare_clock();
        }
        if self.register("sweeping") == 0 {
            self.compare_arrays(event);
        }
    }

    fn apply(&mut self, event: &str, at: u32) -> Vec<L1Action> {
        match event {
            "mgcc_l1_taken" => self.carry_out(),
            "mgcc_l1_replays" => {
                let line = self.line_of[&at];
                let txn = self.golden.txn_of(line).expect("a transaction with something to replay");
                self.golden.replay(txn)
            }
            "mgcc_l1_responses" => {
                let mut rsp = self.responses.pop_front().expect("a response was taken");
                let line = self.line_of[&rsp.txn];
                rsp.txn = self.golden.txn_of(line).expect("an open transaction");
                self.golden.rsp(&rsp)
            }
            "mgcc_l1_fences" => match self.fence.take().expect("a fence was taken") {
                (_, true) => Vec::new(),
                (id, false) => vec![self.golden.fence(id)],
            },
            "mgcc_l1_rolls_told" => {
                let told = *self.rolls.front().expect("a roll was told");
                vec![self.golden.roll(told)]
            }
            "mgcc_l1_rolls_response" => vec![self.golden.roll(self.golden.cts().epoch + 1)],
            _ => {
                let begin = *self.entered.front().expect("a kernel's begin");
                let CuWork::Kbegin(time) = begin.work else { panic!("{begin:?} does not sweep") };
                if self.p.coherent() {
                    return vec![self.golden.roll(time.epoch)];
                }
                self.begun = true;
                self.golden.cu(begin).expect("it needs no room")
            }
        }
    }

    fn carry_out(&mut self) -> Vec<L1Action> {
        let req = self.entered.pop_front().expect("a request was taken");
        match req.work {
            CuWork::Fence | CuWork::Kend => self.fence = Some((req.id, false)),
            CuWork::Kbegin(_) => self.fence = Some((req.id, true)),
            _ => (),
        }
        if std::mem::take(&mut self.begun) {
            return Vec::new();
        }
        self.golden.cu(req).expect("the model has room")
    }

    fn register(&self, name: &str) -> u64 {
        self.b.sim.peek(name).unwrap_or_else(|| panic!("no register {name}")).low_u64()
    }

    fn compare_clock(&self) {
        let cycle = self.b.sim.cycle();
        assert_eq!(self.register("cts"), self.golden.cts().pack(self.p.tsm.ts), "cts after cycle {cycle}");
        if !self.p.eager {
            assert_eq!(self.register("acq"), self.golden.acq(), "acq after cycle {cycle}");
        }
        for bank in 0..self.p.tsm.banks as usize {
            let name = format!("bank_lb{bank}");
            assert_eq!(self.register(&name), self.golden.bank_lb(bank), "{name} after cycle {cycle}");
        }
    }

    fn outputs(&mut self, time: u64) {
        while let Some((cycle, msg)) = self.b.received("up_req") {
            let req = request_of(&msg);
            let mut expected =
                self.up.pop_front().unwrap_or_else(|| panic!("cycle {cycle}: {req:?} unexpected"));
            expected.txn = req.txn;
            assert_eq!(req, expected, "cycle {cycle}: request to the bank");
            self.line_of.insert(req.txn, req.line);
            self.bytes[0] += req.bytes();
            let epoch = self.golden.cts().epoch;
            self.memory.take(req, epoch, cycle, &mut self.b.rng);
        }
        while let Some((cycle, msg)) = self.b.received("roll_ack") {
            let told = self.rolls.pop_front();
            assert_eq!(Some(msg.get("epoch")), told, "cycle {cycle}: acknowledged roll");
            let swept = self.register("sweeping") == 0;
            assert!(swept && (!self.p.coherent() || self.golden.cts().epoch >= msg.get("epoch")));
        }
        while let Some((cycle, msg)) = self.b.received("cu_rsp") {
            self.answer(cycle, &msg, time);
        }
    }

    fn answer(&mut self, cycle: u64, msg: &Msg, time: u64) {
        let id = msg.get("id") as u32;
        let req =
            self.open.remove(&id).unwrap_or_else(|| panic!("cycle {cycle}: answer {id} was not asked for"));
        let expected =
            self.cu.remove(&id).unwrap_or_else(|| panic!("cycle {cycle}: answer to {req:?} too early"));
        let mask = msg.get("mask");
        let told = data_of(msg);
        let begin = matches!(req.work, CuWork::Kbegin(_));
        let kend = req.work == CuWork::Kend;
        let got = CuRsp {
            id,
            ack: msg.get("kind") == 1,
            mask,
            data: told.masked(if kend { 255 } else { mask }),
            time: Time::unpack(time, self.p.tsm.ts),
            src: msg.get("src") as u32,
            merged: msg.get("merged") == 1,
        };
        let known = self.p.observe && self.p.coherent() && !begin;
        let expected = if known { expected } else { CuRsp { time: got.time, ..expected } };
        let expected =
            if kend && !self.p.coherent() { CuRsp { data: got.data, ..expected } } else { expected };
        assert_eq!(got, expected, "cycle {cycle}: answer to {req:?}");
        if known && matches!(req.work, CuWork::Load { .. }) && self.p.inject == Inject::None {
            let value = self.memory.value_at(req.line, got.time).masked(mask);
            assert_eq!(got.data, value, "cycle {cycle}: {req:?} at {:?}", got.time);
        }
        let merged = if got.merged { 2 } else { usize::from(got.src != 0) };
        self.answers[merged] += u64::from(!got.ack);
        if !matches!(req.work, CuWork::Fence | CuWork::Kend | CuWork::Kbegin(_)) {
            self.latency += cycle - self.taken_at[&id];
        }
        self.log.push((cycle, got));
    }

    /// Random traffic.
    pub fn run(&mut self, cycles: u64) {
        let mut busy = true;
        for i in 0..cycles {
            if i % 64 == 0 {
                busy = self.b.rng.random_bool(0.7);
            }
            let offer = busy || self.b.rng.random_bool(0.1);
            self.cycle(offer);
        }
    }

    /// Lets everything finish; nothing may be left, and the arrays are those of the model.
    pub fn drain(&mut self) {
        for _ in 0..20_000 {
            let quiet = self.open.is_empty() && self.offered.is_empty() && self.entered.is_empty();
            let settled = self.memory.idle() && self.golden.idle() && self.rolls.is_empty();
            if quiet && settled && self.untold.is_none() && self.sent.is_empty() {
                break;
            }
            self.cycle(false);
        }
        (0..20).for_each(|_| self.cycle(false));
        assert!(self.open.is_empty(), "never answered: {:?}", self.open);
        assert!(self.golden.idle() && self.up.is_empty() && self.cu.is_empty());
        for name in
            ["miss_busy", "pool_busy", "fencing", "sweeping", "unsettled0", "unsettled1", "delay_live"]
        {
            assert_eq!(self.register(name), 0, "{name} at rest");
        }
        self.compare_arrays("the end");
        // The hardware counts whole bytes of its timestamps, the model the published 2.
        if (9..=16).contains(&self.p.tsm.ts) {
            let sum = |way: &str| {
                ["read", "write", "atomic"]
                    .iter()
                    .map(|c| self.b.counted(&format!("mgcc_l1_{way}_bytes_{c}")))
                    .sum::<u64>()
            };
            assert_eq!([sum("up"), sum("dn")], self.bytes, "bytes up and down");
        }
    }

    /// One request alone: the cycles from its taking to its answer, and the answer.
    pub fn alone(&mut self, line: u64, mask: u64, work: CuWork) -> (u64, CuRsp) {
        let id = self.offer(line, mask, work);
        while self.open.contains_key(&id) {
            self.cycle(false);
        }
        let (cycle, answer) = *self.log.last().expect("it was answered");
        (cycle - self.taken_at[&id], answer)
    }

    /// Every block is the model's: state, line, stamps, data.
    fn compare_arrays(&self, after: &str) {
        let at = format!("{after} until cycle {}", self.b.sim.cycle());
        let stamps = self.p.coherent().then_some(self.p.tsm.ts);
        compare_l1(&self.b.sim, (self.p.sets(), self.p.ways), stamps, self.golden.array(), &at);
    }
}

fn request_of(msg: &Msg) -> UpReq {
    UpReq {
        src: msg.get("src") as u32,
        txn: msg.get("txn") as u32,
        line: msg.get("line"),
        force: msg.get("force") == 1,
        tag: msg.get("tag"),
        ts: (msg.get("ts_v") == 1).then(|| msg.get("ts")),
        work: work_of(msg),
    }
}
