//! Bank and golden bank side by side: one event, then everything that follows from it.

mod burst;

use crate::gtsc_l2::gtsc_bench::{
    Memory, answer_of, atomic, memory_answer, memory_request_of, request_message, words,
};
use crate::wire::{far, layout};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_mgcc::gtsc::{GtscReq, gtsc_l2};
use weft_mgcc::l2::L2Params;
use weft_mgcc::msg::{Maint, Roll, RollAck, UmcReq as UmcReqMsg, UmcRsp as UmcRspMsg, UpRsp as UpRspMsg};
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::golden::array::State;
use weft_mgcc_bench::golden::gtsc::l2::{Action, L2, Params};
use weft_mgcc_bench::golden::gtsc::{Request, answer_bytes};
use weft_mgcc_bench::golden::msg::{Atomic, Data, Op, UmcReq, UpRsp, Work};
use weft_mgcc_bench::golden::time::{Time, Widths};

/// Number of the bank under test.
const BANK: u64 = 1;

/// An L1 as the bank sees it.
#[derive(Clone, Default)]
struct Cu {
    warpts: Time,
    open: BTreeMap<u32, u64>,
    /// Blocks: wts in the L1's epoch.
    blocks: BTreeMap<u64, u64>,
}

/// Bank and model.
pub struct Pair {
    pub bench: Bench,
    model: L2,
    memory: Memory,
    p: L2Params,
    rng: SmallRng,
    pub lines: Vec<u64>,
    cus: Vec<Cu>,
    /// Epoch of the controller; the bank is not told, L1s that are not.
    epoch: u64,
    untold: bool,
    behind: Vec<usize>,
    asked: bool,
    event: usize,
    bytes: [u64; 2],
}

impl Pair {
    pub fn new(p: &L2Params, seed: u64, lease: u64) -> Pair {
        let mut bench = Bench::new(&gtsc_l2(p).expect("legal parameters"), seed);
        let t = &p.tsm;
        bench.source::<GtscReq>("l1_req", t);
        bench.sink::<UpRspMsg>("l1_rsp", t);
        bench.sink::<UmcReqMsg>("mem_req", t);
        bench.source::<UmcRspMsg>("mem_rsp", t);
        bench.source::<Roll>("roll", t);
        bench.sink::<RollAck>("roll_ack", t);
        bench.sink::<RollAck>("roll_ask", t);
        bench.source::<Maint>("maint", &());
        bench.sink::<Maint>("maint_done", &());
        bench.set("own_gpu", 0);
        bench.set("lease", lease);
        let layout = layout(t);
        let model = L2::new(Params {
            gpu: 0,
            sets: p.sets() as usize,
            ways: p.ways as usize,
            layout,
            widths: Widths { ts: t.ts, eb: t.eb },
            lease,
            mshrs: t.l2_mshrs as usize,
            pool: p.pool as usize,
        });
        let mine = |line: &u64| t.banks == 1 || layout.bank(*line) as u64 == BANK;
        let in_two_sets = |line: &u64| layout.in_umc(*line) % u64::from(p.sets()) < 2;
        let number = 2 * 2 * p.ways as usize;
        let lines = (0..4096).filter(mine).filter(in_two_sets).take(number);
        let lines = lines.map(|line| far(line, t.line_bits())).collect();
        bench.run(40);
        Pair {
            bench,
            model,
            memory: Memory::default(),
            p: p.clone(),
            rng: SmallRng::seed_from_u64(seed),
            lines,
            cus: vec![Cu::default(); t.cus as usize],
            epoch: 0,
            untold: false,
            behind: Vec::new(),
            asked: false,
            event: 0,
            bytes: [0; 2],
        }
    }

    /// Random events.
    pub fn run(&mut self, events: usize) {
        for event in 0..events {
            self.event = event;
            let actions = match self.rng.random_range(0..100) {
                0..40 => self.request(),
                40..50 => self.burst(),
                // Where the time of an epoch is long enough for both.
                50..65 if self.p.tsm.ts > 10 => self.beside(),
                50..88 => self.memory_answer(),
                88..97 => self.roll_step(),
                _ => self.command(),
            };
            self.compare(actions);
            if self.model.full() {
                self.roll_all();
            }
        }
        while !self.model.idle() {
            let actions = self.memory_answer();
            self.compare(actions);
            if self.model.full() {
                self.roll_all();
            }
        }
        let counted = |b: &Bench, way: &str| {
            ["rd", "wr", "amo"].iter().map(|c| b.counted(&format!("l2_bytes_{way}_{c}"))).sum::<u64>()
        };
        // The hardware counts whole bytes of its timestamps, the model the published 2.
        if (9..=16).contains(&self.p.tsm.ts) {
            assert_eq!([counted(&self.bench, "l1_req"), counted(&self.bench, "l1_rsp")], self.bytes, "bytes");
        }
    }

    /// Queues a request for the bank; what the model makes of it.
    fn offer(&mut self, req: Request) -> Vec<Action> {
        self.bytes[0] += req.bytes();
        let msg = request_message(&self.p.tsm, &req);
        self.bench.send("l1_req", msg);
        self.model.request(req).expect("room")
    }

    fn request(&mut self) -> Vec<Action> {
        let Some(req) = self.draw() else { return Vec::new() };
        let actions = self.offer(req);
        self.settle();
        actions
    }

    /// A random request of an L1 for which the bank has room.
    fn draw(&mut self) -> Option<Request> {
        let (mshrs, waiting) = self.model.used();
        if mshrs + 1 >= self.p.tsm.l2_mshrs as usize || waiting + 1 >= self.p.pool as usize {
            return None;
        }
        let at = self.rng.random_range(0..self.cus.len());
        let few = self.rng.random_bool(0.3);
        let line = self.lines[self.rng.random_range(0..if few { 2 } else { self.lines.len() })];
        let cu = &self.cus[at];
        let txn = self.rng.random_range(0..self.p.tsm.l1_mshrs);
        if cu.open.contains_key(&txn) || cu.open.values().any(|open| *open == line) {
            return None;
        }
        if self.rng.random_bool(0.1) {
            let max = self.p.tsm.ts_max();
            let cu = &mut self.cus[at];
            cu.warpts.ts = (cu.warpts.ts + self.rng.random_range(0..8)).min(max);
        }
        let draw = self.rng.random_range(0..10);
        let work = match draw {
            0..5 => Work::Read,
            5..8 => Work::Write {
                mask: self.rng.random::<u64>() & self.rng.random::<u64>() | 1,
                data: words(&mut self.rng),
            },
            8 => Work::Write { mask: u64::MAX, data: words(&mut self.rng) },
            _ => Work::Atomic(self.atomic(line)),
        };
        let cu = &mut self.cus[at];
        let wts = if draw < 9 { cu.blocks.get(&line).copied().unwrap_or(0) } else { 0 };
        cu.open.insert(txn, line);
        if draw == 9 {
            cu.blocks.remove(&line);
        }
        let warpts = cu.warpts;
        Some(Request { src: at as u32, txn, line, warpts, wts, work })
    }

    /// A random atomic, which may compare with what is there.
    fn atomic(&mut self, line: u64) -> Atomic {
        let a = atomic(&mut self.rng);
        let place = self.model.array().find(self.set_of(line) as usize, line);
        match place.filter(|_| self.rng.random_bool(0.5)) {
            Some(place) => {
                let compare = self.model.array().way(place).data.number(4 * a.word as usize, 8);
                Atomic { compare, ..a }
            }
            None => a,
        }
    }

    fn memory_answer(&mut self) -> Vec<Action> {
        let Some(rsp) = self.memory.serve(&mut self.rng) else { return Vec::new() };
        let msg = memory_answer(&self.p.tsm, &rsp);
        self.bench.send("mem_rsp", msg);
        self.settle();
        let mut actions = self.model.rsp(&rsp);
        actions.extend(self.replays());
        actions
    }

    fn replays(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        // A full bank waits with everything for the roll.
        while let (false, Some(txn)) = (self.model.full(), self.model.replays().first()) {
            actions.extend(self.model.replay(*txn));
        }
        actions
    }

    /// A step of a new epoch: it begins, an L1 learns of it, the bank is told.
    fn roll_step(&mut self) -> Vec<Action> {
        if !self.untold && self.behind.is_empty() {
            // Nothing on its way is older than the tags can tell.
            let fresh = self.cus.iter().all(|cu| cu.open.is_empty());
            if !fresh && self.epoch % 2 == 1 || self.rng.random_bool(0.5) {
                return Vec::new();
            }
            self.epoch += 1;
            self.untold = true;
            self.behind = (0..self.cus.len()).collect();
        } else if self.untold && self.rng.random_bool(0.3) {
            return self.tell_roll();
        } else if !self.behind.is_empty() {
            let at = self.behind.swap_remove(self.rng.random_range(0..self.behind.len()));
            self.cu_rolls(at);
        }
        Vec::new()
    }

    fn cu_rolls(&mut self, at: usize) {
        let cu = &mut self.cus[at];
        if cu.warpts.epoch < self.epoch {
            cu.warpts = Time::new(self.epoch, 0);
        }
    }

    /// Tells the bank of the epoch; one begins if none is under way.
    pub fn tell_roll(&mut self) -> Vec<Action> {
        if !self.untold {
            self.epoch += 1;
            self.behind = (0..self.cus.len()).collect();
        }
        self.untold = false;
        self.bench.send("roll", Msg::of::<Roll>(&self.p.tsm, &[("epoch", self.epoch)]));
        self.settle();
        self.model.roll(self.epoch);
        self.replays()
    }

    fn roll_all(&mut self) {
        let asks = self.bench.received("roll_ask").map(|(_, m)| m.get("epoch"));
        assert!(self.asked || asks == Some(self.model.epoch()), "a full bank asks for a roll");
        // The first one tells of the present epoch if a request has begun that.
        while self.model.full() {
            let actions = self.tell_roll();
            self.compare(actions);
        }
        (0..self.cus.len()).for_each(|at| self.cu_rolls(at));
        self.behind.clear();
    }

    /// A command to an idle bank.
    fn command(&mut self) -> Vec<Action> {
        if !self.model.idle() {
            return Vec::new();
        }
        let drops = self.rng.random_bool(0.5);
        self.bench.send("maint", Msg::of::<Maint>(&(), &[("op", u64::from(!drops))]));
        let mut written: Vec<UmcReq> = Vec::new();
        let mut done = None;
        for _ in 0..60 {
            self.settle();
            while let Some((_, msg)) = self.bench.received("mem_req") {
                let req = memory_request_of(&msg);
                written.push(req);
                self.memory.take(req);
            }
            done = self.bench.received("maint_done");
            if done.is_some() {
                break;
            }
            if let Some(rsp) = self.memory.serve(&mut self.rng) {
                let msg = memory_answer(&self.p.tsm, &rsp);
                self.bench.send("mem_rsp", msg);
            }
        }
        let done = done.expect("carried out").1;
        assert!(self.memory.idle(), "memory has acknowledged everything that was written back");
        assert_eq!(done.get("op"), u64::from(!drops));
        let mut got: Vec<(u64, u64, Data)> = written
            .iter()
            .map(|req| match req.work {
                Work::Write { mask, data } => (req.line, mask, data),
                other => panic!("{other:?} writes nothing back"),
            })
            .collect();
        got.sort_unstable();
        assert_eq!(got, self.model.write_back(), "event {}: dirty bytes written back", self.event);
        if drops {
            self.model.invalidate();
            // The L1s' blocks of these lines are leased on.
        }
        Vec::new()
    }

    fn learn(&mut self, rsp: &UpRsp) {
        let cu = &mut self.cus[rsp.dst as usize];
        let line = cu.open.remove(&rsp.txn).expect("it was open");
        let mask = (1 << self.p.tsm.eb) - 1;
        let ahead = rsp.tag.wrapping_sub(cu.warpts.epoch) & mask;
        if ahead == 1 {
            cu.warpts = Time::new(cu.warpts.epoch + 1, 0);
        }
        if ahead <= 1 {
            cu.warpts.ts = cu.warpts.ts.max(rsp.wts);
            let has = rsp.op != Op::Write || cu.blocks.contains_key(&line);
            if has && self.rng.random_bool(0.9) {
                cu.blocks.insert(line, rsp.wts);
            } else {
                cu.blocks.remove(&line);
            }
        }
    }

    fn compare(&mut self, actions: Vec<Action>) {
        let at = format!("event {} cycle {}", self.event, self.bench.sim.cycle());
        let (mut answers, mut wanted) = (Vec::new(), Vec::new());
        let (mut requests, mut mem) = (Vec::new(), Vec::new());
        while let Some((_, msg)) = self.bench.received("l1_rsp") {
            answers.push(answer_of(&msg));
        }
        while let Some((_, msg)) = self.bench.received("mem_req") {
            requests.push(memory_request_of(&msg));
        }
        for action in actions {
            match action {
                Action::Rsp(rsp) => wanted.push(rsp),
                Action::Mem(req) => mem.push(req),
            }
        }
        mem.iter_mut().for_each(|req: &mut UmcReq| {
            if let Work::Write { mask, data } = req.work {
                req.work = Work::Write { mask, data: data.masked(mask) };
            }
        });
        answers.sort();
        wanted.sort();
        assert_eq!(answers, wanted, "{at}: answers");
        assert_eq!(requests, mem, "{at}: requests to memory");
        requests.into_iter().for_each(|req| self.memory.take(req));
        for rsp in answers {
            self.bytes[1] += answer_bytes(&rsp);
            self.learn(&rsp);
        }
        while let Some((_, msg)) = self.bench.received("roll_ack") {
            assert_eq!(msg.get("epoch"), self.epoch, "{at}");
        }
        if let Some((_, msg)) = self.bench.received("roll_ask") {
            assert!(msg.get("epoch") <= self.model.epoch(), "{at}");
            self.asked = true;
        }
        if !self.model.asks() {
            self.asked = false;
        }
        self.compare_state(&at);
    }

    fn peek(&self, name: &str) -> u64 {
        self.bench.sim.peek(name).unwrap_or_else(|| panic!("no register {name}")).low_u64()
    }

    fn compare_state(&self, at: &str) {
        let got = (self.peek("epoch"), self.peek("mem_ts").max(1));
        assert_eq!(got, (self.model.epoch(), self.model.mem_ts()), "{at}: epoch, mem_ts");
        assert_eq!(self.peek("high_rts"), self.model.high(), "{at}: the greatest rts given");
        let (sim, tag_bits) = (&self.bench.sim, self.p.tag_bits());
        for (set, way) in (0..self.p.sets()).flat_map(|s| (0..self.p.ways).map(move |w| (s, w))) {
            let found = self.model.array().way((set as usize, way as usize));
            let cell = sim.peek_mem("tags", set, way).expect("a cell");
            let (tag, state) = (cell.slice(0, tag_bits).low_u64(), cell.slice(tag_bits, 2).low_u64());
            let dirty = self.model.dirty(found.line);
            let expected = match found.state {
                State::Invalid => 0,
                State::Valid if dirty != 0 => 2,
                State::Valid => 1,
                State::Locked => 3,
            };
            assert_eq!(state, expected, "{at}: state of set {set}, way {way}");
            if state == 0 {
                continue;
            }
            let t = &self.p.tsm;
            let low = t.il - 6;
            let inside =
                tag << self.p.set_select() | if self.p.set_select() == 0 { 0 } else { u64::from(set) };
            let line = inside >> low << low << t.bank_select()
                | if t.banks == 1 { 0 } else { BANK << low }
                | (inside & ((1 << low) - 1));
            assert_eq!(line, found.line, "{at}: line of set {set}, way {way}");
            if state == 3 {
                continue;
            }
            let row = set * self.p.ways + way;
            let stamps = sim.peek_mem("stamps", set, way).expect("a cell");
            let lease = (stamps.slice(0, t.ts).low_u64(), stamps.slice(t.ts, t.ts).low_u64());
            assert_eq!(lease, (found.wts, found.rts), "{at}: lease of line {line:x}");
            let data = sim.peek_mem("lines", row, 0).expect("a row");
            assert_eq!(data.limbs(), found.data.words(), "{at}: data of line {line:x}");
            if state == 2 {
                let mask = sim.peek_mem("dirty", row, 0).expect("a row").low_u64();
                assert_eq!(mask, dirty, "{at}: dirty bytes of line {line:x}");
            }
        }
    }

    /// Offers a request of L1 0.
    pub fn ask_only(&mut self, line: u64, warpts: Time, wts: u64, work: Work) {
        self.cus[0].open.insert(0, line);
        let req = Request { src: 0, txn: 0, line, warpts, wts, work };
        let msg = request_message(&self.p.tsm, &req);
        self.bench.send("l1_req", msg);
    }

    /// Memory answers everything that has come to it.
    pub fn memory_brings(&mut self) {
        while let Some((_, msg)) = self.bench.received("mem_req") {
            self.memory.take(memory_request_of(&msg));
        }
        while let Some(rsp) = self.memory.serve(&mut self.rng) {
            let msg = memory_answer(&self.p.tsm, &rsp);
            self.bench.send("mem_rsp", msg);
        }
    }

    /// An output that was not ready offers something; it is taken now.
    pub fn offers(&mut self, channel: &str) {
        self.bench.run(40);
        assert_eq!(self.bench.get(&format!("{channel}_valid")), 1, "{channel} waits to be asked for");
        self.bench.sink_mut(channel).chance = 1.0;
        self.bench.step();
    }

    /// One request alone; its answer.
    pub fn alone(&mut self, line: u64, warpts: Time, wts: u64, work: Work) -> UpRsp {
        self.ask_only(line, warpts, wts, work);
        for _ in 0..2000 {
            self.bench.step();
            self.memory_brings();
            if let Some((_, msg)) = self.bench.received("l1_rsp") {
                self.cus[0].open.clear();
                return answer_of(&msg);
            }
        }
        panic!("never answered");
    }

    fn set_of(&self, line: u64) -> u64 {
        layout(&self.p.tsm).in_umc(line) % u64::from(self.p.sets())
    }

    /// The other lines of a line's set.
    pub fn same_set(&self, line: u64) -> Vec<u64> {
        self.lines
            .iter()
            .copied()
            .filter(|other| *other != line && self.set_of(*other) == self.set_of(line))
            .collect()
    }
}
