//! Why a row or race was not reached: what the configuration lacks for it, told by the words of its name.

use super::ops::{Access, Scope};
use super::{Config, Op};

/// Words of which one stands in the name, lowest case, and why that is not reached.
type Reason = (&'static [&'static str], &'static str);

const NO_SYNC: Reason = (&["atomic", "atm", "amo", "lr_", "reg"], "no access that synchronises in --ops");
const NO_REMOTE: Reason = (
    &["rem", "probe", "sel", "pack", "pa_", "lock", "token", "cast", "inv_all"],
    "no remote access in --ops",
);
const NO_SYS: Reason = (&["sys", "fence"], "no access of system scope in --ops");
const NO_CAS: Reason = (&["fail", "cas"], "no cas in --ops");
const NO_STORE: Reason = (&["st.", "store", "wb", "dirty"], "no ST in --ops");
const NO_LOAD: Reason = (&["ld.", "load"], "no LD in --ops");
const FEW_LINES: Reason = (
    &["evict", "victim", "overflow", "around", "recall", "unreg"],
    "all lines have a place: nothing is displaced",
);
const ALWAYS: &[Reason] = &[
    (&["init"], "the exploration begins when the arrays are cleared"),
    (&["kbegin", "kend", "kernel", "begin", "end."], "no kernel begins or ends"),
    (&["fence"], "no fence without an access"),
    (&["aff", "predict"], "the predictor is of use from three CUs on"),
    (
        &[
            "full",
            "many",
            "several",
            "two_",
            "wait",
            "stall",
            "held",
            "holds",
            "blocked",
            "join",
            "back_to_back",
        ],
        "more has to be under way than this budget, or these sizes, allow",
    ),
];

/// Lines that have a place in an L1.
const PLACES: usize = 2;

/// Why it was not reached in an exploration that was complete, or not.
pub(super) fn why(config: &Config, name: &str, complete: bool) -> &'static str {
    let name = name.to_lowercase();
    let used = |is: fn(&Op) -> bool| config.alphabets.iter().flatten().any(is);
    let lacks = [
        (NO_SYNC, used(|op| op.synchronises())),
        (NO_REMOTE, used(|op| op.is_remote())),
        (NO_SYS, used(|op| matches!(op, Op::Sync(_, _, Scope::Sys, _)))),
        (NO_CAS, used(|op| matches!(op, Op::Sync(Access::Cas, ..)))),
        (FEW_LINES, config.lines > PLACES),
        (NO_STORE, used(|op| matches!(op, Op::Store(_)))),
        (NO_LOAD, used(|op| matches!(op, Op::Load(_)))),
    ];
    let lacking = lacks.into_iter().filter(|(_, there)| !there).map(|(reason, _)| reason);
    let mut reasons = lacking.chain(ALWAYS.iter().copied());
    let found = reasons.find(|(words, _)| words.iter().any(|word| name.contains(word)));
    let none =
        if complete { "no order of these operations leads there" } else { "not every state was visited" };
    found.map_or(none, |(_, text)| text)
}
