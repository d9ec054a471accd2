//! Parameters of a bank.

use crate::bank::arrays::Kept;
use crate::bank::{self, Bank, chosen, fault_part, word_of};
use crate::llc::RvkoGran;
use crate::params::{Spandex, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
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

impl GpuL2Fault {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(GpuL2Fault, &'static str)] = &[
        (GpuL2Fault::None, "none"),
        (GpuL2Fault::NoReserve, "no-reserve"),
        (GpuL2Fault::KeepInvalid, "keep-invalid"),
        (GpuL2Fault::KeepOnce, "keep-once"),
        (GpuL2Fault::NoRevoke, "no-revoke"),
        (GpuL2Fault::SilentUpgrade, "silent-upgrade"),
        (GpuL2Fault::EarlyData, "early-data"),
        (GpuL2Fault::LostDirty, "lost-dirty"),
        (GpuL2Fault::DropOwned, "drop-owned"),
        (GpuL2Fault::DropClean, "drop-clean"),
        (GpuL2Fault::NoCross, "no-cross"),
        (GpuL2Fault::NoWait, "no-wait"),
    ];
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuL2Params {
    /// Message widths, numbers of devices, banks and TBEs (at least 2: one is for forwards of the L3).
    pub s: Spandex,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// Stalled requests N_STALL, 1..256.
    pub stalls: u32,
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
            s,
            size: 4 << 20,
            ways: 16,
            stalls: 32,
            rvko: RvkoGran::Line,
            flex: true,
            fault: GpuL2Fault::None,
        }
    }

    /// Sets and places of the bank.
    pub fn bank(&self) -> Bank {
        let GpuL2Params { s, size, ways, stalls, .. } = self.clone();
        Bank { first: s.devs(), s, size, ways, stalls }
    }

    /// What is kept of a line.
    pub(super) fn kept(&self) -> Kept {
        Kept { owned: self.s.words(), sharers: 0, sharing: 0, lanes: self.s.words() }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let rvko = word_of(RvkoGran::WORDS, self.rvko);
        let flex = if self.flex { "_flex" } else { "" };
        let fault = fault_part(word_of(GpuL2Fault::WORDS, self.fault));
        format!("gpu_l2_{}_{rvko}{flex}{fault}", self.bank().name_part())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        if self.s.tbes < 2 {
            return Err(BlockError::Illegal {
                block: BLOCK.into(),
                key: "tbes".into(),
                value: self.s.tbes.to_string(),
                problem: "one is reserved for forwards of the L3, none is left for requests".into(),
                legal: TBES.into(),
            });
        }
        self.bank().validate(BLOCK, &infos())
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<GpuL2Params, BlockError> {
        let Bank { s, size, ways, stalls, .. } = Bank::from_set(set, spandex_from(set)?, 0)?;
        let rvko = chosen(set, "rvko_gran", RvkoGran::WORDS)?;
        let fault = chosen(set, "inject", GpuL2Fault::WORDS)?;
        let flex = set.within("flex_rsp", 0, 1)? == 1;
        let p = GpuL2Params { s, size, ways, stalls, rvko, flex, fault };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        let (mut all, bank) = self.bank().listed();
        all.extend(bank);
        all.push(("rvko_gran", word_of(RvkoGran::WORDS, self.rvko).into()));
        all.push(("flex_rsp", u32::from(self.flex).to_string()));
        all.push(("inject", word_of(GpuL2Fault::WORDS, self.fault).into()));
        all
    }
}

const TBES: &str = "2..64";

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut all = bank::infos("4M", "requests stalled at blocked lines, per bank");
    all.extend([
        info("rvko_gran", "line", "line, word", "what is revoked for a ReqWT+data"),
        info("flex_rsp", "1", "0, 1", "available words of the line are added to RspV"),
        info(
            "inject",
            "none",
            "none, no-reserve, keep-invalid, keep-once, no-revoke, silent-upgrade, early-data, lost-dirty, drop-owned, drop-clean, no-cross, no-wait",
            "a fault put in on purpose (simulation only)",
        ),
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
