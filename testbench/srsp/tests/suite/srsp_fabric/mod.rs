//! Whole GPUs: locks passed round between owners at work-group scope and remote CUs, with every word behind
//! them checked, in all systems.

mod races;

use weft_srsp::Shape;
use weft_srsp::bank::Bank;
use weft_srsp::fabric::{SrspFabricParams, srsp_fabric};
use weft_srsp::l1::{Closes, L1Params};
use weft_srsp::l2::{L2Fault, L2Params};
use weft_srsp::params::{Impl, Srsp};
use weft_srsp_bench::bench::locks::{self, Manner};
use weft_srsp_bench::memory::Memory;

type World = locks::World<Memory>;

/// A small GPU: L1s of 8 lines, banks of 8 lines.
fn small(system: Impl, cus: u32) -> SrspFabricParams {
    let srsp = Srsp { cus, addr_bits: 32, banks: 2, mshrs: 4, wbt: 4, ..Srsp::default() };
    let p = SrspFabricParams::of(srsp, system);
    SrspFabricParams {
        l1: L1Params { pa: 2, aff: 8, ..p.l1 }.sized(|s| Shape {
            size: 512,
            ways: 2,
            sfifo: 4,
            targets: 4,
            sq: 4,
            ..s
        }),
        l2: L2Params { locks: 2, ..p.l2 }.sized(|s| Bank {
            size: 1024,
            ways: 4,
            sfifo: 8,
            latency: 8,
            mshrs: 4,
            targets: 3,
            writes: 4,
            ..s
        }),
        link: 2,
        ..p
    }
}

fn world(p: &SrspFabricParams, locks: usize, sections: u64, seed: u64) -> World {
    let (module, s) = (srsp_fabric(p).expect("legal"), p.srsp());
    let manner = if p.l1.system == Impl::Base { Manner::Cmp } else { Manner::Scoped };
    World::new(&module, (s.cu(), s.cus), manner, (locks, sections), Memory::new(s), seed)
}

fn passes(p: &SrspFabricParams, locks: usize, sections: u64, seed: u64) -> World {
    let mut w = world(p, locks, sections, seed);
    w.run(400_000);
    w.check();
    w
}

#[test]
fn locks_go_round_in_base() {
    let w = passes(&small(Impl::Base, 3), 3, 15, 1);
    assert_eq!(w.b.counted("l2_grants"), 0);
}

#[test]
fn locks_go_round_in_brsp() {
    for (seed, cus) in [(2, 3), (3, 4), (4, 5)] {
        let w = passes(&small(Impl::Brsp, cus), cus as usize, 20, seed);
        assert!(w.b.counted("hub_multicasts") > 0 && w.b.counted("l2_grants") > 0);
        assert_eq!(w.b.counted("l2_token_grants"), 0);
        assert!(w.b.counted("srsp.race.remotes_apart") > 0, "remote operations on two lines at once");
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "owners and others");
    }
}

#[test]
fn locks_go_round_in_brsp_with_a_token() {
    let w = passes(&small(Impl::BrspToken, 3), 3, 12, 2);
    assert!(w.b.counted("hub_multicasts") > 0 && w.b.counted("l2_token_grants") > 0);
}

#[test]
fn locks_go_round_in_srsp() {
    for seed in 3..6 {
        let w = passes(&small(Impl::Srsp, 4), 4, 40, seed);
        assert!(w.b.counted("hub_multicasts") > 0 && w.b.counted("l2_grants") > 0);
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "owners and others");
    }
}

#[test]
fn locks_go_round_in_srsp_opt() {
    for seed in 6..8 {
        let w = passes(&small(Impl::SrspOpt, 4), 4, 15, seed);
        assert!(w.b.counted("l2_grants") > 0);
    }
}

/// L1s and banks on a mesh, probes by the hub.
#[test]
fn locks_go_round_in_a_mesh() {
    for (seed, (cus, columns)) in [(4, 2), (6, 3), (3, 1)].into_iter().enumerate() {
        for system in [Impl::Base, Impl::Brsp, Impl::BrspToken, Impl::Srsp] {
            let p = SrspFabricParams { columns, ..small(system, cus) };
            let w = passes(&p, 3, 12, 30 + seed as u64);
            assert_eq!(w.b.counted("hub_multicasts") > 0, system != Impl::Base);
        }
    }
}

/// Whatever a broadcast with a token stops in the other L1s.
#[test]
fn locks_go_round_in_brsp_whatever_it_closes() {
    for (closes, _) in Closes::WORDS {
        let p = small(Impl::BrspToken, 3);
        let p = SrspFabricParams { l1: L1Params { closes: *closes, ..p.l1.clone() }, ..p };
        assert!(passes(&p, 3, 12, 40).b.counted("l2_token_grants") > 0);
    }
}

#[test]
fn one_cu_alone() {
    for system in [Impl::Base, Impl::Brsp, Impl::BrspToken, Impl::Srsp] {
        passes(&small(system, 1), 1, 10, 8);
    }
}

/// Seven CUs spin on the lock of an eighth, which must get its own line back to give the lock away.
#[test]
fn an_owner_gets_its_line_among_spinners() {
    let p = small(Impl::Srsp, 8);
    let p = SrspFabricParams {
        link: 1,
        l2: L2Params { locks: 1, ..p.l2.clone() }.sized(|s| Bank { latency: 5, ..s }),
        ..p
    };
    for seed in [1020, 1021] {
        let mut w = world(&p, 1, 6, seed);
        w.own = 0.3;
        w.run(400_000);
        w.check();
    }
}

/// Links take their time: a load that misses everywhere pays for both directions.
#[test]
fn a_longer_link_takes_longer() {
    let cycles = |link: u32| {
        let p = SrspFabricParams { link, ..small(Impl::Base, 1) };
        let mut w = world(&p, 1, 1, 9);
        w.b.run(100);
        let begun = w.b.sim.cycle();
        w.run(10_000);
        w.check();
        w.b.sim.cycle() - begun
    };
    // Lock, four words, release: at least one round trip each for lock, words and release.
    let (short, long) = (cycles(1), cycles(11));
    assert!(long >= short + 2 * 10 * 3, "{short} and {long} cycles");
}

#[test]
fn a_bank_that_takes_no_locks_is_noticed() {
    let p = small(Impl::Srsp, 4);
    let p = SrspFabricParams { l2: L2Params { fault: L2Fault::LockNotTaken, ..p.l2.clone() }, ..p };
    let mut w = world(&p, 4, 15, 3);
    w.run(100_000);
    assert!(w.complaint.is_some());
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let p = small(Impl::Srsp, 2);
    let other = small(Impl::Brsp, 2);
    for bad in [
        SrspFabricParams { link: 0, ..p.clone() },
        SrspFabricParams { link: 65, ..p.clone() },
        SrspFabricParams { columns: 3, ..p.clone() },
        SrspFabricParams { l2: other.l2, ..p },
    ] {
        let error = srsp_fabric(&bad).map(|_| ()).expect_err("illegal").to_string();
        assert!(error.contains("legal:"), "{error}");
    }
}
