//! The DRAM channel behind a lane of a UMC (mgcc.md section 7): one transaction reads a line, writes some of its bytes, or performs an atomic, and always answers with the line as it
//! then is.

use crate::check::values::amo_result;
use crate::dram::{Channel, DramTiming, Reply};
use crate::family::{MemOp, Transfer};
use crate::lanes;
use crate::memory::Lines;
use crate::port::{PortError, input, output};
use serde::{Deserialize, Serialize};
use weft_blocks::msg::AmoOp;
use weft_engine::{InPort, OutPort, PinList, Pins, Sim};
use weft_mgcc::msg::TsmOp;
use weft_rtl::prelude::HwEnum;

/// Limbs of a line.
pub(in crate::family) const LIMBS: usize = 8;

/// The ports of a memory channel whose requests are answered with the line and, of an atomic, the old value.
pub(in crate::family) trait LanePorts: Copy + Send + 'static {
    /// Those that begin with `prefix`.
    ///
    /// # Errors
    /// A design without one of them.
    fn find(sim: &Sim, prefix: &str) -> Result<Self, PortError>;

    /// `valid` of requests and what makes the channel ready.
    fn request(&self) -> (OutPort, InPort);

    /// All of them.
    fn pins(&self) -> PinList;

    /// What is asked, of which line, under which number.
    fn asked(&self, sim: &mut impl Pins) -> (MemOp, u64, u64);

    /// Replaces the bytes of a write in the line.
    fn write(&self, sim: &mut impl Pins, line: &mut [u64]);

    /// Performs an atomic in the line; the old value, of 4 bytes in the low half.
    fn perform(&self, sim: &mut impl Pins, line: &mut [u64]) -> u64;

    /// A request of this kind is answered.
    fn answers(&self, op: MemOp) -> bool {
        let _ = op;
        true
    }

    /// `valid` of answers.
    fn answer(&self) -> InPort;

    /// The answer on the port is taken in this cycle.
    fn taken(&self, sim: &mut impl Pins) -> bool {
        let _ = sim;
        true
    }

    /// Shows an answer: the line and the old value.
    fn show(&self, sim: &mut impl Pins, op: MemOp, id: u64, line: &[u64], old: u64);
}

/// Handles of a channel's ports.
#[derive(Clone, Copy, Debug)]
pub(in crate::family) struct Ports {
    req_valid: OutPort,
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

impl LanePorts for Ports {
    fn find(sim: &Sim, prefix: &str) -> Result<Ports, PortError> {
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

    fn request(&self) -> (OutPort, InPort) {
        (self.req_valid, self.req_ready)
    }

    fn pins(&self) -> PinList {
        let Ports { req_valid, op, line, mask, data, amo, sgn, word, wide, req_id, .. } = *self;
        let inputs = vec![self.req_ready, self.rsp_valid, self.rsp_id, self.rsp_data, self.rsp_old];
        PinList { inputs, outputs: vec![req_valid, op, line, mask, data, amo, sgn, word, wide, req_id] }
    }

    fn asked(&self, sim: &mut impl Pins) -> (MemOp, u64, u64) {
        let op = match sim.get(self.op) {
            op if op == TsmOp::Wr.encoding() => MemOp::Write,
            op if op == TsmOp::Amo.encoding() => MemOp::Atomic,
            _ => MemOp::Read,
        };
        (op, sim.get(self.line), sim.get(self.req_id))
    }

    fn write(&self, sim: &mut impl Pins, line: &mut [u64]) {
        merge(line, sim.get(self.mask), sim.limbs(self.data));
    }

    fn perform(&self, sim: &mut impl Pins, line: &mut [u64]) -> u64 {
        let (amo, signed) = (amo_of(sim.get(self.amo)), sim.get(self.sgn) == 1);
        let (word, wide) = (sim.get(self.word) as usize, sim.get(self.wide) == 1);
        let operands = [sim.limbs(self.data)[0], sim.limbs(self.data)[1]];
        update(line, word, wide, |old, size| amo_result(amo, signed, old, operands[0], operands[1], size))
    }

    fn answer(&self) -> InPort {
        self.rsp_valid
    }

    fn show(&self, sim: &mut impl Pins, _: MemOp, id: u64, line: &[u64], old: u64) {
        sim.set(self.rsp_id, id);
        sim.set_limbs(self.rsp_data, line);
        sim.set(self.rsp_old, old);
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
    /// Number of the answer on the port.
    pub answer: Option<u64>,
    /// It is not taken in the cycle in which the lane acted last.
    held: bool,
    /// First cycle in which the lane must act even if its unit rests.
    pub due: Option<u64>,
}

impl Lane {
    /// An idle lane.
    pub fn new(timing: DramTiming) -> Lane {
        Lane {
            channel: Channel::new(timing),
            ready: false,
            refused: false,
            answer: None,
            held: false,
            due: Some(0),
        }
    }

    /// Number of the answer that is taken in this cycle.
    pub fn answered(&self) -> Option<u64> {
        self.answer.filter(|_| !self.held)
    }

    /// Nothing waits and no answer is on its way.
    pub fn is_idle(&self) -> bool {
        self.channel.is_idle() && self.answer.is_none()
    }

    /// Acts in cycle `now` as channel `number`, whose line 0 is line `first` of memory, and says when it must act next. Returns the request taken.
    fn tick<P: LanePorts>(
        &mut self,
        sim: &mut impl Pins,
        ports: &P,
        (number, first): (usize, u64),
        memory: &mut impl Lines,
    ) -> Option<Transfer> {
        let now = sim.cycle();
        self.channel.advance(now);
        let request = self.take_request(now, sim, ports, (number, first), memory);
        self.offer(now, sim, ports);
        self.due =
            if self.answer.is_some() || self.refused { Some(now + 1) } else { self.channel.next_event() };
        request
    }

    fn take_request<P: LanePorts>(
        &mut self,
        now: u64,
        sim: &mut impl Pins,
        ports: &P,
        (channel, first): (usize, u64),
        memory: &mut impl Lines,
    ) -> Option<Transfer> {
        let room = self.channel.has_room();
        let (valid, ready) = ports.request();
        if room != self.ready {
            self.ready = room;
            sim.set(ready, u64::from(room));
        }
        let offered = sim.get(valid) == 1;
        self.refused = offered && !room;
        if !(offered && room) {
            return None;
        }
        let (op, line, id) = ports.asked(sim);
        let line = first + line;
        let addr = line * u64::from(self.channel.timing().line);
        let mut data = vec![0; LIMBS];
        memory.read_limbs(addr, &mut data);
        let old = match op {
            MemOp::Read => 0,
            MemOp::Write => {
                ports.write(sim, &mut data);
                0
            }
            MemOp::Atomic => ports.perform(sim, &mut data),
        };
        if op != MemOp::Read {
            memory.write_limbs(addr, &data);
        }
        data.extend([old, op as u64]);
        let answered = ports.answers(op);
        self.channel.admit(now, addr, op != MemOp::Read, answered.then_some(Reply { id, data }));
        Some(Transfer::Request { channel, op, answered, line, id })
    }

    /// Takes the answer of the cycle before off the port, once it is taken, and puts the next one there.
    fn offer<P: LanePorts>(&mut self, now: u64, sim: &mut impl Pins, ports: &P) {
        if self.held {
            self.held = !ports.taken(sim);
            return;
        }
        let stood = self.answer.take().is_some();
        if let Some(reply) = self.channel.take_reply(now) {
            let op = if reply.data[LIMBS + 1] == MemOp::Atomic as u64 { MemOp::Atomic } else { MemOp::Read };
            ports.show(sim, op, reply.id, &reply.data[..LIMBS], reply.data[LIMBS]);
            self.answer = Some(reply.id);
            self.held = !ports.taken(sim);
        }
        if stood != self.answer.is_some() {
            sim.set(ports.answer(), u64::from(self.answer.is_some()));
        }
    }
}

/// A channel at its ports.
#[derive(Clone)]
pub(in crate::family) struct Stand<P> {
    pub number: usize,
    /// Line of memory that it calls 0.
    pub first: u64,
    pub ports: P,
    pub lane: Lane,
}

impl<P: LanePorts> lanes::Lane for Stand<P> {
    fn number(&self) -> usize {
        self.number
    }

    fn request(&self) -> OutPort {
        self.ports.request().0
    }

    fn pins(&self) -> PinList {
        self.ports.pins()
    }

    fn due(&self) -> Option<u64> {
        self.lane.due
    }

    fn tick(&mut self, pins: &mut impl Pins, memory: &mut impl Lines) -> Option<Transfer> {
        self.lane.tick(pins, &self.ports, (self.number, self.first), memory)
    }

    fn answered(&self) -> Option<u64> {
        self.lane.answered()
    }

    fn state(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.lane).expect("plain data is always encoded")
    }

    fn resume(&mut self, state: &[u8]) -> bool {
        postcard::from_bytes(state).map(|lane| self.lane = lane).is_ok()
    }
}

/// Replaces the bytes of a mask in a line.
pub(in crate::family) fn merge(line: &mut [u64], mask: u64, new: &[u64]) {
    for (limb, (to, from)) in line.iter_mut().zip(new).enumerate() {
        let bits = bits_of((mask >> (8 * limb)) as u8);
        *to = *to & !bits | from & bits;
    }
}

/// Updates a word of a line, `word` its first 4 bytes, by its old value and size in bytes; the old value, of 4 bytes in the low half.
pub(in crate::family) fn update(
    line: &mut [u64],
    word: usize,
    wide: bool,
    new: impl Fn(u64, u32) -> u64,
) -> u64 {
    let (size, shift, keep) = if wide { (8, 0, u64::MAX) } else { (4, 32 * (word % 2), 0xffff_ffff) };
    let limb = &mut line[word / 2];
    let old = *limb >> shift & keep;
    *limb = *limb & !(keep << shift) | (new(old, size) & keep) << shift;
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
