//! The system: blocks in simulation, networks and waves in the test.

use crate::gtsc_system::gtsc_bench::{
    Memory, answer_message, answer_of, atomic, cu_answer, cu_message, memory_answer, memory_request_of,
    request_message, request_of,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_blocks::msg::{CuReq as CuReqMsg, CuRsp as CuRspMsg};
use weft_mgcc::gtsc::{GtscReq, gtsc_l1, gtsc_l2};
use weft_mgcc::l1::L1Params;
use weft_mgcc::l2::L2Params;
use weft_mgcc::msg::{Maint, Roll, RollAck, UmcReq, UmcRsp, UpRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::checker::{LogicalTime, Promise};
use weft_mgcc_bench::golden::l1::{CuReq, CuRsp, CuWork};
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::{Atomic, Data};
use weft_mgcc_bench::golden::time::Time;

/// Kind of program and of surroundings.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Waves per CU.
    pub waves: u32,
    /// Operations of a wave in a kernel.
    pub length: u32,
    /// Kernels.
    pub kernels: u32,
    /// Lines.
    pub lines: u64,
    /// Lease register.
    pub lease: u64,
    /// Chance that a receiver is ready.
    pub ready: f64,
}

/// A wave: what it still does, what it waits for.
struct Wave {
    left: u32,
    seq: u32,
    open: u32,
    /// A fence is due, or outstanding.
    fence: Option<bool>,
}

/// A message on its way, and when it arrives.
type Way = VecDeque<(u64, Msg)>;

/// What an operation outstanding is: wave, place in its program, request.
type Open = (usize, u32, CuReq);

/// The system.
pub struct World {
    l1s: Vec<Bench>,
    banks: Vec<Bench>,
    t: Tsm,
    shape: Shape,
    rng: SmallRng,
    cycle: u64,
    /// Requests per L1 and bank, in order.
    up: BTreeMap<(usize, usize), Way>,
    /// Answers to L1s, and of memory, in any order.
    down: Vec<(u64, Msg)>,
    memory_answers: Vec<(u64, usize, Msg)>,
    memories: Vec<Memory>,
    waves: Vec<Vec<Wave>>,
    open: Vec<BTreeMap<u32, Open>>,
    next_id: u32,
    pub epoch: u64,
    /// Acknowledgements of the roll under way that are missing.
    acks: usize,
    /// Newest epoch whose end a bank wants; it waits for the roll under way.
    wanted: Option<u64>,
    checker: LogicalTime,
    /// Writes: line, time, mask, data.
    writes: Vec<(u64, Time, u64, Data)>,
    /// Kernel ends told.
    ends: Vec<Option<Time>>,
    value: u64,
}

impl World {
    pub fn new(l1: &L1Params, l2: &L2Params, shape: Shape, seed: u64) -> World {
        let t = &l1.tsm;
        let (l1_module, l2_module) = (gtsc_l1(l1).expect("legal"), gtsc_l2(l2).expect("legal"));
        let l1s = (0..t.cus as usize).map(|c| {
            let mut b = Bench::new(&l1_module, seed * 100 + c as u64);
            b.source::<CuReqMsg>("cu_req", &t.cu());
            b.sink::<CuRspMsg>("cu_rsp", &t.cu());
            b.sink::<GtscReq>("up_req", t);
            b.source::<UpRsp>("dn_rsp", t);
            b.source::<Roll>("roll", t);
            b.sink::<RollAck>("roll_ack", t);
            b.set("own", c as u64);
            b.sink_mut("up_req").chance = shape.ready;
            b
        });
        let banks = (0..t.banks as usize).map(|c| {
            let mut b = Bench::new(&l2_module, seed * 100 + 50 + c as u64);
            b.source::<GtscReq>("l1_req", t);
            b.sink::<UpRsp>("l1_rsp", t);
            b.sink::<UmcReq>("mem_req", t);
            b.source::<UmcRsp>("mem_rsp", t);
            b.source::<Roll>("roll", t);
            b.sink::<RollAck>("roll_ack", t);
            b.sink::<RollAck>("roll_ask", t);
            b.source::<Maint>("maint", &());
            b.sink::<Maint>("maint_done", &());
            b.set("own_gpu", 0);
            b.set("lease", shape.lease);
            b.sink_mut("l1_rsp").chance = shape.ready;
            b.sink_mut("mem_req").chance = shape.ready;
            b
        });
        let wave = || Wave { left: shape.length, seq: 0, open: 0, fence: None };
        World {
            l1s: l1s.collect(),
            banks: banks.collect(),
            t: t.clone(),
            shape,
            rng: SmallRng::seed_from_u64(seed),
            cycle: 0,
            up: BTreeMap::new(),
            down: Vec::new(),
            memory_answers: Vec::new(),
            memories: (0..t.banks).map(|_| Memory::default()).collect(),
            waves: (0..t.cus).map(|_| (0..shape.waves).map(|_| wave()).collect()).collect(),
            open: vec![BTreeMap::new(); t.cus as usize],
            next_id: 0,
            epoch: 0,
            acks: 0,
            wanted: None,
            checker: LogicalTime::new(Promise::Rc),
            writes: Vec::new(),
            ends: vec![None; t.cus as usize],
            value: 0,
        }
    }

    fn layout(&self) -> Layout {
        Layout { banks: u64::from(self.t.banks), lanes: u64::from(self.t.lanes), il: self.t.il }
    }

    /// Covers that no block of the system has hit.
    pub fn uncovered(&self, but: &[&str]) -> BTreeSet<String> {
        let of = |all: &[Bench]| {
            let sets = all.iter().map(|b| b.uncovered(but).into_iter().collect::<BTreeSet<String>>());
            sets.reduce(|a, b| a.intersection(&b).cloned().collect()).unwrap_or_default()
        };
        of(&self.l1s).into_iter().chain(of(&self.banks)).collect()
    }

    /// Runs all kernels and checks; what is wrong, in words.
    pub fn run(&mut self) -> Result<(), String> {
        for kernel in 0..self.shape.kernels {
            let limit = self.cycle + 20_000;
            while self.waves.iter().flatten().any(|w| w.left > 0 || w.open > 0 || w.fence.is_some()) {
                if self.cycle > limit {
                    return Err(format!("no end of kernel {kernel}"));
                }
                (0..self.l1s.len()).for_each(|cu| self.issue(cu));
                self.step();
            }
            self.hand_on();
            self.waves.iter_mut().flatten().for_each(|w| w.left = self.shape.length);
        }
        self.write_back();
        self.check()
    }

    fn check(&self) -> Result<(), String> {
        if let Some(fault) = self.checker.check(Memory::initial).first() {
            return Err(fault.to_string());
        }
        let mut last: BTreeMap<u64, Data> = BTreeMap::new();
        let mut writes = self.writes.clone();
        writes.sort_by_key(|(line, time, ..)| (*line, *time));
        for (line, _, mask, data) in writes {
            last.entry(line).or_insert_with(|| Memory::initial(line)).merge(mask, &data);
        }
        for (line, data) in last {
            let found = self.memories[self.layout().bank(line)].value(line);
            if found != data {
                return Err(format!("line {line} in memory is {found:?}, written {data:?}"));
            }
        }
        Ok(())
    }

    /// A wave of a CU may issue an operation.
    fn issue(&mut self, cu: usize) {
        let at = self.rng.random_range(0..self.waves[cu].len());
        let full = self.open[cu].len() >= 24 || !self.l1s[cu].source_mut("cu_req").queue.is_empty();
        if full || self.rng.random_bool(0.1) {
            return;
        }
        let fencing = self.open[cu].values().any(|(_, _, req)| req.work == CuWork::Fence);
        let wave = &mut self.waves[cu][at];
        let seq = wave.seq;
        if let Some(sent) = wave.fence {
            if !sent && wave.open == 0 && !fencing {
                wave.fence = Some(true);
                wave.seq += 1;
                self.checker.fence(number(cu, at), seq);
                self.offer(cu, at, seq, 0, 0, CuWork::Fence);
            }
            return;
        }
        if wave.left == 0 || wave.open >= 4 {
            return;
        }
        wave.left -= 1;
        if self.rng.random_bool(0.15) {
            wave.fence = Some(false);
            return;
        }
        wave.seq += 1;
        let hot = self.rng.random_bool(0.4);
        let line = if hot { 0 } else { self.rng.random_range(0..self.shape.lines) };
        let any = 1u64 << self.rng.random_range(0..64) | self.rng.random::<u64>() & self.rng.random::<u64>();
        let (mask, work) = match self.rng.random_range(0..100) {
            0..50 => (any, CuWork::Load { sync: self.rng.random_bool(0.2) }),
            50..90 => {
                self.value += 1;
                let words = std::array::from_fn(|i| self.value.wrapping_mul(0x0101_0101) ^ (i as u64) << 40);
                let mask = if self.rng.random_bool(0.2) { u64::MAX } else { any };
                (mask, CuWork::Store { data: Data::from_words(words), want_ack: true })
            }
            _ => {
                let a = atomic(&mut self.rng);
                (a.mask(), CuWork::Atomic(a))
            }
        };
        self.offer(cu, at, seq, line, mask, work);
    }

    fn offer(&mut self, cu: usize, wave: usize, seq: u32, line: u64, mask: u64, work: CuWork) {
        let req = CuReq { id: self.next_id, line, mask, work };
        self.next_id = (self.next_id + 1) % 4096;
        let release = self.rng.random();
        self.l1s[cu].send("cu_req", cu_message(&self.t, &req, release));
        self.open[cu].insert(req.id, (wave, seq, req));
        if wave < self.waves[cu].len() {
            self.waves[cu][wave].open += 1;
        }
    }

    /// Kernel end: every L1 tells its clock; the next kernel begins at the greatest.
    fn hand_on(&mut self) {
        let cus = self.l1s.len();
        self.ends = vec![None; cus];
        (0..cus).for_each(|cu| self.offer(cu, usize::MAX, 0, 0, 0, CuWork::Kend));
        while self.ends.iter().any(Option::is_none) {
            self.step();
        }
        let last = self.ends.iter().flatten().max().copied().unwrap_or_default();
        for cu in 0..cus {
            self.offer(cu, usize::MAX, 0, 0, 0, CuWork::Kbegin(last));
            for (at, wave) in self.waves[cu].iter_mut().enumerate() {
                self.checker.floor(number(cu, at), wave.seq, last);
                wave.seq += 1;
            }
        }
        while self.open.iter().any(|open| !open.is_empty()) {
            self.step();
        }
    }

    fn write_back(&mut self) {
        (0..200).for_each(|_| self.step());
        for bank in &mut self.banks {
            bank.send("maint", Msg::of::<Maint>(&(), &[("op", 1)]));
        }
        let mut done = 0;
        for _ in 0..20_000 {
            self.step();
            done += self.banks.iter_mut().filter_map(|bank| bank.received("maint_done")).count();
            if done == self.banks.len() {
                return;
            }
        }
        panic!("banks do not write back");
    }

    fn late(&mut self) -> u64 {
        self.cycle + self.rng.random_range(1..30)
    }

    /// One cycle of everything.
    fn step(&mut self) {
        self.cycle += 1;
        for cu in 0..self.l1s.len() {
            let time = self.l1s[cu].get("cu_time");
            self.l1s[cu].step();
            while let Some((_, msg)) = self.l1s[cu].received("up_req") {
                let bank = self.layout().bank(msg.get("line"));
                let due = self.late();
                self.up.entry((cu, bank)).or_default().push_back((due, msg));
            }
            while let Some((_, msg)) = self.l1s[cu].received("cu_rsp") {
                self.answered(cu, &msg, Time::unpack(time, self.t.ts));
            }
            while self.l1s[cu].received("roll_ack").is_some() {
                self.acks -= 1;
            }
        }
        for bank in 0..self.banks.len() {
            self.banks[bank].step();
            while let Some((_, msg)) = self.banks[bank].received("l1_rsp") {
                let due = self.late();
                self.down.push((due, msg));
            }
            while let Some((_, msg)) = self.banks[bank].received("mem_req") {
                self.memories[bank].take(memory_request_of(&msg));
            }
            while self.banks[bank].received("roll_ack").is_some() {
                self.acks -= 1;
            }
            while let Some((_, msg)) = self.banks[bank].received("roll_ask") {
                self.wanted = self.wanted.max(Some(msg.get("epoch")));
            }
        }
        if self.acks == 0 && self.wanted == Some(self.epoch) {
            self.roll();
        }
        self.deliver();
    }

    fn roll(&mut self) {
        self.epoch += 1;
        let all = self.l1s.iter_mut().chain(&mut self.banks);
        all.for_each(|b| b.send("roll", Msg::of::<Roll>(&self.t, &[("epoch", self.epoch)])));
        self.acks = self.l1s.len() + self.banks.len();
    }

    fn deliver(&mut self) {
        for ((_, bank), way) in &mut self.up {
            if let Some((_, msg)) = way.pop_front_if(|(due, _)| *due <= self.cycle) {
                let req = request_of(&self.t, &msg);
                self.banks[*bank].send("l1_req", request_message(&self.t, &req));
            }
        }
        let due: Vec<usize> = (0..self.down.len()).filter(|i| self.down[*i].0 <= self.cycle).collect();
        if !due.is_empty() {
            let (_, msg) = self.down.swap_remove(due[self.rng.random_range(0..due.len())]);
            let rsp = answer_of(&msg);
            self.l1s[rsp.dst as usize].send("dn_rsp", answer_message(&self.t, &rsp));
        }
        for bank in 0..self.banks.len() {
            if self.rng.random_bool(0.3)
                && let Some(rsp) = self.memories[bank].serve(&mut self.rng)
            {
                let due = self.late();
                self.memory_answers.push((due, bank, memory_answer(&self.t, &rsp)));
            }
        }
        let now = self.cycle;
        if let Some(at) = self.memory_answers.iter().position(|(due, ..)| *due <= now) {
            let (_, bank, msg) = self.memory_answers.swap_remove(at);
            self.banks[bank].send("mem_rsp", msg);
        }
    }

    fn answered(&mut self, cu: usize, msg: &Msg, time: Time) {
        let (wave, seq, req) = self.open[cu].remove(&(msg.get("id") as u32)).expect("it was asked for");
        let answer = cu_answer(msg, time, req.work == CuWork::Kend);
        if wave < self.waves[cu].len() {
            self.waves[cu][wave].open -= 1;
        }
        if req.work == CuWork::Fence {
            self.waves[cu][wave].fence = None;
        }
        self.log(cu, (number(cu, wave.min(99)), seq), &req, &answer);
    }

    fn log(&mut self, cu: usize, at: (u32, u32), req: &CuReq, answer: &CuRsp) {
        let CuReq { line, mask, .. } = *req;
        match req.work {
            CuWork::Load { .. } => self.checker.load(at, line, mask, answer.time, answer.data),
            CuWork::Store { data, .. } => {
                self.checker.store(at, line, mask, answer.time, data);
                self.writes.push((line, answer.time, mask, data));
            }
            CuWork::Atomic(a) => {
                let old = answer.data.number(4 * a.word as usize, a.size());
                self.checker.atomic(at, line, answer.time, a, old);
                self.writes.push((line, answer.time, a.mask(), left_by(&a, old)));
            }
            CuWork::Kend => {
                self.ends[cu] = Some(Time::unpack(answer.data.number(0, 8), self.t.ts));
            }
            CuWork::Fence | CuWork::Kbegin(_) => {}
        }
    }
}

fn number(cu: usize, wave: usize) -> u32 {
    (100 * cu + wave) as u32
}

fn left_by(a: &Atomic, old: u64) -> Data {
    let mut data = Data::default();
    data.set_number(4 * a.word as usize, a.size(), old);
    a.perform(&mut data);
    data
}
