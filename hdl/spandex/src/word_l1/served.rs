//! Whose the Done slot is: an MSHR, or an entry of the store buffer, of which words have come.

use crate::gpu_l1::GpuL1Params;
use weft_rtl::prelude::*;

/// The entry that is served.
pub(crate) struct Served {
    p: GpuL1Params,
    /// It is of the store buffer.
    pub sb: Reg<Bool>,
    at: Reg<Bits>,
    /// Which of its loads.
    pub next: Reg<Bits>,
    valid: Reg<Bool>,
    ends: Wire<Bool>,
    steps: Wire<Bool>,
}

impl Served {
    /// Declares the registers; none is served.
    pub fn new(p: &GpuL1Params) -> Served {
        let s = &p.spandex;
        Served {
            sb: reg::<Bool>("done_sb", ()),
            at: reg::<Bits>("done_at", bits_for(u64::from(s.mshrs.max(s.sb)))),
            next: reg::<Bits>("done_next", p.target_bits()),
            valid: reg::<Bool>("done_valid", ()),
            ends: wire_or::<Bool>("done_ends", (), false),
            steps: wire_or::<Bool>("done_steps", (), false),
            p: p.clone(),
        }
    }

    /// The MSHR, if it is one.
    pub fn mshr(&self) -> Bits {
        self.at.get().slice(0, self.p.spandex.mshr_bits())
    }

    /// The entry of the store buffer, if it is one.
    pub fn entry(&self) -> Bits {
        self.at.get().slice(0, self.p.sb_bits())
    }

    /// The slot is the last of its entry, or another load follows.
    pub fn end(&self, last: Bool) {
        when(last, || self.ends.set(true)).otherwise(|| self.steps.set(true));
    }

    /// The next that is served: of MSHRs and entries that are ready, or the next load of the present one; one is only if `may`. Returns whether there is one, which, whether it is of the store
    /// buffer, and which of its loads.
    pub fn choose(
        &self,
        mshrs: impl FnOnce() -> Bits,
        stores: impl FnOnce() -> Bits,
        may: impl FnOnce(Bool) -> Bool,
    ) -> (Bool, Bits, Bool, Bits) {
        let s = &self.p.spandex;
        let stays = self.valid.get() & !self.ends.get();
        let width = self.at.get().width();
        let here = |n: u32, sb: bool| {
            let mine = if sb { self.sb.get() } else { !self.sb.get() };
            self.at.get().one_hot(n) & (self.valid.get() & mine).repeat(n)
        };
        let mshrs = mshrs() & !here(s.mshrs, false);
        let stores = stores() & !here(s.sb, true);
        let sb = mux(stays, self.sb.get(), mshrs.none());
        let picked = mux(mshrs.any(), mshrs.lowest_set().resize(width), stores.lowest_set().resize(width));
        let at = mux(stays, self.at.get(), picked);
        let any = may(stays | mshrs.any() | stores.any());
        let next = mux(self.steps.get(), self.next.get() + 1, self.next.get());
        let next = mux(stays, next, lit(0, self.p.target_bits()));
        self.valid.set(any);
        when(any, || {
            self.sb.set(sb);
            self.at.set(at);
            self.next.set(next);
        });
        (any, at, sb, next)
    }
}
