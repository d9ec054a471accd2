//! Why a row or race was not reached: what the configuration lacks for it, told by the words of its name.

use super::{Config, Kind, Op};

/// Words of which one stands in the name, lowest case, and why that is not reached.
type Reason = (&'static [&'static str], &'static str);

const ALWAYS: &[Reason] = &[
    (&["kbegin", "kend"], "no kernel begins or ends"),
    (&["bytes", "mixed"], "stores are of whole words"),
    (
        &[
            "denovo_l1.reqs",
            "denovo_l1.reqwt",
            "denovo_l1.inv",
            "fwd.inv",
            "fwd.reqwt",
            "split_reqs",
            "split_reqwt",
            ".direct",
        ],
        "the GPU L2 sends CUs no ReqS, ReqWT or Inv, and CUs send each other nothing",
    ),
    (
        &["at.w", "ld.w", "st.w", "data.w", "free.w", "hold.", "keep.", "write."],
        "only a translation unit of Spandex takes words of a line",
    ),
];
const NO_CPU: Reason = (&["mesi_l1", "hmesi_client"], "no cpu in --devices");
const NO_OWNER: Reason = (
    &["denovo", "reqo", "rvk", "revoke", "reqwb", ".o", "held", "phase1", "crosse", "owned"],
    "no denovo in --devices: nobody owns words",
);
const NO_GPU: Reason = (&["gpu_l1", "tu_gpu"], "no gpu in --devices");
const ONE_CLIENT: Reason =
    (&["inv", "fwdget", "isi", "invack"], "one client of the L3 alone issues anything");
const NO_ATOMIC: Reason = (&["rmw", "amo", "atomic", "wtdata", "odata", "sync"], "no AT or SYNC in --ops");
const NO_STORE: Reason = (&[".st.", "store", "reqwt", "dirty", "putm"], "no ST in --ops");
const NO_ACQUIRE: Reason = (&["acq"], "no ACQ in --ops");
const FEW_LINES: Reason = (
    &[
        "evict", "victim", "put", "recall", "wback", ".mi", ".ii", "frame", "wbb", "replace", "unsent",
        "miss.",
    ],
    "all lines have a place: nothing is displaced",
);
const FEW_OPEN: Reason = (
    &["join", ".p", "pending", "coming", ".busy", "behind", "during", "second", "_in_", "beside"],
    "a device has one operation open at a time; --open 2 changes that",
);
const ONE_OPERATION: Reason = (
    &["ld.", "st.", "at.", "rmw.", "amo.", "flash", "inv", "isi", "ack", "stale", "reread", "once", "old"],
    "each device issues one operation: it finds nothing in its L1",
);
const FEW_PLACES: Reason = (
    &["full", "wait", "stall", "list", "blocked", "again", "two_", "replay", "several", "busy_", "fetch."],
    "more has to be under way than this budget, or these sizes, allow",
);

/// Lines that have a place in every cache.
const PLACES: usize = 2;

/// Why it was not reached in an exploration that was complete, or not.
pub(super) fn why(config: &Config, name: &str, complete: bool) -> &'static str {
    let name = name.to_lowercase();
    let cores = &config.cores;
    let ops = || (0..cores.devices.len()).flat_map(|device| cores.alphabet(device));
    let used = |is: fn(&Op) -> bool| ops().any(is);
    let lines = ops().map(|op| op.line() + 1).max().unwrap_or(0);
    let active = |cpu: bool| {
        let of = |device: &usize| (cores.devices[*device] == Kind::Mesi) == cpu && cores.budget(*device) > 0;
        (0..cores.devices.len()).filter(of).count()
    };
    let clients = active(true) + usize::from(active(false) > 0);
    let lacks = [
        (NO_CPU, cores.cpus > 0),
        (NO_OWNER, cores.devices.contains(&Kind::Denovo)),
        (NO_GPU, cores.devices.contains(&Kind::Gpu)),
        (ONE_CLIENT, clients > 1),
        (NO_ATOMIC, used(|op| op.updates())),
        (NO_STORE, used(|op| matches!(op, Op::Store(..)))),
        (NO_ACQUIRE, used(|op| matches!(op, Op::Acquire))),
        (FEW_LINES, lines > PLACES),
        (FEW_OPEN, cores.open > 1),
        (ONE_OPERATION, (0..cores.devices.len()).any(|device| cores.budget(device) > 1)),
        (FEW_PLACES, false),
    ];
    let lacks = lacks.into_iter().filter(|(_, there)| !there).map(|(reason, _)| reason);
    let mut lacking = ALWAYS.iter().copied().chain(lacks);
    let found = lacking.find(|(words, _)| words.iter().any(|word| name.contains(word)));
    let none =
        if complete { "no order of these operations leads there" } else { "not every state was visited" };
    found.map_or(none, |(_, text)| text)
}
