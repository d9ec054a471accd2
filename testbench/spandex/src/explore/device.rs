//! A device as one block: an L1 and its translation unit with the channels between them as they are in the hardware.

use super::stash::{self, Ask};
use super::{Config, Kind};
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;
use weft_spandex::denovo_l1::{DenovoL1Params, denovo_l1};
use weft_spandex::flex_l1::{FlexL1Params, flex_l1};
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain, gpu_l1};
use weft_spandex::mesi_l1::{MesiL1Params, mesi_l1};
use weft_spandex::mesi_port::{MesiDown, MesiExt, MesiPort, MesiReq, MesiUp};
use weft_spandex::msg::{FlexReq, Fwd, GpuReq, GpuRsp, Req, Rsp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex::stash::{StashMap, StashReq, StashRsp, stash as stash_block};
use weft_spandex::tu_denovo::{TuDenovoParams, tu_denovo};
use weft_spandex::tu_flex::{Opred, TuFlexParams, tu_flex};
use weft_spandex::tu_gpu::{TuGpuParams, tu_gpu};
use weft_spandex::tu_mesi::{TuMesiParams, tu_mesi};

/// The L1 with GPU coherence of a configuration: 2 sets of 2 ways.
pub(super) fn gpu_params(c: &Config) -> GpuL1Params {
    let spandex = c.spandex();
    GpuL1Params {
        size: 4 * spandex.line,
        ways: 2,
        targets: c.targets,
        releases: c.releases,
        sb_drain: SbDrain::Full,
        scopes: c.scopes,
        inject: c.faults.gpu_l1,
        ..GpuL1Params::published(spandex)
    }
}

/// Shape of the MESI L1: 2 sets of 2 ways.
pub fn mesi_port(c: &Config) -> MesiPort {
    let spandex = c.spandex();
    MesiPort { size: 4 * spandex.line, ways: 2, spandex }
}

/// What a device sends beside requests and answers.
#[derive(Clone, Copy)]
pub struct Sends {
    /// Words that it owned.
    pub back: bool,
    /// Requests to other devices.
    pub direct: bool,
}

/// What a device of a kind sends.
pub fn sends(c: &Config, kind: Kind) -> Sends {
    Sends { back: kind != Kind::Gpu, direct: kind == Kind::Flex && c.guess.is_some() }
}

/// The ends of an L1 to its core.
fn core(s: &Spandex) -> impl Fn(&InstanceRef) {
    let cu = s.cu();
    move |cache| {
        pass_in::<CuReq>(cache, "cu_req", "cu_req", &cu);
        pass_out::<CuRsp>(cache, "cu_rsp", "cu_rsp", &cu);
    }
}

/// A device; `ends` are those of its L1 to its core, and to its unit.
fn whole(
    (name, sends): (&str, Sends),
    s: &Spandex,
    l1: &Arc<Module>,
    tu: &Arc<Module>,
    ends: (impl Fn(&InstanceRef), impl Fn(&InstanceRef, &InstanceRef)),
) -> Result<Arc<Module>, BlockError> {
    Module::build(name, ModuleKind::Block, || {
        doc("A device to be explored: an L1 and its translation unit.");
        let own = input::<Bits>("own", s.dev_bits());
        let (cache, unit) = (instance("cache", l1), instance("tu", tu));
        for (part, module) in [(&cache, l1), (&unit, tu)] {
            if module.inputs().any(|(_, port)| port.name == "own") {
                part.drive_bits("own", own);
            }
        }
        let (core, join) = &ends;
        core(&cache);
        join(&cache, &unit);
        pass_out::<Req>(&unit, "req", "req", s);
        pass_out::<Rsp>(&unit, "rsp_out", "rsp_out", s);
        pass_in::<Fwd>(&unit, "fwd", "fwd", s);
        pass_in::<Rsp>(&unit, "rsp", "rsp", s);
        // Nothing is ever sent there by what has no prediction, or no words to write back.
        if sends.direct {
            pass_out::<Fwd>(&unit, "fwd_out", "fwd_out", s);
        } else {
            unit.drive_bits("fwd_out_ready", lit(1, 1));
        }
        if sends.back {
            pass_out::<Wb>(&unit, "wb", "wb", s);
        } else {
            unit.drive_bits("wb_ready", lit(1, 1));
        }
    })
    .map_err(|errors| BlockError::Elab { block: "device".into(), errors })
}

/// A device with GPU coherence.
///
/// # Errors
/// A parameter that its L1 or unit refuses.
pub fn gpu(c: &Config) -> Result<Arc<Module>, BlockError> {
    let l1 = gpu_params(c);
    let s = l1.spandex.clone();
    let tu = TuGpuParams { spandex: s.clone(), n_fail: c.n_fail, inject: c.faults.tu_gpu };
    let name = ("gpu_device", sends(c, Kind::Gpu));
    let join = |cache: &InstanceRef, unit: &InstanceRef| {
        connect::<GpuReq>(cache, "l1_req", unit, "l1_req", &s);
        connect::<GpuRsp>(unit, "l1_rsp", cache, "l1_rsp", &s);
    };
    whole(name, &s, &gpu_l1(&l1)?, &tu_gpu(&tu)?, (core(&s), join))
}

/// A device with DeNovo coherence.
///
/// # Errors
/// A parameter that its L1 or unit refuses.
pub fn denovo(c: &Config) -> Result<Arc<Module>, BlockError> {
    let l1 = GpuL1Params { inject: weft_spandex::gpu_l1::Inject::None, ..gpu_params(c) };
    let s = l1.spandex.clone();
    let l1 = DenovoL1Params { l1, inject: c.faults.denovo_l1, ..DenovoL1Params::published(s.clone()) };
    let tu = TuDenovoParams { spandex: s.clone(), n_fail: c.n_fail };
    let name = ("denovo_device", sends(c, Kind::Denovo));
    let join = |cache: &InstanceRef, unit: &InstanceRef| {
        connect::<Req>(cache, "l1_req", unit, "l1_req", &s);
        connect::<Wb>(cache, "l1_wb", unit, "l1_wb", &s);
        connect::<Rsp>(cache, "l1_rsp_out", unit, "l1_rsp_out", &s);
        connect::<Rsp>(unit, "l1_rsp", cache, "l1_rsp", &s);
        connect::<Fwd>(unit, "l1_fwd", cache, "l1_fwd", &s);
    };
    whole(name, &s, &denovo_l1(&l1)?, &tu_denovo(&tu)?, (core(&s), join))
}

/// A device with MESI coherence.
pub(super) fn mesi(c: &Config) -> Result<Arc<Module>, BlockError> {
    let port = mesi_port(c);
    let s = port.spandex.clone();
    let l1 = MesiL1Params {
        inject: c.faults.mesi_l1,
        weak_reads: c.weak_reads(),
        ..MesiL1Params::new(port.clone())
    };
    let tu = TuMesiParams { inject: c.faults.tu_mesi, ..TuMesiParams::new(port.clone()) };
    let name = ("mesi_device", sends(c, Kind::Mesi));
    let join = |cache: &InstanceRef, unit: &InstanceRef| {
        connect::<MesiReq>(cache, "l1_req", unit, "l1_req", &port);
        connect::<MesiUp>(cache, "l1_up", unit, "l1_up", &port);
        connect::<MesiDown>(unit, "l1_down", cache, "l1_down", &port);
        connect::<MesiExt>(unit, "ext", cache, "ext", &port);
    };
    whole(name, &s, &mesi_l1(&l1)?, &tu_mesi(&tu)?, (core(&s), join))
}

/// A Flex device. [`Config::guess`] is the owner that its unit takes for likely, of every word.
pub(super) fn flex(c: &Config) -> Result<Arc<Module>, BlockError> {
    let l1 = GpuL1Params { inject: weft_spandex::gpu_l1::Inject::None, ..gpu_params(c) };
    let s = l1.spandex.clone();
    let l1 = FlexL1Params { l1, inject: c.faults.flex_l1 };
    let opred = if c.guess.is_some() { Opred::Oracle } else { Opred::Off };
    let tu = TuFlexParams { n_fail: c.n_fail, opred, ..TuFlexParams::published(s.clone()) };
    let name = ("flex_device", sends(c, Kind::Flex));
    let join = |cache: &InstanceRef, unit: &InstanceRef| {
        match c.guess {
            None => connect::<FlexReq>(cache, "l1_req", unit, "l1_req", &s),
            Some(device) => guessing(&s, cache, unit, device),
        }
        connect::<Wb>(cache, "l1_wb", unit, "l1_wb", &s);
        connect::<Rsp>(cache, "l1_rsp_out", unit, "l1_rsp_out", &s);
        connect::<Rsp>(unit, "l1_rsp", cache, "l1_rsp", &s);
        connect::<Fwd>(unit, "l1_fwd", cache, "l1_fwd", &s);
    };
    whole(name, &s, &flex_l1(&l1)?, &tu_flex(&tu)?, (core(&s), join))
}

/// Requests of an L1 to a unit that always hears of the same owner.
fn guessing(s: &Spandex, cache: &InstanceRef, unit: &InstanceRef, owner: usize) {
    unit.drive_bits("l1_req_valid", cache.out_bits("l1_req_valid"));
    for leaf in leaves_of::<FlexReq>(s, "") {
        unit.drive_bits(
            &format!("l1_req_flex_{}", leaf.name),
            cache.out_bits(&format!("l1_req_{}", leaf.name)),
        );
    }
    unit.drive_bits("l1_req_known", lit(1, 1));
    unit.drive_bits("l1_req_owner", lit(owner as u64, s.dev_bits()));
    cache.drive_bits("l1_req_ready", unit.out_bits("l1_req_ready"));
}

/// A stash. Accesses and mappings come by one channel; a core maps when it waits for nothing, so that there is always a place for a mapping.
pub(super) fn stash(c: &Config) -> Result<Arc<Module>, BlockError> {
    let p = stash::params(c);
    let s = p.spandex.clone();
    let tu = TuDenovoParams { spandex: s.clone(), n_fail: c.n_fail };
    let name = ("stash_device", sends(c, Kind::Stash));
    let core = |cache: &InstanceRef| {
        let valid = input::<Bool>("cu_req_valid", ());
        let ask = input::<Ask>(&message_name::<Ask>("cu_req", &p), p.clone());
        cache.drive_bits("cu_req_valid", (valid & !ask.maps).bits());
        cache.drive::<StashReq>(&message_name::<StashReq>("cu_req", &p), &p, ask.access);
        cache.drive_bits("map_valid", (valid & ask.maps).bits());
        cache.drive::<StashMap>(&message_name::<StashMap>("map", &p), &p, ask.mapping);
        let ready = cache.out::<Bool>("map_ready", &());
        assert_always("stash_device_maps", !(valid & ask.maps) | ready, "a mapping never waits");
        output::<Bool>("cu_req_ready", ()).set(cache.out::<Bool>("cu_req_ready", &()));
        pass_out::<StashRsp>(cache, "cu_rsp", "cu_rsp", &p);
    };
    let join = |cache: &InstanceRef, unit: &InstanceRef| {
        connect::<Req>(cache, "l1_req", unit, "l1_req", &s);
        connect::<Wb>(cache, "l1_wb", unit, "l1_wb", &s);
        connect::<Rsp>(cache, "l1_rsp_out", unit, "l1_rsp_out", &s);
        connect::<Rsp>(unit, "l1_rsp", cache, "l1_rsp", &s);
        connect::<Fwd>(unit, "l1_fwd", cache, "l1_fwd", &s);
    };
    whole(name, &s, &stash_block(&p)?, &tu_denovo(&tu)?, (core, join))
}
