//! An answer at work: a line is installed with its first load, then the others are answered one per cycle; nothing is waited for but the CU.

use super::mshrs::Mshrs;
use super::params::GpuL1Params;
use crate::msg::GpuRsp;
use weft_rtl::prelude::*;

/// The answer at work: of a read, an atomic or a byte store.
pub(super) struct Filler {
    p: GpuL1Params,
    pub valid: Reg<Bool>,
    pub entry: Reg<Bits>,
    pub data: Reg<Bits>,
    pub peer: Reg<Bool>,
    /// Number of the load at work.
    next: Reg<Bits>,
    next_now: Wire<Bits>,
    ends: Wire<Bool>,
    takes: Wire<Bool>,
}

impl Filler {
    pub fn new(p: &GpuL1Params) -> Filler {
        let next = reg::<Bits>("fill_next", p.target_bits()).field("pipeline");
        Filler {
            valid: reg::<Bool>("fill_valid", ()),
            entry: reg::<Bits>("fill_entry", p.spandex.mshr_bits()).field("pipeline"),
            data: reg::<Bits>("fill_data", p.spandex.data_bits()).field("pipeline"),
            peer: reg::<Bool>("fill_peer", ()).field("pipeline"),
            next_now: wire_or::<Bits>("fill_next_now", p.target_bits(), next.get()),
            next,
            ends: wire_or::<Bool>("fill_ends", (), false),
            takes: wire_or::<Bool>("fill_takes", (), false),
            p: p.clone(),
        }
    }

    /// Another answer may come in.
    pub fn open(&self) -> Bool {
        !self.valid.get() | self.ends.get()
    }

    /// An answer comes in.
    pub fn take(&self, entry: Bits, m: &GpuRsp) {
        self.takes.set(true);
        self.entry.set(entry);
        self.data.set(m.data);
        self.peer.set(m.peer);
    }

    /// It is the first slot of the answer.
    pub fn first(&self) -> Bool {
        self.next.get().none()
    }

    /// The load at work is answered.
    pub fn served(&self, mshrs: &Mshrs) {
        let entry = self.entry.get();
        let last = (self.next.get().zext(8) + 1).eq(mshrs.count(entry).zext(8));
        when(last, || {
            mshrs.free(entry);
            self.ends.set(true);
            self.next_now.set(lit(0, self.p.target_bits()));
        })
        .otherwise(|| self.next_now.set(self.next.get() + 1));
    }

    /// The answer at work has been served in this cycle.
    pub fn ends(&self) -> Bool {
        self.ends.get()
    }

    /// The next slot is wanted.
    pub fn wants(&self) -> Bool {
        self.takes.get() | (self.valid.get() & !self.ends.get())
    }

    /// Presents the next target, and returns the line whose row is needed; call it when the next slot is the answer's. `entry` is that of an answer that comes in.
    pub fn present(&self, mshrs: &Mshrs, entry: Bits) -> Bits {
        let next = mux(self.takes.get(), entry, self.entry.get());
        mshrs.present(next, self.next_now.get());
        mshrs.line(next)
    }

    /// Declares what stays, after all slots.
    pub fn finish(&self) {
        self.next.set(self.next_now.get());
        self.valid.set(self.takes.get() | (self.valid.get() & !self.ends.get()));
    }
}
