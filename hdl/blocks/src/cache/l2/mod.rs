//! One bank of the L2 (rec.md section 6): write-back, non-inclusive, coherent by the home's directory without acknowledgements.
//!
//! ```text
//!  inv ────────────► InvSink ─┐                        ┌─► local_rsp
//!  (ends of fills) ► Fill ────┤  S0      S1        S2  ├─► rsp_out
//!  remote_req ─────► ReqSink ─┼─ select ─ decide ─ data ┼─► req_out
//!  local_req ──────► ReqSink ─┘  │         │           └─► mem_req
//!  rsp_in, mem_rsp ► landing, MSHRs ─► Fill (replay)
//!  dir_req, dir_rsp ◄──► DirOps      fence_cmd, fence_done ◄──► Fence     order, ordered ◄──► Order
//! ```
//!
//! S0 presents the set to the tag array, S1 compares and decides, S2 reads and writes the data array. Arrays show what was
//! written the cycle before, so no stage forwards to another. One lookup enters per cycle.
//!
//! With `downgrade` the next home is told when the last clean line of a group leaves (`down.rs`). With `write_back` stores stay in the first bank on their way
//! that may hold them, as dirty bytes under a mask, until a release, a request that must go on, or another store's need for room writes them on (`held.rs`).
//!
//! With `acks` (GPU-VI) the answer to a read of another node waits until the directory has performed the read (`reads.rs`), and a drain waits for all writes that are
//! under way here, whosesoever: so nobody releases what it has read of a store that is not complete.
//!
//! The published hit time of 30 cycles is that of the whole path; the bank itself takes 3, the crossbar adds the rest.
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/l2-bank.svg")]

pub(crate) mod alu;
mod data;
mod decide;
mod dirops;
mod down;
mod drops;
mod fence;
mod fill;
mod follow;
mod held;
pub(crate) mod mshr;
mod observe;
mod observe_hier;
mod order;
mod outputs;
mod params;
pub(crate) mod queue;
mod reads;
mod select;
mod sinks;
pub mod tables;
mod tags;
pub(crate) mod types;

#[cfg(test)]
mod tests;

pub use params::{Caching, L2Params, infos_of_kept, read_kept};

use crate::registry::{BlockError, BlockInfo, ParamSet};
use decide::Parts;
use select::Needs;
use weft_rtl::prelude::*;

/// A kind of L2 banks: what protocols choose from, or bring.
pub struct BankKind {
    /// The block as listed.
    pub info: BlockInfo,
    /// Builds one.
    pub build: fn(&L2Params) -> Result<Arc<Module>, ElabErrors>,
    /// Parameter sets at which it is compared.
    pub sets: [&'static str; 3],
}

/// The block as listed.
pub const INFO: BlockInfo = BlockInfo {
    name: "l2-bank",
    about: "One bank of a GPU's L2: home side and requester side, replay lists, fences",
    params: params::infos,
    build: build_from,
};

/// The bank of protocols that bring none of their own.
pub static KIND: BankKind = BankKind {
    info: INFO,
    build: l2_bank,
    sets: [
        "sets=2 ways=2 mshrs=4 pool=4 banks=1 l1s=1 l1_mshrs=1",
        "gpus=3 home=1 sets=3 ways=4 mshrs=4 pool=8 banks=2 caching=l1_only group=8",
        "line=128 sets=2 ways=2 mshrs=5 pool=6 dir=0 group=1",
    ],
};

fn build_from(set: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let p = params::read(set)?;
    l2_bank(&p).map_err(|errors| BlockError::Elab { block: INFO.name.into(), errors })
}

/// Builds a bank. Channels: `local_req`, `remote_req`, `rsp_in`, `inv`, `mem_rsp`, `fence_cmd`, `order` in (and `dir_rsp`
/// with a directory); `local_rsp`, `req_out`, `rsp_out`, `inv_done`, `mem_req`, `fence_done`, `ordered` out (and `dir_req`). In a hierarchy also
/// `far_req`, `far_cmd` in (and `recv_done` with a directory); `far_out`, `far_done` out (and `recv_out`).
///
/// # Errors
/// Mistakes in the description; parameters are checked where they are read.
pub fn l2_bank(p: &L2Params) -> Result<Arc<Module>, ElabErrors> {
    Module::build(&p.module_name(), ModuleKind::Block, || {
        doc("One bank of the L2 of a GPU (rec.md section 6).");
        for (name, value) in [("home", p.home), ("sets", p.sets), ("ways", p.ways), ("pool", p.pool)] {
            param(name, value);
        }
        for (name, value) in [("gpus", p.sys.nodes()), ("line", p.sys.line), ("home_shift", p.sys.home_shift)]
        {
            param(name, value);
        }
        let tags = tags::Tags::new(p);
        let m = mshr::Mshrs::new(p);
        let ops = dirops::DirOps::new(p);
        let outs = outputs::Outputs::new(p);
        let fill = fill::Fill::new(p);
        let fence = fence::Fence::new(p);
        let held = p.write_back.then(|| held::Held::new(p));
        let down = p.downgrade.then(|| down::Down::new(p));
        let order = order::Order::new(p);
        let select = select::Select::new(p);
        let data = data::DataStage::new(p);
        tags.initialise();
        fill.connect(&m, &ops, &outs);
        let needs = Needs { m: &m, ops: &ops, outs: &outs, fence: &fence, down: down.as_ref() };
        let choice = select.connect(&needs, &tags, &fill);
        let parts = Parts {
            p,
            select: &select,
            tags: &tags,
            m: &m,
            ops: &ops,
            outs: &outs,
            fill: &fill,
            fence: &fence,
            down: down.as_ref(),
            held: held.as_ref(),
        };
        let decision = decide::connect(&parts);
        follow::connect(&parts, &decision);
        data.accept(&decision, held.as_ref());
        data.connect(&ops, &outs, &fill, held.as_ref());
        sinks::land_answers(p, &m, &fence);
        let answer = ops.take_answer(down.as_ref().map(|down| |answer, told| down.connect(answer, told)));
        outs.answer_finished(&ops, |epoch| fence.completed(epoch));
        fence.connect(&outs, &ops, fill.state.get().is(fill::FillState::Idle));
        if let Some(drops) = &fence.drops {
            drops.connect(&tags, &m, &outs, select.s1_valid.get());
        }
        order.connect(&ops);
        observe::connect(&parts, &choice, &decision, &data, answer);
        ops.connect();
        m.connect();
        outs.connect();
    })
}
