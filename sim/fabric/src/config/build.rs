//! Parameters of the models that a configuration stands for.

use super::{DirPolicy, FabricConfig, L2Policy};
use crate::cu::{CuMode, CuParams};
use crate::dram::DramTiming;
use weft_blocks::common::link::LinkParams;
use weft_blocks::directory::params::Policy;
use weft_blocks::fabric::FabricParams;

impl FabricConfig {
    /// The hardware: everything between compute units and DRAM.
    pub fn hardware(&self) -> FabricParams {
        FabricParams {
            sys: self.sys(),
            protocol: self.protocol,
            dir_entries: self.entries,
            dir_ways: self.ways,
            range: self.range,
            group: self.group,
            policy: match self.policy {
                DirPolicy::Auto => None,
                DirPolicy::Fifo => Some(Policy::Fifo),
                DirPolicy::Lru => Some(Policy::Lru),
            },
            evb_depth: self.evb_depth,
            inv_rate: self.inv_rate,
            tag_style: self.tag_style,
            l2_sets: self.l2_sets(),
            l2_ways: self.l2_ways,
            l2_pool: self.l2_pool,
            l2_latency: self.l2_latency,
            l1_size: self.l1_size,
            l1_ways: self.l1_ways,
            l1_targets: self.l1_targets,
            l1_stores: self.l1_stores,
            l1_latency: self.l1_latency,
            links: self.links,
            link: LinkParams {
                bytes_per_cycle: self.link_bytes,
                latency: self.link_latency / 2,
                credits: [self.link_credits; 3],
            },
            gpm_link: LinkParams {
                bytes_per_cycle: self.gpm_link_bytes,
                latency: self.gpm_link_latency / 2,
                credits: [self.gpm_link_credits; 3],
            },
            release_l2_flush: self.release_l2_flush,
            downgrade: self.downgrade,
            write_back: self.l2_policy == L2Policy::WriteBack,
        }
    }

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
            gpms: self.gpms,
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
