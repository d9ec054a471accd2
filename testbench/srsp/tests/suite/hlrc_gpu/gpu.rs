//! L1s and banks of hLRC or DeNovo-B with plain crossbars between them; CUs and memory are outside.

use std::sync::Arc;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_rtl::prelude::*;
use weft_srsp::fabric::{System, ToL1};
use weft_srsp::hlrc_l2::{HlrcL2Params, hlrc_l2};
use weft_srsp::msg::{MemReq, MemRsp, Req, Rsp, Wb};
use weft_srsp::registering::RegisteringParams;

/// Builds it; ports `cuC_req`, `cuC_rsp`, `memB_req`, `memB_rsp`.
pub fn gpu<I: System>(l1: &RegisteringParams<I>, l2: &HlrcL2Params) -> Arc<Module> {
    let s = &l1.shape.srsp;
    assert_eq!(s, &l2.bank.srsp);
    let name = |what: &str| format!("hlrc_{what}_{}", s.tag());
    let bank_of = |addr: Bits| s.bank_of(s.line_of(addr));
    let (n, banks) = (s.cus, s.banks);
    let req = crossbar::<Req>(&name("req"), 1, banks, s, |m| bank_of(m.atomic.addr)).expect("legal");
    let wb = crossbar::<Wb>(&name("wb"), 1, banks, s, |m| bank_of(m.atomic.addr)).expect("legal");
    let rsp = crossbar::<Rsp>(&name("rsp"), banks, n, s, |m| m.dst).expect("legal");
    let probe = crossbar::<I::Probe>(&name("probe"), banks, n, s, ToL1::dst).expect("legal");
    let (cache, bank) = (I::l1(l1).expect("legal"), hlrc_l2(l2).expect("legal"));
    Module::build("hlrc_gpu_under_test", ModuleKind::Fabric, || {
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        let (l1s, placed) = (many("l1_", &cache, n), many("bank", &bank, banks));
        let (reqs, wbs) = (many("req", &req, n), many("wb", &wb, n));
        let (rsps, probes) = (instance("rsps", &rsp), instance("probes", &probe));
        for (c, l1) in l1s.iter().enumerate() {
            l1.drive_bits("own", lit(c as u64, s.cu_bits()));
            pass_in::<CuReq>(l1, "cu_req", &format!("cu{c}_req"), &s.cu());
            pass_out::<CuRsp>(l1, "cu_rsp", &format!("cu{c}_rsp"), &s.cu());
            connect::<Req>(l1, "req", &reqs[c], "in0", s);
            connect::<Wb>(l1, "wb", &wbs[c], "in0", s);
            connect::<Rsp>(&rsps, &format!("out{c}"), l1, "rsp", s);
            connect::<I::Probe>(&probes, &format!("out{c}"), l1, "probe", s);
            for (b, bank) in placed.iter().enumerate() {
                connect::<Req>(&reqs[c], &format!("out{b}"), bank, &format!("req{c}"), s);
                connect::<Wb>(&wbs[c], &format!("out{b}"), bank, &format!("wb{c}"), s);
            }
        }
        for (b, bank) in placed.iter().enumerate() {
            bank.drive_bits("own", lit(b as u64, s.bank_bits()));
            connect::<Rsp>(bank, "rsp", &rsps, &format!("in{b}"), s);
            connect::<I::Probe>(bank, "probe", &probes, &format!("in{b}"), s);
            pass_out::<MemReq>(bank, "mem_req", &format!("mem{b}_req"), s);
            pass_in::<MemRsp>(bank, "mem_rsp", &format!("mem{b}_rsp"), s);
        }
    })
    .expect("legal")
}
