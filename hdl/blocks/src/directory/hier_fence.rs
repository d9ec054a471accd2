//! Fence unit of a GPM in a hierarchical fabric (hmg.md sections 6 and 8): releases and acquires of GPU and of system scope, and what other nodes' fences
//! ask of this one.
//!
//! ```text
//!               start                                                     done
//!                 |                                                         ^
//!   +-------------+-------------+                                           |
//!   v                           v                                           |
//!  GPU scope                  system scope                                  |
//!  DRAIN own banks            DRAIN own banks, FLUSH (switch)               |
//!    |                          FAR: every GPM drains towards other GPUs    |
//!  SEND MarkGpu, own mark     SEND MarkSys, own mark                        |
//!  WAIT M homes               WAIT N*M homes -------------------------------+
//!   |         |                 |        ^
//!  cmd/done  req_out           req_out  rsp_in, the own home
//!  (banks)   far_req_out
//!
//!  asked by others, or by the engines above (req_in):
//!   far drains   -> far_cmd, far_done, then an acknowledgement to each that waited
//!   drops        -> cmd, done, likewise
//!   marks        -> for all of a scope that wait: order, ordered, then mark_out with this node as origin and a serial; when all receivers have
//!                   acknowledged it (rsp_in) each of those requesters gets one acknowledgement
//!  markers of other homes (mark_in): acknowledged to the node from which they came. From the same GPM of another GPU: passed on through mark_out, and
//!                   acknowledged when all GPMs of this GPU have acknowledged that
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `start` | in | seq, scope, acquire | scope 1 GPU, 2 system; always taken |
//! | `done` | out | seq, scope, acquire | everything of this scope and kind up to `seq` is complete |
//! | `cmd{b}`, `done{b}` | out, in | op | drain, flush, drop: what never waits for other GPUs |
//! | `far_cmd{b}`, `far_done{b}` | out, in | op | drain of what the bank has passed on to other GPUs |
//! | `order{b}`, `ordered{b}` | out, in | requester (this node) | token of a marker to a bank and back |
//! | `req_out`, `far_req_out` | out | src, dst, scope (the order) | requests to GPMs of the own GPU, and to other GPUs |
//! | `rsp_out`, `far_rsp_out` | out | src, dst, id (the order), data (whose marker, which) | acknowledgements likewise |
//! | `req_in`, `rsp_in` | in | the same | from both; always taken |
//! | `mark_out` | out | serial, origin, sys | a marker for the egress |
//! | `mark_in` | in | serial, origin, sys | the ingress has a marker; always taken |
//!
//! A release of GPU scope waits for its own banks and for GPMs of its GPU, for nothing else: what leaves for other GPUs has channels of its own, and
//! whatever comes in is taken in the cycle in which it is there, since every request, every acknowledgement owed and every marker awaited has a bit or a
//! counter. So no engine holds another one, and no fence unit waits for another one in a circle.
//!
//! A marker names no requester. Those that ask while one is with the banks or on its way wait for the next, and all that wait share it: at most `marks` of a
//! scope are in flight, with serials in ring order, whatever the number of releases. One scope out of serials does not hold the other.
//!
//! An acknowledgement of a marker names its serial and its origin, the home whose marker it is, in the lowest bits of `data` (serial first). What it is to a
//! node follows: origin here - a receiver of the own marker; origin in another GPU, sent by a GPM of this one - passed on and applied there; else a home's,
//! for the own fence, with that home as origin and source, and no serial: a requester counts it by its order.
//!
//! | scheme | markers | far drains | acquire of GPU scope | acquire of system scope |
//! | --- | --- | --- | --- | --- |
//! | `hmg` | passed on by GPU homes | yes | nothing to do | nothing to do |
//! | `flat` | from each home to every other node | no | there is none | nothing to do |
//! | `drain` | no: every answered store has no old copy left | no | there is none | nothing to do |
//! | `sw-hierarchical` | no | yes | own banks: lines with another GPU home | own banks: all lines homed elsewhere; other GPMs: those of other GPUs |
//! | `sw-flat` | no | no | own banks: all lines homed elsewhere | the same |
//!
//! `flat` and `drain` are for directories without GPU homes, which have only one kind of release: every fence is of system scope, and there is no engine of GPU scope.
//!
//! One batch per scope is in flight; tokens that come meanwhile are batched, releases and acquires apart, and the two kinds take turns.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/hier-fence-unit.svg")]

use super::fence::{EARLY, fault, fault_info};
use super::fence_ports::part_out;
use super::hier_fence_acks::Acks;
use super::hier_fence_incoming::{Incoming, incoming};
use super::hier_fence_marks::Marks;
use super::hier_fence_observe::{Seen, observe};
use super::hier_fence_params::Part;
pub use super::hier_fence_params::{FenceScheme, HierFenceParams};
use super::hier_fence_scope::{Inputs, Outputs, Scope, Which};
use super::hier_fence_serve::{Commands, Serve, far_commands};
use super::hier_fence_table::{ScopeState, gpu_table, serve_table, sys_table};
use crate::common::sys::{module_sys_from, module_sys_params, sys_tag};
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What a fence request says.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub(super) struct Ask {
    #[width(p.node_bits())]
    pub src: Bits,
    #[width(p.node_bits())]
    pub dst: Bits,
    #[width(2)]
    pub scope: Bits,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub(super) struct Answer {
    #[width(p.node_bits())]
    pub src: Bits,
    #[width(p.node_bits())]
    pub dst: Bits,
    #[width(p.l2_id_bits())]
    pub id: Bits,
    /// {origin, serial} in the lowest bits, else zero.
    #[width(p.data_bits())]
    pub data: Bits,
}

impl Answer {
    /// Serial of the marker that is acknowledged.
    pub fn serial(&self) -> Bits {
        self.data.slice(0, SERIAL_BITS)
    }

    /// The home whose marker it is; of other acknowledgements the node that answers.
    pub fn origin(&self, sys: &Sys) -> Bits {
        self.data.slice(SERIAL_BITS, sys.node_bits())
    }
}

/// The hierarchical fence unit; its ports are listed above.
///
/// # Errors
/// A parameter outside its range.
pub fn hier_fence_unit(p: &HierFenceParams) -> Result<Arc<Module>, ElabErrors> {
    let tag = format!("{}_g{}_{}_m{}", sys_tag(&p.sys), p.sys.gpms, p.scheme.tag(), p.marks);
    let early = if p.early { "_early" } else { "" };
    Module::build(&format!("hier_fence_unit_{tag}_h{}{early}", p.home), ModuleKind::Block, || {
        doc("Fence unit of a hierarchical fabric: releases and acquires of GPU and system scope.");
        param("gpms", p.sys.gpms);
        param("home", p.home);
        param("scheme", p.scheme.tag());
        param("marks", p.marks);
        if p.early {
            param("inject", EARLY);
        }
        if p.check() {
            describe(p);
        }
    })
}

fn describe(p: &HierFenceParams) {
    let scopes = Scopes {
        gpu: p.scheme.gpu_scope().then(|| Scope::new(p, Which::Gpu)),
        sys: Scope::new(p, Which::Sys),
    };
    let incoming = incoming(p);
    let far = Serve::new(p, "far", p.has(Part::FarDrains));
    let drops = Serve::new(p, "drop", p.has(Part::FarDrops));
    let finished = Commands::new(p).step(p, scopes.gpu.as_ref(), &scopes.sys, drops.as_ref());
    let far_finished = far_commands(p, far.as_ref());
    let own_far = far.as_ref().map_or(bool_lit(false), |far| far.serves_home(p) & far_finished);
    let marks = Marks::new(p);
    let acks = Acks::new(p);
    let complete = acks.awaited(p, &incoming, &marks);
    let own_home = complete.own;
    let [gpu_acks, sys_acks] = incoming.acks;
    let all_acks = [vec![gpu_acks, own_home[0]], vec![sys_acks, own_home[1], own_far]];
    let outs = scopes.step(p, &finished, all_acks);

    let served = |serve: &Option<Serve>, new: Bits, finished: Bool, table: &'static str| -> Bits {
        serve.as_ref().map_or(lit_bv(Bv::zero(p.gpm_slots())), |serve| {
            serve.step(p, new, finished, &serve_table(table))
        })
    };
    let far_answers = served(&far, incoming.far | p.own_gpm(outs.sys.far), far_finished, "far");
    let drop_answers = served(&drops, incoming.drops, finished[2], "drop");
    let asks = [outs.gpu.as_ref().map_or(bool_lit(false), |out| out.mark), outs.sys.mark];
    let crosses = marks.step(p, &incoming, asks, acks.open());
    requests(p, scopes.gpu.as_ref(), &scopes.sys);
    acks.answer(p, &incoming, &complete, far_answers, drop_answers);
    let seen = Seen { own_home: own_home[0] | own_home[1], crosses, receives: scopes.receives(&incoming) };
    observe(p, &scopes.with(&outs), far.as_ref(), &seen);
}

/// The engines of both scopes.
struct Scopes {
    gpu: Option<Scope>,
    sys: Scope,
}

/// What they do in a cycle.
struct Steps {
    gpu: Option<Outputs>,
    sys: Outputs,
}

impl Scopes {
    /// Takes a token, reports an end, and goes on with what the banks have carried out and the acknowledgements that come.
    fn step(&self, p: &HierFenceParams, finished: &[Bool], acks: [Vec<Bool>; 2]) -> Steps {
        let start = in_channel::<FenceToken>("start", &());
        let done = out_channel::<FenceToken>("done", &());
        when(start.valid, || start.take());
        let wide = start.msg.scope.eq(2);
        let narrow = if self.gpu.is_some() { start.msg.scope.eq(1) } else { bool_lit(false) };
        assert_always(
            "start_scope",
            !start.valid | wide | narrow,
            "a fence is of system scope, or of GPU scope if that is told apart",
        );
        // The engine of GPU scope reports first; it cannot be there again in the next cycle.
        let tells = |scope: &Scope| if p.early { scope.begins() } else { scope.is(ScopeState::Done) };
        let token = |scope: &Scope| if p.early { scope.next_token() } else { scope.token() };
        let first = self.gpu.as_ref().map_or(bool_lit(false), |gpu| tells(gpu) & done.free);
        let second = tells(&self.sys) & done.free & !first;
        when(second, || done.send(&token(&self.sys)));
        if let Some(gpu) = &self.gpu {
            when(first, || done.send(&token(gpu)));
        }
        let step = |scope: &Scope, i: Inputs| -> Outputs {
            let table = if scope.which == Which::Gpu { gpu_table(p.scheme) } else { sys_table(p.scheme) };
            scope.step(p, &table, start.msg.seq, start.msg.acquire, &i)
        };
        let [gpu_acks, sys_acks] = acks;
        let of_gpu =
            Inputs { token: start.valid & narrow, finished: finished[0], acks: gpu_acks, done: first };
        let of_sys =
            Inputs { token: start.valid & wide, finished: finished[1], acks: sys_acks, done: second };
        Steps { gpu: self.gpu.as_ref().map(|gpu| step(gpu, of_gpu)), sys: step(&self.sys, of_sys) }
    }

    /// Each engine with what it does, that of system scope last.
    fn with<'a>(&'a self, steps: &'a Steps) -> Vec<(&'a Scope, &'a Outputs)> {
        let gpu = self.gpu.as_ref().zip(steps.gpu.as_ref());
        gpu.into_iter().chain([(&self.sys, &steps.sys)]).collect()
    }

    /// Another home's marker comes while the own release of its scope waits for homes.
    fn receives(&self, i: &Incoming) -> Bool {
        let waits = |scope: &Scope| scope.state.get().is_any(&[ScopeState::Send, ScopeState::Wait]);
        let gpu = self.gpu.as_ref().map_or(bool_lit(false), waits);
        i.mark & mux(i.mark_msg.sys, waits(&self.sys), gpu)
    }
}

/// Requests of both engines to the own GPU, and of the engine of system scope to other GPUs.
fn requests(p: &HierFenceParams, gpu: Option<&Scope>, sys: &Scope) {
    let ask = |dst: Bits, order: Enum<FenceOrder>| Ask { src: p.home_bits(), dst, scope: order.bits() };
    let left = sys.to_ask.get();
    let near = left & p.node_mask(&p.near());
    let mut sent = Vec::new();
    let (mut gpu_asks, mut far_waits) = (bool_lit(false), None);
    if p.has(Part::NearAsks) {
        let out = part_out::<ReqMsg, Ask>("req_out", &p.sys);
        let node = near.lowest_set();
        let waits = gpu.map_or(bool_lit(false), |gpu| gpu.to_ask.get().any());
        let second = (near.any() & !waits & out.free).named("sys_asks_near");
        when(second, || out.send(&ask(node, sys.order())));
        if let Some(gpu) = gpu {
            let of_gpu = gpu.to_ask.get();
            gpu_asks = (waits & out.free).named("gpu_asks");
            when(gpu_asks, || {
                let gpm = of_gpu.lowest_set();
                gpu.to_ask.set(of_gpu & !gpm.one_hot(p.gpm_slots()));
                out.send(&ask(p.node_of_gpm(gpm), gpu.order()));
            });
        }
        sent.push((second, node));
    } else {
        silent_out_channel::<ReqMsg>("req_out", &p.sys);
    }
    if p.has(Part::FarAsks) {
        let out = part_out::<ReqMsg, Ask>("far_req_out", &p.sys);
        let far = left & !p.node_mask(&p.near());
        let node = far.lowest_set();
        let go = (far.any() & out.free).named("sys_asks_far");
        when(go, || out.send(&ask(node, sys.order())));
        far_waits = Some(out.waiting & !out.free);
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

/// Keys on the command line.
pub fn hier_fence_params() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = module_sys_params();
    for entry in &mut list {
        match entry.name {
            "gpms" => entry.default = "4".into(),
            "line" => entry.default = "128".into(),
            "l2_mshrs" => entry.legal = "3..256",
            _ => {}
        }
    }
    let marks = HierFenceParams::MARKS.to_string();
    list.extend([
        info("home", "0", "a node {GPU, GPM} that exists", "this node"),
        info("scheme", "hmg", "hmg, flat, drain, sw-hierarchical, sw-flat", "how caches are kept coherent"),
        info(
            "flush",
            "off",
            "on, off",
            "hmg, flat, drain: a release of system scope writes back dirty L2 lines",
        ),
        info("marks", &marks, "1, 2, 4", "hmg, flat: most markers of a scope that this home has in flight"),
        fault_info(),
    ]);
    list
}

/// Builds the hierarchical fence unit by name.
///
/// # Errors
/// A value outside its range.
pub fn build_hier_fence(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let sys = module_sys_from(p)?;
    let home = p.within("home", 0, u64::from(sys.nodes()) - 1)? as u32;
    if sys.gpm_of_node(home) >= sys.gpms {
        return Err(p.illegal("home", "there is no such GPM"));
    }
    p.within("l2_mshrs", 3, 256)?;
    let flush = match p.text("flush").as_str() {
        "on" => true,
        "off" => false,
        _ => return Err(p.illegal("flush", "it is not known")),
    };
    let scheme = match p.text("scheme").as_str() {
        "hmg" => FenceScheme::Hmg { flush },
        "flat" => FenceScheme::Flat { flush },
        "drain" => FenceScheme::Drain { flush },
        "sw-hierarchical" => FenceScheme::SwHierarchical,
        "sw-flat" => FenceScheme::SwFlat,
        _ => return Err(p.illegal("scheme", "it is not known")),
    };
    let marks = p.within("marks", 1, u64::from(MAX_MARKS))? as u32;
    if marks == 3 {
        return Err(p.illegal("marks", "serials are numbered in bits"));
    }
    let params = HierFenceParams { sys, home, scheme, marks, early: fault(p)? };
    super::elaborated("hier-fence-unit", hier_fence_unit(&params))
}
