//! All interleavings of tiny systems on the golden models: the lock-protected counter, every pair of synchronising operations, and every decision undone.

use weft_srsp::l1::Closes;
use weft_srsp::msg::SyncOp;
use weft_srsp::params::Impl;
use weft_srsp_bench::golden::msg::{Scope, Sem, Sync};
use weft_srsp_bench::golden::slip::Slip;
use weft_srsp_bench::golden::system::explore::{Explored, explore};
use weft_srsp_bench::golden::system::program::{atomic, cas, cmp, get, put, remote, wg};
use weft_srsp_bench::golden::system::{Instr, Protocol, System, SystemParams, Wave};

/// Locks and flags: bank 0 of two.
pub const X: u64 = 0;
/// Data, bank 1, and the word beside it.
pub const Y: u64 = 64;
pub const BESIDE: u64 = 68;
/// Another flag, bank 0.
pub const Z: u64 = 128;
/// More data, bank 1.
const W: u64 = 192;

const LIMIT: usize = 2_000_000;
pub const SRSP: Protocol = Protocol::Scoped(Impl::Srsp);
const OPT: Protocol = Protocol::Scoped(Impl::SrspOpt);
pub const BRSP: Protocol = Protocol::Scoped(Impl::Brsp);
pub const TOKEN: Protocol = Protocol::Scoped(Impl::BrspToken);
const BASE: Protocol = Protocol::Scoped(Impl::Base);
const HLRC: Protocol = Protocol::Hlrc(false);
const HLRC_THROUGH: Protocol = Protocol::Hlrc(true);
pub const DENOVO: Protocol = Protocol::DenovoB;

pub fn tiny(protocol: Protocol) -> SystemParams {
    SystemParams { banks: 2, ..SystemParams::tiny(protocol, 2) }
}

/// Takes the lock, increments Y, frees the lock; so often.
fn counter(take: Sync, free: Sync, rounds: usize) -> Vec<Instr> {
    let round = [Instr::Spin(take, 0), Instr::Ld(Y), Instr::StReg(Y, 1), Instr::Sync(free)];
    round.into_iter().cycle().take(4 * rounds).collect()
}

/// The counter, with a local modifier that does it `rounds` times and a remote one.
fn counters(p: SystemParams, exch: bool, rounds: usize) -> Explored {
    let take = || if exch { atomic(SyncOp::Exch, X, 1, 0) } else { cas(X, 0, 1) };
    let local = counter(wg(take(), Sem::Acq), wg(put(X, 0), Sem::Rel), rounds);
    let other = counter(remote(take(), Sem::Acq), remote(put(X, 0), Sem::Rel), 1);
    let mut system = System::new(p, vec![Wave::new(0, local), Wave::new(1, other)]);
    system.declare_lock(X);
    explore(&system, LIMIT, &|end| {
        let mut seen: Vec<u64> =
            end.waves().iter().flat_map(|wave| wave.results.chunks(3).map(|got| got[1])).collect();
        seen.sort_unstable();
        let wanted: Vec<u64> = (0..=rounds as u64).collect();
        (seen != wanted).then(|| format!("the counter was {seen:?}"))
    })
}

/// All interleavings of these programs.
pub fn all(p: SystemParams, programs: &[(u8, Vec<Instr>)]) -> Explored {
    let waves = programs.iter().map(|(cu, program)| Wave::new(*cu, program.clone())).collect();
    explore(&System::new(p, waves), LIMIT, &|_| None)
}

#[track_caller]
pub fn holds(found: &Explored, what: &str) {
    println!("{what}: {} states, {} steps, {} ends", found.states, found.steps, found.ends);
    if let Some(violation) = &found.violation {
        panic!("{what}: {violation}");
    }
    assert!(!found.incomplete, "{what}: more than {LIMIT} states");
}

#[test]
fn the_lock_protected_counter() {
    for protocol in [SRSP, OPT, BRSP, TOKEN, HLRC, HLRC_THROUGH, DENOVO] {
        for exch in [false, true] {
            let rounds = if exch { 1 } else { 2 };
            holds(&counters(tiny(protocol), exch, rounds), &format!("{protocol:?}, exch {exch}"));
        }
    }
}

/// Every order of an operation of the local modifier and one of a remote modifier, with data before and after each, in one line.
fn pairs(protocol: Protocol, warm: bool) {
    pairs_of(tiny(protocol), warm);
}

fn pairs_of(p: SystemParams, warm: bool) {
    let (protocol, closes) = (p.protocol, p.closes);
    let local = |new: u64| {
        [
            wg(get(X), Sem::Acq),
            wg(cas(X, 0, new), Sem::Acq),
            wg(put(X, new), Sem::Rel),
            wg(atomic(SyncOp::Add, X, new, 0), Sem::AcqRel),
            wg(cas(X, 0, new), Sem::AcqRel),
            wg(atomic(SyncOp::Or, X, new, 0), Sem::Rlx),
        ]
    };
    let other = |new: u64| {
        [
            remote(get(X), Sem::Acq),
            remote(cas(X, 0, new), Sem::Acq),
            remote(put(X, new), Sem::Rel),
            remote(atomic(SyncOp::Add, X, new, 0), Sem::AcqRel),
            remote(cas(X, 0, new), Sem::AcqRel),
        ]
    };
    let mut states = 0;
    for mine in local(1) {
        for theirs in other(2) {
            let mut first = vec![Instr::St(Y, 7), Instr::Sync(mine), Instr::Ld(BESIDE)];
            if warm {
                first.insert(0, Instr::Sync(wg(get(X), Sem::Acq)));
                first.push(Instr::Sync(wg(get(X), Sem::Acq)));
            }
            let second = vec![Instr::St(BESIDE, 9), Instr::Sync(theirs), Instr::Ld(Y)];
            let found = all(p, &[(0, first), (1, second)]);
            states += found.states;
            holds(&found, &format!("{protocol:?} {mine:?} {theirs:?}"));
        }
    }
    println!("{protocol:?}, {closes:?}: {states} states");
}

#[test]
fn every_pair_of_operations_srsp() {
    pairs(SRSP, true);
}

#[test]
fn every_pair_of_operations_srsp_opt() {
    pairs(OPT, true);
}

#[test]
fn every_pair_of_operations_brsp() {
    pairs(BRSP, false);
}

#[test]
fn every_pair_of_operations_brsp_with_a_token() {
    pairs(TOKEN, false);
}

/// With a token what a broadcast's lock stops is a choice: each is enough, and each needs the lock and the
/// flush at its end.
#[test]
fn whatever_a_broadcast_closes_it_is_right() {
    for closes in [Closes::All, Closes::Sync, Closes::Line] {
        let p = SystemParams { closes, ..tiny(TOKEN) };
        for exch in [false, true] {
            holds(&counters(p, exch, 1), &format!("{closes:?}, exch {exch}"));
        }
        let found = counters(SystemParams { slip: Some(Slip::OpenLock), ..p }, false, 1);
        assert!(found.violation.is_some(), "{closes:?}: an open lock is not found");
        println!("{closes:?}, open: {}", found.violation.unwrap_or_default());
    }
}

#[test]
fn every_pair_of_operations_brsp_with_other_locks() {
    for closes in [Closes::All, Closes::Sync] {
        pairs_of(SystemParams { closes, ..tiny(TOKEN) }, false);
    }
}

#[test]
fn every_pair_of_operations_hlrc() {
    pairs(HLRC, true);
    pairs(HLRC_THROUGH, false);
}

#[test]
fn every_pair_of_operations_denovo_b() {
    pairs(DENOVO, true);
}

/// Data then flag: by a local release to a remote acquire, with `more` after the release; the flag is cached at first.
fn to_the_thief(more: &[Instr]) -> Vec<(u8, Vec<Instr>)> {
    let mut owner =
        vec![Instr::Sync(wg(get(X), Sem::Acq)), Instr::St(Y, 7), Instr::Sync(wg(put(X, 1), Sem::Rel))];
    owner.extend_from_slice(more);
    let thief = vec![Instr::Sync(remote(get(X), Sem::Acq)), Instr::Unless(1, 1), Instr::Ld(Y)];
    vec![(0, owner), (1, thief)]
}

/// Data then flag: by a remote release to a local acquire, with `before` in the owner's program.
fn to_the_owner(before: &[Instr]) -> Vec<(u8, Vec<Instr>)> {
    let mut owner = before.to_vec();
    owner.extend([Instr::Sync(wg(get(X), Sem::Acq)), Instr::Unless(1, 1), Instr::Ld(Y)]);
    let thief = vec![Instr::St(Y, 7), Instr::Sync(remote(put(X, 1), Sem::Rel))];
    vec![(0, owner), (1, thief)]
}

/// What finds a slip.
enum Finder {
    Counter { exch: bool, rounds: usize },
    Programs(Vec<(u8, Vec<Instr>)>),
}

fn finder(slip: Slip) -> Finder {
    let overflow = [Instr::St(Z, 1), Instr::St(W, 1)];
    let again = [Instr::Sync(wg(get(X), Sem::Acq))];
    match slip {
        Slip::ProbeBeforeLock | Slip::NoReplay | Slip::OpenLock | Slip::KeepsLine => {
            Finder::Counter { exch: false, rounds: 1 }
        }
        // Data that a wave stores while the owner's L1 is locked is lost.
        Slip::UnlockNoFlush => {
            let owner = vec![Instr::St(Y, 7), Instr::Ld(Y)];
            Finder::Programs(vec![(0, owner), (1, vec![Instr::Sync(remote(get(X), Sem::Acq))])])
        }
        Slip::StoreFirst => Finder::Counter { exch: true, rounds: 1 },
        Slip::BlindStore => Finder::Programs(to_the_thief(&again)),
        Slip::NoNoinst => {
            let mut programs = to_the_owner(&[]);
            programs.push((0, vec![Instr::Ld(BESIDE)]));
            Finder::Programs(programs)
        }
        Slip::ReplayTogether => {
            let mut programs = to_the_owner(&[Instr::Ld(BESIDE)]);
            programs.push((0, vec![Instr::Sync(wg(atomic(SyncOp::Add, X, 0, 0), Sem::Rlx))]));
            Finder::Programs(programs)
        }
        Slip::ReplayPastSync => {
            let add =
                |scope: fn(_, _) -> Sync| vec![Instr::Sync(scope(atomic(SyncOp::Add, X, 1, 0), Sem::Acq))];
            Finder::Programs(vec![(0, add(wg)), (0, add(cmp)), (1, add(remote))])
        }
        Slip::InvBeforeFlush => {
            let before = [Instr::Sync(cmp(get(Z), Sem::Acq)), Instr::Ld(BESIDE)];
            Finder::Programs(to_the_owner(&before))
        }
        Slip::StoreUnlocked | Slip::PaDropped | Slip::FlushShort | Slip::EarlyUnlock => {
            Finder::Programs(to_the_owner(&[Instr::Ld(BESIDE)]))
        }
        Slip::MissNoFence => Finder::Programs(to_the_thief(&overflow)),
        Slip::LateLineInv | Slip::EarlyPack | Slip::EarlyGrant => Finder::Programs(to_the_thief(&[])),
        _ => Finder::Programs(crate::golden_denovo_explore::finder(slip)),
    }
}

/// Where a decision is tried.
fn home(slip: Slip) -> Protocol {
    match slip {
        Slip::EarlyGrant => HLRC,
        Slip::EarlyUnlock | Slip::KeepsLine => BRSP,
        Slip::OpenLock | Slip::UnlockNoFlush => TOKEN,
        slip if slip.of_denovo_b() => Protocol::DenovoB,
        _ => SRSP,
    }
}

fn find(protocol: Protocol, slip: Slip, undone: bool) -> Explored {
    let mut p = SystemParams { slip: undone.then_some(slip), ..tiny(protocol) };
    if slip.of_denovo_b() {
        (p.l1, p.replaces) = ((1, 2), (true, false));
    }
    match finder(slip) {
        Finder::Counter { exch, rounds } => counters(p, exch, rounds),
        Finder::Programs(programs) => all(p, &programs),
    }
}

#[test]
fn every_decision_is_needed() {
    let mut blind = Vec::new();
    for slip in Slip::ALL {
        holds(&find(home(slip), slip, false), &format!("without {slip:?}"));
        let found = find(home(slip), slip, true);
        match found.violation {
            Some(violation) => println!("{slip:?}, {} states: {violation}", found.states),
            None => blind.push(slip),
        }
    }
    assert_eq!(blind, [], "no violation is found");
}

/// What bRSP and hLRC share with sRSP they need as well.
#[test]
fn flushes_and_marks_are_needed_everywhere() {
    for (protocol, slip) in [
        (BRSP, Slip::FlushShort),
        (BRSP, Slip::NoNoinst),
        (BRSP, Slip::NoReplay),
        (TOKEN, Slip::FlushShort),
        (TOKEN, Slip::NoNoinst),
        (HLRC, Slip::FlushShort),
        (HLRC, Slip::NoNoinst),
        (HLRC_THROUGH, Slip::EarlyGrant),
    ] {
        holds(&find(protocol, slip, false), &format!("{protocol:?} without {slip:?}"));
        let found = find(protocol, slip, true);
        assert!(found.violation.is_some(), "{protocol:?}: {slip:?} is not found");
    }
}

/// Operations of two CUs on one variable at cmp scope, or of one at sys scope: every pair of them, data in one line.
fn wide_pairs(protocol: Protocol, scope: Scope) {
    let to = |atomic, sem| Sync { scope, ..cmp(atomic, sem) };
    let ops = |new: u64| {
        [
            to(get(X), Sem::Acq),
            to(put(X, new), Sem::Rel),
            to(cas(X, 0, new), Sem::Acq),
            to(atomic(SyncOp::Add, X, new, 0), Sem::AcqRel),
            to(atomic(SyncOp::Or, X, new, 0), Sem::Rlx),
        ]
    };
    for mine in ops(1) {
        for theirs in ops(2) {
            let first = vec![Instr::St(Y, 7), Instr::Sync(mine), Instr::Ld(BESIDE)];
            let second = vec![Instr::St(BESIDE, 9), Instr::Sync(theirs), Instr::Ld(Y)];
            let found = all(tiny(protocol), &[(0, first), (1, second)]);
            holds(&found, &format!("{protocol:?} {mine:?} {theirs:?}"));
        }
    }
}

#[test]
fn every_pair_at_cmp_scope() {
    wide_pairs(BASE, Scope::Cmp);
}

#[test]
fn every_pair_at_sys_scope() {
    wide_pairs(BASE, Scope::Sys);
}

fn take(addr: u64) -> [Instr; 2] {
    [Instr::Spin(wg(cas(addr, 0, 1), Sem::Acq), 0), Instr::Sync(wg(put(addr, 0), Sem::Rel))]
}
fn steal(addr: u64) -> [Instr; 2] {
    [Instr::Spin(remote(cas(addr, 0, 1), Sem::Acq), 0), Instr::Sync(remote(put(addr, 0), Sem::Rel))]
}
/// Between taking and freeing a lock: increments a word.
fn inside(lock: [Instr; 2], data: u64) -> Vec<Instr> {
    let [take, free] = lock;
    vec![take, Instr::Ld(data), Instr::StReg(data, 1), free]
}

fn locked(p: SystemParams, programs: &[(u8, Vec<Instr>)]) -> Explored {
    let waves = programs.iter().map(|(cu, program)| Wave::new(*cu, program.clone())).collect();
    let mut system = System::new(p, waves);
    system.declare_lock(X);
    system.declare_lock(Z);
    explore(&system, LIMIT, &|_| None)
}

#[test]
fn two_local_waves_and_a_thief() {
    let programs = [(0, inside(take(X), Y)), (0, inside(take(X), Y)), (1, inside(steal(X), Y))];
    for protocol in [SRSP, BRSP, TOKEN, HLRC, DENOVO] {
        holds(&locked(tiny(protocol), &programs), &format!("two local waves, {protocol:?}"));
    }
}

#[test]
fn two_thieves() {
    let programs = [(0, inside(take(X), Y)), (1, inside(steal(X), Y)), (2, inside(steal(X), Y))];
    for protocol in [SRSP, BRSP, TOKEN, HLRC, DENOVO] {
        let p = SystemParams { cus: 3, ..tiny(protocol) };
        holds(&locked(p, &programs), &format!("two thieves, {protocol:?}"));
    }
}

/// Three L1s with aff_cache, where the prediction is absent at first, then right or wrong; one L1 only answers probes.
#[test]
fn a_thief_with_a_predictor() {
    let twice = |lock: [Instr; 2]| [inside(lock.clone(), Y), inside(lock, Y)].concat();
    let p = SystemParams { cus: 3, ..tiny(OPT) };
    let found = locked(p, &[(0, twice(take(X))), (1, twice(steal(X)))]);
    holds(&found, "a thief with a predictor");
}

/// A bank of two lines, three variables: registered lines are recalled, plain data goes around.
#[test]
fn a_bank_of_hlrc_that_is_too_small() {
    let add = |addr| Instr::Sync(wg(atomic(SyncOp::Add, addr, 1, 0), Sem::AcqRel));
    for protocol in [HLRC, HLRC_THROUGH, DENOVO] {
        let p = SystemParams { banks: 1, l2: (1, 2), replaces: (false, true), ..tiny(protocol) };
        let programs = [(0, vec![add(X), Instr::St(Y, 7), add(Z)]), (1, vec![add(Z), Instr::Ld(Y), add(X)])];
        holds(&all(p, &programs), &format!("recalls, {protocol:?}"));
    }
}

#[test]
fn long_each_steals_from_the_other() {
    let both = |own: u64, other: u64| [inside(take(own), Y + own), inside(steal(other), Y + other)].concat();
    for protocol in [SRSP, OPT, BRSP, TOKEN, HLRC, DENOVO] {
        let programs = [(0, both(X, Z)), (1, both(Z, X))];
        holds(&locked(tiny(protocol), &programs), &format!("each steals, {protocol:?}"));
    }
}

/// A PA-TBL of one entry, two variables released by the thief.
#[test]
fn the_pa_tbl_overflows() {
    let put_far = |addr| Instr::Sync(remote(put(addr, 1), Sem::Rel));
    let thief = vec![Instr::St(Y, 7), put_far(X), Instr::St(W, 8), put_far(Z)];
    let look = |addr, data| [Instr::Sync(wg(get(addr), Sem::Acq)), Instr::Unless(1, 1), Instr::Ld(data)];
    let owner = [vec![Instr::Ld(BESIDE)], look(Z, W).to_vec(), look(X, Y).to_vec()].concat();
    for protocol in [SRSP, OPT] {
        let programs =
            [(0, owner.clone()), (1, thief.clone()), (0, vec![Instr::Ld(W + 4), Instr::St(Y + 8, 3)])];
        holds(&all(tiny(protocol), &programs), &format!("PA-TBL overflows, {protocol:?}"));
    }
}

/// Two released variables in one line, a thief for each.
#[test]
fn two_variables_in_a_line() {
    let release = |addr| Instr::Sync(wg(put(addr, 1), Sem::Rel));
    let owner = vec![Instr::St(Y, 7), release(X), Instr::St(W, 8), release(X + 8)];
    let thief =
        |addr, data| vec![Instr::Sync(remote(get(addr), Sem::Acq)), Instr::Unless(1, 1), Instr::Ld(data)];
    for protocol in [SRSP, OPT, BRSP, TOKEN] {
        let p = SystemParams { cus: 3, ..tiny(protocol) };
        let programs = [(0, owner.clone()), (1, thief(X, Y)), (2, thief(X + 8, W))];
        holds(&all(p, &programs), &format!("two variables in a line, {protocol:?}"));
    }
}

/// L1s of two lines: everything is evicted all the time.
#[test]
fn long_two_lines_of_cache() {
    for protocol in [SRSP, OPT, BRSP, TOKEN, HLRC, HLRC_THROUGH, DENOVO] {
        let p = SystemParams { l1: (1, 2), replaces: (true, false), ..tiny(protocol) };
        let local = [inside(take(X), Y), vec![Instr::St(W, 1)]].concat();
        let programs = [(0, local), (1, inside(steal(X), Y)), (0, vec![Instr::St(BESIDE, 1), Instr::Ld(W)])];
        holds(&locked(p, &programs), &format!("two lines of cache, {protocol:?}"));
    }
}

/// The pairs again, beside a wave of the owner that keeps its sFIFO full.
fn busy_pairs(protocol: Protocol) {
    let busy = vec![Instr::St(W, 1), Instr::Ld(BESIDE), Instr::St(Z, 1), Instr::Ld(Y + 8)];
    let mine = [wg(cas(X, 0, 1), Sem::Acq), wg(put(X, 1), Sem::Rel), wg(cas(X, 0, 1), Sem::AcqRel)];
    let theirs = [remote(get(X), Sem::Acq), remote(put(X, 2), Sem::Rel), remote(cas(X, 0, 2), Sem::AcqRel)];
    for mine in mine {
        for theirs in theirs {
            let look = Instr::Sync(wg(get(X), Sem::Acq));
            let first = vec![look.clone(), Instr::St(Y, 7), Instr::Sync(mine), Instr::Ld(BESIDE), look];
            let second = vec![Instr::St(BESIDE, 9), Instr::Sync(theirs), Instr::Ld(Y)];
            let found = all(tiny(protocol), &[(0, first), (1, second), (0, busy.clone())]);
            holds(&found, &format!("busy {protocol:?} {mine:?} {theirs:?}"));
        }
    }
}

#[test]
fn long_busy_pairs_srsp() {
    busy_pairs(SRSP);
}

#[test]
fn long_busy_pairs_srsp_opt() {
    busy_pairs(OPT);
}

#[test]
fn long_busy_pairs_brsp() {
    busy_pairs(BRSP);
}

#[test]
fn long_busy_pairs_brsp_with_a_token() {
    busy_pairs(TOKEN);
}

#[test]
fn long_busy_pairs_hlrc() {
    busy_pairs(HLRC);
}

#[test]
fn long_busy_pairs_denovo_b() {
    busy_pairs(DENOVO);
}
