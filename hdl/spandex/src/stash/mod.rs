//! `stash`: a scratchpad of a CU whose words are mapped to global memory, and coherent as those of a DeNovo L1 (cu-and-consistency.md section 8; spandex.md section 5).
//!
//! ```text
//!             +---------------------------------------------------------------+
//!  map ------>| walk ---------------+      stash map, store buffer,           |
//!             |                     v      MSHRs                 -------------+--> l1_req
//!  cu_req --->| S1 --------------> slot: words of the banks, --- walk, alias -+--> l1_wb
//!  cu_rsp <---| <-------------------+     write-back buffer  ---- answers ----+--> l1_rsp_out
//!             |   search: line, words, other mappings <-----------------------+<-- l1_fwd
//!             |       reads and entries whose words have come <---------------+<-- l1_rsp
//!             +---------------------------------------------------------------+
//! ```
//! A device of its own beside the L1 of its CU, with a number of its own, behind an unchanged [`tu-denovo`](crate::tu_denovo): forwards for words that it owns come to it, and the L1 knows nothing of it. What the L1 and
//! the stash of a CU both want goes through the LLC, as between two CUs; a word is owned by one of them at rest, and between them a program orders its accesses as between CUs, by releases and acquires to both.
//!
//! A STASH_MAP lays out `count` elements of `element` words, `stride` words apart in global memory, side by side in the stash. Every word has a state (I, V, O, or P: pending) and the number of the mapping that it belongs to.
//! Loads of words that are not I, and stores to words O or P, are done in one cycle without translation. A load of I words finds the line of the first, and all words of it that the mapping holds: those that are I are
//! read (ReqV) past the L1; the load waits in an MSHR, the next request goes on. A store of I or V words writes them, and puts them into the store buffer, which asks for their ownership by `sb_drain`; they are P until it has come.
//! An acquire makes every V word I; a release waits until all that is P is O. O words outlive kernels, until their space, or their entry of the map, gets another mapping: then they are written back, line by line.
//!
//! A forward is looked up in the mappings of its line, one per step, and answered word state by word state like in the L1; it needs a place on `l1_rsp_out` only.
//!
//! Decisions:
//! - The store buffer keeps no values: those of P words stand in the banks. A word whose removal comes while it is P becomes I at once; it is not asked for again before its entry is done, and if it is stored again meanwhile it is P
//!   for another entry.
//! - An entry of the store buffer, and an MSHR, is of one line and one mapping.
//! - A global word is O or P in one place of the stash at most. A load or store of a word that another mapping owns has it written back first, and goes on when the write-back is closed; copies that another mapping has become I when
//!   the word is stored.
//! - Two mappings that hold a word have a copy each: without an acquire between them, a load by one may get an older value than an earlier load by the other.
//! - A store makes reads of its line under way stale as soon as its line is known: they answer the loads that wait, and are not kept, in no mapping.
//! - A STASH_MAP that names what its entry holds already keeps the words. Otherwise it is walked through row by row, beside accesses to other mappings; its own must wait for the acknowledgement (assertion).
//! - Only what the mapping holds of a line is asked for, and no extras.
//! - `src`: 0 from here, 1 from the LLC, 2 when words came from another device.
//! - The banks take one word each per cycle: passes are the CU's (cu-and-consistency.md section 1).
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/stash.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/stash.svg")]

mod access;
mod banks;
mod done;
mod forward;
mod maps;
mod mshrs;
mod observe;
mod params;
mod port;
mod seek;
mod slot;
pub mod table;
mod turn;
mod walk;

use crate::gpu_l1::releases::Releases;
use crate::gpu_l1::store_buffer::StoreBuffer;
use crate::msg::{Req, Rsp, RspOp, Wb};
use crate::word_l1::WordL1Params;
use crate::word_l1::forward::FwdUnit;
use crate::word_l1::pending::Pending;
use crate::word_l1::wbb::Wbb;
use banks::Banks;
pub use banks::WordState;
use maps::Maps;
use mshrs::{Mshrs, Place};
pub use params::{Inject, STRIDE, StashParams, infos};
pub use port::{StashMap, StashReq, StashRsp};
use seek::Search;
use turn::Turn;
use walk::Walk;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// State that all parts share.
struct Core {
    p: StashParams,
    /// The same for the parts of an L1.
    word: WordL1Params,
    own: Bits,
    maps: Maps,
    banks: Banks,
    search: Search,
    mshrs: Mshrs,
    buffer: StoreBuffer,
    /// Where the words of each entry of the store buffer stand.
    places: Memory<Place>,
    places_in: LaneWriter<Place>,
    pending: Pending,
    wbb: Wbb,
    releases: Releases<Bits>,
    walk: Walk,
    fwd: FwdUnit,
    replies: OutChannel<StashRsp>,
    req: OutChannel<Req>,
    wb: OutChannel<Wb>,
    rsp_out: OutChannel<Rsp>,
}

impl Core {
    fn new(p: &StashParams) -> Core {
        let (s, word) = (&p.spandex, p.word());
        let places = regfile::<Place>("sb_place", s.sb, p.clone());
        Core {
            own: input::<Bits>("own", s.dev_bits()),
            maps: Maps::new(p),
            banks: Banks::new(p),
            search: Search::new(p),
            mshrs: Mshrs::new(p),
            buffer: StoreBuffer::without_data("stash", &word.l1),
            places_in: places.lane_writer("in"),
            places,
            pending: Pending::new(&word),
            wbb: Wbb::new(&word),
            releases: Releases::of_stores("stash", &word.l1, &ID),
            walk: Walk::new(p.row_bits()),
            fwd: FwdUnit::new(s.words()),
            replies: out_channel::<StashRsp>("cu_rsp", p),
            req: out_channel::<Req>("l1_req", s),
            wb: out_channel::<Wb>("l1_wb", s),
            rsp_out: out_channel::<Rsp>("l1_rsp_out", s),
            p: p.clone(),
            word,
        }
    }
}

/// Width of the CU's transaction numbers.
const ID: u32 = 12;

/// Builds the stash.
///
/// # Errors
/// Illegal parameters.
pub fn stash(params: &StashParams) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "stash".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "stash",
        about: "Scratchpad of a CU mapped to global memory, coherent word by word",
        params: params::infos,
        build: |set| stash(&StashParams::from_set(set)?),
    }
}

fn describe(p: &StashParams) {
    doc("Scratchpad of a CU mapped to global memory, coherent word by word.");
    for (key, value) in p.described() {
        param(key, value);
    }
    let core = Core::new(p);
    let rsp = in_channel::<Rsp>("l1_rsp", &p.spandex);
    take_responses(&core, &rsp);
    let turns = turn::Turns::new(&core);
    let slot = slot::Slot::new(&core, &turns, &rsp);
    let plan = slot.plan();
    slot.access(&plan);
    slot.clear_away();
    slot.forward();
    slot.done();
    slot.walk();
    core.search.step(&core, turns.fwd.valid, turns.fwd.msg.line);
    let event = rsp.valid | turns.is(Turn::Done) | turns.is(Turn::Fwd);
    turns.choose(&core, plan.leaves & turns.is(Turn::Cu), event);
    let none = lit_bv(Bv::zero(p.spandex.mshrs));
    core.releases.finish(core.buffer.valid.get(), none, event);
    core.mshrs.finish();
    core.pending.finish();
    core.wbb.finish();
    core.buffer.finish();
    core.maps.finish();
    core.banks.finish();
    table::machine().check(&[]);
}

/// Responses: each is taken when it comes. What nobody has asked for changes nothing.
fn take_responses(core: &Core, rsp: &InChannel<Rsp>) {
    let (s, m) = (&core.p.spandex, &rsp.msg);
    unused_input(&m.dst);
    unused_input(&m.line);
    unused_input(&m.nodata);
    unused_input(&m.kept_s);
    unused_input(&m.dirty);
    unused_input(&m.direct);
    when(rsp.valid, || rsp.take());
    let wide = m.tag.zext(m.tag.width() + 1);
    let mshr = wide.lt(u64::from(s.mshrs));
    let store = !mshr & wide.lt(u64::from(s.mshrs + s.sb));
    let entry = m.tag.slice(0, s.mshr_bits());
    let at = (m.tag - u64::from(s.mshrs)).slice(0, core.word.l1.sb_bits());
    let back = (m.tag - u64::from(s.mshrs + s.sb)).slice(0, core.word.wbb_bits());
    let (busy, out) = (core.mshrs.busy.get().bit_at(m.tag), core.buffer.is_out(at));
    let open = core.wbb.is_open(back);
    when(rsp.valid & mshr & busy, || core.mshrs.answer(m));
    when(rsp.valid & store & out, || core.pending.answer(at, m.mask));
    when(rsp.valid & !mshr & !store & open, || core.wbb.answer(back, m.extra));
    let reads = busy & m.op.is(RspOp::RspV) & (m.mask & !core.mshrs.left(entry)).none();
    let owns = out & m.op.is(RspOp::RspO) & (m.mask & !core.pending.left(at)).none();
    let expected = mux(mshr, reads, mux(store, owns, open & m.op.is(RspOp::RspWb)));
    let text = "a response answers outstanding words of an entry that has asked so";
    assert_always("stash_response", !rsp.valid | expected, text);
}
