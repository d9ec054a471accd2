//! `gpu-l2`: one bank of the GPU L2 of the hierarchical baseline (spandex.md section 9, last paragraph).
//!
//! ```text
//!  rsp_in  --+    S0         S1            S2            S3
//!  l3_rsp ---+- select -- tags, TBEs -- the words -- commit --+--> answers ---------------------> rsp
//!  wb -------+                                        |   |   +--> forwards --+- owner by owner -> fwd
//!  l3_fwd ---+                                        |   +------> answers ---|------------------> l3_rsp_out
//!  req ------+                                        v                       |
//!    +------ ready ----- stall lists ---- TBEs ---- still to be sent ---------+------------------> l3_req, l3_wb
//! ```
//! To GPU L1s it is a bank of Spandex's LLC ([`crate::llc`]; rules for words, arrays and outputs are those of [`crate::bank`]): it answers or forwards, revokes owned words, commits all words of a request in
//! one step. In place of memory it is a client of the L3 ([`crate::hmesi::msg`]): a line is in S, E or M, and a request that needs more than that waits for GetS or GetM. Only a line in M has
//! words that GPU L1s own; copies in V below are nobody's business.
//!
//! | who waits | for whom |
//! | --- | --- |
//! | RSP_g, RSP | nobody: they change their TBE and line, what follows is the TBE's |
//! | WB_g | a slot for RspWB; requests leave one free |
//! | FWD | slots for its answers; owners of words of its line, whoever asked them; a TBE to ask them itself, which requests leave free |
//! | commits | slots for one answer to a device and one to the L3, for one set of forwards |
//! | REQ_g | the same, and a TBE and a place in the stall memory; those tried again |
//!
//! GetS, GetM and Put are marks of TBEs. Thus the order REQ_g -> REQ -> WB -> FWD -> FWD_g -> WB_g -> RSP, RSP_g.
//!
//! | TBE | waits for |
//! | --- | --- |
//! | Fill | the line (IS, ISI, IM) or the right to write it (SM); beside it the line replaced may leave (MI, II) |
//! | Phase1, Evict, Revoke | words that GPU L1s own: for a request, to replace the line, for a forward |
//! | Put | WBAck, when its request is done |
//!
//! Decisions where the specification is silent:
//! - I, S, E and M are the two bits `perm`; they stand for section 4's states and its dirty bit, too: what is in M is dirty.
//! - The line replaced moves to a buffer of the TBE, Put and Get leave together, and forwards find it in the buffer. It is blocked until WBAck.
//! - Unblock and UnblockX leave when the request commits, so no forward finds a line whose fill has come for a request that has not had it yet: somebody always gets on.
//! - Of an ISI line one request is served, the TBE's. Stalled ones ask again.
//! - An Inv before DataE was for a copy dropped in silence: the line stays.
//! - Any number of forwards may revoke at a time; requests leave one TBE free unless one is at work for a forward.
//! - A stall list whose TBE is done is tried again before REQ, without a TBE (a list that keeps its TBE could hold the reserved one while it waits for the L3).
//! - ReqWT+data READ needs M as every ReqWT+data.
//! - Requests of a set wait for a TBE of it that has something to commit, and for a forward: a stream of hits would keep them out for ever.
//!
//! # Transition tables
//!
#![doc = include_str!("../../../docs/gpu-l2.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/gpu-l2.svg")]

mod act;
mod decide;
mod leads;
mod observe;
mod outputs;
mod params;
mod stages;
mod stalls;
pub mod table;
mod tbes;
mod types;

pub use params::{GpuL2Fault, GpuL2Params};

use crate::bank;
use crate::bank::arrays::Arrays;
use crate::bank::words::{Word, word_machine};
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// The block as listed.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "gpu-l2",
        about: "Bank of the H-MESI GPU L2: word ownership below, MESI client of the L3 above",
        params: params::infos,
        build: |set| gpu_l2(&GpuL2Params::from_set(set)?),
    }
}

/// Builds a bank. Channels of GPU L1s: in `req` ([`Req`](crate::msg::Req)), `wb` ([`Wb`](crate::msg::Wb)), `rsp_in` ([`Rsp`](crate::msg::Rsp): RspRvkO); out `fwd`
/// ([`Fwd`](crate::msg::Fwd)), `rsp` ([`Rsp`](crate::msg::Rsp)). Of the client: out `l3_req` ([`HReq`](crate::hmesi::msg::HReq)), `l3_wb` ([`HWb`](crate::hmesi::msg::HWb)), `l3_rsp_out`
/// ([`HRsp`](crate::hmesi::msg::HRsp)); in `l3_fwd` ([`HFwd`](crate::hmesi::msg::HFwd)), `l3_rsp` ([`HRsp`](crate::hmesi::msg::HRsp)). Input `own`: the bank's node, constant.
///
/// # Errors
/// A parameter outside its range.
pub fn gpu_l2(p: &GpuL2Params) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let text = "Bank of the GPU L2 of the hierarchical baseline (spandex.md section 9).";
    bank::module("gpu-l2", (&p.module_name(), text), p.listed(), || describe(p))
}

fn describe(p: &GpuL2Params) {
    table::machine().check(&[]);
    word_machine(table::MET).check(&[Word::S]);
    let own = input::<Bits>("own", p.bank.s.h_node_bits());
    let stages = stages::Stages::new(p);
    let arrays = Arrays::new(&p.bank, p.kept());
    let tbes = tbes::Tbes::new(p);
    let outs = outputs::Outputs::new(p, own);
    let parts = stages::Parts { p, own, arrays: &arrays, tbes: &tbes, outs: &outs };
    // What stage 3 writes is seen by the next operation of the set only.
    let sending = outs.connect(&tbes);
    let entered = stages.pipe.connect(&arrays, || stages.select(&parts), || stages.look(&parts));
    let n = decide::now(&parts, &stages);
    let d = about(n.req.line, || decide::decide(&parts, &n));
    let crosses = p.fault != GpuL2Fault::NoCross;
    let act = types::Act { with: &parts, n: &n, d: &d, bank: p.bank.clone(), flex: p.flex, crosses };
    let done = act.act();
    tbes.stalls.connect();
    observe::connect(&observe::Seen { bank: "gpu_l2", act: &act, stages: &stages, entered, done, sending });
}
