//! Transition tables of the L2 bank (rec.md sections 6.1 and 6.2), typed from the specification as data.

use crate::golden::dir_table::DirOp;

/// Does the pair of state and event occur?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legality {
    /// It occurs: a row to be hit.
    Legal,
    /// The specification calls it an error: an assertion.
    Error,
    /// The cell is empty in the specification: the event is never offered in this state.
    Never,
}

/// State of a remote-homed line in the requester's L2 (section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReqState {
    /// Not present.
    I,
    /// Valid copy, without dirty bytes.
    V,
    /// MSHR waiting for RdRsp.
    P,
    /// Waiting and poisoned: the fill answers its loads but is not installed.
    PX,
    /// Valid copy with dirty bytes (hmg.md section 5.2, write-back; rows in [`super::held_table`], as of W).
    D,
    /// Dirty bytes only, not readable.
    W,
}

/// Event on a remote-homed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReqEvent {
    /// Load by a CU of this GPU.
    Load,
    /// Store of every byte of the line.
    StoreFull,
    /// Store of some bytes.
    StorePartial,
    /// Atomic, executed at the home.
    Atomic,
    /// Data from the home.
    RdRsp,
    /// Invalidation from the home.
    Inv,
    /// Chosen for replacement.
    Victim,
    /// Load of a scope that no copy in this bank may serve (hmg.md section 5.1; rows in [`super::hier_table::FORCED`]).
    LoadForced,
    /// Store of every byte that may be held here (write-back).
    StoreFullHeld,
    /// Store of some bytes that may be held here.
    StorePartialHeld,
    /// The dirty bytes go on: by a release, to make room, or before a request that must go on.
    WriteOn,
}

/// What the requester side does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReqDo {
    /// RdReq to the home; reserves an MSHR.
    SendRdReq,
    /// WrReq to the home.
    SendWrReq,
    /// AtomReq to the home, with an MSHR of its own.
    SendAtomReq,
    /// Data written into a newly chosen way.
    Install,
    /// Data of the copy changed in place.
    Update,
    /// The load is answered from the copy.
    AnswerHit,
    /// All loads merged into the MSHR are answered from the fill.
    AnswerMerged,
    /// The load joins the MSHR; at most 8, the next waits.
    Merge,
    /// The load is held in the local-REQ queue (or replayed).
    Wait,
    /// The copy is dropped.
    Drop,
    /// Counter of Invs that found no copy.
    CountInvMiss,
    /// Counter of Invs that dropped a copy, by cause.
    CountInvHit,
    /// A newly chosen way takes the bytes, nothing is fetched.
    Allocate,
    /// The bytes stored are the dirty ones.
    Mark,
    /// They are dirty too.
    Join,
    /// They are not dirty any more.
    Unmark,
    /// [`ReqEvent::WriteOn`] comes first, then this event again.
    DirtyFirst,
    /// WrReq of the dirty bytes.
    SendDirty,
}

/// One row of the requester-side table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReqRow {
    /// Stable identifier.
    pub id: &'static str,
    /// State before.
    pub state: ReqState,
    /// Event.
    pub event: ReqEvent,
    /// State after.
    pub next: ReqState,
    /// What is done, in order.
    pub does: &'static [ReqDo],
    /// Does it occur?
    pub legality: Legality,
    /// The cell of the specification.
    pub text: &'static str,
}

/// State of a locally homed line in its home L2 (section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HomeState {
    /// Not present.
    I,
    /// Clean.
    V,
    /// Dirty.
    D,
    /// DRAM fetch with an ordered replay list.
    F,
}

/// Event on a locally homed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HomeEvent {
    /// Load by a CU of the home GPU.
    Load,
    /// Local store of every byte.
    StoreFull,
    /// Local store of some bytes.
    StorePartial,
    /// Local atomic.
    Atomic,
    /// Read by another GPU.
    RdReq,
    /// Write of every byte by another GPU.
    WrReqFull,
    /// Write of some bytes by another GPU.
    WrReqPartial,
    /// Atomic by another GPU.
    AtomReq,
    /// Data from DRAM.
    Fill,
    /// Chosen for replacement.
    Victim,
    /// Invalidation (always an error at the home).
    Inv,
}

impl HomeEvent {
    /// The directory operation of this event (section 6.2, last column). `cacheable` is the field of RdReq and WrReq:
    /// without it a read issues no operation and a write counts as WR_LOC.
    pub fn dir_op(self, cacheable: bool) -> Option<DirOp> {
        match self {
            HomeEvent::StoreFull | HomeEvent::StorePartial | HomeEvent::Atomic => Some(DirOp::WrLoc),
            HomeEvent::RdReq => cacheable.then_some(DirOp::RdRem),
            HomeEvent::WrReqFull | HomeEvent::WrReqPartial if cacheable => Some(DirOp::WrRem),
            HomeEvent::WrReqFull | HomeEvent::WrReqPartial => Some(DirOp::WrLoc),
            HomeEvent::AtomReq => Some(DirOp::AtomRem),
            HomeEvent::Load | HomeEvent::Fill | HomeEvent::Victim | HomeEvent::Inv => None,
        }
    }

    /// True when the acknowledgement (WrAck, AtomRsp, local store-complete) needs the directory's `rsp` besides the
    /// data step; RdRsp and local loads need data only.
    pub fn ack_needs_directory(self) -> bool {
        matches!(self.dir_op(true), Some(DirOp::WrLoc | DirOp::WrRem | DirOp::AtomRem))
    }

    /// True when the event changes the line's data.
    pub fn writes(self) -> bool {
        self.ack_needs_directory()
    }

    /// True for requests, which may be appended to a replay list.
    pub fn is_request(self) -> bool {
        !matches!(self, HomeEvent::Fill | HomeEvent::Victim | HomeEvent::Inv)
    }
}

/// What the home side does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HomeDo {
    /// Fetch from DRAM, opening a replay list with this request.
    Fetch,
    /// The request joins the replay list; at most 8, the next holds its class queue.
    Append,
    /// Full line installed without a fetch.
    Install,
    /// Data changed in place.
    Update,
    /// A local load is answered.
    AnswerLoad,
    /// A local store or atomic is done as far as data goes; complete with the directory's `rsp`.
    LocalDone,
    /// RdRsp to the requester.
    SendRdRsp,
    /// WrAck, once the directory has answered too.
    SendWrAck,
    /// AtomRsp with the old value, once the directory has answered too.
    SendAtomRsp,
    /// The replay list is performed in order.
    Replay,
    /// Data written back to DRAM.
    WriteBack,
    /// A clean copy is dropped.
    Drop,
}

/// One row of the home-side table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeRow {
    /// Stable identifier.
    pub id: &'static str,
    /// State before.
    pub state: HomeState,
    /// Event.
    pub event: HomeEvent,
    /// State after; a fill ends in `D` instead of `V` if a replayed request writes.
    pub next: HomeState,
    /// What is done, in order.
    pub does: &'static [HomeDo],
    /// Does it occur?
    pub legality: Legality,
    /// The cell of the specification.
    pub text: &'static str,
}

const fn req(
    id: &'static str,
    state: ReqState,
    event: ReqEvent,
    next: ReqState,
    does: &'static [ReqDo],
    text: &'static str,
) -> ReqRow {
    ReqRow { id, state, event, next, does, legality: Legality::Legal, text }
}

const fn req_bad(id: &'static str, state: ReqState, event: ReqEvent, legality: Legality) -> ReqRow {
    ReqRow { id, state, event, next: state, does: &[], legality, text: "" }
}

const fn home(
    id: &'static str,
    state: HomeState,
    event: HomeEvent,
    next: HomeState,
    does: &'static [HomeDo],
    text: &'static str,
) -> HomeRow {
    HomeRow { id, state, event, next, does, legality: Legality::Legal, text }
}

const fn home_bad(id: &'static str, state: HomeState, event: HomeEvent, legality: Legality) -> HomeRow {
    HomeRow { id, state, event, next: state, does: &[], legality, text: "" }
}

/// Section 6.1: 4 states by 7 events.
pub const REQUESTER: [ReqRow; 28] = {
    use Legality::{Error, Never};
    use ReqDo as A;
    use ReqEvent::*;
    use ReqState::*;
    [
        req("l2req.I.load", I, Load, P, &[A::SendRdReq, A::Merge], "RdReq -> P"),
        req("l2req.I.store_full", I, StoreFull, V, &[A::Install, A::SendWrReq], "install, WrReq -> V"),
        req("l2req.I.store_partial", I, StorePartial, I, &[A::SendWrReq], "WrReq, stay I"),
        req("l2req.I.atomic", I, Atomic, I, &[A::SendAtomReq], "AtomReq"),
        req_bad("l2req.I.RdRsp", I, RdRsp, Error),
        req("l2req.I.Inv", I, Inv, I, &[A::CountInvMiss], "count miss"),
        req_bad("l2req.I.victim", I, Victim, Never),
        req("l2req.V.load", V, Load, V, &[A::AnswerHit], "hit"),
        req("l2req.V.store_full", V, StoreFull, V, &[A::Update, A::SendWrReq], "update, WrReq"),
        req("l2req.V.store_partial", V, StorePartial, V, &[A::Update, A::SendWrReq], "update, WrReq"),
        req("l2req.V.atomic", V, Atomic, I, &[A::Drop, A::SendAtomReq], "AtomReq -> I"),
        req_bad("l2req.V.RdRsp", V, RdRsp, Error),
        req("l2req.V.Inv", V, Inv, I, &[A::Drop, A::CountInvHit], "-> I, count hit by cause"),
        req("l2req.V.victim", V, Victim, I, &[A::Drop], "silent -> I"),
        req("l2req.P.load", P, Load, P, &[A::Merge], "merge (max 8, then wait)"),
        req("l2req.P.store_full", P, StoreFull, PX, &[A::SendWrReq], "WrReq -> PX"),
        req("l2req.P.store_partial", P, StorePartial, PX, &[A::SendWrReq], "WrReq -> PX"),
        req("l2req.P.atomic", P, Atomic, PX, &[A::SendAtomReq], "AtomReq -> PX"),
        req("l2req.P.RdRsp", P, RdRsp, V, &[A::Install, A::AnswerMerged], "install, answer -> V"),
        req("l2req.P.Inv", P, Inv, PX, &[], "-> PX"),
        req_bad("l2req.P.victim", P, Victim, Never),
        req("l2req.PX.load", PX, Load, PX, &[A::Wait], "wait until freed"),
        req("l2req.PX.store_full", PX, StoreFull, PX, &[A::SendWrReq], "WrReq"),
        req("l2req.PX.store_partial", PX, StorePartial, PX, &[A::SendWrReq], "WrReq"),
        req("l2req.PX.atomic", PX, Atomic, PX, &[A::SendAtomReq], "AtomReq"),
        req("l2req.PX.RdRsp", PX, RdRsp, I, &[A::AnswerMerged], "answer, free -> I"),
        req("l2req.PX.Inv", PX, Inv, PX, &[], "PX"),
        req_bad("l2req.PX.victim", PX, Victim, Never),
    ]
};

/// Section 6.2: 4 states by 11 events (full and partial stores apart, V and D apart).
pub const HOME: [HomeRow; 44] = {
    use HomeDo as A;
    use HomeEvent::*;
    use HomeState::*;
    use Legality::{Error, Never};
    const LOCAL: &[HomeDo] = &[A::Update, A::LocalDone];
    const REMOTE: &[HomeDo] = &[A::Update, A::SendWrAck];
    const ATOM: &[HomeDo] = &[A::Update, A::SendAtomRsp];
    [
        home("l2home.I.load", I, Load, F, &[A::Fetch], "fetch -> F"),
        home("l2home.I.store_full", I, StoreFull, D, &[A::Install, A::LocalDone], "full store: install D"),
        home("l2home.I.store_partial", I, StorePartial, F, &[A::Fetch], "fetch -> F"),
        home("l2home.I.atomic", I, Atomic, F, &[A::Fetch], "fetch -> F"),
        home("l2home.I.RdReq", I, RdReq, F, &[A::Fetch], "fetch -> F"),
        home("l2home.I.WrReq_full", I, WrReqFull, D, &[A::Install, A::SendWrAck], "full: install D"),
        home("l2home.I.WrReq_partial", I, WrReqPartial, F, &[A::Fetch], "fetch -> F"),
        home("l2home.I.AtomReq", I, AtomReq, F, &[A::Fetch], "fetch -> F"),
        home_bad("l2home.I.fill", I, Fill, Error),
        home_bad("l2home.I.victim", I, Victim, Never),
        home_bad("l2home.I.Inv", I, Inv, Error),
        home("l2home.V.load", V, Load, V, &[A::AnswerLoad], "hit"),
        home("l2home.V.store_full", V, StoreFull, D, LOCAL, "update -> D"),
        home("l2home.V.store_partial", V, StorePartial, D, LOCAL, "update -> D"),
        home("l2home.V.atomic", V, Atomic, D, LOCAL, "update -> D"),
        home("l2home.V.RdReq", V, RdReq, V, &[A::SendRdRsp], "RdRsp"),
        home("l2home.V.WrReq_full", V, WrReqFull, D, REMOTE, "update -> D"),
        home("l2home.V.WrReq_partial", V, WrReqPartial, D, REMOTE, "update -> D"),
        home("l2home.V.AtomReq", V, AtomReq, D, ATOM, "update -> D, AtomRsp"),
        home_bad("l2home.V.fill", V, Fill, Error),
        home("l2home.V.victim", V, Victim, I, &[A::Drop], "clean: dropped -> I"),
        home_bad("l2home.V.Inv", V, Inv, Error),
        home("l2home.D.load", D, Load, D, &[A::AnswerLoad], "hit"),
        home("l2home.D.store_full", D, StoreFull, D, LOCAL, "update -> D"),
        home("l2home.D.store_partial", D, StorePartial, D, LOCAL, "update -> D"),
        home("l2home.D.atomic", D, Atomic, D, LOCAL, "update -> D"),
        home("l2home.D.RdReq", D, RdReq, D, &[A::SendRdRsp], "RdRsp"),
        home("l2home.D.WrReq_full", D, WrReqFull, D, REMOTE, "update -> D"),
        home("l2home.D.WrReq_partial", D, WrReqPartial, D, REMOTE, "update -> D"),
        home("l2home.D.AtomReq", D, AtomReq, D, ATOM, "update -> D, AtomRsp"),
        home_bad("l2home.D.fill", D, Fill, Error),
        home("l2home.D.victim", D, Victim, I, &[A::WriteBack], "write back -> I"),
        home_bad("l2home.D.Inv", D, Inv, Error),
        home("l2home.F.load", F, Load, F, &[A::Append], "append"),
        home("l2home.F.store_full", F, StoreFull, F, &[A::Append], "append"),
        home("l2home.F.store_partial", F, StorePartial, F, &[A::Append], "append"),
        home("l2home.F.atomic", F, Atomic, F, &[A::Append], "append"),
        home("l2home.F.RdReq", F, RdReq, F, &[A::Append], "append"),
        home("l2home.F.WrReq_full", F, WrReqFull, F, &[A::Append], "append"),
        home("l2home.F.WrReq_partial", F, WrReqPartial, F, &[A::Append], "append"),
        home("l2home.F.AtomReq", F, AtomReq, F, &[A::Append], "append"),
        home("l2home.F.fill", F, Fill, V, &[A::Replay], "replay in order -> V or D"),
        home_bad("l2home.F.victim", F, Victim, Never),
        home_bad("l2home.F.Inv", F, Inv, Error),
    ]
};
