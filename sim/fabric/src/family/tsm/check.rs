//! What several keys of the family must be together. The rules of the blocks are their own, told with the configuration's keys.

use super::TsmKeys;
use crate::config::{Common, ConfigError, FabricConfig, size};
use crate::cu::Model;
use weft_blocks::registry::BlockError;

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
        self.ensure(self.keys.cts >= least, "cts", &problem, format!("{least}..64"))
    }

    /// The CUs and the fabric keep one consistency model.
    fn check_consistency(&self) -> Result<(), ConfigError> {
        let (sequential, model) = (self.keys.sequential(), self.common.model);
        self.ensure(
            sequential || model != Model::Sc,
            "model",
            "the L1s of this protocol keep release consistency, and CUs that keep sc send no fences",
            "drf0, drf1, drfrlx; sc comes with protocol = wt-c-sc",
        )
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
