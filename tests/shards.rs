//! Tasks that share the runs of a sweep: together they make what one command makes, whatever their number and order; what is missing or wrong
//! is said.

use crate::program::{WEFT, refusal_in, weft_in};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Eight runs of a few thousand cycles each.
const EIGHT: &str = r#"
name = "eight"
fabric = "rec-4gpu-small"
workloads = [
    { workload = "stencil", n = 16, iterations = 1, label = "ST" },
    { workload = "atax", rows = 32, columns = 32 },
]

[[axis]]
key = "protocol"
values = ["baseline", "rec"]

[[axis]]
key = "entries"
values = [32, 64]

[[summary]]
columns = "protocol"
metric = "cycles"
relative_to = "baseline"
"#;

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s.toml"), text).expect("written");
    folder
}

fn sweep(folder: &Path, out: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let args = [&["sweep", "s.toml", "--out", out, "--jobs", "1"], more].concat();
    let ended = weft_in(folder, &args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (ended.status.code(), text(ended.stdout), text(ended.stderr))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Runs in the files of tasks, by the number in their first column.
pub fn runs_of_tasks(parts: &Path) -> Vec<String> {
    let files = std::fs::read_dir(parts).expect("a folder").map(|file| file.expect("a file").path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "csv"));
    let mut runs = Vec::new();
    for file in files {
        let mut reader = csv::Reader::from_path(&file).expect("a table");
        let run =
            reader.headers().expect("a header").iter().position(|name| name == "run").expect("a column");
        runs.extend(reader.records().map(|row| row.expect("a row")[run].to_string()));
    }
    runs
}

#[test]
fn tasks_make_together_what_one_command_makes() {
    let folder = folder(EIGHT);
    let folder = folder.path();
    let (_, local, _) = sweep(folder, "local", &[]);
    // The last task first, and of other numbers of tasks in between.
    for shard in ["3/3", "1/3"] {
        assert_eq!(sweep(folder, "out", &["--shard", shard]).0, Some(0));
    }
    let (status, said, failure) = sweep(folder, "out", &["--collect"]);
    assert_eq!(status, Some(1), "{failure}");
    assert!(failure.contains("3 of 8 runs are missing"), "{failure}");
    assert!(said.contains("| ST ") && said.contains("missing"), "what is there is shown: {said}");
    let before = runs_of_tasks(&folder.join("out/eight.parts"));
    assert_eq!(sweep(folder, "out", &["--shard", "1/2"]).0, Some(0));
    assert_eq!(sweep(folder, "out", &["--shard", "2/3"]).0, Some(0));
    let after = runs_of_tasks(&folder.join("out/eight.parts"));
    let distinct: BTreeSet<&String> = after.iter().collect();
    assert_eq!((before.len(), after.len(), distinct.len()), (5, 8, 8), "each run is made once");
    let (status, said, failure) = sweep(folder, "out", &["--collect"]);
    assert_eq!(status, Some(0), "{failure}");
    assert_eq!(said, local.replace("local/", "out/"));
    assert_eq!(read(&folder.join("out/eight.csv")), read(&folder.join("local/eight.csv")));
}

#[test]
fn a_sweep_on_one_machine_goes_on_where_tasks_have_stopped() {
    let folder = folder(EIGHT);
    let folder = folder.path();
    sweep(folder, "local", &[]);
    assert_eq!(sweep(folder, "out", &["--shard", "2/2"]).0, Some(0));
    // A task that was killed has left a line without its end.
    let part = folder.join("out/eight.parts/2-of-2.csv");
    let whole = read(&part);
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(&part, format!("{}\n{}", lines[..4].join("\n"), &lines[4][..20])).expect("written");
    let (status, _, failure) = sweep(folder, "out", &[]);
    assert_eq!(status, Some(0), "{failure}");
    assert_eq!(read(&folder.join("out/eight.csv")), read(&folder.join("local/eight.csv")));
    // And a task after it has nothing to do.
    assert_eq!(sweep(folder, "out", &["--shard", "1/1"]).0, Some(0));
    assert!(!folder.join("out/eight.parts/1-of-1.csv").exists(), "no row, no file");
}

#[test]
fn a_run_that_fails_in_a_task_is_told_and_tried_again() {
    let folder = folder(&EIGHT.replace("fabric =", "max_cycles = 2000\nfabric ="));
    let folder = folder.path();
    let (status, _, failure) = sweep(folder, "out", &["--shard", "1/2"]);
    assert_eq!(status, Some(1));
    assert!(failure.contains("the run has not ended after 2000 cycles"), "{failure}");
    let (status, _, failure) = sweep(folder, "out", &["--collect"]);
    assert_eq!(status, Some(1));
    assert!(
        failure.contains("4 of 8 runs failed") && failure.contains("4 of 8 runs are missing"),
        "{failure}"
    );
    // Its own task tries it again.
    std::fs::write(folder.join("s.toml"), EIGHT).expect("written");
    let (status, _, failure) = sweep(folder, "out", &["--shard", "1/2"]);
    assert_eq!(status, Some(0), "{failure}");
    let failure = sweep(folder, "out", &["--collect"]).2;
    assert!(failure.starts_with("weft: 4 of 8 runs are missing"), "no run is failed any more: {failure}");
}

/// A task at work; it is killed at the end.
struct Task(Child);

impl Task {
    /// One whose files are as `ready` asks.
    fn at_work(folder: &Path, shard: &str, ready: fn(&Path) -> bool) -> Task {
        let mut command = Command::new(WEFT);
        command.args(["sweep", "s.toml", "--out", "out", "--jobs", "1", "--shard", shard]);
        let task =
            Task(command.current_dir(folder).stdout(Stdio::null()).spawn().expect("the program starts"));
        let parts = folder.join("out/eight.parts");
        for _ in 0..2400 {
            if parts.exists() && ready(&parts) {
                return task;
            }
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        panic!("the task does not come so far");
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_same_task_twice_at_a_time_loses_nothing() {
    let folder = folder(EIGHT);
    let folder = folder.path();
    sweep(folder, "local", &[]);
    let first = Task::at_work(folder, "1/1", |parts| !runs_of_tasks(parts).is_empty());
    let parts = folder.join("out/eight.parts");
    let made = runs_of_tasks(&parts);
    assert_eq!(sweep(folder, "out", &["--shard", "1/1"]).0, Some(0));
    drop(first);
    let after: BTreeSet<String> = runs_of_tasks(&parts).into_iter().collect();
    assert!(after.len() == 8 && made.iter().all(|run| after.contains(run)), "{after:?}");
    let (status, _, failure) = sweep(folder, "out", &["--collect"]);
    assert_eq!(status, Some(0), "{failure}");
    assert_eq!(read(&folder.join("out/eight.csv")), read(&folder.join("local/eight.csv")));
}

#[test]
fn nothing_begins_anew_under_a_task_at_work() {
    let folder = folder(&EIGHT.replace("n = 16, iterations = 1", "n = 256, iterations = 1000"));
    let folder = folder.path();
    let task = Task::at_work(folder, "1/2", |parts| parts.join("1-of-2.csv").exists());
    let said = refusal_in(folder, &["sweep", "s.toml", "--out", "out", "--restart"]);
    assert!(said.contains("a task is writing out/eight.parts/1-of-2.csv"), "{said}");
    drop(task);
    assert!(!folder.join("out/eight.1.parts").exists(), "nothing was renamed");
}

#[test]
fn a_look_at_the_script_changes_no_results() {
    let folder = folder(&EIGHT.replace("fabric =", "max_cycles = 2000\nfabric ="));
    let folder = folder.path();
    assert_eq!(sweep(folder, "out", &[]).0, Some(1), "runs fail");
    let before = read(&folder.join("out/eight.csv"));
    assert!(before.contains("has not ended"), "{before}");
    let (status, script, _) = sweep(folder, "out", &["--slurm", "--dry-run", "--mem", "1G"]);
    assert!(status == Some(0) && script.contains("#SBATCH --array=1-8\n"), "{script}");
    assert_eq!(read(&folder.join("out/eight.csv")), before);
    assert_eq!(
        std::fs::read_dir(folder.join("out"))
            .expect("a folder")
            .filter(|e| { e.as_ref().is_ok_and(|e| e.file_name().to_string_lossy().contains("parts")) })
            .count(),
        0
    );
}

#[test]
fn a_figure_is_made_by_tasks() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let command = |out: &str, more: &[&str]| {
        let args = ["reproduce", "dnn-step", "remote", "--tier=small", "--jobs", "1", "--out", out];
        weft_in(folder, &[&args, more].concat())
    };
    assert!(command("local", &[]).status.success());
    assert!(command("out", &["--shard", "2/2"]).status.success());
    let early = command("out", &["--collect"]);
    let said = String::from_utf8_lossy(&early.stderr);
    assert!(early.status.code() == Some(1) && said.contains("4 runs are missing"), "{said}");
    assert!(command("out", &["--shard", "1/2"]).status.success());
    let collected = command("out", &["--collect"]);
    assert!(collected.status.success(), "{}", String::from_utf8_lossy(&collected.stderr));
    assert!(String::from_utf8_lossy(&collected.stdout).contains("runs made: 0, "));
    for file in ["runs/dnn-remote-small.csv", "dnn-step-remote.json", "dnn-step-remote.md"] {
        assert_eq!(read(&folder.join("out").join(file)), read(&folder.join("local").join(file)), "{file}");
    }
}

#[test]
fn wrong_shares_are_refused() {
    let folder = folder(EIGHT);
    let folder = folder.path();
    let cases: [(&[&str], &str); 8] = [
        (&["--collect"], "there are no results of eight in out"),
        (&["--shard", "3/2"], "1/N to N/N"),
        (&["--shard", "1/2", "--collect"], "--collect"),
        (&["--shard", "1/2", "--restart"], "--restart"),
        (&["--collect", "--restart"], "--restart"),
        (&["--array", "3"], "--slurm"),
        (&["--slurm", "--time", "1h"], "HOURS:MINUTES:SECONDS"),
        (&["--slurm", "--partition", "a b"], "sinfo"),
    ];
    for (more, part) in cases {
        let said = refusal_in(folder, &[&["sweep", "s.toml", "--out", "out"], more].concat());
        assert!(said.contains(part), "{more:?}: {said}");
    }
    assert!(!folder.join("out").exists(), "nothing is left behind");
    // Rows of another sweep among those of tasks.
    assert_eq!(sweep(folder, "out", &["--shard", "1/8"]).0, Some(0));
    std::fs::write(folder.join("s.toml"), EIGHT.replace("iterations = 1", "iterations = 2"))
        .expect("written");
    for more in [&["--collect"][..], &["--shard", "2/8"], &[]] {
        let said = refusal_in(folder, &[&["sweep", "s.toml", "--out", "out"], more].concat());
        let parts = ["out/eight.parts/1-of-8.csv line 2 is of other settings", "move it away"];
        assert!(parts.iter().all(|part| said.contains(part)), "{more:?}: {said}");
        assert!(!folder.join("out/eight.csv").exists(), "nothing is made of what cannot be read");
    }
    let (status, said, failure) = sweep(folder, "out", &["--restart"]);
    assert_eq!(status, Some(0), "{failure}");
    assert!(said.contains("kept aside: out/eight.1.parts"), "{said}");
}
