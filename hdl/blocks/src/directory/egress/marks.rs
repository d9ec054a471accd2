//! Fence markers in the INV egress: behind all messages taken before, into every FIFO that they are for.
//!
//! Without planes there is one marker at a time, for all FIFOs. With planes the two links are independent, since a FIFO towards another GPU may stay
//! full for as long as other GPUs like, and nothing inside the GPU may wait for it: a marker for both links enters those of the own GPU while its
//! half for the others is only noted, one bit per serial, and follows when the marker before it has entered the FIFOs of link 1. It waits for what is
//! held then, which is more than it must, but finite.

use super::EgressParams;
use super::lane::{Item, Offer};
use crate::common::arbiter::RoundRobin;
use crate::msg::*;
use weft_rtl::prelude::*;

/// A marker on its way into FIFOs.
pub(super) struct Marker {
    pub item: Item,
    /// FIFOs that it has not entered yet.
    left: Reg<Bits>,
    /// FIFOs that it enters in this cycle.
    pushed: Wire<Bits>,
    /// By FIFO: whether it may enter.
    pub may: Vec<Bool>,
}

impl Marker {
    /// It wants to enter the FIFO of this number.
    pub fn wants(&self, at: usize) -> Bool {
        self.left.get().bit(at as u32) & self.may[at]
    }

    /// Says which FIFOs it has entered in this cycle; true while it waits for a full one.
    pub fn entered(&self, lanes: &[Bool]) -> Bool {
        self.pushed.set(pack_bools(lanes));
        let blocked = (0..lanes.len()).map(|at| self.may[at] & self.left.get().bit(at as u32) & !lanes[at]);
        any_of(&blocked.collect::<Vec<_>>())
    }
}

fn item(p: &EgressParams, line: Bits, sys: Bool) -> Item {
    Item {
        kind: enum_lit(InvKind::Fence),
        line: line.zext(p.sys.line_bits()),
        cause: enum_lit(Cause::Write),
        grp: sys,
        owner: p.sys.owners.then(|| OwnerAsk::inv(&p.sys)),
    }
}

/// The marker of an egress without planes.
pub(super) fn flat(p: &EgressParams, offers: &[Offer]) -> Marker {
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
    let may = vec![pushing; fifos as usize];
    Marker { item: item(p, requester.get(), bool_lit(false)), left, pushed, may }
}

/// The markers of an egress with planes, by link; none on a link without destinations.
pub(super) fn planes(p: &EgressParams, offers: &[Offer]) -> Vec<Option<Marker>> {
    let fence = in_channel::<HierMark>("fence", &p.sys);
    let own = fence.msg.origin.eq(u64::from(p.home)).named("fence_own");
    let near = engine(p, 0, "near", offers);
    let far = engine(p, 1, "far", &offers[..p.slices as usize]);
    let free = near.as_ref().map_or(bool_lit(true), |e| !e.active);
    let take = (fence.valid & free).named("fence_taken");
    when(take, || {
        fence.take();
        if let Some(near) = &near {
            near.start(&fence.msg);
        }
    });
    let both = (take & own & fence.msg.sys).named("fence_both_links");
    if let Some(far) = &far {
        asked_far(p, both, &fence.msg, far);
    }
    assert_always(
        "fence_origin",
        !fence.valid | own | (fence.msg.sys & of_other_gpu(p, fence.msg.origin)),
        "a marker is the own one, or one of system scope from another GPU that is passed on",
    );
    observe(p, offers, both, near.as_ref(), far.as_ref());
    let marker = |engine: Option<Engine>| engine.map(|e| e.marker);
    vec![marker(near), marker(far)]
}

fn of_other_gpu(p: &EgressParams, node: Bits) -> Bool {
    p.sys.gpu_of(node).ne(u64::from(p.sys.gpu_of_node(p.home)))
}

/// The marker of one link.
struct Engine {
    marker: Marker,
    mark: Reg<HierMark>,
    waits: Reg<Bits>,
    /// Channels that hold a message for this link after this cycle.
    holding: Bits,
    active: Bool,
}

impl Engine {
    /// Begins with a marker; call it under a condition that implies that none is active.
    fn start(&self, mark: &HierMark) {
        let lanes = self.marker.left.get().width();
        self.marker.left.set(lit_bv(Bv::ones(lanes)));
        self.waits.set(self.holding);
        self.mark.set(mark);
    }
}

fn engine(p: &EgressParams, link: u32, name: &str, offers: &[Offer]) -> Option<Engine> {
    let nodes = p.reach(link);
    if nodes.is_empty() {
        return None;
    }
    let lanes = nodes.len() as u32;
    let left = reg::<Bits>(&format!("{name}_left"), lanes).doc("FIFOs that the marker has not entered yet.");
    let waits = reg::<Bits>(&format!("{name}_waits"), offers.len() as u32)
        .doc("Channels whose held message is older than the marker.");
    let mark = reg::<HierMark>(&format!("{name}_mark"), p.sys.clone());
    let pushed = wire::<Bits>(&format!("{name}_pushed"), lanes);
    let active = left.get().any().named(&format!("{name}_active"));
    let holding: Vec<Bool> = offers.iter().map(|o| (o.left & p.mask(&nodes)).any()).collect();
    let holding = pack_bools(&holding).named(&format!("{name}_holding"));
    when(active, || {
        left.set(left.get() & !pushed.get());
        waits.set(waits.get() & holding);
    });
    let may = nodes
        .iter()
        .map(|node| {
            let held: Vec<Bool> = offers.iter().map(|o| o.held.bit(*node)).collect();
            (waits.get() & pack_bools(&held)).none()
        })
        .collect();
    let text = cat(&[mark.get().serial, mark.get().origin]);
    let marker = Marker { item: item(p, text, mark.get().sys), left, pushed, may };
    Some(Engine { marker, mark, waits, holding, active })
}

/// Own markers that wait for link 1, by serial, one after the other in turn.
fn asked_far(p: &EgressParams, both: Bool, mark: &HierMark, far: &Engine) {
    let asked = reg::<Bits>("far_asked", MAX_MARKS).doc("Serials whose marker waits for link 1.");
    let turn = RoundRobin::new("far_turn", MAX_MARKS);
    let pick = turn.pick(asked.get());
    let start = (pick.any & !far.active).named("far_start");
    when(start, || {
        turn.granted(pick.index);
        far.start(&HierMark {
            serial: pick.index,
            origin: lit(u64::from(p.home), p.sys.node_bits()),
            sys: bool_lit(true),
        });
    });
    let new = mark.serial.one_hot(MAX_MARKS) & both.repeat(MAX_MARKS);
    let gone = pick.index.one_hot(MAX_MARKS) & start.repeat(MAX_MARKS);
    when(both | start, || asked.set((asked.get() & !gone) | new));
    assert_always(
        "far_asked_once",
        (asked.get() & new).none(),
        "a serial is used again when all have acknowledged its marker",
    );
    cover(
        "hmg.race.markers_queue_for_other_gpus",
        asked.get().any() & far.active,
        "a marker waits until the one before it has left for the other GPUs",
    );
}

fn observe(p: &EgressParams, offers: &[Offer], both: Bool, near: Option<&Engine>, far: Option<&Engine>) {
    let (Some(near), Some(far)) = (near, far) else { return };
    cover("hmg.race.marker_enters_both_links", both, "a marker is for the own GPU and for others");
    let held = |at: usize, nodes: &[u32]| -> Bool {
        let left = offers[at].held & p.mask(nodes);
        near.waits.get().bit(at as u32) & left.any()
    };
    let near_nodes = p.reach(0);
    let recvs: Vec<Bool> = (p.slices as usize..offers.len()).map(|at| held(at, &near_nodes)).collect();
    cover(
        "hmg.race.forwarded_marker_behind_recv",
        near.active & of_other_gpu(p, near.mark.get().origin) & any_of(&recvs),
        "a marker that is passed on waits for an Inv that was passed on before it",
    );
    let far_waits = far.active & far.marker.pushed.get().none();
    cover(
        "hmg.race.far_marker_waits_near_enters",
        far_waits & near.marker.pushed.get().any(),
        "a marker waits for full FIFOs to other GPUs while one enters those of the own GPU",
    );
}
