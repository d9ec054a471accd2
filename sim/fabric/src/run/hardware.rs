//! The RTL that a configuration stands for.

use crate::config::{DirPolicy, FabricConfig, Named};
use weft_blocks::common::link::LinkParams;
use weft_blocks::directory::params::Policy;
use weft_blocks::fabric::{FabricParams, Protocol};

impl FabricConfig {
    /// Parameters of the fabric's RTL.
    pub fn hardware(&self) -> FabricParams {
        let name = self.protocol.name();
        FabricParams {
            sys: self.sys(),
            protocol: Protocol::from_name(name).expect("both lists hold the protocols of rec.md section 8"),
            dir_entries: self.entries,
            dir_ways: self.ways,
            range: self.range,
            policy: match self.policy {
                DirPolicy::Auto => None,
                DirPolicy::Lru => Some(Policy::Lru),
                DirPolicy::Fifo => Some(Policy::Fifo),
            },
            evb_depth: self.evb_depth,
            inv_rate: self.inv_rate,
            tag_style: self.tag_style,
            l2_sets: self.l2_sets(),
            l2_ways: self.l2_ways,
            l2_pool: self.l2_pool,
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
            release_l2_flush: self.release_l2_flush,
        }
    }
}
