//! Writing back at a kernel's end, dropping lines at its start, in a write-back bank (mgcc.md section 5): goes through the sets, one per cycle, and one more cycle for
//! each dirty line beyond the first of a set. No request enters meanwhile; it begins when nothing is outstanding.

use super::clock::Sweep;
use super::mshr::Mshrs;
use super::params::L2Params;
use crate::msg::MaintOp;
use weft_rtl::prelude::*;

/// What the flush is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum FlushState {
    Idle,
    /// Goes through the sets.
    Walk,
    /// Waits for the acknowledgements of memory.
    Drain,
    /// The command's answer is to be sent.
    Done,
}

/// The flush.
pub(super) struct Flush {
    pub state: Reg<Enum<FlushState>>,
    /// Next set.
    pub set: Reg<Bits>,
    /// There is none.
    all: Reg<Bool>,
    /// Stage 1 has found more dirty lines in its set.
    pub more: Wire<Bool>,
    /// Bank of all lines, from the last request.
    pub bank: Reg<Bits>,
}

impl Flush {
    /// Declares the registers.
    pub fn new(p: &L2Params) -> Flush {
        Flush {
            state: reg::<Enum<FlushState>>("flush_state", ()),
            set: reg::<Bits>("flush_set", p.set_bits()),
            all: reg::<Bool>("flush_all", ()),
            bank: reg::<Bits>("flush_bank", p.tsm.bank_bits()),
            more: wire_or::<Bool>("flush_more", (), false),
        }
    }

    /// No request may enter.
    pub fn busy(&self, sweep: &Sweep) -> Bool {
        sweep.maint.valid | !self.state.get().is(FlushState::Idle)
    }

    /// A set is to be looked at, and which.
    pub fn asks(&self, s1_set: Bits) -> (Bool, Bits) {
        let again = self.more.get();
        let there = self.state.get().is(FlushState::Walk) & (again | !self.all.get());
        (there, mux(again, s1_set, self.set.get()))
    }

    /// The command is carried out.
    pub fn over(&self) -> Bool {
        self.state.get().is(FlushState::Done)
    }

    /// Moves on; `sent`: the set that [`Flush::asks`] named has entered; `empty`: nothing is in the pipeline.
    pub fn connect(&self, p: &L2Params, m: &Mshrs, sweep: &Sweep, sent: Bool, want: Bits, empty: Bool) {
        let state = self.state.get();
        let idle = empty & m.in_use().none();
        when(state.is(FlushState::Idle) & sweep.maint.valid & sweep.ready.get() & idle, || {
            self.state.set(FlushState::Walk);
            self.set.set(0);
            self.all.set(false);
        });
        when(state.is(FlushState::Walk), || {
            let there = self.more.get() | !self.all.get();
            when(sent, || {
                self.set.set(want + 1);
                self.all.set(want.eq(u64::from(p.sets() - 1)));
            })
            .elsewhen(self.more.get(), || {
                self.set.set(want);
                self.all.set(false);
            });
            when(!there, || self.state.set(FlushState::Drain));
        });
        when(state.is(FlushState::Drain) & idle, || self.state.set(FlushState::Done));
        when(state.is(FlushState::Done) & sweep.done.free, || self.state.set(FlushState::Idle));
    }

    /// Lines are dropped, not only written back.
    pub fn drops(&self, sweep: &Sweep) -> Bool {
        sweep.maint.msg.op.is(MaintOp::Invalidate)
    }
}
