//! `gtsc-l1` against the golden L1, event by event and with events that overlap: operations of the CU, banks (golden ones) that answer late and in any order, another CU that
//! writes, rolls.
//!
//! Hit here: the rows `gtsc.l1.*` and the races `mgcc.race.l1_*`.

use crate::gtsc_bench;
mod pair;
mod storage;

use gtsc_bench::widths;
use pair::Pair;
use std::collections::BTreeSet;
use weft_mgcc::l1::L1Params;
use weft_mgcc_bench::golden::l1::CuWork;
use weft_mgcc_bench::golden::msg::Data;

fn small(ts: u32) -> L1Params {
    L1Params {
        size: 256,
        ways: 2,
        latency: 7,
        pool: 5,
        self_inc: 7,
        observe: true,
        ..L1Params::gtsc_published(widths(ts))
    }
}

/// Races that only overlapping events reach.
const OVERLAPPING: [&str; 7] = [
    "gtsc.l1.amo.nowhere",
    "gtsc.l1.rd.nowhere",
    "mgcc.race.l1_wait_behind_replay",
    "mgcc.race.l1_wait_while_served",
    "mgcc.race.l1_two_heads_leave",
    "mgcc.race.l1_sweep_replay",
    "mgcc.race.l1_fence_waits",
];

#[test]
fn every_event_as_the_model() {
    let mut missed: Option<BTreeSet<String>> = None;
    let sets = [small(7), small(6), L1Params { self_inc: 0, repl_ts: true, ..small(16) }, small(8)];
    for (seed, p) in sets.iter().enumerate() {
        let mut pair = Pair::new(p, 30 + seed as u64);
        pair.run(1_200);
        let now: BTreeSet<String> = pair.bench.uncovered(&OVERLAPPING).into_iter().collect();
        missed = Some(match missed {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        });
    }
    let missed = missed.unwrap_or_default();
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

/// Events overlap, and what leaves is held back.
#[test]
fn overlapping_events_as_the_model() {
    let sets = [small(7), small(6), L1Params { self_inc: 0, repl_ts: true, ..small(16) }, small(8)];
    let mut missed: Option<BTreeSet<String>> = None;
    for (seed, p) in sets.iter().enumerate() {
        let mut pair = Pair::new(p, 30 + seed as u64);
        pair.overlap(3_000, &[12, 6, 4]);
        let now: BTreeSet<String> = pair.bench.uncovered(&[]).into_iter().collect();
        missed = Some(match missed {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        });
    }
    let missed = missed.unwrap_or_default();
    let here: Vec<&str> = OVERLAPPING.into_iter().filter(|name| missed.contains(*name)).collect();
    assert!(here.is_empty(), "never seen: {here:?}");
}

/// Why requests wait.
#[test]
fn every_stall_has_its_cause() {
    let p = L1Params { self_inc: 0, ..small(8) };
    crate::l1_ports::every_stall_has_its_cause(&mut Pair::new(&p, 1).bench, &p);
}

#[test]
fn a_hit_leaves_in_its_cycle() {
    let p = L1Params { self_inc: 0, ..small(8) };
    crate::l1_ports::a_hit_leaves_in_its_cycle(&mut Pair::new(&p, 1).bench, &p);
}

/// What makes the difference to MGCC: an expired block is renewed without its line, a store that misses changes nothing, warpts goes with every request.
#[test]
fn renewals_and_stores() {
    let mut pair = Pair::new(&L1Params { self_inc: 0, ..small(9) }, 1);
    let load = CuWork::Load { sync: false };
    let store = |byte: u8| CuWork::Store { data: Data([byte; 64]), want_ack: true };
    let first = pair.alone(2, 1, load);
    assert_eq!((first.time.ts, first.src), (1, 3), "the first fill has wts 1");
    assert_eq!(pair.alone(2, 1, load).src, 0, "hit");
    // Writes of another line move the clock past the lease of line 2.
    let late = (0..3).map(|i| pair.alone(4, u64::MAX, store(i)).time.ts).max();
    assert!(late > Some(11), "each write passes the lease of the one before: {late:?}");
    assert_eq!(pair.bench.counted("mgcc_l1_installs"), 1, "stores that miss take no way");
    let renewed = pair.alone(2, 1, load);
    assert_eq!((renewed.src, renewed.data), (1, first.data));
    assert_eq!(pair.bench.counted("mgcc_l1_renewals"), 1);
    assert_eq!(renewed.time.ts, late.unwrap_or_default(), "it binds at warpts, within the new lease");
    // Another CU writes line 2: no renewal once the lease is over.
    pair.other_writes(2, 0xff00, 9);
    let (_, last) = (pair.alone(4, u64::MAX, store(7)), pair.alone(4, u64::MAX, store(8)));
    assert!(last.time.ts > renewed.time.ts + 10);
    let filled = pair.alone(2, 0xff00, load);
    assert_eq!(filled.data.0[8], 9);
    assert_eq!(pair.bench.counted("mgcc_l1_renewals"), 1);
    // A store into a block that another has written gets the line, one into a current block does not.
    pair.other_writes(2, 0xff_0000, 5);
    pair.alone(2, 1, store(1));
    assert_eq!(pair.alone(2, 0xff_0000, load).data.0[16], 5, "the other's bytes came with the WrAck");
}
