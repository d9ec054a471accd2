//! All interleavings of tiny hierarchical systems on the RTL (spandex.md section 9), and the shortest way to each fault.

use weft_explore::net::Timing;
use weft_explore::search::{Explored, Limits};
use weft_hmesi_bench::explore::Kind::{self, Denovo, Gpu, Mesi};
use weft_hmesi_bench::explore::{Config, System, build, explore, faults, report};
use weft_spandex_bench::explore::mixes::ops;

fn run(config: &Config) -> (System, Explored) {
    let mut system = build(config).expect("legal parameters");
    let limits = Limits { states: 5_000_000, live: true, ..Limits::default() };
    let found = explore(&mut system, limits, &mut |_| {});
    (system, found)
}

/// Everything is visited without a violation.
fn holds(config: &Config) -> System {
    let (mut system, found) = run(config);
    if let Some(violation) = &found.violation {
        panic!("{}", report::counterexample(&mut system, violation));
    }
    assert!(found.complete && found.finished > 0, "{} states", found.states);
    println!("{:?}: {}", config.cores.devices, report::table(&system, &found, false));
    system
}

/// Devices that issue anything out of their lists.
fn system(devices: &[Kind], budgets: &[usize], lists: &[&str]) -> Config {
    let mut config = Config::of(devices);
    config.cores.budgets = budgets.to_vec();
    if !lists.is_empty() {
        config.cores.alphabets = lists.iter().map(|list| ops(list)).collect();
    }
    config
}

#[test]
fn a_core_and_a_cu() {
    holds(&system(&[Mesi, Gpu], &[1], &[]));
    holds(&system(&[Mesi, Denovo], &[1], &[]));
}

/// The explorations of the faults of a block end with the violations that show them; each of its faults has one.
fn found(block: &str) {
    let mine = |name: &str| name.split(':').next() == Some(block);
    let shown: Vec<_> = faults::shown().into_iter().filter(|shown| mine(shown.name)).collect();
    let named: Vec<String> = faults::named().into_iter().map(|of| of.0).filter(|name| mine(name)).collect();
    assert_eq!(shown.iter().map(|shown| shown.name).collect::<Vec<_>>(), named);
    for faults::Shown { name, actions, config, words } in shown {
        let (mut system, found) = run(&config);
        let violation =
            found.violation.unwrap_or_else(|| panic!("{name} is not found in {} states", found.states));
        let story = report::counterexample(&mut system, &violation);
        assert!(words.iter().any(|word| violation.text.contains(word)), "{name}: {story}");
        assert!(violation.path.len() <= actions, "{name}: {} actions: {story}", violation.path.len());
        println!("| {name} | {} | {} | {} |", found.states, violation.path.len(), violation.text);
    }
}

#[test]
fn faults_of_the_client_are_found() {
    found("hmesi-client");
}

#[test]
fn faults_of_the_l2_are_found() {
    found("gpu-l2");
}

#[test]
fn faults_of_the_l3_are_found() {
    found("mesi-llc");
}

#[test]
fn blocks_clocked_at_any_moment() {
    let mut config = system(&[Mesi, Gpu], &[1], &["LD X", "ST X.0"]);
    config.cores.timing = Timing::Free;
    holds(&config);
}
