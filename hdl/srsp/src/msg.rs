//! Messages between the blocks of a GPU with scoped synchronisation, each defined once (srsp.md section 3).
//!
//! A line number is a byte address without its line-offset bits. Each of the five networks is one kind of channel:
//!
//! | network | channel of the L1 | message | order |
//! | --- | --- | --- | --- |
//! | 0 REQ | `req` out | [`Req`] | none; may wait at the bank for a lock |
//! | 1 WB | `wb` out | [`Wb`] | kept per L1 and bank; never waits for a lock or another L1 |
//! | 2 PROBE | `probe_out` out to the hub, `probe` in | [`Cast`], [`Probe`] | none |
//! | 3 RSP | `rsp` in | [`Rsp`] | none; always taken |
//! | 4 PACK | `pack_out` out, `pack` in | [`Pack`] | none; always taken |

use crate::params::Srsp;
use weft_rtl::prelude::*;

/// What an atomic access does to its word. The four acquire and release forms of loads and stores are `Ld` and `St` here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
#[allow(missing_docs)]
pub enum SyncOp {
    Ld,
    St,
    Add,
    Sub,
    /// Old value + 1, or 0 when the old value is at least the operand.
    Inc,
    /// Old value - 1, or the operand when the old value is 0 or above it.
    Dec,
    And,
    Or,
    Xor,
    /// Unsigned.
    Min,
    /// Unsigned.
    Max,
    /// Signed.
    SMin,
    /// Signed.
    SMax,
    Exch,
    Cas,
    /// 32-bit IEEE addition, round to nearest even.
    Fadd32,
}

/// One atomic access: one naturally aligned word of 4 or 8 bytes.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Atomic {
    /// What it does.
    pub op: Enum<SyncOp>,
    /// The word has 8 bytes, else 4.
    pub wide: Bool,
    /// Byte address.
    #[width(p.addr_bits)]
    pub addr: Bits,
    /// Operand; of 4 bytes in the low half.
    #[width(64)]
    pub opnd: Bits,
    /// Compare operand of `Cas`.
    #[width(64)]
    pub cmp: Bits,
}

impl Atomic {
    /// No access: the address alone counts.
    pub fn at(addr: Bits) -> Atomic {
        Atomic { op: enum_lit(SyncOp::Ld), wide: bool_lit(false), addr, opnd: lit(0, 64), cmp: lit(0, 64) }
    }
}

/// Kinds of [`Req`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum ReqOp {
    /// Read of a line (RD).
    Rd,
    /// Atomic at the L2 (ATM), or with `sys` at memory.
    Atm,
    /// Lock of a line for a remote operation (REM_LOCK).
    RemLock,
    /// bRSP with a token, bank 0: the right to a remote operation (TOKEN).
    Token,
    /// To all banks: write everything dirty to memory (SYS FLUSH).
    SysFlush,
    /// To all banks: the same, and drop every line (SYS INV).
    SysInv,
    /// hLRC: registration of a line (REG).
    Reg,
    /// hLRC: read of a line that is not to be installed (RDU).
    Rdu,
}

/// L1 to L2 bank, network 0.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Req {
    /// Kind.
    pub op: Enum<ReqOp>,
    /// Sending L1.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub src: Bits,
    /// MSHR of an Rd, Reg or Rdu.
    #[width(p.mshr_bits())]
    pub mshr: Bits,
    /// Of an Atm: performed at memory, the L2 writes its line back and drops it.
    pub sys: Bool,
    /// The access of an Atm; of every other kind `addr` alone counts, and there its line (none for Token and Sys).
    #[shape(p)]
    pub atomic: Atomic,
}

/// Kinds of [`Wb`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum WbOp {
    /// Dirty bytes (WB).
    Wb,
    /// The atomic of a remote operation (REM_OP): at the L2, under the lock of its line where there are line locks.
    RemOp,
    /// End of a lock kept after REM_OP (REM_UNLOCK).
    RemUnlock,
    /// bRSP with a token, bank 0: the right is given back (TOKEN_REL).
    TokenRel,
    /// hLRC: the owner gives its line back (UNREG).
    Unreg,
    /// hLRC: answer to a Revoke (REVOKE_ACK).
    RevokeAck,
}

/// Bytes that are written back, and what their acknowledgement gives back.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Written {
    /// WBT entry of a Wb or Unreg, given back.
    #[width(p.wbt_bits())]
    pub wbt: Bits,
    /// Fence epoch of a Wb, given back.
    #[width(1)]
    pub epoch: Bits,
    /// Bytes written.
    #[width(p.line)]
    pub mask: Bits,
    /// Bytes in place.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// L1 to L2 bank, network 1.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Wb {
    /// Kind.
    pub op: Enum<WbOp>,
    /// Sending L1.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub src: Bits,
    /// The access of a RemOp; of every other kind `addr` alone counts, and there its line (none for TokenRel).
    #[shape(p)]
    pub atomic: Atomic,
    /// Of a RemOp that writes: the lock stays until RemUnlock. DeNovo-B, of a RevokeAck: the owner keeps the line (READ_ACK).
    pub keep: Bool,
    /// RevokeAck: the line comes with it.
    pub has: Bool,
    /// Of a Wb, Unreg or RevokeAck.
    #[flat]
    #[shape(p)]
    pub written: Written,
}

/// Kinds of [`Probe`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum ProbeOp {
    /// sRSP: flush up to the release on this address (SEL_FLUSH).
    #[hw(label = "SEL_FLUSH")]
    SelFlush,
    /// sRSP: the next acquire of this address is promoted (SEL_INV).
    #[hw(label = "SEL_INV")]
    SelInv,
    /// bRSP with a token: lock the address here and flush all (LOCK_FLUSH).
    #[hw(label = "LOCK_FLUSH")]
    LockFlush,
    /// bRSP with a token: invalidate and end the lock (INV_UNLOCK).
    #[hw(label = "INV_UNLOCK")]
    InvUnlock,
    /// bRSP: flush all and invalidate (INV_ALL).
    #[hw(label = "INV_ALL")]
    InvAll,
    /// bRSP: drop the line, which is locked at the L2, and flush all (FLUSH_ALL).
    #[hw(label = "FLUSH_ALL")]
    FlushAll,
    /// hLRC, from the L2: give this line back (REVOKE).
    #[hw(label = "REVOKE")]
    Revoke,
}

/// Hub, or for hLRC the L2, to L1, network 2.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Probe {
    /// Kind.
    pub op: Enum<ProbeOp>,
    /// Byte address.
    #[width(p.addr_bits)]
    pub addr: Bits,
    /// The L1 that asks, and gets the PACK; of a Revoke the L1 that gets the probe.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub req: Bits,
}

/// Kinds of [`OwnerProbe`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum OwnerOp {
    /// Give this line back (REVOKE).
    #[hw(label = "REVOKE")]
    Revoke,
    /// Say what you have written to it, and keep it (READ).
    #[hw(label = "READ")]
    Read,
}

/// DeNovo-B: L2 to L1, network 2.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct OwnerProbe {
    /// Kind.
    pub op: Enum<OwnerOp>,
    /// Byte address.
    #[width(p.addr_bits)]
    pub addr: Bits,
    /// The L1 that gets it.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub req: Bits,
}

/// L1 to hub: a probe for several L1s.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Cast {
    /// The probe.
    #[shape(p)]
    pub probe: Probe,
    /// Who gets it, one bit per L1.
    #[width(p.cus)]
    pub dst: Bits,
}

/// Kinds of [`Rsp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum RspOp {
    /// The line of an Rd or Rdu (FILL).
    Fill,
    /// hLRC: the line of a Reg, which is the receiver's now (REG_DATA).
    RegData,
    /// Old value of an Atm (ATM_RSP).
    AtmRsp,
    /// Old value of a RemOp (REM_RSP).
    RemRsp,
    /// The bytes of a Wb are in the L2, or in memory (WB_ACK).
    WbAck,
    /// hLRC: answer to Unreg (UNREG_ACK).
    UnregAck,
    /// The line is locked (REM_GRANT).
    RemGrant,
    /// The right to a remote operation (TOKEN_GRANT).
    TokenGrant,
    /// Answer of one bank to SysFlush or SysInv (SYS_ACK).
    SysAck,
}

/// L2 bank to L1, network 3; always taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Rsp {
    /// Kind.
    pub op: Enum<RspOp>,
    /// Receiving L1.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub dst: Bits,
    /// MSHR of a Fill or RegData.
    #[width(p.mshr_bits())]
    pub mshr: Bits,
    /// WBT entry of a WbAck or UnregAck.
    #[width(p.wbt_bits())]
    pub wbt: Bits,
    /// Fence epoch of a WbAck.
    #[width(1)]
    pub epoch: Bits,
    /// The atomic has written (a failed compare-and-swap and a load have not).
    pub wrote: Bool,
    /// The L2 had the line, without memory (for the CU's `src`).
    pub hit: Bool,
    /// Line; an atomic's old value in its lowest 64 bits, 4-byte ones in the low half.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// L1 to L1, through the hub, network 4; always taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct Pack {
    /// The L1 that answers.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub src: Bits,
    /// The L1 that asked.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub dst: Bits,
    /// Its LR-TBL had the address.
    pub hit: Bool,
}

/// Kinds of [`MemReq`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum MemOp {
    /// Read of a line.
    Rd,
    /// Write of the masked bytes.
    Wr,
    /// Atomic on one word.
    Amo,
}

/// L2 bank to its memory channel (channel `mem_req`); kept in order per line.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct MemReq {
    /// Kind.
    pub op: Enum<MemOp>,
    /// Given back.
    #[width(8)]
    pub id: Bits,
    /// The access of an Amo; of other kinds `addr` alone counts, and there its line.
    #[shape(p)]
    pub atomic: Atomic,
    /// Bytes written.
    #[width(p.line)]
    pub mask: Bits,
    /// Bytes in place.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Memory channel to L2 bank (channel `mem_rsp`; always taken); answers to all three kinds, in any order.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Srsp)]
pub struct MemRsp {
    /// What was asked.
    #[width(8)]
    pub id: Bits,
    /// The line of an Rd; an Amo's old value in its lowest 64 bits, 4-byte ones in the low half.
    #[width(p.data_bits())]
    pub data: Bits,
}
