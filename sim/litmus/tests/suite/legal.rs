//! Programs without races have sequentially consistent results only, under every model (cu-and-consistency.md section 5.1); and races are needed for that to matter.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use weft_litmus::model::Model;
use weft_litmus::model::drf::{Drf, Level};
use weft_litmus::paths::Bounds;
use weft_litmus::race::{Hrf, races};
use weft_litmus::read::read;
use weft_litmus::test::{Expr, Instr, Outcome, Test};
use weft_workload::op::Class;

const SC: Model = Model::Drf(Drf { level: Level::Sc, scopes: false, data_coherent: true });

/// A program of 2 or 3 threads on 2 locations; `classes` are those that its accesses may have. Quantum accesses may find anything, so that there are fewer of them.
fn program(rng: &mut SmallRng, classes: &[&str]) -> String {
    let quantum = classes.contains(&"Q");
    let threads = if quantum { 2 } else { rng.random_range(2..=3) };
    let most = if quantum || threads == 3 { 2 } else { 3 };
    let mut text = String::from("weft-litmus 1\nlocs x y\n");
    // A value is used if the condition names it: results are compared with all of them.
    let mut named = String::from("x=0");
    for thread in 0..threads {
        let mut code: Vec<String> = Vec::new();
        let mut guard = String::new();
        for n in 0..rng.random_range(1..=most) {
            let class = classes[rng.random_range(0..classes.len())];
            let loc = ["x", "y"][rng.random_range(0..2)];
            let value = rng.random_range(1..=2);
            let access = match rng.random_range(0..5) {
                0 | 1 => format!("W.{class} {loc} {value}"),
                2 | 3 => format!("r{n} = R.{class} {loc}"),
                _ if class == "D" => format!("r{n} = R.{class} {loc}"),
                _ => format!(
                    "{}ADD.{class} {loc} 1",
                    if rng.random() { format!("r{n} = ") } else { String::new() }
                ),
            };
            code.push(format!("{guard}{access}"));
            if access.starts_with('r') {
                named += &format!(" /\\ {thread}:r{n}=0");
            }
            if access.starts_with('r') && rng.random() {
                guard = format!("if r{n} == {} ", rng.random_range(0..=1));
            }
        }
        text += &format!("T{thread} : {}\n", code.join(" ; "));
    }
    text + &format!("exists ({named})\n")
}

/// An end without the memory that quantum accesses write: they may leave anything there.
fn without_quantum(test: &Test, end: &Outcome) -> Outcome {
    let mut end = end.clone();
    for instr in test.threads.iter().flat_map(|t| &t.code) {
        if let Instr::Store { at: Expr::Addr(loc), attr, .. } | Instr::Rmw { at: Expr::Addr(loc), attr, .. } =
            instr
            && attr.class == Class::Q
        {
            end.mem[*loc] = 0;
        }
    }
    end
}

/// Legal programs among `count`, and illegal ones with results that are not sequentially consistent.
fn campaign(seed: u64, count: usize, drf: Drf, classes: &[&str]) -> (usize, usize) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let bounds = Bounds::default();
    let (mut legal, mut weak) = (0, 0);
    for _ in 0..count {
        let text = program(&mut rng, classes);
        let test: Test = read(&text).expect("a program");
        let found = races(&test, drf, Hrf::Indirect, bounds).expect("small");
        // A quantum access may find anything in the program that results are held against.
        let consistent = SC.ends(&test, Bounds { quantum: true, ..bounds }).expect("small");
        let ends = Model::Drf(drf).ends(&test, bounds).expect("small");
        let consistent: BTreeSet<Outcome> =
            consistent.iter().map(|end| without_quantum(&test, end)).collect();
        let stray = ends.iter().find(|end| !consistent.contains(&without_quantum(&test, end)));
        if found.iter().any(|f| f.race.illegal()) {
            weak += usize::from(stray.is_some());
        } else {
            legal += 1;
            assert_eq!(stray.map(|end| test.describe(end)), None, "not sequentially consistent:\n{text}");
        }
    }
    (legal, weak)
}

const LEVELS: [(Level, &[&str]); 4] = [
    (Level::Drf0, &["D", "P"]),
    (Level::Drf1, &["D", "P", "U"]),
    (Level::DrfRlx, &["D", "P", "U", "C", "N", "S"]),
    (Level::DrfRlx, &["D", "P", "U", "Q"]),
];

fn campaigns(count: usize) {
    for (seed, (level, classes)) in LEVELS.into_iter().enumerate() {
        let (legal, weak) = campaign(seed as u64, count, Drf::flat(level), classes);
        println!("{level:?} {classes:?}: {legal} of {count} legal, {weak} illegal ones with weak results");
        assert!(legal > count / 20, "{level:?}: only {legal} of {count} programs were legal");
        assert!(weak > 0, "{level:?}: no race had a visible result");
    }
}

#[test]
fn legal_programs_are_sequentially_consistent() {
    campaigns(400);
}

#[test]
#[ignore = "minutes; run with --run-ignored=only"]
fn long_legal_programs_are_sequentially_consistent() {
    campaigns(14_000);
}
