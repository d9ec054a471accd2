use super::*;
use crate::external::{iverilog_lint, verilator_lint, yosys, yosys_lint};
use weft_rtl::prelude::*;

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
    let seeds = 8;
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

fn options(module: &Arc<Module>, with: With, cycles: u64) -> (tempfile::TempDir, CosimOptions) {
    let folder = tempfile::tempdir().unwrap();
    let options = CosimOptions { cycles, ..CosimOptions::new(module, with, folder.path()) };
    (folder, options)
}

#[test]
fn engine_and_both_simulators_agree_on_a_table_server() {
    for (rows, with) in [(6, With::Verilator), (6, With::Icarus), (1, With::Icarus), (64, With::Icarus)] {
        let module = circuits::table_server(rows, false);
        let (_folder, options) = options(&module, with, 5_000);
        let report = cosim(&module, &options).unwrap();
        assert_eq!(report.cycles, 5_000);
        assert!(report.transfers > 500, "{report}");
        assert!(report.outputs_that_moved == report.outputs, "{report}");
    }
}

fn agree_under_icarus(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let module = circuits::random_block(seed);
        let (_folder, options) = options(&module, With::Icarus, 1_000);
        let report = cosim(&module, &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(report.outputs_that_moved, 1, "seed {seed}");
    }
}

#[test]
fn engine_and_icarus_agree_on_random_blocks() {
    agree_under_icarus(0..4);
}

#[test]
fn long_engine_and_icarus_agree_on_random_blocks() {
    agree_under_icarus(4..24);
}

fn agree_under_verilator(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let module = circuits::random_block(seed);
        let (_folder, options) = options(&module, With::Verilator, 20_000);
        cosim(&module, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn engine_and_verilator_agree_on_random_blocks() {
    agree_under_verilator(10..12);
}

#[test]
fn long_engine_and_verilator_agree_on_random_blocks() {
    agree_under_verilator(12..24);
}

/// The recording of one module replayed on the Verilog of another.
#[test]
fn a_difference_is_told_with_cycle_port_values_and_replay() {
    let (right, wrong) = (circuits::table_server(6, false), circuits::table_server(6, true));
    let engine = weft_engine::Options::default();
    let mut found = Vec::new();
    for with in [With::Verilator, With::Icarus] {
        let (folder, options) = options(&right, with, 3_000);
        let options = CosimOptions { traffic: Traffic::Channels, ..options };
        let run = Recording::random(&right, 3_000, 1, Traffic::Channels, engine).unwrap();
        let sources = write_files(folder.path(), &emit(&wrong)).unwrap();
        let said = match with {
            With::Verilator => verilator::replay(&wrong, &run, &sources, folder.path()).unwrap(),
            With::Icarus => icarus::replay(&wrong, &run, &sources, folder.path(), Memories::Unknown).unwrap(),
        };
        let error = verdict(&wrong, &run, &options, &said).unwrap_err();
        let text = error.to_string();
        let CosimError::Differs { at, replay, .. } = error else { panic!("{text}") };
        assert_eq!(at.port, "reply_data");
        let value = |hex: &str| u64::from_str_radix(hex, 16).unwrap();
        assert_eq!((value(&at.engine) + 1) & 0xfff, value(&at.other), "{text}");
        let expected =
            format!("weft cosim table_server_r6 --cycles {} --seed 1 --with {}", at.cycle + 1, with.name());
        assert_eq!(replay, format!("{expected} --traffic channels"));
        assert!(text.starts_with("table_server_r6_wrong: output reply_data differs in cycle "), "{text}");
        found.push((at.cycle, at.port));
    }
    assert_eq!(found[0], found[1], "both simulators find the same first difference");
}

#[test]
fn an_unknown_value_that_reaches_an_output_is_a_failure() {
    let module = Module::build("leaky", ModuleKind::Block, || {
        let at = input::<Bits>("at", 3);
        let ram = sram::<Bits>("ram", 8, 1, 4);
        let (port, writer) = (ram.read_port("rd"), ram.lane_writer("wr"));
        port.present(at);
        when(at.all(), || writer.write(at, &lit(5, 4)));
        output_reg::<Bits>("seen", 4).set(port.lane(0));
    })
    .unwrap();
    let (_folder, options) = options(&module, With::Icarus, 500);
    let remark = cosim(&module, &options).unwrap();
    assert_eq!(remark.unknown.as_ref().unwrap().port, "seen");
    assert!(remark.to_string().contains("with unknown memories at power-up, seen shows one in cycle "));
    let options = CosimOptions { strict: true, ..options };
    let error = cosim(&module, &options).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, CosimError::XEscapes { ref at, .. } if at.port == "seen"), "{text}");
    assert!(
        text.contains("an unknown value reaches output seen in cycle ") && text.contains("got x")
            || text.contains("iverilog x"),
        "{text}"
    );
}

#[test]
fn a_sender_holds_valid_and_message_until_the_receiver_is_ready() {
    let module = circuits::table_server(6, false);
    let run =
        Recording::random(&module, 20_000, 7, Traffic::Channels, weft_engine::Options::default()).unwrap();
    let Some(Channel::Into { valid, ready, message }) = run.ports.channels.first().cloned() else {
        panic!("request is a channel")
    };
    assert_eq!(message.len(), 3);
    let mut waits = 0;
    for c in 1..run.inputs.len() {
        let waited = !run.inputs[c - 1][valid].is_zero() && run.outputs[c - 1][ready].is_zero();
        if waited {
            waits += 1;
            assert!(!run.inputs[c][valid].is_zero(), "cycle {c}");
            assert!(message.iter().all(|m| run.inputs[c][*m] == run.inputs[c - 1][*m]), "cycle {c}");
        }
    }
    assert!(waits > 100, "{waits}");
    let kind = message.iter().find(|m| run.ports.inputs[**m].name == "request_kind").unwrap();
    assert!(run.inputs.iter().skip(1).all(|row| [0, 1, 4].contains(&row[*kind].low_u64())));
}

#[test]
fn the_exported_testbench_passes_and_fails_on_a_changed_expectation() {
    let module = circuits::table_server(6, false);
    let run = Recording::random(&module, 300, 3, Traffic::Channels, weft_engine::Options::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sources = write_files(folder.path(), &emit(&module)).unwrap();
    assert_eq!(
        icarus::replay(&module, &run, &sources, folder.path(), Memories::Unknown).unwrap().trim(),
        "PASS 300 cycles"
    );
    let mut wrong = run.clone();
    let flipped = !wrong.outputs[200][0].bit(0);
    wrong.outputs[200][0].set_bit(0, flipped);
    let said = icarus::replay(&module, &wrong, &sources, folder.path(), Memories::Zero).unwrap();
    assert!(said.starts_with("FAIL cycle 200 port "), "{said}");
}

#[test]
fn both_sides_of_the_benchmark_do_the_same_work() {
    let module = circuits::table_server(64, false);
    let folder = tempfile::tempdir().unwrap();
    let mut options = BenchOptions::new(20_000, 5, folder.path());
    options.masks.push(("request_data".into(), 0xff));
    let on_engine = |options: &BenchOptions| {
        let mut bench = EngineBench::new(&module, options).unwrap();
        (0..2).for_each(|_| bench.run());
        bench.result()
    };
    let mut bench = VerilatorBench::new(&module, &options).unwrap();
    bench.run().unwrap();
    let (engine, verilator) = (on_engine(&options), bench.result());
    assert_eq!((engine.seconds.len(), verilator.seconds.len()), (2, 1));
    assert_eq!((engine.checksum, engine.transfers), (verilator.checksum, verilator.transfers));
    assert!(engine.transfers > 5_000);
    let other = on_engine(&BenchOptions { seed: 6, ..options });
    assert_ne!(other.checksum, engine.checksum);
}

/// Wires without handshake carry a message in as many cycles as they are loaded, and each that leaves brings its
/// credit back, once.
#[test]
fn the_benchmark_loads_wires_and_gives_their_credits_back() {
    let module = circuits::relay();
    let folder = tempfile::tempdir().unwrap();
    let options = BenchOptions { offer_of_16: 4, ..BenchOptions::new(20_000, 5, folder.path()) };
    let mut engine = EngineBench::new(&module, &options).unwrap();
    engine.run();
    let mut verilator = VerilatorBench::new(&module, &options).unwrap();
    verilator.run().unwrap();
    let (engine, verilator) = (engine.result(), verilator.result());
    assert_eq!((engine.checksum, engine.transfers), (verilator.checksum, verilator.transfers));
    // A quarter of the cycles, into the relay and out of it.
    assert!((9_500..10_500).contains(&engine.transfers), "{}", engine.transfers);
}

#[test]
fn verilator_runs_the_exported_testbench_of_a_design_with_children() {
    let module = circuits::table_server(6, false);
    assert!(!module.instances.is_empty(), "the testbench reaches memories below the top");
    let run = Recording::random(&module, 300, 3, Traffic::Channels, weft_engine::Options::default()).unwrap();
    let mut wrong = run.clone();
    let flipped = !wrong.outputs[200][0].bit(0);
    wrong.outputs[200][0].set_bit(0, flipped);
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), &emit(&module)).unwrap();
    write_files(folder.path(), &export_testbench(&module, &run)).unwrap();
    let top = format!("tb_{}", module.name);
    let mut build = crate::external::Tool::Verilator.command().unwrap();
    build.current_dir(folder.path()).args([
        "--binary",
        "--timing",
        "-Wall",
        "-Wno-fatal",
        "-CFLAGS",
        "-std=c++20",
    ]);
    build.args(["-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0 OPT_SLOW=-O0"]).args([
        "-j",
        "2",
        "--top-module",
        &top,
    ]);
    let names = emit(&module).into_iter().map(|f| f.name);
    crate::external::run(build.args(names).arg(format!("{top}.v"))).unwrap();
    let mut simulation = std::process::Command::new(folder.path().join(format!("obj_dir/V{top}")));
    simulation.current_dir(folder.path());
    let mut said = || {
        let output = crate::external::run(&mut simulation).unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said().contains("PASS 300 cycles"));
    write_files(folder.path(), &export_testbench(&module, &wrong)).unwrap();
    assert!(said().contains("FAIL cycle 200 port "), "it reads its memory files at run time");
}
