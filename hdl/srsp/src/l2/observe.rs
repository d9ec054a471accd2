//! Assertions, races and counters of a bank (srsp.md sections 7 and 12).

use super::data::Effects;
use super::decide::Decision;
use super::select::{Choice, Parts};
use super::table::{FrameDoes, LineDoes, LockDoes, TokenDoes};
use super::types::{Kind, LineState, Lookup};
use crate::bank::{AtLine, observe_line};
use crate::msg::RspOp;
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub choice: &'a Choice,
    pub d: &'a Decision,
    pub effects: &'a Effects,
}

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    seen.parts.ingress.observe();
    lines(seen);
    locks(seen);
    races(seen);
    lock_races(seen);
    accesses(seen);
    events(seen);
}

impl Seen<'_> {
    fn valid(&self) -> Bool {
        self.parts.select.s1_valid.get()
    }
    /// A message that is served, for the first time.
    fn served(&self, kind: Kind) -> Bool {
        let d = self.d;
        self.valid() & d.op.kind.is(kind) & d.op.from_head & !d.op.target & (d.takes | d.waits.target)
    }
}

/// Dirty bytes are there exactly in the states that say so.
fn is_sound(look: &Lookup) -> Bool {
    let dirty = look.there.state.is_any(&[LineState::Pd, LineState::D, LineState::W]);
    dirty.eq(look.mask.any())
}

fn lines(seen: &Seen) {
    let (Parts { memory, outs, select, .. }, d) = (seen.parts, seen.d);
    observe_line(
        select,
        &memory.fills,
        &AtLine {
            line: d.line,
            look: &d.look,
            found: &d.found,
            looks: d.lines.at,
            comes: d.locks.at,
            fill: d.op.kind.is(Kind::Fill),
            wb: d.op.kind.is(Kind::Wb),
            takes: d.takes,
        },
    );
    let sound = !d.lines.at | !d.look.hit | is_sound(&d.look);
    let text = "dirty bytes are there exactly in the states that say so";
    assert_always("l2_dirty_bytes", sound, text);
    let alone = !(outs.executing() & seen.valid());
    assert_always("l2_atomic_alone", alone, "nothing is in stage 1 while stage 2 has an atomic");
    let leaves = d.f(FrameDoes::Occupy) | d.f(FrameDoes::Reserve);
    let stays = !leaves | !d.look.there.state.is_any(&[LineState::P, LineState::Pd]);
    assert_always("l2_coming_stays", stays | d.look.hit, "a line on its way is no victim");
}

fn locks(seen: &Seen) {
    let (Parts { select, token, ingress, .. }, d) = (seen.parts, seen.d);
    let one = d.lock.entries.popcount().le(1);
    assert_always("l2_one_lock_per_line", !d.locks.at | one, "a line has one lock at most");
    let home = select.own.none();
    assert_always("l2_token_in_bank_0", !d.token.at | home, "the token is bank 0's");
    let mine = token.owner.get().eq(d.op.src);
    assert_always(
        "l2_token_of_holder",
        !d.t(TokenDoes::Release) | mine,
        "the token is given back by its holder",
    );
    let taken = !d.t(TokenDoes::Grant) | !token.held.get();
    assert_always("l2_one_token", taken, "the token has one holder at most");
    let senior = &ingress.senior;
    let held = !senior.notes.holds.get() | senior.there.get();
    assert_always("l2_handed_to_senior", held, "a lock is handed to a waiter that is there");
    let unlocks = d.k(LockDoes::Unlock) | seen.effects.unlocks;
    count("l2_unlocks", unlocks, "locks given up");
}

fn races(seen: &Seen) {
    let (Parts { sys, sfifo, .. }, d) = (seen.parts, seen.d);
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("srsp.race.l2_{name}"), cond, text);
    let coming = d.look.state.is_any(&[LineState::P, LineState::Pd]);
    race(
        "wb_while_coming",
        d.acts & d.l(LineDoes::Merge) & coming,
        "a write-back of a line that is on its way from memory",
    );
    let keeps = d.acts & d.l(LineDoes::Fill) & d.look.state.is(LineState::Pd);
    race("fill_keeps_dirty", keeps, "a line comes from memory around bytes that are dirty by now");
    race(
        "write_around",
        d.acts & d.f(FrameDoes::Around),
        "a write-back finds every way on its way from memory",
    );
    race(
        "head_coming",
        seen.valid() & d.l(LineDoes::Hold),
        "the head of the sFIFO is on its way from memory: it waits",
    );
    let replays = seen.valid() & d.op.target & d.op.from_head & !d.takes;
    race("atomic_replays", replays, "an atomic whose line has come has to wait again");
    race("dead_entry", d.acts & d.l(LineDoes::Pop) & !d.l(LineDoes::Clean), "an entry of the sFIFO is dead");
    race(
        "evicts_own_kind",
        d.acts & d.f(FrameDoes::Occupy) & d.f(FrameDoes::Evict),
        "a write-back replaces a dirty line",
    );
    let flushing = sys.wants_pop() & d.acts & (d.l(LineDoes::Merge) | d.f(FrameDoes::Occupy));
    race("wb_in_flush", flushing, "write-backs go on while SYS FLUSH empties the sFIFO");
    race("sys_waits", d.waits.sys, "a SYS operation waits for another one");
    race("full_pops", seen.choice.overflow & sfifo.full(), "a full sFIFO makes room");
    let again = d.acts & d.l(LineDoes::Join) & d.op.kind.is_any(&[Kind::Atm, Kind::RemOp]);
    race("atomic_joins", again, "an atomic waits for a line that somebody else has asked for");
}

fn lock_races(seen: &Seen) {
    let (Parts { p, .. }, d) = (seen.parts, seen.d);
    let race = |name: &str, cond: Bool, text: &str| cover(&format!("srsp.race.l2_{name}"), cond, text);
    if p.system == crate::params::Impl::Base {
        return;
    }
    let queue = d.k(LockDoes::Queue);
    race(
        "second_lock_waits",
        queue & d.op.kind.is(Kind::RemLock),
        "a second remote operation waits for the lock",
    );
    race(
        "fill_at_own_lock",
        queue & d.own & d.op.kind.is(Kind::Rd),
        "an L1's fill waits for its own remote operation",
    );
    race(
        "fill_at_lock",
        queue & d.other & d.op.kind.is(Kind::Rd),
        "a fill waits for another L1's remote operation",
    );
    let atomic = d.op.kind.is_any(&[Kind::Atm, Kind::AtmSys]);
    race("atomic_at_lock", queue & atomic, "an atomic waits for a remote operation");
    race(
        "wb_at_lock",
        d.acts & (d.own | d.other) & d.op.kind.is(Kind::Wb),
        "a write-back of a locked line is served",
    );
    race("no_entry", d.k(LockDoes::Room), "a lock waits for an entry of the table");
    race("handed", d.takes & d.handed, "a lock goes to the waiter whose turn it is");
    race(
        "failed_unlocks",
        seen.effects.failed,
        "a compare-and-swap that was to keep the lock fails: unlocked at once",
    );
    let kept = seen.effects.atomic & !seen.effects.unlocks & seen.parts.outs.stage.step.get().unlocks;
    race("kept", kept, "a remote operation keeps its lock");
    let late = d.op.target & (d.own | d.other) & d.op.kind.is(Kind::Atm);
    race("locked_meanwhile", seen.valid() & late, "the line of a waiting atomic was locked while it came");
    if p.system == crate::params::Impl::BrspToken {
        race("token_waits", d.t(TokenDoes::Queue), "the token is held by another L1");
    }
    count("l2_grants", d.k(LockDoes::Lock) & d.takes, "locks granted");
    count("l2_token_grants", d.t(TokenDoes::Grant), "tokens granted");
}

/// Accesses by kind: what the comparison of systems counts as L2 accesses.
fn accesses(seen: &Seen) {
    let d = seen.d;
    let stage = &seen.parts.outs.stage;
    let answers = |op| stage.valid.get() & stage.step.get().work.reply.is(op);
    count("l2_rd", seen.served(Kind::Rd), "reads of lines");
    count("l2_wb", seen.served(Kind::Wb), "write-backs");
    count("l2_atm", seen.served(Kind::Atm) | seen.served(Kind::AtmSys), "atomics of cmp and sys scope");
    count("l2_rem_op", seen.served(Kind::RemOp), "atomics of remote operations");
    let hits = d.op.from_head & !d.op.target & d.acts & (d.l(LineDoes::Read) | d.l(LineDoes::Modify));
    count("l2_hits", hits, "reads and atomics that found their bytes");
    count("l2_write_hits", d.acts & d.l(LineDoes::Merge), "write-backs that found their line");
    count("l2_answers", answers(RspOp::Fill), "lines sent to L1s");
}

fn events(seen: &Seen) {
    let (Parts { ingress, sys, .. }, d) = (seen.parts, seen.d);
    let waiting = ingress.locked_out();
    let text = "cycles of L1s whose request waits for a lock or the token, summed";
    count_amount("l2_lock_wait", waiting.any(), waiting.popcount(), text);
    count("l2_evictions", d.acts & d.f(FrameDoes::Evict), "dirty lines replaced");
    count("l2_around", d.acts & d.f(FrameDoes::Around), "write-backs that went around");
    let pop = d.acts & d.l(LineDoes::Pop);
    count("l2_pops_overflow", pop & !sys.wants_pop(), "sFIFO entries popped for room");
    count("l2_pops_sys", pop & sys.wants_pop(), "sFIFO entries popped for SYS operations");
    count("l2_sys_cycles", !sys.idle(), "cycles of SYS operations");
    count("l2_entered", seen.choice.message, "messages that entered the pipeline");
}
