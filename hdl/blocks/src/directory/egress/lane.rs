//! Messages of the INV egress on their way: from a channel of a slice into the FIFOs of their destinations, and from there onto a link.

use super::{EgressParams, FIFO_DEPTH, inv_link_of};
use crate::common::arbiter::RoundRobin;
use crate::common::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// A message in a FIFO; of a fence marker `line` holds the requester, with planes {serial, origin}, and `grp` says that it is of system scope.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub(super) struct Item {
    pub kind: Enum<InvKind>,
    #[width(p.line_bits())]
    pub line: Bits,
    pub cause: Enum<Cause>,
    pub grp: Bool,
    #[shape(p.of_owners())]
    pub owner: Option<OwnerAsk>,
}

/// A channel's message on its way into the FIFOs.
pub(super) struct Offer {
    msg: DirInv,
    /// Link of the line; with planes the destination says the link.
    link: Option<Bits>,
    /// Destinations that a message held from an earlier cycle has left.
    pub held: Bits,
    /// Destinations still wanted in this cycle.
    pub wants: Bits,
    /// Destinations that take it in this cycle.
    pub served: Wire<Bits>,
    /// Destinations left after this cycle.
    pub left: Bits,
}

impl Offer {
    fn wants_lane(&self, node: u32, link: u32) -> Bool {
        let wants = self.wants.bit(node);
        self.link.map_or(wants, |of_line| wants & of_line.eq(u64::from(link)))
    }
}

/// Receives a channel: straight through while all destinations have room, else held. With planes only destinations in `reach` exist.
pub(super) fn offer(p: &EgressParams, name: &str, reach: &[u32]) -> Offer {
    let valid = input::<Bool>(&format!("{name}_valid"), ());
    let port = input::<DirInv>(name, p.sys.clone());
    let ready = output_reg::<Bool>(&format!("{name}_ready"), ());
    let left_q = reg::<Bits>(&format!("{name}_left"), p.sys.nodes()).field("queue");
    let held = reg::<DirInv>(&format!("{name}_held"), p.sys.clone()).field("queue");
    let holding = left_q.get().any().named(&format!("{name}_holding"));
    let arrive = (valid & ready.get()).named(&format!("{name}_arrive"));
    let dest = if p.planes { port.dest & p.mask(reach) } else { port.dest };
    let wants =
        mux(holding, left_q.get(), dest & arrive.repeat(p.sys.nodes())).named(&format!("{name}_wants"));
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
    if p.planes {
        assert_always(
            &format!("{name}_in_reach"),
            !arrive | (port.dest & !p.mask(reach)).none(),
            "destinations are GPMs of the own GPU and, of a slice, the same GPM of other GPUs",
        );
    }
    let link = (!p.planes).then(|| inv_link_of(msg.line, p.links));
    Offer { link, msg, held: left_q.get(), wants, served, left }
}

/// One FIFO and who enters it in this cycle.
pub(super) struct Lane {
    pub fifo: Fifo<Item>,
    pub grant: Bits,
    pub blocked: Bool,
    pub contested: Bool,
}

/// The FIFO of a destination and link, which `offers` and a marker, if `mark`, want to enter.
pub(super) fn lane(
    p: &EgressParams,
    (node, link): (u32, u32),
    offers: &[Offer],
    busy: Bool,
    mark: Bool,
    marker: &Item,
) -> Lane {
    let name = format!("d{node}_l{link}");
    let inputs = offers.len() as u32;
    let fifo = Fifo::<Item>::new(&name, FIFO_DEPTH, &p.sys);
    let turn = RoundRobin::new(&format!("{name}_turn"), inputs);
    let requests: Vec<Bool> = offers.iter().map(|o| o.wants_lane(node, link)).collect();
    let requests = pack_bools(&requests).named(&format!("{name}_requests"));
    let grant = wire_zero::<Bits>(&format!("{name}_grant"), inputs);
    when(mark & !fifo.full, || fifo.push(marker)).elsewhen(busy, || {
        when(requests.any() & !fifo.full & !mark, || {
            let pick = turn.pick(requests);
            grant.set(pick.index.one_hot(inputs));
            turn.granted(pick.index);
            switch_bits(pick.index, |arms| {
                for (i, offer) in offers.iter().enumerate() {
                    arms.case(i as u64, || {
                        fifo.push(&Item {
                            kind: enum_lit(InvKind::Inv),
                            line: offer.msg.line,
                            cause: offer.msg.cause,
                            grp: offer.msg.grp,
                            owner: offer.msg.owner,
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
pub(super) fn send(p: &EgressParams, link: u32, nodes: &[u32], fifos: &[Fifo<Item>]) {
    let name = format!("link{link}");
    if nodes.is_empty() {
        return silent_out_channel::<InvMsg>(&name, &p.sys);
    }
    let out = out_channel::<InvMsg>(&name, &p.sys);
    let turn = RoundRobin::new(&format!("link{link}_turn"), nodes.len() as u32);
    let valid: Vec<Bool> = fifos.iter().map(|f| f.valid).collect();
    let pick = turn.pick(pack_bools(&valid));
    when(pick.any & out.free, || {
        turn.granted(pick.index);
        switch_bits(pick.index, |arms| {
            for (i, (node, fifo)) in nodes.iter().zip(fifos).enumerate() {
                arms.case(i as u64, || {
                    fifo.pop();
                    out.send(&message(p, *node, &fifo.head));
                });
            }
        });
    });
}

fn message(p: &EgressParams, node: u32, item: &Item) -> InvMsg {
    let bits = p.sys.node_bits();
    let low = item.line.slice(0, bits);
    let (line, requester) = if p.planes {
        let marker = item.kind.is(InvKind::Fence);
        // Of two nodes a home uses two serials at most.
        let serial = item.line.slice(bits, SERIAL_BITS).resize(bits);
        (mux(marker, low.zext(p.sys.line_bits()), item.line), serial)
    } else {
        (item.line, low)
    };
    InvMsg {
        kind: item.kind,
        src: lit(u64::from(p.home), bits),
        dst: lit(u64::from(node), bits),
        line,
        cause: item.cause,
        grp: item.grp,
        requester: item
            .owner
            .map_or(requester, |owner| mux(item.kind.is(InvKind::Inv), owner.requester, requester)),
        owner: item.owner.map(|owner| OwnerInv { ask: owner.ask, id: owner.id }),
    }
}
