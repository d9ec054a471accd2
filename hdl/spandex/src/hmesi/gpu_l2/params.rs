//! Parameters of a bank.

use crate::llc::{LlcFault, LlcParams, ReqsPolicy, RvkoGran, SharerMode};
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

    fn word(self) -> &'static str {
        GpuL2Fault::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }
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

    /// The Spandex bank whose sets, places and records these are: one that keeps no sharers.
    pub fn bank(&self) -> LlcParams {
        LlcParams {
            s: self.s.clone(),
            size: self.size,
            ways: self.ways,
            stalls: self.stalls,
            reqs: ReqsPolicy::Opt2,
            rvko: self.rvko,
            flex: self.flex,
            sharers: SharerMode::Broadcast,
            fault: LlcFault::None,
        }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let GpuL2Params { s, size, ways, stalls, .. } = self;
        let rvko = if self.rvko == RvkoGran::Line { "line" } else { "word" };
        let flex = if self.flex { "_flex" } else { "" };
        let fault = match self.fault {
            GpuL2Fault::None => String::new(),
            fault => format!("_{}", fault.word().replace('-', "_")),
        };
        format!("gpu_l2_{}_s{size}_w{ways}_n{stalls}_{rvko}{flex}{fault}", s.name_part())
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
        self.bank().validate().map_err(|error| error.of(BLOCK))
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<GpuL2Params, BlockError> {
        fn known<T: Copy>(set: &ParamSet, key: &str, words: &[(T, &str)]) -> Result<T, BlockError> {
            let text = set.text(key);
            let found = words.iter().find(|w| w.1 == text).map(|w| w.0);
            found.ok_or_else(|| set.illegal(key, "it is not known"))
        }
        let p = GpuL2Params {
            s: spandex_from(set)?,
            size: set.within("size", 0, 1 << 30)? as u32,
            ways: set.within("ways", 2, 16)? as u32,
            stalls: set.within("n_stall", 1, 256)? as u32,
            rvko: known(set, "rvko_gran", RvkoGran::WORDS)?,
            flex: set.within("flex_rsp", 0, 1)? == 1,
            fault: known(set, "inject", GpuL2Fault::WORDS)?,
        };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        vec![
            ("cpus", self.s.cpus.to_string()),
            ("cus", self.s.cus.to_string()),
            ("banks", self.s.banks.to_string()),
            ("line", self.s.line.to_string()),
            ("tbes", self.s.tbes.to_string()),
            ("size", self.size.to_string()),
            ("ways", self.ways.to_string()),
            ("n_stall", self.stalls.to_string()),
            ("rvko_gran", if self.rvko == RvkoGran::Line { "line" } else { "word" }.into()),
            ("flex_rsp", u32::from(self.flex).to_string()),
            ("inject", self.fault.word().into()),
        ]
    }
}

const TBES: &str = "2..64";

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut all = vec![
        info("size", "4M", "banks * line * ways * 2^k, k in 0..16", "bytes of all banks together"),
        info("ways", "16", "2, 4, 8, 16", "ways"),
        info("n_stall", "32", "1..256", "requests stalled at blocked lines, per bank"),
        info("rvko_gran", "line", "line, word", "what is revoked for a ReqWT+data"),
        info("flex_rsp", "1", "0, 1", "available words of the line are added to RspV"),
        info(
            "inject",
            "none",
            "none, no-reserve, keep-invalid, keep-once, no-revoke, silent-upgrade, early-data, lost-dirty, drop-owned, drop-clean, no-cross, no-wait",
            "a fault put in on purpose (simulation only)",
        ),
    ];
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
