//! Whole MGPU-TSM fabrics: tiny ones under random programs with every protocol, checked in logical time (coherent ones) or against a memory in program order (software coherence); the
//! published size elaborates.

mod coherent;
use crate::fabric_bench;
mod gtsc;
mod limits;
mod software;

/// What the tests need of the bench.
mod world {
    pub use super::fabric_bench::{Answer, Asked, CuWork, initial};

    pub type World = super::fabric_bench::World<super::TsmFabricParams>;
}

use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol, TsuScale};
use weft_mgcc::params::Tsm;

/// 2 GPUs of 2 CUs, 2 banks, 2 lanes; caches of a few lines, short stamps, so that everything overflows.
pub fn tiny(protocol: TsmProtocol) -> TsmFabricParams {
    let published = TsmFabricParams::published(protocol);
    TsmFabricParams {
        tsm: Tsm {
            gpus: 2,
            cus: 2,
            banks: 2,
            lanes: 2,
            addr_bits: 32,
            ts: 8,
            l1_mshrs: 4,
            l2_mshrs: 8,
            ..Tsm::default()
        },
        l1_size: 256,
        l1_ways: 2,
        l1_latency: 5,
        l1_pool: 4,
        l2_size: 512,
        l2_ways: 2,
        l2_pool: 6,
        self_inc: 20,
        tsu_ways: 2,
        tsu_latency: 6,
        tsu_scale: TsuScale::Quarter,
        trk: 4,
        age_max: 6,
        link_bpc: 16,
        switch_latency: 5,
        credits: [3, 2],
        observe: true,
        ..published
    }
}

/// Lines of both banks and lanes; more than the caches hold.
pub const LINES: [u64; 12] = [0, 1, 2, 3, 4, 8, 64, 65, 66, 67, 72, 130];
