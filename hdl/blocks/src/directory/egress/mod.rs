//! INV egress of a GPU (rec.md sections 4.1, 5, 7): from the directory slices to the links.
//!
//! ```text
//!  slice0 -> left mask --+--> FIFO of GPU 1, link 0 --+
//!  slice1 -> left mask --+--> FIFO of GPU 2, link 0 --+-> round robin -> link0
//!  fence  -> left mask --+--> ...                     +-> ...            link1 ...
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `slice{i}` | in | line, dest, cause, grp | one per directory slice and line expanded per cycle |
//! | `recv{b}` | in | line, dest, cause, grp | with planes: Invs that the slice of bank b passes on |
//! | `fence` | in | requester; with planes serial, origin, sys | a marker, from the fence unit |
//! | `link{k}` | out | kind, src, dst, line, cause, grp, requester | INV network; one destination per message |
//!
//! | state | values |
//! | --- | --- |
//! | of a slice: `left` | none: free, `ready`; else held: destinations that have not taken the message |
//! | of the marker: `fence_left`, `fence_waits` | none left: idle; some left and waits set: behind held messages; some left, no waits: pushing |
//! | of a FIFO | rows, and the slice that comes next in turn |
//! | of a link | the FIFO that comes next in turn, the output register |
//!
//! A slice's message is in the FIFOs of all its destinations, or it is held with the mask of those that are left; destinations served are not
//! repeated. The slice is ready again when none is left. A full FIFO holds only the slices that want it. A message may enter all its FIFOs in
//! the cycle of its transfer; a FIFO takes one message per cycle.
//!
//! A fence marker goes into every FIFO behind all messages taken from the slices before it: it waits for those that are still held. So a
//! transfer on `slice{i}` is the acceptance that a write's acknowledgement waits for, although the message may be held here. Messages taken
//! later may pass the marker, which is harmless.
//!
//! # Planes
//! In a fabric whose GPUs are made of GPMs (hmg.md section 6; parameter `planes`) a node has two links: link 0 to the other GPMs of its GPU, link 1 to
//! other GPUs, of which it reaches the same GPM, or, for directories without GPU homes, all nodes (parameter `far`). The destination says the link, and
//! FIFOs exist for those destinations only. What a GPU home passes on (`recv{b}`) is for its own GPU and never waits for a FIFO of link 1, whatever the
//! slices hold: that would make one GPU wait for another in a circle.
//!
//! | marker | enters |
//! | --- | --- |
//! | origin here, GPU scope | all FIFOs of link 0 |
//! | origin here, system scope | all FIFOs of both links |
//! | origin in another GPU (passed on) | all FIFOs of link 0 |
//!
//! Each link has a marker of its own on its way (`near_left`, `far_left`); a marker for both is split, and its half for link 1 waits in `far_asked` while
//! another one is on its way there. In each FIFO a marker waits only for the held messages that want that FIFO.
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/inv-egress.svg")]

mod lane;
mod marks;

use crate::common::sys::{module_sys_from, module_sys_params, sys_tag};
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet, elaborated};
use lane::{Offer, lane, offer, send};
use marks::{Marker, flat, planes};
use weft_rtl::prelude::*;

/// Rows of one FIFO (rec.md section 4.1).
pub const FIFO_DEPTH: u32 = 16;

/// Parameters of the egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressParams {
    /// Message widths.
    pub sys: Sys,
    /// This node, below `sys.nodes()`.
    pub home: u32,
    /// Links of the node, 1..16; 2 with planes.
    pub links: u32,
    /// Channels from directory slices, 1..256: one per slice and line expanded per cycle.
    pub slices: u32,
    /// Link 0 leads to the other GPMs of the own GPU, link 1 to other GPUs (hmg.md section 6); a line does not choose its link.
    pub planes: bool,
    /// With planes: which nodes link 1 reaches.
    pub far: FarReach,
}

/// Nodes of other GPUs between which invalidations and markers go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FarReach {
    /// The GPU homes of the same lines, which pass them on: the same GPM of other GPUs.
    #[default]
    SameGpm,
    /// All, each directly.
    All,
}

/// The reason why a node or a number of links does not fit, if it does not.
pub(super) fn ends_problem(sys: &Sys, home: u32, links: u32, planes: bool) -> Option<String> {
    if home >= sys.nodes() || sys.gpm_of_node(home) >= sys.gpms {
        Some(format!("home = {home}; legal: a node that exists, 0..{}", sys.nodes() - 1))
    } else if planes && links != 2 {
        Some(format!("links = {links}; legal: 2 with planes"))
    } else if !(1..=16).contains(&links) {
        Some(format!("links = {links}; legal: 1..16"))
    } else {
        None
    }
}

impl EgressParams {
    fn check(&self) -> bool {
        if let Some(problem) = ends_problem(&self.sys, self.home, self.links, self.planes) {
            elab_error(problem);
        } else if !(1..=256).contains(&self.slices) {
            elab_error(format!("slices = {}; legal: 1..256", self.slices));
        } else {
            return true;
        }
        false
    }

    /// Destinations of a link, each with a FIFO, in order.
    pub fn reach(&self, link: u32) -> Vec<u32> {
        if self.planes {
            return plane_nodes(&self.sys, self.home, link, self.far);
        }
        (0..self.sys.nodes()).filter(|node| *node != self.home).collect()
    }

    /// A bit for each of these nodes.
    pub(super) fn mask(&self, nodes: &[u32]) -> Bits {
        let mut mask = Bv::zero(self.sys.nodes());
        nodes.iter().for_each(|node| mask.set_bit(*node, true));
        lit_bv(mask)
    }
}

/// Nodes that a link of `home` leads to in a fabric with planes: 0, the other GPMs of its GPU; 1, the same GPM or all of other GPUs.
pub fn plane_nodes(sys: &Sys, home: u32, link: u32, far: FarReach) -> Vec<u32> {
    let (gpu, gpm) = (sys.gpu_of_node(home), sys.gpm_of_node(home));
    let here = |node: &u32| {
        let same = (sys.gpu_of_node(*node) == gpu, sys.gpm_of_node(*node) == gpm);
        match (link, far) {
            (0, _) => same == (true, false),
            (_, FarReach::SameGpm) => same == (false, true),
            (_, FarReach::All) => !same.0,
        }
    };
    sys.all_nodes().into_iter().filter(here).collect()
}

/// The part of a module's name that tells which links there are.
pub(super) fn planes_tag(sys: &Sys, planes: bool, far: FarReach) -> String {
    match (planes, far) {
        (false, _) => String::new(),
        (true, FarReach::SameGpm) => format!("_planes_g{}", sys.gpms),
        (true, FarReach::All) => format!("_planes_all_g{}", sys.gpms),
    }
}

/// Link of a line's invalidations: the exclusive or of its digits of log2(links) bits (rounded up), less `links` if that is no link.
pub fn inv_link_of(line: Bits, links: u32) -> Bits {
    let width = bits_for(u64::from(links));
    if links == 1 {
        return lit(0, width);
    }
    let digits = line.width().div_ceil(width);
    let padded = line.zext(digits * width);
    let hash = (1..digits).fold(padded.slice(0, width), |h, i| h ^ padded.slice(i * width, width));
    if links.is_power_of_two() {
        return hash;
    }
    mux(hash.ge(u64::from(links)), hash - u64::from(links), hash)
}

/// The egress: channels `slice0`..., `fence`, `link0`...; with planes also `recv0`..., one per bank.
///
/// # Errors
/// A parameter outside its range.
pub fn inv_egress(p: &EgressParams) -> Result<Arc<Module>, ElabErrors> {
    let planes = planes_tag(&p.sys, p.planes, p.far);
    let name = format!("inv_egress_{}_x{}_s{}_h{}{planes}", sys_tag(&p.sys), p.links, p.slices, p.home);
    Module::build(&name, ModuleKind::Block, || {
        doc("INV egress: spreads the directory's invalidations over a FIFO per destination and link.");
        param("links", p.links);
        param("slices", p.slices);
        param("home", p.home);
        if p.planes {
            param("planes", 1);
            param("gpms", p.sys.gpms);
        }
        if p.check() {
            describe(p);
        }
    })
}

/// What a link's FIFOs did in this cycle.
struct Traffic {
    blocked: Bool,
    contested: Bool,
    /// Something entered a FIFO.
    entered: Bool,
}

fn describe(p: &EgressParams) {
    let all: Vec<u32> = (0..p.links).flat_map(|link| p.reach(link)).collect();
    let mut offers: Vec<Offer> = (0..p.slices).map(|i| offer(p, &format!("slice{i}"), &all)).collect();
    if p.planes {
        let near = p.reach(0);
        offers.extend((0..p.sys.banks).map(|b| offer(p, &format!("recv{b}"), &near)));
    }
    let some: Vec<Bool> = offers.iter().map(|o| o.wants.any()).collect();
    let busy = any_of(&some).named("busy");
    let markers = if p.planes { planes(p, &offers) } else { vec![Some(flat(p, &offers))] };
    let mut entered: Vec<Vec<Bool>> = markers.iter().map(|_| Vec::new()).collect();
    let mut served: Vec<Vec<Bits>> = offers.iter().map(|_| Vec::new()).collect();
    let mut traffic = Vec::new();
    for link in 0..p.links {
        let which = if p.planes { link as usize } else { 0 };
        // Nothing that is passed on goes to another GPU.
        let inputs = if which == 0 { &offers[..] } else { &offers[..p.slices as usize] };
        traffic.push(match &markers[which] {
            Some(marker) => fill(p, link, inputs, busy, marker, &mut entered[which], &mut served),
            None => {
                send(p, link, &[], &[]);
                Traffic { blocked: bool_lit(false), contested: bool_lit(false), entered: bool_lit(false) }
            }
        });
    }
    let waits: Vec<Bool> =
        markers.iter().zip(&entered).filter_map(|(m, lanes)| m.as_ref().map(|m| m.entered(lanes))).collect();
    for (offer, list) in offers.iter().zip(&served) {
        let none = lit(0, p.sys.nodes());
        offer.served.set(list.iter().copied().reduce(|a, b| a | b).unwrap_or(none));
    }
    observe(p, &offers, &traffic, any_of(&waits));
}

/// The FIFOs of one link.
fn fill(
    p: &EgressParams,
    link: u32,
    offers: &[Offer],
    busy: Bool,
    marker: &Marker,
    entered: &mut Vec<Bool>,
    served: &mut [Vec<Bits>],
) -> Traffic {
    let nodes = p.reach(link);
    let (mut fifos, mut blocked, mut contested, mut some) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for node in &nodes {
        let mark = marker.wants(entered.len());
        let lane = lane(p, (*node, link), offers, busy, mark, &marker.item);
        for (i, list) in served.iter_mut().take(offers.len()).enumerate() {
            list.push(p.mask(&[*node]) & lane.grant.bit(i as u32).repeat(p.sys.nodes()));
        }
        blocked.push(lane.blocked);
        contested.push(lane.contested);
        entered.push(mark & !lane.fifo.full);
        some.push(lane.grant.any() | (mark & !lane.fifo.full));
        fifos.push(lane.fifo);
    }
    send(p, link, &nodes, &fifos);
    Traffic { blocked: any_of(&blocked), contested: any_of(&contested), entered: any_of(&some) }
}

fn observe(p: &EgressParams, offers: &[Offer], traffic: &[Traffic], waits: Bool) {
    let of = |f: fn(&Traffic) -> Bool| any_of(&traffic.iter().map(f).collect::<Vec<_>>());
    let (blocked, contested) = (of(|t| t.blocked), of(|t| t.contested));
    let any = |f: &dyn Fn(&Offer) -> Bool| any_of(&offers.iter().map(f).collect::<Vec<_>>());
    let partial = any(&|o| o.served.get().any() & o.left.any());
    let passed = any(&|o| o.wants.any() & o.left.none());
    let many = any(&|o| o.wants.popcount().gt(1));
    if p.sys.nodes() > 2 {
        cover(
            "rec.race.egress_partial_accept",
            partial,
            "a message is accepted for some of its destinations and held for the rest",
        );
        cover("rec.race.egress_multicast", many, "a message goes to two or more destinations");
    }
    cover("rec.race.egress_full_fifo_holds_slice", blocked, "a full FIFO holds a slice's message");
    if p.slices > 1 {
        cover(
            "rec.race.egress_other_slice_passes",
            blocked & passed,
            "another slice passes one that is held",
        );
        cover("rec.race.egress_round_robin", contested, "two or more slices want one FIFO");
    }
    if p.planes && !p.reach(0).is_empty() && !p.reach(1).is_empty() {
        cover(
            "hmg.race.own_gpu_passes_full_link",
            traffic[1].blocked & traffic[0].entered,
            "a full FIFO to another GPU holds a message while something enters a FIFO of the own GPU",
        );
    }
    cover("rec.race.inv_fence_push_waits", waits, "a fence marker waits for a full FIFO");
    count("held", any(&|o| o.left.any()), "cycles in which some slice's message is held");
}

/// Keys on the command line.
pub fn egress_params() -> Vec<ParamInfo> {
    let info =
        |name, default: u64, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    let mut list = module_sys_params();
    list.extend([
        info("home", 0, "a node {GPU, GPM} that exists", "this node"),
        info("links", 6, "1..16, 2 with planes", "links of the node"),
        info("planes", 0, "0, 1", "link 0 leads to the GPMs of the own GPU, link 1 to other GPUs"),
        info("far", 0, "0, 1", "with planes: link 1 reaches all nodes of other GPUs, not only the same GPM"),
        info("slices", 16, "1..256", "channels from directory slices"),
    ]);
    list
}

/// The parameters that egress and ingress share.
pub(super) struct Ends {
    pub sys: Sys,
    pub home: u32,
    pub links: u32,
    pub planes: bool,
    pub far: FarReach,
}

/// Reads them.
pub(super) fn ends_from(p: &ParamSet) -> Result<Ends, BlockError> {
    let sys = module_sys_from(p)?;
    let home = p.within("home", 0, u64::from(sys.nodes()) - 1)? as u32;
    if sys.gpm_of_node(home) >= sys.gpms {
        return Err(p.illegal("home", "there is no such GPM"));
    }
    let links = p.within("links", 1, 16)? as u32;
    let planes = p.within("planes", 0, 1)? == 1;
    if planes && links != 2 {
        return Err(p.illegal("links", "planes are two links; it is 2 here"));
    }
    let far = if p.within("far", 0, 1)? == 1 { FarReach::All } else { FarReach::SameGpm };
    Ok(Ends { sys, home, links, planes, far })
}

/// Builds the egress by name.
///
/// # Errors
/// A value outside its range.
pub fn build_egress(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let Ends { sys, home, links, planes, far } = ends_from(p)?;
    let slices = p.within("slices", 1, 256)? as u32;
    let params = EgressParams { sys, home, links, slices, planes, far };
    elaborated("inv-egress", inv_egress(&params))
}
