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
//! | `start` | in | seq, scope, acquire | scope 1 GPU, 2 system, 3 (`joined`) system, of all nodes; always taken |
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
//! | `joined` | the same, for all of a GPU | yes | nothing to do | nothing to do |
//! | `flat` | from each home to every other node | no | there is none | nothing to do |
//! | `drain` | no: every answered store has no old copy left | no | there is none | nothing to do |
//! | `sw-hierarchical` | no | yes | own banks: lines with another GPU home | own banks: all lines homed elsewhere; other GPMs: those of other GPUs |
//! | `sw-flat` | no | no | own banks: all lines homed elsewhere | the same |
//!
//! `flat` and `drain` are for directories without GPU homes, which have only one kind of release: every fence is of system scope, and there is no engine of GPU scope.
//!
//! # Joined releases
//! With scheme `joined` the GPMs of a GPU join their releases of system scope, so that the messages between
//! GPUs do not grow with the GPMs that release. The first GPM of a GPU is its leader:
//!
//! ```text
//!  GPM that follows:  DRAIN own banks, FLUSH -> SEND MarkSys to the leader -> WAIT for its one acknowledgement
//!  leader:            DRAIN own banks, FLUSH -> FAR -> SEND MarkSys to the leaders of the other GPUs -> WAIT N -> done, an acknowledgement to all that joined
//!                        ^ all that wait         ^ once more while GPMs have joined meanwhile
//!  relay of a leader: GPUs that wait -> MarkSys to the GPMs of this GPU, naming those GPUs -> M homes -> an acknowledgement to each GPU's leader
//! ```
//! A GPM that joins has drained what its GPU homes must have, and the far drain that precedes the markers
//! begins after it has joined: so the leader's release covers what its own would have covered (hmg.md
//! section 6, steps 1 to 5). It joins one batch and asks again when that is answered, so a batch repeats its
//! far drain M-1 times at most. Between GPUs a release costs N-1 requests and N-1 acknowledgements; the
//! markers, one on each channel of a home to another GPU, are shared by all GPUs that wait at the relay, and
//! each is acknowledged by the GPU home for all GPMs of its GPU.
//!
//! A release that every node has (scope 3, a kernel's end) says so to leader and relay, which gather it: a
//! leader begins when all GPMs of its GPU have joined, a relay when all GPUs have asked. So such a release
//! has one batch for each GPU and one marker of each home: N(N-1) requests, as many acknowledgements, and
//! N(N-1)M markers and receipts between GPUs.
//!
//! Nothing waits in a circle. The new requests are REQ and the new acknowledgements RSP, taken in the cycle
//! in which they are there as all others; each that is owed or awaited has its bit, so the networks wait for
//! each other as before: REQ for INV, INV and RSP for nothing. Fences wait for fences so: a GPM for its
//! leader's batch, that for relays, a relay for the homes of its GPU, which wait for INV alone. A relay
//! holds the own GPU's request, until a marker of another GPU comes, and that is the answer of a relay that
//! holds no request of others. What is gathered holds nothing else back: until it is complete the leader is
//! idle and serves other GPMs, the relay serves other requests; so every node comes to its token of scope 3,
//! if the next one is given when that has ended at all nodes. Releases of GPU scope use neither leader nor
//! relay.
//!
//! One batch per scope is in flight; tokens that come meanwhile are batched, releases and acquires apart, and the two kinds take turns.
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/hier-fence-unit.svg")]

mod acks;
mod asks;
mod incoming;
mod marks;
mod observe;
mod params;
mod relay;
mod scope;
mod serve;
pub mod table;

use super::fence::{EARLY, fault, fault_info};
use crate::common::sys::{module_sys_from, module_sys_params, sys_tag};
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet, elaborated};
use acks::Acks;
use asks::requests;
use incoming::{Incoming, incoming};
use marks::Marks;
use observe::{Seen, observe};
use params::Part;
pub use params::{FenceScheme, HierFenceParams};
use relay::Relay;
use scope::{Inputs, Outputs, Scope, Which};
use serve::{Commands, Serve, far_commands};
use table::{ScopeState, gpu_table, join_table, serve_table, sys_table};
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

/// What a request says where GPMs join.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub(super) struct AskFor {
    #[width(p.node_bits())]
    pub src: Bits,
    #[width(p.node_bits())]
    pub dst: Bits,
    #[width(2)]
    pub scope: Bits,
    /// Of MarkSys: to a leader whether it is for a release of all nodes, in bit 0; of a leader to its GPMs
    /// the GPUs for which it is, a bit each.
    #[width(p.line_bits())]
    pub line: Bits,
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
    /// {origin, serial} in the lowest bits, of a home's to its leader {GPU, origin, serial}, else zero.
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

    /// Of a home's to its leader: the GPU for which it is.
    pub fn requester(&self, sys: &Sys) -> Bits {
        self.data.slice(SERIAL_BITS + sys.node_bits(), bits_for(u64::from(sys.gpus)))
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
    let relay = Relay::new(p);
    let relayed = relay.as_ref().map(|relay| relay.begins(p));
    let none = lit_bv(Bv::zero(p.sys.gpus));
    let complete = acks.awaited(p, &incoming, &marks, relayed.unwrap_or(none));
    let own_home = complete.own;
    let [gpu_acks, sys_acks] = incoming.acks;
    let all_acks = [vec![gpu_acks, own_home[0]], vec![sys_acks, own_home[1], own_far]];
    let outs = scopes.step(p, &finished, all_acks, [incoming.joins, incoming.common_joins]);
    relay.iter().for_each(|relay| relay.step(p, &incoming, outs.sys.mark, scopes.sys.is_common()));

    let served = |serve: &Option<Serve>, new: Bits, finished: Bool, table: &'static str| -> Bits {
        serve.as_ref().map_or(lit_bv(Bv::zero(p.gpm_slots())), |serve| {
            serve.step(p, new, finished, &serve_table(table))
        })
    };
    let far_answers = served(&far, incoming.far | p.own_gpm(outs.sys.far), far_finished, "far");
    let drop_answers = served(&drops, incoming.drops, finished[2], "drop");
    let of_gpu = outs.gpu.as_ref().map_or(bool_lit(false), |out| out.mark);
    let own = |yes: Bool| p.own_requester() & yes.repeat(p.sys_requesters());
    let of_sys = relayed.unwrap_or_else(|| own(outs.sys.mark));
    let crosses = marks.step(p, &incoming, (of_gpu, of_sys), acks.open());
    requests(p, scopes.gpu.as_ref(), &scopes.sys, relay.as_ref());
    acks.answer(p, &incoming, &complete, [far_answers, drop_answers, outs.sys.answers]);
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
    fn step(&self, p: &HierFenceParams, finished: &[Bool], acks: [Vec<Bool>; 2], joins: [Bits; 2]) -> Steps {
        let start = in_channel::<FenceToken>("start", &());
        let done = out_channel::<FenceToken>("done", &());
        when(start.valid, || start.take());
        let common = start.msg.scope.eq(3);
        let wide = if p.joined() { start.msg.scope.bit(1) } else { start.msg.scope.eq(2) };
        let narrow = if self.gpu.is_some() { start.msg.scope.eq(1) } else { bool_lit(false) };
        assert_always(
            "start_scope",
            !start.valid | wide | narrow,
            "a fence is of system scope, or of GPU scope if that is told apart",
        );
        if p.joined() {
            assert_always(
                "start_common_releases",
                !start.valid | !common | !start.msg.acquire,
                "what all nodes do together is a release",
            );
        }
        // The engine of GPU scope reports first; it cannot be there again in the next cycle.
        let tells = |scope: &Scope| if p.early { scope.begins(p) } else { scope.ends() };
        let token = |scope: &Scope| if p.early { scope.next_token(p) } else { scope.token() };
        let first = self.gpu.as_ref().map_or(bool_lit(false), |gpu| tells(gpu) & done.free);
        let second = tells(&self.sys) & done.free & !first;
        when(second, || done.send(&token(&self.sys)));
        if let Some(gpu) = &self.gpu {
            when(first, || done.send(&token(gpu)));
        }
        let step = |scope: &Scope, i: Inputs| -> Outputs {
            let table = match scope.which {
                Which::Gpu => gpu_table(p.scheme),
                Which::Sys if p.follows() => join_table(p.flushes()),
                Which::Sys => sys_table(p.scheme),
            };
            scope.step(p, &table, start.msg.seq, start.msg.acquire, &i)
        };
        let [gpu_acks, sys_acks] = acks;
        let no = bool_lit(false);
        let of_gpu = Inputs {
            token: start.valid & narrow,
            common: no,
            finished: finished[0],
            acks: gpu_acks,
            done: first,
            joins,
        };
        let of_sys = Inputs {
            token: start.valid & wide,
            common: start.valid & common,
            finished: finished[1],
            acks: sys_acks,
            done: second,
            joins,
        };
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
        info(
            "scheme",
            "hmg",
            "hmg, joined, flat, drain, sw-hierarchical, sw-flat",
            "how caches are kept coherent",
        ),
        info(
            "flush",
            "off",
            "on, off",
            "hmg, joined, flat, drain: a release of system scope writes back dirty L2 lines",
        ),
        info(
            "marks",
            &marks,
            "1, 2, 4",
            "hmg, joined, flat: most markers of a scope that this home has in flight",
        ),
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
        "joined" => FenceScheme::Joined { flush },
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
    elaborated("hier-fence-unit", hier_fence_unit(&params))
}
