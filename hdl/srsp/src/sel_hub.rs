//! `sel_hub`: probes from one L1 to several, and the answers back (srsp.md section 3).
//!
//! ```text
//!  cast0 --+                                +--> queue --> probe0
//!  cast1 --+--> round robin --> pending ----+--> queue --> probe1
//!  ...     +                  (probe, mask) +--> ...
//!
//!  pack_in0, 1, .. --> lane0 --+--> crossbar --> pack0, pack1, ...
//!  ...             --> lane1 --+
//! ```
//! One multicast is taken per cycle. Its mask of pending destinations is kept until every target's queue has its copy; when all queues have room that is one cycle. A target whose
//! queue is full holds up later multicasts, but always gets on: an L1 serves its probes whatever else waits. PACKs are unicast: an L1 gets one per cycle, from one of up to eight lanes that the senders share.
//! Acknowledgements are collected at the L1 that asked, which counts one per cycle.
//!
//! Probes of one L1 to one other keep their order, and so do PACKs.
//!
//! # Picture
//!
#![doc = include_str!("../pictures/sel-hub.svg")]

use crate::msg::{Cast, Pack, Probe};
use crate::params::{Srsp, srsp_from, srsp_params, within};
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::fifo::fifo;
use weft_blocks::common::join::{pass_in, pass_out};
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

/// Lanes at most, which senders of PACKs share: a crossbar of all L1s with all L1s would be by far the largest part of the hub.
const LANES: u32 = 8;

/// Senders of a lane, but perhaps of the last one.
fn senders(s: &Srsp) -> u32 {
    s.cus.div_ceil(LANES)
}

/// Modules of a hub; equal parts are one module.
struct Parts {
    cast: Arc<Module>,
    queue: Arc<Module>,
    /// A lane, and the last one, which may have fewer senders.
    lane: Arc<Module>,
    last: Arc<Module>,
    xbar: Arc<Module>,
}

impl Parts {
    fn new(p: &HubParams) -> Result<Parts, ElabErrors> {
        let s = &p.srsp;
        let tag = format!("c{}_a{}", s.cus, s.addr_bits);
        let each = senders(s);
        let lanes = s.cus.div_ceil(each);
        Ok(Parts {
            cast: cast(&format!("hub_cast_{tag}"), s)?,
            queue: fifo::<Probe>(&format!("probe_queue_{tag}_q{}", p.queue), p.queue, s)?,
            lane: lane(&tag, s, each)?,
            last: lane(&tag, s, s.cus - (lanes - 1) * each)?,
            xbar: crossbar::<Pack>(&format!("pack_xbar_{tag}"), lanes, s.cus, s, |m| m.dst)?,
        })
    }
}

/// The hub: channels `cast{c}` ([`Cast`]) and `pack_in{c}` ([`Pack`]) in from L1 c, `probe{c}` ([`Probe`]) and `pack{c}` out to it.
///
/// # Errors
/// A queue outside 1..64.
pub fn sel_hub(p: &HubParams) -> Result<Arc<Module>, BlockError> {
    let s = &p.srsp;
    within("sel-hub", ("queue", p.queue), (1, 64))?;
    let error = |errors| BlockError::Elab { block: "sel-hub".into(), errors };
    let parts = Parts::new(p).map_err(error)?;
    let name = format!("sel_hub_c{}_a{}_q{}", s.cus, s.addr_bits, p.queue);
    let built = Module::build(&name, ModuleKind::Fabric, || {
        doc("Multicast of probes between the L1s of a GPU, and the way back of their answers.");
        param("cus", s.cus);
        param("queue", p.queue);
        place_probes(s, &parts);
        place_packs(s, &parts);
    });
    built.map_err(error)
}

fn place_probes(s: &Srsp, parts: &Parts) {
    let cast = instance("cast", &parts.cast);
    for c in 0..s.cus {
        let queue = instance(&format!("queue{c}"), &parts.queue);
        pass_in::<Cast>(&cast, &format!("in{c}"), &format!("cast{c}"), s);
        connect::<Probe>(&cast, &format!("out{c}"), &queue, "in", s);
        pass_out::<Probe>(&queue, "out", &format!("probe{c}"), s);
    }
}

fn place_packs(s: &Srsp, parts: &Parts) {
    let xbar = instance("pack_xbar", &parts.xbar);
    let each = senders(s);
    let lanes = s.cus.div_ceil(each);
    for l in 0..lanes {
        let last = l == lanes - 1;
        let lane = instance(&format!("lane{l}"), if last { &parts.last } else { &parts.lane });
        for c in l * each..((l + 1) * each).min(s.cus) {
            pass_in::<Pack>(&lane, &format!("in{}", c - l * each), &format!("pack_in{c}"), s);
        }
        connect::<Pack>(&lane, "out", &xbar, &format!("in{l}"), s);
    }
    for c in 0..s.cus {
        pass_out::<Pack>(&xbar, &format!("out{c}"), &format!("pack{c}"), s);
    }
}

/// A lane: channels `in0`... of so many senders, channel `out`; one PACK per cycle, from the senders in turn.
fn lane(tag: &str, s: &Srsp, senders: u32) -> Result<Arc<Module>, ElabErrors> {
    Module::build(&format!("pack_lane_{tag}_n{senders}"), ModuleKind::Block, || {
        doc("Merges the PACKs of some L1s.");
        param("senders", senders);
        let ins: Vec<InChannel<Pack>> =
            (0..senders).map(|i| in_channel::<Pack>(&format!("in{i}"), s)).collect();
        let out = out_channel::<Pack>("out", s);
        let turn = RoundRobin::new("turn", senders);
        let pick = turn.pick(pack_bools(&ins.iter().map(|pack| pack.valid).collect::<Vec<_>>()));
        let goes = (pick.any & out.free).named("goes");
        when(goes, || {
            turn.granted(pick.index);
            switch_bits(pick.index, |arms| {
                for (i, pack) in ins.iter().enumerate() {
                    arms.case(i as u64, || {
                        pack.take();
                        out.send(&pack.msg);
                    });
                }
            });
        });
        count("hub_packs", goes, "PACKs taken");
    })
}

/// The multicast itself: channels `in0`... of casts, `out0`... of probes.
fn cast(name: &str, s: &Srsp) -> Result<Arc<Module>, ElabErrors> {
    Module::build(name, ModuleKind::Block, || {
        doc("Takes one multicast per cycle and hands its copies out.");
        param("cus", s.cus);
        let casts: Vec<InChannel<Cast>> =
            (0..s.cus).map(|c| in_channel::<Cast>(&format!("in{c}"), s)).collect();
        let pending = reg::<Bits>("pending", s.cus).field("queue").doc("Destinations that have no copy yet.");
        let probe = reg::<Probe>("probe", s.clone()).field("queue").doc("The probe that they get.");
        let requests = pack_bools(&casts.iter().map(|c| c.valid).collect::<Vec<_>>()).named("requests");
        let turn = RoundRobin::new("turn", s.cus);
        let pick = turn.pick(requests);
        let copies: Vec<Bool> = (0..s.cus)
            .map(|c| {
                let out = out_channel::<Probe>(&format!("out{c}"), s);
                let copies = (pending.get().bit(c) & out.free).named(&format!("copies{c}"));
                when(copies, || out.send(&probe.get()));
                copies
            })
            .collect();
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
    })
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
