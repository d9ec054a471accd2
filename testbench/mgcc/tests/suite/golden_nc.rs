//! The banks without coherence: write-through (`L2` without stamps) and write-back (`WriteBack`). Two GPUs' banks over one lane without a TSU; each GPU owns the even or
//! odd words of shared lines, and some lines alone. What a GPU owns it must always find as it left it, whatever the other GPU does to the rest of the line.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use weft_blocks::msg::AmoOp;
use weft_mgcc_bench::golden::l1::Stall;
use weft_mgcc_bench::golden::l2::{L2, L2Action, L2Params};
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::{Atomic, Data, UmcReq, UmcRsp, UpReq, UpRsp, Work};
use weft_mgcc_bench::golden::time::Widths;
use weft_mgcc_bench::golden::tracker::TrackerParams;
use weft_mgcc_bench::golden::tsu::TsuParams;
use weft_mgcc_bench::golden::umc::Lane;
use weft_mgcc_bench::golden::wb::{WbAction, WbParams, WriteBack};

const LAYOUT: Layout = Layout { banks: 2, lanes: 1, il: 6 };
const WIDTHS: Widths = Widths { ts: 16, eb: 4 };
const GPUS: usize = 2;
/// Even line numbers: all in bank 0. Lines 8 and 10 belong to GPU 0 and 1 alone.
const LINES: [u64; 6] = [0, 2, 4, 6, 8, 10];

enum Bank {
    Through(L2),
    Back(WriteBack),
}

enum Sent {
    Rsp(UpRsp),
    Mem(UmcReq),
}

impl Bank {
    fn new(back: bool, gpu: u32) -> Bank {
        let (sets, ways, mshrs, pool) = (1, 2, 3, 3);
        if back {
            let (wrsp_always, home) = (false, false);
            let p = WbParams { gpu, sets, ways, layout: LAYOUT, mshrs, pool, wrsp_always, home };
            return Bank::Back(WriteBack::new(p));
        }
        Bank::Through(L2::new(L2Params {
            gpu,
            sets,
            ways,
            layout: LAYOUT,
            widths: WIDTHS,
            mshrs,
            pool,
            coherent: false,
            eager: true,
            repl_ts: true,
            wrsp_always: false,
            inject: None,
        }))
    }
    fn request(&mut self, req: UpReq) -> Result<Vec<Sent>, Stall> {
        match self {
            Bank::Through(l2) => l2.request(req).map(through),
            Bank::Back(wb) => wb.request(req).map(back),
        }
    }
    fn rsp(&mut self, rsp: &UmcRsp) -> Vec<Sent> {
        match self {
            Bank::Through(l2) => through(l2.rsp(rsp)),
            Bank::Back(wb) => back(wb.rsp(rsp)),
        }
    }
    fn replays(&self) -> Vec<u32> {
        match self {
            Bank::Through(l2) => l2.replays(),
            Bank::Back(wb) => wb.replays(),
        }
    }
    fn replay(&mut self, txn: u32) -> Vec<Sent> {
        match self {
            Bank::Through(l2) => through(l2.replay(txn)),
            Bank::Back(wb) => back(wb.replay(txn)),
        }
    }
}

fn through(actions: Vec<L2Action>) -> Vec<Sent> {
    let sent = |action| match action {
        L2Action::Rsp(rsp) => Sent::Rsp(rsp),
        L2Action::Mem(req) => Sent::Mem(req),
        L2Action::Note { .. } | L2Action::RollAck(_) => panic!("a bank without coherence sends no notes"),
    };
    actions.into_iter().map(sent).collect()
}

fn back(actions: Vec<WbAction>) -> Vec<Sent> {
    let sent = |action| match action {
        WbAction::Rsp(rsp) => Sent::Rsp(rsp),
        WbAction::Mem(req) => Sent::Mem(req),
    };
    actions.into_iter().map(sent).collect()
}

/// Bytes of a line that a GPU owns.
fn owned(gpu: usize, line: u64) -> u64 {
    match line {
        8 => {
            if gpu == 0 {
                u64::MAX
            } else {
                0
            }
        }
        10 => {
            if gpu == 1 {
                u64::MAX
            } else {
                0
            }
        }
        _ => 0x0f0f_0f0f_0f0f_0f0f << (4 * gpu),
    }
}

fn lane() -> Lane {
    let tracker = TrackerParams {
        entries: 4,
        age_max: 8,
        sc: false,
        merge_raw: false,
        coherent: false,
        wrsp_always: false,
        layout: LAYOUT,
        widths: WIDTHS,
    };
    let tsu = TsuParams { sets: 1, ways: 1, widths: WIDTHS, accumulate: true, exact: true, inject: None };
    Lane::new(tracker, tsu, |line| Data([line as u8; 64]), (1, 1))
}

struct Expected {
    mask: u64,
    data: Data,
    old: u64,
}

struct Fabric {
    banks: Vec<Bank>,
    links: Vec<VecDeque<UmcReq>>,
    answers: Vec<Vec<UmcRsp>>,
    lane: Lane,
    /// What each GPU has made of its lines, in the order in which its bank has taken the requests.
    own: Vec<BTreeMap<u64, Data>>,
    open: BTreeMap<(u32, u32), Expected>,
    txn: u32,
    random: SmallRng,
}

impl Fabric {
    fn new(back: bool, seed: u64) -> Fabric {
        let memory = LINES.map(|line| (line, Data([line as u8; 64])));
        Fabric {
            banks: (0..GPUS as u32).map(|gpu| Bank::new(back, gpu)).collect(),
            links: vec![VecDeque::new(); GPUS],
            answers: vec![Vec::new(); GPUS],
            lane: lane(),
            own: vec![BTreeMap::from(memory); GPUS],
            open: BTreeMap::new(),
            txn: 0,
            random: SmallRng::seed_from_u64(seed),
        }
    }
    fn work(&mut self, own: u64) -> Work {
        let random = &mut self.random;
        let words: Vec<u32> = (0..16).filter(|word| own >> (4 * word) & 0xf == 0xf).collect();
        match random.random_range(0..10) {
            0..4 => Work::Read,
            4..7 => {
                let mask = if random.random_bool(0.4) { own } else { own & random.random::<u64>() };
                Work::Write { mask, data: Data::from_words(random.random()).masked(mask) }
            }
            7..9 if own == u64::MAX => {
                Work::Write { mask: u64::MAX, data: Data::from_words(random.random()) }
            }
            _ => {
                let word = words[random.random_range(0..words.len())];
                let (op, signed, wide, compare) = (AmoOp::Add, false, false, 0);
                Work::Atomic(Atomic { op, signed, word, wide, operand: random.random(), compare })
            }
        }
    }
    /// A random request of a GPU, if its bank takes it.
    fn request(&mut self, gpu: usize) {
        let line = LINES[self.random.random_range(0..LINES.len())];
        let own = owned(gpu, line);
        let work = if own == 0 { Work::Read } else { self.work(own) };
        let force = work == Work::Read && self.random.random_ratio(1, 8);
        self.txn += 1;
        let (src, txn) = (gpu as u32, self.txn);
        let req = UpReq { src, txn, line, force, tag: 0, ts: None, work };
        let Ok(sent) = self.banks[gpu].request(req) else { return };
        let data = self.own[gpu].get_mut(&line).expect("the line is known");
        let old = match work {
            Work::Read => 0,
            Work::Write { mask, data: new } => {
                data.merge(mask, &new);
                0
            }
            Work::Atomic(atomic) => atomic.perform(data),
        };
        self.open.insert((src, txn), Expected { mask: own, data: data.masked(own), old });
        self.sent(gpu, sent);
    }
    fn sent(&mut self, gpu: usize, sent: Vec<Sent>) {
        for sent in sent {
            match sent {
                Sent::Mem(req) => self.links[gpu].push_back(req),
                Sent::Rsp(rsp) => {
                    let found = self.open.remove(&(rsp.dst, rsp.txn)).expect("one answer per request");
                    assert_eq!(rsp.old, found.old, "old value in {rsp:?}");
                    if let Some(data) = rsp.data {
                        assert_eq!(data.masked(found.mask), found.data, "own bytes in {rsp:?}");
                    }
                }
            }
        }
    }
    /// One random thing happens; false if nothing can.
    fn step(&mut self) -> bool {
        let gpu = self.random.random_range(0..GPUS);
        match self.random.random_range(0..4) {
            0 => {
                if let Some(req) = self.links[gpu].front().filter(|_| self.lane.tracker().can_take()) {
                    self.lane.arrive(*req);
                    self.links[gpu].pop_front();
                }
            }
            1 => {
                let ready = self.lane.ready();
                if let Some(slot) = self.lane.choices().first().copied() {
                    self.lane.issue(slot);
                } else if let Some(slot) = ready.first() {
                    let rsp = self.lane.respond(*slot);
                    self.answers[rsp.dst as usize].push(rsp);
                }
            }
            2 => {
                if !self.answers[gpu].is_empty() {
                    let which = self.random.random_range(0..self.answers[gpu].len());
                    let rsp = self.answers[gpu].remove(which);
                    let sent = self.banks[gpu].rsp(&rsp);
                    self.sent(gpu, sent);
                }
            }
            _ => {
                if let Some(txn) = self.banks[gpu].replays().first() {
                    let sent = self.banks[gpu].replay(*txn);
                    self.sent(gpu, sent);
                }
            }
        }
        !self.open.is_empty() || self.links.iter().any(|link| !link.is_empty())
    }
    fn run(&mut self, requests: usize) {
        for _ in 0..requests {
            let gpu = self.random.random_range(0..GPUS);
            self.request(gpu);
            for _ in 0..self.random.random_range(0..12) {
                self.step();
            }
        }
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 100_000, "{} requests are never answered", self.open.len());
        }
    }
}

#[test]
fn write_through_without_coherence() {
    for seed in 0..60 {
        let mut fabric = Fabric::new(false, seed);
        fabric.run(300);
        for line in LINES {
            for gpu in 0..GPUS {
                let mask = owned(gpu, line);
                assert_eq!(fabric.lane.dram().line(line).masked(mask), fabric.own[gpu][&line].masked(mask));
            }
        }
    }
}

#[test]
fn write_back_without_coherence() {
    let mut dirty_lines = 0;
    for seed in 0..60 {
        let mut fabric = Fabric::new(true, seed);
        fabric.run(300);
        let mut memory: BTreeMap<u64, Data> = LINES.map(|line| (line, fabric.lane.dram().line(line))).into();
        for bank in &mut fabric.banks {
            let Bank::Back(wb) = bank else { panic!("a write-back bank") };
            for (line, mask, data) in wb.write_back() {
                dirty_lines += 1;
                memory.get_mut(&line).expect("the line is known").merge(mask, &data);
            }
            assert_eq!(wb.write_back(), vec![], "all is clean");
            wb.invalidate();
            assert_eq!(wb.array().iter().count(), 0);
        }
        for line in LINES {
            for gpu in 0..GPUS {
                let mask = owned(gpu, line);
                assert_eq!(memory[&line].masked(mask), fabric.own[gpu][&line].masked(mask), "line {line}");
            }
        }
    }
    assert!(dirty_lines > 60, "write-back keeps lines dirty: {dirty_lines}");
}

/// A dirty victim is written back and acknowledged before the miss is sent; the second read hits.
#[test]
fn a_dirty_victim_goes_first() {
    let Bank::Back(mut wb) = Bank::new(true, 0) else { panic!("a write-back bank") };
    let req = |txn, line, work| UpReq { src: 0, txn, line, force: false, tag: 0, ts: None, work };
    let full = |byte| Work::Write { mask: u64::MAX, data: Data([byte; 64]) };
    for (txn, line) in [(1, 0), (2, 2)] {
        let actions = wb.request(req(txn, line, full(txn as u8))).expect("there is room");
        assert!(matches!(actions[..], [WbAction::Rsp(_)]), "a full line needs no fetch: {actions:?}");
    }
    let actions = wb.request(req(3, 4, Work::Read)).expect("there is room");
    let [WbAction::Mem(first)] = actions[..] else { panic!("the victim alone: {actions:?}") };
    assert_eq!((first.line, first.work), (0, full(1)));
    let answer = |asked: UmcReq, data| UmcRsp {
        op: asked.work.op(),
        dst: 0,
        txn: asked.txn,
        tag: 0,
        wts: 0,
        rts: 0,
        data,
        old: 0,
    };
    let actions = wb.rsp(&answer(first, None));
    let [WbAction::Mem(second)] = actions[..] else { panic!("then the miss: {actions:?}") };
    assert_eq!((second.line, second.work, second.txn), (4, Work::Read, first.txn));
    let actions = wb.rsp(&answer(second, Some(Data([9; 64]))));
    assert!(
        matches!(actions[..], [WbAction::Rsp(rsp)] if rsp.data == Some(Data([9; 64])) && rsp.from_memory)
    );
    let actions = wb.request(req(4, 4, Work::Read)).expect("there is room");
    assert!(matches!(actions[..], [WbAction::Rsp(rsp)] if !rsp.from_memory));
    assert_eq!((wb.dirty(0), wb.dirty(2), wb.dirty(4)), (0, u64::MAX, 0));
}
