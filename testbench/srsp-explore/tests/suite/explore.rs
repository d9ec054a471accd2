//! All interleavings of two L1s and a bank of the sRSP family on the RTL, and faults that an exploration must find (srsp.md sections 5 to 9).

use weft_explore::search::{Explored, Limits};
use weft_fabric::config::FabricConfig;
use weft_srsp_explore::{Config, Op, System, build, explore, report, smallest};

fn fabric(sets: &[&str]) -> FabricConfig {
    let mut fabric = smallest();
    sets.iter().for_each(|pair| fabric.set(pair).expect("a legal key"));
    fabric.validate().expect("legal keys");
    fabric
}

fn ops(lists: &[&str]) -> Vec<Vec<Op>> {
    let list = |text: &&str| text.split(',').map(|op| op.parse().expect("an operation")).collect();
    lists.iter().map(list).collect()
}

fn config(sets: &[&str], lists: &[&str], budgets: &[usize]) -> Config {
    let gpu = fabric(sets).srsp().expect("a fabric of this family");
    Config { alphabets: ops(lists), budgets: budgets.to_vec(), lines: 2, ..Config::of(gpu) }
}

fn run(config: &Config, live: bool) -> (System, Explored) {
    let mut system = build(config).expect("legal parameters");
    let found = explore(&mut system, Limits { live, ..Limits::default() }, &mut |_| {});
    (system, found)
}

/// Everything is visited without a violation, and from everywhere to the end; the states.
fn holds(name: &str, config: &Config) -> usize {
    let (mut system, found) = run(config, true);
    if let Some(violation) = &found.violation {
        panic!("{name}: {}", report::counterexample(&mut system, violation));
    }
    assert!(found.complete && found.finished > 0);
    println!("{name}\n{}", report::table(&system, &found, true));
    found.states
}

#[test]
fn srsp_with_an_operation_each() {
    holds("srsp", &config(&["protocol=srsp"], &["ld_acq_wg X,st_rel_wg X", "rmw_rem_ar X"], &[1, 1]));
}
