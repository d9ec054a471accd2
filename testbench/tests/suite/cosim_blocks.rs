//! Every block under random traffic: engine, Verilator and Icarus agree on all outputs in every cycle.
//!
//! By default with the odd one of its parameter sets, where widths do not fit by chance, and with linters and
//! Verilator only where hardware, engine or harness have changed since they were last seen to pass
//! (`testbench/digest/committed/cosim.csv`); `scripts/test --all` takes all sets and both simulators. The sets stand
//! side by side in one fabric, so that one build of Verilator serves them all and hierarchies are compared too.
//! `weft cosim BLOCK --cycles 100000` does the same for longer.

use std::sync::Arc;
use weft_blocks::directory::protocols::{banks, kinds};
use weft_blocks::fabric::rec_fabric;
use weft_catalog::sets::{all, given, more, of_protocols};
use weft_digest::agreement::Agreement;
use weft_engine::Options;
use weft_fabric::config::FabricConfig;
use weft_rtl::area::area;
use weft_rtl::ir::Module;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;
use weft_tools::cosim::{CosimOptions, Recording, Traffic, With, cosim};
use weft_tools::external::{iverilog_lint, verilator_lint, yosys_read};

/// Blocks that show memory content at power-up when random messages break the protocol above the channels (an answer that nobody waits
/// for); `cosim_recorded.rs` and `cosim_program.rs` show that they do not among neighbours that keep it.
const SHOWS_POWER_UP: [&str; 23] = [
    "mshr-file",
    "l1-cache",
    "l2-bank",
    "mgcc-l1",
    "mgcc-l2",
    "l2-wb",
    "gtsc-l1",
    "gtsc-l2",
    "rdma-engine",
    "dram-port",
    "srsp-l1",
    "srsp-l2",
    "hlrc-l1",
    "hlrc-l2",
    "denovo-b-l1",
    "denovo-b-l2",
    "spandex-llc",
    "gpu-l1",
    "denovo-l1",
    "stash",
    "mesi-l1",
    "tu-mesi",
    "gpu-l2",
];

/// Of each block's sets the odd one.
const ODD: std::ops::Range<usize> = 1..2;

/// Seed of a block's traffic. Random messages can leave a block waiting for an answer that nobody gives: such a block has
/// a seed with which it goes on.
fn seed(block: &str) -> u64 {
    match block {
        "spandex-llc" | "gtsc-l2" => 3,
        "inv-ingress" => 7,
        "stash" => 16,
        _ => 2,
    }
}

/// What is linted of a block: the odd one of its sets, and of its further sets.
fn linted(block: &str) -> Arc<Module> {
    let of_it = all().chain(more()).filter(|(name, _)| *name == block);
    let odd: Vec<&str> = of_it.flat_map(|(_, sets)| sets[ODD].to_vec()).collect();
    side_by_side(block, &odd)
}

/// The parameter sets of a block side by side; the ports of set `i` have `x{i}_` before their names.
fn side_by_side(block: &str, sets: &[&str]) -> Arc<Module> {
    let build =
        |words: &str| weft_catalog::build(block, &given(words)).unwrap_or_else(|e| panic!("{words}: {e}"));
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

/// With the odd set: Icarus always; linters and Verilator unless they were seen to pass on just this hardware, with
/// this engine and this harness.
fn agrees(block: &str) {
    let sets = all().find(|(name, _)| *name == block).expect("listed").1;
    let (fabric, linted) = (side_by_side(block, &sets[ODD]), linted(block));
    let agreement = Agreement::of_cosim(block, &linted).unwrap_or_else(|e| panic!("{e}"));
    let verilator = !agreement.is_committed().unwrap_or_else(|e| panic!("{e}"));
    if verilator {
        is_clean(&linted);
    }
    let with = if verilator { &[With::Verilator, With::Icarus][..] } else { &[With::Icarus] };
    agree_on(block, &fabric, with);
    agreement.note(verilator).unwrap_or_else(|e| panic!("{e}"));
}

/// A row of a slice with owners lasts until its requester says that it has the line, which random neighbours do not; `cosim_program.rs` has those
/// that do.
fn waits(block: &str) -> bool {
    kinds().iter().any(|kind| kind.owners && kind.info.name == block)
}

fn agree_on(block: &str, fabric: &Arc<Module>, with: &[With]) {
    for with in with {
        let folder = tempfile::tempdir().expect("a folder");
        let options = CosimOptions {
            cycles: 2_000,
            seed: seed(block),
            ..CosimOptions::new(fabric, *with, folder.path())
        };
        let report = cosim(fabric, &options).unwrap_or_else(|e| panic!("{e}"));
        println!("{report}");
        assert_eq!(report.cycles, 2_000);
        let fifths = if waits(block) { 1 } else { 2 };
        assert!(
            report.outputs_that_moved * 5 >= report.outputs_that_can_move * fifths,
            "too little happened: {report}"
        );
        // Every L2 bank does, also those that protocols bring.
        let bank = banks().iter().any(|kind| kind.info.name == block);
        if !bank && !SHOWS_POWER_UP.contains(&block) {
            assert_eq!(report.unknown, None, "{report}");
        }
    }
}

/// `verilator -Wall`, `iverilog -Wall` and Yosys have nothing to say about a design, and in Yosys its memories are memories.
fn is_clean(module: &Arc<Module>) {
    let folder = tempfile::tempdir().expect("a folder");
    let files: Vec<_> = emit(module)
        .into_iter()
        .map(|file| {
            let path = folder.path().join(&file.name);
            std::fs::write(&path, &file.text).expect("written");
            path
        })
        .collect();
    let mut found = verilator_lint(&module.name, &files).expect("it runs");
    found.extend(iverilog_lint(&module.name, &files).expect("it runs"));
    let read = yosys_read(&module.name, &files).expect("it runs");
    found.extend(read.complaints);
    assert!(found.is_empty(), "{}:\n{}", module.name, found.join("\n"));
    let declared = area(module);
    let instances: u64 = declared.memories.iter().map(|m| m.instances).sum();
    assert_eq!((read.memories, read.memory_bits), (instances, declared.memory_bits), "{}", module.name);
}

#[test]
fn long_every_linter_is_silent_at_all_sets() {
    for (block, sets) in all().chain(more()) {
        is_clean(&side_by_side(block, &sets));
    }
}

#[test]
fn long_every_linter_is_silent_about_the_small_fabric() {
    let config = FabricConfig::load("rec-4gpu-small").expect("built in");
    is_clean(&rec_fabric(&config.directory().expect("of this family")).expect("legal"));
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
    cosim_delay_queue "delay-queue";
    cosim_round_robin_arbiter "round-robin-arbiter";
    cosim_oldest_first_arbiter "oldest-first-arbiter";
    cosim_crossbar "crossbar";
    cosim_set_assoc_array "set-assoc-array";
    cosim_cam "cam";
    cosim_mshr_file "mshr-file";
    cosim_link_tx "link-tx";
    cosim_link_rx "link-rx";
    cosim_phit_tx "phit-tx";
    cosim_phit_rx "phit-rx";
    cosim_switch "switch";
    cosim_traffic_gen "traffic-gen";
    cosim_dram_stub "dram-stub";
    cosim_inv_egress "inv-egress";
    cosim_inv_ingress "inv-ingress";
    cosim_fence_unit "fence-unit";
    cosim_hier_fence_unit "hier-fence-unit";
    cosim_l1_cache "l1-cache";
    cosim_l2_bank "l2-bank";
    cosim_mgcc_l1 "mgcc-l1";
    cosim_mgcc_l2 "mgcc-l2";
    cosim_l2_wb "l2-wb";
    cosim_gtsc_l1 "gtsc-l1";
    cosim_gtsc_l2 "gtsc-l2";
    cosim_tsu "tsu";
    cosim_reqtracker "reqtracker";
    cosim_umc_lane "umc-lane";
    cosim_umc "umc";
    cosim_epoch_ctl "epoch-ctl";
    cosim_gpu_relay "gpu-relay";
    cosim_tsm_maint "tsm-maint";
    cosim_tsm_switch "tsm-switch";
    cosim_rdma_engine "rdma-engine";
    cosim_pcie_switch "pcie-switch";
    cosim_dram_port "dram-port";
    cosim_srsp_l1 "srsp-l1";
    cosim_sfifo "sfifo";
    cosim_lr_tbl "lr-tbl";
    cosim_pa_tbl "pa-tbl";
    cosim_sel_hub "sel-hub";
    cosim_lock_tbl "lock-tbl";
    cosim_srsp_l2 "srsp-l2";
    cosim_hlrc_l1 "hlrc-l1";
    cosim_hlrc_l2 "hlrc-l2";
    cosim_denovo_b_l1 "denovo-b-l1";
    cosim_denovo_b_l2 "denovo-b-l2";
    cosim_spandex_llc "spandex-llc";
    cosim_gpu_l1 "gpu-l1";
    cosim_tu_gpu "tu-gpu";
    cosim_denovo_l1 "denovo-l1";
    cosim_tu_denovo "tu-denovo";
    cosim_stash "stash";
    cosim_flex_l1 "flex-l1";
    cosim_owner_predictor "owner-predictor";
    cosim_tu_flex "tu-flex";
    cosim_spandex_router "spandex-router";
    cosim_spandex_link_tx "spandex-link-tx";
    cosim_spandex_link_rx "spandex-link-rx";
    cosim_mesi_l1 "mesi-l1";
    cosim_tu_mesi "tu-mesi";
    cosim_hmesi_client "hmesi-client";
    cosim_mesi_llc "mesi-llc";
    cosim_gpu_l2 "gpu-l2";
}

#[test]
fn cosim_of_protocols() {
    for (block, _) in of_protocols() {
        agrees(block);
    }
}

/// Blocks of which random neighbours move less with some seeds: `traffic-gen` has fields that it never sets, and the others wait for
/// ever after an answer to nothing asked. Their own benches, whose neighbours keep to the protocol, move the rest.
const LITTLE: [&str; 6] = ["traffic-gen", "inv-egress", "inv-ingress", "gtsc-l2", "stash", "denovo-b-l1"];

/// The engine's half of `weft cosim BLOCK --cycles 5000`, with which agreement is worth something only if the block does something.
#[test]
fn the_default_stimulus_moves_every_block() {
    let mut found = Vec::new();
    for (block, sets) in all() {
        for words in sets.iter() {
            let module = weft_catalog::build(block, &given(words)).unwrap_or_else(|e| panic!("{words}: {e}"));
            let run = Recording::random(&module, 5_000, 1, Traffic::Both, Options::default())
                .unwrap_or_else(|e| panic!("{words}: {e}"));
            let (outputs, moved) = (run.can_move(), run.moved());
            let last = run.last_transfer.unwrap_or(0);
            println!(
                "{block:<22} {moved:>4} of {outputs:>4} outputs, {:>6} transfers, the last in {last:>4}  {words}",
                run.transfers
            );
            let little = match waits(block) || LITTLE.contains(&block) {
                true => moved < 2 || run.transfers < 1_000,
                false => moved * 2 < outputs || (!run.ports.channels.is_empty() && last < 4_500),
            };
            if little {
                found.push(format!(
                    "{block} {words}: {moved} of {outputs} outputs, {} transfers, the last in {last}",
                    run.transfers
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn long_cosim_of_all_sets() {
    for (block, sets) in all().chain(more()) {
        agree_on(block, &side_by_side(block, &sets), &[With::Verilator, With::Icarus]);
    }
}

#[test]
fn every_block_has_its_cosim() {
    let blocks: Vec<&str> = weft_catalog::blocks().iter().map(|b| b.name).collect();
    let listed: Vec<&str> = all().map(|(name, _)| name).collect();
    assert_eq!(blocks, listed, "each block of the catalog has three parameter sets here");
    let of_protocols: Vec<&str> = of_protocols().map(|(block, _)| block).collect();
    let others: Vec<&str> = blocks.into_iter().filter(|block| !of_protocols.contains(block)).collect();
    assert_eq!(others, TESTED, "each block of the catalog has a test here");
}
