//! Parameters of the models that a configuration stands for.

use super::{RdmaFabricParams, RdmaKeys};
use crate::config::Common;
use crate::dram::DramTiming;
use weft_mgcc::params::Tsm;
use weft_mgcc::rdma::Rdma;

impl RdmaKeys {
    /// The hardware: everything between compute units and DRAM.
    pub(super) fn params(&self, common: &Common) -> RdmaFabricParams {
        let tsm = Tsm {
            gpus: common.gpus,
            cus: common.cus,
            banks: self.banks,
            lanes: 1,
            il: self.il.trailing_zeros(),
            addr_bits: common.addr_bits,
            l1_mshrs: self.l1_mshrs,
            l2_mshrs: self.l2_mshrs,
            ..Tsm::default()
        };
        let home_bits = common.dram_bytes.trailing_zeros();
        RdmaFabricParams {
            rdma: Rdma { tsm, home_bits, entries: self.rdma_entries, slots: self.rdma_slots },
            l1_size: self.l1_size,
            l1_ways: self.l1_ways,
            l1_latency: self.l1_latency,
            l1_pool: self.l1_pool,
            l2_size: (self.l2_size / u64::from(self.banks)) as u32,
            l2_ways: self.l2_ways,
            l2_latency: self.l2_latency,
            l2_pool: self.l2_pool,
            wrsp_data: self.wrsp_data,
            link_bpc: self.link_bytes,
            switch_latency: self.link_latency,
            crossbar_latency: self.crossbar_latency,
            credits: [self.link_credits; 2],
        }
    }

    /// The DRAM channel of a bank.
    pub(super) fn dram(&self, common: &Common) -> DramTiming {
        DramTiming {
            line: common.line,
            bandwidth: common.dram_bandwidth,
            latency: common.dram_latency,
            banks: common.dram_banks,
            bank_busy: common.dram_bank_busy,
            queue: common.dram_queue,
            interleave: u64::from(self.il),
            channels: self.banks,
        }
    }
}
