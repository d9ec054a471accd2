//! Fence commands of `moesi-l2` (docs/moesi.md section 7): a drain waits for the stores and atomics that the bank has taken, a flush writes what is newer than memory.
//!
//! ```text
//! Idle -DRAIN-> Drain -> Idle
//! Idle -FLUSH-> Flush (a way at a time) -> Settle (write-back buffer and memory's queue empty) -> Idle
//! ```

use crate::cache::l2::L2Params;
use crate::cache::l2::mshr::Tally;
use crate::msg::{FenceCmd, FenceDone, FenceMark, FenceOp};
use weft_rtl::prelude::*;

/// State of the command under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum FenceState {
    Idle,
    /// Waits for the stores and atomics of the old epoch.
    Drain,
    /// Walks the ways.
    Flush,
    /// Waits until all is in memory.
    Settle,
}

/// Fence part of the bank.
pub(super) struct Fence {
    p: L2Params,
    cmd: InChannel<FenceCmd>,
    done: OutChannel<FenceDone>,
    pub state: Reg<Enum<FenceState>>,
    /// Epoch of what is taken now.
    pub epoch: Reg<Bits>,
    /// Stores and atomics taken and not performed, by epoch.
    taken: [Tally; 2],
    /// Set and way of the walk.
    pub set: Reg<Bits>,
    pub way: Reg<Bits>,
}

/// Width of the counters: the pool's requests.
const COUNT_BITS: u32 = 12;

impl Fence {
    pub fn new(p: &L2Params) -> Fence {
        Fence {
            cmd: in_channel::<FenceCmd>("fence_cmd", &()),
            done: out_channel::<FenceDone>("fence_done", &()),
            state: reg::<Enum<FenceState>>("fence_state", ()),
            epoch: reg::<Bits>("epoch", 1),
            taken: [Tally::new("taken0", COUNT_BITS), Tally::new("taken1", COUNT_BITS)],
            set: reg::<Bits>("flush_set", p.set_bits()),
            way: reg::<Bits>("flush_way", p.way_bits()),
            p: p.clone(),
        }
    }

    /// A store or atomic of this epoch is taken that is not performed yet.
    pub fn takes(&self, epoch: Bits) {
        for (i, taken) in self.taken.iter().enumerate() {
            when(epoch.eq(i as u64), || taken.up.set(true));
        }
    }

    /// One of this epoch is performed.
    pub fn performs(&self, epoch: Bits) {
        for (i, taken) in self.taken.iter().enumerate() {
            when(epoch.eq(i as u64), || taken.down.set(true));
        }
    }

    /// The walk goes on to the next way.
    pub fn walked(&self) {
        let (set, way) = (self.set.get(), self.way.get());
        self.way.set(way + 1);
        when(way.eq(u64::from(self.p.ways - 1)), || {
            self.set.set(crate::common::fifo::wrapping_next(set, self.p.sets));
            when(set.eq(u64::from(self.p.sets - 1)), || self.state.set(FenceState::Settle));
        });
    }

    /// Moves the state machine; `settled`: nothing is on its way to memory; `old`: a request of the old epoch has the slot, and is not counted yet.
    pub fn connect(&self, settled: Bool, old: Bool) {
        let answer = |op: FenceOp| {
            when(self.done.free, || {
                self.done.send(&FenceDone { op: enum_lit(op) });
                self.state.set(FenceState::Idle);
            });
        };
        switch(self.state.get(), |s| {
            s.case(FenceState::Idle, || {
                when(self.cmd.valid, || {
                    self.cmd.take();
                    let drains = self.cmd.msg.op.is(FenceOp::Drain);
                    when(drains, || self.epoch.set(!self.epoch.get()));
                    self.state.set(mux(drains, enum_lit(FenceState::Drain), enum_lit(FenceState::Flush)));
                });
            });
            s.case(FenceState::Drain, || {
                let [zero, one] = &self.taken;
                let left = mux(self.epoch.get().eq(0), one.now.get(), zero.now.get());
                when(left.none() & !old, || answer(FenceOp::Drain));
            });
            s.case(FenceState::Settle, || {
                when(settled, || answer(FenceOp::Flush));
            });
        });
        let known = self.cmd.msg.op.is_any(&[FenceOp::Drain, FenceOp::Flush]);
        let text = "a bank with owners drops nothing on command";
        assert_always("moesi_l2_fence_known", !self.cmd.valid | known, text);
        self.taken.iter().for_each(Tally::connect);
        // No marker follows Invs here: a drained store has no old copy left.
        let (order, ordered) =
            (in_channel::<FenceMark>("order", &self.p.sys), out_channel("ordered", &self.p.sys));
        when(order.valid & ordered.free, || {
            order.take();
            ordered.send(&order.msg);
        });
    }
}
