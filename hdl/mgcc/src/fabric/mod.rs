//! Whole MGPU-TSM fabrics (mgcc.md section 1): GPUs, a switch per bank number, UMCs, the epoch controller.
//!
//! ```text
//!  CUs --- GPU 0: L1s, crossbars, bank 0 --- switch 0 --- UMC 0 --- DRAM channels
//!                                 bank 1 --- switch 1 --- UMC 1 --- DRAM channels
//!  CUs --- GPU 1: ...             ...        ...          ...
//!                    relay <----- epoch-ctl -------------> lanes
//! ```
//! Ports of [`tsm_fabric`], with G the GPU, C the CU, U the bank and UMC, L the lane:
//!
//! | port | dir | message |
//! | --- | --- | --- |
//! | `gG_cuC_req`, `gG_cuC_rsp` | in, out | [`CuReq`], [`CuRsp`] of [`Tsm::cu`](crate::params::Tsm::cu), as in directory fabrics |
//! | `gG_cuC_stall` | out | 3 bits: why the L1 does not take a request, as in directory fabrics |
//! | `gG_cuC_time` | out | 64 bits, with `observe`: the time at which the operation answered beside it binds |
//! | `uU_lL_dram_req`, `uU_lL_dram_rsp` | out, in | [`DramReq`], [`DramRsp`]; answers are always taken |
//! | `rd_lease`, `wr_lease` | in | TS bits, with coherence: the lease registers of all UMCs, sampled at each grant; 1..2^(TS-2). G-TSC has one lease, `rd_lease`, in its banks |
//! | `gG_fence_start`, `gG_fence_done` | in, out | [`FenceToken`], without coherence: what software does to the L2 at kernel boundaries ([`maint`](crate::maint)) |
//!
//! Instances: `gpuG.l1_C`, `gpuG.bankB`, `gpuG.l1_to_bank`, `gpuG.bank_to_l1`, `gpuG.relay`, `gpuG.maint`, `switchB`, `umcU.laneL.tracker`, `umcU.laneL.tsu`, `epoch_ctl`.
//!
//! An L1's request passes the crossbar in `crossbar_latency` cycles and waits before the bank, so that a hit there takes `l2_latency`; the answer passes the other crossbar in as many. Requests
//! keep their order per L1 and bank, and per bank and UMC: everything between them is a queue.

mod gpu;
mod params;

pub(crate) use params::BANK_HIT;
pub use params::{TsmFabricParams, TsmProtocol, TsuScale};

use crate::epoch_ctl::epoch_ctl;
use crate::join::{pass_in, pass_out};
use crate::msg::*;
use crate::switch::tsm_switch;
use crate::umc::umc;
use gpu::gpu_module;
use weft_blocks::msg::{CuReq, CuRsp, FenceToken};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// What a fabric is made of; equal parts are one module.
struct Parts {
    gpu: Arc<Module>,
    switch: Arc<Module>,
    umc: Arc<Module>,
    epochs: Option<Arc<Module>>,
}

impl Parts {
    fn new(p: &TsmFabricParams) -> Result<Parts, BlockError> {
        p.validate()?;
        Ok(Parts {
            gpu: gpu_module(p)?,
            switch: tsm_switch(&p.switch())?,
            umc: umc(&p.lane())?,
            epochs: if p.coherent() { Some(epoch_ctl(&p.tsm)?) } else { None },
        })
    }
}

/// Builds the fabric.
///
/// # Errors
/// A parameter that the fabric or one of its blocks refuses.
pub fn tsm_fabric(p: &TsmFabricParams) -> Result<Arc<Module>, BlockError> {
    let parts = Parts::new(p)?;
    let built = Module::build(&format!("tsm_fabric_{}", p.tag()), ModuleKind::Fabric, || {
        doc("A whole MGPU-TSM fabric: GPUs, switches, unified memory controllers; CUs and DRAM are outside.");
        param("gpus", p.tsm.gpus);
        param("protocol", crate::choice::Choice::word(p.protocol));
        Placed::new(p, &parts).wire();
    });
    built.map_err(|errors| BlockError::Elab { block: "tsm-fabric".into(), errors })
}

/// The instances of a fabric.
struct Placed<'a> {
    p: &'a TsmFabricParams,
    gpus: Vec<InstanceRef>,
    switches: Vec<InstanceRef>,
    umcs: Vec<InstanceRef>,
    epochs: Option<InstanceRef>,
}

impl<'a> Placed<'a> {
    fn new(p: &'a TsmFabricParams, parts: &Parts) -> Placed<'a> {
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        Placed {
            p,
            gpus: many("gpu", &parts.gpu, p.tsm.gpus),
            switches: many("switch", &parts.switch, p.tsm.banks),
            umcs: many("umc", &parts.umc, p.tsm.banks),
            epochs: parts.epochs.as_ref().map(|module| instance("epoch_ctl", module)),
        }
    }

    fn wire(&self) {
        self.export_gpus();
        self.wire_links();
        self.export_memory();
        if let Some(epochs) = &self.epochs {
            self.wire_epochs(epochs);
        }
    }

    fn export_gpus(&self) {
        let (t, cu) = (&self.p.tsm, self.p.tsm.cu());
        for (g, gpu) in self.gpus.iter().enumerate() {
            gpu.drive_bits("own_gpu", lit(g as u64, t.gpu_bits()));
            for c in 0..t.cus {
                pass_in::<CuReq>(gpu, &format!("cu{c}_req"), &format!("g{g}_cu{c}_req"), &cu);
                pass_out::<CuRsp>(gpu, &format!("cu{c}_rsp"), &format!("g{g}_cu{c}_rsp"), &cu);
                let stall = gpu.out_bits(&format!("cu{c}_stall"));
                output::<Bits>(&format!("g{g}_cu{c}_stall"), stall.width()).set(stall);
                if self.p.observe {
                    output::<Bits>(&format!("g{g}_cu{c}_time"), 64).set(gpu.out_bits(&format!("cu{c}_time")));
                }
            }
            if !self.p.coherent() {
                pass_in::<FenceToken>(gpu, "fence_start", &format!("g{g}_fence_start"), &());
                pass_out::<FenceToken>(gpu, "fence_done", &format!("g{g}_fence_done"), &());
            }
        }
    }

    fn wire_links(&self) {
        let t = &self.p.tsm;
        for (b, (switch, umc)) in self.switches.iter().zip(&self.umcs).enumerate() {
            for (g, gpu) in self.gpus.iter().enumerate() {
                connect::<UmcReq>(gpu, &format!("mem{b}_req"), switch, &format!("req{g}"), t);
                connect::<UmcReq>(switch, &format!("umc_req{g}"), umc, &format!("req{g}"), t);
                connect::<UmcRsp>(umc, &format!("rsp{g}"), switch, &format!("umc_rsp{g}"), t);
                connect::<UmcRsp>(switch, &format!("rsp{g}"), gpu, &format!("mem{b}_rsp"), t);
            }
        }
    }

    fn export_memory(&self) {
        let t = &self.p.tsm;
        for (u, umc) in self.umcs.iter().enumerate() {
            for l in 0..t.lanes {
                pass_out::<DramReq>(umc, &format!("dram_req{l}"), &format!("u{u}_l{l}_dram_req"), t);
                pass_in::<DramRsp>(umc, &format!("dram_rsp{l}"), &format!("u{u}_l{l}_dram_rsp"), t);
            }
        }
    }

    /// Banks ask for the end of an epoch, as UMCs do elsewhere; memory has no stamps to sweep, so that a UMC's Roll is its acknowledgement.
    fn wire_asking_banks(&self, epochs: &InstanceRef, lease: Bits) {
        self.gpus.iter().for_each(|gpu| gpu.drive_bits("lease", lease));
        for b in 0..self.umcs.len() {
            connect::<RollAck>(&self.gpus[0], &format!("ask{b}"), epochs, &format!("ask{b}"), &self.p.tsm);
            for leaf in ["valid", "epoch"] {
                epochs.drive_bits(&format!("acku{b}_{leaf}"), epochs.out_bits(&format!("rollu{b}_{leaf}")));
            }
            epochs.drive_bits(&format!("rollu{b}_ready"), epochs.out_bits(&format!("acku{b}_ready")));
        }
    }

    fn wire_epochs(&self, epochs: &InstanceRef) {
        let t = &self.p.tsm;
        for (g, gpu) in self.gpus.iter().enumerate() {
            connect::<Roll>(epochs, &format!("roll{g}"), gpu, "roll", t);
            connect::<RollAck>(gpu, "roll_ack", epochs, &format!("ack{g}"), t);
        }
        let leases = ["rd_lease", "wr_lease"].map(|lease| (lease, input::<Bits>(lease, t.ts)));
        if self.p.gtsc() {
            unused_input(&leases[1].1);
            return self.wire_asking_banks(epochs, leases[0].1);
        }
        for (u, umc) in self.umcs.iter().enumerate() {
            connect::<Roll>(epochs, &format!("rollu{u}"), umc, "roll", t);
            connect::<RollAck>(umc, "roll_ack", epochs, &format!("acku{u}"), t);
            connect::<RollAck>(umc, "roll_ask", epochs, &format!("ask{u}"), t);
            leases.iter().for_each(|(lease, value)| umc.drive_bits(lease, *value));
        }
    }
}
