//! L1 and golden L1 side by side over golden banks: one event, then everything that follows from it.

mod overlap;

use crate::gtsc_l1::gtsc_bench::{Memory, answer_message, atomic, cu_answer, cu_message, plain, request_of};
use crate::wire::{compare_l1, far};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_blocks::msg::{CuReq as CuReqMsg, CuRsp as CuRspMsg};
use weft_mgcc::gtsc::{GtscReq, gtsc_l1};
use weft_mgcc::l1::L1Params;
use weft_mgcc::msg::{Roll, RollAck, UpRsp as UpRspMsg};
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::golden::gtsc::l1::{Action, L1, Params};
use weft_mgcc_bench::golden::gtsc::l2::{Action as L2Action, L2, Params as L2Params};
use weft_mgcc_bench::golden::gtsc::{Request, answer_bytes};
use weft_mgcc_bench::golden::l1::{CuReq, CuRsp, CuWork};
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::{Data, UpRsp, Work};
use weft_mgcc_bench::golden::time::{Time, Widths};

const OWN: u64 = 1;
const LINES: u64 = 12;

/// The golden model, with so many places in the pool.
fn golden(p: &L1Params, pool: u32) -> L1 {
    L1::new(Params {
        own: OWN as u32,
        sets: p.sets() as usize,
        ways: p.ways as usize,
        widths: Widths { ts: p.tsm.ts, eb: p.tsm.eb },
        mshrs: p.mshrs() as usize,
        pool: pool as usize,
        self_inc: u64::from(p.self_inc),
        repl_ts: p.repl_ts,
    })
}

/// L1 and model.
pub struct Pair {
    pub bench: Bench,
    pub model: L1,
    banks: Vec<L2>,
    memory: Memory,
    layout: Layout,
    p: L1Params,
    rng: SmallRng,
    epoch: u64,
    untold: bool,
    /// Requests that the banks have not performed, and answers not delivered, with their epochs.
    asked: Vec<(u64, Request)>,
    ready: Vec<(u64, UpRsp)>,
    open: BTreeMap<u32, CuReq>,
    next_id: u32,
    event: usize,
    got: Vec<CuRsp>,
    bytes: [u64; 2],
    other: Time,
}

impl Pair {
    pub fn new(p: &L1Params, seed: u64) -> Pair {
        let t = &p.tsm;
        let mut bench = Bench::new(&gtsc_l1(p).expect("legal parameters"), seed);
        bench.source::<CuReqMsg>("cu_req", &t.cu());
        bench.sink::<CuRspMsg>("cu_rsp", &t.cu());
        bench.sink::<GtscReq>("up_req", t);
        bench.source::<UpRspMsg>("dn_rsp", t);
        bench.source::<Roll>("roll", t);
        bench.sink::<RollAck>("roll_ack", t);
        bench.set("own", OWN);
        crate::wire::age_alike(&mut bench.sim, p.sets());
        bench.run(u64::from(p.sets()) + 8);
        let layout = Layout { banks: u64::from(t.banks), lanes: u64::from(t.lanes), il: 6 };
        let widths = Widths { ts: t.ts, eb: t.eb };
        let bank = L2Params { gpu: 0, sets: 2, ways: 2, layout, widths, lease: 10, mshrs: 8, pool: 8 };
        Pair {
            bench,
            model: golden(p, p.pool),
            banks: vec![L2::new(bank); t.banks as usize],
            memory: Memory::default(),
            layout,
            p: p.clone(),
            rng: SmallRng::seed_from_u64(seed),
            epoch: 0,
            untold: false,
            asked: Vec::new(),
            ready: Vec::new(),
            open: BTreeMap::new(),
            next_id: 0,
            event: 0,
            got: Vec::new(),
            bytes: [0; 2],
            other: Time::default(),
        }
    }

    /// Random events, then everything to its end.
    pub fn run(&mut self, events: usize) {
        for event in 0..events {
            self.event = event;
            let actions = match self.rng.random_range(0..100) {
                0..45 => self.request(),
                45..60 => self.perform(),
                60..82 => self.deliver(),
                82..92 => self.other(),
                _ => self.roll_step(),
            };
            self.compare(actions);
        }
        while !self.model.idle() || self.untold {
            let actions = match self.rng.random_range(0..3) {
                0 => self.perform(),
                1 => self.deliver(),
                _ => self.roll_step(),
            };
            self.compare(actions);
        }
        self.check_bytes();
    }

    fn check_bytes(&self) {
        if (9..=16).contains(&self.p.tsm.ts) {
            let sum = |way: &str| {
                let classes = ["read", "write", "atomic"];
                classes.iter().map(|c| self.bench.counted(&format!("mgcc_l1_{way}_bytes_{c}"))).sum::<u64>()
            };
            assert_eq!([sum("up"), sum("dn")], self.bytes, "bytes up and down");
        }
    }

    fn settle(&mut self) {
        for _ in 0..40 {
            let time = self.bench.get("cu_time");
            self.bench.step();
            while let Some((_, msg)) = self.bench.received("cu_rsp") {
                let req = self.open.remove(&(msg.get("id") as u32)).expect("it was asked for");
                let time = Time::unpack(time, self.p.tsm.ts);
                self.got.push(cu_answer(&msg, time, req.work == CuWork::Kend));
            }
        }
    }

    fn rest(&mut self, mut actions: Vec<Action>) -> Vec<Action> {
        // The hardware carries a fence out before it replays what waits.
        loop {
            while let Some(id) = self.model.fences().first() {
                actions.push(self.model.fence(*id));
            }
            let Some(txn) = self.model.replays().first().copied() else { return actions };
            actions.extend(self.model.replay(txn));
        }
    }

    fn offer(&mut self, line: u64, mask: u64, work: CuWork) -> Vec<Action> {
        let req = CuReq { id: self.next_id, line, mask, work };
        if self.open.contains_key(&req.id) || !self.model.can_take(&req) {
            return Vec::new();
        }
        self.next_id = (self.next_id + 1) % 64;
        if !matches!(work, CuWork::Store { want_ack: false, .. }) {
            self.open.insert(req.id, req);
        }
        let release = self.rng.random();
        self.bench.send("cu_req", cu_message(&self.p.tsm, &req, release));
        self.settle();
        let actions = self.model.cu(req).expect("room");
        self.rest(actions)
    }

    fn request(&mut self) -> Vec<Action> {
        let (line, mask, work) = self.draw(LINES);
        let fences = !matches!(work, CuWork::Load { .. } | CuWork::Store { .. } | CuWork::Atomic(_));
        if fences && self.model.fencing() { Vec::new() } else { self.offer(line, mask, work) }
    }

    /// One of so many lines.
    fn line(&mut self, lines: u64) -> u64 {
        far(self.rng.random_range(0..lines), self.p.tsm.line_bits())
    }

    /// One of so many lines, bytes and work of a random request.
    fn draw(&mut self, lines: u64) -> (u64, u64, CuWork) {
        let line = self.line(lines);
        let any = 1u64 << self.rng.random_range(0..64) | self.rng.random::<u64>();
        match self.rng.random_range(0..100) {
            0..48 => (line, any, CuWork::Load { sync: false }),
            48..56 => (line, any, CuWork::Load { sync: true }),
            56..84 => {
                let mask = if self.rng.random_bool(0.3) { u64::MAX } else { any };
                let (data, want_ack) = (Data::from_words(self.rng.random()), self.rng.random());
                (line, mask, CuWork::Store { data, want_ack })
            }
            84..92 => {
                let a = atomic(&mut self.rng);
                (line, a.mask(), CuWork::Atomic(a))
            }
            92..98 => (0, 0, if self.rng.random() { CuWork::Fence } else { CuWork::Kend }),
            _ => {
                let ts = self.rng.random_range(0..self.p.tsm.ts_max() / 4);
                (0, 0, CuWork::Kbegin(Time::new(self.epoch, ts)))
            }
        }
    }

    /// A bank performs a request to its end.
    fn bank(&mut self, req: Request) -> UpRsp {
        let at = self.layout.bank(req.line);
        if self.banks[at].full() {
            self.begin_epoch();
        }
        let mut actions = self.banks[at].request(plain(req)).expect("an idle bank");
        loop {
            let mut answer = None;
            for action in actions.drain(..) {
                match action {
                    L2Action::Mem(req) => self.memory.take(req),
                    L2Action::Rsp(rsp) => answer = Some(rsp),
                }
            }
            if let Some(answer) = answer {
                self.epoch = self.epoch.max(self.banks[at].epoch());
                return answer;
            }
            let rsp = self.memory.serve(&mut self.rng).expect("memory was asked");
            actions = self.banks[at].rsp(&rsp);
            while let Some(txn) = self.banks[at].replays().first() {
                actions.extend(self.banks[at].replay(*txn));
            }
        }
    }

    fn perform(&mut self) -> Vec<Action> {
        if !self.asked.is_empty() {
            let (_, req) = self.asked.swap_remove(self.rng.random_range(0..self.asked.len()));
            let rsp = self.bank(req);
            self.ready.push((self.epoch, rsp));
        }
        Vec::new()
    }

    fn deliver(&mut self) -> Vec<Action> {
        if self.ready.is_empty() {
            return Vec::new();
        }
        let (_, rsp) = self.ready.swap_remove(self.rng.random_range(0..self.ready.len()));
        self.bytes[1] += answer_bytes(&rsp);
        let msg = answer_message(&self.p.tsm, &rsp);
        self.bench.send("dn_rsp", msg);
        self.settle();
        let actions = self.model.rsp(&rsp);
        self.rest(actions)
    }

    /// Another CU reads or writes.
    fn other(&mut self) -> Vec<Action> {
        let line = self.line(LINES);
        let write = self.rng.random_bool(0.7);
        let (mask, data) = (self.rng.random(), Data::from_words(self.rng.random()));
        let work = if write { Work::Write { mask, data } } else { Work::Read };
        self.other_does(line, work);
        Vec::new()
    }

    fn other_does(&mut self, line: u64, work: Work) {
        if self.other.epoch < self.epoch {
            self.other = Time::new(self.epoch, 0);
        }
        let rsp = self.bank(Request { src: 0, txn: 0, line, warpts: self.other, wts: 0, work });
        if self.other.epoch < self.epoch {
            self.other = Time::new(self.epoch, 0);
        }
        self.other.ts = self.other.ts.max(rsp.wts);
    }

    /// Another CU writes a value into bytes of a line.
    pub fn other_writes(&mut self, line: u64, mask: u64, value: u8) {
        self.other_does(line, Work::Write { mask, data: Data([value; 64]) });
    }

    fn begin_epoch(&mut self) {
        if self.untold {
            let actions = self.tell();
            self.compare(actions);
        }
        // Nothing on its way is older than the tags can tell.
        while self.asked.iter().map(|a| a.0).chain(self.ready.iter().map(|r| r.0)).any(|e| e + 1 < self.epoch)
        {
            let actions = self.deliver();
            self.compare(actions);
            if let Some(at) = self.asked.iter().position(|a| a.0 + 1 < self.epoch) {
                let (_, req) = self.asked.swap_remove(at);
                let rsp = self.bank(req);
                self.ready.push((self.epoch, rsp));
            }
        }
        self.epoch += 1;
        self.untold = true;
        self.banks.iter_mut().for_each(|bank| bank.roll(self.epoch));
    }

    fn tell(&mut self) -> Vec<Action> {
        self.untold = false;
        self.bench.send("roll", Msg::of::<Roll>(&self.p.tsm, &[("epoch", self.epoch)]));
        self.settle();
        self.model.roll(self.epoch);
        let (_, ack) = self.bench.received("roll_ack").expect("swept");
        assert_eq!(ack.get("epoch"), self.epoch);
        self.rest(Vec::new())
    }

    fn roll_step(&mut self) -> Vec<Action> {
        if self.untold {
            return self.tell();
        }
        let old =
            self.asked.iter().map(|a| a.0).chain(self.ready.iter().map(|r| r.0)).any(|e| e < self.epoch);
        if !old && self.rng.random_bool(0.4) {
            self.begin_epoch();
        }
        Vec::new()
    }

    fn compare(&mut self, actions: Vec<Action>) {
        let at = format!("event {} cycle {}", self.event, self.bench.sim.cycle());
        let (mut up, mut cu) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Up(req) => up.push(plain(req)),
                Action::Cu(rsp) => cu.push(rsp),
            }
        }
        let mut sent = Vec::new();
        while let Some((_, msg)) = self.bench.received("up_req") {
            sent.push(request_of(&self.p.tsm, &msg));
        }
        assert_eq!(sent, up, "{at}: requests to banks");
        for req in sent {
            self.bytes[0] += req.bytes();
            self.asked.push((self.epoch, req));
        }
        let mut got = std::mem::take(&mut self.got);
        got.sort_by_key(|rsp| rsp.id);
        cu.sort_by_key(|rsp| rsp.id);
        assert_eq!(got, cu, "{at}: answers to the CU");
        let clock = self.register("cts");
        assert_eq!(Time::unpack(clock, self.p.tsm.ts), self.model.warpts(), "{at}: warpts");
        let size = (self.p.sets(), self.p.ways);
        compare_l1(&self.bench.sim, size, Some(self.p.tsm.ts), self.model.array(), &at);
    }

    fn register(&self, name: &str) -> u64 {
        self.bench.sim.peek(name).unwrap_or_else(|| panic!("no register {name}")).low_u64()
    }

    /// One operation alone; its answer.
    pub fn alone(&mut self, line: u64, mask: u64, work: CuWork) -> CuRsp {
        let mut actions = self.offer(line, mask, work);
        for _ in 0..20 {
            let answer = self.got.first().copied();
            self.compare(actions);
            if let Some(answer) = answer {
                return answer;
            }
            self.perform();
            actions = self.deliver();
        }
        panic!("never answered");
    }
}
