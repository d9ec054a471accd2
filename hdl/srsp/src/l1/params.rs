//! Parameters of the L1.

use crate::params::{Impl, Srsp, srsp_from, srsp_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Inject {
    /// None.
    None,
    /// SEL_INV does not insert into the PA-TBL.
    PaDropped,
    /// SEL_FLUSH stops one entry early.
    FlushShort,
    /// A SEL_FLUSH is acknowledged before its flush has completed.
    EarlyPack,
    /// A SEL_FLUSH that misses is acknowledged without a fence.
    NoMissFence,
    /// A probe of a line under way leaves no mark.
    NoReplay,
    /// An invalidation leaves no mark on lines under way.
    NoNoinst,
    /// The own remote operation leaves the CU gate open.
    OpenGate,
    /// bRSP with a token: LOCK_FLUSH stops nothing.
    OpenLock,
    /// A release of a scope beyond the CU ends at once: what is dirty here leaves later.
    EarlyRelease,
    /// An acquire of a scope beyond the CU leaves all lines. A kernel's beginning drops them.
    KeepsCopies,
    /// A remote operation gives the lock of its line up before the invalidations under it are collected.
    EarlyUnlock,
}

impl Inject {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(Inject, &'static str)] = &[
        (Inject::None, "none"),
        (Inject::PaDropped, "pa-dropped"),
        (Inject::FlushShort, "flush-short"),
        (Inject::EarlyPack, "early-pack"),
        (Inject::NoMissFence, "no-miss-fence"),
        (Inject::NoReplay, "no-replay"),
        (Inject::NoNoinst, "no-noinst"),
        (Inject::OpenGate, "open-gate"),
        (Inject::OpenLock, "open-lock"),
        (Inject::EarlyRelease, "early-release"),
        (Inject::KeepsCopies, "keeps-copies"),
        (Inject::EarlyUnlock, "early-unlock"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Inject::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }

    fn from_set(set: &ParamSet) -> Result<Inject, BlockError> {
        let text = set.text("inject");
        let found = Inject::WORDS.iter().find(|w| w.1 == text);
        found.map(|w| w.0).ok_or_else(|| set.illegal("inject", "it is not known"))
    }
}

/// bRSP with a token: what the CU may not do between LOCK_FLUSH and INV_UNLOCK, which lock an address in
/// every other L1
/// (srsp.md sections 1, 3 and 5.2). With each of them the atomic at the L2 is one step with the flush of what was
/// released before it: nobody here takes or releases the variable meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Closes {
    /// Access anything: the CU gate is closed. More than the order of accesses asks for, and it costs every wave;
    /// but INV_UNLOCK finds nothing dirty.
    All,
    /// Synchronise, with whatever address: an L1 that does not compare addresses.
    Sync,
    /// Access the line of the address, as with sRSP, whose lock lies at the L2.
    Line,
}

impl Closes {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(Closes, &'static str)] =
        &[(Closes::All, "all"), (Closes::Sync, "sync"), (Closes::Line, "line")];

    /// Its word.
    pub fn word(self) -> &'static str {
        Closes::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }

    fn from_set(set: &ParamSet) -> Result<Closes, BlockError> {
        let text = set.text("closes");
        let found = Closes::WORDS.iter().find(|w| w.1 == text);
        found.map(|w| w.0).ok_or_else(|| set.illegal("closes", "it is not known"))
    }
}

/// What fixes an L1 (srsp.md section 2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L1Params {
    /// Widths of messages; MSHRs and WBT entries.
    pub srsp: Srsp,
    /// Which system it is.
    pub system: Impl,
    /// Capacity in bytes: 16 KB.
    pub size: u32,
    /// Ways, a power of two, 2..32.
    pub ways: u32,
    /// Cycles from the slot of an operation to its answer, 2..64.
    pub latency: u32,
    /// Entries of the sFIFO, and so of the LR-TBL, 2..256.
    pub sfifo: u32,
    /// Entries of the PA-TBL, 1..256.
    pub pa: u32,
    /// Entries of the predictor of sRSPOpt: 0 (off), or a power of two from 8 to 1024.
    pub aff: u32,
    /// Operations that wait for one line, 1..64.
    pub targets: u32,
    /// Operations with several steps that wait behind the one at work, 1..64.
    pub sq: u32,
    /// bRSP with a token: what a remote operation of another CU keeps this one from.
    pub closes: Closes,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl L1Params {
    /// The published L1: 16 KB in 16 ways, 4 cycles.
    pub fn published(srsp: Srsp, system: Impl) -> L1Params {
        L1Params {
            srsp,
            system,
            size: 16 << 10,
            ways: 16,
            latency: 4,
            sfifo: 16,
            pa: 16,
            aff: 64,
            targets: 8,
            sq: 8,
            closes: Closes::Line,
            inject: Inject::None,
        }
    }

    /// Sets.
    pub fn sets(&self) -> u32 {
        self.size / (self.srsp.line * self.ways)
    }
    /// Width of a set number.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }
    /// Width of a tag.
    pub fn tag_bits(&self) -> u32 {
        self.srsp.line_bits() - self.set_bits()
    }
    /// Width of a way number.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }
    /// Width of an sFIFO index: the paper's `s`.
    pub fn ptr_bits(&self) -> u32 {
        bits_for(u64::from(self.sfifo))
    }
    /// Width of a target's number.
    pub fn target_bits(&self) -> u32 {
        bits_for(u64::from(self.targets))
    }
    /// Width of a byte offset in a line.
    pub fn offset_bits(&self) -> u32 {
        self.srsp.line.trailing_zeros()
    }
    /// The predictor is there.
    pub fn predicts(&self) -> bool {
        self.system == Impl::SrspOpt && self.aff > 0
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        // L1s of other systems are never locked.
        let locked =
            if self.system == Impl::BrspToken { format!("_{}", self.closes.word()) } else { String::new() };
        format!(
            "srsp_l1_{}{}_{}_s{}_w{}_d{}_f{}_p{}_a{}_t{}_q{}_{}",
            self.system.word().replace('-', "_"),
            locked,
            self.srsp.tag(),
            self.size,
            self.ways,
            self.latency,
            self.sfifo,
            self.pa,
            self.aff,
            self.targets,
            self.sq,
            self.inject.word().replace('-', "_"),
        )
    }

    /// Checks the values that are not [`Srsp`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            if good {
                return Ok(());
            }
            let (key, value, problem, legal) = (key.into(), value.to_string(), problem.into(), legal.into());
            Err(BlockError::Illegal { block: "srsp-l1".into(), key, value, problem, legal })
        };
        let outside = "it lies outside";
        let ways = self.ways.is_power_of_two() && (2..=32).contains(&self.ways);
        check(ways, "ways", self.ways, "it is no supported number of ways", "2, 4, 8, 16, 32")?;
        let sets = self.size.is_multiple_of(self.srsp.line * self.ways) && self.sets().is_power_of_two();
        check(
            sets && (2..=1024).contains(&self.sets()),
            "size",
            self.size,
            "size / (ways * line) is no power of two from 2 to 1024",
            "ways * line * 2^k, k in 1..10",
        )?;
        check((2..=64).contains(&self.latency), "latency", self.latency, outside, "2..64")?;
        check((2..=256).contains(&self.sfifo), "sfifo", self.sfifo, outside, "2..256")?;
        check((1..=256).contains(&self.pa), "pa", self.pa, outside, "1..256")?;
        let aff = self.aff == 0 || (self.aff.is_power_of_two() && (8..=1024).contains(&self.aff));
        check(aff, "aff", self.aff, "it is no supported size", "0, or a power of two, 8..1024")?;
        check((1..=64).contains(&self.targets), "targets", self.targets, outside, "1..64")?;
        check((1..=64).contains(&self.sq), "sq", self.sq, outside, "1..64")
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<L1Params, BlockError> {
        let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
        let params = L1Params {
            srsp: srsp_from(set)?,
            system: Impl::from_set(set)?,
            size: number("size", 128, 1 << 22)?,
            ways: number("ways", 2, 32)?,
            latency: number("latency", 2, 64)?,
            sfifo: number("sfifo", 2, 256)?,
            pa: number("pa", 1, 256)?,
            aff: number("aff", 0, 1024)?,
            targets: number("targets", 1, 64)?,
            sq: number("sq", 1, 64)?,
            closes: Closes::from_set(set)?,
            inject: Inject::from_set(set)?,
        };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = vec![
        info("impl", "srsp", "base, brsp, brsp-token, srsp, srsp-opt", "which system it is"),
        info("size", "16K", "ways * line * 2^k, k in 1..10", "bytes of data"),
        info("ways", "16", "2, 4, 8, 16, 32", "ways of a set"),
        info("latency", "4", "2..64", "cycles from the slot of an operation to its answer"),
        info("sfifo", "16", "2..256", "entries of the sFIFO and of the LR-TBL"),
        info("pa", "16", "1..256", "entries of the PA-TBL"),
        info("aff", "64", "0, or a power of two, 8..1024", "entries of the predictor of srsp-opt, 0: off"),
        info("targets", "8", "1..64", "operations that wait for one line"),
        info("sq", "8", "1..64", "operations of several steps that wait behind the one at work"),
        info(
            "closes",
            "line",
            "all, sync, line",
            "brsp-token: what another CU's remote operation stops here: all accesses, all that synchronise, those to the line of its address",
        ),
        info(
            "inject",
            "none",
            "none, pa-dropped, flush-short, early-pack, no-miss-fence, no-replay, no-noinst, open-gate, open-lock, early-release, keeps-copies, early-unlock",
            "fault put in on purpose, for simulation",
        ),
    ];
    list.extend(srsp_params());
    list
}
