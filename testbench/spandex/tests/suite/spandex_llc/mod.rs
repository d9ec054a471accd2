//! `spandex-llc`: a bank among random devices and a slow memory, every value checked; each row of the tables and each race of spandex.md section 4 directed; faults put in are noticed.

mod directed;
mod figures;
mod slips;
mod world;

use weft_bench::seeds::missed_by_all;
use weft_spandex::bank::Bank;
use weft_spandex::llc::{LlcParams, ReqsPolicy, RvkoGran, SharerMode};
use weft_spandex::params::Spandex;
use weft_spandex_bench::devices::Kind;
use world::{World, world_of};

/// A small bank: 2 sets of 2 ways, lines of 4 words, 3 TBEs, 4 stalled requests; 2 MESI devices, 1 Flex, 2 DeNovo, 1 GPU.
fn small() -> LlcParams {
    let s = Spandex {
        cpus: 2,
        cus: 4,
        sharers: 3,
        addr_bits: 32,
        line: 16,
        banks: 2,
        mshrs: 4,
        sb: 2,
        wbb: 3,
        tbes: 3,
        ..Spandex::default()
    };
    LlcParams::published(s).sized(|b| Bank { size: 2 * 2 * 2 * 16, ways: 2, stalls: 4, ..b })
}

const MIXED: [Kind; 6] = [Kind::Mesi, Kind::Mesi, Kind::Flex, Kind::DeNovo, Kind::DeNovo, Kind::Gpu];

const WORDS: [Kind; 6] = [Kind::Flex, Kind::Flex, Kind::Flex, Kind::DeNovo, Kind::DeNovo, Kind::Gpu];

fn sound(p: &LlcParams, kinds: &[Kind], lines: usize, seed: u64, cycles: u64) -> World {
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

/// Every row and race of a bank as published, but small; with few lines for much contention, with more for evictions.
#[test]
fn random_devices() {
    let worlds: Vec<World> = (0..6)
        .map(|seed| {
            let rvko = RvkoGran::WORDS[seed as usize % 2].0;
            let kinds = [MIXED, WORDS][seed as usize / 2 % 2];
            let w =
                sound(&LlcParams { rvko, ..small() }, &kinds, [3, 6, 10][seed as usize % 3], seed, 30_000);
            for (what, count) in
                [("ReqV", 30), ("ReqS", 30), ("ReqO+data", 100), ("ADD", 30), ("removal in PD", 20)]
            {
                least(&w, what, count);
            }
            w
        })
        .collect();
    // A bank just cleared that first gets a request of a whole line, a write-back that comes after its line has left, and writes of words of both kinds in a shared line are rare.
    let rare = [
        "spandex.llc.miss.whole.empty",
        "spandex.llc.ReqWB.absent",
        "spandex.race.llc_mixed_ReqWT_S",
        "spandex.race.llc_mixed_ReqO_S",
    ];
    all_seen(&worlds, &rare);
}

/// The same for every fixed policy, and for sharers that are not kept.
#[test]
fn random_devices_of_other_banks() {
    for (i, (reqs, _)) in ReqsPolicy::WORDS.iter().enumerate() {
        let worlds: Vec<World> = (0..3)
            .map(|seed| {
                let sharers = [SharerMode::Exact, SharerMode::Broadcast][(seed as usize + i) % 2];
                let p = LlcParams { reqs: *reqs, sharers, flex: seed != 0, ..small() };
                sound(&p, &WORDS, [3, 8][seed as usize % 2], 20 + 10 * i as u64 + seed, 8_000)
            })
            .collect();
        // What needs a certain order of exact sharers, or a request that comes while a list is between two replays, is left to the published bank.
        let rare = [
            "spandex.race.",
            "spandex.llc.miss.",
            "spandex.llc.ReqWB.absent",
            "spandex.llc.blocked.LIST.Req",
        ];
        all_seen(&worlds, &rare);
    }
}

/// One TBE, one stalled request; lines of two words and of many; one set of many ways; nobody that shares.
#[test]
fn odd_banks() {
    let base = small();
    let s = |line, sharers| Spandex { line, sharers, ..base.bank.s.clone() };
    let odd = [
        base.clone().sized(|b| Bank {
            s: Spandex { tbes: 1, ..s(8, 3) },
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
        base.clone().sized(|b| Bank { s: s(128, 0), size: 2 * 128 * 16 * 2, ways: 16, stalls: 9, ..b }),
        base.clone().sized(|b| Bank { s: s(32, 6), size: 2 * 32 * 2, ways: 2, ..b }),
    ];
    let nobody = [Kind::DeNovo, Kind::DeNovo, Kind::DeNovo, Kind::DeNovo, Kind::Gpu, Kind::Gpu];
    for (seed, p) in odd.iter().enumerate() {
        let kinds = if p.bank.s.sharers == 0 { nobody } else { MIXED };
        for lines in [3, 9] {
            let w = sound(p, &kinds, lines, 70 + seed as u64, 6_000);
            least(&w, "ReqO+data", 30);
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
