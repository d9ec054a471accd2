//! One GPU of a fabric: L1s, crossbars, L2 banks, the relay of Rolls or the unit for fences.
//!
//! ```text
//!  cu0 -> l1_0 -+-> l1_to_bank -+-> bank_delay0 -> bank0 -> mem0
//!  cu1 -> l1_1 -+               +-> bank_delay1 -> bank1 -> mem1
//!          ^---- bank_to_l1 <-- answer_delay0, 1 <--+
//!  roll -> relay -> every L1 and bank, acks back            fence_start -> maint -> every bank -> fence_done
//! ```

use super::params::{BANK_HIT, TsmFabricParams};
use crate::epoch_ctl::relay;
use crate::gtsc::{GtscReq, gtsc_l1, gtsc_l2};
use crate::join::{pass_in, pass_out, silence};
use crate::l1::mgcc_l1;
use crate::l2::{l2_wb, mgcc_l2};
use crate::maint::maint;
use crate::msg::*;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::wait::Wait;
use weft_blocks::msg::{CuReq, CuRsp, FenceToken};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Modules of a GPU.
struct Parts {
    l1: Arc<Module>,
    bank: Arc<Module>,
    l1_to_bank: Arc<Module>,
    bank_to_l1: Arc<Module>,
    request_wait: Wait,
    answer_wait: Wait,
    /// The relay with coherence, else the unit for fences.
    control: Arc<Module>,
}

impl Parts {
    fn new(p: &TsmFabricParams) -> Result<Parts, BlockError> {
        let t = &p.tsm;
        let part = |made: Result<Arc<Module>, ElabErrors>| {
            made.map_err(|errors| BlockError::Elab { block: "tsm-gpu".into(), errors })
        };
        let name = |what: &str| format!("tsm_{what}_{}", t.tag());
        let to_bank = |m: &UpReq| t.bank_of(m.line);
        let gtsc_to_bank = |m: &GtscReq| t.bank_of(m.line);
        // The crossbar itself takes one cycle.
        let further = p.crossbar_latency - 1;
        let request_wait = further + p.l2_latency - BANK_HIT;
        Ok(Parts {
            l1: if p.gtsc() { gtsc_l1(&p.l1())? } else { mgcc_l1(&p.l1())? },
            bank: match p.write_back() {
                true if p.gtsc() => gtsc_l2(&p.l2())?,
                true => l2_wb(&p.l2())?,
                false => mgcc_l2(&p.l2())?,
            },
            l1_to_bank: part(match p.gtsc() {
                true => crossbar::<GtscReq>(&name("gtsc_xbar"), t.cus, t.banks, t, gtsc_to_bank),
                false => crossbar::<UpReq>(&name("req_xbar"), t.cus, t.banks, t, to_bank),
            })?,
            bank_to_l1: part(crossbar::<UpRsp>(&name("rsp_xbar"), t.banks, t.cus, t, |m| m.dst))?,
            request_wait: match p.gtsc() {
                true => Wait::new::<GtscReq>("tsm-gpu", &name("gtsc_wait"), request_wait, t)?,
                false => Wait::new::<UpReq>("tsm-gpu", &name("req_wait"), request_wait, t)?,
            },
            answer_wait: Wait::new::<UpRsp>("tsm-gpu", &name("rsp_wait"), further, t)?,
            control: if p.coherent() { relay(t, t.cus + t.banks)? } else { maint(t.banks)? },
        })
    }
}

/// Builds a GPU. Ports: input `own_gpu`; `cuC_req`, `cuC_rsp`, `cuC_stall`, `cuC_time`; `memB_req`, `memB_rsp`; `roll`, `roll_ack` with coherence, `fence_start`, `fence_done` without; of G-TSC `lease`, `askB`.
///
/// # Errors
/// A parameter that one of its blocks refuses.
pub(super) fn gpu_module(p: &TsmFabricParams) -> Result<Arc<Module>, BlockError> {
    let parts = Parts::new(p)?;
    let built = Module::build(&format!("tsm_gpu_{}", p.tag()), ModuleKind::Fabric, || {
        doc("One GPU of an MGPU-TSM fabric: L1s, crossbars, L2 banks.");
        param("cus", p.tsm.cus);
        param("banks", p.tsm.banks);
        Gpu::new(p, &parts).wire(&parts);
    });
    built.map_err(|errors| BlockError::Elab { block: "tsm-gpu".into(), errors })
}

struct Gpu<'a> {
    p: &'a TsmFabricParams,
    l1s: Vec<InstanceRef>,
    banks: Vec<InstanceRef>,
    l1_to_bank: InstanceRef,
    bank_to_l1: InstanceRef,
    control: InstanceRef,
}

impl<'a> Gpu<'a> {
    fn new(p: &'a TsmFabricParams, parts: &Parts) -> Gpu<'a> {
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        Gpu {
            p,
            l1s: many("l1_", &parts.l1, p.tsm.cus),
            banks: many("bank", &parts.bank, p.tsm.banks),
            l1_to_bank: instance("l1_to_bank", &parts.l1_to_bank),
            bank_to_l1: instance("bank_to_l1", &parts.bank_to_l1),
            control: instance(if p.coherent() { "relay" } else { "maint" }, &parts.control),
        }
    }

    fn wire(&self, parts: &Parts) {
        self.wire_l1s();
        self.wire_banks(parts);
        if self.p.coherent() { self.wire_rolls() } else { self.wire_fences() }
    }

    fn wire_l1s(&self) {
        let (t, cu) = (&self.p.tsm, self.p.tsm.cu());
        for (c, l1) in self.l1s.iter().enumerate() {
            l1.drive_bits("own", lit(c as u64, t.cu_bits()));
            pass_in::<CuReq>(l1, "cu_req", &format!("cu{c}_req"), &cu);
            pass_out::<CuRsp>(l1, "cu_rsp", &format!("cu{c}_rsp"), &cu);
            let stall = l1.out_bits("stall");
            output::<Bits>(&format!("cu{c}_stall"), stall.width()).set(stall);
            if self.p.observe {
                output::<Bits>(&format!("cu{c}_time"), 64).set(l1.out_bits("cu_time"));
            }
            match self.p.gtsc() {
                true => connect::<GtscReq>(l1, "up_req", &self.l1_to_bank, &format!("in{c}"), t),
                false => connect::<UpReq>(l1, "up_req", &self.l1_to_bank, &format!("in{c}"), t),
            }
            connect::<UpRsp>(&self.bank_to_l1, &format!("out{c}"), l1, "dn_rsp", t);
        }
    }

    fn wire_banks(&self, parts: &Parts) {
        let t = &self.p.tsm;
        let own = input::<Bits>("own_gpu", t.gpu_bits());
        for (b, bank) in self.banks.iter().enumerate() {
            bank.drive_bits("own_gpu", own);
            let (input, output) = (format!("in{b}"), format!("out{b}"));
            let request = (&self.l1_to_bank, output.as_str());
            let (wait, name, to) = (&parts.request_wait, format!("bank_delay{b}"), (bank, "l1_req"));
            match self.p.gtsc() {
                true => wait.join::<GtscReq>(&name, request, to, t),
                false => wait.join::<UpReq>(&name, request, to, t),
            }
            let answer = (&self.bank_to_l1, input.as_str());
            parts.answer_wait.join::<UpRsp>(&format!("answer_delay{b}"), (bank, "l1_rsp"), answer, t);
            pass_out::<UmcReq>(bank, "mem_req", &format!("mem{b}_req"), t);
            pass_in::<UmcRsp>(bank, "mem_rsp", &format!("mem{b}_rsp"), t);
        }
    }

    /// Everybody that a Roll concerns: L1s, then banks.
    fn leaves(&self) -> impl Iterator<Item = &InstanceRef> {
        self.l1s.iter().chain(&self.banks)
    }

    fn wire_rolls(&self) {
        let t = &self.p.tsm;
        pass_in::<Roll>(&self.control, "roll", "roll", t);
        pass_out::<RollAck>(&self.control, "ack", "roll_ack", t);
        for (i, leaf) in self.leaves().enumerate() {
            connect::<Roll>(&self.control, &format!("roll{i}"), leaf, "roll", t);
            connect::<RollAck>(leaf, "roll_ack", &self.control, &format!("ack{i}"), t);
        }
        for bank in &self.banks {
            silence::<Maint>(bank, "maint", &());
            bank.drive_bits("maint_done_ready", lit(1, 1));
        }
        if self.p.gtsc() {
            let lease = input::<Bits>("lease", t.ts);
            for (b, bank) in self.banks.iter().enumerate() {
                bank.drive_bits("lease", lease);
                pass_out::<RollAck>(bank, "roll_ask", &format!("ask{b}"), t);
            }
        }
    }

    fn wire_fences(&self) {
        let t = &self.p.tsm;
        pass_in::<FenceToken>(&self.control, "start", "fence_start", &());
        pass_out::<FenceToken>(&self.control, "done", "fence_done", &());
        for (b, bank) in self.banks.iter().enumerate() {
            connect::<Maint>(&self.control, &format!("cmd{b}"), bank, "maint", &());
            connect::<Maint>(bank, "maint_done", &self.control, &format!("done{b}"), &());
        }
        for leaf in self.leaves() {
            silence::<Roll>(leaf, "roll", t);
            leaf.drive_bits("roll_ack_ready", lit(1, 1));
        }
    }
}
