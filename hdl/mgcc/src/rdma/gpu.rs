//! One GPU of a fabric: L1s, crossbars, home banks with their DRAM ports, the RDMA engine.
//!
//! ```text
//!  cu0 -> l1_0 -+-> requests -+-> bank_delay0 -> bank0 -> dram_port0 -> mem0
//!  cu1 -> l1_1 -+             +-> bank_delay1 -> bank1 -> dram_port1 -> mem1
//!  far_req -> engine -+       +-> engine_delay -> engine -> net_req
//!          ^-- answers <- answer_delay0, 1, engine_answer_delay
//! ```

use super::dram_port::dram_port;
use super::engine::rdma_engine;
use super::msg::{RdmaReq, RdmaRsp};
use super::params::RdmaFabricParams;
use crate::fabric::BANK_HIT;
use crate::join::{pass_in, pass_out, silence};
use crate::l1::mgcc_l1;
use crate::l2::l2_wb;
use crate::msg::*;
use crate::params::Tsm;
use std::cell::OnceCell;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::wait::Wait;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Modules of a GPU.
struct Parts {
    l1: Arc<Module>,
    bank: Arc<Module>,
    dram_port: Arc<Module>,
    engine: Arc<Module>,
    requests: Arc<Module>,
    answers: Arc<Module>,
    /// Of requests before a bank, of requests before the engine, of answers.
    request_wait: Wait,
    engine_wait: Wait,
    answer_wait: Wait,
}

impl Parts {
    fn new(p: &RdmaFabricParams) -> Result<Parts, BlockError> {
        let (r, t) = (&p.rdma, p.rdma.gpu());
        let (cus, banks) = (r.tsm.cus, r.tsm.banks);
        let part = |made: Result<Arc<Module>, ElabErrors>| {
            made.map_err(|errors| BlockError::Elab { block: "rdma-gpu".into(), errors })
        };
        let name = |what: &str| format!("rdma_{what}_{}", r.tag());
        // A line of this GPU goes to its bank, any other one to the engine.
        let own = OnceCell::new();
        let to = |m: &UpReq| {
            let own = *own.get_or_init(|| input::<Bits>("own_gpu", t.gpu_bits()));
            let width = bits_for(u64::from(banks) + 1);
            mux(r.home_of(m.line).eq(own), t.bank_of(m.line).zext(width), lit(u64::from(banks), width))
        };
        let back = |m: &UpRsp| mux(m.dst.ge(u64::from(cus)), lit(u64::from(cus), m.dst.width()), m.dst);
        // The crossbar itself takes one cycle.
        let further = p.crossbar_latency - 1;
        let before = further + p.l2_latency - BANK_HIT;
        Ok(Parts {
            l1: mgcc_l1(&p.l1())?,
            bank: l2_wb(&p.l2())?,
            dram_port: dram_port(&r.bank())?,
            engine: rdma_engine(r)?,
            requests: part(crossbar::<UpReq>(&name("req_xbar"), cus + 1, banks + 1, &t, to))?,
            answers: part(crossbar::<UpRsp>(&name("rsp_xbar"), banks + 1, cus + 1, &t, back))?,
            request_wait: Wait::new::<UpReq>("tsm-gpu", &name("req_wait"), before, &t)?,
            engine_wait: Wait::new::<UpReq>("tsm-gpu", &name("engine_wait"), further, &t)?,
            answer_wait: Wait::new::<UpRsp>("tsm-gpu", &name("rsp_wait"), further, &t)?,
        })
    }
}

/// Builds a GPU. Ports: input `own_gpu`; `cuC_req`, `cuC_rsp`, `cuC_stall`; `memB_req`, `memB_rsp` ([`DramReq`], [`DramRsp`]); `net_req`, `net_rsp`, `far_req`, `far_rsp`.
///
/// # Errors
/// A parameter that one of its blocks refuses.
pub(super) fn gpu_module(p: &RdmaFabricParams) -> Result<Arc<Module>, BlockError> {
    let parts = Parts::new(p)?;
    let built = Module::build(&format!("rdma_gpu_{}", p.tag()), ModuleKind::Fabric, || {
        doc("One GPU of an MGPU-RDMA fabric: L1s, crossbars, home banks, RDMA engine.");
        param("cus", p.rdma.tsm.cus);
        param("banks", p.rdma.tsm.banks);
        Gpu::new(p, &parts).wire(&parts);
    });
    built.map_err(|errors| BlockError::Elab { block: "rdma-gpu".into(), errors })
}

struct Gpu<'a> {
    p: &'a RdmaFabricParams,
    /// Widths inside the GPU, and at a bank.
    t: Tsm,
    home: Tsm,
    own: Bits,
    l1s: Vec<InstanceRef>,
    banks: Vec<InstanceRef>,
    dram_ports: Vec<InstanceRef>,
    engine: InstanceRef,
    requests: InstanceRef,
    answers: InstanceRef,
}

impl<'a> Gpu<'a> {
    fn new(p: &'a RdmaFabricParams, parts: &Parts) -> Gpu<'a> {
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        let r = &p.rdma;
        Gpu {
            p,
            t: r.gpu(),
            home: r.bank(),
            own: input::<Bits>("own_gpu", r.tsm.gpu_bits()),
            l1s: many("l1_", &parts.l1, r.tsm.cus),
            banks: many("bank", &parts.bank, r.tsm.banks),
            dram_ports: many("dram_port", &parts.dram_port, r.tsm.banks),
            engine: instance("engine", &parts.engine),
            requests: instance("requests", &parts.requests),
            answers: instance("answers", &parts.answers),
        }
    }

    fn wire(&self, parts: &Parts) {
        self.requests.drive_bits("own_gpu", self.own);
        self.wire_l1s();
        self.wire_banks(parts);
        self.wire_engine(parts);
    }

    fn wire_l1s(&self) {
        let (t, cu) = (&self.t, self.p.rdma.tsm.cu());
        for (c, l1) in self.l1s.iter().enumerate() {
            l1.drive_bits("own", lit(c as u64, t.cu_bits()));
            pass_in::<CuReq>(l1, "cu_req", &format!("cu{c}_req"), &cu);
            pass_out::<CuRsp>(l1, "cu_rsp", &format!("cu{c}_rsp"), &cu);
            let stall = l1.out_bits("stall");
            output::<Bits>(&format!("cu{c}_stall"), stall.width()).set(stall);
            connect::<UpReq>(l1, "up_req", &self.requests, &format!("in{c}"), t);
            connect::<UpRsp>(&self.answers, &format!("out{c}"), l1, "dn_rsp", t);
            silence::<Roll>(l1, "roll", t);
            l1.drive_bits("roll_ack_ready", lit(1, 1));
        }
    }

    fn wire_banks(&self, parts: &Parts) {
        let (t, home) = (&self.t, &self.home);
        for (b, (bank, port)) in self.banks.iter().zip(&self.dram_ports).enumerate() {
            bank.drive_bits("own_gpu", self.own);
            port.drive_bits("own_gpu", self.own);
            let (input, output) = (format!("in{b}"), format!("out{b}"));
            let request = (&self.requests, output.as_str());
            parts.request_wait.join::<UpReq>(&format!("bank_delay{b}"), request, (bank, "l1_req"), t);
            let answer = (&self.answers, input.as_str());
            parts.answer_wait.join::<UpRsp>(&format!("answer_delay{b}"), (bank, "l1_rsp"), answer, t);
            connect::<UmcReq>(bank, "mem_req", port, "req", home);
            connect::<UmcRsp>(port, "rsp", bank, "mem_rsp", home);
            pass_out::<DramReq>(port, "dram_req", &format!("mem{b}_req"), home);
            pass_in::<DramRsp>(port, "dram_rsp", &format!("mem{b}_rsp"), home);
            silence::<Roll>(bank, "roll", home);
            silence::<Maint>(bank, "maint", &());
            bank.drive_bits("roll_ack_ready", lit(1, 1));
            bank.drive_bits("maint_done_ready", lit(1, 1));
        }
    }

    fn wire_engine(&self, parts: &Parts) {
        let (t, r) = (&self.t, &self.p.rdma);
        let (engine, cus, banks) = (&self.engine, r.tsm.cus, r.tsm.banks);
        engine.drive_bits("own_gpu", self.own);
        let away = format!("out{banks}");
        parts.engine_wait.join::<UpReq>("engine_delay", (&self.requests, &away), (engine, "l1_req"), t);
        let back = format!("in{banks}");
        let answers = (&self.answers, back.as_str());
        parts.answer_wait.join::<UpRsp>("engine_answer_delay", (engine, "l1_rsp"), answers, t);
        connect::<UpReq>(engine, "bank_req", &self.requests, &format!("in{cus}"), t);
        connect::<UpRsp>(&self.answers, &format!("out{cus}"), engine, "bank_rsp", t);
        pass_out::<RdmaReq>(engine, "net_req", "net_req", r);
        pass_in::<RdmaRsp>(engine, "net_rsp", "net_rsp", r);
        pass_in::<RdmaReq>(engine, "far_req", "far_req", r);
        pass_out::<RdmaRsp>(engine, "far_rsp", "far_rsp", r);
    }
}
