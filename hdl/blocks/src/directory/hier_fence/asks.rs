//! Requests that a hierarchical fence unit sends: of both engines and, in a leader, of the relay to the own
//! GPU; of the engine of system scope to other GPUs.

use super::super::ports::part_out;
use super::params::{HierFenceParams, Part};
use super::relay::Relay;
use super::scope::Scope;
use super::{Ask, AskFor};
use crate::msg::*;
use weft_rtl::prelude::*;

/// A port for requests: where GPMs join they name what they are for.
enum Port {
    Plain(OutChannel<Ask>),
    Joined(OutChannel<AskFor>),
}

impl Port {
    fn new(p: &HierFenceParams, name: &str) -> Port {
        if p.joined() {
            Port::Joined(part_out::<ReqMsg, AskFor>(name, &p.sys))
        } else {
            Port::Plain(part_out::<ReqMsg, Ask>(name, &p.sys))
        }
    }

    fn free(&self) -> Bool {
        match self {
            Port::Plain(out) => out.free,
            Port::Joined(out) => out.free,
        }
    }

    /// A message waits for the network.
    fn stands(&self) -> Bool {
        match self {
            Port::Plain(out) => out.waiting & !out.free,
            Port::Joined(out) => out.waiting & !out.free,
        }
    }

    /// Sends a request; `names`: what it is for.
    fn send(&self, p: &HierFenceParams, ask: &Ask, names: Option<Bits>) {
        match self {
            Port::Plain(out) => out.send(ask),
            Port::Joined(out) => {
                let width = p.sys.line_bits();
                let line = names.map_or(lit_bv(Bv::zero(width)), |names| names.zext(width));
                out.send(&AskFor { src: ask.src, dst: ask.dst, scope: ask.scope, line });
            }
        }
    }
}

/// Sends what is to be asked, on each port one request per cycle.
pub(super) fn requests(p: &HierFenceParams, gpu: Option<&Scope>, sys: &Scope, relay: Option<&Relay>) {
    let ask = |dst: Bits, order: Enum<FenceOrder>| Ask { src: p.home_bits(), dst, scope: order.bits() };
    // What a leader asks of GPMs of its GPU in its own name are far drains: those name nothing.
    let common = p.joined().then(|| sys.is_common().bits());
    let left = sys.to_ask.get();
    let near = left & p.node_mask(&p.near());
    let mut sent = Vec::new();
    let (mut gpu_asks, mut far_waits) = (bool_lit(false), None);
    if p.has(Part::NearAsks) {
        let out = Port::new(p, "req_out");
        let node = near.lowest_set();
        let waits = gpu.map_or(bool_lit(false), |gpu| gpu.to_ask.get().any());
        let second = (near.any() & !waits & out.free()).named("sys_asks_near");
        when(second, || out.send(p, &ask(node, sys.order()), common.filter(|_| p.follows())));
        if let Some(gpu) = gpu {
            let of_gpu = gpu.to_ask.get();
            gpu_asks = (waits & out.free()).named("gpu_asks");
            when(gpu_asks, || {
                let gpm = of_gpu.lowest_set();
                gpu.to_ask.set(of_gpu & !gpm.one_hot(p.gpm_slots()));
                out.send(p, &ask(p.node_of_gpm(gpm), gpu.order()), None);
            });
        }
        if let Some(relay) = relay {
            let to_ask = relay.to_ask.get();
            let third = (to_ask.any() & !waits & !near.any() & out.free()).named("relay_asks");
            when(third, || {
                let gpm = to_ask.lowest_set();
                relay.to_ask.set(to_ask & !gpm.one_hot(p.gpm_slots()));
                let marks = enum_lit(FenceOrder::MarkSys);
                out.send(p, &ask(p.node_of_gpm(gpm), marks), Some(relay.serving.get()));
            });
        }
        sent.push((second, node));
    } else {
        silent_out_channel::<ReqMsg>("req_out", &p.sys);
    }
    if p.has(Part::FarAsks) && !p.follows() {
        let out = Port::new(p, "far_req_out");
        let far = left & !p.node_mask(&p.near());
        let node = far.lowest_set();
        let go = (far.any() & out.free()).named("sys_asks_far");
        when(go, || out.send(p, &ask(node, sys.order()), common));
        far_waits = Some(out.stands());
        sent.push((go, node));
    } else {
        silent_out_channel::<ReqMsg>("far_req_out", &p.sys);
    }
    if let ([(near_goes, _), _], Some(far_waits)) = (sent.as_slice(), far_waits) {
        cover(
            "hmg.race.near_request_passes_far",
            (*near_goes | gpu_asks) & far_waits,
            "a request leaves inside the GPU while one to another GPU cannot",
        );
    }
    let gone = |(go, node): &(Bool, Bits)| node.one_hot(p.sys.nodes()) & go.repeat(p.sys.nodes());
    if let Some(gone) = sent.iter().map(gone).reduce(|a, b| a | b) {
        when(gone.any(), || sys.to_ask.set(left & !gone));
    }
}
