//! Why a row or race was not reached: what the configuration lacks for it, told by the words of its name.

use super::{Config, Hint, Kind, Op};
use weft_spandex::llc::ReqsPolicy;

/// Words of which one stands in the name, in small letters and with a dot behind, and why that is not reached.
type Reason = (&'static [&'static str], &'static str);

const NO_BYTES: Reason = (&["bytes", "mixed_store"], "stores are of whole words");
const NO_GUESS: Reason = (&["direct", "again.owner", ".stale_direct"], "no device guesses an owner: --guess");
const NO_FORWARD: Reason = (
    &["reqwtfwd", "l1.reqwt.", "tu_mesi.reqwt.", "fwd.reqwt.", "l1.again.", "split_reqwt."],
    "no write-through is done at its owner: ST X ReqWT+fwd of flex, or --guess",
);
const NO_HINT: Reason = (
    &[".lds.", ".ldo.", ".stt.", ".draint.", ".through."],
    "no flex device is told so in --ops: LD X ReqS, LD X ReqO+data, ST X ReqWT, AT X.0 ReqWT",
);
const NO_SHARED: Reason = (
    &[
        "reqs",
        "rsps",
        "gets",
        "inv",
        "share",
        "kept",
        "once",
        ".s.",
        ".ack.",
        "upgrade",
        "policy",
        "evict_both",
        "mesi_again",
        "keep.w",
        "old_read",
        ".p.shut",
    ],
    "nobody asks for shared words: LD of mesi, LD X ReqS of flex",
);
const OTHER_POLICY: Reason = (
    &["tu_mesi.rspv", "tu_mesi.nackv", "tu_mesi.again", "data.v", "reqs2"],
    "ReqS brings words to be used once with --set reqs_policy=opt2 alone",
);
const NO_OWNER: Reason = (
    &[
        ".o.",
        "rvko",
        "nodata",
        "nack",
        "retry",
        "read.part",
        "read.last",
        "owner",
        "reqwb",
        "_wb",
        "wb_",
        "part",
        "fwd.reqv",
        "mixed",
        "answer_before_retry",
        "phase1",
        "extra",
    ],
    "nobody owns words: gpu writes through",
);
const NO_LOCAL: Reason = (&["local"], "no HERE in --ops");
const NO_SYNC: Reason =
    (&["release", "acquire", "flash", "stale"], "no SYNC or ACQ in --ops: nothing is ordered");
const NO_ATOMIC: Reason = (&["amo.", ".at.", "atomic", "rmw", "joined"], "no AT or SYNC in --ops");
const NO_STORE: Reason = (&[".st.", ".wt.", "store", "drain", "reqwt.", "reqo."], "no ST in --ops");
const NO_LOAD: Reason = (&[".ld.", ".rd.", "reqv", "rspv", "read"], "no LD in --ops");
const FEW_LINES: Reason = (
    &[
        "evict",
        "put",
        "reqwb",
        "rspwb",
        ".wb.",
        "_wb",
        "wb_",
        "nodata",
        "miss.",
        "replay",
        "mesi_r2",
        "no_way",
        "direct_write_back",
        "set_full",
    ],
    "every line has a place in its L1 and in the bank: more --lines",
);
const ONE_OPEN: Reason = (
    &[
        "join",
        "coming",
        "behind",
        "second",
        ".full.",
        "_full",
        "open",
        "comes",
        "read.",
        "during",
        "reread",
        "capture",
        "_in_release",
        "own_store",
        "i.bytes",
        "rest",
        ".shut.",
        ".p.",
    ],
    "one operation of a device at a time: --open",
);
const FEW_PLACES: Reason = (
    &["full", "several", "wait", "stall", "busy", "list", "moves", "two_", "no_slot"],
    "more has to be under way than this budget, or these sizes, allow",
);

/// Lines that have a place in an L1, all of one set.
const PLACES: usize = 2;

/// Why it was not reached in an exploration that was complete, or not.
pub(super) fn why(config: &Config, name: &str, complete: bool) -> &'static str {
    let name = name.to_lowercase() + ".";
    let each = || {
        let devices = config.devices.iter().enumerate().filter(|(d, _)| config.budget(*d) > 0);
        devices.flat_map(|(d, kind)| config.alphabet(d).iter().map(move |op| (*kind, *op)))
    };
    let used = |is: fn(Op) -> bool| each().any(|(_, op)| is(op));
    let told = |hints: &[Hint]| each().any(|(_, op)| hints.contains(&op.hint().request()));
    let reads_shared = each().any(|(kind, op)| kind == Kind::Mesi && matches!(op, Op::Load(..)));
    let lacks = [
        (NO_BYTES, false),
        (NO_GUESS, config.guess.is_some()),
        (NO_FORWARD, config.guess.is_some() || told(&[Hint::REQ_WT_FWD])),
        (NO_HINT, each().any(|(_, op)| op.hint() != Hint::default())),
        (NO_SHARED, reads_shared || told(&[Hint::REQ_S])),
        (OTHER_POLICY, config.reqs == ReqsPolicy::Opt2),
        (NO_OWNER, config.devices.iter().any(|kind| *kind != Kind::Gpu)),
        (NO_LOCAL, used(|op| matches!(op, Op::Here(..)))),
        (NO_SYNC, used(|op| matches!(op, Op::Sync(..) | Op::Acquire))),
        (NO_ATOMIC, used(|op| matches!(op, Op::Swap(..) | Op::Sync(..)))),
        (NO_STORE, used(|op| matches!(op, Op::Store(..)))),
        (NO_LOAD, used(|op| matches!(op, Op::Load(..)))),
        (FEW_LINES, config.lines.len() > PLACES),
        (ONE_OPEN, config.open > 1),
        (FEW_PLACES, false),
    ];
    let mut lacking = lacks.into_iter().filter(|(_, there)| !there).map(|(reason, _)| reason);
    let found = lacking.find(|(words, _)| words.iter().any(|word| name.contains(word)));
    let none =
        if complete { "no order of these operations leads there" } else { "not every state was visited" };
    found.map_or(none, |(_, text)| text)
}
