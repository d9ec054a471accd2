//! Parameters of the L1: those of an L1 with GPU coherence, two options, and faults of its own.

use crate::gpu_l1::{self, GpuL1Params, value_of, word_of};
use crate::params::Spandex;
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;

/// Where atomics on words that are not owned are done: key `atomics` (spandex.md section 1). On owned words they are done here in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Atomics {
    /// Here: ownership and data are asked for (ReqO+data).
    Own,
    /// At the LLC (ReqWT+data), as the CPU cores of the configuration SDG do.
    Through,
}

impl Atomics {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(Atomics, &'static str)] =
        &[(Atomics::Own, "own"), (Atomics::Through, "through")];
}

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Inject {
    /// None.
    None,
    /// An acquire leaves no mark on reads under way.
    NoStale,
    /// A write-back closes when it is answered, whatever forward crosses it.
    NoCross,
    /// A removal that comes while ownership is asked for leaves the word owned.
    KeepsOwnership,
    /// A removal that comes while data is asked for is answered before the own atomic.
    NoDelay,
    /// Extras are installed whatever happened to the line.
    StaleExtras,
    /// A read asks for words whose write-back is open.
    NoWait,
    /// A line that comes in overwrites what was stored here meanwhile.
    FillOverStore,
    /// `atomics=through`: the own copy of a word that the LLC updates stays.
    KeepsCopy,
    /// `regions=1`: the beginning of a kernel does not drop lines of read-only regions.
    KeepsRegion,
}

impl Inject {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(Inject, &'static str)] = &[
        (Inject::None, "none"),
        (Inject::NoStale, "no-stale"),
        (Inject::NoCross, "no-cross"),
        (Inject::KeepsOwnership, "keeps-ownership"),
        (Inject::NoDelay, "no-delay"),
        (Inject::StaleExtras, "stale-extras"),
        (Inject::NoWait, "no-wait"),
        (Inject::FillOverStore, "fill-over-store"),
        (Inject::KeepsCopy, "keeps-copy"),
        (Inject::KeepsRegion, "keeps-region"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        word_of(Inject::WORDS, self)
    }
}

/// What fixes an L1 (spandex.md sections 1 and 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DenovoL1Params {
    /// Widths of messages, capacity, queues; its fault is none.
    pub l1: GpuL1Params,
    /// Where atomics are done.
    pub atomics: Atomics,
    /// Lines filled by loads of read-only regions outlive acquires: one bit RO per line.
    pub regions: bool,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl DenovoL1Params {
    /// The published L1: 32 KB in 8 ways, 1 cycle; atomics on owned words, no regions.
    pub fn published(spandex: Spandex) -> DenovoL1Params {
        let l1 = GpuL1Params::published(spandex);
        DenovoL1Params { l1, atomics: Atomics::Own, regions: false, inject: Inject::None }
    }

    /// Some atomics are done at the LLC.
    pub fn through(&self) -> bool {
        self.atomics == Atomics::Through
    }

    /// Checks the values that are not [`Spandex`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.l1.validate_for("denovo-l1")
    }

    /// Width of a write-back buffer entry's number.
    pub fn wbb_bits(&self) -> u32 {
        bits_for(u64::from(self.l1.spandex.wbb))
    }

    /// Width of a way's number.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.l1.ways))
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let l1 = self.l1.module_name();
        let (l1, inject) = (l1.trim_start_matches("gpu_l1_"), self.inject.word().replace('-', "_"));
        let atomics = word_of(Atomics::WORDS, self.atomics);
        format!("denovo_l1_{l1}_{atomics}_ro{}_{inject}", u32::from(self.regions))
    }

    /// The parameters beside [`Spandex`], for reports.
    pub fn described(&self) -> Vec<(&'static str, String)> {
        let mut list = self.l1.described();
        list.retain(|d| d.0 != "inject");
        list.push(("atomics", word_of(Atomics::WORDS, self.atomics).into()));
        list.push(("regions", u32::from(self.regions).to_string()));
        list.push(("inject", self.inject.word().into()));
        list
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<DenovoL1Params, BlockError> {
        Ok(DenovoL1Params {
            l1: GpuL1Params::faultless("denovo-l1", set)?,
            atomics: value_of(Atomics::WORDS, set, "atomics")?,
            regions: set.within("regions", 0, 1)? == 1,
            inject: value_of(Inject::WORDS, set, "inject")?,
        })
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = gpu_l1::infos();
    for info in list.iter_mut().filter(|info| info.name == "inject") {
        info.legal = "none, no-stale, no-cross, keeps-ownership, no-delay, stale-extras, no-wait, fill-over-store, keeps-copy, keeps-region";
    }
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let at = list.iter().position(|info| info.name == "inject").unwrap_or(0);
    let options = [
        info(
            "atomics",
            "own",
            "own, through",
            "atomics on words not owned: ask for ownership, or done at the LLC",
        ),
        info("regions", "0", "0, 1", "1: lines of read-only regions outlive acquires"),
    ];
    list.splice(at..at, options);
    list
}
