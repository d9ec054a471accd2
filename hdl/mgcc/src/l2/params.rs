//! Parameters of the banks.

use crate::choice::{Choice, Coherence, GtscFault, Inject, ReadTs, WrspData};
use crate::params::{LINE, Tsm, tsm_from, tsm_params};
use weft_blocks::common::set_assoc::age_bits;
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What becomes of stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Policy {
    /// Written through: block `mgcc-l2`.
    Through,
    /// They stay until the line leaves: block `l2-wb`.
    Back,
}

/// What fixes a bank of the L2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L2Params {
    /// Message widths, and the number of MSHRs.
    pub tsm: Tsm,
    /// Capacity in bytes.
    pub size: u32,
    /// Ways, a power of two, 2..16.
    pub ways: u32,
    /// Requests that wait for a line, 1..256.
    pub pool: u32,
    /// Write-through or write-back.
    pub policy: Policy,
    /// Timestamps or none; a write-back bank has none.
    pub coherence: Coherence,
    /// When a read's fill raises the clock.
    pub read_ts: ReadTs,
    /// Expired blocks are replaced first.
    pub repl_ts: bool,
    /// The TSU is told what is dropped (EvictNote).
    pub evict_notes: bool,
    /// Of a write-back bank: whether the answer to a full-line write carries the line (a write-through bank passes on what memory sends).
    pub wrsp_data: WrspData,
    /// Of a write-back bank: it is its memory's only cache (MGPU-RDMA), so that all operations of a line meet in it. Its addresses are those inside this memory; the requests that come have
    /// addresses of so many bits, of which it looks at the low ones.
    pub home: Option<u32>,
    /// A published slip: `LitReadCts`, `LitBrts`, `LitAckNodata` or `PastRts` change the bank; any takes assertions on stamps away, so that a checker
    /// finds it.
    pub inject: Inject,
}

/// Kinds of write-back banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackKind {
    /// `l2-wb`: other GPUs' banks have copies of the same lines.
    Plain,
    /// `l2-wb` as its memory's only cache (mgcc.md section 14, MGPU-RDMA).
    Home,
    /// `gtsc-l2`.
    Gtsc,
}

impl BackKind {
    /// What identifiers of its rows begin with.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            BackKind::Plain => "mgcc.wb.",
            BackKind::Home => "mgcc.home.",
            BackKind::Gtsc => "gtsc.l2.",
        }
    }

    /// All operations of a line meet in the bank.
    pub fn orders(self) -> bool {
        self != BackKind::Plain
    }
}

impl L2Params {
    /// The published bank: 256 KB, 16 ways, 64 waiting requests, MGCC under RC.
    pub fn published(tsm: Tsm) -> L2Params {
        L2Params {
            tsm,
            size: 256 << 10,
            ways: 16,
            pool: 64,
            policy: Policy::Through,
            coherence: Coherence::Mgcc,
            read_ts: ReadTs::Deferred,
            repl_ts: true,
            evict_notes: true,
            wrsp_data: WrspData::Partial,
            home: None,
            inject: Inject::None,
        }
    }

    /// The write-back bank of the same size.
    pub fn write_back(tsm: Tsm) -> L2Params {
        L2Params { policy: Policy::Back, coherence: Coherence::None, ..L2Params::published(tsm) }
    }

    /// The bank of G-TSC of the same size.
    pub fn gtsc_published(tsm: Tsm) -> L2Params {
        let base = L2Params::published(tsm);
        L2Params {
            policy: Policy::Back,
            coherence: Coherence::Gtsc,
            repl_ts: false,
            evict_notes: false,
            ..base
        }
    }

    /// Blocks carry timestamps.
    pub fn coherent(&self) -> bool {
        self.coherence != Coherence::None
    }
    /// Memory grants the timestamps.
    pub fn mgcc(&self) -> bool {
        self.coherence == Coherence::Mgcc
    }
    /// The bank grants them: block `gtsc-l2`.
    pub fn gtsc(&self) -> bool {
        self.coherence == Coherence::Gtsc
    }
    /// Which of the write-back banks it is.
    pub fn kind(&self) -> BackKind {
        match self.home {
            _ if self.gtsc() => BackKind::Gtsc,
            Some(_) => BackKind::Home,
            None => BackKind::Plain,
        }
    }
    /// All operations of a line meet in the bank: it carries atomics out, and no load has to go past it.
    pub fn orders(&self) -> bool {
        self.kind().orders()
    }
    /// Widths of the requests that come.
    pub fn at_l1(&self) -> Tsm {
        Tsm { addr_bits: self.home.unwrap_or(self.tsm.addr_bits), ..self.tsm.clone() }
    }
    /// Name of the block.
    pub fn block(&self) -> &'static str {
        match (self.policy, self.coherence) {
            (Policy::Back, Coherence::Gtsc) => "gtsc-l2",
            (Policy::Back, _) => "l2-wb",
            (Policy::Through, _) => "mgcc-l2",
        }
    }
    /// Stores stay here.
    pub fn back(&self) -> bool {
        self.policy == Policy::Back
    }
    /// Number of sets: size / (64 * ways).
    pub fn sets(&self) -> u32 {
        self.size / (LINE * self.ways)
    }
    /// Line bits that choose the set: log2(sets).
    pub fn set_select(&self) -> u32 {
        self.sets().trailing_zeros()
    }
    /// Width of a set number as a field.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }
    /// Width of a tag: line bits - bank bits - set bits; 31 by default.
    pub fn tag_bits(&self) -> u32 {
        (self.tsm.line_bits() - self.tsm.bank_select()).saturating_sub(self.set_select())
    }
    /// Width of a way number and of an age.
    pub fn way_bits(&self) -> u32 {
        age_bits(self.ways)
    }
    /// Width of a place in the data array: {set, way}.
    pub fn row_bits(&self) -> u32 {
        bits_for(u64::from(self.sets() * self.ways))
    }
    /// Width of a pool entry's number.
    pub fn pool_bits(&self) -> u32 {
        bits_for(u64::from(self.pool))
    }
    /// Width of a number of pool entries.
    pub fn pool_count_bits(&self) -> u32 {
        bits_for(u64::from(self.pool) + 1)
    }
    /// Set of a line.
    pub fn set_of(&self, line: Bits) -> Bits {
        match self.set_select() {
            0 => lit(0, 1),
            bits => self.tsm.in_umc(line).slice(0, bits),
        }
    }
    /// Tag of a line.
    pub fn tag_of(&self, line: Bits) -> Bits {
        self.tsm.in_umc(line).slice(self.set_select(), self.tag_bits())
    }
    /// The line of a tag and set of a bank.
    pub fn line_from(&self, tag: Bits, set: Bits, bank: Bits) -> Bits {
        let inside = if self.set_select() == 0 { tag } else { cat(&[tag, set]) };
        if self.tsm.banks == 1 {
            return inside;
        }
        let low = self.tsm.il - LINE.trailing_zeros();
        let high = inside.slice(low, inside.width() - low);
        if low == 0 { cat(&[high, bank]) } else { cat(&[high, bank, inside.slice(0, low)]) }
    }
    /// Place of a way in the data array.
    pub fn row_of(&self, set: Bits, way: Bits) -> Bits {
        cat(&[set, way]).resize(self.row_bits())
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let (size, ways, pool) = (self.size, self.ways, self.pool);
        let own = format!("{}_s{size}_w{ways}_p{pool}", self.tsm.tag());
        match (self.policy, self.coherence) {
            (_, Coherence::Gtsc) => {
                let fault = GtscFault::WORDS.iter().find(|w| w.0 == self.inject && w.0 != Inject::None);
                format!("gtsc_l2_{own}{}", fault.map_or(String::new(), |(_, word)| format!("_{word}")))
            }
            (Policy::Back, _) => {
                let always = if self.wrsp_data == WrspData::Always { "_always" } else { "" };
                let home = self.home.map_or(String::new(), |bits| format!("_home{bits}"));
                format!("l2_wb_{own}{always}{home}")
            }
            (Policy::Through, Coherence::None) => format!("mgcc_l2_{own}_nc"),
            (Policy::Through, Coherence::Mgcc) => {
                let eager = if self.read_ts == ReadTs::Eager { "_eager" } else { "" };
                let repl = if self.repl_ts { "" } else { "_lru" };
                let notes = if self.evict_notes { "" } else { "_quiet" };
                let inject = match self.inject {
                    Inject::None => String::new(),
                    slip => format!("_{}", slip.word()),
                };
                format!("mgcc_l2_{own}{eager}{repl}{notes}{inject}")
            }
        }
    }

    /// Checks the bank's own values for the block of a policy.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self, policy: Policy) -> Result<(), BlockError> {
        let block = match policy {
            Policy::Back if self.gtsc() => "gtsc-l2",
            Policy::Back => "l2-wb",
            Policy::Through => "mgcc-l2",
        };
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            let error = || BlockError::Illegal {
                block: block.into(),
                key: key.into(),
                value: value.to_string(),
                problem: problem.into(),
                legal: legal.into(),
            };
            if good { Ok(()) } else { Err(error()) }
        };
        if let Some(bits) = self.home {
            let plain = self.back() && !self.gtsc();
            check(plain, "home", bits, "the bank is no write-back bank without coherence", "0")?;
            let wide = (self.tsm.addr_bits..=64).contains(&bits);
            check(
                wide,
                "home",
                bits,
                "these are fewer bits than those inside the memory",
                "0, addr_bits..64",
            )?;
        }
        if self.policy != policy || (self.back() && self.mgcc()) || (!self.back() && self.gtsc()) {
            return Err(BlockError::Illegal {
                block: block.into(),
                key: "policy".into(),
                value: format!("{:?}, coherence {}", self.policy, self.coherence.word()),
                problem: "it is another block's".into(),
                legal: "Through for mgcc-l2; Back with coherence none for l2-wb, with G-TSC's for gtsc-l2"
                    .into(),
            });
        }
        let ways = self.ways.is_power_of_two() && (2..=16).contains(&self.ways);
        check(ways, "ways", self.ways, "it is no supported number of ways", "2, 4, 8, 16")?;
        let sets = self.size.is_multiple_of(LINE * self.ways) && self.sets().is_power_of_two();
        check(
            sets && self.sets() <= 16384 && self.tag_bits() > 0,
            "size",
            self.size,
            "size / (64 * ways) is no power of two up to 16384 below the number of lines",
            "64 * ways * 2^k, k in 0..14",
        )?;
        check((1..=256).contains(&self.pool), "pool", self.pool, "it lies outside", "1..256")
    }

    pub(crate) fn common(set: &ParamSet, base: L2Params) -> Result<L2Params, BlockError> {
        let p = L2Params {
            size: set.within("size", 1, 64 << 20)? as u32,
            ways: set.within("ways", 2, 16)? as u32,
            pool: set.within("pool", 1, 256)? as u32,
            ..base
        };
        p.validate(p.policy)?;
        Ok(p)
    }

    /// Reads the parameters of `mgcc-l2`.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<L2Params, BlockError> {
        let base = L2Params {
            coherence: Coherence::from_set(set, "coherence")?,
            read_ts: ReadTs::from_set(set, "read_ts")?,
            repl_ts: set.within("repl_ts", 0, 1)? == 1,
            evict_notes: set.within("evict_notes", 0, 1)? == 1,
            inject: Inject::from_set(set, "inject")?,
            ..L2Params::published(tsm_from(set)?)
        };
        L2Params::common(set, base)
    }

    /// Reads the parameters of `l2-wb`.
    ///
    /// # Errors
    /// A value that is no number or illegal.
    pub fn back_from_set(set: &ParamSet) -> Result<L2Params, BlockError> {
        let base = L2Params {
            wrsp_data: WrspData::from_set(set, "wrsp_data")?,
            home: Some(set.within("home", 0, 64)? as u32).filter(|bits| *bits > 0),
            ..L2Params::write_back(tsm_from(set)?)
        };
        L2Params::common(set, base)
    }
}

/// Parameters of every bank.
pub(crate) fn sizes() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    vec![
        info("size", "256K", "64 * ways * 2^k, k in 0..14", "capacity in bytes"),
        info("ways", "16", "2, 4, 8, 16", "ways"),
        info("pool", "64", "1..256", "requests that wait for a line"),
    ]
}

/// Parameters of `mgcc-l2`.
pub fn through_infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut all = sizes();
    all.extend([
        info("coherence", "mgcc", "mgcc, none", "timestamps, or none"),
        info("read_ts", "deferred", "eager, deferred", "whether a read's fill raises the clock (eager)"),
        info("repl_ts", "1", "0, 1", "expired blocks are replaced first"),
        info("evict_notes", "1", "0, 1", "the TSU is told what is dropped"),
        info(
            "inject",
            "none",
            "none, lit_mwts, lit_no_ts, lit_read_cts, lit_brts, lit_ack_nodata, lit_no_floor, lit_reinit, past_rts, early_fence, keep_clock",
            "a slip of the published listings (simulation only); here lit_read_cts, lit_brts, lit_ack_nodata and past_rts matter",
        ),
    ]);
    all.extend(tsm_params());
    all
}

/// Parameters of `l2-wb`.
pub fn back_infos() -> Vec<ParamInfo> {
    let mut all = sizes();
    all.push(ParamInfo {
        name: "wrsp_data",
        default: "partial".into(),
        legal: "partial, always",
        about: "writes whose answer carries the line",
    });
    all.push(ParamInfo {
        name: "home",
        default: "0".into(),
        legal: "0, addr_bits..64",
        about: "not 0: its memory's only cache, in which all operations of a line meet (MGPU-RDMA); bits of the addresses that come, of which addr_bits are those inside this memory",
    });
    all.extend(tsm_params());
    all
}
