//! Transition tables of the L2 bank in a hierarchy (hmg.md section 5), typed from the specification as data: a line whose GPU home is this bank, and
//! what banks that know scopes add to the requester side.

use super::table::{Legality, ReqDo, ReqEvent, ReqRow, ReqState};

/// State of a line whose GPU home is this bank and whose system home is in another GPU (section 5, MSHR rules at each level).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuState {
    /// Not present.
    I,
    /// Valid copy, without dirty bytes.
    V,
    /// A read waits for the system home.
    P,
    /// Waiting and poisoned: the fill answers what waits but is not installed.
    PX,
    /// A read waits, and its list holds atomics of CU or GPU scope that are performed here.
    PA,
    /// The same, poisoned.
    PAX,
    /// Valid copy with dirty bytes (section 5.2, write-back; rows in [`super::held_table`], as of W).
    D,
    /// Dirty bytes only, not readable.
    W,
}

/// Event on such a line; requests come from this GPM and from other GPMs of the GPU alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuEvent {
    /// Load of CU or GPU scope.
    Load,
    /// Load of system scope.
    LoadForced,
    /// Store of every byte of the line.
    StoreFull,
    /// Store of some bytes.
    StorePartial,
    /// Atomic of CU or GPU scope: performed here.
    AtomicGpu,
    /// Atomic of system scope: performed at the system home.
    AtomicSys,
    /// Data from the system home.
    RdRsp,
    /// Invalidation from the system home.
    Inv,
    /// Chosen for replacement.
    Victim,
    /// Store of every byte that may be held here (write-back).
    StoreFullHeld,
    /// Store of some bytes that may be held here.
    StorePartialHeld,
    /// The dirty bytes go on.
    WriteOn,
}

impl GpuEvent {
    /// True for requests.
    pub fn is_request(self) -> bool {
        !matches!(self, GpuEvent::RdRsp | GpuEvent::Inv | GpuEvent::Victim | GpuEvent::WriteOn)
    }
}

/// What a GPU home does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuDo {
    /// RdReq to the system home; reserves an MSHR.
    SendRdReq,
    /// The store goes on to the system home.
    PassWrReq,
    /// The atomic goes on to the system home, with an MSHR of its own.
    PassAtomReq,
    /// The atomic's result goes to the system home as a WrReq of its word.
    PassResult,
    /// Data written into a newly chosen way.
    Install,
    /// Data of the copy changed in place.
    Update,
    /// The load is answered from the copy.
    Answer,
    /// The request joins the MSHR's list; at most 8, the next waits.
    Append,
    /// The list is replayed in order on the fill: loads are answered, atomics performed, their results sent on.
    Replay,
    /// The request is held until the MSHR is freed.
    Wait,
    /// The copy is dropped.
    Drop,
    /// The directory passes the Inv on to the GPMs it has recorded.
    Forward,
    /// A newly chosen way takes the bytes, nothing is fetched.
    Allocate,
    /// The bytes stored are the dirty ones.
    Mark,
    /// They are dirty too.
    Join,
    /// They are not dirty any more.
    Unmark,
    /// [`GpuEvent::WriteOn`] comes first, then this event again.
    DirtyFirst,
    /// WrReq of the dirty bytes to the system home.
    SendDirty,
}

/// One row of the table of a GPU home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuRow {
    /// Stable identifier.
    pub id: &'static str,
    /// State before.
    pub state: GpuState,
    /// Event.
    pub event: GpuEvent,
    /// State after.
    pub next: GpuState,
    /// What is done, in order.
    pub does: &'static [GpuDo],
    /// Does it occur?
    pub legality: Legality,
    /// What the specification says.
    pub text: &'static str,
}

const fn row(
    id: &'static str,
    state: GpuState,
    event: GpuEvent,
    next: GpuState,
    does: &'static [GpuDo],
    text: &'static str,
) -> GpuRow {
    GpuRow { id, state, event, next, does, legality: Legality::Legal, text }
}

const fn bad(id: &'static str, state: GpuState, event: GpuEvent, legality: Legality) -> GpuRow {
    GpuRow { id, state, event, next: state, does: &[], legality, text: "" }
}

const fn held(id: &'static str, state: GpuState, event: GpuEvent, text: &'static str) -> GpuRow {
    row(id, state, event, state, &[GpuDo::Wait], text)
}

/// 6 states by 9 events.
pub const GPU_HOME: [GpuRow; 54] = {
    use GpuDo as A;
    use GpuEvent::*;
    use GpuState::*;
    use Legality::{Error, Never};
    const UNTIL: &str = "wait until freed";
    const FIRST: &str = "wait: the atomic of the list comes first";
    [
        row("l2gpu.I.load", I, Load, P, &[A::SendRdReq, A::Append], "RdReq -> P"),
        row("l2gpu.I.load_forced", I, LoadForced, P, &[A::SendRdReq, A::Append], "RdReq -> P"),
        row("l2gpu.I.store_full", I, StoreFull, V, &[A::Install, A::PassWrReq], "install, WrReq on -> V"),
        row("l2gpu.I.store_partial", I, StorePartial, I, &[A::PassWrReq], "WrReq on, stay I"),
        row("l2gpu.I.atomic_gpu", I, AtomicGpu, PA, &[A::SendRdReq, A::Append], "fetch the line first -> PA"),
        row("l2gpu.I.atomic_sys", I, AtomicSys, I, &[A::PassAtomReq], "AtomReq on"),
        bad("l2gpu.I.RdRsp", I, RdRsp, Error),
        row("l2gpu.I.Inv", I, Inv, I, &[A::Forward], "forward"),
        bad("l2gpu.I.victim", I, Victim, Never),
        row("l2gpu.V.load", V, Load, V, &[A::Answer], "hit"),
        row("l2gpu.V.load_forced", V, LoadForced, P, &[A::Drop, A::SendRdReq, A::Append], "drop, RdReq -> P"),
        row("l2gpu.V.store_full", V, StoreFull, V, &[A::Update, A::PassWrReq], "update, WrReq on"),
        row("l2gpu.V.store_partial", V, StorePartial, V, &[A::Update, A::PassWrReq], "update, WrReq on"),
        row(
            "l2gpu.V.atomic_gpu",
            V,
            AtomicGpu,
            V,
            &[A::Update, A::PassResult],
            "perform, result on as WrReq",
        ),
        row("l2gpu.V.atomic_sys", V, AtomicSys, I, &[A::Drop, A::PassAtomReq], "drop, AtomReq on -> I"),
        bad("l2gpu.V.RdRsp", V, RdRsp, Error),
        row("l2gpu.V.Inv", V, Inv, I, &[A::Drop, A::Forward], "drop, forward -> I"),
        row("l2gpu.V.victim", V, Victim, I, &[A::Drop], "silent -> I"),
        row("l2gpu.P.load", P, Load, P, &[A::Append], "join (max 8, then wait)"),
        held("l2gpu.P.load_forced", P, LoadForced, "wait: the older read may return older data"),
        row("l2gpu.P.store_full", P, StoreFull, PX, &[A::PassWrReq], "WrReq on -> PX"),
        row("l2gpu.P.store_partial", P, StorePartial, PX, &[A::PassWrReq], "WrReq on -> PX"),
        row("l2gpu.P.atomic_gpu", P, AtomicGpu, PA, &[A::Append], "join -> PA"),
        row("l2gpu.P.atomic_sys", P, AtomicSys, PX, &[A::PassAtomReq], "AtomReq on -> PX"),
        row("l2gpu.P.RdRsp", P, RdRsp, V, &[A::Replay, A::Install], "answer, install -> V"),
        row("l2gpu.P.Inv", P, Inv, PX, &[A::Forward], "forward -> PX"),
        bad("l2gpu.P.victim", P, Victim, Never),
        held("l2gpu.PX.load", PX, Load, UNTIL),
        held("l2gpu.PX.load_forced", PX, LoadForced, UNTIL),
        row("l2gpu.PX.store_full", PX, StoreFull, PX, &[A::PassWrReq], "WrReq on"),
        row("l2gpu.PX.store_partial", PX, StorePartial, PX, &[A::PassWrReq], "WrReq on"),
        held("l2gpu.PX.atomic_gpu", PX, AtomicGpu, UNTIL),
        row("l2gpu.PX.atomic_sys", PX, AtomicSys, PX, &[A::PassAtomReq], "AtomReq on"),
        row("l2gpu.PX.RdRsp", PX, RdRsp, I, &[A::Replay], "answer, free -> I"),
        row("l2gpu.PX.Inv", PX, Inv, PX, &[A::Forward], "forward"),
        bad("l2gpu.PX.victim", PX, Victim, Never),
        row("l2gpu.PA.load", PA, Load, PA, &[A::Append], "join behind the atomic"),
        held("l2gpu.PA.load_forced", PA, LoadForced, UNTIL),
        held("l2gpu.PA.store_full", PA, StoreFull, FIRST),
        held("l2gpu.PA.store_partial", PA, StorePartial, FIRST),
        row("l2gpu.PA.atomic_gpu", PA, AtomicGpu, PA, &[A::Append], "join"),
        held("l2gpu.PA.atomic_sys", PA, AtomicSys, FIRST),
        row("l2gpu.PA.RdRsp", PA, RdRsp, V, &[A::Replay, A::Install], "replay, results on, install -> V"),
        row("l2gpu.PA.Inv", PA, Inv, PAX, &[A::Forward], "forward -> PAX"),
        bad("l2gpu.PA.victim", PA, Victim, Never),
        held("l2gpu.PAX.load", PAX, Load, UNTIL),
        held("l2gpu.PAX.load_forced", PAX, LoadForced, UNTIL),
        held("l2gpu.PAX.store_full", PAX, StoreFull, FIRST),
        held("l2gpu.PAX.store_partial", PAX, StorePartial, FIRST),
        held("l2gpu.PAX.atomic_gpu", PAX, AtomicGpu, UNTIL),
        held("l2gpu.PAX.atomic_sys", PAX, AtomicSys, FIRST),
        row("l2gpu.PAX.RdRsp", PAX, RdRsp, I, &[A::Replay], "replay, results on, free -> I"),
        row("l2gpu.PAX.Inv", PAX, Inv, PAX, &[A::Forward], "forward"),
        bad("l2gpu.PAX.victim", PAX, Victim, Never),
    ]
};

const fn forced(id: &'static str, state: ReqState, does: &'static [ReqDo], text: &'static str) -> ReqRow {
    let next = match state {
        ReqState::PX => ReqState::PX,
        _ => ReqState::P,
    };
    ReqRow { id, state, event: ReqEvent::LoadForced, next, does, legality: Legality::Legal, text }
}

/// Rows of the requester side in banks that know scopes (section 5.1): a load of GPU or system scope that no copy here may serve.
pub const FORCED: [ReqRow; 4] = {
    use ReqDo as A;
    use ReqState::*;
    [
        forced("l2req.I.load_forced", I, &[A::SendRdReq, A::Merge], "RdReq -> P"),
        forced("l2req.V.load_forced", V, &[A::Drop, A::SendRdReq, A::Merge], "drop, RdReq -> P"),
        forced("l2req.P.load_forced", P, &[A::Wait], "wait: the older read may return older data"),
        forced("l2req.PX.load_forced", PX, &[A::Wait], "wait until freed"),
    ]
};
