//! The DRAM channel behind a lane of a UMC (mgcc.md section 7): one transaction reads a line, writes some of its bytes, or performs an atomic, and always answers with the line as it
//! then is.

use crate::check::values::amo_result;
use crate::dram::{Channel, DramTiming, Reply};
use crate::family::{MemOp, Transfer};
use crate::memory::Memory;
use crate::port::{PortError, input, output};
use serde::{Deserialize, Serialize};
use weft_blocks::msg::AmoOp;
use weft_engine::{InPort, OutPort, Sim};
use weft_mgcc::msg::TsmOp;
use weft_rtl::prelude::HwEnum;

/// Limbs of a line.
const LIMBS: usize = 8;

/// Handles of a channel's ports.
#[derive(Clone, Copy, Debug)]
pub(in crate::family) struct Ports {
    pub req_valid: OutPort,
    req_ready: InPort,
    op: OutPort,
    line: OutPort,
    mask: OutPort,
    data: OutPort,
    amo: OutPort,
    sgn: OutPort,
    word: OutPort,
    wide: OutPort,
    req_id: OutPort,
    rsp_valid: InPort,
    rsp_id: InPort,
    rsp_data: InPort,
    rsp_old: InPort,
}

impl Ports {
    /// Those that begin with `prefix`.
    pub fn find(sim: &Sim, prefix: &str) -> Result<Ports, PortError> {
        let o = |name: &str| output(sim, &format!("{prefix}_dram_{name}"));
        let i = |name: &str| input(sim, &format!("{prefix}_dram_{name}"));
        Ok(Ports {
            req_valid: o("req_valid")?,
            req_ready: i("req_ready")?,
            op: o("req_op")?,
            line: o("req_line")?,
            mask: o("req_mask")?,
            data: o("req_data")?,
            amo: o("req_amo")?,
            sgn: o("req_sgn")?,
            word: o("req_word")?,
            wide: o("req_wide")?,
            req_id: o("req_id")?,
            rsp_valid: i("rsp_valid")?,
            rsp_id: i("rsp_id")?,
            rsp_data: i("rsp_data")?,
            rsp_old: i("rsp_old")?,
        })
    }
}

/// A channel and what stands on its port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::family) struct Lane {
    pub channel: Channel,
    /// `req_ready` as driven.
    ready: bool,
    /// A request was offered and not taken.
    refused: bool,
    /// Number of the answer on the port, which is taken at once.
    pub answer: Option<u64>,
    /// First cycle in which the lane must act even if its unit rests.
    pub due: Option<u64>,
}

impl Lane {
    /// An idle lane.
    pub fn new(timing: DramTiming) -> Lane {
        Lane { channel: Channel::new(timing), ready: false, refused: false, answer: None, due: Some(0) }
    }

    /// Nothing waits and no answer is on its way.
    pub fn is_idle(&self) -> bool {
        self.channel.is_idle() && self.answer.is_none()
    }

    /// Acts in cycle `now` as channel `number`, whose line 0 is line `first` of memory, and says when it must act next. Returns the request taken.
    pub fn tick(
        &mut self,
        sim: &mut Sim,
        ports: &Ports,
        (number, first): (usize, u64),
        memory: &mut Memory,
    ) -> Option<Transfer> {
        let now = sim.cycle();
        self.channel.advance(now);
        let request = self.take_request(now, sim, ports, (number, first), memory);
        self.offer(now, sim, ports);
        self.due =
            if self.answer.is_some() || self.refused { Some(now + 1) } else { self.channel.next_event() };
        request
    }

    fn take_request(
        &mut self,
        now: u64,
        sim: &mut Sim,
        ports: &Ports,
        (channel, first): (usize, u64),
        memory: &mut Memory,
    ) -> Option<Transfer> {
        let room = self.channel.has_room();
        if room != self.ready {
            self.ready = room;
            sim.set(ports.req_ready, u64::from(room));
        }
        let offered = sim.get(ports.req_valid) == 1;
        self.refused = offered && !room;
        if !(offered && room) {
            return None;
        }
        let op = match sim.get(ports.op) {
            op if op == TsmOp::Wr.encoding() => MemOp::Write,
            op if op == TsmOp::Amo.encoding() => MemOp::Atomic,
            _ => MemOp::Read,
        };
        let (line, id) = (first + sim.get(ports.line), sim.get(ports.req_id));
        let addr = line * u64::from(self.channel.timing().line);
        let mut data = vec![0; LIMBS];
        memory.read_limbs(addr, &mut data);
        let old = match op {
            MemOp::Read => 0,
            MemOp::Write => write(sim, ports, &mut data),
            MemOp::Atomic => perform(sim, ports, &mut data),
        };
        if op != MemOp::Read {
            memory.write_limbs(addr, &data);
        }
        data.push(old);
        self.channel.admit(now, addr, op != MemOp::Read, Some(Reply { id, data }));
        Some(Transfer::Request { channel, op, answered: true, line, id })
    }

    /// Takes the answer of the cycle before off the port and puts the next one there.
    fn offer(&mut self, now: u64, sim: &mut Sim, ports: &Ports) {
        let stood = self.answer.take().is_some();
        if let Some(reply) = self.channel.take_reply(now) {
            sim.set(ports.rsp_id, reply.id);
            sim.set_limbs(ports.rsp_data, &reply.data[..LIMBS]);
            sim.set(ports.rsp_old, reply.data[LIMBS]);
            self.answer = Some(reply.id);
        }
        if stood != self.answer.is_some() {
            sim.set(ports.rsp_valid, u64::from(self.answer.is_some()));
        }
    }
}

/// Replaces the bytes of the mask; there is no old value.
fn write(sim: &mut Sim, ports: &Ports, data: &mut [u64]) -> u64 {
    let mask = sim.get(ports.mask);
    let new = sim.limbs(ports.data);
    for (limb, (to, from)) in data.iter_mut().zip(new).enumerate() {
        let bits = bits_of((mask >> (8 * limb)) as u8);
        *to = *to & !bits | from & bits;
    }
    0
}

/// Performs the atomic; the old value, of 4 bytes in the low half.
fn perform(sim: &mut Sim, ports: &Ports, data: &mut [u64]) -> u64 {
    let (amo, signed) = (amo_of(sim.get(ports.amo)), sim.get(ports.sgn) == 1);
    let (word, wide) = (sim.get(ports.word) as usize, sim.get(ports.wide) == 1);
    let operands = [sim.limbs(ports.data)[0], sim.limbs(ports.data)[1]];
    let (size, shift, keep) = if wide { (8, 0, u64::MAX) } else { (4, 32 * (word % 2), 0xffff_ffff) };
    let limb = &mut data[word / 2];
    let old = *limb >> shift & keep;
    let new = amo_result(amo, signed, old, operands[0], operands[1], size);
    *limb = *limb & !(keep << shift) | new << shift;
    old
}

/// The atomic of an encoding.
fn amo_of(code: u64) -> AmoOp {
    use AmoOp::*;
    let all = [Add, Sub, Inc, Dec, And, Or, Xor, Min, Max, Exch, Cas, Fadd32];
    all.into_iter().find(|op| op.encoding() == code).unwrap_or(Add)
}

/// The bits of some bytes of a limb.
pub(in crate::family) fn bits_of(bytes: u8) -> u64 {
    (0..8).filter(|byte| bytes >> byte & 1 == 1).fold(0, |bits, byte| bits | 0xff << (8 * byte))
}
