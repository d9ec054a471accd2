//! `hlrc-l1` and `hlrc-l2` together: locks and counters passed round between CUs, with every value checked.

mod gpu;
pub mod world;

use weft_srsp::Shape;
use weft_srsp::bank::Bank;
use weft_srsp::hlrc_l1::{HlrcInject, HlrcL1Params};
use weft_srsp::hlrc_l2::{HlrcL2Params, L2Write};
use weft_srsp::params::Srsp;
use world::World;

/// A small GPU: L1s of 8 lines, banks of 8 lines.
fn small(cus: u32) -> (HlrcL1Params, HlrcL2Params) {
    let srsp = Srsp { cus, addr_bits: 32, banks: 2, mshrs: 4, wbt: 3, ..Srsp::default() };
    let l1 = HlrcL1Params::published(srsp.clone()).sized(|s| Shape {
        size: 512,
        ways: 2,
        sfifo: 4,
        targets: 4,
        sq: 4,
        ..s
    });
    let l2 = HlrcL2Params { revokes: 2, ..HlrcL2Params::published(srsp) }.sized(|s| Bank {
        size: 1024,
        ways: 4,
        sfifo: 8,
        latency: 8,
        mshrs: 4,
        targets: 3,
        writes: 4,
        ..s
    });
    (l1, l2)
}

fn passes(p: &(HlrcL1Params, HlrcL2Params), waves: usize, work: u64, seed: u64) -> World {
    let mut w = World::new((&p.0, &p.1), waves, work, 6, seed);
    w.run(400_000);
    w
}

#[test]
fn locks_and_counters_go_round() {
    for (seed, write) in [(1, L2Write::ThroughInv), (2, L2Write::Combine), (3, L2Write::ThroughInv)] {
        let (l1, l2) = small(4);
        let w = passes(&(l1, HlrcL2Params { write, ..l2 }), 3, 40, seed);
        assert!(w.sections() > 100 && w.b.counted("hlrc_l1_revokes") > 100);
        assert!(w.b.counted("hlrc_l1_unreg") > 0, "owned victims, and a kernel's end");
    }
}

/// Victims by age alone in both, so that owned lines are evicted and recalled all the time.
#[test]
fn owned_lines_are_evicted_and_recalled() {
    for seed in 4..7 {
        let (l1, l2) = small(3);
        let l1 = HlrcL1Params { owned_aware: false, ..l1 };
        let w = passes(&(l1, HlrcL2Params { owned_aware: false, ..l2 }), 4, 40, seed);
        assert!(w.b.counted("hlrc_l1_flush_evict") > 0);
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
    let p = (
        HlrcL1Params::published(srsp.clone()),
        HlrcL2Params::published(srsp).sized(|s| Bank { size: 1 << 18, ..s }),
    );
    let w = passes(&p, 3, 30, 11);
    assert!(w.b.counted("hlrc_l1_local") > 0);
}

/// Faults of the L1 that other L1s see.
#[test]
fn faults_are_found() {
    for inject in [HlrcInject::FlushAfterAck, HlrcInject::NoGainInv, HlrcInject::LateCapture] {
        let found = (20..30).any(|seed| {
            let (l1, l2) = small(4);
            let l1 = HlrcL1Params { inject, ..l1 }.sized(|s| Shape { size: 4096, ways: 4, sfifo: 16, ..s });
            let l2 = l2.sized(|s| Bank { size: 1 << 14, ..s });
            std::panic::catch_unwind(|| passes(&(l1, l2), 3, 60, seed)).is_err()
        });
        assert!(found, "{inject:?}");
    }
}
