//! The programs of the study of relaxed atomics: free of data and commutative races in every order tried, labels as in the
//! use cases, results that show what goes wrong.

use crate::small::relaxed as small;
use crate::watch;

use proptest::prelude::*;
use small::RELAXED;
use std::collections::{BTreeMap, BTreeSet};
use watch::{Changed, Watched, has, make, run_in, settings, verified};
use weft_workload::ideal::{FlatMemory, Order};
use weft_workload::program::{Array, Program};
use weft_workload::{AmoKind, Class, Op, Values, WorkloadError, build, graph};

const ORDERS: [Order; 4] = [Order::Forward, Order::Reverse, Order::Mixed(1), Order::Mixed(2)];

/// The small settings of a program, with others before them.
fn with(name: &str, own: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    watch::with(RELAXED, name, own)
}

/// All work-groups resident, as they are on a machine that is large enough.
fn resident(program: Box<dyn Program>) -> Changed<impl Fn(&mut Op) + Send + Sync> {
    Changed::new(program, |_| {})
}

fn array<'a>(program: &'a dyn Program, name: &str) -> &'a Array {
    program.arrays().iter().find(|a| a.name == name).unwrap_or_else(|| panic!("no array {name}"))
}

fn words(program: &dyn Program, memory: &FlatMemory, name: &str) -> Vec<u32> {
    let array = array(program, name);
    (0..array.length).map(|i| memory.word(array.at(i), 4) as u32).collect()
}

#[test]
fn no_program_races_in_any_order() {
    for &(name, _) in RELAXED {
        for own in
            [&[][..], &[("lanes", "7")], &[("blocks", "1"), ("cus", "1"), ("gpus", "1"), ("per_cu", "1")]]
        {
            let own: Vec<_> = own.iter().filter(|(key, _)| has(name, key)).copied().collect();
            let program = resident(make(name, &with(name, &own)));
            for order in ORDERS {
                let races = verified(&program, order).1;
                assert!(races.list.is_empty(), "{name} {order:?}: {}", races.list[0]);
            }
        }
    }
}

#[test]
fn without_paired_accesses_plain_data_races() {
    for name in ["bc-gpu", "pr-push", "work-queue"] {
        let weaken = |op: &mut Op| {
            if let Op::Load { access, .. } | Op::Store { access, .. } | Op::Amo { access, .. } = op
                && access.class == Class::P
            {
                access.class = Class::U;
            }
        };
        let program = Changed::new(make(name, &with(name, &[])), weaken);
        let races: u64 = ORDERS.into_iter().map(|order| run_in(&program, order).1.count).sum();
        assert!(races > 0, "{name}");
    }
}

#[test]
fn labels_are_those_of_the_use_cases() {
    let table: &[(&str, &[&str])] = &[
        ("bc-gpu", &["Add C", "Max C", "store N", "load N", "Add P", "store P", "load P"]),
        ("flags", &["Add N", "store N", "load N", "Inc P", "Cas P"]),
        ("hist", &["Add C"]),
        ("histg", &["Add C"]),
        ("histg-no", &["Add N"]),
        ("pr-push", &["Add C", "Add P", "store P", "load P"]),
        ("reference-counter", &["Inc Q", "Dec Q", "store Q"]),
        ("seqlocks", &["load P", "Cas P", "store P", "Add P", "load S", "store S"]),
        ("split-counter", &["Add Q", "load Q"]),
        ("work-queue", &["Add U", "load U", "store P", "Cas P", "load P"]),
    ];
    assert!(table.iter().map(|(name, _)| name).eq(RELAXED.iter().map(|(name, _)| name)));
    for (name, expected) in table {
        let program = Watched::new(make(name, &with(name, &[])));
        verified(&program, Order::Forward);
        let kind = |seen: &String| seen.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let seen: BTreeSet<String> = program.seen().iter().map(kind).collect();
        assert_eq!(seen, expected.iter().map(|s| s.to_string()).collect(), "{name}");
    }
}

/// Arrays whose every word the verification protects: what is wrong in one is seen.
const PROTECTED: &[(&str, &[&str])] = &[
    ("bc-gpu", &["bc", "dist", "rho", "sigma", "changed"]),
    ("flags", &["found", "flags", "barriers"]),
    ("hist", &["histogram"]),
    ("histg", &["histogram"]),
    ("histg-no", &["histogram"]),
    ("pr-push", &["rank", "next"]),
    ("reference-counter", &["counters"]),
    ("seqlocks", &["sequences", "words", "torn", "copies"]),
    ("split-counter", &["counters", "fell"]),
    ("work-queue", &["ends", "slots", "full", "taken", "runs", "out"]),
];

#[test]
fn every_word_of_a_result_is_verified() {
    for (name, arrays) in PROTECTED {
        let program = make(name, &with(name, &[]));
        let mut memory = verified(&*program, Order::Mixed(3)).0.memory;
        for result in arrays.iter() {
            let array = array(&*program, result);
            for index in 0..array.length {
                let addr = array.at(index);
                let good = memory.word(addr, 4);
                memory.set_word(addr, 4, good + 1);
                let error = program.verify(&|addr, count| memory.read(addr, count)).err();
                assert_eq!(error.map(|e| e.array).as_deref(), Some(*result), "{name} {result}[{index}]");
                memory.set_word(addr, 4, good);
            }
        }
    }
}

/// A writer that does not make the sequence odd: copies are torn, and two writers write one version.
#[test]
fn a_seqlock_that_is_not_taken_is_seen() {
    let open = |op: &mut Op| {
        if let Op::Amo { kind: AmoKind::Cas, compare, .. } = op {
            *compare = u64::from(u32::MAX);
        }
    };
    let program = Changed::new(make("seqlocks", &with("seqlocks", &[("locks", "1"), ("blocks", "9")])), open);
    let wrong = ORDERS.into_iter().filter(|order| {
        let memory = run_in(&program, *order).0.memory;
        program.verify(&|addr, count| memory.read(addr, count)).is_err()
    });
    assert!(wrong.count() > 0);
}

/// Two work-groups that take one place run its task twice.
#[test]
fn a_place_that_is_not_claimed_is_seen() {
    let open = |op: &mut Op| {
        if let Op::Amo { kind, values, .. } = op
            && *kind == AmoKind::Inc
        {
            *values = Values::Const(0);
        }
    };
    // The first reference counter that does not grow goes around when it is dropped.
    let program = Changed::new(make("reference-counter", &with("reference-counter", &[])), open);
    let memory = run_in(&program, Order::Forward).0.memory;
    let error = program.verify(&|addr, count| memory.read(addr, count)).err();
    assert_eq!(error.map(|e| e.array).as_deref(), Some("counters"));
}

#[test]
fn readers_have_met_writers() {
    let program = resident(make("seqlocks", &with("seqlocks", &[("locks", "1"), ("every", "2")])));
    let plain = |program: &dyn Program| ORDERS.map(|order| verified(program, order).0.stats.load_lines);
    let alone = make("seqlocks", &with("seqlocks", &[("locks", "1"), ("every", "2")]));
    let (met, alone) = (plain(&program), plain(&*alone));
    assert!(met.iter().zip(alone).any(|(met, alone)| *met > alone), "{met:?} {alone:?}: nobody copies twice");
}

#[test]
fn betweenness_is_that_of_the_program_with_cpu_threads() {
    let both = ["bc", "bc-gpu"].map(|name| {
        let mut list = vec![("source", "karate"), ("sources", "3"), ("blocks", "2"), ("group", "8")];
        list.extend((name == "bc").then_some(("cpu_threads", "2")));
        let program = make(name, &list);
        let memory = verified(&*program, Order::Mixed(4)).0.memory;
        words(&*program, &memory, "bc")
    });
    assert_eq!(both[0], both[1]);
}

#[test]
fn ranks_are_those_of_the_program_that_pulls() {
    let graph = graph::bundled("karate").expect("is bundled");
    let run = |name: &str| {
        let program =
            build(name, &settings(&[("iterations", "8"), ("blocks", "2")]), Some(&graph)).expect("builds");
        let memory = verified(&*program, Order::Forward).0.memory;
        let array = if name == "pr" { "rank0" } else { "rank" };
        words(&*program, &memory, array)
    };
    for (pushed, pulled) in run("pr-push").into_iter().zip(run("pr")) {
        let (pushed, pulled) = (f64::from(pushed) / f64::from(1 << 30), f64::from(f32::from_bits(pulled)));
        assert!((pushed - pulled).abs() < 1e-6, "{pushed} {pulled}");
    }
}

#[test]
fn tasks_that_do_not_fit_are_one_sentence() {
    let error = watch::try_make("work-queue", &[("tasks", "1000"), ("blocks", "100")]);
    assert_eq!(
        error.err().map(|e: WorkloadError| e.to_string()).as_deref(),
        Some(
            "workload work-queue: tasks = 1000 is illegal, expected at most 654, so that a task and who takes it fit a word"
        )
    );
}

/// The published sizes run to a right end.
#[test]
fn published_sizes_verify() {
    for name in ["flags", "hist", "histg-no", "reference-counter", "split-counter", "work-queue"] {
        let info = weft_workload::workloads().iter().find(|w| w.name == name).expect("is listed");
        let program = make(name, info.published);
        verified(&*program, Order::Mixed(1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_size_verifies_without_races(which in 0..RELAXED.len(), blocks in 1..6u64, group in 1..50u64, lanes in 1..=64u64,
                                       a in 1..40u64, b in 1..7u64, seed: u64, order: u64) {
        let name = RELAXED[which].0;
        let numbers = [
            ("blocks", blocks), ("cus", blocks), ("per_cu", b), ("group", group), ("lanes", lanes), ("seed", seed),
            ("values", 20 * a), ("bins", a), ("repeats", b), ("sharers", a), ("locks", b), ("iterations", b), ("every", b),
            ("adds", b), ("sums", b), ("tasks", b), ("nodes", a), ("edges", 3 * a), ("work", b), ("main_work", a),
        ];
        let numbers = numbers.map(|(key, value)| (key.to_owned(), value.to_string()));
        let source = ("source".to_owned(), "uniform".to_owned());
        let all: BTreeMap<String, String> =
            numbers.into_iter().chain([source]).filter(|(key, _)| has(name, key)).collect();
        let program = resident(build(name, &all, None).unwrap_or_else(|e| panic!("{e}")));
        let races = verified(&program, Order::Mixed(order)).1;
        prop_assert!(races.list.is_empty(), "{name} {all:?}: {}", races.list[0]);
    }
}
