//! `mesi-llc`: one bank of the L3 of the hierarchical baseline, a blocking MESI directory with data, inclusive (spandex.md section 9).
//!
//! ```text
//!  rsp_in  --+    S0         S1            S2            S3
//!  mem_rsp --+- select -- tags, TBEs -- the line -- directory --+--> answers -------------> rsp
//!  wb      --+                                          |   |   +--> orders --------------> mem_req
//!  req     --+                                          |   v
//!            +----- ready ------- TBEs and stall lists -+---+------- still to be sent ----> fwd
//! ```
//! A line is here whenever a client has it. A request that needs another client, or gives ownership, makes the line busy until its requestor unblocks it; requests to a busy line join its
//! stall list.
//!
//! | who waits | for whom |
//! | --- | --- |
//! | RSP, memory | nobody: they change their TBE and line, what follows is the TBE's |
//! | WB | its line not to be busy; a slot for WBAck; requests leave one free |
//! | requests | slots for one answer and one order to memory, a TBE and a place in the stall memory |
//!
//! | bank | states |
//! | --- | --- |
//! | line | I, C (no client has it), SS (shared), MT (owned) |
//! | TBE | Fetch, Evict, BusyX, BusyIib, List |
//!
//! Decisions where the specification is silent, or differs:
//! - Stages, stall lists, replacement and order of the bank are those of the [Spandex LLC](crate::llc) (both are made of [`crate::bank`]), so that the systems differ in their protocols only. One operation of a *set* is in the
//!   pipeline.
//! - **A Put goes before the stall list of its line.** While a list replays, the line is not busy in between. If a Put waited for all of it, clients that keep asking for the line would hold
//!   up the Put for ever, and with it its sender, which may not ask for the line before WBAck.
//! - Answers of clients name no TBE: they are matched by line.
//! - What has come from memory, and a line whose copies have come back, goes on with the request of its TBE by another pass through the pipeline.
//! - Victims are ways without a line first, then lines in C.
//!
//! # Transition tables
//!
#![doc = include_str!("../../../docs/mesi-llc.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/mesi-llc.svg")]

mod act;
mod observe;
mod outputs;
mod params;
mod stages;
pub mod table;
mod tbes;
mod types;

pub use params::{MesiLlcFault, MesiLlcParams};

use crate::bank;
use crate::bank::arrays::Arrays;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// The block as listed.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "mesi-llc",
        about: "Bank of the L3 of a hierarchical system: a blocking MESI directory with data",
        params: params::infos,
        build: |set| mesi_llc(&MesiLlcParams::from_set(set)?),
    }
}

/// Builds a bank. Channels in: `req` ([`HReq`](super::msg::HReq)), `wb` ([`HWb`](super::msg::HWb)), `rsp_in` ([`HRsp`](super::msg::HRsp)), `mem_rsp` ([`MemRsp`](crate::msg::MemRsp)); out: `fwd`
/// ([`HFwd`](super::msg::HFwd)), `rsp` ([`HRsp`](super::msg::HRsp)), `mem_req` ([`MemReq`](crate::msg::MemReq)). Input `own`: the bank's node, constant.
///
/// # Errors
/// A parameter outside its range.
pub fn mesi_llc(p: &MesiLlcParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let text = "Bank of the L3 of a hierarchical system (spandex.md section 9).";
    bank::module("mesi-llc", (&p.module_name(), text), p.listed(), || describe(p))
}

fn describe(p: &MesiLlcParams) {
    let own = input::<Bits>("own", p.bank.s.h_node_bits());
    let stages = stages::Stages::of(&p.bank, p, p.kept());
    let arrays = Arrays::new(&p.bank, p.kept());
    let tbes = tbes::Tbes::new(p);
    let outs = outputs::Outputs::new(p, own);
    let parts = stages::Parts { p, own, arrays: &arrays, tbes: &tbes, outs: &outs };
    // What stage 3 writes is seen by the next operation of the set only.
    let sending = outs.connect(&tbes);
    let entered = stages.pipe.connect(&arrays, || stages.select(&parts), || stages.look(&parts));
    let n = act::now(&parts, &stages);
    let done = about(n.op.req.line, || act::Act { with: &parts, n: &n }.act());
    observe::connect(&observe::Seen { parts: &parts, stages: &stages, entered, n, done, sending });
    table::machine().check(&[]);
}
