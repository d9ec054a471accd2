//! The ports of a memory controller: channels of [`weft_spandex::msg::MemReq`] and [`weft_spandex::msg::ControllerRsp`].
//!
//! A transaction's number is that of the TBE, above it that of the bank, which is the line's lowest bits.

use crate::family::MemOp;
use crate::family::tsm::lane::LanePorts;
use crate::port::{PortError, input, output};
use weft_engine::{InPort, OutPort, PinList, Pins, Sim};

/// Bits of a transaction's number that are the TBE's.
pub(super) const TBE_BITS: u32 = 6;

/// Handles of a channel's ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControllerPorts {
    req_valid: OutPort,
    req_ready: InPort,
    write: OutPort,
    tbe: OutPort,
    line: OutPort,
    data: OutPort,
    rsp_valid: InPort,
    rsp_ready: OutPort,
    rsp_bank: InPort,
    rsp_tbe: InPort,
    rsp_data: InPort,
}

impl LanePorts for ControllerPorts {
    fn find(sim: &Sim, prefix: &str) -> Result<ControllerPorts, PortError> {
        let o = |name: &str| output(sim, &format!("{prefix}_req_{name}"));
        let i = |name: &str| input(sim, &format!("{prefix}_rsp_{name}"));
        Ok(ControllerPorts {
            req_valid: o("valid")?,
            req_ready: input(sim, &format!("{prefix}_req_ready"))?,
            write: o("write")?,
            tbe: o("tbe")?,
            line: o("line")?,
            data: o("data")?,
            rsp_valid: i("valid")?,
            rsp_ready: output(sim, &format!("{prefix}_rsp_ready"))?,
            rsp_bank: i("bank")?,
            rsp_tbe: i("tbe")?,
            rsp_data: i("data")?,
        })
    }

    fn request(&self) -> (OutPort, InPort) {
        (self.req_valid, self.req_ready)
    }

    fn pins(&self) -> PinList {
        let inputs = vec![self.req_ready, self.rsp_valid, self.rsp_bank, self.rsp_tbe, self.rsp_data];
        let outputs = vec![self.req_valid, self.write, self.tbe, self.line, self.data, self.rsp_ready];
        PinList { inputs, outputs }
    }

    fn asked(&self, sim: &mut impl Pins) -> (MemOp, u64, u64) {
        let op = if sim.get(self.write) == 1 { MemOp::Write } else { MemOp::Read };
        let line = sim.get(self.line);
        // The port of the bank's number cuts off what is not of the bank.
        let bank = line & 0x3f;
        (op, line, bank << TBE_BITS | sim.get(self.tbe))
    }

    /// Banks write whole lines.
    fn write(&self, sim: &mut impl Pins, line: &mut [u64]) {
        line.copy_from_slice(sim.limbs(self.data));
    }

    fn perform(&self, _: &mut impl Pins, _: &mut [u64]) -> u64 {
        unreachable!("an LLC bank sends memory no atomics")
    }

    fn answers(&self, op: MemOp) -> bool {
        op == MemOp::Read
    }

    fn answer(&self) -> InPort {
        self.rsp_valid
    }

    /// A bank takes what is more urgent first.
    fn taken(&self, sim: &mut impl Pins) -> bool {
        sim.get(self.rsp_ready) == 1
    }

    fn show(&self, sim: &mut impl Pins, _: MemOp, id: u64, line: &[u64], _: u64) {
        sim.set(self.rsp_bank, id >> TBE_BITS);
        sim.set(self.rsp_tbe, id & ((1 << TBE_BITS) - 1));
        sim.set_limbs(self.rsp_data, line);
    }
}
