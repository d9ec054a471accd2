//! Observers of the hierarchical fence unit: races and counters.

use super::hier_fence::{HierFenceParams, Incoming, Part};
use super::hier_fence_scope::{Outputs, Scope, Which};
use super::hier_fence_serve::{Marks, Serve};
use super::hier_fence_table::ScopeState;
use weft_rtl::prelude::*;

pub(super) fn observe(
    p: &HierFenceParams,
    scopes: [&Scope; 2],
    outs: [&Outputs; 2],
    incoming: &Incoming,
    far: Option<&Serve>,
    marks: &Marks,
) {
    let [gpu, sys] = scopes;
    let busy = |scope: &Scope| !scope.is(ScopeState::Idle);
    cover("hmg.race.fence_scopes_overlap", busy(gpu) & busy(sys), "fences of both scopes are in flight");
    let elsewhere = sys.state.get().is_any(&[ScopeState::Far, ScopeState::Send, ScopeState::Wait]);
    cover(
        "hmg.race.gpu_fence_ends_in_system_fence",
        outs[0].reported & !gpu.acquire.get() & elsewhere,
        "a release of GPU scope ends while one of system scope waits for other nodes",
    );
    let either = |f: fn(&Outputs) -> Bool| f(outs[0]) | f(outs[1]);
    cover("hmg.race.fence_batch_of_two", either(|o| o.joins), "a token joins one that waits");
    cover(
        "hmg.race.release_and_acquire_apart",
        either(|o| o.both_wait),
        "releases and acquires wait for the same engine",
    );
    if let Some(far) = far
        && p.sys.gpms > 1
    {
        cover(
            "hmg.race.far_drain_serves_several",
            far.begins() & far.waits.get().popcount().gt(1),
            "one far drain serves two or more GPMs",
        );
    }
    if p.has(Part::Markers) {
        cover(
            "hmg.race.fences_of_nodes_cross",
            marks.serves_another(p) & (busy(gpu) | busy(sys)),
            "another node's marker is served while an own fence is in flight",
        );
        let own = incoming.receipts[0] | incoming.receipts[1];
        cover("hmg.race.own_receipt_counts", own, "the own receipt of a marker counts");
    }
    scopes.into_iter().zip(outs).for_each(|(scope, out)| counters(scope, out));
}

fn counters(scope: &Scope, out: &Outputs) {
    let (name, wide) = match scope.which {
        Which::Gpu => ("gpu", "GPU"),
        Which::Sys => ("sys", "system"),
    };
    let text = |what: &str| format!("{what} of {wide} scope");
    let (release, busy) = (!scope.acquire.get(), !scope.is(ScopeState::Idle));
    count(&format!("releases_{name}"), out.begins[0], &text("batches of releases"));
    count(&format!("acquires_{name}"), out.begins[1], &text("batches of acquires"));
    count(&format!("tokens_{name}"), out.token, &text("releases and acquires"));
    count(&format!("release_cycles_{name}"), busy & release, &text("cycles with a release"));
    count(&format!("acquire_cycles_{name}"), busy & !release, &text("cycles with an acquire"));
    for (state, word) in [
        (ScopeState::Drain, "drain"),
        (ScopeState::Flush, "flush"),
        (ScopeState::Far, "far"),
        (ScopeState::Send, "send"),
        (ScopeState::Wait, "wait"),
    ] {
        let only_sys = matches!(state, ScopeState::Flush | ScopeState::Far);
        if only_sys && scope.which == Which::Gpu {
            continue;
        }
        let about = text(&format!("cycles in {}", word.to_uppercase()));
        count(&format!("{word}_cycles_{name}"), scope.is(state), &about);
    }
}
