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
//!   marks        -> one after the other: order, ordered, then mark_out with this node as origin; when all receivers have acknowledged it (rsp_in)
//!                   the requester gets one acknowledgement
//!  markers of other homes (mark_in): acknowledged to the node from which they came. From the same GPM of another GPU: passed on through mark_out, and
//!                   acknowledged when all GPMs of this GPU have acknowledged that
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `start` | in | seq, scope, acquire | scope 1 GPU, 2 system; always taken |
//! | `done` | out | seq, scope, acquire | everything of this scope and kind up to `seq` is complete |
//! | `cmd{b}`, `done{b}` | out, in | op | drain, flush, drop: what never waits for other GPUs |
//! | `far_cmd{b}`, `far_done{b}` | out, in | op | drain of what the bank has passed on to other GPUs |
//! | `order{b}`, `ordered{b}` | out, in | requester | token of a marker to a bank and back |
//! | `req_out`, `far_req_out` | out | src, dst, scope (the order) | requests to GPMs of the own GPU, and to other GPUs |
//! | `rsp_out`, `far_rsp_out` | out | src, dst, id (the order), data (whose fence, whose marker) | acknowledgements likewise |
//! | `req_in`, `rsp_in` | in | the same | from both; always taken |
//! | `mark_out` | out | requester, origin, sys | a marker for the egress |
//! | `mark_in` | in | requester, origin, sys | the ingress has a marker; always taken |
//!
//! A release of GPU scope waits for its own banks and for GPMs of its GPU, for nothing else: what leaves for other GPUs has channels of its own, and
//! whatever comes in is taken in the cycle in which it is there, since every request, every acknowledgement owed and every one awaited has a bit or a
//! counter. So no engine holds another one, and no fence unit waits for another one in a circle.
//!
//! An acknowledgement of a marker names the requester and the origin, the home whose marker it was, in the lowest bits of `data` (requester first). What it
//! is to a node follows: origin here - a receiver of the own marker; origin in another GPU, sent by a GPM of this one - passed on and applied there; else a
//! home's, for the own fence, with that home as origin and source.
//!
//! | scheme | markers | far drains | acquire of GPU scope | acquire of system scope |
//! | --- | --- | --- | --- | --- |
//! | `hmg` | passed on by GPU homes | yes | nothing to do | nothing to do |
//! | `flat` | from each home to every other node | no | there is none | nothing to do |
//! | `sw-hierarchical` | no | yes | own banks: lines with another GPU home | own banks: all lines homed elsewhere; other GPMs: those of other GPUs |
//! | `sw-flat` | no | no | own banks: all lines homed elsewhere | the same |
//!
//! `flat` is for directories without GPU homes, which have only one kind of release: every fence is of system scope, and there is no engine of GPU scope.
//!
//! One batch per scope is in flight; tokens that come meanwhile are batched, releases and acquires apart, and the two kinds take turns.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/hier-fence-unit.svg")]

use super::fence_ports::{part_out, silent_out};
use super::hier_fence_acks::Acks;
use super::hier_fence_incoming::incoming;
use super::hier_fence_observe::observe;
use super::hier_fence_scope::{Inputs, Outputs, Scope, Which};
use super::hier_fence_serve::{Commands, Marks, Serve, far_commands};
use super::hier_fence_table::{ScopeState, gpu_table, serve_table, sys_table};
use crate::common::sys::{module_sys_from, module_sys_params, sys_tag};
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// How caches are kept coherent (hmg.md section 8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceScheme {
    /// Directories at GPU homes and system homes: a release waits for markers, an acquire for nothing.
    Hmg {
        /// A release of system scope writes back dirty lines of the own banks.
        flush: bool,
    },
    /// Directories at the lines' homes only, which record every other node: a release waits for markers, an acquire for nothing, and there is one kind
    /// of release.
    Flat {
        /// A release writes back dirty lines of the own banks.
        flush: bool,
    },
    /// Software coherence with GPU homes: an acquire drops copies.
    SwHierarchical,
    /// Software coherence without GPU homes.
    SwFlat,
}

impl FenceScheme {
    /// Releases send markers.
    pub fn markers(self) -> bool {
        matches!(self, FenceScheme::Hmg { .. } | FenceScheme::Flat { .. })
    }

    /// Fences of GPU scope are told apart from those of system scope.
    pub fn gpu_scope(self) -> bool {
        !matches!(self, FenceScheme::Flat { .. })
    }

    /// There are GPU homes. They pass writes on, so releases of system scope wait for those.
    pub fn far_drains(self) -> bool {
        matches!(self, FenceScheme::Hmg { .. } | FenceScheme::SwHierarchical)
    }

    /// Acquires of system scope drop copies in other GPMs.
    pub fn far_drops(self) -> bool {
        self == FenceScheme::SwHierarchical
    }

    fn tag(self) -> &'static str {
        match self {
            FenceScheme::Hmg { flush: true } => "hmg_flush",
            FenceScheme::Hmg { flush: false } => "hmg",
            FenceScheme::Flat { flush: true } => "flat_flush",
            FenceScheme::Flat { flush: false } => "flat",
            FenceScheme::SwHierarchical => "sw_hierarchical",
            FenceScheme::SwFlat => "sw_flat",
        }
    }
}

/// Parts of the unit that depend on scheme and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Markers and their acknowledgements.
    Markers,
    /// Markers of GPU scope.
    GpuMarks,
    /// Markers of other GPUs that are passed on.
    Forwards,
    FarDrains,
    FarDrops,
    GpuHomes,
    /// There are other GPMs in the GPU, and requests to them.
    NearAsks,
    /// There are requests to other GPUs.
    FarAsks,
}

/// Parameters of the hierarchical fence unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierFenceParams {
    /// Message widths; 1..16 GPUs of 1..8 GPMs, 2..64 nodes; at least 3 MSHRs per bank, so that an acknowledgement's number holds its order.
    pub sys: Sys,
    /// This node, one that exists.
    pub home: u32,
    /// How caches are kept coherent.
    pub scheme: FenceScheme,
}

impl HierFenceParams {
    /// Acknowledgements that end a release, one per home: M of GPU scope, N*M of system scope; none of GPU scope where a GPU is one node.
    pub fn acks(&self, system: bool) -> u32 {
        match (system, self.sys.gpms) {
            (true, gpms) => self.sys.gpus * gpms,
            (false, 1) => 0,
            (false, gpms) => gpms,
        }
    }

    /// Nodes that a home's marker of system scope reaches directly: the other GPMs of its GPU and the GPU homes of the others, or all other nodes.
    pub fn receivers(&self) -> u32 {
        let Sys { gpus, gpms, .. } = self.sys;
        if self.scheme.far_drains() { gpms + gpus - 2 } else { gpus * gpms - 1 }
    }

    /// Width of their counter: ceil(log2(acks + 1)), at least for the M acknowledgements of far drains.
    pub fn ack_bits(&self, system: bool) -> u32 {
        let markers = if self.scheme.markers() { self.acks(system) } else { 0 };
        let others = if system && self.scheme.far_drains() { self.sys.gpms } else { 0 };
        bits_for(u64::from(markers.max(others)) + 1)
    }

    pub(super) fn has(&self, part: Part) -> bool {
        let (gpus, gpms) = (self.sys.gpus, self.sys.gpms);
        match part {
            Part::Markers => self.scheme.markers(),
            Part::GpuMarks => self.scheme.markers() && self.scheme.gpu_scope() && gpms > 1,
            Part::Forwards => self.has(Part::GpuMarks) && gpus > 1,
            Part::FarDrains | Part::GpuHomes => self.scheme.far_drains(),
            Part::FarDrops => self.scheme.far_drops(),
            Part::NearAsks => (self.scheme.far_drains() || self.scheme.markers()) && gpms > 1,
            Part::FarAsks => self.scheme.markers() && gpus > 1,
        }
    }

    pub(super) fn flushes(&self) -> bool {
        matches!(self.scheme, FenceScheme::Hmg { flush: true } | FenceScheme::Flat { flush: true })
    }

    /// Numbers of GPMs inside a GPU, used or not.
    pub(super) fn gpm_slots(&self) -> u32 {
        1 << self.sys.gpm_bits()
    }

    /// The other GPMs of the own GPU.
    pub(super) fn near(&self) -> Vec<u32> {
        let gpu = self.sys.gpu_of_node(self.home);
        self.others().into_iter().filter(|node| self.sys.gpu_of_node(*node) == gpu).collect()
    }

    /// All other nodes.
    pub(super) fn others(&self) -> Vec<u32> {
        self.sys.all_nodes().into_iter().filter(|node| *node != self.home).collect()
    }

    /// A bit for each of these nodes.
    pub(super) fn node_mask(&self, nodes: &[u32]) -> Bits {
        let mut mask = Bv::zero(self.sys.nodes());
        nodes.iter().for_each(|node| mask.set_bit(*node, true));
        lit_bv(mask)
    }

    /// The same with a bit per GPM of the own GPU.
    pub(super) fn gpm_mask(&self, nodes: &[u32]) -> Bits {
        let mut mask = Bv::zero(self.gpm_slots());
        nodes.iter().for_each(|node| mask.set_bit(self.sys.gpm_of_node(*node), true));
        lit_bv(mask)
    }

    /// This node's bit among the GPMs of its GPU, if `yes`.
    pub(super) fn own_gpm(&self, yes: Bool) -> Bits {
        self.gpm_mask(&[self.home]) & yes.repeat(self.gpm_slots())
    }

    /// Number of a GPM of the own GPU as a node.
    pub(super) fn node_of_gpm(&self, gpm: Bits) -> Bits {
        let (bits, low) = (self.sys.node_bits(), self.sys.gpm_bits());
        if low == 0 {
            return lit(u64::from(self.home), bits);
        }
        if bits == low {
            return gpm.resize(bits);
        }
        cat(&[lit(u64::from(self.sys.gpu_of_node(self.home)), bits - low), gpm.resize(low)])
    }

    /// Whether a node is of the own GPU.
    pub(super) fn of_own_gpu(&self, node: Bits) -> Bool {
        self.sys.gpu_of(node).eq(u64::from(self.sys.gpu_of_node(self.home)))
    }

    /// The acknowledgement of a marker of this origin stays in the own GPU: it goes to the node that the marker came from.
    pub(super) fn receipt_is_near(&self, origin: u32) -> bool {
        let sys = &self.sys;
        if self.has(Part::Forwards) {
            return sys.gpm_of_node(origin) != sys.gpm_of_node(self.home);
        }
        sys.gpu_of_node(origin) == sys.gpu_of_node(self.home)
    }

    pub(super) fn is_home(&self, node: Bits) -> Bool {
        node.eq(u64::from(self.home))
    }

    pub(super) fn home_bits(&self) -> Bits {
        lit(u64::from(self.home), self.sys.node_bits())
    }

    fn check(&self) -> bool {
        let sys = &self.sys;
        if self.home >= sys.nodes() || sys.gpm_of_node(self.home) >= sys.gpms {
            elab_error(format!("home = {}; legal: a node that exists, 0..{}", self.home, sys.nodes() - 1));
        } else if !(2..=64).contains(&(sys.gpus * sys.gpms)) {
            elab_error(format!("gpus * gpms = {}; legal: 2..64 nodes", sys.gpus * sys.gpms));
        } else if sys.l2_id_bits() < 2 {
            elab_error(format!("l2_mshrs = {}; legal: 3 and more, for the order in an answer", sys.l2_mshrs));
        } else {
            return true;
        }
        false
    }
}

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
    /// {origin, requester} in the lowest bits, else zero.
    #[width(p.data_bits())]
    pub data: Bits,
}

impl Answer {
    /// The releasing node.
    pub fn requester(&self, sys: &Sys) -> Bits {
        self.data.slice(0, sys.node_bits())
    }

    /// The home whose marker is acknowledged; of other acknowledgements the node that answers.
    pub fn origin(&self, sys: &Sys) -> Bits {
        self.data.slice(sys.node_bits(), sys.node_bits())
    }
}

/// The hierarchical fence unit; its ports are listed above.
///
/// # Errors
/// A parameter outside its range.
pub fn hier_fence_unit(p: &HierFenceParams) -> Result<Arc<Module>, ElabErrors> {
    let tag = format!("{}_g{}_{}", sys_tag(&p.sys), p.sys.gpms, p.scheme.tag());
    Module::build(&format!("hier_fence_unit_{tag}_h{}", p.home), ModuleKind::Block, || {
        doc("Fence unit of a hierarchical fabric: releases and acquires of GPU and system scope.");
        param("gpms", p.sys.gpms);
        param("home", p.home);
        param("scheme", p.scheme.tag());
        if p.check() {
            describe(p);
        }
    })
}

fn describe(p: &HierFenceParams) {
    let gpu = p.scheme.gpu_scope().then(|| Scope::new(p, Which::Gpu));
    let sys = Scope::new(p, Which::Sys);
    let start = in_channel::<FenceToken>("start", &());
    let done = out_channel::<FenceToken>("done", &());
    when(start.valid, || start.take());
    let wide = start.msg.scope.eq(2);
    let narrow = if gpu.is_some() { start.msg.scope.eq(1) } else { bool_lit(false) };
    assert_always(
        "start_scope",
        !start.valid | wide | narrow,
        "a fence is of system scope, or of GPU scope if that is told apart",
    );
    let incoming = incoming(p);
    let far = Serve::new(p, "far", p.has(Part::FarDrains));
    let drops = Serve::new(p, "drop", p.has(Part::FarDrops));
    let finished = Commands::new(p).step(p, gpu.as_ref(), &sys, drops.as_ref());
    let far_finished = far_commands(p, far.as_ref());
    let own_far = far.as_ref().map_or(bool_lit(false), |far| far.serves_home(p) & far_finished);
    let marks = Marks::new(p);
    let acks = Acks::new(p);
    let complete = acks.awaited(p, &incoming, &marks);
    let own_home = complete.own;

    // The engine of GPU scope reports first; it cannot be there again in the next cycle.
    let first = gpu.as_ref().map_or(bool_lit(false), |gpu| gpu.is(ScopeState::Done) & done.free);
    let second = sys.is(ScopeState::Done) & done.free & !first;
    when(second, || done.send(&sys.token()));
    if let Some(gpu) = &gpu {
        when(first, || done.send(&gpu.token()));
    }
    let step = |scope: &Scope, token: Bool, finished: Bool, acks: Vec<Bool>, done: Bool| -> Outputs {
        let table = if scope.which == Which::Gpu { gpu_table(p.scheme) } else { sys_table(p.scheme) };
        scope.step(p, &table, start.msg.seq, start.msg.acquire, &Inputs { token, finished, acks, done })
    };
    let gpu_out = gpu
        .as_ref()
        .map(|gpu| step(gpu, start.valid & narrow, finished[0], vec![incoming.acks[0], own_home[0]], first));
    let sys_acks = vec![incoming.acks[1], own_home[1], own_far];
    let sys_out = step(&sys, start.valid & wide, finished[1], sys_acks, second);

    let served = |serve: &Option<Serve>, new: Bits, finished: Bool, table: &'static str| -> Bits {
        serve.as_ref().map_or(lit_bv(Bv::zero(p.gpm_slots())), |serve| {
            serve.step(p, new, finished, &serve_table(table))
        })
    };
    let far_answers = served(&far, incoming.far | p.own_gpm(sys_out.far), far_finished, "far");
    let drop_answers = served(&drops, incoming.drops, finished[2], "drop");
    marks.step(p, &incoming, gpu_out.as_ref().map_or(bool_lit(false), |out| out.mark), sys_out.mark);
    requests(p, gpu.as_ref(), &sys);
    acks.answer(p, &incoming, &complete, far_answers, drop_answers);
    let engines = [gpu.as_ref().zip(gpu_out.as_ref()), Some((&sys, &sys_out))];
    observe(p, &engines.into_iter().flatten().collect::<Vec<_>>(), own_home, far.as_ref(), &marks);
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
        silent_out::<ReqMsg>("req_out", &p.sys);
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
        silent_out::<ReqMsg>("far_req_out", &p.sys);
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
    list.extend([
        info("home", "0", "a node {GPU, GPM} that exists", "this node"),
        info("scheme", "hmg", "hmg, flat, sw-hierarchical, sw-flat", "how caches are kept coherent"),
        info("flush", "off", "on, off", "hmg, flat: a release of system scope writes back dirty L2 lines"),
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
        "sw-hierarchical" => FenceScheme::SwHierarchical,
        "sw-flat" => FenceScheme::SwFlat,
        _ => return Err(p.illegal("scheme", "it is not known")),
    };
    super::elaborated("hier-fence-unit", hier_fence_unit(&HierFenceParams { sys, home, scheme }))
}
