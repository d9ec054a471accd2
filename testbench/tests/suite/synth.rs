//! What Yosys makes of the blocks: declared memories stay memories, registers become as many flip-flops as were counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_digest::agreement::Agreement;
use weft_rtl::area::area;
use weft_rtl::ir::Module;
use weft_rtl::prelude::Bits;
use weft_srsp::mesh::{Grid, mesh};
use weft_tools::synth::{CellCount, SynthTarget, synthesise};

/// Parameters of every small scoped cache.
const SMALL: [(&str, &str); 4] = [("cus", "4"), ("banks", "1"), ("addr_bits", "32"), ("ways", "2")];

fn module(block: &str, params: &[(&str, &str)]) -> Arc<Module> {
    let given: BTreeMap<String, String> =
        params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    weft_catalog::build(block, &given).unwrap_or_else(|e| panic!("{e}"))
}

/// What must hold of a module's cells.
type Judge<'a> = &'a dyn Fn(&CellCount);

/// When Yosys is asked.
type When = fn(&Arc<Module>, SynthTarget, Judge);

/// Judges what Yosys makes of a module, unless it was seen to pass with just this Verilog, declared storage and
/// harness.
fn once(module: &Arc<Module>, target: SynthTarget, judge: Judge) {
    let agreement = Agreement::of_synthesis(module, target.name());
    let look = !agreement.is_committed().unwrap_or_else(|e| panic!("{e}"));
    if look {
        always(module, target, judge);
    }
    agreement.note(look).unwrap_or_else(|e| panic!("{e}"));
}

fn always(module: &Arc<Module>, target: SynthTarget, judge: Judge) {
    let folder = tempfile::tempdir().expect("a folder");
    judge(&synthesise(module, target, folder.path()).unwrap_or_else(|e| panic!("{e}")));
}

fn count(cells: &CellCount, prefixes: &[&str]) -> u64 {
    cells.cells.iter().filter(|(name, _)| prefixes.iter().any(|p| name.starts_with(p))).map(|(_, n)| n).sum()
}

fn keeps_every_memory_bit_of_the_published_directories_out_of_flip_flops(when: When) {
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
        when(&module, SynthTarget::Generic, &|made| {
            assert_eq!(made.memory_bits + zeros * entries, declared.memory_bits, "{block}");
            assert_eq!(made.memories, declared.memories.iter().map(|m| m.instances).sum::<u64>(), "{block}");
            let flops = count(made, &["$_DFF", "$_SDFF"]);
            // Registers that always hold the same value are removed, none are added.
            assert!(
                flops <= declared.register_bits && flops * 10 >= declared.register_bits * 9,
                "{block}: {flops}"
            );
        });
    }
}

fn maps_a_directory_to_block_ram(when: When) {
    let module = module("rec-directory", &[("entries", "1024"), ("ways", "4"), ("evb_depth", "1")]);
    when(&module, SynthTarget::Ice40, &|made| {
        // 256 rows of 4 ways of 103 bits, in RAMs of 256 rows of 16 bits with a write mask: 26; and 1 for the ages.
        assert_eq!(count(made, &["SB_RAM40_4K"]), (4 * 103u64).div_ceil(16) + 1, "{made:?}");
        assert_eq!(made.memory_bits, 0, "all memories are mapped");
        assert!(count(made, &["SB_LUT4"]) > 500, "{made:?}");
        assert_eq!((made.luts, made.block_rams), (Some(count(made, &["SB_LUT4"])), Some(27)));
        assert_eq!(made.flip_flops, count(made, &["SB_DFF"]));
    });
}

fn for_another_family_maps_to_its_block_ram(when: When) {
    let module = module("baseline-directory", &[("entries", "1024"), ("ways", "2"), ("evb_depth", "1")]);
    when(&module, SynthTarget::Ecp5, &|made| {
        assert!(count(made, &["DP16KD"]) > 0 && count(made, &["LUT4"]) > 100, "{made:?}");
        let luts =
            count(made, &["LUT4"]) + 2 * count(made, &["CCU2C"]) + 6 * count(made, &["TRELLIS_DPR16X4"]);
        assert_eq!((made.luts, made.block_rams), (Some(luts), Some(count(made, &["DP16KD"]))));
        assert_eq!(made.flip_flops, count(made, &["TRELLIS_FF"]));
    });
}

/// Memory bits are those declared, and of the flip-flops at least this part, less what nobody reads.
fn is_as_declared(when: When, block: &str, module: &Arc<Module>, percent: u64) {
    let declared = area(module);
    when(module, SynthTarget::Generic, &|made| {
        assert!(
            made.memory_bits <= declared.memory_bits && made.memory_bits * 100 >= declared.memory_bits * 95,
            "{block}: {} of {} bits",
            made.memory_bits,
            declared.memory_bits
        );
        let flops = count(made, &["$_DFF", "$_SDFF"]);
        assert!(
            flops <= declared.register_bits && flops * 100 >= declared.register_bits * percent,
            "{block}: {flops} of {} flip-flops",
            declared.register_bits
        );
    });
}

/// Caches, whose lines are the bulk of their bits.
fn keeps_lines_and_tables_of_scoped_caches_in_memories(when: When) {
    let l1 = [("size", "1K"), ("mshrs", "2"), ("wbt", "2"), ("targets", "2"), ("sq", "1")];
    for block in ["srsp-l1", "hlrc-l1", "denovo-b-l1"] {
        is_as_declared(when, block, &module(block, &[&SMALL[..], &l1].concat()), 80);
    }
}

fn keeps_lines_of_scoped_banks_in_memories(when: When) {
    let l2 =
        [("size", "1K"), ("l2_mshrs", "2"), ("targets", "2"), ("writes", "2"), ("mshrs", "2"), ("wbt", "2")];
    let revokes = ("revokes", "2");
    for (block, tables) in [("srsp-l2", ("locks", "2")), ("hlrc-l2", revokes), ("denovo-b-l2", revokes)] {
        is_as_declared(when, block, &module(block, &[&SMALL[..], &l2, &[tables]].concat()), 80);
    }
}

/// What lies between the caches holds messages in registers or queues, and nothing else.
fn keeps_the_networks_of_scoped_caches(when: When) {
    is_as_declared(
        when,
        "sel-hub",
        &module("sel-hub", &[("cus", "4"), ("queue", "2"), ("addr_bits", "32")]),
        80,
    );
    // All four routers stand at corners: what would come from outside, and turns that XY routing does not take, hold nothing.
    let grid = Grid { columns: 2, rows: 2 };
    let way = |m: &Bits| grid.place(&[0, 1, 2, 3], m.slice(0, 2));
    is_as_declared(when, "mesh", &mesh::<Bits>("mesh_2x2", grid, &24, way).expect("legal"), 60);
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

fn keeps_lines_and_lists_of_spandex_banks_in_memories(when: When) {
    let bank = [("size", "1K"), ("ways", "2"), ("line", "16"), ("n_stall", "4")];
    for block in ["spandex-llc", "mesi-llc", "gpu-l2"] {
        is_as_declared(when, block, &module(block, &[&SPANDEX[..], &bank].concat()), 80);
    }
}

fn keeps_lines_and_tables_of_spandex_caches_in_memories(when: When) {
    let l1 = [("size", "512"), ("ways", "2"), ("line", "16")];
    let waits = [("targets", "2"), ("releases", "2")];
    for block in ["gpu-l1", "denovo-l1", "flex-l1"] {
        is_as_declared(when, block, &module(block, &[&SPANDEX[..], &l1, &waits].concat()), 80);
    }
    is_as_declared(when, "mesi-l1", &module("mesi-l1", &[&SPANDEX[..], &l1].concat()), 80);
    let stash = [("size", "512"), ("stash_banks", "4"), ("maps", "2"), ("line", "16")];
    is_as_declared(when, "stash", &module("stash", &[&SPANDEX[..], &stash, &waits].concat()), 80);
}

fn keeps_the_tables_of_spandex_translation_units(when: When) {
    // Channels that are idle, and words of messages that a unit does not look at, hold nothing.
    let line = [("line", "16")];
    for (block, percent) in [("tu-gpu", 50), ("tu-denovo", 60), ("tu-flex", 60)] {
        is_as_declared(when, block, &module(block, &[&SPANDEX[..], &line].concat()), percent);
    }
    let l1 = [("size", "512"), ("ways", "2"), ("line", "16")];
    for (block, percent) in [("tu-mesi", 80), ("hmesi-client", 65)] {
        is_as_declared(when, block, &module(block, &[&SPANDEX[..], &l1].concat()), percent);
    }
}

fn keeps_the_network_and_the_predictor_of_spandex(when: When) {
    // Of the words of a message that no line of this size has, and of turns that XY routing does not take, nothing is left.
    let mesh = [("columns", "2"), ("rows", "2"), ("line", "16")];
    is_as_declared(when, "spandex-router", &module("spandex-router", &[&SPANDEX[..], &mesh].concat()), 80);
    is_as_declared(
        when,
        "owner-predictor",
        &module("owner-predictor", &[&SPANDEX[..], &[("entries", "8")]].concat()),
        95,
    );
}

macro_rules! synth_of {
    ($($test:ident $check:ident;)*) => {
        $(#[test] fn $test() { $check(once); })*

        #[test]
        fn long_synth_of_everything() {
            $($check(always);)*
        }
    };
}

synth_of! {
    synth_keeps_every_memory_bit_of_the_published_directories_out_of_flip_flops keeps_every_memory_bit_of_the_published_directories_out_of_flip_flops;
    synth_maps_a_directory_to_block_ram maps_a_directory_to_block_ram;
    synth_for_another_family_maps_to_its_block_ram for_another_family_maps_to_its_block_ram;
    synth_keeps_lines_and_tables_of_scoped_caches_in_memories keeps_lines_and_tables_of_scoped_caches_in_memories;
    synth_keeps_lines_of_scoped_banks_in_memories keeps_lines_of_scoped_banks_in_memories;
    synth_keeps_the_networks_of_scoped_caches keeps_the_networks_of_scoped_caches;
    synth_keeps_lines_and_lists_of_spandex_banks_in_memories keeps_lines_and_lists_of_spandex_banks_in_memories;
    synth_keeps_lines_and_tables_of_spandex_caches_in_memories keeps_lines_and_tables_of_spandex_caches_in_memories;
    synth_keeps_the_tables_of_spandex_translation_units keeps_the_tables_of_spandex_translation_units;
    synth_keeps_the_network_and_the_predictor_of_spandex keeps_the_network_and_the_predictor_of_spandex;
}
