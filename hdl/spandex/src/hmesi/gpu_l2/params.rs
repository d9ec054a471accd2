//! Parameters of a bank.

use crate::bank::arrays::Kept;
use crate::bank::{self, Bank, fault_part};
use crate::llc::RvkoGran;
use crate::params::{Spandex, chosen, param_info, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum GpuL2Fault {
    /// None.
    None,
    /// Requests may take the TBE that is reserved for forwards of the L3.
    NoReserve,
    /// An Inv is answered, but the line stays.
    KeepInvalid,
    /// A line whose Inv came before its data stays.
    KeepOnce,
    /// A forward is answered without the words that GPU L1s own: owners' numbers instead of data.
    NoRevoke,
    /// A shared line is written without GetM.
    SilentUpgrade,
    /// A GetM counts as answered before its InvAcks have come.
    EarlyData,
    /// A line that was written leaves as a clean one.
    LostDirty,
    /// A line is replaced without taking its owned words back.
    DropOwned,
    /// A clean line is replaced without Put.
    DropClean,
    /// RspWB does not say that a revocation crosses the write-back.
    NoCross,
    /// A revocation ends when the owner has answered, although its write-back is still to come.
    NoWait,
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuL2Params {
    /// Sizes and widths; of the TBEs, at least 2, one is for forwards of the L3.
    pub bank: Bank,
    /// What is revoked for a ReqWT+data.
    pub rvko: RvkoGran,
    /// The bank adds what else it has of a line to RspV, and lets owners do so.
    pub flex: bool,
    /// A fault put in on purpose.
    pub fault: GpuL2Fault,
}

const BLOCK: &str = "gpu-l2";

impl GpuL2Params {
    /// The published GPU L2: 4 MB, 16 ways, 32 stalled requests per bank.
    pub fn published(s: Spandex) -> GpuL2Params {
        GpuL2Params {
            bank: Bank::published(s, 4 << 20, false),
            rvko: RvkoGran::Line,
            flex: true,
            fault: GpuL2Fault::None,
        }
    }

    /// The same bank with other sizes.
    #[must_use]
    pub fn sized(self, change: impl FnOnce(Bank) -> Bank) -> GpuL2Params {
        GpuL2Params { bank: change(self.bank), ..self }
    }

    /// What is kept of a line.
    pub(super) fn kept(&self) -> Kept {
        Kept { owned: self.bank.s.words(), sharers: 0, sharing: 0, lanes: self.bank.s.words() }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let rvko = self.rvko.word();
        let flex = if self.flex { "_flex" } else { "" };
        let fault = fault_part(self.fault.word());
        format!("gpu_l2_{}_{rvko}{flex}{fault}", self.bank.name_part())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        if self.bank.s.tbes < 2 {
            return Err(BlockError::Illegal {
                block: BLOCK.into(),
                key: "tbes".into(),
                value: self.bank.s.tbes.to_string(),
                problem: "one is reserved for forwards of the L3, none is left for requests".into(),
                legal: TBES.into(),
            });
        }
        self.bank.validate(BLOCK, &infos())
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<GpuL2Params, BlockError> {
        let bank = Bank::from_set(set, false)?;
        let rvko = chosen(set, "rvko_gran", RvkoGran::WORDS)?;
        let fault = chosen(set, "inject", GpuL2Fault::WORDS)?;
        let flex = set.within("flex_rsp", 0, 1)? == 1;
        let p = GpuL2Params { bank, rvko, flex, fault };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        let (mut all, bank) = self.bank.listed();
        all.extend(bank);
        all.push(("rvko_gran", self.rvko.word().into()));
        all.push(("flex_rsp", u32::from(self.flex).to_string()));
        all.push(("inject", self.fault.word().into()));
        all
    }
}

const TBES: &str = "2..64";

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let mut all = bank::infos("4M", "requests stalled at blocked lines, per bank");
    all.extend([
        param_info("rvko_gran", "line", "line, word", "what is revoked for a ReqWT+data"),
        param_info("flex_rsp", "1", "0, 1", "available words of the line are added to RspV"),
        param_info("inject", "none", GpuL2Fault::LEGAL, "a fault put in on purpose (simulation only)"),
    ]);
    all.extend(spandex_params().into_iter().map(|i| match i.name {
        "tbes" => ParamInfo {
            legal: TBES,
            about: "transactions of a bank under way, one of them for forwards of the L3",
            ..i
        },
        _ => i,
    }));
    all
}
