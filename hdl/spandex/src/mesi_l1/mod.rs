//! `mesi-l1`: the L1 of a core with MESI coherence (spandex.md section 7). What is below it speaks [plain MESI](crate::mesi_port): a Spandex translation unit, or the client of a MESI
//! directory.
//!
//! ```text
//!              +-------------------------------------------------------+
//!  cu_req ---->| S1 --+                            MSHRs --------------|--> l1_req
//!              |      +-- turn --> slot: row, lists --> Put, Found ----|--> l1_up
//!  cu_rsp <----|<-- answers ------------+   ^   ^       Done           |
//!              |                            |   +----------------------|<-- ext
//!              |              filler -------+--------------------------|<-- l1_down
//!              +-------------------------------------------------------+
//! ```
//!
//! One slot per cycle, chosen one cycle ahead, when its row of the arrays is presented: answer, lookup from below, core. A slot looks its line up and does everything at once, or
//! nothing when something it needs is not free; then it is chosen again. A hit is answered in the cycle after its slot.
//!
//! | state of a line | meaning |
//! | --- | --- |
//! | I, S, E, M | as ever; E and M are the specification's O |
//! | P | pending: the way is reserved for an answer, its MSHR holds the operations that wait |
//! | WE, WM | the specification's WBP, clean or dirty: some words are gone, the others are written back from here; the core waits |
//!
//! Decisions where the specification is silent:
//! - **The store buffer is the lists of the MSHRs.** Any operation on a pending line joins its list, in order; so a load sees older stores, and a store of the same core is never
//!   overtaken. A store without `want_ack` is complete for the core when listed; Rel, Kend and accesses that release (`sem`) wait
//!   at the head until no store or atomic is listed.
//! - **A shared line that is upgraded is not read any more**: loads join the list. So a removal or invalidation that meets the upgrade has no copy to drop.
//! - **A list is closed** by anything from below that takes the pending line or copy away: what comes later waits outside and asks again. That is needed for Inv (use once) and for
//!   ownership given up without data, whose new owner may already have written; for other removals it only bounds the list.
//! - A load that synchronises needs ownership, as section 7 says of every access that does; `sync_own = 0` lets it read a shared copy, which Inv and Ack protect too.
//! - `weak_reads`: with `REQS_POLICY` = opt2 nobody invalidates what a GetS brings, so an acquire closes the lists that ask for shared lines. Otherwise an acquire does nothing.
//! - 32-bit atomics only, for a word is the unit of ownership; several words of a line may share one.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/mesi-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/mesi-l1.svg")]

mod arrays;
mod fill;
mod mshrs;
mod observe;
mod op;
pub(crate) mod params;
mod plan;
mod stage;
pub mod table;
mod turn;

use crate::mesi_port::MesiUp;
use arrays::Arrays;
use fill::Filler;
use mshrs::Mshrs;
pub use params::{MesiL1Inject, MesiL1Params};
use weft_blocks::msg::CuRsp;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// State that all parts share.
struct Core {
    p: MesiL1Params,
    arrays: Arrays,
    mshrs: Mshrs,
    filler: Filler,
    cu_rsp: OutChannel<CuRsp>,
    up: OutChannel<MesiUp>,
    /// Entries of the write-back buffer that are known to be free.
    credits: Reg<Bits>,
    /// A Put is sent in this cycle.
    put: Wire<Bool>,
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn mesi_l1(params: &MesiL1Params) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "mesi-l1".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "mesi-l1",
        about: "Write-back L1 of one core with MESI coherence",
        params: params::infos,
        build: |set| mesi_l1(&MesiL1Params::from_set(set)?),
    }
}

fn describe(p: &MesiL1Params) {
    doc("Write-back L1 of one core: MESI towards a Spandex translation unit or a MESI directory.");
    let (port, s) = (&p.port, &p.port.spandex);
    for (key, value) in [
        ("size", port.size),
        ("ways", port.ways),
        ("mshrs", s.mshrs),
        ("sb", s.sb),
        ("wbb", s.wbb),
        ("sync_own", u32::from(p.sync_own)),
        ("weak_reads", u32::from(p.weak_reads)),
    ] {
        param(key, value);
    }
    param("inject", p.inject.word());
    let credits = reg::<Bits>("credits", bits_for(u64::from(s.wbb) + 1)).reset(&[u64::from(s.wbb)]);
    let core = Core {
        p: p.clone(),
        arrays: Arrays::new(port),
        mshrs: Mshrs::new(p),
        filler: Filler::new(p),
        cu_rsp: out_channel::<CuRsp>("cu_rsp", &s.cu()),
        up: out_channel::<MesiUp>("l1_up", port),
        credits,
        put: wire_or::<Bool>("put", (), false),
    };
    let ready = core.arrays.initialise();
    let turns = turn::Turns::new(&core, ready);
    let slot = stage::Slot::new(&core, &turns);
    let plan = slot.carry_out();
    stage::count_credits(&core);
    turns.choose(&core, &plan);
    core.filler.finish(&core.mshrs);
    core.mshrs.finish();
    observe::observe(&core, &slot, &plan);
    table::machine().check(&[]);
}
