//! A FILL at work: its line is installed, then its targets are answered one per cycle; nothing comes between, and nothing is waited for but the CU (srsp.md section 5). Targets that
//! cannot be done in their slot stay in the MSHR.

use super::misses::Misses;
use crate::msg::Rsp;
use crate::write_combining::Shape;
use crate::write_combining::fill;
use weft_rtl::prelude::*;

/// The FILL at work. What is noted of it is that nothing was installed.
pub(super) struct Filler {
    pub at: fill::Filler,
    kept: Reg<Bits>,
}

impl Filler {
    pub fn new(p: &Shape) -> Filler {
        let at = fill::Filler::new(p, "marked");
        Filler { at, kept: reg::<Bits>("fill_kept", p.targets).field("pipeline") }
    }

    /// A FILL comes in.
    pub fn take(&self, m: &Rsp) {
        self.at.take(m);
    }

    /// The line is installed, or with `marked` is not.
    pub fn install(&self, misses: &Misses, marked: Bool) {
        misses.filled(self.at.entry.get());
        self.at.serves.set(true);
        self.at.note.set(marked);
        self.kept.set(lit_bv(Bv::zero(self.kept.width())));
        self.at.follow(&misses.all);
    }

    /// The target at work is answered, or stays to be replayed.
    pub fn served(&self, misses: &Misses, stays: Bool) {
        let here = self.at.here();
        let kept = self.kept.get() | (here & stays.repeat(here.width()));
        self.kept.set(kept);
        self.at.advance(here, |_| misses.all.leave(self.at.entry.get(), kept));
    }
}
