//! The table of external requests of spandex.md section 5, once, as data.

use super::super::msg::Op;

/// Column: what a word is at the device. `dg`, a removal already recorded, counts as `Else`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Status {
    O,
    Po,
    Pd,
    Wb,
    Else,
}

/// Number of columns.
pub const COLUMNS: usize = 5;

/// Row: a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum External {
    ReqV,
    ReqO,
    ReqOData,
    RvkO,
    ReqS,
    ReqWt,
    DirectV,
    DirectWt,
    Inv,
}

/// What is done for a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Act {
    RspV,
    /// Delayed until the data is there, NackV if a ReqV is delayed already.
    DelayV,
    NackV,
    /// RspO or RspWT.
    RspO,
    RspOData,
    /// RspRvkO with data.
    Revoked,
    /// RspRvkO{nodata}.
    NoData,
    /// RspS to the requestor, RspRvkO to the bank.
    Share,
    /// The same, the data is in a ReqWB.
    ShareNoData,
    /// Recorded until the data is there.
    Delay,
    /// The same at a device that asks for lines; DeNovo, which asks for words because it uses them, answers RspO at once.
    DelayO,
    Write,
    NackWt,
    /// Ack, S words to I.
    Ack,
    /// Ack, and an open ReqS serves its loads once.
    AckUseOnce,
    Assert,
}

/// {message, O, PO, PD, WB, else or dg}.
pub const EXTERNAL: [(External, [Act; COLUMNS]); 9] = {
    use Act::*;
    [
        (External::ReqV, [RspV, RspV, DelayV, RspV, NackV]),
        (External::ReqO, [RspO, RspO, DelayO, RspO, Assert]),
        (External::ReqOData, [RspOData, RspOData, Delay, RspOData, Assert]),
        (External::RvkO, [Revoked, Revoked, Delay, NoData, Assert]),
        (External::ReqS, [Share, Share, Delay, ShareNoData, Assert]),
        (External::ReqWt, [Write, NackWt, NackWt, NackWt, NackWt]),
        (External::DirectV, [RspV, NackV, NackV, NackV, NackV]),
        (External::DirectWt, [Write, NackWt, NackWt, NackWt, NackWt]),
        (External::Inv, [Ack, Ack, AckUseOnce, Ack, Ack]),
    ]
};

/// The row of a message.
pub fn row(op: &Op) -> Option<usize> {
    let external = match op {
        Op::FwdReqV { direct: false, .. } => External::ReqV,
        Op::FwdReqV { direct: true, .. } => External::DirectV,
        Op::FwdReqO { .. } => External::ReqO,
        Op::FwdReqOData => External::ReqOData,
        Op::RvkO => External::RvkO,
        Op::FwdReqS => External::ReqS,
        Op::FwdReqWt { direct: false } => External::ReqWt,
        Op::FwdReqWt { direct: true } => External::DirectWt,
        Op::Inv => External::Inv,
        _ => return None,
    };
    EXTERNAL.iter().position(|row| row.0 == external)
}

/// Messages that end the receiver's ownership.
pub fn removes(op: &Op) -> bool {
    matches!(op, Op::FwdReqO { .. } | Op::FwdReqOData | Op::RvkO | Op::FwdReqS)
}
