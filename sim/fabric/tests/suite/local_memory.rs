//! Local memories of CUs (cu-and-consistency.md section 8): Implicit on every L1 that can serve them, with little room and with much; what stall inspection says; refusals.

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_fabric::cu::{StallClass, Structural};
use weft_fabric::run::{FabricRun, RunOptions, RunReport};

/// One CU of the small flat GPU in chapter 2's configuration.
const CHAPTER_2: [&str; 4] = ["protocol=s-denovo-denovo", "denovo_atomics=through", "cus=1", "l1_mshrs=8"];

/// Buffers of a few lines, so that everything is short of room.
const TINY: [&str; 7] =
    ["banks=2", "l1_size=1K", "l1_ways=2", "l1_sb=4", "l1_wbb=2", "llc_size=16K", "llc_tbes=4"];

fn config(changes: &[&str]) -> FabricConfig {
    let mut config = FabricConfig::load("flat-gpu-small").expect("built in");
    changes.iter().for_each(|change| config.set(change).unwrap_or_else(|e| panic!("{e}")));
    config
}

fn run(changes: &[&str], params: &[(&str, &str)]) -> RunReport {
    run_program("implicit", changes, params)
}

fn run_program(program: &str, changes: &[&str], params: &[(&str, &str)]) -> RunReport {
    let config = config(changes);
    let mut params: BTreeMap<String, String> =
        params.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    config.offer(program, &mut params);
    let program = weft_workload::build(program, &params, None).expect("legal");
    let run = FabricRun::new(&config, Arc::from(program), &RunOptions::default());
    let mut run = run.unwrap_or_else(|e| panic!("{changes:?}: {e}"));
    assert!(run.run_to(5_000_000).unwrap_or_else(|e| panic!("{changes:?}: {e}")), "it ends");
    let report = run.finish().unwrap_or_else(|e| panic!("{changes:?}: {e}"));
    assert!(report.verified, "{changes:?}: {:?}", report.difference);
    report
}

/// Elements of objects of 12 bytes, twice: lines are shared by work-groups, on one CU and on three.
const OBJECTS: [(&str, &str); 4] =
    [("blocks", "7"), ("group", "75"), ("object_bytes", "12"), ("kernels", "2")];

#[test]
fn elements_come_back_from_every_local_memory() {
    let dma = "local_memory=dma";
    let list: [&[&str]; 5] = [
        &["protocol=s-denovo-denovo", "denovo_atomics=through", dma],
        &["protocol=s-denovo-gpu", dma],
        &["protocol=s-denovo-gpu", "scopes=true", dma],
        &["protocol=s-flex", dma],
        &["protocol=h-mesi-gpu", dma],
    ];
    for keys in list {
        run(&[keys, &TINY[..]].concat(), &OBJECTS);
    }
}

/// CUs with a small stash: with 16 KB the fabric takes longer to compile.
const STASH: [&str; 3] = ["protocol=s-denovo-denovo", "local_memory=stash", "lds_bytes=2K"];

/// Three CUs whose chunks share lines, so that stashes take words from one another, over kernels.
#[test]
fn elements_are_in_stashes() {
    for banks in ["lds_banks=16", "lds_banks=32"] {
        let keys = [&STASH[..], &[banks]].concat();
        run(&keys, &[("blocks", "2"), ("group", "32")]);
        run(&keys, &OBJECTS);
        run(&[&keys[..], &TINY[..]].concat(), &OBJECTS);
    }
}

/// Releases and acquires go to L1 and stash, whatever the class of an access asks for; the same again is the same.
#[test]
fn programs_synchronise_beside_stashes() {
    for (model, program) in [("drf0", "spm-g"), ("drf1", "split-counter"), ("drfrlx", "split-counter")] {
        let model = format!("model={model}");
        let keys = [&STASH[..], &[&model]].concat();
        let small = if program == "spm-g" { ("iterations", "1") } else { ("blocks", "3") };
        let reports = [(); 2].map(|()| run_program(program, &keys, &[small]));
        assert_eq!(reports[0].cycles, reports[1].cycles, "deterministic");
    }
}

/// Every tick has one class and some are a pending DMA; a copy by DMA needs fewer operations; the same again is the same.
#[test]
fn chapter_2_is_inspected() {
    let of = |memory: &str| {
        let key = format!("local_memory={memory}");
        let report = run(&[&CHAPTER_2[..], &[key.as_str(), "lds_bytes=2K"]].concat(), &[("blocks", "16")]);
        let sum = report.stalls.as_ref().expect("inspected").sum;
        sum.check().unwrap_or_else(|e| panic!("{memory}: {e}"));
        (report.cycles, sum)
    };
    let [scratchpad, dma, stash] = ["scratchpad", "dma", "stash"].map(of);
    assert_eq!(scratchpad.1.blocked_by(Structural::Dma), 0);
    assert!(dma.1.blocked_by(Structural::Dma) > 0, "{:?}", dma.1);
    assert!(dma.1.of(StallClass::NoStall) < scratchpad.1.of(StallClass::NoStall));
    assert!(stash.1.of(StallClass::NoStall) < scratchpad.1.of(StallClass::NoStall));
    for (memory, counts) in [("dma", dma), ("stash", stash)] {
        assert_eq!(of(memory), counts, "{memory}: deterministic");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut fabric = FabricConfig::load("flat-gpu-small").expect("built in");
    for key in ["protocol=s-denovo-denovo", "local_memory=dma"] {
        fabric.set(key).expect("a key of it");
    }
    assert_eq!(
        fabric.validate().expect_err("is refused").to_string(),
        "--set: local_memory = dma: a DeNovo L1 asks for ownership of what the DMA engine transfers, and keeps it; legal: scratchpad, or dma with denovo_atomics = through"
    );
    for (key, text) in [
        (
            "protocol=s-denovo-gpu",
            "local_memory = stash: a stash speaks for a CU with DeNovo, to an LLC of one GPU; legal: scratchpad, dma, or stash with a protocol s-...-denovo and gpus = 1",
        ),
        ("blocks=9", "blocks = 9: the stash map has 32 entries, 4 for each work-group of a CU; legal: 1..8"),
        (
            "lds_banks=8",
            "lds_banks = 8: a stash has as many banks as a line has words, or twice as many; legal: 16, 32",
        ),
    ] {
        let mut fabric = config(&STASH);
        fabric.set(key).expect("a key of it");
        assert_eq!(fabric.validate().expect_err("is refused").to_string(), format!("--set: {text}"));
    }
    let given = BTreeMap::from([("memory".to_owned(), "dma".to_owned())]);
    for name in ["flat-gpu-small", "rec-4gpu-small"] {
        let config = FabricConfig::load(name).expect("built in");
        let program = weft_workload::build("implicit", &given, None).expect("legal");
        let error = weft_fabric::run::check_program(&config, &Arc::from(program)).expect_err("is refused");
        assert!(error.is_input());
        assert_eq!(
            error.to_string(),
            "program implicit needs compute units with local memory dma, and these have scratchpad: set local_memory = \"dma\" on a fabric of family spandex, or give the program another memory (its parameter memory)"
        );
    }
}
