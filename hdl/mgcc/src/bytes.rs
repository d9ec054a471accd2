//! Bytes of a message on a link (mgcc.md section 10): address 8, metadata 4, ACK 4, data 64, and the timestamps' bytes where there are any.
//!
//! A timestamp takes ceil(TS / 8) bytes: the published 2 for TS = 16.

use crate::msg::{TsmOp, UmcReq, UmcRsp, UpReq, UpRsp};
use crate::params::Tsm;
use weft_blocks::msg::{AmoOp, CuRsp};
use weft_rtl::prelude::*;

/// Width of a number of bytes of one message.
pub const BYTES_BITS: u32 = 8;

/// Bytes of a timestamp.
pub fn stamp_bytes(p: &Tsm) -> u64 {
    u64::from(p.ts.div_ceil(8))
}

/// Bytes of a request without timestamps.
pub(crate) fn request(op: Enum<TsmOp>, mask: Bits, amo: Enum<AmoOp>) -> Bits {
    let number = |n: u64| lit(n, BYTES_BITS);
    let write = mux(mask.all(), number(76), number(84));
    let atomic = mux(amo.is(AmoOp::Cas), number(28), number(20));
    mux(op.is(TsmOp::Wr), write, mux(op.is(TsmOp::Amo), atomic, number(12)))
}

/// Bytes of an answer without timestamps.
pub(crate) fn response(op: Enum<TsmOp>, with_data: Bool) -> Bits {
    let number = |n: u64| lit(n, BYTES_BITS);
    let write = mux(with_data, number(76), number(12));
    let read = mux(with_data, number(80), number(16));
    mux(op.is(TsmOp::Wr), write, mux(op.is(TsmOp::Amo), number(88), read))
}

/// Bytes of a request of an L1, with its timestamp if it carries one.
pub fn up_req(p: &Tsm, m: &UpReq) -> Bits {
    let bytes = request(m.op, m.mask, m.amo);
    mux(m.ts_v, bytes + stamp_bytes(p), bytes)
}

/// Bytes of a request of an L1 of G-TSC (mgcc.md section 14): MGCC's with a timestamp, 8 more for warpts, and one more timestamp for the block's wts: a read has 24.
pub fn gtsc_req(p: &Tsm, op: Enum<TsmOp>, mask: Bits, amo: Enum<AmoOp>) -> Bits {
    request(op, mask, amo) + (8 + 2 * stamp_bytes(p))
}

/// Bytes of an answer to a CU: a load's or atomic's line 64, an acknowledgement 4; G-TSC adds the wts with which the CU raises warpts.
pub fn cu_rsp(p: &Tsm, m: &CuRsp, gtsc: bool) -> Bits {
    let bytes = mux(m.kind.eq(1), lit(4, BYTES_BITS), lit(64, BYTES_BITS));
    bytes + if gtsc { stamp_bytes(p) } else { 0 }
}

/// Bytes of an answer to an L1; `coherent`: with two timestamps. A read's answer without the line is G-TSC's Renew.
pub fn up_rsp(p: &Tsm, m: &UpRsp, coherent: bool) -> Bits {
    response(m.op, m.with_data) + if coherent { 2 * stamp_bytes(p) } else { 0 }
}

/// Bytes of a request of a bank or an EvictNote; `coherent`: with a timestamp.
pub fn umc_req(p: &Tsm, m: &UmcReq, coherent: bool) -> Bits {
    request(m.op, m.mask, m.amo) + if coherent { stamp_bytes(p) } else { 0 }
}

/// Bytes of an answer of a UMC; `coherent`: with two timestamps.
pub fn umc_rsp(p: &Tsm, m: &UmcRsp, coherent: bool) -> Bits {
    response(m.op, m.with_data) + if coherent { 2 * stamp_bytes(p) } else { 0 }
}
