//! A whole hierarchical system (spandex.md section 9): CPU cores, CUs, GPU L2 banks, L3 banks, the mesh between them; CPU cores, CUs and memory controllers are outside.
//!
//! ```text
//!  core 0 -- device0 (mesi-l1, client) --+                    +-- l3_bank0 -- mem0
//!  core 1 -- device1                   --+-- mesh of          +-- l3_bank1 -- mem1
//!  CU 0   -- device2 (L1, TU)          --+    routers       --+-- ...
//!  ...                                   |                    |
//!                    l2_bank0, l2_bank1 -+--------------------+
//! ```
//! Ports as those of [`spandex_fabric`](crate::fabric::spandex_fabric), with the memory channels of the L3 banks. CUs are devices of Spandex, for which the GPU L2 is the LLC.

use super::client::{ClientParams, hmesi_client};
use super::msg::{HFwd, HReq, HRsp, HWb};
use super::net::{HNet, HStations};
use crate::fabric::{built, export_cu};
use crate::mesi_l1::{MesiL1Params, mesi_l1};
use crate::mesi_port::{MesiDown, MesiExt, MesiReq, MesiUp};
use crate::net::NetParams;
use crate::net::memory::{Memory, memories};
use crate::params::Spandex;
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// A CPU core's L1 on a client of the L3.
///
/// # Errors
/// What its parts refuse; a client for an L1 of another shape.
pub fn hmesi_device(l1: &MesiL1Params, client: &ClientParams) -> Result<Arc<Module>, BlockError> {
    let (port, s) = (&l1.port, &l1.port.spandex);
    if client.port != *port {
        return Err(BlockError::Illegal {
            block: "hmesi-fabric".into(),
            key: "size".into(),
            value: client.port.size.to_string(),
            problem: "the client is one for an L1 of another shape".into(),
            legal: port.size.to_string(),
        });
    }
    let name = format!("hmesi_device_{}__{}", l1.module_name(), client.module_name());
    let (l1, client) = (mesi_l1(l1)?, hmesi_client(client)?);
    built(Module::build(&name, ModuleKind::Fabric, || {
        doc("A CPU core's L1 on a client of the L3.");
        let own = input::<Bits>("own", s.dev_bits());
        let (cache, unit) = (instance("cache", &l1), instance("client", &client));
        unit.drive_bits("own", own);
        let cu = s.cu();
        pass_in::<CuReq>(&cache, "cu_req", "cu_req", &cu);
        pass_out::<CuRsp>(&cache, "cu_rsp", "cu_rsp", &cu);
        for state in ["stall", "busy_release"] {
            let value = cache.out_bits(state);
            output::<Bits>(state, value.width()).set(value);
        }
        connect::<MesiReq>(&cache, "l1_req", &unit, "l1_req", port);
        connect::<MesiUp>(&cache, "l1_up", &unit, "l1_up", port);
        connect::<MesiDown>(&unit, "l1_down", &cache, "l1_down", port);
        connect::<MesiExt>(&unit, "ext", &cache, "ext", port);
        pass_out::<HReq>(&unit, "req", "req", s);
        pass_out::<HWb>(&unit, "wb", "wb", s);
        pass_out::<HRsp>(&unit, "rsp_out", "rsp_out", s);
        pass_in::<HFwd>(&unit, "fwd", "fwd", s);
        pass_in::<HRsp>(&unit, "rsp", "rsp", s);
    }))
}

/// Builds a system: `devices` are CPU cores by [`hmesi_device`], then CUs by [`device`](crate::fabric::device); `l2` and `l3` are their banks.
///
/// # Errors
/// Another number of devices than [`Spandex::devs`], a network that cannot be built, or ports that do not fit.
pub fn hmesi_fabric(
    name: &str,
    s: &Spandex,
    devices: &[Arc<Module>],
    (l2, l3): (&Arc<Module>, &Arc<Module>),
    net: &NetParams,
) -> Result<Arc<Module>, BlockError> {
    if devices.len() != s.devs() as usize {
        return Err(BlockError::Illegal {
            block: "hmesi-fabric".into(),
            key: "devices".into(),
            value: devices.len().to_string(),
            problem: "cpus and cus say another number".into(),
            legal: s.devs().to_string(),
        });
    }
    // A bank of the L3 stands where the bank of the GPU L2 with its number does.
    let memory = Memory::of(s, net)?;
    let net = HNet::new(s, net)?;
    built(Module::build(name, ModuleKind::Fabric, || {
        doc(
            "A whole hierarchical system: CPU L1s and GPU L2 below an L3, the mesh; CPU cores, CUs and memory controllers are outside.",
        );
        param("cpus", s.cpus);
        param("cus", s.cus);
        param("banks", s.banks);
        let banks = |name: &str, module: &Arc<Module>| -> Vec<InstanceRef> {
            (0..s.banks).map(|b| instance(&format!("{name}{b}"), module)).collect()
        };
        let place = |(d, module): (usize, &Arc<Module>)| instance(&format!("device{d}"), module);
        let stations = HStations {
            devices: devices.iter().enumerate().map(place).collect(),
            l2s: banks("l2_bank", l2),
            l3s: banks("l3_bank", l3),
        };
        export_cu(s, &stations.devices);
        for b in 0..s.banks {
            let (l2, l3) = (&stations.l2s[b as usize], &stations.l3s[b as usize]);
            // The width is that of the bank's own number space: Spandex's below, the whole system's above.
            l2.drive_bits("own", lit(u64::from(s.l2_node(b)), s.h_node_bits()));
            l3.drive_bits("own", lit(u64::from(s.l3_node(b)), s.h_node_bits()));
        }
        memories(s, memory.as_ref(), &stations.l3s);
        net.wire(s, &stations);
    }))
}
