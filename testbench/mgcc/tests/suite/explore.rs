//! All interleavings of tiny systems on the RTL, and faults that an exploration must find (mgcc.md sections 3, 6, 8 and 11).

use std::collections::BTreeMap;
use weft_explore::net::Timing;
use weft_explore::report::covered;
use weft_explore::search::{Explored, Limits, explore};
use weft_mgcc::choice::{Consistency, Inject};
use weft_mgcc_bench::explore::{Config, Op, System, build, report};

fn run(config: &Config) -> (System, Explored) {
    let mut net = build(config).expect("legal parameters");
    let limits = Limits { states: 200_000_000, live: config.inject == Inject::None, ..Limits::default() };
    let found = explore(&mut net, limits, &mut |_| {});
    (net, found)
}

/// Everything is visited without a violation, and all of these, or rows of these names, were reached.
fn holds(config: &Config, wanted: &[&str]) -> Explored {
    let (mut net, found) = run(config);
    if let Some(violation) = &found.violation {
        panic!("{}", report::counterexample(&mut net, violation));
    }
    assert!(found.complete);
    println!("{}", report::table(&net, &found, false));
    let reached: BTreeMap<&str, u64> = report::reached(&net).into_iter().collect();
    let (rows, _) = covered(&net.blocks);
    for words in wanted {
        let there = reached.get(words).is_some_and(|count| *count > 0) || rows.iter().any(|row| row == words);
        assert!(there, "{words}: not reached\n{}", report::table(&net, &found, true));
    }
    found
}

/// The exploration ends with a violation whose text has one of these words; in no more than so many actions.
fn finds(config: &Config, words: &[&str], most: usize) {
    let (mut net, found) = run(config);
    let violation = found.violation.unwrap_or_else(|| panic!("{:?} is not found", config.inject));
    let story = report::counterexample(&mut net, &violation);
    assert!(words.iter().any(|word| violation.text.contains(word)), "{story}");
    assert!(violation.path.len() <= most, "{} actions\n{story}", violation.path.len());
}

fn ops(text: &str) -> Vec<Op> {
    text.split(',').map(|op| op.parse().expect("an operation")).collect()
}

#[test]
fn two_l1s_two_lines_a_tsu_of_one_entry() {
    let config = Config { budgets: vec![3, 1], ..Config::default() };
    let wanted =
        ["load of an expired block, L1", "TSU entry replaced", "floor raised", "entry begins at the floor"];
    let found = holds(&config, &wanted);
    assert!(found.states > 100_000, "{} states", found.states);
}

#[test]
fn an_epoch_overflows_and_everybody_rolls() {
    let config = Config { budgets: vec![1, 1], start: 62, ..Config::default() };
    let wanted = [
        "write does not fit the epoch",
        "... after DRAM was written",
        "epoch begun by the controller",
        "TSU asked again after the roll",
        "bank rolled by a Roll",
        "bank rolled by an answer",
        "L1 rolled by an answer",
        "sweep with a transaction open",
        "request of an older epoch, TSU",
    ];
    holds(&config, &wanted);
}

/// What a roll must drop is read here after it, if it is still there.
#[test]
fn a_line_is_read_again_after_a_roll() {
    let alphabet = ops("LD X,ST X.0");
    let config = Config { budgets: vec![2, 1], start: 62, alphabet, ..Config::default() };
    holds(&config, &["write does not fit the epoch", "bank rolled by an answer"]);
}

#[test]
fn two_gpus() {
    let config = Config { gpus: 2, cus: 1, budgets: vec![2, 1], ..Config::default() };
    holds(&config, &["TSU entry replaced", "entry begins at the floor"]);
}

#[test]
fn blocks_that_leave_a_bank_are_noted() {
    let alphabet = ops("LD X,LD Y,LD Z,ST X.0");
    let config =
        Config { lines: vec![0, 2, 4], alphabet, budgets: vec![3, 1], tsu: (1, 4), ..Config::default() };
    holds(&config, &["TSU entry dropped by an EvictNote"]);
}

#[test]
fn release_consistency() {
    let alphabet = ops("LD X,LD_SYNC X,ST X.0,LD Y,ST Y.0,FENCE");
    let config = Config { consistency: Consistency::Rc, alphabet, budgets: vec![2, 1], ..Config::default() };
    holds(&config, &["TSU entry replaced"]);
}

#[test]
fn fences_between_other_operations() {
    let alphabet = ops("LD X,ST X.0,ST Y.0,FENCE");
    let config = Config { consistency: Consistency::Rc, alphabet, budgets: vec![3, 1], ..Config::default() };
    holds(&config, &["TSU entry replaced", "mgcc.l1.fence"]);
}

#[test]
fn atomics_and_both_kinds_of_stores() {
    let alphabet = ops("LD X,ST X,ST X.1,AMO X");
    holds(&Config { alphabet, budgets: vec![2, 1], ..Config::default() }, &[]);
}

#[test]
fn blocks_clocked_at_any_moment() {
    let config = Config { timing: Timing::Free, budgets: vec![1, 1], ..Config::default() };
    holds(&config, &["TSU entry replaced"]);
}

#[test]
fn a_tsu_without_floors_is_found() {
    let config = Config { budgets: vec![3, 1], inject: Inject::LitNoFloor, ..Config::default() };
    finds(&config, &["binds at", "written twice", "would come before itself", "the write with"], 60);
}

#[test]
fn an_overflow_without_reset_is_found() {
    let config = Config { budgets: vec![2, 1], start: 62, inject: Inject::LitReinit, ..Config::default() };
    finds(&config, &["must not bind before"], 50);
}

#[test]
fn a_read_past_its_lease_is_found() {
    let config = Config { budgets: vec![3, 1], inject: Inject::PastRts, ..Config::default() };
    finds(&config, &["the write with the greatest time"], 80);
}

#[test]
fn long_two_operations_each() {
    let wanted = ["load of an expired block, bank", "TSU entry replaced", "entry begins at the floor"];
    holds(&Config { budgets: vec![2, 2], ..Config::default() }, &wanted);
    holds(&Config { budgets: vec![2, 2], leases: (1, 1), ..Config::default() }, &wanted);
}

#[test]
fn long_overflow_with_everything_else_under_way() {
    let rolls = [
        "write does not fit the epoch",
        "bank rolled by a request",
        "bank rolled by an answer",
        "sweep with a transaction open",
        "request of an older epoch, TSU",
    ];
    let alphabet = ops("LD X,ST X.0");
    holds(&Config { budgets: vec![2, 2], start: 62, alphabet, ..Config::default() }, &rolls);
    let further =
        [&rolls[..], &["TSU rolled by a request, before its Roll", "answer of an older epoch, bank"]];
    holds(&Config { budgets: vec![2, 1], start: 62, ..Config::default() }, &further.concat());
    holds(&Config { gpus: 2, cus: 1, budgets: vec![1, 1], start: 62, ..Config::default() }, &rolls[..1]);
}

/// From reset: five operations bring a TSU eviction, an overflow and its roll.
#[test]
fn long_from_reset_to_the_second_epoch() {
    let wanted = [
        "load of an expired block, L1",
        "TSU entry replaced",
        "entry begins at the floor",
        "write does not fit the epoch",
        "... after DRAM was written",
        "TSU asked again after the roll",
        "bank rolled by an answer",
        "request of an older epoch, TSU",
    ];
    holds(&Config { budgets: vec![3, 2], ..Config::default() }, &wanted);
}
