//! The synchronisation microbenchmarks: free of data races in every order tried and for every size, scopes and classes as
//! in the table of section 7, results that show what goes wrong.

use crate::small::sync as small;
use crate::watch;

use proptest::prelude::*;
use small::SYNC;
use std::collections::{BTreeMap, BTreeSet};
use watch::{Changed, Watched, has, make, run_in, settings, try_make, verified};
use weft_workload::ideal::Order;
use weft_workload::{AmoKind, Class, Op, Scope, Sem, WorkloadError, build};

const ORDERS: [Order; 4] = [Order::Forward, Order::Reverse, Order::Mixed(1), Order::Mixed(2)];

/// The small settings of a program, with others before them.
fn with(name: &str, own: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    watch::with(SYNC, name, own)
}

#[test]
fn no_microbenchmark_races_in_any_order() {
    for &(name, _) in SYNC {
        for own in [&[][..], &[("lanes", "16")], &[("per_cu", "1")], &[("cus", "1"), ("gpms", "1")]] {
            let program = make(name, &with(name, own));
            for order in ORDERS {
                let races = verified(&*program, order).1;
                assert!(races.list.is_empty(), "{name} {order:?}: {}", races.list[0]);
            }
        }
    }
}

#[test]
fn without_its_paired_accesses_every_microbenchmark_races() {
    for &(name, list) in SYNC {
        let races = |sem: Sem| {
            let weaken = |op: &mut Op| {
                let (access, release) = match op {
                    Op::Load { access, .. } => (access, false),
                    Op::Store { access, .. } => (access, true),
                    Op::Amo { access, .. } => {
                        let release = access.sem == Sem::Release;
                        (access, release)
                    }
                    _ => return,
                };
                if access.class == Class::P && release == (sem == Sem::Release) {
                    access.class = Class::U;
                }
            };
            let program = Changed::new(make(name, list), weaken);
            ORDERS.into_iter().map(|order| run_in(&program, order).1.count).sum::<u64>()
        };
        assert!(races(Sem::Acquire) > 0, "{name} without acquires");
        assert!(races(Sem::Release) > 0, "{name} without releases");
    }
}

/// What makes a lock, or a meeting, no lock.
#[test]
fn a_lock_that_lets_everybody_in_loses_updates() {
    for &(name, list) in SYNC.iter().filter(|(name, _)| name.starts_with("spm")) {
        let open = |op: &mut Op| match op {
            // A compare-and-swap finds what it hopes for, but writes nothing.
            Op::Amo { kind: AmoKind::Cas, compare, values, access, .. } if access.sem == Sem::Acquire => {
                *compare = u64::from(u32::MAX) - 1;
                *values = weft_workload::Values::Const(0);
            }
            _ => {}
        };
        let program = Changed::new(make(name, list), open);
        let done = run_in(&program, Order::Forward).0;
        let error = weft_workload::Program::verify(&program, &|addr, count| done.memory.read(addr, count));
        let array = error.err().map(|e| e.array);
        assert!(matches!(array.as_deref(), Some("counters" | "lines")), "{name}: {array:?}");
    }
}

/// Class, what it orders, and scope of the accesses other than data.
fn orders(name: &str, own: &[(&'static str, &'static str)]) -> BTreeSet<String> {
    let program = Watched::new(make(name, &with(name, own)));
    verified(&program, Order::Forward);
    program.seen()
}

#[test]
fn classes_are_those_of_the_table() {
    let local = ["spm-l", "spmbo-l", "fam-l", "slm-l", "ss-l", "ssbo-l"];
    let table: &[(&str, &[&str])] = &[
        ("spm", &["Cas P Acquire", "store P Release"]),
        ("spmbo", &["Cas P Acquire", "store P Release"]),
        ("fam", &["Inc U Relaxed", "load P Acquire", "Inc P Release"]),
        ("slm", &["Inc U Relaxed", "load P Acquire", "Sub U Relaxed", "store P Release"]),
        ("ss", &["Cas P Acquire", "store P Release"]),
        ("ssbo", &["Cas P Acquire", "store P Release"]),
    ];
    for (kind, accesses) in table {
        for end in ["g", "l"] {
            let name = format!("{kind}-{end}");
            let Some((name, _)) = SYNC.iter().find(|(n, _)| *n == name) else { continue };
            let scope = |gpus| match local.contains(name) {
                true => Scope::Cu,
                false if gpus == "1" => Scope::Gpu,
                false => Scope::Sys,
            };
            for gpus in ["1", "2"] {
                let expected = accesses.iter().map(|access| format!("{access} {:?}", scope(gpus)));
                assert_eq!(orders(name, &[("gpus", gpus)]), expected.collect(), "{name}");
            }
        }
    }
    for name in ["tb-lg", "tbex-lg"] {
        let both = ["Inc P Release Cu", "Inc P Release Gpu", "Cas P Acquire Cu", "Cas P Acquire Gpu"];
        assert_eq!(orders(name, &[("gpus", "1")]), both.map(str::to_owned).into(), "{name}");
    }
    let expected = [
        "Add C Relaxed Sys",
        "Add U Relaxed Sys",
        "Cas P Acquire Cu",
        "Cas P Acquire Sys",
        "load U Relaxed Cu",
        "load U Relaxed Sys",
        "store P Release Cu",
        "store P Release Sys",
        "store U Relaxed Cu",
        "store U Relaxed Sys",
    ];
    assert_eq!(orders("uts", &[]), expected.map(str::to_owned).into());
}

#[test]
fn parts_that_do_not_fit_are_one_sentence() {
    let error = try_make("spm-l", &[("cus", "5"), ("gpms", "2")]).err().map(|e: WorkloadError| e.to_string());
    assert_eq!(error.as_deref(), Some("workload spm-l: gpms = 2 is illegal, expected a divisor of cus = 5"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_machine_verifies_without_races(which in 0..SYNC.len(), gpus in 1..4u64, gpms in 1..3u64, cus in 1..4u64,
                                          per_cu in 1..5u64, group in 1..70u64, lanes in 1..=64u64,
                                          iterations in 1..5u64, accesses in 1..24u64, seed: u64, order: u64) {
        let name = SYNC[which].0;
        let numbers = [
            ("gpus", gpus), ("gpms", gpms), ("cus", gpms * cus), ("per_cu", per_cu), ("group", group), ("lanes", lanes),
            ("iterations", iterations), ("accesses", accesses), ("nodes", 7 * accesses), ("stack", 1 + accesses), ("seed", seed),
        ];
        let all: Vec<(&str, String)> = numbers.map(|(key, value)| (key, value.to_string())).to_vec();
        let all: BTreeMap<String, String> =
            all.into_iter().filter(|(key, _)| has(name, key)).map(|(k, v)| (k.to_owned(), v)).collect();
        let program = build(name, &all, None).unwrap_or_else(|e| panic!("{e}"));
        let races = verified(&*program, Order::Mixed(order)).1;
        prop_assert!(races.list.is_empty(), "{name} {all:?}: {}", races.list[0]);
    }
}

/// Published sizes are legal, and the work of a published run is what the text says.
#[test]
fn published_sizes_are_reached_by_keys() {
    for (name, _) in SYNC.iter().filter(|(name, _)| *name != "uts") {
        let program =
            try_make(name, &[("iterations", "100"), ("cus", "15")]).unwrap_or_else(|e| panic!("{e}"));
        let counters = program.arrays().iter().find(|a| a.name == "counters").expect("is there").length;
        let sets = match name.rsplit('-').next() {
            Some("g") => 1,
            Some("l") => 15,
            _ => 45,
        };
        assert_eq!(counters, 16 * sets, "{name}");
    }
    let settings = settings(&[("nodes", "16384"), ("seed", "200"), ("cus", "15")]);
    let program = build("uts", &settings, None).unwrap_or_else(|e| panic!("{e}"));
    verified(&*program, Order::Mixed(5));
}
