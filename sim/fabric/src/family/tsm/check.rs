//! What several keys of the family must be together. The rules of the blocks are their own, told with the configuration's keys.

use super::TsmKeys;
use crate::config::{Common, ConfigError, FabricConfig, size};
use crate::cu::{CuFault, Model};
use weft_blocks::registry::BlockError;
use weft_mgcc::choice::Inject;

/// The keys of a configuration of this family.
pub(super) struct Checked<'a> {
    pub config: &'a FabricConfig,
    pub common: &'a Common,
    pub keys: &'a TsmKeys,
}

impl Checked<'_> {
    /// Refuses every combination that cannot be built.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_memory()?;
        self.check_leases()?;
        self.check_consistency()?;
        self.check_fault()?;
        self.check_hardware()
    }

    fn ensure(
        &self,
        good: bool,
        key: &str,
        problem: &str,
        legal: impl Into<String>,
    ) -> Result<(), ConfigError> {
        self.config.ensure(good, key, problem, legal)
    }

    fn check_memory(&self) -> Result<(), ConfigError> {
        let step = u64::from(self.keys.banks) * 64 * u64::from(self.keys.l2_ways);
        let sets = self.keys.l2_size / step;
        self.ensure(
            self.keys.l2_size.is_multiple_of(step) && sets.is_power_of_two() && sets <= 16384,
            "l2_size",
            &format!("it is not banks * l2_ways * line = {step} bytes times a power of two of at most 16384"),
            format!("{step} * 2^k, k in 0..14"),
        )?;
        let most = 1u128 << self.common.addr_bits;
        self.ensure(
            self.common.memory_bytes() <= most,
            "dram_bytes",
            "the memory of all GPUs is larger than the address space",
            format!(
                "a power of two of at most {} with {} address bits",
                size((most / u128::from(self.common.gpus)).min(1 << 60) as u64),
                self.common.addr_bits
            ),
        )
    }

    fn check_leases(&self) -> Result<(), ConfigError> {
        let most = 1u64 << (self.keys.ts - 2);
        for (key, lease) in [("rd_lease", self.keys.rd_lease), ("wr_lease", self.keys.wr_lease)] {
            let problem =
                format!("it is more than a quarter of all timestamps of ts = {} bits", self.keys.ts);
            self.ensure(lease <= most, key, &problem, format!("1..{most}"))?;
        }
        let least = self.keys.ts + self.keys.eb;
        let problem = format!("it is smaller than ts + eb = {least}");
        self.ensure(self.keys.cts >= least, "cts", &problem, format!("{least}..64"))?;
        self.check_tags()
    }

    /// A request may wait behind one of every L1 for its line; its tag must still be understood then.
    fn check_tags(&self) -> Result<(), ConfigError> {
        let hardware = self.keys.params(self.common);
        let tsm = &hardware.tsm;
        let lease = self.keys.rd_lease.max(self.keys.wr_lease);
        let outlived = tsm.rolls_outlived(lease);
        if !hardware.coherent() || outlived <= tsm.epochs_told() {
            return Ok(());
        }
        let least = (3..=8).find(|eb| outlived < 1 << (eb - 1));
        let legal = match least {
            Some(least) => format!("{least}..8"),
            None => "none here".to_string(),
        };
        let problem = format!(
            "a request behind those of all {} L1s may outlive {outlived} epochs, for one of ts = {} bits has room for {} leases of {lease}, and its tag tells only {} apart; take a larger ts, or smaller leases",
            tsm.gpus * tsm.cus,
            tsm.ts,
            tsm.ts_max() / (lease + 1),
            tsm.epochs_told()
        );
        self.ensure(false, "eb", &problem, legal)
    }

    /// The CUs and the fabric keep one consistency model.
    fn check_consistency(&self) -> Result<(), ConfigError> {
        let (sequential, model) = (self.keys.sequential(), self.common.model);
        self.ensure(
            sequential || model != Model::Sc,
            "model",
            "the L1s of this protocol keep release consistency, and CUs that keep sc send no fences",
            "drf0, drf1, drfrlx; sc comes with protocol = wt-c-sc",
        )?;
        let relaxed = self.common.inject_cu == CuFault::None || !sequential;
        let why = "with protocol wt-c-sc the CUs keep sc, where no atomic is relaxed";
        self.ensure(relaxed, "inject_cu", why, "none")
    }

    /// A fault is of the hardware at hand: elsewhere a run that sees nothing would say nothing.
    fn check_fault(&self) -> Result<(), ConfigError> {
        let fault = self.keys.inject;
        let timed = fault == Inject::None || self.keys.params(self.common).coherent();
        let why = "it is a slip of leases and clocks, which protocols without coherence do not have";
        self.ensure(timed, "inject", why, "none with wb-nc-rc and wt-nc-rc")?;
        let fenced = fault != Inject::KeepClock || !self.keys.sequential();
        let why = "it is a fault of fences, and CUs that keep sc send none";
        self.ensure(fenced, "inject", why, "any other with protocol = wt-c-sc")
    }

    /// What the hardware refuses, told with the configuration's keys.
    fn check_hardware(&self) -> Result<(), ConfigError> {
        let hardware = self.keys.params(self.common);
        let Err(BlockError::Illegal { key, problem, legal, .. }) = hardware.validate() else {
            return Ok(());
        };
        let key = match key.as_str() {
            "lanes" => "umc_lanes",
            "link_bpc" => "link_bytes",
            "switch_latency" => "link_latency",
            "credits_req" | "credits_rsp" => "link_credits",
            key => key,
        };
        self.ensure(false, key, &problem, legal)
    }
}
