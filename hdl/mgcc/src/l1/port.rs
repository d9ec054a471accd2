//! The way to the banks: requests of MGCC, or of G-TSC with clock and wts.

use super::L1Params;
use crate::bytes;
use crate::gtsc::GtscReq;
use crate::msg::{TsmOp, UpReq};
use weft_rtl::prelude::*;

/// The channel `up_req`.
pub(super) enum UpPort {
    Mgcc(OutChannel<UpReq>),
    Gtsc(OutChannel<GtscReq>),
}

impl UpPort {
    pub fn new(p: &L1Params) -> UpPort {
        match p.gtsc() {
            true => UpPort::Gtsc(out_channel::<GtscReq>("up_req", &p.tsm)),
            false => UpPort::Mgcc(out_channel::<UpReq>("up_req", &p.tsm)),
        }
    }

    /// A request may be sent in this cycle.
    pub fn free(&self) -> Bool {
        match self {
            UpPort::Mgcc(port) => port.free,
            UpPort::Gtsc(port) => port.free,
        }
    }

    /// Sends a request; `clock` and the block's `wts` are G-TSC's.
    pub fn send(&self, m: &UpReq, clock: Option<Bits>, wts: Bits) {
        match (self, clock) {
            (UpPort::Gtsc(port), Some(warpts)) => port.send(&GtscReq::of(m, warpts, wts)),
            (UpPort::Mgcc(port), _) => port.send(m),
            (UpPort::Gtsc(_), None) => elab_error("an L1 of G-TSC has a clock"),
        }
    }

    /// The request sent leaves in this cycle: (leaves, operation, bytes, with a timestamp).
    pub fn leaving(&self, p: &L1Params) -> (Bool, Enum<TsmOp>, Bits, Bool) {
        match self {
            UpPort::Mgcc(port) => {
                let m = &port.held;
                (port.waiting & port.free, m.op, bytes::up_req(&p.tsm, m), m.ts_v)
            }
            UpPort::Gtsc(port) => {
                let m = &port.held;
                let bytes = bytes::gtsc_req(&p.tsm, m.op, m.mask, m.amo);
                (port.waiting & port.free, m.op, bytes, bool_lit(true))
            }
        }
    }
}
