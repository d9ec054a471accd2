//! Parameters of the L1: those of an L1 with GPU coherence, and faults of its own.

use crate::gpu_l1::{self, GpuL1Params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;

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
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Inject::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }
}

/// What fixes an L1 (spandex.md sections 1 and 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DenovoL1Params {
    /// Widths of messages, capacity, queues; its fault is none.
    pub l1: GpuL1Params,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl DenovoL1Params {
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
        format!("denovo_l1_{}_{}", l1.trim_start_matches("gpu_l1_"), self.inject.word().replace('-', "_"))
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<DenovoL1Params, BlockError> {
        let text = set.text("inject");
        let found = Inject::WORDS.iter().find(|w| w.1 == text);
        let inject = found.map(|w| w.0).ok_or_else(|| set.illegal("inject", "it is not known"))?;
        Ok(DenovoL1Params { l1: GpuL1Params::faultless(set)?, inject })
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = gpu_l1::infos();
    for info in list.iter_mut().filter(|info| info.name == "inject") {
        info.legal = "none, no-stale, no-cross, keeps-ownership, no-delay, stale-extras, no-wait";
    }
    list
}
