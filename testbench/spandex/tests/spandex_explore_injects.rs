//! Faults in the blocks that an exploration must find, each by a shortest way.

use weft_explore::search::{Limits, explore};
use weft_spandex::llc::LlcFault;
use weft_spandex::mesi_l1::MesiL1Inject;
use weft_spandex::tu_mesi::TuMesiInject;
use weft_spandex::{denovo_l1, gpu_l1, tu_gpu};
use weft_spandex_bench::explore::Kind::{Denovo, Gpu, Mesi};
use weft_spandex_bench::explore::mixes::{chain, evicting, ops, overlapping, pair, replacing};
use weft_spandex_bench::explore::{Config, Faults, Op, build, report};

/// The exploration ends with a violation whose text has one of these words.
fn finds(name: &str, faults: Faults, config: &Config, words: &[&str]) {
    let mut system = build(&Config { faults, ..config.clone() }).expect("legal parameters");
    // Rules are tried by the explorations without faults.
    system.net.blocks.iter_mut().for_each(|block| block.noise = false);
    let limits = Limits { states: 5_000_000, live: true, ..Limits::default() };
    let found = explore(&mut system, limits, &mut |_| {});
    let violation =
        found.violation.unwrap_or_else(|| panic!("{name} is not found in {} states", found.states));
    let story = report::counterexample(&mut system, &violation);
    assert!(words.iter().any(|word| violation.text.contains(word)), "{name}: {story}");
    println!("| {name} | {} | {} | {} |", found.states, violation.path.len(), violation.text);
}

fn llc(fault: LlcFault, config: &Config, words: &[&str]) {
    finds(&format!("bank: {fault:?}"), Faults { llc: fault, ..Faults::default() }, config, words);
}

/// Operations of each device.
fn doing(config: Config, alphabets: &[&str]) -> Config {
    Config { alphabets: alphabets.iter().map(|text| ops(text)).collect(), ..config }
}

const OLD: &[&str] = &["is newer, and must be seen", "no order of its writes explains"];

#[test]
fn faults_of_the_bank_are_found() {
    let chain = chain();
    llc(LlcFault::EarlyAck, &pair([Mesi, Mesi], [2, 1]), &["llc_blocked_complete"]);
    llc(LlcFault::NoCross, &chain, &["tu_mesi_rsp_wbp"]);
    llc(LlcFault::UnlatchedPolicy, &chain, &["is owned by devices"]);
    llc(LlcFault::ForgottenSharer, &chain, &["a shared copy that the bank does not know"]);
    llc(LlcFault::DropOwned, &replacing([Denovo, Denovo], [1, 1]), &["wbb_valid"]);
    llc(LlcFault::LostDirty, &replacing([Denovo, Denovo], [2, 1]), OLD);
    llc(LlcFault::NoWait, &evicting([Denovo, Gpu], [1, 1]), &["nobody's value", "holds", "llc_"]);
    llc(LlcFault::StaleOwner, &pair([Denovo, Gpu], [2, 1]), &["is owned by devices", "llc_", "nobody's"]);
    let extras = doing(pair([Denovo, Denovo], [1, 2]), &["ST X.0", "LD X.1,LD X.0"]);
    llc(LlcFault::OwnedExtras, &extras, &["nobody's value"]);
}

#[test]
fn faults_of_gpu_l1_are_found() {
    use gpu_l1::Inject::{AtomicNoMark, EarlyRelease, FillOverStore, NoStale};
    let l1 = |fault, config: Config| {
        let faults = Faults { gpu_l1: fault, ..Faults::default() };
        finds(&format!("gpu-l1: {fault:?}"), faults, &config, OLD);
    };
    let two = |budgets| overlapping([Gpu, Gpu], budgets);
    l1(EarlyRelease, doing(two([2, 2]), &["ST X.0,SYNC X.1", "SYNC X.1,LD X.0"]));
    l1(NoStale, doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]));
    l1(FillOverStore, doing(two([3, 0]), &["LD X,ST X.0"]));
    l1(AtomicNoMark, doing(two([3, 0]), &["LD X.1,AT X.0,LD X.0"]));
}

#[test]
fn faults_of_tu_gpu_are_found() {
    use tu_gpu::Inject::{EarlyWt, NackLost};
    let unit = |fault, config: Config, words: &[&str]| {
        let faults = Faults { tu_gpu: fault, ..Faults::default() };
        finds(&format!("tu-gpu: {fault:?}"), faults, &config, words);
    };
    unit(
        NackLost,
        evicting([Denovo, Gpu], [1, 1]),
        &["nothing can happen any more", "not everything can be"],
    );
    unit(EarlyWt, doing(pair([Denovo, Gpu], [2, 1]), &["ST X.0,LD X.0", "ST X"]), &["tu_gpu", "is newer"]);
}

#[test]
fn faults_of_denovo_l1_are_found() {
    use denovo_l1::Inject::{KeepsOwnership, NoCross, NoDelay, NoStale, NoWait, StaleExtras};
    let l1 = |fault, config: Config, words: &[&str]| {
        let faults = Faults { denovo_l1: fault, ..Faults::default() };
        finds(&format!("denovo-l1: {fault:?}"), faults, &config, words);
    };
    let two = |budgets| overlapping([Denovo, Denovo], budgets);
    l1(NoStale, doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]), OLD);
    l1(NoCross, evicting([Denovo, Gpu], [2, 1]), &["denovo_l1_", "llc_"]);
    l1(KeepsOwnership, pair([Denovo, Denovo], [1, 1]), &["is owned by devices", "denovo_l1_"]);
    l1(NoDelay, pair([Denovo, Denovo], [1, 1]), &["nothing can happen any more", "no order"]);
    l1(StaleExtras, doing(two([3, 1]), &["LD X.1,ST X.0,LD X.0", "AT X.0"]), OLD);
    l1(NoWait, evicting([Denovo, Denovo], [2, 1]), &["llc_", "denovo_l1_", "is newer"]);
}

#[test]
fn faults_of_mesi_l1_are_found() {
    let l1 = |fault, config: Config| {
        let faults = Faults { mesi_l1: fault, ..Faults::default() };
        finds(&format!("mesi-l1: {fault:?}"), faults, &config, OLD);
    };
    l1(MesiL1Inject::JoinShut, doing(overlapping([Mesi, Mesi], [3, 2]), &["LD X", "LD X,ST X.0"]));
    l1(MesiL1Inject::ReadWbp, doing(pair([Mesi, Denovo], [2, 1]), &["LD X", "ST X.0"]));
    // The flag is in another line, so that the store and it do not wait in one list.
    let prelude = vec![(0, Op::Store(1, 1)), (1, Op::Load(0, 3))];
    let flag = doing(overlapping([Mesi, Mesi], [2, 2]), &["ST X.0,SYNC Y.0", "SYNC Y.0,LD X"]);
    l1(MesiL1Inject::EarlyRelease, Config { prelude, lines: vec![0, 2], ..flag });
}

#[test]
fn faults_of_tu_mesi_are_found() {
    use TuMesiInject::{KeepOnce, LostWord, NoCross, NoR2, RemovalFirst};
    let unit = |fault, config: Config, words: &[&str]| {
        let faults = Faults { tu_mesi: fault, ..Faults::default() };
        finds(&format!("tu-mesi: {fault:?}"), faults, &config, words);
    };
    let known = "a shared copy that the bank does not know";
    unit(KeepOnce, doing(pair([Mesi, Mesi], [2, 2]), &["LD X", "LD X,ST X.0"]), &[known, "is newer"]);
    unit(RemovalFirst, doing(pair([Mesi, Mesi], [1, 1]), &["AT X.0"]), &["no order", "is newer"]);
    unit(
        LostWord,
        pair([Mesi, Denovo], [2, 1]),
        &["is owned by devices", "tu_mesi", "llc_", "nothing can happen"],
    );
    unit(NoR2, Config { l1: (1, 1, 2), ..evicting([Mesi, Mesi], [2, 1]) }, &["tu_mesi_r2"]);
    unit(NoCross, chain(), &["tu_mesi"]);
}
