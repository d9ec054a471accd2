//! A FILL or REG_DATA at work: the line is installed, then its targets are done one per cycle; nothing comes between, and nothing is waited for but the CU (srsp.md
//! sections 5 and 9). Atomics of a REG_DATA are answered later, so they do not even wait for that.

use super::misses::Misses;
use super::params::HlrcL1Params;
use super::table::Asked;
use crate::msg::{Rsp, RspOp};
use weft_rtl::prelude::*;

/// The answer at work.
pub(super) struct Filler {
    pub valid: Reg<Bool>,
    /// Its line is installed, or was not to be; targets follow.
    pub serves: Reg<Bool>,
    pub entry: Reg<Bits>,
    pub data: Reg<Bits>,
    pub from_l2: Reg<Bool>,
    /// It is REG_DATA.
    pub grants: Reg<Bool>,
    left: Reg<Bits>,
    left_next: Wire<Bits>,
    /// Its last target is done in this cycle.
    pub ends: Wire<Bool>,
}

impl Filler {
    pub fn new(p: &HlrcL1Params) -> Filler {
        let left = reg::<Bits>("fill_left", p.targets).field("pipeline");
        Filler {
            valid: reg::<Bool>("fill_valid", ()),
            serves: reg::<Bool>("fill_serves", ()),
            entry: reg::<Bits>("fill_entry", p.srsp.mshr_bits()).field("pipeline"),
            data: reg::<Bits>("fill_data", p.srsp.data_bits()).field("pipeline"),
            from_l2: reg::<Bool>("fill_from_l2", ()).field("pipeline"),
            grants: reg::<Bool>("fill_grants", ()).field("pipeline"),
            left_next: wire_or::<Bits>("fill_left_next", p.targets, left.get()),
            left,
            ends: wire_or::<Bool>("fill_ends", (), false),
        }
    }

    /// An answer comes in.
    pub fn take(&self, m: &Rsp) {
        self.valid.set(true);
        self.serves.set(false);
        self.entry.set(m.mshr);
        self.data.set(m.data);
        self.from_l2.set(m.hit);
        self.grants.set(m.op.is(RspOp::RegData));
    }

    /// The line is installed, or not; its targets follow.
    pub fn install(&self, misses: &Misses) {
        misses.filled(self.entry.get());
        self.serves.set(true);
        self.left_next.set(misses.waiting(self.entry.get()).left);
    }

    /// Number of the target at work.
    pub fn target(&self) -> Bits {
        self.left.get().lowest_set()
    }

    /// The target at work is done. With the last one the entry is free, unless its atomics are still to be answered.
    pub fn served(&self, misses: &Misses) {
        let here = self.left.get() & (!self.left.get() + 1);
        let left = self.left.get() & !here;
        self.left_next.set(left);
        when(left.none(), || {
            when(!self.grants.get(), || misses.leave(self.entry.get(), left));
            self.valid.set(false);
            self.ends.set(true);
        });
    }

    /// The next slot is wanted.
    pub fn wants(&self) -> Bool {
        self.valid.get() & !self.ends.get()
    }

    /// Presents the next target; call it when the next slot is the filler's.
    pub fn present(&self, misses: &Misses) {
        misses.present(self.entry.get(), self.left_next.get().lowest_set());
    }

    /// Declares what stays, after all slots.
    pub fn finish(&self, misses: &Misses) {
        self.left.set(self.left_next.get());
        let serves = self.valid.get() & self.serves.get();
        let text = "an answer has a target";
        assert_always("hlrc_l1_fill_target", !serves | self.left.get().any(), text);
        let reg = misses.miss(self.entry.get()).asked.is(Asked::Reg);
        let text = "REG_DATA answers a REG, FILL an RD or RDU";
        assert_always("hlrc_l1_fill_kind", !self.valid.get() | reg.eq(self.grants.get()), text);
    }
}
