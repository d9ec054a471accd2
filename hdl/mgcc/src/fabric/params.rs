//! Parameters of a whole MGPU-TSM fabric (mgcc.md sections 1 and 2).

use crate::choice::{Choice, Coherence, Consistency, Inject, ReadTs, WrspData};
use crate::l1::L1Params;
use crate::l2::{L2Params, Policy};
use crate::params::{LINE, Tsm, fingerprint};
use crate::reqtracker::TrackerParams;
use crate::switch::SwitchParams;
use crate::tsu::{RdExtend, TsuParams, TsuWts};
use crate::umc::LaneParams;
use weft_blocks::registry::BlockError;

/// What of L2, coherence and consistency a fabric has (mgcc.md section 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TsmProtocol {
    /// Write-back L2, no coherence, release consistency: "MGPU-TSM".
    WbNcRc,
    /// Write-through L2, no coherence, release consistency.
    WtNcRc,
    /// Write-through L2, MGCC, release consistency.
    WtCRc,
    /// Write-through L2, MGCC, sequential consistency.
    WtCSc,
    /// G-TSC, release consistency: one GPU, whose write-back L2 gives the leases ([`crate::gtsc`]).
    Gtsc,
}

impl TsmProtocol {
    /// All that several GPUs may have, in the order of the specification.
    pub const ALL: [TsmProtocol; 4] =
        [TsmProtocol::WbNcRc, TsmProtocol::WtNcRc, TsmProtocol::WtCRc, TsmProtocol::WtCSc];
}

impl Choice for TsmProtocol {
    const WORDS: &'static [(TsmProtocol, &'static str)] = &[
        (TsmProtocol::WbNcRc, "wb-nc-rc"),
        (TsmProtocol::WtNcRc, "wt-nc-rc"),
        (TsmProtocol::WtCRc, "wt-c-rc"),
        (TsmProtocol::WtCSc, "wt-c-sc"),
        (TsmProtocol::Gtsc, "gtsc"),
    ];
}

/// Entries of a lane's TSU, in lines of the L2 banks behind it (TSU_SCALE).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TsuScale {
    /// An eighth.
    Eighth,
    /// A quarter.
    Quarter,
    /// A half.
    Half,
    /// As many: published.
    One,
    /// Twice as many.
    Two,
    /// Four times as many.
    Four,
}

impl TsuScale {
    /// That part of a number.
    pub fn of(self, entries: u32) -> u32 {
        match self {
            TsuScale::Eighth => entries / 8,
            TsuScale::Quarter => entries / 4,
            TsuScale::Half => entries / 2,
            TsuScale::One => entries,
            TsuScale::Two => 2 * entries,
            TsuScale::Four => 4 * entries,
        }
    }
}

impl Choice for TsuScale {
    const WORDS: &'static [(TsuScale, &'static str)] = &[
        (TsuScale::Eighth, "1/8"),
        (TsuScale::Quarter, "1/4"),
        (TsuScale::Half, "1/2"),
        (TsuScale::One, "1"),
        (TsuScale::Two, "2"),
        (TsuScale::Four, "4"),
    ];
}

/// Everything that fixes a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TsmFabricParams {
    /// Counts, message widths, MSHRs.
    pub tsm: Tsm,
    /// L2, coherence and consistency.
    pub protocol: TsmProtocol,
    /// Bytes of an L1.
    pub l1_size: u32,
    /// Ways of an L1.
    pub l1_ways: u32,
    /// Cycles of an L1 hit.
    pub l1_latency: u32,
    /// Requests that wait in an L1 for lines under way.
    pub l1_pool: u32,
    /// Bytes of an L2 bank.
    pub l2_size: u32,
    /// Ways of an L2 bank.
    pub l2_ways: u32,
    /// Cycles of an L2 hit, at least the 3 of the bank alone.
    pub l2_latency: u32,
    /// Requests that wait in a bank for lines under way.
    pub l2_pool: u32,
    /// When loads raise the clocks of L1s and banks.
    pub read_ts: ReadTs,
    /// Hits of an L1 per step of its clock, 0: off.
    pub self_inc: u32,
    /// Expired blocks are replaced first.
    pub repl_ts: bool,
    /// Banks tell the TSUs what they drop (TSU_EVICT_ON_L2).
    pub evict_notes: bool,
    /// Lease of a read.
    pub rd_extend: RdExtend,
    /// What a read is told of the line's last write.
    pub tsu_wts: TsuWts,
    /// Ways of a TSU.
    pub tsu_ways: u32,
    /// Cycles of a TSU.
    pub tsu_latency: u32,
    /// Entries of a TSU.
    pub tsu_scale: TsuScale,
    /// Entries of a ReqTracker (TRK).
    pub trk: u32,
    /// An issuable entry passed over so often goes first (AGE_MAX).
    pub age_max: u32,
    /// Reads take the line of a write in service.
    pub merge_raw: bool,
    /// Writes whose answer carries the line.
    pub wrsp_data: WrspData,
    /// Bytes per cycle and direction of a bank link (LINK_BPC).
    pub link_bpc: u32,
    /// Cycles through a switch.
    pub switch_latency: u32,
    /// Cycles through a GPU's crossbars.
    pub crossbar_latency: u32,
    /// Places in a switch per GPU, for requests and for responses.
    pub credits: [u32; 2],
    /// Outputs `gG_cuC_time` (simulation only).
    pub observe: bool,
    /// A slip of the published listings (simulation only).
    pub inject: Inject,
}

/// Cycles of a hit in a bank alone.
pub(crate) const BANK_HIT: u32 = 3;

impl TsmFabricParams {
    /// The published system: 4 GPUs of 64 CUs and 8 banks; of G-TSC one of them.
    pub fn published(protocol: TsmProtocol) -> TsmFabricParams {
        let (sequential, gtsc) = (protocol == TsmProtocol::WtCSc, protocol == TsmProtocol::Gtsc);
        TsmFabricParams {
            tsm: if gtsc { Tsm { gpus: 1, lanes: 1, ..Tsm::default() } } else { Tsm::default() },
            protocol,
            l1_size: 16 << 10,
            l1_ways: 4,
            l1_latency: 60,
            l1_pool: 16,
            l2_size: 256 << 10,
            l2_ways: 16,
            l2_latency: 10,
            l2_pool: 64,
            read_ts: if sequential || gtsc { ReadTs::Eager } else { ReadTs::Deferred },
            // Under RC a load that synchronises goes to memory, so that no wave spins on a block that it has.
            self_inc: if protocol == TsmProtocol::WtCRc { 0 } else { 100 },
            repl_ts: !gtsc,
            evict_notes: true,
            rd_extend: RdExtend::Accumulate,
            tsu_wts: TsuWts::Exact,
            tsu_ways: 8,
            tsu_latency: 50,
            tsu_scale: TsuScale::One,
            trk: 32,
            age_max: 64,
            merge_raw: sequential,
            wrsp_data: WrspData::Partial,
            link_bpc: 4,
            switch_latency: 140,
            crossbar_latency: 2,
            credits: [64, 64],
            observe: false,
            inject: Inject::None,
        }
    }

    /// Blocks carry timestamps.
    pub fn coherent(&self) -> bool {
        self.timed_memory() || self.gtsc()
    }
    /// Memory gives the leases: MGCC.
    pub fn timed_memory(&self) -> bool {
        matches!(self.protocol, TsmProtocol::WtCRc | TsmProtocol::WtCSc)
    }
    /// The L2 gives them: G-TSC.
    pub fn gtsc(&self) -> bool {
        self.protocol == TsmProtocol::Gtsc
    }
    /// Stores stay in the L2.
    pub fn write_back(&self) -> bool {
        matches!(self.protocol, TsmProtocol::WbNcRc | TsmProtocol::Gtsc)
    }
    /// Sequential consistency.
    pub fn sequential(&self) -> bool {
        self.protocol == TsmProtocol::WtCSc
    }
    /// Of the caches.
    fn coherence(&self) -> Coherence {
        if self.gtsc() { Coherence::Gtsc } else { self.memory_coherence() }
    }
    /// Of memory and the links to it.
    fn memory_coherence(&self) -> Coherence {
        if self.timed_memory() { Coherence::Mgcc } else { Coherence::None }
    }
    fn consistency(&self) -> Consistency {
        if self.sequential() { Consistency::Sc } else { Consistency::Rc }
    }
    /// Lines of all L2 banks behind a lane, as far as they fall to it: a bank of every GPU, shared by the lanes of a UMC.
    fn lines_behind(&self) -> u32 {
        self.l2_size / LINE * self.tsm.gpus / self.tsm.lanes
    }

    /// The L1s.
    pub fn l1(&self) -> L1Params {
        L1Params {
            tsm: self.tsm.clone(),
            size: self.l1_size,
            ways: self.l1_ways,
            latency: self.l1_latency,
            pool: self.l1_pool,
            consistency: self.consistency(),
            coherence: self.coherence(),
            eager: self.read_ts == ReadTs::Eager || self.gtsc(),
            self_inc: self.self_inc,
            repl_ts: self.repl_ts,
            observe: self.observe,
            inject: self.inject,
        }
    }

    /// The L2 banks.
    pub fn l2(&self) -> L2Params {
        L2Params {
            tsm: self.tsm.clone(),
            size: self.l2_size,
            ways: self.l2_ways,
            pool: self.l2_pool,
            policy: if self.write_back() { Policy::Back } else { Policy::Through },
            coherence: self.coherence(),
            read_ts: self.read_ts,
            repl_ts: self.repl_ts,
            evict_notes: self.evict_notes,
            wrsp_data: self.wrsp_data,
            home: None,
            inject: self.inject,
        }
    }

    /// The UMCs' lanes.
    pub fn lane(&self) -> LaneParams {
        LaneParams {
            tracker: TrackerParams {
                tsm: self.tsm.clone(),
                entries: self.trk,
                age_max: self.age_max,
                consistency: self.consistency(),
                merge_raw: self.merge_raw,
                coherence: self.memory_coherence(),
                wrsp_data: self.wrsp_data,
            },
            tsu: TsuParams {
                tsm: self.tsm.clone(),
                sets: self.tsu_scale.of(self.lines_behind()) / self.tsu_ways.max(1),
                ways: self.tsu_ways,
                latency: self.tsu_latency,
                rd_extend: self.rd_extend,
                wts: self.tsu_wts,
                inject: self.inject,
            },
        }
    }

    /// The switches.
    pub fn switch(&self) -> SwitchParams {
        SwitchParams {
            tsm: self.tsm.clone(),
            link_bpc: self.link_bpc,
            latency: self.switch_latency,
            credits: self.credits,
            coherence: self.memory_coherence(),
        }
    }

    /// The part of a module's name that tells fabrics apart: equal for equal modules.
    pub fn tag(&self) -> String {
        let hash = fingerprint(&format!("{self:?}"));
        format!("{}_{hash:016x}", self.protocol.word().replace('-', "_"))
    }

    /// Checks every value, and what does not fit together.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.check_counts()?;
        self.check_caches()?;
        self.check_time()?;
        self.check_tsu()?;
        self.check_memory()
    }

    fn check_counts(&self) -> Result<(), BlockError> {
        let t = &self.tsm;
        power("gpus", t.gpus, 16, "1, 2, 4, 8 or 16")?;
        let alone = !self.gtsc() || t.gpus == 1;
        check(alone, "gpus", t.gpus, "G-TSC keeps the L1s of one GPU coherent", "1 with gtsc")?;
        let own = !self.gtsc() || matches!(self.inject, Inject::None | Inject::Gtsc(_));
        check(own, "inject", self.inject.word(), "it is a slip of MGCC's listings", "none with gtsc")?;
        within("cus", t.cus, 1, 128)?;
        power("banks", t.banks, 16, "power of two, 1..16")?;
        power("lanes", t.lanes, 16, "power of two, 1..16")?;
        within("il", t.il, 6, 24)?;
        within("addr_bits", t.addr_bits, 32, 64)?;
        within("l1_mshrs", t.l1_mshrs, 1, 64)?;
        within("l2_mshrs", t.l2_mshrs, 1, 256)
    }

    fn check_caches(&self) -> Result<(), BlockError> {
        let cache = |keys: [&str; 2], size: u32, ways: u32, sets: std::ops::RangeInclusive<u32>| {
            let good = ways.is_power_of_two() && (2..=16).contains(&ways);
            check(good, keys[1], ways, "it is no supported number of ways", "2, 4, 8, 16")?;
            let fits = size.is_multiple_of(LINE * ways);
            let number = size / (LINE * ways);
            let good = fits && number.is_power_of_two() && sets.contains(&number);
            let legal = format!("64 * ways * 2^k bytes, {}..{} sets", sets.start(), sets.end());
            check(good, keys[0], size, "size / (64 * ways) is no supported number of sets", &legal)
        };
        cache(["l1_size", "l1_ways"], self.l1_size, self.l1_ways, 2..=4096)?;
        cache(["l2_size", "l2_ways"], self.l2_size, self.l2_ways, 1..=16384)?;
        let bits = self.l2().tag_bits();
        check(bits > 0, "l2_size", self.l2_size, "a bank would hold all of memory", "less than memory")?;
        within("l1_latency", self.l1_latency, 3, 256)?;
        within("l1_pool", self.l1_pool, 1, 64)?;
        within("l2_latency", self.l2_latency, BANK_HIT, 1000)?;
        within("l2_pool", self.l2_pool, 1, 256)
    }

    fn check_time(&self) -> Result<(), BlockError> {
        let t = &self.tsm;
        within("ts", t.ts, 6, 32)?;
        within("eb", t.eb, 3, 8)?;
        let good = (t.ts + t.eb..=64).contains(&t.cts);
        check(good, "cts", t.cts, "it lies outside", &format!("ts + eb..64: {}..64", t.ts + t.eb))?;
        let sequential = self.sequential();
        let text = "under sequential consistency a read must raise the clock at once";
        let legal = "eager with wt-c-sc; eager, deferred else";
        check(!sequential || self.read_ts == ReadTs::Eager, "read_ts", "deferred", text, legal)?;
        let least = if sequential { 2 } else { 0 };
        let good = self.self_inc != 1 && (least..=65535).contains(&self.self_inc);
        let text = "a spinning load would hit for ever, or every hit would move the clock";
        check(good, "self_inc", self.self_inc, text, "2..65535; without wt-c-sc also 0 (off)")
    }

    fn check_tsu(&self) -> Result<(), BlockError> {
        within("tsu_ways", self.tsu_ways, 1, 16)?;
        within("tsu_latency", self.tsu_latency, 2, 200)?;
        if !self.timed_memory() {
            // There are no TSUs that could be too small or too large.
            return Ok(());
        }
        let tsu = self.lane().tsu;
        let entries = self.tsu_scale.of(self.lines_behind());
        let sets = entries.is_multiple_of(self.tsu_ways) && tsu.sets.is_power_of_two() && tsu.sets <= 65536;
        let problem = format!("{entries} entries of a lane's TSU make no power of two of sets");
        let legal = "l2_size / 64 * gpus / lanes * tsu_scale / tsu_ways = 2^k, k in 0..16";
        check(sets, "tsu_ways", self.tsu_ways, &problem, legal)?;
        let room = self.tsm.lane_line_bits() > tsu.sets.trailing_zeros();
        check(room, "tsu_scale", self.tsu_scale.word(), "a TSU would hold all of memory", "a smaller one")
    }

    fn check_memory(&self) -> Result<(), BlockError> {
        within("trk", self.trk, 4, 256)?;
        within("age_max", self.age_max, 1, 1023)?;
        within("link_bpc", self.link_bpc, 1, 512)?;
        within("switch_latency", self.switch_latency, 1, 4096)?;
        within("crossbar_latency", self.crossbar_latency, 1, 64)?;
        within("credits_req", self.credits[0], 1, 1024)?;
        within("credits_rsp", self.credits[1], 1, 1024)
    }
}

fn check(good: bool, key: &str, value: impl ToString, problem: &str, legal: &str) -> Result<(), BlockError> {
    if good {
        return Ok(());
    }
    Err(BlockError::Illegal {
        block: "tsm-fabric".into(),
        key: key.into(),
        value: value.to_string(),
        problem: problem.into(),
        legal: legal.into(),
    })
}

fn within(key: &str, value: u32, lo: u32, hi: u32) -> Result<(), BlockError> {
    check((lo..=hi).contains(&value), key, value, "it lies outside", &format!("{lo}..{hi}"))
}

fn power(key: &str, value: u32, hi: u32, legal: &str) -> Result<(), BlockError> {
    let good = value.is_power_of_two() && value <= hi;
    check(good, key, value, &format!("it is no power of two of at most {hi}"), legal)
}
