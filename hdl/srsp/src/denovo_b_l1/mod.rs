//! `denovo-b-l1`: the L1 of one CU in DeNovo-B (denovo-b.md): every line that is written is registered to its L1, in state O; a release waits until what was stored is registered, an
//! acquire drops what is not owned.
//!
//! ```text
//!              +----------------------------------------------------------+
//!  cu_req ---->| S1 --+                               req, wb ------------|----> L2
//!              |      +-- turn --> slot: row, MSHRs, sFIFO --+  ^         |
//!  cu_rsp <----| delay <------- answers <--------------------+  | FILL,   |
//!              |                   ^        ^                |  | REG_DATA|<---- rsp
//!              |      sync unit ---+        |              drain          |
//!              |                          REVOKE, READ <------------------|<---- probe
//!              +----------------------------------------------------------+
//! ```
//!
//! One slot per cycle, chosen one cycle ahead, when its row of the arrays is presented: FILL or REG_DATA, then REVOKE or READ, sync unit, drain, CU. A slot looks its line up and does
//! everything at once, or nothing when something it needs is not free; then it is chosen again. Acknowledgements need no slot and are always taken.
//!
//! CU port, `own`, `stall` and `busy_release` are those of `srsp-l1`. Scopes and the remote bit are not looked at; semantics are.
//!
//! Decisions, beside those of the page:
//! - **What releases goes through the sync unit's queue**, and so does an acquire that finds its line owned; another acquire registers its line or joins its MSHR at once. Each acquire
//!   that waits in an MSHR has a place in the queue, into which REG_DATA puts it when it has performed it, so that no MSHR waits for the unit.
//! - The sFIFO's pops wait for MSHRs, which wait for the L2 alone: no flush can wait for ever. While a pop waits, other slots go on.
//! - A line that is given back has a WBT entry until UNREG_ACK; whatever asks for it waits until then.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/denovo-b-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/denovo-b-l1.svg")]

mod arrays;
mod misses;
mod observe;
mod owner;
mod params;
mod plan;
mod stage;
mod sync_unit;
pub mod table;
mod turn;
mod unregs;

use crate::msg::{Rsp, RspOp, WbOp};
use crate::registering::infos;
use crate::registering::upward::{Upward, take_responses};
use crate::sfifo::Sfifo;
use crate::write_combining::drain::Drain;
use crate::write_combining::fill::Filler;
use crate::write_combining::reply::Replies;
use crate::write_combining::wbt::Fence;
use arrays::Arrays;
use misses::Misses;
use owner::Owner;
pub use params::{DenovoInject, DenovoL1Params};
use sync_unit::SyncUnit;
use turn::Turns;
use unregs::Unregs;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// State that all parts share.
struct Core {
    p: DenovoL1Params,
    arrays: Arrays,
    misses: Misses,
    unregs: Unregs,
    /// Registrations of written lines, for which releases wait.
    fence: Fence,
    sfifo: Sfifo,
    drain: Drain,
    filler: Filler,
    replies: Replies,
    /// The gate is closed for an operation of the sync unit; see [`gate_open`](Core::gate_open).
    gate: Reg<Bool>,
    sync: SyncUnit,
    owner: Owner,
    l2: Upward,
}

impl Core {
    fn new(p: &DenovoL1Params) -> Core {
        let shape = &p.shape;
        let own = input::<Bits>("own", p.shape.srsp.cu_bits());
        Core {
            p: p.clone(),
            arrays: Arrays::new(shape),
            misses: misses::declare(shape),
            unregs: Unregs::new(shape),
            fence: Fence::new("denovo_b_l1", p.shape.srsp.mshrs),
            sfifo: Sfifo::new("sfifo", p.shape.sfifo, p.shape.srsp.line_bits()),
            drain: Drain::of_one(shape.ptr_bits(), "sync"),
            filler: Filler::new(shape, "grants"),
            replies: Replies::new(shape),
            gate: reg::<Bool>("gate_closed", ()),
            sync: sync_unit::declare(p, shape),
            owner: Owner::new(p),
            l2: Upward::new(own, &p.shape.srsp),
        }
    }

    /// Requests of the CU go on: no operation has closed the gate, and every acquire that is performed has dropped what it must.
    fn gate_open(&self) -> Bool {
        !(self.gate.get() | self.sync.acquired())
    }

    /// A written line can be registered.
    fn can_register(&self) -> Bool {
        !self.misses.all.full() & self.l2.req.free
    }

    /// An owned line can be given back.
    fn can_give_back(&self) -> Bool {
        self.l2.wb.free & self.unregs.room()
    }

    /// Flash-inv: every valid line that is not owned; what is under way is marked.
    fn drop_all(&self) {
        self.arrays.flash();
        self.misses.flash();
    }

    /// Gives a line back, with the bytes that the L2 does not know and their places.
    fn give_back(&self, line: Bits, bytes: (Bits, Bits)) {
        let wbt = self.unregs.enter(line);
        let none = (bool_lit(false), bool_lit(false));
        self.l2.send(WbOp::Unreg, line, none, (wbt, lit(0, 1)), bytes);
    }
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn denovo_b_l1(params: &DenovoL1Params) -> Result<Arc<Module>, BlockError> {
    params.build(|| describe(params))
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "denovo-b-l1",
        about: "Write-combining L1 of one CU that registers every line that is written (DeNovo-B)",
        params: infos::<DenovoInject>,
        build: |set| denovo_b_l1(&DenovoL1Params::from_set(set)?),
    }
}

fn describe(p: &DenovoL1Params) {
    doc("Write-combining L1 of one CU: every line that is written is registered.");
    p.tell();
    let core = Core::new(p);
    let rsp = in_channel::<Rsp>("rsp", &p.shape.srsp);
    unused_input(&rsp.msg.epoch);
    let known = [RspOp::Fill, RspOp::RegData, RspOp::UnregAck];
    take_responses(("denovo_b_l1", "DeNovo-B"), &rsp, (&core.filler, &core.misses.all.open), &known, || {
        when(rsp.valid & rsp.msg.op.is(RspOp::UnregAck), || core.unregs.acknowledge(rsp.msg.wbt));
    });
    let ready = core.arrays.initialise();
    let turns = Turns::new(&core.p.shape, || reg::<Bool>("pop_waits", ()), ready);
    let slot = stage::Slot::new(&core, &turns);
    let plan = slot.carry_out();
    turns.choose(&core, &plan);
    core.sync.run(&core);
    core.drain.finish(&core.sfifo, &core.fence);
    core.owner.finish(&core);
    core.filler.finish("denovo_b_l1_fill_target", "an answer that is not done has a target");
    core.fence.finish();
    core.misses.finish_entries();
    core.unregs.finish();
    core.replies.finish();
    core.arrays.finish_ownable(core.sfifo.count());
    observe::observe(&core, &turns, &slot, &plan);
    table::machine().check(&[]);
}
