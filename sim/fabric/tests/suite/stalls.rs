//! Stall inspection on a fabric of every family: each tick of each compute unit has one class (cu-and-consistency.md section 3).

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_fabric::cu::StallClass;
use weft_fabric::run::{FabricRun, RunOptions, RunReport, StallReport};

/// A run of a program to its end.
fn run(fabric: &str, keys: &[&str], program: &str, params: &[(&str, &str)]) -> RunReport {
    let mut config = FabricConfig::load(fabric).expect("a built-in fabric");
    keys.iter().for_each(|key| config.set(key).expect("a key of it"));
    let mut params: BTreeMap<String, String> =
        params.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    config.offer(program, &mut params);
    let program = weft_workload::build(program, &params, None).expect("legal");
    let mut run = FabricRun::new(&config, Arc::from(program), &RunOptions::default()).expect("it builds");
    assert!(run.run_to(100_000_000).expect("no check fails"), "it ends");
    run.finish().expect("it is read")
}

/// The sums that section 3 asks for, taken from the record and not from what the run itself asserts.
fn stalls(report: &RunReport) -> &StallReport {
    assert!(report.verified, "{}", report.workload);
    let stalls = report.stalls.as_ref().expect("inspected");
    for unit in &stalls.units {
        let counts = &unit.counts;
        assert_eq!(counts.classes.iter().sum::<u64>(), counts.ticks, "{}", unit.name);
        assert_eq!(
            counts.structural.iter().sum::<u64>(),
            counts.of(StallClass::MemoryStructural),
            "{}",
            unit.name
        );
        assert_eq!(counts.data.iter().sum::<u64>(), counts.of(StallClass::MemoryData), "{}", unit.name);
    }
    let cus: Vec<_> = stalls.units.iter().filter(|unit| !unit.name.contains("core")).collect();
    assert_eq!(stalls.sum.ticks, cus.iter().map(|unit| unit.counts.ticks).sum::<u64>());
    assert!(cus.iter().all(|unit| unit.counts.ticks == cus[0].counts.ticks), "all have the same time");
    let in_kernels: u64 = stalls.kernels.iter().map(|kernel| kernel.counts.ticks).sum();
    assert_eq!(in_kernels + stalls.sum.between, stalls.sum.ticks);
    stalls
}

/// A matrix of which every CU has a part.
const MATRIX: &[(&str, &str)] = &[("rows", "256"), ("columns", "256")];

#[test]
fn every_family_is_inspected() {
    let fabrics: [(&str, &str, &[(&str, &str)]); 8] = [
        ("rec-4gpu-small", "transpose", MATRIX),
        ("hmg-4gpu-small", "transpose", MATRIX),
        ("rdma-4gpu-small", "fir", &[("samples", "16384")]),
        ("tsm-4gpu-small", "transpose", MATRIX),
        ("srsp-64cu-small", "lock", &[]),
        ("hlrc-128cu-small", "lock", &[]),
        ("spandex-soc-small", "reuse-s", &[]),
        ("flat-gpu-small", "reuse-s", &[]),
    ];
    for (fabric, program, params) in fabrics {
        let report = run(fabric, &[], program, params);
        let sum = &stalls(&report).sum;
        assert!(sum.of(StallClass::NoStall) > 0 && sum.ticks > 1000, "{fabric}: {sum:?}");
        let waits = sum.of(StallClass::MemoryData) + sum.of(StallClass::MemoryStructural);
        assert!(waits > 0, "{fabric}: {sum:?}");
    }
}

/// One wave that follows what it loads waits for data most of the time; a lock makes waves wait for each other.
#[test]
fn classes_are_those_of_the_program() {
    let chase = run("srsp-64cu-small", &["cus=1"], "lock", &[]);
    let sum = &stalls(&chase).sum;
    assert!(sum.of(StallClass::Synchronization) * 10 > sum.ticks, "{sum:?}");
    let off = run("srsp-64cu-small", &["cus=1", "gsi=false"], "lock", &[]);
    assert!(off.stalls.is_none());
    assert_eq!(off.cycles, chase.cycles, "inspection changes nothing");
}
