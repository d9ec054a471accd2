//! The directory slice against the golden directory under random operations and back-pressure.
//!
//! Rows: all of `perline.*`, `group4.*`, `rec.*` of the transition tables. Races: sections 2 to 4.1 of rec.md.

mod dir_support;

use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_blocks::directory::{self, directory};
use weft_blocks::msg::Sys;
use weft_engine::Sim;
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::entry::{decode, encode, to_hex};
use weft_testbench::golden::params::{DirKind, DirParams, Place, Policy};
use weft_testbench::golden::slice::{Request, Response, SliceCheck};
use weft_testbench::golden::{Inv, InvCause};

fn hardware(p: &DirParams) -> directory::DirParams {
    let kind = match p.kind {
        DirKind::Perline => directory::DirKind::Perline,
        DirKind::Group4 => directory::DirKind::Group4,
        _ => directory::DirKind::Rec,
    };
    let sys = Sys {
        gpus: p.gpus,
        gpms: 1,
        addr_bits: p.addr_bits,
        line: p.line as u32,
        banks: p.banks,
        l1s: 4,
        l2_mshrs: 64,
        l1_mshrs: 4,
        il: p.il as u32,
        home_shift: 0,
    };
    directory::DirParams {
        kind,
        sys,
        home: p.home,
        range: p.range as u32,
        entries: p.entries as u32,
        ways: p.ways,
        policy: if p.policy == Policy::Lru { directory::Policy::Lru } else { directory::Policy::Fifo },
        evb_depth: p.evb_depth,
        inv_rate: p.inv_rate,
        tag_style: directory::TagStyle::Published,
    }
}

struct Bench {
    p: DirParams,
    sim: Sim,
    req: Sender,
    rsp: Receiver,
    invs: Vec<Receiver>,
    check: SliceCheck,
    current: Option<Request>,
    answered: u64,
}

impl Bench {
    fn new(p: DirParams, tag_style: directory::TagStyle) -> Bench {
        let module = directory(&directory::DirParams { tag_style, ..hardware(&p) }).unwrap();
        let sim = sim(&module);
        let req = Sender::new(&sim, "req", &["op", "src", "line", "id"]);
        let rsp = Receiver::new(&sim, "rsp", &["id", "hit", "evicted"]);
        let name = |i| if i == 0 { "inv".to_string() } else { format!("inv{i}") };
        let invs = (0..p.inv_rate)
            .map(|i| Receiver::new(&sim, &name(i), &["line", "dest", "cause", "grp"]))
            .collect();
        let check = SliceCheck::new(p).unwrap();
        Bench { p, sim, req, rsp, invs, check, current: None, answered: 0 }
    }

    fn offer(&mut self, request: Request) {
        let Request { op, src, line, id } = request;
        let op = DirOp::ALL.iter().position(|o| *o == op).unwrap() as u64;
        self.req.offer(&mut self.sim, &[op, u64::from(src), line, id]);
        self.current = Some(request);
    }

    /// One cycle with the given readiness.
    fn cycle(&mut self, rsp_ready: bool, inv_ready: impl Fn(usize) -> bool) {
        let seen = self.rsp.take(&mut self.sim, rsp_ready);
        let mut gone = Vec::new();
        for (i, port) in self.invs.iter().enumerate() {
            gone.extend(port.take(&mut self.sim, inv_ready(i)));
        }
        if self.req.taken(&mut self.sim) {
            self.check.accepted(self.current.take().unwrap());
        }
        // What is taken together counts in this order: an Inv releases its answer in the next cycle at the earliest.
        if let Some(m) = seen {
            let response = Response { id: m[0], hit: m[1] == 1, evicted: m[2] == 1 };
            self.check.responded(response).unwrap();
            self.answered += 1;
        }
        for m in gone {
            let cause = if m[2] == 0 { InvCause::Write } else { InvCause::Evict };
            self.check.invalidated(Inv { line: m[0], dest: m[1] as u32, cause, grp: m[3] == 1 }).unwrap();
        }
        self.sim.step();
        self.req.after(&mut self.sim);
        assert_sound(&self.sim);
    }

    fn drain(&mut self) {
        for _ in 0..4000 {
            self.cycle(true, |_| true);
        }
        self.check.finish().unwrap();
    }

    /// Valid entries of the memory equal the golden directory's, bit for bit, and so do the ages.
    fn compare_memory(&self, bank: u32) {
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

/// How a run presses the slice.
#[derive(Clone, Copy)]
struct Pressure {
    offer: f64,
    rsp: f64,
    inv: f64,
}

const PRESSURES: [Pressure; 4] = [
    Pressure { offer: 1.0, rsp: 1.0, inv: 1.0 },
    Pressure { offer: 0.9, rsp: 0.9, inv: 0.15 },
    Pressure { offer: 0.9, rsp: 0.3, inv: 0.9 },
    Pressure { offer: 0.5, rsp: 0.8, inv: 0.5 },
];

/// A line among few bases of few sets, so that every row and overlap comes up; in the slice's bank.
fn random_line(p: &DirParams, bank: u32, rng: &mut SmallRng) -> u64 {
    let lines_per_il = p.il / p.line;
    let slots = p.lines_per_entry();
    let set_span = p.sets().min(3);
    let wanted = u64::from(p.ways) + 2;
    loop {
        let block = rng.random_range(0..set_span) + p.sets() * rng.random_range(0..wanted);
        let without_bank = block * slots + rng.random_range(0..slots.min(3));
        let line = without_bank / lines_per_il * lines_per_il * u64::from(p.banks)
            + u64::from(bank) * lines_per_il
            + without_bank % lines_per_il;
        if line >> p.line_addr_bits() == 0 {
            return line;
        }
    }
}

fn random_request(p: &DirParams, bank: u32, last: u64, rng: &mut SmallRng, id: u64) -> Request {
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

fn random_run(
    p: DirParams,
    bank: u32,
    tag: directory::TagStyle,
    seed: u64,
    ops: u64,
) -> BTreeMap<String, u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(p, tag);
    let pressure = PRESSURES[seed as usize % PRESSURES.len()];
    let (mut sent, mut last) = (0, random_line(&p, bank, &mut rng));
    while sent < ops {
        if bench.req.idle() && rng.random_bool(pressure.offer) {
            let request = random_request(&p, bank, last, &mut rng, sent % 64);
            last = request.line;
            bench.offer(request);
            sent += 1;
        }
        let ready = rng.random_bool(pressure.rsp);
        let invs: Vec<bool> = (0..p.inv_rate).map(|_| rng.random_bool(pressure.inv)).collect();
        bench.cycle(ready, |i| invs[i]);
    }
    bench.drain();
    assert_eq!(bench.answered, ops);
    if tag == directory::TagStyle::Published {
        bench.compare_memory(bank);
    }
    let hits = covers(&bench.sim);
    for (row, count) in bench.check.rows() {
        assert_eq!(hits[*row], *count, "row {row}");
    }
    if p.kind == DirKind::Rec {
        let read = |name: &str| bench.sim.probes().find(|q| q.name == name).expect("a counter").count;
        let of = |k: u64| read(&format!("evicted_with_{k}_slots"));
        let slots = 1..=p.range / p.line;
        assert_eq!(slots.clone().map(of).sum::<u64>(), read("evictions"), "histogram of evicted slots");
        assert_eq!(slots.map(|k| k * of(k)).sum::<u64>(), read("evicted_slots"));
    }
    hits
}

fn small(kind: DirKind) -> DirParams {
    DirParams { entries: 32, ways: 4, banks: 1, ..DirParams::new(kind) }
}

fn parameter_sets() -> Vec<(DirParams, u32)> {
    let mut sets = Vec::new();
    for kind in [DirKind::Perline, DirKind::Group4, DirKind::Rec] {
        let base = small(kind);
        sets.push((base, 0));
        sets.push((DirParams { home: 2, evb_depth: 1, policy: Policy::Lru, ..base }, 0));
        sets.push((DirParams { entries: 4 * 4 * 12, banks: 4, home: 3, evb_depth: 2, ..base }, 2));
        sets.push((DirParams { entries: 5 * 3, ways: 3, gpus: 8, home: 1, evb_depth: 3, ..base }, 0));
        sets.push((DirParams { inv_rate: 2, policy: Policy::Fifo, ..base }, 0));
        sets.push((DirParams { inv_rate: 4, line: 128, range: 2048, evb_depth: 8, ..base }, 0));
        sets.push((DirParams { entries: 8, ways: 1, gpus: 2, range: 256, ..base }, 0));
        sets.push((DirParams { entries: 2, ways: 2, gpus: 16, home: 7, range: 128, ..base }, 0));
    }
    sets
}

#[test]
fn agrees_with_the_golden_directory() {
    let mut hits = BTreeMap::new();
    for (i, (p, bank)) in parameter_sets().into_iter().enumerate() {
        for pressure in 0..4 {
            let seed = 4 * i as u64 + pressure;
            add(&mut hits, random_run(p, bank, directory::TagStyle::Published, seed, 1500), seed);
        }
    }
    publish("dir_slice_random", &hits);
    let never: Vec<String> = weft_testbench::ledger::all_entries()
        .into_iter()
        .filter(|e| ["baseline-directory", "group-directory", "rec-directory"].contains(&e.block.as_str()))
        .filter(|e| !hits.contains_key(&e.id) && e.id != "rec.race.init_holds_req")
        .map(|e| e.id)
        .collect();
    assert!(never.is_empty(), "never hit: {never:?}");
}

#[test]
fn a_minimal_tag_changes_nothing_at_the_ports() {
    for (i, (p, bank)) in parameter_sets().into_iter().enumerate() {
        random_run(p, bank, directory::TagStyle::Minimal, 1000 + i as u64, 600);
    }
}

#[test]
fn golden_vectors_of_section_3() {
    let p = DirParams { banks: 1, ..DirParams::new(DirKind::Rec) };
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    let (a0, a1) = (0x1234_5340 / 64, 0x1234_5380 / 64);
    let steps = [
        (DirOp::RdRem, 1, a0, "4000048d140030000000000000"),
        (DirOp::RdRem, 3, a1, "4000048d140930000000000000"),
        (DirOp::WrRem, 2, a1, "4000048d140530000000000000"),
        (DirOp::RdRem, 1, a0, "4000048d140530000000000000"),
        (DirOp::WrLoc, 0, a0, "4000048d140500000000000000"),
    ];
    for _ in 0..p.sets() + 4 {
        bench.cycle(true, |_| true);
    }
    for (id, (op, src, line, expected)) in steps.into_iter().enumerate() {
        bench.offer(Request { op, src, line, id: id as u64 });
        (0..12).for_each(|_| bench.cycle(true, |_| true));
        let bits = bench.sim.peek_mem("entries", 0x114, 0).unwrap();
        assert_eq!(format!("{bits:x}"), expected, "after step {id}");
        assert_eq!(bits.width(), 103);
    }
    bench.offer(Request { op: DirOp::WrLoc, src: 0, line: a1, id: 5 });
    (0..12).for_each(|_| bench.cycle(true, |_| true));
    assert!(!bench.sim.peek_mem("entries", 0x114, 0).unwrap().bit(102));
    bench.check.finish().unwrap();
}

#[test]
fn one_set_is_cleared_per_cycle_and_requests_wait() {
    let p = small(DirKind::Rec);
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    for set in 0..p.sets() as u32 {
        for way in 0..p.ways {
            let width = bench.sim.peek_mem("entries", set, way).unwrap().width();
            let garbage = weft_rtl::bv::Bv::ones(width);
            assert!(bench.sim.poke_mem("entries", set, way, &garbage));
        }
    }
    bench.offer(Request { op: DirOp::RdRem, src: 1, line: 5, id: 9 });
    let mut accepted_at = None;
    for cycle in 0..p.sets() + 8 {
        bench.cycle(true, |_| true);
        if bench.req.idle() && accepted_at.is_none() {
            accepted_at = Some(cycle);
        }
    }
    assert_eq!(accepted_at, Some(p.sets() + 1));
    bench.drain();
    bench.compare_memory(0);
    let mut hits = BTreeMap::new();
    add(&mut hits, covers(&bench.sim), 0);
    assert!(hits.contains_key("rec.race.init_holds_req"));
    publish("dir_slice_init", &hits);
}

#[test]
fn one_op_per_cycle_and_two_cycles_to_the_answer() {
    let p = small(DirKind::Rec);
    let mut bench = Bench::new(p, directory::TagStyle::Published);
    for _ in 0..p.sets() + 4 {
        bench.cycle(true, |_| true);
    }
    for i in 0..20u64 {
        assert_eq!(bench.answered, i.saturating_sub(2), "answers before cycle {i}");
        bench.offer(Request { op: DirOp::RdRem, src: 1, line: 3, id: i });
        bench.cycle(true, |_| true);
        assert!(bench.req.idle(), "op {i} is taken at once");
    }
}

#[test]
fn entries_have_the_published_bits() {
    let rec = |range, gpus| DirParams { range, gpus, ..DirParams::new(DirKind::Rec) };
    let cases = [
        (DirParams::new(DirKind::Perline), 52),
        (DirParams::new(DirKind::Group4), 52),
        (rec(128, 4), 50),
        (rec(256, 4), 57),
        (rec(512, 4), 72),
        (rec(1024, 4), 103),
        (rec(2048, 4), 166),
        (rec(4096, 4), 293),
        (rec(1024, 8), 167),
        (rec(1024, 16), 295),
        (DirParams { line: 128, ..rec(2048, 4) }, 102),
        (DirParams { gpus: 8, ..DirParams::new(DirKind::Perline) }, 56),
        (DirParams { gpus: 16, ..DirParams::new(DirKind::Perline) }, 64),
    ];
    for (p, bits) in cases {
        let module = directory(&hardware(&DirParams { banks: 1, ..p })).unwrap();
        let mem = module.mems.iter().find(|m| m.name == "entries").unwrap();
        assert_eq!(mem.lane_width(), bits, "{p:?}");
        assert_eq!(mem.rows * mem.lanes * mem.lane_width(), 8192 * bits, "{p:?}");
        let fields: u32 = mem.fields.iter().map(|f| f.1).sum();
        assert_eq!(fields, bits);
        let golden = encode(&p, &weft_testbench::golden::entry::Entry::empty(p.slots()));
        assert_eq!(golden.len(), bits as usize);
        assert!(decode(&p, &golden).is_some());
    }
}
