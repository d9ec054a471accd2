//! The messages of srsp.md section 3 as plain data. Lines are line numbers, addresses byte addresses, L1s their CU's number.

use super::word::{Atomic, Data};

/// Order of a synchronising access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Sem {
    Rlx,
    Acq,
    Rel,
    AcqRel,
}

impl Sem {
    /// Has acquire semantics.
    pub fn acquires(self) -> bool {
        matches!(self, Sem::Acq | Sem::AcqRel)
    }
    /// Has release semantics.
    pub fn releases(self) -> bool {
        matches!(self, Sem::Rel | Sem::AcqRel)
    }
}

/// Scope of a synchronising access: its sync point is the L1, the L2, memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Scope {
    Wg,
    Cmp,
    Sys,
}

/// A synchronising access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Sync {
    /// The access.
    pub atomic: Atomic,
    /// Its order.
    pub sem: Sem,
    /// Its scope.
    pub scope: Scope,
    /// It promotes the scope of the local modifier.
    pub remote: bool,
}

/// What a CU asks of its L1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CuOp {
    /// Plain load.
    Load {
        /// Line number.
        line: u64,
        /// Bytes.
        mask: u64,
    },
    /// Plain store.
    Store {
        /// Line number.
        line: u64,
        /// Bytes.
        mask: u64,
        /// In place.
        data: Data,
    },
    /// Synchronising access.
    Sync(Sync),
    /// Begin of a kernel in this L1: flash-inv, tables emptied, aff_cache too.
    Begin,
    /// End of a kernel in this L1: F.
    End,
}

/// CU to L1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CuReq {
    /// Given back; one answer per request, also for stores.
    pub id: u32,
    /// What.
    pub op: CuOp,
}

/// L1 to CU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CuRsp {
    /// Of the request.
    pub id: u32,
    /// A load's bytes (others zero); the old value of an atomic in place; zero for the rest.
    pub data: Data,
}

/// L1 to bank, VN0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Req {
    /// Sending L1.
    pub src: u8,
    /// What.
    pub kind: ReqKind,
}

/// Kinds of [`Req`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum ReqKind {
    Rd { line: u64, mshr: u8 },
    Atm { atomic: Atomic, sys: bool },
    RemLock { line: u64 },
    Token,
    SysFlush,
    SysInv,
    Reg { line: u64, mshr: u8 },
    Rdu { line: u64, mshr: u8 },
}

/// L1 to bank, VN1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Wb {
    /// Sending L1.
    pub src: u8,
    /// What.
    pub kind: WbKind,
}

/// Kinds of [`Wb`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum WbKind {
    Wb { line: u64, mask: u64, data: Data, wbt: u8, epoch: bool },
    RemOp { atomic: Atomic, keep: bool },
    RemUnlock { line: u64 },
    TokenRel,
    Unreg { line: u64, mask: u64, data: Data, wbt: u8 },
    RevokeAck { line: u64, has: bool, mask: u64, data: Data },
    ReadAck { line: u64, has: bool, mask: u64, data: Data },
}

/// Bank to L1, VN3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Rsp {
    /// Receiving L1.
    pub dst: u8,
    /// What.
    pub kind: RspKind,
}

/// Kinds of [`Rsp`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum RspKind {
    Fill { mshr: u8, data: Data },
    RegData { mshr: u8, data: Data },
    AtmRsp { old: u64, wrote: bool },
    RemRsp { old: u64, wrote: bool },
    WbAck { wbt: u8, epoch: bool },
    UnregAck { wbt: u8 },
    RemGrant,
    TokenGrant,
    SysAck,
}

/// Kinds of [`Probe`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum ProbeKind {
    SelFlush,
    SelInv,
    LockFlush,
    InvUnlock,
    InvAll,
    FlushAll,
    Revoke,
    Read,
}

/// L1 through the hub, or for hLRC the L2, to L1, VN2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Probe {
    /// What.
    pub kind: ProbeKind,
    /// Byte address (of Revoke and Read any in the line).
    pub addr: u64,
    /// Who asks.
    pub req: u8,
}

/// L1 to L1, VN4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Pack {
    /// Who answers.
    pub src: u8,
    /// Who asked.
    pub dst: u8,
    /// The LR-TBL had the address.
    pub hit: bool,
}

/// Bank to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MemReq {
    /// Given back.
    pub id: u8,
    /// What.
    pub kind: MemKind,
}

/// Kinds of [`MemReq`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum MemKind {
    Rd { line: u64 },
    Wr { line: u64, mask: u64, data: Data },
    Amo { atomic: Atomic },
}

impl MemKind {
    /// Its line: memory keeps requests of a line in order.
    pub fn line(&self) -> u64 {
        match *self {
            MemKind::Rd { line } | MemKind::Wr { line, .. } => line,
            MemKind::Amo { atomic } => atomic.line(),
        }
    }
}

/// Memory to bank: the line of an Rd, an Amo's old value as a word at offset 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MemRsp {
    /// Of the request.
    pub id: u8,
    /// The line.
    pub data: Data,
}

/// What a step of a cache sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Out {
    /// L1 to the bank given by its number.
    Req(u8, Req),
    /// L1 to the bank given by its number.
    Wb(u8, Wb),
    /// L1 to the L1s of the mask, bit i for L1 i.
    Cast(Probe, u128),
    Pack(Pack),
    Cu(CuRsp),
    Rsp(Rsp),
    /// hLRC bank to this L1.
    Revoke(u8, Probe),
    Mem(MemReq),
    /// Not a message: a synchronising access of this L1 has been performed (for checkers: the order of these is the order of the accesses).
    /// `id` is the request of the CU, where an L1 has performed it.
    Performed {
        cu: u8,
        id: Option<u32>,
        atomic: Atomic,
        old: u64,
        wrote: bool,
    },
}
