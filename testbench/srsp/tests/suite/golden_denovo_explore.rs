//! All interleavings of tiny systems of DeNovo-B: litmus shapes, false sharing, evictions, and every decision undone.

use crate::golden_explore::{BESIDE, DENOVO, X, Y, Z, all, holds, tiny};
use weft_srsp::msg::SyncOp;
use weft_srsp_bench::golden::msg::{CuOp, Sem};
use weft_srsp_bench::golden::slip::Slip;
use weft_srsp_bench::golden::system::program::{atomic, get, put, wg};
use weft_srsp_bench::golden::system::{Instr, SystemParams};

type Programs = Vec<(u8, Vec<Instr>)>;

fn p() -> SystemParams {
    tiny(DENOVO)
}
fn release(addr: u64) -> Instr {
    Instr::Sync(wg(put(addr, 1), Sem::Rel))
}
fn acquire(addr: u64) -> Instr {
    Instr::Sync(wg(get(addr), Sem::Acq))
}
fn add(addr: u64, sem: Sem) -> Instr {
    Instr::Sync(wg(atomic(SyncOp::Add, addr, 1, 0), sem))
}
fn relaxed(addr: u64) -> Instr {
    add(addr, Sem::Rlx)
}
/// Data then flag, with something before the reader's acquire.
fn message(before: &[Instr]) -> Programs {
    let reader = [before, &[acquire(X), Instr::Unless(1, 1), Instr::Ld(Y)]].concat();
    vec![(0, vec![Instr::St(Y, 7), release(X)]), (1, reader)]
}
fn with(mut programs: Programs, more: &[(u8, &[Instr])]) -> Programs {
    programs.extend(more.iter().map(|(cu, program)| (*cu, program.to_vec())));
    programs
}

#[test]
fn messages_arrive_whatever_the_reader_holds() {
    let held: [&[Instr]; 6] = [
        &[],
        &[Instr::Ld(Y)],
        &[Instr::St(BESIDE, 9)],
        &[Instr::Ld(Y), Instr::St(BESIDE, 9)],
        &[Instr::St(BESIDE, 9), acquire(Z)],
        &[Instr::St(BESIDE, 9), release(Z), Instr::Ld(Y)],
    ];
    for before in held {
        holds(&all(p(), &message(before)), &format!("message, {before:?}"));
    }
}

/// Other wavefronts of either CU do what changes the state of the data's line.
#[test]
fn messages_arrive_beside_other_wavefronts() {
    let others: [&[Instr]; 6] = [
        &[Instr::Ld(Y)],
        &[Instr::St(BESIDE, 9)],
        &[Instr::Ld(BESIDE), Instr::St(BESIDE, 9)],
        &[relaxed(Y + 8)],
        &[acquire(Z)],
        &[release(Z)],
    ];
    for cu in [0, 1] {
        for other in others {
            let programs = with(message(&[Instr::Ld(BESIDE)]), &[(cu, other)]);
            holds(&all(p(), &programs), &format!("message, CU {cu} also {other:?}"));
        }
    }
}

/// Each publishes its word of a line and looks at the other's; also with the relaxed atomics of other wavefronts.
#[test]
fn words_of_a_line_are_stored_by_two_cus() {
    let both = |first: Sem, second: Sem| {
        let one = vec![Instr::St(Y, 7), add(X, first), Instr::Ld(BESIDE)];
        let other = vec![Instr::St(BESIDE, 9), add(X, second), Instr::Ld(Y)];
        vec![(0, one), (1, other)]
    };
    let sems = [Sem::Rlx, Sem::Acq, Sem::Rel, Sem::AcqRel];
    for (first, second) in sems.iter().flat_map(|a| sems.map(|b| (*a, b))) {
        holds(&all(p(), &both(first, second)), &format!("words of a line, {first:?} {second:?}"));
        let busy = with(both(first, second), &[(0, &[relaxed(Y + 8)])]);
        holds(&all(p(), &busy), &format!("words of a line and an atomic, {first:?} {second:?}"));
    }
}

/// Store buffering: of two that order all, one comes second and sees the other's word.
#[test]
fn one_of_two_sees_the_word_of_the_other() {
    let programs = [
        (0, vec![Instr::St(Y, 1), add(X, Sem::AcqRel), Instr::Ld(Z)]),
        (1, vec![Instr::St(Z, 1), add(X, Sem::AcqRel), Instr::Ld(Y)]),
    ];
    let found = all(p(), &programs);
    holds(&found, "store buffering");
    let blind = found.outcomes.iter().any(|got| got[0][1] == 0 && got[1][1] == 0);
    assert!(!blind, "{:?}", found.outcomes);
}

/// Three CUs: what the second has seen, the third sees.
#[test]
fn what_one_has_seen_is_seen_by_the_next() {
    let p = SystemParams { cus: 3, ..p() };
    let programs = [
        (0, vec![Instr::St(Y, 7), release(X)]),
        (1, vec![acquire(X), Instr::Unless(1, 1), release(Z)]),
        (2, vec![acquire(Z), Instr::Unless(1, 1), Instr::Ld(Y)]),
    ];
    holds(&all(p, &programs), "three CUs");
}

/// L1s and banks of two lines: everything is evicted and recalled all the time.
#[test]
fn caches_that_are_too_small() {
    let small = |l1: usize, l2: usize| SystemParams {
        l1: (1, l1),
        l2: (1, l2),
        replaces: (l1 < 4, l2 < 4),
        banks: 1,
        ..p()
    };
    let mine = vec![Instr::St(Y, 7), relaxed(Z), release(X)];
    let theirs = vec![Instr::St(BESIDE, 9), Instr::Ld(Z), acquire(X), Instr::Unless(1, 1), Instr::Ld(Y)];
    for (l1, l2) in [(2, 4), (4, 2), (2, 2), (1, 1)] {
        let programs = [(0, mine.clone()), (1, theirs.clone())];
        holds(&all(small(l1, l2), &programs), &format!("L1s of {l1}, banks of {l2}"));
    }
}

/// One MSHR, one target, one entry of sFIFO and WBT, a memory that is slow, and a port that is held.
#[test]
fn the_shortest_queues() {
    let mshrs = |mshrs: usize| SystemParams {
        mshrs: (mshrs, 1),
        l1_sfifo: 1,
        wbt: 1,
        hold_port: true,
        l1: (1, 2),
        replaces: (true, false),
        ..p()
    };
    let other: [&[Instr]; 3] = [&[Instr::Ld(BESIDE), Instr::St(Z, 1)], &[relaxed(Y + 8)], &[acquire(Z)]];
    for (more, n) in other.iter().flat_map(|more| [(more, 1), (more, 2)]) {
        for cu in [0, 1] {
            let programs = with(message(&[Instr::Ld(Y)]), &[(cu, more)]);
            holds(&all(mshrs(n), &programs), &format!("{n} MSHRs, CU {cu} also {more:?}"));
        }
    }
}

/// A memory that answers late.
#[test]
fn a_slow_memory() {
    let p = SystemParams { instant_memory: false, ..p() };
    let programs = with(message(&[Instr::Ld(Y)]), &[(1, &[Instr::St(BESIDE, 9)])]);
    holds(&all(p, &programs), "a slow memory");
}

/// A kernel's end, and the begin of the next.
#[test]
fn a_kernel_ends_beside_the_other_cu() {
    let end = [Instr::St(Y, 7), relaxed(Z), Instr::Op(CuOp::End), release(X)];
    let begin = [relaxed(Z), Instr::Op(CuOp::Begin), acquire(X), Instr::Unless(1, 1), Instr::Ld(Y)];
    holds(&all(p(), &[(0, end.to_vec()), (1, begin.to_vec())]), "a kernel's end");
}

/// Programs that find a slip, in L1s of two lines.
pub fn finder(slip: Slip) -> Programs {
    match slip {
        // The reader's line is dirty beside data that are old.
        Slip::FlushBeforeAccess => with(message(&[Instr::Ld(Y)]), &[(1, &[Instr::St(BESIDE, 9)])]),
        Slip::UncountedReg | Slip::StoreOvertakes => {
            let mut programs = with(message(&[]), &[(0, &[relaxed(Y + 8)])]);
            programs[0].1.insert(0, acquire(X));
            programs
        }
        Slip::RegPastUnreg => {
            let mine = vec![relaxed(X), relaxed(Z), relaxed(Y), Instr::St(X + 8, 1), release(Y)];
            vec![(0, mine), (1, vec![relaxed(Z)])]
        }
        Slip::AcquireNoDrop => message(&[Instr::Ld(Y)]),
        Slip::ReadTakesLine => with(message(&[]), &[(0, &[relaxed(Y + 8), relaxed(Y + 8)])]),
        _ => message(&[]),
    }
}

/// READ may leave the mask: the bytes come twice, and every wavefront gets the same.
#[test]
fn bytes_that_are_merged_twice_do_no_harm() {
    let programs = [
        (0, vec![Instr::St(Y, 7), release(X), Instr::St(Y, 8), release(X)]),
        (1, vec![Instr::Ld(Y), acquire(X), Instr::Ld(Y), Instr::St(Y + 8, 1), release(Z), Instr::Ld(Y)]),
    ];
    let outcomes = [None, Some(Slip::ReadKeepsMask)].map(|slip| {
        let found = all(SystemParams { slip, ..p() }, &programs);
        holds(&found, &format!("merged twice, {slip:?}"));
        found.outcomes
    });
    assert_eq!(outcomes[0], outcomes[1]);
}
