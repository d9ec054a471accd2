//! Small devices of CUs: L1s with GPU coherence and DeNovo L1s, each on its translation unit.

use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_rtl::prelude::*;
use weft_spandex::denovo_l1::{DenovoL1Params, denovo_l1};
use weft_spandex::fabric::{device, gpu_device};
use weft_spandex::gpu_l1::GpuL1Params;
use weft_spandex::msg::{Fwd, Req, Rsp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex::tu_denovo::{TuDenovoParams, tu_denovo};
use weft_spandex::tu_gpu::TuGpuParams;
use weft_spandex_bench::bench::Bench;

fn l1(s: &Spandex) -> GpuL1Params {
    GpuL1Params { size: 512, ways: 2, targets: 4, releases: 4, ..GpuL1Params::published(s.clone()) }
}

/// A device with GPU coherence.
pub fn gpu(s: &Spandex) -> Arc<Module> {
    gpu_device(&l1(s), &TuGpuParams::published(s.clone())).expect("legal")
}

/// A DeNovo device.
pub fn denovo(s: &Spandex) -> Arc<Module> {
    let l1 = denovo_l1(&DenovoL1Params { l1: l1(s), ..DenovoL1Params::published(s.clone()) }).expect("legal");
    let unit = tu_denovo(&TuDenovoParams { spandex: s.clone(), n_fail: 1 }).expect("legal");
    device("denovo_device_under_test", s, &l1, &unit, |cache, unit| {
        connect::<Req>(cache, "l1_req", unit, "l1_req", s);
        connect::<Wb>(cache, "l1_wb", unit, "l1_wb", s);
        connect::<Rsp>(cache, "l1_rsp_out", unit, "l1_rsp_out", s);
        connect::<Fwd>(unit, "l1_fwd", cache, "l1_fwd", s);
        connect::<Rsp>(unit, "l1_rsp", cache, "l1_rsp", s);
    })
    .expect("legal")
}

/// Puts the channels of a CU's device out, under the names of device `d`.
pub fn put_out(cu: &InstanceRef, d: u32, s: &Spandex) {
    cu.drive_bits("own", lit(u64::from(d), s.dev_bits()));
    let name = |what: &str| format!("d{d}_{what}");
    pass_out::<Req>(cu, "req", &name("req"), s);
    pass_out::<Wb>(cu, "wb", &name("wb"), s);
    pass_out::<Rsp>(cu, "rsp_out", &name("rsp_out"), s);
    pass_out::<Fwd>(cu, "fwd_out", &name("fwd_out"), s);
    pass_in::<Fwd>(cu, "fwd", &name("fwd"), s);
    pass_in::<Rsp>(cu, "rsp", &name("rsp"), s);
}

/// Adds them to a bench.
pub fn open(b: &mut Bench, d: u32, s: &Spandex) {
    let name = |what: &str| format!("d{d}_{what}");
    b.sink::<Req>(&name("req"), s);
    b.sink::<Wb>(&name("wb"), s);
    b.sink::<Rsp>(&name("rsp_out"), s);
    b.sink::<Fwd>(&name("fwd_out"), s);
    b.source::<Fwd>(&name("fwd"), s);
    b.source::<Rsp>(&name("rsp"), s);
}
