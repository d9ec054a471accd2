//! `gpu-vi-directory` against its golden model under random operations, back-pressure and late acknowledgements, and the sentences of hmg.md section 8 one by one.
//!
//! Rows: all of `gpu_vi.*`. Races: W, E, the queue, and who waits for an acknowledgement.

use crate::dir_slice_bench;
use crate::dir_support;

use dir_slice_bench::{hardware, random_line, random_request};
use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use weft_bench::Checked;
use weft_blocks::directory::protocols::gpu_vi;
use weft_blocks::directory::{self, DirKind, directory};
use weft_blocks::msg::ReqKind;
use weft_engine::Sim;
use weft_rtl::ir::Module;
use weft_rtl::prelude::HwEnum;
use weft_testbench::fault;
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::gpu_vi::ViCheck;
use weft_testbench::golden::gpu_vi::table::{ACKS, VI, ViAction, ViState};
use weft_testbench::golden::params::{self, DirParams, Policy};
use weft_testbench::golden::slice::{Request, Response};
use weft_testbench::golden::{GpuMask, Inv, InvCause, gpus_of, only};

/// A counter among the observers, and what it has counted.
struct Counter(usize, u64);

impl Counter {
    fn new(sim: &Sim, name: &str) -> Counter {
        Counter(sim.probes().position(|p| p.name == name).expect("a counter"), 0)
    }

    fn moved(&mut self, sim: &Sim) -> bool {
        let count = sim.probes().nth(self.0).expect("found before").count;
        let before = std::mem::replace(&mut self.1, count);
        assert!(count - before <= 1);
        count > before
    }
}

struct Bench {
    p: DirParams,
    sim: Checked,
    req: Sender,
    ack: Sender,
    rsp: Receiver,
    inv: Receiver,
    check: ViCheck,
    current: Option<Request>,
    taken: VecDeque<Request>,
    ops: Counter,
    queued: Counter,
    retried: Counter,
    /// Invs taken, a line for each destination, that are not acknowledged.
    owed: Vec<u64>,
    seen: Vec<Inv>,
    answers: Vec<Response>,
}

impl Bench {
    fn new(p: DirParams, pending: u32, tag_style: directory::TagStyle) -> Bench {
        let hardware = directory::DirParams { kind: DirKind::GPU_VI, pending, tag_style, ..hardware(&p) };
        Bench::on(p, &directory(&hardware).unwrap())
    }

    fn on(p: DirParams, module: &Arc<Module>) -> Bench {
        let sim = sim(module);
        Bench {
            req: Sender::new(&sim, "req", &["op", "src", "line", "id"]),
            ack: Sender::new(&sim, "ack", &["kind", "dst", "data"]),
            rsp: Receiver::new(&sim, "rsp", &["id", "hit", "evicted", "empty"]),
            inv: Receiver::new(&sim, "inv", &["line", "dest", "cause", "grp"]),
            check: ViCheck::new(p).unwrap(),
            current: None,
            taken: VecDeque::new(),
            ops: Counter::new(&sim, "ops"),
            queued: Counter::new(&sim, "queued_ops"),
            retried: Counter::new(&sim, "retried_ops"),
            owed: Vec::new(),
            seen: Vec::new(),
            answers: Vec::new(),
            p,
            sim,
        }
    }

    fn offer(&mut self, request: Request) {
        let Request { op, src, line, id } = request;
        let op = DirOp::ALL.iter().position(|o| *o == op).unwrap() as u64;
        self.req.offer(&mut self.sim, &[op, u64::from(src), line, id]);
        self.current = Some(request);
    }

    /// One cycle; the `ack`-th of the acknowledgements owed comes in it.
    fn cycle(&mut self, rsp_ready: bool, inv_ready: bool, ack: Option<usize>) {
        let acked = ack.map(|at| self.owed.swap_remove(at));
        if let Some(line) = acked {
            let kind = ReqKind::Ack.encoding();
            self.ack.offer(&mut self.sim, &[kind, u64::from(self.p.home), line]);
        }
        let (seen, inv) = (self.rsp.take(&mut self.sim, rsp_ready), self.inv.take(&mut self.sim, inv_ready));
        if self.req.taken(&mut self.sim) {
            self.taken.push_back(self.current.take().unwrap());
        }
        if let Some(m) = seen {
            let response = Response { id: m[0], hit: m[1] == 1, evicted: m[2] == 1, empty: m[3] == 1 };
            self.check.responded(response).unwrap();
            self.answers.push(response);
        }
        if let Some(m) = inv {
            let cause = if m[2] == 0 { InvCause::Write } else { InvCause::Evict };
            let inv = Inv { line: m[0], dest: m[1].into(), cause, grp: m[3] == 1 };
            self.check.invalidated(inv).unwrap();
            self.seen.push(inv);
            self.owed.extend(gpus_of(inv.dest).map(|_| inv.line));
        }
        assert_eq!(self.ack.taken(&mut self.sim), acked.is_some(), "acknowledgements are taken at once");
        self.sim.step();
        self.req.after(&mut self.sim);
        self.ack.after(&mut self.sim);
        if self.queued.moved(&self.sim) {
            self.check.queued(self.taken.pop_front().expect("an operation was taken")).unwrap();
        }
        if self.ops.moved(&self.sim) {
            if self.retried.moved(&self.sim) {
                self.check.performed_head().unwrap();
            } else {
                self.check.performed(self.taken.pop_front().expect("an operation was taken")).unwrap();
            }
        }
        if let Some(line) = acked {
            self.check.acknowledged(line).unwrap();
        }
        assert_sound(&self.sim);
    }

    fn rest(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.cycle(true, true, None));
    }

    fn drain(&mut self) {
        for _ in 0..4000 {
            let ack = (!self.owed.is_empty()).then_some(0);
            self.cycle(true, true, ack);
        }
        self.check.finish().unwrap();
        assert!(self.taken.is_empty() && self.req.idle());
    }

    /// Entries and ages of the memory are those of the golden model.
    fn compare_memory(&self) {
        for set in 0..self.p.sets() {
            let golden = self.check.set(set);
            for (way, entry) in golden.ways.iter().enumerate() {
                let bits = self.sim.peek_mem("entries", set as u32, way as u32).unwrap();
                let valid = bits.bit(bits.width() - 1);
                assert_eq!(valid, entry.is_some(), "valid of set {set} way {way}");
                let Some((base, sharers)) = entry else { continue };
                let width = self.p.sharers();
                let nodes = self.p.recordable();
                let recorded = nodes.iter().enumerate().filter(|(bit, _)| bits.bit(*bit as u32));
                let recorded: GpuMask = recorded.map(|(_, node)| only(*node)).sum();
                assert_eq!(recorded, *sharers, "sharers of set {set} way {way}");
                let tag = bits.slice(width, self.p.addr_bits).low_u64();
                assert_eq!(tag / self.p.lines_per_entry() / self.p.line, *base, "set {set} way {way}");
            }
            if self.p.ways > 1 {
                let ages = self.sim.peek_mem("ages", set as u32, 0).unwrap();
                for (way, expected) in golden.ages.iter().enumerate() {
                    let bits = self.p.age_bits();
                    let age = ages.slice(way as u32 * bits, bits).low_u64() as u32;
                    assert_eq!(age, *expected, "age of set {set} way {way}");
                }
            }
        }
    }
}

/// How a run presses the slice.
#[derive(Clone, Copy)]
struct Pressure {
    offer: f64,
    rsp: f64,
    inv: f64,
    ack: f64,
}

const PRESSURES: [Pressure; 4] = [
    Pressure { offer: 1.0, rsp: 1.0, inv: 1.0, ack: 1.0 },
    Pressure { offer: 1.0, rsp: 0.9, inv: 0.9, ack: 0.06 },
    Pressure { offer: 0.9, rsp: 0.3, inv: 0.15, ack: 0.5 },
    Pressure { offer: 0.4, rsp: 0.9, inv: 0.5, ack: 0.2 },
];

fn small() -> DirParams {
    DirParams { entries: 32, ways: 4, banks: 1, ..DirParams::new(params::DirKind::Nhcc) }
}

/// Parameters, the slice looked at, and rows of the pending table.
fn parameter_sets() -> Vec<(DirParams, u32, u32)> {
    let base = small();
    let of = |gpus, gpms, home, group| DirParams { gpus, gpms, home, group, ..base };
    vec![
        (base, 0, 32),
        (DirParams { evb_depth: 1, ..of(4, 4, 6, 4) }, 0, 2),
        (DirParams { policy: Policy::Fifo, ..of(2, 3, 5, 1) }, 0, 8),
        (DirParams { entries: 4 * 4 * 12, banks: 4, evb_depth: 2, line: 64, ..of(3, 2, 3, 8) }, 2, 5),
        (DirParams { entries: 5 * 3, ways: 3, evb_depth: 3, ..of(1, 8, 7, 2) }, 0, 16),
        (DirParams { evb_depth: 8, ..of(8, 1, 3, 4) }, 0, 3),
        (DirParams { entries: 2, ways: 2, ..of(16, 4, 37, 8) }, 0, 32),
        (DirParams { entries: 8, ways: 1, ..of(2, 2, 0, 2) }, 0, 32),
        (DirParams { entries: 8, ..of(3, 3, 10, 4) }, 0, 64),
    ]
}

fn random_run(
    (p, bank, pending): (DirParams, u32, u32),
    tag: directory::TagStyle,
    seed: u64,
    ops: u64,
) -> BTreeMap<String, u64> {
    let mut bench = Bench::new(p, pending, tag);
    press(&mut bench, bank, seed, ops);
    if tag == directory::TagStyle::Published {
        bench.compare_memory();
    }
    let hits = covers(&bench.sim);
    let rows = bench.check.rows();
    for id in VI.iter().map(|row| row.id).chain(ACKS.map(|(id, _)| id)) {
        assert_eq!(hits[id], rows.get(id).copied().unwrap_or(0), "row {id}");
    }
    hits
}

/// Random operations until all are answered.
fn press(bench: &mut Bench, bank: u32, seed: u64, ops: u64) {
    let (p, mut rng) = (bench.p, SmallRng::seed_from_u64(seed));
    let pressure = PRESSURES[seed as usize % PRESSURES.len()];
    let (mut sent, mut last) = (0, random_line(&p, bank, &mut rng));
    while sent < ops {
        if bench.req.idle() && rng.random_bool(pressure.offer) {
            let request = random_request(&p, bank, last, &mut rng, sent % 64);
            last = request.line;
            bench.offer(request);
            sent += 1;
        }
        let ack = !bench.owed.is_empty() && rng.random_bool(pressure.ack);
        let ack = ack.then(|| rng.random_range(0..bench.owed.len()));
        let (rsp, inv) = (rng.random_bool(pressure.rsp), rng.random_bool(pressure.inv));
        bench.cycle(rsp, inv, ack);
        assert!(bench.sim.cycle() < 200 * ops, "the slice goes on");
    }
    bench.drain();
    assert_eq!(bench.answers.len() as u64, ops, "every operation is answered once");
}

/// Each of these makes the slice wrong in one way; the checks must say so at some of the parameter sets.
#[test]
fn a_broken_slice_is_found_out() {
    let faults: [(&str, u64, &str); 11] = [
        ("awaited", 0, "nobody waits for acknowledgements"),
        ("awaited", 3, "everybody waits"),
        ("ways_in_w", 0, "an entry in W is evicted"),
        ("ways_in_w", 1, "way 0 is never evicted"),
        ("stall_no_way", 0, "an entry is evicted although all are in W"),
        ("stall_rows_full", 0, "a row is overwritten"),
        ("stall_invs_full", 0, "an Inv is lost"),
        ("accept_again", 0, "what waits is forgotten"),
        ("s1_joins", 0, "what must wait is lost"),
        ("pending_due", 0, "a completed store is not answered"),
        ("write_inv_sharers", 0, "a store tells nobody"),
    ];
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let unseen: Vec<&str> = faults
        .into_iter()
        .filter(|(name, value, _)| {
            !parameter_sets().into_iter().enumerate().any(|(i, (p, bank, pending))| {
                let hardware = directory::DirParams { kind: DirKind::GPU_VI, pending, ..hardware(&p) };
                let broken = fault::stuck(&directory(&hardware).unwrap(), name, *value, 300);
                [1, 2].into_iter().any(|pressure| {
                    let run = || press(&mut Bench::on(p, &broken), bank, 4 * i as u64 + pressure, 600);
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
                })
            })
        })
        .map(|(.., what)| what)
        .collect();
    std::panic::set_hook(hook);
    assert!(unseen.is_empty(), "not seen: {unseen:?}");
}

#[test]
fn gpu_vi_agrees_with_the_golden_directory() {
    let mut hits = BTreeMap::new();
    for (i, set) in parameter_sets().into_iter().enumerate() {
        for pressure in 0..4 {
            let seed = 4 * i as u64 + pressure;
            add(&mut hits, random_run(set, directory::TagStyle::Published, seed, 1500), seed);
        }
    }
    publish("dir_gpu_vi", &hits);
    assert_all_hit("gpu-vi-directory", &hits, &[]);
}

#[test]
fn a_minimal_tag_changes_nothing_at_the_ports() {
    for (i, set) in parameter_sets().into_iter().enumerate() {
        random_run(set, directory::TagStyle::Minimal, 1000 + i as u64, 600);
    }
}

/// A slice of GPM 1 of GPU 1 among 4 GPUs of 4 GPMs, node 5, after its reset.
fn steps(p: DirParams) -> Bench {
    let mut bench = Bench::new(DirParams { home: 5, ..p }, 8, directory::TagStyle::Published);
    bench.rest(p.sets() as usize + 4);
    bench
}

fn line(p: &DirParams, number: u64) -> u64 {
    5 << (p.home_shift - p.line.ilog2()) | number
}

impl Bench {
    /// Offers an operation and waits; whether it is answered.
    fn op(&mut self, op: DirOp, src: u32, line: u64, id: u64) -> bool {
        let before = self.answers.len();
        self.offer(Request { op, src, line, id });
        self.rest(14);
        self.answers[before..].iter().any(|answer| answer.id == id)
    }

    /// One acknowledgement; the operations that are answered then.
    fn one_ack(&mut self) -> Vec<u64> {
        let before = self.answers.len();
        self.cycle(true, true, Some(0));
        self.rest(14);
        self.answers[before..].iter().map(|answer| answer.id).collect()
    }
}

#[test]
fn a_store_is_answered_when_the_last_copy_is_gone() {
    let mut b = steps(small());
    let shared = line(&b.p, 12);
    for (id, src) in [4, 9, 14].into_iter().enumerate() {
        assert!(b.op(DirOp::RdRem, src, shared + id as u64, id as u64));
    }
    assert!(!b.op(DirOp::WrRem, 9, shared, 10), "Inv to the sharers, each acks");
    assert_eq!(b.seen.last().map(|inv| (inv.dest, inv.cause)), Some((only(4) | only(14), InvCause::Write)));
    assert!(!b.op(DirOp::RdRem, 12, shared + 3, 11), "requests to the group queue");
    assert!(!b.op(DirOp::WrLoc, 5, shared + 1, 12));
    assert!(b.op(DirOp::WrRem, 4, line(&b.p, 64), 13), "other groups go on");
    assert!(b.one_ack().is_empty(), "one copy is left");
    assert_eq!(
        b.one_ack(),
        [10, 11],
        "the store, then the load; the home's store has sharers to tell: W -> V{{s}}"
    );
    assert_eq!(b.seen.last().map(|inv| inv.dest), Some(only(9) | only(12)));
    assert!(b.one_ack().is_empty());
    assert_eq!(b.one_ack(), [12]);
    assert!(b.op(DirOp::WrLoc, 5, shared, 14), "I: nobody is recorded");
    b.drain();
}

#[test]
fn a_store_waits_for_the_copies_of_an_evicted_entry() {
    let mut b = steps(DirParams { entries: 8, ways: 1, ..small() });
    let (first, second) = (line(&b.p, 0), line(&b.p, 32));
    assert!(b.op(DirOp::RdRem, 4, first, 0));
    assert!(b.op(DirOp::RdRem, 9, second, 1), "an eviction does not hold the operation that causes it");
    assert_eq!(b.seen.last().map(|inv| (inv.dest, inv.cause)), Some((only(4), InvCause::Evict)));
    assert!(!b.op(DirOp::WrRem, 14, first, 2), "node 4 may still have the old value");
    assert_eq!(b.one_ack(), [2]);
    b.drain();
}

#[test]
fn a_load_does_not_wait_for_the_copies_of_an_evicted_entry() {
    let mut b = steps(DirParams { entries: 8, ways: 1, ..small() });
    let (first, second) = (line(&b.p, 0), line(&b.p, 32));
    assert!(b.op(DirOp::RdRem, 4, first, 0) && b.op(DirOp::RdRem, 9, second, 1));
    assert!(b.op(DirOp::RdRem, 4, first, 2), "a lost copy at worst");
    assert!(b.op(DirOp::RdRem, 9, second, 3), "and evicts it again");
    assert!(!b.op(DirOp::AtomRem, 12, first, 4));
    assert!(!b.op(DirOp::RdRem, 6, first, 5), "behind the atomic");
    assert_eq!(b.owed.len(), 3, "node 4 is told twice, node 9 once");
    b.owed.sort_unstable();
    assert!(b.one_ack().is_empty(), "one of the two evictions");
    b.owed.sort_unstable();
    assert_eq!(b.one_ack(), [4, 5]);
    b.drain();
}

#[test]
fn an_entry_in_w_is_not_evicted() {
    let mut b = steps(DirParams { entries: 2, ways: 2, ..small() });
    let lines: Vec<u64> = (0..4).map(|number| line(&b.p, 4 * number)).collect();
    for (id, group) in lines[..2].iter().enumerate() {
        assert!(b.op(DirOp::RdRem, 4, *group, 2 * id as u64));
        assert!(!b.op(DirOp::WrRem, 9, *group, 2 * id as u64 + 1));
    }
    assert!(!b.op(DirOp::RdRem, 6, lines[2], 7), "if all ways are W the request waits");
    assert!(b.seen.iter().all(|inv| inv.cause == InvCause::Write));
    // The second group is the younger one; it is not in W any more.
    b.owed.swap(0, 1);
    assert_eq!(b.one_ack(), [3, 7]);
    assert_eq!(b.seen.last().map(|inv| (inv.line, inv.dest)), Some((lines[1], only(9))));
    b.drain();
}

#[test]
fn when_eight_wait_the_input_waits() {
    let mut b = steps(small());
    let (shared, other) = (line(&b.p, 12), line(&b.p, 64));
    assert!(b.op(DirOp::RdRem, 4, shared, 0));
    assert!(!b.op(DirOp::WrRem, 9, shared, 1));
    for id in 2..10 {
        assert!(!b.op(DirOp::RdRem, 6, shared, id));
    }
    assert_eq!(b.check.waiting(), 8);
    assert!(!b.op(DirOp::RdRem, 4, other, 10), "another group, but the queue is full");
    b.one_ack();
    b.rest(20);
    let mut all: Vec<u64> = b.answers.iter().map(|answer| answer.id).collect();
    all.sort_unstable();
    assert_eq!(all, (0..11).collect::<Vec<_>>());
    b.drain();
}

#[test]
fn the_tables_equal_the_golden_ones() {
    use gpu_vi::table::ViAct;
    let table = gpu_vi::table::operations();
    assert_eq!(table.faults(), []);
    assert_eq!(table.rows().len(), VI.len());
    for (row, golden) in table.rows().iter().zip(&VI) {
        assert_eq!(row.id, golden.id);
        let op = DirOp::ALL.iter().position(|op| *op == golden.op).unwrap() as u64;
        assert_eq!(row.when[0], [op]);
        let touches: &[ViAct] = match golden.action {
            ViAction::Allocate => &[ViAct::Allocate, ViAct::OnlyRequester, ViAct::Touch],
            ViAction::Join => &[ViAct::AddRequester, ViAct::Touch],
            ViAction::Stay => &[ViAct::OnlyRequester, ViAct::Touch],
            ViAction::Take => &[ViAct::OnlyRequester, ViAct::InvOthers, ViAct::Touch],
            ViAction::Wipe => &[ViAct::Clear, ViAct::InvAll],
            ViAction::Nothing => &[],
            ViAction::Wait => &[ViAct::Wait],
        };
        assert_eq!(row.actions, touches, "{}", row.id);
        let (found, awaited): (&[u64], &[u64]) = match golden.state {
            ViState::I => (&[0], &[0, 1]),
            ViState::Alone => (&[1], &[0, 1]),
            ViState::Shared => (&[2], &[0, 1]),
            ViState::E => (&[], &[1]),
            ViState::W => (&[], &[2]),
            ViState::Behind => (&[], &[3]),
        };
        let awaited = if golden.op == DirOp::RdRem || awaited.len() == 1 { awaited } else { &[0] };
        assert_eq!((&row.when[1][..], &row.when[2][..]), (found, awaited), "{}", row.id);
    }
    let acks = gpu_vi::table::acknowledgements();
    assert_eq!(acks.faults(), []);
    let ids: Vec<&str> = acks.rows().iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ACKS.map(|(id, _)| id));
}

#[test]
fn a_slice_without_an_operation_says_so() {
    let p = directory::DirParams { kind: DirKind::GPU_VI, ..hardware(&small()) };
    let mut sim = sim(&directory(&p).unwrap());
    let mut req = Sender::new(&sim, "req", &["op", "src", "line", "id"]);
    req.offer(&mut sim, &[4, 1, 0, 0]);
    for _ in 0..p.sets() + 6 {
        req.taken(&mut sim);
        sim.step();
        req.after(&mut sim);
    }
    assert!(sim.failures().iter().any(|f| f.name == "gpu_vi_table_complete"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refuse = |change: &dyn Fn(&mut directory::DirParams), words: &str| {
        let mut p = directory::DirParams { kind: DirKind::GPU_VI, ..hardware(&small()) };
        change(&mut p);
        let text = directory(&p).unwrap_err().to_string();
        assert!(text.contains(words), "{words} is not in: {text}");
    };
    refuse(&|p| p.pending = 1, "pending: 1 lies outside 2..64");
    refuse(&|p| p.inv_rate = 2, "inv_rate");
    refuse(&|p| p.downgrade = true, "downgrade");
}
