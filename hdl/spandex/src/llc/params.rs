//! Parameters of a bank.

use crate::bank::arrays::Kept;
use crate::bank::{self, Bank, fault_part};
use crate::params::{Spandex, chosen, param_info, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// How a bank answers ReqS: spandex.md's `REQS_POLICY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum ReqsPolicy {
    /// The requestor becomes a sharer.
    Opt1,
    /// It gets the words to use once.
    Opt2,
    /// It gets ownership.
    Opt3,
    /// Sharer if the line is S or a word is owned by a device that may hold S, else ownership.
    Eval,
}

/// What is revoked for a ReqWT+data: spandex.md's `RVKO_GRAN`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum RvkoGran {
    /// All words of the line that the owner of a target word owns.
    Line,
    /// The target words.
    Word,
}

/// What is kept of the sharers of a line: spandex.md's `SHARER_MODE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum SharerMode {
    /// A bit per device that may hold S.
    Exact,
    /// Nothing: Inv goes to all of them.
    Broadcast,
}

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum LlcFault {
    /// None.
    None,
    /// An Inv counts as answered when it is sent.
    EarlyAck,
    /// RspWB does not say that a revocation crosses the write-back.
    NoCross,
    /// How a ReqS is answered is decided again after the revocation.
    UnlatchedPolicy,
    /// A line is replaced without taking its owned words back.
    DropOwned,
    /// A ReqS does not make its requestor a sharer.
    ForgottenSharer,
    /// Extras are taken of owned words, too: owners' numbers instead of data.
    OwnedExtras,
    /// Dirty words that come back do not make the line dirty.
    LostDirty,
    /// A revocation ends when the owner has answered, although its write-back is still to come.
    NoWait,
    /// A write-through leaves the old owner in the line.
    StaleOwner,
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LlcParams {
    /// Sizes and widths.
    pub bank: Bank,
    /// How ReqS is answered.
    pub reqs: ReqsPolicy,
    /// What is revoked for a ReqWT+data.
    pub rvko: RvkoGran,
    /// The bank adds what else it has of a line to RspV, and lets owners do so.
    pub flex: bool,
    /// What is kept of sharers.
    pub sharers: SharerMode,
    /// A fault put in on purpose.
    pub fault: LlcFault,
}

impl LlcParams {
    /// The published LLC: 8 MB, 16 ways, 32 stalled requests per bank.
    pub fn published(s: Spandex) -> LlcParams {
        LlcParams {
            bank: Bank::published(s, 8 << 20, false),
            reqs: ReqsPolicy::Eval,
            rvko: RvkoGran::Line,
            flex: true,
            sharers: SharerMode::Exact,
            fault: LlcFault::None,
        }
    }

    /// The same bank with other sizes.
    #[must_use]
    pub fn sized(self, change: impl FnOnce(Bank) -> Bank) -> LlcParams {
        LlcParams { bank: change(self.bank), ..self }
    }
    /// Sharer bits of a line, N_S.
    pub fn sharer_bits(&self) -> u32 {
        if self.sharers == SharerMode::Exact { self.bank.s.sharers } else { 0 }
    }
    /// Width of what stands for a line's sharers inside the bank: a bit per device that may hold S, 1 also if there is none.
    pub(super) fn sharing(&self) -> u32 {
        self.bank.s.sharers.max(1)
    }

    /// What is kept of a line.
    pub(super) fn kept(&self) -> Kept {
        Kept {
            owned: self.bank.s.words(),
            sharers: self.sharer_bits(),
            sharing: self.sharing(),
            lanes: self.bank.s.words(),
        }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let keys = [self.reqs.word(), self.rvko.word()].join("_");
        let flex = if self.flex { "_flex" } else { "" };
        let sharers = if self.sharers == SharerMode::Exact { "" } else { "_broadcast" };
        let fault = fault_part(self.fault.word());
        format!("spandex_llc_{}_{keys}{flex}{sharers}{fault}", self.bank.name_part())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.bank.validate("spandex-llc", &infos())
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<LlcParams, BlockError> {
        let p = LlcParams {
            bank: Bank::from_set(set, false)?,
            reqs: chosen(set, "reqs_policy", ReqsPolicy::WORDS)?,
            rvko: chosen(set, "rvko_gran", RvkoGran::WORDS)?,
            flex: set.within("flex_rsp", 0, 1)? == 1,
            sharers: chosen(set, "sharer_mode", SharerMode::WORDS)?,
            fault: chosen(set, "inject", LlcFault::WORDS)?,
        };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        let (mut all, bank) = self.bank.listed();
        all.push(("sharers", self.bank.s.sharers.to_string()));
        all.extend(bank);
        all.extend([
            ("reqs_policy", self.reqs.word().into()),
            ("rvko_gran", self.rvko.word().into()),
            ("flex_rsp", u32::from(self.flex).to_string()),
            ("sharer_mode", self.sharers.word().into()),
            ("inject", self.fault.word().into()),
        ]);
        all
    }
}

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let mut all = bank::infos("8M", "requests stalled at blocked lines, per bank");
    all.extend([
        param_info("reqs_policy", "eval", ReqsPolicy::LEGAL, "how ReqS is answered"),
        param_info("rvko_gran", "line", RvkoGran::LEGAL, "what is revoked for a ReqWT+data"),
        param_info("flex_rsp", "1", "0, 1", "available words of the line are added to RspV"),
        param_info(
            "sharer_mode",
            "exact",
            SharerMode::LEGAL,
            "sharers of a line are kept, or Inv goes to all",
        ),
        param_info("inject", "none", LlcFault::LEGAL, "a fault put in on purpose (simulation only)"),
    ]);
    all.extend(spandex_params());
    all
}
