//! The ports of a memory channel behind an LLC bank: channels of [`weft_spandex::msg::MemReq`] and [`weft_spandex::msg::MemRsp`].

use crate::family::MemOp;
use crate::family::tsm::lane::LanePorts;
use crate::port::{PortError, input, output};
use weft_engine::{InPort, OutPort, Sim};

/// Handles of a channel's ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct BankPorts {
    req_valid: OutPort,
    req_ready: InPort,
    write: OutPort,
    tbe: OutPort,
    line: OutPort,
    data: OutPort,
    rsp_valid: InPort,
    rsp_tbe: InPort,
    rsp_data: InPort,
}

impl LanePorts for BankPorts {
    fn find(sim: &Sim, prefix: &str) -> Result<BankPorts, PortError> {
        let o = |name: &str| output(sim, &format!("{prefix}_req_{name}"));
        let i = |name: &str| input(sim, &format!("{prefix}_rsp_{name}"));
        Ok(BankPorts {
            req_valid: o("valid")?,
            req_ready: input(sim, &format!("{prefix}_req_ready"))?,
            write: o("write")?,
            tbe: o("tbe")?,
            line: o("line")?,
            data: o("data")?,
            rsp_valid: i("valid")?,
            rsp_tbe: i("tbe")?,
            rsp_data: i("data")?,
        })
    }

    fn request(&self) -> (OutPort, InPort) {
        (self.req_valid, self.req_ready)
    }

    fn asked(&self, sim: &mut Sim) -> (MemOp, u64, u64) {
        let op = if sim.get(self.write) == 1 { MemOp::Write } else { MemOp::Read };
        (op, sim.get(self.line), sim.get(self.tbe))
    }

    /// A bank writes whole lines.
    fn write(&self, sim: &mut Sim, line: &mut [u64]) {
        line.copy_from_slice(sim.limbs(self.data));
    }

    fn perform(&self, _: &mut Sim, _: &mut [u64]) -> u64 {
        unreachable!("an LLC bank sends memory no atomics")
    }

    fn answers(&self, op: MemOp) -> bool {
        op == MemOp::Read
    }

    fn answer(&self) -> InPort {
        self.rsp_valid
    }

    fn show(&self, sim: &mut Sim, _: MemOp, id: u64, line: &[u64], _: u64) {
        sim.set(self.rsp_tbe, id);
        sim.set_limbs(self.rsp_data, line);
    }
}
