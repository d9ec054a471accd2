//! `weft prove`: verdicts that are known beforehand, small blocks, a mutant, the record, and that what is recorded is of today's hardware.

use crate::program::{WEFT, refused, stdout};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use weft_rtl::area::area;
use weft_rtl::ir::{Module, ModuleKind};
use weft_rtl::mutant::{Kind, VARIABLE, describe, sites};
use weft_rtl::prelude::*;
use weft_tools::formal::{ProveError, ProveOptions, ProveReport, Solver, Verdict, digest, prove};

/// What is known of all blocks.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/prove.csv");

/// Cycles after reset of the proofs here.
const DEPTH: u32 = 8;

fn proof(module: &Arc<Module>, induction: Option<u32>) -> Result<ProveReport, ProveError> {
    let folder = tempfile::tempdir().expect("a folder");
    let options = ProveOptions {
        depth: DEPTH,
        induction,
        solver: Solver::Yices,
        limit: Duration::from_secs(120),
        jobs: 1,
        workdir: folder.path().to_path_buf(),
        stop: Arc::default(),
    };
    prove(module, &options, &|_, _| {})
}

fn verdicts(module: &Arc<Module>, induction: Option<u32>) -> BTreeMap<String, Verdict> {
    let report = proof(module, induction).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.reaches, "{report:?}");
    report.assertions.into_iter().map(|a| (a.name, a.verdict)).collect()
}

fn block(name: &str, words: &str) -> Arc<Module> {
    weft_catalog::build(name, &weft_catalog::sets::given(words)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn each_verdict_is_the_one_that_follows_from_the_hardware() {
    let module = Module::build("counted", ModuleKind::Block, || {
        let enable = input::<Bool>("enable", ());
        let count = output_reg::<Bits>("count", 4);
        let twin = reg::<Bits>("twin", 4);
        let step = |of: Bits| mux(of.eq(9), lit(0, 4), of + 1);
        when(enable, || {
            count.set(step(count.get()));
            twin.set(step(twin.get()));
        });
        assert_always("below_ten", count.get().lt(10), "the count goes round at nine");
        assert_always("never_three", count.get().ne(3), "wrong: three steps lead there");
        // Of two counters that differ none ever catches up, so no number of cycles shows it of any state.
        assert_always("no_twelve", !count.get().eq(12) | twin.get().eq(12), "true");
        assert_always("not_six_apart", !(count.get().eq(1) & twin.get().eq(7)), "true, not inductive alone");
    })
    .expect("a module");
    let known = verdicts(&module, Some(4));
    assert_eq!(known["never_three"], Verdict::Failed { cycle: 3 });
    assert!(matches!(known["below_ten"], Verdict::Proved { .. }), "{known:?}");
    assert!(matches!(known["no_twelve"], Verdict::Proved { .. }), "{known:?}");
    assert_eq!(known["not_six_apart"], Verdict::Bounded { cycles: DEPTH });
}

#[test]
fn a_sender_that_takes_its_message_back_is_seen() {
    let module = Module::build("fickle", ModuleKind::Block, || {
        let odd = reg::<Bool>("odd", ());
        odd.set(!odd.get());
        output::<Bool>("out_valid", ()).set(odd.get());
        let taken = output_reg::<Bool>("taken", ());
        when(input::<Bool>("out_ready", ()), || taken.set(true));
        output::<Bits>("out_data", 4).set(lit(5, 4));
    })
    .expect("a module");
    assert_eq!(verdicts(&module, None)["out_holds"], Verdict::Failed { cycle: 2 });
}

#[test]
fn an_environment_that_allows_nothing_proves_nothing() {
    let module = Module::build("refused", ModuleKind::Block, || {
        let number = input::<Bits>("number", 4);
        output_reg::<Bits>("same", 4).set(number);
        assert_always("anything", lit(0, 1).eq(1), "false");
    })
    .map(|module| {
        let mut module = Module::clone(&module);
        module.signals.iter_mut().filter(|s| s.name == "number").for_each(|s| s.below = Some(0));
        Arc::new(module)
    })
    .expect("a module");
    let error = proof(&module, Some(2)).expect_err("nothing satisfies it").to_string();
    assert!(error.contains("no input of refused satisfies its environment"), "{error}");
}

#[test]
fn small_blocks_are_proved_by_induction() {
    for (name, words) in [("fifo", "depth=3 width=5"), ("sfifo", "entries=2 addr_bits=32 line=128")] {
        let known = verdicts(&block(name, words), Some(4));
        assert!(known.values().all(|v| matches!(v, Verdict::Proved { .. })), "{name}: {known:?}");
    }
}

/// A queue with room for two values.
const QUEUE: [&str; 5] = ["fifo", "--param", "depth=2", "--param", "width=3"];

#[test]
fn a_mutant_of_a_queue_breaks_an_assertion_and_leaves_its_trace() {
    let whole = block("fifo", "depth=2 width=3");
    let late = |m: &&weft_rtl::mutant::Mutant| {
        m.kind == Kind::Negated && describe(&whole, m).starts_with("eq(fifo_count, 1), for in_ready")
    };
    let all = sites(&whole);
    let mutant = all.iter().find(late).expect("ready falls when the last row is taken");
    let folder = tempfile::tempdir().expect("a folder");
    let waves = folder.path().join("bad.vcd");
    let prove = |mutant: &str| {
        let mut command = Command::new(WEFT);
        command.arg("prove").args(QUEUE).args(["--depth", "8", "--waves"]).arg(&waves);
        command.env(VARIABLE, mutant).output().expect("the program starts")
    };
    assert!(prove("").status.success() && !waves.exists());
    let out = prove(&mutant.to_string());
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("assertion fifo_no_overflow fails in cycle 5 after reset"), "{said}");
    let trace = fs::read_to_string(&waves).expect("a trace");
    assert!(trace.contains("fifo_count"), "the trace has the signals of the block");
}

#[test]
fn what_is_in_the_record_is_not_asked_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("prove.csv");
    let path = record.to_str().expect("text");
    let ask = |depth: &str| stdout(&[&["prove"], &QUEUE[..], &["--depth", depth, "--record", path]].concat());
    assert!(ask("4").contains("hold for 4 cycles"));
    assert!(ask("4").contains("in the record, with"));
    assert!(ask("5").contains("hold for 5 cycles"), "more was asked");
    let text = fs::read_to_string(&record).expect("a record");
    let digest = digest(&block("fifo", "depth=2 width=3"));
    assert!(text.contains(&digest), "{text}");
    fs::write(&record, text.replace(&digest, "0123456789abcdef")).expect("written");
    assert!(ask("5").contains("hold for 5 cycles"), "the record is of other hardware");
    fs::write(&record, "a,b\n1,2\n").expect("written");
    refused(&[&["prove"], &QUEUE[..], &["--record", path]].concat(), "is no record of proofs");
}

/// Storage bits of a block that is proved again in seconds.
const SMALL: u64 = 500;

#[test]
fn what_is_recorded_of_small_blocks_is_of_todays_hardware() {
    let mut rows = csv::Reader::from_path(RECORD).expect("a record");
    let mut known: BTreeSet<(String, String, String)> = BTreeSet::new();
    for row in rows.records() {
        let row = row.expect("a row");
        known.insert((row[0].to_string(), row[1].to_string(), row[11].to_string()));
    }
    let mut small = 0;
    let mut stale = Vec::new();
    for (name, words, recorded) in known {
        let module = block(&name, &words);
        if area(&module).total_bits <= SMALL {
            small += 1;
            stale.extend((digest(&module) != recorded).then(|| format!("{name} {words}")));
        }
    }
    assert!(small >= 8, "the record holds the small blocks: {small}");
    assert!(stale.is_empty(), "other hardware or environment than was proved; run scripts/prove: {stale:#?}");
}

#[test]
fn wrong_input_about_proofs_is_one_sentence() {
    refused(&["prove", "fifi"], "there is no block fifi");
    refused(&["prove", "fifo", "--induction=0"], "0");
    refused(&["prove", "fifo", "--waves", "/nosuch/bad.vcd"], "--waves /nosuch/bad.vcd");
    let mut command = Command::new(WEFT);
    command.args(["prove", "fifo", "--solver", "boolector"]).env("PATH", "");
    let out = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && said.contains("boolector was not found"), "{said}");
}
