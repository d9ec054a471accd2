//! `spandex-llc`: one bank of the Spandex LLC (spandex.md section 4).
//!
//! ```text
//!  rsp_in  --+    S0         S1            S2            S3
//!  mem_rsp --+- select -- tags, TBEs -- the words -- commit --+--> answers ---------------------> rsp
//!  wb      --+                                        |   |   +--> forwards --+- owner by owner -> fwd
//!  req     --+                                        |   +------> orders ----|------------------> mem_req
//!            |                                        v                       |
//!            +----- ready ------- TBEs and stall lists --- still to be sent --+
//! ```
//! The data field of an owned word holds its owner's number. A request that can be answered or forwarded at once never blocks its line; one that needs sharers invalidated or words revoked,
//! or its line from memory, takes a TBE and blocks it. When it has all, the request commits: **all its words change in one step**, each by its own state.
//!
//! | who waits | for whom |
//! | --- | --- |
//! | RSP, memory | nobody: they change their TBE and line, what follows is the TBE's |
//! | WB | a slot for RspWB; requests leave one free |
//! | commits and requests | slots for one answer, one set of forwards, one order to memory; requests also a TBE and a place in the stall memory |
//!
//! | bank | states |
//! | --- | --- |
//! | line | I, V, S; a word of it is O if its owned bit is set |
//! | TBE | Fill, Phase1, Evict, List |
//!
//! Decisions where the specification is silent, or differs:
//! - Words that go from owner to owner leave the line's dirty bit alone: RspO+data of the old owner carries its own, which the new one gives back. RspO+data of the bank has it clear, for what
//!   was dirty before stays so in the line.
//! - One operation of a *set* is in the pipeline, not only of a line.
//! - A miss that finds every way blocked does not wait at the channel but in the stall list of a TBE of its set.
//! - A miss that replaces a line with owners or sharers is that TBE's request: when all has come back, the TBE goes on with it. It blocks both lines. While a list replays, its line's way
//!   stays blocked for others.
//! - Words revoked in an S line none of whose wanted words is free to its sharers (ReqWT+data on owned words alone) leave the line S: V has no sharers, and these have not got the words.
//! - A commit's forwards are one entry of a queue, sent owner by owner; that it is free stands for min(W, N_DEV) free slots.
//! - Extras go only with a RspV that answers something.
//! - ReqS option 3 treats its words as ReqO+data, option 2 as ReqV without extras.
//! - Requests enter only while a TBE and a place in the stall memory are free, also those that will need neither: so none has to leave the pipeline backwards.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/spandex-llc.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/spandex-llc.svg")]

mod act;
mod decide;
mod observe;
mod outputs;
mod params;
mod stages;
pub mod table;
mod tbes;
mod types;

pub use params::{LlcFault, LlcParams, ReqsPolicy, RvkoGran, SharerMode};

use crate::bank;
use crate::bank::arrays::Arrays;
use crate::bank::words::{Word, word_machine};
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// The block as listed.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "spandex-llc",
        about: "Bank of the Spandex LLC: word ownership, sharers, phase 1, stall lists",
        params: params::infos,
        build: |set| spandex_llc(&LlcParams::from_set(set)?),
    }
}

/// Builds a bank. Channels in: `req` ([`Req`](crate::msg::Req)), `wb` ([`Wb`](crate::msg::Wb)), `rsp_in` ([`Rsp`](crate::msg::Rsp): Ack and RspRvkO), `mem_rsp`
/// ([`MemRsp`](crate::msg::MemRsp)); out: `fwd` ([`Fwd`](crate::msg::Fwd)), `rsp` ([`Rsp`](crate::msg::Rsp)), `mem_req` ([`MemReq`](crate::msg::MemReq)). Input `own`: the bank's node,
/// constant.
///
/// # Errors
/// A parameter outside its range.
pub fn spandex_llc(p: &LlcParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let text = "Bank of the Spandex LLC (spandex.md section 4).";
    bank::module("spandex-llc", (&p.module_name(), text), p.listed(), || describe(p))
}

fn describe(p: &LlcParams) {
    let met = table::met(p);
    word_machine(met).check(if met.shares { &[] } else { &[Word::S] });
    let own = input::<Bits>("own", p.bank.s.node_bits());
    let stages = stages::Stages::of(&p.bank, p, p.kept());
    let arrays = Arrays::new(&p.bank, p.kept());
    let tbes = tbes::Tbes::new(p);
    let outs = outputs::Outputs::new(p, own);
    let parts = stages::Parts { p, own, arrays: &arrays, tbes: &tbes, outs: &outs };
    // What stage 3 writes is seen by the next operation of the set only.
    let sending = outs.connect(&tbes);
    let entered = stages.pipe.connect(&arrays, || stages.select(&parts), || stages.look(&parts));
    let n = decide::now(&parts, &stages);
    let d = about(n.req.line, || decide::decide(&parts, &n));
    let crosses = p.fault != LlcFault::NoCross;
    let act = types::Act { with: &parts, n: &n, d: &d, bank: p.bank.clone(), flex: p.flex, crosses };
    let done = act.act();
    observe::connect(&observe::Seen { bank: "llc", act: &act, stages: &stages, entered, done, sending });
}
