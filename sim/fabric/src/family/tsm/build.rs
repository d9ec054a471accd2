//! Parameters of the models that a configuration stands for.

use super::TsmKeys;
use super::values::{MergeRaw, ReadTime};
use crate::config::{Auto, Common};
use crate::dram::DramTiming;
use weft_mgcc::choice::ReadTs;
use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol};
use weft_mgcc::params::Tsm;

impl TsmKeys {
    /// Sequential consistency.
    pub(super) fn sequential(&self) -> bool {
        self.protocol == TsmProtocol::WtCSc
    }

    /// Counts and widths of the fabric's messages.
    pub(super) fn tsm(&self, common: &Common) -> Tsm {
        Tsm {
            gpus: common.gpus,
            cus: common.cus,
            banks: self.banks,
            lanes: self.umc_lanes.count(common.gpus),
            il: self.il.trailing_zeros(),
            addr_bits: common.addr_bits,
            ts: self.ts,
            eb: self.eb,
            cts: self.cts,
            l1_mshrs: self.l1_mshrs,
            l2_mshrs: self.l2_mshrs,
        }
    }

    /// The hardware: everything between compute units and DRAM. With checks on, it tells the times of all operations.
    pub(super) fn params(&self, common: &Common) -> TsmFabricParams {
        let sequential = self.sequential();
        TsmFabricParams {
            tsm: self.tsm(common),
            protocol: self.protocol,
            l1_size: self.l1_size,
            l1_ways: self.l1_ways,
            l1_latency: self.l1_latency,
            l1_pool: self.l1_pool,
            l2_size: (self.l2_size / u64::from(self.banks)) as u32,
            l2_ways: self.l2_ways,
            l2_latency: self.l2_latency,
            l2_pool: self.l2_pool,
            read_ts: match self.read_ts {
                ReadTime::Eager => ReadTs::Eager,
                ReadTime::Auto if sequential || self.protocol == TsmProtocol::Gtsc => ReadTs::Eager,
                ReadTime::Auto | ReadTime::Deferred => ReadTs::Deferred,
            },
            self_inc: match self.self_inc {
                Auto::Auto => TsmFabricParams::published(self.protocol).self_inc,
                Auto::Is(hits) => hits.unwrap_or(0),
            },
            repl_ts: self.repl_ts,
            evict_notes: self.tsu_evict_on_l2,
            rd_extend: self.rd_extend,
            tsu_wts: self.tsu_wts,
            tsu_ways: self.tsu_ways,
            tsu_latency: self.tsu_latency,
            tsu_scale: self.tsu_scale,
            trk: self.trk,
            age_max: self.age_max,
            merge_raw: match self.merge_raw {
                MergeRaw::Auto => sequential,
                MergeRaw::On => true,
                MergeRaw::Off => false,
            },
            wrsp_data: self.wrsp_data,
            link_bpc: self.link_bytes,
            switch_latency: self.link_latency,
            crossbar_latency: self.crossbar_latency,
            credits: [self.link_credits; 2],
            observe: common.checks,
            inject: self.inject,
        }
    }

    /// The DRAM channel of a lane.
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
