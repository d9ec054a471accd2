//! A vector of bits that several parts of a block set and clear in one cycle.

use weft_rtl::prelude::*;

/// One bit per entry of a table; after reset all are low. A bit that is set and cleared in one cycle is set.
pub(crate) struct Flags {
    now: Reg<Bits>,
    up: Wire<Bits>,
    down: Wire<Bits>,
}

impl Flags {
    /// Declares `n` bits called NAME, counted as `field`.
    #[track_caller]
    pub fn new(name: &str, n: u32, field: &str) -> Flags {
        Flags {
            now: reg::<Bits>(name, n).field(field),
            up: wire_zero::<Bits>(&format!("{name}_up"), n),
            down: wire_zero::<Bits>(&format!("{name}_down"), n),
        }
    }
    /// The bits.
    pub fn get(&self) -> Bits {
        self.now.get()
    }
    /// Sets the bits of a mask in this cycle; called for one mask per cycle.
    #[track_caller]
    pub fn raise(&self, mask: Bits) {
        self.up.set(mask);
    }
    /// Clears the bits of a mask in this cycle; called for one mask per cycle.
    #[track_caller]
    pub fn lower(&self, mask: Bits) {
        self.down.set(mask);
    }
    /// The bits after this cycle, as [`Flags::finish`] leaves them; for observers.
    pub fn after(&self) -> Bits {
        (self.now.get() & !self.down.get()) | self.up.get()
    }
    /// As [`Flags::finish`], but the bits of `drops` are low afterwards, whoever sets them.
    #[track_caller]
    pub fn finish_without(&self, drops: Bits) {
        let (up, down) = (self.up.get(), self.down.get());
        let changes = up.any() | down.any() | drops.any();
        when(changes, || self.now.set(((self.now.get() & !down) | up) & !drops));
    }
    /// Declares how the bits change; called once, after everything else.
    #[track_caller]
    pub fn finish(&self) {
        let (up, down) = (self.up.get(), self.down.get());
        when(up.any() | down.any(), || self.now.set((self.now.get() & !down) | up));
    }
}
