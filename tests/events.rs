//! `weft run --events` and `--trace`, `weft why`: a recorded run is the same run, the log agrees with the run's own counters, every request finds its answer,
//! and what is told of a line is what happened to it.

use crate::program::{refusal_in as refused, weft_in as weft};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;
use weft_events::hops::{Hops, channel};
use weft_events::{Log, What};

/// A program that ends after a few thousand cycles and whose data several GPUs write.
const KARATE: [&str; 6] = ["--workload", "pagerank", "--param", "source=karate", "--param", "iterations=2"];

fn said(out: &Output) -> (String, String) {
    (String::from_utf8_lossy(&out.stdout).into(), String::from_utf8_lossy(&out.stderr).into())
}

/// A run that verified, its record, and what else it has written.
fn run(args: &[&str]) -> (TempDir, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let all = [&["run"], args, &["--json", "run.json"]].concat();
    let out = weft(folder.path(), &all);
    assert!(out.status.success(), "{all:?}: {}", said(&out).1);
    let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
    (folder, serde_json::from_str(&text).expect("JSON"))
}

/// A run and its log.
fn recorded(fabric: &str, program: &[&str]) -> (TempDir, Value, Log) {
    let (folder, json) = run(&[&[fabric], program, &["--events", "log"]].concat());
    let log = Log::read(&folder.path().join("log")).expect("sound");
    (folder, json, log)
}

/// Messages by name of the sender's port with the numbers of events.
fn messages<'a>(log: &'a Log, port: &'a str) -> impl Iterator<Item = (usize, String)> + 'a {
    log.events.iter().enumerate().filter_map(move |(number, event)| {
        let What::Message { channel: c, limbs, .. } = &event.what else { return None };
        let found = channel(log, number as u32).is_some_and(|c| c.from_port.ends_with(port));
        found.then(|| (number, log.header.operation(*c, log.fields(limbs))))
    })
}

/// The log has counted what the hardware's own cover points have counted, and every load of a compute unit has its answer.
fn agrees(json: &Value, log: &Log) {
    assert_eq!(log.header.workload, json["workload"]);
    let mut rows: BTreeMap<&str, u64> = BTreeMap::new();
    for event in &log.events {
        if let What::Row { actor, row, cycles, .. } = &event.what {
            *rows.entry(&log.row(*actor, *row).id).or_insert(0) += cycles;
        }
    }
    let covers = json["covers"].as_object().expect("an object");
    assert!(rows.len() > 10, "only {rows:?}");
    let counted: BTreeMap<&str, u64> = covers
        .iter()
        .filter_map(|(id, count)| Some((id.as_str(), count.as_u64().filter(|n| *n > 0)?)))
        .collect();
    assert_eq!(rows, counted, "cycles of rows and races in the log, and by the hardware's own counters");
    let hops = Hops::new(log);
    let loads: Vec<usize> =
        messages(log, "_req").filter(|(n, what)| what == "LD" && is_model(log, *n)).map(|(n, _)| n).collect();
    assert!(loads.len() > 20, "{} loads", loads.len());
    let answered = loads.iter().filter(|n| hops.answer[**n].is_some()).count();
    assert_eq!(answered, loads.len(), "every load is answered");
    // A store is answered if it asks for that, and only then.
    for (number, _) in messages(log, "_req").filter(|(n, what)| what == "ST" && is_model(log, *n)) {
        let What::Message { channel, limbs, .. } = &log.events[number].what else { continue };
        let wants = log.header.details(*channel, log.fields(limbs)).contains("want_ack 1");
        assert_eq!(hops.answer[number].is_some(), wants, "{:?}", log.events[number]);
    }
    let fence = |n: usize, what: &str| {
        let c = channel(log, n as u32).expect("a message");
        what.to_uppercase().contains("FENCE") || [c.from, c.to].iter().any(|a| log.name(*a).contains("fence"))
    };
    let others: Vec<usize> = messages(log, "").filter(|(n, what)| !fence(*n, what)).map(|(n, _)| n).collect();
    let named: BTreeSet<u64> = others.iter().filter_map(|n| hops.line[*n]).collect();
    let of_lines = others.iter().filter(|n| hops.line[**n].is_some()).count();
    assert!(
        2 * of_lines > others.len() && named.len() > 10,
        "{of_lines} of {} messages are of a line, of {} lines",
        others.len(),
        named.len()
    );
    // A row is of a line that somebody has asked for, or of its group: not of what stands in a free frame, or in the field of a fence.
    let group = u64::from(log.header.group.max(1));
    let groups: BTreeSet<u64> = named.iter().map(|line| line / group).collect();
    for event in &log.events {
        if let What::Row { actor, row, line: Some(line), .. } = &event.what {
            let id = &log.row(*actor, *row).id;
            assert!(
                groups.contains(&(line / group)),
                "nobody names line {line:#x} of {id} at {}",
                event.cycle
            );
        }
    }
    let of_rows = log.events.iter().any(|e| matches!(e.what, What::Row { line: Some(_), .. }));
    assert!(of_rows, "no row tells its line");
}

/// The sender of a message is a model outside of the hardware.
fn is_model(log: &Log, event: usize) -> bool {
    channel(log, event as u32).is_some_and(|c| log.header.actors[c.from as usize].block.is_none())
}

#[test]
fn a_recorded_run_is_the_same_run() {
    let (_, mut plain) = run(&[&["rec-4gpu-small"][..], &KARATE].concat());
    let (one, mut json, log) = recorded("rec-4gpu-small", &KARATE);
    let (two, _) = run(&[&["rec-4gpu-small"][..], &KARATE, &["--events", "log", "--threads", "2"]].concat());
    for record in [&mut plain, &mut json] {
        record
            .as_object_mut()
            .expect("an object")
            .retain(|key, _| !["wall_seconds", "cycles_per_second"].contains(&key.as_str()));
    }
    assert_eq!(plain, json, "recording changes nothing");
    let bytes = |folder: &TempDir| std::fs::read(folder.path().join("log")).expect("written");
    assert!(bytes(&one) == bytes(&two), "the log is the same byte for byte, whatever the number of threads");

    agrees(&json, &log);
    // Bytes on links and invalidations against the run's own figures.
    // Every message goes over the link to the switch and over one from it.
    let sent = |chip: &str| -> u64 {
        let of = |meter: u32| log.name(log.header.meters[meter as usize].actor).starts_with(chip);
        log.sent.iter().filter(|sent| of(sent.meter)).map(|sent| sent.bytes).sum()
    };
    assert_eq!(Some(sent("gpu")), json["metrics"]["inter_gpu_bytes"].as_u64());
    assert_eq!(sent("switch"), sent("gpu"));
    let invalidations = messages(&log, "").filter(|(n, what)| {
        let c = channel(&log, *n as u32).expect("a message");
        what == "INV" && c.to_port == "inv" && log.name(c.to).contains("link_tx")
    });
    let counted = json["counters"]["link_tx.msgs_inv"]["value"].as_u64();
    assert_eq!(Some(invalidations.count() as u64), counted.filter(|count| *count > 0));
}

#[test]
fn logs_of_the_other_kinds_of_fabrics_agree_with_their_runs() {
    let (_, json, log) = recorded("tsm-4gpu-small", &KARATE);
    agrees(&json, &log);
    let sockets =
        ["--workload", "bc", "--param", "source=karate", "--param", "cpu_threads=2", "--param", "blocks=4"];
    let (_, json, log) = recorded("spandex-soc-small", &sockets);
    agrees(&json, &log);
}

#[test]
fn long_logs_of_every_fabric_agree_with_their_runs() {
    let prk = ["--workload", "prk"];
    let lock = ["--workload", "spm-g", "--param", "iterations=1"];
    let all: [(&str, &[&str]); 6] = [
        ("hmg-4gpu-small", &KARATE),
        ("rdma-4gpu-small", &KARATE),
        ("hmg-tsm-4gpu-small", &KARATE),
        ("srsp-64cu-small", &prk),
        ("hlrc-128cu-small", &prk),
        ("flat-gpu-small", &lock),
    ];
    for (fabric, program) in all {
        let (_, json, log) = recorded(fabric, program);
        agrees(&json, &log);
    }
}

#[test]
fn a_scope_and_a_window_keep_what_they_name() {
    let words = ["--events-scope", "gpu1.*", "--from", "1000", "--to", "2000"];
    let (_, _, log) = recorded("rec-4gpu-small", &[&KARATE[..], &words].concat());
    assert!(log.events.len() > 100);
    assert!(log.events.iter().all(|event| (1000..2000).contains(&event.cycle)), "outside of the window");
    for (number, event) in log.events.iter().enumerate() {
        let named = match &event.what {
            What::Row { actor, .. } => log.name(*actor).starts_with("gpu1."),
            What::Message { .. } => {
                let c = channel(&log, number as u32).expect("a message");
                [c.from, c.to].iter().any(|actor| log.name(*actor).starts_with("gpu1."))
            }
        };
        assert!(named, "{event:?}");
    }
    let (_, _, whole) = recorded("rec-4gpu-small", &KARATE);
    let inside = |log: &Log| {
        let rows = log.events.iter().filter_map(|event| match &event.what {
            // What a sleep across the window's ends shows is told at another time.
            What::Row { actor, row, line, cycles: 1 } if log.name(*actor).starts_with("gpu1.") => (1000
                ..2000)
                .contains(&event.cycle)
                .then(|| (event.cycle, log.row(*actor, *row).id.clone(), *line)),
            _ => None,
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(inside(&log), inside(&whole), "the window of the whole log");
}

#[test]
fn why_tells_what_brought_a_line_here() {
    let (folder, _, log) = recorded("rec-4gpu-small", &KARATE);
    let hops = Hops::new(&log);
    // A line that a compute unit stores to after others have read it, so that they are invalidated.
    let invalidated = messages(&log, "inv").filter(|(_, what)| what == "INV").find_map(|(n, _)| hops.line[n]);
    let line = invalidated.expect("some line is taken away");
    let address = format!("{:#x}", log.header.address(line));
    let out = weft(folder.path(), &["why", "log", "--address", &address, "--all"]);
    let (text, wrong) = said(&out);
    assert!(out.status.success(), "{wrong}");
    assert!(text.starts_with(&format!("line {address}, ")), "{text}");
    for wanted in
        ["-> gpu", ": LD {", ": ST {", ": INV {", "row rec.", "row l2home.", ", answered in ", "at the end:"]
    {
        assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
    }
    // The reason of the last invalidation, back to the store: over the links, through directory and banks, each step with its row.
    let reason = text.split("what took a copy away last, the newest first:\n").nth(1).expect("told");
    let steps: Vec<&str> = reason.lines().collect();
    let order = [": inv {", ": INV {", ": inv {", "row rec.WR_", ": WR_", "row l2home.", ": ST {"];
    let mut rest = steps.iter();
    for wanted in order {
        assert!(rest.any(|step| step.contains(wanted)), "no {wanted:?} in its place in\n{reason}");
    }
    assert!(steps.last().is_some_and(|step| step.contains("_cu") && step.contains(": ST {")), "{reason}");
    let brought = text.split("what brought it last, the newest first:\n").nth(1).expect("told");
    assert!(brought.contains(": RD {") && brought.contains(": LD {"), "{brought}");
    let cycles: Vec<u64> = text
        .split("  at the end:")
        .next()
        .expect("before")
        .lines()
        .filter_map(|l| l.split_whitespace().next()?.parse().ok())
        .collect();
    assert!(cycles.len() > 10 && cycles.is_sorted(), "{cycles:?}");

    // An element of the array that lies there is the same line; a cycle cuts what came later.
    let element = log.header.contents(line).expect("of an array");
    let element =
        element.replace("..=", "]").split(']').next().map(|first| format!("{first}]")).expect("a name");
    let middle = cycles[cycles.len() / 2].to_string();
    let out = weft(folder.path(), &["why", "log", "--address", &element, "--at", &middle, "--last", "5"]);
    let (cut, wrong) = said(&out);
    assert!(out.status.success(), "{wrong}");
    assert!(
        cut.starts_with(&format!("line {address}, ")) && cut.contains("earlier moments are not shown"),
        "{cut}"
    );
    assert!(cut.contains(&format!("in cycle {middle}:")), "{cut}");
    let cut = cut.split("  in cycle ").next().expect("before");
    let cut = cut.split("--all shows them\n").nth(1).expect("behind what is left out");
    let moments =
        cut.lines().filter(|l| l.split_whitespace().next().is_some_and(|w| w.parse::<u64>().is_ok()));
    assert_eq!(moments.count(), 5, "{cut}");
}

#[test]
fn wrong_input_about_events_is_told_in_one_sentence() {
    let (folder, ..) = recorded("rec-4gpu-small", &KARATE);
    let folder = folder.path();
    let why = |address: &str| refused(folder, &["why", "log", "--address", address]);
    assert!(
        why("0x70000000").starts_with("weft: nothing befell line 0x70000000 in log; most befell line 0x")
    );
    assert!(why("soon").starts_with(
        "weft: --address soon is neither a number, such as 0x1f40, nor an element of an array, such as "
    ));
    assert!(why("nope[3]").starts_with("weft: --address nope[3]: the program has no array nope; "));
    assert!(
        refused(folder, &["why", "run.json", "--address", "0"])
            .ends_with("run.json is no event log; give a file that weft run --events has written")
    );
    std::fs::write(folder.join("cut"), &std::fs::read(folder.join("log")).expect("there")[..3000])
        .expect("written");
    let cut = refused(folder, &["why", "cut", "--address", "0"]);
    assert!(
        cut.starts_with("weft: the event log cut is damaged ") && cut.ends_with("; record it anew"),
        "{cut}"
    );
    let run = |words: &[&str]| refused(folder, &[&["run", "rec-4gpu-small"], words].concat());
    assert!(
        run(&["--events-scope", "gpu0"])
            .contains("and none is asked for: add --events FILE or --trace FILE.json")
    );
    assert!(run(&["--trace", "x.perfetto"]).ends_with("its name must end with .json or .json.gz"));
    assert!(run(&["--events", "no/such/folder"]).contains("give a file in a folder that exists"));
    assert!(run(&["--events", "x", "--json", "x"]).contains("both name x; give each its own file"));
    assert!(run(&["--events", "x", "--events-scope", "moon*"]).starts_with("weft: no block matches moon*"));
    assert!(run(&["--from", "5"]).contains("add --waves"));
}

#[test]
fn a_run_that_is_given_up_keeps_its_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let words =
        [&["run", "rec-4gpu-small"], &KARATE[..], &["--max-cycles", "2000", "--events", "log"]].concat();
    let out = weft(folder.path(), &words);
    let (told, wrong) = said(&out);
    assert_eq!(out.status.code(), Some(1), "{wrong}");
    assert!(wrong.contains("; kept: event log log"), "{wrong}");
    assert!(told.contains("events: in log, read by weft why log"), "{told}");
    let log = Log::read(&folder.path().join("log")).expect("sound");
    assert!(log.events.len() > 100 && log.end >= log.events.last().expect("some").cycle);
}

#[test]
fn a_run_that_a_check_ends_tells_what_its_line_went_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let words =
        ["run", "spandex-soc-small", "--workload", "bc", "--param", "source=karate", "--param", "blocks=4"];
    let fault =
        ["--param", "cpu_threads=2", "--set", "protocol=s-mesi-gpu", "--set", "inject=llc-forgotten-sharer"];
    let out =
        weft(folder.path(), &[&words[..], &fault, &["--max-cycles", "60000", "--events", "log"]].concat());
    let (_, wrong) = said(&out);
    assert_eq!(out.status.code(), Some(1), "{wrong}");
    // The sentence names a byte that somebody has read too late; its line's life is in the log.
    let byte = wrong.split("in byte ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a byte");
    let out = weft(folder.path(), &["why", "log", "--address", byte]);
    let (text, wrong) = said(&out);
    assert!(out.status.success(), "{wrong}");
    for wanted in [": LD {", ": ST {", ": INV", "row spandex.mesi_l1.Inv.S", "at the end:"] {
        assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
    }
}

/// Loads a trace and checks what the viewer relies on.
fn trace(folder: &Path, name: &str) -> Value {
    let bytes = std::fs::read(folder.join(name)).expect("written");
    match name.ends_with(".gz") {
        true => serde_json::from_reader(flate2::read::GzDecoder::new(&bytes[..])).expect("JSON"),
        false => serde_json::from_slice(&bytes).expect("JSON"),
    }
}

#[test]
fn a_trace_is_what_the_viewers_load() {
    let words = ["--events", "log", "--trace", "run.json.gz", "--to", "2000"];
    let (folder, _) = run(&[&["rec-4gpu-small"][..], &KARATE, &words].concat());
    let (log, all) =
        (Log::read(&folder.path().join("log")).expect("sound"), trace(folder.path(), "run.json.gz"));
    let events = all["traceEvents"].as_array().expect("a list");
    let number = |e: &Value, key: &str| e[key].as_u64().unwrap_or_else(|| panic!("no {key} in {e}"));
    // Tracks bear the names of the design.
    let names: BTreeMap<(u64, u64), &str> = events
        .iter()
        .filter(|e| e["ph"] == "M" && e["name"] == "thread_name")
        .map(|e| ((number(e, "pid"), number(e, "tid")), e["args"]["name"].as_str().expect("a name")))
        .collect();
    let actors: BTreeSet<&str> = log.header.actors.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names.values().copied().collect::<BTreeSet<_>>(), actors);
    let (mut last, mut slices): (BTreeMap<(u64, u64), u64>, BTreeSet<(u64, u64, u64)>) = Default::default();
    let mut flows: BTreeMap<u64, Vec<(&str, u64)>> = BTreeMap::new();
    let mut waits: BTreeMap<u64, Vec<(&str, u64)>> = BTreeMap::new();
    for e in events.iter().filter(|e| e["ph"] != "M" && e["cat"] != "step") {
        let (track, time) = ((number(e, "pid"), number(e, "tid")), number(e, "ts"));
        assert!(names.contains_key(&track), "a track without a name: {e}");
        assert!(last.insert(track, time).is_none_or(|before| before <= time), "time runs back: {e}");
        match e["ph"].as_str() {
            Some("X") => {
                assert_eq!(number(e, "dur"), 1);
                slices.insert((track.0, track.1, time));
            }
            Some(phase @ ("s" | "t" | "f")) => {
                let at = (track.0, track.1, time);
                assert!(
                    slices.contains(&at)
                        || events
                            .iter()
                            .any(|s| s["ph"] == "X"
                                && (number(s, "pid"), number(s, "tid"), number(s, "ts")) == at),
                    "a flow beside every slice: {e}"
                );
                flows.entry(number(e, "id")).or_default().push((phase, time));
            }
            Some(phase @ ("b" | "e")) => waits.entry(number(e, "id")).or_default().push((phase, time)),
            Some("i" | "C") => {}
            other => panic!("an event of kind {other:?}"),
        }
    }
    assert!(flows.len() > 100 && waits.len() >= flows.len(), "{} flows, {} waits", flows.len(), waits.len());
    for (id, steps) in &flows {
        let (first, end) = (steps[0], steps[steps.len() - 1]);
        assert_eq!((first.0, end.0), ("s", "f"), "flow {id}: {steps:?}");
        assert!(
            steps[1..steps.len() - 1].iter().all(|s| s.0 == "t") && first.1 < end.1,
            "flow {id}: {steps:?}"
        );
    }
    assert!(
        waits.values().all(|w| matches!(w[..], [("b", from), ("e", to)] if from < to)),
        "a wait without its end"
    );
    // Without a log of its own, plain, it is the same trace.
    let (plain, _) =
        run(&[&["rec-4gpu-small"][..], &KARATE, &["--trace", "trace.json", "--to", "2000"]].concat());
    assert_eq!(all, trace(plain.path(), "trace.json"));
}

/// A trace of a whole run is large: that is said before it begins, and not where the run ends sooner.
#[test]
fn a_trace_of_a_whole_run_is_told_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = [&["run", "rec-4gpu-small"][..], &KARATE, &["--trace", "t.json"]].concat();
    let said = |more: &[&str]| {
        let out = crate::program::weft_in(folder.path(), &[&words[..], more].concat());
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    assert!(said(&["--max-cycles", "1"]).starts_with("--trace t.json: every message of the run, "));
    assert!(!said(&["--max-cycles", "1", "--to", "100"]).contains("every message"));
}

/// A trace ends with a whole cycle where it has grown to its limit, is a trace all the same, and says what it
/// leaves out.
#[test]
fn a_trace_ends_at_its_limit_and_says_so() {
    let limit = 200_000;
    let words = ["--trace", "t.json", "--to", "3000", "--trace-limit", &limit.to_string()];
    let of = |words: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let out = weft(folder.path(), &[&["run", "rec-4gpu-small"][..], &KARATE, words].concat());
        (folder, said(&out).0)
    };
    let ((cut, out), (whole, _)) = (of(&words), of(&words[..4]));
    let end = out.split_once("of the cycles before ").expect("told").1;
    let (end, rest) = end.split_once(':').expect("a cycle");
    let end: u64 = end.parse().expect("a number");
    assert!(rest.starts_with(&format!(" there it has {limit} bytes; --from and --to")), "{rest}");
    let size = std::fs::metadata(cut.path().join("t.json")).expect("written").len();
    assert!((limit..limit + 100_000).contains(&size), "{size} bytes");
    let events = |folder: &Path| trace(folder, "t.json")["traceEvents"].as_array().expect("a list").clone();
    let mut wanted = events(whole.path());
    let before = wanted.len();
    wanted.retain(|e| e["cat"] == "step" || e["ts"].as_u64().is_none_or(|time| time < end));
    assert!(wanted.len() < before && (1..3000).contains(&end), "{} of {before}", wanted.len());
    assert_eq!(events(cut.path()), wanted);
}
