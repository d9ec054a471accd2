//! `mgcc-l2` against a memory that keeps every version of every line with its time: random L1s, other GPUs, epochs, back-pressure, late answers; and against the
//! golden model, event by event.

mod directed;
mod golden;
use crate::l2_bench;
mod slips;
mod storage;

use golden::Pair;
use l2_bench::{Bench, Seen, small};
use weft_mgcc::choice::{Coherence, ReadTs};
use weft_mgcc::l2::L2Params;

fn run(p: &L2Params, seed: u64, cycles: u64, leases: [u64; 2], seen: &mut Seen) {
    let mut bench = Bench::new(p, seed);
    bench.memory.leases = leases;
    bench.full_data = seed.is_multiple_of(3);
    bench.run(cycles);
    bench.collect(seen);
    assert!(bench.counter("l2_answers") > cycles / 30, "only {} answers", bench.counter("l2_answers"));
}

fn eager(ts: u32) -> L2Params {
    L2Params { read_ts: ReadTs::Eager, ..small(ts) }
}

fn plain() -> L2Params {
    L2Params { coherence: Coherence::None, ..small(8) }
}

/// Cover points of a bank that were not met.
fn missing(p: &L2Params, seen: &Seen, except: &[&str]) -> Vec<String> {
    let all = Bench::new(p, 0).covers();
    all.into_iter().filter(|n| !seen.contains_key(n) && !except.contains(&n.as_str())).collect()
}

/// Every row of the tables and every race but the one that a correct memory never brings about.
#[test]
fn random_traffic() {
    let mut seen = Seen::default();
    for seed in 0..5 {
        run(&small(8), seed, 6_000, [10, 5], &mut seen);
    }
    for seed in 10..12 {
        run(&eager(7), seed, 6_000, [20, 9], &mut seen);
    }
    for seed in 20..22 {
        run(&small(6), seed, 6_000, [16, 1], &mut seen);
    }
    let mut few = small(10);
    few.tsm.l2_mshrs = 2;
    for seed in 30..32 {
        run(
            &L2Params { pool: 2, evict_notes: false, repl_ts: false, ..few.clone() },
            seed,
            6_000,
            [3, 3],
            &mut seen,
        );
    }
    let two = L2Params { size: 128, ways: 2, ..small(8) };
    for seed in 40..43 {
        run(&two, seed, 6_000, [10, 5], &mut seen);
    }
    // Lists compete for a pool that is smaller than what may wait.
    run(&L2Params { pool: 2, ..small(8) }, 50, 6_000, [10, 5], &mut seen);
    assert_eq!(
        missing(&small(8), &seen, &["mgcc.race.l2_uncovered", "mgcc.race.l2_maint_locked"]),
        Vec::<String>::new()
    );
}

#[test]
fn random_traffic_without_coherence() {
    let mut seen = Seen::default();
    for seed in 0..3 {
        run(&plain(), seed, 6_000, [10, 5], &mut seen);
    }
    let two = L2Params { size: 128, ways: 2, ..plain() };
    for seed in 20..23 {
        run(&two, seed, 6_000, [10, 5], &mut seen);
    }
    let many = L2Params { size: 2048, ways: 16, pool: 3, ..plain() };
    for seed in 10..12 {
        run(&many, seed, 6_000, [10, 5], &mut seen);
    }
    assert_eq!(
        missing(&plain(), &seen, &["mgcc.race.l2_uncovered", "mgcc.race.l2_maint_locked"]),
        Vec::<String>::new()
    );
}

#[test]
fn event_by_event_as_the_golden_model() {
    for seed in 0..2 {
        Pair::new(&small(8), seed).run(1_200);
        Pair::new(&eager(7), seed + 10).run(1_200);
        Pair::new(&plain(), seed + 20).run(1_000);
    }
    let two = L2Params { size: 128, ways: 2, repl_ts: false, evict_notes: false, ..small(6) };
    for seed in 30..32 {
        Pair::new(&two, seed).run(1_200);
    }
}
