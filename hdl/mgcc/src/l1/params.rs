//! Parameters of the L1.

use crate::choice::{Choice, Coherence, Consistency, GtscFault, Inject};
use crate::params::{LINE, Tsm, tsm_from, tsm_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;

/// What fixes an L1 (mgcc.md sections 1, 2 and 4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L1Params {
    /// Widths of messages and of logical time; `l1_mshrs` is the number of this cache's MSHRs.
    pub tsm: Tsm,
    /// Capacity in bytes: 16 KB.
    pub size: u32,
    /// Ways, a power of two, 2..16.
    pub ways: u32,
    /// Cycles from taking a load to showing its answer on a hit, 3..256.
    pub latency: u32,
    /// Requests that can wait for a line under way, 1..64.
    pub pool: u32,
    /// Sequential consistency knows no LD_SYNC.
    pub consistency: Consistency,
    /// `None`: no stamps, no clock; a kernel's begin drops every block.
    pub coherence: Coherence,
    /// READ_TS `eager`: a read's response raises the clock. Else `deferred`: the next fence does.
    pub eager: bool,
    /// The clock advances by one every so many hits; 0: never.
    pub self_inc: u32,
    /// REPL_TS: expired blocks are replaced before live ones.
    pub repl_ts: bool,
    /// The port `cu_time` tells the time of each answered operation (simulation only).
    pub observe: bool,
    /// Fault of the published listings (simulation only).
    pub inject: Inject,
}

impl L1Params {
    /// The published L1: 16 KB in 4 ways, 60 cycles.
    pub fn published(tsm: Tsm, consistency: Consistency, coherence: Coherence) -> L1Params {
        L1Params {
            tsm,
            size: 16 << 10,
            ways: 4,
            latency: 60,
            pool: 16,
            consistency,
            coherence,
            eager: consistency == Consistency::Sc,
            self_inc: 100,
            repl_ts: true,
            observe: false,
            inject: Inject::None,
        }
    }

    /// The L1 of G-TSC with the published sizes: every answer raises the clock.
    pub fn gtsc_published(tsm: Tsm) -> L1Params {
        let repl_ts = false;
        let mgcc = L1Params::published(tsm, Consistency::Rc, Coherence::Mgcc);
        L1Params { coherence: Coherence::Gtsc, eager: true, repl_ts, ..mgcc }
    }

    /// Lines carry stamps.
    pub fn coherent(&self) -> bool {
        self.coherence != Coherence::None
    }
    /// The L1 of G-TSC: block `gtsc-l1`.
    pub fn gtsc(&self) -> bool {
        self.coherence == Coherence::Gtsc
    }
    /// Name of the block.
    pub fn block(&self) -> &'static str {
        if self.gtsc() { "gtsc-l1" } else { "mgcc-l1" }
    }
    /// An ordered load goes to memory (LD_SYNC).
    pub fn has_sync_loads(&self) -> bool {
        self.consistency == Consistency::Rc
    }
    /// Open transactions.
    pub fn mshrs(&self) -> u32 {
        self.tsm.l1_mshrs
    }
    /// Number of sets: size / (64 * ways).
    pub fn sets(&self) -> u32 {
        self.size / (LINE * self.ways)
    }
    /// Width of a set number.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }
    /// Width of a tag: line bits - set bits.
    pub fn tag_bits(&self) -> u32 {
        self.tsm.line_bits() - self.set_bits()
    }
    /// Width of a way number and of an age.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }
    /// Width of an MSHR's number.
    pub fn entry_bits(&self) -> u32 {
        bits_for(u64::from(self.mshrs()))
    }
    /// Width of a pool entry's number.
    pub fn pool_bits(&self) -> u32 {
        bits_for(u64::from(self.pool))
    }
    /// Width of `need`, a time with the tag of its epoch: EB + TS.
    pub fn need_bits(&self) -> u32 {
        self.tsm.eb + self.tsm.ts
    }
    /// Width of a counter of stores and atomics under way: at most as many as MSHRs and pool entries.
    pub fn store_bits(&self) -> u32 {
        bits_for(u64::from(self.mshrs() + self.pool) + 1)
    }
    /// Rows of the ring that delays hits: the pipeline itself takes two cycles.
    pub fn ring_rows(&self) -> u32 {
        self.latency - 2
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        if self.gtsc() {
            return self.gtsc_name();
        }
        format!(
            "mgcc_l1_{}_s{}_w{}_d{}_p{}_{}_{}_{}_i{}_r{}_o{}_{}",
            self.tsm.tag(),
            self.size,
            self.ways,
            self.latency,
            self.pool,
            self.consistency.word(),
            self.coherence.word(),
            if self.eager { "eager" } else { "deferred" },
            self.self_inc,
            u8::from(self.repl_ts),
            u8::from(self.observe),
            self.inject.word(),
        )
    }

    fn gtsc_name(&self) -> String {
        let fault = GtscFault::WORDS.iter().find(|w| w.0 == self.inject && w.0 != Inject::None);
        format!(
            "gtsc_l1_{}_s{}_w{}_d{}_p{}_i{}_r{}_o{}{}",
            self.tsm.tag(),
            self.size,
            self.ways,
            self.latency,
            self.pool,
            self.self_inc,
            u8::from(self.repl_ts),
            u8::from(self.observe),
            fault.map_or(String::new(), |(_, word)| format!("_{word}")),
        )
    }

    /// Checks the values that are not [`Tsm`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let check = |good: bool, key: &str, value: String, problem: &str, legal: &str| {
            if good {
                return Ok(());
            }
            let (block, key, problem, legal) =
                (self.block().into(), key.into(), problem.into(), legal.into());
            Err(BlockError::Illegal { block, key, value, problem, legal })
        };
        let ways = self.ways.is_power_of_two() && (2..=16).contains(&self.ways);
        check(ways, "ways", self.ways.to_string(), "it is no supported number of ways", "2, 4, 8, 16")?;
        let sets = self.size.is_multiple_of(LINE * self.ways) && self.sets().is_power_of_two();
        check(
            sets && (2..=4096).contains(&self.sets()),
            "size",
            self.size.to_string(),
            "size / (64 * ways) is not a power of two from 2 to 4096",
            "64 * ways * 2^k, k in 1..12",
        )?;
        let outside = "it lies outside";
        check((3..=256).contains(&self.latency), "latency", self.latency.to_string(), outside, "3..256")?;
        check((1..=64).contains(&self.pool), "pool", self.pool.to_string(), outside, "1..64")?;
        let sc = self.consistency == Consistency::Sc;
        check(
            self.eager || !sc,
            "read_ts",
            "deferred".into(),
            "under sequential consistency a read must raise the clock at once",
            "eager with sc; eager, deferred with rc",
        )?;
        let range = if sc { 2 } else { 0 };
        check(
            self.self_inc != 1 && (range..=65535).contains(&self.self_inc),
            "self_inc",
            self.self_inc.to_string(),
            "a spinning load would hit for ever, or every hit would move the clock",
            if self.block() == "gtsc-l1" { "0, 2..65535" } else { "0 (rc), 2..65535" },
        )
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<L1Params, BlockError> {
        let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
        let flag = |key| set.within(key, 0, 1).map(|v| v == 1);
        let consistency = Consistency::from_set(set, "consistency")?;
        let eager = match set.text("read_ts").as_str() {
            "auto" => consistency == Consistency::Sc,
            "eager" => true,
            "deferred" => false,
            _ => return Err(set.illegal("read_ts", "it is not known")),
        };
        let params = L1Params {
            tsm: tsm_from(set)?,
            size: number("size", 256, 1 << 22)?,
            ways: number("ways", 2, 16)?,
            latency: number("latency", 3, 256)?,
            pool: number("pool", 1, 64)?,
            consistency,
            coherence: Coherence::from_set(set, "coherence")?,
            eager,
            self_inc: number("self_inc", 0, 65535)?,
            repl_ts: flag("repl_ts")?,
            observe: flag("observe")?,
            inject: Inject::from_set(set, "inject")?,
        };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = vec![
        info("size", "16K", "64 * ways * 2^k, k in 1..12", "bytes of data"),
        info("ways", "4", "2, 4, 8, 16", "ways of a set"),
        info("latency", "60", "3..256", "cycles from taking a load to its answer on a hit"),
        info("pool", "16", "1..64", "requests that wait for a line under way"),
        info("consistency", "rc", "sc, rc", "sequential or release consistency"),
        info("coherence", "mgcc", "mgcc, none", "timestamps, or software at kernel boundaries"),
        info(
            "read_ts",
            "auto",
            "auto, eager, deferred (rc)",
            "when reads raise the clock; auto: sc eager, rc deferred",
        ),
        info("self_inc", "100", "0 (rc), 2..65535", "hits per step of the clock, 0: off"),
        info("repl_ts", "1", "0, 1", "1: expired blocks are replaced first"),
        info("observe", "0", "0, 1", "1: the port cu_time tells the time of each answer"),
        info(
            "inject",
            "none",
            "none, lit_mwts, lit_no_ts, lit_read_cts, lit_brts, lit_ack_nodata, lit_no_floor, lit_reinit, past_rts, early_fence, keep_clock",
            "fault of the published listings, or of fences; an L1 knows lit_no_ts, lit_read_cts, lit_brts, lit_ack_nodata and those from past_rts on",
        ),
    ];
    list.extend(tsm_params());
    list
}
