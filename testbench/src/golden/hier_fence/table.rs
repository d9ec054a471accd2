//! The transition tables of a hierarchical fence unit's engines (hmg.md sections 6 and 8), as data, and the names of what it sends.

/// How caches are kept coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Directories and markers; `flush`: a release of system scope writes back dirty lines.
    Hmg {
        /// The switch.
        flush: bool,
    },
    /// As HMG where the GPMs of a GPU join their releases of system scope.
    Joined {
        /// The switch.
        flush: bool,
    },
    /// Directories without GPU homes: each home marks every other node, and every release is of system scope.
    Flat {
        /// The switch.
        flush: bool,
    },
    /// Directories without GPU homes whose invalidations are acknowledged: a release drains, an acquire does nothing, all of system scope.
    Drain {
        /// The switch.
        flush: bool,
    },
    /// Software coherence with GPU homes.
    SwHierarchical,
    /// Software coherence without GPU homes.
    SwFlat,
}

impl Scheme {
    /// Releases send markers.
    pub fn markers(self) -> bool {
        matches!(self, Scheme::Hmg { .. } | Scheme::Joined { .. } | Scheme::Flat { .. })
    }

    /// The GPMs of a GPU have one of them, the leader, ask for their releases.
    pub fn joined(self) -> bool {
        matches!(self, Scheme::Joined { .. })
    }

    /// Releases of GPU scope are a kind of their own.
    pub fn gpu_scope(self) -> bool {
        !matches!(self, Scheme::Flat { .. } | Scheme::Drain { .. })
    }

    /// Acquires drop copies.
    pub fn drops(self) -> bool {
        matches!(self, Scheme::SwHierarchical | Scheme::SwFlat)
    }

    /// A release of system scope writes back dirty lines.
    pub fn flushes(self) -> bool {
        use Scheme::{Drain, Flat, Hmg, Joined};
        matches!(
            self,
            Hmg { flush: true } | Joined { flush: true } | Flat { flush: true } | Drain { flush: true }
        )
    }
}

/// Scope of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// GPU.
    Gpu,
    /// System.
    Sys,
}

/// What a fence unit asks its banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Op {
    Drain,
    Flush,
    DropLeaf,
    DropFar,
    DropAll,
}

/// What one fence unit asks another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Order {
    DrainFar,
    MarkGpu,
    MarkSys,
    DropFar,
}

/// One row: what an engine in a state does at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HierRow {
    /// Stable identifier: `hfence.ENGINE.STATE.event`.
    pub id: &'static str,
    /// Engine: `gpu` and `sys` (own releases and acquires by scope), `mark` (this home's markers), `far` (drains towards other GPUs), `drop`.
    pub engine: &'static str,
    /// State before.
    pub state: &'static str,
    /// State after.
    pub next: &'static str,
    /// Schemes that have it, letters of [`letter`].
    schemes: &'static str,
    /// The row in words.
    pub text: &'static str,
}

/// `h` HMG, `f` HMG with a flush, `j` and `k` the same where GPMs join, `d` flat directories, `e` those with
/// a flush, `v` and `w` the same with acknowledged invalidations, `s` hierarchical and `x` flat software
/// coherence.
fn letter(scheme: Scheme) -> char {
    match scheme {
        Scheme::Hmg { flush: false } => 'h',
        Scheme::Hmg { flush: true } => 'f',
        Scheme::Joined { flush: false } => 'j',
        Scheme::Joined { flush: true } => 'k',
        Scheme::Flat { flush: false } => 'd',
        Scheme::Flat { flush: true } => 'e',
        Scheme::Drain { flush: false } => 'v',
        Scheme::Drain { flush: true } => 'w',
        Scheme::SwHierarchical => 's',
        Scheme::SwFlat => 'x',
    }
}

/// The rows of a scheme.
pub fn rows_of(scheme: Scheme) -> impl Iterator<Item = &'static HierRow> {
    HIER_FENCE.iter().filter(move |row| row.schemes.contains(letter(scheme)))
}

const fn row(
    (id, engine): (&'static str, &'static str),
    state: &'static str,
    next: &'static str,
    schemes: &'static str,
    text: &'static str,
) -> HierRow {
    HierRow { id, engine, state, next, schemes, text }
}

const ALL: &str = "hfjksx";
const MARKERS: &str = "hfjk";
const SYS_ALL: &str = "hfjkdevwsx";
const SYS_COHERENT: &str = "hfjkdevw";
const SYS_MARKERS: &str = "hfjkde";
const HIERARCHICAL: &str = "hfjks";
const JOINED: &str = "jk";
const SOFTWARE: &str = "sx";
const NOTED: &str = "noted, its fence begins";
const BATCH: &str = "batched into the next fence of its kind";
const COUNT: &str = "counted";
const NEXT: &str = "noted for the next batch of releases";

/// Sections 6 and 8. A pair that is not listed cannot occur.
pub const HIER_FENCE: &[HierRow] = &[
    row(("hfence.gpu.IDLE.token", "gpu"), "IDLE", "IDLE", ALL, NOTED),
    row(("hfence.gpu.DRAIN.token", "gpu"), "DRAIN", "DRAIN", ALL, BATCH),
    row(("hfence.gpu.SEND.token", "gpu"), "SEND", "SEND", MARKERS, BATCH),
    row(("hfence.gpu.WAIT.token", "gpu"), "WAIT", "WAIT", MARKERS, BATCH),
    row(("hfence.gpu.DROP.token", "gpu"), "DROP", "DROP", SOFTWARE, BATCH),
    row(("hfence.gpu.DONE.token", "gpu"), "DONE", "DONE", ALL, BATCH),
    row(("hfence.gpu.IDLE.release", "gpu"), "IDLE", "DRAIN", ALL, "own banks flip the epoch -> DRAIN"),
    row(("hfence.gpu.IDLE.acquire", "gpu"), "IDLE", "DONE", MARKERS, "L2s are coherent -> DONE"),
    row(("hfence.gpu.IDLE.acquire_sw", "gpu"), "IDLE", "DROP", SOFTWARE, "own banks drop copies -> DROP"),
    row(("hfence.gpu.DRAIN.drained", "gpu"), "DRAIN", "SEND", MARKERS, "wr_g[old] = 0 -> SEND"),
    row(("hfence.gpu.DRAIN.drained_sw", "gpu"), "DRAIN", "DONE", SOFTWARE, "wr_g[old] = 0 -> DONE"),
    row(("hfence.gpu.SEND.ack", "gpu"), "SEND", "SEND", MARKERS, COUNT),
    row(("hfence.gpu.SEND.sent", "gpu"), "SEND", "WAIT", MARKERS, "every GPM of the GPU is asked -> WAIT"),
    row(("hfence.gpu.WAIT.ack", "gpu"), "WAIT", "WAIT", MARKERS, COUNT),
    row(("hfence.gpu.WAIT.all_acks", "gpu"), "WAIT", "DONE", MARKERS, "M homes have acknowledged -> DONE"),
    row(("hfence.gpu.DROP.dropped", "gpu"), "DROP", "DONE", SOFTWARE, "own banks have dropped -> DONE"),
    row(
        ("hfence.gpu.DONE.reported", "gpu"),
        "DONE",
        "IDLE",
        ALL,
        "the last of the batch is reported -> IDLE",
    ),
    row(("hfence.sys.IDLE.token", "sys"), "IDLE", "IDLE", SYS_ALL, NOTED),
    row(("hfence.sys.DRAIN.token", "sys"), "DRAIN", "DRAIN", SYS_ALL, BATCH),
    row(("hfence.sys.FLUSH.token", "sys"), "FLUSH", "FLUSH", "fkew", BATCH),
    row(("hfence.sys.FAR.token", "sys"), "FAR", "FAR", HIERARCHICAL, BATCH),
    row(("hfence.sys.SEND.token", "sys"), "SEND", "SEND", SYS_MARKERS, BATCH),
    row(("hfence.sys.WAIT.token", "sys"), "WAIT", "WAIT", SYS_MARKERS, BATCH),
    row(("hfence.sys.DROP.token", "sys"), "DROP", "DROP", SOFTWARE, BATCH),
    row(("hfence.sys.DROP_WAIT.token", "sys"), "DROP_WAIT", "DROP_WAIT", "s", BATCH),
    row(("hfence.sys.DONE.token", "sys"), "DONE", "DONE", SYS_ALL, BATCH),
    row(("hfence.sys.IDLE.release", "sys"), "IDLE", "DRAIN", SYS_ALL, "own banks flip the epoch -> DRAIN"),
    row(("hfence.sys.IDLE.acquire", "sys"), "IDLE", "DONE", SYS_COHERENT, "L2s are coherent -> DONE"),
    row(
        ("hfence.sys.IDLE.acquire_sw", "sys"),
        "IDLE",
        "DROP",
        SOFTWARE,
        "own banks and other GPMs drop -> DROP",
    ),
    row(("hfence.sys.DRAIN.drained", "sys"), "DRAIN", "FAR", "hjs", "wr_g[old] = 0: all GPMs drain -> FAR"),
    row(("hfence.sys.DRAIN.drained_flush", "sys"), "DRAIN", "FLUSH", "fkew", "wr_g[old] = 0 -> FLUSH"),
    row(("hfence.sys.DRAIN.drained_flat", "sys"), "DRAIN", "DONE", "vx", "all homes have all writes -> DONE"),
    row(("hfence.sys.FLUSH.flushed_drain", "sys"), "FLUSH", "DONE", "w", "dirty lines are written -> DONE"),
    row(
        ("hfence.sys.FLUSH.flushed", "sys"),
        "FLUSH",
        "FAR",
        "fk",
        "dirty lines are written: all GPMs drain -> FAR",
    ),
    row(
        ("hfence.sys.DRAIN.drained_direct", "sys"),
        "DRAIN",
        "SEND",
        "d",
        "all homes have all writes -> SEND",
    ),
    row(("hfence.sys.FLUSH.flushed_direct", "sys"), "FLUSH", "SEND", "e", "dirty lines are written -> SEND"),
    row(("hfence.sys.FAR.ack", "sys"), "FAR", "FAR", HIERARCHICAL, COUNT),
    row(("hfence.sys.FAR.all_acks", "sys"), "FAR", "SEND", MARKERS, "wr_s[old] = 0 in M GPMs -> SEND"),
    row(("hfence.sys.FAR.all_acks_sw", "sys"), "FAR", "DONE", "s", "wr_s[old] = 0 in M GPMs -> DONE"),
    row(("hfence.sys.SEND.ack", "sys"), "SEND", "SEND", SYS_MARKERS, COUNT),
    row(("hfence.sys.SEND.sent", "sys"), "SEND", "WAIT", SYS_MARKERS, "every node is asked -> WAIT"),
    row(("hfence.sys.WAIT.ack", "sys"), "WAIT", "WAIT", SYS_MARKERS, COUNT),
    row(
        ("hfence.sys.WAIT.all_acks", "sys"),
        "WAIT",
        "DONE",
        SYS_MARKERS,
        "N*M homes have acknowledged -> DONE",
    ),
    row(("hfence.sys.DROP.ack", "sys"), "DROP", "DROP", "s", COUNT),
    row(("hfence.sys.DROP.dropped", "sys"), "DROP", "DROP_WAIT", "s", "own banks have dropped -> DROP_WAIT"),
    row(("hfence.sys.DROP.dropped_flat", "sys"), "DROP", "DONE", "x", "own banks have dropped -> DONE"),
    row(("hfence.sys.DROP_WAIT.ack", "sys"), "DROP_WAIT", "DROP_WAIT", "s", COUNT),
    row(("hfence.sys.DROP_WAIT.all_acks", "sys"), "DROP_WAIT", "DONE", "s", "all GPMs have dropped -> DONE"),
    row(
        ("hfence.sys.DONE.reported", "sys"),
        "DONE",
        "IDLE",
        SYS_ALL,
        "the last of the batch is reported -> IDLE",
    ),
    row(("hfence.sys.IDLE.join", "sys"), "IDLE", "IDLE", JOINED, NEXT),
    row(("hfence.sys.DRAIN.join", "sys"), "DRAIN", "DRAIN", JOINED, NEXT),
    row(("hfence.sys.FLUSH.join", "sys"), "FLUSH", "FLUSH", "k", NEXT),
    row(("hfence.sys.FAR.join", "sys"), "FAR", "FAR", JOINED, "noted, another far drain takes it in"),
    row(("hfence.sys.SEND.join", "sys"), "SEND", "SEND", JOINED, NEXT),
    row(("hfence.sys.WAIT.join", "sys"), "WAIT", "WAIT", JOINED, NEXT),
    row(("hfence.sys.DONE.join", "sys"), "DONE", "DONE", JOINED, NEXT),
    row(("hfence.sys.FAR.again", "sys"), "FAR", "FAR", JOINED, "GPMs have joined: all GPMs drain again"),
    row(("hfence.join.IDLE.token", "join"), "IDLE", "IDLE", JOINED, NOTED),
    row(("hfence.join.DRAIN.token", "join"), "DRAIN", "DRAIN", JOINED, BATCH),
    row(("hfence.join.FLUSH.token", "join"), "FLUSH", "FLUSH", "k", BATCH),
    row(("hfence.join.SEND.token", "join"), "SEND", "SEND", JOINED, BATCH),
    row(("hfence.join.WAIT.token", "join"), "WAIT", "WAIT", JOINED, BATCH),
    row(("hfence.join.DONE.token", "join"), "DONE", "DONE", JOINED, BATCH),
    row(("hfence.join.IDLE.release", "join"), "IDLE", "DRAIN", JOINED, "own banks flip the epoch -> DRAIN"),
    row(("hfence.join.IDLE.acquire", "join"), "IDLE", "DONE", JOINED, "L2s are coherent -> DONE"),
    row(("hfence.join.DRAIN.drained", "join"), "DRAIN", "SEND", "j", "wr_g[old] = 0 -> SEND"),
    row(("hfence.join.DRAIN.drained_flush", "join"), "DRAIN", "FLUSH", "k", "wr_g[old] = 0 -> FLUSH"),
    row(("hfence.join.FLUSH.flushed", "join"), "FLUSH", "SEND", "k", "dirty lines are written -> SEND"),
    row(("hfence.join.SEND.sent", "join"), "SEND", "WAIT", JOINED, "the leader is asked -> WAIT"),
    row(("hfence.join.WAIT.ack", "join"), "WAIT", "WAIT", JOINED, COUNT),
    row(
        ("hfence.join.WAIT.all_acks", "join"),
        "WAIT",
        "DONE",
        JOINED,
        "the leader's release is complete -> DONE",
    ),
    row(
        ("hfence.join.DONE.reported", "join"),
        "DONE",
        "IDLE",
        JOINED,
        "the last of the batch is reported -> IDLE",
    ),
    row(("hfence.relay.IDLE.request", "relay"), "IDLE", "IDLE", JOINED, "noted"),
    row(("hfence.relay.BUSY.request", "relay"), "BUSY", "BUSY", JOINED, "noted for the next time"),
    row(
        ("hfence.relay.IDLE.begin", "relay"),
        "IDLE",
        "BUSY",
        JOINED,
        "the homes are asked, for all GPUs that wait -> BUSY",
    ),
    row(("hfence.relay.BUSY.finished", "relay"), "BUSY", "IDLE", JOINED, "all homes are asked -> IDLE"),
    row(("hfence.mark.IDLE.request", "mark"), "IDLE", "IDLE", SYS_MARKERS, "noted"),
    row(("hfence.mark.ORDER.request", "mark"), "ORDER", "ORDER", SYS_MARKERS, "noted"),
    row(("hfence.mark.OUT.request", "mark"), "OUT", "OUT", SYS_MARKERS, "noted"),
    row(
        ("hfence.mark.IDLE.begin", "mark"),
        "IDLE",
        "ORDER",
        SYS_MARKERS,
        "a token to every bank, for all who wait -> ORDER",
    ),
    row(("hfence.mark.ORDER.ordered", "mark"), "ORDER", "OUT", SYS_MARKERS, "all tokens are back -> OUT"),
    row(("hfence.mark.OUT.left", "mark"), "OUT", "IDLE", SYS_MARKERS, "InvFence goes to the egress -> IDLE"),
    row(("hfence.far.IDLE.request", "far"), "IDLE", "IDLE", HIERARCHICAL, "noted"),
    row(("hfence.far.BUSY.request", "far"), "BUSY", "BUSY", HIERARCHICAL, "noted for the next time"),
    row(
        ("hfence.far.IDLE.begin", "far"),
        "IDLE",
        "BUSY",
        HIERARCHICAL,
        "second epoch flips, for all that wait -> BUSY",
    ),
    row(
        ("hfence.far.BUSY.finished", "far"),
        "BUSY",
        "IDLE",
        HIERARCHICAL,
        "wr_s[old] = 0: all served are answered -> IDLE",
    ),
    row(("hfence.drop.IDLE.request", "drop"), "IDLE", "IDLE", "s", "noted"),
    row(("hfence.drop.BUSY.request", "drop"), "BUSY", "BUSY", "s", "noted for the next time"),
    row(
        ("hfence.drop.IDLE.begin", "drop"),
        "IDLE",
        "BUSY",
        "s",
        "lines of other GPUs go, for all that wait -> BUSY",
    ),
    row(("hfence.drop.BUSY.finished", "drop"), "BUSY", "IDLE", "s", "all served are answered -> IDLE"),
];
