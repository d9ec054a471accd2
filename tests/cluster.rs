//! Sweeps on Slurm: a real controller and a real node on this machine. Forty runs give the table of a sweep on one machine, also when tasks are
//! killed in the middle and taken up again.

use crate::program::{WEFT, stdout_in, weft_in};
use crate::shards::runs_of_tasks;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Forty short runs.
const FORTY: &str = r#"
name = "forty"
fabric = "rec-4gpu-small"
workloads = [
    { workload = "stencil", n = 16, iterations = 1, label = "ST" },
    { workload = "stencil", n = 64, iterations = 2, label = "ST 64" },
    { workload = "atax", rows = 32, columns = 32 },
    { workload = "bfs", source = "uniform", nodes = 64, edges = 256 },
]

[[axis]]
key = "protocol"
values = ["baseline", "rec"]

[[axis]]
key = "entries"
values = [32, 64, 128, 256, 512]

[[summary]]
columns = "protocol"
metric = "cycles"
relative_to = "baseline"
"#;

/// Longest time that a job may take here.
const PATIENCE: Duration = Duration::from_secs(300);

/// A cluster of this machine alone; it ends with its value.
struct Cluster {
    folder: tempfile::TempDir,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/cluster")
}

impl Cluster {
    /// # Panics
    /// Without Slurm, which `scripts/setup --cluster` installs.
    fn start() -> Cluster {
        let cluster = Cluster { folder: tempfile::tempdir().expect("a folder") };
        std::fs::write(cluster.path().join("s.toml"), FORTY).expect("written");
        let out = Command::new(script()).arg("start").arg(cluster.daemons()).output().expect("a shell");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        cluster
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn daemons(&self) -> PathBuf {
        self.path().join("slurm")
    }

    fn run(&self, program: &str, args: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path()).env("SLURM_CONF", self.daemons().join("slurm.conf"));
        command.output().expect("a program")
    }

    fn text(&self, program: &str, args: &[&str]) -> String {
        let out = self.run(program, args);
        assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("text")
    }

    /// Submits the sweep and gives what was said.
    fn submit(&self, out: &str) -> String {
        self.text(WEFT, &["sweep", "s.toml", "--out", out, "--slurm", "--array", "10"])
    }

    /// Waits until a condition holds.
    fn until(&self, what: &str, holds: impl Fn(&Cluster) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            let queue = self.text("squeue", &[]);
            assert!(begun.elapsed() < PATIENCE, "{what} does not come about; the queue is\n{queue}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn until_idle(&self) {
        self.until("an empty queue", |cluster| cluster.text("squeue", &["--noheader"]).trim().is_empty());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(script()).arg("stop").arg(self.daemons()).output();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn forty_runs_on_slurm_are_those_of_one_machine_also_after_a_kill() {
    let cluster = Cluster::start();
    let here = cluster.path();
    let local = stdout_in(here, &["sweep", "s.toml", "--out", "local"]);
    let table = read(&here.join("local/forty.csv"));

    let said = cluster.submit("out");
    assert!(said.contains(": 10 tasks make 40 of 40 runs"), "{said}");
    let again = weft_in_cluster(&cluster, &["sweep", "s.toml", "--out", "out", "--slurm"]);
    assert!(again.0 == Some(2) && again.1.contains("still at work"), "{again:?}");
    cluster.until_idle();
    let collected = cluster.text(WEFT, &["sweep", "s.toml", "--out", "out", "--collect"]);
    assert_eq!(collected, local.replace("local/", "out/"));
    assert_eq!(read(&here.join("out/forty.csv")), table);
    let (status, said) = weft_in_cluster(&cluster, &["sweep", "s.toml", "--out", "out", "--slurm"]);
    assert!(status == Some(0) && said.contains("no run is left"), "{said}");

    // The second time a task is killed at its second run, one is begun anew by Slurm, and the rest is taken away.
    cluster.submit("killed");
    let parts = here.join("killed/forty.parts");
    let job = read(&here.join("killed/forty.job")).trim().to_string();
    cluster.until("a first row", |_| parts.exists() && !runs_of_tasks(&parts).is_empty());
    cluster.run("scancel", &["--signal=KILL", "--full", &format!("{job}_1")]);
    cluster.run("scontrol", &["requeue", &format!("{job}_2")]);
    cluster.until("some rows", |_| runs_of_tasks(&parts).len() >= 6);
    cluster.run("scancel", &[&job]);
    cluster.until_idle();
    let kept = runs_of_tasks(&parts).len();
    let (status, said) = weft_in_cluster(&cluster, &["sweep", "s.toml", "--out", "killed", "--collect"]);
    assert!(status == Some(1) && said.contains(&format!("{} of 40 runs are missing", 40 - kept)), "{said}");
    let said = cluster.submit("killed");
    assert!(said.contains(&format!("make {} of 40 runs", 40 - kept)), "nothing is lost: {said}");
    cluster.until_idle();
    cluster.text(WEFT, &["sweep", "s.toml", "--out", "killed", "--collect"]);
    assert_eq!(read(&here.join("killed/forty.csv")), table);
    let runs = runs_of_tasks(&parts);
    let distinct: BTreeSet<&String> = runs.iter().collect();
    assert_eq!((runs.len(), distinct.len()), (40, 40), "nothing is made twice");

    // What Slurm refuses leaves everything as it was; names that mean something to it do not.
    let args = ["sweep", "s.toml", "--out", "none", "--slurm", "--mem", "1G", "--partition", "nosuch"];
    let (status, said) = weft_in_cluster(&cluster, &args);
    assert!(status == Some(2) && said.contains("nosuch") && said.contains("--partition"), "{said}");
    assert!(!here.join("none").exists(), "nothing is left behind");
    let odd = "my %j 'out'";
    let few = ["sweep", "s.toml", "--out", odd, "--only", "workload=ST", "--only", "protocol=rec", "--slurm"];
    let said = cluster.text(WEFT, &[&few[..], &["--mem", "1G"]].concat());
    assert!(said.contains("make 5 of 5 runs"), "{said}");
    cluster.until_idle();
    let collect = [&few[..8], &["--collect"]].concat();
    assert!(cluster.text(WEFT, &collect).contains("results: "));
}

fn weft_in_cluster(cluster: &Cluster, args: &[&str]) -> (Option<i32>, String) {
    let out = cluster.run(WEFT, args);
    (out.status.code(), String::from_utf8(out.stderr).expect("text"))
}

#[test]
fn the_script_can_be_looked_at_without_slurm() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("my sweep.toml"), FORTY).expect("written");
    let args = [
        "sweep",
        "my sweep.toml",
        "--out",
        "out",
        "--slurm",
        "--dry-run",
        "--time",
        "30",
        "--only",
        "protocol=rec",
    ];
    let out = weft_in(folder.path(), &args);
    let (script, told) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{told}");
    assert!(told.contains("estimate: 20 runs take about "), "{told}");
    for part in [
        "#SBATCH --array=1-20\n",
        "#SBATCH --time=30\n",
        "--only=protocol=rec --jobs=1 --shard=\"$SLURM_ARRAY_TASK_ID/20\" -- 'my sweep.toml'\n",
    ] {
        assert!(script.contains(part), "{part} in\n{script}");
    }
    assert!(!folder.path().join("out").exists(), "nothing is left behind");
    let given = [&args[..], &["--mem", "3G"]].concat();
    let out = weft_in(folder.path(), &given);
    let (script, told) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(script.contains("#SBATCH --mem=3072M\n") && !told.contains("estimate"), "{told}\n{script}");
    // Where Slurm is not, this is said before anything is estimated.
    let out = Command::new(WEFT)
        .args(["sweep", "my sweep.toml", "--out", "out", "--slurm", "--mem", "1G"])
        .current_dir(folder.path())
        .env("PATH", "")
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && said.contains("sbatch does not start"), "{said}");
}
