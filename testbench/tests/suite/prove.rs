//! Proofs: verdicts that are known beforehand, small blocks, a mutant, and that what is recorded is of today's hardware.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use weft_rtl::ir::{Module, ModuleKind};
use weft_rtl::mutant::{Kind, plant, sites};
use weft_rtl::prelude::*;
use weft_tools::formal::{ProveError, ProveOptions, ProveReport, Solver, Verdict, digest, prove};

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
        let step = |of: Bits| mux(of.clone().eq(9), lit(0, 4), of + 1);
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
        let _ready = input::<Bool>("out_ready", ());
        output::<Bits>("out_data", 4).set(lit(5, 4));
    })
    .expect("a module");
    assert_eq!(verdicts(&module, None)["out_holds"], Verdict::Failed { cycle: 2 });
}

#[test]
fn an_environment_that_allows_nothing_proves_nothing() {
    let module = Module::build("refused", ModuleKind::Block, || {
        let number = input::<Bits>("number", 4);
        let _ = number;
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

#[test]
fn a_mutant_of_a_queue_breaks_an_assertion() {
    let words = "depth=1 width=1";
    let whole = block("fifo", words);
    let failing = |v: &Verdict| matches!(v, Verdict::Failed { .. });
    assert!(!verdicts(&whole, None).values().any(failing));
    let ready = sites(&whole).into_iter().filter(|site| site.kind == Kind::Negated);
    let failed: BTreeSet<String> = ready
        .flat_map(|mutant| verdicts(&plant(&mutant, || block("fifo", words)), None))
        .filter(|(_, verdict)| failing(verdict))
        .map(|(name, _)| name)
        .collect();
    assert!(failed.contains("fifo_no_overflow") && failed.contains("fifo_no_underflow"), "{failed:?}");
}
