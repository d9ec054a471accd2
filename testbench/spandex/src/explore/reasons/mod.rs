//! Why a row or race was not reached: what the configuration lacks for it, told by the words of its name.

mod asked;

use super::{Config, Hint, Kind, Op};
use weft_spandex::llc::ReqsPolicy;

/// Words of which one stands in the name, in small letters and with a dot behind, and why it is not reached.
type Reason = (&'static [&'static str], &'static str);

const NO_BYTES: Reason = (&["bytes", "mixed_store"], "stores are of whole words");
const NO_UPDATE: Reason = (&["tu_denovo.rspwtdata"], "DeNovo does its atomics in its L1");
const NO_GUESS: Reason =
    (&["direct", "again.owner", "tu_gpu.fwd.reqv"], "no device guesses an owner: --guess");
const NO_FORWARD: Reason = (
    &["reqwtfwd", "l1.reqwt.", "tu_mesi.reqwt.", "fwd.reqwt.", "l1.again.", "split_reqwt."],
    "no write-through is done at its owner: ST X ReqWT+fwd of flex, or --guess",
);
const NO_LOAD_HINT: Reason =
    (&[".lds.", ".ldo."], "no flex device has such a load in --ops: LD X ReqS, LD X ReqO+data");
const NO_STORE_HINT: Reason = (
    &[".stt.", ".draint.", ".through.", "done.wt"],
    "no flex device writes through: ST X ReqWT, AT X.0 ReqWT",
);
const NOT_SHARED: Reason = (
    &[
        ".s.",
        "_s.",
        "reqs1",
        "rsps",
        "inv",
        "once",
        ".ack.",
        "kept",
        "upgrade",
        "policy",
        "shared",
        "keep.w",
        "evict_both",
    ],
    "no line is in S: by ReqS of two devices that may hold S, or with --set reqs_policy=opt1",
);
const OTHER_POLICY: Reason = (
    &["tu_mesi.rspv", "tu_mesi.nackv", "tu_mesi.again", "data.v", "reqs2"],
    "what ReqS brings is used once with --set reqs_policy=opt2 alone",
);
const NO_GRANT: Reason =
    (&["reqs3", "grant.reqs"], "no ReqS brings ownership: LD of mesi, with --set reqs_policy=eval or opt3");
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
        "rspv.part",
        "rspwt.part",
        "mixed_words",
        "before_retry",
        "before_parts",
        "phase1",
        "extra",
    ],
    "nobody owns words: gpu writes through",
);
const NO_REVOKE: Reason = (
    &["rvko", "nodata", "phase1.done", "phase1.reqwb", "wb_last", "wb_beside"],
    "no owner has to give words back: AT of gpu, ReqS, or more --lines than the bank has ways",
);
const NO_LOCAL: Reason = (&["local"], "no HERE in --ops");
const NO_SYNC: Reason =
    (&["release", "acquire", "flash", "stale"], "no SYNC or ACQ in --ops: nothing is ordered");
const NO_ATOMIC: Reason = (&["amo.", ".at.", "atomic", "rmw", "joined"], "no AT or SYNC in --ops");
const NO_STORE: Reason = (&[".st.", ".wt.", "store", "drain", ".write."], "no ST in --ops");
const NO_LOAD: Reason = (&[".ld.", ".rd.", "rspv", "read"], "no LD in --ops");
const NO_WHOLE: Reason = (&["miss.whole"], "no line is stored whole: ST X of gpu, denovo or flex");
const ALL_WHOLE: Reason = (
    &["split", "part.", "word_by_word", "partly"],
    "no operation is of one word beside one of both: LD X, ST X.0",
);
const LINES_IN_BANK: Reason = (
    &["miss.", "evict", "replay", "reqwb.absent", "set_full", "joins_coming"],
    "every line has a place in the bank: more --lines than ways",
);
const LINES_IN_L1: Reason = (
    &[
        "put",
        "reqwb",
        "rspwb",
        ".wb.",
        "_wb",
        "wb_",
        "nodata",
        "mesi_r2",
        "no_way",
        "nack",
        "retry",
        "read.part",
        "read.last",
        "before_retry",
        "before_parts",
        "reqv.other",
        "reqv.none",
        "read_gone",
    ],
    "no owned line leaves its L1: more --lines",
);
const ONE_NACK: Reason = (&["nackv.again", "retry.reqv"], "the first Nack escalates: --set n_fail=2");
const ONE_TBE: Reason = (
    &["fill.req", "phase1.req", "evict.req", "list.req", "joins_", "replay", "set_full"],
    "one transaction of the bank at a time: --set tbes=2",
);
const ONE_OPEN: Reason = (
    &[
        "join",
        "coming",
        "behind",
        "second",
        "full",
        "open",
        "comes",
        "i.read.",
        "flash.read",
        "during",
        "reread",
        "capture",
        "covered",
        "_in_release",
        "own_store",
        "drain.here",
        "draint.here",
        ".shut.",
        ".p.",
        "busy",
        "rest.",
        "wait",
        "two_nacks",
    ],
    "one operation of a device at a time: --open",
);
const ONE_OPERATION: Reason = (
    &[".here.", "l1.ld.", "l1.st.", "l1.amo.", "l1.at.", "flash", "stale", ".flash."],
    "a device does one operation: --budget",
);
const FEW_PLACES: Reason = (
    &["full", "several", "wait", "stall", "busy", "list", "moves", "two_", "no_slot"],
    "more has to be under way than this budget, or these sizes, allow",
);

/// Lines that have a place in an L1, all of one set.
const PLACES: usize = 2;

/// Requests as the bank's rows have them, with why one is not met, or not of both words.
const REQUESTS: [(&str, &str, &str); 6] = [
    ("reqv", "nobody sends ReqV: LD of denovo, gpu, flex", "every ReqV is of one word: LD X"),
    ("reqs", "nobody sends ReqS: LD of mesi, LD X ReqS of flex", "every ReqS is of one word: LD X ReqS line"),
    ("reqwt", "nobody sends ReqWT: ST of gpu, ST X ReqWT of flex", "every ReqWT is of one word: ST X"),
    ("reqo", "nobody sends ReqO: ST of denovo or flex", "every ReqO is of one word: ST X"),
    ("reqwtdata", "nobody sends ReqWT+data: AT of gpu, AT X.0 ReqWT of flex", "ReqWT+data is of one word"),
    (
        "reqodata",
        "nobody sends ReqO+data: ST of mesi, AT of mesi, denovo, flex",
        "every ReqO+data is of one word: ST of mesi, LD X ReqO+data line of flex",
    ),
];

/// Why a row of the bank that names a request is not reached.
fn of_request(config: &Config, name: &str) -> Option<&'static str> {
    let rest = name.strip_prefix("spandex.llc.").or(name.strip_prefix("spandex.race.llc_"))?;
    let word = rest.split(['.', '_']).find(|word| word.starts_with("req"))?;
    let word = if word.starts_with("reqs") { "reqs" } else { word };
    let (request, sent, both) = REQUESTS.into_iter().find(|known| known.0 == word)?;
    match config.sends(request) {
        false => Some(sent),
        true if rest.starts_with("mixed") && !config.sends_both(request) => Some(both),
        true => None,
    }
}

/// Why a forward does not come to a device.
fn of_forward(config: &Config, name: &str) -> Option<&'static str> {
    let blocks = [
        ("spandex.denovo_l1.", Kind::Denovo),
        ("spandex.flex_l1.", Kind::Flex),
        ("spandex.tu_mesi.", Kind::Mesi),
        ("spandex.stash.", Kind::Stash),
        ("spandex.race.denovo_split_", Kind::Denovo),
        ("spandex.race.flex_split_", Kind::Flex),
    ];
    let mut mine = blocks.into_iter().filter_map(|(begin, kind)| Some((name.strip_prefix(begin)?, kind)));
    let (rest, kind) = mine.next()?;
    let forward = rest.strip_prefix("after.").unwrap_or(rest).split('.').next()?;
    let known = ["reqv", "reqs", "reqo", "reqodata", "rvko", "reqwt", "inv"].contains(&forward);
    (known && !config.forwards(kind, forward))
        .then_some("no other device asks for what leads to this forward")
}

/// What is lacking, in the order in which it is looked for.
fn lacking(config: &Config) -> impl Iterator<Item = Reason> {
    let used = |is: fn(Op) -> bool| config.done().any(|(_, op)| is(op));
    let hinted = |is: fn(Hint) -> bool| config.done().any(|(_, op)| is(op.hint()));
    let grants = matches!(config.reqs, ReqsPolicy::Eval | ReqsPolicy::Opt3) && config.sends("reqs");
    let whole = config.done().any(|(kind, op)| kind != Kind::Mesi && op.words() == 3 && !op.reads());
    let (both, one) = (used(|op| op.words() == 3), used(|op| matches!(op.words(), 1 | 2)));
    let lines = config.lines.len();
    let revokes = lines as u32 > config.bank.1 || config.sends("reqwtdata") || config.shares_lines();
    let lacks = [
        (NO_BYTES, false),
        (NO_UPDATE, false),
        (NO_GUESS, config.guess.is_some()),
        (NO_FORWARD, config.guess.is_some() || config.sends("reqwtfwd")),
        (NO_LOAD_HINT, hinted(|hint| [Hint::REQ_S, Hint::REQ_O_DATA].contains(&hint.request()))),
        (NO_STORE_HINT, hinted(Hint::writes_through)),
        (NOT_SHARED, config.shares_lines()),
        (OTHER_POLICY, config.reqs == ReqsPolicy::Opt2),
        (NO_GRANT, grants),
        (NO_OWNER, config.devices.iter().any(|kind| *kind != Kind::Gpu)),
        (NO_REVOKE, revokes),
        (NO_LOCAL, used(|op| matches!(op, Op::Here(..)))),
        (NO_SYNC, used(|op| matches!(op, Op::Sync(..) | Op::Acquire))),
        (NO_ATOMIC, used(|op| matches!(op, Op::Swap(..) | Op::Sync(..)))),
        (NO_STORE, used(|op| matches!(op, Op::Store(..)))),
        (NO_LOAD, used(|op| matches!(op, Op::Load(..)))),
        (NO_WHOLE, whole),
        (ALL_WHOLE, both && one),
        (LINES_IN_BANK, lines as u32 > config.bank.1),
        (LINES_IN_L1, lines > PLACES),
        (ONE_NACK, config.n_fail > 1),
        (ONE_TBE, config.tbes.0 > 1),
        (ONE_OPEN, config.open > 1),
        (ONE_OPERATION, (0..config.devices.len()).any(|device| config.budget(device) > 1)),
        (FEW_PLACES, false),
    ];
    lacks.into_iter().filter(|(_, there)| !there).map(|(reason, _)| reason)
}

/// Why it was not reached in an exploration that was complete, or not.
pub(super) fn why(config: &Config, name: &str, complete: bool) -> &'static str {
    let name = name.to_lowercase() + ".";
    let told = of_request(config, &name).or_else(|| of_forward(config, &name));
    let fits = |(words, _): &Reason| words.iter().any(|word| name.contains(word));
    let found = told.or_else(|| lacking(config).find(fits).map(|(_, text)| text));
    let none =
        if complete { "no order of these operations leads there" } else { "not every state was visited" };
    found.unwrap_or(none)
}
