//! `l2-wb` against a memory that answers late: random L1s, other GPUs that write other bytes of the same lines, back-pressure, commands; and against the golden
//! model, event by event.

mod directed;
mod golden;
use crate::l2_bench;

use golden::Pair;
use l2_bench::{Bench, Seen, small};
use weft_mgcc::choice::WrspData;
use weft_mgcc::l2::L2Params;

/// The small bank with write-back.
fn back() -> L2Params {
    let p = small(8);
    L2Params { size: p.size, ways: p.ways, pool: p.pool, ..L2Params::write_back(p.tsm) }
}

/// Random traffic with kernels' ends in between. In shared runs other GPUs write the upper half of each line.
fn run(p: &L2Params, seed: u64, kernels: u64, shared: bool, seen: &mut Seen) {
    let mut bench = Bench::new(p, seed);
    bench.full_data = p.wrsp_data == WrspData::Always;
    if shared {
        bench.own = 0xffff_ffff;
    }
    for kernel in 0..kernels {
        bench.run(2_500);
        if kernel % 2 == 0 {
            bench.command(1);
            assert!(bench.blocks().iter().all(|b| b.3 == 1), "no line is dirty after a write-back");
        } else {
            bench.command(0);
            assert_eq!(bench.blocks(), Vec::new(), "no line is left after an invalidation");
        }
        bench.check_memory();
    }
    bench.collect(seen);
    let answers = bench.counter("l2_answers");
    assert!(answers > kernels * 80, "only {answers} answers");
}

#[test]
fn random_traffic() {
    let mut seen = Seen::default();
    for seed in 0..6 {
        run(&back(), seed, 3, seed % 2 == 1, &mut seen);
    }
    let two = L2Params { size: 128, ways: 2, ..back() };
    for seed in 10..14 {
        run(&two, seed, 3, seed % 2 == 1, &mut seen);
    }
    let always = L2Params { wrsp_data: WrspData::Always, pool: 3, ..back() };
    for seed in 20..22 {
        run(&always, seed, 2, false, &mut seen);
    }
    let mut one = back();
    one.tsm.l2_mshrs = 1;
    let one = L2Params { pool: 1, ways: 8, ..one };
    run(&one, 30, 3, false, &mut seen);
    let names = Bench::new(&back(), 0).covers();
    let missing: Vec<_> = names.iter().filter(|n| !seen.contains_key(*n)).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn event_by_event_as_the_golden_model() {
    for seed in 0..2 {
        Pair::new(&back(), seed).run(1_000);
        Pair::new(&L2Params { wrsp_data: WrspData::Always, ..back() }, seed + 10).run(800);
    }
    let two = L2Params { size: 128, ways: 2, ..back() };
    for seed in 20..22 {
        Pair::new(&two, seed).run(1_000);
    }
}

/// The bank as its memory's only cache.
#[test]
fn a_home_bank() {
    let home = |p: L2Params| L2Params { home: Some(32), ..p };
    let mut seen = Seen::default();
    for seed in 40..44 {
        run(&home(back()), seed, 3, false, &mut seen);
    }
    let two = L2Params { size: 128, ways: 2, ..back() };
    for seed in 50..53 {
        run(&home(two.clone()), seed, 3, false, &mut seen);
        Pair::new(&home(two.clone()), seed).run(1_000);
        Pair::new(&home(back()), seed + 10).run(1_000);
    }
    let mut one = back();
    one.tsm.l2_mshrs = 1;
    run(&home(L2Params { pool: 1, ways: 8, ..one }), 70, 3, false, &mut seen);
    let names = Bench::new(&home(back()), 0).covers();
    let missing: Vec<_> = names.iter().filter(|n| !seen.contains_key(*n)).collect();
    assert_eq!(missing, Vec::<&String>::new());
}
