//! Widths and messages between the GPUs of an MGPU-RDMA system (mgcc.md sections 10 and 14). A message has the bytes of its kind in a system without coherence:
//!
//! | message | bytes |
//! | --- | --- |
//! | RdReq | 12 |
//! | WrReq | 76, partial mask 84 |
//! | AmoReq | 20, compare-and-swap 28 |
//! | RdRsp | 80 |
//! | WrRsp | 12, with the line 76 |
//! | AmoRsp | 88 |

use crate::bytes;
use crate::msg::{TsmOp, UpReq, UpRsp};
use crate::params::{LINE, Tsm, tsm_from, tsm_params};
use weft_blocks::msg::AmoOp;
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What fixes the widths of all messages of a system. GPU g owns the physical addresses from g * 2^`home_bits` on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rdma {
    /// Counts and widths; of its logical time nothing is used, and of its lanes neither.
    pub tsm: Tsm,
    /// Bits of a byte address inside the memory of a GPU: 12..addr_bits - log2(GPUs).
    pub home_bits: u32,
    /// Requests of a GPU's L1s under way to other GPUs, 1..256.
    pub entries: u32,
    /// Requests of other GPUs under way in the banks of a GPU, 1..256.
    pub slots: u32,
}

impl Default for Rdma {
    /// The published system: 4 GPUs of 64 CUs, 8 banks and 4 GB, engines of 64 entries.
    fn default() -> Rdma {
        Rdma { tsm: Tsm { lanes: 1, ..Tsm::default() }, home_bits: 32, entries: 64, slots: 64 }
    }
}

const GPUS: &str = "2, 4, 8 or 16";
const HOME_BITS: &str = "il + log2(banks)..addr_bits - log2(gpus), 12 and more";

impl Rdma {
    /// Width of a line number inside the memory of a GPU: 26 by default.
    pub fn home_line_bits(&self) -> u32 {
        self.home_bits - LINE.trailing_zeros()
    }
    /// GPU that owns a line of the whole system.
    pub fn home_of(&self, line: Bits) -> Bits {
        line.slice(self.home_line_bits(), self.tsm.gpu_bits())
    }
    /// The line inside its GPU's memory.
    pub fn inside(&self, line: Bits) -> Bits {
        line.slice(0, self.home_line_bits())
    }
    /// The line of the whole system at a place inside the memory of GPU `gpu`.
    pub fn line_at(&self, gpu: Bits, inside: Bits) -> Bits {
        cat(&[gpu, inside]).zext(self.tsm.line_bits())
    }
    /// Width of a transaction number between GPUs: that of an entry of the asking engine.
    pub fn entry_bits(&self) -> u32 {
        bits_for(u64::from(self.entries))
    }
    /// Width of the number of a slot of the answering engine.
    pub fn slot_bits(&self) -> u32 {
        bits_for(u64::from(self.slots))
    }
    /// Numbers of L1s that an engine takes beside those of the L1s to tell its slots apart.
    pub fn slot_sources(&self) -> u32 {
        self.slots.div_ceil(1 << self.tsm.l1_txn_bits())
    }
    /// Widths inside a GPU: as many L1s as there are, and those that the engine stands for.
    pub fn gpu(&self) -> Tsm {
        Tsm { cus: self.tsm.cus + self.slot_sources(), ..self.tsm.clone() }
    }
    /// Widths at a bank, whose addresses are those inside its GPU's memory.
    pub fn bank(&self) -> Tsm {
        Tsm { addr_bits: self.home_bits, ..self.gpu() }
    }
    /// Part of a module's name that these parameters determine.
    pub fn tag(&self) -> String {
        format!("{}_h{}_e{}_s{}", self.tsm.tag(), self.home_bits, self.entries, self.slots)
    }

    /// Checks what lies between these values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self, block: &str) -> Result<(), BlockError> {
        let within = |key: &str, value: u32, lo: u32, hi: u32, legal: &str| {
            let error = || BlockError::Illegal {
                block: block.into(),
                key: key.into(),
                value: value.to_string(),
                problem: format!("it lies outside {lo}..{hi}"),
                legal: legal.into(),
            };
            if (lo..=hi).contains(&value) { Ok(()) } else { Err(error()) }
        };
        within("gpus", self.tsm.gpus, 2, 16, GPUS)?;
        within("entries", self.entries, 1, 256, "1..256")?;
        within("slots", self.slots, 1, 256, "1..256")?;
        let most = self.tsm.addr_bits.saturating_sub(self.tsm.gpu_bits());
        let least = (self.tsm.il + self.tsm.bank_select()).max(12);
        within("home_bits", self.home_bits, least, most, HOME_BITS)
    }
}

/// The parameters that fix message widths on the command line, with the published values as defaults.
pub fn rdma_params() -> Vec<ParamInfo> {
    let r = Rdma::default();
    let info =
        |name, default: u32, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    let mut list = vec![
        info("home_bits", r.home_bits, HOME_BITS, "bits of a byte address inside the memory of a GPU"),
        info("entries", r.entries, "1..256", "requests under way to other GPUs, per GPU"),
        info("slots", r.slots, "1..256", "requests of other GPUs under way in the banks of a GPU"),
    ];
    let legal = |p: ParamInfo| if p.name == "gpus" { ParamInfo { legal: GPUS, ..p } } else { p };
    list.extend(tsm_params().into_iter().map(legal));
    list
}

/// Reads the parameters of [`rdma_params`].
///
/// # Errors
/// A value outside its range, or values that do not fit each other.
pub fn rdma_from(set: &ParamSet, block: &str) -> Result<Rdma, BlockError> {
    let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
    let r = Rdma {
        tsm: tsm_from(set)?,
        home_bits: number("home_bits", 12, 62)?,
        entries: number("entries", 1, 256)?,
        slots: number("slots", 1, 256)?,
    };
    r.validate(block)?;
    Ok(r)
}

/// A GPU to the owner of a line (request network). An atomic's operand is in `data[63:0]`, its compare operand in `data[127:64]`.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Rdma)]
pub struct RdmaReq {
    /// Rd, Wr or Amo.
    pub op: Enum<TsmOp>,
    /// The owner.
    #[width(p.tsm.gpu_bits())]
    #[below(p.tsm.gpus)]
    pub dst: Bits,
    /// Who asks.
    #[width(p.tsm.gpu_bits())]
    #[below(p.tsm.gpus)]
    pub src: Bits,
    /// Entry of the asking engine.
    #[width(p.entry_bits())]
    pub txn: Bits,
    /// Line number inside the owner's memory.
    #[width(p.home_line_bits())]
    pub line: Bits,
    /// A load that orders others (LD_SYNC).
    pub force: Bool,
    /// Bytes written.
    #[width(LINE)]
    pub mask: Bits,
    /// Bytes in place, or an atomic's operands.
    #[width(p.tsm.data_bits())]
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

impl RdmaReq {
    /// Bytes on a link.
    pub fn bytes(&self) -> Bits {
        bytes::request(self.op, self.mask, self.amo)
    }
}

/// The owner of a line to who has asked (response network).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Rdma)]
pub struct RdmaRsp {
    /// What was asked.
    pub op: Enum<TsmOp>,
    /// Who has asked.
    #[width(p.tsm.gpu_bits())]
    #[below(p.tsm.gpus)]
    pub dst: Bits,
    /// Entry of the asking engine.
    #[width(p.entry_bits())]
    pub txn: Bits,
    /// The line is there (64 bytes); always for Rd and Amo.
    pub with_data: Bool,
    /// Line data.
    #[width(p.tsm.data_bits())]
    pub data: Bits,
    /// An atomic's old value, 4-byte ones in the low half.
    #[width(64)]
    pub old: Bits,
    /// The bank has asked memory.
    pub from_memory: Bool,
}

impl RdmaRsp {
    /// Bytes on a link.
    pub fn bytes(&self) -> Bits {
        bytes::response(self.op, self.with_data)
    }
}

/// Who waits for an answer of another GPU: what an entry of the engine holds beside the line.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Rdma)]
pub(super) struct Asker {
    /// The L1.
    #[width(p.gpu().cu_bits())]
    pub l1: Bits,
    /// Its transaction.
    #[width(p.tsm.l1_txn_bits())]
    pub txn: Bits,
}

impl Asker {
    /// The answer as the L1 knows it.
    pub fn answer(&self, p: &Rdma, m: &RdmaRsp) -> UpRsp {
        let RdmaRsp { op, with_data, data, old, from_memory, .. } = *m;
        let (tag, wts, rts) = (lit(0, p.tsm.eb), lit(0, p.tsm.ts), lit(0, p.tsm.ts));
        UpRsp { op, dst: self.l1, txn: self.txn, tag, wts, rts, with_data, data, old, from_memory }
    }
}

/// To whom an answer of a bank goes: what a slot of the engine holds.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Rdma)]
pub(super) struct Guest {
    /// The GPU.
    #[width(p.tsm.gpu_bits())]
    #[below(p.tsm.gpus)]
    pub gpu: Bits,
    /// Entry of its engine.
    #[width(p.entry_bits())]
    pub txn: Bits,
}

impl Guest {
    /// A bank's answer as it goes back.
    pub fn answer(&self, m: &UpRsp) -> RdmaRsp {
        let UpRsp { op, with_data, data, old, from_memory, .. } = *m;
        RdmaRsp { op, dst: self.gpu, txn: self.txn, with_data, data, old, from_memory }
    }
}

impl RdmaReq {
    /// An L1's request as it leaves GPU `src` with an entry of its engine.
    pub(super) fn of(p: &Rdma, m: &UpReq, src: Bits, txn: Bits) -> RdmaReq {
        let UpReq { op, line, force, mask, data, amo, sgn, word, wide, .. } = *m;
        let (dst, line) = (p.home_of(line), p.inside(line));
        RdmaReq { op, dst, src, txn, line, force, mask, data, amo, sgn, word, wide }
    }

    /// The request as the banks of its owner know it, with the numbers that a slot stands for.
    pub(super) fn up(&self, p: &Rdma, slot: Bits) -> UpReq {
        let RdmaReq { op, dst, force, mask, data, amo, sgn, word, wide, .. } = *self;
        let (gpu, txn_bits) = (p.gpu(), p.tsm.l1_txn_bits());
        let slot = slot.zext(txn_bits + gpu.cu_bits());
        let src = slot.slice(txn_bits, gpu.cu_bits()) + u64::from(p.tsm.cus);
        let (tag, ts_v, ts) = (lit(0, p.tsm.eb), bool_lit(false), lit(0, p.tsm.ts));
        let line = p.line_at(dst, self.line);
        let txn = slot.slice(0, txn_bits);
        UpReq { op, src, txn, line, force, tag, ts_v, ts, mask, data, amo, sgn, word, wide }
    }
}

/// The slot that the numbers of a bank's answer stand for.
pub(super) fn slot_of(p: &Rdma, m: &UpRsp) -> Bits {
    let source = m.dst - u64::from(p.tsm.cus);
    cat(&[source, m.txn]).resize(p.slot_bits())
}
