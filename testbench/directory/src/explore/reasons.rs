//! Why a row or race was not reached: what the configuration lacks for it, told by the words of its name.

use super::{Config, Op, ops::GPU};

/// Words of which one stands in the name, lowest case, and why that is not reached.
type Reason = (&'static [&'static str], &'static str);

const NO_ATOMIC: Reason = (&["atom"], "no AMO in --ops");
const NO_SCOPE: Reason = (&["forced"], "no LDg or LDs in --ops");
const NO_STORE: Reason = (&["store", "wr_", "wrreq", "write", "dirty"], "no ST in --ops");
const NO_LOAD: Reason = (&["load", "rd_", "rdreq", "read"], "no LD in --ops");
const NO_RELEASE: Reason = (&["fence", "drain", "release", "flush", "marker"], "no REL in --ops");
const NO_LOCAL: Reason = (&["any.local"], "no RELg or ACQg in --ops: all fences are of system scope");
const ONE_LINE: Reason = (
    &["evict", "evb", "victim", "burst", "oldest", "base", "other_line", "reread", "recall"],
    "one line: nothing is displaced",
);
const ALWAYS: &[Reason] = &[
    (&["init"], "the exploration begins when the arrays are cleared"),
    (&["store_full", "wrreq_full"], "stores are of one word"),
    (&["bypass", "uncacheable"], "the protocol keeps lines of all homes, or of none"),
    (&["batch"], "a GPU has one CU, so one release at a time"),
    (&["group", "slots", "slot_empty", "other_slots"], "an entry covers one line here, or two"),
    (
        &["full", "limit", "quota", "many", "several", "two_", "waits", "stall", "held", "holds", "blocked"],
        "more has to be under way than this budget allows",
    ),
];

/// Why it was not reached in an exploration that was complete, or not.
pub(super) fn why(config: &Config, name: &str, complete: bool) -> &'static str {
    let name = name.to_lowercase();
    let used = |is: fn(&Op) -> bool| config.alphabets.iter().flatten().any(is);
    let lacks = [
        (NO_ATOMIC, used(|op| matches!(op, Op::Swap(_)))),
        (NO_SCOPE, used(|op| matches!(op, Op::Load(_, 1..)))),
        (NO_RELEASE, used(|op| matches!(op, Op::Release(_)))),
        (NO_LOCAL, used(|op| matches!(op, Op::Release(GPU) | Op::Acquire(GPU)))),
        (ONE_LINE, config.homes.len() > 1),
        (NO_STORE, used(|op| op.writes())),
        (NO_LOAD, used(|op| matches!(op, Op::Load(..)))),
    ];
    let lacking = lacks.into_iter().filter(|(_, there)| !there).map(|(reason, _)| reason);
    let mut reasons = lacking.chain(ALWAYS.iter().copied());
    let found = reasons.find(|(words, _)| words.iter().any(|word| name.contains(word)));
    let none =
        if complete { "no order of these operations leads there" } else { "not every state was visited" };
    found.map_or(none, |(_, text)| text)
}
