//! The whole REC fabric in every variant, with plain CUs, DRAM and command processors around it.

mod bench;
mod closed;
mod kernels;
mod latency;
mod ledger;
mod litmus;
mod stress;
mod traffic;
mod watch;

use weft_blocks::common::link::LinkParams;
use weft_blocks::fabric::{FabricParams, Protocol};
use weft_blocks::msg::Sys;

/// Everything small: copies, directory entries, miss registers and link credits run out all the time.
fn tiny(protocol: Protocol) -> FabricParams {
    let p = FabricParams::scaled(protocol);
    let mut sys = p.sys.clone();
    (sys.l1s, sys.banks, sys.l2_mshrs, sys.l1_mshrs) = (2, 2, 8, 6);
    FabricParams {
        sys,
        dir_entries: 8,
        dir_ways: 2,
        evb_depth: 2,
        l2_sets: 4,
        l2_ways: 2,
        l2_pool: 16,
        l1_size: 512,
        l1_latency: 3,
        link: LinkParams { bytes_per_cycle: 16, latency: 4, credits: [4, 4, 4] },
        ..p
    }
}

/// The same with two GPUs of two GPMs each.
fn modules(protocol: Protocol) -> FabricParams {
    let p = tiny(protocol);
    FabricParams {
        sys: Sys { gpus: 2, gpms: 2, ..p.sys.clone() },
        gpm_link: LinkParams { bytes_per_cycle: 24, latency: 3, credits: [4, 4, 4] },
        release_l2_flush: false,
        ..p
    }
}
