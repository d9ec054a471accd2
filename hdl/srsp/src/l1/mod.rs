//! `srsp-l1`: the write-combining L1 of one CU with scoped synchronisation, in the systems BASE, BRSP (by
//! locks of lines or by a token), SRSP and SRSPOPT (srsp.md sections 5 to 5.3).
//!
//! ```text
//!              +-----------------------------------------------------------------+
//!  cu_req ---->| S1 --+                                     req, wb -------------|----> L2
//!              | MSHRs +-- turn --> slot: row, tables, sFIFO --+  ^              |
//!  cu_rsp <----| delay <------------- answers <----------------+  |  FILL, acks  |<---- rsp
//!              |                      ^     ^                     |              |
//!              |         sync unit ---+     +--- probe unit   drain, WBT         |
//!              |          |  SQ <- S1             |   |                          |
//!              +----------|-----------------------|---|--------------------------+
//!      probe_out, pack <--+               probe --+   +--> pack_out
//! ```
//!
//! One slot per cycle, chosen one cycle ahead, when its row of the arrays is presented: FILL, then probe, sync unit, replay, drain, CU. A slot looks its line up, and the tables, and
//! does everything at once, or nothing when something it needs is not free; then it is chosen again. A replay that had to wait lets drain and CU go first once, so that what it
//! waits for can happen. Acknowledgements and grants need no slot and are always taken.
//!
//! Each answer is shown `latency` cycles after its slot; plain stores are complete in theirs, and are answered only with `want_ack`. A request of the CU is taken into S1 when that is
//! free, and carried out in the next cycle at the earliest; one that must wait holds the port.
//!
//! `own` is the number of this L1's CU, a constant. A message that is for a bank and not for an address (SYS, TOKEN) has an address of that bank, so that everything on `req` and
//! `wb` can be routed by its address.
//!
//! Decisions: the sync unit has its place between probes and replays; a replay never joins another MSHR: it opens its own again, with all targets that are left; an operation of
//! the CU that misses waits while its line has an MSHR with atomics to replay; FENCE of work-group scope is answered at once; the answer's `src` is 0 for a hit, 1
//! from the L2, 3 from memory, `merged` for every target of an MSHR but its first.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/srsp-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/srsp-l1.svg")]

mod aff_cache;
mod arrays;
mod fill;
pub mod micro;
mod misses;
mod observe;
mod params;
mod plan;
mod probe_unit;
mod stage;
mod sync_unit;
mod table;
mod turn;
mod wbt;

use crate::lr_tbl::{LrParams, LrTbl};
use crate::msg::{Req, Rsp, RspOp, Wb};
use crate::pa_tbl::PaTbl;
use crate::params::Impl;
use crate::sfifo::Sfifo;
use crate::write_combining::drain::Drain;
pub use crate::write_combining::op::Kind;
use crate::write_combining::reply::Replies;
use aff_cache::AffCache;
use arrays::Arrays;
use fill::Filler;
use misses::Misses;
pub use params::{Closes, Inject, L1Params};
use probe_unit::ProbeUnit;
pub use probe_unit::{ProbeDoes, ProbeStep, probe_machine, probes};
use sync_unit::SyncUnit;
pub use table::{Access, Leave, LineState, Operate, Part, fills, leaving, machine, operations};
use turn::Turns;
use wbt::Wbt;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// Reasons why the CU gate is closed.
struct Gate {
    /// An own operation: I, or a remote one.
    own: Reg<Bool>,
    /// SEL_INV found no room in the PA-TBL.
    pa: Reg<Bool>,
    /// bRSP: a probe flushes, then drops all lines.
    all: Reg<Bool>,
    /// bRSP with a token: the lock between LOCK_FLUSH and INV_UNLOCK.
    lock: Option<AddressLock>,
}

/// The lock of an address in an L1 of bRSP with a token.
struct AddressLock {
    held: Reg<Bool>,
    /// What it stops.
    closes: Closes,
    /// The line that is locked, where that is all that is closed.
    line: Option<Reg<Bits>>,
}

impl AddressLock {
    fn new(p: &L1Params) -> AddressLock {
        let line = (p.closes == Closes::Line).then(|| reg::<Bits>("gate_line", p.shape.srsp.line_bits()));
        AddressLock { held: reg::<Bool>("gate_lock", ()), closes: p.closes, line }
    }

    fn close(&self, line: Bits) {
        self.held.set(true);
        self.line.iter().for_each(|locked| locked.set(line));
    }
}

impl Gate {
    fn new(p: &L1Params) -> Gate {
        let part = |name: &str| reg::<Bool>(&format!("gate_{name}"), ());
        let lock = (p.system == Impl::BrspToken).then(|| AddressLock::new(p));
        Gate { own: part("own"), pa: part("pa"), all: part("all"), lock }
    }

    fn open(&self) -> Bool {
        let closed = self.own.get() | self.pa.get() | self.all.get();
        match &self.lock {
            Some(lock) if lock.closes == Closes::All => !(closed | lock.held.get()),
            _ => !closed,
        }
    }

    /// A broadcast's lock stops an operation of this kind on this line, though the gate is open.
    fn bars(&self, kind: Enum<Kind>, line: Bits) -> Bool {
        let Some(lock) = &self.lock else { return bool_lit(false) };
        match (&lock.line, lock.closes) {
            (Some(locked), _) => {
                let memory = kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync]);
                lock.held.get() & memory & locked.get().eq(line)
            }
            (None, Closes::Sync) => lock.held.get() & !kind.is_any(&[Kind::Load, Kind::Store]),
            (None, _) => bool_lit(false),
        }
    }
}

/// State that all parts share.
struct Core {
    p: L1Params,
    own: Bits,
    arrays: Arrays,
    misses: Misses,
    wbt: Wbt,
    sfifo: Sfifo,
    lr: Option<LrTbl>,
    pa: Option<PaTbl>,
    aff: Option<AffCache>,
    drain: Drain,
    filler: Filler,
    replies: Replies,
    gate: Gate,
    sync: SyncUnit,
    probe: ProbeUnit,
    req: OutChannel<Req>,
    wb: OutChannel<Wb>,
}

impl Core {
    fn new(p: &L1Params) -> Core {
        let shape = &p.shape;
        let words = p.shape.srsp.word_bits();
        let selective = p.system.selective();
        Core {
            p: p.clone(),
            own: input::<Bits>("own", p.shape.srsp.cu_bits()),
            arrays: Arrays::new(shape),
            misses: Misses::new(shape),
            wbt: Wbt::new(shape),
            sfifo: Sfifo::new("sfifo", p.shape.sfifo, p.shape.srsp.line_bits()),
            lr: selective.then(|| LrTbl::new(LrParams { entries: p.shape.sfifo, word_bits: words })),
            pa: selective.then(|| PaTbl::new(p.pa, words)),
            aff: p.predicts().then(|| AffCache::new(p)),
            drain: Drain::new(shape.ptr_bits(), ["sync", "probe"]),
            filler: Filler::new(shape),
            replies: Replies::new(shape),
            gate: Gate::new(p),
            sync: SyncUnit::new(p),
            probe: ProbeUnit::new(p),
            req: out_channel::<Req>("req", &p.shape.srsp),
            wb: out_channel::<Wb>("wb", &p.shape.srsp),
        }
    }

    /// Flash-inv: every valid line, both tables; what is under way is marked.
    fn drop_all(&self) {
        self.arrays.flash();
        if self.p.inject != Inject::NoNoinst {
            self.misses.flash();
        }
        self.lr.iter().for_each(LrTbl::clear);
        self.pa.iter().for_each(PaTbl::clear);
    }
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn srsp_l1(params: &L1Params) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "srsp-l1".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "srsp-l1",
        about: "Write-combining L1 of one CU with scoped synchronisation (sRSP, bRSP)",
        params: params::infos,
        build: |set| srsp_l1(&L1Params::from_set(set)?),
    }
}

fn describe(p: &L1Params) {
    doc("Write-combining L1 of one CU: scoped synchronisation, remote scope promotion.");
    param("impl", p.system.word());
    p.shape.tell_cache();
    param("pa", p.pa);
    param("aff", p.aff);
    p.shape.tell_queues();
    if p.system == Impl::BrspToken {
        param("closes", p.closes.word());
    }
    param("inject", p.inject.word());
    let core = Core::new(p);
    let rsp = in_channel::<Rsp>("rsp", &p.shape.srsp);
    let pack = in_channel::<crate::msg::Pack>("pack", &p.shape.srsp);
    take_responses(&core, &rsp, &pack);
    let ready = core.arrays.initialise();
    let turns = Turns::new(&core.p.shape, || turn::Replay::new(&core.p.shape), ready);
    let slot = stage::Slot::new(&core, &turns);
    let plan = slot.carry_out();
    turns.choose(&core, &plan);
    core.sync.run(&core);
    core.drain.finish(&core.sfifo, &core.wbt.table.fence);
    core.filler.at.finish("srsp_l1_fill_target", "a FILL has a target");
    core.misses.finish();
    core.wbt.finish(rsp.msg.wbt);
    core.replies.finish();
    core.arrays.finish(core.sfifo.count());
    observe::observe(&core, &turns, &slot, &plan);
    machine().check(&[]);
    probe_unit::check(p.system);
}

/// Responses need no slot, but for a FILL, of which one is at work.
fn take_responses(core: &Core, rsp: &InChannel<Rsp>, pack: &InChannel<crate::msg::Pack>) {
    unused_input(&rsp.msg.dst);
    let m = &rsp.msg;
    let fill = rsp.valid & m.op.is(RspOp::Fill);
    let acked = rsp.valid & m.op.is(RspOp::WbAck);
    let other = rsp.valid & !m.op.is_any(&[RspOp::Fill, RspOp::WbAck]);
    when(rsp.valid & !(fill & core.filler.at.valid.get()), || rsp.take());
    when(fill & !core.filler.at.valid.get(), || core.filler.take(m));
    when(acked, || core.wbt.acknowledge(m.wbt, m.epoch));
    core.sync.take(&core.p, other, m);
    let text = "a FILL names an open MSHR";
    assert_always("srsp_l1_fill_open", !fill | core.misses.all.open.get().bit_at(m.mshr), text);
    when(pack.valid, || pack.take());
    core.sync.pack(core, pack.valid, &pack.msg);
}
