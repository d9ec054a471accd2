//! S1, the place of the request that is looked up next.

use weft_rtl::prelude::*;

/// The request in S1, and the channel from which it comes.
pub struct Head<Q: Data, O: Data> {
    /// The channel.
    pub req: InChannel<Q>,
    /// S1 has a request.
    pub valid: Reg<Bool>,
    /// It, decoded.
    pub op: Reg<O>,
}

impl<Q: Data, O: Data> Head<Q, O> {
    /// Declares S1, registers `s1_valid` and `s1`.
    pub fn new(req: InChannel<Q>, op: &O::Shape) -> Head<Q, O>
    where
        O::Shape: Clone,
    {
        let valid = reg::<Bool>("s1_valid", ());
        Head { req, valid, op: reg::<O>("s1", op.clone()).field("pipeline") }
    }

    /// Takes a request that is `offered` into S1 if that is empty, or what is there `leaves`; `put` sets what is kept of it. Returns whether one is taken, and whether one is there after this
    /// cycle.
    pub fn accept(&self, offered: Bool, leaves: Bool, put: impl FnOnce()) -> (Bool, Bool) {
        let accept = (offered & (!self.valid.get() | leaves)).named("s0_accept");
        when(accept, || {
            self.req.take();
            put();
        });
        let waits = accept | (self.valid.get() & !leaves);
        self.valid.set(waits);
        (accept, waits)
    }
}
