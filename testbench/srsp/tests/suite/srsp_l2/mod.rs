//! `srsp_l2`: a bank of the L2 among random L1s and a slow memory, checked against one plain memory; each rule of srsp.md section 6 directed; faults put in are noticed.

mod directed;
mod figures;
mod slips;
mod waiting;
mod world;

use weft_bench::seeds::missed_by_all;
use weft_srsp::bank::Bank;
use weft_srsp::l2::L2Params;
use weft_srsp::msg::ReqOp;
use weft_srsp::params::{Impl, Srsp};
use world::{Mix, World};

/// A small bank: 2 sets of 2 ways, 3 sFIFO entries, 2 locks.
fn small(system: Impl, cus: u32) -> L2Params {
    let srsp = Srsp { cus, addr_bits: 32, banks: 2, mshrs: 4, wbt: 4, ..Srsp::default() };
    L2Params { locks: 2, ..L2Params::published(srsp, system) }.sized(|s| Bank {
        size: 2 * 2 * 2 * 64,
        ways: 2,
        sfifo: 6,
        latency: 9,
        mshrs: 3,
        targets: 2,
        writes: 3,
        ..s
    })
}

fn sound(p: &L2Params, mix: Mix, seed: u64, cycles: u64) -> World {
    let mut w = World::new(p, mix, 10, seed);
    w.run(cycles);
    let op = if seed.is_multiple_of(2) { ReqOp::SysFlush } else { ReqOp::SysInv };
    w.finish_all(op);
    w.check();
    w
}

/// Covers that all worlds of a system together must have seen.
fn all_seen(worlds: &[World], but: &[&str]) {
    assert_eq!(missed_by_all(worlds.iter().map(|w| w.b.uncovered(but))), [""; 0]);
}

#[test]
fn srsp_bank_at_random() {
    let worlds: Vec<World> = (0..4)
        .map(|seed| {
            let p = small(Impl::Srsp, [3, 6][seed as usize / 2])
                .sized(|s| Bank { ways: [2, 4][seed as usize % 2], ..s });
            let p = p.sized(|s| Bank { size: s.size * s.ways / 2, ..s });
            let w = sound(&p, Mix::ALL, seed, 24_000);
            for (what, count) in [("rd", 200), ("wb", 200), ("atm", 100), ("remote", 50), ("sys", 1)] {
                w.least(what, count);
            }
            w
        })
        .collect();
    all_seen(
        &worlds,
        &["srsp.l2.free.TOKEN", "srsp.l2.held.", "srsp.race.l2_write_around", "srsp.l2.none.take"],
    );
}

/// Four ways in one set, all on their way from memory: write-backs go around.
#[test]
fn write_backs_around_a_set_that_is_on_its_way() {
    let p = small(Impl::Srsp, 4).sized(|s| Bank { size: 2 * 2 * 64, mshrs: 8, ..s });
    let mix = Mix { rd: 0.3, wb: 0.2, atm: 0.05, sys_atm: 0.05, remote: 0.05, sys: 0.001 };
    let worlds: Vec<World> = (10..14)
        .map(|seed| {
            let mut w = World::new(&p, mix, 10, seed);
            for _ in 0..40 {
                w.shuffle();
                w.memory.delay = 200;
                for _ in 0..200 {
                    w.step(true);
                }
            }
            w.finish_all(ReqOp::SysInv);
            w.check();
            w.least("around", 3);
            w
        })
        .collect();
    all_seen(
        &worlds,
        &[
            "srsp.l2.free.TOKEN",
            "srsp.l2.held.",
            "srsp.race.l2_locked_meanwhile",
            "srsp.l2.own.REM_LOCK",
            "srsp.l2.W.ATM_SYS",
        ],
    );
}

/// Without a token a bank of bRSP locks lines as one of sRSP does.
#[test]
fn brsp_bank_at_random() {
    let worlds: Vec<World> = (24..28)
        .map(|seed| {
            let w = sound(&small(Impl::Brsp, 3 + 3 * (seed as u32 % 2)), Mix::ALL, seed, 24_000);
            w.least("remote", 50);
            w
        })
        .collect();
    all_seen(
        &worlds,
        &["srsp.l2.free.TOKEN", "srsp.l2.held.", "srsp.race.l2_write_around", "srsp.l2.none.take"],
    );
}

#[test]
fn brsp_bank_with_a_token_at_random() {
    let worlds: Vec<World> = (20..22)
        .map(|seed| {
            let w = sound(&small(Impl::BrspToken, 4), Mix::ALL, seed, 20_000);
            w.least("tokens", 30);
            w
        })
        .collect();
    let seldom = [
        "second_lock_waits",
        "no_entry",
        "handed",
        "failed_unlocks",
        "kept",
        "write_around",
        "lock_overtakes_unlock",
    ];
    let seldom: Vec<String> = seldom.iter().map(|name| format!("srsp.race.l2_{name}")).collect();
    let mut but: Vec<&str> = seldom.iter().map(String::as_str).collect();
    but.extend([
        "srsp.l2.own.REM_UNLOCK",
        "srsp.l2.own.REM_LOCK",
        "srsp.race.l2_sys_waits",
        "srsp.l2.other.REM_LOCK",
        "srsp.l2.full.REM_LOCK",
        "srsp.l2.none.",
    ]);
    all_seen(&worlds, &but);
}

#[test]
fn base_bank_at_random() {
    let mix = Mix { sys_atm: 0.02, ..Mix::ALL };
    let worlds: Vec<World> = (30..33).map(|seed| sound(&small(Impl::Base, 3), mix, seed, 8_000)).collect();
    all_seen(&worlds, &["srsp.l2.none.", "srsp.race.l2_", "srsp.l2.free.TOKEN", "srsp.l2.held."]);
}

/// One L1, one set; lines of 128 bytes; a bank of many locks and a long latency.
#[test]
fn odd_banks_at_random() {
    let base = small(Impl::SrspOpt, 5);
    let lines = Srsp { line: 128, banks: 1, cus: 1, ..base.bank.srsp.clone() };
    let odd = [
        base.clone().sized(|s| Bank { srsp: lines, size: 1024, sfifo: 2, ..s }),
        L2Params { locks: 8, ..base }.sized(|s| Bank {
            ways: 16,
            size: 16 * 64 * 2 * 4,
            latency: 31,
            targets: 8,
            writes: 16,
            ..s
        }),
    ];
    for (seed, p) in odd.iter().enumerate() {
        let w = sound(p, Mix::ALL, 40 + seed as u64, 8_000);
        w.least("rd", 40);
    }
}

/// Everybody asks for the lock of the same lines all the time, among other traffic: nobody is passed over more often than there are others.
#[test]
fn locks_go_round() {
    for seed in 50..53 {
        let p = L2Params { locks: [1, 2, 4][seed as usize % 3], ..small(Impl::Srsp, 7) };
        let mix = Mix { rd: 0.1, wb: 0.02, sys_atm: 0.005, remote: 1.0, sys: 0.0, ..Mix::ALL };
        let w = sound(&p, mix, seed, 30_000);
        w.least("grants", 100);
        assert!(w.overtaken <= 2 * 7, "passed over {} times", w.overtaken);
    }
}
