//! The unified memory controller and its lanes (mgcc.md section 7).
//!
//! ```text
//!  req0..  -> crossbar -> lane 0: ReqTracker <-> TSU -> dram_req0     (and so for each lane)
//!  rsp0..  <- crossbar <-         ReqTracker         <- dram_rsp0
//!  roll    -> relay ---->                    TSU -> asks -> roll_ask
//! ```
//! `umc-lane` is one lane; `umc` all of a memory controller, with a channel per GPU on one side and per DRAM channel on the other. The lane of a line is in the lowest
//! bits of its address inside the UMC. Without coherence there are no TSUs, no leases and no rolls.
//!
//! # Picture
//!
//! `umc-lane`:
//!
#![doc = include_str!("../../pictures/umc-lane.svg")]
//!
//! `umc`:
//!
#![doc = include_str!("../../pictures/umc.svg")]

use crate::choice::{Choice, Coherence};
use crate::epoch_ctl::relay;
use crate::join::{pass_in, pass_out};
use crate::msg::*;
use crate::params::{Tsm, tsm_params};
use crate::reqtracker::{self, TrackerParams, reqtracker};
use crate::tsu::{self, TsuParams, tsu};
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet, elaborated};
use weft_rtl::prelude::*;

/// What fixes a lane, and so a UMC: its parts, which have the same message widths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaneParams {
    /// The ReqTracker.
    pub tracker: TrackerParams,
    /// The TSU; without coherence it is not there.
    pub tsu: TsuParams,
}

impl LaneParams {
    /// Message widths.
    pub fn tsm(&self) -> &Tsm {
        &self.tracker.tsm
    }
    fn coherent(&self) -> bool {
        self.tracker.coherence == Coherence::Mgcc
    }
    fn name(&self, block: &str) -> String {
        let tag = self.tsm().tag();
        let own = |module: String| module.split_once(&tag).map_or(String::new(), |(_, own)| own.to_string());
        let stamps = if self.coherent() { own(self.tsu.module_name()) } else { String::new() };
        format!("{block}_{tag}{}{stamps}", own(self.tracker.module_name()))
    }
    fn describe_params(&self) {
        param("entries", self.tracker.entries);
        param("coherence", self.tracker.coherence.word());
        if self.coherent() {
            param("sets", self.tsu.sets);
            param("ways", self.tsu.ways);
        }
    }
}

/// A lane: channels `req`, `dram_rsp` in; `rsp`, `dram_req` out; with coherence also `roll` in, `roll_ack`, `roll_ask` out, inputs `rd_lease`, `wr_lease`.
///
/// # Errors
/// A parameter outside its range.
pub fn umc_lane(p: &LaneParams) -> Result<Arc<Module>, BlockError> {
    let t = p.tsm();
    let tracker = reqtracker(&p.tracker)?;
    let stamps = if p.coherent() { Some(tsu(&p.tsu)?) } else { None };
    let built = Module::build(&p.name("umc_lane"), ModuleKind::Block, || {
        doc("Lane of a UMC: ReqTracker and timestamp unit in front of a DRAM channel.");
        p.describe_params();
        let tracker = instance("tracker", &tracker);
        pass_in::<UmcReq>(&tracker, "req", "req", t);
        pass_out::<UmcRsp>(&tracker, "rsp", "rsp", t);
        pass_out::<DramReq>(&tracker, "dram_req", "dram_req", t);
        pass_in::<DramRsp>(&tracker, "dram_rsp", "dram_rsp", t);
        if let Some(stamps) = &stamps {
            let stamps = instance("tsu", stamps);
            connect::<TsuReq>(&tracker, "tsu_req", &stamps, "req", t);
            connect::<TsuRsp>(&stamps, "rsp", &tracker, "tsu_rsp", t);
            tracker.drive_bits("epoch", stamps.out_bits("epoch").slice(0, t.eb));
            for lease in ["rd_lease", "wr_lease"] {
                stamps.drive_bits(lease, input::<Bits>(lease, t.ts));
            }
            pass_in::<Roll>(&stamps, "roll", "roll", t);
            pass_out::<RollAck>(&stamps, "roll_ack", "roll_ack", t);
            pass_out::<RollAck>(&stamps, "roll_ask", "roll_ask", t);
        }
    });
    elaborated("umc-lane", built)
}

/// A UMC: channels `req{g}` in, `rsp{g}` out for each GPU, `dram_req{l}` out, `dram_rsp{l}` in for each lane; with coherence also `roll` in, `roll_ack`, `roll_ask` out,
/// inputs `rd_lease`, `wr_lease`.
///
/// # Errors
/// A parameter outside its range.
pub fn umc(p: &LaneParams) -> Result<Arc<Module>, BlockError> {
    let t = p.tsm();
    let lane = umc_lane(p)?;
    let part = |module| elaborated("umc", module);
    let name = |what: &str| format!("umc_{what}_{}", t.tag());
    let requests =
        part(crossbar::<UmcReq>(&name("req_xbar"), t.gpus, t.lanes, t, |m: &UmcReq| t.lane_of(m.line)))?;
    let answers = part(crossbar::<UmcRsp>(&name("rsp_xbar"), t.lanes, t.gpus, t, |m: &UmcRsp| m.dst))?;
    let asks = part(crossbar::<RollAck>(&name("ask_merge"), t.lanes, 1, t, |_| lit(0, 1)))?;
    let rolls = relay(t, t.lanes)?;
    let built = Module::build(&p.name("umc"), ModuleKind::Block, || {
        doc("Unified memory controller: lanes behind one channel per GPU.");
        p.describe_params();
        param("lanes", t.lanes);
        param("gpus", t.gpus);
        let (requests, answers) = (instance("requests", &requests), instance("answers", &answers));
        for g in 0..t.gpus {
            pass_in::<UmcReq>(&requests, &format!("in{g}"), &format!("req{g}"), t);
            pass_out::<UmcRsp>(&answers, &format!("out{g}"), &format!("rsp{g}"), t);
        }
        let lanes: Vec<InstanceRef> = (0..t.lanes).map(|l| instance(&format!("lane{l}"), &lane)).collect();
        for (l, lane) in lanes.iter().enumerate() {
            connect::<UmcReq>(&requests, &format!("out{l}"), lane, "req", t);
            connect::<UmcRsp>(lane, "rsp", &answers, &format!("in{l}"), t);
            pass_out::<DramReq>(lane, "dram_req", &format!("dram_req{l}"), t);
            pass_in::<DramRsp>(lane, "dram_rsp", &format!("dram_rsp{l}"), t);
        }
        if p.coherent() {
            let (rolls, asks) = (instance("rolls", &rolls), instance("asks", &asks));
            pass_in::<Roll>(&rolls, "roll", "roll", t);
            pass_out::<RollAck>(&rolls, "ack", "roll_ack", t);
            pass_out::<RollAck>(&asks, "out0", "roll_ask", t);
            let leases = ["rd_lease", "wr_lease"].map(|lease| (lease, input::<Bits>(lease, t.ts)));
            for (l, lane) in lanes.iter().enumerate() {
                connect::<Roll>(&rolls, &format!("roll{l}"), lane, "roll", t);
                connect::<RollAck>(lane, "roll_ack", &rolls, &format!("ack{l}"), t);
                connect::<RollAck>(lane, "roll_ask", &asks, &format!("in{l}"), t);
                leases.iter().for_each(|(lease, value)| lane.drive_bits(lease, *value));
            }
        }
    });
    elaborated("umc", built)
}

/// Keys on the command line: those of the ReqTracker and of the TSU.
fn params() -> Vec<ParamInfo> {
    [reqtracker::own_params(), tsu::own_params(), tsm_params()].concat()
}

fn from_set(set: &ParamSet) -> Result<LaneParams, BlockError> {
    Ok(LaneParams { tracker: reqtracker::from_set(set)?, tsu: tsu::from_set(set)? })
}

/// The lane in the list of blocks.
pub fn lane_info() -> BlockInfo {
    BlockInfo {
        name: "umc-lane",
        about: "Lane of a UMC: ReqTracker and timestamp unit in front of a DRAM channel",
        params,
        build: |set| umc_lane(&from_set(set).map_err(|e| e.of("umc-lane"))?),
    }
}

/// The UMC in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "umc",
        about: "Unified memory controller: lanes behind one channel per GPU",
        params,
        build: |set| umc(&from_set(set).map_err(|e| e.of("umc"))?),
    }
}
