//! Whole GPUs with hLRC: locks passed round between CUs, with every word behind them checked, on both networks and with both ways of writing.

use weft_srsp::Shape;
use weft_srsp::bank::Bank;
use weft_srsp::fabric::{HlrcFabricParams, Network, registering_fabric};
use weft_srsp::hlrc_l1::HlrcL1Params;
use weft_srsp::hlrc_l2::{HlrcL2Fault, HlrcL2Params, L2Write};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::locks::{self, Manner};
use weft_srsp_bench::memory::Memory;

type World = locks::World<Memory>;

/// A small GPU: L1s of 8 lines, banks of 8 lines.
fn small(write: L2Write, cus: u32, network: Network) -> HlrcFabricParams {
    let srsp = Srsp { cus, addr_bits: 32, banks: 2, mshrs: 4, wbt: 4, ..Srsp::default() };
    let p = HlrcFabricParams::of(srsp, network);
    HlrcFabricParams {
        l1: p.l1.sized(|s| Shape { size: 512, ways: 2, sfifo: 4, targets: 4, sq: 4, ..s }),
        l2: HlrcL2Params { revokes: 2, write, ..p.l2 }.sized(|s| Bank {
            size: 1024,
            ways: 4,
            sfifo: 8,
            latency: 8,
            mshrs: 4,
            targets: 3,
            writes: 4,
            ..s
        }),
        ..p
    }
}

const FLAT: Network = Network::Flat { link: 2 };

fn world(p: &HlrcFabricParams, locks: usize, sections: u64, seed: u64) -> World {
    let (module, s) = (registering_fabric(p).expect("legal"), p.srsp());
    World::new(&module, (s.cu(), s.cus), Manner::Any, (locks, sections), Memory::new(s), seed)
}

fn passes(p: &HlrcFabricParams, locks: usize, sections: u64, seed: u64) -> World {
    let mut w = world(p, locks, sections, seed);
    w.run(400_000);
    w.check();
    w
}

#[test]
fn locks_go_round() {
    for (write, _) in L2Write::WORDS {
        for seed in 0..3 {
            let w = passes(&small(*write, 4, FLAT), 4, 40, seed);
            assert!(w.b.counted("l2_revokes") > 0 && w.b.counted("l2_rdu") > 0);
            assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "owners and others");
        }
    }
}

#[test]
fn locks_go_round_in_a_mesh() {
    for (write, _) in L2Write::WORDS {
        for (seed, (cus, columns)) in [(4, 2), (8, 4), (6, 3), (3, 1)].into_iter().enumerate() {
            let w = passes(&small(*write, cus, Network::Mesh { columns }), 4, 15, 10 + seed as u64);
            assert!(w.b.counted("l2_revokes") > 0);
        }
    }
}

/// Sets of two ways, more locks than frames: registered lines are recalled.
#[test]
fn a_small_bank_recalls() {
    for (write, _) in L2Write::WORDS {
        for owned_aware in [true, false] {
            let p = small(*write, 4, FLAT);
            let l2 = HlrcL2Params { owned_aware, ..p.l2.clone() }.sized(|s| Bank { size: 512, ways: 2, ..s });
            let l1 = HlrcL1Params { owned_aware, ..p.l1.clone() };
            let w = passes(&HlrcFabricParams { l1, l2, ..p }, 6, 25, 20);
            assert!(w.b.counted("l2_recalls") > 0);
        }
    }
}

/// L1s of four lines, many locks in one set of a bank: owners give lines back by themselves, also while they are asked for them.
#[test]
fn lines_are_given_back_from_both_sides() {
    const NAMES: [&str; 3] = ["l2_unreg", "l2_recalls", "l2_empty_revoke_acks"];
    let mut seen = [0; 3];
    for seed in 60..66 {
        let write = L2Write::WORDS[seed as usize % 2].0;
        let network = [FLAT, Network::Mesh { columns: 2 }, Network::Flat { link: 9 }][seed as usize % 3];
        let p = small(write, 6, network);
        let l1 =
            HlrcL1Params { owned_aware: seed % 4 < 2, ..p.l1.clone() }.sized(|s| Shape { size: 256, ..s });
        let l2 = HlrcL2Params { owned_aware: seed % 4 > 0, ..p.l2.clone() };
        let w = passes(&HlrcFabricParams { l1, l2, ..p }, 12, 20, seed);
        for (sum, name) in seen.iter_mut().zip(NAMES) {
            *sum += w.b.counted(name);
        }
    }
    assert!(seen.iter().all(|sum| *sum > 0), "{NAMES:?}: {seen:?}");
}

#[test]
fn one_cu_alone() {
    for (write, _) in L2Write::WORDS {
        passes(&small(*write, 1, FLAT), 1, 10, 30);
    }
}

/// Eight CUs on one lock.
#[test]
fn an_owner_gives_its_line_away_among_spinners() {
    for (seed, network) in [FLAT, Network::Mesh { columns: 4 }].into_iter().enumerate() {
        let mut w = world(&small(L2Write::ThroughInv, 8, network), 1, 6, 40 + seed as u64);
        w.own = 0.3;
        w.run(400_000);
        w.check();
    }
}

/// Links take their time: a lock, four words and a release that miss everywhere pay for both directions.
#[test]
fn a_longer_link_takes_longer() {
    let cycles = |link: u32| {
        let mut w = world(&small(L2Write::Combine, 1, Network::Flat { link }), 1, 1, 50);
        w.b.run(100);
        let begun = w.b.sim.cycle();
        w.run(10_000);
        w.check();
        w.b.sim.cycle() - begun
    };
    let (short, long) = (cycles(1), cycles(11));
    assert!(long >= short + 2 * 10 * 2, "{short} and {long} cycles");
}

#[test]
fn a_bank_that_grants_before_the_flush_is_noticed() {
    let p = small(L2Write::ThroughInv, 4, FLAT);
    let l2 = HlrcL2Params { fault: HlrcL2Fault::GrantBeforeFlush, ..p.l2.clone() };
    let mut w = world(&HlrcFabricParams { l2, ..p }, 4, 15, 3);
    w.run(100_000);
    assert!(w.complaint.is_some());
}

#[test]
fn names_are_short_enough_for_verilator() {
    let published = HlrcFabricParams::published();
    let flat = HlrcFabricParams { network: FLAT, ..published.clone() };
    for p in [&published, &flat] {
        assert!(p.module_name().len() < 128, "{}", p.module_name());
    }
    assert_ne!(published.module_name(), flat.module_name());
}

/// The banks of the published mesh stand in the middle of its quarters.
#[test]
fn banks_are_spread_evenly() {
    let (grid, nodes) = HlrcFabricParams::published().grid().expect("a mesh");
    assert_eq!((grid.columns, grid.rows), (16, 8));
    assert_eq!(nodes, [2 * 16 + 4, 2 * 16 + 12, 6 * 16 + 4, 6 * 16 + 12]);
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let p = small(L2Write::Combine, 6, FLAT);
    let other = small(L2Write::Combine, 2, FLAT);
    for bad in [
        HlrcFabricParams { network: Network::Flat { link: 0 }, ..p.clone() },
        HlrcFabricParams { network: Network::Flat { link: 65 }, ..p.clone() },
        HlrcFabricParams { network: Network::Mesh { columns: 0 }, ..p.clone() },
        HlrcFabricParams { network: Network::Mesh { columns: 4 }, ..p.clone() },
        HlrcFabricParams { l2: other.l2, ..p },
    ] {
        let error = registering_fabric(&bad).map(|_| ()).expect_err("illegal").to_string();
        assert!(error.contains("legal:"), "{error}");
    }
}
