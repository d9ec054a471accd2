//! What the stages of a directory slice pass on.

use super::evb::Victim;
use crate::msg::DirReq;
use weft_rtl::prelude::*;

/// What S1 works on, as [`Lookup`] tells it.
pub(super) struct Source {
    pub valid: Bool,
    pub any: Bool,
    pub req: DirReq,
    pub event: Bits,
    pub line: Bits,
}

/// What S1 works on and what the lookup says about it.
pub(super) struct Lookup {
    /// It is the operation in S1.
    pub valid: Bool,
    /// It is the operation or a received Inv.
    pub any: Bool,
    pub req: DirReq,
    /// Code of the operation or the received Inv in the transition table.
    pub event: Bits,
    pub base: Bits,
    pub slot: Bits,
    pub set: Bits,
    pub hit: Bool,
    pub valids: Bits,
    pub way: Bits,
    pub old: Bits,
    pub same_set: Bool,
    pub forward: Bool,
    pub mem_hits: Bits,
}

/// What S1 decides.
pub(super) struct Plan {
    /// The way becomes the youngest under `lru`.
    pub touch: Bool,
    /// It waits in the queue (GPU-VI only).
    pub wait: Bool,
    pub allocate: Bool,
    pub evict: Bool,
    pub requester: Bits,
    pub before: Bits,
    pub entry: Bits,
    pub changed: Bool,
    pub freed: Bool,
    pub empty: Bool,
    pub inv: Bits,
}

/// Why S1 waits; each only while S1 holds an operation.
pub(super) struct Stalls {
    pub evb_full: Bool,
    pub slot_pending: Bool,
    pub write_inv_busy: Bool,
    pub rsp_blocked: Bool,
    pub any: Bool,
}

/// S2: the write back.
pub(super) struct Stage2 {
    pub valid: Reg<Bool>,
    pub write: Reg<Bool>,
    pub set: Reg<Bits>,
    pub way: Reg<Bits>,
    pub entry: Reg<Bits>,
    pub evict: Reg<Bool>,
    pub victim: Reg<Victim>,
}
