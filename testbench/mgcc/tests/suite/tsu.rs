//! `tsu`: grants, evictions, floors, epochs, times. Rows hit: all of `mgcc.tsu.*` by the random test.

use crate::wire::far;
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_blocks::registry::ParamSet;
use weft_mgcc::choice::Inject;
use weft_mgcc::msg::{Roll, RollAck, TsuReq, TsuRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::tsu::{RdExtend, TsuParams, TsuWts, info, tsu};
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::golden;
use weft_mgcc_bench::golden::tsu::TsuOp;

const RD: u64 = 0;
const WR: u64 = 1;
const AMO: u64 = 2;
const NOTE: u64 = 3;

fn small(ts: u32) -> TsuParams {
    let tsm = Tsm { ts, gpus: 2, cus: 2, banks: 2, lanes: 2, eb: 3, addr_bits: 32, ..Tsm::default() };
    TsuParams { sets: 2, ways: 4, latency: 6, ..TsuParams::published(tsm) }
}

fn bench(p: &TsuParams, seed: u64) -> Bench {
    let mut b = Bench::new(&tsu(p).expect("legal parameters"), seed);
    let t = &p.tsm;
    b.source::<TsuReq>("req", t);
    b.source::<Roll>("roll", t);
    b.sink::<TsuRsp>("rsp", t);
    b.sink::<RollAck>("roll_ack", t);
    b.sink::<RollAck>("roll_ask", t);
    b.set("rd_lease", 10);
    b.set("wr_lease", 5);
    b
}

fn request(t: &Tsm, op: u64, line: u64, tag: u64, ts: u64, id: u64) -> Msg {
    let fields = [("op", op), ("line", line), ("tag", tag), ("ts", ts), ("id", id)];
    Msg::of::<TsuReq>(t, &fields)
}

fn roll(t: &Tsm, epoch: u64) -> Msg {
    Msg::of::<Roll>(t, &[("epoch", epoch)])
}

/// One operation alone: (wts, rts, tag, ovf).
fn alone(b: &mut Bench, t: &Tsm, op: u64, line: u64, tag: u64, ts: u64) -> (u64, u64, u64, bool) {
    b.send("req", request(t, op, line, tag, ts, 77));
    let (_, m) = b.wait("rsp");
    assert_eq!(m.get("id"), 77);
    (m.get("wts"), m.get("rts"), m.get("tag"), m.get("ovf") == 1)
}

fn note(b: &mut Bench, t: &Tsm, line: u64, tag: u64, rts: u64) {
    b.send("req", request(t, NOTE, line, tag, rts, 0));
    b.run(12);
}

#[test]
fn the_grants_of_the_golden_scenario() {
    let p = TsuParams { latency: 50, ..small(16) };
    let (t, x, y) = (&p.tsm.clone(), 4, 6);
    let mut b = bench(&p, 1);
    assert_eq!(alone(&mut b, t, RD, x, 0, 0), (0, 10, 0, false));
    b.set("rd_lease", 7);
    assert_eq!(alone(&mut b, t, RD, y, 0, 0), (0, 7, 0, false));
    assert_eq!(alone(&mut b, t, WR, y, 0, 0), (8, 12, 0, false));
    assert_eq!(alone(&mut b, t, WR, x, 0, 8), (11, 15, 0, false));
    assert_eq!(alone(&mut b, t, RD, y, 0, 11), (8, 19, 0, false));
    let p = TsuParams { wts: TsuWts::Bound, ..p };
    let mut b = bench(&p, 1);
    b.set("rd_lease", 7);
    assert_eq!(alone(&mut b, t, RD, y, 0, 0), (0, 7, 0, false));
    assert_eq!(alone(&mut b, t, WR, y, 0, 0), (8, 12, 0, false));
    assert_eq!(alone(&mut b, t, RD, y, 0, 11), (12, 19, 0, false));
}

#[test]
fn cover_extends_only_as_far_as_the_reader_needs() {
    let p = TsuParams { rd_extend: RdExtend::Cover, ..small(16) };
    let mut b = bench(&p, 1);
    let got: Vec<_> = [0, 0, 3, 1, 20].map(|ts| alone(&mut b, &p.tsm, RD, 9, 0, ts).1).to_vec();
    assert_eq!(got, [10, 10, 13, 13, 30]);
}

#[test]
fn the_entry_of_the_lowest_memts_leaves_and_raises_the_floors() {
    let p = TsuParams { ways: 3, ..small(16) };
    let (t, mut b) = (&p.tsm, bench(&p, 1));
    // Three ways of set 0: memts 30, 15, 16; the second entry was written at 11.
    assert_eq!(alone(&mut b, t, RD, 0, 0, 20).1, 30);
    assert_eq!(alone(&mut b, t, WR, 2, 0, 11), (11, 15, 0, false));
    assert_eq!(alone(&mut b, t, RD, 4, 0, 6).1, 16);
    assert_eq!(alone(&mut b, t, RD, 6, 0, 0), (0, 10, 0, false), "floors are still 0 for the newcomer");
    assert_eq!(alone(&mut b, t, WR, 2, 0, 0), (16, 20, 0, false), "line 2 has left: past its old lease");
    assert_eq!(alone(&mut b, t, RD, 8, 0, 0), (11, 25, 0, false), "line 6 (10) has left; 4 (16) leaves now");
    assert_eq!(alone(&mut b, t, RD, 10, 0, 0), (11, 26, 0, false), "line 4 has left");
    assert_eq!(alone(&mut b, t, RD, 1, 0, 0), (0, 10, 0, false), "the other set's floors are its own");
}

#[test]
fn a_note_drops_the_entry_if_it_names_the_last_grant() {
    let p = small(16);
    let (t, mut b) = (&p.tsm, bench(&p, 1));
    assert_eq!(alone(&mut b, t, WR, 2, 0, 30), (30, 34, 0, false));
    note(&mut b, t, 2, 0, 33);
    assert_eq!(b.counted("tsu_evictions_note"), 0);
    note(&mut b, t, 2, 7, 34);
    assert_eq!(b.counted("tsu_evictions_note"), 0, "a note of the epoch before");
    note(&mut b, t, 2, 0, 34);
    assert_eq!(b.counted("tsu_evictions_note"), 1);
    assert_eq!(alone(&mut b, t, RD, 0, 0, 0), (30, 44, 0, false), "a new entry starts at both floors");
    assert_eq!(b.counted("tsu_hits"), 0);
}

#[test]
fn answers_take_exactly_the_latency_and_one_operation_runs_per_cycle() {
    for latency in [2, 3, 9, 50, 200] {
        let p = TsuParams { latency, ..small(16) };
        let mut b = bench(&p, 3);
        b.run(10);
        // All on one set, most on one line, so that each builds on the one in the cycle before it.
        let ops: Vec<_> =
            (0..64).map(|i| (if i % 3 == 0 { WR } else { RD }, 2 * u64::from(i % 8 == 7))).collect();
        for (i, (op, line)) in ops.iter().enumerate() {
            b.send("req", request(&p.tsm, *op, *line, 0, 0, i as u64));
        }
        let start = b.sim.cycle();
        b.run(64 + u64::from(latency) + 4);
        let mut memts = [0, 0];
        for (i, (op, line)) in ops.iter().enumerate() {
            let (cycle, m) = b.received("rsp").expect("all are answered");
            assert_eq!((cycle, m.get("id")), (start + i as u64 + u64::from(latency), i as u64));
            let lease = &mut memts[*line as usize / 2];
            *lease += if *op == WR { 5 } else { 10 };
            assert_eq!(m.get("rts"), *lease, "operation {i} with latency {latency}");
        }
    }
}

#[test]
fn a_write_past_the_end_waits_for_the_next_epoch() {
    let p = small(6);
    let (t, mut b) = (&p.tsm, bench(&p, 1));
    assert_eq!(alone(&mut b, t, RD, 0, 0, 50), (0, 60, 0, false));
    assert_eq!(b.counted("tsu_asks"), 0);
    assert_eq!(alone(&mut b, t, RD, 0, 0, 0), (0, 63, 0, false));
    assert_eq!(alone(&mut b, t, RD, 0, 0, 63), (0, 63, 0, false), "a saturated read still covers its reader");
    let (_, _, _, ovf) = alone(&mut b, t, WR, 0, 0, 0);
    assert!(ovf);
    let (_, ask) = b.wait("roll_ask");
    assert_eq!(ask.get("epoch"), 0);
    assert!(alone(&mut b, t, AMO, 0, 0, 0).3, "and nothing has changed");
    b.run(20);
    assert!(b.received("roll_ask").is_none(), "asked once");
    b.send("roll", roll(t, 1));
    assert_eq!(b.wait("roll_ack").1.get("epoch"), 1);
    assert_eq!(alone(&mut b, t, WR, 0, 0, 63), (1, 5, 1, false), "a stamp of the old epoch counts as 0");
    assert_eq!(alone(&mut b, t, RD, 2, 1, 9), (0, 19, 1, false), "all entries have left, floors are 0");
}

#[test]
fn a_grant_near_the_end_asks_for_a_roll() {
    let p = small(8);
    let (t, mut b) = (&p.tsm, bench(&p, 1));
    // 2^8 - 2^2 = 252.
    assert_eq!(alone(&mut b, t, RD, 0, 0, 242).1, 252);
    b.run(10);
    assert!(b.received("roll_ask").is_none());
    assert_eq!(alone(&mut b, t, WR, 0, 0, 0), (253, 255, 0, false));
    assert_eq!(b.wait("roll_ask").1.get("epoch"), 0);
}

#[test]
fn a_request_of_the_next_epoch_begins_it_and_the_roll_is_only_acknowledged() {
    let p = small(8);
    let (t, mut b) = (&p.tsm, bench(&p, 1));
    assert_eq!(alone(&mut b, t, WR, 0, 0, 100), (100, 104, 0, false));
    assert_eq!(alone(&mut b, t, RD, 0, 1, 3), (0, 13, 1, false));
    assert_eq!(b.get("epoch"), 1);
    b.send("roll", roll(t, 1));
    assert_eq!(b.wait("roll_ack").1.get("epoch"), 1);
    assert_eq!(b.counted("tsu_rolls"), 1);
    assert_eq!(alone(&mut b, t, RD, 0, 1, 0), (0, 23, 1, false), "and nothing was swept again");
}

#[test]
fn a_roll_is_acknowledged_when_every_set_is_swept() {
    let p = TsuParams { sets: 64, ..small(8) };
    let (t, mut b) = (&p.tsm, bench(&p, 1));
    b.run(100);
    b.send("roll", roll(t, 1));
    let start = b.sim.cycle();
    assert!(b.wait("roll_ack").0 - start >= 64);
    assert_eq!(b.counted("tsu_sweep_cycles"), 128);
    // A request comes while the sets are swept: it waits.
    b.send("roll", roll(t, 2));
    b.run(5);
    let start = b.sim.cycle();
    b.send("req", request(t, RD, 63, 2, 0, 0));
    assert!(b.wait("rsp").0 - start >= 60);
}

/// The port of Rolls takes what it promises, though the controller sends one at a time.
#[test]
fn rolls_wait_in_their_order() {
    let p = small(8);
    for (seed, chance) in [0.1, 0.3, 0.6, 1.0].into_iter().enumerate() {
        let mut b = bench(&p, seed as u64);
        b.source_mut("roll").chance = chance;
        b.sink_mut("roll_ack").chance = 1.1 - chance;
        (1..=40).for_each(|epoch| b.send("roll", roll(&p.tsm, epoch)));
        let acknowledged: Vec<u64> = (1..=40).map(|_| b.wait("roll_ack").1.get("epoch")).collect();
        assert_eq!(acknowledged, (1..=40).collect::<Vec<u64>>());
        assert_eq!((b.get("epoch"), b.counted("tsu_rolls")), (40, 40));
    }
}

/// What leaves is offered whether anybody is ready for it or not.
#[test]
fn acknowledgements_and_asks_are_offered() {
    let p = small(8);
    let (t, mut b) = (&p.tsm, bench(&p, 1));
    b.chances(&[("roll_ack", 0.0), ("roll_ask", 0.0)]);
    b.send("roll", roll(t, 1));
    assert_eq!(alone(&mut b, t, RD, 0, 1, 250), (0, 255, 1, false));
    b.run(10);
    assert_eq!((b.get("roll_ack_valid"), b.get("roll_ask_valid")), (1, 1));
}

/// What each line was granted, for properties of section 3 that need no model.
#[derive(Default)]
struct Line {
    last_write: u64,
    last_lease: u64,
}

fn golden(p: &TsuParams) -> golden::tsu::Tsu {
    golden::tsu::Tsu::new(golden::tsu::TsuParams {
        sets: p.sets as usize,
        ways: p.ways as usize,
        widths: golden::time::Widths { ts: p.tsm.ts, eb: p.tsm.eb },
        accumulate: p.rd_extend == RdExtend::Accumulate,
        exact: p.wts == TsuWts::Exact,
        inject: None,
    })
}

/// Performs the requests taken up to the one that is answered; its answer is the model's.
fn compare(model: &mut golden::tsu::Tsu, taken: &mut VecDeque<Msg>, answer: &Msg, lease: (u64, u64)) {
    let epoch = (model.epoch()..).find(|e| e % 8 == answer.get("tag")).expect("there is one");
    // Notes that came before a roll or after it: those of an epoch that is over change nothing.
    loop {
        let m = taken.pop_front().expect("only what was taken is answered");
        let op = [TsuOp::Read, TsuOp::Write, TsuOp::Write, TsuOp::Evict][m.get("op") as usize];
        let req = golden::tsu::TsuReq { op, line: m.get("line"), tag: m.get("tag"), ts: m.get("ts") };
        if op != TsuOp::Evict {
            model.roll(epoch);
        }
        let Some(grant) = model.operate(&req, lease.0, lease.1) else { continue };
        assert_eq!((answer.get("tag"), answer.get("ovf") == 1), (grant.tag, grant.ovf));
        if !grant.ovf {
            assert_eq!((answer.get("wts"), answer.get("rts")), (grant.wts, grant.rts), "{req:?}");
        }
        return;
    }
}

/// Random operations on few lines with rolls; every grant obeys the rule of logical time.
fn random(p: &TsuParams, seed: u64) -> Bench {
    let (t, mut b) = (p.tsm.clone(), bench(p, seed));
    let tags = 1 << t.eb;
    let (mut epoch, mut id) = (0u64, 0u64);
    let mut lines: BTreeMap<u64, Line> = BTreeMap::new();
    let mut sent: VecDeque<(u64, Msg)> = VecDeque::new();
    let mut taken: VecDeque<Msg> = VecDeque::new();
    let mut model = golden(p);
    let mut leases: Vec<(u64, u64)> = Vec::new();
    let mut answered_epoch = 0u64;
    let mut last_rts: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut open_roll = false;
    for cycle in 0..20_000 {
        if cycle % 500 == 0 {
            b.source_mut("req").chance = b.rng.random_range(0.1..1.0);
            b.sink_mut("roll_ack").chance = b.rng.random_range(0.1..1.0);
            // An ask may stand until its epoch is long over.
            b.sink_mut("roll_ask").chance = [0.002, 0.1, 1.0][b.rng.random_range(0..3)];
        }
        let lease = match leases.last() {
            Some(last) if b.rng.random_bool(0.9) => *last,
            _ => (b.rng.random_range(1..=12), b.rng.random_range(1..=8)),
        };
        b.set("rd_lease", lease.0);
        b.set("wr_lease", lease.1);
        leases.push(lease);
        if b.source_mut("req").queue.len() < 3 {
            let op = [RD, RD, WR, AMO, NOTE][b.rng.random_range(0..5)];
            let line = far(b.rng.random_range(0..14), t.lane_line_bits());
            let high = last_rts.values().map(|g| g.1).max().unwrap_or(0).min(t.ts_max());
            let ts = if b.rng.random_bool(0.02) {
                b.rng.random_range(0..=t.ts_max())
            } else {
                b.rng.random_range(0..=high)
            };
            // The next epoch is known to others once its Roll is on its way.
            let ahead = open_roll && b.rng.random_bool(0.5);
            let behind = epoch > 1 && !ahead && b.rng.random_bool(0.1);
            let of = epoch + u64::from(ahead) - u64::from(behind);
            let named = last_rts.get(&line).filter(|g| g.0 == of && b.rng.random_bool(0.8));
            let ts = if op == NOTE { named.map_or(ts, |g| g.1) } else { ts };
            let id_now = id % 256;
            id += 1;
            b.send("req", request(&t, op, line, of % tags, ts, id_now));
            if op != NOTE {
                sent.push_back((of, request(&t, op, line, of % tags, ts, id_now)));
            }
        }
        b.step();
        taken.extend(b.taken("req"));
        while let Some((at, m)) = b.received("rsp") {
            // The leases are those of the cycle of the grant: one after the request was taken.
            let lease = leases[(at + 1 - u64::from(p.latency)) as usize];
            compare(&mut model, &mut taken, &m, lease);
            let (of, asked) = sent.pop_front().expect("something was asked");
            assert_eq!(m.get("id"), asked.get("id"), "in order");
            let now =
                (answered_epoch..epoch + 2).find(|e| e % tags == m.get("tag")).expect("epochs go one by one");
            if now > answered_epoch {
                (answered_epoch, lines) = (now, BTreeMap::new());
            }
            assert!(now >= of);
            let line = lines.entry(asked.get("line")).or_default();
            let ts = if of == now { asked.get("ts") } else { 0 };
            if m.get("ovf") == 1 {
                assert_ne!(asked.get("op"), RD);
                continue;
            }
            let (wts, rts) = (m.get("wts"), m.get("rts"));
            assert!(wts <= rts && rts >= ts, "[{wts},{rts}] for {ts}");
            if asked.get("op") == RD {
                assert!(wts >= line.last_write && rts >= line.last_lease);
            } else {
                assert!(
                    wts > line.last_lease && wts >= ts,
                    "a write at {wts} after a lease to {}",
                    line.last_lease
                );
                line.last_write = wts;
            }
            line.last_lease = rts.max(line.last_lease);
            last_rts.insert(asked.get("line"), (now, rts));
        }
        let asked = b.received("roll_ask").is_some_and(|(_, m)| m.get("epoch") == epoch);
        if !open_roll && (asked || b.rng.random_bool(0.002)) {
            open_roll = true;
            let next = roll(&t, epoch + 1);
            b.source_mut("roll").chance = b.rng.random_range(0.02..1.0);
            b.send("roll", next);
        }
        if let Some((_, m)) = b.received("roll_ack") {
            (epoch, open_roll) = (epoch + 1, false);
            assert_eq!(m.get("epoch"), epoch);
        }
    }
    assert!(b.counted("tsu_rolls") > 10 && b.counted("tsu_reads") > 3000);
    b
}

#[test]
fn random_operations_obey_the_rule_of_logical_time() {
    for (i, ts) in [6, 7, 8, 16].into_iter().enumerate() {
        let b = random(&small(ts), i as u64);
        if ts == 6 {
            assert_eq!(b.uncovered(&[]), [""; 0]);
        }
        random(&TsuParams { wts: TsuWts::Bound, ..small(ts) }, 10 + i as u64);
        random(&TsuParams { rd_extend: RdExtend::Cover, sets: 1, ways: 2, ..small(ts) }, 20 + i as u64);
        random(&TsuParams { sets: 4, ways: 1, latency: 2, ..small(ts) }, 30 + i as u64);
    }
}

/// A write at the end of the lease before it, a stamp that ignores the clock, a floor forgotten, a restart within the epoch.
#[test]
fn each_published_slip_does_what_was_published() {
    let of = |inject| TsuParams { inject, ways: 1, sets: 1, ..small(8) };
    let mut b = bench(&of(Inject::LitMwts), 1);
    let t = &small(8).tsm;
    assert_eq!(alone(&mut b, t, RD, 0, 0, 0), (0, 10, 0, false));
    assert_eq!(alone(&mut b, t, WR, 0, 0, 0), (10, 15, 0, false));
    let mut b = bench(&of(Inject::LitNoTs), 1);
    assert_eq!(alone(&mut b, t, RD, 0, 0, 40), (0, 10, 0, false));
    assert_eq!(alone(&mut b, t, WR, 0, 0, 40), (11, 15, 0, false));
    let mut b = bench(&of(Inject::LitNoFloor), 1);
    assert_eq!(alone(&mut b, t, RD, 0, 0, 40), (0, 50, 0, false));
    assert_eq!(alone(&mut b, t, WR, 1, 0, 0), (1, 5, 0, false));
    assert_eq!(alone(&mut b, t, WR, 0, 0, 0), (1, 5, 0, false));
    let mut b = bench(&of(Inject::LitReinit), 1);
    assert_eq!(alone(&mut b, t, RD, 0, 0, 250), (0, 255, 0, false));
    assert_eq!(alone(&mut b, t, WR, 0, 0, 250), (1, 5, 0, false));
    b.run(10);
    assert!(b.received("roll_ask").is_none());
}

#[test]
fn published_storage_is_64_kb_of_memts_per_gpu() {
    let p = TsuParams::published(Tsm::default());
    assert_eq!(p.sets, TsuParams::sets_behind(&p.tsm, 256 << 10, p.ways));
    let area = weft_rtl::area::area(&tsu(&p).expect("legal parameters"));
    let bits = |name: &str| area.memories.iter().find(|m| m.name == name).map_or(0, |m| m.bits);
    let per_gpu = |bits: u64| bits * u64::from(p.tsm.lanes * p.tsm.banks / p.tsm.gpus) / 8;
    assert_eq!(per_gpu(bits("memts")), 64 << 10);
    assert_eq!(per_gpu(bits("wts")), 64 << 10);
    assert_eq!(p.tag_bits(), 28);
    assert_eq!(bits("entries"), 4096 * 29);
    assert_eq!((bits("floors"), bits("wfloors")), (512 * 16, 512 * 16));
    let p = TsuParams { wts: TsuWts::Bound, ..p };
    let area = weft_rtl::area::area(&tsu(&p).expect("legal parameters"));
    assert!(!area.memories.iter().any(|m| m.name == "wts" || m.name == "wfloors"));
}

#[test]
fn illegal_values_are_refused_with_their_legal_range() {
    let refused = |key: &str, value: &str| {
        let given = [(key.to_string(), value.to_string())].into();
        let set = ParamSet::new(&info(), &given).expect("a known key");
        (info().build)(&set).expect_err("an illegal value").to_string()
    };
    for (key, value, legal) in [
        ("sets", "3", "power of two, 1..65536"),
        ("ways", "17", "1..16"),
        ("latency", "1", "2..200"),
        ("wts", "sharp", "exact, bound"),
        ("inject", "lit_brts", "none, lit_mwts, lit_no_ts, lit_no_floor, lit_reinit"),
    ] {
        let text = refused(key, value);
        assert!(text.contains(&format!("{key} = {value}")) && text.ends_with(legal), "{text}");
    }
}
