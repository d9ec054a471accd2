//! The verbs that hand the hardware out: area, export, cosim.

use crate::program::{refusal, refused, stdout, weft};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use weft_tools::external::Tool;

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const SMALL: [&str; 4] = ["--param", "entries=8", "--param", "ways=2"];

#[test]
fn area_is_a_table_or_json_with_the_published_total() {
    let text = stdout(&["area", "rec-directory"]);
    assert!(
        text.contains("published total: 103 bits per entry (base 38 + position 16 + sharers 48 + valid 1)")
    );
    assert!(text.contains("per GPU (1 slice): 8192 entries, 843776 bits = 103 kB"), "{text}");
    let args = ["area", "baseline-directory", "--param", "banks=16", "--json"];
    let json: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    assert_eq!(json["block"], "baseline-directory");
    assert_eq!(json["params"]["banks"], "16");
    let fields = json["fields"].as_array().expect("a list");
    let tag = fields.iter().find(|f| f["field"] == "tag").expect("a tag");
    assert_eq!(
        (&tag["bits_per_entry"], &tag["entries"], &tag["bits"]),
        (&48.into(), &512.into(), &24576.into())
    );
    let sum: u64 = fields.iter().map(|f| f["bits"].as_u64().expect("a number")).sum();
    assert_eq!(json["total_bits"], sum);
    let whole = &json["published"][0];
    assert_eq!((&whole["bits_per_entry"], &whole["bits_per_slice"]), (&52.into(), &26624.into()));
    assert_eq!((&whole["entries_per_gpu"], &whole["bits_per_gpu"]), (&8192.into(), &425_984.into()));
    let fifo: Value = serde_json::from_str(&stdout(&["area", "fifo", "--json"])).expect("JSON");
    assert!(fifo.get("published").is_none());
}

#[test]
fn blocks_of_every_family_have_their_storage_told() {
    let json: Value = serde_json::from_str(&stdout(&["area", "mgcc-l1", "--json"])).expect("JSON");
    let fields = json["fields"].as_array().expect("a list");
    for stamp in ["wts", "rts"] {
        let field = fields.iter().find(|f| f["field"] == stamp && f["storage"] == "sram").expect("a stamp");
        assert_eq!((&field["bits_per_entry"], &field["entries"]), (&16.into(), &256.into()), "{stamp}");
    }
    assert!(stdout(&["list", "blocks"]).lines().any(|line| line == "tsm-switch"));
}

/// The published overheads of the Spandex LLC (spandex.md sections 4.1 and 12): a bit per word for ownership is 3 % of a line, eight sharers are 1.6 %.
#[test]
fn area_sets_what_a_line_keeps_beside_its_data() {
    let text = stdout(&["area", "spandex-llc"]);
    let line = text.lines().find(|l| l.starts_with("of the bits of data: ")).expect("a line on overheads");
    for part in ["tag 5.66 %", "state 0.39 %", "dirty 0.20 %", "owned 3.12 %", "sharers 1.56 %"] {
        assert!(line.contains(part), "{line}");
    }
    assert!(!text.contains("published total"), "sharers of a cache are no directory: {text}");
    let args = ["area", "spandex-llc", "--param", "sharer_mode=broadcast", "--json"];
    let json: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    assert_eq!((&json["of_data"]["owned"], &json["of_data"]["state"]), (&0.03125.into(), &0.00390625.into()));
    assert!(json["of_data"].get("sharers").is_none());
}

/// Of the L1s and of the baseline's caches the same: V and O of each word, a bit per line of which more must not be replaced.
#[test]
fn area_sets_so_of_every_cache() {
    let known: [(&str, &[&str]); 7] = [
        ("gpu-l1", &["tag 7.03 %", "state 0.20 %"]),
        ("denovo-l1", &["tag 7.03 %", "state 6.25 %", "pin 0.20 %"]),
        ("mesi-l1", &["state 0.59 %", "tag 7.03 %"]),
        ("mesi-llc", &["state 0.39 %", "owner 0.78 %", "sharers 1.76 %"]),
        ("gpu-l2", &["owned 3.12 %"]),
        ("l2-bank", &["state 0.39 %"]),
        ("mgcc-l1", &["wts 3.12 %", "rts 3.12 %"]),
    ];
    for (block, parts) in known {
        let text = stdout(&["area", block]);
        let line = text.lines().find(|l| l.starts_with("of the bits of data: "));
        let line = line.unwrap_or_else(|| panic!("{block}: {text}"));
        parts.iter().for_each(|part| assert!(line.contains(part), "{block}: {line}"));
        assert!(!line.contains("mshr") && !line.contains("buffer"), "buffers hold no lines: {line}");
    }
    let text = stdout(&["area", "denovo-l1", "--param", "regions=1"]);
    assert!(text.contains("region 0.20 %"), "{text}");
    // Tags of a UMC are of lines whose data lie in DRAM.
    for block in ["fifo", "umc"] {
        assert!(!stdout(&["area", block]).contains("of the bits of data"), "{block}");
    }
}

#[test]
fn what_is_for_simulation_only_is_not_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("made").display().to_string();
    for (block, param) in [
        ("tsu", "inject=lit_no_floor"),
        ("mgcc-l1", "inject=lit_brts"),
        ("umc", "inject=lit_mwts"),
        ("spandex-llc", "inject=no-cross"),
    ] {
        let (key, value) = param.split_once('=').expect("key=value");
        refused(
            &["export", block, "--param", param, "--out", &out],
            &format!("simulation only ({key} = {value})"),
        );
    }
    assert!(!Path::new(&out).exists());
}

#[test]
fn export_writes_one_file_per_module_and_a_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("made/here");
    let out_text = out.display().to_string();
    let mut args = vec!["export", "rec-directory", "--out", &out_text];
    args.extend(SMALL);
    stdout(&args);
    let list = std::fs::read_to_string(out.join("files.f")).expect("a list");
    let listed: Vec<&str> = list.lines().collect();
    let mut expected: Vec<String> = listed.iter().map(|n| n.to_string()).collect();
    expected.push("files.f".into());
    expected.sort();
    assert_eq!(names(&out), expected, "nothing beside the files of the list");
    for name in &listed {
        let text = std::fs::read_to_string(out.join(name)).expect("a file");
        let module = name.strip_suffix(".v").expect("Verilog");
        assert!(text.contains(&format!("module {module}")), "{name}");
    }
    let before = std::fs::read(out.join(listed[0])).expect("a file");
    stdout(&args);
    assert_eq!(std::fs::read(out.join(listed[0])).expect("a file"), before, "the same bytes again");
}

#[test]
fn iverilog_runs_the_exported_testbench() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let mut args = vec!["export", "rec-directory", "--out", &out, "--testbench", "--cycles", "300"];
    args.extend(SMALL);
    let text = stdout(&args);
    let top = text.split_whitespace().find(|w| w.starts_with("tb_")).expect("the command that runs it");
    assert!(names(folder.path()).contains(&format!("{top}.v")));
    let mut compile = Tool::Iverilog.command().expect("installed");
    let compile = compile.current_dir(folder.path());
    let compiled = compile.args(["-g2005", "-Wall", "-s", top, "-c", "testbench.f", "-o", "tb.vvp"]);
    let compiled = compiled.output().expect("it starts");
    assert!(compiled.status.success() && compiled.stderr.is_empty(), "{compiled:?}");
    let mut run = Tool::Vvp.command().expect("installed");
    let said = run.current_dir(folder.path()).args(["-n", "tb.vvp"]).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "PASS 300 cycles");
    let mut lone = vec!["export", "fifo", "--out", &out, "--cycles", "5"];
    lone.extend(["--param", "depth=2"]);
    assert_eq!(weft(&lone).status.code(), Some(2), "--cycles without --testbench");
}

#[test]
fn cosim_agrees_and_says_what_was_compared() {
    let mut args = vec!["cosim", "rec-directory", "--cycles", "500", "--seed", "3", "--with"];
    args.push("iverilog");
    args.extend(SMALL);
    let text = stdout(&args);
    assert!(text.contains("engine and iverilog agree in 500 cycles on 11 outputs"), "{text}");
    let text = stdout(&["cosim", "fifo", "--cycles", "2000", "--with", "interpreter"]);
    assert!(text.contains("native code and interpreter agree in 2000 cycles"), "{text}");
}

#[test]
fn cosim_keeps_a_crossbar_going_whose_outputs_are_no_power_of_two() {
    let args = ["cosim", "crossbar", "--param", "outputs=5", "--cycles", "5000", "--with", "iverilog"];
    let text = stdout(&args);
    let transfers = text.split(" transfers").next().and_then(|before| before.rsplit(' ').next());
    let transfers: u64 = transfers.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"));
    assert!(transfers > 2_000, "{text}");
    // Destination 0 is always 0 where it arrives.
    assert!(!text.contains("the last in cycle") && text.contains("unchanged: out0_dest; "), "{text}");
}

#[test]
fn cosim_does_not_call_nothing_equal() {
    let out = weft(&["cosim", "fifo", "--cycles", "1", "--with", "iverilog"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(
        said.contains("no output changed in 1 cycles, so agreement would say nothing; take more cycles"),
        "{said}"
    );
    // What stands still beside what moves is told; constants of the hardware (`wb_valid` here) are not among it.
    let text = stdout(&["cosim", "tu-gpu", "--cycles", "2000", "--with", "iverilog"]);
    assert!(
        text.contains(" of 34 that can change did, ") && text.contains("; unchanged: req_flex"),
        "{text}"
    );
    assert!(!text.contains("wb_valid"), "{text}");
}

#[test]
fn a_default_that_does_not_go_with_what_was_given_is_told_as_such() {
    let said = refusal(&[
        "area",
        "owner-predictor",
        "--param",
        "entries=8",
        "--param",
        "cus=3",
        "--param",
        "cpus=2",
    ]);
    assert_eq!(
        said,
        "weft: parameter sharers = 8 of block owner-predictor: there are only cpus + cus = 5 devices; legal: 0..cpus + cus; \
         8 is its default, which does not go with cpus = 2, cus = 3: give sharers too, or change cpus = 2, cus = 3"
    );
    // One of two given parameters may be to blame alone.
    let said = refusal(&["area", "link-tx", "--param", "latency=9", "--param", "addr_bits=32"]);
    assert!(said.contains("it is at most 30 here") && said.ends_with("or change addr_bits = 32"), "{said}");
    let given = ["area", "owner-predictor", "--param", "cus=3", "--param", "cpus=2", "--param", "sharers=6"];
    assert!(!refusal(&given).contains("default"), "it was given");
}

#[test]
fn cosim_replays_a_unit_of_a_fabric_that_runs_a_program() {
    let args = [
        "cosim",
        "rec-4gpu-small",
        "--workload",
        "stencil",
        "--cycles",
        "3000",
        "--with",
        "iverilog",
        "--strict",
    ];
    let text = stdout(&[&args[..], &["--unit", "gpu1.dir0"]].concat());
    assert!(text.contains("engine and iverilog agree in 3000 cycles"), "{text}");
    assert!(!text.contains(" 0 transfers"), "{text}");
    refused(&[&args[..], &["--unit", "gpu1.dir77"]].concat(), "has no unit gpu1.dir77; it has gpu0.l1_0, ");
    refused(&["cosim", "fifo", "--unit", "x"], "there is no fabric fifo");
    refused(
        &["cosim", "rec-4gpu-small", "--unit", "gpu1.dir0", "--with", "interpreter"],
        "use --with verilator",
    );
}

#[test]
fn mistakes_are_one_sentence_and_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "kept").expect("written");
    let below = file.join("folder").display().to_string();
    refused(&["export", "fifo", "--out", &below], "cannot write to");
    refused(&["export", "fifo", "--out", &file.display().to_string()], "cannot write to");
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), "kept");
    refused(&["export", "fifo", "--out", "/proc/weft"], "cannot write to /proc/weft");
    let blocked = folder.path().join("blocked");
    std::fs::create_dir_all(blocked.join("files.f")).expect("made");
    refused(
        &["export", "fifo", "--out", &blocked.display().to_string()],
        "files.f: cannot write it: it is a folder",
    );
    assert_eq!(names(&blocked), ["files.f"], "nothing half written");
    for verb in ["area", "cosim"] {
        refused(
            &[verb, "no-such-block"],
            "there is no block no-such-block, and no fabric; `weft list blocks`",
        );
        refused(&[verb, "rec-directory", "--param", "range=1000"], "range = 1000");
        refused(&[verb, "rec-directory", "--param", "range=64"], "use baseline-directory");
        refused(&[verb, "rec-directory", "--param", "ways=3"], "banks * ways");
    }
}

#[test]
fn bench_measures_a_block_beside_peers_that_do_the_same_work() {
    let args =
        ["bench", "block", "fifo", "--cycles", "20000", "--repeat", "1", "--json", "--peers", "interpreter"];
    let json: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    assert_eq!((&json["design"], &json["engine"]["cycles"]), (&"fifo".into(), &20_000.into()));
    let speed = |of: &Value| of["cycles_per_second"].as_f64().expect("a speed");
    assert!(speed(&json["engine"]) > 0.0 && json["engine"]["build_seconds"].as_f64() > Some(0.0));
    let peers = json["peers"].as_array().expect("a list");
    assert_eq!((peers.len(), &peers[0]["name"]), (1, &"interpreter".into()));
    let ratio = speed(&json["engine"]) / speed(&peers[0]);
    assert!((peers[0]["ratio"].as_f64().expect("a ratio") / ratio - 1.0).abs() < 1e-9);
    assert_eq!(peers[0]["checksum"], json["engine"]["checksum"], "both ran all cycles");
    // A message in and out in one of 16 cycles; with more load nearly in each.
    assert!((2_000..3_000).contains(&json["engine"]["transfers"].as_u64().expect("a number")), "{json}");
    let busy: Value = serde_json::from_str(&stdout(&[&args[..], &["--load", "12"]].concat())).expect("JSON");
    assert!(busy["engine"]["transfers"].as_u64() > Some(20_000), "{busy}");
    let seeded = ["--seed", "2"];
    let other: Value = serde_json::from_str(&stdout(&[&args[..], &seeded].concat())).expect("JSON");
    assert_ne!(other["engine"]["checksum"], json["engine"]["checksum"]);
    let table = stdout(&["bench", "block", "fifo", "--cycles", "1000", "--peers", "interpreter"]);
    assert!(table.lines().any(|l| l.starts_with("interpreter ") && l.contains('x')), "{table}");
}

#[test]
fn bench_refuses_what_it_cannot_measure() {
    refused(&["bench", "block", "fifo", "--peers", "rust-hdl"], "its design is a directory, not a fifo");
    refused(&["bench", "block", "fifo", "--param", "depth=0"], "depth");
    refused(&["bench", "fabric", "no-such-fabric"], "no-such-fabric");
    refused(&["bench", "fabric", "--set", "gpus=2"], "the fabric `closed` is fixed");
    refused(&["bench", "fabric", "rec-4gpu-small", "--set", "protocol=ideal"], "its directory is no RTL");
}

#[test]
fn explore_visits_all_states_or_shows_the_way_to_a_fault() {
    let text = stdout(&["explore", "mgcc", "--budget", "1,1", "--live"]);
    assert!(text.starts_with("all states visited, no violation\nstates "), "{text}");
    assert_eq!(text, stdout(&["explore", "mgcc", "--budget", "1,1", "--live"]));
    let folder = tempfile::tempdir().expect("a folder");
    let wave = folder.path().join("bad.vcd");
    let file = wave.to_str().expect("text");
    let fault = ["explore", "mgcc", "--budget", "2,0", "--start", "62", "--inject", "lit_reinit"];
    let out = weft(&[&fault[..], &["--waves", file]].concat());
    let (text, error) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(text.contains("takes cu_req: operation 1: ST") && text.contains("ST X.0 := 0.1"), "{text}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    let dump = std::fs::read_to_string(wave).expect("a waveform");
    assert!(dump.contains("$enddefinitions") && dump.contains(" cts "), "registers have their names");
}

#[test]
fn explore_visits_all_states_of_gtsc() {
    let text = stdout(&["explore", "gtsc", "--budget", "1,1", "--live", "--unreached"]);
    assert!(text.starts_with("all states visited, no violation\nstates "), "{text}");
    assert!(text.contains("not reached: gtsc.l1.amo.live: no AMO in --ops"), "{text}");
    let fault = ["explore", "gtsc", "--in-order", "--ops", "LD X,ST X.0", "--ops", "LD X", "--budget", "2,1"];
    let out = weft(&[&fault[..], &["--cus", "1", "--per-cu", "2", "--inject", "unlocked"]].concat());
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("l1_0 takes cu_req: wave 1, operation 0: LD, line 0x0"), "{text}");
    assert!(text.contains("CU 0, wave 1, operation 0: LD X  at 0.1: 0.1 -"), "{text}");
}

#[test]
fn explore_visits_all_states_of_a_directory_protocol() {
    let text = stdout(&["explore", "directory", "--protocol", "gpu-vi", "--budget", "1,1", "--live"]);
    assert!(text.starts_with("all states visited, no violation\nstates "), "{text}");
    let lists = ["--ops", "LD X,ACQ", "--ops", "ST X,REL", "--budget", "2"];
    let out = weft(&[&["explore", "directory", "--inject", "fence-early-done"], &lists[..]].concat());
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(
        text.contains("gpu1.l1 takes cu_req: ST, line X") && text.contains("CU 1, operation 1: REL"),
        "{text}"
    );
}

#[test]
fn explore_visits_all_states_of_a_scoped_protocol() {
    let lists = ["--ops", "rmw_ar_wg X", "--ops", "rmw_rem_ar X"];
    let text = stdout(&[&["explore", "srsp", "--live"], &lists[..]].concat());
    assert!(text.starts_with("all states visited, no violation\nstates "), "{text}");
    let out = weft(&[&["explore", "srsp", "--inject", "no-replay"], &lists[..]].concat());
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("l1_1 takes cu_req: AMO") && text.contains("operation 0: rmw_rem_ar X"), "{text}");
}

#[test]
fn explore_visits_all_states_of_a_mix_of_devices() {
    let mix = ["explore", "spandex", "--mix", "gpu+gpu", "--budget", "1,1", "--live", "--unreached"];
    let text = stdout(&mix);
    let head = "system: --devices gpu,gpu --budget 1,1\n\nall states visited, no violation\nstates ";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("not reached: spandex.gpu_l1.Bytes.V: stores are of whole words\n"), "{text}");
    let walks = ["explore", "spandex", "--devices", "mesi,denovo,gpu", "--budget", "3", "--walks", "20"];
    assert!(stdout(&walks).starts_with("no violation in random walks"));
}

/// The waveform begins where the prelude ends.
#[test]
fn explore_takes_a_system_that_shows_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let wave = folder.path().join("bad.vcd");
    let file = wave.to_str().expect("text");
    let out = weft(&["explore", "spandex", "--inject", "spandex-llc:drop-owned", "--waves", file]);
    let (text, error) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(text.starts_with("system: --devices denovo,denovo --ops "), "{text}");
    assert!(text.contains(" --prelude \"0:ST X.0,0:ST Y.0\" ") && text.contains("LD Z"), "{text}");
    let dump = std::fs::read_to_string(wave).expect("a waveform");
    assert!(dump.contains("$enddefinitions") && dump.contains(" word_owned "), "registers have their names");
}

/// What `scripts/explore` has of the named systems is what there is.
#[test]
fn standing_explorations_are_all_that_have_names() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/explore");
    let script = Command::new(script).args(["--list", "--only", "spandex"]).output().expect("a script");
    let script = String::from_utf8(script.stdout).expect("text");
    let list = stdout(&["explore", "spandex", "--list"]);
    let mut wanted: Vec<String> = Vec::new();
    for (title, more) in [("mixes, seconds each", " --live"), ("faults, each in a system that shows it", "")]
    {
        let part = list.split("\n\n").find(|part| part.starts_with(title)).expect("a part");
        let commands = part.lines().filter_map(|line| line.trim().strip_prefix("weft explore "));
        wanted.extend(commands.map(|command| format!("{command}{more}")));
    }
    let mut standing: Vec<&str> = script.lines().collect();
    wanted.sort_unstable();
    standing.sort_unstable();
    assert!(wanted.len() > 100 && wanted == standing, "{wanted:#?}\n{standing:#?}");
}

#[test]
fn explore_visits_all_states_of_the_hierarchical_baseline() {
    let text = stdout(&["explore", "hmesi", "--devices", "cpu,denovo", "--live"]);
    assert!(text.starts_with("all states visited, no violation\nstates "), "{text}");
    let lists = ["--ops", "LD X", "--ops", "ST X.0", "--in-order", "--devices", "cpu,denovo"];
    let out = weft(&[&["explore", "hmesi", "--inject", "gpu-l2:no-revoke"], &lists[..]].concat());
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{text}");
    let way = ["cpu0 sends req: GetS", "l3 sends fwd: FwdGetS", "l2 sends l3_rsp_out: WbData"];
    assert!(way.iter().all(|line| text.contains(line)), "{text}");
    assert!(text.contains("Denovo 1, operation 0: ST X.0 := 21"), "{text}");
}

#[test]
fn explore_refuses_what_it_cannot_do() {
    refused(&["explore", "mgcc", "--inject", "none_such"], "--inject none_such: there is no such fault; ");
    refused(&["explore", "mgcc", "--ops", "LDX"], "is no operation");
    refused(&["explore", "mgcc", "--leases", "17,1"], "1..16");
    refused(&["explore", "mgcc", "--start", "64"], "0..63");
    refused(&["explore", "gtsc", "--inject", "past_rts"], "--inject past_rts: there is no such fault; ");
    refused(&["explore", "gtsc", "--ops", "LD X,ACQ"], "is no operation");
    refused(&["explore", "gtsc", "--lease", "17"], "1..16");
    refused(&["explore", "gtsc", "--start", "64"], "0..63");
    refused(&["explore", "rdma"], "unrecognized subcommand 'rdma'");
    refused(&["explore", "directory", "--protocol", "nhc"], "the nearest is nhcc");
    refused(&["explore", "directory", "--protocol", "ideal"], "outside of the hardware");
    refused(&["explore", "directory", "--ops", "LD Y"], "--lines is 1");
    refused(&["explore", "directory", "--homes", "2"], "0..1");
    refused(&["explore", "srsp", "--protocol", "srp"], "--protocol srp: there is no such protocol; ");
    refused(&["explore", "srsp", "--inject", "open-lock"], "protocol srsp has no such fault; ");
    refused(&["explore", "srsp", "--lines", "1", "--ops", "LD Y"], "--lines is 1");
    refused(&["explore", "srsp", "--ops", "st_acq_wg X"], "is no operation");
    refused(&["explore", "srsp", "--protocol", "scope", "--ops", "ld_rem_acq X"], "no remote operations");
    refused(&["explore", "srsp", "--set", "cus=5"], "5 waves");
    refused(&["explore", "srsp", "--set", "l1_size=1"], "l1_size");
    refused(&["explore", "spandex", "--devices", "mesi,gpo"], "no such kind of device; the nearest is gpu");
    refused(&["explore", "spandex", "--devices", "gpu,mesi"], "come first: mesi,gpu");
    refused(&["explore", "spandex", "--mix", "mesi+gpo"], "the nearest is mesi+gpu");
    refused(&["explore", "spandex", "--inject", "tu-mesi:no-r3"], "the nearest is tu-mesi:no-r2");
    refused(&["explore", "spandex", "--inject", "tu-gpu:no-escalation"], "no named system shows it");
    refused(&["explore", "spandex", "--devices", "gpu,gpu", "--inject", "tu-mesi:no-r2"], "mesi has");
    refused(&["explore", "spandex", "--ops", "LDX"], "'LDX' is no operation; legal: LD X, ");
    refused(&["explore", "spandex", "--ops", "LD Y"], "--lines is 1");
    refused(&["explore", "spandex", "--ops", "LD X ReqS"], "device 0 is mesi; only flex");
    refused(&["explore", "spandex", "--ops", "HERE X.0"], "which --scopes makes legal");
    refused(&["explore", "spandex", "--prelude", "2:LD X"], "devices are 0..1");
    refused(&["explore", "spandex", "--budget", "9"], "legal are 0..8");
    refused(&["explore", "spandex", "--guess", "0"], "only flex devices guess");
    refused(&["explore", "spandex", "--set", "tbes=0"], "legal are 1, 2, 3, 4");
    refused(&["explore", "spandex", "--set", "tbe=2"], "the nearest is tbes");
    refused(&["explore", "hmesi", "--devices", "cpu,gpus"], "the nearest is gpu");
    refused(&["explore", "hmesi", "--devices", "cpu,cpu"], "then at least one CU");
    refused(&["explore", "hmesi", "--devices", "gpu,cpu"], "legal are CPU cores (cpu), then");
    refused(&["explore", "hmesi", "--inject", "gpu-l2:keep-onc"], "the nearest is gpu-l2:keep-once");
    refused(&["explore", "hmesi", "--ops", "LD Y"], "--lines is 1");
    refused(&["explore", "hmesi", "--ops", "HERE X.0"], "'HERE X.0' is no operation");
    refused(&["explore", "hmesi", "--l3-ways", "3"], "legal are 2 and 4");
    refused(&["explore", "hmesi", "--budget", "9"], "at most 8");
}

/// Links whose fields stand side by side are called models; those in phits are there to be built.
#[test]
fn links_that_could_not_be_built_are_called_models() {
    let list: Value = serde_json::from_str(&stdout(&["list", "blocks", "--json"])).expect("JSON");
    let about = |name: &str| {
        let block = list.as_array().expect("a list").iter().find(|block| block["name"] == name);
        block.unwrap_or_else(|| panic!("no {name}"))["about"].as_str().expect("text").to_string()
    };
    for end in ["tx", "rx"] {
        let phits = about(&format!("phit-{end}"));
        for link in ["link", "spandex-link"] {
            let model = about(&format!("{link}-{end}"));
            assert!(model.to_lowercase().starts_with("timing model of "), "{model}");
        }
        assert!(phits.contains(" in phits") && !phits.contains("model"), "{phits}");
    }
}
