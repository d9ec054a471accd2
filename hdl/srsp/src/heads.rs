//! What the banks' ingress is made of: places for one message each, and notes of what the messages in them wait for.

use weft_rtl::prelude::*;

/// A receiving end of one place: half the throughput and half the bits of a skid buffer.
pub(crate) struct Slot<T: Data> {
    pub valid: Reg<Bool>,
    pub msg: Reg<T>,
    pub take: Wire<Bool>,
}

impl<T: Data> Slot<T> {
    /// Ports of a channel NAME; ready only while `open` held in the cycle before.
    pub fn new(name: &str, shape: &T::Shape, open: Bool) -> Slot<T> {
        Slot::keeping(name, (shape, shape), open, T::clone)
    }

    /// The same for messages of which not all is kept; shapes of message and place.
    pub fn keeping<M: Data>(
        name: &str,
        (shape, held): (&M::Shape, &T::Shape),
        open: Bool,
        keep: impl Fn(&M) -> T,
    ) -> Slot<T> {
        let offered = input::<Bool>(&format!("{name}_valid"), ());
        let port = input::<M>(name, shape.clone());
        let ready = output_reg::<Bool>(&format!("{name}_ready"), ());
        let valid = reg::<Bool>(&format!("{name}_held_valid"), ());
        let msg = reg::<T>(&format!("{name}_held"), held.clone()).field("queue");
        let take = wire_or::<Bool>(&format!("{name}_take"), (), false);
        let arrive = (offered & ready.get()).named(&format!("{name}_arrive"));
        when(take.get(), || valid.set(false));
        when(arrive, || {
            valid.set(true);
            msg.set(keep(&port));
        });
        ready.set(open & !arrive & (!valid.get() | take.get()));
        Slot { valid, msg, take }
    }
}

/// One bit per head.
pub(crate) struct Flags {
    now: Reg<Bits>,
    up: Wire<Bits>,
    down: Wire<Bits>,
}

impl Flags {
    /// Declares the bits, all low.
    pub fn new(name: &str, n: u32) -> Flags {
        Flags {
            now: reg::<Bits>(name, n).field("state"),
            up: wire_zero::<Bits>(&format!("{name}_up"), n),
            down: wire_zero::<Bits>(&format!("{name}_down"), n),
        }
    }
    /// The bits.
    pub fn get(&self) -> Bits {
        self.now.get()
    }
    /// Sets the bits of a mask in this cycle.
    pub fn raise(&self, mask: Bits) {
        self.up.set(mask);
    }
    /// Clears the bits of a mask in this cycle.
    pub fn lower(&self, mask: Bits) {
        self.down.set(mask);
    }
    /// Changes the bits; called once.
    pub fn connect(&self) {
        let (up, down) = (self.up.get(), self.down.get());
        when(up.any() | down.any(), || self.now.set((self.now.get() & !down) | up));
    }
}
