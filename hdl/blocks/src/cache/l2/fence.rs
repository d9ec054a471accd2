//! Fence commands: epochs, outstanding writes, and the flush of dirty lines (rec.md section 7).
//!
//! ```text
//! Idle -DRAIN-> Drain -> Idle
//! Idle -DROP..-> Drop -> Idle
//! Idle -FLUSH-> Quiet -> Flush (one lookup per two cycles) -> Settle -> Count -> WriteOut -> Idle
//! ```
//! With `drops_all` DROP.. goes the way of FLUSH, and from WriteOut to Drop.

use super::dirops::DirOps;
use super::drops::{DropState, Drops};
use super::held::Walk;
use super::mshr::Tally;
use super::outputs::Outputs;
use super::params::L2Params;
use crate::msg::{FenceCmd, FenceDone, FenceOp};
use weft_rtl::prelude::*;

/// State of the command under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum FenceState {
    Idle,
    /// Waits for the old epoch's writes.
    Drain,
    /// Waits until no fill is between its replay and its installation.
    Quiet,
    /// Walks the sets.
    Flush,
    /// The last write-back is in stage 2.
    Settle,
    /// Counts the write-backs not yet accepted.
    Count,
    /// Waits until DRAM has accepted them.
    WriteOut,
    /// Copies are dropped (software coherence).
    Drop,
}

/// Fence part of the bank.
pub(super) struct Fence {
    cmd: InChannel<FenceCmd>,
    done: OutChannel<FenceDone>,
    pub state: Reg<Enum<FenceState>>,
    /// Epoch of writes accepted now.
    pub epoch: Reg<Bits>,
    /// WrReq and AtomReq not yet acknowledged, by epoch.
    pub remote: [Tally; 2],
    /// Stores and atomics to home lines not yet complete, by epoch; in a hierarchy also to lines whose GPU home is here.
    pub local: [Tally; 2],
    /// Writes passed on to other GPUs.
    pub far: Option<FarWrites>,
    /// Set being flushed.
    pub set: Reg<Bits>,
    left: Reg<Bits>,
    pub drops: Option<Drops>,
    /// Before a drain's epoch flips, dirty bytes of lines that other GPMs serve are written on.
    pub walk: Option<Walk>,
    /// Writes of all nodes that were under way when a drain began (GPU-VI): somebody of this node may have read them.
    behind: Option<Reg<Bits>>,
    p: L2Params,
}

/// Writes passed on to other GPUs, in epochs of their own: a release of GPU scope does not wait for them.
pub(super) struct FarWrites {
    cmd: InChannel<FenceCmd>,
    done: OutChannel<FenceDone>,
    draining: Reg<Bool>,
    epoch: Reg<Bits>,
    out: [Tally; 2],
    /// Before the epoch flips, dirty bytes of lines with their GPU home here are written on.
    pub walk: Option<Walk>,
}

impl FarWrites {
    fn new(p: &L2Params) -> FarWrites {
        FarWrites {
            cmd: in_channel::<FenceCmd>("far_cmd", &()),
            done: out_channel::<FenceDone>("far_done", &()),
            draining: reg::<Bool>("far_draining", ()),
            epoch: reg::<Bits>("far_epoch", 1),
            out: [Tally::new("far_out0", COUNT_BITS), Tally::new("far_out1", COUNT_BITS)],
            walk: p.write_back.then(|| Walk::new("far_walk", p)),
        }
    }

    fn connect(&self) {
        let drained = unless_walking(&self.walk, none_of(&self.out, !self.epoch.get()));
        when(self.draining.get(), || {
            when(drained & self.done.free, || {
                self.done.send(&FenceDone { op: enum_lit(FenceOp::Drain) });
                self.draining.set(false);
            });
        })
        .elsewhen(self.cmd.valid, || {
            self.cmd.take();
            begin_drain(&self.walk, &self.epoch);
            self.draining.set(true);
        });
        flip_behind(&self.walk, &self.epoch);
        assert_always(
            "l2_far_cmd_drains",
            !self.cmd.valid | self.cmd.msg.op.is(FenceOp::Drain),
            "what was passed on can only be waited for",
        );
        cover(
            "hmg.race.far_drain_waits",
            self.draining.get() & !drained,
            "A release of system scope waits for writes that this GPU home has passed on.",
        );
        self.out.iter().for_each(Tally::connect);
    }
}

/// A drain begins: the epoch flips, with write-back when the walk is over.
fn begin_drain(walk: &Option<Walk>, epoch: &Reg<Bits>) {
    match walk {
        Some(walk) => walk.begin(),
        None => epoch.set(!epoch.get()),
    }
}

fn flip_behind(walk: &Option<Walk>, epoch: &Reg<Bits>) {
    if let Some(walk) = walk {
        when(walk.ends.get(), || epoch.set(!epoch.get()));
    }
}

fn unless_walking(walk: &Option<Walk>, drained: Bool) -> Bool {
    walk.as_ref().map_or(drained, |walk| drained & !walk.active.get())
}

fn of_epoch(pair: &[Tally; 2], epoch: Bits) -> Bits {
    mux(epoch.as_bool(), pair[1].now.get(), pair[0].now.get())
}

fn none_of(pair: &[Tally; 2], epoch: Bits) -> Bool {
    of_epoch(pair, epoch).none()
}

fn full(pair: &[Tally; 2], epoch: Bits) -> Bool {
    of_epoch(pair, epoch).bit(COUNT_BITS - 1)
}

fn step(pair: &[Tally; 2], epoch: Bits, up: bool) {
    let side = |t: &Tally| if up { t.up.set(true) } else { t.down.set(true) };
    when(epoch.as_bool(), || side(&pair[1])).otherwise(|| side(&pair[0]));
}

/// Width of the counters of outstanding writes; a store waits while the top bit of its counter is set.
const COUNT_BITS: u32 = 16;

impl Fence {
    /// Declares channels and registers.
    pub fn new(p: &L2Params) -> Fence {
        Fence {
            cmd: in_channel::<FenceCmd>("fence_cmd", &()),
            done: out_channel::<FenceDone>("fence_done", &()),
            state: reg::<Enum<FenceState>>("fence_state", ()),
            epoch: reg::<Bits>("epoch", 1),
            remote: [Tally::new("wr_out0", COUNT_BITS), Tally::new("wr_out1", COUNT_BITS)],
            local: [Tally::new("st_out0", COUNT_BITS), Tally::new("st_out1", COUNT_BITS)],
            far: p.hier.then(|| FarWrites::new(p)),
            set: reg::<Bits>("flush_set", p.set_bits()),
            left: reg::<Bits>("flush_left", 5),
            drops: p.drops.then(|| Drops::new(p)),
            walk: p.write_back.then(|| Walk::new("walk", p)),
            behind: p.acks.then(|| reg::<Bits>("drain_behind", p.sys.l2_mshrs)),
            p: p.clone(),
        }
    }

    /// A write of the present epoch may be counted.
    pub fn room(&self) -> Bool {
        let epoch = self.epoch.get();
        !full(&self.remote, epoch) & !full(&self.local, epoch) & self.far_room()
    }

    /// Requests are served: no copies are being dropped.
    pub fn serves(&self) -> Bool {
        self.drops.as_ref().map_or(bool_lit(true), |drops| drops.state.get().is(DropState::Idle))
    }

    /// A write that is passed on to another GPU may be counted.
    pub fn far_room(&self) -> Bool {
        self.far.as_ref().map_or(bool_lit(true), |far| !full(&far.out, far.epoch.get()))
    }

    /// Epoch of what is passed on to other GPUs now.
    pub fn far_epoch(&self) -> Bits {
        self.far.as_ref().map_or(lit(0, 1), |far| far.epoch.get())
    }

    /// A store or atomic of this node is accepted; `here`: it is performed here.
    pub fn begin(&self, here: Bool) {
        let epoch = self.epoch.get();
        when(here, || step(&self.local, epoch, true)).otherwise(|| step(&self.remote, epoch, true));
    }

    /// A write is passed on to another GPU.
    pub fn passed_on(&self) {
        if let Some(far) = &self.far {
            step(&far.out, far.epoch.get(), true);
        }
    }

    /// A WrReq or AtomReq of an epoch is acknowledged; `near`: by a GPM of this GPU, in a flat fabric always.
    pub fn acknowledged(&self, near: Bool, epoch: Bits) {
        match &self.far {
            Some(far) => {
                when(near, || step(&self.remote, epoch, false)).otherwise(|| step(&far.out, epoch, false));
            }
            None => step(&self.remote, epoch, false),
        }
    }

    /// A write to a home line is complete.
    pub fn completed(&self, epoch: Bits) {
        step(&self.local, epoch, false);
    }

    /// No WrReq or AtomReq of the epoch before is outstanding.
    pub fn remote_drained(&self) -> Bool {
        none_of(&self.remote, !self.epoch.get())
    }

    /// No write to a home line of the epoch before is outstanding.
    pub fn local_drained(&self) -> Bool {
        none_of(&self.local, !self.epoch.get())
    }

    /// A drain is over.
    pub fn drained(&self) -> Bool {
        let none = self.remote_drained() & self.local_drained();
        let none = self.behind.as_ref().map_or(none, |behind| none & behind.get().none());
        self.state.get().is(FenceState::Drain) & unless_walking(&self.walk, none)
    }

    /// Writes that were passed on to other GPUs are not acknowledged.
    pub fn far_writes(&self) -> Bool {
        self.far
            .as_ref()
            .map_or(bool_lit(false), |far| any_of(&far.out.each_ref().map(|t| t.now.get().any())))
    }

    /// A flush lookup asks to enter the pipeline.
    pub fn asks(&self) -> Bool {
        self.state.get().is(FenceState::Flush)
    }

    /// The two walks.
    pub fn both_walks(&self) -> Option<[&Walk; 2]> {
        Some([self.walk.as_ref()?, self.far.as_ref()?.walk.as_ref()?])
    }

    /// Which walks ask to enter the pipeline with room for a message, while they `may`.
    pub fn walks_ask(&self, may: Bool, outs: &Outputs) -> Option<[Bool; 2]> {
        let [near, far] = self.both_walks()?;
        let pass = outs.pass.as_ref()?;
        let counted = !full(&self.remote, self.epoch.get());
        Some([
            may & near.active.get() & outs.request.room(3) & counted,
            may & far.active.get() & pass.room(3) & self.far_room(),
        ])
    }

    /// The set that a flush or, of those that ask, a walk looks at.
    pub fn walked_set(&self, asks: Option<[Bool; 2]>) -> Bits {
        match (self.both_walks(), asks) {
            (Some([near, far]), Some([near_asks, far_asks])) => {
                mux(near_asks, near.set.get(), mux(far_asks, far.set.get(), self.set.get()))
            }
            _ => self.set.get(),
        }
    }

    /// Dirty bytes are written on, to a GPM of this GPU or to another GPU.
    pub fn writes_on(&self, near: Bool, far: Bool) {
        when(near, || step(&self.remote, self.epoch.get(), true));
        when(far, || self.passed_on());
    }

    /// Stage 1 has looked at the set; `more` dirty lines are left in it.
    pub fn looked(&self, more: Bool) {
        when(!more, || {
            self.set.set(self.set.get() + 1);
            when(self.set.get().eq(u64::from(self.p.sets - 1)), || {
                self.set.set(0);
                self.state.set(FenceState::Settle);
            });
        });
    }

    fn answer(&self, op: FenceOp) {
        when(self.done.free, || {
            self.done.send(&FenceDone { op: enum_lit(op) });
            self.state.set(FenceState::Idle);
        });
    }

    /// Dirty lines are written back: that was all, or copies are dropped now.
    fn written_out(&self) {
        let ordered = self.drops.as_ref().and_then(|drops| Some((drops, drops.ordered.as_ref()?)));
        let Some((drops, ordered)) = ordered else { return self.answer(FenceOp::Flush) };
        when(ordered.get(), || {
            ordered.set(false);
            drops.begin(drops.op.get());
            self.state.set(FenceState::Drop);
        })
        .otherwise(|| self.answer(FenceOp::Flush));
    }

    /// Moves the state machine; `quiet`: the fill engine is idle.
    pub fn connect(&self, outs: &Outputs, ops: &DirOps, quiet: Bool) {
        let accepted = outs.mem.out.waiting & outs.mem.out.free;
        switch(self.state.get(), |s| {
            s.case(FenceState::Idle, || {
                when(self.cmd.valid, || {
                    self.cmd.take();
                    when(self.cmd.msg.op.is(FenceOp::Drain), || {
                        begin_drain(&self.walk, &self.epoch);
                        self.behind.iter().for_each(|behind| behind.set(ops.writes()));
                        self.state.set(FenceState::Drain);
                    })
                    .elsewhen(self.cmd.msg.op.is(FenceOp::Flush), || self.state.set(FenceState::Quiet))
                    .otherwise(|| match &self.drops {
                        Some(drops) if self.p.drops_all => {
                            drops.order(self.cmd.msg.op);
                            self.state.set(FenceState::Quiet);
                        }
                        Some(drops) => {
                            drops.begin(self.cmd.msg.op);
                            self.state.set(FenceState::Drop);
                        }
                        None => self.state.set(FenceState::Quiet),
                    });
                });
            });
            if let Some(drops) = &self.drops {
                s.case(FenceState::Drop, || {
                    when(drops.state.get().is(DropState::Answer) & self.done.free, || {
                        self.done.send(&FenceDone { op: drops.op.get() });
                        drops.state.set(DropState::Idle);
                        self.state.set(FenceState::Idle);
                    });
                });
            }
            s.case(FenceState::Drain, || {
                self.behind.iter().for_each(|behind| behind.set(behind.get() & !ops.directory.now.get()));
                when(self.drained(), || self.answer(FenceOp::Drain));
            });
            s.case(FenceState::Quiet, || {
                when(quiet, || self.state.set(FenceState::Flush));
            });
            s.case(FenceState::Settle, || self.state.set(FenceState::Count));
            s.case(FenceState::Count, || {
                let waiting = outs.mem.waiting();
                self.left.set(mux(accepted, waiting - 1, waiting));
                self.state.set(FenceState::WriteOut);
            });
            s.case(FenceState::WriteOut, || {
                when(self.left.get().none(), || self.written_out())
                    .elsewhen(accepted, || self.left.set(self.left.get() - 1));
            });
        });
        flip_behind(&self.walk, &self.epoch);
        self.observe();
        assert_always(
            "l2_fence_cmd_known",
            !self.cmd.valid
                | bool_lit(self.drops.is_some())
                | self.cmd.msg.op.is_any(&[FenceOp::Drain, FenceOp::Flush]),
            "only banks of software coherence drop copies",
        );
        self.far.iter().for_each(FarWrites::connect);
        for tally in self.remote.iter().chain(&self.local) {
            tally.connect();
        }
    }

    fn observe(&self) {
        let drain = self.state.get().is(FenceState::Drain);
        if let Some(behind) = &self.behind {
            cover(
                "gpu_vi.race.drain_waits_stores_of_others",
                drain & self.remote_drained() & self.local_drained() & behind.get().any(),
                "DRAIN waits only for stores of other nodes, which somebody of this node may have read.",
            );
        }
        let (remote, local) = (self.remote_drained(), self.local_drained());
        let begun: Vec<Bool> = self.remote.iter().chain(&self.local).map(|t| t.up.get()).collect();
        cover(
            "rec.race.drain_waits_remote_write",
            drain & !remote,
            "DRAIN waits for a WrReq or AtomReq of the old epoch.",
        );
        cover(
            "rec.race.drain_waits_local_store",
            drain & remote & !local,
            "DRAIN waits for local stores only.",
        );
        cover(
            "rec.race.new_epoch_write_while_draining",
            drain & any_of(&begun),
            "A write of the new epoch is accepted while the old one drains.",
        );
    }
}
