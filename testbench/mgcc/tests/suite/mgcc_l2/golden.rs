//! The bank against the golden model, one event at a time: a request, an answer of memory, or a step of a new epoch; then everything that follows from it.

use crate::l2_bench::convert;
use crate::wire::layout;

use crate::mgcc_l2::l2_bench::{Bench, GPU, Mood, op};
use convert::{answer, kind, request, sent};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use weft_mgcc::choice::{Inject, ReadTs};
use weft_mgcc::l2::L2Params;
use weft_mgcc_bench::golden::array::State;
use weft_mgcc_bench::golden::inject;
use weft_mgcc_bench::golden::l2::{L2, L2Action, L2Params as GoldenParams};
use weft_mgcc_bench::golden::msg::{Data, UmcReq, UmcRsp, UpRsp};
use weft_mgcc_bench::golden::time::Widths;

fn golden(p: &L2Params, wrsp_always: bool) -> L2 {
    let t = &p.tsm;
    L2::new(GoldenParams {
        gpu: GPU as u32,
        sets: p.sets() as usize,
        ways: p.ways as usize,
        layout: layout(t),
        widths: Widths { ts: t.ts, eb: t.eb },
        mshrs: t.l2_mshrs as usize,
        pool: p.pool as usize,
        coherent: p.coherent(),
        eager: p.read_ts == ReadTs::Eager,
        repl_ts: p.repl_ts,
        wrsp_always,
        inject: match p.inject {
            Inject::LitReadCts => Some(inject::Inject::LitReadCts),
            Inject::LitBrts => Some(inject::Inject::LitBrts),
            Inject::LitAckNodata => Some(inject::Inject::LitAckNodata),
            _ => None,
        },
    })
}

/// Bank and model side by side.
pub struct Pair {
    pub bench: Bench,
    model: L2,
    p: L2Params,
    rng: SmallRng,
    seed: u64,
}

impl Pair {
    pub fn new(p: &L2Params, seed: u64) -> Pair {
        let mut bench = Bench::new(p, seed);
        let always = seed % 3 == 1;
        bench.full_data = always;
        bench.keep = true;
        bench.judges = p.inject == Inject::None;
        bench.mood = Mood { serve: 0.0, bring: 0.0, roll_step: 0.0, ..Mood::calm() };
        bench.memory.slack = 0;
        (0..20).for_each(|_| bench.cycle());
        Pair { bench, model: golden(p, always), p: p.clone(), rng: SmallRng::seed_from_u64(seed), seed }
    }

    /// Random events.
    pub fn run(&mut self, events: usize) {
        for event in 0..events {
            let draw = self.rng.random_range(0..100);
            let expected = match draw {
                0..45 => self.request(),
                45..90 => self.answer(),
                90..96 => self.clocks(),
                _ => self.roll(),
            };
            self.compare(event, expected);
        }
        self.bench.mood = Mood { roll_step: 0.0, ..Mood::calm() };
    }

    fn settle(&mut self) {
        (0..40).for_each(|_| self.bench.cycle());
    }

    fn request(&mut self) -> Vec<L2Action> {
        // What the bank can take without waiting: the model says.
        let (l1, line) = (self.rng.random_range(0..self.bench.l1s.len()), self.rng.random_range(0..16));
        let line = self.bench.lines[line % self.bench.lines.len()];
        let draw = self.rng.random_range(0..10);
        let (code, force, mask) = match draw {
            0..5 => (op::RD, false, 0),
            // With this slip the model withholds the line from forced reads and atomics, too.
            5 | 9 if self.p.inject == Inject::LitAckNodata => (op::RD, false, 0),
            5 => (op::RD, true, 0),
            6..8 => (op::WR, false, self.rng.random::<u64>() | 1),
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

    fn answer(&mut self) -> Vec<L2Action> {
        let Some(g) = self.bench.bring() else { return Vec::new() };
        self.settle();
        let mut actions = self.model.rsp(&UmcRsp {
            op: kind(g.op),
            dst: GPU as u32,
            txn: g.txn as u32,
            tag: if self.p.coherent() { g.epoch & 7 } else { 0 },
            wts: g.wts,
            rts: g.rts,
            data: g.with_data.then_some(Data(g.data)),
            old: g.old,
        });
        actions.extend(self.replays());
        actions
    }

    fn replays(&mut self) -> Vec<L2Action> {
        let mut actions = Vec::new();
        while let Some(txn) = self.model.replays().first() {
            actions.extend(self.model.replay(*txn));
        }
        actions
    }

    /// An L1's clock rises, another GPU is at work.
    fn clocks(&mut self) -> Vec<L2Action> {
        self.bench.mood.others = 1.0;
        self.bench.mood.clocks = 1.0;
        self.bench.cycle();
        self.bench.mood.others = 0.0;
        self.bench.mood.clocks = 0.0;
        Vec::new()
    }

    fn roll(&mut self) -> Vec<L2Action> {
        if !self.p.coherent() {
            return Vec::new();
        }
        self.bench.begin_roll();
        let before = self.bench.bank_rolled();
        self.bench.mood.roll_step = 0.6;
        self.bench.cycle();
        self.bench.mood.roll_step = 0.0;
        self.settle();
        if self.bench.bank_rolled() && !before {
            assert_eq!(self.model.roll(self.bench.epoch), L2Action::RollAck(self.bench.epoch));
        }
        Vec::new()
    }

    fn compare(&mut self, event: usize, actions: Vec<L2Action>) {
        let at = format!("seed {} event {event} cycle {}", self.seed, self.bench.sim.cycle());
        let mut answers: Vec<UpRsp> = self.bench.answers.drain(..).map(|a| answer(&self.p, &a)).collect();
        let mut wanted = Vec::new();
        let (mut mem, mut notes) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                L2Action::Rsp(rsp) => wanted.push(rsp),
                L2Action::Mem(req) => mem.push(req),
                L2Action::Note { line, rts, .. } => notes.push((line, rts)),
                L2Action::RollAck(_) => {}
            }
        }
        answers.sort();
        wanted.sort();
        assert_eq!(answers, wanted, "{at}: answers");
        let requests: Vec<UmcReq> =
            self.bench.sent.drain(..).filter(|m| m.op != op::EVICT).map(|m| sent(&m)).collect();
        assert_eq!(requests, mem, "{at}: requests to memory");
        let told: Vec<(u64, u64)> = self.bench.notes.drain(..).collect();
        assert_eq!(told, if self.p.evict_notes { notes } else { Vec::new() }, "{at}: EvictNotes");
        if self.p.coherent() {
            let cts = self.model.cts();
            assert_eq!(
                (self.bench.peek("epoch"), self.bench.peek("cts")),
                (cts.epoch, cts.ts),
                "{at}: clock"
            );
        }
        self.compare_blocks(&at);
    }

    fn compare_blocks(&self, at: &str) {
        let blocks = self.bench.blocks();
        assert_eq!(blocks.len(), self.model.array().iter().count(), "{at}: number of blocks");
        for (set, way, line, state, wts, rts) in blocks {
            let found = self.model.array().way((set as usize, way as usize));
            let expected = match found.state {
                State::Invalid => 0,
                State::Valid if self.model.txn_of(line).is_some() => 3,
                State::Valid => 1,
                State::Locked => 2,
            };
            assert_eq!((line, state), (found.line, expected), "{at}: set {set}, way {way}");
            if self.p.coherent() && state == 1 {
                assert_eq!((wts, rts), (found.wts, found.rts), "{at}: lease of line {line:x}");
            }
            assert_eq!(Data(self.bench.data_at(set, way)), found.data, "{at}: data of line {line:x}");
        }
    }
}
