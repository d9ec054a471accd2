//! `weft sweep`: one row per run in the order of the product, the same bytes however it was interrupted, tables that are what the rows say, pictures that
//! are pictures, and one sentence for each mistake.

use crate::program::{WEFT, weft_in as weft};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Four runs of a few thousand cycles each.
const TINY: &str = r#"
name = "tiny"
fabric = "rec-4gpu-small"
workloads = [
    { workload = "stencil", n = 32, iterations = 2, label = "ST" },
    { workload = "atax", rows = 64, columns = 32 },
]

[set]
l2_size = "16K"

[[axis]]
key = "protocol"
values = ["baseline", "rec"]

[[axis]]
name = "directory"
keys = ["entries", "range"]
values = [[32, "1K"]]
labels = ["smallest"]

[[summary]]
columns = "protocol"
metric = "cycles"
relative_to = "baseline"

[[summary]]
columns = "protocol"
metric = "inter_gpu_bytes"

[[summary]]
columns = "protocol"
parts = ["gsi_no_stall", "gsi_memory_structural", "gsi_memory_data", "gsi_synchronization", "gsi_compute_structural", "gsi_compute_data", "gsi_control", "gsi_idle"]
rows = ["ST", "atax"]
relative_to = "baseline"
"#;

/// Runs of which none differs from the others in any figure.
const EQUAL: &str = r#"
name = "equal"
fabric = "rec-4gpu-small"
workloads = [{ workload = "stencil", n = 16, iterations = 1 }]
[[axis]]
key = "entries"
values = [32, 128]
[[summary]]
columns = "entries"
metric = "cycles"
"#;

#[test]
fn runs_that_take_the_same_cycles_have_a_picture() {
    let folder = folder();
    for _ in 0..2 {
        let out = sweep(folder.path(), EQUAL, &[]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    let files = std::fs::read_dir(folder.path().join("out")).expect("written");
    let names: Vec<_> = files.map(|f| f.expect("read").file_name().into_string().expect("text")).collect();
    assert!(names.iter().any(|name| name.ends_with(".svg")), "{names:?}");
}

#[test]
fn rows_say_which_graph_was_read_and_which_parameters_were_used() {
    let folder = folder();
    std::fs::write(folder.path().join("g.txt"), "1 0 3\n2 1 4\n").expect("written");
    let text = r#"
name = "graphs"
fabric = "rec-4gpu-small"
workloads = [
    { workload = "bfs", label = "file", graph = "g.txt", graph_directed = true, root = 2 },
    { workload = "bfs", label = "assumed", graph = "g.txt" },
    { workload = "bfs", label = "built in", source = "karate" },
    { workload = "gemv", n = 32 },
]
[[axis]]
key = "protocol"
values = ["rec"]
"#;
    stdout(&sweep(folder.path(), text, &[]));
    let rows = rows(&folder.path().join("out/graphs.csv"));
    let columns = ["params", "graph", "graph_vertices", "graph_arcs", "graph_directed", "graph_weighted"];
    let cells: Vec<[&str; 6]> = rows.iter().map(|row| columns.map(|column| row[column].as_str())).collect();
    assert_eq!(cells[0], ["group=64 lanes=64 root=2 warmup=0", "g.txt", "3", "2", "true", "true"]);
    assert_eq!(cells[1], ["group=64 lanes=64 root=0 warmup=0", "g.txt", "3", "4", "false", "true"]);
    assert_eq!(
        cells[2],
        ["group=64 lanes=64 root=0 source=karate warmup=0", "karate", "34", "156", "false", "false"]
    );
    assert_eq!(cells[3][1..], [""; 5]);
    assert!(rows[0]["graph_digest"].len() == 16 && rows[0]["graph_digest"] != rows[1]["graph_digest"]);
    let version = format!("weft {}\n", rows[0]["weft"]);
    assert_eq!(String::from_utf8_lossy(&weft(folder.path(), &["--version"]).stdout), version);
    for (from, to, said) in [
        (
            "graph_directed = true",
            "graph_directed = 7",
            "line 5: graph_directed = 7: it is neither true nor false",
        ),
        (
            "graph_directed = true",
            "graph_format = \"x\"",
            "line 5: graph_format = x: there is no such format",
        ),
        ("graph = \"g.txt\", graph_directed", "graph_directed", "none is given; add graph = \"FILE\""),
    ] {
        let out = sweep(folder.path(), &text.replacen(from, to, 1), &["--restart"]);
        let wrong = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && wrong.contains(said), "{wrong}\nlacks {said:?}");
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Runs a sweep file and gives what it printed.
fn sweep(folder: &Path, text: &str, more: &[&str]) -> Output {
    std::fs::write(folder.join("s.toml"), text).expect("written");
    let mut args = vec!["sweep", "s.toml", "--out", "out"];
    args.extend(more);
    weft(folder, &args)
}

fn stdout(out: &Output) -> String {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stderr.is_empty(), "a pipe sees no progress: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout.clone()).expect("text")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// Rows of a results file by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("a file");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} = {:?} is no number", row[column]))
}

/// The numbers of the table with this title: cells by row.
fn table(text: &str, title: &str) -> BTreeMap<String, Vec<String>> {
    let lines = text.lines().skip_while(|line| *line != title).skip(2);
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|c| c.trim().to_string()).collect::<Vec<_>>();
    let rows = lines.take_while(|line| line.starts_with('|')).map(cells);
    rows.map(|cells| (cells[0].clone(), cells[1..].to_vec())).collect()
}

#[test]
fn rows_tables_and_pictures_say_what_the_runs_measured() {
    let folder = folder();
    let out = sweep(folder.path(), TINY, &["--jobs", "2"]);
    let said = stdout(&out);
    let rows = rows(&folder.path().join("out/tiny.csv"));
    let order: Vec<(&str, &str)> =
        rows.iter().map(|r| (r["axis.workload"].as_str(), r["axis.protocol"].as_str())).collect();
    assert_eq!(order, [("ST", "baseline"), ("ST", "rec"), ("atax", "baseline"), ("atax", "rec")]);
    for (at, row) in rows.iter().enumerate() {
        assert_eq!((row["run"].as_str(), row["status"].as_str()), ((at + 1).to_string().as_str(), "ok"));
        let fixed = ["verified", "axis.directory", "entries", "range"].map(|column| row[column].as_str());
        assert_eq!(fixed, ["true", "smallest", "32", "1024"]);
        assert!(row["set"].contains("l2_size=16384"), "{}", row["set"]);
        assert_eq!(number(row, "bank.l2_accesses"), number(row, "l2_accesses"));
    }
    assert_eq!(rows[0]["params"], "iterations=2 lanes=64 n=32 seed=1");

    let args =
        ["run", "rec-4gpu-small", "--workload", "stencil", "--param", "n=32", "--param", "iterations=2"];
    let set = ["--set", "l2_size=16K", "--set", "entries=32", "--set", "protocol=rec", "--json", "run.json"];
    assert!(weft(folder.path(), &[&args[..], &set].concat()).status.success());
    let record: serde_json::Value =
        serde_json::from_str(&read(&folder.path().join("run.json"))).expect("JSON");
    for (name, counter) in record["counters"].as_object().expect("counters") {
        assert_eq!(rows[1][name], counter["value"].to_string(), "{name} is what `weft run` counts");
    }
    assert_eq!(rows[1]["cycles"], record["cycles"].to_string());

    let speedup = table(&said, "speedup over baseline, directory = smallest");
    let bytes = table(&said, "inter gpu bytes, directory = smallest");
    let ratio = |label: usize| number(&rows[2 * label], "cycles") / number(&rows[2 * label + 1], "cycles");
    assert_eq!(speedup["ST"], ["1.000", &format!("{:.3}", ratio(0))]);
    assert_eq!(speedup["atax"], ["1.000", &format!("{:.3}", ratio(1))]);
    assert_eq!(speedup["geometric mean"][1], format!("{:.3}", (ratio(0) * ratio(1)).sqrt()));
    assert_eq!(speedup["arithmetic mean"][1], format!("{:.3}", (ratio(0) + ratio(1)) / 2.0));
    assert_eq!(bytes["ST"], [rows[0]["inter_gpu_bytes"].as_str(), &rows[1]["inter_gpu_bytes"]]);
    pictures(folder.path(), &said, &["cycles-smallest", "inter_gpu_bytes-smallest", "gsi-smallest"]);
    let (whole, parts) = (
        table(&said, "gsi relative to baseline, directory = smallest"),
        table(&said, "of these, by part, arithmetic mean"),
    );
    let ticks = |at: usize| number(&rows[at], "gsi_ticks");
    assert_eq!(whole["ST"][1], format!("{:.3}", ticks(1) / ticks(0)), "the classes are all ticks");
    assert_eq!(parts.len(), 10, "a heading, a rule and a row for each class");
    let sum: f64 = parts.values().filter_map(|cells| cells[1].parse::<f64>().ok()).sum();
    let mean: f64 = whole["arithmetic mean"][1].parse().expect("a number");
    assert!((sum - mean).abs() < 0.005, "the means of the parts add up: {parts:?} {whole:?}");
}

/// Each picture is there in both forms, of the same proportions and neither empty nor without words.
fn pictures(folder: &Path, said: &str, names: &[&str]) {
    for name in names {
        let (svg, png) = (format!("out/tiny-{name}.svg"), format!("out/tiny-{name}.png"));
        assert!(said.contains(&format!("picture: {svg}\npicture: {png}\n")), "{said}");
        let text = read(&folder.join(&svg));
        for word in ["ST", "atax", "baseline", "rec"] {
            assert!(text.contains(&format!("\n{word}\n")), "{svg} lacks the word {word}");
        }
        let tree = resvg::usvg::Tree::from_str(&text, &resvg::usvg::Options::default()).expect("an SVG");
        let dots = resvg::tiny_skia::Pixmap::load_png(folder.join(&png)).expect("a PNG");
        assert_eq!(
            (dots.width(), dots.height()),
            (2 * tree.size().width() as u32, 2 * tree.size().height() as u32)
        );
        let colours: std::collections::BTreeSet<_> =
            dots.pixels().iter().map(|p| (p.red(), p.green(), p.blue())).collect();
        assert!(
            colours.contains(&(0x44, 0x77, 0xaa)) && colours.contains(&(0xee, 0x66, 0x77)),
            "{png}: two series"
        );
    }
}

/// All files that a sweep has left, by name.
fn left(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder.join("out")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("listed").path());
    paths
        .map(|path| (path.file_name().expect("a name").into(), std::fs::read(&path).expect("read")))
        .collect()
}

/// A line of a results file with the checksum of its cells, as it is documented: FNV-1a over all others but the number of the run, each with a zero byte
/// behind it.
fn signed(header: &str, line: &str) -> String {
    if line == header {
        return line.into();
    }
    let cells = |line: &str| -> Vec<String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        let record = reader.records().next().expect("a line").expect("CSV");
        record.iter().map(str::to_string).collect()
    };
    let (header, mut cells) = (cells(header), cells(line));
    let check = header.iter().position(|name| name == "check").expect("a column of checksums");
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for (name, cell) in header.iter().zip(&cells) {
        for byte in cell.bytes().chain([0]).filter(|_| !["run", "check"].contains(&name.as_str())) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    cells[check] = format!("{sum:016x}");
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&cells).expect("written");
    String::from_utf8(writer.into_inner().expect("written")).expect("text").trim_end().to_string()
}

/// A cell of a line replaced by a text.
fn edited(header: &str, line: &str, column: &str, cell: &str) -> String {
    let at = header.split(',').position(|name| name == column).expect("a column");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let record = reader.records().next().expect("a line").expect("CSV");
    let cells = record.iter().enumerate().map(|(n, old)| if n == at { cell } else { old });
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells).expect("written");
    String::from_utf8(writer.into_inner().expect("written")).expect("text").trim_end().to_string()
}

#[test]
fn a_row_that_was_changed_is_neither_kept_nor_drawn() {
    let folder = folder();
    let path = folder.path().join("out/equal.csv");
    stdout(&sweep(folder.path(), EQUAL, &[]));
    let (text, before) = (read(&path), left(folder.path()));
    let lines: Vec<&str> = text.lines().collect();
    let changes = [
        ("cycles", "-5"),
        ("cycles", "nan"),
        ("cycles", "1234"),
        ("l2_hits", "7"),
        ("verified", "false"),
        ("status", "stale"),
    ];
    for (column, cell) in changes {
        let column = if lines[0].split(',').any(|name| name == column) { column } else { "kernels" };
        let row = edited(lines[0], lines[2], column, cell);
        std::fs::write(&path, format!("{}\n{}\n{row}\n", lines[0], lines[1])).expect("written");
        let out = sweep(folder.path(), EQUAL, &[]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{column} = {cell}: {said}");
        let part =
            "out/equal.csv line 3 was changed or damaged, for its checksum does not fit: delete the line";
        assert!(said.contains(part) && said.lines().count() == 1, "{column} = {cell}: {said}");
        let out = weft(folder.path(), &["report", "out/equal.csv", "--out", "page.html"]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{column} = {cell}: {said}");
        assert!(said.contains("line 3 of the table out/equal.csv was changed or damaged"), "{said}");
        assert!(!folder.path().join("page.html").exists());
    }
    // Without the line the run is made again.
    std::fs::write(&path, format!("{}\n{}\n", lines[0], lines[1])).expect("written");
    stdout(&sweep(folder.path(), EQUAL, &[]));
    assert_eq!(left(folder.path()), before);
    // A table of an older program has no checksums; numbers that cannot be are seen all the same.
    let bare = |line: &str| line.rsplit_once(',').expect("cells").0.to_string();
    for (cell, part) in [("-5", "cycles is -5"), ("nan", "cycles is nan"), ("", "cycles is empty")] {
        let row = bare(&edited(lines[0], lines[2], "cycles", cell));
        std::fs::write(folder.path().join("old.csv"), format!("{}\n{row}\n", bare(lines[0])))
            .expect("written");
        let out = weft(folder.path(), &["report", "old.csv", "--out", "page.html"]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && said.contains(part), "{cell}: {said}");
    }
}

#[test]
fn an_interrupted_sweep_goes_on_and_ends_with_the_same_bytes() {
    let (whole, cut) = (folder(), folder());
    let said = stdout(&sweep(whole.path(), TINY, &["--jobs", "1"]));
    let expected = left(whole.path());

    // As a sweep leaves it that is killed while it writes its third row; a cell of the first is changed to see that it is not run again.
    let path = cut.path().join("out/tiny.csv");
    let text = read(&whole.path().join("out/tiny.csv"));
    let lines: Vec<&str> = text.lines().collect();
    let cycles = rows(&whole.path().join("out/tiny.csv"))[1]["cycles"].clone();
    let marked = signed(lines[0], &lines[2].replacen(&format!(",{cycles},"), ",987654321,", 1));
    let half = &lines[3][..lines[3].len() / 2];
    std::fs::create_dir(cut.path().join("out")).expect("a folder");
    // Rows in the order in which runs ended: the second before the first.
    std::fs::write(&path, format!("{}\n{marked}\n{}\n{half}", lines[0], lines[1])).expect("written");
    stdout(&sweep(cut.path(), TINY, &["--jobs", "3"]));
    let found = read(&path);
    assert!(found.contains(",987654321,"), "the second run was made again");
    let undone = |line: &str| signed(lines[0], &line.replace(",987654321,", &format!(",{cycles},")));
    assert!(found.lines().map(undone).eq(lines.iter().map(ToString::to_string)), "{found}");

    // A whole row and no half.
    std::fs::write(&path, lines[..2].join("\n") + "\n").expect("written");
    assert_eq!(stdout(&sweep(cut.path(), TINY, &["--jobs", "2"])), said);
    assert_eq!(left(cut.path()), expected);
    // Nothing is left to do.
    assert_eq!(stdout(&sweep(cut.path(), TINY, &[])), said);
    assert_eq!(left(cut.path()), expected);
}

#[test]
fn a_killed_sweep_keeps_the_rows_that_it_wrote() {
    let folder = folder();
    // Long enough to be killed in the middle.
    let longer = TINY.replace("n = 32,", "n = 192,");
    std::fs::write(folder.path().join("s.toml"), longer).expect("written");
    let args = ["sweep", "s.toml", "--out", "out", "--jobs", "1"];
    let mut child = Command::new(WEFT).args(args).current_dir(folder.path()).spawn().expect("starts");
    let path = folder.path().join("out/tiny.csv");
    let lines = || std::fs::read_to_string(&path).map_or(0, |text| text.lines().count());
    while lines() < 2 && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // While it runs nobody else may write.
    let other = weft(folder.path(), &args);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(
        child.try_wait().expect("a child").is_some() || said.contains("another sweep is writing"),
        "{said}"
    );
    child.kill().expect("killed");
    child.wait().expect("ended");
    let before = read(&path);
    let kept: Vec<&str> = before.lines().skip(1).collect();
    assert!(!kept.is_empty() && kept.len() < 4, "killed in the middle: {} rows", kept.len());
    stdout(&weft(folder.path(), &args));
    let after = read(&path);
    assert!(kept.iter().all(|row| after.lines().any(|line| line == *row)), "a row has changed");
    assert_eq!(after.lines().count(), 5);
}

#[test]
fn results_of_another_sweep_are_refused_or_kept_aside() {
    let folder = folder();
    let one = TINY.replace("[\"baseline\", \"rec\"]", "[\"rec\"]").replace("relative_to = \"baseline\"", "");
    stdout(&sweep(folder.path(), &one, &[]));
    let before = left(folder.path());
    let cases = [
        (one.replace("\"16K\"", "\"32K\""), "line 2 is of other settings: set is "),
        (
            one.replace("n = 32,", "n = 33,"),
            "line 2 is of other settings: params is iterations=2 lanes=64 n=32 ",
        ),
        (
            one.replace("[\"entries\", \"range\"]", "[\"entries\", \"ways\"]").replace("\"1K\"]]", "8]]"),
            "holds the results of another sweep: it has no column ways",
        ),
        (
            one.replace("[\"rec\"]", "[\"baseline\"]"),
            "has a column dir.evicted_with_10_slots that this sweep has not",
        ),
    ];
    for (text, part) in &cases {
        let out = sweep(folder.path(), text, &[]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "one sentence, not:\n{said}");
        for part in [part, "out/tiny.csv", "--restart keeps it aside"] {
            assert!(said.contains(part), "{said}\nlacks {part:?}");
        }
        assert_eq!(left(folder.path()), before, "nothing is changed");
    }
    let said = stdout(&sweep(folder.path(), &cases[1].0, &["--restart"]));
    assert!(said.starts_with("kept aside: out/tiny.1.csv\n"), "{said}");
    assert_eq!(left(folder.path())[Path::new("tiny.1.csv")], before[Path::new("tiny.csv")]);
    assert!(rows(&folder.path().join("out/tiny.csv"))[0]["params"].contains("n=33"));
}

#[test]
fn a_longer_axis_keeps_the_rows_that_are_there() {
    let folder = folder();
    let one = TINY.replace("[\"baseline\", \"rec\"]", "[\"rec\"]").replace("relative_to = \"baseline\"", "");
    stdout(&sweep(folder.path(), &one, &[]));
    let path = folder.path().join("out/tiny.csv");
    let first = rows(&path);
    // Marked, to see that they are not run again.
    let marked = read(&path).replace(&format!(",{},", first[0]["cycles"]), ",987654321,");
    let header = marked.lines().next().unwrap_or_default().to_string();
    let marked: String = marked.lines().map(|line| signed(&header, line) + "\n").collect();
    std::fs::write(&path, marked).expect("written");
    stdout(&sweep(folder.path(), &one.replace("[\"rec\"]", "[\"rec\", \"baseline-2x\"]"), &[]));
    let second = rows(&path);
    let order: Vec<(&str, &str, &str)> = second
        .iter()
        .map(|r| (r["run"].as_str(), r["axis.workload"].as_str(), r["axis.protocol"].as_str()))
        .collect();
    let expected =
        [("1", "ST", "rec"), ("2", "ST", "baseline-2x"), ("3", "atax", "rec"), ("4", "atax", "baseline-2x")];
    assert_eq!(order, expected);
    assert_eq!(second[0]["cycles"], "987654321");
    assert_eq!(second[2]["cycles"], first[1]["cycles"]);
}

#[test]
fn a_failed_run_is_a_row_and_the_others_go_on() {
    let folder = folder();
    let text = r#"
name = "tiny"
fabric = "rec-4gpu-small"
workloads = [
    { workload = "spm-g" },
    { workload = "stencil", n = 32, iterations = 1 },
]
[set]
inject = "l1-keeps-copies"
[[axis]]
key = "protocol"
values = ["rec"]
"#;
    // The second time the failed run is tried again, and fails again.
    for _ in 0..2 {
        let out = sweep(folder.path(), text, &[]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(said.contains("1 of 2 runs failed, the first is run 1 (spm-g, rec)"), "{said}");
        assert!(said.contains("value check") && said.contains("out/tiny.csv"), "{said}");
        let rows = rows(&folder.path().join("out/tiny.csv"));
        assert_eq!(["status", "verified", "cycles"].map(|c| rows[0][c].as_str()), ["failed", "false", ""]);
        assert!(rows[0]["error"].contains("value check"), "{}", rows[0]["error"]);
        assert_eq!((rows[1]["status"].as_str(), rows[1]["error"].as_str()), ("ok", ""));
        let printed = String::from_utf8(out.stdout).expect("text");
        let cells = table(&printed, "cycles");
        assert_eq!((&cells["spm-g"][0], &cells["stencil"][0]), (&"failed".to_string(), &rows[1]["cycles"]));
        assert!(printed.contains("the means are over the others"), "{printed}");
    }
}

/// A change to the tiny sweep, and what the sentence must hold.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    ("name = \"tiny\"", "", &["s.toml line 1", "no key name", "give the results a name"]),
    ("name = \"tiny\"", "name = \"a/b\"", &["s.toml line 2", "name = a/b", "use letters"]),
    ("name = \"tiny\"", "nam = \"tiny\"", &["s.toml line 2", "no key nam", "the nearest is name"]),
    ("name = \"tiny\"", "name = \"tiny\"\nmax_cycles = 0", &["line 3", "max_cycles = 0", "legal: "]),
    ("name = \"tiny\"", "name = tiny", &["s.toml line 2"]),
    ("fabric = \"rec-4gpu-small\"", "", &["s.toml: no fabric is given", "weft list fabrics"]),
    ("\"rec-4gpu-small\"", "\"rec-9gpu\"", &["s.toml line 3", "there is no fabric rec-9gpu", "rec-4gpu"]),
    ("\"rec-4gpu-small\"", "\"no.toml\"", &["s.toml line 3", "cannot read the fabric file no.toml"]),
    (
        "workload = \"stencil\"",
        "workload = \"stencl\"",
        &["s.toml line 5", "there is no workload stencl", "the nearest is stencil"],
    ),
    ("n = 32", "n = 0", &["s.toml line 5", "n = 0 is illegal", "1..16384", "run 1 of 4"]),
    ("n = 32", "m = 32", &["s.toml line 5", "stencil has no parameter m", "`weft list workloads` shows all"]),
    ("n = 32", "graph = \"g.mtx\"", &["s.toml line 5", "g.mtx", "cannot read"]),
    ("workload = \"stencil\", ", "", &["s.toml line 5", "has no name", "workload ="]),
    ("label = \"ST\"", "label = \"atax\"", &["s.toml line 4", "has the value atax twice"]),
    (
        "l2_size = \"16K\"",
        "l2_sise = \"16K\"",
        &["s.toml line 10", "no key l2_sise", "the nearest is l2_size"],
    ),
    ("l2_size = \"16K\"", "l2_size = \"3K\"", &["s.toml line 10", "l2_size = 3072", "legal: "]),
    ("l2_size = \"16K\"", "entries = 64", &["line 16", "key entries is already fixed at s.toml line 10"]),
    ("l2_size = \"16K\"", "seed = 3", &["s.toml line 10", "[set] holds keys of the fabric", "above [set]"]),
    (
        "key = \"protocol\"",
        "key = \"protocl\"",
        &["s.toml line 13", "no key protocl", "the nearest is protocol"],
    ),
    ("key = \"protocol\"", "", &["s.toml line 12", "an axis has no key", "key = "]),
    (
        "\"rec\"]",
        "\"mesi\"]",
        &["s.toml line 14", "protocol = mesi", "legal: baseline", "(run 2 of 4: ST, mesi"],
    ),
    ("[\"baseline\", \"rec\"]", "[]", &["s.toml line 14", "values is an empty list"]),
    ("[\"baseline\", \"rec\"]", "\"rec\"", &["s.toml line 14", "values is no list"]),
    ("[[32, \"1K\"]]", "[32]", &["s.toml line 19", "no list", "[first, second]"]),
    ("[[32, \"1K\"]]", "[[32]]", &["s.toml line 19", "no list of 2 values"]),
    ("[[32, \"1K\"]]", "[[33, \"1K\"]]", &["s.toml line 19", "entries = 33", "legal: a multiple of 16"]),
    ("labels = [\"smallest\"]", "labels = [\"a\", \"b\"]", &["s.toml line 20", "2 labels for 1 values"]),
    ("metric = \"cycles\"", "metric = \"cycle\"", &["line 24", "metric = cycle", "the nearest is cycles"]),
    (
        "metric = \"cycles\"",
        "metric = \"inter_gpu_bytes\"",
        &["line 27", "two summaries are called inter_gpu_bytes"],
    ),
    ("metric = \"cycles\"", "show = \"all\"", &["line 24", "show = all", "legal: value, ratio, speedup"]),
    (
        "metric = \"cycles\"",
        "plot = \"lines\"",
        &["line 24", "plot = lines needs numbers", "use plot = bars"],
    ),
    (
        "relative_to = \"baseline\"",
        "relative_to = \"mesi\"",
        &["line 25", "no value of axis protocol", "baseline, rec"],
    ),
    (
        "relative_to = \"baseline\"",
        "relative_to = { ways = 8 }",
        &["line 25", "names ways, which is no axis"],
    ),
    ("relative_to = \"baseline\"", "show = \"ratio\"", &["line 25", "relative_to is not given"]),
    ("metric = \"cycles\"", "plot = \"stacked\"", &["line 24", "plot = stacked needs parts", "parts = ["]),
    (
        "metric = \"cycles\"",
        "metric = \"cycles\"\nparts = [\"gsi_idle\"]",
        &["line 24", "of a metric or of parts", "leave one out"],
    ),
    (
        "metric = \"cycles\"",
        "parts = [\"gsi_idle\", \"inter_gpu_bytes\"]",
        &["line 24", "part inter_gpu_bytes has the unit \"bytes\"", "gsi_idle has \"ticks\"", "of one unit"],
    ),
    (
        "metric = \"cycles\"",
        "parts = [\"cycles\", \"cycles\", \"cycles\", \"cycles\", \"cycles\", \"cycles\", \"cycles\", \"cycles\", \"cycles\", \"cycles\"]",
        &["line 24", "parts has 10 columns", "leave some out"],
    ),
    (
        "metric = \"cycles\"",
        "parts = [\"gsi_idle\"]\nshow = \"speedup\"",
        &["line 25", "show = speedup of parts does not add up", "use show = ratio"],
    ),
    ("metric = \"cycles\"", "rows = [\"ST\", \"mm\"]", &["line 24", "rows has mm", "there are ST, atax"]),
    ("relative_to = \"baseline\"", "colums = 3", &["line 25", "no key colums", "the nearest is columns"]),
];

#[test]
fn each_mistake_is_one_sentence_and_nothing_is_written() {
    let folder = folder();
    for (from, to, parts) in CASES {
        assert!(TINY.contains(from), "{from}");
        let out = sweep(folder.path(), &TINY.replacen(from, to, 1), &[]);
        let said = String::from_utf8(out.stderr).expect("text");
        assert_eq!(out.status.code(), Some(2), "{to}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{to}: one sentence, not:\n{said}");
        for part in *parts {
            assert!(said.contains(part), "{to}: {said}\nlacks {part:?}");
        }
        assert!(out.stdout.is_empty() && !folder.path().join("out").exists(), "{to}: nothing is written");
    }
    let out = weft(folder.path(), &["sweep", "rec-smok"]);
    let said = String::from_utf8(out.stderr).expect("text");
    assert!(
        out.status.code() == Some(2)
            && said.contains("there is no sweep rec-smok")
            && said.contains("rec-smoke")
    );
    let out = sweep(folder.path(), TINY, &["--tier=small"]);
    let said = String::from_utf8(out.stderr).expect("text");
    assert!(out.status.code() == Some(2) && said.contains("tiny is not there in this size"), "{said}");
    let seed = TINY.replacen("name = \"tiny\"", "name = \"tiny\"\nseed = 7", 1).replace("atax", "transpose");
    let seed = seed.replace("rows = 64", "rows = 32");
    assert!(sweep(folder.path(), &seed, &["--dry-run"]).status.success(), "both take a seed");
}

#[test]
fn built_in_sweeps_are_listed_and_checked_without_a_run() {
    let folder = folder();
    let out = weft(folder.path(), &["list", "sweeps", "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let all = all.as_array().expect("a list");
    assert!(all.len() >= 2, "{all:?}");
    let smoke = all.iter().find(|listed| listed["name"] == "rec-smoke").expect("listed");
    let said = stdout(&weft(folder.path(), &["sweep", "rec-smoke", "--dry-run"]));
    assert_eq!(said.lines().count() as u64, smoke["runs"].as_u64().expect("a count"));
    let columns = stdout(&weft(folder.path(), &["sweep", "rec-smoke", "--columns"]));
    assert!(columns.lines().count() > 100, "{columns}");
    assert!(columns.lines().all(|line| line.split_whitespace().count() > 1), "a column without meaning");
    assert!(std::fs::read_dir(folder.path()).expect("a folder").next().is_none(), "nothing is written");
}

#[test]
fn a_tier_has_results_of_its_own() {
    let folder = folder();
    let small = format!(
        "{TINY}\n[small]\nworkloads = [{{ workload = \"stencil\", label = \"ST\", n = 16 }}, \"atax\"]\n"
    );
    let said = stdout(&sweep(folder.path(), &small, &["--tier=small", "--only", "workload=ST"]));
    assert!(said.contains("results: out/tiny-small.csv"), "{said}");
    let rows = rows(&folder.path().join("out/tiny-small.csv"));
    assert!(rows.len() == 2 && rows[0]["params"].contains("n=16"), "{rows:?}");
}

#[test]
fn a_lone_gpu_has_hardware_under_every_protocol() {
    let folder = folder();
    let part = ["--dry-run", "--only", "gpus=1,4", "--only", "workload=Nekbone"];
    let out = weft(folder.path(), &[&["sweep", "hmg-gpus"], &part[..]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(stdout(&out).lines().count(), 8, "two runs for each protocol");
    let memory = |line: &str| line.ends_with(" MB of memory)") || line.ends_with(" GB of memory)");
    assert!(stdout(&out).lines().all(memory), "{}", stdout(&out));
}

#[test]
fn long_every_built_in_sweep_can_be_built() {
    let folder = folder();
    let out = weft(folder.path(), &["list", "sweeps", "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    for listed in all.as_array().expect("a list") {
        let name = listed["name"].as_str().expect("a name");
        let out = weft(folder.path(), &["sweep", name, "--dry-run"]);
        assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(stdout(&out).lines().count() as u64, listed["runs"].as_u64().expect("a count"), "{name}");
    }
}

/// A figure that counts waiting at the head of a queue does not claim the time from arrival to hit or miss.
#[test]
fn a_wait_for_the_l2_is_told_as_what_is_counted() {
    let columns = stdout(&weft(folder().path(), &["sweep", "hmg-protocols", "--columns"]));
    let line = columns.lines().find(|line| line.starts_with("l2_lookup_cycles ")).expect("a column");
    assert!(line.ends_with("waits at the head of an L2 bank's queues, without the lookup"), "{line}");
}
