//! What several keys of the family must be together. The rules of the blocks are their own, told with the configuration's keys.

use super::RdmaKeys;
use crate::config::{Common, ConfigError, FabricConfig, size};
use crate::cu::Model;
use weft_blocks::registry::BlockError;

/// The keys of a configuration of this family.
pub(super) struct Checked<'a> {
    pub config: &'a FabricConfig,
    pub common: &'a Common,
    pub keys: &'a RdmaKeys,
}

impl Checked<'_> {
    /// Refuses every combination that cannot be built.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_memory()?;
        self.ensure(
            self.common.model != Model::Sc,
            "model",
            "the L1s keep release consistency, and CUs that keep sc send no fences",
            "drf0, drf1, drfrlx",
        )?;
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
        let reach = u64::from(self.keys.il) * u64::from(self.keys.banks);
        self.ensure(
            self.common.dram_bytes >= reach,
            "dram_bytes",
            "it does not reach all banks of a GPU",
            format!("a power of two of at least il * banks = {}", size(reach)),
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

    /// What the hardware refuses, told with the configuration's keys.
    fn check_hardware(&self) -> Result<(), ConfigError> {
        let hardware = self.keys.params(self.common);
        let Err(BlockError::Illegal { key, problem, legal, .. }) = hardware.validate() else {
            return Ok(());
        };
        let key = match key.as_str() {
            "entries" => "rdma_entries",
            "slots" => "rdma_slots",
            "home_bits" => "dram_bytes",
            "link_bpc" => "link_bytes",
            "switch_latency" => "link_latency",
            "credits_req" | "credits_rsp" => "link_credits",
            key => key,
        };
        self.ensure(false, key, &problem, legal)
    }
}
