//! `weft reproduce`: one figure from nothing to its report, again without a run, what differs in words, and one sentence for each mistake.

use crate::program::weft_in as weft;
use std::io::{Read, Write};
use std::path::Path;

fn stdout(folder: &Path, args: &[&str]) -> String {
    let out = weft(folder, args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stderr.is_empty(), "a pipe sees no progress: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn a_figure_is_made_once_and_reported_from_its_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["reproduce", "dnn-step", "remote", "--tier=small", "--jobs", "2", "--out", "out"];
    let first = stdout(folder.path(), &args);
    assert!(first.contains("runs made: 8, "), "{first}");
    let out = folder.path().join("out");
    let record: serde_json::Value =
        serde_json::from_str(&read(&out.join("dnn-step-remote.json"))).expect("JSON");
    assert_eq!(
        (record["schema"].as_str(), record["tier"].as_str()),
        (Some("weft-reproduce-1"), Some("small"))
    );
    let figure = &record["figures"][0];
    assert_eq!((figure["runs"].as_u64(), figure["failed"].as_u64()), (Some(8), Some(0)));

    // The numbers are those of the results file.
    let mut reader = csv::Reader::from_path(out.join("runs/dnn-remote-small.csv")).expect("results");
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("a row")).collect();
    let cycles = |workload: &str, remote: &str| -> f64 {
        let row = rows.iter().find(|row| row["axis.workload"] == workload && row["axis.remote"] == remote);
        row.expect("a run")["cycles"].parse().expect("a number")
    };
    let ratios = ["64 x 64", "96 x 96"].map(|workload| cycles(workload, "100%") / cycles(workload, "0%"));
    let row = |what: &str| {
        figure["rows"].as_array().expect("rows").iter().find(|row| row["what"] == what).expect("a row")
    };
    let greatest = ratios[0].max(ratios[1]);
    let measured = row("100% remote, greatest")["measured"].as_f64().expect("a number");
    assert!((measured - greatest).abs() < 1e-9, "{measured} {greatest}");
    assert!(
        (row("100% remote")["measured"].as_f64().expect("a number") - (ratios[0] + ratios[1]) / 2.0).abs()
            < 1e-9
    );
    let ratio = row("100% remote, greatest")["ratio"].as_f64().expect("a number");
    let nearest = greatest.clamp(12.0, 27.0);
    assert!((ratio - greatest / nearest).abs() < 1e-9, "to the nearer end of 12 to 27: {ratio}");
    assert_eq!(row("100% remote, greatest")["near"].as_bool(), Some(true));
    let report = read(&out.join("dnn-step-remote.md"));
    let page = read(&out.join("dnn-step-remote.html"));
    assert!(
        page.contains("<svg") && page.contains("prefers-color-scheme") && !page.contains("src="),
        "one page"
    );
    assert!(report.contains("](pictures/dnn-remote-small-cycles.svg)"), "{report}");

    let again = stdout(folder.path(), &args);
    assert!(again.contains("runs made: 0, "), "{again}");
    assert_eq!(read(&out.join("dnn-step-remote.md")), report, "the same bytes");
}

/// The eight runs of a figure, or some of them, kept in records.
fn recorded(folder: &Path, out: &str, more: &[&str]) -> String {
    let args = ["reproduce", "dnn-step", "remote", "--tier=small", "--record", "kept", "--out", out];
    stdout(folder, &[&args, more].concat())
}

/// The tables of what was said.
fn table(said: &str) -> String {
    said.lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>().join("\n")
}

#[test]
fn runs_that_the_records_lack_are_made_and_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |out: &str, more: &[&str]| recorded(folder.path(), out, more);
    let whole = record("first", &[]);
    assert!(whole.contains("runs made: 8, "), "{whole}");
    let file = folder.path().join("kept/dnn-remote-small.csv.gz");
    let kept = std::fs::read(&file).expect("a record");

    // Its third and its last run are lost.
    let mut text = String::new();
    flate2::read::GzDecoder::new(&kept[..]).read_to_string(&mut text).expect("text");
    let lines: Vec<&str> =
        text.lines().enumerate().filter(|(at, _)| ![3, 8].contains(at)).map(|l| l.1).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(format!("{}\n", lines.join("\n")).as_bytes()).expect("packed");
    std::fs::write(&file, packed.finish().expect("packed")).expect("written");

    // A task of a job array makes its share of those only.
    let shares = ["--shard=1/2", "--shard=2/2"].map(|shard| record("tasks", &["--missing", shard]));
    assert!(shares.iter().all(|said| said.lines().count() <= 1), "{shares:?}");
    let parts = std::fs::read_dir(folder.path().join("tasks/runs/dnn-remote-small.parts")).expect("tasks");
    let rows = parts.map(|part| read(&part.expect("listed").path()).lines().count() - 1);
    assert_eq!(rows.sum::<usize>(), 2);

    let rest = record("second", &["--missing"]);
    assert!(rest.contains("runs made: 2, "), "{rest}");
    assert_eq!(std::fs::read(&file).expect("a record"), kept, "the same bytes");
    assert_eq!(table(&rest), table(&whole), "a report of both");
    assert!(record("third", &["--missing"]).contains("runs made: 0, "));
}

/// The record with these rows, from 0, made on other hardware.
fn on_other_hardware(kept: &[u8], rows: &[usize]) -> Vec<u8> {
    let mut table =
        csv::ReaderBuilder::new().has_headers(false).from_reader(flate2::read::GzDecoder::new(kept));
    let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let mut out = csv::WriterBuilder::new().has_headers(false).from_writer(packed);
    let mut lines = table.records().map(|line| line.expect("a line"));
    let header = lines.next().expect("a heading");
    let at = |name: &str| header.iter().position(|known| known == name).expect(name);
    out.write_record(&header).expect("in memory");
    for (row, line) in lines.enumerate() {
        let mut cells: Vec<String> = line.iter().map(String::from).collect();
        if rows.contains(&row) {
            cells[at("hardware")] = "0123456789abcdef".into();
            let mut digest = weft_engine::digest::Digest::default();
            for (_, cell) in header.iter().zip(&cells).filter(|(name, _)| !["check", "run"].contains(name)) {
                digest.add(cell.as_bytes());
                digest.add(&[0]);
            }
            cells[at("check")] = format!("{:016x}", digest.value());
        }
        out.write_record(&cells).expect("in memory");
    }
    out.into_inner().expect("in memory").finish().expect("in memory")
}

#[test]
fn runs_of_other_hardware_are_made_again_unless_they_are_welcome() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |out: &str, more: &[&str]| recorded(folder.path(), out, more);
    record("first", &[]);
    let file = folder.path().join("kept/dnn-remote-small.csv.gz");
    let kept = std::fs::read(&file).expect("a record");
    let other = on_other_hardware(&kept, &[1, 4, 6]);
    std::fs::write(&file, &other).expect("written");

    let taken = record("taken", &["--missing", "--any-hardware"]);
    let says = "runs that the records have of other hardware: 3, ";
    assert!(
        taken.contains("runs made: 0, ") && taken.contains(&format!("{says}taken all the same")),
        "{taken}"
    );
    let text = |packed: &[u8]| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed).read_to_string(&mut text).expect("text");
        text
    };
    assert!(text(&std::fs::read(&file).expect("a record")) == text(&other), "the rows are as they were");

    let again = record("again", &["--missing"]);
    assert!(again.contains("runs made: 3, ") && again.contains(&format!("{says}made again")), "{again}");
    assert!(std::fs::read(&file).expect("a record") == kept, "the same bytes");
    assert!(!record("third", &["--missing"]).contains("other hardware"));
}

#[test]
fn a_part_of_a_figure_is_recorded_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |out: &str, more: &[&str]| recorded(folder.path(), out, more);
    let whole = record("whole", &[]);
    std::fs::rename(folder.path().join("kept"), folder.path().join("all")).expect("renamed");
    let part = record("out", &["--missing", "--only=workload=96 x 96", "--only", "remote=0%,67%,100%"]);
    assert!(
        part.contains("runs made: 3, ") && part.contains("left out by --only, and missing in the report: 5")
    );
    // Its numbers are of one of two matrices.
    let parts = |said: &str, words| table(said).matches(words).count();
    assert_eq!(parts(&part, ", 1 of 2 |"), 3, "67 %, 100 %, and the greatest of 100 %: {part}");
    assert_eq!(parts(&whole, " of 2 |"), 0, "{whole}");
    let rows = read(&folder.path().join("out/runs/dnn-remote-small.csv"));
    assert!(rows.lines().skip(1).all(|row| row.contains("96 x 96") && !row.contains(",33%,")), "{rows}");
    let kept = weft(
        folder.path(),
        &["sweep", "dnn-remote", "--tier=small", "--only=workload=96 x 96", "--only=remote=0%,67%,100%"],
    );
    assert!(kept.status.success(), "the same words as of a sweep");
    // The others are made later, and all are as they are when made at once.
    let rest = record("out", &["--missing"]);
    assert!(rest.contains("runs made: 5, "), "{rest}");
    assert_eq!(table(&rest), table(&whole));
    let file =
        |of: &str| std::fs::read(folder.path().join(of).join("dnn-remote-small.csv.gz")).expect("a record");
    assert_eq!(file("kept"), file("all"), "the same bytes");
}

#[test]
fn a_figure_of_hardware_needs_no_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = stdout(folder.path(), &["reproduce", "rec", "storage"]);
    assert!(said.contains("| entry, range of 1 KB (bits) | 103 | 103 | 1.00 |"), "{said}");
    let area = stdout(folder.path(), &["reproduce", "rec", "area"]);
    assert!(area.contains("published 3.94%, 1.766 times it."), "what differs is told: {area}");
    assert!(said.contains("runs made: 0, "), "{said}");
    assert!(folder.path().join("reproduce_out/rec-storage.md").exists());
    assert!(folder.path().join("reproduce_out/pictures/rec-storage.svg").exists());
}

#[test]
fn systems_and_figures_are_listed_and_others_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = stdout(folder.path(), &["reproduce", "list"]);
    for word in ["rec\n", "speedup", "rec-protocols, 84 runs", "spandex\n", "no run"] {
        assert!(said.contains(word), "{word} is missing: {said}");
    }
    let refused = |args: &[&str], part: &str| {
        let out = weft(folder.path(), args);
        let text = String::from_utf8(out.stderr).expect("text");
        assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.trim_end().lines().count() == 1 && text.contains(part), "{args:?}: {text}");
    };
    refused(&["reproduce", "hrm"], "there are no published results of hrm; there are all, rec, hmg");
    refused(
        &["reproduce", "rec", "speed"],
        "rec has no figure speed; the nearest is speedup; `weft reproduce list` shows all",
    );
    refused(&["reproduce", "all", "speedup"], "figure speedup is of one system");
    refused(
        &["reproduce", "hmg", "speedup", "--only=workload=Alexnett"],
        "--only workload=Alexnett: axis workload has no value",
    );
    refused(
        &["reproduce", "hmg", "speedup", "--only=programs=mst"],
        "hmg-protocols-small has no axis programs",
    );
    refused(
        &["reproduce", "rec", "storage", "--only=workload=mst"],
        "this figure needs no run; leave it out",
    );
    refused(&["reproduce", "rec", "storage", "--out", "/proc/none"], "cannot make this folder");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is half written");
    // Published graphs do not come with the program.
    let graph = "cannot read graph file graphs/bio-dmela.txt";
    refused(&["reproduce", "srsp", "speedup", "--tier=middle"], graph);
    refused(&["reproduce", "srsp", "speedup", "--tier=middle", "--shard=1/2"], graph);
}
