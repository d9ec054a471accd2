//! Fence commands: epochs, outstanding writes, and the flush of dirty lines (rec.md section 7).
//!
//! ```text
//! Idle -DRAIN-> Drain -> Idle
//! Idle -FLUSH-> Quiet -> Flush (one lookup per two cycles) -> Settle -> Count -> WriteOut -> Idle
//! ```

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
    /// Stores and atomics to home lines not yet complete, by epoch.
    pub local: [Tally; 2],
    /// Set being flushed.
    pub set: Reg<Bits>,
    left: Reg<Bits>,
    p: L2Params,
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
            set: reg::<Bits>("flush_set", p.set_bits()),
            left: reg::<Bits>("flush_left", 5),
            p: p.clone(),
        }
    }

    /// A write of the present epoch may be counted.
    pub fn room(&self) -> Bool {
        let top = |t: &Tally| t.now.get().bit(COUNT_BITS - 1);
        let of = |pair: &[Tally; 2]| mux(self.epoch.get().as_bool(), top(&pair[1]), top(&pair[0]));
        !of(&self.remote) & !of(&self.local)
    }

    /// A store or atomic is accepted.
    pub fn begin(&self, homed: Bool) {
        for (i, value) in [0u64, 1].into_iter().enumerate() {
            when(self.epoch.get().eq(value), || {
                when(homed, || self.local[i].up.set(true)).otherwise(|| self.remote[i].up.set(true));
            });
        }
    }

    /// A WrReq or AtomReq of an epoch is acknowledged.
    pub fn acknowledged(&self, epoch: Bits) {
        when(epoch.as_bool(), || self.remote[1].down.set(true)).otherwise(|| self.remote[0].down.set(true));
    }

    /// A write to a home line is complete.
    pub fn completed(&self, epoch: Bits) {
        when(epoch.as_bool(), || self.local[1].down.set(true)).otherwise(|| self.local[0].down.set(true));
    }

    fn none_of(&self, pair: &[Tally; 2], epoch: Bits) -> Bool {
        mux(epoch.as_bool(), pair[1].now.get(), pair[0].now.get()).none()
    }

    /// No WrReq or AtomReq of the epoch before is outstanding.
    pub fn remote_drained(&self) -> Bool {
        self.none_of(&self.remote, !self.epoch.get())
    }

    /// No write to a home line of the epoch before is outstanding.
    pub fn local_drained(&self) -> Bool {
        self.none_of(&self.local, !self.epoch.get())
    }

    /// A flush lookup asks to enter the pipeline.
    pub fn asks(&self) -> Bool {
        self.state.get().is(FenceState::Flush)
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

    /// Moves the state machine; `quiet`: the fill engine is idle.
    pub fn connect(&self, outs: &Outputs, quiet: Bool) {
        let accepted = outs.mem.out.waiting & outs.mem.out.free;
        switch(self.state.get(), |s| {
            s.case(FenceState::Idle, || {
                when(self.cmd.valid, || {
                    self.cmd.take();
                    when(self.cmd.msg.op.is(FenceOp::Drain), || {
                        self.epoch.set(!self.epoch.get());
                        self.state.set(FenceState::Drain);
                    })
                    .otherwise(|| self.state.set(FenceState::Quiet));
                });
            });
            s.case(FenceState::Drain, || {
                when(self.remote_drained() & self.local_drained(), || self.answer(FenceOp::Drain));
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
                when(self.left.get().none(), || self.answer(FenceOp::Flush))
                    .elsewhen(accepted, || self.left.set(self.left.get() - 1));
            });
        });
        self.observe();
        for tally in self.remote.iter().chain(&self.local) {
            tally.connect();
        }
    }

    fn observe(&self) {
        let drain = self.state.get().is(FenceState::Drain);
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
