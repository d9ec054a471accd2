//! Small random programs on the RTL: nothing is found without a fault, and every published slip is (mgcc.md section 11).

use weft_explore::search::Violation;
use weft_mgcc::choice::{Consistency, Inject};
use weft_mgcc_bench::explore::random::{run, small};
use weft_mgcc_bench::explore::{build, report};

const LENGTH: usize = 10;

/// The first seed below `seeds` with a violation.
fn first(consistency: Consistency, inject: Inject, seeds: u64) -> Option<(u64, Violation)> {
    let mut net = build(&small(consistency, inject)).expect("legal parameters");
    // Rules are tried by the explorations.
    net.blocks.iter_mut().for_each(|block| block.noise = false);
    for seed in 0..seeds {
        if let Err(violation) = run(&mut net, LENGTH, seed) {
            if inject == Inject::None {
                panic!("seed {seed}\n{}", report::counterexample(&mut net, &violation));
            }
            return Some((seed, violation));
        }
    }
    if inject == Inject::None {
        let reached: Vec<_> = report::reached(&net).into_iter().filter(|(_, count)| *count == 0).collect();
        println!("{consistency:?}: {seeds} runs, not reached: {reached:?}");
    }
    None
}

#[test]
fn random_programs_without_a_fault() {
    assert_eq!(first(Consistency::Sc, Inject::None, 12), None);
    assert_eq!(first(Consistency::Rc, Inject::None, 12), None);
}

/// A slip is caught under SC or under RC.
fn caught(inject: Inject) {
    let found = first(Consistency::Sc, inject, 60).or_else(|| first(Consistency::Rc, inject, 60));
    let (seed, violation) = found.unwrap_or_else(|| panic!("{inject:?} is not caught"));
    println!("{inject:?}: seed {seed}, {} actions: {}", violation.path.len(), violation.text);
}

#[test]
fn lit_mwts_is_caught() {
    caught(Inject::LitMwts);
}

#[test]
fn lit_no_ts_is_caught() {
    caught(Inject::LitNoTs);
}

#[test]
fn lit_read_cts_is_caught() {
    caught(Inject::LitReadCts);
}

#[test]
fn lit_brts_is_caught() {
    caught(Inject::LitBrts);
}

#[test]
fn lit_ack_nodata_is_caught() {
    caught(Inject::LitAckNodata);
}

#[test]
fn lit_no_floor_is_caught() {
    caught(Inject::LitNoFloor);
}

#[test]
fn lit_reinit_is_caught() {
    caught(Inject::LitReinit);
}

#[test]
fn past_rts_is_caught() {
    caught(Inject::PastRts);
}

#[test]
fn long_random_programs_without_a_fault() {
    assert_eq!(first(Consistency::Sc, Inject::None, 400), None);
    assert_eq!(first(Consistency::Rc, Inject::None, 400), None);
}
