//! Parameters of the L1.

use crate::params::{Spandex, chosen, param_info, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_cache::Geometry;
use weft_rtl::Words;
use weft_rtl::bv::bits_for;

/// When buffered stores are written through: key `sb_drain` (spandex.md section 7). A release drains all of them in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum SbDrain {
    /// The oldest while no entry is free: one per cycle until one is answered.
    Full,
    /// The oldest while three quarters of the entries hold stores that have not left.
    Highwater,
    /// Each as soon as it can be.
    Eager,
}

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Inject {
    /// None.
    None,
    /// A release does not wait for the answers of write-throughs.
    EarlyRelease,
    /// An acquire leaves all lines, also that of a kernel's beginning.
    KeepsCopies,
    /// An acquire leaves no mark on reads under way.
    NoStale,
    /// A line that comes in overwrites what was stored here meanwhile.
    FillOverStore,
    /// An atomic leaves no mark on reads of its line.
    AtomicNoMark,
    /// A write-through does not wait for the one of the same line before it.
    WtOvertakes,
    /// An atomic does not wait for buffered stores to its words.
    AtomicOvertakes,
    /// A load does not see buffered stores.
    BufferUnseen,
    /// `scopes=1`: an atomic of CU scope changes the copy only, and no word is buffered.
    LocalUnbuffered,
    /// `scopes=1`: a line that comes in overwrites what an atomic of CU scope has left meanwhile.
    LocalUncaptured,
}

/// What fixes an L1 (spandex.md sections 1 and 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuL1Params {
    /// Widths of messages; MSHRs and store buffer entries.
    pub spandex: Spandex,
    /// Capacity in bytes: 32 KB.
    pub size: u32,
    /// Ways, a power of two, 2..32.
    pub ways: u32,
    /// Cycles from the slot of an operation to its answer, 1..64.
    pub latency: u32,
    /// Loads that wait for one line, 1..64.
    pub targets: u32,
    /// Operations that wait for a release, 1..64.
    pub releases: u32,
    /// When buffered stores leave.
    pub sb_drain: SbDrain,
    /// Scopes are honoured (cu-and-consistency.md section 4): what is of CU scope orders nothing beyond this L1, and with GPU coherence is done in it.
    pub scopes: bool,
    /// No store, and nothing of CU scope that is done here, is taken while an operation waits for a release (cu-and-consistency.md section 4).
    pub hold: bool,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl GpuL1Params {
    /// The published L1: 32 KB in 8 ways, 1 cycle.
    pub fn published(spandex: Spandex) -> GpuL1Params {
        GpuL1Params {
            spandex,
            size: 32 << 10,
            ways: 8,
            latency: 1,
            targets: 8,
            releases: 8,
            sb_drain: SbDrain::Full,
            scopes: false,
            hold: false,
            inject: Inject::None,
        }
    }

    /// Sets.
    pub fn sets(&self) -> u32 {
        self.geometry().sets
    }
    /// Sets and ways.
    pub fn geometry(&self) -> Geometry {
        Geometry::new(self.size, self.spandex.line, self.ways, self.spandex.line_bits())
    }
    /// Width of a target's number.
    pub fn target_bits(&self) -> u32 {
        bits_for(u64::from(self.targets))
    }
    /// Width of a store buffer entry's number.
    pub fn sb_bits(&self) -> u32 {
        bits_for(u64::from(self.spandex.sb))
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let drain = self.sb_drain.word();
        let inject = self.inject.word().replace('-', "_");
        let (name, size, ways, latency) = (self.spandex.name_part(), self.size, self.ways, self.latency);
        let (targets, releases) = (self.targets, self.releases);
        let option = |on: bool, name: &'static str| if on { name } else { "" };
        let (scopes, hold) = (option(self.scopes, "_scopes"), option(self.hold, "_hold"));
        format!(
            "gpu_l1_{name}_s{size}_w{ways}_d{latency}_t{targets}_r{releases}_{drain}{scopes}{hold}_{inject}"
        )
    }

    /// The parameters beside [`Spandex`], for reports.
    pub fn described(&self) -> Vec<(&'static str, String)> {
        vec![
            ("size", self.size.to_string()),
            ("ways", self.ways.to_string()),
            ("latency", self.latency.to_string()),
            ("targets", self.targets.to_string()),
            ("releases", self.releases.to_string()),
            ("sb_drain", self.sb_drain.word().into()),
            ("scopes", u32::from(self.scopes).to_string()),
            ("hold", u32::from(self.hold).to_string()),
            ("inject", self.inject.word().into()),
        ]
    }

    /// Checks the values that are not [`Spandex`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.validate_for("gpu-l1")
    }

    /// The same for another block with these parameters.
    pub(crate) fn validate_for(&self, block: &str) -> Result<(), BlockError> {
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            if good {
                return Ok(());
            }
            let (key, value, problem, legal) = (key.into(), value.to_string(), problem.into(), legal.into());
            Err(BlockError::Illegal { block: block.into(), key, value, problem, legal })
        };
        let outside = "it lies outside";
        let ways = self.ways.is_power_of_two() && (2..=32).contains(&self.ways);
        check(ways, "ways", self.ways, "it is no supported number of ways", "2, 4, 8, 16, 32")?;
        let whole = self.size.is_multiple_of(self.spandex.line * self.ways) && self.sets().is_power_of_two();
        check(
            whole && (2..=1024).contains(&self.sets()),
            "size",
            self.size,
            "size / (ways * line) is no power of two from 2 to 1024",
            "ways * line * 2^k, k in 1..10",
        )?;
        check((1..=64).contains(&self.latency), "latency", self.latency, outside, "1..64")?;
        check((1..=64).contains(&self.targets), "targets", self.targets, outside, "1..64")?;
        check((1..=64).contains(&self.releases), "releases", self.releases, outside, "1..64")
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<GpuL1Params, BlockError> {
        let params = GpuL1Params::faultless("gpu-l1", set)?;
        Ok(GpuL1Params { inject: chosen(set, "inject", Inject::WORDS)?, ..params })
    }

    /// The same without the key `inject`, for the block `block`.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub(crate) fn faultless(block: &str, set: &ParamSet) -> Result<GpuL1Params, BlockError> {
        let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
        let params = GpuL1Params {
            spandex: spandex_from(set)?,
            size: number("size", 32, 1 << 23)?,
            ways: number("ways", 2, 32)?,
            latency: number("latency", 1, 64)?,
            targets: number("targets", 1, 64)?,
            releases: number("releases", 1, 64)?,
            sb_drain: chosen(set, "sb_drain", SbDrain::WORDS)?,
            scopes: set.within("scopes", 0, 1)? == 1,
            hold: set.within("hold", 0, 1)? == 1,
            inject: Inject::None,
        };
        params.validate_for(block)?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = vec![
        param_info("size", "32K", "ways * line * 2^k, k in 1..10", "bytes of data"),
        param_info("ways", "8", "2, 4, 8, 16, 32", "ways of a set"),
        param_info("latency", "1", "1..64", "cycles from the slot of an operation to its answer"),
        param_info("targets", "8", "1..64", "loads that wait for one line"),
        param_info("releases", "8", "1..64", "operations that wait for a release"),
        param_info("sb_drain", "full", SbDrain::LEGAL, "when buffered stores are written through"),
        param_info("scopes", "0", "0, 1", "1: what is of CU scope orders nothing beyond this L1"),
        param_info("hold", "0", "0, 1", "1: stores wait while an operation waits for a release"),
        param_info("inject", "none", Inject::LEGAL, "fault put in on purpose, for simulation"),
    ];
    list.extend(spandex_params());
    list
}
