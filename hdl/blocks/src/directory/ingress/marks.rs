//! Fence markers in the INV ingress: absorbed when all earlier Invs of their link are applied, then announced to the fence unit.

use super::{IngressParams, Link};
use crate::common::arbiter::RoundRobin;
use crate::common::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// Rows of a link's queue of markers in an ingress with planes.
const MARK_DEPTH: u32 = 4;

/// The bit array requester x source x link, and the announcement of complete pairs.
pub(super) fn collect(p: &IngressParams, links: &[Link]) {
    let out = out_channel::<FenceMark>("fence", &p.sys);
    let sources = p.sources();
    let mut complete = Vec::new();
    let mut requesters = Vec::new();
    let mut started = Vec::new();
    let send = wire_or::<Bool>("fence_send", (), false);
    let pairs = p.sys.nodes() * sources.len() as u32;
    let chosen = wire::<Bits>("fence_pair", bits_for(u64::from(pairs)));
    for requester in 0..p.sys.nodes() {
        let mut of_requester = Vec::new();
        for source in &sources {
            let seen = reg::<Bits>(&format!("seen_r{requester}_s{source}"), p.links);
            let arrive: Vec<Bool> = links
                .iter()
                .map(|l| {
                    let msg = l.channel.msg;
                    let pair = msg.requester.eq(u64::from(requester)) & msg.src.eq(u64::from(*source));
                    l.fence & pair
                })
                .collect();
            let arrive = pack_bools(&arrive);
            let clear = send.get() & chosen.get().eq(complete.len() as u64);
            assert_always(
                &format!("marker_once_r{requester}_s{source}"),
                (seen.get() & arrive).none(),
                "a GPU has one fence in flight, so a link brings one marker of it",
            );
            when(arrive.any(), || seen.set(seen.get() | arrive)).elsewhen(clear, || seen.set(0));
            complete.push(seen.get().all());
            requesters.push(lit(u64::from(requester), p.sys.node_bits()));
            of_requester.push(seen.get().any());
        }
        started.push(any_of(&of_requester));
    }
    for link in links {
        when(link.fence, || link.channel.take());
    }
    let ready = pack_bools(&complete).named("complete");
    chosen.set(ready.lowest_set());
    when(ready.any() & out.free, || {
        send.set(true);
        out.send(&FenceMark { requester: select(&requesters, chosen.get()) });
    });
    let some = pack_bools(&started);
    cover("rec.race.inv_fence_absorbed", ready.any() & !out.free, "complete markers wait for the fence unit");
    if p.links > 1 {
        let partly = some.any() & ready.none();
        cover(
            "rec.race.inv_fence_waits_other_links",
            partly,
            "markers of some links of a source are in, not all",
        );
    }
    cover(
        "rec.race.inv_fences_of_two_requesters",
        some.popcount().gt(1),
        "markers of two requesters are collected at the same time",
    );
}

/// With planes: a queue of markers per link, announced in turn.
pub(super) fn announce(p: &IngressParams, links: &[Link]) {
    let out = out_channel::<HierMark>("fence", &p.sys);
    let queues: Vec<Fifo<HierMark>> =
        (0..p.links).map(|k| Fifo::new(&format!("link{k}_marks"), MARK_DEPTH, &p.sys)).collect();
    let mut absorbed = Vec::new();
    for (link, queue) in links.iter().zip(&queues) {
        let absorb = link.fence & !queue.full;
        let msg = link.channel.msg;
        when(absorb, || {
            link.channel.take();
            queue.push(&HierMark {
                serial: msg.requester.resize(SERIAL_BITS),
                origin: msg.line.slice(0, p.sys.node_bits()),
                sys: msg.grp,
            });
        });
        absorbed.push(absorb);
    }
    let turn = RoundRobin::new("fence_turn", p.links);
    let valid: Vec<Bool> = queues.iter().map(|q| q.valid).collect();
    let pick = turn.pick(pack_bools(&valid).named("announced"));
    when(pick.any & out.free, || {
        turn.granted(pick.index);
        switch_bits(pick.index, |arms| {
            for (k, queue) in queues.iter().enumerate() {
                arms.case(k as u64, || {
                    queue.pop();
                    out.send(&queue.head);
                });
            }
        });
    });
    cover("rec.race.inv_fence_absorbed", pick.any & !out.free, "a marker waits for the fence unit");
    let passes: Vec<Bool> = (0..links.len()).map(|k| links[k].held & any_of(&others(&absorbed, k))).collect();
    cover(
        "hmg.race.marker_held_other_link_passes",
        any_of(&passes),
        "a marker waits for an Inv of its link that is not applied, and a marker of the other link passes",
    );
}

fn others(list: &[Bool], but: usize) -> Vec<Bool> {
    list.iter().enumerate().filter(|(k, _)| *k != but).map(|(_, v)| *v).collect()
}
