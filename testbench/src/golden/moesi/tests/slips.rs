//! Every planted fault is found, and its shortest counterexample says what it breaks.

use crate::golden::moesi::explore::explore;
use crate::golden::moesi::fabric::Params;
use crate::golden::moesi::msg::Kind::Load;
use crate::golden::moesi::slips::Slip;
use crate::golden::moesi::system::{Instr, System};

/// A slip, the system in which it is looked for, how long the shortest way is, and what it breaks.
struct Case {
    slip: Slip,
    p: Params,
    steps: usize,
    text: &'static str,
}

fn two() -> Params {
    Params::tiny(2, 1)
}

fn three() -> Params {
    Params { outstanding: 1, ..Params::tiny(3, 1) }
}

fn lines(nodes: u8) -> Params {
    Params { outstanding: 1, replaces: false, ..Params::tiny(nodes, 2) }
}

fn case(slip: Slip, p: Params, steps: usize, text: &'static str) -> Case {
    Case { slip, p, steps, text }
}

const SWMR: &str = "not one writer or many readers";
const STUCK: &str = "nothing can happen any more";

fn cases() -> Vec<Case> {
    let room = Params { rsp_room: 1, ..lines(2) };
    vec![
        case(Slip::FwdMLeaves, three(), 10, SWMR),
        case(Slip::InvNotApplied, three(), 12, "the entry is"),
        case(Slip::EBesideSharer, two(), 8, SWMR),
        case(Slip::DoneEarly, two(), 3, "sends Done"),
        case(Slip::AckTooFew, three(), 12, SWMR),
        case(Slip::OwnStays, two(), 8, SWMR),
        case(Slip::StalePutWrites, three(), 15, "memory has"),
        case(Slip::ReleaseDoesNotWait, Params { releases: true, ..two() }, 3, "a release"),
        case(Slip::TakenWithoutRow, two(), 11, "finds 0, not 1"),
        case(Slip::DoneNeedsRoom, Params { homes_of: [0, 1, 0, 0, 0, 0, 0, 0], ..room }, 8, STUCK),
        case(Slip::LoadPassesStore, Params { ops: 3, ..two() }, 9, "is performed before"),
        case(Slip::ReplaceUnderWay, two(), 16, "there is no copy"),
        case(Slip::RequestPassesPut, three(), 10, "finds Own"),
        case(Slip::RowBeforeWay, Params { entries: 1, pending: 1, ..lines(2) }, 9, STUCK),
        case(Slip::BackWithoutData, two(), 9, "memory has"),
        case(Slip::RequestHoldsBank, Params { queue: 0, ..three() }, 7, STUCK),
        case(Slip::AloneIsStale, two(), 9, SWMR),
        case(Slip::FlagIgnoresMshr, two(), 9, SWMR),
        case(Slip::SCopyStaysAtEntry, three(), 15, SWMR),
        case(Slip::RemotePassesOwnMshr, three(), 16, SWMR),
        case(Slip::OwnPassesInQueue, three(), 16, SWMR),
    ]
}

/// The only one that needs more than 100,000 states.
fn large() -> Case {
    case(Slip::AckNeedsRoom, Params { rsp_room: 1, inv_room: 1, ..lines(3) }, 21, STUCK)
}

#[test]
fn each_is_found() {
    let cases = cases();
    for slip in Slip::ALL.into_iter().filter(|slip| *slip != large().slip) {
        assert!(cases.iter().any(|case| case.slip == slip), "no case for {slip:?}");
    }
    find(cases);
}

#[test]
fn long_a_large_one_is_found() {
    find(vec![large()]);
}

fn find(cases: Vec<Case>) {
    for Case { slip, p, steps, text } in cases {
        let start = System::new(Params { slip: Some(slip), ..p });
        let found = explore(&start, 3_000_000, &|_| None);
        let story = found.violation.unwrap_or_default();
        println!(
            "{} | {} states | {} steps | {}",
            slip.id(),
            found.states,
            found.length,
            story.lines().next().unwrap_or("")
        );
        assert!(story.contains(text), "{slip:?} in {p:?}: {story}");
        assert_eq!(found.length, steps, "{slip:?}: {story}");
    }
}

/// Two homes that hold their banks for each other's REQ: the same fault, on the networks.
#[test]
fn full_requests_hold_two_banks() {
    let homes_of = [0, 0, 0, 1, 1, 1, 0, 0];
    let base = Params::tiny(2, 6);
    let p = Params { homes_of, outstanding: 3, homes: 1, req_room: 1, mshrs: 3, replaces: false, ..base };
    let loads = |from: u8| (from..from + 3).map(|line| Instr::Op(Load, line)).collect::<Vec<_>>();
    let programs = [loads(3), loads(0)];
    let programs: Vec<&[Instr]> = programs.iter().map(Vec::as_slice).collect();
    let wrong = System::with(Params { slip: Some(Slip::RequestHoldsBank), ..p }, &programs);
    let story = explore(&wrong, 1_000_000, &|_| None).violation.unwrap_or_default();
    assert!(story.contains(STUCK), "{story}");
    let right = explore(&System::with(p, &programs), 1_000_000, &|_| None);
    assert_eq!((right.violation, right.incomplete), (None, false));
}
