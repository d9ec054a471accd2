//! Random programs on the golden system: the checker is silent, and catches each published rule put back (mgcc.md section 11).

use proptest::prelude::*;
use weft_mgcc_bench::golden::inject::Inject;
use weft_mgcc_bench::golden::msg::Data;
use weft_mgcc_bench::golden::system::run::{End, Shape, random_waves};
use weft_mgcc_bench::golden::system::{System, SystemParams};

const SHAPE: Shape = Shape { waves: 2, length: 12, lines: 6 };
const LIMIT: usize = 40_000;

fn start(p: SystemParams, shape: &Shape, seed: u64) -> System {
    System::new(p, random_waves(&p, shape, seed))
}

/// Runs a program; what is wrong, in words.
fn run(p: SystemParams, shape: &Shape, seed: u64) -> Result<u64, String> {
    let mut system = start(p, shape, seed);
    let end = system.run(seed, LIMIT, true);
    if !matches!(end, End::Done(_)) {
        return Err(format!("{end:?}"));
    }
    if let Some(fault) = system.checker().check(p.initial).first() {
        return Err(fault.to_string());
    }
    match system.faults().first() {
        Some(fault) => Err(fault.clone()),
        None => Ok(system.epoch()),
    }
}

fn memory(line: u64) -> Data {
    Data([line as u8 ^ 0x5a; 64])
}

prop_compose! {
    /// Small systems with every switch of the specification.
    fn systems()(
        sc in any::<bool>(),
        ts in 6u32..=8,
        eager in any::<bool>(),
        switches in any::<[bool; 6]>(),
        sizes in (1usize..=2, 1usize..=2, 1usize..=2, 1usize..=3, 1usize..=4, 1usize..=5),
        gpus in 1usize..=3,
        self_inc in 2u64..6,
        leases in (1u64..=16, 1u64..=16),
        age_max in 1u32..8,
    ) -> SystemParams {
        let [merge_raw, accumulate, exact, repl_ts, wrsp_always, evict_notes] = switches;
        let (ways, l2_ways, tsu_ways, mshrs, pool, entries) = sizes;
        SystemParams {
            gpus,
            l1: (1, ways),
            l2: (2, l2_ways),
            tsu: (1, tsu_ways),
            l1_mshrs: (mshrs, pool),
            l2_mshrs: (mshrs + 1, pool),
            tracker: (entries, age_max),
            eager: sc || eager,
            merge_raw,
            accumulate,
            exact,
            self_inc: if sc || eager { self_inc } else { 0 },
            repl_ts,
            wrsp_always,
            evict_notes,
            leases,
            initial: memory,
            ..SystemParams::small(sc, ts)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_small_system_is_coherent(p in systems(), seed in any::<u64>()) {
        prop_assert_eq!(run(p, &SHAPE, seed).err(), None);
    }
}

/// Longer programs, so that epochs pass, also with the shortest tags.
#[test]
fn epochs_pass_and_nothing_is_stale() {
    for sc in [true, false] {
        let p = SystemParams { initial: memory, ..SystemParams::small(sc, 6) };
        let shape = Shape { length: 110, ..SHAPE };
        let epochs: Vec<u64> = (0..40).map(|seed| run(p, &shape, seed).expect("coherent")).collect();
        assert!(epochs.iter().any(|epoch| *epoch > 7), "tags wrap: {epochs:?}");
    }
}

/// How often, in this many programs, the checker (or an endless run) shows an injected rule; SC and RC, TS 6 to 8.
fn caught(inject: Option<Inject>, programs: u64) -> (u64, u64, Option<String>) {
    let (mut faults, mut endless, mut first) = (0, 0, None);
    for seed in 0..programs {
        let small = SystemParams::small(seed % 2 == 0, 6 + (seed / 2 % 3) as u32);
        let p = SystemParams { inject, initial: memory, ..small };
        let mut system = start(p, &SHAPE, seed);
        let end = system.run(seed, 8_000, seed % 4 > 1);
        let found = system.checker().check(memory);
        faults += u64::from(!found.is_empty());
        endless += u64::from(!matches!(end, End::Done(_)));
        first = first.or_else(|| found.first().map(|fault| format!("seed {seed}: {fault}")));
    }
    (faults, endless, first)
}

#[test]
fn without_an_injected_rule_the_checker_is_silent() {
    assert_eq!(caught(None, 600), (0, 0, None));
}

fn must_be_caught(inject: Inject) {
    let (faults, endless, first) = caught(Some(inject), 300);
    println!("{}: {faults} of 300 programs, {endless} endless; {}", inject.name(), first.unwrap_or_default());
    let least = 3;
    assert!(faults >= least, "{} is caught in {faults} of 300 programs only", inject.name());
}

#[test]
fn lit_mwts_is_caught() {
    must_be_caught(Inject::LitMwts);
}

#[test]
fn lit_no_ts_is_caught() {
    must_be_caught(Inject::LitNoTs);
}

#[test]
fn lit_read_cts_is_caught() {
    must_be_caught(Inject::LitReadCts);
}

#[test]
fn lit_brts_is_caught() {
    must_be_caught(Inject::LitBrts);
}

#[test]
fn lit_ack_nodata_is_caught() {
    must_be_caught(Inject::LitAckNodata);
}

#[test]
fn lit_no_floor_is_caught() {
    must_be_caught(Inject::LitNoFloor);
}

#[test]
fn lit_reinit_is_caught() {
    must_be_caught(Inject::LitReinit);
}
