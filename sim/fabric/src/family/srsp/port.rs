//! The ports of a memory channel behind an L2 bank: channels of [`weft_srsp::msg::MemReq`] and [`weft_srsp::msg::MemRsp`].

use crate::family::MemOp;
use crate::family::tsm::lane::{LanePorts, merge, update};
use crate::port::{PortError, input, output};
use weft_blocks::msg::AmoOp;
use weft_engine::{InPort, OutPort, PinList, Pins, Sim};
use weft_rtl::prelude::HwEnum;
use weft_srsp::msg::{MemOp as Code, SyncOp};

/// Handles of a channel's ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct BankPorts {
    req_valid: OutPort,
    req_ready: InPort,
    op: OutPort,
    id: OutPort,
    sync: OutPort,
    wide: OutPort,
    addr: OutPort,
    opnd: OutPort,
    cmp: OutPort,
    mask: OutPort,
    data: OutPort,
    rsp_valid: InPort,
    rsp_id: InPort,
    rsp_data: InPort,
}

impl LanePorts for BankPorts {
    fn find(sim: &Sim, prefix: &str) -> Result<BankPorts, PortError> {
        let o = |name: &str| output(sim, &format!("{prefix}_req_{name}"));
        let i = |name: &str| input(sim, &format!("{prefix}_rsp_{name}"));
        Ok(BankPorts {
            req_valid: o("valid")?,
            req_ready: input(sim, &format!("{prefix}_req_ready"))?,
            op: o("op")?,
            id: o("id")?,
            sync: o("atomic_op")?,
            wide: o("atomic_wide")?,
            addr: o("atomic_addr")?,
            opnd: o("atomic_opnd")?,
            cmp: o("atomic_cmp")?,
            mask: o("mask")?,
            data: o("data")?,
            rsp_valid: i("valid")?,
            rsp_id: i("id")?,
            rsp_data: i("data")?,
        })
    }

    fn request(&self) -> (OutPort, InPort) {
        (self.req_valid, self.req_ready)
    }

    fn pins(&self) -> PinList {
        let BankPorts { req_valid, op, id, sync, wide, addr, opnd, cmp, mask, data, .. } = *self;
        let inputs = vec![self.req_ready, self.rsp_valid, self.rsp_id, self.rsp_data];
        PinList { inputs, outputs: vec![req_valid, op, id, sync, wide, addr, opnd, cmp, mask, data] }
    }

    fn asked(&self, sim: &mut impl Pins) -> (MemOp, u64, u64) {
        let op = match sim.get(self.op) {
            op if op == Code::Wr.encoding() => MemOp::Write,
            op if op == Code::Amo.encoding() => MemOp::Atomic,
            _ => MemOp::Read,
        };
        (op, sim.get(self.addr) / 64, sim.get(self.id))
    }

    fn write(&self, sim: &mut impl Pins, line: &mut [u64]) {
        merge(line, sim.get(self.mask), sim.limbs(self.data));
    }

    fn perform(&self, sim: &mut impl Pins, line: &mut [u64]) -> u64 {
        let code = sim.get(self.sync);
        let word = (sim.get(self.addr) % 64 / 4) as usize;
        let (opnd, cmp) = (sim.get(self.opnd), sim.get(self.cmp));
        update(line, word, sim.get(self.wide) == 1, |old, size| result(code, old, opnd, cmp, size))
    }

    fn answer(&self) -> InPort {
        self.rsp_valid
    }

    /// Of an atomic the old value alone, in the lowest bits.
    fn show(&self, sim: &mut impl Pins, op: MemOp, id: u64, line: &[u64], old: u64) {
        sim.set(self.rsp_id, id);
        match op {
            MemOp::Atomic => {
                let mut data = vec![0; line.len()];
                data[0] = old;
                sim.set_limbs(self.rsp_data, &data);
            }
            _ => sim.set_limbs(self.rsp_data, line),
        }
    }
}

/// New value of a word after the atomic of an encoding.
fn result(code: u64, old: u64, opnd: u64, cmp: u64, size: u32) -> u64 {
    use SyncOp::*;
    let listed = [
        (Add, AmoOp::Add, false),
        (Sub, AmoOp::Sub, false),
        (Inc, AmoOp::Inc, false),
        (Dec, AmoOp::Dec, false),
        (And, AmoOp::And, false),
        (Or, AmoOp::Or, false),
        (Xor, AmoOp::Xor, false),
        (Min, AmoOp::Min, false),
        (Max, AmoOp::Max, false),
        (SMin, AmoOp::Min, true),
        (SMax, AmoOp::Max, true),
        (Exch, AmoOp::Exch, false),
        (St, AmoOp::Exch, false),
        (Cas, AmoOp::Cas, false),
        (Fadd32, AmoOp::Fadd32, false),
    ];
    match listed.into_iter().find(|(op, ..)| op.encoding() == code) {
        Some((_, amo, signed)) => crate::check::values::amo_result(amo, signed, old, opnd, cmp, size),
        // A load leaves the word as it is.
        None => old,
    }
}
