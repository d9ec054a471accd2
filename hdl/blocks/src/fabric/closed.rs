//! A closed fabric: traffic generators in place of the CUs and small memories in place of DRAM, all of it RTL, for benches and export.

use super::params::FabricParams;
use super::ports::silence;
use super::{Parts, place};
use crate::common::dram_stub::{DramStubParams, dram_stub};
use crate::common::traffic_gen::{TrafficParams, traffic_gen};
use crate::directory::protocols::Protocol;
use crate::msg::*;
use crate::registry::{BlockError, elaborated};
use weft_rtl::prelude::*;

/// A closed fabric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClosedParams {
    /// The fabric.
    pub fabric: FabricParams,
    /// The traffic of each CU.
    pub traffic: TrafficParams,
    /// The memory behind each bank.
    pub dram: DramStubParams,
    /// CUs of each GPU that send; the others never wake.
    pub active: u32,
}

impl ClosedParams {
    /// The fabric of the speed bench: 4 GPUs of 16 L1s and 4 banks with nothing before them, protocol `rec`, loads with a quarter stores and some atomics.
    pub fn bench() -> ClosedParams {
        let published = FabricParams::published(Protocol::REC);
        let sys = Sys { banks: 4, l1s: 16, ..published.sys.clone() };
        ClosedParams {
            fabric: FabricParams { sys, dir_entries: 2048, l2_latency: 3, ..published },
            traffic: TrafficParams { outstanding: 8, span: 4096, stores: 64, atomics: 4, interval: 16 },
            dram: DramStubParams { rows: 1024, latency: 100, depth: 64 },
            active: 16,
        }
    }
}

/// Builds the closed fabric. Ports: input `enable` (traffic runs), output `gG_cuC_idle` per generator. Seeds are 1, 2, 3... in order of GPU and CU.
///
/// # Errors
/// A parameter that the fabric or one of its blocks refuses, or protocol `ideal`, whose directory is no RTL.
pub fn closed_fabric(p: &ClosedParams) -> Result<Arc<Module>, BlockError> {
    if p.fabric.protocol.ideal() {
        return Err(BlockError::Illegal {
            block: "closed-fabric".into(),
            key: "protocol".into(),
            value: "ideal".into(),
            problem: "its directory is no RTL".into(),
            legal: "all other protocols".into(),
        });
    }
    let s = &p.fabric.sys;
    let parts = Parts::new(&p.fabric)?;
    let traffic = elaborated("traffic-gen", traffic_gen(s, p.traffic))?;
    let dram = elaborated("dram-stub", dram_stub(s, p.dram))?;
    let t = p.traffic;
    let name = format!(
        "closed_fabric_{}_o{}_s{}_w{}_x{}_i{}_r{}_t{}_d{}_a{}",
        p.fabric.tag(),
        t.outstanding,
        t.span,
        t.stores,
        t.atomics,
        t.interval,
        p.dram.rows,
        p.dram.latency,
        p.dram.depth,
        p.active
    );
    Module::build(&name, ModuleKind::Fabric, || {
        doc("A whole REC fabric with traffic generators and small memories.");
        param("gpus", s.gpus);
        param("protocol", p.fabric.protocol.name());
        let enable = input::<Bits>("enable", 1);
        for (g, gpu) in place(&p.fabric, &parts).iter().enumerate() {
            for c in 0..s.l1s {
                let cu = instance(&format!("g{g}_cu{c}"), &traffic);
                let runs = if c < p.active { enable } else { lit(0, 1) };
                cu.drive_bits("enable", runs);
                cu.drive_bits("seed", lit(1 + (g as u64) * u64::from(s.l1s) + u64::from(c), 32));
                connect::<CuReq>(&cu, "cu_req", gpu, &format!("cu{c}_req"), s);
                connect::<CuRsp>(gpu, &format!("cu{c}_rsp"), &cu, "cu_rsp", s);
                output::<Bits>(&format!("g{g}_cu{c}_idle"), 1).set(cu.out_bits("idle"));
            }
            for b in 0..s.banks {
                let memory = instance(&format!("g{g}_mem{b}"), &dram);
                connect::<MemReq>(gpu, &format!("mem{b}_req"), &memory, "mem_req", s);
                connect::<MemRsp>(&memory, "mem_rsp", gpu, &format!("mem{b}_rsp"), s);
            }
            silence::<FenceToken>(gpu, "fence_start", &());
            gpu.drive_bits("fence_done_ready", lit(1, 1));
        }
    })
    .map_err(|errors| BlockError::Elab { block: "closed-fabric".into(), errors })
}
