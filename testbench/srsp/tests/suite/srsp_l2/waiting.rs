//! What waits at the head of its queue is passed over (srsp.md section 6): others are served in every cycle, as if
//! it were not there, whatever it waits for and whosever it is.

use super::directed::{NOTHING, access, lock, stays, write8};
use super::small;
use crate::srsp_l2::world::{Remote, World};
use std::collections::BTreeSet;
use weft_srsp::bank::Bank;
use weft_srsp::msg::{ReqOp, SyncOp};
use weft_srsp::params::Impl;

const CUS: usize = 6;

/// Reads of each L1 that is served.
const READS: usize = 12;

/// What an L1 waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum For {
    /// The lock of a line.
    Lock,
    /// An entry of the lock table.
    Entry,
    Token,
    /// The end of a SYS operation.
    Sys,
    /// An MSHR.
    Mshr,
    /// An entry of the writes under way.
    Write,
    /// An entry of the sFIFO.
    Room,
    /// A line on its way from memory, to drop it.
    Line,
}

/// A bank of 2 sets of 4 ways, with 3 entries in the sFIFO, or 16.
fn world(what: For, cus: usize) -> World {
    let system = if what == For::Token { Impl::BrspToken } else { Impl::Srsp };
    let mut p = small(system, cus as u32).sized(|s| Bank { ways: 4, size: 2 * s.size, ..s });
    (p.bank.srsp.mshrs, p.bank.srsp.wbt) = (16, 16);
    if what == For::Write {
        p = p.sized(|s| Bank { sfifo: 32, ..s });
    }
    World::new(&p, NOTHING, 24, 3).at_once(20)
}

/// Lines of the set in which the one that is read is not.
fn other_lines(w: &World) -> Vec<u64> {
    w.lines.iter().filter(|line| (**line ^ w.lines[0]) >> 1 & 1 == 1).copied().collect()
}

/// A message of L1 `c` waits, and will; `d` is another L1.
fn waits(w: &mut World, what: For, c: usize, d: usize) {
    let lines = other_lines(w);
    let line = lines[0];
    let op = access(w, SyncOp::Add, line, 1, 0);
    match what {
        For::Lock => {
            lock(w, d, op, false);
            w.read(c, line);
        }
        For::Entry => {
            for (who, line) in [d, (d + 1) % CUS].into_iter().zip(&lines) {
                let op = access(w, SyncOp::Add, *line, 1, 0);
                lock(w, who, op, false);
            }
            w.l1s[c].op = Some((access(w, SyncOp::Add, lines[3], 1, 0), false));
            w.lock(c);
        }
        For::Token => {
            for who in [d, c] {
                w.l1s[who].op = Some((op, false));
                w.l1s[who].remote = Remote::Token { locks: false };
                w.request(who, ReqOp::Token, &[]);
                stays(w, d);
            }
        }
        For::Sys => {
            write8(w, d, line, 1);
            w.drain();
            w.memory.delay = 100_000;
            w.system(d, ReqOp::SysFlush);
            w.rest(30);
            w.system(c, ReqOp::SysFlush);
        }
        For::Mshr => {
            w.memory.delay = 100_000;
            for line in &lines[..3] {
                w.read(d, *line);
            }
            w.rest(30);
            w.read(c, lines[3]);
        }
        For::Write | For::Room => {
            // What is dirty fills the ways of a set, or the sFIFO; then three writes are under way.
            w.memory.delay = 100_000;
            let before = if what == For::Write { 7 } else { 6 };
            for line in &lines[..before] {
                write8(w, d, *line, 1);
                w.rest(40);
            }
            write8(w, c, lines[before], 1);
        }
        For::Line => {
            w.memory.delay = 100_000;
            w.read(d, line);
            w.rest(30);
            w.atomic(c, op, true);
        }
    }
    w.rest(60);
}

/// The message of `c` has not been answered.
fn is_waiting(w: &World, c: usize) -> bool {
    let l1 = &w.l1s[c];
    !(l1.rds.is_empty() && l1.wbs.is_empty() && l1.atm.is_none() && l1.sys.is_none())
        || matches!(l1.remote, Remote::Lock | Remote::Token { .. })
}

/// Cycles in which the others read a line that is here.
fn cycles(w: &mut World, others: &[usize], open: usize) -> u64 {
    let (begun, here) = (w.b.sim.cycle(), w.lines[0]);
    for read in 0..READS {
        others.iter().for_each(|who| assert!(w.read(*who, here), "read {read}"));
    }
    let left = |w: &World| others.iter().map(|who| w.l1s[*who].rds.len()).sum::<usize>();
    while left(w) > open {
        w.step(false);
        w.check();
        assert!(w.b.sim.cycle() < begun + 1_000, "{} reads of others are not answered", left(w) - open);
    }
    w.b.sim.cycle() - begun
}

#[test]
fn a_head_that_waits_is_passed_over() {
    let all = [For::Lock, For::Entry, For::Token, For::Sys, For::Mshr, For::Write, For::Room, For::Line];
    for (what, c) in all.into_iter().flat_map(|what| (0..CUS).map(move |c| (what, c))) {
        let mut w = world(what, CUS);
        w.read(0, w.lines[0]);
        w.drain();
        waits(&mut w, what, c, (c + 1) % CUS);
        assert!(is_waiting(&w, c), "{c} waits for {what:?}");
        let others: Vec<usize> = (0..CUS).filter(|who| *who != c).collect();
        let open = others.iter().map(|who| w.l1s[*who].rds.len()).sum();
        let cycles = cycles(&mut w, &others, open);
        let reads = (READS * others.len()) as u64;
        assert!(
            cycles <= reads + u64::from(w.p.bank.latency) + 6,
            "{cycles} cycles while {c} waits for {what:?}"
        );
        assert!(is_waiting(&w, c), "{c} waits for {what:?} still");
    }
}

/// All heads hold messages all the time: each is served once in a round.
#[test]
fn heads_are_served_in_turn() {
    for cus in [4, CUS] {
        let mut w = world(For::Lock, cus);
        let line = w.lines[0];
        w.read(0, line);
        w.drain();
        w.answered.clear();
        for i in 0..READS * cus {
            assert!(w.read(i % cus, line));
            write8(&mut w, i % cus, line, i as u64);
        }
        w.settled();
        let order: Vec<(u64, usize)> = w.answered.iter().map(|a| (a.op, a.c)).collect();
        for round in order.chunks(2 * cus) {
            let heads: BTreeSet<_> = round.iter().collect();
            assert_eq!(heads.len(), 2 * cus, "{round:?}");
        }
    }
}
