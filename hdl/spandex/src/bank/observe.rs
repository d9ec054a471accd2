//! Counters and assertions that all banks have; `name` begins the names of a bank's.

use super::lists::List;
use super::pipeline::Entered;
use weft_rtl::prelude::*;

/// Counts the lines that entries block, by kind: name, entries, meaning.
pub(crate) fn blocked(name: &str, kinds: &[(&str, Bits, &str)]) {
    for (kind, lines, text) in kinds {
        count_amount(&format!("{name}_blocked_{kind}"), lines.any(), lines.popcount(), text);
    }
}

/// Counts what waits at the channels in; `write_back`: name of what comes on WB.
pub(crate) fn waits(name: &str, stalled: Bits, e: &Entered, write_back: &str) {
    let text = "stalled requests, summed over cycles";
    count_amount(&format!("{name}_stalled"), stalled.any(), stalled.popcount(), text);
    let waits = [
        ("req_stall", e.req_waits, "cycles in which a request waits at the channel"),
        ("req_no_tbe", e.no_tbe, "of these, those without a free TBE"),
        ("req_no_place", e.no_place, "those without a free place in the stall memory"),
        ("req_no_room", e.no_room, "those without room at the outputs"),
        ("wb_stall", e.wb_waits, &format!("cycles in which a {write_back} waits at the channel")),
    ];
    for (what, now, text) in waits {
        count(&format!("{name}_{what}"), now, text);
    }
}

/// Counts what waits for its channel out.
pub(crate) fn outputs(name: &str, waits: &[(&str, Bool, &str)]) {
    for (what, now, message) in waits {
        count(&format!("{name}_{what}_waits"), *now, &format!("cycles in which {message}"));
    }
}

/// Asserts that a line is in one way at most; `looks`: stage 1 has an operation.
pub(crate) fn one_way(name: &str, matches: Bits, looks: Bool) {
    let one = matches.popcount().le(1) | !looks;
    assert_always(&format!("{name}_one_way_per_line"), one, "a line is in one way at most");
}

/// Covers a race of a bank.
pub(crate) fn race(bank: &str, name: &str, cond: Bool, text: &str) {
    cover(&format!("spandex.race.{bank}_{name}"), cond, text);
}

/// Covers what happens to stall lists that replay from their TBE. `list`: of the operation's TBE; `replay`: it replays, `blocks`: and blocks again, `joins`: it joins another list; `full`: a
/// request finds every way of its set blocked.
pub(crate) fn list_races(bank: &str, list: &List, replay: Bool, blocks: Bool, joins: Bool, full: Bool) {
    let rest = replay & blocks & list.head.ne(list.tail);
    race(bank, "replay_takes_rest", rest, "it takes the rest of its list along");
    let text = "a stalled request joins the list of another TBE";
    race(bank, "replay_moves", replay & joins, text);
    race(bank, "set_full", full, "a request finds every way of its set blocked");
}
