//! A whole Spandex system (spandex.md section 1): devices, LLC banks, the mesh between them; CPU cores, CUs and memory controllers are outside.
//!
//! ```text
//!  core 0 -- device0 ---+                  +--- bank0 -- mem0
//!  core 1 -- device1 ---+-- mesh of        +--- bank1 -- mem1
//!  CU 0   -- device2 ---+    routers    ---+--- ...
//!  ...                                     |
//! ```
//! With several GPUs each has a mesh, and its share of everything else; [`crate::net::rails`] join the meshes.
//!
//! Ports of [`spandex_fabric`], with D the device (CPU cores first) and B the bank; of GPU G of several, `gG_cuN` with N the device's number there ([`Spandex::unit`]):
//!
//! | port | dir | message |
//! | --- | --- | --- |
//! | `g0_cuD_req`, `g0_cuD_rsp` | in, out | [`CuReq`], [`CuRsp`] of [`Spandex::cu`], as in every family |
//! | `g0_cuD_stall` | out | why the L1 does not take a request |
//! | `g0_cuD_busy_release` | out | a release is under way in the L1 |
//! | `g0_cuD_oracle_ask`, `_line`, `_mask`, `_known`, `_owner` | out, in | of a Flex device with an oracle: see [`flex_device`] |
//! | `g0_cuD_map`, `_req`, `_rsp`, `_stall`, `_busy_release`, `_busy_map` | in, in, out | of a [stash](stash_device): messages of [`crate::stash`]; stashes are numbered like CUs |
//! | `memB_req`, `memB_rsp` | out, in | [`MemReq`], [`MemRsp`] of a bank; with memory controllers of one of them, and then [`ControllerRsp`] |
//!
//! Instances: `deviceD`, in it `cache` (the L1) and `tu`; `bankB`; `routerN` and what lies between.
//!
//! # A device of another protocol
//!
//! 1. Write its L1, with channels `cu_req` and `cu_rsp`, and outputs `stall` and `busy_release`.
//! 2. Write its translation unit, with the six channels of a device (`req`, `wb`, `rsp_out`, `fwd_out`, `fwd`, `rsp`) and input `own`, and channels of your own to the L1.
//! 3. Join them in one module with [`device`].
//! 4. Give [`spandex_fabric`] this module in the place of its number.
//!
//! Of the LLC nothing changes: a device that never sends ReqO, ReqO+data or ReqS gets neither forwards nor Inv, one that sends ReqS must be among the first
//! [`sharers`](Spandex::sharers).

use crate::denovo_l1::{DenovoL1Params, denovo_l1};
use crate::flex_l1::{FlexL1Params, flex_l1};
use crate::gpu_l1::{GpuL1Params, gpu_l1};
use crate::mesi_l1::{MesiL1Params, mesi_l1};
use crate::mesi_port::{MesiDown, MesiExt, MesiReq, MesiUp};
use crate::msg::*;
use crate::net::memory::{Memory, memories};
use crate::net::{Net, NetParams, Stations};
use crate::params::Spandex;
use crate::stash::{StashMap, StashParams, StashReq, StashRsp, stash};
use crate::tu_denovo::{TuDenovoParams, tu_denovo};
use crate::tu_flex::{Opred, TuFlexParams, tu_flex};
use crate::tu_gpu::{TuGpuParams, tu_gpu};
use crate::tu_mesi::{TuMesiParams, tu_mesi};
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Where the parts are placed, for errors.
const BLOCK: &str = "spandex-fabric";

pub(crate) fn built(made: Result<Arc<Module>, ElabErrors>) -> Result<Arc<Module>, BlockError> {
    made.map_err(|errors| BlockError::Elab { block: BLOCK.into(), errors })
}

/// Joins an L1 and its translation unit into a device; `join` connects the channels between them (L1, then unit). Both may have an input `own`.
///
/// # Errors
/// Ports that are missing or do not fit.
pub fn device(
    name: &str,
    s: &Spandex,
    l1: &Arc<Module>,
    tu: &Arc<Module>,
    join: impl Fn(&InstanceRef, &InstanceRef),
) -> Result<Arc<Module>, BlockError> {
    let cu = |cache: &InstanceRef| {
        pass_in::<CuReq>(cache, "cu_req", "cu_req", &s.cu());
        pass_out::<CuRsp>(cache, "cu_rsp", "cu_rsp", &s.cu());
        tell(cache, &["stall", "busy_release"]);
    };
    let text = "A device of a Spandex system: an L1 and its translation unit.";
    device_with(name, text, s, l1, tu, cu, join)
}

/// Hands on what a part tells the CU.
fn tell(part: &InstanceRef, states: &[&str]) {
    for state in states {
        let value = part.out_bits(state);
        output::<Bits>(state, value.width()).set(value);
    }
}

/// The same for a part with other ports to the CU, which `cu` hands on.
fn device_with(
    name: &str,
    text: &str,
    s: &Spandex,
    l1: &Arc<Module>,
    tu: &Arc<Module>,
    cu: impl Fn(&InstanceRef),
    join: impl Fn(&InstanceRef, &InstanceRef),
) -> Result<Arc<Module>, BlockError> {
    built(Module::build(name, ModuleKind::Fabric, || {
        doc(text);
        let own = input::<Bits>("own", s.dev_bits());
        let (cache, unit) = (instance("cache", l1), instance("tu", tu));
        for (part, module) in [(&cache, l1), (&unit, tu)] {
            if module.inputs().any(|(_, port)| port.name == "own") {
                part.drive_bits("own", own);
            }
        }
        cu(&cache);
        join(&cache, &unit);
        pass_out::<Req>(&unit, "req", "req", s);
        pass_out::<Wb>(&unit, "wb", "wb", s);
        pass_out::<Rsp>(&unit, "rsp_out", "rsp_out", s);
        pass_out::<Fwd>(&unit, "fwd_out", "fwd_out", s);
        pass_in::<Fwd>(&unit, "fwd", "fwd", s);
        pass_in::<Rsp>(&unit, "rsp", "rsp", s);
    }))
}

/// A device with GPU coherence.
///
/// # Errors
/// What its parts refuse; widths that differ.
pub fn gpu_device(l1: &GpuL1Params, tu: &TuGpuParams) -> Result<Arc<Module>, BlockError> {
    let s = &l1.spandex;
    let name = format!("gpu_device_{}__{}", l1.module_name(), tu.n_fail);
    device(&name, s, &gpu_l1(l1)?, &tu_gpu(tu)?, |cache, unit| {
        connect::<GpuReq>(cache, "l1_req", unit, "l1_req", s);
        connect::<GpuRsp>(unit, "l1_rsp", cache, "l1_rsp", s);
    })
}

/// A device with DeNovo coherence.
///
/// # Errors
/// What its parts refuse; widths that differ.
pub fn denovo_device(l1: &DenovoL1Params, tu: &TuDenovoParams) -> Result<Arc<Module>, BlockError> {
    let s = &l1.l1.spandex;
    let name = format!("denovo_device_{}__{}", l1.module_name(), tu.n_fail);
    device(&name, s, &denovo_l1(l1)?, &tu_denovo(tu)?, |cache, unit| join_denovo(s, cache, unit))
}

/// Connects what speaks Spandex itself to its unit.
fn join_denovo(s: &Spandex, cache: &InstanceRef, unit: &InstanceRef) {
    connect::<Req>(cache, "l1_req", unit, "l1_req", s);
    connect::<Wb>(cache, "l1_wb", unit, "l1_wb", s);
    connect::<Rsp>(cache, "l1_rsp_out", unit, "l1_rsp_out", s);
    connect::<Fwd>(unit, "l1_fwd", cache, "l1_fwd", s);
    connect::<Rsp>(unit, "l1_rsp", cache, "l1_rsp", s);
}

/// A stash: a device of its own beside the L1 of its CU. Its ports to the CU are those of the [block](crate::stash): channels `map`, `cu_req` and `cu_rsp`, outputs `stall`, `busy_release` and `busy_map`.
///
/// # Errors
/// What its parts refuse; widths that differ.
pub fn stash_device(p: &StashParams, tu: &TuDenovoParams) -> Result<Arc<Module>, BlockError> {
    let s = &p.spandex;
    let name = format!("stash_device_{}__{}", p.module_name(), tu.n_fail);
    let cu = |cache: &InstanceRef| {
        pass_in::<StashMap>(cache, "map", "map", p);
        pass_in::<StashReq>(cache, "cu_req", "cu_req", p);
        pass_out::<StashRsp>(cache, "cu_rsp", "cu_rsp", p);
        tell(cache, &["stall", "busy_release", "busy_map"]);
    };
    let text = "A device of a Spandex system: the stash of a CU and its translation unit.";
    device_with(&name, text, s, &stash(p)?, &tu_denovo(tu)?, cu, |cache, unit| join_denovo(s, cache, unit))
}

/// A device with MESI coherence.
///
/// # Errors
/// What its parts refuse; a unit for an L1 of another shape.
pub fn mesi_device(l1: &MesiL1Params, tu: &TuMesiParams) -> Result<Arc<Module>, BlockError> {
    let (port, s) = (&l1.port, &l1.port.spandex);
    if tu.port != *port {
        return Err(BlockError::Illegal {
            block: BLOCK.into(),
            key: "size".into(),
            value: tu.port.size.to_string(),
            problem: "the unit is one for an L1 of another shape".into(),
            legal: port.size.to_string(),
        });
    }
    let name = format!("mesi_device_{}__{}", l1.module_name(), tu.module_name());
    device(&name, s, &mesi_l1(l1)?, &tu_mesi(tu)?, |cache, unit| {
        connect::<MesiReq>(cache, "l1_req", unit, "l1_req", port);
        connect::<MesiUp>(cache, "l1_up", unit, "l1_up", port);
        connect::<MesiDown>(unit, "l1_down", cache, "l1_down", port);
        connect::<MesiExt>(unit, "ext", cache, "ext", port);
    })
}

/// A Flex device. With an oracle it has outputs `oracle_ask` (the L1 asks for something), `oracle_line` and `oracle_mask`, and inputs `oracle_known` and `oracle_owner`, which say in the same cycle who
/// owns the first word (simulation only).
///
/// # Errors
/// What its parts refuse.
pub fn flex_device(l1: &FlexL1Params, tu: &TuFlexParams) -> Result<Arc<Module>, BlockError> {
    let s = &l1.l1.spandex;
    let name = format!("flex_device_{}__{}", l1.module_name(), tu.module_name());
    device(&name, s, &flex_l1(l1)?, &tu_flex(tu)?, |cache, unit| {
        match tu.opred {
            Opred::Oracle => with_oracle(s, cache, unit),
            Opred::Off | Opred::Table => connect::<FlexReq>(cache, "l1_req", unit, "l1_req", s),
        }
        connect::<Wb>(cache, "l1_wb", unit, "l1_wb", s);
        connect::<Rsp>(cache, "l1_rsp_out", unit, "l1_rsp_out", s);
        connect::<Fwd>(unit, "l1_fwd", cache, "l1_fwd", s);
        connect::<Rsp>(unit, "l1_rsp", cache, "l1_rsp", s);
    })
}

/// Connects the requests of an L1 to a unit that an oracle helps.
fn with_oracle(s: &Spandex, cache: &InstanceRef, unit: &InstanceRef) {
    let valid = cache.out_bits("l1_req_valid");
    unit.drive_bits("l1_req_valid", valid);
    for leaf in leaves_of::<FlexReq>(s, "") {
        let value = cache.out_bits(&join_name("l1_req", &leaf.name));
        unit.drive_bits(&join_name("l1_req_flex", &leaf.name), value);
    }
    unit.drive_bits("l1_req_known", input::<Bits>("oracle_known", 1));
    unit.drive_bits("l1_req_owner", input::<Bits>("oracle_owner", s.dev_bits()));
    cache.drive_bits("l1_req_ready", unit.out_bits("l1_req_ready"));
    let told = [
        ("ask", valid),
        ("line", cache.out_bits("l1_req_req_line")),
        ("mask", cache.out_bits("l1_req_req_mask")),
    ];
    for (name, value) in told {
        output::<Bits>(&join_name("oracle", name), value.width()).set(value);
    }
}

/// Builds a system of these devices, CPU cores first, and banks.
///
/// # Errors
/// Another number of devices than [`Spandex::devs`], a network that cannot be built, or ports that do not fit.
pub fn spandex_fabric(
    name: &str,
    s: &Spandex,
    devices: &[Arc<Module>],
    bank: &Arc<Module>,
    net: &NetParams,
) -> Result<Arc<Module>, BlockError> {
    if devices.len() != s.devs() as usize {
        return Err(BlockError::Illegal {
            block: BLOCK.into(),
            key: "devices".into(),
            value: devices.len().to_string(),
            problem: "cpus and cus say another number".into(),
            legal: s.devs().to_string(),
        });
    }
    let memory = Memory::of(s, net)?;
    let net = Net::new(s, net)?;
    built(Module::build(name, ModuleKind::Fabric, || {
        doc(
            "A whole Spandex system: devices, LLC banks, the mesh; CPU cores, CUs and memory controllers are outside.",
        );
        param("cpus", s.cpus);
        param("cus", s.cus);
        param("banks", s.banks);
        if s.gpus > 1 {
            param("gpus", s.gpus);
        }
        let place = |(d, module): (usize, &Arc<Module>)| instance(&format!("device{d}"), module);
        let stations = Stations {
            devices: devices.iter().enumerate().map(place).collect(),
            banks: (0..s.banks).map(|b| instance(&format!("bank{b}"), bank)).collect(),
        };
        export(s, &stations);
        memories(s, memory.as_ref(), &stations.banks);
        net.wire(s, &stations);
    }))
}

/// Ports of CPU cores and CUs, and numbers of the nodes.
fn export(s: &Spandex, stations: &Stations) {
    export_cu(s, &stations.devices);
    for (b, bank) in stations.banks.iter().enumerate() {
        bank.drive_bits("own", lit(u64::from(s.devs()) + b as u64, s.node_bits()));
    }
}

/// Ports of a stash to its CU, as they are.
fn export_stash(device: &InstanceRef, unit: &str) {
    let to_cu = |port: &str| ["map_", "cu_", "stall", "busy_"].iter().any(|start| port.starts_with(start));
    let name = |port: &str| format!("{unit}_{}", port.trim_start_matches("cu_"));
    let module = device.module();
    for (_, port) in module.inputs().filter(|(_, port)| to_cu(&port.name)) {
        device.drive_bits(&port.name, input::<Bits>(&name(&port.name), port.width));
    }
    for (_, port) in module.outputs().filter(|(_, port)| to_cu(&port.name)) {
        output::<Bits>(&name(&port.name), port.width).set(device.out_bits(&port.name));
    }
}

/// Ports of CPU cores and CUs.
pub(crate) fn export_cu(s: &Spandex, devices: &[InstanceRef]) {
    let cu = s.cu();
    for (d, device) in (0..).zip(devices) {
        device.drive_bits("own", lit(u64::from(d), s.dev_bits()));
        let (gpu, number) = s.unit(d);
        let unit = format!("g{gpu}_cu{number}");
        if device.module().port("map_valid").is_some() {
            export_stash(device, &unit);
            continue;
        }
        pass_in::<CuReq>(device, "cu_req", &format!("{unit}_req"), &cu);
        pass_out::<CuRsp>(device, "cu_rsp", &format!("{unit}_rsp"), &cu);
        for state in ["stall", "busy_release"] {
            let value = device.out_bits(state);
            output::<Bits>(&format!("{unit}_{state}"), value.width()).set(value);
        }
        if device.module().port("oracle_ask").is_some() {
            let name = |port: &str| format!("{unit}_oracle_{port}");
            for port in ["ask", "line", "mask"] {
                let value = device.out_bits(&join_name("oracle", port));
                output::<Bits>(&name(port), value.width()).set(value);
            }
            device.drive_bits("oracle_known", input::<Bits>(&name("known"), 1));
            device.drive_bits("oracle_owner", input::<Bits>(&name("owner"), s.dev_bits()));
        }
    }
}
