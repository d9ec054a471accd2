//! What a user gets when a block is broken: whole runs of the small REC fabric in which one block is a deliberately broken copy. Each ends with one report
//! that names cycle, place and what should have held, and leaves the last 1000 cycles as a waveform that nobody has asked for.

use std::path::Path;
use std::sync::Arc;
use weft_blocks::cache::l2::l2_bank;
use weft_blocks::directory::directory;
use weft_blocks::fabric::rec_fabric;
use weft_engine::runner::{Report, Rewind, RunError};
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricError, FabricRun, RunOptions};
use weft_rtl::ir::Module;
use weft_testbench::fault;
use wellen::simple::Waveform;

/// The small fabric with links, banks and MSHRs enough for a fault to stop everything soon.
fn config() -> FabricConfig {
    let mut config = FabricConfig::load("rec-4gpu-small").expect("built in");
    let wide =
        ["cus=4", "banks=4", "l2_mshrs=64", "l2_pool=128", "link_bytes=6", "dram_banks=4", "dram_queue=32"];
    wide.iter().chain(&["dram_bandwidth=8"]).for_each(|change| config.set(change).expect("legal"));
    config
}

/// PageRank on the small fabric with another block at `path`; ends when the run does.
fn run(path: &str, broken: &Arc<Module>, wave: &Path) -> Result<bool, FabricError> {
    let config = config();
    let params = [("source", "uniform"), ("nodes", "512"), ("edges", "4096"), ("iterations", "3")]
        .map(|(k, v)| (k.to_string(), v.to_string()));
    let program = weft_workload::build("pagerank", &params.into(), None).expect("known");
    let options = RunOptions {
        rewind: Some(Rewind { cycles: 1000, wave: wave.to_path_buf() }),
        ..RunOptions::default()
    };
    let whole = rec_fabric(&hardware()).expect("sound");
    let whole = whole.replaced(path, broken).expect("the same ports");
    let mut run = FabricRun::with_module(&config, &whole, program.into(), &options)?;
    let ended = run.run_to(1_000_000)?;
    run.finish().map(|report| ended && report.verified)
}

fn hardware() -> weft_blocks::fabric::FabricParams {
    config().directory().expect("of this family")
}

/// The report, after a look at what every report must have.
fn failed(result: Result<bool, FabricError>, wave: &Path) -> Report {
    let error = result.expect_err("the broken block is found");
    assert!(!error.is_input(), "a failed run, not a user's mistake: {error}");
    let text = error.to_string();
    let FabricError::Run(RunError::Assertion(report)) = error else { panic!("{text}") };
    assert_eq!((report.kept, report.wave.as_path()), (1000, wave));
    assert!(text.contains(&format!(" failed in cycle {}: ", report.failure.cycle)), "{text}");
    let (wave, save) = (wave.display(), weft_engine::wave::save_path(wave));
    assert!(text.ends_with(&format!(" are in {wave}, open them with gtkwave {}", save.display())), "{text}");
    *report
}

/// The waveform of the last cycles.
struct Last {
    wave: Waveform,
    cycle: u64,
}

impl Last {
    /// Reads it back: the window is right, and the save file marks the failure.
    fn read(path: &Path, cycle: u64) -> Last {
        let wave = wellen::simple::read(path).expect("a waveform");
        let times = wave.time_table();
        // An FST begins at time 0, where nothing is known yet.
        let first = *times.iter().find(|t| **t > 0).expect("some");
        let last = *times.last().expect("some");
        // The fabric works all the time, so that changes come soon after the first cycle. Behind the last one nothing is known.
        assert!((cycle - 999..cycle - 900).contains(&first), "begins in cycle {first}, fails in {cycle}");
        assert_eq!(last, cycle + 1 + 24, "ends in cycle {last}, fails in {cycle}");
        let save = std::fs::read_to_string(weft_engine::wave::save_path(path)).expect("a save file");
        let marker = save.lines().find(|l| l.starts_with('*')).and_then(|l| l.split(' ').nth(1));
        assert_eq!(marker, Some(cycle.to_string().as_str()), "marked at the failure");
        assert!(save.contains("gpu0.dir0.state"), "states are shown");
        Last { wave, cycle }
    }

    /// Value of a signal in the failing cycle or `before` cycles earlier.
    fn value(&mut self, name: &str, before: u64) -> u64 {
        let (scope, var) = name.rsplit_once('.').expect("scope and name");
        let mut scopes: Vec<&str> = scope.split('.').collect();
        let h = self.wave.hierarchy();
        let root = h.scopes().next().expect("a root");
        scopes.insert(0, h[root].name(h));
        let id = h.lookup_var(&scopes, var).unwrap_or_else(|| panic!("no signal {name}"));
        let signal = h[id].signal_ref();
        self.wave.load_signals(&[signal]);
        let times = self.wave.time_table();
        let at = times.partition_point(|t| *t <= self.cycle - before) as u32 - 1;
        let data = self.wave.get_signal(signal).expect("loaded");
        let offset = data.get_offset(at).unwrap_or_else(|| panic!("{name} has no value"));
        let text = data.get_value_at(&offset, 0).to_bit_string().expect("bits");
        u64::from_str_radix(&text, 2).unwrap_or_else(|_| panic!("{name} is {text}"))
    }
}

#[test]
fn a_directory_that_loses_one_invalidation_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let wave = folder.path().join("failure.fst");
    let dir = directory(&hardware().dir(0).expect("a directory")).expect("sound");
    let lost = fault::lost_message(&dir, "inv", 10);
    let report = failed(run("gpu0.dir0", &lost, &wave), &wave);
    let (text, cycle) = (&report.failure.text, report.failure.cycle);
    let (copy, rest) = text.split_once(" is valid, but ").expect("a copy");
    assert!(copy.starts_with("directory precision: the copy of line 0x4"), "{text}");
    let held = "the directory of its home gpu 0 does not track it: its entry in gpu0.dir0 set ";
    assert!(rest.starts_with(held) && rest.contains("no message in flight concerns it"), "{text}");
    // The message was begun shortly before, within what is shown.
    let mut last = Last::read(&wave, cycle);
    let line = u64::from_str_radix(&copy["directory precision: the copy of line 0x".len()..][..4], 16);
    let lost_at =
        (0..900).find(|before| last.value("gpu0.dir0.messages_begun", *before) < 11).expect("begun");
    assert_eq!(last.value("gpu0.dir0.messages_begun", lost_at - 1), 11);
    assert_eq!(last.value("gpu0.dir0.inv_line", lost_at - 1) * 64, line.expect("hexadecimal"));
    assert_eq!(last.value("gpu0.dir0.inv_valid", lost_at - 1), 0, "the directory has not sent it");
}

#[test]
fn a_failed_assertion_names_block_and_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let wave = folder.path().join("failure.vcd");
    let dir = directory(&hardware().dir(0).expect("a directory")).expect("sound");
    // From cycle 3000 on no lookup hits: a base gets a second way.
    let blind = fault::stuck(&dir, "s1_hit", 0, 3000);
    let report = failed(run("gpu0.dir0", &blind, &wave), &wave);
    let said = "assertion one_way_per_base of gpu0.dir0 failed in cycle ";
    assert!(report.to_string().starts_with(said), "{report}");
    assert!(
        report.to_string().contains(": at most one way holds a base (hdl/blocks/src/directory/lookup.rs:")
    );
    let mut last = Last::read(&wave, report.failure.cycle);
    assert_eq!(last.value("gpu0.dir0.s1_valid", 0), 1);
    assert!(last.value("gpu0.dir0.s1_hits", 0).count_ones() > 1, "two ways hold the base");
}

#[test]
fn a_deadlock_is_told_as_who_waits_for_whom() {
    let folder = tempfile::tempdir().expect("a folder");
    let wave = folder.path().join("failure.fst");
    let bank = l2_bank(&hardware().l2(0)).expect("sound");
    // The bank takes no answer of its directory slice, so the slice takes no more of the bank's operations.
    let deaf = fault::stuck(&bank, "dir_rsp_ready", 0, 2000);
    let report = failed(run("gpu0.bank0", &deaf, &wave), &wave);
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains(": watchdog: nothing has moved at the ports of the fabric since cycle "),
        "{text}"
    );
    assert_eq!(lines[1], "these blocks wait for each other:");
    let waits = |line: &str, who: &str, holds: &str, port: &str, whom: &str| {
        let (held, rest) = line.trim_start().split_once("} on its channel ").expect("a sentence");
        assert!(held.starts_with(&format!("{who} holds {{{holds}")), "{line}");
        let (place, since) = rest.split_once(" since cycle ").expect("a cycle");
        assert!(place.starts_with(&format!("{port} and waits for {whom}, which has not taken it")), "{line}");
        since.trim_end_matches(" at the latest").parse::<u64>().expect("a number")
    };
    let since = [
        waits(lines[2], "gpu0.bank0", "op WR_REM, src 1, line 0x", "dir_req", "gpu0.dir0"),
        waits(lines[3], "gpu0.dir0", "id ", "rsp", "gpu0.bank0"),
    ];
    assert!(since.iter().all(|cycle| (2000..3000).contains(cycle)), "{text}");
    assert_eq!(lines[4], "messages that are not taken:");
    assert!(lines.contains(&"what the blocks hold:") && lines.contains(&"requests without an answer:"));
    assert!(lines.iter().any(|l| l.starts_with("  gpu0.bank0: dir_req_count = 8")), "{text}");
    assert!(lines.iter().any(|l| l.starts_with("  gpu 3 cu ") && l.contains(" waits for the answer to ")));
    // It is told when everything has come to rest, long before the watchdog would; what is shown is how it came
    // to that.
    assert!(report.shown < 3000 && report.failure.cycle < 4000, "{text}");
    let mut last = Last::read(&wave, report.shown);
    for (valid, ready) in [
        ("gpu0.dir0.rsp_valid", "gpu0.bank0.dir_rsp_ready"),
        ("gpu0.bank0.dir_req_valid", "gpu0.dir0.req_ready"),
    ] {
        assert_eq!((last.value(valid, 0), last.value(ready, 0)), (1, 0), "{valid}");
        assert!((0..999).any(|before| last.value(valid, before) == 0 || last.value(ready, before) == 1));
    }
}
