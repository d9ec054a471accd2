//! A directory slice among random neighbours, every transfer checked against the golden directory.
#![allow(dead_code)]

pub mod steps;

use crate::dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use weft_bench::Checked;
use weft_blocks::directory::{self, directory};
use weft_blocks::msg::Sys;
use weft_engine::Sim;
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::entry::{encode, to_hex};
use weft_testbench::golden::params::{DirKind, DirParams, Place, Policy};
use weft_testbench::golden::slice::{Received, Request, Response, SliceCheck};
use weft_testbench::golden::{Inv, InvCause};

pub fn hardware(p: &DirParams) -> directory::DirParams {
    let kind = match p.kind {
        DirKind::Perline => directory::DirKind::PERLINE,
        DirKind::Group4 => directory::DirKind::GROUP4,
        DirKind::Nhcc => directory::DirKind::NHCC,
        DirKind::Hmg => directory::DirKind::HMG,
        DirKind::HmgRec => directory::DirKind::HMG_REC,
        _ => directory::DirKind::REC,
    };
    let sys = Sys {
        gpus: p.gpus,
        gpms: p.gpms,
        addr_bits: p.addr_bits,
        line: p.line as u32,
        banks: p.banks,
        l1s: 4,
        l2_mshrs: 64,
        l1_mshrs: 4,
        il: p.il as u32,
        home_shift: p.home_shift,
        owners: false,
    };
    directory::DirParams {
        kind,
        sys,
        home: p.home,
        range: p.range as u32,
        group: p.group as u32,
        downgrade: p.downgrade,
        entries: p.entries as u32,
        ways: p.ways,
        policy: if p.policy == Policy::Lru { directory::Policy::Lru } else { directory::Policy::Fifo },
        evb_depth: p.evb_depth,
        inv_rate: p.inv_rate,
        pending: 32,
        tag_style: directory::TagStyle::Published,
    }
}

/// The channels of received Invs, and the order in which the slice performs what it has taken. The slice may perform a received Inv before operations that it
/// took earlier; its counters of what it performs say in which cycle it does.
struct Upper {
    recv: Sender,
    inv: Receiver,
    done: Receiver,
    current: Option<Received>,
    requests: VecDeque<Request>,
    received: VecDeque<Received>,
    /// Places of the counters among the observers, and what they have counted.
    ops: (usize, u64),
    recvs: (usize, u64),
}

impl Upper {
    fn new(sim: &Sim) -> Upper {
        let place = |name| sim.probes().position(|p| p.name == name).expect("a counter");
        Upper {
            recv: Sender::new(sim, "recv", &["line", "cause", "also", "link"]),
            inv: Receiver::new(sim, "inv_l", &["line", "dest", "cause", "grp"]),
            done: Receiver::new(sim, "recv_done", &["link"]),
            current: None,
            requests: VecDeque::new(),
            received: VecDeque::new(),
            ops: (place("ops"), 0),
            recvs: (place("received_invs"), 0),
        }
    }
}

/// Whether a counter has moved.
fn moved(sim: &Sim, counter: &mut (usize, u64)) -> bool {
    let count = sim.probes().nth(counter.0).expect("found before").count;
    let before = std::mem::replace(&mut counter.1, count);
    assert!(count - before <= 1);
    count > before
}

/// What is ready in a cycle, beside `inv`.
#[derive(Clone, Copy)]
pub struct Ready {
    pub rsp: bool,
    pub inv_l: bool,
    pub recv_done: bool,
}

impl Ready {
    pub fn all() -> Ready {
        Ready { rsp: true, inv_l: true, recv_done: true }
    }
}

pub struct Bench {
    p: DirParams,
    pub sim: Checked,
    pub req: Sender,
    rsp: Receiver,
    invs: Vec<Receiver>,
    upper: Option<Upper>,
    pub check: SliceCheck,
    current: Option<Request>,
    pub answered: u64,
    /// Every Inv taken, oldest first.
    pub seen: Vec<Inv>,
    /// Every answer taken, oldest first.
    pub answers: Vec<Response>,
    /// Every Inv passed on, oldest first.
    pub passed_on: Vec<Inv>,
    /// Received Invs answered.
    pub done: u64,
}

impl Bench {
    pub fn new(p: DirParams, tag_style: directory::TagStyle) -> Bench {
        let module = directory(&directory::DirParams { tag_style, ..hardware(&p) }).unwrap();
        let sim = sim(&module);
        let req = Sender::new(&sim, "req", &["op", "src", "line", "id"]);
        let rsp = Receiver::new(&sim, "rsp", &["id", "hit", "evicted", "empty"]);
        let name = |i| if i == 0 { "inv".to_string() } else { format!("inv{i}") };
        let invs = (0..p.inv_rate)
            .map(|i| Receiver::new(&sim, &name(i), &["line", "dest", "cause", "grp"]))
            .collect();
        let check = SliceCheck::new(p).unwrap();
        let upper = p.two_level().then(|| Upper::new(&sim));
        Bench {
            p,
            sim,
            req,
            rsp,
            invs,
            upper,
            check,
            current: None,
            answered: 0,
            seen: Vec::new(),
            answers: Vec::new(),
            passed_on: Vec::new(),
            done: 0,
        }
    }

    pub fn offer(&mut self, request: Request) {
        let Request { op, src, line, id } = request;
        let op = DirOp::ALL.iter().position(|o| *o == op).unwrap() as u64;
        self.req.offer(&mut self.sim, &[op, u64::from(src), line, id]);
        self.current = Some(request);
    }

    /// Offers an Inv on `recv`.
    pub fn receive(&mut self, recv: Received) {
        let upper = self.upper.as_mut().expect("a directory that receives Invs");
        let cause = u64::from(recv.cause == InvCause::Evict);
        upper.recv.offer(&mut self.sim, &[recv.line, cause, recv.also, recv.link]);
        upper.current = Some(recv);
    }

    /// No Inv is offered on `recv`.
    pub fn may_receive(&self) -> bool {
        self.upper.as_ref().is_some_and(|u| u.recv.idle())
    }

    /// One cycle with the given readiness; whatever is passed on is taken.
    pub fn cycle(&mut self, rsp_ready: bool, inv_ready: impl Fn(usize) -> bool) {
        self.cycle_when(Ready { rsp: rsp_ready, ..Ready::all() }, inv_ready);
    }

    /// One cycle with the given readiness.
    pub fn cycle_when(&mut self, ready: Ready, inv_ready: impl Fn(usize) -> bool) {
        let seen = self.rsp.take(&mut self.sim, ready.rsp);
        let mut gone = Vec::new();
        for (i, port) in self.invs.iter().enumerate() {
            gone.extend(port.take(&mut self.sim, inv_ready(i)));
        }
        if self.req.taken(&mut self.sim) {
            let request = self.current.take().unwrap();
            match &mut self.upper {
                None => drop(self.check.accepted(request)),
                Some(upper) => upper.requests.push_back(request),
            }
        }
        // What is taken together counts in this order: an Inv releases its answer in the next cycle at the earliest.
        if let Some(m) = seen {
            let response = Response { id: m[0], hit: m[1] == 1, evicted: m[2] == 1, empty: m[3] == 1 };
            self.check.responded(response).unwrap();
            self.answered += 1;
            self.answers.push(response);
        }
        for m in gone {
            let inv = inv_of(&m);
            self.check.invalidated(inv).unwrap();
            self.seen.push(inv);
        }
        self.upper_before(ready);
        self.sim.step();
        self.req.after(&mut self.sim);
        self.upper_after();
        assert_sound(&self.sim);
    }

    fn upper_before(&mut self, ready: Ready) {
        let Some(upper) = &mut self.upper else { return };
        let (inv, done) =
            (upper.inv.take(&mut self.sim, ready.inv_l), upper.done.take(&mut self.sim, ready.recv_done));
        if upper.recv.taken(&mut self.sim) {
            upper.received.push_back(upper.current.take().unwrap());
        }
        // An Inv passed on releases its answer in the next cycle at the earliest.
        if let Some(m) = done {
            self.check.recv_done(m[0]).unwrap();
            self.done += 1;
        }
        if let Some(m) = inv {
            let inv = inv_of(&m);
            self.check.passed_on(inv).unwrap();
            self.passed_on.push(inv);
        }
    }

    /// Performs what the slice has performed in this cycle. Invs that left in it are on their way.
    fn upper_after(&mut self) {
        let Some(upper) = &mut self.upper else { return };
        upper.recv.after(&mut self.sim);
        if moved(&self.sim, &mut upper.ops) {
            self.check.accepted(upper.requests.pop_front().expect("an operation was taken"));
        }
        if moved(&self.sim, &mut upper.recvs) {
            self.check.received(upper.received.pop_front().expect("an Inv was taken"));
        }
    }

    pub fn drain(&mut self) {
        for _ in 0..4000 {
            self.cycle(true, |_| true);
        }
        self.check.finish().unwrap();
        assert!(self.upper.as_ref().is_none_or(|u| u.requests.is_empty() && u.received.is_empty()));
    }

    /// Valid entries of the memory equal the golden directory's, bit for bit, and so do the ages.
    pub fn compare_memory(&self, bank: u32) {
        for set in 0..self.p.sets() {
            let golden = self.check.directory().set(Place { bank, set });
            for (way, entry) in golden.ways.iter().enumerate() {
                let bits = self.sim.peek_mem("entries", set as u32, way as u32).unwrap();
                let expected = encode(&self.p, entry);
                let valid = bits.bit(bits.width() - 1);
                assert_eq!(valid, entry.valid, "valid of set {set} way {way}");
                if valid {
                    assert_eq!(format!("{bits:x}").trim_start_matches('0'), to_hex(&expected));
                }
                if self.p.ways > 1 {
                    let age_bits = self.p.age_bits();
                    let ages = self.sim.peek_mem("ages", set as u32, 0).unwrap();
                    let age = ages.slice(way as u32 * age_bits, age_bits).low_u64() as u32;
                    assert_eq!(age, golden.ages[way], "age of set {set} way {way}");
                }
            }
        }
    }
}

fn inv_of(m: &[u64]) -> Inv {
    let cause = if m[2] == 0 { InvCause::Write } else { InvCause::Evict };
    Inv { line: m[0], dest: m[1].into(), cause, grp: m[3] == 1 }
}

/// How a run presses the slice.
#[derive(Clone, Copy)]
pub struct Pressure {
    offer: f64,
    rsp: f64,
    inv: f64,
    recv: f64,
    inv_l: f64,
    recv_done: f64,
}

pub const PRESSURES: [Pressure; 4] = [
    Pressure { offer: 1.0, rsp: 1.0, inv: 1.0, recv: 0.3, inv_l: 1.0, recv_done: 1.0 },
    Pressure { offer: 0.9, rsp: 0.9, inv: 0.15, recv: 0.1, inv_l: 0.9, recv_done: 0.9 },
    Pressure { offer: 0.9, rsp: 0.3, inv: 0.9, recv: 0.9, inv_l: 0.5, recv_done: 0.3 },
    Pressure { offer: 0.5, rsp: 0.8, inv: 0.5, recv: 0.05, inv_l: 0.2, recv_done: 0.8 },
];

/// A line among few bases of few sets, so that every row and overlap comes up; in the slice's bank.
pub fn random_line(p: &DirParams, bank: u32, rng: &mut SmallRng) -> u64 {
    let lines_per_il = p.il / p.line;
    let slots = p.lines_per_entry();
    let set_span = p.sets().min(3);
    let wanted = u64::from(p.ways) + 2;
    // A few have an address with all high bits set.
    let tags = (1 << (p.home_shift - p.line.ilog2())) / (u64::from(p.banks) * slots * p.sets());
    loop {
        let tag = if rng.random_bool(0.15) { tags - 1 } else { rng.random_range(0..wanted) };
        let block = rng.random_range(0..set_span) + p.sets() * tag;
        // Mostly the first ones, so that they meet; at times any, so that ranges are full when they are evicted.
        let near = if rng.random_bool(0.7) { slots.min(3) } else { slots };
        let without_bank = block * slots + rng.random_range(0..near);
        let line = without_bank / lines_per_il * lines_per_il * u64::from(p.banks)
            + u64::from(bank) * lines_per_il
            + without_bank % lines_per_il;
        let line = line | u64::from(home_of_lines(p, rng)) << (p.home_shift - p.line.ilog2());
        if line >> p.line_addr_bits() == 0 {
            return line;
        }
    }
}

/// The node number in a line's address: in two levels the slice is the system home of half of the lines; the first kinds take any.
fn home_of_lines(p: &DirParams, rng: &mut SmallRng) -> u32 {
    let homes: Vec<u32> = p.nodes().into_iter().filter(|n| p.gpm(*n) == p.gpm(p.home)).collect();
    match p.kind {
        DirKind::Nhcc => p.home,
        DirKind::Hmg | DirKind::HmgRec if rng.random() => homes[(p.gpu(p.home) as usize + 1) % homes.len()],
        DirKind::Hmg | DirKind::HmgRec => p.home,
        _ => 0,
    }
}

/// A request that may come to a slice whose nodes are GPMs; none if the line has been chosen badly.
fn hierarchical_request(p: &DirParams, line: u64, rng: &mut SmallRng, id: u64) -> Option<Request> {
    let system_home = p.gpu(p.system_home(line)) == p.gpu(p.home);
    let op = match rng.random_range(0..100) {
        0..45 => DirOp::RdRem,
        45..60 => DirOp::WrRem,
        60..68 => DirOp::WrLoc,
        68..82 => DirOp::AtomRem,
        _ => DirOp::Downgrade,
    };
    if op == DirOp::Downgrade && !p.downgrade {
        return None;
    }
    let home_may = matches!(op, DirOp::WrLoc | DirOp::Downgrade);
    let asks = |n: &u32| {
        let near = p.gpu(*n) == p.gpu(p.home);
        (*n != p.home || home_may) && (system_home || near)
    };
    let sources: Vec<u32> = p.nodes().into_iter().filter(asks).collect();
    let src =
        if op == DirOp::WrLoc { p.home } else { *sources.get(rng.random_range(0..sources.len().max(1)))? };
    Some(Request { op, src, line, id })
}

/// An Inv that may come to a GPU home; none if the line has been chosen badly.
fn random_received(p: &DirParams, bank: u32, last: u64, rng: &mut SmallRng) -> Option<Received> {
    let line = if rng.random_bool(0.6) { last } else { random_line(p, bank, rng) };
    if p.gpu(p.system_home(line)) == p.gpu(p.home) {
        return None;
    }
    let cause = if rng.random_bool(0.6) { InvCause::Write } else { InvCause::Evict };
    let others = ((1 << p.gpms) - 1) & !(1 << p.gpm(p.home));
    let also = if rng.random_bool(0.7) { 0 } else { rng.random::<u64>() & others };
    Some(Received { line, cause, also, link: rng.random_range(0..16) })
}

pub fn random_request(p: &DirParams, bank: u32, last: u64, rng: &mut SmallRng, id: u64) -> Request {
    if p.modules() {
        loop {
            let line = if rng.random_bool(0.35) { last } else { random_line(p, bank, rng) };
            if let Some(request) = hierarchical_request(p, line, rng, id) {
                return request;
            }
        }
    }
    let op = match rng.random_range(0..100) {
        0..50 => DirOp::RdRem,
        50..70 => DirOp::WrRem,
        70..85 => DirOp::WrLoc,
        _ => DirOp::AtomRem,
    };
    let others: Vec<u32> = (0..p.gpus).filter(|g| *g != p.home).collect();
    let src = if op == DirOp::WrLoc { p.home } else { others[rng.random_range(0..others.len())] };
    let line = if rng.random_bool(0.35) { last } else { random_line(p, bank, rng) };
    Request { op, src, line, id }
}

pub fn random_run(
    p: DirParams,
    bank: u32,
    tag: directory::TagStyle,
    seed: u64,
    ops: u64,
) -> BTreeMap<String, u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(p, tag);
    let pressure = PRESSURES[seed as usize % PRESSURES.len()];
    let (mut sent, mut received, mut last) = (0, 0, random_line(&p, bank, &mut rng));
    while sent < ops {
        if bench.req.idle() && rng.random_bool(pressure.offer) {
            let request = random_request(&p, bank, last, &mut rng, sent % 64);
            last = request.line;
            bench.offer(request);
            sent += 1;
        }
        if bench.may_receive()
            && rng.random_bool(pressure.recv)
            && let Some(recv) = random_received(&p, bank, last, &mut rng)
        {
            bench.receive(recv);
            received += 1;
        }
        let ready = Ready {
            rsp: rng.random_bool(pressure.rsp),
            inv_l: rng.random_bool(pressure.inv_l),
            recv_done: rng.random_bool(pressure.recv_done),
        };
        let invs: Vec<bool> = (0..p.inv_rate).map(|_| rng.random_bool(pressure.inv)).collect();
        bench.cycle_when(ready, |i| invs[i]);
    }
    bench.drain();
    assert_eq!((bench.answered, bench.done), (ops, received));
    if tag == directory::TagStyle::Published {
        bench.compare_memory(bank);
    }
    let hits = covers(&bench.sim);
    for (row, count) in bench.check.rows() {
        assert_eq!(hits[*row], *count, "row {row}");
    }
    if p.ranges() {
        let read = |name: &str| bench.sim.probes().find(|q| q.name == name).expect("a counter").count;
        let of = |k: u64| read(&format!("evicted_with_{k}_slots"));
        let slots = 1..=p.range / p.line;
        assert_eq!(slots.clone().map(of).sum::<u64>(), read("evictions"), "histogram of evicted slots");
        assert_eq!(slots.map(|k| k * of(k)).sum::<u64>(), read("evicted_slots"));
    }
    hits
}
