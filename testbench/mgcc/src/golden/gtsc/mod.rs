//! G-TSC (mgcc.md section 14): leases inside one GPU, given and renewed by the L2 bank.

pub mod l1;
pub mod l2;

use super::msg::{Data, Op, UpRsp, Work};
use super::time::Time;

/// L1 to L2 bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Sending L1.
    pub src: u32,
    /// Transaction of the L1.
    pub txn: u32,
    /// Line number.
    pub line: u64,
    /// The CU's clock.
    pub warpts: Time,
    /// wts of the L1's block; 0 without one.
    pub wts: u64,
    /// What is asked.
    pub work: Work,
}

impl Request {
    /// Bytes of the message: MGCC's with a timestamp (2), warpts (8), wts (2).
    pub fn bytes(&self) -> u64 {
        let plain = match self.work {
            Work::Read => 12,
            Work::Write { mask: u64::MAX, .. } => 76,
            Work::Write { .. } => 84,
            Work::Atomic(a) if a.op == weft_blocks::msg::AmoOp::Cas => 28,
            Work::Atomic(_) => 20,
        };
        plain + 2 + 8 + 2
    }
}

/// Bytes of an answer to an L1: MGCC's, Renew 20.
pub fn answer_bytes(rsp: &UpRsp) -> u64 {
    if rsp.op == Op::Read && rsp.data.is_none() { 20 } else { rsp.bytes(true) }
}

/// A line that only `mask` is known of.
pub(super) fn masked(data: Option<Data>, mask: u64) -> Data {
    data.unwrap_or_default().masked(mask)
}
