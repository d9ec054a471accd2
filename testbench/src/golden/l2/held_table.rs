//! What write-back adds to the tables of the L2 bank (hmg.md section 5.2), typed from the specification: stores that a slice may hold, lines with dirty bytes
//! (D, readable; W, not readable), and dirty bytes written on.

use super::hier_table::{GpuDo, GpuEvent, GpuRow, GpuState};
use super::table::{Legality, ReqDo, ReqEvent, ReqRow, ReqState};

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

const fn gpu(
    id: &'static str,
    state: GpuState,
    event: GpuEvent,
    next: GpuState,
    does: &'static [GpuDo],
    text: &'static str,
) -> GpuRow {
    GpuRow { id, state, event, next, does, legality: Legality::Legal, text }
}

/// A leaf: it holds stores of CU scope.
pub const REQUESTER_HELD: [ReqRow; 26] = {
    use ReqDo as A;
    use ReqEvent::*;
    use ReqState::*;
    [
        req("l2req.I.store_full_held", I, StoreFullHeld, D, &[A::Install, A::Mark], "install, hold -> D"),
        req(
            "l2req.I.store_partial_held",
            I,
            StorePartialHeld,
            W,
            &[A::Allocate, A::Mark],
            "hold without a fetch -> W",
        ),
        req("l2req.V.store_full_held", V, StoreFullHeld, D, &[A::Update, A::Mark], "update, hold -> D"),
        req("l2req.V.store_partial_held", V, StorePartialHeld, D, &[A::Update, A::Mark], "update, hold -> D"),
        req("l2req.P.store_full_held", P, StoreFullHeld, PX, &[A::SendWrReq], "not held: WrReq -> PX"),
        req("l2req.P.store_partial_held", P, StorePartialHeld, PX, &[A::SendWrReq], "not held: WrReq -> PX"),
        req("l2req.PX.store_full_held", PX, StoreFullHeld, PX, &[A::SendWrReq], "not held: WrReq"),
        req("l2req.PX.store_partial_held", PX, StorePartialHeld, PX, &[A::SendWrReq], "not held: WrReq"),
        req("l2req.D.load", D, Load, D, &[A::AnswerHit], "hit"),
        req("l2req.D.load_forced", D, LoadForced, D, &[A::DirtyFirst], "the dirty bytes go on first (-> V)"),
        req("l2req.D.store_full_held", D, StoreFullHeld, D, &[A::Update, A::Mark], "update"),
        req("l2req.D.store_partial_held", D, StorePartialHeld, D, &[A::Update, A::Join], "update"),
        req("l2req.D.store_full", D, StoreFull, V, &[A::Update, A::SendWrReq], "update, WrReq -> V"),
        req(
            "l2req.D.store_partial",
            D,
            StorePartial,
            D,
            &[A::Update, A::SendWrReq, A::Unmark],
            "update, WrReq",
        ),
        req("l2req.D.atomic", D, Atomic, D, &[A::DirtyFirst], "the dirty bytes go on first (-> V)"),
        req("l2req.D.Inv", D, Inv, W, &[A::CountInvHit], "clean bytes are dropped -> W"),
        req("l2req.D.write_on", D, WriteOn, V, &[A::SendDirty], "dirty bytes to the GPU home as WrReq -> V"),
        req("l2req.W.load", W, Load, W, &[A::DirtyFirst], "the dirty bytes go on first (-> I)"),
        req("l2req.W.load_forced", W, LoadForced, W, &[A::DirtyFirst], "the dirty bytes go on first (-> I)"),
        req(
            "l2req.W.store_full_held",
            W,
            StoreFullHeld,
            D,
            &[A::Update, A::Mark],
            "every byte is known -> D",
        ),
        req("l2req.W.store_partial_held", W, StorePartialHeld, W, &[A::Update, A::Join], "further bytes"),
        req("l2req.W.store_full", W, StoreFull, V, &[A::Update, A::SendWrReq], "WrReq of all bytes -> V"),
        req("l2req.W.store_partial", W, StorePartial, W, &[A::Update, A::SendWrReq, A::Unmark], "WrReq"),
        req("l2req.W.atomic", W, Atomic, W, &[A::DirtyFirst], "the dirty bytes go on first (-> I)"),
        req("l2req.W.Inv", W, Inv, W, &[A::CountInvMiss], "nothing is readable: count miss"),
        req("l2req.W.write_on", W, WriteOn, I, &[A::SendDirty], "dirty bytes to the GPU home as WrReq -> I"),
    ]
};

/// A GPU home: it holds stores of up to GPU scope. Results of atomics are written through.
pub const GPU_HOME_HELD: [GpuRow; 32] = {
    use GpuDo as A;
    use GpuEvent::*;
    use GpuState::*;
    [
        gpu("l2gpu.I.store_full_held", I, StoreFullHeld, D, &[A::Install, A::Mark], "install, hold -> D"),
        gpu(
            "l2gpu.I.store_partial_held",
            I,
            StorePartialHeld,
            W,
            &[A::Allocate, A::Mark],
            "hold without a fetch -> W",
        ),
        gpu("l2gpu.V.store_full_held", V, StoreFullHeld, D, &[A::Update, A::Mark], "update, hold -> D"),
        gpu("l2gpu.V.store_partial_held", V, StorePartialHeld, D, &[A::Update, A::Mark], "update, hold -> D"),
        gpu("l2gpu.P.store_full_held", P, StoreFullHeld, PX, &[A::PassWrReq], "not held: WrReq on -> PX"),
        gpu(
            "l2gpu.P.store_partial_held",
            P,
            StorePartialHeld,
            PX,
            &[A::PassWrReq],
            "not held: WrReq on -> PX",
        ),
        gpu("l2gpu.PX.store_full_held", PX, StoreFullHeld, PX, &[A::PassWrReq], "not held: WrReq on"),
        gpu("l2gpu.PX.store_partial_held", PX, StorePartialHeld, PX, &[A::PassWrReq], "not held: WrReq on"),
        gpu(
            "l2gpu.PA.store_full_held",
            PA,
            StoreFullHeld,
            PA,
            &[A::Wait],
            "wait: the atomic of the list comes first",
        ),
        gpu(
            "l2gpu.PA.store_partial_held",
            PA,
            StorePartialHeld,
            PA,
            &[A::Wait],
            "wait: the atomic of the list comes first",
        ),
        gpu(
            "l2gpu.PAX.store_full_held",
            PAX,
            StoreFullHeld,
            PAX,
            &[A::Wait],
            "wait: the atomic of the list comes first",
        ),
        gpu(
            "l2gpu.PAX.store_partial_held",
            PAX,
            StorePartialHeld,
            PAX,
            &[A::Wait],
            "wait: the atomic of the list comes first",
        ),
        gpu("l2gpu.D.load", D, Load, D, &[A::Answer], "hit"),
        gpu("l2gpu.D.load_forced", D, LoadForced, D, &[A::DirtyFirst], "the dirty bytes go on first (-> V)"),
        gpu("l2gpu.D.store_full_held", D, StoreFullHeld, D, &[A::Update, A::Mark], "update"),
        gpu("l2gpu.D.store_partial_held", D, StorePartialHeld, D, &[A::Update, A::Join], "update"),
        gpu("l2gpu.D.store_full", D, StoreFull, V, &[A::Update, A::PassWrReq], "update, WrReq on -> V"),
        gpu(
            "l2gpu.D.store_partial",
            D,
            StorePartial,
            D,
            &[A::Update, A::PassWrReq, A::Unmark],
            "update, WrReq on",
        ),
        gpu(
            "l2gpu.D.atomic_gpu",
            D,
            AtomicGpu,
            D,
            &[A::Update, A::PassResult, A::Unmark],
            "perform, result on as WrReq",
        ),
        gpu("l2gpu.D.atomic_sys", D, AtomicSys, D, &[A::DirtyFirst], "the dirty bytes go on first (-> V)"),
        gpu("l2gpu.D.Inv", D, Inv, W, &[A::Forward], "clean bytes are dropped, forward -> W"),
        gpu(
            "l2gpu.D.write_on",
            D,
            WriteOn,
            V,
            &[A::SendDirty],
            "dirty bytes to the system home as WrReq -> V",
        ),
        gpu("l2gpu.W.load", W, Load, W, &[A::DirtyFirst], "the dirty bytes go on first (-> I)"),
        gpu("l2gpu.W.load_forced", W, LoadForced, W, &[A::DirtyFirst], "the dirty bytes go on first (-> I)"),
        gpu(
            "l2gpu.W.store_full_held",
            W,
            StoreFullHeld,
            D,
            &[A::Update, A::Mark],
            "every byte is known -> D",
        ),
        gpu("l2gpu.W.store_partial_held", W, StorePartialHeld, W, &[A::Update, A::Join], "further bytes"),
        gpu("l2gpu.W.store_full", W, StoreFull, V, &[A::Update, A::PassWrReq], "WrReq of all bytes on -> V"),
        gpu("l2gpu.W.store_partial", W, StorePartial, W, &[A::Update, A::PassWrReq, A::Unmark], "WrReq on"),
        gpu("l2gpu.W.atomic_gpu", W, AtomicGpu, W, &[A::DirtyFirst], "the dirty bytes go on first (-> I)"),
        gpu("l2gpu.W.atomic_sys", W, AtomicSys, W, &[A::DirtyFirst], "the dirty bytes go on first (-> I)"),
        gpu("l2gpu.W.Inv", W, Inv, W, &[A::Forward], "forward"),
        gpu(
            "l2gpu.W.write_on",
            W,
            WriteOn,
            I,
            &[A::SendDirty],
            "dirty bytes to the system home as WrReq -> I",
        ),
    ]
};
