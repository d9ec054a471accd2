//! The world of [`crate::hlrc_l1::world`] around the L1 of DeNovo-B.

use crate::hlrc_l1::world::{Registers, WorldOf};
use crate::l1_bench::banks::OWN;
use std::sync::Arc;
use weft_rtl::ir::Module;
use weft_srsp::Shape;
use weft_srsp::denovo_b_l1::{DenovoL1Params, denovo_b_l1};
use weft_srsp::msg::{OwnerOp, OwnerProbe};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::{Bench, Msg};

/// The L1 of DeNovo-B.
pub struct DenovoB;

/// A run.
pub type World = WorldOf<DenovoB>;

impl Registers for DenovoB {
    type Params = DenovoL1Params;
    const STORES: bool = true;

    fn module(p: &DenovoL1Params) -> Arc<Module> {
        denovo_b_l1(p).expect("legal parameters")
    }
    fn system(p: &DenovoL1Params) -> &Srsp {
        &p.shape.srsp
    }
    fn connect(b: &mut Bench, s: &Srsp) {
        b.source::<OwnerProbe>("probe", s);
    }
    fn probe(s: &Srsp, read: bool, addr: u64) -> Msg {
        let op = if read { OwnerOp::Read } else { OwnerOp::Revoke };
        Msg::of::<OwnerProbe>(s, &[("op", op as u64), ("addr", addr), ("req", OWN)])
    }
}

/// A small L1: 2 sets of 2 ways, short queues.
pub fn small() -> DenovoL1Params {
    let srsp = Srsp { cus: 4, addr_bits: 32, line: 64, banks: 2, mshrs: 3, wbt: 3 };
    DenovoL1Params::published(srsp).sized(|s| Shape {
        size: 256,
        ways: 2,
        latency: 3,
        sfifo: 4,
        targets: 3,
        sq: 2,
        ..s
    })
}
