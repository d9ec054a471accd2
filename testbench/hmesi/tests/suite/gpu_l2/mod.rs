//! `gpu-l2`: a bank among random devices and an L3 whose CPUs read and write, every value checked; each row of the tables and each race of spandex.md section 9 directed; real GPU L1s; faults put
//! in are noticed.

pub(crate) mod devices;
mod directed;
mod figures;
mod l1s;
mod l3;
pub(crate) mod post;
mod slips;
mod world;

use weft_bench::seeds::missed_by_all;
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::gpu_l2::GpuL2Params;
use weft_spandex::llc::RvkoGran;
use weft_spandex::params::Spandex;
use weft_spandex_bench::devices::Kind;
use world::{World, world_of};

/// A small bank: 2 sets of 2 ways, lines of 4 words, 2 + 1 TBEs, 4 stalled requests; 2 CPUs, 4 CUs.
fn small() -> GpuL2Params {
    let s = Spandex {
        cpus: 2,
        cus: 4,
        sharers: 0,
        addr_bits: 32,
        line: 16,
        banks: 2,
        mshrs: 4,
        sb: 2,
        wbb: 3,
        tbes: 3,
        ..Spandex::default()
    };
    GpuL2Params::published(s).sized(|b| Bank { size: 2 * 2 * 2 * 16, ways: 2, stalls: 4, ..b })
}

/// CPUs are no devices of the bank: they ask nothing here.
const HMD: [Kind; 6] = [Kind::DeNovo; 6];
const HMG: [Kind; 6] = [Kind::Gpu; 6];
const MIXED: [Kind; 6] = [Kind::Gpu, Kind::DeNovo, Kind::DeNovo, Kind::DeNovo, Kind::Gpu, Kind::Gpu];

fn sound(p: &GpuL2Params, kinds: &[Kind], lines: usize, seed: u64, cycles: u64) -> World {
    let mut w = world_of(p, kinds, lines, seed);
    w.run(cycles);
    w.finish();
    w.check();
    w
}

/// Covers that all worlds together must have seen.
fn all_seen(worlds: &[World], but: &[&str]) {
    assert_eq!(missed_by_all(worlds.iter().map(|w| w.b.uncovered(but))), [""; 0]);
}

fn least(w: &World, what: &str, count: u64) {
    let found = w.done.get(what).copied().unwrap_or(0);
    assert!(found >= count, "{found} of {what}: {:?}", w.done);
}

/// Every row and race of a small bank; with few lines for much contention, with more for evictions.
#[test]
fn random_devices() {
    let worlds: Vec<World> = (0..8)
        .map(|seed| {
            let rvko = RvkoGran::WORDS[seed as usize % 2].0;
            let kinds = [MIXED, HMD][seed as usize / 2 % 2];
            let p = GpuL2Params { rvko, ..small() };
            let w = sound(&p, &kinds, [3, 6, 10][seed as usize % 3], seed, 30_000);
            let floors =
                [("ReqV", 30), ("ReqO+data", 100), ("ADD", 30), ("CPU writes", 100), ("FwdGetM", 30)];
            for (what, count) in floors {
                least(&w, what, count);
            }
            w
        })
        .collect();
    // Two Invs during one read are rare, so is a write-back that comes after its line has left.
    all_seen(&worlds, &["spandex.gpu_l2.client.ISI.Inv", "spandex.gpu_l2.ReqWB.absent"]);
}

/// L1s that own nothing.
#[test]
fn random_devices_without_ownership() {
    for seed in 0..3 {
        let w = sound(&small(), &HMG, [3, 6, 10][seed as usize % 3], 30 + seed, 20_000);
        for (what, count) in [("ReqV", 100), ("ReqWT", 50), ("ADD", 50), ("CPU writes", 100)] {
            least(&w, what, count);
        }
    }
}

/// One TBE beside the reserved one, one stalled request; lines of two words and of many; one set of many ways; no CPUs.
#[test]
fn odd_banks() {
    let base = small();
    let s = |line, cpus| Spandex { line, cpus, cus: 6 - cpus, ..base.bank.s.clone() };
    let odd = [
        base.clone().sized(|b| Bank {
            s: Spandex { tbes: 2, ..s(8, 1) },
            size: 2 * 2 * 2 * 8,
            stalls: 1,
            ..b
        }),
        base.clone().sized(|b| Bank {
            s: Spandex { banks: 1, tbes: 7, ..s(64, 3) },
            size: 4 * 64,
            ways: 4,
            ..b
        }),
        base.clone().sized(|b| Bank { s: s(128, 2), size: 2 * 128 * 16 * 2, ways: 16, stalls: 9, ..b }),
        base.clone().sized(|b| Bank { s: s(32, 5), size: 2 * 32 * 2, ways: 2, ..b }),
    ];
    for (seed, p) in odd.iter().enumerate() {
        for lines in [3, 9] {
            let w = sound(p, &MIXED, lines, 70 + seed as u64, 6_000);
            least(&w, "ReqO+data", 10);
        }
    }
}

/// A reset in the middle of everything leaves an empty bank.
#[test]
fn reset_in_flight() {
    let mut w = world_of(&small(), &MIXED, 4, 90);
    w.run(3_000);
    w.check();
    w.reset();
    w.run(3_000);
    w.finish();
    w.check();
}
