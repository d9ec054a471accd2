//! Messages between the blocks of an MGPU-TSM system, each defined once (mgcc.md section 10), with their bytes on a link.
//!
//! A line number is a byte address without its lowest 6 bits. A stamp (`ts`, `wts`, `rts`) is the low TS bits of a time; `tag` the low EB bits of its epoch.
//!
//! | message | bytes, NC | MGCC |
//! | --- | --- | --- |
//! | RdReq | 12 | 14 with a timestamp |
//! | WrReq | 76, partial mask 84 | +2 with a timestamp |
//! | AmoReq | 20, compare-and-swap 28 | +2 with a timestamp |
//! | RdRsp | 80 | 84 |
//! | WrRsp | 12, with data 76 | +4 |
//! | AmoRsp | 88 | 92 |
//! | EvictNote | | 14 |
//! | Roll, RollAck | | 12, 4 |

use crate::params::{LINE, Tsm};
use weft_blocks::msg::AmoOp;
use weft_rtl::prelude::*;

/// Kinds of memory transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum TsmOp {
    /// Read of a line.
    Rd,
    /// Write of the masked bytes.
    Wr,
    /// Atomic on one word, performed at the memory (a write for logical time).
    Amo,
    /// Bank to UMC only: the bank has dropped a live block (EvictNote); a hint without an answer.
    Evict,
}

/// L1 to L2 bank (channel `up_req` of the L1, `l1_req` of the bank). An atomic's operand is in `data[63:0]`, its compare operand in `data[127:64]`.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct UpReq {
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
    /// Goes to memory even if the bank's block is live (LD_SYNC).
    pub force: Bool,
    /// Epoch of the L1.
    #[width(p.eb)]
    pub tag: Bits,
    /// `ts` is attached (2 bytes).
    pub ts_v: Bool,
    /// The L1's clock.
    #[width(p.ts)]
    pub ts: Bits,
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

/// L2 bank to L1 (channel `l1_rsp` of the bank, `dn_rsp` of the L1); always taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct UpRsp {
    /// What was asked.
    pub op: Enum<TsmOp>,
    /// Receiving L1.
    #[width(p.cu_bits())]
    #[below(p.cus)]
    pub dst: Bits,
    /// Transaction number of the L1.
    #[width(p.l1_txn_bits())]
    pub txn: Bits,
    /// Epoch of the stamps.
    #[width(p.eb)]
    pub tag: Bits,
    /// Write timestamp of the block.
    #[width(p.ts)]
    pub wts: Bits,
    /// Read timestamp (end of the lease).
    #[width(p.ts)]
    pub rts: Bits,
    /// The line is there (64 bytes); always for Rd and Amo.
    pub with_data: Bool,
    /// Line data.
    #[width(p.data_bits())]
    pub data: Bits,
    /// An atomic's old value, 4-byte ones in the low half (8 bytes).
    #[width(64)]
    pub old: Bits,
    /// It went to memory: the L2 did not answer it alone.
    pub from_memory: Bool,
}

/// L2 bank to UMC, over a link (channel `mem_req` of the bank). Operands of atomics as in [`UpReq`]; of an Evict `ts` is the dropped block's rts.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct UmcReq {
    /// Rd, Wr, Amo or Evict.
    pub op: Enum<TsmOp>,
    /// Sending GPU.
    #[width(p.gpu_bits())]
    #[below(p.gpus)]
    pub src: Bits,
    /// Transaction number of the bank.
    #[width(p.l2_txn_bits())]
    pub txn: Bits,
    /// Line number; the UMC and the lane follow from it.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Epoch of the bank.
    #[width(p.eb)]
    pub tag: Bits,
    /// The bank's clock.
    #[width(p.ts)]
    pub ts: Bits,
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

/// UMC to L2 bank, over a link (channel `mem_rsp` of the bank); always taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct UmcRsp {
    /// What was asked: Rd, Wr or Amo.
    pub op: Enum<TsmOp>,
    /// Receiving GPU.
    #[width(p.gpu_bits())]
    #[below(p.gpus)]
    pub dst: Bits,
    /// Transaction number of the bank.
    #[width(p.l2_txn_bits())]
    pub txn: Bits,
    /// Epoch of the stamps.
    #[width(p.eb)]
    pub tag: Bits,
    /// Write timestamp granted.
    #[width(p.ts)]
    pub wts: Bits,
    /// Read timestamp granted.
    #[width(p.ts)]
    pub rts: Bits,
    /// The line is there (64 bytes); always for Rd and Amo, for Wr if the mask was partial or `WRSP_DATA` is `always`.
    pub with_data: Bool,
    /// Line data, with the write merged.
    #[width(p.data_bits())]
    pub data: Bits,
    /// An atomic's old value, 4-byte ones in the low half.
    #[width(64)]
    pub old: Bits,
}

/// ReqTracker to TSU (channel `req` of the TSU).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct TsuReq {
    /// Rd, Wr, Amo (as Wr) or Evict.
    pub op: Enum<TsmOp>,
    /// Line number inside the lane.
    #[width(p.lane_line_bits())]
    pub line: Bits,
    /// Epoch of `ts`.
    #[width(p.eb)]
    pub tag: Bits,
    /// The requester's clock; of an Evict the dropped block's rts.
    #[width(p.ts)]
    pub ts: Bits,
    /// Entry of the ReqTracker, given back.
    #[width(8)]
    pub id: Bits,
}

/// TSU to ReqTracker (channel `rsp` of the TSU; always taken), in order, TSU_LAT cycles after the request; none for an Evict.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct TsuRsp {
    /// Entry of the ReqTracker.
    #[width(8)]
    pub id: Bits,
    /// Epoch of the stamps: the TSU's.
    #[width(p.eb)]
    pub tag: Bits,
    /// Write timestamp granted, Mwts.
    #[width(p.ts)]
    pub wts: Bits,
    /// Read timestamp granted, Mrts.
    #[width(p.ts)]
    pub rts: Bits,
    /// The write did not fit: nothing was changed, it is to be asked again after the roll.
    pub ovf: Bool,
}

/// Lane to DRAM channel (channel `dram_req`). One transaction reads a line, or writes masked bytes, or performs an atomic; operands as in [`UpReq`].
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct DramReq {
    /// Rd, Wr or Amo.
    pub op: Enum<TsmOp>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
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
    /// Entry of the ReqTracker, given back.
    #[width(8)]
    pub id: Bits,
}

/// DRAM channel to lane (channel `dram_rsp`; always taken); answers to all three, in any order.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct DramRsp {
    /// Entry of the ReqTracker.
    #[width(8)]
    pub id: Bits,
    /// The line, with the write or the atomic's result merged.
    #[width(p.data_bits())]
    pub data: Bits,
    /// An atomic's old value, 4-byte ones in the low half.
    #[width(64)]
    pub old: Bits,
}

/// A new epoch begins (channel `roll` of every L1, bank and UMC; mgcc.md section 8); always taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct Roll {
    /// The epoch.
    #[width(p.epoch_bits())]
    pub epoch: Bits,
}

/// The receiver of a [`Roll`] has swept (channel `roll_ack`), or, from a UMC (channel `roll_ask`), asks for the epoch after this one.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
pub struct RollAck {
    /// The epoch.
    #[width(p.epoch_bits())]
    pub epoch: Bits,
}

/// What a bank without coherence does at kernel boundaries (channel `maint` of the bank; mgcc.md section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum MaintOp {
    /// Invalidate every line, one set per cycle.
    Invalidate,
    /// Write every dirty byte back (write-back banks; others are done at once); lines stay valid.
    WriteBack,
}

/// Command to a bank; its answer (channel `maint_done`) repeats it.
#[derive(Clone, Copy, Bundle)]
pub struct Maint {
    /// What to do.
    pub op: Enum<MaintOp>,
}
