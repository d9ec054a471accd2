//! All interleavings of two GPUs of the directory family on the RTL, and faults that an exploration must find (rec.md sections 4 to 7, hmg.md sections 4 to 8).

use weft_blocks::fabric::{FabricInject, Protocol};
use weft_directory_bench::explore::{Config, Op, System, build, explore, protocols, report, walks};
use weft_explore::net::Timing;
use weft_explore::search::{Explored, Limits};

fn ops(lists: &[&str]) -> Vec<Vec<Op>> {
    let list = |text: &&str| text.split(',').map(|op| op.parse().expect("an operation")).collect();
    lists.iter().map(list).collect()
}

/// Operations of the CU at the lines' home, then of the other one.
fn config(protocol: Protocol, lists: &[&str], budgets: &[usize]) -> Config {
    Config { protocol, alphabets: ops(lists), budgets: budgets.to_vec(), ..Config::default() }
}

fn run(config: &Config) -> (System, Explored) {
    let mut system = build(config).expect("legal parameters");
    let live = config.inject == FabricInject::None;
    let found = explore(&mut system, Limits { live, ..Limits::default() }, &mut |_| {});
    (system, found)
}

/// Everything is visited without a violation, and from everywhere to the end; the states.
fn holds(config: &Config) -> usize {
    let (mut system, found) = run(config);
    if let Some(violation) = &found.violation {
        panic!("{:?}: {}", config.protocol, report::counterexample(&mut system, violation));
    }
    assert!(found.complete && found.finished > 0);
    println!("{:?}\n{}", config.protocol, report::table(&system, &found, true));
    found.states
}

/// The exploration ends with a load of an old value or a copy that is left behind; in no more than so many actions.
fn finds(config: &Config, most: usize) {
    let (mut system, found) = run(config);
    let violation = found.violation.unwrap_or_else(|| panic!("{:?} is not found", config.inject));
    let story = report::counterexample(&mut system, &violation);
    let old = ["gets the initial value", "holds the initial value"];
    assert!(old.iter().any(|text| violation.text.contains(text)), "{story}");
    assert!(violation.path.len() <= most, "{} actions\n{story}", violation.path.len());
    assert!(story.contains("takes cu_req: ST, line X"), "{story}");
}

#[test]
fn every_protocol_with_an_operation_each() {
    for protocol in protocols() {
        holds(&config(protocol, &["LD X,ST X,AMO X"], &[1, 1]));
    }
}

#[test]
fn nhcc_releases_what_the_home_has_written() {
    assert!(holds(&config(Protocol::NHCC, &["ST X,REL", "LD X,ACQ"], &[2, 2])) > 100_000);
}

#[test]
fn every_protocol_releases_what_another_gpu_has_written() {
    for protocol in protocols() {
        holds(&config(protocol, &["LD X,ACQ", "ST X,REL"], &[2, 2]));
    }
}

#[test]
fn what_cannot_be_explored_is_refused() {
    let config = Config { protocol: Protocol::IDEAL, ..Config::default() };
    let text = build(&config).err().expect("its directory is no RTL").to_string();
    assert!(text.contains("protocol ideal") && text.contains("nhcc"), "{text}");
}

#[test]
fn a_fence_that_ends_when_it_begins_is_found() {
    for protocol in [Protocol::NHCC, Protocol::GPU_VI, Protocol::HMG, Protocol::SW_FLAT] {
        let inject = FabricInject::FenceEarlyDone;
        finds(&Config { inject, ..config(protocol, &["LD X,ACQ", "ST X,REL"], &[2, 2]) }, 80);
    }
}

#[test]
fn a_release_that_the_l1_answers_early_is_found() {
    let inject = FabricInject::L1EarlyRelease;
    finds(&Config { inject, ..config(Protocol::NHCC, &["LD X,ACQ", "ST X,REL"], &[2, 2]) }, 100);
}

#[test]
fn an_acquire_that_keeps_copies_is_found() {
    let inject = FabricInject::L1KeepsCopies;
    finds(&Config { inject, ..config(Protocol::NHCC, &["ST X,REL", "LD X,ACQ"], &[2, 3]) }, 130);
}

#[test]
fn random_walks_through_two_lines() {
    let alphabet = ["LD X,LD Y,LDs X,ST X,ST Y,AMO X,REL,ACQ"];
    for protocol in [Protocol::REC, Protocol::HMG, Protocol::GPU_VI, Protocol::MOESI] {
        let config = Config { homes: vec![0, 0], open: 2, ..config(protocol, &alphabet, &[4, 4]) };
        let mut system = build(&config).expect("legal parameters");
        let found = walks(&mut system, 40);
        if let Some(violation) = &found.violation {
            panic!("{protocol:?}: {}", report::counterexample(&mut system, violation));
        }
        assert_eq!(found.finished, 40);
    }
}

#[test]
fn long_every_protocol_releases_what_the_home_has_written() {
    for protocol in protocols() {
        holds(&config(protocol, &["ST X,REL", "LD X,ACQ"], &[2, 3]));
    }
}

#[test]
fn long_every_protocol_with_two_operations_each() {
    for protocol in protocols() {
        holds(&config(protocol, &["LD X,ST X,AMO X"], &[2, 1]));
        holds(&config(protocol, &["LD X,ST X,AMO X"], &[1, 2]));
    }
}

#[test]
fn two_lines_that_meet_in_one_entry() {
    for protocol in [Protocol::NHCC, Protocol::MOESI] {
        holds(&Config { homes: vec![0, 0], ..config(protocol, &["LD X,ST X,LD Y,ST Y"], &[1, 1]) });
    }
}

#[test]
fn blocks_clocked_at_any_moment() {
    for protocol in [Protocol::NHCC, Protocol::GPU_VI, Protocol::MOESI] {
        holds(&Config { timing: Timing::Free, ..config(protocol, &["LD X,ST X"], &[1, 1]) });
    }
}

#[test]
fn long_the_other_gpu_reads_two_lines_of_one_entry() {
    for protocol in protocols() {
        holds(&Config { homes: vec![0, 0], ..config(protocol, &["ST X,ST Y", "LD X,LD Y"], &[1, 2]) });
    }
}
