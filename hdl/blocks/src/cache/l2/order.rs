//! What makes a release cumulative (rec.md section 7): writes whose data somebody may have read already are ahead of a fence marker.
//!
//! A write's data step may run ahead of its directory operation, and a read behind it is answered at once. The reader may then release, and its
//! fence marker would pass the write's invalidations, which the directory has not sent yet. So before the home sends the marker, each bank gives
//! back a token when the directory has answered all writes and atomics that were under way when it took the token. The directory waits for nothing
//! but the INV network, so that is finite.

use super::dirops::DirOps;
use super::params::L2Params;
use crate::msg::FenceMark;
use weft_rtl::prelude::*;

/// The token under way.
pub(super) struct Order {
    ask: InChannel<FenceMark>,
    answer: OutChannel<FenceMark>,
    busy: Reg<Bool>,
    requester: Reg<Bits>,
    /// Operations that were under way when it came.
    left: Reg<Bits>,
}

impl Order {
    /// Declares channels and registers.
    pub fn new(p: &L2Params) -> Order {
        Order {
            ask: in_channel::<FenceMark>("order", &p.sys),
            answer: out_channel::<FenceMark>("ordered", &p.sys),
            busy: reg::<Bool>("ordering", ()),
            requester: reg::<Bits>("ordering_for", p.sys.node_bits()),
            left: reg::<Bits>("ordering_left", p.sys.l2_mshrs),
        }
    }

    /// Takes a token, waits for its operations, gives it back.
    pub fn connect(&self, ops: &DirOps) {
        let left = self.left.get();
        when(self.busy.get(), || {
            when(left.any(), || self.left.set(left & !ops.directory.now.get()));
            when(left.none() & self.answer.free, || {
                self.answer.send(&FenceMark { requester: self.requester.get() });
                self.busy.set(false);
            });
        })
        .elsewhen(self.ask.valid, || {
            self.ask.take();
            self.busy.set(true);
            self.requester.set(self.ask.msg.requester);
            self.left.set(ops.writes());
        });
        count(
            "order_waits",
            self.busy.get() & left.any(),
            "cycles in which a fence marker waits for the directory",
        );
    }
}
