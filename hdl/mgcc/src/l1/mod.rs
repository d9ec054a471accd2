//! `mgcc-l1`: the write-through L1 of one CU with leases in logical time (mgcc.md sections 4, 8 and 9).
//!
//! ```text
//!                 +------------------------------------------------------------------+
//!   cu_req ------>| S1 ---+                                                          |
//!                 |       +--> one row per cycle: one table row --> MSHRs, clock ----|------> up_req
//!        pool ----| replay+         ^                    |            |  FIFOs: pool |
//!                 |                 |                    v            v              |
//!   cu_rsp <------| ring of hits <--|-- hit       answers, loads behind them <-------|<------ dn_rsp
//!   roll, roll_ack| epoch, sweep    +---------- clock, install ----------------------|
//!                 +------------------------------------------------------------------+
//! ```
//!
//! One operation per cycle: a roll's sweep or a fence, else a response, else a replay, else the CU's request. A hit is answered after `latency` cycles, a miss leaves after
//! three. A response is always taken in the end: it waits for nothing but answers to the CU, which always takes them.
//!
//! A store is complete when the L2 has answered it; it is answered to the CU if it asks (`want_ack`). FENCE (Rel, Acq of any scope) and Kend are answered when every store and
//! atomic taken before has completed; requests behind one go on, except a second fence. Kbegin carries a time in `data[63:0]` (SetCts), Kend's answer one (cts).
//!
//! An answer's `src` is 0 for a block here, 1 for the L2, 3 for memory; `merged`: by a transaction that another request had opened. `cu_time`, beside the answer, is the time {epoch, ts} at which the
//! operation binds: max(clock, wts) of a load, wts of a store or atomic, the clock of a fence.
//!
//! `gtsc-l1` is the same cache with the rows and requests of G-TSC ([`crate::gtsc`]).
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/mgcc-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/mgcc-l1.svg")]

mod arrays;
mod clock;
mod fill;
mod misses;
mod observe;
mod params;
mod port;
mod reply;
mod stage;
mod table;

use crate::msg::{Roll, RollAck, UpRsp};
use crate::params::LINE;
use crate::time::{assert_roll_in_order, later};
use arrays::{Arrays, Found};
use clock::Clock;
use fill::Filler;
use misses::{MissInfo, Misses};
use observe::Seen;
pub use params::L1Params;
use port::UpPort;
use reply::Replies;
use stage::Stage;
pub use table::{
    Answer, Block, BlockState, L1Event, Lease, Mshr, Operate, Place, Settle, answers, machine, operations,
};
use weft_blocks::msg::{AmoOp, CuOp, CuReq};
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// A request as S1 holds it.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
struct S1Req {
    event: Enum<L1Event>,
    want_ack: Bool,
    amo: Enum<AmoOp>,
    sgn: Bool,
    #[width(p.tsm.line_bits())]
    line: Bits,
    #[width(LINE)]
    mask: Bits,
    #[width(p.tsm.data_bits())]
    data: Bits,
    #[width(64)]
    cmp: Bits,
    #[width(12)]
    id: Bits,
}

/// Whose row the arrays read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(crate) enum Turn {
    /// Nobody's.
    None,
    /// The response's.
    Response,
    /// That of an MSHR being replayed.
    Replay,
    /// That of the request in S1.
    Request,
}

/// State that all parts share.
struct Core {
    p: L1Params,
    arrays: Arrays,
    misses: Misses,
    /// Only with coherence.
    clock: Option<Clock>,
    /// Without coherence: a kernel's begin has dropped the blocks.
    swept: Option<Reg<Bool>>,
    /// Fence epoch in which requests are taken.
    fence_now: Reg<Bits>,
}

/// The sweep: every V block becomes I, one set per cycle.
struct Sweep {
    active: Reg<Bool>,
    row: Reg<Bits>,
    last: Bool,
    /// A sweep begins after this cycle.
    starts: Wire<Bool>,
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn mgcc_l1(params: &L1Params) -> Result<Arc<Module>, BlockError> {
    build(params, false)
}

/// Builds the L1 of G-TSC ([`crate::gtsc`]).
///
/// # Errors
/// Illegal parameters.
pub fn gtsc_l1(params: &L1Params) -> Result<Arc<Module>, BlockError> {
    build(params, true)
}

fn build(params: &L1Params, gtsc: bool) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    if params.gtsc() != gtsc {
        return Err(BlockError::Illegal {
            block: if gtsc { "gtsc-l1" } else { "mgcc-l1" }.into(),
            key: "coherence".into(),
            value: format!("{:?}", params.coherence),
            problem: "it is another block's".into(),
            legal: "Gtsc for gtsc-l1; Mgcc, None for mgcc-l1".into(),
        });
    }
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: params.block().into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "mgcc-l1",
        about: "Write-through L1 of one CU with leases in logical time (MGCC)",
        params: params::infos,
        build: |set| mgcc_l1(&L1Params::from_set(set)?),
    }
}

fn describe(p: &L1Params) {
    doc("Write-through L1 of one CU: blocks are leased in logical time; stores lock theirs until answered.");
    for (key, value) in [("size", p.size), ("ways", p.ways), ("latency", p.latency), ("pool", p.pool)] {
        param(key, value);
    }
    param("mshrs", p.mshrs());
    param("coherent", p.coherent());
    param("eager", p.eager);
    param("self_inc", p.self_inc);
    param("repl_ts", p.repl_ts);
    param("observe", p.observe);
    param("inject", p.inject.name());
    let own = input::<Bits>("own", p.tsm.cu_bits());
    let req = in_channel::<CuReq>("cu_req", &p.tsm.cu());
    let rsp = in_channel::<UpRsp>("dn_rsp", &p.tsm);
    unused_input(&rsp.msg.dst);
    let roll = in_channel::<Roll>("roll", &p.tsm);
    let up = UpPort::new(p);
    let replies = Replies::new(p);
    let core = Core {
        p: p.clone(),
        arrays: Arrays::new(p),
        misses: Misses::new(p),
        clock: p.coherent().then(|| Clock::new(p)),
        swept: (!p.coherent()).then(|| reg::<Bool>("swept", ())),
        fence_now: replies.epoch.clone(),
    };
    let sweep = Sweep::new(p);
    let filler = Filler::new(&core, &rsp);
    let ready = initialise(&core);
    replies.decide_fold(sweep.active.get());
    let rolls = take_roll(&core, &sweep, &roll, replies.fold.get());
    machine(p).check(&[]);
    run(&core, &Inputs { own, req, ready, rolls }, &filler, &replies, &sweep, &up);
}

/// What a cycle works on.
struct Inputs {
    own: Bits,
    req: InChannel<CuReq>,
    ready: Bool,
    /// An epoch begins by a Roll.
    rolls: Bool,
}

fn run(core: &Core, inputs: &Inputs, filler: &Filler, replies: &Replies, sweep: &Sweep, up: &UpPort) {
    let (s1_valid, s1) = (reg::<Bool>("s1_valid", ()), reg::<S1Req>("s1", core.p.clone()).field("pipeline"));
    let turn = reg::<Enum<Turn>>("turn", ());
    let at = reg::<Bits>("replay_at", core.p.entry_bits());
    let quiet = !(replies.fold.get() | inputs.rolls);
    let responds = (turn.is(Turn::Response) & quiet).named("responds");
    filler.looks.set(responds & !filler.is_newer());
    let replayed = turn.is(Turn::Replay);
    let stage = Stage {
        core,
        own: inputs.own,
        req: mux(replayed, stage::replayed_request(core, at.get()), s1.get()),
        replayed,
        fence: mux(replayed, stage::replayed_fence(core, at.get()), core.fence_now.get()),
        at: at.get(),
        active: (turn.get().is_any(&[Turn::Replay, Turn::Request]) & quiet).named("s1_active"),
        go: wire::<Bool>("s1_go", ()),
        sweeps: wire::<Bool>("s1_sweeps", ()),
    };
    let found = look_up(core, filler, turn.is(Turn::Response), stage.req.line);
    let plan = stage.plan(found, filler, replies, up);
    stage.act(&plan, replies, up);
    stage.check(&plan);
    stage.tell_stall(&plan, turn.get(), s1_valid.get());
    filler.look(core, &found);
    replies.finish(core, filler.answers, || (filler.answer(core), filler.time(core)));
    filler.finish(core, replies);
    sweep.run(core, &stage, filler.looks.get(), (inputs.rolls, responds & filler.is_newer()));
    let s0 = S0 { core, inputs, filler, stage: &stage, sweep };
    let accept = s0.choose(&s1_valid, &s1, &turn, &at);
    core.misses.finish();
    let (s1, rolls) = (s1_valid.get(), inputs.rolls);
    let seen = Seen {
        core,
        stage: &stage,
        plan: &plan,
        filler,
        replies,
        sweep,
        found: &found,
        accept,
        s1,
        up,
        rolls,
    };
    seen.observe(&inputs.req.msg);
}

/// The line of the response or of the request in the row that is read.
fn look_up(core: &Core, filler: &Filler, response: Bool, requested: Bits) -> Found {
    let line = mux(response, filler.info.line, requested).named("row_line");
    let pinned = core.misses.pinned_ways(core.arrays.set_of(line)).named("ways_pinned");
    let now = core.clock.as_ref().map(|clock| mux(response, filler.clock_after(clock), clock.ts()));
    core.arrays.look_up(line, now, pinned)
}

/// Takes requests into S1 and chooses whose row is read in the next cycle.
struct S0<'a> {
    core: &'a Core,
    inputs: &'a Inputs,
    filler: &'a Filler,
    stage: &'a Stage<'a>,
    sweep: &'a Sweep,
}

impl S0<'_> {
    /// True when a request enters S1.
    fn choose(&self, s1_valid: &Reg<Bool>, s1: &Reg<S1Req>, turn: &Reg<Enum<Turn>>, at: &Reg<Bits>) -> Bool {
        let (core, stage, req) = (self.core, self.stage, &self.inputs.req);
        let leaves = stage.go.get() & !stage.replayed;
        let accept = (req.valid & self.inputs.ready & (!s1_valid.get() | leaves)).named("s0_accept");
        when(accept, || {
            req.take();
            s1.set(enter(&core.p, &req.msg));
        });
        let waits = (accept | (s1_valid.get() & !leaves)).named("s0_waits");
        s1_valid.set(waits);
        let (wanted, response_line) = self.filler.wants_row();
        let pops = stage.go.get() & stage.replayed & !core.misses.again.get().bit_at(stage.at);
        let (replays, entry) = core.misses.choose_replay(stage.at, pops);
        let next = mux(waits, enum_lit(Turn::Request), enum_lit(Turn::None));
        let next = mux(replays, enum_lit(Turn::Replay), next);
        let next = mux(wanted, enum_lit(Turn::Response), next);
        let runs = self.inputs.ready & !self.sweep.is_next();
        turn.set(mux(runs, next, enum_lit(Turn::None)));
        at.set(entry);
        let request_line = mux(accept, req.msg.line, s1.get().line);
        let other = mux(replays, core.misses.info.read(entry).line, request_line);
        core.arrays.present(mux(wanted, response_line, other));
        accept
    }
}

/// Decodes a request.
fn enter(p: &L1Params, m: &CuReq) -> S1Req {
    let event = |e: L1Event| enum_lit(e);
    let load = event(L1Event::Ld);
    let load = if p.has_sync_loads() { mux(m.sync, event(L1Event::LdSync), load) } else { load };
    let store = mux(m.mask.all(), event(L1Event::StFull), event(L1Event::StPart));
    let fence = mux(m.op.is(CuOp::Kend), event(L1Event::Kend), event(L1Event::Fence));
    let fence = mux(m.op.is(CuOp::Kbegin), event(L1Event::Kbegin), fence);
    let other = mux(m.op.is(CuOp::Amo), event(L1Event::Amo), fence);
    let other = mux(m.op.is(CuOp::St), store, other);
    S1Req {
        event: mux(m.op.is(CuOp::Ld), load, other),
        want_ack: m.want_ack,
        amo: m.amo,
        sgn: m.sgn,
        line: m.line,
        mask: m.mask,
        data: m.data,
        cmp: m.cmp,
        id: m.id,
    }
}

/// After reset writes the identity into the ages, one set per cycle; true when done.
fn initialise(core: &Core) -> Bool {
    let done = reg::<Bool>("init_done", ());
    let row = reg::<Bits>("init_row", core.p.set_bits());
    when(!done.get(), || {
        core.arrays.clear_ages(row.get());
        row.set(row.get() + 1);
        when(row.get().all(), || done.set(true));
    });
    done.get()
}

/// Rolls are acknowledged when their epoch has begun here and everything is swept; true when a newer one is to begin in this cycle.
fn take_roll(core: &Core, sweep: &Sweep, roll: &InChannel<Roll>, fold: Bool) -> Bool {
    let ack = out_channel::<RollAck>("roll_ack", &core.p.tsm);
    let newer = core.clock.as_ref().map_or(bool_lit(false), |clock| {
        assert_roll_in_order("mgcc_l1_roll_in_order", roll.valid, roll.msg.epoch, clock.epoch());
        later(roll.msg.epoch, clock.epoch())
    });
    let here = (roll.valid & !sweep.active.get()).named("roll_waits");
    when(here & !newer & ack.free, || {
        roll.take();
        ack.send(&RollAck { epoch: roll.msg.epoch });
    });
    let rolls = (here & newer & !fold).named("roll_begins");
    if let Some(clock) = &core.clock {
        when(rolls, || clock.roll(roll.msg.epoch));
    }
    rolls
}

impl Sweep {
    fn new(p: &L1Params) -> Sweep {
        let active = reg::<Bool>("sweeping", ());
        let row = reg::<Bits>("sweep_row", p.set_bits());
        let last = row.get().all();
        Sweep { active, row, last, starts: wire::<Bool>("sweep_starts", ()) }
    }

    /// Starts a sweep, by a Roll (already rolled), a newer response or a kernel's begin, and goes on with it.
    fn run(&self, core: &Core, stage: &Stage, looks: Bool, (by_roll, by_response): (Bool, Bool)) {
        let by_begin = stage.sweeps.get();
        let starts = by_roll | by_response | by_begin;
        self.starts.set(starts);
        if let Some(clock) = &core.clock {
            when(by_response, || clock.roll(clock.epoch() + 1));
            when(by_begin, || clock.roll(stage.begin_epoch()));
        } else {
            when(by_begin, || core.swept.iter().for_each(|swept| swept.set(true)));
        }
        when(starts, || {
            self.active.set(true);
            core.misses.unpin_all();
        });
        when(self.active.get(), || {
            core.arrays.sweep(self.row.get());
            self.row.set(self.row.get() + 1);
            when(self.last, || self.active.set(false));
        });
        let text = "while lines are swept nothing else changes them";
        let touched = stage.go.get() | looks | starts;
        assert_always("mgcc_l1_sweep_alone", !(self.active.get() & touched), text);
    }

    /// The arrays belong to the sweep in the next cycle.
    fn is_next(&self) -> Bool {
        self.starts.get() | (self.active.get() & !self.last)
    }
}
