use crate::tools::{iverilog_lint, verilator_lint, yosys, yosys_lint};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_rtl::ir::Module;
use weft_rtl::verilog::emit;

mod circuits;

/// Writes a module's Verilog into a folder; the files' paths.
fn export(module: &Arc<Module>, folder: &Path) -> Vec<PathBuf> {
    emit(module)
        .into_iter()
        .map(|file| {
            let path = folder.join(&file.name);
            fs::write(&path, &file.text).unwrap();
            path
        })
        .collect()
}

/// What the three tools complain of.
fn complaints(module: &Arc<Module>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let files = export(module, folder.path());
    let mut all = verilator_lint(&module.name, &files).unwrap();
    all.extend(iverilog_lint(&module.name, &files).unwrap());
    all.extend(yosys_lint(&module.name, &files).unwrap());
    if !all.is_empty()
        && let Some(kept) = std::env::var_os("WEFT_KEEP_VERILOG")
    {
        export(module, Path::new(&kept));
    }
    all
}

#[test]
fn a_block_with_channels_parts_and_tables_is_free_of_warnings() {
    for rows in [1, 6, 64] {
        let found = complaints(&circuits::table_server(rows, false));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn random_blocks_are_free_of_warnings() {
    let seeds = std::env::var("WEFT_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(8);
    for seed in 0..seeds {
        let found = complaints(&circuits::random_block(seed));
        assert!(found.is_empty(), "seed {seed}:\n{}", found.join("\n"));
    }
}

#[test]
fn an_sram_becomes_one_memory_with_one_clocked_port_on_each_side() {
    let folder = tempfile::tempdir().unwrap();
    let module = circuits::table_server(64, false);
    let files = export(&module, folder.path());
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let script = format!(
        "read_verilog {}; hierarchy -top {}; proc; flatten; opt; memory -nomap; select -assert-count 1 t:$mem_v2; \
         select -assert-count 1 t:$mem_v2 r:RD_PORTS=1 r:WR_PORTS=1 %i %i r:RD_CLK_ENABLE=1'1 %i",
        names.join(" "),
        module.name
    );
    yosys(&script, folder.path()).unwrap();
}

#[test]
fn assertions_and_covers_are_read_under_formal() {
    let folder = tempfile::tempdir().unwrap();
    let module = circuits::table_server(6, false);
    let files = export(&module, folder.path());
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let script = format!(
        "read_verilog -formal -DFORMAL {}; hierarchy -check -top {}; proc; select -assert-min 2 t:$check t:$assert t:$cover",
        names.join(" "),
        module.name
    );
    yosys(&script, folder.path()).unwrap();
}
