//! Each rule of section 9 left out fails: the program that shows it, which holds with the rule.

use weft_hmesi_bench::golden::slip::Slip;
use weft_hmesi_bench::golden::system::{SystemParams, check};
use weft_spandex_bench::golden::device::Kind::{self, DeNovo, Gpu, Mesi};
use weft_spandex_bench::golden::msg::AmoOp;
use weft_spandex_bench::golden::system::families::{Programs, sums};
use weft_spandex_bench::golden::system::program::{Instr, Sem, add, amo, get, ld, put, st};

const LIMIT: usize = 400_000;
const NOT_SC: &str = "is not sequentially consistent";
const STUCK: &str = "nothing can happen any more";
const HOPELESS: &str = "the end is out of reach";

fn params(kinds: &[Kind], evictions: [u8; 3]) -> SystemParams {
    SystemParams { words: 3, evictions, ..SystemParams::tiny(kinds) }
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
/// A writer and a reader of two words of a line.
fn write_and_read() -> Programs {
    vec![(0, vec![st(0, 200)]), (1, vec![ld(1)])]
}
/// Device 0 loses its copy silently and asks again, device 1 writes.
fn reads_again(wide: bool) -> Programs {
    let again = if wide { vec![ld(2), Instr::Acquire, ld(2)] } else { vec![ld(2), ld(2)] };
    vec![(u8::from(wide), again), (u8::from(!wide), vec![ld(1), st(0, 200)])]
}

/// A forward or Recall finds a client without its data.
#[test]
fn the_l3_goes_on_before_the_owner_has_its_data() {
    for kinds in [[Mesi, Mesi], [Mesi, Gpu], [Mesi, DeNovo]] {
        shows(Slip::NoBusyX, &params(&kinds, [0; 3]), &sums(2, 1), "FwdGetM");
    }
}

/// The L3 serves the next reader from data of before the owner.
#[test]
fn the_l3_goes_on_before_it_has_the_data() {
    let programs =
        vec![(0, vec![st(0, 200), put(1, 201)]), (1, vec![ld(2)]), (1, vec![get(1), Instr::If(201), ld(0)])];
    for kinds in [[Mesi, Mesi], [Mesi, Gpu], [Mesi, DeNovo]] {
        shows(Slip::NoWaitForWbData, &params(&kinds, [0; 3]), &programs, NOT_SC);
    }
}

/// WBAck overtakes the forward, which finds nobody.
#[test]
fn a_put_is_acknowledged_while_a_forward_is_under_way() {
    for (kinds, evictions) in
        [([Mesi, Mesi], [1, 0, 0]), ([Mesi, Gpu], [0, 1, 0]), ([Mesi, DeNovo], [0, 1, 0])]
    {
        shows(Slip::PutDoesNotWait, &params(&kinds, evictions), &sums(2, 1), " in I");
    }
}

/// The Put of the old owner ends the ownership of the new one.
#[test]
fn a_put_of_another_client() {
    for (kinds, evictions) in [([Mesi, Mesi], [1, 0, 0]), ([Mesi, Gpu], [0, 1, 0])] {
        shows(Slip::PutOfAnyone, &params(&kinds, evictions), &sums(2, 1), "");
    }
}

/// PutE carries no data.
#[test]
fn the_data_of_a_clean_put() {
    for (kind, evictions) in [(Mesi, [1, 0, 0]), (Gpu, [0, 1, 0])] {
        shows(Slip::PutECarries, &params(&[kind], evictions), &vec![(0, vec![ld(0)])], NOT_SC);
    }
}

/// The line is fetched and given away anew while a sharer still has it.
#[test]
fn an_eviction_that_does_not_wait_for_sharers() {
    let programs = vec![(0, vec![ld(0)]), (1, vec![ld(1), st(1, 300)])];
    for kinds in [[Mesi, Mesi], [Mesi, Gpu]] {
        shows(Slip::EvictWithoutAcks, &params(&kinds, [0, 0, 1]), &programs, "at the clients");
    }
}

/// One line in the L3: whoever fetches it must use it, or each of two requests evicts the line of the other for ever.
#[test]
fn the_fetched_line_goes_to_another_request() {
    let read = |line| amo(AmoOp::Read, 0, 0, Sem::Acq).at(line);
    let programs = vec![(0, vec![ld(0)]), (0, vec![read(0)]), (1, vec![read(1)])];
    let p = SystemParams { lines: [4, 1], ..params(&[Mesi, DeNovo], [1, 0, 0]) };
    shows(Slip::FetchedLast, &p, &programs, HOPELESS);
}

/// A copy that the L3 does not know of.
#[test]
fn the_old_owner_keeps_a_copy() {
    for kinds in [[Mesi, Mesi], [Mesi, Gpu]] {
        shows(Slip::ForgetOldOwner, &params(&kinds, [0; 3]), &write_and_read(), "in S, the L3 has");
    }
}

/// The Put waits for the line, the line for the data behind it.
#[test]
fn the_data_of_a_forward_behind_a_put() {
    let p = SystemParams { heads: true, ..params(&[Mesi, Mesi], [1, 0, 0]) };
    shows(Slip::WbDataOnWb, &p, &write_and_read(), STUCK);
}

/// The client asks again while its Put is under way.
#[test]
fn a_client_forgets_its_put() {
    let programs = vec![(0, vec![add(0, 1), add(0, 1)]), (1, vec![add(0, 1)])];
    shows(Slip::NoIi, &params(&[Mesi, Mesi], [1, 0, 0]), &programs, "");
    let programs = vec![(0, vec![add(0, 1)]), (1, vec![add(0, 1), add(0, 1)])];
    shows(Slip::NoIi, &params(&[Mesi, Gpu], [0, 1, 0]), &programs, "");
}

/// Inv overtakes DataS: the copy that comes is nobody's.
#[test]
fn a_copy_that_was_invalidated_before_it_came() {
    shows(Slip::IsiKeeps, &params(&[Mesi, Mesi], [1, 0, 0]), &reads_again(false), "at the clients");
    shows(Slip::IsiKeeps, &params(&[Mesi, Gpu], [0, 1, 0]), &reads_again(true), "at the clients");
}

/// An access after the acquire must not see data of before the Inv.
#[test]
fn an_access_joins_an_invalidated_request() {
    let reader = |device| (device, vec![get(1).at(1), Instr::If(201), ld(0)]);
    let writer = |device| (device, vec![ld(1), st(0, 200), put(1, 201).at(1)]);
    let programs = vec![(0, vec![ld(2), ld(2)]), reader(0), writer(1)];
    shows(Slip::JoinIsi, &params(&[Mesi, Mesi], [1, 0, 0]), &programs, NOT_SC);
    let programs = vec![writer(0), (1, vec![ld(1)]), (2, vec![ld(2)]), reader(3)];
    shows(Slip::UseOnceForAll, &params(&[Mesi, Mesi, Gpu, Gpu], [0; 3]), &programs, NOT_SC);
}

/// The L3 takes the client for the owner.
#[test]
fn exclusive_data_for_an_invalidated_request() {
    let programs = vec![(0, vec![ld(2), ld(2)]), (1, vec![ld(1)])];
    shows(Slip::IsiDropsE, &params(&[Mesi, Mesi], [1, 0, 1]), &programs, "");
    let programs = vec![(0, vec![ld(1)]), (1, vec![ld(2), Instr::Acquire, ld(2)])];
    shows(Slip::IsiDropsE, &params(&[Mesi, Gpu], [0, 1, 1]), &programs, "");
}

/// The fill waits for the line, the line for the InvAck.
#[test]
fn an_inv_waits_for_the_fill() {
    shows(Slip::InvWaits, &params(&[Mesi, Mesi], [1, 0, 0]), &reads_again(false), STUCK);
    shows(Slip::InvWaits, &params(&[Mesi, Gpu], [0, 1, 0]), &reads_again(true), STUCK);
}

/// The copy below an upgrade that comes second.
#[test]
fn an_inv_during_an_upgrade() {
    let programs = vec![(0, vec![ld(0), st(0, 200)]), (1, vec![ld(1), st(1, 300)])];
    for kinds in [[Mesi, Mesi], [Mesi, Gpu]] {
        shows(Slip::SmKeeps, &params(&kinds, [0; 3]), &programs, "");
    }
}

/// Sharers that have not lost their copy.
#[test]
fn an_owner_without_acks() {
    let programs = vec![(0, vec![ld(0), st(0, 200)]), (1, vec![ld(1)])];
    for kinds in [[Mesi, Mesi], [Mesi, Gpu]] {
        shows(Slip::MWithoutAcks, &params(&kinds, [0; 3]), &programs, "at the clients");
    }
}

/// The Put waits for the line, the line for the forward.
#[test]
fn a_forward_waits_for_a_put() {
    for (kinds, evictions) in [([Mesi, Mesi], [1, 0, 0]), ([Mesi, Gpu], [0, 1, 0])] {
        shows(Slip::ForwardWaitsForPut, &params(&kinds, evictions), &sums(2, 1), STUCK);
    }
}

/// The L2 does not have the words that a GPU L1 owns.
#[test]
fn a_forward_without_revocation() {
    shows(Slip::NoRevocation, &params(&[Mesi, DeNovo], [0; 3]), &sums(2, 1), "");
}

/// Fills wait for the L3, which evicts a line with owned words to make room for one of them.
#[test]
fn fills_hold_all_entries() {
    let programs = (0..3).map(|line| (0, vec![add(0, 1).at(line)])).collect();
    let p = SystemParams { lines: [4, 1], tbes: [2, 4], ..params(&[DeNovo], [0; 3]) };
    shows(Slip::NoReservedTbe, &p, &programs, STUCK);
}

/// The request in phase 1 commits on a line that has gone.
#[test]
fn a_forward_in_phase_1() {
    shows(Slip::ForwardInPhase1, &params(&[Mesi, Gpu, DeNovo], [0; 3]), &sums(3, 1), "");
}

/// What is written in S is lost, as is what is written in a line that stays E.
#[test]
fn words_are_written_without_permission() {
    let programs = vec![(0, vec![ld(0)]), (1, vec![ld(1), st(1, 300)])];
    shows(Slip::WriteInS, &params(&[Mesi, Gpu], [0; 3]), &programs, NOT_SC);
    shows(Slip::EStays, &params(&[Gpu], [0, 1, 0]), &vec![(0, vec![ld(0), st(1, 300)])], NOT_SC);
}

/// The words are on their way to a line that has gone.
#[test]
fn a_put_before_the_words_have_come() {
    shows(Slip::PutBeforeRevocation, &params(&[DeNovo], [0, 1, 0]), &vec![(0, vec![st(0, 200)])], "");
}

/// The requestor's Unblock after a FwdGetS is not needed: as after DataS from the L3, an Inv that comes before the data makes it use-once.
#[test]
fn the_unblock_of_a_sharer_is_not_needed() {
    let programs = [
        vec![(0, vec![st(0, 200), put(1, 201)]), (1, vec![ld(2)]), (1, vec![get(1), Instr::If(201), ld(0)])],
        vec![(0, vec![ld(0), st(0, 200)]), (1, vec![ld(1), st(1, 300), ld(2)])],
    ];
    for kinds in [[Mesi, Mesi], [Mesi, Gpu], [Mesi, DeNovo]] {
        for programs in &programs {
            let p = SystemParams { slip: Some(Slip::NoWaitForUnblock), ..params(&kinds, [0, 1, 1]) };
            let found = check(p, programs, LIMIT / 10).expect("it has no data race");
            assert_eq!(found.violation, None);
        }
    }
}
