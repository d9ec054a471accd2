//! Whole MGPU-RDMA fabrics (mgcc.md section 14): GPUs and the switch between them.

use super::gpu::gpu_module;
use super::msg::{RdmaReq, RdmaRsp};
use super::params::RdmaFabricParams;
use super::pcie::pcie_switch;
use crate::join::{pass_in, pass_out};
use crate::msg::{DramReq, DramRsp};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Builds the fabric.
///
/// # Errors
/// A parameter that the fabric or one of its blocks refuses.
pub fn rdma_fabric(p: &RdmaFabricParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let (gpu, switch) = (gpu_module(p)?, pcie_switch(&p.switch())?);
    let built = Module::build(&format!("rdma_fabric_{}", p.tag()), ModuleKind::Fabric, || {
        doc(
            "A whole MGPU-RDMA fabric: GPUs with memories of their own and the switch between them; CUs and DRAM are outside.",
        );
        param("gpus", p.rdma.tsm.gpus);
        let switch = instance("switch", &switch);
        for g in 0..p.rdma.tsm.gpus {
            let gpu = instance(&format!("gpu{g}"), &gpu);
            gpu.drive_bits("own_gpu", lit(u64::from(g), p.rdma.tsm.gpu_bits()));
            wire(p, g, &gpu, &switch);
        }
    });
    built.map_err(|errors| BlockError::Elab { block: "rdma-fabric".into(), errors })
}

fn wire(p: &RdmaFabricParams, g: u32, gpu: &InstanceRef, switch: &InstanceRef) {
    let (r, cu, home) = (&p.rdma, p.rdma.tsm.cu(), p.rdma.bank());
    for c in 0..r.tsm.cus {
        pass_in::<CuReq>(gpu, &format!("cu{c}_req"), &format!("g{g}_cu{c}_req"), &cu);
        pass_out::<CuRsp>(gpu, &format!("cu{c}_rsp"), &format!("g{g}_cu{c}_rsp"), &cu);
        let stall = gpu.out_bits(&format!("cu{c}_stall"));
        output::<Bits>(&format!("g{g}_cu{c}_stall"), stall.width()).set(stall);
    }
    for b in 0..r.tsm.banks {
        pass_out::<DramReq>(gpu, &format!("mem{b}_req"), &format!("g{g}_b{b}_dram_req"), &home);
        pass_in::<DramRsp>(gpu, &format!("mem{b}_rsp"), &format!("g{g}_b{b}_dram_rsp"), &home);
    }
    connect::<RdmaReq>(gpu, "net_req", switch, &format!("req{g}"), r);
    connect::<RdmaReq>(switch, &format!("far_req{g}"), gpu, "far_req", r);
    connect::<RdmaRsp>(gpu, "far_rsp", switch, &format!("far_rsp{g}"), r);
    connect::<RdmaRsp>(switch, &format!("rsp{g}"), gpu, "net_rsp", r);
}
