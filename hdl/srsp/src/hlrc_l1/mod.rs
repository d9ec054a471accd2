//! `hlrc-l1`: the L1 of one CU in hLRC (srsp.md section 9): no scopes; an atomic needs its line registered to this L1, in state O. Losing such a line writes everything dirty back
//! first; gaining one drops everything that is not owned.
//!
//! ```text
//!              +----------------------------------------------------------+
//!  cu_req ---->| S1 --+                               req, wb ------------|----> L2
//!              |      +-- turn --> slot: row, MSHRs, sFIFO --+  ^         |
//!  cu_rsp <----| delay <------- answers <--------------------+  | FILL,   |
//!              |                   ^        ^                |  | REG_DATA|<---- rsp
//!              |      sync unit ---+        |             drain, WBT      |
//!              |                       capture buffer <-------------------|<---- probe (REVOKE)
//!              +----------------------------------------------------------+
//! ```
//!
//! One slot per cycle, chosen one cycle ahead, when its row of the arrays is presented: FILL or REG_DATA, then REVOKE, capture buffer, sync unit, drain, CU. A slot looks its line
//! up and does everything at once, or nothing when something it needs is not free; then it is chosen again. Acknowledgements need no slot and are always taken.
//!
//! An atomic on an owned line is answered `latency` cycles after its slot. One that has waited for REG_DATA is done when that comes, whatever the CU gate does; its old value then
//! stands in its MSHR until its gain's I is done (`sync unit`). From REG_DATA to the end of the last gain's I the gate is closed, so nobody uses the line, or an old copy of another
//! one, in between. Each gain has its own I.
//!
//! CU port, `own`, `stall` and `busy_release` are those of `srsp-l1`; scopes, semantics and the remote bit are not looked at.
//!
//! Decisions where the specification is silent:
//! - **A kernel's end gives every owned line back** (captured, F, UNREG, one after the other). Plain accesses are served by the L2, which has not the bytes that atomics wrote in an
//!   L1; and the copy of an owned line does not see what other CUs store plainly. So a word is used either by atomics or plainly, and a kernel's end switches between the two.
//! - A plain store to an owned line also changes the bytes here, so that atomics of the same wavefront see it, and REVOKE_ACK or UNREG cannot bring back what was there before.
//! - RDU waits while a write-back of its line is under way, as any miss does; whatever is no load waits while an RDU of its line is open; nothing touches a line in the capture
//!   buffer.
//! - **An UNREG has its WBT entry from the capture on, and one entry is never an UNREG's.** "The holder of the capture buffer needs only WB and RSP" is true of nothing else: an
//!   UNREG_ACK can wait for a REVOKE_ACK{0}, whose REVOKE can stand behind another one that waits for the buffer.
//! - A fence of work-group scope is answered at once, any other does I or F, although hLRC orders all it must at the atomics.
//! - A REVOKE that must wait holds up those behind it; what it waits for does not.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/hlrc-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/hlrc-l1.svg")]

mod arrays;
mod capture;
mod fill;
mod misses;
mod observe;
mod params;
mod plan;
mod stage;
mod sync_unit;
pub mod table;
mod turn;
mod wbt;

use crate::msg::{Rsp, RspOp};
use crate::registering::infos;
use crate::registering::upward::{Upward, take_responses};
use crate::sfifo::Sfifo;
use crate::write_combining::drain::Drain;
use crate::write_combining::fill::Filler;
use crate::write_combining::reply::Replies;
use arrays::Arrays;
use capture::Capture;
use misses::Misses;
pub use params::{HlrcInject, HlrcL1Params};
use sync_unit::SyncUnit;
use turn::Turns;
use wbt::Wbt;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// State that all parts share.
struct Core {
    p: HlrcL1Params,
    arrays: Arrays,
    misses: Misses,
    wbt: Wbt,
    sfifo: Sfifo,
    drain: Drain,
    filler: Filler,
    replies: Replies,
    /// The gate is closed for an operation of the sync unit; see [`gate_open`](Core::gate_open).
    gate: Reg<Bool>,
    sync: SyncUnit,
    capture: Capture,
    l2: Upward,
}

impl Core {
    fn new(p: &HlrcL1Params) -> Core {
        let shape = &p.shape;
        let own = input::<Bits>("own", p.shape.srsp.cu_bits());
        Core {
            p: p.clone(),
            arrays: Arrays::new(shape),
            misses: misses::declare(shape),
            wbt: Wbt::new(shape),
            sfifo: Sfifo::new("sfifo", p.shape.sfifo, p.shape.srsp.line_bits()),
            drain: Drain::new(shape.ptr_bits(), ["sync", "capture"]),
            filler: Filler::new(shape, "grants"),
            replies: Replies::new(shape),
            gate: reg::<Bool>("gate_closed", ()),
            sync: sync_unit::declare(p, shape),
            capture: Capture::new(p),
            l2: Upward::new(own, &p.shape.srsp),
        }
    }

    /// Requests of the CU go on: no operation has closed the gate, and the I of every gain is done.
    fn gate_open(&self) -> Bool {
        let gains = self.misses.some_gained() & bool_lit(self.p.inject != HlrcInject::OpenGate);
        !(self.gate.get() | gains)
    }

    /// An owned line may leave for another reason than a REVOKE.
    fn can_capture(&self) -> Bool {
        !self.capture.busy.get() & self.wbt.room_to_unregister()
    }

    /// Flash-inv: every valid line that is not owned; what is under way is marked.
    fn drop_all(&self) {
        self.arrays.flash();
        if self.p.inject != HlrcInject::NoNoinst {
            self.misses.flash();
        }
    }
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn hlrc_l1(params: &HlrcL1Params) -> Result<Arc<Module>, BlockError> {
    params.build(|| describe(params))
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "hlrc-l1",
        about: "Write-combining L1 of one CU in which atomics register their lines (hLRC)",
        params: infos::<HlrcInject>,
        build: |set| hlrc_l1(&HlrcL1Params::from_set(set)?),
    }
}

fn describe(p: &HlrcL1Params) {
    doc("Write-combining L1 of one CU: lazy release consistency, lines of atomics registered.");
    p.tell();
    let core = Core::new(p);
    let rsp = in_channel::<Rsp>("rsp", &p.shape.srsp);
    let known = [RspOp::Fill, RspOp::RegData, RspOp::WbAck, RspOp::UnregAck];
    take_responses(("hlrc_l1", "hLRC"), &rsp, (&core.filler, &core.misses.all.open), &known, || {
        let m = &rsp.msg;
        when(rsp.valid & m.op.is(RspOp::WbAck), || core.wbt.acknowledge(m.wbt, m.epoch));
        when(rsp.valid & m.op.is(RspOp::UnregAck), || core.wbt.clear(m.wbt));
    });
    let ready = core.arrays.initialise();
    let turns = Turns::new(&core.p.shape, || (), ready);
    let slot = stage::Slot::new(&core, &turns);
    let plan = slot.carry_out();
    turns.choose(&core, &plan);
    core.sync.run(&core);
    core.drain.finish(&core.sfifo, &core.wbt.table.fence);
    core.capture.finish(&core);
    fill::finish(&core.filler, &core.misses);
    core.misses.finish();
    core.wbt.finish(core.capture.released.get());
    core.replies.finish();
    core.arrays.finish_ownable(core.sfifo.count());
    observe::observe(&core, &turns, &slot, &plan);
    table::machine().check(&[]);
}
