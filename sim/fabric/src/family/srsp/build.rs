//! Parameters of the models that a configuration stands for.

use super::{SrspFabricParams, SrspKeys};
use crate::config::Common;
use crate::dram::DramTiming;
use weft_srsp::l1::L1Params;
use weft_srsp::l2::L2Params;
use weft_srsp::params::Srsp;

impl SrspKeys {
    /// The hardware: everything between compute units and DRAM.
    pub(super) fn params(&self, common: &Common) -> SrspFabricParams {
        let system = self.protocol.system();
        let srsp = Srsp {
            cus: common.cus,
            addr_bits: common.addr_bits,
            line: common.line,
            banks: self.banks,
            mshrs: self.l1_mshrs,
            wbt: self.l1_wbt,
        };
        let published = SrspFabricParams::of(srsp, system);
        SrspFabricParams {
            l1: L1Params {
                size: self.l1_size,
                ways: self.l1_ways,
                latency: self.l1_latency,
                sfifo: self.l1_sfifo,
                pa: self.pa_entries,
                aff: self.aff_entries,
                targets: self.l1_targets,
                sq: self.sync_queue,
                inject: self.inject.inject(),
                ..published.l1
            },
            l2: L2Params {
                size: self.l2_size,
                ways: self.l2_ways,
                latency: self.l2_latency,
                sfifo: self.l2_sfifo,
                locks: self.locks,
                mshrs: self.l2_mshrs,
                targets: self.l2_targets,
                writes: self.l2_writes,
                ..published.l2
            },
            link: self.crossbar_latency,
            ..published
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
            interleave: u64::from(common.line),
            channels: self.banks,
        }
    }
}
