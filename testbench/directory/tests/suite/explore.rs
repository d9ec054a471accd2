//! All interleavings of two GPUs of the directory family on the RTL, and faults that an exploration must find (rec.md sections 4 to 7, hmg.md sections 4 to 8).

use weft_blocks::fabric::{FabricInject, Protocol};
use weft_directory_bench::explore::ops::{Issued, Stage};
use weft_directory_bench::explore::{
    Config, Memory, Op, System, build, explore, judge, protocols, report, walks,
};
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

/// Two GPUs of two GPMs; operations of the CU at the lines' home, then of one in the other GPU, at another place in it.
fn modules(protocol: Protocol, lists: [&str; 2], budgets: [usize; 2]) -> Config {
    let [near, far] = lists;
    Config { gpms: 2, ..config(protocol, &[near, far], &[budgets[0], 0, 0, budgets[1]]) }
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
fn gpus_of_two_gpms() {
    for protocol in [Protocol::NHCC, Protocol::HMG, Protocol::MOESI] {
        holds(&modules(protocol, ["ST X", "LD X"], [1, 1]));
    }
    for protocol in [Protocol::GPU_VI, Protocol::SW_FLAT, Protocol::SW_HIERARCHICAL] {
        holds(&modules(protocol, ["ST X,REL", "LD X,ACQ"], [2, 2]));
    }
}

#[test]
fn random_walks_through_gpus_of_two_gpms() {
    let alphabet = ["LD X,LD Y,LDs X,LDg X,ST X,ST Y,AMO X,REL,ACQ,RELg,ACQg"];
    for protocol in [Protocol::NHCC, Protocol::HMG, Protocol::HMG_REC, Protocol::GPU_VI] {
        let of = config(protocol, &alphabet, &[3, 3, 3, 3]);
        let mut system = build(&Config { gpms: 2, homes: vec![0, 3], ..of }).expect("legal parameters");
        let found = walks(&mut system, 20);
        if let Some(violation) = &found.violation {
            panic!("{protocol:?}: {}", report::counterexample(&mut system, violation));
        }
        assert_eq!(found.finished, 20);
    }
}

#[test]
fn releases_inside_a_gpu() {
    for protocol in [Protocol::NHCC, Protocol::GPU_VI, Protocol::SW_HIERARCHICAL] {
        let lists = ["ST X,RELg", "LD X,ACQg"];
        holds(&Config { gpus: 1, gpms: 2, ..config(protocol, &lists, &[2, 2]) });
    }
}

#[test]
fn a_fence_of_a_gpu_that_ends_when_it_begins_is_found() {
    for protocol in [Protocol::NHCC, Protocol::HMG, Protocol::GPU_VI, Protocol::SW_HIERARCHICAL] {
        let inject = FabricInject::FenceEarlyDone;
        let of = config(protocol, &["ST X,RELg", "LD X,ACQg"], &[2, 2]);
        finds(&Config { inject, gpus: 1, gpms: 2, homes: vec![1], ..of }, 80);
    }
}

#[test]
fn a_release_inside_a_gpu_says_nothing_to_another_one() {
    // The other GPU may still load the initial value, though it acquires from the whole system.
    let got = |scope: u8| {
        let issued = |op, released| Issued { op, stage: Stage::Done, released, got: None };
        let mut state = Memory { cus: vec![Vec::new(); 4], lines: vec![0] };
        state.cus[0] = vec![issued(Op::Store(0), 0), issued(Op::Release(scope), 0)];
        [1, 3].map(|cu| {
            let released = state.released(cu, 2);
            let mut after = state.clone();
            after.cus[cu] = vec![issued(Op::Acquire(2), released), issued(Op::Load(0, 0), 0)];
            judge::load(&after, 2, (cu, 1), 0, 0).is_ok()
        })
    };
    assert_eq!((got(1), got(2)), ([false, true], [false, false]));
}

#[test]
fn what_cannot_be_explored_is_refused() {
    let config = Config { protocol: Protocol::IDEAL, ..Config::default() };
    let text = build(&config).err().expect("its directory is no RTL").to_string();
    assert!(text.contains("protocol ideal") && text.contains("nhcc"), "{text}");
    // A block's own sentence stands alone, with nothing below it that says the same.
    let refused = build(&Config { gpus: 1, gpms: 3, ..Config::default() }).err().expect("no power of two");
    let below = std::error::Error::source(&refused).map(ToString::to_string);
    assert!(refused.to_string().contains("gpms = 3") && below != Some(refused.to_string()), "{refused}");
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
