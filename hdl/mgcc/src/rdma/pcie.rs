//! The switch between the GPUs of an MGPU-RDMA system: `pcie-switch` (mgcc.md sections 10 and 14).
//!
//! ```text
//!  req0 -+                                        +-> crossbar -> egress req0 -+
//!        +- uplink 0 -> buffers 0 (latency) ------+                            +- downlink 0 -> far_req0
//!  far_rsp0 +                                     +-> crossbar -> egress rsp0 -+             -> rsp0
//! ```
//! Each GPU has one link with `link_bpc` bytes per cycle and direction, which requests and responses share in turn; everything else they have for themselves, so that neither waits for the other
//! longer than for a message under way. A message of B bytes takes B bytes of a link's time: it begins where the one before has ended, also within a cycle.
//!
//! A message that is taken in cycle t, r bytes of the uplink being used by others in that cycle, has passed it in cycle d = t + max(1, ceil((r + B) / bytes per cycle)) - 1. From cycle
//! d + `latency` - 1 on it may pass the crossbar, one message per GPU, network and cycle in turn among the sources, and from the next cycle on begin on the downlink; it is offered in the cycle after it has passed
//! that. Between two GPUs each network keeps its order.
//!
//! A message begins on the uplink only with a credit: a place in its network's buffer of its GPU, which it keeps until it has passed the crossbar. A credit takes `latency` cycles back.
//!
//! | state | values |
//! | --- | --- |
//! | `upG_*`, `downG_*` | of a link: bytes owed, whose message is on it, who is first in turn |
//! | `NET_creditsG`, `NET_hereG` | places of a buffer known to be free; messages in it that have come all the way |
//! | `NET_turnG_next` | source that is first in turn for a GPU |
//!
//! # Transition table
//!
//! Of a GPU's message on its link, by direction and network:
//!
#![doc = include_str!("../../docs/pcie-switch.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/pcie-switch.svg")]

use super::msg::{Rdma, RdmaReq, RdmaRsp, rdma_from, rdma_params};
use crate::msg::TsmOp;
use crate::switch::link::{Carried, Link};
use crate::switch::observe::{Seen, by_class, rows, traffic};
use crate::switch::{Ingress, LinkSpec, LinkState, LinkTable, link_table};
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::delay::delayed;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What fixes a switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PcieParams {
    /// Message widths; `tsm.gpus` is the number of links.
    pub rdma: Rdma,
    /// Bytes per cycle and direction of a GPU's link, 1..512.
    pub link_bpc: u32,
    /// Cycles from the last byte on the uplink to the first on the downlink, 2..4096; a credit takes as long.
    pub latency: u32,
    /// Places in each GPU's buffer for requests and for responses, 1..1024.
    pub credits: [u32; 2],
}

impl PcieParams {
    /// The published switch: 32 bytes per cycle, 140 cycles.
    pub fn published(rdma: Rdma) -> PcieParams {
        PcieParams { rdma, link_bpc: 32, latency: 140, credits: [64, 64] }
    }

    fn module_name(&self) -> String {
        let [req, rsp] = self.credits;
        let (width, latency) = (self.link_bpc, self.latency);
        format!("pcie_switch_{}_w{width}_t{latency}_c{req}_{rsp}", self.rdma.tag())
    }

    /// Checks the switch's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.rdma.validate("pcie-switch")?;
        let within = |key: &str, value: u32, lo: u32, hi: u32| {
            let error = || BlockError::Illegal {
                block: "pcie-switch".into(),
                key: key.into(),
                value: value.to_string(),
                problem: "it lies outside".into(),
                legal: format!("{lo}..{hi}"),
            };
            if (lo..=hi).contains(&value) { Ok(()) } else { Err(error()) }
        };
        within("link_bpc", self.link_bpc, 1, 512)?;
        within("latency", self.latency, 2, 4096)?;
        within("credits_req", self.credits[0], 1, 1024)?;
        within("credits_rsp", self.credits[1], 1, 1024)
    }
}

/// Networks of a direction in the order of their senders on a link.
const LINKS: [LinkSpec<PcieLink>; 4] = [
    LinkSpec { link: PcieLink::UpReq, first: true, shared: true },
    LinkSpec { link: PcieLink::UpRsp, first: true, shared: true },
    LinkSpec { link: PcieLink::DownReq, first: false, shared: true },
    LinkSpec { link: PcieLink::DownRsp, first: false, shared: true },
];

/// A direction and network of a GPU's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum PcieLink {
    /// Requests from a GPU.
    #[hw(label = "up_req")]
    UpReq,
    /// Responses from a GPU.
    #[hw(label = "up_rsp")]
    UpRsp,
    /// Requests to a GPU.
    #[hw(label = "down_req")]
    DownReq,
    /// Responses to a GPU.
    #[hw(label = "down_rsp")]
    DownRsp,
}

/// What moves a message on a GPU's link.
pub fn machine() -> Machine<LinkState> {
    Machine::new("message on a link", LinkState::Free).with(&table())
}

/// The table.
pub fn table() -> LinkTable<PcieLink> {
    link_table("pcie_table", "mgcc.pcie.", &LINKS)
}

/// One network: from each GPU and to each.
struct Network<T: Data> {
    name: &'static str,
    froms: Vec<Ingress<T>>,
    egress: Vec<(Fifo<T>, OutChannel<T>)>,
    /// Bytes of what stands at each egress.
    sizes: Vec<Bits>,
    dst: fn(&T) -> Bits,
}

impl<T: Data<Shape = Rdma>> Network<T> {
    /// `names`: the network, and its two channels without the GPU's number.
    fn new(
        p: &PcieParams,
        names: [&'static str; 3],
        credits: u32,
        bytes: fn(&T) -> Bits,
        dst: fn(&T) -> Bits,
    ) -> Network<T> {
        let [name, from, to] = names;
        let gpus = 0..p.rdma.tsm.gpus;
        let froms = gpus.clone().map(|g| Ingress::new(g, [name, from], &p.rdma, credits, &bytes)).collect();
        let egress: Vec<_> = gpus
            .map(|g| {
                let rows = Fifo::<T>::new(&format!("{name}_egress{g}"), 2, &p.rdma);
                (rows, out_channel::<T>(&format!("{to}{g}"), &p.rdma))
            })
            .collect();
        let sizes = egress.iter().map(|(rows, _)| bytes(&rows.head)).collect();
        Network { name, froms, egress, sizes, dst }
    }

    /// Takes what has passed the uplinks, and moves messages through the crossbar.
    fn cross(&self, p: &PcieParams, passed: &[Bool]) {
        let n = self.froms.len() as u32;
        let (name, far) = (self.name, p.latency - 1);
        let arrived: Vec<Bool> = (0..)
            .zip(passed)
            .map(|(g, passed)| delayed(&format!("{name}_flight{g}"), *passed, far))
            .collect();
        let there: Vec<Bool> = self.froms.iter().zip(&arrived).map(|(from, a)| from.there(*a)).collect();
        let to: Vec<Bits> = self.froms.iter().map(|from| (self.dst)(&from.buffer.head)).collect();
        let mut left = vec![bool_lit(false); n as usize];
        for (d, (rows, _)) in (0u64..).zip(&self.egress) {
            let asks: Vec<Bool> = there.iter().zip(&to).map(|(there, to)| *there & to.eq(d)).collect();
            let turn = RoundRobin::new(&format!("{name}_turn{d}"), n);
            let pick = turn.pick(pack_bools(&asks));
            let moves = (pick.any & !rows.full).named(&format!("{name}_moves{d}"));
            when(moves, || {
                turn.granted(pick.index);
                switch_bits(pick.index, |arms| {
                    for (s, from) in (0u64..).zip(&self.froms) {
                        arms.case(s, || rows.push(&from.buffer.head));
                    }
                });
            });
            let waits = pack_bools(&asks).popcount();
            let text = "messages, summed over cycles, that wait for others to the same GPU or for room there";
            let stay = waits - moves.bits().zext(waits.width());
            count_amount(&format!("{name}_crossbar_waits{d}"), stay.any(), stay, text);
            for (s, left) in left.iter_mut().enumerate() {
                *left = *left | (moves & pick.index.eq(s as u64));
            }
        }
        for (from, (passed, (arrived, left))) in
            self.froms.iter().zip(passed.iter().zip(arrived.iter().zip(&left)))
        {
            from.store(*passed);
            when(*left, || from.buffer.pop());
            let back = delayed(&format!("{name}_return{}", from.gpu), *left, p.latency);
            from.count([*passed, *arrived, *left, back], bool_lit(true));
        }
    }

    /// A message is there for the downlink; it may begin.
    fn waits(&self, g: usize) -> [Bool; 2] {
        let (rows, output) = &self.egress[g];
        [rows.valid & !output.free, rows.valid & output.free]
    }

    /// Gives out what has passed the downlinks.
    fn deliver(&self, passed: &[Bool]) {
        for ((rows, output), passed) in self.egress.iter().zip(passed) {
            when(*passed, || {
                output.send(&rows.head);
                rows.pop();
            });
        }
    }
}

/// Links of one direction: what they carry of requests and of responses.
fn carry(p: &PcieParams, name: &str, wants: [Vec<Bool>; 2], sizes: [&[Bits]; 2]) -> [Carried; 2] {
    let links: Vec<Carried> = (0..wants[0].len())
        .map(|g| {
            let link = Link::new(&format!("{name}{g}"), p.link_bpc, 2);
            link.carry(&[wants[0][g], wants[1][g]], &[sizes[0][g], sizes[1][g]])
        })
        .collect();
    [Carried::of_sender(&links, 0), Carried::of_sender(&links, 1)]
}

fn describe(p: &PcieParams) {
    let requests =
        Network::<RdmaReq>::new(p, ["req", "req", "far_req"], p.credits[0], RdmaReq::bytes, |m| m.dst);
    let answers =
        Network::<RdmaRsp>::new(p, ["rsp", "far_rsp", "rsp"], p.credits[1], RdmaRsp::bytes, |m| m.dst);
    let gpus = 0..requests.froms.len();
    let up_wants = [
        requests.froms.iter().map(Ingress::wants).collect(),
        answers.froms.iter().map(Ingress::wants).collect::<Vec<_>>(),
    ];
    let up_blocked = [
        requests.froms.iter().map(Ingress::blocked).collect(),
        answers.froms.iter().map(Ingress::blocked).collect::<Vec<_>>(),
    ];
    let up_sizes: [Vec<Bits>; 2] =
        [requests.froms.iter().map(|f| f.size).collect(), answers.froms.iter().map(|f| f.size).collect()];
    let up = carry(p, "up", up_wants.clone(), [&up_sizes[0], &up_sizes[1]]);
    requests.cross(p, &up[0].done);
    answers.cross(p, &up[1].done);
    let [held, ready] = [0, 1].map(|which: usize| {
        [
            gpus.clone().map(|g| requests.waits(g)[which]).collect::<Vec<_>>(),
            gpus.clone().map(|g| answers.waits(g)[which]).collect(),
        ]
    });
    let down = carry(p, "down", ready.clone(), [&requests.sizes, &answers.sizes]);
    requests.deliver(&down[0].done);
    answers.deliver(&down[1].done);
    check(&requests, &answers);
    let seen =
        |link: LinkSpec<PcieLink>, carried: &Carried, wants: &[Bool], blocked: &[Bool], sizes: &[Bits]| {
            Seen {
                link,
                carried: carried.clone(),
                wants: wants.to_vec(),
                blocked: blocked.to_vec(),
                sizes: sizes.to_vec(),
            }
        };
    let links = [
        seen(LINKS[0], &up[0], &up_wants[0], &up_blocked[0], &up_sizes[0]),
        seen(LINKS[1], &up[1], &up_wants[1], &up_blocked[1], &up_sizes[1]),
        seen(LINKS[2], &down[0], &ready[0], &held[0], &requests.sizes),
        seen(LINKS[3], &down[1], &ready[1], &held[1], &answers.sizes),
    ];
    let sent: Vec<_> = requests.froms.iter().map(|from| from.input.msg.op).collect();
    let given: Vec<_> = answers.froms.iter().map(|from| from.input.msg.op).collect();
    observe(&links, &sent, &given);
}

/// Messages are of the GPU of their link, and to another one.
fn check(requests: &Network<RdmaReq>, answers: &Network<RdmaRsp>) {
    let n = requests.froms.len() as u64;
    let exists =
        |dst: Bits, g: u64| !dst.eq(g) & if n.is_power_of_two() { bool_lit(true) } else { dst.lt(n) };
    for (g, (request, answer)) in (0u64..).zip(requests.froms.iter().zip(&answers.froms)) {
        let (request, answer) = (&request.input, &answer.input);
        let right = request.msg.src.eq(g) & exists(request.msg.dst, g);
        let text = "a request comes from the GPU of its link, for another one";
        assert_always(&format!("req{g}_own"), !request.valid | right, text);
        let text = "an answer is for another GPU";
        assert_always(&format!("rsp{g}_other"), !answer.valid | exists(answer.msg.dst, g), text);
    }
}

fn observe(links: &[Seen<PcieLink>; 4], sent: &[Enum<TsmOp>], given: &[Enum<TsmOp>]) {
    rows(&table(), links);
    machine().check(&[]);
    links.iter().for_each(traffic);
    let classes: &[(&str, TsmOp)] = &[("read", TsmOp::Rd), ("write", TsmOp::Wr), ("atomic", TsmOp::Amo)];
    by_class("req", &links[0], sent, classes, "from GPUs");
    by_class("rsp", &links[1], given, classes, "from GPUs");
    for (direction, pair) in [("up", &links[..2]), ("down", &links[2..])] {
        let both = |which: fn(&Seen<PcieLink>, usize) -> Bool| {
            any_of(&(0..sent.len()).map(|g| which(&pair[0], g) & which(&pair[1], g)).collect::<Vec<_>>())
        };
        cover(
            &format!("mgcc.race.pcie_{direction}_both_begin"),
            both(|seen, g| seen.carried.begins[g]),
            "a request and a response begin on a link in one cycle",
        );
        let after: Vec<Bool> = (0..sent.len())
            .flat_map(|g| [(g, 0), (g, 1)])
            .map(|(g, i)| {
                let (this, other) = (&pair[i].carried, &pair[1 - i].carried);
                this.flying[g] & this.done[g] & other.begins[g]
            })
            .collect();
        cover(
            &format!("mgcc.race.pcie_{direction}_end_and_begin"),
            any_of(&after),
            "a message begins in the cycle in which one of the other network ends",
        );
    }
}

/// The switch. Channels in, for every GPU g: `req{g}` ([`RdmaReq`]), `far_rsp{g}` ([`RdmaRsp`]); out: `far_req{g}`, `rsp{g}`.
///
/// # Errors
/// A parameter outside its range.
pub fn pcie_switch(p: &PcieParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let built = Module::build(&p.module_name(), ModuleKind::Block, || {
        doc("Switch between GPUs: links with bytes per cycle, latency, credits, a crossbar per network.");
        for (key, value) in [("gpus", p.rdma.tsm.gpus), ("link_bpc", p.link_bpc), ("latency", p.latency)] {
            param(key, value);
        }
        param("credits_req", p.credits[0]);
        param("credits_rsp", p.credits[1]);
        describe(p);
    });
    built.map_err(|errors| BlockError::Elab { block: "pcie-switch".into(), errors })
}

fn params() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = vec![
        info("link_bpc", "32", "1..512", "bytes per cycle and direction of a GPU's link"),
        info("latency", "140", "2..4096", "cycles from one link to the other"),
        info("credits_req", "64", "1..1024", "places in each GPU's buffer for requests"),
        info("credits_rsp", "64", "1..1024", "places in each GPU's buffer for responses"),
    ];
    list.extend(rdma_params());
    list
}

fn from_set(set: &ParamSet) -> Result<PcieParams, BlockError> {
    let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
    Ok(PcieParams {
        rdma: rdma_from(set, "pcie-switch")?,
        link_bpc: number("link_bpc", 1, 512)?,
        latency: number("latency", 2, 4096)?,
        credits: [number("credits_req", 1, 1024)?, number("credits_rsp", 1, 1024)?],
    })
}

/// The switch in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "pcie-switch",
        about: "Switch between GPUs that reach each other's memories: links with bytes per cycle, latency, credits",
        params,
        build: |set| pcie_switch(&from_set(set)?),
    }
}
