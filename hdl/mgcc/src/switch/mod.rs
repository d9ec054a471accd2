//! The switch of one bank number (mgcc.md sections 1 and 10): the links of this bank of every GPU on one side, the link to the UMC of the same number on the other.
//!
//! ```text
//!  req0 -> bank link 0 -> buffer 0 (latency) --+             +--> umc_req0
//!  req1 -> bank link 1 -> buffer 1 (latency) --+-- UMC link -+--> umc_req1
//!
//!  rsp0 <- bank link 0 <- buffer 0 (latency) --+             +--- umc_rsp0
//!  rsp1 <- bank link 1 <- buffer 1 (latency) --+-- UMC link -+--- umc_rsp1
//! ```
//! One direction of a link carries one virtual network: requests go to the UMC, responses to the banks. So neither waits for the other anywhere. A bank link carries `link_bpc` bytes per cycle
//! and direction, the UMC link as much as the bank links of all GPUs together.
//!
//! A message of B bytes holds a bank link for ceil(B / `link_bpc`) cycles. On the UMC link it takes B bytes of wire time: it begins where the one before has ended, also within a cycle,
//! and several may begin in one cycle; a GPU's next message begins in the cycle after its last one has ended. Among GPUs it goes round in turn: first is the one behind the last that began.
//!
//! A message that is taken in cycle t, r bytes of the first link being used by others in that cycle, has passed it in cycle d = t + max(1, ceil((r + B) / bytes per cycle)) - 1, and may begin on
//! the second link from cycle d + `latency` on; it is offered in the cycle after it has passed that. Between a GPU and the UMC order is kept.
//!
//! A message begins on the first link only with a credit: a place in the buffer, which it keeps until it has passed the second link. A credit takes `latency` cycles back.
//!
//! | state | values |
//! | --- | --- |
//! | `LINK_owed` | bytes that have begun and that this cycle and later ones carry |
//! | `LINK_flying` | whose message has begun in an earlier cycle and not ended |
//! | `LINK_next` | who is first in turn |
//! | `NET_creditsG`, `NET_hereG` | places of a buffer known to be free; messages in it that have come all the way |
//!
//! # Transition table
//!
//! Of a message on each link:
//!
#![doc = include_str!("../../docs/tsm-switch.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/tsm-switch.svg")]

mod ingress;
pub(crate) mod link;
pub(crate) mod observe;
mod table;

pub(crate) use ingress::Ingress;
pub(crate) use table::link_table;
pub use table::{LINKS, LinkEvent, LinkSpec, LinkState, LinkTable, TsmLink, machine, table};

use crate::bytes;
use crate::choice::{Choice, Coherence};
use crate::msg::{UmcReq, UmcRsp};
use crate::params::{Tsm, tsm_from, tsm_params};
use link::{Carried, Link};
use observe::{Seen, observe};
use weft_blocks::common::delay::delayed;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What fixes a switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SwitchParams {
    /// Message widths; `gpus` is the number of bank links.
    pub tsm: Tsm,
    /// Bytes per cycle and direction of a bank link, 1..512; the UMC link carries as much for each GPU.
    pub link_bpc: u32,
    /// Cycles from the last byte on the first link to the first on the second, 1..4096; a credit takes as long.
    pub latency: u32,
    /// Places in each GPU's buffer for requests and for responses, 1..1024.
    pub credits: [u32; 2],
    /// Messages carry timestamps.
    pub coherence: Coherence,
}

impl SwitchParams {
    /// The published switch: 4 bytes per cycle and bank link, 140 cycles.
    pub fn published(tsm: Tsm) -> SwitchParams {
        SwitchParams { tsm, link_bpc: 4, latency: 140, credits: [64, 64], coherence: Coherence::Mgcc }
    }

    /// Messages carry timestamps.
    pub fn coherent(&self) -> bool {
        self.coherence == Coherence::Mgcc
    }
    /// Bytes per cycle and direction of the UMC link.
    pub fn umc_bpc(&self) -> u32 {
        self.link_bpc * self.tsm.gpus
    }
    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let ([req, rsp], coherence) = (self.credits, self.coherence.word());
        let (width, latency) = (self.link_bpc, self.latency);
        format!("tsm_switch_{}_w{width}_t{latency}_c{req}_{rsp}_{coherence}", self.tsm.tag())
    }

    /// Checks the switch's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let within = |key: &str, value: u32, hi: u32| {
            let error = || BlockError::Illegal {
                block: "tsm-switch".into(),
                key: key.into(),
                value: value.to_string(),
                problem: "it lies outside".into(),
                legal: format!("1..{hi}"),
            };
            if (1..=hi).contains(&value) { Ok(()) } else { Err(error()) }
        };
        within("link_bpc", self.link_bpc, 512)?;
        within("latency", self.latency, 4096)?;
        within("credits_req", self.credits[0], 1024)?;
        within("credits_rsp", self.credits[1], 1024)
    }
}

/// One GPU's way through one network.
struct Lane<T: Data> {
    ingress: Ingress<T>,
    output: OutChannel<T>,
    /// Bytes of the message at the buffer's head.
    size: Bits,
}

impl<T: Data> Lane<T> {
    /// `names`: the network, and its two channels without the GPU's number.
    fn new(gpu: u32, names: [&str; 3], t: &Tsm, credits: u32, bytes: &dyn Fn(&T) -> Bits) -> Lane<T>
    where
        T: Data<Shape = Tsm>,
    {
        let [net, from, to] = names;
        let ingress = Ingress::new(gpu, [net, from], t, credits, bytes);
        let output = out_channel::<T>(&format!("{to}{gpu}"), t);
        let size = bytes(&ingress.buffer.head);
        Lane { ingress, output, size }
    }

    /// The message at the buffer's head passes the second link in this cycle.
    fn deliver(&self, passes: Bool) {
        when(passes, || {
            self.output.send(&self.ingress.buffer.head);
            self.ingress.buffer.pop();
        });
    }
}

/// One network: a first link or links, buffers, second ones. `names`: the network, its channels without the GPU's number; `links`: the names of both links;
/// `shared`: the link that all GPUs share, 0 or 1.
struct Network<'a> {
    p: &'a SwitchParams,
    names: [&'a str; 3],
    credits: u32,
    links: [LinkSpec<TsmLink>; 2],
    shared: usize,
}

impl Network<'_> {
    fn describe<T: Data<Shape = Tsm>>(
        &self,
        bytes: &dyn Fn(&T) -> Bits,
    ) -> (Vec<Lane<T>>, [Seen<TsmLink>; 2]) {
        let p = self.p;
        let lanes: Vec<Lane<T>> =
            (0..p.tsm.gpus).map(|g| Lane::new(g, self.names, &p.tsm, self.credits, bytes)).collect();
        let first = self.carry(
            0,
            &lanes,
            |lane| lane.ingress.wants(),
            |lane| lane.ingress.blocked(),
            |lane| lane.ingress.size,
        );
        let mut arrived = Vec::new();
        for (g, lane) in lanes.iter().enumerate() {
            let passes = first.carried.done[g];
            lane.ingress.store(passes);
            arrived.push(delayed(&format!("{}_flight{g}", self.names[0]), passes, p.latency));
        }
        let there: Vec<Bool> =
            lanes.iter().zip(&arrived).map(|(lane, arrive)| lane.ingress.there(*arrive)).collect();
        let of = |lane: &Lane<T>| there[lane.ingress.gpu as usize];
        let second = self.carry(
            1,
            &lanes,
            |lane| of(lane) & lane.output.free,
            |lane| of(lane) & !lane.output.free,
            |lane| lane.size,
        );
        for (g, lane) in lanes.iter().enumerate() {
            let passes = second.carried.done[g];
            lane.deliver(passes);
            let back = delayed(&format!("{}_return{g}", self.names[0]), passes, p.latency);
            let events = [first.carried.done[g], arrived[g], passes, back];
            lane.ingress.count(events, lane.output.free);
        }
        (lanes, [first, second])
    }

    /// Carries what wants to pass the links of a hop.
    fn carry<T: Data>(
        &self,
        hop: usize,
        lanes: &[Lane<T>],
        wants: impl Fn(&Lane<T>) -> Bool,
        blocked: impl Fn(&Lane<T>) -> Bool,
        size: impl Fn(&Lane<T>) -> Bits,
    ) -> Seen<TsmLink> {
        let wants: Vec<Bool> = lanes.iter().map(wants).collect();
        let sizes: Vec<Bits> = lanes.iter().map(size).collect();
        let link = self.links[hop];
        let carried = if hop == self.shared {
            Link::new(link.word(), self.p.umc_bpc(), lanes.len() as u32).carry(&wants, &sizes)
        } else {
            let own = |g: usize| {
                let link = Link::new(&format!("{}{g}", link.word()), self.p.link_bpc, 1);
                link.carry(&wants[g..=g], &sizes[g..=g])
            };
            Carried::joined((0..lanes.len()).map(own).collect())
        };
        Seen { link, carried, wants, blocked: lanes.iter().map(blocked).collect(), sizes }
    }
}

/// The switch: channels `req{g}`, `umc_rsp{g}` in; `umc_req{g}`, `rsp{g}` out, for every GPU g.
///
/// # Errors
/// A parameter outside its range.
pub fn tsm_switch(p: &SwitchParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let built = Module::build(&p.module_name(), ModuleKind::Block, || {
        doc(
            "Switch between one bank of every GPU and its UMC: links with bytes per cycle, latency, credits.",
        );
        for (key, value) in [("gpus", p.tsm.gpus), ("link_bpc", p.link_bpc), ("latency", p.latency)] {
            param(key, value);
        }
        param("credits_req", p.credits[0]);
        param("credits_rsp", p.credits[1]);
        param("coherence", p.coherence.word());
        let (t, coherent) = (&p.tsm, p.coherent());
        let requests = Network {
            p,
            names: ["req", "req", "umc_req"],
            credits: p.credits[0],
            links: [LINKS[0], LINKS[1]],
            shared: 1,
        };
        let answers = Network {
            p,
            names: ["rsp", "umc_rsp", "rsp"],
            credits: p.credits[1],
            links: [LINKS[2], LINKS[3]],
            shared: 0,
        };
        let (up, [bank_req, umc_req]) = requests.describe::<UmcReq>(&|m| bytes::umc_req(t, m, coherent));
        let (down, [umc_rsp, bank_rsp]) = answers.describe::<UmcRsp>(&|m| bytes::umc_rsp(t, m, coherent));
        let sent: Vec<_> = up.iter().map(|lane| lane.ingress.input.msg.op).collect();
        let given: Vec<_> = down.iter().map(|lane| lane.ingress.buffer.head.op).collect();
        observe(&[bank_req, umc_req, umc_rsp, bank_rsp], &sent, &given);
        for (g, (up, down)) in up.iter().zip(&down).enumerate() {
            let own = |number: Bits| number.eq(g as u64);
            let text = "a message comes from, and goes to, the GPU of its link";
            let (up, down) = (&up.ingress.input, &down.ingress.input);
            let right = !up.valid | own(up.msg.src);
            assert_always(&format!("req{g}_own"), right, text);
            let right = !down.valid | own(down.msg.dst);
            assert_always(&format!("rsp{g}_own"), right, text);
        }
    });
    built.map_err(|errors| BlockError::Elab { block: "tsm-switch".into(), errors })
}

fn params() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = vec![
        info("link_bpc", "4", "1..512", "bytes per cycle and direction of a bank link"),
        info("latency", "140", "1..4096", "cycles from one link to the other"),
        info("credits_req", "64", "1..1024", "places in each GPU's buffer for requests"),
        info("credits_rsp", "64", "1..1024", "places in each GPU's buffer for responses"),
        info("coherence", "mgcc", "mgcc, none", "messages with timestamps, or without"),
    ];
    list.extend(tsm_params());
    list
}

fn from_set(set: &ParamSet) -> Result<SwitchParams, BlockError> {
    let number = |key, hi| set.within(key, 1, hi).map(|v| v as u32);
    Ok(SwitchParams {
        tsm: tsm_from(set)?,
        link_bpc: number("link_bpc", 512)?,
        latency: number("latency", 4096)?,
        credits: [number("credits_req", 1024)?, number("credits_rsp", 1024)?],
        coherence: Coherence::from_set(set, "coherence")?,
    })
}

/// The switch in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "tsm-switch",
        about: "Switch between one bank of every GPU and its UMC: links with bytes per cycle, latency, credits",
        params,
        build: |set| tsm_switch(&from_set(set)?),
    }
}
