//! One bank of a GPU's L2 in MGPU-TSM: `mgcc-l2`, write-through, coherent by timestamps or not at all (mgcc.md section 5).
//!
//! ```text
//!  l1_req ─────────────► requests ─┐   S0        S1         S2
//!  lists of MSHRs ─────► replays ──┼─ select ─ decide ─── data ──┬─► l1_rsp
//!  mem_rsp ► landing ──► fills ────┘                             └─► mem_req
//!            landing ──► walker: reads at the head of a list ──────► l1_rsp
//!  roll, maint ► sweep ► roll_ack, maint_done
//! ```
//!
//! S0 presents the set to the tag array, S1 compares and decides, S2 reads and writes the data array. Arrays show what was written the cycle before, so no
//! stage forwards to another. One operation enters per cycle; a hit takes three.
//!
//! Each line has one transaction at most: an MSHR. Requests of its line wait in its list. An answer of memory lands in a place of its own, so that memory never
//! waits; it passes the pipeline as soon as `l1_rsp` has room, is installed if its lease is still of use, and answers who asked first. Reads that lead the list
//! are answered from the landing place as far as the lease covers the clock at which each was taken; the rest is replayed in order, and what needs a
//! transaction of its own takes the MSHR over.
//!
//! Blocks keep stamps exactly as granted. A new epoch - by its own message or by a request or an answer that is ahead - sets the clock to {epoch, 0} and
//! drops every block, one set per cycle; locked blocks and MSHRs stay.
//!
//! `l2-wb` is the same bank with another stage 1 (`back.rs`): write-back, write-allocate, without timestamps. A store of a line that is here makes its bytes dirty and
//! is answered at once; a miss keeps a way. Dirty bytes that are in the way - the victim's, or the line's own before an atomic or LD_SYNC - are written first, and
//! what waits for that stays in the list and is replayed when memory has acknowledged. Requests that keep nothing go past the bank. A command writes all dirty
//! bytes back, and drops all lines if it is to (`flush.rs`).
//!
//! With `home` `l2-wb` is its memory's only cache, as in MGPU-RDMA ([`crate::rdma`]): all operations of a line meet in it, so it carries atomics out, and LD_SYNC is a load.
//!
//! `gtsc-l2` is `l2-wb` as the ordering point of G-TSC ([`crate::gtsc`]): it gives stamps (`lease.rs`) and carries atomics out.
//!
//! # Pictures
//!
//! `mgcc-l2`:
//!
#![doc = include_str!("../../pictures/mgcc-l2.svg")]
//!
//! `l2-wb`:
//!
#![doc = include_str!("../../pictures/l2-wb.svg")]

mod back;
pub mod back_table;
mod clock;

mod decide;
mod decision;
mod flush;
mod lease;
mod mshr;
mod observe;
mod observe_back;
mod observe_common;
mod observe_lease;
mod outputs;
mod params;
mod port;
mod queue;
mod select;
pub mod table;
mod tags;
mod types;
mod walker;

pub(crate) use params::sizes;
pub use params::{BackKind, L2Params, Policy};
pub use types::LineState;

use crate::msg::UpRsp;
use decide::Parts;
use select::Needs;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// The block as listed.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "mgcc-l2",
        about: "Write-through bank of the L2, coherent by timestamps (MGCC) or not at all",
        params: params::through_infos,
        build: |set| mgcc_l2(&L2Params::from_set(set)?),
    }
}

/// The write-back block as listed.
pub fn back_info() -> BlockInfo {
    BlockInfo {
        name: "l2-wb",
        about: "Write-back bank of the L2 without coherence, with a mask of dirty bytes per line",
        params: params::back_infos,
        build: |set| l2_wb(&L2Params::back_from_set(set)?),
    }
}

/// Builds a write-through bank. Channels: `l1_req`, `mem_rsp`, `roll`, `maint` in; `l1_rsp`, `mem_req`, `roll_ack`, `maint_done` out; input `own_gpu`.
///
/// # Errors
/// A parameter outside its range, or those of a write-back bank.
pub fn mgcc_l2(p: &L2Params) -> Result<Arc<Module>, BlockError> {
    build(
        p,
        Policy::Through,
        "mgcc-l2",
        "Write-through bank of the L2 of a GPU in MGPU-TSM (mgcc.md section 5).",
    )
}

/// Builds a write-back bank, with the same ports. A Roll is only acknowledged.
///
/// # Errors
/// A parameter outside its range, or those of a write-through bank.
pub fn l2_wb(p: &L2Params) -> Result<Arc<Module>, BlockError> {
    build(
        p,
        Policy::Back,
        "l2-wb",
        "Write-back bank of the L2 of a GPU, without coherence (mgcc.md section 5).",
    )
}

/// Builds a bank of G-TSC ([`crate::gtsc`]), with the ports of `l2-wb`, the input `lease` and the channel `roll_ask`.
///
/// # Errors
/// A parameter outside its range, or those of another bank.
pub fn gtsc_l2(p: &L2Params) -> Result<Arc<Module>, BlockError> {
    build(
        p,
        Policy::Back,
        "gtsc-l2",
        "Write-back bank of the L2 of G-TSC, ordering point of its lines (mgcc.md section 14).",
    )
}

fn build(p: &L2Params, policy: Policy, block: &str, about: &str) -> Result<Arc<Module>, BlockError> {
    p.validate(policy)?;
    if p.block() != block {
        let (key, legal) = ("coherence".into(), "Gtsc for gtsc-l2; Mgcc, None for others".into());
        let (value, problem) = (format!("{:?}", p.coherence), "it is another block's".into());
        return Err(BlockError::Illegal { block: block.into(), key, value, problem, legal });
    }
    Module::build(&p.module_name(), ModuleKind::Block, || {
        doc(about);
        for (name, value) in [("size", p.size), ("ways", p.ways), ("pool", p.pool)] {
            param(name, value);
        }
        for (name, value) in [("ts", p.tsm.ts), ("eb", p.tsm.eb), ("mshrs", p.tsm.l2_mshrs)] {
            param(name, value);
        }
        param("inject", p.inject.name());
        describe(p);
    })
    .map_err(|errors| BlockError::Elab { block: block.into(), errors })
}

fn describe(p: &L2Params) {
    let tags = tags::Tags::new(p);
    let m = mshr::Mshrs::new(p);
    let outs = outputs::Outputs::new(p);
    let clock = p.coherent().then(|| clock::Clock::new(p));
    let clock = clock.as_ref();
    let sweep = clock::Sweep::new(p);
    let walker = walker::Walker::new(p);
    let select = select::Select::new(p, &sweep);
    select.land(&m);
    let offer = walker.offer(p, &m, clock);
    let flush = p.back().then(|| flush::Flush::new(p));
    let flush = flush.as_ref();
    let leases = p.gtsc().then(|| lease::Leases::new(p));
    let leases = leases.as_ref();
    let (tags, m, outs, walker, sweep) = (&tags, &m, &outs, &walker, &sweep);
    let needs = Needs { p, tags, m, outs, walker, sweep, clock, flush, leases };
    let choice = select.connect(&needs);
    let parts = Parts { p, select: &select, tags, m, outs, walker, clock };
    match flush {
        Some(flush) => {
            let (d, grant) = back::connect(&parts, flush, sweep, leases);
            let served = send(&parts, &offer).0;
            let seen = observe_back::Seen { parts: &parts, choice: &choice, d: &d, sweep, flush, served };
            observe_back::connect(&seen);
            if let (Some(leases), Some(clock), Some(grant)) = (leases, clock, grant) {
                leases.connect(clock, choice.rolls);
                observe_lease::connect(&seen, leases, clock, &grant);
            }
        }
        None => {
            let d = decide::connect(&parts);
            let (served, noted) = send(&parts, &offer);
            let seen = observe::Seen { parts: &parts, choice: &choice, d: &d, sweep, served, noted };
            observe::connect(&seen);
        }
    }
    m.connect();
}

/// Stage 2 and the outputs; whether the walker's answer and an EvictNote were sent.
fn send(parts: &Parts, offer: &UpRsp) -> (Bool, Bool) {
    let Parts { m, outs, walker, .. } = parts;
    outs.connect();
    let served = outs.rsp.connect_in_turn("walk_sent", walker.wants.get(), offer);
    walker.sent(m, served);
    let (note_wants, note) = outs.note_message();
    (served, outs.req.connect_when_idle("note_sent", note_wants, &note))
}
