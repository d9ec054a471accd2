//! Observers of the hierarchical fence unit: races and counters.

use super::params::{HierFenceParams, Part};
use super::scope::{Outputs, Scope, Which};
use super::serve::Serve;
use super::table::ScopeState;
use weft_rtl::prelude::*;

/// What else happens in a cycle.
pub(super) struct Seen {
    /// This home's acknowledgement counts for a fence of this node.
    pub own_home: Bool,
    /// A marker begins that serves another node.
    pub crosses: Bool,
    /// Another home's marker comes while the own release of its scope waits for homes.
    pub receives: Bool,
}

/// Observes `engines`, of which the last is that of system scope.
pub(super) fn observe(p: &HierFenceParams, engines: &[(&Scope, &Outputs)], far: Option<&Serve>, seen: &Seen) {
    let busy = |scope: &Scope| !scope.is(ScopeState::Idle);
    if let [(gpu, out), (sys, _)] = engines {
        cover("hmg.race.fence_scopes_overlap", busy(gpu) & busy(sys), "fences of both scopes are in flight");
        let elsewhere = sys.state.get().is_any(&[ScopeState::Far, ScopeState::Send, ScopeState::Wait]);
        cover(
            "hmg.race.gpu_fence_ends_in_system_fence",
            out.reported & !gpu.acquire.get() & elsewhere,
            "a release of GPU scope ends while one of system scope waits for other nodes",
        );
    }
    let either = |f: fn(&Outputs) -> Bool| any_of(&engines.iter().map(|(_, o)| f(o)).collect::<Vec<_>>());
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
        let in_flight: Vec<Bool> = engines.iter().map(|(scope, _)| busy(scope)).collect();
        cover(
            "hmg.race.fences_of_nodes_cross",
            seen.crosses & any_of(&in_flight),
            "a marker for another node begins while an own fence is in flight",
        );
        let text = "all receivers have acknowledged the own home's marker";
        cover("hmg.race.own_home_counts", seen.own_home, text);
        let text = "the releasing node receives another home's marker";
        cover("hmg.race.requester_is_receiver", seen.receives, text);
    }
    engines.iter().for_each(|(scope, out)| counters(scope, out));
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
