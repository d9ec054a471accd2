//! The system of [`crate::stash::world`]: parameters and hardware.

use crate::stash::golden::Kind;
use crate::stash::hand::small as params;
use crate::system;
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_rtl::prelude::*;
use weft_spandex::bank::Bank;
use weft_spandex::denovo_l1::DenovoL1Params;
use weft_spandex::fabric::{denovo_device, gpu_device, stash_device};
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::llc::LlcParams;
use weft_spandex::params::Spandex;
use weft_spandex::stash::{Inject, StashMap, StashParams, StashReq, StashRsp};
use weft_spandex::tu_denovo::TuDenovoParams;
use weft_spandex::tu_gpu::TuGpuParams;

/// Lines that programs use.
pub const LINES: std::ops::Range<u64> = 0x40..0x4a;
/// Devices: two stashes, the L1s of their CUs, the L1 of another CU.
pub const KINDS: [Kind; 5] = [Kind::Stash, Kind::Stash, Kind::Denovo, Kind::Denovo, Kind::Gpu];

/// A system.
#[derive(Clone)]
pub struct Shape {
    pub stash: StashParams,
    /// Bytes of the LLC.
    pub llc: u32,
}

pub fn small(inject: Inject, sb_drain: SbDrain, llc: u32) -> Shape {
    let spandex = Spandex { cus: KINDS.len() as u32, ..params().spandex };
    Shape { stash: StashParams { spandex, inject, sb_drain, ..params() }, llc }
}

pub fn system(p: &Shape) -> Arc<Module> {
    let s = &p.stash.spandex;
    let l1 = GpuL1Params { size: 128, ways: 2, targets: 2, releases: 2, ..GpuL1Params::published(s.clone()) };
    let l1 = GpuL1Params { sb_drain: p.stash.sb_drain, ..l1 };
    let denovo = DenovoL1Params { l1: l1.clone(), ..DenovoL1Params::published(s.clone()) };
    let unit = TuDenovoParams { spandex: s.clone(), n_fail: 2 };
    let of = |kind: &Kind| match kind {
        Kind::Stash => stash_device(&p.stash, &unit),
        Kind::Denovo => denovo_device(&denovo, &unit),
        Kind::Gpu => gpu_device(&l1, &TuGpuParams::published(s.clone())),
    };
    let devices: Vec<Arc<Module>> = KINDS.iter().map(|kind| of(kind).expect("legal")).collect();
    let llc = LlcParams::published(s.clone()).sized(|b| Bank { size: p.llc, ways: 2, stalls: 8, ..b });
    system::system("stash_under_test", &llc, &devices, |dev, d| {
        let name = |what: &str| format!("d{d}_{what}");
        if KINDS[d] == Kind::Stash {
            pass_in::<StashMap>(dev, "map", &name("map"), &p.stash);
            pass_in::<StashReq>(dev, "cu_req", &name("cu_req"), &p.stash);
            pass_out::<StashRsp>(dev, "cu_rsp", &name("cu_rsp"), &p.stash);
        } else {
            pass_in::<CuReq>(dev, "cu_req", &name("cu_req"), &s.cu());
            pass_out::<CuRsp>(dev, "cu_rsp", &name("cu_rsp"), &s.cu());
        }
    })
}
