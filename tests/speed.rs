//! Where time goes and what it is compared with: `profile`, and the whole runs of `bench`.

use crate::program::{refused, stdout};
use serde_json::Value;

const RUN: [&str; 9] = [
    "rec-4gpu-small",
    "--workload",
    "bfs",
    "--param",
    "source=uniform",
    "--param",
    "nodes=512",
    "--param",
    "edges=2048",
];

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&stdout(words)).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_profile_tells_where_all_of_the_time_goes() {
    let told = json(&[&["profile"], &RUN[..], &["--json"]].concat());
    let run = json(&[&["profile"], &RUN[..], &["--max-cycles", "1000", "--json"]].concat());
    assert_eq!((&told["program"], &run["cycles"]), (&"bfs".into(), &1000.into()));
    let parts = ["hardware", "models", "engine"].map(|part| number(&told[part]["share"]));
    let all: f64 = parts.iter().sum();
    assert!((0.97..=1.0 + 1e-9).contains(&all), "{parts:?}");
    assert!(parts[0] > 0.05 && parts[1] > 0.01, "{parts:?}");
    let modules = told["hardware"]["modules"].as_array().expect("a list");
    let units: f64 = modules.iter().map(|module| number(&module["units"])).sum();
    assert_eq!(units, number(&told["units"]));
    let clocked: f64 = modules.iter().map(|module| number(&module["clocked_per_cycle"])).sum();
    assert!((clocked - number(&told["clocked_per_cycle"])).abs() < 1e-6 && clocked > 1.0, "{clocked}");
    let bank = modules.iter().find(|module| module["name"].as_str().expect("text").contains("_l2_bank_"));
    assert!(bank.is_some_and(|bank| number(&bank["clocked_per_cycle"]) <= number(&bank["units"])), "{told}");
    let start = told["start_seconds"].as_object().expect("an object");
    let sum: f64 = start.iter().filter(|(name, _)| *name != "all").map(|(_, part)| number(part)).sum();
    assert!((sum - number(&start["all"])).abs() < 1e-6);
}

#[test]
fn a_profile_is_a_table_with_the_dearest_first() {
    let text = stdout(&[&["profile"], &RUN[..]].concat());
    assert!(text.starts_with("bfs on rec-4gpu-small: "), "{text}");
    for part in ["start-up", "hardware", "models", "engine"] {
        assert!(text.lines().any(|line| line.starts_with(part)), "{part}: {text}");
    }
    let shares: Vec<f64> = text
        .lines()
        .skip_while(|line| !line.starts_with("hardware"))
        .skip(1)
        .take_while(|line| line.starts_with("  ") && !line.contains(" others "))
        .map(|line| line.split('%').next().and_then(|row| row.split_whitespace().last()).expect("a share"))
        .map(|share| share.parse().expect("a number"))
        .collect();
    assert!(shares.len() > 2 && shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
}

/// Of several threads it is told what each does; all of a thread's time is one of four things.
#[test]
fn a_profile_of_threads_tells_what_each_does() {
    let told = json(&[&["profile"], &RUN[..], &["--threads", "2", "--json"]].concat());
    let threads = told["threads"].as_array().expect("a list");
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let shares = ["hardware", "models", "engine", "waiting"].map(|what| number(&thread[what]));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{shares:?}");
        assert!(shares.iter().all(|share| (-1e-9..=1.0).contains(share)), "{shares:?}");
    }
    assert!(number(&threads[0]["hardware"]) > 0.01 && number(&threads[1]["waiting"]) > 0.0, "{told}");
    // How often units are clocked is not counted then, and not told.
    assert!(told["clocked_per_cycle"].is_null() && !told["hardware"].to_string().contains("clocked"));
    let text = stdout(&[&["profile"], &RUN[..], &["--threads", "3"]].concat());
    assert!((0..3).all(|number| text.contains(&format!("\nthread {number} "))), "{text}");
}

/// What more cores would give is told beside what it rests on.
#[test]
fn a_profile_estimates_what_more_cores_give() {
    let told = json(&[&["profile"], &RUN[..], &["--cores", "2,4,8", "--json"]].concat());
    let estimates = told["estimates"].as_array().expect("a list");
    let cores: Vec<f64> = estimates.iter().map(|estimate| number(&estimate["cores"])).collect();
    assert_eq!(cores, [2.0, 4.0, 8.0]);
    let busiest: Vec<f64> = estimates.iter().map(|estimate| number(&estimate["busiest"])).collect();
    assert!(
        busiest.iter().zip(&cores).all(|(busiest, cores)| (1.0 / cores..1.0).contains(busiest)),
        "{told}"
    );
    assert!(busiest.is_sorted_by(|a, b| a > b), "{told}");
    for estimate in estimates {
        let gain = number(&estimate["speedup"]);
        assert!(gain > 0.0 && gain < 1.0 / number(&estimate["busiest"]), "{told}");
    }
    let text = stdout(&[&["profile"], &RUN[..], &["--cores", "4"]].concat());
    assert!(text.contains(" 4 cores, estimated: "), "{text}");
    refused(&["profile", RUN[0], "--cores", "4", "--threads", "2"], "leave --threads and mpirun out");
    refused(&["profile", RUN[0], "--cores", "1"], "1 is not in 2..=32");
}

/// The number of threads that a run takes by itself is told; any other can be asked for.
#[test]
fn a_run_tells_how_many_threads_it_takes() {
    let row = |words: &[&str]| {
        let text = stdout(&[&["run"], &RUN[..], words].concat());
        text.lines().find(|line| line.contains("simulated in")).map(String::from).expect("a row")
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let auto = [4, 2, 1].into_iter().find(|threads| *threads <= processors).expect("there is one");
    let told = |threads: usize| if threads > 1 { format!(", {threads} threads") } else { " cycles/s".into() };
    for (words, threads) in
        [(&[][..], auto), (&["--threads", "auto"], auto), (&["--threads", "1"], 1), (&["--threads", "3"], 3)]
    {
        assert!(row(words).ends_with(&told(threads)), "{words:?}: {}", row(words));
    }
    for threads in ["0", "257", "many"] {
        refused(&["run", RUN[0], "--threads", threads], "give 1 to 256, or auto");
    }
}

#[test]
fn further_threads_are_compared_with_one() {
    let words = ["bench", "threads", "--json", "--repeat", "2", "--threads", "2,3"];
    let told = json(&[&words[..], &RUN[..]].concat());
    let runs = told["runs"].as_array().expect("a list");
    let names: Vec<&str> = runs.iter().map(|run| run["name"].as_str().expect("text")).collect();
    assert_eq!(names, ["--threads 1", "--threads 2", "--threads 3"]);
    for run in runs {
        assert_eq!((&run["cycles"], run["seconds"].as_array().map(Vec::len)), (&runs[0]["cycles"], Some(2)));
        assert!(number(&run["ratio"]) > 0.0, "{told}");
    }
    assert_eq!(number(&runs[0]["ratio"]), 1.0);
}

#[test]
fn a_second_start_compiles_nothing() {
    let told = json(&["bench", "start", "rdma-4gpu-small", "--json"]);
    let [first, second] = ["first", "second"].map(|which| &told["fabrics"][0][which]);
    let compile = |start: &Value| number(&start["parts"]["compile"]);
    assert!(compile(second) < compile(first) / 2.0, "{told}");
    assert!(number(&second["cpu_seconds"]) < number(&first["cpu_seconds"]), "{told}");
}

/// Memory of each small fabric after a start, in MB: what changes have to keep to, within a quarter for another build.
const MEMORY: &str = include_str!("memory.csv");

#[test]
fn fabrics_take_no_more_memory_than_they_did() {
    let committed: Vec<(&str, f64)> = MEMORY
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').expect("two columns"))
        .map(|(fabric, mb)| (fabric, mb.parse().expect("a number")))
        .collect();
    let names: Vec<&str> = committed.iter().map(|(fabric, _)| *fabric).collect();
    let told = json(&[&["bench", "start", "--json"], &names[..]].concat());
    let now: Vec<f64> = told["fabrics"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| number(&of["memory_bytes"]) / 1e6)
        .collect();
    assert_eq!(now.len(), committed.len());
    for ((fabric, mb), now) in committed.iter().zip(&now) {
        assert!(
            *now > 1.0 && *now <= 1.25 * mb,
            "{fabric} takes {now:.0} MB, {mb} MB are committed in tests/memory.csv"
        );
    }
}

#[test]
fn programs_are_compared_in_turns() {
    let own = env!("CARGO_BIN_EXE_weft");
    let words = ["bench", "program", "--json", "--repeat", "2", "--keep-code", "--against", own];
    let told = json(&[&words[..], &RUN[..]].concat());
    let runs = told["runs"].as_array().expect("a list");
    assert_eq!((runs.len(), &runs[0]["cycles"]), (2, &runs[1]["cycles"]));
    for run in runs {
        assert_eq!(run["cpu_seconds"].as_array().map(Vec::len), Some(2));
        let [least, middle, most] = ["ratio_min", "ratio", "ratio_max"].map(|key| number(&run[key]));
        assert!(0.0 < least && least <= middle && middle <= most, "{run}");
    }
    refused(&["bench", "program", "--against", "/nosuch/weft", RUN[0]], "/nosuch/weft does not start");
    refused(&["bench", "start", "no-such-fabric"], "no-such-fabric");
}

#[test]
fn what_recording_costs_is_a_ratio_to_the_run_without() {
    let text = stdout(&[&["bench", "record", "--repeat", "1"], &RUN[..]].concat());
    for kind in ["without", "--waves w.fst", "--events e.wev"] {
        assert!(text.lines().any(|line| line.starts_with(kind) && line.contains(" s")), "{kind}: {text}");
    }
}
