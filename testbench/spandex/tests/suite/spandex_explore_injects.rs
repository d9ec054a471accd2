//! Faults in the blocks that an exploration must find, each by a shortest way.

use weft_explore::search::{Limits, explore};
use weft_spandex_bench::explore::{build, faults, report};

/// The explorations of the faults of some blocks end with the violations that show them.
fn found(blocks: &[&str]) {
    let mine = |name: &str| blocks.iter().any(|block| name.split(':').next() == Some(block));
    let shown: Vec<_> = faults::shown().into_iter().filter(|shown| mine(shown.name)).collect();
    assert!(!shown.is_empty());
    for faults::Shown { name, config, words } in shown {
        assert_ne!(config.faults, faults::NONE, "{name} is no fault");
        let mut system = build(&config).expect("legal parameters");
        let limits = Limits { states: 5_000_000, live: true, ..Limits::default() };
        let found = explore(&mut system, limits, &mut |_| {});
        let violation =
            found.violation.unwrap_or_else(|| panic!("{name} is not found in {} states", found.states));
        let story = report::counterexample(&mut system, &violation);
        assert!(words.iter().any(|word| violation.text.contains(word)), "{name}: {story}");
        println!("| {name} | {} | {} | {} |", found.states, violation.path.len(), violation.text);
    }
}

#[test]
fn faults_of_the_bank_are_found() {
    found(&["spandex-llc"]);
}

#[test]
fn faults_of_gpu_l1_and_its_unit_are_found() {
    found(&["gpu-l1", "tu-gpu"]);
}

#[test]
fn faults_of_denovo_l1_are_found() {
    found(&["denovo-l1"]);
}

#[test]
fn faults_of_mesi_l1_and_its_unit_are_found() {
    found(&["mesi-l1", "tu-mesi"]);
}

#[test]
fn faults_of_flex_l1_are_found() {
    found(&["flex-l1"]);
}

#[test]
fn faults_of_the_stash_are_found() {
    found(&["stash"]);
}
