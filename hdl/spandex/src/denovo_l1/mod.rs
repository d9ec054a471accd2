//! `denovo-l1`: an L1 with DeNovo coherence (spandex.md sections 5 and 7). It speaks Spandex itself.
//!
//! ```text
//!              +----------------------------------------------------------+
//!  cu_req ---->| S1 ---------+              store buffer, MSHRs ----------+--> l1_req
//!              | releases -> slot: words, MSHRs, store buffer, --- evict -+--> l1_wb
//!  cu_rsp <----| delay <-----+     write-back buffer  ------- answers ----+--> l1_rsp_out
//!              |             ^                                            |<-- l1_fwd
//!              |             +--- entries whose words have come <---------+<-- l1_rsp
//!              +----------------------------------------------------------+
//! ```
//! Words are I, V or O. Loads read the words that they miss (ReqV); stores to owned words are done in place, others are buffered and ask for ownership (ReqO), by `sb_drain`; atomics and
//! byte stores are done here on owned words, and ask for ownership and data otherwise (ReqO+data). An acquire makes every V word I; a release waits for all ownership asked for. Owned words of
//! a line that is replaced go to the write-back buffer.
//!
//! A response is taken when it comes; it changes its entry only. When all words of an entry have come it gets a slot: before forwards, which come before the store buffer and the CU.
//! A forward is answered word state by word state, in one slot each; it needs a place on `l1_rsp_out` only.
//!
//! Decisions:
//! - A line keeps its way from its first request to the end of its last (`pinned`).
//! - Every owned word counts as dirty.
//! - Stores to a word for which data is being asked wait, and so do loads of words that are being written back (R2).
//! - There is one fresh read entry per line: further loads join it, and ask for what else they miss with its transaction.
//! - What was delayed behind an operation follows it as if it came then, before any other forward.
//! - An operation with a release concerns one word. Other atomics on several words do those that are owned first, and are answered in parts.
//! - `atomics=through`: the LLC carries atomics on words that are not owned out (ReqWT+data). The own copy goes when the request leaves and is not installed again before the answer; the answer, READ too,
//!   leaves I. The line needs no way meanwhile. Byte stores ask for ownership and data in any case.
//! - `regions`: a load with `region` fills its line with RO. Other loads do not see V words of such a line: they read again, the other V words go and the line is RO no more. A region consists of whole
//!   lines and is not written while it is read-only (assertion). A kernel's beginning drops its lines too.
//! - A word whose removal is recorded is not read or written by the CU between the operation that it waits for and the removal: the remover may have done its store already.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/denovo-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/denovo-l1.svg")]

mod arrays;
mod done;
mod forward;
mod misses;
mod params;
mod pending;
mod slot;
pub mod table;
mod turn;
mod wbb;

use crate::gpu_l1::releases::Releases;
use crate::gpu_l1::reply::Replies;
use crate::gpu_l1::store_buffer::StoreBuffer;
use crate::msg::{Req, Rsp, RspOp, Wb};
use arrays::Arrays;
use forward::FwdUnit;
use misses::Misses;
pub use params::{Atomics, DenovoL1Params, Inject};
use pending::Pending;
use wbb::Wbb;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// State that all parts share.
struct Core {
    p: DenovoL1Params,
    own: Bits,
    arrays: Arrays,
    misses: Misses,
    buffer: StoreBuffer,
    pending: Pending,
    wbb: Wbb,
    releases: Releases,
    replies: Replies,
    fwd: FwdUnit,
    req: OutChannel<Req>,
    wb: OutChannel<Wb>,
    rsp_out: OutChannel<Rsp>,
}

impl Core {
    fn new(p: &DenovoL1Params) -> Core {
        let s = &p.l1.spandex;
        Core {
            own: input::<Bits>("own", s.dev_bits()),
            arrays: Arrays::new(p),
            misses: Misses::new(p),
            buffer: StoreBuffer::new("denovo_l1", &p.l1),
            pending: Pending::new(p),
            wbb: Wbb::new(p),
            releases: Releases::new("denovo_l1", &p.l1),
            replies: Replies::new(&p.l1),
            fwd: FwdUnit::new(s.words()),
            req: out_channel::<Req>("l1_req", s),
            wb: out_channel::<Wb>("l1_wb", s),
            rsp_out: out_channel::<Rsp>("l1_rsp_out", s),
            p: p.clone(),
        }
    }

    /// An acquire; `kernel`: a kernel begins.
    fn flash(&self, kernel: Bool) {
        self.arrays.flash(kernel);
        self.misses.flash();
    }
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn denovo_l1(params: &DenovoL1Params) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "denovo-l1".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "denovo-l1",
        about: "L1 with DeNovo coherence: ownership of words, self-invalidation",
        params: params::infos,
        build: |set| denovo_l1(&DenovoL1Params::from_set(set)?),
    }
}

fn describe(p: &DenovoL1Params) {
    doc("L1 with DeNovo coherence: ownership of words, self-invalidation.");
    for (key, value) in p.described() {
        param(key, value);
    }
    let core = Core::new(p);
    let rsp = in_channel::<Rsp>("l1_rsp", &p.l1.spandex);
    take_responses(&core, &rsp);
    let ready = initialise(&core);
    let turns = turn::Turns::new(&core, ready);
    let slot = slot::Slot::new(&core, &turns, &rsp);
    let plan = slot.plan();
    slot.access(&plan);
    slot.forward();
    slot.done();
    let event = rsp.valid | turns.is(turn::Turn::Done) | turns.is(turn::Turn::Fwd);
    turns.choose(&core, plan.leaves & turns.is(turn::Turn::Cu), event);
    // Reads need not be waited for; byte stores and atomics of before must be done.
    let owns = core.misses.owns();
    core.releases.finish(core.buffer.valid.get(), owns, event);
    core.misses.finish();
    core.pending.ready.finish();
    core.wbb.finish();
    core.buffer.finish();
    core.arrays.finish();
    core.replies.finish();
}

/// Responses: each is taken when it comes. What nobody has asked for changes nothing.
fn take_responses(core: &Core, rsp: &InChannel<Rsp>) {
    let (s, m) = (&core.p.l1.spandex, &rsp.msg);
    unused_input(&m.dst);
    unused_input(&m.src);
    unused_input(&m.nodata);
    unused_input(&m.kept_s);
    unused_input(&m.dirty);
    unused_input(&m.direct);
    when(rsp.valid, || rsp.take());
    let wide = m.tag.zext(m.tag.width() + 1);
    let mshr = wide.lt(u64::from(s.mshrs));
    let store = !mshr & wide.lt(u64::from(s.mshrs + s.sb));
    let at = (m.tag - u64::from(s.mshrs)).slice(0, core.p.l1.sb_bits());
    let back = (m.tag - u64::from(s.mshrs + s.sb)).slice(0, core.p.wbb_bits());
    let entry = m.tag.slice(0, s.mshr_bits());
    let (busy, out) = (core.misses.busy.get().bit_at(m.tag), core.buffer.is_out(at));
    let open = core.wbb.is_open(back);
    when(rsp.valid & mshr & busy, || core.misses.answer(m));
    when(rsp.valid & store & out, || core.pending.answer(at, m.mask));
    when(rsp.valid & !mshr & !store & open, || core.wbb.answer(back, m.extra));
    let owns = mux(core.misses.is_through(entry), m.op.is(RspOp::RspWtData), m.op.is(RspOp::RspOData));
    let wants = mux(core.misses.is_own(entry), owns, m.op.is(RspOp::RspV));
    let read = busy & wants & (m.mask & !core.misses.left(entry)).none();
    let asked = out & m.op.is(RspOp::RspO) & (m.mask & !core.pending.left(at)).none();
    let open = open & m.op.is(RspOp::RspWb);
    let expected = mux(mshr, read, mux(store, asked, open));
    let text = "a response answers outstanding words of an entry that has asked so";
    assert_always("denovo_l1_response", !rsp.valid | expected, text);
}

/// After reset writes the ages, one set per cycle; true when done.
fn initialise(core: &Core) -> Bool {
    let done = reg::<Bool>("init_done", ());
    let row = reg::<Bits>("init_row", core.p.l1.set_bits());
    when(!done.get(), || {
        core.arrays.clear_ages(row.get());
        row.set(row.get() + 1);
        when(row.get().all(), || done.set(true));
    });
    done.get()
}
