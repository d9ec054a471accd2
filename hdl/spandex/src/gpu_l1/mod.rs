//! `gpu-l1`: the L1 of one CU with GPU coherence (spandex.md section 7).
//!
//! ```text
//!              +-------------------------------------------------------+
//!  cu_req ---->| S1 ---------+                                         |
//!              |             v                                         |
//!              | releases -> slot: lines, MSHRs, store buffer --+------+--> l1_req
//!              |             ^                                  |      |
//!  cu_rsp <----| delay <-----+            write-throughs -------+      |
//!              |             +--------- answer at work <---------------+<-- l1_rsp
//!              +-------------------------------------------------------+
//! ```
//! Lines are I or V. A load that finds no valid copy reads the line (Rd: ReqV); stores go into the store buffer, update a valid copy, and leave as write-throughs (Wt: ReqWT), by
//! `sb_drain`; atomics and accesses that synchronise are done at the LLC (At: ReqWT+data), and the own copy
//! goes. An acquire makes every line I in one cycle; a release waits for every store that
//! is buffered or at the LLC when it comes to its turn. The translation unit splits, gathers and repeats.
//!
//! One slot per cycle, chosen one cycle ahead, when its row of the arrays is presented: the answer at work, then an operation whose release is complete, then the CU. A slot
//! does everything at once, or nothing when something it needs is not free; then it is chosen again. A write-through leaves beside it, and has `l1_req` first. Each answer is
//! shown `latency` cycles after its slot; a request is taken into S1, and has its slot in the next cycle at the earliest.
//!
//! Decisions:
//! - The victim is chosen when a line comes in, not when it is asked for: replacing a V line needs no message, and the state stays one bit per line.
//! - A line under way whose read is stale may be read again at once (R1 allows it for ReqV). A read that is opened while an atomic of its line is at the LLC is born stale.
//! - Stores of some bytes of a word are At with Merge, one for all words with the same bytes; they are kept in order with other accesses to their words, since the CU takes them for complete.
//! - Atomics to one word may overtake one another: the CU waits where order matters (its same-word rule).
//! - A release does not wait for atomics of other waves that return a value: until it is here no wave of
//!   this CU has seen what they do, so nothing that the release publishes depends on them. Those of the
//!   releasing wave are answered before the CU sends the release.
//! - `want_ack` is answered when everything that was buffered by then is performed.
//! - Without `scopes` each access orders as at system scope. With it (cu-and-consistency.md section 4, GH) atomics and synchronising stores of CU scope are done here, in one slot, on the youngest
//!   words: those of a valid copy, which shows what is buffered, or of the buffer; a synchronising load of CU scope is a plain one. Where words are missing the line is read, and the operation waits at the head
//!   for it; what it brings may be gone again when its slot comes, then it is read again: what can take it away is under way already. An atomic of wider scope waits until nothing of its line is buffered.
//! - `hold`: while an operation waits for a release no store and nothing of CU scope is taken, so that those that come meanwhile find nothing left to drain. Else they pass.
//! - `src`: 0 from here, 1 from the LLC, 2 when words came from another device's L1.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/gpu-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/gpu-l1.svg")]

mod arrays;
mod fill;
mod mshrs;
mod observe;
pub(crate) mod op;
mod params;
pub(crate) mod releases;
pub(crate) mod reply;
mod slot;
pub(crate) mod store_buffer;
pub mod table;
mod turn;

use crate::msg::{GpuOp, GpuReq, GpuRsp};
use arrays::Arrays;
use fill::Filler;
use mshrs::Mshrs;
pub use op::Kind;
pub(crate) use params::infos;
pub use params::{GpuL1Params, Inject, SbDrain};
use releases::Releases;
use reply::Replies;
use store_buffer::StoreBuffer;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// State that all parts share.
struct Core {
    p: GpuL1Params,
    arrays: Arrays,
    mshrs: Mshrs,
    buffer: StoreBuffer,
    releases: Releases,
    filler: Filler,
    replies: Replies,
    req: OutChannel<GpuReq>,
}

impl Core {
    fn new(p: &GpuL1Params) -> Core {
        Core {
            p: p.clone(),
            arrays: Arrays::new(p),
            mshrs: Mshrs::new(p),
            buffer: StoreBuffer::new("gpu_l1", p),
            releases: Releases::new("gpu_l1", p, p.inject == Inject::EarlyRelease),
            filler: Filler::new(p),
            replies: Replies::new(p),
            req: out_channel::<GpuReq>("l1_req", &p.spandex),
        }
    }
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn gpu_l1(params: &GpuL1Params) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "gpu-l1".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "gpu-l1",
        about: "L1 of one CU with GPU coherence: write-through, self-invalidation, atomics at the LLC",
        params: params::infos,
        build: |set| gpu_l1(&GpuL1Params::from_set(set)?),
    }
}

fn describe(p: &GpuL1Params) {
    doc("L1 of one CU with GPU coherence: write-through, self-invalidation, atomics at the LLC.");
    for (key, value) in p.described() {
        param(key, value);
    }
    let core = Core::new(p);
    let rsp = in_channel::<GpuRsp>("l1_rsp", &p.spandex);
    let (written, entry) = take_answers(&core, &rsp);
    let ready = core.arrays.initialise();
    let turns = turn::Turns::new(&core, ready);
    let slot = slot::Slot::new(&core, &turns);
    let plan = slot.carry_out();
    let answer = written | core.filler.ends();
    turns.choose(&core, plan.leaves & turns.is(turn::Turn::Cu), entry, answer);
    observe::observe(&core, &turns, &slot, &plan);
    // Nobody here has seen what an atomic that returns a value does; the CU waits for those of the releasing
    // wave.
    core.releases.finish(core.buffer.valid.get(), core.mshrs.storing(), answer);
    core.filler.finish();
    core.mshrs.finish();
    core.buffer.finish();
    core.arrays.finish();
    core.replies.finish();
    table::machine().check(&[]);
}

/// Answers to write-throughs need no slot; of the others one is at work. True for the former, and the MSHR of the latter. What nobody has asked for changes nothing.
fn take_answers(core: &Core, rsp: &InChannel<GpuRsp>) -> (Bool, Bits) {
    let (s, m) = (&core.p.spandex, &rsp.msg);
    let writes = (rsp.valid & m.op.is(GpuOp::Wt)).named("writes");
    let takes = rsp.valid & !m.op.is(GpuOp::Wt) & core.filler.open();
    let entry = m.tag.slice(0, s.mshr_bits());
    let at = (m.tag - u64::from(s.mshrs)).slice(0, core.p.sb_bits());
    when(writes | takes, || rsp.take());
    let written = (writes & core.buffer.is_out(at)).named("written");
    when(written, || core.buffer.answered(at));
    let busy = core.mshrs.busy.get().bit_at(m.tag);
    when(takes & busy, || core.filler.take(entry, m));
    let (id, text) = table::WRITTEN;
    cover(id, written, text);
    let text = "an answer to a write-through names an entry that is out";
    assert_always("gpu_l1_written_out", !writes | written, text);
    let asked = busy & core.mshrs.is_atomic(entry).eq(m.op.is(GpuOp::At));
    assert_always("gpu_l1_answer_asked", !takes | asked, "an answer names an MSHR that has asked so");
    (written, entry)
}
