//! Every block under random traffic: engine, Verilator and Icarus agree on all outputs in every cycle.
//!
//! The three parameter sets of a block stand side by side in one fabric, so that one build of Verilator serves them all and hierarchies are
//! compared too. `weft cosim BLOCK --cycles 100000` does the same for longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::registry;
use weft_rtl::ir::Module;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;
use weft_testbench::cosim::{CosimOptions, With, cosim};
use weft_testbench::tools::{iverilog_lint, verilator_lint, yosys_lint};

/// Block, and its three parameter sets as `key=value` words.
const SETS: &[(&str, [&str; 3])] = &[
    ("fifo", ["depth=1 width=1", "depth=3 width=65", "depth=16"]),
    ("round-robin-arbiter", ["inputs=1 width=3", "inputs=3", "inputs=5 width=70"]),
    ("oldest-first-arbiter", ["inputs=1 width=3", "inputs=3", "inputs=5 width=70"]),
    ("crossbar", ["inputs=1 outputs=3 width=8", "inputs=3 outputs=1 width=1", "inputs=3 outputs=5 width=33"]),
    (
        "set-assoc-array",
        ["sets=2 ways=1 key_bits=4", "sets=4 ways=3 key_bits=6 policy=fifo", "sets=2 ways=8 key_bits=64"],
    ),
    ("cam", ["entries=1 key_bits=1", "entries=7 key_bits=3", "entries=4 key_bits=64"]),
    (
        "mshr-file",
        [
            "entries=1 targets=1 line_bits=1 target_bits=1",
            "entries=3 targets=2 line_bits=3 target_bits=9",
            "entries=4 targets=5 line_bits=42",
        ],
    ),
    (
        "link-tx",
        [
            "bytes_per_cycle=6 latency=2 credits_req=1",
            "bytes_per_cycle=25 latency=9 gpus=2 credits_req=4 credits_rsp=4 credits_inv=3",
            "line=128 bytes_per_cycle=200 latency=3 credits_req=2 credits_rsp=2 credits_inv=2",
        ],
    ),
    (
        "link-rx",
        [
            "bytes_per_cycle=6 latency=2 credits_req=1 credits_rsp=2 credits_inv=3",
            "bytes_per_cycle=25 latency=9 gpus=2 credits_req=4 credits_rsp=4 credits_inv=3",
            "line=128 bytes_per_cycle=200 latency=3 credits_req=2 credits_rsp=2 credits_inv=2",
        ],
    ),
    (
        "switch",
        [
            "gpus=2 bytes_per_cycle=25 latency=2 credits_req=2 credits_rsp=2 credits_inv=2",
            "gpus=3 bytes_per_cycle=6 latency=2 credits_req=1 credits_rsp=1 credits_inv=1 addr_bits=32 home_shift=28",
            "gpus=2 line=128 bytes_per_cycle=64 latency=4 credits_req=3 credits_rsp=2 credits_inv=1",
        ],
    ),
    (
        "traffic-gen",
        ["outstanding=1 span=2", "gpus=3 outstanding=4 span=16 interval=3", "stores=256 atomics=0 line=128"],
    ),
    (
        "dram-stub",
        [
            "rows=2 latency=1 depth=1",
            "rows=8 latency=5 depth=3 banks=4 il=256",
            "line=128 rows=4 latency=2 depth=2",
        ],
    ),
    (
        "baseline-directory",
        [
            "entries=2 ways=1",
            "entries=8 ways=4 policy=lru evb_depth=1",
            "gpus=16 entries=12 ways=2 inv_rate=4",
        ],
    ),
    (
        "group-directory",
        [
            "entries=2 ways=1",
            "entries=8 ways=4 evb_depth=1",
            "gpus=3 entries=12 ways=2 home=1 tag_style=minimal",
        ],
    ),
    (
        "rec-directory",
        [
            "entries=4 ways=2 range=128 evb_depth=1",
            "entries=6 ways=2 gpus=3 home=2 policy=fifo inv_rate=2",
            "entries=8 ways=4 range=512 line=128 tag_style=minimal banks=2",
        ],
    ),
    (
        "inv-egress",
        ["gpus=2 links=1 slices=1", "gpus=3 links=2 slices=3 home=1", "gpus=4 links=1 slices=2 home=3"],
    ),
    (
        "inv-ingress",
        ["gpus=2 links=1 banks=1", "gpus=3 links=2 banks=4 home=1", "gpus=4 links=1 banks=2 home=3"],
    ),
    ("fence-unit", ["gpus=2 banks=1", "gpus=3 banks=2 home=1 flush=off", "gpus=5 banks=4 home=4"]),
    (
        "l1-cache",
        [
            "size=256 ways=2 mshrs=2 targets=1 stores=1 latency=3",
            "size=1K ways=4 mshrs=4 targets=3 stores=5 latency=7 bypass_remote=1",
            "size=1K line=128 ways=4 mshrs=1 targets=2 stores=3 latency=4",
        ],
    ),
    (
        "l2-bank",
        [
            "sets=2 ways=2 mshrs=4 pool=4 banks=1 l1s=1 l1_mshrs=1",
            "gpus=3 home=1 sets=3 ways=4 mshrs=4 pool=8 banks=2 caching=l1_only",
            "line=128 sets=2 ways=2 mshrs=5 pool=6 dir=0",
        ],
    ),
];

/// Blocks that show memory content at power-up when random messages break the protocol above the channels (an answer that nobody waits
/// for); `cosim_recorded.rs` shows that they do not among neighbours that keep it.
const SHOWS_POWER_UP: [&str; 3] = ["mshr-file", "l1-cache", "l2-bank"];

/// The parameter sets of a block side by side; the ports of set `i` have `x{i}_` before their names.
fn side_by_side(block: &str, sets: &[&str]) -> Arc<Module> {
    let build = |words: &str| {
        let pairs = words.split_whitespace().map(|w| w.split_once('=').expect("key=value"));
        let given: BTreeMap<String, String> = pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect();
        registry::build(block, &given).unwrap_or_else(|e| panic!("{words}: {e}"))
    };
    let modules: Vec<Arc<Module>> = sets.iter().map(|words| build(words)).collect();
    Module::build(&format!("{}_side_by_side", block.replace('-', "_")), ModuleKind::Fabric, || {
        for (i, module) in modules.iter().enumerate() {
            let inst = instance(&format!("s{i}"), module);
            for (_, port) in module.inputs() {
                inst.drive_bits(&port.name, input::<Bits>(&format!("x{i}_{}", port.name), port.width));
            }
            for (_, port) in module.outputs() {
                output::<Bits>(&format!("x{i}_{}", port.name), port.width).set(inst.out_bits(&port.name));
            }
        }
    })
    .unwrap_or_else(|e| panic!("{e}"))
}

fn agrees(block: &str) {
    let sets = SETS.iter().find(|(name, _)| *name == block).expect("listed").1;
    let fabric = side_by_side(block, &sets);
    for with in [With::Verilator, With::Icarus] {
        let folder = tempfile::tempdir().expect("a folder");
        let options =
            CosimOptions { cycles: 2_000, seed: 2, ..CosimOptions::new(&fabric, with, folder.path()) };
        let report = cosim(&fabric, &options).unwrap_or_else(|e| panic!("{e}"));
        println!("{report}");
        assert_eq!(report.cycles, 2_000);
        assert!(report.outputs_that_moved * 5 >= report.outputs * 2, "too little happened: {report}");
        if !SHOWS_POWER_UP.contains(&block) {
            assert_eq!(report.unknown, None, "{report}");
        }
    }
}

/// `verilator -Wall`, `iverilog -Wall` and Yosys have nothing to say about any parameter set of any block.
#[test]
fn every_linter_is_silent() {
    for (block, sets) in SETS {
        let fabric = side_by_side(block, sets);
        let folder = tempfile::tempdir().expect("a folder");
        let files: Vec<_> = emit(&fabric)
            .into_iter()
            .map(|file| {
                let path = folder.path().join(&file.name);
                std::fs::write(&path, &file.text).expect("written");
                path
            })
            .collect();
        let mut found = verilator_lint(&fabric.name, &files).expect("it runs");
        found.extend(iverilog_lint(&fabric.name, &files).expect("it runs"));
        found.extend(yosys_lint(&fabric.name, &files).expect("it runs"));
        assert!(found.is_empty(), "{block}:\n{}", found.join("\n"));
    }
}

macro_rules! cosim_of {
    ($($test:ident $block:literal;)*) => {
        $(#[test] fn $test() { agrees($block); })*
        /// Blocks that have a test.
        const TESTED: &[&str] = &[$($block),*];
    };
}

cosim_of! {
    cosim_fifo "fifo";
    cosim_round_robin_arbiter "round-robin-arbiter";
    cosim_oldest_first_arbiter "oldest-first-arbiter";
    cosim_crossbar "crossbar";
    cosim_set_assoc_array "set-assoc-array";
    cosim_cam "cam";
    cosim_mshr_file "mshr-file";
    cosim_link_tx "link-tx";
    cosim_link_rx "link-rx";
    cosim_switch "switch";
    cosim_traffic_gen "traffic-gen";
    cosim_dram_stub "dram-stub";
    cosim_baseline_directory "baseline-directory";
    cosim_group_directory "group-directory";
    cosim_rec_directory "rec-directory";
    cosim_inv_egress "inv-egress";
    cosim_inv_ingress "inv-ingress";
    cosim_fence_unit "fence-unit";
    cosim_l1_cache "l1-cache";
    cosim_l2_bank "l2-bank";
}

#[test]
fn every_block_has_its_cosim() {
    let all: Vec<&str> = registry::blocks().iter().map(|b| b.name).collect();
    let listed: Vec<&str> = SETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(all, listed, "each block of the registry has three parameter sets here");
    assert_eq!(all, TESTED, "each block of the registry has a test here");
}
