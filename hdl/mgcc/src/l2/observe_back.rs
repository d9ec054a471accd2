//! Assertions, races and counters of `l2-wb` (mgcc.md section 13).

use super::back_table::BackDo;
use super::clock::Sweep;
use super::decide::Parts;
use super::decision::BackDecision;
use super::flush::{Flush, FlushState};
use super::observe_common::{self as common, Basics};
use super::params::BackKind;
use super::select::Choice;
use super::types::LineState;
use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub choice: &'a Choice,
    pub d: &'a BackDecision,
    pub sweep: &'a Sweep,
    pub flush: &'a Flush,
    /// The walker's answer was sent.
    pub served: Bool,
}

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    let d = seen.d;
    let basics = Basics {
        parts: seen.parts,
        choice: seen.choice,
        sweep: seen.sweep,
        op: &d.op,
        look: &d.look,
        found: &d.found,
        asked: d.asked,
        fill: d.fill,
        append: d.r(BackDo::Append),
        opens: d.opens,
        hits: d.r(BackDo::Answer),
        served: seen.served,
        prefix: match seen.parts.p.kind() {
            BackKind::Plain => "wb",
            BackKind::Home => "home",
            BackKind::Gtsc => "gtsc_l2",
        },
    };
    common::connect(&basics);
    lines(seen);
    races(seen, &basics);
    counters(seen);
}

fn lines(seen: &Seen) {
    let d = seen.d;
    let kept = d.look.is(LineState::P);
    assert_always("wb_kept_has_mshr", !d.asked | !kept | d.found.hit, "a way is kept for an open miss only");
    let takes =
        (d.r(BackDo::Keep) | (d.r(BackDo::Write) & !d.look.hit)) & d.look.victim_tag.state.is(LineState::P);
    assert_always("wb_kept_stays", !takes, "a kept way is not replaced");
    let loses = d.r(BackDo::Write) & !d.look.hit & d.look.victim_tag.state.is(LineState::K);
    assert_always("wb_dirty_stays", !loses, "dirty bytes leave to memory only");
    let overwrites = d.installs() & d.look.is(LineState::K);
    assert_always("wb_fill_keeps_dirty", !overwrites, "a line from memory replaces no dirty bytes");
    let waits = d.fill & d.quiet & seen.parts.m.list(d.op.mshr).count.none() & !d.written;
    assert_always("wb_first_waits", !waits, "a line that comes for a waiting request finds it in the list");
    let during = !seen.flush.state.get().is(FlushState::Idle) & d.asked;
    assert_always("wb_flush_is_alone", !during, "no request enters during a flush");
}

fn races(seen: &Seen, basics: &Basics) {
    let d = seen.d;
    let race = |name: &str, cond: Bool, text: &str| basics.race(name, cond, text);
    race("evicts", d.r(BackDo::Evict), "a miss has to wait for its victim's dirty bytes");
    if !seen.parts.p.orders() {
        race("own_dirty", d.r(BackDo::Flush), "an atomic or LD_SYNC finds dirty bytes of its line");
    }
    race("no_way", d.r(BackDo::Past) & !d.look.hit & !d.look.victim_ok, "a miss finds every way kept");
    race("flush_many", seen.flush.more.get(), "a flush finds several dirty lines in a set");
    race(
        "flush_drops",
        d.flush & seen.flush.drops(seen.sweep) & d.sends_dirty,
        "a dropping flush meets dirty bytes",
    );
}

fn counters(seen: &Seen) {
    let d = seen.d;
    let write = d.first() & d.op.req.op.is(TsmOp::Wr);
    count("l2_write_hits", write & d.r(BackDo::Answer) & d.look.hit, "writes that found their line");
    count("l2_write_backs", d.sends_dirty, "lines whose dirty bytes were written to memory");
    count("l2_write_misses", write & d.opens, "writes that began a transaction");
    count(
        "l2_bypassed",
        d.r(BackDo::Past) & !d.look.hit & !d.look.victim_ok,
        "misses that found every way kept",
    );
    let flushing = !seen.flush.state.get().is(FlushState::Idle);
    count("l2_flush_cycles", flushing, "cycles of write-backs and invalidations by command");
}
