//! The bank against the golden model, one event at a time: a request or an answer of memory; then everything that follows from it.

use crate::l2_bench::convert;
use crate::wire::layout;

use crate::l2_wb::l2_bench::{Bench, GPU, Mood, op};
use convert::{answer, kind, request, sent};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use weft_mgcc::choice::WrspData;
use weft_mgcc::l2::L2Params;
use weft_mgcc_bench::golden::array::State;
use weft_mgcc_bench::golden::msg::{Data, UmcReq, UmcRsp, UpRsp};
use weft_mgcc_bench::golden::wb::{WbAction, WbParams, WriteBack};

fn golden(p: &L2Params) -> WriteBack {
    let t = &p.tsm;
    WriteBack::new(WbParams {
        gpu: GPU as u32,
        sets: p.sets() as usize,
        ways: p.ways as usize,
        layout: layout(t),
        mshrs: t.l2_mshrs as usize,
        pool: p.pool as usize,
        wrsp_always: p.wrsp_data == WrspData::Always,
        home: p.home.is_some(),
    })
}

/// Bank and model side by side.
pub struct Pair {
    bench: Bench,
    model: WriteBack,
    p: L2Params,
    rng: SmallRng,
    seed: u64,
}

impl Pair {
    pub fn new(p: &L2Params, seed: u64) -> Pair {
        let mut bench = Bench::new(p, seed);
        bench.full_data = p.wrsp_data == WrspData::Always;
        bench.keep = true;
        bench.mood = Mood { serve: 0.0, bring: 0.0, ..Mood::calm() };
        bench.memory.slack = 0;
        (0..20).for_each(|_| bench.cycle());
        Pair { bench, model: golden(p), p: p.clone(), rng: SmallRng::seed_from_u64(seed), seed }
    }

    /// Random events.
    pub fn run(&mut self, events: usize) {
        for event in 0..events {
            let expected = match self.rng.random_range(0..100) {
                0..52 => self.request(),
                52..99 => self.answer(),
                _ => {
                    self.kernel_end(event);
                    Vec::new()
                }
            };
            self.compare(event, expected);
        }
    }

    fn settle(&mut self) {
        (0..40).for_each(|_| self.bench.cycle());
    }

    fn request(&mut self) -> Vec<WbAction> {
        let (l1, line) = (self.rng.random_range(0..self.bench.l1s.len()), self.rng.random_range(0..16));
        let line = self.bench.lines[line % self.bench.lines.len()];
        let (code, force, mask) = match self.rng.random_range(0..10) {
            0..4 => (op::RD, false, 0),
            4 => (op::RD, true, 0),
            5..8 => (op::WR, false, self.rng.random::<u64>() | 1),
            8 => (op::WR, false, u64::MAX),
            _ => (op::AMO, false, 0),
        };
        if self.bench.full() {
            return Vec::new();
        }
        let Some(ask) = self.bench.ask(l1, code, force, mask, line) else { return Vec::new() };
        let wanted = request(&self.p, &ask);
        self.bench.offer(ask);
        self.settle();
        let mut actions = self.model.request(wanted).expect("room");
        actions.extend(self.replays());
        actions
    }

    fn answer(&mut self) -> Vec<WbAction> {
        let Some(g) = self.bench.bring() else { return Vec::new() };
        self.settle();
        let data = g.with_data.then_some(Data(g.data));
        let (op, txn) = (kind(g.op), g.txn as u32);
        let rsp = UmcRsp { op, dst: GPU as u32, txn, tag: 0, wts: 0, rts: 0, data, old: g.old };
        let mut actions = self.model.rsp(&rsp);
        actions.extend(self.replays());
        actions
    }

    fn replays(&mut self) -> Vec<WbAction> {
        let mut actions = Vec::new();
        while let Some(txn) = self.model.replays().first() {
            actions.extend(self.model.replay(*txn));
        }
        actions
    }

    /// Everything finishes, dirty lines are written back, and every second time all lines are dropped.
    fn kernel_end(&mut self, event: usize) {
        for _ in 0..200 {
            let expected = self.answer();
            self.compare(event, expected);
        }
        assert!(self.model.idle());
        let mood = Mood { serve: 1.0, bring: 1.0, ..self.bench.mood.clone() };
        let calm = std::mem::replace(&mut self.bench.mood, mood);
        let drops = event % 2 == 1;
        self.bench.command(u64::from(!drops));
        self.bench.mood = calm;
        let wanted = self.model.write_back();
        if drops {
            self.model.invalidate();
        }
        let mut found: Vec<(u64, u64, Data)> =
            self.bench.sent.drain(..).map(|m| (m.line, m.mask, Data(m.data))).collect();
        found.sort();
        assert_eq!(found, wanted, "seed {} event {event}: written back", self.seed);
        self.bench.check_memory();
    }

    fn compare(&mut self, event: usize, actions: Vec<WbAction>) {
        let at = format!("seed {} event {event} cycle {}", self.seed, self.bench.sim.cycle());
        let mut answers: Vec<UpRsp> = self.bench.answers.drain(..).map(|a| answer(&self.p, &a)).collect();
        let (mut wanted, mut mem) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                WbAction::Rsp(rsp) => wanted.push(rsp),
                WbAction::Mem(req) => mem.push(req),
            }
        }
        answers.sort();
        wanted.sort();
        assert_eq!(answers, wanted, "{at}: answers");
        let requests: Vec<UmcReq> = self.bench.sent.drain(..).map(|m| sent(&m)).collect();
        assert_eq!(requests, mem, "{at}: requests to memory");
        let blocks = self.bench.blocks();
        assert_eq!(blocks.len(), self.model.array().iter().count(), "{at}: number of blocks");
        for (set, way, line, state, ..) in blocks {
            let found = self.model.array().way((set as usize, way as usize));
            let dirty = self.model.dirty(line);
            let expected = match found.state {
                State::Invalid => 0,
                State::Valid if dirty != 0 => 2,
                State::Valid => 1,
                State::Locked => 3,
            };
            assert_eq!((line, state), (found.line, expected), "{at}: set {set}, way {way}");
            if state == 2 {
                assert_eq!(self.bench.dirty_at(set, way), dirty, "{at}: dirty bytes of line {line:x}");
            }
            if state != 3 {
                assert_eq!(Data(self.bench.data_at(set, way)), found.data, "{at}: data of line {line:x}");
            }
        }
    }
}
