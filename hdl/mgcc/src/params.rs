//! What fixes the widths of all messages of an MGPU-TSM system, and how its addresses are numbered (mgcc.md section 2).

use weft_blocks::msg::Sys;
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// Bytes of a line.
pub const LINE: u32 = 64;

/// What fixes the widths of all messages of a system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tsm {
    /// GPUs: 1, 2, 4, 8 or 16.
    pub gpus: u32,
    /// Compute units, and so L1s, per GPU, 1..128.
    pub cus: u32,
    /// L2 banks per GPU, and so UMCs in the system: a power of two, 1..16.
    pub banks: u32,
    /// Lanes of a UMC, each with a DRAM channel: a power of two, 1..16.
    pub lanes: u32,
    /// Bank = address bits just above bit `il` - 1; 6..24.
    pub il: u32,
    /// Bits of a byte address, 32..64.
    pub addr_bits: u32,
    /// Bits of wts, rts and memts, 6..32.
    pub ts: u32,
    /// Bits of the epoch tag in a message, 3..8.
    pub eb: u32,
    /// Bits of a cache's clock {epoch, ts}: at least ts + eb, at most 64.
    pub cts: u32,
    /// MSHRs of an L1, 1..64.
    pub l1_mshrs: u32,
    /// MSHRs of an L2 bank, 1..256.
    pub l2_mshrs: u32,
}

impl Default for Tsm {
    /// The published system: 4 GPUs of 64 CUs and 8 banks.
    fn default() -> Tsm {
        Tsm {
            gpus: 4,
            cus: 64,
            banks: 8,
            lanes: 4,
            il: 12,
            addr_bits: 48,
            ts: 16,
            eb: 4,
            cts: 64,
            l1_mshrs: 16,
            l2_mshrs: 64,
        }
    }
}

impl Tsm {
    /// Width of a line number: 42 by default.
    pub fn line_bits(&self) -> u32 {
        self.addr_bits - LINE.trailing_zeros()
    }
    /// Width of a line's data in bits: 512.
    pub fn data_bits(&self) -> u32 {
        8 * LINE
    }
    /// Width of a GPU's number.
    pub fn gpu_bits(&self) -> u32 {
        bits_for(u64::from(self.gpus))
    }
    /// Width of an L1's number in its GPU.
    pub fn cu_bits(&self) -> u32 {
        bits_for(u64::from(self.cus))
    }
    /// Width of a bank's number as a field; 1 also for a single bank.
    pub fn bank_bits(&self) -> u32 {
        bits_for(u64::from(self.banks))
    }
    /// Width of a transaction number of an L1.
    pub fn l1_txn_bits(&self) -> u32 {
        bits_for(u64::from(self.l1_mshrs))
    }
    /// Width of a transaction number of an L2 bank.
    pub fn l2_txn_bits(&self) -> u32 {
        bits_for(u64::from(self.l2_mshrs))
    }
    /// Width of an epoch: cts - ts.
    pub fn epoch_bits(&self) -> u32 {
        self.cts - self.ts
    }
    /// Bytes of the clocks of a GPU's L1s and L2 banks: 576 by default (mgcc.md section 5).
    pub fn clock_bytes(&self) -> u32 {
        (self.cus + self.banks) * self.cts / 8
    }
    /// Greatest timestamp, TS_MAX.
    pub fn ts_max(&self) -> u64 {
        (1 << self.ts) - 1
    }
    /// A UMC asks for a roll when a grant's rts is above this: 2^TS - 2^(TS-6).
    pub fn roll_above(&self) -> u64 {
        (1 << self.ts) - (1 << (self.ts - 6))
    }
    /// Epochs that may begin while a request waits behind one of every L1 for its line, where a grant takes up at most `lease` stamps and the one of its write: a line's
    /// grants come one after the other, and an epoch ends when one of them has reached TS_MAX.
    pub fn rolls_outlived(&self, lease: u64) -> u64 {
        let grants = (self.ts_max() / (lease + 1)).max(1);
        u64::from(self.gpus * self.cus).div_ceil(grants)
    }
    /// Epochs before the present one that a tag tells apart: 2^(EB-1) - 1.
    pub fn epochs_told(&self) -> u64 {
        (1 << (self.eb - 1)) - 1
    }
    /// Address bits that choose the bank: log2(banks).
    pub fn bank_select(&self) -> u32 {
        self.banks.trailing_zeros()
    }
    /// Address bits that choose the lane: log2(lanes).
    pub fn lane_select(&self) -> u32 {
        self.lanes.trailing_zeros()
    }
    /// Bank and UMC of a line.
    pub fn bank_of(&self, line: Bits) -> Bits {
        if self.banks == 1 { lit(0, 1) } else { line.slice(self.il - 6, self.bank_select()) }
    }
    /// Line number without the bank's bits: the line address inside a UMC, line_bits - log2(banks) wide.
    pub fn in_umc(&self, line: Bits) -> Bits {
        let (low, select, width) = (self.il - 6, self.bank_select(), self.line_bits());
        let high = line.slice(low + select, width - low - select);
        if low == 0 { high } else { cat(&[high, line.slice(0, low)]) }
    }
    /// Lane of a line in its UMC: the lowest bits of the line address inside the UMC.
    pub fn lane_of(&self, line: Bits) -> Bits {
        if self.lanes == 1 { lit(0, 1) } else { self.in_umc(line).slice(0, self.lane_select()) }
    }
    /// Line number inside its lane: line_bits - log2(banks) - log2(lanes) wide.
    pub fn in_lane(&self, line: Bits) -> Bits {
        let inside = self.in_umc(line);
        inside.slice(self.lane_select(), self.lane_line_bits())
    }
    /// Width of a line number inside its lane: 37 by default.
    pub fn lane_line_bits(&self) -> u32 {
        self.line_bits() - self.bank_select() - self.lane_select()
    }
    /// The widths of the CU port: the same messages as in every other family.
    pub fn cu(&self) -> Sys {
        Sys {
            gpus: self.gpus.max(2),
            gpms: 1,
            addr_bits: self.addr_bits,
            line: LINE,
            banks: self.banks,
            l1s: self.cus,
            l2_mshrs: self.l2_mshrs.max(2),
            l1_mshrs: self.l1_mshrs,
            il: 1 << self.il,
            home_shift: self.addr_bits - 5,
            owners: false,
        }
    }
    /// Part of a module's name that these parameters determine.
    pub fn tag(&self) -> String {
        format!(
            "g{}_c{}_b{}_l{}_i{}_a{}_t{}_{}_{}_m{}_{}",
            self.gpus,
            self.cus,
            self.banks,
            self.lanes,
            self.il,
            self.addr_bits,
            self.ts,
            self.eb,
            self.cts,
            self.l1_mshrs,
            self.l2_mshrs
        )
    }
}

/// FNV-1a of a text that describes parameters: the same number in every run and build.
pub(crate) fn fingerprint(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The parameters that fix message widths on the command line, with the published values as defaults.
pub fn tsm_params() -> Vec<ParamInfo> {
    let t = Tsm::default();
    let info =
        |name, default: u32, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    vec![
        info("gpus", t.gpus, "1, 2, 4, 8 or 16", "GPUs in the system"),
        info("cus", t.cus, "1..128", "compute units, and so L1s, per GPU"),
        info("banks", t.banks, "power of two, 1..16", "L2 banks per GPU, and UMCs in the system"),
        info("lanes", t.lanes, "power of two, 1..16", "lanes of a UMC, each with a DRAM channel"),
        info("il", t.il, "6..24", "bank = address bits just above bit il - 1"),
        info("addr_bits", t.addr_bits, "32..64", "bits of a byte address"),
        info("ts", t.ts, "6..32", "bits of a timestamp"),
        info("eb", t.eb, "3..8", "bits of the epoch tag in a message"),
        info("cts", t.cts, "ts + eb..64", "bits of a cache's clock {epoch, timestamp}"),
        info("l1_mshrs", t.l1_mshrs, "1..64", "open transactions of an L1"),
        info("l2_mshrs", t.l2_mshrs, "1..256", "open transactions of an L2 bank"),
    ]
}

/// Reads the parameters of [`tsm_params`].
///
/// # Errors
/// A value outside its range, or values that do not fit each other.
pub fn tsm_from(p: &ParamSet) -> Result<Tsm, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let power = |key, hi| {
        let value = number(key, 1, hi)?;
        if value.is_power_of_two() { Ok(value) } else { Err(p.illegal(key, "it is no power of two")) }
    };
    let ts = number("ts", 6, 32)?;
    let eb = number("eb", 3, 8)?;
    let t = Tsm {
        gpus: power("gpus", 16)?,
        cus: number("cus", 1, 128)?,
        banks: power("banks", 16)?,
        lanes: power("lanes", 16)?,
        il: number("il", 6, 24)?,
        addr_bits: number("addr_bits", 32, 64)?,
        ts,
        eb,
        cts: number("cts", u64::from(ts + eb), 64)?,
        l1_mshrs: number("l1_mshrs", 1, 64)?,
        l2_mshrs: number("l2_mshrs", 1, 256)?,
    };
    Ok(t)
}
