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
//! | `fence` | out | requester; with planes serial, origin, sys | the markers of one source are in from all links |
//! | `ack` | out | an end of the RSP network: kind, src, dst, bank, data (the line) | with `acks`: an Inv has been applied |
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
//! # Planes
//! In a fabric whose GPUs are made of GPMs (hmg.md section 6; parameter `planes`) link 0 comes from the other GPMs of the own GPU, link 1 from the same GPM of
//! other GPUs, or, for directories without GPU homes, from all their nodes (parameter `far`). A source uses one link, so there is nothing to collect: a
//! marker whose earlier Invs are applied goes into a queue of its link (`link{k}_marks`, 4 rows), and from there to `fence` with its serial, origin and scope. The
//! fence unit takes markers at once, so a full queue lasts a few cycles.
//!
//! A GPU home passes an Inv of link 1 on to its GPMs before it counts as applied. Where there are GPU homes, no more than [`RECV_LIMIT`] of them are with a bank at once, so that
//! a bank with places for these never makes an Inv of link 0 wait behind one: links 0 then wait for nothing.
//!
//! # Acknowledgements
//! With `acks` (GPU-VI, hmg.md section 8) an Inv is acknowledged to its line's home when the bank has applied it: by a message of the RSP network on `ack`. An
//! Inv is delivered only if there is a place for its acknowledgement (`acks`), so INV waits for RSP, which waits for nothing.
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/inv-ingress.svg")]

mod acks;
mod marks;

use super::egress::{Ends, FarReach, egress_params, ends_from, ends_problem, plane_nodes, planes_tag};
use crate::common::arbiter::RoundRobin;
use crate::common::sys::sys_tag;
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet, elaborated};
use acks::{Owed, acknowledge};
use marks::{announce, collect};
use weft_rtl::prelude::*;

/// Parameters of the ingress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressParams {
    /// Message widths.
    pub sys: Sys,
    /// This node, below `sys.nodes()`.
    pub home: u32,
    /// Links of the node, 1..16; 2 with planes.
    pub links: u32,
    /// Link 0 comes from the other GPMs of the own GPU, link 1 from other GPUs (hmg.md section 6).
    pub planes: bool,
    /// With planes: which nodes link 1 comes from.
    pub far: FarReach,
    /// Invs by writes and evictions are acknowledged to the home of their line when they are applied (GPU-VI); only for directories without GPU homes.
    pub acks: bool,
}

/// With planes and GPU homes: most Invs of link 1 that are with a bank and not applied.
pub const RECV_LIMIT: u32 = 8;

impl IngressParams {
    fn check(&self) -> bool {
        let problem = ends_problem(&self.sys, self.home, self.links, self.planes);
        let near = self.acks && self.planes && self.far == FarReach::SameGpm;
        let problem = problem.or(near.then(|| "acks = 1; legal: 0, or far = 1 beside it".to_string()));
        let fits = problem.is_none();
        problem.into_iter().for_each(elab_error);
        fits
    }

    /// Nodes whose messages arrive here.
    pub(super) fn sources(&self) -> Vec<u32> {
        (0..self.sys.nodes()).filter(|g| *g != self.home).collect()
    }
}

/// Width of the counters of unapplied Invs; a link waits while the top bit is set.
const COUNT_BITS: u32 = 10;

pub(super) struct Link {
    pub channel: InChannel<InvMsg>,
    bank: Bits,
    /// An Inv that may be delivered.
    inv: Bool,
    /// A fence marker whose earlier Invs are applied.
    pub fence: Bool,
    /// A fence marker that is held.
    pub held: Bool,
    unapplied: Reg<Bits>,
}

/// The ingress: channels `link0`..., `done0`... in, `bank0`..., `fence` out.
///
/// # Errors
/// A parameter outside its range.
pub fn inv_ingress(p: &IngressParams) -> Result<Arc<Module>, ElabErrors> {
    let planes = planes_tag(&p.sys, p.planes, p.far);
    let acks = if p.acks { format!("_s{}_acks", p.sys.home_shift) } else { String::new() };
    let name =
        format!("inv_ingress_{}_il{}_x{}_h{}{planes}{acks}", sys_tag(&p.sys), p.sys.il, p.links, p.home);
    Module::build(&name, ModuleKind::Block, || {
        doc("INV ingress: delivers invalidations to the L2 banks and collects fence markers.");
        param("links", p.links);
        param("home", p.home);
        if p.planes {
            param("planes", 1);
            param("gpms", p.sys.gpms);
        }
        if p.acks {
            param("acks", 1);
        }
        if p.check() {
            describe(p);
        }
    })
}

fn describe(p: &IngressParams) {
    let links: Vec<Link> = (0..p.links).map(|k| receive(p, k)).collect();
    let some: Vec<Bool> = links.iter().map(|l| l.inv).collect();
    let busy = any_of(&some).named("busy");
    let limited = if p.planes && p.far == FarReach::SameGpm { p.sys.banks } else { 0 };
    let room: Vec<Recvs> = (0..limited).map(Recvs::new).collect();
    let owed: Vec<Owed> = (0..if p.acks { p.sys.banks } else { 0 }).map(|b| Owed::new(p, b)).collect();
    let grants: Vec<Bits> = (0..p.sys.banks)
        .map(|b| deliver(p, b, &links, busy, (room.get(b as usize), owed.get(b as usize))))
        .collect();
    let granted = grants[1..].iter().fold(grants[0], |all, g| all | *g).named("granted");
    let dones: Vec<InChannel<InvDone>> =
        (0..p.sys.banks).map(|b| in_channel::<InvDone>(&format!("done{b}"), &())).collect();
    for done in &dones {
        when(done.valid, || done.take());
    }
    for ((recvs, grant), done) in room.iter().zip(&grants).zip(&dones) {
        recvs.follow(grant.bit(1), done.valid & done.msg.link.eq(1));
    }
    for (owed, done) in owed.iter().zip(&dones) {
        owed.applied(done.valid, done.msg.link);
    }
    if p.acks {
        acknowledge(p, &owed);
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
    if p.planes {
        announce(p, &links);
    } else {
        collect(p, &links);
    }
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

/// Invs of link 1 that a bank has not applied.
struct Recvs {
    bank: u32,
    count: Reg<Bits>,
}

impl Recvs {
    fn new(bank: u32) -> Recvs {
        let width = bits_for(u64::from(RECV_LIMIT) + 1);
        Recvs { bank, count: reg::<Bits>(&format!("bank{bank}_recvs"), width) }
    }

    fn room(&self) -> Bool {
        self.count.get().lt(u64::from(RECV_LIMIT))
    }

    fn follow(&self, delivered: Bool, applied: Bool) {
        when(delivered & !applied, || self.count.set(self.count.get() + 1));
        when(applied & !delivered, || self.count.set(self.count.get() - 1));
        assert_always(
            &format!("bank{}_recvs_answered_once", self.bank),
            !applied | self.count.get().any(),
            "a bank applies no more Invs of link 1 than it was given",
        );
    }
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
    if p.planes {
        let sources = plane_nodes(&p.sys, p.home, k, p.far);
        let known: Vec<Bool> = sources.iter().map(|node| channel.msg.src.eq(u64::from(*node))).collect();
        let known = known.into_iter().reduce(|a, b| a | b).unwrap_or(bool_lit(false));
        assert_always(
            &format!("link{k}_source"),
            !channel.valid | known,
            "link 0 comes from the own GPU, link 1 from those nodes of others that reach this one",
        );
    }
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
fn deliver(
    p: &IngressParams,
    b: u32,
    links: &[Link],
    busy: Bool,
    (recvs, owed): (Option<&Recvs>, Option<&Owed>),
) -> Bits {
    let out = out_channel::<BankInv>(&format!("bank{b}"), &p.sys);
    let turn = RoundRobin::new(&format!("bank{b}_turn"), p.links);
    let mut requests: Vec<Bool> = links.iter().map(|l| l.inv & l.bank.eq(u64::from(b))).collect();
    if let Some(recvs) = recvs {
        requests[1] = requests[1] & recvs.room();
    }
    if let Some(owed) = owed {
        requests.iter_mut().for_each(|request| *request = *request & owed.room());
    }
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
                            owner: msg.owner.map(|owner| OwnerAsk {
                                ask: owner.ask,
                                requester: msg.requester,
                                id: owner.id,
                            }),
                        });
                        if let Some(owed) = owed {
                            owed.delivered(&msg, k as u64);
                        }
                    });
                }
            });
        });
    });
    grant.get()
}

/// Keys on the command line.
pub fn ingress_params() -> Vec<ParamInfo> {
    let acks = ParamInfo {
        name: "acks",
        default: "0".into(),
        legal: "0, 1",
        about: "applied Invs are acknowledged; with planes only together with far",
    };
    egress_params().into_iter().filter(|i| i.name != "slices").chain([acks]).collect()
}

/// Builds the ingress by name.
///
/// # Errors
/// A value outside its range.
pub fn build_ingress(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let Ends { sys, home, links, planes, far } = ends_from(p)?;
    let acks = p.within("acks", 0, 1)? == 1;
    elaborated("inv-ingress", inv_ingress(&IngressParams { sys, home, links, planes, far, acks }))
}
