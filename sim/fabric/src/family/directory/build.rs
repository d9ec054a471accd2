//! Parameters of the models that a configuration stands for.

use super::{Acquire, DirPolicy, DirectoryKeys, Fence, L2Policy};
use crate::config::Common;
use crate::dram::DramTiming;
use weft_blocks::common::link::LinkParams;
use weft_blocks::directory::params::Policy;
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::Sys;

impl DirectoryKeys {
    /// Counts and widths of the fabric's messages.
    pub(super) fn sys(&self, common: &Common) -> Sys {
        Sys {
            gpus: common.gpus,
            gpms: common.gpms,
            addr_bits: common.addr_bits,
            line: common.line,
            banks: self.banks,
            l1s: common.cus,
            l2_mshrs: self.l2_mshrs,
            l1_mshrs: self.l1_mshrs,
            il: self.il,
            home_shift: common.dram_bytes.trailing_zeros(),
            owners: self.protocol.owners(),
        }
    }

    /// L2 sets of a bank.
    pub(super) fn l2_sets(&self, common: &Common) -> u32 {
        let row = u64::from(self.banks) * u64::from(self.l2_ways) * u64::from(common.line);
        (self.l2_size / row) as u32
    }

    /// The hardware: everything between compute units and DRAM.
    pub(crate) fn params(&self, common: &Common) -> FabricParams {
        FabricParams {
            sys: self.sys(common),
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
            l2_sets: self.l2_sets(common),
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
            joined: self.fence == Fence::Joined,
            acquire_all: self.sw_acquire == Acquire::All,
            inject: self.inject,
        }
    }

    /// A DRAM channel: there is one behind each L2 bank.
    pub(super) fn dram(&self, common: &Common) -> DramTiming {
        DramTiming {
            line: common.line,
            bandwidth: common.dram_bandwidth,
            latency: common.dram_latency,
            banks: common.dram_banks / self.banks,
            bank_busy: common.dram_bank_busy,
            queue: common.dram_queue,
            interleave: u64::from(self.il),
            channels: self.banks,
        }
    }
}
