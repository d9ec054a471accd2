//! A FILL at work: the line is installed, then its targets are answered one per cycle; nothing comes between, and nothing is waited for but the CU (srsp.md section 5).

use super::misses::Misses;
use super::params::L1Params;
use crate::msg::Rsp;
use weft_rtl::prelude::*;

/// The FILL at work.
pub(super) struct Filler {
    pub valid: Reg<Bool>,
    /// Its line is installed, or was not to be; targets follow.
    pub serves: Reg<Bool>,
    pub entry: Reg<Bits>,
    pub data: Reg<Bits>,
    pub from_l2: Reg<Bool>,
    /// Nothing was installed.
    pub marked: Reg<Bool>,
    left: Reg<Bits>,
    kept: Reg<Bits>,
    left_next: Wire<Bits>,
    ends: Wire<Bool>,
}

impl Filler {
    pub fn new(p: &L1Params) -> Filler {
        let left = reg::<Bits>("fill_left", p.targets).field("pipeline");
        Filler {
            valid: reg::<Bool>("fill_valid", ()),
            serves: reg::<Bool>("fill_serves", ()),
            entry: reg::<Bits>("fill_entry", p.srsp.mshr_bits()).field("pipeline"),
            data: reg::<Bits>("fill_data", p.srsp.data_bits()).field("pipeline"),
            from_l2: reg::<Bool>("fill_from_l2", ()).field("pipeline"),
            marked: reg::<Bool>("fill_marked", ()).field("pipeline"),
            left_next: wire_or::<Bits>("fill_left_next", p.targets, left.get()),
            left,
            kept: reg::<Bits>("fill_kept", p.targets).field("pipeline"),
            ends: wire_or::<Bool>("fill_ends", (), false),
        }
    }

    /// A FILL comes in.
    pub fn take(&self, m: &Rsp) {
        self.valid.set(true);
        self.serves.set(false);
        self.entry.set(m.mshr);
        self.data.set(m.data);
        self.from_l2.set(m.hit);
    }

    /// The line is installed, or with `marked` is not.
    pub fn install(&self, misses: &Misses, marked: Bool) {
        misses.filled(self.entry.get());
        self.serves.set(true);
        self.marked.set(marked);
        self.kept.set(lit_bv(Bv::zero(self.kept.width())));
        self.left_next.set(misses.waiting(self.entry.get()).left);
    }

    /// Number of the target at work.
    pub fn target(&self) -> Bits {
        self.left.get().lowest_set()
    }

    /// The target at work is answered, or stays to be replayed.
    pub fn served(&self, misses: &Misses, stays: Bool) {
        let here = self.left.get() & (!self.left.get() + 1);
        let kept = self.kept.get() | (here & stays.repeat(here.width()));
        let left = self.left.get() & !here;
        self.left_next.set(left);
        self.kept.set(kept);
        when(left.none(), || {
            misses.leave(self.entry.get(), kept);
            self.valid.set(false);
            self.ends.set(true);
        });
    }

    /// The next slot is wanted.
    pub fn wants(&self) -> Bool {
        self.valid.get() & !self.ends.get()
    }

    /// Presents the next target; call it when the next slot is the FILL's.
    pub fn present(&self, misses: &Misses) {
        misses.present(self.entry.get(), self.left_next.get().lowest_set());
    }

    /// Declares what stays, after all slots.
    pub fn finish(&self) {
        self.left.set(self.left_next.get());
        let text = "a FILL has a target";
        assert_always(
            "srsp_l1_fill_target",
            !(self.valid.get() & self.serves.get()) | self.left.get().any(),
            text,
        );
    }
}
