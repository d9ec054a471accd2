//! The published slips: the bank has them exactly as the golden model has, and the checks of random traffic find each.

use crate::mgcc_l2::golden::Pair;
use crate::mgcc_l2::l2_bench::{Bench, small};
use std::panic::{AssertUnwindSafe, catch_unwind};
use weft_mgcc::choice::{Inject, ReadTs};
use weft_mgcc::l2::L2Params;

const SLIPS: [Inject; 3] = [Inject::LitReadCts, Inject::LitBrts, Inject::LitAckNodata];

fn with(inject: Inject) -> L2Params {
    L2Params { inject, read_ts: ReadTs::Eager, ..small(8) }
}

#[test]
fn slips_are_those_of_the_golden_model() {
    for slip in SLIPS {
        for seed in 0..2 {
            Pair::new(&with(slip), seed).run(1_000);
        }
    }
}

#[test]
fn random_traffic_finds_each_slip() {
    for slip in SLIPS {
        let found = (0..4).any(|seed| {
            let mut bench = Bench::new(&with(slip), seed);
            catch_unwind(AssertUnwindSafe(|| bench.run(6_000))).is_err()
        });
        assert!(found, "{slip:?} goes unnoticed");
    }
}
