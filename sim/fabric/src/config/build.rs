//! Parameters of the models that a configuration stands for.

use super::FabricConfig;
use crate::cu::{CuMode, CuParams};
use crate::dram::DramTiming;

impl FabricConfig {
    /// The compute units.
    pub fn cu(&self) -> CuParams {
        CuParams {
            lanes: self.lanes,
            alu_width: self.alu_width,
            waves: self.waves,
            blocks: self.blocks,
            issue_slots: self.issue_slots,
            policy: self.cu_policy,
            lds_bytes: self.lds_bytes,
            lds_banks: self.lds_banks,
            lsu_rate: self.lsu_rate,
            lsu_depth: self.lsu_depth,
            refill: self.refill,
            wave_mem: self.wave_mem,
            starve: self.starve,
            launch: self.launch,
            line: self.line,
        }
    }

    /// What the compute units keep to. The L1s of these fabrics take atomics on one word at a time.
    pub fn mode(&self) -> CuMode {
        CuMode { model: self.model, scopes: self.scopes, wide_amo: false }
    }

    /// A DRAM channel: there is one behind each L2 bank.
    pub fn dram(&self) -> DramTiming {
        DramTiming {
            line: self.line,
            bandwidth: self.dram_bandwidth,
            latency: self.dram_latency,
            banks: self.dram_banks / self.banks,
            bank_busy: self.dram_bank_busy,
            queue: self.dram_queue,
            interleave: u64::from(self.il),
            channels: self.banks,
        }
    }
}
