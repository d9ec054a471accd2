//! INV ingress of a GPU (rec.md sections 5 and 7): from the links to the L2 banks.
//!
//! ```text
//!  link0 -> skid --+--> round robin -> bank0 --- L2 --- done0 (link number) --+
//!  link1 -> skid --+--> round robin -> bank1                                  |
//!            |                                                                v
//!            +-- fence marker, when every earlier Inv of its link is applied: seen[requester][source][link]
//!                     all links of a (requester, source) in -> fence {requester}
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `link{k}` | in | kind, src, dst, line, cause, grp, requester | INV network |
//! | `bank{b}` | out | line, cause, grp, link | to the L2 bank of the line |
//! | `done{b}` | in | link | the bank has applied an Inv of that link; always taken |
//! | `fence` | out | requester | the markers of one source are in from all links |
//!
//! | state | values |
//! | --- | --- |
//! | of a link: `unapplied` | 0: a marker at the head is absorbed; 1..511: it is held, Invs pass; 512 and more: Invs wait too |
//! | `seen_r{requester}_s{source}` | a bit per link: none, some, all (waits to be announced, then none again) |
//! | of a bank | the link that comes next in turn, the output register |
//!
//! Invs are delivered in order per link and bank. A fence marker holds its link until the counter of unapplied Invs is zero; Invs are applied
//! without waiting for anything, so that is finite. It is absorbed into the bit array whether or not `fence` can be sent.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/inv-ingress.svg")]

use super::egress::egress_params;
use crate::common::arbiter::RoundRobin;
use crate::common::sys::{sys_from, sys_tag};
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// Parameters of the ingress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressParams {
    /// Message widths.
    pub sys: Sys,
    /// This GPU, below `sys.nodes()`.
    pub home: u32,
    /// Links of the GPU, 1..16.
    pub links: u32,
}

impl IngressParams {
    fn check(&self) -> bool {
        if self.home >= self.sys.nodes() {
            elab_error(format!("home = {}; legal: 0..{}", self.home, self.sys.nodes() - 1));
        } else if !(1..=16).contains(&self.links) {
            elab_error(format!("links = {}; legal: 1..16", self.links));
        } else {
            return true;
        }
        false
    }

    /// GPUs whose messages arrive here.
    fn sources(&self) -> Vec<u32> {
        (0..self.sys.nodes()).filter(|g| *g != self.home).collect()
    }
}

/// Width of the counters of unapplied Invs; a link waits while the top bit is set.
const COUNT_BITS: u32 = 10;

struct Link {
    channel: InChannel<InvMsg>,
    bank: Bits,
    /// An Inv that may be delivered.
    inv: Bool,
    /// A fence marker whose earlier Invs are applied.
    fence: Bool,
    /// A fence marker that is held.
    held: Bool,
    unapplied: Reg<Bits>,
}

/// The ingress: channels `link0`..., `done0`... in, `bank0`..., `fence` out.
///
/// # Errors
/// A parameter outside its range.
pub fn inv_ingress(p: &IngressParams) -> Result<Arc<Module>, ElabErrors> {
    let name = format!("inv_ingress_{}_il{}_x{}_h{}", sys_tag(&p.sys), p.sys.il, p.links, p.home);
    Module::build(&name, ModuleKind::Block, || {
        doc("INV ingress: delivers invalidations to the L2 banks and collects fence markers.");
        param("links", p.links);
        param("home", p.home);
        if p.check() {
            describe(p);
        }
    })
}

fn describe(p: &IngressParams) {
    let links: Vec<Link> = (0..p.links).map(|k| receive(p, k)).collect();
    let some: Vec<Bool> = links.iter().map(|l| l.inv).collect();
    let busy = any_of(&some).named("busy");
    let grants: Vec<Bits> = (0..p.sys.banks).map(|b| deliver(p, b, &links, busy)).collect();
    let granted = grants[1..].iter().fold(grants[0], |all, g| all | *g).named("granted");
    let dones: Vec<InChannel<InvDone>> =
        (0..p.sys.banks).map(|b| in_channel::<InvDone>(&format!("done{b}"), &())).collect();
    for done in &dones {
        when(done.valid, || done.take());
    }
    for (k, link) in links.iter().enumerate() {
        let here: Vec<Bool> = dones.iter().map(|d| d.valid & d.msg.link.eq(k as u64)).collect();
        let applied = pack_bools(&here).named(&format!("link{k}_applied"));
        let delivered = granted.bit(k as u32);
        when(delivered, || link.channel.take());
        when(delivered | applied.any(), || {
            let more = link.unapplied.get() + delivered.bits().zext(COUNT_BITS);
            link.unapplied.set(more - applied.popcount().zext(COUNT_BITS));
        });
        assert_always(
            &format!("link{k}_applied_once"),
            link.unapplied.get().ge(applied.popcount().zext(COUNT_BITS)),
            "no more Invs are applied than were delivered",
        );
    }
    collect(p, &links);
    let held: Vec<Bool> = links.iter().map(|l| l.held).collect();
    let held = pack_bools(&held);
    cover(
        "rec.race.inv_fence_holds_input",
        held.any(),
        "a fence marker waits for an earlier Inv of its input",
    );
    cover("rec.race.inv_passes_held_fence", held.any() & granted.any(), "an Inv passes a held fence marker");
    count("delivered", granted.any(), "cycles in which an Inv is delivered");
}

fn receive(p: &IngressParams, k: u32) -> Link {
    let channel = in_channel::<InvMsg>(&format!("link{k}"), &p.sys);
    let unapplied = reg::<Bits>(&format!("link{k}_unapplied"), COUNT_BITS);
    let is_fence = channel.msg.kind.is(InvKind::Fence);
    let quiet = unapplied.get().none();
    let room = !unapplied.get().bit(COUNT_BITS - 1);
    assert_always(
        &format!("link{k}_is_for_here"),
        !channel.valid | (channel.msg.dst.eq(u64::from(p.home)) & channel.msg.src.ne(u64::from(p.home))),
        "a message comes from another GPU and is for this one",
    );
    Link {
        bank: p.sys.bank_of(channel.msg.line),
        inv: (channel.valid & !is_fence & room).named(&format!("link{k}_inv")),
        fence: (channel.valid & is_fence & quiet).named(&format!("link{k}_fence")),
        held: channel.valid & is_fence & !quiet,
        channel,
        unapplied,
    }
}

/// One bank's output; returns the link granted, one-hot.
fn deliver(p: &IngressParams, b: u32, links: &[Link], busy: Bool) -> Bits {
    let out = out_channel::<BankInv>(&format!("bank{b}"), &p.sys);
    let turn = RoundRobin::new(&format!("bank{b}_turn"), p.links);
    let requests: Vec<Bool> = links.iter().map(|l| l.inv & l.bank.eq(u64::from(b))).collect();
    let requests = pack_bools(&requests).named(&format!("bank{b}_requests"));
    let grant = wire_zero::<Bits>(&format!("bank{b}_grant"), p.links);
    when(busy, || {
        when(requests.any() & out.free, || {
            let pick = turn.pick(requests);
            grant.set(pick.index.one_hot(p.links));
            turn.granted(pick.index);
            switch_bits(pick.index, |arms| {
                for (k, link) in links.iter().enumerate() {
                    arms.case(k as u64, || {
                        let msg = link.channel.msg;
                        out.send(&BankInv {
                            line: msg.line,
                            cause: msg.cause,
                            grp: msg.grp,
                            link: lit(k as u64, 4),
                        });
                    });
                }
            });
        });
    });
    grant.get()
}

/// The bit array requester x source x link, and the announcement of complete pairs.
fn collect(p: &IngressParams, links: &[Link]) {
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

/// Keys on the command line.
pub fn ingress_params() -> Vec<ParamInfo> {
    egress_params().into_iter().filter(|i| i.name != "slices").collect()
}

/// Builds the ingress by name.
///
/// # Errors
/// A value outside its range.
pub fn build_ingress(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let sys = sys_from(p)?;
    let home = p.within("home", 0, u64::from(sys.nodes()) - 1)? as u32;
    let links = p.within("links", 1, 16)? as u32;
    super::elaborated("inv-ingress", inv_ingress(&IngressParams { sys, home, links }))
}
