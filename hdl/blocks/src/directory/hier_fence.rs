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
//!  WAIT M*(M-1) receipts      WAIT NM*(NM-1) receipts ----------------------+
//!   |         |                 |        ^                ^
//!  cmd/done  req_out           req_out  rsp_in, own receipts
//!  (banks)   far_req_out
//!
//!  asked by others, or by the engines above (req_in):
//!   far drains   -> far_cmd, far_done, then an acknowledgement to each that waited
//!   drops        -> cmd, done, likewise
//!   marks        -> one after the other: order, ordered, then mark_out with this node as origin
//!  markers of other homes (mark_in): acknowledged to the requester; from the same GPM of another GPU also passed on through mark_out
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `start` | in | seq, scope, acquire | scope 1 GPU, 2 system; always taken |
//! | `done` | out | seq, scope, acquire | everything of this scope and kind up to `seq` is complete |
//! | `cmd{b}`, `done{b}` | out, in | op | drain, flush, drop: what never waits for other GPUs |
//! | `far_cmd{b}`, `far_done{b}` | out, in | op | drain of what the bank has passed on to other GPUs |
//! | `order{b}`, `ordered{b}` | out, in | requester | token of a marker to a bank and back |
//! | `req_out`, `far_req_out` | out | src, dst, scope (the order) | requests to GPMs of the own GPU, and to other GPUs |
//! | `rsp_out`, `far_rsp_out` | out | src, dst, id (the order) | acknowledgements likewise |
//! | `req_in`, `rsp_in` | in | the same | from both; always taken |
//! | `mark_out` | out | requester, origin, sys | a marker for the egress |
//! | `mark_in` | in | requester, origin, sys | the ingress has a marker; always taken |
//!
//! A release of GPU scope waits for its own banks and for GPMs of its GPU, for nothing else: what leaves for other GPUs has channels of its own, and
//! whatever comes in is taken in the cycle in which it is there, since every request and every acknowledgement owed has a bit or a counter. So no engine
//! holds another one, and no fence unit waits for another one in a circle.
//!
//! | scheme | markers | far drains | acquire of GPU scope | acquire of system scope |
//! | --- | --- | --- | --- | --- |
//! | `hmg` | yes | yes | nothing to do | nothing to do |
//! | `sw-hierarchical` | no | yes | own banks: lines with another GPU home | own banks: all lines homed elsewhere; other GPMs: those of other GPUs |
//! | `sw-flat` | no | no | own banks: all lines homed elsewhere | the same |
//!
//! One batch per scope is in flight; tokens that come meanwhile are batched, releases and acquires apart, and the two kinds take turns.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/hier-fence-unit.svg")]

use super::fence_ports::{part_in, part_out, silent_in, silent_out};
use super::hier_fence_observe::observe;
use super::hier_fence_scope::{Inputs, Outputs, Scope, Which};
use super::hier_fence_serve::{Acks, Commands, Marks, Serve, far_commands};
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
    /// Software coherence with GPU homes: an acquire drops copies.
    SwHierarchical,
    /// Software coherence without GPU homes.
    SwFlat,
}

impl FenceScheme {
    /// Releases send markers.
    pub fn markers(self) -> bool {
        matches!(self, FenceScheme::Hmg { .. })
    }

    /// GPU homes pass writes on, so releases of system scope wait for those.
    pub fn far_drains(self) -> bool {
        self != FenceScheme::SwFlat
    }

    /// Acquires of system scope drop copies in other GPMs.
    pub fn far_drops(self) -> bool {
        self == FenceScheme::SwHierarchical
    }

    fn tag(self) -> &'static str {
        match self {
            FenceScheme::Hmg { flush: true } => "hmg_flush",
            FenceScheme::Hmg { flush: false } => "hmg",
            FenceScheme::SwHierarchical => "sw_hierarchical",
            FenceScheme::SwFlat => "sw_flat",
        }
    }
}

/// Parts of the unit that depend on scheme and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Markers and their receipts.
    Markers,
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
    /// Receipts that end a release: one per home and receiver, in the GPU or in the system.
    pub fn acks(&self, system: bool) -> u32 {
        let nodes = if system { self.sys.gpus * self.sys.gpms } else { self.sys.gpms };
        nodes * (nodes - 1)
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
            Part::Forwards => self.scheme.markers() && gpus > 1 && gpms > 1,
            Part::FarDrains | Part::GpuHomes => self.scheme.far_drains(),
            Part::FarDrops => self.scheme.far_drops(),
            Part::NearAsks => self.scheme.far_drains() && gpms > 1,
            Part::FarAsks => self.scheme.markers() && gpus > 1,
        }
    }

    pub(super) fn flushes(&self) -> bool {
        self.scheme == FenceScheme::Hmg { flush: true }
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

/// What comes from other nodes in a cycle.
pub(super) struct Incoming {
    /// Requesters, by order: a bit per GPM of the own GPU, for MarkSys one per node.
    pub far: Bits,
    pub gpu_marks: Bits,
    pub sys_marks: Bits,
    pub drops: Bits,
    /// Acknowledgements for the engines of GPU and system scope.
    pub acks: [Bool; 2],
    /// A marker.
    pub mark: Bool,
    pub mark_msg: HierMark,
    /// The own receipt of a marker, for the two engines.
    pub receipts: [Bool; 2],
}

fn incoming(p: &HierFenceParams) -> Incoming {
    let sys = &p.sys;
    let no = bool_lit(false);
    let (slots, nodes) = (p.gpm_slots(), sys.nodes());
    let mut i = Incoming {
        far: lit_bv(Bv::zero(slots)),
        gpu_marks: lit_bv(Bv::zero(slots)),
        sys_marks: lit_bv(Bv::zero(nodes)),
        drops: lit_bv(Bv::zero(slots)),
        acks: [no, no],
        mark: no,
        mark_msg: HierMark { requester: p.home_bits(), origin: p.home_bits(), sys: no },
        receipts: [no, no],
    };
    if p.has(Part::NearAsks) || p.has(Part::FarAsks) {
        let req = part_in::<ReqMsg, Ask>("req_in", sys);
        when(req.valid, || req.take());
        let is = |order: FenceOrder| req.valid & req.msg.scope.eq(order.encoding());
        let near = |order| sys.gpm_of(req.msg.src).one_hot(slots) & is(order).repeat(slots);
        (i.far, i.gpu_marks, i.drops) =
            (near(FenceOrder::DrainFar), near(FenceOrder::MarkGpu), near(FenceOrder::DropFar));
        i.sys_marks = req.msg.src.one_hot(nodes) & is(FenceOrder::MarkSys).repeat(nodes);
        assert_always(
            "req_in_is_for_here",
            !req.valid | (p.is_home(req.msg.dst) & !p.is_home(req.msg.src)),
            "a fence request comes from another node and reaches the one it names",
        );
        assert_always(
            "req_in_of_own_gpu",
            !req.valid | is(FenceOrder::MarkSys) | p.of_own_gpu(req.msg.src),
            "other GPUs ask for markers of system scope only",
        );
        let rsp = part_in::<RspMsg, Answer>("rsp_in", sys);
        when(rsp.valid, || rsp.take());
        let gpu = rsp.msg.id.slice(0, 2).eq(FenceOrder::MarkGpu.encoding());
        i.acks = [rsp.valid & gpu, rsp.valid & !gpu];
        assert_always(
            "rsp_in_is_for_here",
            !rsp.valid | (p.is_home(rsp.msg.dst) & !p.is_home(rsp.msg.src)),
            "an acknowledgement comes from another node and is for this one",
        );
    } else {
        silent_in::<ReqMsg>("req_in", sys);
        silent_in::<RspMsg>("rsp_in", sys);
    }
    if p.has(Part::Markers) {
        let mark = in_channel::<HierMark>("mark_in", sys);
        when(mark.valid, || mark.take());
        let own = mark.valid & p.is_home(mark.msg.requester);
        i.receipts =
            [(own & !mark.msg.sys).named("own_gpu_receipt"), (own & mark.msg.sys).named("own_receipt")];
        (i.mark, i.mark_msg) = (mark.valid, mark.msg);
        assert_always(
            "mark_in_origin",
            !mark.valid
                | (!p.is_home(mark.msg.origin)
                    & (mark.msg.sys | (p.of_own_gpu(mark.msg.origin) & p.of_own_gpu(mark.msg.requester)))),
            "a marker is of another home; one of GPU scope stays in its GPU",
        );
    } else {
        silent_in::<HierMark>("mark_in", sys);
    }
    i
}

fn describe(p: &HierFenceParams) {
    let (gpu, sys) = (Scope::new(p, Which::Gpu), Scope::new(p, Which::Sys));
    let start = in_channel::<FenceToken>("start", &());
    let done = out_channel::<FenceToken>("done", &());
    when(start.valid, || start.take());
    let wide = start.msg.scope.bit(1);
    assert_always(
        "start_scope",
        !start.valid | start.msg.scope.eq(1) | start.msg.scope.eq(2),
        "a fence is of GPU or of system scope",
    );
    let incoming = incoming(p);
    let far = Serve::new(p, "far", p.has(Part::FarDrains));
    let drops = Serve::new(p, "drop", p.has(Part::FarDrops));
    let finished = Commands::new(p).step(p, &gpu, &sys, drops.as_ref());
    let far_finished = far_commands(p, far.as_ref());
    let own_far = far.as_ref().map_or(bool_lit(false), |far| far.serves_home(p) & far_finished);

    // The engine of GPU scope reports first; it cannot be there again in the next cycle.
    let first = gpu.is(ScopeState::Done) & done.free;
    let second = sys.is(ScopeState::Done) & done.free & !first;
    when(first, || done.send(&gpu.token())).elsewhen(second, || done.send(&sys.token()));
    let step = |scope: &Scope, token: Bool, finished: Bool, acks: Vec<Bool>, done: Bool| -> Outputs {
        let table = if scope.which == Which::Gpu { gpu_table(p.scheme) } else { sys_table(p.scheme) };
        scope.step(p, &table, start.msg.seq, start.msg.acquire, &Inputs { token, finished, acks, done })
    };
    let gpu_acks = vec![incoming.acks[0], incoming.receipts[0]];
    let sys_acks = vec![incoming.acks[1], incoming.receipts[1], own_far];
    let gpu_out = step(&gpu, start.valid & !wide, finished[0], gpu_acks, first);
    let sys_out = step(&sys, start.valid & wide, finished[1], sys_acks, second);

    let served = |serve: &Option<Serve>, new: Bits, finished: Bool, table: &'static str| -> Bits {
        serve.as_ref().map_or(lit_bv(Bv::zero(p.gpm_slots())), |serve| {
            serve.step(p, new, finished, &serve_table(table))
        })
    };
    let far_answers = served(&far, incoming.far | p.own_gpm(sys_out.far), far_finished, "far");
    let drop_answers = served(&drops, incoming.drops, finished[2], "drop");
    let marks = Marks::new(p);
    marks.step(p, &incoming, gpu_out.mark, sys_out.mark);
    requests(p, &gpu, &sys);
    Acks::new(p).step(p, &incoming, far_answers, drop_answers);
    observe(p, [&gpu, &sys], [&gpu_out, &sys_out], &incoming, far.as_ref(), &marks);
}

/// Requests of both engines to the own GPU, and of the engine of system scope to other GPUs.
fn requests(p: &HierFenceParams, gpu: &Scope, sys: &Scope) {
    let ask = |dst: Bits, order: Enum<FenceOrder>| Ask { src: p.home_bits(), dst, scope: order.bits() };
    let left = sys.to_ask.get();
    let near = left & p.node_mask(&p.near());
    let mut sent = Vec::new();
    let (mut gpu_asks, mut far_waits) = (bool_lit(false), None);
    if p.has(Part::NearAsks) {
        let out = part_out::<ReqMsg, Ask>("req_out", &p.sys);
        let of_gpu = gpu.to_ask.get();
        let (gpm, node) = (of_gpu.lowest_set(), near.lowest_set());
        let first = (of_gpu.any() & out.free).named("gpu_asks");
        let second = (near.any() & of_gpu.none() & out.free).named("sys_asks_near");
        when(first, || {
            gpu.to_ask.set(of_gpu & !gpm.one_hot(p.gpm_slots()));
            out.send(&ask(p.node_of_gpm(gpm), gpu.order()));
        })
        .elsewhen(second, || out.send(&ask(node, sys.order())));
        gpu_asks = first;
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
        info("scheme", "hmg", "hmg, sw-hierarchical, sw-flat", "how caches are kept coherent"),
        info("flush", "off", "on, off", "hmg: a release of system scope writes back dirty L2 lines"),
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
        "sw-hierarchical" => FenceScheme::SwHierarchical,
        "sw-flat" => FenceScheme::SwFlat,
        _ => return Err(p.illegal("scheme", "it is not known")),
    };
    super::elaborated("hier-fence-unit", hier_fence_unit(&HierFenceParams { sys, home, scheme }))
}
