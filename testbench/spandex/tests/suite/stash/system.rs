//! The system of [`crate::stash::world`]: parameters and hardware.

use crate::stash::golden::Kind;
use crate::stash::hand::small as params;
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_rtl::prelude::*;
use weft_spandex::denovo_l1::DenovoL1Params;
use weft_spandex::fabric::{denovo_device, gpu_device, stash_device};
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::msg::{Fwd, MemReq, MemRsp, Req, Rsp, Wb};
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
    let llc = LlcParams { size: p.llc, ways: 2, stalls: 8, ..LlcParams::published(s.clone()) };
    let bank = spandex_llc(&llc).expect("legal");
    Module::build("stash_under_test", ModuleKind::Fabric, || {
        for (d, (kind, module)) in KINDS.iter().zip(&devices).enumerate() {
            let dev = instance(&format!("dev_{d}"), module);
            dev.drive_bits("own", lit(d as u64, s.dev_bits()));
            let name = |what: &str| format!("d{d}_{what}");
            if *kind == Kind::Stash {
                pass_in::<StashMap>(&dev, "map", &name("map"), &p.stash);
                pass_in::<StashReq>(&dev, "cu_req", &name("cu_req"), &p.stash);
                pass_out::<StashRsp>(&dev, "cu_rsp", &name("cu_rsp"), &p.stash);
            } else {
                pass_in::<CuReq>(&dev, "cu_req", &name("cu_req"), &s.cu());
                pass_out::<CuRsp>(&dev, "cu_rsp", &name("cu_rsp"), &s.cu());
            }
            pass_out::<Req>(&dev, "req", &name("req"), s);
            pass_out::<Wb>(&dev, "wb", &name("wb"), s);
            pass_out::<Rsp>(&dev, "rsp_out", &name("rsp_out"), s);
            pass_out::<Fwd>(&dev, "fwd_out", &name("fwd_out"), s);
            pass_in::<Fwd>(&dev, "fwd", &name("fwd"), s);
            pass_in::<Rsp>(&dev, "rsp", &name("rsp"), s);
        }
        let bank = instance("home", &bank);
        bank.drive_bits("own", lit(u64::from(s.devs()), s.node_bits()));
        pass_in::<Req>(&bank, "req", "bank_req", s);
        pass_in::<Wb>(&bank, "wb", "bank_wb", s);
        pass_in::<Rsp>(&bank, "rsp_in", "bank_rsp_in", s);
        pass_in::<MemRsp>(&bank, "mem_rsp", "bank_mem_rsp", s);
        pass_out::<Rsp>(&bank, "rsp", "bank_rsp", s);
        pass_out::<Fwd>(&bank, "fwd", "bank_fwd", s);
        pass_out::<MemReq>(&bank, "mem_req", "bank_mem_req", s);
    })
    .expect("legal")
}
