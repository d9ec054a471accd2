//! `sel_hub`: probes from one L1 to several, and the answers back (srsp.md section 3).
//!
//! ```text
//!  cast0 --+                                +--> queue --> probe0
//!  cast1 --+--> round robin --> pending ----+--> queue --> probe1
//!  ...     +                  (probe, mask) +--> ...
//!
//!  pack_in0, pack_in1, ... --> crossbar --> pack0, pack1, ...
//! ```
//! One multicast is taken per cycle. Its mask of pending destinations is kept until every target's queue has its copy; when all queues have room that is one cycle. A target whose
//! queue is full holds up later multicasts, but always gets on: an L1 serves its probes whatever else waits. PACKs are unicast, one per cycle and L1.
//! Acknowledgements are collected at the L1 that asked, which counts one per cycle.
//!
//! Probes of one L1 to one other keep their order, and so do PACKs.
//!
//! # Picture
//!
#![doc = include_str!("../pictures/sel-hub.svg")]

use crate::msg::{Cast, Pack, Probe};
use crate::params::{Srsp, srsp_from, srsp_params};
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::common::join::pass_out;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// What fixes a hub.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HubParams {
    /// Message widths, and the number of L1s.
    pub srsp: Srsp,
    /// Probes that wait for one L1, 1..64.
    pub queue: u32,
}

impl HubParams {
    /// A hub with queues of 4.
    pub fn published(srsp: Srsp) -> HubParams {
        HubParams { srsp, queue: 4 }
    }
}

/// The hub: channels `cast{c}` ([`Cast`]) and `pack_in{c}` ([`Pack`]) in from L1 c, `probe{c}` ([`Probe`]) and `pack{c}` out to it.
///
/// # Errors
/// A queue outside 1..64.
pub fn sel_hub(p: &HubParams) -> Result<Arc<Module>, BlockError> {
    let error = |errors| BlockError::Elab { block: "sel-hub".into(), errors };
    let s = &p.srsp;
    let tag = format!("c{}_a{}", s.cus, s.addr_bits);
    let packs = crossbar::<Pack>(&format!("pack_xbar_{tag}"), s.cus, s.cus, s, |m| m.dst).map_err(error)?;
    let built = Module::build(&format!("sel_hub_{tag}_q{}", p.queue), ModuleKind::Block, || {
        doc("Multicast of probes between the L1s of a GPU, and the way back of their answers.");
        param("cus", s.cus);
        param("queue", p.queue);
        if !(1..=64).contains(&p.queue) {
            elab_error(format!("queue = {}; legal: 1..64", p.queue));
            return;
        }
        describe(p);
        place_packs(&instance("packs", &packs), s);
    });
    built.map_err(error)
}

/// The crossbar of PACKs behind the hub's own ports.
fn place_packs(packs: &InstanceRef, s: &Srsp) {
    let taken: Vec<Bool> = (0..s.cus)
        .map(|c| {
            let (port, name) = (format!("in{c}"), format!("pack_in{c}"));
            let valid = input::<Bool>(&format!("{name}_valid"), ());
            let ready = packs.out::<Bool>(&format!("{port}_ready"), &());
            packs.drive_bits(&format!("{port}_valid"), valid.bits());
            packs.drive::<Pack>(&port, s, input::<Pack>(&name, s.clone()));
            output::<Bool>(&format!("{name}_ready"), ()).set(ready);
            pass_out::<Pack>(packs, &format!("out{c}"), &format!("pack{c}"), s);
            valid & ready
        })
        .collect();
    let taken = pack_bools(&taken);
    count_amount("hub_packs", taken.any(), taken.popcount(), "PACKs taken");
}

fn describe(p: &HubParams) {
    let s = &p.srsp;
    let casts: Vec<InChannel<Cast>> =
        (0..s.cus).map(|c| in_channel::<Cast>(&format!("cast{c}"), s)).collect();
    let pending = reg::<Bits>("pending", s.cus).field("queue").doc("Destinations that have no copy yet.");
    let probe = reg::<Probe>("probe", s.clone()).field("queue").doc("The probe that they get.");
    let requests = pack_bools(&casts.iter().map(|c| c.valid).collect::<Vec<_>>()).named("requests");
    let turn = RoundRobin::new("turn", s.cus);
    let pick = turn.pick(requests);
    let copies: Vec<Bool> = (0..s.cus).map(|c| target(p, c, pending.get(), &probe.get())).collect();
    let left = (pending.get() & !pack_bools(&copies)).named("left");
    pending.set(left);
    let takes = (left.none() & requests.any()).named("takes");
    when(takes, || {
        turn.granted(pick.index);
        switch_bits(pick.index, |arms| {
            for (c, cast) in casts.iter().enumerate() {
                arms.case(c as u64, || {
                    cast.take();
                    probe.set(cast.msg.probe);
                    pending.set(cast.msg.dst);
                });
            }
        });
    });
    observe(&casts, pending.get(), left, takes, &copies);
}

/// The queue of an L1; whether it takes its copy in this cycle.
fn target(p: &HubParams, c: u32, pending: Bits, probe: &Probe) -> Bool {
    let out = out_channel::<Probe>(&format!("probe{c}"), &p.srsp);
    let queue = Fifo::<Probe>::new(&format!("queue{c}"), p.queue, &p.srsp);
    let leaves = (queue.valid & out.free).named(&format!("leaves{c}"));
    when(leaves, || {
        out.send(&queue.head);
        queue.pop();
    });
    let copies = (pending.bit(c) & (!queue.full | leaves)).named(&format!("copies{c}"));
    when(copies, || queue.push(probe));
    copies
}

fn observe(casts: &[InChannel<Cast>], pending: Bits, left: Bits, takes: Bool, copies: &[Bool]) {
    for (c, cast) in casts.iter().enumerate() {
        let own = cast.msg.probe.req.eq(c as u64);
        assert_always(&format!("cast{c}_own"), !cast.valid | own, "an L1 asks in its own name");
        let others = !cast.msg.dst.bit(c as u32);
        assert_always(&format!("cast{c}_others"), !cast.valid | others, "an L1 sends no probe to itself");
    }
    let waits = left.any();
    cover(
        "srsp.race.hub_partial",
        waits & left.ne(pending),
        "some targets have their copy, others wait for room",
    );
    cover("srsp.race.hub_back_to_back", takes & pending.any(), "a multicast follows another without a gap");
    count("hub_multicasts", takes, "multicasts taken");
    let number = pack_bools(copies).popcount();
    count_amount("hub_copies", pack_bools(copies).any(), number, "probes handed to targets");
    count("hub_blocked", waits, "cycles in which a multicast waits for room in a target's queue");
}

/// The block in the list.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "sel-hub",
        about: "Multicast of probes between the L1s of a GPU with scoped synchronisation",
        params: || {
            let about = "probes that wait for one L1";
            let mut list = vec![ParamInfo { name: "queue", default: "4".into(), legal: "1..64", about }];
            list.extend(srsp_params());
            list
        },
        build: |set| sel_hub(&HubParams { srsp: srsp_from(set)?, queue: set.within("queue", 1, 64)? as u32 }),
    }
}
