//! `weft trace` and traces in the place of programs: counts, formats, runs, sweeps, one sentence for each mistake.

use crate::program::{refusal_in, refused, stdout};
use std::path::Path;
use std::process::Command;

const VECTORADD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../workload/data/traces/vectoradd");

/// Two blocks of two waves; the waves of the first load what the other has stored.
const HALO: &str = "weft-trace 1
lanes 32
copy 0x1000000 4096
kernel halo grid 2,1,1 block 64,1,1 lds 0
block 0,0,0
wave 0
S 4 0x1000000+4 =#
B
L %1 4 0x1000080+4
C 4 alu
W %1
E
wave 1
S 4 0x1000080+4 =7
B
L %1 4 0x1000000+4
W %1
E
block 1,0,0
wave 0
A %1 add 4 [0x1000800] =1 k=C s=sys m=1
W %1
E
wave 1
E
";

fn halo(folder: &Path) -> String {
    let path = folder.join("halo.wtrace");
    std::fs::write(&path, HALO).expect("written");
    path.to_str().expect("text").to_string()
}

#[test]
fn a_trace_is_counted() {
    let text = stdout(&["trace", VECTORADD]);
    let row = text.lines().last().expect("a row").split_whitespace().collect::<Vec<_>>();
    assert_eq!((row[1], row[2], row[4], row[5]), ("196", "1568", "3126", "1563"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["trace", VECTORADD, "--json"])).expect("JSON");
    assert_eq!(json["kernels"][0]["touched_bytes"], 600_000, "three vectors of 50 000 floats");
    assert_eq!((&json["copies"], &json["copied_bytes"]), (&2.into(), &400_000.into()));
}

#[test]
fn a_folder_here_needs_no_separator() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["mine", "bfs"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let run = |name: &str| {
        let args = ["run", "rec-4gpu-small", "--workload", name, "--param", "nodes=none"];
        refusal_in(folder.path(), &args)
    };
    let (trace, program) = (run("mine"), run("bfs"));
    assert!(trace.contains("mine is a trace"), "{trace}");
    assert!(program.contains("workload bfs: nodes = none"), "a program of that name comes first: {program}");
}

#[test]
fn formats_hold_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (compact, words) = (folder.path().join("v.wtrb"), folder.path().join("v.wtrace"));
    let (compact, words) = (compact.to_str().expect("text"), words.to_str().expect("text"));
    let digest = |text: &str| text.split("digest ").nth(1).and_then(|t| t.lines().next()).map(String::from);
    let first = digest(&stdout(&["trace", VECTORADD, "--out", compact]));
    assert!(first.is_some());
    assert_eq!(digest(&stdout(&["trace", compact, "--out", words])), first);
    assert_eq!(digest(&stdout(&["trace", words])), first);
}

#[test]
fn a_trace_runs_in_the_place_of_a_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, json) = (halo(folder.path()), folder.path().join("run.json"));
    let json = json.to_str().expect("text");
    let text = stdout(&["run", "rec-4gpu-small", "--workload", &trace, "--json", json]);
    assert!(text.contains("\nhalo on rec-4gpu-small") && text.ends_with("verified: true\n"), "{text}");
    let result: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(json).expect("results")).expect("JSON");
    assert_eq!(result["workload"], "halo");
}

#[test]
fn a_sweep_takes_traces_beside_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    halo(folder.path());
    let sweep = folder.path().join("s.toml");
    let text = "name = \"s\"\nfabric = \"rec-4gpu-small\"\nworkloads = [\"./halo.wtrace\"]\n[[axis]]\nkey = \"protocol\"\nvalues = [\"baseline\", \"rec\"]\n[[summary]]\ncolumns = \"protocol\"\nmetric = \"cycles\"\n";
    std::fs::write(&sweep, text).expect("written");
    let out = folder.path().join("out");
    let text = stdout(&["sweep", sweep.to_str().expect("text"), "--out", out.to_str().expect("text")]);
    assert!(text.lines().any(|line| line.starts_with("| halo ")), "{text}");
    let rows = std::fs::read_to_string(out.join("s.csv")).expect("results");
    let done = rows.lines().filter(|row| row.contains("ok,") && row.contains("halo,digest="));
    assert_eq!(done.count(), 2, "{rows}");
}

#[test]
fn mistakes_are_told_in_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = halo(folder.path());
    let run = |trace: &str, more: &[&str], part: &str| {
        refused(&[&["run", "rec-4gpu-small", "--workload", trace], more].concat(), part);
    };
    refused(&["trace", "./nowhere.wtrb"], "./nowhere.wtrb: No such file");
    refused(&["trace", &trace, "--out", "./a.txt"], "the ending says no format");
    run(&trace, &["--param", "n=3"], "takes no --param");
    run(&trace, &["--graph", "g.mtx"], "takes no --graph");
    let cut = folder.path().join("cut.wtrace");
    std::fs::write(&cut, &HALO[..HALO.len() - 30]).expect("written");
    run(cut.to_str().expect("text"), &[], "cut.wtrace, line ");
    let packed = folder.path().join("halo.wtrace.zst");
    std::fs::write(&packed, HALO).expect("written");
    run(
        packed.to_str().expect("text"),
        &[],
        "halo.wtrace.zst: cannot be unpacked to its end: these bytes are no frame of Zstandard",
    );
}

const SHARED: u64 = 0x7fb1_3900_0000;

/// A folder of Accel-Sim traces with one kernel of blocks of one warp, of which `recorded` are there; `line` gives a
/// block's lines from its number.
fn accel_sim(
    folder: &Path,
    list: &str,
    grid: u64,
    recorded: u64,
    lines: impl Fn(u64) -> Vec<String>,
) -> String {
    let mut kernel = format!(
        "-kernel name = k\n-grid dim = ({grid},1,1)\n-block dim = (32,1,1)\n-shmem = 4096\n-binary version = 90\n\
         -shmem base_addr = {SHARED:#x}\n-local mem base_addr = 0x7fb137000000\n-accelsim tracer version = 5\n\n"
    );
    for block in 0..recorded {
        let lines = lines(block);
        let (count, lines) = (lines.len(), lines.join("\n"));
        kernel +=
            &format!("#BEGIN_TB\nthread block = {block},0,0\nwarp = 0\ninsts = {count}\n{lines}\n#END_TB\n");
    }
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("kernelslist.g"), list).expect("written");
    std::fs::write(folder.join("kernel-1.traceg"), kernel).expect("written");
    folder.to_str().expect("text").to_string()
}

const LIST: &str = "MemcpyHtoD,0x0000000000001000,4096\nkernel-1.traceg\n";

/// The JSON of a run, and what it prints.
fn run(folder: &Path, trace: &str, more: &[&str]) -> (serde_json::Value, String) {
    let json = folder.join("run.json");
    let args = ["run", "rec-4gpu-small", "--workload", trace, "--json", json.to_str().expect("text")];
    let text = stdout(&[&args[..], more].concat());
    let json = std::fs::read_to_string(json).expect("results");
    (serde_json::from_str(&json).expect("JSON"), text)
}

#[test]
fn a_reduction_of_hopper_reaches_memory_and_the_run_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |name: &str| vec![format!("0000 ffffffff 1 R1 {name}.E.ADD.STRONG.GPU 1 R2 4 1 0x1000 4 0")];
    let cycles = |name: &str| {
        let trace = accel_sim(&folder.path().join(name), LIST, 8, 8, |_| line(name));
        let (json, text) = run(folder.path(), &trace, &[]);
        assert_eq!((&json["trace"]["accesses"]["atomics"], &json["verified"]), (&8.into(), &true.into()));
        assert!(
            text.contains(
                "Accel-Sim, 1 kernel, 8 blocks, 8 waves, 8 instructions, 8 atomics, 1 copy of 4096"
            ),
            "{text}"
        );
        json["cycles"].clone()
    };
    assert_eq!(cycles("REDG"), cycles("RED"));
}

#[test]
fn accesses_that_cannot_be_followed_are_refused_or_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = |_| {
        ["0000 ffffffff 1 R1 UTMALDG.2D 1 R2 4 4 0x1000 0", "0010 ffffffff 0 STG.E 2 R2 R3 4 1 0x1000 4 0"]
            .map(String::from)
            .to_vec()
    };
    let trace = accel_sim(folder.path(), LIST, 1, 1, lines);
    let refusal = "kernel-1.traceg, line 14: the accesses of UTMALDG cannot be followed";
    refused(&["run", "rec-4gpu-small", "--workload", &trace], refusal);
    refused(&["trace", &trace], refusal);
    let (json, text) = run(folder.path(), &trace, &["--unknown-opcodes", "skip"]);
    assert_eq!(json["trace"]["left_out"]["UTMALDG"], 1);
    assert!(text.contains("; accesses left out: 1 UTMALDG"), "{text}");
    let counted = stdout(&["trace", &trace, "--unknown-opcodes", "skip", "--json"]);
    let counted: serde_json::Value = serde_json::from_str(&counted).expect("JSON");
    assert_eq!(
        (&counted["read"]["left_out"]["UTMALDG"], &counted["kernels"][0]["stores"]),
        (&1.into(), &1.into())
    );
    refused(&["run", "rec-4gpu-small", "--workload", "bfs", "--unknown-opcodes", "skip"], "bfs is a program");
}

#[test]
fn generic_accesses_to_the_scratchpad_stay_in_the_compute_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = |load: &str, store: &str, base: u64| {
        let at = |n: u64| format!("4 1 {:#x} 4 0", base + 128 * n);
        vec![
            format!("0000 ffffffff 0 {store} 2 R2 R3 {}", at(0)),
            format!("0010 ffffffff 1 R4 {load} 1 R2 {}", at(0)),
            format!("0020 ffffffff 0 {store} 2 R2 R3 {}", at(1)),
            format!("0030 ffffffff 1 R5 {load} 1 R2 {}", at(1)),
        ]
    };
    let generic = accel_sim(&folder.path().join("generic"), LIST, 64, 64, |_| lines("LD.E", "ST.E", SHARED));
    let named = accel_sim(&folder.path().join("named"), LIST, 64, 64, |_| lines("LDS", "STS", 0));
    let [generic, named] = [generic, named].map(|trace| run(folder.path(), &trace, &[]).0);
    assert_eq!(generic["trace"]["accesses"]["scratchpad_stores"], 128);
    for figure in ["cycles", "counters"] {
        assert_eq!(generic[figure], named[figure], "{figure}");
    }
}

#[test]
fn a_list_and_a_grid_that_are_not_whole_are_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let exit = |_| vec!["0000 ffffffff 0 STG.E 2 R2 R3 4 1 0x1000 4 0".to_string()];
    let list = format!("# a comment\n{LIST}MemcpyDtoH,0x1000,4096\ncudaMalloc,0x1000,64\n");
    let trace = accel_sim(folder.path(), &list, 4, 4, exit);
    let (json, text) = run(folder.path(), &trace, &[]);
    assert_eq!(json["trace"]["skipped"], serde_json::json!({"MemcpyDtoH": 1, "cudaMalloc": 1}));
    assert!(text.contains("; skipped calls: 1 MemcpyDtoH, 1 cudaMalloc"), "{text}");
    let short = accel_sim(folder.path(), LIST, 4, 3, exit);
    refused(
        &["run", "rec-4gpu-small", "--workload", &short],
        "the trace is not whole: 3 of the grid's 4 blocks",
    );
    let (json, text) = run(folder.path(), &short, &["--missing-blocks", "accept"]);
    assert_eq!((&json["trace"]["blocks"], &json["trace"]["grid_blocks"]), (&3.into(), &4.into()));
    assert!(text.contains("3 of 4 blocks"), "{text}");
    let none = accel_sim(folder.path(), "MemcpyHtoD,0x1000,64\n", 4, 4, exit);
    refused(&["run", "rec-4gpu-small", "--workload", &none], "kernelslist.g: the list names no kernel");
}

#[test]
fn packed_zeros_take_no_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = folder.path().join("zeros");
    let made = format!("head -c 1G /dev/zero | gzip -1 > '{}'", zeros.display());
    assert!(Command::new("sh").args(["-c", &made]).status().expect("a shell").success());
    for (name, problem) in
        [("z.wtrace.gz", "line 1: the line is longer"), ("z.wtrb.gz", "does not begin with WTRB")]
    {
        let path = folder.path().join(name);
        std::fs::hard_link(&zeros, &path).expect("a name");
        // Less memory than the zeros would take.
        let command = format!("ulimit -v 800000; '{}' trace '{}'", crate::program::WEFT, path.display());
        let out = Command::new("sh").args(["-c", &command]).output().expect("a shell");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && said.contains(problem), "{name}: {said}");
    }
    let trace = halo(folder.path());
    refused(
        &["trace", &trace, "--input-limit", "100"],
        "it holds more than 100 bytes, the limit; --input-limit",
    );
}

/// The script of docs/trace-format.md: what it writes is a trace, runs, and is judged at the end.
#[test]
fn a_script_writes_a_program() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/trace_writer.py");
    let written =
        |args: &[&str]| Command::new("python3").arg(script).args(args).output().expect("python3 starts");
    let out = written(&["1024", "2"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(!written(&["1000", "2"]).status.success(), "no multiple of a block");
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("stencil.wtrace");
    std::fs::write(&trace, &out.stdout).expect("written");
    let (json, _) = run(folder.path(), trace.to_str().expect("text"), &[]);
    assert_eq!(json["verified"], true);
    let kernels = json["trace"]["kernels"].as_u64();
    assert_eq!((kernels, &json["trace"]["accesses"]["stores"]), (Some(2), &64.into()), "{}", json["trace"]);
}
