//! SYS FLUSH and SYS INV: everything dirty to memory, and for INV every line dropped (srsp.md section 6).
//!
//! ```text
//! FLUSH: Idle -----------------> Flush -> Fence --------> Answer -> Idle
//! INV:   Idle -> Drain (closed) -> Flush -> Fence -> Drop -> Answer -> Idle
//! ```
//! Flush pops the sFIFO as far as it was filled at the beginning. Fence changes the epoch of writes and waits until those of the old one are acknowledged, so that later traffic
//! does not delay it. Drop empties a set per cycle.
//!
//! Decision: INV waits in Drain until every line on its way has come and been served, before it flushes; ingress is closed meanwhile, and only memory is waited for. (The specification lets
//! open fetches answer without being installed; their atomics would then have no line to be done in.)
//!
//! One operation is carried out at a time; another waits at its queue's head.

use super::params::L2Params;
use weft_rtl::prelude::*;

/// State of the unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum SysState {
    Idle,
    Drain,
    Flush,
    Fence,
    Drop,
    Answer,
}

/// The unit.
pub(super) struct SysUnit {
    pub state: Reg<Enum<SysState>>,
    /// SYS INV.
    pub drops: Reg<Bool>,
    pub src: Reg<Bits>,
    /// sFIFO entries still to be popped.
    pub left: Reg<Bits>,
    /// Set to be emptied next.
    pub set: Reg<Bits>,
}

/// What the unit looks at.
pub(super) struct SysNeeds {
    /// Nothing is in the pipeline and no line is on its way.
    pub drained: Bool,
    /// Writes of the old epoch are not all acknowledged.
    pub owes: Bool,
    /// Entries in the sFIFO.
    pub count: Bits,
    /// One of them leaves.
    pub pops: Bool,
    /// The answer enters the pipeline.
    pub answered: Bool,
}

impl SysUnit {
    /// Declares the registers.
    pub fn new(p: &L2Params) -> SysUnit {
        SysUnit {
            state: reg::<Enum<SysState>>("sys_state", ()),
            drops: reg::<Bool>("sys_drops", ()),
            src: reg::<Bits>("sys_src", p.bank.srsp.cu_bits()),
            left: reg::<Bits>("sys_left", bits_for(u64::from(p.bank.sfifo_entries()) + 1)),
            set: reg::<Bits>("sys_set", p.bank.set_bits()),
        }
    }

    /// An operation can begin.
    pub fn idle(&self) -> Bool {
        self.state.get().is(SysState::Idle)
    }

    /// Ingress is closed.
    pub fn closed(&self) -> Bool {
        self.drops.get() & !self.idle()
    }

    /// The head of the sFIFO is to leave.
    pub fn wants_pop(&self) -> Bool {
        self.state.get().is(SysState::Flush) & self.left.get().any()
    }

    /// The answer is to be sent.
    pub fn wants_answer(&self) -> Bool {
        self.state.get().is(SysState::Answer)
    }

    /// Sets are being emptied.
    pub fn dropping(&self) -> Bool {
        self.state.get().is(SysState::Drop)
    }

    /// An operation begins; `count`: entries in the sFIFO.
    pub fn begin(&self, src: Bits, drops: Bool, count: Bits) {
        self.src.set(src);
        self.drops.set(drops);
        self.left.set(count);
        self.state.set(mux(drops, enum_lit(SysState::Drain), enum_lit(SysState::Flush)));
    }

    /// Moves on; called before [`SysUnit::begin`] can be. `epoch` is that of the writes sent.
    pub fn connect(&self, p: &L2Params, needs: &SysNeeds, epoch: &Reg<Bits>) {
        let is = |state| self.state.get().is(state);
        let last = self.set.get().eq(u64::from(p.bank.sets() - 1));
        when(is(SysState::Drain) & needs.drained, || {
            self.left.set(needs.count);
            self.state.set(SysState::Flush);
        });
        when(is(SysState::Flush), || {
            when(self.left.get().none(), || {
                epoch.set(!epoch.get());
                self.state.set(SysState::Fence);
            })
            .elsewhen(needs.pops, || self.left.set(self.left.get() - 1));
        });
        when(is(SysState::Fence) & !needs.owes, || {
            self.set.set(0);
            let next = mux(self.drops.get(), enum_lit(SysState::Drop), enum_lit(SysState::Answer));
            self.state.set(next);
        });
        when(is(SysState::Drop), || {
            self.set.set(self.set.get() + 1);
            when(last, || self.state.set(SysState::Answer));
        });
        when(needs.answered, || self.state.set(SysState::Idle));
    }
}
