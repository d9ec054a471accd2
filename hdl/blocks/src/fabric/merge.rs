//! Crossbars between the banks, the fence unit and the links of a node.

use super::params::FabricParams;
use crate::cache::l1::l1_cache;
use crate::common::crossbar::crossbar;
use crate::common::delay_queue::delay_queue;
use crate::common::switch::LinkEnds;
use crate::common::sys::sys_tag;
use crate::msg::*;
use crate::registry::{BlockError, elaborated};
use weft_rtl::prelude::*;

/// The modules that are the same in every node.
pub(super) struct Shared {
    pub l1: Arc<Module>,
    pub l1_to_bank: Arc<Module>,
    pub bank_to_l1: Arc<Module>,
    /// Before each entrance of a bank, where its hit time is longer than the bank alone: requests of L1s, and of other nodes.
    pub waits: Option<[Arc<Module>; 2]>,
    /// Requests from the links to the banks, then the fence unit; of hierarchical banks one for each plane.
    pub req_split: Arc<Module>,
    pub rsp_split: Arc<Module>,
    /// Of hierarchical banks: requests of banks and fence unit to the link of one plane.
    pub plane_merge: Option<Arc<Module>>,
    /// Of fabrics with planes and hierarchical banks: requests of both planes to the fence unit.
    pub fence_in: Option<Arc<Module>>,
    /// A node's ends of its links, and the switch's.
    pub ends: LinkEnds,
}

/// The crossbars that choose a link. In fabrics with planes they know their GPU.
#[derive(Clone)]
pub(super) struct Merges {
    /// Requests of banks and fence unit to the links; hierarchical banks choose themselves.
    pub req: Option<Arc<Module>>,
    /// Responses of banks and fence unit to the links.
    pub rsp: Arc<Module>,
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

/// Plane of a message between nodes: 0 inside GPU `gpu`, 1 to another one.
fn plane_of(s: &Sys, gpu: u32, dst: Bits) -> Bits {
    s.gpu_of(dst).ne(u64::from(gpu)).bits()
}

/// The part of a crossbar's name that tells fabrics apart.
fn tag(p: &FabricParams) -> String {
    let s = &p.sys;
    format!("{}_{}l1_{}m_i{}_x{}", sys_tag(s), s.l1s, s.l1_mshrs, s.il, p.node_links())
}

impl Shared {
    pub fn new(p: &FabricParams) -> Result<Shared, BlockError> {
        let s = &p.sys;
        let tag = tag(p);
        let banks = s.banks;
        let name = |what: &str| format!("{what}_{tag}");
        // A fence message belongs to the fence unit, which stands behind the banks.
        let to_bank = |bank: Bits, kind: Enum<ReqKind>| {
            let width = bits_for(u64::from(banks) + 1);
            mux(kind.is(ReqKind::Fence), lit(u64::from(banks), width), bank.resize(width))
        };
        let l1_to_bank = crossbar::<L1Req>(&name("l1_to_bank"), s.l1s, banks, s, |m| s.bank_of(m.line));
        let bank_to_l1 = crossbar::<L1Rsp>(&name("bank_to_l1"), banks, s.l1s, s, |m| m.l1);
        let joins = |what: &str, inputs: u32| {
            let made = crossbar::<ReqMsg>(&name(what), inputs, 1, s, |_| lit(0, 1));
            p.hier_banks().then(|| elaborated(what, made)).transpose()
        };
        let (split, ins) = if p.hier_banks() { ("plane_split", 1) } else { ("req_split", p.node_links()) };
        let req_split =
            crossbar::<ReqMsg>(&name(split), ins, banks + 1, s, |m| to_bank(s.bank_of(m.line), m.kind));
        // An acknowledgement belongs to the bank's directory slice; those stand behind the fence unit.
        let outs = if p.acked() { 2 * banks + 1 } else { banks + 1 };
        let to_slice = |m: &RspMsg| {
            let to = to_bank(m.bank, m.kind);
            if !p.acked() {
                return to;
            }
            let width = bits_for(u64::from(outs));
            mux(m.kind.is(ReqKind::Ack), m.bank.resize(width) + u64::from(banks + 1), to.resize(width))
        };
        let split = if p.acked() { "rsp_split_acks" } else { "rsp_split" };
        let rsp_split = crossbar::<RspMsg>(&name(split), p.node_links(), outs, s, to_slice);
        let waits = |cycles: u32| -> Result<_, BlockError> {
            let name = |what: &str| format!("{what}_wait{cycles}_{tag}");
            let local = elaborated("delay-queue", delay_queue::<L1Req>(&name("local"), cycles, s))?;
            Ok([local, elaborated("delay-queue", delay_queue::<ReqMsg>(&name("remote"), cycles, s))?])
        };
        Ok(Shared {
            l1: l1_cache(&p.l1())?,
            l1_to_bank: elaborated("l1_to_bank", l1_to_bank)?,
            bank_to_l1: elaborated("bank_to_l1", bank_to_l1)?,
            waits: p.l2_wait().map(waits).transpose()?,
            req_split: elaborated("req_split", req_split)?,
            rsp_split: elaborated("rsp_split", rsp_split)?,
            plane_merge: joins("plane_merge", banks + 1)?,
            fence_in: joins("fence_in", 2)?,
            ends: elaborated("link", LinkEnds::new(s, p.node_link()))?,
        })
    }
}

impl Merges {
    /// Those of each GPU's nodes.
    pub fn all(p: &FabricParams) -> Result<Vec<Merges>, BlockError> {
        if p.planes() {
            return (0..p.sys.gpus).map(|gpu| Merges::of_planes(p, gpu)).collect();
        }
        let (s, tag, links) = (&p.sys, tag(p), p.links);
        let name = |what: &str| format!("{what}_{tag}");
        let req = crossbar::<ReqMsg>(&name("req_merge"), s.banks + 1, links, s, |m| link_of(m.line, links));
        let rsp = crossbar::<RspMsg>(&name("rsp_merge"), s.banks + 1, links, s, |m| link_of(m.id, links));
        let merges = Merges { req: Some(elaborated("req_merge", req)?), rsp: elaborated("rsp_merge", rsp)? };
        Ok(vec![merges; s.gpus as usize])
    }

    fn of_planes(p: &FabricParams, gpu: u32) -> Result<Merges, BlockError> {
        // The fence unit keeps what it sends on the two planes apart.
        let (s, tag, inputs) = (&p.sys, tag(p), p.sys.banks + 2);
        let name = |what: &str| format!("{what}_gpu{gpu}_{tag}");
        let requests = || {
            let made = crossbar::<ReqMsg>(&name("req_merge"), inputs, 2, s, |m| plane_of(s, gpu, m.dst));
            elaborated("req_merge", made)
        };
        // The ingress' acknowledgements beside them.
        let (join, answers) = if p.acked() { ("rsp_merge_acks", inputs + 1) } else { ("rsp_merge", inputs) };
        let rsp = crossbar::<RspMsg>(&name(join), answers, 2, s, |m| plane_of(s, gpu, m.dst));
        let req = (!p.hier_banks()).then(requests).transpose()?;
        Ok(Merges { req, rsp: elaborated("rsp_merge", rsp)? })
    }
}
