//! Why a row or race was not reached: what the configuration lacks for it, told by the words of its name.

use super::ops::{Asks, Op};

/// Words of which one stands in the name, lowest case, and why that is not reached.
type Reason = (&'static [&'static str], &'static str);

const NO_KERNEL: Reason =
    (&["kbegin", "kend", "begin_rolls", "flush", "maint"], "no kernel begins or ends, no bank is commanded");
const NO_FENCE: Reason = (&["fence"], "no FENCE in --ops");
const NO_ATOMIC: Reason = (&["amo", "atomic"], "no AMO in --ops");
const NO_SYNC: Reason = (&["ld_sync", "_forced"], "no LD_SYNC in --ops");
const NO_LINE: Reason = (&["req_full", "st.full"], "no ST of a whole line in --ops");
const NO_WORD: Reason = (&["_partial", "wr_data", "stale_write"], "no ST of a word in --ops");
const NO_STORE: Reason = (&[".st.", ".wr", "wrreq", "write", "dirty", "lock"], "no ST in --ops");
const NO_LOAD: Reason = (&[".ld.", ".rd", "rdreq", "renew", "read", "changed"], "no LD in --ops");
const NO_ROLL: Reason = (
    &[
        "roll",
        "old",
        "ovf",
        "overflow",
        "epoch",
        "repeat",
        "saturate",
        "sweep",
        "_full",
        "renew.away",
        "lost",
    ],
    "no lease reaches the end of the epoch: a later --start, or more stores",
);
const FEW_LINES: Reason = (
    &["evict", "victim", "i_dirty", "none.", "no_way", "nowhere", "note", ".p.", "kept.written", "floor"],
    "all lines have a place in the bank: nothing is displaced",
);
const ONE_GPU: Reason =
    (&["att", "trk_read", "trk_write", "trk_sc"], "one GPU: its bank has one transaction of a line");
const ONE_BANK: Reason = (&["two_asks", "ask_left"], "one bank, or memory controller, asks for rolls");
const ONE_OPEN: Reason = (
    &["l1.ld.busy", "l1.st.busy", "l1.amo.busy", "l1_wait", "merge", "two_heads", "sweep_replay"],
    "an L1 has one operation at a time",
);
const NO_REUSE: Reason =
    (&[".live", "wr_ack.own", "stale_write"], "no CU uses a line twice within this budget");
const NO_EXPIRY: Reason = (
    &["expired", "l2.x.", "renew", "past", "uncovered", "primary_refused", "install_own", "changed"],
    "no clock passes such a lease within this budget",
);
const FEW_PLACES: Reason = (
    &[
        "full",
        "blocked",
        "promoted",
        "replay",
        "again",
        "take_over",
        "nowhere",
        "none",
        "no_way",
        "waits",
        "append",
        "behind",
        "served",
        "dropped",
        "too_late",
    ],
    "more has to be under way than this budget, or these sizes, allow",
);

/// Lines that have a place in a bank.
const PLACES: usize = 2;

/// What a reason is looked for with.
pub(super) struct Seen<'a> {
    pub asks: &'a Asks,
    pub gpus: usize,
    /// Banks of a GPU.
    pub banks: usize,
    /// An observer whose name ends so has seen something.
    pub happened: &'a dyn Fn(&str) -> bool,
    /// The exploration was complete.
    pub complete: bool,
}

/// Why it was not reached.
pub(super) fn why(seen: &Seen<'_>, name: &str) -> &'static str {
    let (name, asks) = (name.to_lowercase(), seen.asks);
    let word = asks.uses(|op| matches!(op, Op::Store(..)));
    let line = asks.uses(|op| matches!(op, Op::StoreLine(_)));
    let sync = asks.uses(|op| matches!(op, Op::LoadSync(_)));
    let lacks = [
        (NO_KERNEL, false),
        (NO_FENCE, asks.uses(|op| *op == Op::Fence)),
        (NO_ATOMIC, asks.uses(|op| matches!(op, Op::Exchange(_)))),
        (NO_SYNC, sync),
        (NO_LINE, line),
        (NO_WORD, word),
        (NO_STORE, word || line),
        (NO_LOAD, sync || asks.uses(|op| matches!(op, Op::Load(_)))),
        (NO_ROLL, (seen.happened)("epoch.IDLE.ask")),
        (FEW_LINES, asks.lines.len() > PLACES * seen.banks),
        (ONE_GPU, seen.gpus > 1),
        (ONE_BANK, seen.banks > 1),
        (ONE_OPEN, asks.waves * asks.open > 1),
        (NO_REUSE, (seen.happened)(".live")),
        (NO_EXPIRY, (seen.happened)("l1.ld.expired")),
        (FEW_PLACES, false),
    ];
    let mut lacking = lacks.into_iter().filter(|(_, there)| !there).map(|(reason, _)| reason);
    let found = lacking.find(|(words, _)| words.iter().any(|word| name.contains(word)));
    let none = match seen.complete {
        true => "no order of these operations leads there",
        false => "not every state was visited",
    };
    found.map_or(none, |(_, text)| text)
}
