//! Waveforms of a run, read back with another crate: both formats hold the same values, a window holds what the whole run holds there, and the
//! same run gives the same bytes.

use crate::program::weft_in as started;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

const RUN: [&str; 6] = ["run", "rec-4gpu-small", "--param", "source=karate", "--param", "iterations=1"];

fn weft(folder: &Path, more: &[&str]) -> Output {
    started(folder, &[&RUN[..], more].concat())
}

fn record(folder: &Path, file: &str, more: &[&str]) -> String {
    let mut args = vec!["--waves", file];
    args.extend(more);
    let out = weft(folder, &args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// A waveform's values: by full name, the times of changes and the new values.
type Changes = BTreeMap<String, Vec<(u64, String)>>;

fn read(path: &Path) -> Changes {
    let mut wave = wellen::simple::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let times = wave.time_table().to_vec();
    let vars: Vec<(String, wellen::SignalRef)> = {
        let h = wave.hierarchy();
        h.all_vars().map(|v| (h[v].full_name(h), h[v].signal_ref())).collect()
    };
    wave.load_signals(&vars.iter().map(|(_, s)| *s).collect::<Vec<_>>());
    let of = |signal| -> Vec<(u64, String)> {
        let data = wave.get_signal(signal).expect("loaded");
        let text = |v: wellen::SignalValueRef| v.to_bit_string().expect("bits");
        data.iter_changes().map(|(at, v)| (times[at as usize], text(v))).collect()
    };
    vars.iter().map(|(name, signal)| (name.clone(), of(*signal))).collect()
}

/// The value that a signal has at a time.
fn at(changes: &[(u64, String)], time: u64) -> Option<&str> {
    changes[..changes.partition_point(|(t, _)| *t <= time)].last().map(|(_, v)| v.as_str())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn both_formats_hold_the_same_values_of_the_whole_fabric() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in ["x.vcd", "x.fst"] {
        record(folder.path(), file, &["--to", "2000"]);
        let bytes = std::fs::metadata(folder.path().join(file)).expect("a file").len();
        assert!(bytes < 8 << 20, "{file} of 2000 cycles has {bytes} bytes");
    }
    let (vcd, fst) = (read(&folder.path().join("x.vcd")), read(&folder.path().join("x.fst")));
    assert!(vcd.len() > 10_000, "{} signals", vcd.len());
    assert!(vcd.keys().eq(fst.keys()), "the same signals");
    for (name, changes) in &vcd {
        assert_eq!(changes, &fst[name], "{name}");
    }
    let moved = vcd.values().filter(|c| c.len() > 1).count();
    assert!(moved > 500, "{moved} signals change");
    let last = vcd.values().filter_map(|c| c.last()).map(|(t, _)| *t).max();
    assert!(last.is_some_and(|t| (1000..2000).contains(&t)), "the window ends before cycle 2000: {last:?}");
}

#[test]
fn a_window_of_a_scope_holds_what_the_whole_run_holds_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let scope = ["--scope", "gpu0.dir0", "--scope", "gpu?.bank1"];
    record(folder.path(), "all.vcd", &scope);
    let whole = read(&folder.path().join("all.vcd"));
    assert!(
        whole.keys().all(|n| n.contains(".gpu0.dir0.") || n.contains(".bank1.")),
        "nothing but the scopes"
    );
    assert!(whole.keys().any(|n| n.contains(".gpu3.bank1.")));
    for file in ["part.vcd", "part.fst"] {
        let said = record(folder.path(), file, &[&scope[..], &["--from", "400", "--to", "900"]].concat());
        assert!(said.contains(&format!("cycles 400..899 in {file}")), "{said}");
        let part = read(&folder.path().join(file));
        assert!(part.keys().eq(whole.keys()));
        for (name, changes) in &part {
            // FST begins at time 0: what comes before the window is unknown there.
            let known = changes.iter().filter(|(_, v)| v.chars().any(|c| c != 'x'));
            assert!(
                known.map(|(t, _)| *t).all(|t| (400..900).contains(&t)),
                "{file}: {name} changes outside the window"
            );
            for time in (400..900).step_by(7).chain([899]) {
                assert_eq!(at(changes, time), at(&whole[name], time), "{file}: {name} in cycle {time}");
            }
        }
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    for file in ["x.vcd", "x.fst"] {
        for folder in [&one, &two] {
            record(folder.path(), file, &["--scope", "gpu1", "--from", "100", "--to", "1500"]);
        }
        let bytes = |folder: &tempfile::TempDir| std::fs::read(folder.path().join(file)).expect("a file");
        assert!(bytes(&one) == bytes(&two), "{file}");
    }
}

#[test]
fn states_have_names_in_the_save_file() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), "pr.vcd", &["--scope", "gpu0.dir0"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let save = read("pr.vcd.gtkw");
    let lines: Vec<&str> = save.lines().collect();
    let row = lines.iter().position(|l| l.ends_with("gpu0.dir0.state")).expect("the state is shown");
    assert!(
        lines[row - 1].starts_with("^1 ") && lines[row - 1].ends_with("pr.vcd.DirState.txt"),
        "{}",
        lines[row - 1]
    );
    assert!(read("pr.vcd.DirState.txt").contains("1 RUN"), "{}", read("pr.vcd.DirState.txt"));
    assert!(lines.contains(&"-gpu0.dir0"), "a group for the scope");
    let marks: Vec<&&str> = lines.iter().filter(|l| l.starts_with("[markername] ")).collect();
    assert!(
        marks.first().is_some_and(|mark| mark.starts_with("[markername] A")),
        "kernels are marked: {marks:?}"
    );
    let cycles =
        lines.iter().find(|l| l.starts_with('*')).map(|l| l.split(' ').skip(2).filter(|c| *c != "-1"));
    assert_eq!(cycles.map(Iterator::count), Some(marks.len()), "each in its cycle");
}

/// Caches of one system have states of their own; those of cores with MESI and of CUs with GPU coherence have one name.
#[test]
fn states_of_a_spandex_system_have_names_in_the_save_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let scope = ["--scope", "bank0", "--scope", "device0", "--scope", "device2.cache", "--to", "1500"];
    let run =
        ["run", "spandex-soc-small", "--workload", "hsti", "--param", "values=1024", "--waves", "s.vcd"];
    let out = started(folder.path(), &[&run[..], &scope].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let save = text("s.vcd.gtkw");
    let lines: Vec<&str> = save.lines().collect();
    let shown = read(&folder.path().join("s.vcd"));
    let rows = [
        ("bank0.tbe0_kind", &["PHASE1", "EVICT"][..]),
        ("device0.tu.step", &[]),
        ("device0.cache.found_state", &["S", "E", "M"]),
        ("device2.cache.found_state", &["I", "V"]),
    ];
    for (signal, states) in rows {
        let row = lines.iter().rposition(|l| l.split('[').next().is_some_and(|l| l.ends_with(signal)));
        let row = row.unwrap_or_else(|| panic!("no row for {signal}"));
        let table = lines[row - 1].strip_prefix("^1 ").unwrap_or_else(|| panic!("{signal} without names"));
        let table = text(table.rsplit('/').next().expect("a name"));
        for state in states {
            assert!(table.lines().any(|l| l.ends_with(&format!(" {state}"))), "{signal}: {table}");
        }
        assert!(shown.keys().any(|name| name.ends_with(signal)), "{signal} is not in the waveform");
    }
    let moved = shown.values().filter(|changes| changes.len() > 2).count();
    assert!(moved > 50, "{moved} signals change");
    for group in ["-bank0", "-device0.cache", "-device0.tu", "-device2.cache"] {
        assert!(lines.contains(&group), "no group {group}");
    }
}

#[test]
fn a_window_after_the_end_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = record(folder.path(), "x.vcd", &["--from", "900000"]);
    assert!(said.contains("waveform: none, for the run ended in cycle"), "{said}");
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
}

#[test]
fn an_existing_waveform_survives_a_refused_run() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("x.vcd"), "kept").expect("written");
    let out = weft(folder.path(), &["--waves", "x.vcd", "--scope", "nothing_of_that_name"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(std::fs::read(folder.path().join("x.vcd")).expect("a file"), b"kept");
    assert_eq!(names(folder.path()), ["x.vcd"]);
}

/// The viewer shows its first cycles where the window that a save file asks for is not all there.
#[test]
fn a_failure_opens_on_the_failing_cycle() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = ["run", "rec-4gpu-small", "--workload", "spm-g", "--set", "inject=l1-keeps-copies"];
    let out = started(folder.path(), &run);
    let said = String::from_utf8_lossy(&out.stderr);
    let cycle = said.split("check failed in cycle ").nth(1).and_then(|rest| rest.split(':').next());
    let cycle: u64 =
        cycle.and_then(|cycle| cycle.parse().ok()).unwrap_or_else(|| panic!("no failure: {said}"));
    let path = folder.path().join("vcd_out/failure.fst");
    let save = std::fs::read_to_string(folder.path().join("vcd_out/failure.fst.gtkw")).expect("a save file");
    let start = save.lines().find_map(|l| l.strip_prefix("[timestart] ")).expect("where it opens");
    let start: u64 = start.parse().expect("a cycle");
    let end = *wellen::simple::read(&path).expect("a waveform").time_table().last().expect("some cycles");
    assert!(start <= cycle && cycle < start + 64, "opens at {start}, fails in {cycle}");
    assert!(start + 64 <= end, "opens at {start}, ends in {end}");
}
