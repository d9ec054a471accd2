//! The bank's clock {epoch, ts}, and the sweep that a new epoch, a command or a reset asks for (mgcc.md sections 3, 5 and 8).

use super::params::L2Params;
use super::tags::Tags;
use super::types::LineState;
use crate::msg::{Maint, MaintOp, Roll, RollAck};
use crate::time::{assert_roll_in_order, later, max};
use weft_rtl::prelude::*;

/// `cts` of a bank with timestamps.
pub(super) struct Clock {
    /// Current epoch.
    pub epoch: Reg<Bits>,
    /// Time within it.
    pub ts: Reg<Bits>,
    /// Stage 1's time: with what its operation brings.
    pub now: Wire<Bits>,
    eb: u32,
}

impl Clock {
    /// Declares the clock: epoch 0, time 0.
    pub fn new(p: &L2Params) -> Clock {
        // Of G-TSC the time of all lines that are in memory only.
        let name = if p.gtsc() { "mem_ts" } else { "cts" };
        let ts = reg::<Bits>(name, p.tsm.ts).field(name);
        Clock {
            epoch: reg::<Bits>("epoch", p.tsm.epoch_bits()).field(name),
            now: wire_or::<Bits>(&format!("{name}_now"), p.tsm.ts, ts.get()),
            ts,
            eb: p.tsm.eb,
        }
    }

    /// The epoch as messages carry it.
    pub fn tag(&self) -> Bits {
        self.epoch.get().slice(0, self.eb)
    }

    /// Raises the clock to a stamp of this epoch; call it under its condition.
    pub fn raise(&self, stamp: Bits) {
        self.now.set(max(self.ts.get(), stamp));
    }

    /// How many epochs ago a tag was the current one.
    pub fn behind(&self, tag: Bits) -> Bits {
        self.tag() - tag
    }

    /// {tag, ts} `need` lies at or before {epoch, rts} `lease`.
    pub fn within(&self, need: (Bits, Bits), lease: (Bits, Bits)) -> Bool {
        let (from, to) = (self.behind(need.0), self.behind(lease.0));
        from.gt(to) | (from.eq(to) & need.1.le(lease.1))
    }
}

/// What the sweep is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum SweepState {
    /// After reset: every way becomes invalid.
    Init,
    Idle,
    /// A new epoch has begun.
    Roll,
    /// A command invalidates.
    Maint,
    /// Its answer is to be sent.
    Done,
}

/// What moves the sweep.
pub(super) struct Causes {
    /// A new epoch begins.
    pub roll: Bool,
    /// A command invalidates.
    pub maint: Bool,
    /// Of a write-back bank: the command is carried out.
    pub flushed: Option<Bool>,
}

/// The sweep and the channels of its causes.
pub(super) struct Sweep {
    pub state: Reg<Enum<SweepState>>,
    /// Set whose row was presented in the cycle before.
    pub set: Reg<Bits>,
    /// The arrays are cleared.
    pub ready: Reg<Bool>,
    pub roll: InChannel<Roll>,
    pub ack: OutChannel<RollAck>,
    pub maint: InChannel<Maint>,
    pub done: OutChannel<Maint>,
}

impl Sweep {
    /// Declares channels and registers.
    pub fn new(p: &L2Params) -> Sweep {
        Sweep {
            state: reg::<Enum<SweepState>>("sweep_state", ()),
            set: reg::<Bits>("sweep_set", p.set_bits()),
            ready: reg::<Bool>("ready", ()),
            roll: in_channel::<Roll>("roll", &p.tsm),
            ack: out_channel::<RollAck>("roll_ack", &p.tsm),
            maint: in_channel::<Maint>("maint", &()),
            done: out_channel::<Maint>("maint_done", &()),
        }
    }

    /// Nothing may enter the pipeline.
    pub fn busy(&self) -> Bool {
        self.state.get().is_any(&[SweepState::Init, SweepState::Roll, SweepState::Maint])
    }

    /// The message that opens a new epoch is there.
    pub fn rolls(&self, clock: &Clock) -> Bool {
        self.roll.valid & later(self.roll.msg.epoch, clock.epoch.get())
    }

    /// A command to invalidate is there, not carried out yet.
    pub fn commanded(&self) -> Bool {
        self.maint.valid & self.maint.msg.op.is(MaintOp::Invalidate) & self.state.get().is(SweepState::Idle)
    }

    /// Starts and moves the sweep; the pipeline's first stages are empty when it starts. Whether a roll begins in this cycle.
    pub fn connect(&self, p: &L2Params, tags: &Tags, clock: Option<&Clock>, causes: &Causes) -> Bool {
        let (state, roll, maint) = (self.state.get(), causes.roll, causes.maint);
        let start_roll = (roll & state.is(SweepState::Idle)).named("roll_starts");
        let start_maint = (maint & !roll & state.is(SweepState::Idle)).named("maint_starts");
        when(start_roll, || self.state.set(SweepState::Roll));
        when(start_maint, || self.state.set(SweepState::Maint));
        when(start_roll | start_maint, || {
            self.set.set(0);
            tags.present(lit(0, p.set_bits()));
        });
        if let Some(clock) = clock {
            clock.ts.set(clock.now.get());
            when(start_roll, || {
                clock.epoch.set(clock.epoch.get() + 1);
                clock.ts.set(0);
            });
        }
        when(self.busy(), || {
            let init = state.is(SweepState::Init);
            // G-TSC keeps the blocks: nobody else has their bytes.
            let drops = |s: Enum<LineState>| s.is_any(&[LineState::V, LineState::P]) & !bool_lit(p.gtsc());
            tags.sweep(self.set.get(), init, drops);
            let next = self.set.get() + 1;
            tags.present(next);
            self.set.set(next);
            let last = self.set.get().eq(u64::from(p.sets() - 1));
            when(last, || {
                self.ready.set(true);
                self.state.set(SweepState::Idle);
                when(state.is(SweepState::Maint), || self.state.set(SweepState::Done));
            });
        });
        self.answer(clock, start_roll | start_maint, causes.flushed);
        start_roll
    }

    fn answer(&self, clock: Option<&Clock>, starts: Bool, flushed: Option<Bool>) {
        let idle = self.state.get().is(SweepState::Idle) & !starts;
        // An epoch that a message brought before is only acknowledged; a bank without timestamps has nothing to do.
        let swept = clock.map_or(idle, |clock| {
            let (roll, epoch) = (self.roll.msg.epoch, clock.epoch.get());
            assert_roll_in_order("l2_roll_in_order", self.roll.valid, roll, epoch);
            idle & !later(roll, epoch)
        });
        when(self.roll.valid & swept & self.ack.free, || {
            self.roll.take();
            self.ack.send(&RollAck { epoch: self.roll.msg.epoch });
        });
        let nothing = idle & self.maint.msg.op.is(MaintOp::WriteBack);
        let over = flushed.unwrap_or(nothing | self.state.get().is(SweepState::Done));
        when(self.maint.valid & over & self.done.free, || {
            self.maint.take();
            self.done.send(&self.maint.msg);
            self.state.set(SweepState::Idle);
        });
    }
}
