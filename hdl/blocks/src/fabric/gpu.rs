//! One GPU of the fabric: L1s, banks with directory slices, invalidation and fence machinery, and its ends of the links.
//!
//! ```text
//!  cu0 -> l1_0 -+-> l1_to_bank -+-> bank0 <-> dir0 --+        mem0
//!  cu1 -> l1_1 -+               +-> bank1 <-> dir1 --+-> egress --------+
//!           ^---- bank_to_l1 <--+    |  ^            |                  v
//!                                    |  +------------|--- ingress <-- link_rx <-- switch
//!               fence_unit ----------+--> req_merge, rsp_merge ------> link_tx --> switch
//! ```

use super::params::{FabricParams, Protocol};
use super::ports::*;
use crate::cache::l1::l1_cache;
use crate::cache::l2::l2_bank;
use crate::common::crossbar::crossbar;
use crate::common::link::*;
use crate::common::switch::LinkEnds;
use crate::common::sys::sys_tag;
use crate::directory::directory;
use crate::directory::egress::{EgressParams, inv_egress};
use crate::directory::fence::{FenceParams, fence_unit};
use crate::directory::ingress::{IngressParams, inv_ingress};
use crate::msg::*;
use crate::registry::BlockError;
use weft_rtl::prelude::*;

/// The modules that are the same in every GPU.
pub(super) struct Shared {
    l1: Arc<Module>,
    l1_to_bank: Arc<Module>,
    bank_to_l1: Arc<Module>,
    req_merge: Arc<Module>,
    rsp_merge: Arc<Module>,
    req_split: Arc<Module>,
    rsp_split: Arc<Module>,
    /// A node's ends of its links, and the switch's.
    pub ends: LinkEnds,
}

/// The modules that know their GPU.
struct Homed {
    bank: Arc<Module>,
    dir: Option<Arc<Module>>,
    egress: Arc<Module>,
    ingress: Arc<Module>,
    fence: Arc<Module>,
}

pub(super) fn part<T>(block: &str, made: Result<T, ElabErrors>) -> Result<T, BlockError> {
    made.map_err(|errors| BlockError::Elab { block: block.into(), errors })
}

/// Link of a line's requests and of a bank's answers: the lowest bits, or, if the number of links is no power of two, the exclusive or of the value's
/// bytes, spread and scaled from 0..256 to 0..links.
fn link_of(value: Bits, links: u32) -> Bits {
    let width = bits_for(u64::from(links));
    if links.is_power_of_two() {
        return value.resize(width);
    }
    let bytes = value.width().div_ceil(8);
    let padded = value.zext(8 * bytes);
    let hash = (1..bytes).fold(padded.slice(0, 8), |h, i| h ^ padded.slice(8 * i, 8));
    // Times 256 over the golden ratio: neighbours take different links.
    let spread = hash.mul(lit(157, 8));
    spread.zext(8 + width).mul(lit(u64::from(links), 8 + width)).slice(8, width)
}

impl Shared {
    pub fn new(p: &FabricParams) -> Result<Shared, BlockError> {
        let s = &p.sys;
        let tag = format!("{}_{}l1_{}m_i{}_x{}", sys_tag(s), s.l1s, s.l1_mshrs, s.il, p.links);
        let (banks, links) = (s.banks, p.links);
        let name = |what: &str| format!("{what}_{tag}");
        // A fence message belongs to the fence unit, which stands behind the banks.
        let to_bank = |bank: Bits, kind: Enum<ReqKind>| {
            let width = bits_for(u64::from(banks) + 1);
            mux(kind.is(ReqKind::Fence), lit(u64::from(banks), width), bank.resize(width))
        };
        let l1_to_bank = crossbar::<L1Req>(&name("l1_to_bank"), s.l1s, banks, s, |m| s.bank_of(m.line));
        let bank_to_l1 = crossbar::<L1Rsp>(&name("bank_to_l1"), banks, s.l1s, s, |m| m.l1);
        let req_merge =
            crossbar::<ReqMsg>(&name("req_merge"), banks + 1, links, s, |m| link_of(m.line, links));
        let rsp_merge = crossbar::<RspMsg>(&name("rsp_merge"), banks + 1, links, s, |m| link_of(m.id, links));
        let req_split = crossbar::<ReqMsg>(&name("req_split"), links, banks + 1, s, |m| {
            to_bank(s.bank_of(m.line), m.kind)
        });
        let rsp_split =
            crossbar::<RspMsg>(&name("rsp_split"), links, banks + 1, s, |m| to_bank(m.bank, m.kind));
        Ok(Shared {
            l1: l1_cache(&p.l1())?,
            l1_to_bank: part("l1_to_bank", l1_to_bank)?,
            bank_to_l1: part("bank_to_l1", bank_to_l1)?,
            req_merge: part("req_merge", req_merge)?,
            rsp_merge: part("rsp_merge", rsp_merge)?,
            req_split: part("req_split", req_split)?,
            rsp_split: part("rsp_split", rsp_split)?,
            ends: part("link", LinkEnds::new(s, p.node_link()))?,
        })
    }
}

impl Homed {
    fn new(p: &FabricParams, home: u32) -> Result<Homed, BlockError> {
        let sys = || p.sys.clone();
        let slices = p.sys.banks * p.inv_ports();
        let egress = EgressParams { sys: sys(), home, links: p.links, slices, planes: false };
        let ingress = IngressParams { sys: sys(), home, links: p.links, planes: false };
        let fence = FenceParams { sys: sys(), home, flush: p.release_l2_flush };
        Ok(Homed {
            bank: part("l2-bank", l2_bank(&p.l2(home)))?,
            dir: p.dir(home).map(|d| part("directory", directory(&d))).transpose()?,
            egress: part("inv-egress", inv_egress(&egress))?,
            ingress: part("inv-ingress", inv_ingress(&ingress))?,
            fence: part("fence-unit", fence_unit(&fence))?,
        })
    }
}

/// Builds GPU `gpu`. Ports: `cuC_req`, `cuC_rsp`, `cuC_stall`, `memB_req`, `memB_rsp`, `fence_start`, `fence_done`; per link K the wires
/// `txK_wire_*` and `rxK_wire_*` with their credits; for `ideal` also `bB_dir_req`, `bB_dir_rsp`, `bB_inv`.
///
/// # Errors
/// A parameter that one of its blocks refuses.
pub(super) fn gpu_module(p: &FabricParams, shared: &Shared, gpu: u32) -> Result<Arc<Module>, BlockError> {
    let homed = Homed::new(p, gpu)?;
    Module::build(&format!("gpu{gpu}_{}", p.tag()), ModuleKind::Fabric, || {
        doc("One GPU of a REC fabric: L1s, L2 banks with directory slices, fences, link ends.");
        param("gpu", gpu);
        param("protocol", p.protocol.name());
        Gpu::place(p, shared, &homed).wire(gpu);
    })
    .map_err(|errors| BlockError::Elab { block: format!("gpu{gpu}"), errors })
}

/// The instances of one GPU.
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
    req_merge: InstanceRef,
    rsp_merge: InstanceRef,
    req_split: InstanceRef,
    rsp_split: InstanceRef,
    tx: Vec<InstanceRef>,
    rx: Vec<InstanceRef>,
}

impl<'a> Gpu<'a> {
    fn place(p: &'a FabricParams, m: &Shared, h: &Homed) -> Gpu<'a> {
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
            req_merge: instance("req_merge", &m.req_merge),
            rsp_merge: instance("rsp_merge", &m.rsp_merge),
            req_split: instance("req_split", &m.req_split),
            rsp_split: instance("rsp_split", &m.rsp_split),
            tx: many("link_tx", &m.ends.tx, p.links),
            rx: many("link_rx", &m.ends.rx, p.links),
        }
    }

    fn wire(&self, gpu: u32) {
        self.wire_l1s(gpu);
        self.wire_banks();
        self.wire_directories();
        self.wire_fences();
        self.wire_links();
    }

    fn wire_l1s(&self, gpu: u32) {
        let s = &self.p.sys;
        for (c, l1) in self.l1s.iter().enumerate() {
            l1.drive_bits("own_l1", lit(c as u64, s.l1_bits()));
            if self.p.protocol == Protocol::NoRemoteCaching {
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
            connect::<L1Req>(&self.l1_to_bank, &format!("out{b}"), bank, "local_req", s);
            connect::<L1Rsp>(bank, "local_rsp", &self.bank_to_l1, &format!("in{b}"), s);
            connect::<ReqMsg>(&self.req_split, &format!("out{b}"), bank, "remote_req", s);
            connect::<RspMsg>(&self.rsp_split, &format!("out{b}"), bank, "rsp_in", s);
            connect::<ReqMsg>(bank, "req_out", &self.req_merge, &format!("in{b}"), s);
            connect::<RspMsg>(bank, "rsp_out", &self.rsp_merge, &format!("in{b}"), s);
            connect::<BankInv>(&self.ingress, &format!("bank{b}"), bank, "inv", s);
            connect::<InvDone>(bank, "inv_done", &self.ingress, &format!("done{b}"), &());
            connect::<FenceCmd>(&self.fence, &format!("cmd{b}"), bank, "fence_cmd", &());
            connect::<FenceDone>(bank, "fence_done", &self.fence, &format!("done{b}"), &());
            connect::<FenceMark>(&self.fence, &format!("order{b}"), bank, "order", s);
            connect::<FenceMark>(bank, "ordered", &self.fence, &format!("ordered{b}"), s);
            export_out::<MemReq>(&format!("mem{b}_req"), bank, "mem_req", s);
            export_in::<MemRsp>(&format!("mem{b}_rsp"), bank, "mem_rsp", s);
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
                }
                None if self.p.protocol == Protocol::Ideal => {
                    export_out::<DirReq>(&format!("b{b}_dir_req"), bank, "dir_req", s);
                    export_in::<DirRsp>(&format!("b{b}_dir_rsp"), bank, "dir_rsp", s);
                    export_in::<DirInv>(&format!("b{b}_inv"), &self.egress, &slice(0), s);
                }
                None => silence::<DirInv>(&self.egress, &slice(0), s),
            }
        }
    }

    fn wire_fences(&self) {
        let (s, last) = (&self.p.sys, self.p.sys.banks);
        export_in::<FenceToken>("fence_start", &self.fence, "start", &());
        export_out::<FenceToken>("fence_done", &self.fence, "done", &());
        connect::<ReqMsg>(&self.req_split, &format!("out{last}"), &self.fence, "req_in", s);
        connect::<RspMsg>(&self.rsp_split, &format!("out{last}"), &self.fence, "rsp_in", s);
        connect::<ReqMsg>(&self.fence, "req_out", &self.req_merge, &format!("in{last}"), s);
        connect::<RspMsg>(&self.fence, "rsp_out", &self.rsp_merge, &format!("in{last}"), s);
        connect::<FenceMark>(&self.fence, "mark_out", &self.egress, "fence", s);
        connect::<FenceMark>(&self.ingress, "fence", &self.fence, "mark_in", s);
    }

    fn wire_links(&self) {
        let s = &self.p.sys;
        for (k, (tx, rx)) in self.tx.iter().zip(&self.rx).enumerate() {
            connect::<ReqMsg>(&self.req_merge, &format!("out{k}"), tx, "req", s);
            connect::<RspMsg>(&self.rsp_merge, &format!("out{k}"), tx, "rsp", s);
            connect::<InvMsg>(&self.egress, &format!("link{k}"), tx, "inv", s);
            connect::<ReqMsg>(rx, "req", &self.req_split, &format!("in{k}"), s);
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
