//! Each rule left out fails: the program that shows it, which holds with the rule.

use weft_spandex_bench::golden::device::access::Hint;
use weft_spandex_bench::golden::device::{Kind, LoadHow, StoreHow};
use weft_spandex_bench::golden::llc::Choice;
use weft_spandex_bench::golden::slip::Slip;
use weft_spandex_bench::golden::system::SystemParams;
use weft_spandex_bench::golden::system::families::{Programs, check};
use weft_spandex_bench::golden::system::program::{Instr, add, get, ld, put, st, update};
use weft_spandex_bench::golden::system::schedule::Schedule;

use Kind::{DeNovo, Flex, Gpu, Mesi};

const LIMIT: usize = 400_000;

fn params(kinds: &[Kind]) -> SystemParams {
    SystemParams { words: 3, ..SystemParams::tiny(kinds) }
}
/// Holds with the rule, and fails without it in these words.
#[track_caller]
fn shows(slip: Slip, p: &SystemParams, programs: &Programs, how: &str) {
    let Some(found) = check(p.clone(), programs, LIMIT) else { panic!("a data race") };
    if let Some(violation) = found.violation {
        panic!("with the rule of {slip:?}: {violation}");
    }
    assert!(!found.incomplete, "{slip:?}: more than {LIMIT} states");
    let slipped = SystemParams { slip: Some(slip), ..p.clone() };
    let violation = check(slipped, programs, LIMIT).and_then(|found| found.violation);
    let Some(violation) = violation else { panic!("{slip:?} is not found in {} states", found.states) };
    assert!(violation.contains(how), "{slip:?}: {violation}");
}
/// Data in word 0 of line 0, the flag in line 1.
fn writer(device: u8) -> (u8, Vec<Instr>) {
    (device, vec![st(0, 200), put(1, 201).at(1)])
}
fn reader(device: u8) -> (u8, Vec<Instr>) {
    (device, vec![get(1).at(1), Instr::If(201), ld(0)])
}

const NOT_SC: &str = "is not sequentially consistent";

/// Section 2: the word of the extras comes again from the one that was asked for it.
#[test]
fn extras_answer_outstanding_words() {
    let line = Hint { wide: true, load: Some(LoadHow::V), ..Hint::default() };
    let programs = vec![(0, vec![add(1, 1), add(2, 1)]), (1, vec![ld(0).how(line)])];
    shows(Slip::ExtrasAnswer, &params(&[DeNovo, Flex]), &programs, "device 1: unexpected");
}

/// R1: the second grant finds its owner without the word.
#[test]
fn two_requests_for_a_word() {
    let programs = vec![(0, vec![ld(1)]), (0, vec![add(0, 1)]), (1, vec![add(0, 1)])];
    shows(
        Slip::TwoRequests,
        &SystemParams { words: 2, ..params(&[Mesi, Gpu]) },
        &programs,
        "cannot be meant",
    );
}

/// R2: the write-back of one ownership strikes the next.
#[test]
fn a_request_during_a_write_back() {
    for kind in [DeNovo, Mesi, Flex] {
        let p = SystemParams { l1_evictions: 1, ..params(&[kind, Gpu]) };
        shows(Slip::RequestDuringWriteBack, &p, &vec![(0, vec![add(0, 1), add(0, 1)])], "");
    }
}

/// R2: RspWB overtakes the RvkO, which then finds nothing that it could mean.
#[test]
fn a_crossed_write_back_closes_early() {
    for kind in [DeNovo, Mesi, Flex] {
        let p = SystemParams { l1_evictions: 1, ..params(&[kind, Gpu]) };
        let programs = vec![(0, vec![add(0, 1)]), (1, vec![add(0, 1)])];
        shows(Slip::IgnoreCross, &p, &programs, "cannot be meant");
    }
}

/// Section 5: the write-back is accepted, the word written through, and then read from the old owner's buffer.
#[test]
fn direct_requests_from_a_write_back_buffer() {
    let direct =
        Hint { load: Some(LoadHow::V), store: Some(StoreHow::Wt), direct: Some(0), ..Hint::default() };
    let through = Hint { direct: None, ..direct };
    let p = SystemParams { words: 2, l1_evictions: 1, ..params(&[Mesi, Flex]) };
    let programs = vec![(0, vec![put(1, 210)]), (1, vec![st(0, 220).how(through), ld(0).how(direct)])];
    shows(Slip::DirectFromBuffer, &p, &programs, NOT_SC);
}

/// Section 7: a line asked for by one warp before the acquire brings old data in after it, for GPU coherence whole, for DeNovo in extras.
#[test]
fn stale_reads() {
    for kind in [Gpu, DeNovo, Flex] {
        for other in [Gpu, DeNovo, Mesi] {
            let programs = vec![(0, vec![ld(2)]), reader(0), writer(1)];
            shows(Slip::NoStale, &params(&[kind, other]), &programs, NOT_SC);
        }
    }
}

/// Section 7: the fill of another warp's load overwrites a word that was stored and written through meanwhile.
#[test]
fn a_fill_overwrites_an_own_store() {
    let programs = vec![(0, vec![ld(1)]), (0, vec![st(0, 200), Instr::Release, ld(0)])];
    shows(Slip::FillOverwrites, &params(&[Gpu, Gpu]), &programs, NOT_SC);
}

/// Section 7: extras bring back a word from before the own store, once its ownership is gone.
#[test]
fn extras_after_a_change() {
    for kind in [DeNovo, Flex] {
        let programs = vec![(0, vec![ld(1)]), (0, vec![st(0, 200), ld(0)]), (1, vec![add(2, 1)])];
        shows(Slip::ExtrasAlways, &params(&[kind, Mesi]), &programs, NOT_SC);
    }
}

/// Section 2, rule 3: the only entry of the write-back buffer waits for a forward that is behind one that waits for the entry.
#[test]
fn a_forward_waits_for_a_write_back_entry() {
    let p = SystemParams {
        words: 2,
        l1_evictions: 1,
        entries: (8, 8, 1),
        ordered_forwards: true,
        ..params(&[Mesi, DeNovo])
    };
    let programs =
        vec![(0, vec![add(0, 1), add(0, 1).at(1)]), (1, vec![add(1, 1).at(1)]), (1, vec![add(1, 1)])];
    shows(Slip::ForwardAllocates, &p, &programs, "nothing can happen any more");
}

/// The target of an update was owned, so nobody was invalidated, and S copies of other words stay.
#[test]
fn a_revoked_word_of_a_shared_line() {
    let how = |load| Hint { load: Some(load), ..Hint::default() };
    let programs = vec![
        (0, vec![add(1, 1), ld(0).how(how(LoadHow::S))]),
        (1, vec![ld(0).how(how(LoadHow::OData))]),
        (2, vec![add(1, 1)]),
    ];
    for policy in [None, Some(Choice::One)] {
        let p = SystemParams { policy, ..params(&[Flex, Flex, Gpu]) };
        shows(Slip::UnshareByTargets, &p, &programs, "in S and is no sharer");
    }
}

/// Extras of a V copy are as old as the copy.
#[test]
fn extras_from_a_valid_copy() {
    let own = Hint { load: Some(LoadHow::OData), ..Hint::default() };
    let line = Hint { load: Some(LoadHow::V), wide: true, ..Hint::default() };
    let programs = vec![
        (0, vec![ld(0).how(own), ld(2).how(line)]),
        (1, vec![get(2).at(1), Instr::If(201), ld(0), ld(1)]),
        (2, vec![st(1, 200), put(2, 201).at(1)]),
    ];
    shows(Slip::ExtrasFromCopies, &params(&[Flex, DeNovo, Gpu]), &programs, NOT_SC);
}

/// Section 3: the data field of the LLC holds the owner's number.
#[test]
fn a_clean_line_without_data() {
    let p = SystemParams { l1_evictions: 1, ..params(&[Mesi, Gpu]) };
    shows(Slip::CleanWithoutData, &p, &vec![(0, vec![ld(0)]), (1, vec![ld(0)])], NOT_SC);
}

/// Section 4.3: two line-granular devices wait for each other's words.
#[test]
fn words_granted_one_by_one() {
    let p = SystemParams { words: 2, ..params(&[Mesi, Mesi]) };
    let programs = vec![(0, vec![add(0, 1)]), (1, vec![add(1, 1)])];
    shows(Slip::SplitCommit, &p, &programs, "nothing can happen any more");
}

/// Section 4.3: after the revocation option 3 would be chosen, though the owner has answered by RspS.
#[test]
fn the_option_is_chosen_again() {
    for kind in [Mesi, Flex] {
        let load = Hint { load: Some(LoadHow::S), ..Hint::default() };
        let programs = vec![(0, vec![add(0, 1)]), (1, vec![ld(1).how(load), ld(2).how(load)])];
        let p = SystemParams { words: 3, ..params(&[Mesi, kind]) };
        shows(Slip::OptionAgain, &p, &programs, "");
    }
}

/// Section 5: an update is lost if the removal takes the word before it.
#[test]
fn the_removal_comes_first() {
    for kind in [DeNovo, Mesi, Flex] {
        let programs = vec![(0, vec![add(0, 1)]), (1, vec![add(0, 1)])];
        shows(Slip::RemovalFirst, &params(&[kind, DeNovo]), &programs, NOT_SC);
    }
}

/// Section 5: an S copy stays behind that nobody will invalidate.
#[test]
fn use_once_data_is_kept() {
    for kind in [Mesi, Flex] {
        let load = Hint { load: Some(LoadHow::S), wide: true, ..Hint::default() };
        let reads = vec![ld(2).how(load), get(1).at(1), Instr::If(201), ld(0).how(load)];
        let p = SystemParams { policy: Some(Choice::One), ..params(&[kind, Gpu]) };
        shows(Slip::KeepUseOnce, &p, &vec![(0, reads), writer(1)], "in S and is no sharer");
    }
}

/// Section 7: a flag stored by ReqO is seen by a third device before its old owner has lost it.
#[test]
fn an_atomic_store_without_data() {
    let programs = vec![
        (0, vec![put(0, 201)]),
        (1, vec![get(0), get(1), get(0)]),
        (2, vec![get(0), Instr::If(201), put(1, 202)]),
    ];
    shows(Slip::WeakAtomicStore, &SystemParams { words: 2, ..params(&[DeNovo; 3]) }, &programs, NOT_SC);
}

/// The LLC does not know that a line it gets back from a reader is newer than memory.
#[test]
fn a_dirty_word_is_passed_on_as_clean() {
    let p = SystemParams { words: 2, l1_evictions: 1, llc_evictions: 1, ..params(&[DeNovo, Mesi]) };
    shows(Slip::CleanTransfer, &p, &vec![(0, vec![st(0, 200)]), (1, vec![ld(1)])], NOT_SC);
}

/// A line is asked for, for its word 0; its owner has not heard of that when another device writes word 1. Told at once that it may, the writer publishes, and the owner of before reads its own old word.
#[test]
fn a_writer_is_answered_before_the_line_has_left_its_owner() {
    let line = Hint { wide: true, ..Hint::default() };
    for kinds in [[Mesi, Mesi, Gpu], [Flex, Flex, DeNovo], [Flex, Mesi, Gpu]] {
        let reads = vec![get(0).how(line), get(1).at(1), Instr::If(201), ld(1)];
        let message = vec![st(1, 200), put(1, 201).at(1)];
        let programs = vec![(0, vec![add(0, 1).how(line)]), (1, reads), (2, message)];
        let p = SystemParams { words: 2, ..params(&kinds) };
        shows(Slip::GrantAtOnce, &p, &programs, NOT_SC);
    }
}

/// An access after an acquire joins an entry of which a word is to go to its writer, which has not been answered: it may see the old value.
#[test]
fn an_access_joins_a_word_that_is_to_go() {
    for other in [DeNovo, Gpu] {
        let message = vec![st(1, 200), put(1, 201).at(1)];
        let reads = vec![get(1).at(1), Instr::If(201), ld(1)];
        let programs = vec![(0, vec![add(0, 1)]), (0, reads), (1, message)];
        let p = SystemParams { words: 2, ..params(&[Mesi, other]) };
        let found = check(p, &programs, LIMIT).expect("no data race");
        assert_eq!((found.violation, found.incomplete), (None, false));
    }
}

/// A read of another warp is sent after the update was, and comes before it to the LLC.
#[test]
fn reads_during_an_update() {
    let programs = vec![(0, vec![add(0, 1), ld(0)]), (0, vec![ld(1)])];
    shows(Slip::StaleAtIssueOnly, &params(&[Gpu, Gpu]), &programs, NOT_SC);
}

/// A thread posts an update, then loads the word: the load is the first at the LLC.
#[test]
fn a_load_overtakes_an_update() {
    for p in [params(&[Gpu]), SystemParams { atomics_through: true, ..params(&[DeNovo]) }] {
        shows(Slip::LoadPastUpdate, &p, &vec![(0, vec![update(0, 1), ld(0)])], NOT_SC);
    }
}

/// Ownership comes while a second store waits; the third must not overtake it.
#[test]
fn a_store_overtakes_the_buffer() {
    for kind in [DeNovo, Flex] {
        let programs = vec![(0, vec![st(0, 200), st(0, 201), st(0, 202)])];
        shows(Slip::StoreInPlace, &params(&[kind]), &programs, NOT_SC);
    }
}

/// Option 2: nothing invalidates the RspV under way, and MESI drops nothing at an acquire.
#[test]
fn a_load_joins_an_open_reqs() {
    let p = SystemParams { policy: Some(Choice::Two), ..params(&[Mesi, Gpu]) };
    shows(Slip::JoinReqS, &p, &vec![(0, vec![ld(2)]), reader(0), writer(1)], NOT_SC);
}

/// Without escalation two writers starve a reader: each of its forwards comes when its owner has just lost the word.
#[test]
fn without_escalation_a_read_starves() {
    let mut s = {
        let p = SystemParams { slip: Some(Slip::NoEscalation), ..SystemParams::tiny(&[DeNovo, DeNovo, Gpu]) };
        Schedule::new(p, &[0, 1, 2])
    };
    s.run(0, add(0, 1)).hold("gets FwdReqV").run(2, ld(0));
    for round in 0..50 {
        let (owner, next) = (round % 2, (round + 1) % 2);
        s.run(next, add(0, 1)).pass(&format!("Dev({owner}) gets FwdReqV"));
        assert!(s.got(2).is_empty(), "served in round {round}");
    }
}
