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
//! | `fence` | in | requester | a marker for every FIFO, from the fence unit |
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
//! # Picture
//!
#![doc = include_str!("../../pictures/inv-egress.svg")]

use crate::common::arbiter::RoundRobin;
use crate::common::fifo::Fifo;
use crate::common::sys::{sys_from, sys_params, sys_tag};
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// Rows of one FIFO (rec.md section 4.1).
pub const FIFO_DEPTH: u32 = 16;

/// Parameters of the egress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressParams {
    /// Message widths.
    pub sys: Sys,
    /// This GPU, below `sys.nodes()`.
    pub home: u32,
    /// Links of the GPU, 1..16.
    pub links: u32,
    /// Channels from directory slices, 1..256: one per slice and line expanded per cycle.
    pub slices: u32,
}

impl EgressParams {
    fn check(&self) -> bool {
        if self.home >= self.sys.nodes() {
            elab_error(format!("home = {}; legal: 0..{}", self.home, self.sys.nodes() - 1));
        } else if !(1..=16).contains(&self.links) {
            elab_error(format!("links = {}; legal: 1..16", self.links));
        } else if !(1..=256).contains(&self.slices) {
            elab_error(format!("slices = {}; legal: 1..256", self.slices));
        } else {
            return true;
        }
        false
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

/// A message in a FIFO; of a fence marker `line` holds the requester.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Item {
    kind: Enum<InvKind>,
    #[width(p.line_bits())]
    line: Bits,
    cause: Enum<Cause>,
    grp: Bool,
}

/// A slice's message on its way into the FIFOs.
struct Offer {
    msg: DirInv,
    link: Bits,
    /// Destinations still wanted in this cycle.
    wants: Bits,
    /// Destinations that take it in this cycle.
    served: Wire<Bits>,
    /// Destinations left after this cycle.
    left: Bits,
}

struct FenceState {
    pushing: Bool,
    requester: Bits,
    left: Reg<Bits>,
    pushed: Wire<Bits>,
}

/// The egress: channels `slice0`..., `fence`, `link0`....
///
/// # Errors
/// A parameter outside its range.
pub fn inv_egress(p: &EgressParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("inv_egress_{}_x{}_s{}_h{}", sys_tag(&p.sys), p.links, p.slices, p.home);
    Module::build(&name, ModuleKind::Block, || {
        doc("INV egress: spreads the directory's invalidations over a FIFO per destination and link.");
        param("links", p.links);
        param("slices", p.slices);
        param("home", p.home);
        if p.check() {
            describe(p);
        }
    })
}

fn describe(p: &EgressParams) {
    let offers: Vec<Offer> = (0..p.slices).map(|i| offer(p, i)).collect();
    let some: Vec<Bool> = offers.iter().map(|o| o.wants.any()).collect();
    let busy = any_of(&some).named("busy");
    let fence = fence_state(p, &offers);
    let mut served: Vec<Vec<Bits>> = offers.iter().map(|_| Vec::new()).collect();
    let (mut blocked, mut contested) = (Vec::new(), Vec::new());
    let mut pushed = Vec::new();
    let others: Vec<u32> = (0..p.sys.nodes()).filter(|g| *g != p.home).collect();
    for link in 0..p.links {
        let mut fifos = Vec::new();
        for (at, gpu) in others.iter().enumerate() {
            let mark =
                fence.left.get().bit(link * p.sys.nodes().saturating_sub(1) + at as u32) & fence.pushing;
            let lane = lane(p, *gpu, link, &offers, busy, mark, fence.requester);
            for (i, list) in served.iter_mut().enumerate() {
                list.push(lane.grant.bit(i as u32).bits().zext(p.sys.nodes()).shl(*gpu));
            }
            blocked.push(lane.blocked);
            contested.push(lane.contested);
            pushed.push(mark & !lane.fifo.full);
            fifos.push(lane.fifo);
        }
        send(p, link, &others, &fifos);
    }
    fence.pushed.set(pack_bools(&pushed));
    for (offer, list) in offers.iter().zip(&served) {
        offer.served.set(list[1..].iter().fold(list[0], |a, b| a | *b));
    }
    let waits = fence.pushing & (fence.left.get() & !pack_bools(&pushed)).any();
    observe(p, &offers, any_of(&blocked), any_of(&contested), waits);
}

/// Receives a slice's channel: straight through while all destinations have room, else held.
fn offer(p: &EgressParams, i: u32) -> Offer {
    let name = format!("slice{i}");
    let valid = input::<Bool>(&format!("{name}_valid"), ());
    let port = input::<DirInv>(&name, p.sys.clone());
    let ready = output_reg::<Bool>(&format!("{name}_ready"), ());
    let left_q = reg::<Bits>(&format!("{name}_left"), p.sys.nodes()).field("queue");
    let held = reg::<DirInv>(&format!("{name}_held"), p.sys.clone()).field("queue");
    let holding = left_q.get().any().named(&format!("{name}_holding"));
    let arrive = (valid & ready.get()).named(&format!("{name}_arrive"));
    let wants =
        mux(holding, left_q.get(), port.dest & arrive.repeat(p.sys.nodes())).named(&format!("{name}_wants"));
    let msg = mux(holding, held.get(), port);
    let served = wire::<Bits>(&format!("{name}_served"), p.sys.nodes());
    let left = (wants & !served.get()).named(&format!("{name}_left_next"));
    left_q.set(left);
    ready.set(left.none());
    when(arrive & left.any(), || held.set(port));
    assert_always(
        &format!("{name}_not_home"),
        !arrive | (port.dest.any() & !port.dest.bit(p.home)),
        "a message has a destination, and never the home",
    );
    Offer { link: inv_link_of(msg.line, p.links), msg, wants, served, left }
}

fn fence_state(p: &EgressParams, offers: &[Offer]) -> FenceState {
    let fence = in_channel::<FenceMark>("fence", &p.sys);
    let fifos = p.links * (p.sys.nodes() - 1);
    let left = reg::<Bits>("fence_left", fifos).doc("FIFOs that the fence marker has not entered yet.");
    let waits =
        reg::<Bits>("fence_waits", p.slices).doc("Slices whose held message is older than the marker.");
    let requester = reg::<Bits>("fence_marker_of", p.sys.node_bits());
    let pushed = wire::<Bits>("fence_pushed", fifos);
    let holding: Vec<Bool> = offers.iter().map(|o| o.left.any()).collect();
    let holding = pack_bools(&holding);
    let active = left.get().any().named("fence_active");
    let pushing = (active & waits.get().none()).named("fence_pushing");
    when(!active & fence.valid, || {
        fence.take();
        left.set(lit_bv(Bv::ones(fifos)));
        waits.set(holding);
        requester.set(fence.msg.requester);
    })
    .elsewhen(active, || {
        left.set(left.get() & !pushed.get());
        waits.set(waits.get() & holding);
    });
    FenceState { pushing, requester: requester.get(), left, pushed }
}

/// One FIFO and who enters it in this cycle.
struct Lane {
    fifo: Fifo<Item>,
    grant: Bits,
    blocked: Bool,
    contested: Bool,
}

fn lane(
    p: &EgressParams,
    gpu: u32,
    link: u32,
    offers: &[Offer],
    busy: Bool,
    mark: Bool,
    requester: Bits,
) -> Lane {
    let name = format!("d{gpu}_l{link}");
    let fifo = Fifo::<Item>::new(&name, FIFO_DEPTH, &p.sys);
    let turn = RoundRobin::new(&format!("{name}_turn"), p.slices);
    let requests: Vec<Bool> = offers.iter().map(|o| o.wants.bit(gpu) & o.link.eq(u64::from(link))).collect();
    let requests = pack_bools(&requests).named(&format!("{name}_requests"));
    let grant = wire_zero::<Bits>(&format!("{name}_grant"), p.slices);
    let marker = Item {
        kind: enum_lit(InvKind::Fence),
        line: requester.zext(p.sys.line_bits()),
        cause: enum_lit(Cause::Write),
        grp: bool_lit(false),
    };
    when(mark & !fifo.full, || fifo.push(&marker)).elsewhen(busy, || {
        when(requests.any() & !fifo.full & !mark, || {
            let pick = turn.pick(requests);
            grant.set(pick.index.one_hot(p.slices));
            turn.granted(pick.index);
            switch_bits(pick.index, |arms| {
                for (i, offer) in offers.iter().enumerate() {
                    arms.case(i as u64, || {
                        fifo.push(&Item {
                            kind: enum_lit(InvKind::Inv),
                            line: offer.msg.line,
                            cause: offer.msg.cause,
                            grp: offer.msg.grp,
                        });
                    });
                }
            });
        });
    });
    let blocked = requests.any() & fifo.full;
    let contested = requests.popcount().gt(1) & !fifo.full & !mark;
    Lane { fifo, grant: grant.get(), blocked, contested }
}

/// The heads of a link's FIFOs, in turn, onto the link.
fn send(p: &EgressParams, link: u32, others: &[u32], fifos: &[Fifo<Item>]) {
    let out = out_channel::<InvMsg>(&format!("link{link}"), &p.sys);
    let n = others.len() as u32;
    let turn = RoundRobin::new(&format!("link{link}_turn"), n);
    let valid: Vec<Bool> = fifos.iter().map(|f| f.valid).collect();
    let pick = turn.pick(pack_bools(&valid));
    when(pick.any & out.free, || {
        turn.granted(pick.index);
        switch_bits(pick.index, |arms| {
            for (i, (gpu, fifo)) in others.iter().zip(fifos).enumerate() {
                arms.case(i as u64, || {
                    fifo.pop();
                    out.send(&InvMsg {
                        kind: fifo.head.kind,
                        src: lit(u64::from(p.home), p.sys.node_bits()),
                        dst: lit(u64::from(*gpu), p.sys.node_bits()),
                        line: fifo.head.line,
                        cause: fifo.head.cause,
                        grp: fifo.head.grp,
                        requester: fifo.head.line.slice(0, p.sys.node_bits()),
                    });
                });
            }
        });
    });
}

fn observe(p: &EgressParams, offers: &[Offer], blocked: Bool, contested: Bool, waits: Bool) {
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
    cover("rec.race.inv_fence_push_waits", waits, "a fence marker waits for a full FIFO");
    count("held", any(&|o| o.left.any()), "cycles in which some slice's message is held");
}

/// Keys on the command line.
pub fn egress_params() -> Vec<ParamInfo> {
    let info =
        |name, default: u64, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    let mut list = sys_params();
    list.extend([
        info("home", 0, "0..gpus-1", "this GPU"),
        info("links", 6, "1..16", "links of the GPU"),
        info("slices", 16, "1..256", "channels from directory slices"),
    ]);
    list
}

/// Builds the egress by name.
///
/// # Errors
/// A value outside its range.
pub fn build_egress(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let sys = sys_from(p)?;
    let home = number("home", 0, u64::from(sys.nodes()) - 1)?;
    let params =
        EgressParams { home, links: number("links", 1, 16)?, slices: number("slices", 1, 256)?, sys };
    super::elaborated("inv-egress", inv_egress(&params))
}
