//! What Yosys makes of the blocks: declared memories stay memories, registers become as many flip-flops as were counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_rtl::area::area;
use weft_rtl::ir::Module;
use weft_rtl::prelude::Bits;
use weft_srsp::mesh::{Grid, mesh};
use weft_testbench::synth::{CellCount, SynthTarget, synthesise};

/// Parameters of every small scoped cache.
const SMALL: [(&str, &str); 4] = [("cus", "4"), ("banks", "1"), ("addr_bits", "32"), ("ways", "2")];

fn module(block: &str, params: &[(&str, &str)]) -> Arc<Module> {
    let given: BTreeMap<String, String> =
        params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    weft_catalog::build(block, &given).unwrap_or_else(|e| panic!("{e}"))
}

fn cells(module: &Arc<Module>, target: SynthTarget) -> CellCount {
    let folder = tempfile::tempdir().expect("a folder");
    synthesise(module, target, folder.path()).unwrap_or_else(|e| panic!("{e}"))
}

fn count(cells: &CellCount, prefixes: &[&str]) -> u64 {
    cells.cells.iter().filter(|(name, _)| prefixes.iter().any(|p| name.starts_with(p))).map(|(_, n)| n).sum()
}

#[test]
fn synth_keeps_every_memory_bit_of_the_published_directories_out_of_flip_flops() {
    // The published tags of three kinds hold the offset in a line, in four lines: always zero, so Yosys leaves these bits out.
    let blocks = [
        ("rec-directory", 0, 8192),
        ("baseline-directory", 6, 8192),
        ("group-directory", 8, 8192),
        ("hmg-directory", 9, 12288),
        ("hmg-rec-directory", 0, 8192),
    ];
    for (block, zeros, entries) in blocks {
        let module = module(block, &[]);
        let declared = area(&module);
        let made = cells(&module, SynthTarget::Generic);
        assert_eq!(made.memory_bits + zeros * entries, declared.memory_bits, "{block}");
        assert_eq!(made.memories, declared.memories.iter().map(|m| m.instances).sum::<u64>(), "{block}");
        let flops = count(&made, &["$_DFF", "$_SDFF"]);
        // Registers that always hold the same value are removed, none are added.
        assert!(
            flops <= declared.register_bits && flops * 10 >= declared.register_bits * 9,
            "{block}: {flops}"
        );
    }
}

#[test]
fn synth_maps_a_directory_to_block_ram() {
    let module = module("rec-directory", &[("entries", "1024"), ("ways", "4"), ("evb_depth", "1")]);
    let made = cells(&module, SynthTarget::Ice40);
    // 256 rows of 4 ways of 103 bits, in RAMs of 256 rows of 16 bits with a write mask: 26; and 1 for the ages.
    assert_eq!(count(&made, &["SB_RAM40_4K"]), (4 * 103u64).div_ceil(16) + 1, "{made:?}");
    assert_eq!(made.memory_bits, 0, "all memories are mapped");
    assert!(count(&made, &["SB_LUT4"]) > 500, "{made:?}");
    assert_eq!((made.luts, made.block_rams), (Some(count(&made, &["SB_LUT4"])), Some(27)));
    assert_eq!(made.flip_flops, count(&made, &["SB_DFF"]));
}

#[test]
fn synth_for_another_family_maps_to_its_block_ram() {
    let module = module("baseline-directory", &[("entries", "1024"), ("ways", "2"), ("evb_depth", "1")]);
    let made = cells(&module, SynthTarget::Ecp5);
    assert!(count(&made, &["DP16KD"]) > 0 && count(&made, &["LUT4"]) > 100, "{made:?}");
    let luts =
        count(&made, &["LUT4"]) + 2 * count(&made, &["CCU2C"]) + 6 * count(&made, &["TRELLIS_DPR16X4"]);
    assert_eq!((made.luts, made.block_rams), (Some(luts), Some(count(&made, &["DP16KD"]))));
    assert_eq!(made.flip_flops, count(&made, &["TRELLIS_FF"]));
}

/// Memory bits are those declared, and of the flip-flops at least this part, less what nobody reads.
fn is_as_declared(block: &str, module: &Arc<Module>, percent: u64) {
    let declared = area(module);
    let made = cells(module, SynthTarget::Generic);
    assert!(
        made.memory_bits <= declared.memory_bits && made.memory_bits * 100 >= declared.memory_bits * 95,
        "{block}: {} of {} bits",
        made.memory_bits,
        declared.memory_bits
    );
    let flops = count(&made, &["$_DFF", "$_SDFF"]);
    assert!(
        flops <= declared.register_bits && flops * 100 >= declared.register_bits * percent,
        "{block}: {flops} of {} flip-flops",
        declared.register_bits
    );
}

/// Caches, whose lines are the bulk of their bits.
#[test]
fn synth_keeps_lines_and_tables_of_scoped_caches_in_memories() {
    let l1 = [("size", "1K"), ("mshrs", "2"), ("wbt", "2"), ("targets", "2"), ("sq", "1")];
    for block in ["srsp-l1", "hlrc-l1"] {
        is_as_declared(block, &module(block, &[&SMALL[..], &l1].concat()), 80);
    }
}

#[test]
fn synth_keeps_lines_of_scoped_banks_in_memories() {
    let l2 =
        [("size", "1K"), ("l2_mshrs", "2"), ("targets", "2"), ("writes", "2"), ("mshrs", "2"), ("wbt", "2")];
    for (block, tables) in [("srsp-l2", ("locks", "2")), ("hlrc-l2", ("revokes", "2"))] {
        is_as_declared(block, &module(block, &[&SMALL[..], &l2, &[tables]].concat()), 80);
    }
}

/// What lies between the caches holds messages in registers or queues, and nothing else.
#[test]
fn synth_keeps_the_networks_of_scoped_caches() {
    is_as_declared("sel-hub", &module("sel-hub", &[("cus", "4"), ("queue", "2"), ("addr_bits", "32")]), 80);
    // All four routers stand at corners: what would come from outside, and turns that XY routing does not take, hold nothing.
    let grid = Grid { columns: 2, rows: 2 };
    let way = |m: &Bits| grid.place(&[0, 1, 2, 3], m.slice(0, 2));
    is_as_declared("mesh", &mesh::<Bits>("mesh_2x2", grid, &24, way).expect("legal"), 60);
}

/// Parameters of a small Spandex system.
const SPANDEX: [(&str, &str); 9] = [
    ("cpus", "2"),
    ("cus", "2"),
    ("sharers", "2"),
    ("addr_bits", "32"),
    ("banks", "1"),
    ("mshrs", "2"),
    ("sb", "2"),
    ("wbb", "2"),
    ("tbes", "2"),
];

#[test]
fn synth_keeps_lines_and_lists_of_spandex_banks_in_memories() {
    let bank = [("size", "1K"), ("ways", "2"), ("line", "16"), ("n_stall", "4")];
    for block in ["spandex-llc", "mesi-llc", "gpu-l2"] {
        is_as_declared(block, &module(block, &[&SPANDEX[..], &bank].concat()), 80);
    }
}

#[test]
fn synth_keeps_lines_and_tables_of_spandex_caches_in_memories() {
    let l1 = [("size", "512"), ("ways", "2"), ("line", "16")];
    let waits = [("targets", "2"), ("releases", "2")];
    for block in ["gpu-l1", "denovo-l1", "flex-l1"] {
        is_as_declared(block, &module(block, &[&SPANDEX[..], &l1, &waits].concat()), 80);
    }
    is_as_declared("mesi-l1", &module("mesi-l1", &[&SPANDEX[..], &l1].concat()), 80);
    let stash = [("size", "512"), ("stash_banks", "4"), ("maps", "2"), ("line", "16")];
    is_as_declared("stash", &module("stash", &[&SPANDEX[..], &stash, &waits].concat()), 80);
}

#[test]
fn synth_keeps_the_tables_of_spandex_translation_units() {
    // Channels that are idle, and words of messages that a unit does not look at, hold nothing.
    let line = [("line", "16")];
    for (block, percent) in [("tu-gpu", 50), ("tu-denovo", 60), ("tu-flex", 60)] {
        is_as_declared(block, &module(block, &[&SPANDEX[..], &line].concat()), percent);
    }
    let l1 = [("size", "512"), ("ways", "2"), ("line", "16")];
    for (block, percent) in [("tu-mesi", 80), ("hmesi-client", 65)] {
        is_as_declared(block, &module(block, &[&SPANDEX[..], &l1].concat()), percent);
    }
}

#[test]
fn synth_keeps_the_network_and_the_predictor_of_spandex() {
    // Of the words of a message that no line of this size has, and of turns that XY routing does not take, nothing is left.
    let mesh = [("columns", "2"), ("rows", "2"), ("line", "16")];
    is_as_declared("spandex-router", &module("spandex-router", &[&SPANDEX[..], &mesh].concat()), 80);
    is_as_declared(
        "owner-predictor",
        &module("owner-predictor", &[&SPANDEX[..], &[("entries", "8")]].concat()),
        95,
    );
}
