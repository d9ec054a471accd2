//! Messages between L1s and banks of G-TSC (mgcc.md section 14). An answer is [`UpRsp`](crate::msg::UpRsp): a read's without the line is a *Renew*, a write's a WrAck.
//!
//! | message | bytes |
//! | --- | --- |
//! | RdReq | 24 |
//! | WrReq | 88, partial mask 96 |
//! | AmoReq | 32, compare-and-swap 40 |
//! | Fill / Renew | 84 / 20 |
//! | WrAck, with the line | 16, 80 |
//! | AmoRsp | 92 |

use crate::msg::{TsmOp, UpReq};
use crate::params::{LINE, Tsm};
use weft_blocks::msg::AmoOp;
use weft_rtl::prelude::*;

/// L1 to L2 bank (channel `up_req` of the L1, `l1_req` of the bank). An atomic's operand is in `data[63:0]`, its compare operand in `data[127:64]`.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct GtscReq {
    /// Rd, Wr or Amo.
    pub op: Enum<TsmOp>,
    /// Sending L1.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub src: Bits,
    /// Transaction number of the L1.
    #[width(p.l1_txn_bits())]
    pub txn: Bits,
    /// Line number; the bank follows from it.
    #[width(p.line_bits())]
    pub line: Bits,
    /// The CU's clock {epoch, ts}.
    #[width(p.cts)]
    pub warpts: Bits,
    /// wts of the L1's block of this line, 0 without one: a read may be renewed, a write may have been made on an old version.
    #[width(p.ts)]
    pub wts: Bits,
    /// Bytes written.
    #[width(LINE)]
    pub mask: Bits,
    /// Bytes in place, or an atomic's operands.
    #[width(p.data_bits())]
    pub data: Bits,
    /// Atomic operation.
    pub amo: Enum<AmoOp>,
    /// Atomic compares signed.
    pub sgn: Bool,
    /// The atomic's first word of 4 bytes.
    #[width(4)]
    pub word: Bits,
    /// The atomic's operand has 8 bytes.
    pub wide: Bool,
}

impl GtscReq {
    /// A request with the clock and the block's wts.
    pub fn of(m: &UpReq, warpts: Bits, wts: Bits) -> GtscReq {
        let UpReq { op, src, txn, line, mask, data, amo, sgn, word, wide, .. } = *m;
        GtscReq { op, src, txn, line, warpts, wts, mask, data, amo, sgn, word, wide }
    }

    /// The request as every bank knows it, with tag and ts of warpts. Nothing is forced: the bank is where all operations of a line meet.
    pub fn up(&self, p: &Tsm) -> UpReq {
        let GtscReq { op, src, txn, line, warpts, mask, data, amo, sgn, word, wide, .. } = *self;
        let (tag, ts) = (warpts.slice(p.ts, p.eb), warpts.slice(0, p.ts));
        let (force, ts_v) = (bool_lit(false), bool_lit(true));
        UpReq { op, src, txn, line, force, tag, ts_v, ts, mask, data, amo, sgn, word, wide }
    }
}
