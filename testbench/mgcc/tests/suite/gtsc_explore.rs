//! All interleavings of tiny GPUs with G-TSC on the RTL, and faults that an exploration must find (mgcc.md section 14).

use std::collections::BTreeMap;
use weft_explore::guess::learn_and_explore;
use weft_explore::net::Timing;
use weft_explore::report::covered;
use weft_explore::search::{Explored, Limits};
use weft_mgcc::choice::{GtscFault, Inject};
use weft_mgcc_bench::explore::gtsc::{Config, System, build};
use weft_mgcc_bench::explore::{Op, report};

fn run(config: &Config) -> (System, Explored) {
    let mut net = build(config).expect("legal parameters");
    let limits = Limits { states: 200_000_000, live: config.inject == Inject::None, ..Limits::default() };
    let found = learn_and_explore(&mut net, limits, &mut |_| {});
    (net, found)
}

/// Everything is visited without a violation, and all of these, or rows of these names, were reached.
fn holds(config: &Config, wanted: &[&str]) -> Explored {
    let (mut net, found) = run(config);
    if let Some(violation) = &found.violation {
        panic!("{}", report::counterexample(&mut net, violation));
    }
    assert!(found.complete);
    let table = report::table(&net, &found, true);
    println!("{table}");
    let reached: BTreeMap<&str, u64> = report::reached(&net).into_iter().collect();
    let (rows, _) = covered(&net.blocks);
    for words in wanted {
        let there = reached.get(words).is_some_and(|count| *count > 0) || rows.iter().any(|row| row == words);
        assert!(there, "{words}: not reached\n{table}");
    }
    found
}

/// The exploration ends with a violation whose text has these words; in no more than so many actions.
fn finds(config: &Config, fault: GtscFault, words: &str, most: usize) {
    let (mut net, found) = run(&Config { inject: Inject::Gtsc(fault), ..config.clone() });
    let violation = found.violation.unwrap_or_else(|| panic!("{fault:?} is not found"));
    let story = report::counterexample(&mut net, &violation);
    println!("{story}");
    assert!(violation.text.contains(words), "{story}");
    assert!(violation.path.len() <= most, "{} actions\n{story}", violation.path.len());
}

fn ops(lists: &[&str]) -> Vec<Vec<Op>> {
    let list = |list: &&str| list.split(',').map(|op| op.parse().expect("an operation")).collect();
    lists.iter().map(list).collect()
}

#[test]
fn two_l1s_two_lines() {
    let wanted =
        ["load of an expired block, L1", "lease renewed without the line", "store into an old version"];
    let found = holds(&Config { budgets: vec![3, 1], ..Config::default() }, &wanted);
    assert!(found.states > 50_000, "{} states", found.states);
}

#[test]
fn an_epoch_overflows_and_everybody_rolls() {
    let wanted = [
        "lease ends at TS_MAX",
        "bank waits for the roll",
        "epoch begun by the controller",
        "bank rolled by a Roll",
        "bank rolled by a request",
        "L1 rolled by an answer",
        "roll with a transaction open",
        "roll over dirty lines",
        "request of an older epoch, bank",
    ];
    holds(&Config { budgets: vec![1, 1], start: 60, ..Config::default() }, &wanted);
}

/// What a roll must drop is asked about again after it.
#[test]
fn a_line_is_used_again_after_a_roll() {
    let alphabets = ops(&["LD X,ST X.0"]);
    let config = Config { alphabets, lines: 1, budgets: vec![2, 1], start: 60, ..Config::default() };
    holds(&config, &["roll over dirty lines", "bank rolled by a request", "L1 rolled by an answer"]);
}

#[test]
fn lines_leave_a_bank() {
    let alphabets = ops(&["LD X,LD Y,LD Z,ST X.0"]);
    let config = Config { alphabets, lines: 3, budgets: vec![3, 1], ..Config::default() };
    holds(&config, &["block dropped by the bank", "dirty victim written back"]);
}

/// Three L1s fetch three lines, and the bank has a place for two.
#[test]
fn a_request_goes_past_the_bank() {
    let alphabets = ops(&["LD X,ST X.0", "LD Y,ST Y.0", "LD Z,ST Z.0"]);
    let config =
        Config { cus: 3, alphabets, lines: 3, budgets: vec![1], l2_mshrs: (3, 1), ..Config::default() };
    holds(&config, &["request past the bank", "gtsc.l2.I_none.WrReq_partial", "gtsc.l2.none.done"]);
}

#[test]
fn two_operations_of_a_wave_are_open() {
    let alphabets = ops(&["LD X,LD_SYNC X,ST X.0,ST Y.0,FENCE"]);
    let config = Config { alphabets, open: 2, budgets: vec![3, 1], ..Config::default() };
    holds(&config, &["renewal refused: a newer version", "gtsc.l1.fence", "gtsc.l1.ld_sync.present"]);
}

#[test]
fn two_waves_of_a_cu() {
    let alphabets = ops(&["LD X,ST X.0"]);
    let config = Config { alphabets, lines: 1, waves: 2, budgets: vec![1], ..Config::default() };
    holds(&config, &["store into an old version"]);
}

#[test]
fn atomics_and_both_kinds_of_stores() {
    let alphabets = ops(&["LD X,ST X,ST X.1,AMO X"]);
    holds(&Config { alphabets, lines: 1, budgets: vec![2, 1], ..Config::default() }, &[]);
}

#[test]
fn two_banks() {
    holds(&Config { banks: 2, budgets: vec![2, 1], ..Config::default() }, &["store into an old version"]);
}

#[test]
fn blocks_clocked_at_any_moment() {
    let config = Config { timing: Timing::Free, budgets: vec![1, 1], ..Config::default() };
    holds(&config, &[]);
}

/// Waves that issue these lists from their beginning.
fn programs(lists: &[&str]) -> Config {
    let alphabets = ops(lists);
    let lines = alphabets.iter().flatten().map(|op| op.line()).max().unwrap_or(0) + 1;
    let budgets = alphabets.iter().map(Vec::len).collect();
    Config { alphabets, lines, budgets, in_order: true, ..Config::default() }
}

#[test]
fn a_renewal_of_an_old_version_is_found() {
    let config = Config { lease: 1, ..programs(&["LD X,ST Y.0,ST Y.0,LD X", "ST X.0"]) };
    finds(&config, GtscFault::RenewChanged, "the write with the greatest time", 61);
}

#[test]
fn a_lease_that_is_not_kept_is_found() {
    let config = programs(&["ST Y.0,LD X,ST X.0", "LD Y,LD X"]);
    finds(&config, GtscFault::LeaseNotKept, "the write with the greatest time", 54);
}

#[test]
fn a_block_that_leaves_without_its_time_is_found() {
    let config = programs(&["LD Y,LD X", "ST X.0,LD Z"]);
    finds(&config, GtscFault::EvictUntimed, "the write with the greatest time", 60);
}

/// Another wave of the CU reads the new value before the store has its time.
#[test]
fn a_block_that_is_not_locked_is_found() {
    let config = Config { cus: 1, waves: 2, ..programs(&["LD X,ST X.0", "LD X"]) };
    finds(&config, GtscFault::Unlocked, "the write with the greatest time", 40);
}

#[test]
fn long_two_waves_of_each_cu() {
    holds(&Config { waves: 2, budgets: vec![1], ..Config::default() }, &["store into an old version"]);
}

#[test]
fn long_an_overflow_with_everything_else_under_way() {
    let wanted = ["bank rolled by a request", "L1 rolled by an answer", "roll with a transaction open"];
    holds(&Config { budgets: vec![2, 1], start: 62, ..Config::default() }, &wanted);
}
