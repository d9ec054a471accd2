//! All interleavings of tiny hierarchical systems on the RTL (spandex.md section 9), and the shortest way to
//! each fault.

use weft_explore::net::Timing;
use weft_explore::report::covered;
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

/// The same, and these rows of tables and races are reached.
fn reaches(config: &Config, names: &[&str]) {
    let system = holds(config);
    let (reached, _) = covered(&system.net.blocks);
    for name in names {
        assert!(reached.iter().any(|of| of == &format!("spandex.{name}")), "{name} is not reached");
    }
}

/// The same devices issue their lists from the beginning.
fn in_order(devices: &[Kind], budgets: &[usize], lists: &[&str]) -> Config {
    let mut config = system(devices, budgets, lists);
    config.cores.in_order = true;
    config
}

#[test]
fn flag_and_data_in_one_line() {
    let lists = ["ST X.0,SYNC X.1", "SYNC X.1,LD X.0"];
    holds(&system(&[Mesi, Gpu], &[2], &lists));
    holds(&system(&[Mesi, Denovo], &[2], &lists));
}

#[test]
fn flag_and_data_in_two_lines() {
    holds(&system(&[Mesi, Gpu], &[2], &["ST X.0,SYNC Y.0", "SYNC Y.0,LD X.0"]));
}

/// Inv overtakes the line that it is for, at a core and at the L2.
#[test]
fn lines_are_used_once() {
    let config = in_order(&[Mesi, Mesi, Gpu], &[2, 1, 1], &["LD X,ST X.0", "LD X"]);
    let names = ["hmesi_client.DataS.ISI", "gpu_l2.client.ISI.DataS", "gpu_l2.client.S.Inv"];
    reaches(&config, &names);
}

/// A line that leaves a core is asked for by another.
#[test]
fn lines_leave_a_core() {
    let lists = ["ST X.0,LD Y,LD Z", "LD X,ST X.1"];
    let config = Config { l3: (1, 4), ..in_order(&[Mesi, Mesi, Gpu], &[3, 2, 0], &lists) };
    let names = ["hmesi_client.FwdGetS.MI", "hmesi_client.WBAck.II", "hmesi_llc.Stale.SS"];
    reaches(&config, &names);
}

/// With two transactions the L3 lets a request wait for its line.
#[test]
fn requests_wait_for_a_busy_line() {
    let config = in_order(&[Mesi, Mesi, Gpu], &[1], &["ST X.0", "ST X.0", "LD X"]);
    reaches(&Config { l3_tbes: (2, 1), ..config }, &["hmesi_llc.BUSY_X.Req"]);
}

#[test]
fn operations_of_a_device_overlap() {
    let mut config = system(&[Mesi, Gpu], &[2, 1], &[]);
    config.overlap(2);
    holds(&config);
}

#[test]
fn long_every_kind_of_device() {
    holds(&system(&[Mesi, Gpu], &[2], &[]));
    holds(&system(&[Mesi, Denovo], &[2], &[]));
    for devices in [[Mesi, Mesi, Gpu], [Mesi, Mesi, Denovo], [Mesi, Gpu, Denovo], [Mesi, Denovo, Denovo]] {
        holds(&system(&devices, &[1], &[]));
    }
}

/// The L3 takes lines away whose words a CU owns; the L2 gives them back.
#[test]
fn long_lines_leave_the_l2() {
    let lists = ["LD X,ST X.1", "ST X.0,LD Y,LD Z"];
    let config = in_order(&[Mesi, Denovo], &[2, 3], &lists);
    reaches(&config, &["gpu_l2.client.O.Recall", "gpu_l2.client.RVK.Recall"]);
    reaches(&Config { l3: (1, 4), ..config }, &["gpu_l2.client.MI.WBAck"]);
}

/// The explorations of the faults of a block end with the violations that show them; each of its faults has
/// one.
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
