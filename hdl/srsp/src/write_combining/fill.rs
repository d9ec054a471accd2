//! An answer of the L2 at work: its line is installed, or is not to be, then its targets are done one per cycle; nothing comes between, and nothing is waited for but the CU (srsp.md
//! sections 5 and 9).

use super::Shape;
use super::mshrs::Mshrs;
use crate::msg::Rsp;
use weft_rtl::prelude::*;

/// The answer at work.
pub(crate) struct Filler {
    pub valid: Reg<Bool>,
    /// Its line is installed, or was not to be; targets follow.
    pub serves: Reg<Bool>,
    pub entry: Reg<Bits>,
    pub data: Reg<Bits>,
    pub from_l2: Reg<Bool>,
    /// What the L1 notes of it.
    pub note: Reg<Bool>,
    pub left: Reg<Bits>,
    left_next: Wire<Bits>,
    /// Its last target is done in this cycle.
    pub ends: Wire<Bool>,
}

impl Filler {
    /// Declares the answer at work; the register of what is noted of it is called `fill_NOTE`.
    pub fn new(p: &Shape, note: &str) -> Filler {
        let flag = |name: &str| reg::<Bool>(&format!("fill_{name}"), ());
        let left = reg::<Bits>("fill_left", p.targets).field("pipeline");
        Filler {
            valid: flag("valid"),
            serves: flag("serves"),
            entry: reg::<Bits>("fill_entry", p.srsp.mshr_bits()).field("pipeline"),
            data: reg::<Bits>("fill_data", p.srsp.data_bits()).field("pipeline"),
            from_l2: flag("from_l2").field("pipeline"),
            note: flag(note).field("pipeline"),
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
    }

    /// This cycle, a slot of the answer, is its first, in which the line is installed.
    pub fn installs(&self, here: Bool) -> Bool {
        here & self.valid.get() & !self.serves.get()
    }

    /// This cycle, a slot of the answer, is that of a target.
    pub fn does_target(&self, here: Bool) -> Bool {
        here & self.valid.get() & self.serves.get()
    }

    /// The targets of its MSHR follow.
    pub fn follow<T: Data<Shape = Shape>>(&self, mshrs: &Mshrs<T>) {
        self.left_next.set(mshrs.waiting(self.entry.get()).left);
    }

    /// Number of the target at work.
    pub fn target(&self) -> Bits {
        self.left.get().lowest_set()
    }

    /// The target at work, as one bit.
    pub fn here(&self) -> Bits {
        self.left.get() & (!self.left.get() + 1)
    }

    /// The target at work is done, which is this bit. After the last one, `leave` is called, and the answer is gone.
    pub fn advance(&self, here: Bits, leave: impl FnOnce(Bits)) {
        let left = self.left.get() & !here;
        self.left_next.set(left);
        when(left.none(), || {
            leave(left);
            self.valid.set(false);
            self.ends.set(true);
        });
    }

    /// The next slot is wanted.
    pub fn wants(&self) -> Bool {
        self.valid.get() & !self.ends.get()
    }

    /// Presents the next target; call it when the next slot is the answer's.
    pub fn present<T: Data<Shape = Shape>>(&self, mshrs: &Mshrs<T>) {
        mshrs.present(self.entry.get(), self.left_next.get().lowest_set());
    }

    /// Declares what stays, after all slots. An answer has a target, which the assertion `name` says with `text`.
    pub fn finish(&self, name: &str, text: &str) {
        self.left.set(self.left_next.get());
        let serves = self.valid.get() & self.serves.get();
        assert_always(name, !serves | self.left.get().any(), text);
    }
}
