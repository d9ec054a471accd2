//! One node of the fabric, a GPU or a GPM: L1s, banks with directory slices, invalidation and fence machinery, and its ends of the links.
//!
//! ```text
//!  cu0 -> l1_0 -+-> l1_to_bank -+-> bank0 <-> dir0 --+        mem0
//!  cu1 -> l1_1 -+               +-> bank1 <-> dir1 --+-> egress --------+
//!           ^---- bank_to_l1 <--+    |  ^            |                  v
//!                                    |  +------------|--- ingress <-- link_rx <-- switch
//!               fence_unit ----------+--> req_merge, rsp_merge ------> link_tx --> switch
//! ```
//!
//! In fabrics with planes (hmg.md section 6) link 0 leads to the other GPMs of the GPU and link 1 to other GPUs. What hierarchical banks send and receive
//! on the two is kept apart, so that requests inside a GPU wait for those between GPUs at the banks only:
//!
//! ```text
//!  bank req_out, remote_req <-> req_merge_l, req_split_l <-> link 0        fence_unit req_out, far_req_out -> req_merge_l, req_merge_h
//!  bank far_out, far_req    <-> req_merge_h, req_split_h <-> link 1        fence_unit req_in <- fence_in <- req_split_l, req_split_h
//! ```

//! With acknowledged invalidations (GPU-VI, hmg.md section 8) the ingress answers applied Invs, and responses lead to the directory slices too:
//!
//! ```text
//!  link_rx inv -> ingress <-> banks, ingress ack -> rsp_merge -> link_tx rsp ... link_rx rsp -> rsp_split -> banks, fence_unit, dirs
//! ```
//! A directory waits for acknowledgements, which are RSP; an Inv waits at the ingress for a place for its acknowledgement; what comes on RSP is taken at once by
//! bank and directory, whatever they wait for. So with REQ -> {INV, RSP} and INV -> RSP the networks wait for each other in one direction only.

use super::merge::{Merges, Shared};
use super::params::{FabricInject, FabricParams};
use super::ports::*;
use crate::common::link::*;
use crate::directory::directory;
use crate::directory::egress::{EgressParams, FarReach, inv_egress};
use crate::directory::fence::{FenceParams, fence_unit};
use crate::directory::hier_fence::{FenceScheme, HierFenceParams, hier_fence_unit};
use crate::directory::ingress::{IngressParams, inv_ingress};
use crate::msg::*;
use crate::registry::{BlockError, elaborated};
use weft_rtl::prelude::*;

/// The modules that know their node.
struct Homed {
    bank: Arc<Module>,
    dir: Option<Arc<Module>>,
    egress: Arc<Module>,
    ingress: Arc<Module>,
    fence: Arc<Module>,
}

impl Homed {
    fn new(p: &FabricParams, home: u32) -> Result<Homed, BlockError> {
        let sys = || p.sys.clone();
        let (links, planes) = (p.node_links(), p.planes());
        let slices = p.sys.banks * p.inv_ports();
        let direct = matches!(p.fence_scheme(), Some(FenceScheme::Flat { .. } | FenceScheme::Drain { .. }));
        let far = if direct { FarReach::All } else { FarReach::SameGpm };
        let egress = EgressParams { sys: sys(), home, links, slices, planes, far };
        let ingress = IngressParams { sys: sys(), home, links, planes, far, acks: p.acked() };
        let early = p.inject == FabricInject::FenceEarlyDone;
        let fence = match p.fence_scheme() {
            Some(scheme) => {
                // A marker to every node is dear: bfs on hmg-4gpu-small takes 294 011 cycles with one in flight
                // and 322 064 with four, with protocol hmg and fence = each 269 365 and 262 752.
                let marks = if direct { 1 } else { HierFenceParams::MARKS };
                hier_fence_unit(&HierFenceParams { sys: sys(), home, scheme, marks, early })
            }
            None => fence_unit(&FenceParams { sys: sys(), home, flush: p.release_l2_flush, early }),
        };
        Ok(Homed {
            bank: {
                let kind = p.protocol.bank();
                elaborated(kind.info.name, (kind.build)(&p.l2(home)))?
            },
            dir: p.dir(home).map(|d| elaborated("directory", directory(&d))).transpose()?,
            egress: elaborated("inv-egress", inv_egress(&egress))?,
            ingress: elaborated("inv-ingress", inv_ingress(&ingress))?,
            fence: elaborated("fence-unit", fence)?,
        })
    }
}

/// Builds node `node`. Ports: `cuC_req`, `cuC_rsp`, `cuC_stall`, `memB_req`, `memB_rsp`, `fence_start`, `fence_done`; per link K the wires
/// `txK_wire_*` and `rxK_wire_*` with their credits; for a directory outside of the RTL also `bB_dir_req`, `bB_dir_rsp`, `bB_inv`.
///
/// # Errors
/// A parameter that one of its blocks refuses.
pub(super) fn gpu_module(
    p: &FabricParams,
    shared: &Shared,
    merges: &Merges,
    node: u32,
) -> Result<Arc<Module>, BlockError> {
    let homed = Homed::new(p, node)?;
    Module::build(&format!("gpu{node}_{}", p.tag()), ModuleKind::Fabric, || {
        doc("One GPU or GPM of a fabric: L1s, L2 banks with directory slices, fences, link ends.");
        param("gpu", node);
        param("protocol", p.protocol.name());
        Gpu::place(p, shared, merges, &homed).wire(node);
    })
    .map_err(|errors| BlockError::Elab { block: format!("gpu{node}"), errors })
}

/// The way of requests.
enum Requests {
    /// Banks with one output and one input for all links.
    Mixed { merge: InstanceRef, split: InstanceRef },
    /// Hierarchical banks: the two planes, and the fence unit's part in both.
    Planes { merge: [InstanceRef; 2], split: [InstanceRef; 2], fence_in: InstanceRef },
}

/// The instances of one node.
struct Gpu<'a> {
    p: &'a FabricParams,
    l1s: Vec<InstanceRef>,
    banks: Vec<InstanceRef>,
    dirs: Vec<InstanceRef>,
    egress: InstanceRef,
    ingress: InstanceRef,
    fence: InstanceRef,
    l1_to_bank: InstanceRef,
    bank_to_l1: InstanceRef,
    requests: Requests,
    waits: Option<Waits>,
    rsp_merge: InstanceRef,
    rsp_split: InstanceRef,
    tx: Vec<InstanceRef>,
    rx: Vec<InstanceRef>,
}

/// Queues before the banks' entrances, which make a hit take its published time.
struct Waits {
    local: Vec<InstanceRef>,
    remote: Vec<InstanceRef>,
    /// Of hierarchical banks.
    far: Vec<InstanceRef>,
}

/// Connects a channel with a bank's entrance, through the queue before it if there is one.
fn enter<T: Data<Shape = Sys>>(
    from: (&InstanceRef, &str),
    wait: Option<&InstanceRef>,
    bank: (&InstanceRef, &str),
    s: &Sys,
) {
    match wait {
        None => connect::<T>(from.0, from.1, bank.0, bank.1, s),
        Some(wait) => {
            connect::<T>(from.0, from.1, wait, "in", s);
            connect::<T>(wait, "out", bank.0, bank.1, s);
        }
    }
}

impl Requests {
    fn place(m: &Shared, merges: &Merges) -> Requests {
        let both = |name: &str, module: &Arc<Module>| {
            ["l", "h"].map(|plane| instance(&format!("{name}_{plane}"), module))
        };
        match (&m.plane_merge, &m.fence_in, &merges.req) {
            (Some(merge), Some(fence_in), _) => Requests::Planes {
                merge: both("req_merge", merge),
                split: both("req_split", &m.req_split),
                fence_in: instance("fence_in", fence_in),
            },
            (_, _, Some(merge)) => Requests::Mixed {
                merge: instance("req_merge", merge),
                split: instance("req_split", &m.req_split),
            },
            _ => unreachable!("the merges are built for the same fabric"),
        }
    }
}

impl<'a> Gpu<'a> {
    fn place(p: &'a FabricParams, m: &Shared, merges: &Merges, h: &Homed) -> Gpu<'a> {
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        Gpu {
            p,
            l1s: many("l1_", &m.l1, p.sys.l1s),
            banks: many("bank", &h.bank, p.sys.banks),
            dirs: h.dir.as_ref().map_or(Vec::new(), |dir| many("dir", dir, p.sys.banks)),
            egress: instance("egress", &h.egress),
            ingress: instance("ingress", &h.ingress),
            fence: instance("fence_unit", &h.fence),
            l1_to_bank: instance("l1_to_bank", &m.l1_to_bank),
            bank_to_l1: instance("bank_to_l1", &m.bank_to_l1),
            requests: Requests::place(m, merges),
            waits: m.waits.as_ref().map(|[local, remote]| Waits {
                local: many("local_delay", local, p.sys.banks),
                remote: many("remote_delay", remote, p.sys.banks),
                far: many("far_delay", remote, if p.hier_banks() { p.sys.banks } else { 0 }),
            }),
            rsp_merge: instance("rsp_merge", &merges.rsp),
            rsp_split: instance("rsp_split", &m.rsp_split),
            tx: many("link_tx", &m.ends.tx, p.node_links()),
            rx: many("link_rx", &m.ends.rx, p.node_links()),
        }
    }

    fn wire(&self, node: u32) {
        self.wire_l1s(node);
        self.wire_banks();
        self.wire_bank_requests();
        self.wire_directories();
        self.wire_fences();
        self.wire_fence_banks();
        self.wire_links();
    }

    fn wire_l1s(&self, gpu: u32) {
        let s = &self.p.sys;
        for (c, l1) in self.l1s.iter().enumerate() {
            l1.drive_bits("own_l1", lit(c as u64, s.l1_bits()));
            if self.p.l1().bypass_remote {
                l1.drive_bits("own_gpu", lit(u64::from(gpu), s.node_bits()));
            }
            export_in::<CuReq>(&format!("cu{c}_req"), l1, "cu_req", s);
            export_out::<CuRsp>(&format!("cu{c}_rsp"), l1, "cu_rsp", s);
            output::<Bits>(&format!("cu{c}_stall"), 3).set(l1.out_bits("stall"));
            connect::<L1Req>(l1, "l2_req", &self.l1_to_bank, &format!("in{c}"), s);
            connect::<L1Rsp>(&self.bank_to_l1, &format!("out{c}"), l1, "l2_rsp", s);
        }
    }

    fn wire_banks(&self) {
        let s = &self.p.sys;
        for (b, bank) in self.banks.iter().enumerate() {
            let wait = self.waits.as_ref().map(|w| &w.local[b]);
            enter::<L1Req>((&self.l1_to_bank, &format!("out{b}")), wait, (bank, "local_req"), s);
            connect::<L1Rsp>(bank, "local_rsp", &self.bank_to_l1, &format!("in{b}"), s);
            connect::<RspMsg>(&self.rsp_split, &format!("out{b}"), bank, "rsp_in", s);
            connect::<RspMsg>(bank, "rsp_out", &self.rsp_merge, &format!("in{b}"), s);
            connect::<BankInv>(&self.ingress, &format!("bank{b}"), bank, "inv", s);
            connect::<InvDone>(bank, "inv_done", &self.ingress, &format!("done{b}"), &());
            export_out::<MemReq>(&format!("mem{b}_req"), bank, "mem_req", s);
            export_in::<MemRsp>(&format!("mem{b}_rsp"), bank, "mem_rsp", s);
        }
    }

    fn wire_bank_requests(&self) {
        let s = &self.p.sys;
        for (b, bank) in self.banks.iter().enumerate() {
            let (input, output) = (format!("in{b}"), format!("out{b}"));
            let [remote, far] =
                [self.waits.as_ref().map(|w| &w.remote[b]), self.waits.as_ref().and_then(|w| w.far.get(b))];
            match &self.requests {
                Requests::Mixed { merge, split } => {
                    enter::<ReqMsg>((split, &output), remote, (bank, "remote_req"), s);
                    connect::<ReqMsg>(bank, "req_out", merge, &input, s);
                }
                Requests::Planes { merge, split, .. } => {
                    enter::<ReqMsg>((&split[0], &output), remote, (bank, "remote_req"), s);
                    enter::<ReqMsg>((&split[1], &output), far, (bank, "far_req"), s);
                    connect::<ReqMsg>(bank, "req_out", &merge[0], &input, s);
                    connect::<ReqMsg>(bank, "far_out", &merge[1], &input, s);
                }
            }
        }
    }

    fn wire_directories(&self) {
        let (s, per_slice) = (&self.p.sys, self.p.inv_ports());
        for (b, bank) in self.banks.iter().enumerate() {
            let slice = |i: u32| format!("slice{}", b as u32 * per_slice + i);
            match self.dirs.get(b) {
                Some(dir) => {
                    connect::<DirReq>(bank, "dir_req", dir, "req", s);
                    connect::<DirRsp>(dir, "rsp", bank, "dir_rsp", s);
                    for i in 0..per_slice {
                        let port = if i == 0 { "inv".to_string() } else { format!("inv{i}") };
                        connect::<DirInv>(dir, &port, &self.egress, &slice(i), s);
                    }
                    if self.p.acked() {
                        // Behind the banks' and the fence unit's.
                        let acks = format!("out{}", self.banks.len() + 1 + b);
                        connect::<RspMsg>(&self.rsp_split, &acks, dir, "ack", s);
                    }
                    if self.p.protocol.owners() {
                        connect::<HomeDone>(bank, "done", dir, "done", s);
                    }
                    if self.p.forwards() {
                        connect::<DirRecv>(bank, "recv_out", dir, "recv", s);
                        connect::<RecvDone>(dir, "recv_done", bank, "recv_done", &());
                        connect::<DirInv>(dir, "inv_l", &self.egress, &format!("recv{b}"), s);
                    }
                }
                None if self.p.outside_directory() => {
                    export_out::<DirReq>(&format!("b{b}_dir_req"), bank, "dir_req", s);
                    export_in::<DirRsp>(&format!("b{b}_dir_rsp"), bank, "dir_rsp", s);
                    export_in::<DirInv>(&format!("b{b}_inv"), &self.egress, &slice(0), s);
                }
                None => silence::<DirInv>(&self.egress, &slice(0), s),
            }
            if self.p.planes() && !self.p.forwards() {
                silence::<DirInv>(&self.egress, &format!("recv{b}"), s);
            }
        }
    }

    fn wire_fences(&self) {
        let (s, last) = (&self.p.sys, self.p.sys.banks);
        let (input, output) = (format!("in{last}"), format!("out{last}"));
        let beyond = format!("in{}", last + 1);
        export_in::<FenceToken>("fence_start", &self.fence, "start", &());
        export_out::<FenceToken>("fence_done", &self.fence, "done", &());
        match &self.requests {
            Requests::Mixed { merge, split } => {
                connect::<ReqMsg>(split, &output, &self.fence, "req_in", s);
                connect::<ReqMsg>(&self.fence, "req_out", merge, &input, s);
                if self.p.planes() {
                    connect::<ReqMsg>(&self.fence, "far_req_out", merge, &beyond, s);
                }
            }
            Requests::Planes { merge, split, fence_in } => {
                connect::<ReqMsg>(fence_in, "out0", &self.fence, "req_in", s);
                for (plane, port) in ["req_out", "far_req_out"].into_iter().enumerate() {
                    connect::<ReqMsg>(&self.fence, port, &merge[plane], &input, s);
                    connect::<ReqMsg>(&split[plane], &output, fence_in, &format!("in{plane}"), s);
                }
            }
        }
        connect::<RspMsg>(&self.rsp_split, &output, &self.fence, "rsp_in", s);
        connect::<RspMsg>(&self.fence, "rsp_out", &self.rsp_merge, &input, s);
        if self.p.planes() {
            connect::<RspMsg>(&self.fence, "far_rsp_out", &self.rsp_merge, &beyond, s);
            if self.p.acked() {
                connect::<RspMsg>(&self.ingress, "ack", &self.rsp_merge, &format!("in{}", last + 2), s);
            }
            connect::<HierMark>(&self.fence, "mark_out", &self.egress, "fence", s);
            connect::<HierMark>(&self.ingress, "fence", &self.fence, "mark_in", s);
        } else {
            connect::<FenceMark>(&self.fence, "mark_out", &self.egress, "fence", s);
            connect::<FenceMark>(&self.ingress, "fence", &self.fence, "mark_in", s);
        }
    }

    fn wire_fence_banks(&self) {
        let s = &self.p.sys;
        for (b, bank) in self.banks.iter().enumerate() {
            connect::<FenceCmd>(&self.fence, &format!("cmd{b}"), bank, "fence_cmd", &());
            connect::<FenceDone>(bank, "fence_done", &self.fence, &format!("done{b}"), &());
            connect::<FenceMark>(&self.fence, &format!("order{b}"), bank, "order", s);
            connect::<FenceMark>(bank, "ordered", &self.fence, &format!("ordered{b}"), s);
            let far_cmd = format!("far_cmd{b}");
            if self.p.hier_banks() {
                connect::<FenceCmd>(&self.fence, &far_cmd, bank, "far_cmd", &());
                connect::<FenceDone>(bank, "far_done", &self.fence, &format!("far_done{b}"), &());
            } else if self.p.planes() {
                // A drain of a flat bank waits for other GPUs already.
                self.fence.drive_bits(&format!("{far_cmd}_ready"), lit(1, 1));
                silence::<FenceDone>(&self.fence, &format!("far_done{b}"), &());
            }
        }
    }

    fn wire_links(&self) {
        let s = &self.p.sys;
        for (k, (tx, rx)) in self.tx.iter().zip(&self.rx).enumerate() {
            connect::<RspMsg>(&self.rsp_merge, &format!("out{k}"), tx, "rsp", s);
            connect::<InvMsg>(&self.egress, &format!("link{k}"), tx, "inv", s);
            match &self.requests {
                Requests::Mixed { merge, split } => {
                    connect::<ReqMsg>(merge, &format!("out{k}"), tx, "req", s);
                    connect::<ReqMsg>(rx, "req", split, &format!("in{k}"), s);
                }
                Requests::Planes { merge, split, .. } => {
                    connect::<ReqMsg>(&merge[k], "out0", tx, "req", s);
                    connect::<ReqMsg>(rx, "req", &split[k], "in0", s);
                }
            }
            connect::<RspMsg>(rx, "rsp", &self.rsp_split, &format!("in{k}"), s);
            connect::<InvMsg>(rx, "inv", &self.ingress, &format!("link{k}"), s);
            for leaf in wire_leaves(s) {
                output::<Bits>(&format!("tx{k}_{}", leaf.name), leaf.width).set(tx.out_bits(&leaf.name));
                let inward = input::<Bits>(&format!("rx{k}_{}", leaf.name), leaf.width);
                rx.drive_bits(&leaf.name, inward);
            }
            for network in NETWORKS {
                let credit = format!("credit_{network}");
                tx.drive_bits(&credit, input::<Bits>(&format!("tx{k}_{credit}"), 1));
                output::<Bits>(&format!("rx{k}_{credit}"), 1).set(rx.out_bits(&credit));
            }
        }
    }
}
