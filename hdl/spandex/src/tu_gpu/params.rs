//! Parameters of the translation unit of an L1 with GPU coherence.

use crate::params::{Spandex, chosen, param_info, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Inject {
    /// None.
    None,
    /// Extras answer words that are outstanding.
    Extras,
    /// The words of a NackV are not asked for again.
    NackLost,
    /// A write-through is complete when the LLC has answered, whatever the old owners do.
    EarlyWt,
    /// Failed words are asked for by ReqV for ever.
    NoEscalation,
}

/// What fixes a translation unit (spandex.md sections 1 and 6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TuGpuParams {
    /// Widths of messages; MSHRs and store buffer entries of the L1.
    pub spandex: Spandex,
    /// Nacks of a read before its words are asked for by ReqWT+data READ, 1..7.
    pub n_fail: u32,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl TuGpuParams {
    /// The published unit: it escalates at the first Nack.
    pub fn published(spandex: Spandex) -> TuGpuParams {
        TuGpuParams { spandex, n_fail: 1, inject: Inject::None }
    }

    /// Transactions that it follows: MSHRs, then store buffer entries.
    pub fn entries(&self) -> u32 {
        self.spandex.mshrs + self.spandex.sb
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let inject = self.inject.word().replace('-', "_");
        format!("tu_gpu_{}_f{}_{inject}", self.spandex.name_part(), self.n_fail)
    }

    /// Checks the values that are not [`Spandex`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        if (1..=7).contains(&self.n_fail) {
            return Ok(());
        }
        Err(BlockError::Illegal {
            block: "tu-gpu".into(),
            key: "n_fail".into(),
            value: self.n_fail.to_string(),
            problem: "it lies outside".into(),
            legal: "1..7".into(),
        })
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<TuGpuParams, BlockError> {
        Ok(TuGpuParams {
            spandex: spandex_from(set)?,
            n_fail: set.within("n_fail", 1, 7)? as u32,
            inject: chosen(set, "inject", Inject::WORDS)?,
        })
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = vec![
        param_info("n_fail", "1", "1..7", "Nacks of a read before it is serialised at the LLC"),
        param_info("inject", "none", Inject::LEGAL, "fault put in on purpose, for simulation"),
    ];
    list.extend(spandex_params());
    list
}
