//! `moesi-directory` in lockstep with its golden model among golden banks, under random operations and
//! pressure on every port, and the sentences of moesi.md section 4 one by one.
//!
//! Rows and races: all of `moesi.*`.

mod bench;
mod env;
mod follow;
mod steps;

use crate::dir_support::*;
use bench::{Bench, small};
use env::{Env, Pressure};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_blocks::directory::{DirParams, Policy, TagStyle, directory};
use weft_testbench::fault;
use weft_testbench::golden::moesi;

const EASY: Pressure = Pressure {
    steps: 8,
    offer: 1.0,
    rsp: 1.0,
    inv: 1.0,
    ack: 1.0,
    done: 1.0,
    replace: 0.03,
    outstanding: 3,
    lines: 8,
};

const PRESSURES: [Pressure; 4] = [
    EASY,
    // Everybody wants the same lines.
    Pressure { lines: 2, ack: 0.2, outstanding: 4, ..EASY },
    Pressure { inv: 0.15, rsp: 0.4, ack: 0.5, done: 0.3, lines: 6, replace: 0.1, ..EASY },
    Pressure { ack: 0.08, done: 0.1, offer: 0.5, lines: 4, ..EASY },
];

/// Parameters, the slice looked at, and the sets that are used.
fn parameter_sets() -> Vec<(DirParams, u32, u32)> {
    let banks = |p: DirParams, banks: u32, line: u32| {
        let sys = weft_blocks::msg::Sys { banks, line, ..p.sys.clone() };
        DirParams { sys, ..p }
    };
    vec![
        (small(4, 1, 0), 0, 2),
        (DirParams { entries: 1, ways: 1, evb_depth: 1, pending: 2, ..small(2, 1, 1) }, 0, 1),
        (DirParams { entries: 8, ways: 4, evb_depth: 1, pending: 3, ..small(2, 3, 5) }, 0, 2),
        (DirParams { ways: 4, evb_depth: 2, policy: Policy::Fifo, ..small(4, 2, 3) }, 0, 1),
        (banks(DirParams { entries: 12, pending: 2, ..small(3, 2, 1) }, 2, 64), 1, 3),
        (DirParams { ways: 1, evb_depth: 8, pending: 8, ..small(1, 8, 7) }, 0, 3),
        (DirParams { ways: 4, pending: 64, tag_style: TagStyle::Minimal, ..small(8, 1, 2) }, 0, 1),
        (
            DirParams { entries: 15, ways: 3, pending: 16, tag_style: TagStyle::Minimal, ..small(3, 1, 2) },
            0,
            2,
        ),
    ]
}

/// Random operations until all are over.
fn press(bench: &mut Bench, seed: u64, ops: u64) {
    let pressure = PRESSURES[seed as usize % PRESSURES.len()];
    let mut env = Env::new(bench, SmallRng::seed_from_u64(seed));
    while env.entries < ops {
        env.cycle(bench, &pressure, true);
        assert!(bench.sim.cycle() < 400 * ops, "the slice goes on");
    }
    let rest = Pressure { steps: 40, ..EASY };
    let end = bench.sim.cycle() + 20_000;
    while !(env.quiet() && bench.idle()) {
        env.cycle(bench, &Pressure { replace: 0.0, ..rest }, false);
        assert!(bench.sim.cycle() < end, "everything ends");
    }
    (0..20).for_each(|_| env.cycle(bench, &Pressure { replace: 0.0, ..rest }, false));
    assert_eq!(bench.answered, env.entries, "every operation is answered once");
    env.check(bench);
    bench.compare_memory();
}

fn random_run((p, bank, sets): &(DirParams, u32, u32), seed: u64, ops: u64) -> BTreeMap<String, u64> {
    let mut bench = Bench::new(p, *bank, *sets);
    press(&mut bench, seed, ops);
    let hits = covers(&bench.sim);
    let mut golden = moesi::races::Tally::default();
    bench.sets.iter().for_each(|set| golden.add(&set.tally));
    let counts = golden.counts();
    let races = ["put_behind_row", "waits_for_memory", "two_phases", "recall_after_acks"];
    let races = races.map(|name| format!("moesi.race.{name}"));
    let rows = (moesi::SLICE.rows)().into_iter().map(|(id, _)| id.to_string());
    for id in rows.chain(races) {
        assert_eq!(hits[&id], counts[id.as_str()], "{id}");
    }
    hits
}

#[test]
fn moesi_agrees_with_the_golden_slice() {
    let mut hits = BTreeMap::new();
    for (i, set) in parameter_sets().iter().enumerate() {
        for pressure in 0..4 {
            let seed = 4 * i as u64 + pressure;
            add(&mut hits, random_run(set, seed, 2500), seed);
        }
    }
    publish("dir_moesi", &hits);
    assert_all_hit("moesi-directory", &hits, &[]);
}

#[test]
fn long_many_seeds() {
    for (i, set) in parameter_sets().iter().enumerate() {
        (0..20).for_each(|nth| drop(random_run(set, 1000 + 20 * i as u64 + nth, 6000)));
    }
}

/// Each of these makes the slice wrong in one way; the checks must say so at some of the parameter sets.
#[test]
fn a_broken_slice_is_found_out() {
    let faults: [(&str, u64, &str); 18] = [
        ("found", 0, "entries are overlooked"),
        ("line", 0, "a line under way is free"),
        ("line", 1, "every line is under way"),
        ("requester", 0, "nobody becomes a sharer"),
        ("busy_ways", 0, "an entry with a row is replaced"),
        ("stall_no_way", 0, "an entry is replaced although all have rows"),
        ("stall_rows_full", 0, "a row is overwritten"),
        ("stall_invs_full", 0, "an INV message is lost"),
        ("stall_rsp_blocked", 0, "an answer is lost"),
        ("s1_told", 0, "nobody is told"),
        ("s1_joins", 0, "what must wait is held"),
        ("s1_replaces", 0, "nothing is replaced"),
        ("accept_again", 0, "what waits is forgotten"),
        ("pending_due", 0, "nobody is asked or answered"),
        ("ack_counts", 0, "Acks and Dones are lost"),
        ("done_counts", 0, "the own Dones are lost"),
        ("s2_replaced", 1, "every Inv is that of a replaced entry"),
        ("allocate", 0, "no entry is allocated"),
    ];
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let unseen: Vec<&str> = faults
        .into_iter()
        .filter(|(name, value, _)| {
            !parameter_sets().iter().enumerate().any(|(i, (p, bank, sets))| {
                let broken = fault::stuck(&directory(p).unwrap(), name, *value, 300);
                [1, 2].into_iter().any(|pressure| {
                    let mut bench = Bench::on(p, *bank, *sets, &broken);
                    let run = || press(&mut bench, 4 * i as u64 + pressure, 600);
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
                })
            })
        })
        .map(|(.., what)| what)
        .collect();
    std::panic::set_hook(hook);
    assert!(unseen.is_empty(), "not seen: {unseen:?}");
}
