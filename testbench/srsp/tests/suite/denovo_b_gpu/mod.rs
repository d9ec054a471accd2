//! `denovo-b-l1` and `denovo-b-l2` together: locks and counters passed round between CUs, with every value checked.

mod l1;
mod l2;

use crate::hlrc_gpu::world::World;
use std::collections::BTreeSet;
use weft_srsp::Shape;
use weft_srsp::bank::Bank;
use weft_srsp::denovo_b_l1::{DenovoInject, DenovoL1Params};
use weft_srsp::hlrc_l2::{HlrcL2Fault, HlrcL2Params, Registered};
use weft_srsp::params::Srsp;

type Gpu = (DenovoL1Params, HlrcL2Params);

/// A small GPU: L1s of 8 lines, banks of 8 lines.
fn small(cus: u32) -> Gpu {
    let srsp = Srsp { cus, addr_bits: 32, banks: 2, mshrs: 4, wbt: 3, ..Srsp::default() };
    let l1 = DenovoL1Params::published(srsp.clone()).sized(|s| Shape {
        size: 512,
        ways: 2,
        sfifo: 4,
        targets: 4,
        sq: 4,
        ..s
    });
    let l2 = HlrcL2Params { revokes: 2, ..HlrcL2Params::published(srsp).of(Registered::Writes) }
        .sized(|s| Bank { size: 1024, ways: 4, sfifo: 8, latency: 8, mshrs: 4, targets: 3, writes: 4, ..s });
    (l1, l2)
}

fn passes(p: &Gpu, waves: usize, work: u64, seed: u64) -> World {
    let mut w = World::new((&p.0, &p.1), waves, work, 6, seed);
    w.run(400_000);
    w
}

#[test]
fn locks_and_counters_go_round() {
    for seed in 1..4 {
        let w = passes(&small(4), 3, 40, seed);
        assert!(w.sections() > 100);
        for counter in ["revokes", "reads", "reg_flush", "unreg_kend", "owned_stores", "flash_acquire"] {
            assert!(w.b.counted(&format!("denovo_b_l1_{counter}")) > 10, "{counter}");
        }
    }
}

/// Victims by age alone in both, so that owned lines are evicted and recalled all the time.
#[test]
fn owned_lines_are_evicted_and_recalled() {
    for seed in 4..7 {
        let (l1, l2) = small(3);
        let l1 = DenovoL1Params { owned_aware: false, ..l1 };
        let w = passes(&(l1, HlrcL2Params { owned_aware: false, ..l2 }), 4, 40, seed);
        assert!(w.b.counted("denovo_b_l1_unreg_evict") > 0 && w.b.counted("l2_recalls") > 0);
        assert!(w.b.counted("denovo_b_l1_empty_acks") > 0, "an UNREG crosses a REVOKE or READ");
    }
}

/// The least of everything.
#[test]
fn the_smallest_gpu_goes_on() {
    for seed in 7..10 {
        let (l1, l2) = small(3);
        let srsp = Srsp { mshrs: 1, wbt: 2, banks: 1, ..l1.shape.srsp.clone() };
        let l1 = l1.sized(|s| Shape {
            srsp: srsp.clone(),
            size: 256,
            sfifo: 2,
            targets: 1,
            sq: 1,
            latency: 2,
            ..s
        });
        let l2 = HlrcL2Params { revokes: 1, ..l2 }.sized(|s| Bank {
            srsp,
            size: 512,
            ways: 2,
            mshrs: 2,
            targets: 1,
            writes: 1,
            ..s
        });
        passes(&(l1, l2), 3, 25, seed);
    }
}

#[test]
fn one_cu_alone() {
    passes(&small(1), 4, 40, 10);
}

#[test]
fn eight_cus_of_the_published_sizes() {
    let srsp = Srsp { cus: 8, ..Srsp::default() };
    let bank = HlrcL2Params::published(srsp.clone()).of(Registered::Writes);
    let p = (DenovoL1Params::published(srsp), bank.sized(|s| Bank { size: 1 << 18, ..s }));
    let w = passes(&p, 3, 30, 11);
    assert!(w.b.counted("denovo_b_l1_local") > 0 && w.b.counted("denovo_b_l1_owned_loads") > 0);
}

/// Some of ten runs of a GPU with a fault fails; the roomy L1s keep copies long enough.
fn is_found(change: impl Fn(Gpu) -> Gpu + std::panic::RefUnwindSafe) -> bool {
    (20..30).any(|seed| {
        let (l1, l2) = small(4);
        let roomy = (
            l1.sized(|s| Shape { size: 4096, ways: 4, sfifo: 16, ..s }),
            l2.sized(|s| Bank { size: 1 << 14, ..s }),
        );
        std::panic::catch_unwind(|| passes(&change(roomy), 3, 60, seed)).is_err()
    })
}

/// Faults of an L1 or a bank that other L1s see.
#[test]
fn faults_are_found() {
    for (inject, word) in DenovoInject::WORDS {
        let harmless = matches!(inject, DenovoInject::None | DenovoInject::ToldAgain);
        let found = is_found(|(l1, l2)| (DenovoL1Params { inject: *inject, ..l1 }, l2));
        assert_eq!(found, !harmless, "{word}");
    }
    for fault in [HlrcL2Fault::OldRead, HlrcL2Fault::GrantBeforeFlush, HlrcL2Fault::LostUnreg] {
        assert!(is_found(|(l1, l2)| (l1, HlrcL2Params { fault, ..l2 })), "{fault:?}");
    }
}

/// Fences, which these CUs do not send: `l1` does.
const UNMET: [&str; 2] = ["srsp.denovo_b_l1.op.FenceAcq", "srsp.denovo_b_l1.op.FenceRel"];

/// Every row of both tables, and every race, is met by locks and counters on GPUs of several sizes.
#[test]
fn rows_and_races_are_met() {
    let (l1, l2) = small(4);
    let tight = Srsp { mshrs: 2, wbt: 2, ..l1.shape.srsp.clone() };
    let gpus = [
        (l1.clone(), l2.clone()),
        (
            DenovoL1Params { owned_aware: false, ..l1.clone() },
            HlrcL2Params { owned_aware: false, revokes: 1, ..l2.clone() },
        ),
        (
            l1.clone().sized(|s| Shape { srsp: tight.clone(), sfifo: 2, targets: 1, sq: 2, ..s }),
            l2.clone().sized(|s| Bank { srsp: tight, size: 512, ways: 2, targets: 1, writes: 1, ..s }),
        ),
        (
            l1.sized(|s| Shape { size: 2048, ways: 4, sfifo: 16, ..s }),
            l2.sized(|s| Bank { size: 1 << 13, ..s }),
        ),
    ];
    let mut unmet: Option<BTreeSet<String>> = None;
    for (turn, p) in gpus.iter().cycle().take(12).enumerate() {
        let w = passes(p, 4, 40, 40 + turn as u64);
        let own = |id: &String| id.contains("denovo_b") && w.b.counted(id) == 0;
        let run: BTreeSet<String> = w.b.uncovered(&[]).into_iter().filter(own).collect();
        unmet = Some(unmet.map_or(run.clone(), |unmet| &unmet & &run));
    }
    let unmet: Vec<String> = unmet.unwrap_or_default().into_iter().collect();
    assert_eq!(unmet, UNMET);
}
