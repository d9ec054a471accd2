//! DRAM (behavioural): one channel behind each L2 bank, with banks, bandwidth and latency (rec.md section 9).
//!
//! ```text
//!  gG_memB_req -> queue -> bank (busy for a time) -> data bus (bytes per cycle) -> latency -> gG_memB_rsp
//!                    \---- reads and writes the memory when accepted
//! ```
//!
//! Data moves when a request is accepted, so a read sees every write that the channel accepted before it. Answers come in the order of
//! completion. The model touches a channel only while the unit behind its port is awake or an event of the channel is due.

mod channel;

pub use channel::{Channel, DramCounters, DramTiming, Reply, Request};

use crate::family::{MemOp, Transfer};
use crate::lanes::{self, Lanes, PartLanes};
use crate::memory::{Lines, Memory, SharedMemory};
use crate::port::{PortError, input, output};
use serde::{Deserialize, Serialize};
use weft_engine::runner::{Model, Problem};
use weft_engine::{InPort, OutPort, PinList, Pins, Sim};

/// Handles of a channel's ports.
#[derive(Clone, Copy, Debug)]
struct Ports {
    req_valid: OutPort,
    req_ready: InPort,
    write: OutPort,
    line: OutPort,
    req_data: OutPort,
    req_id: OutPort,
    rsp_valid: InPort,
    rsp_ready: OutPort,
    rsp_id: InPort,
    rsp_data: InPort,
}

impl Ports {
    fn find(sim: &Sim, prefix: &str) -> Result<Ports, PortError> {
        let o = |name: &str| output(sim, &format!("{prefix}_{name}"));
        let i = |name: &str| input(sim, &format!("{prefix}_{name}"));
        Ok(Ports {
            req_valid: o("req_valid")?,
            req_ready: i("req_ready")?,
            write: o("req_write")?,
            line: o("req_line")?,
            req_data: o("req_data")?,
            req_id: o("req_id")?,
            rsp_valid: i("rsp_valid")?,
            rsp_ready: o("rsp_ready")?,
            rsp_id: i("rsp_id")?,
            rsp_data: i("rsp_data")?,
        })
    }
}

/// A channel and what stands on its port.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lane {
    channel: Channel,
    /// `req_ready` as driven.
    ready: bool,
    /// A request was offered and not taken.
    refused: bool,
    /// An answer stands on the port.
    offering: bool,
    /// Its transaction number.
    id: u64,
    /// It is taken in the cycle in which the lane acted last.
    taken: bool,
    /// First cycle in which the lane must act even if its unit rests.
    due: Option<u64>,
}

/// A saved state that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the saved DRAM state is damaged or of another fabric; start the run anew")]
pub struct DramLoadError;

/// A lane at its ports.
#[derive(Clone)]
struct Stand {
    number: usize,
    ports: Ports,
    timing: DramTiming,
    lane: Lane,
}

/// All DRAM channels of a fabric, numbered by GPU, then bank.
#[derive(Clone)]
pub struct Dram {
    lanes: Lanes<Stand>,
    timing: DramTiming,
}

impl Dram {
    /// The channels behind ports `g0_mem0_req`... of a fabric of `gpus` GPUs with `banks` L2 banks each.
    ///
    /// # Errors
    /// A port that the design lacks.
    pub fn new(
        sim: &Sim,
        gpus: u32,
        banks: u32,
        timing: DramTiming,
        memory: Memory,
    ) -> Result<Dram, PortError> {
        let names = (0..gpus).flat_map(|g| (0..banks).map(move |b| format!("g{g}_mem{b}")));
        let lane = Lane {
            channel: Channel::new(timing),
            ready: false,
            refused: false,
            offering: false,
            id: 0,
            taken: false,
            due: Some(0),
        };
        let stand = |(number, name): (usize, String)| {
            Ok(Stand { number, ports: Ports::find(sim, &name)?, timing, lane: lane.clone() })
        };
        let lanes = names.enumerate().map(stand).collect::<Result<Vec<_>, _>>()?;
        Ok(Dram { lanes: Lanes::new(sim, lanes, memory), timing })
    }

    /// Bytes of memory from a physical address on; the host loads and reads memory here.
    pub fn read(&self, addr: u64, bytes: &mut [u8]) {
        self.lanes.memory.lock().read(addr, bytes);
    }

    /// The same in limbs.
    pub fn read_limbs(&self, addr: u64, limbs: &mut [u64]) {
        self.lanes.memory.lock().read_limbs(addr, limbs);
    }

    /// Replaces bytes of memory.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.lanes.memory.lock().write(addr, bytes);
    }

    /// Transfers of the cycle in which the channels acted last, for observers.
    pub fn transfers(&self) -> &[Transfer] {
        self.lanes.transfers()
    }

    /// See [`crate::family::Surroundings::are_apart`].
    pub fn are_apart(&self) -> bool {
        self.lanes.are_apart()
    }

    /// The memory behind the channels.
    pub fn memory(&self) -> SharedMemory {
        self.lanes.memory.alias()
    }

    /// See [`crate::family::Surroundings::by_part`].
    pub fn by_part(&mut self) -> Vec<(usize, &mut dyn PartLanes)> {
        self.lanes.by_part()
    }

    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        let lanes: Vec<&Lane> = self.lanes.in_order().into_iter().map(|stand| &stand.lane).collect();
        postcard::to_stdvec(&(lanes, &*self.lanes.memory.lock())).expect("plain data is always encoded")
    }

    /// Restores a state that [`Dram::save`] gave for the same fabric.
    ///
    /// # Errors
    /// Bytes that are damaged or of another fabric; the state is then unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), DramLoadError> {
        let (lanes, memory): (Vec<Lane>, Memory) = postcard::from_bytes(bytes).map_err(|_| DramLoadError)?;
        let mut own = self.lanes.in_order_mut();
        if lanes.len() != own.len() || lanes.iter().any(|lane| *lane.channel.timing() != self.timing) {
            return Err(DramLoadError);
        }
        own.iter_mut().zip(lanes).for_each(|(stand, lane)| stand.lane = lane);
        *self.lanes.memory.lock() = memory;
        Ok(())
    }

    /// Counters of all channels together.
    pub fn counters(&self) -> DramCounters {
        let mut sum = DramCounters::default();
        self.lanes.all().for_each(|stand| sum.add(&stand.lane.channel.counters));
        sum
    }

    /// No request waits and no answer is on its way.
    pub fn is_idle(&self) -> bool {
        self.lanes.all().all(|Stand { lane, .. }| lane.channel.is_idle() && !lane.offering)
    }
}

impl Model for Dram {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        Ok(self.lanes.tick(sim))
    }
}

impl lanes::Lane for Stand {
    fn number(&self) -> usize {
        self.number
    }

    fn request(&self) -> OutPort {
        self.ports.req_valid
    }

    fn pins(&self) -> PinList {
        let p = &self.ports;
        let outputs = vec![p.req_valid, p.write, p.line, p.req_data, p.req_id, p.rsp_ready];
        PinList { inputs: vec![p.req_ready, p.rsp_valid, p.rsp_id, p.rsp_data], outputs }
    }

    fn due(&self) -> Option<u64> {
        self.lane.due
    }

    fn tick(&mut self, pins: &mut impl Pins, memory: &mut impl Lines) -> Option<Transfer> {
        let (now, channel) = (pins.cycle(), self.number);
        self.lane.tick(now, pins, &self.ports, &self.timing, memory).map(|(write, line, id)| {
            let op = if write { MemOp::Write } else { MemOp::Read };
            Transfer::Request { channel, op, answered: !write, line, id }
        })
    }

    fn answered(&self) -> Option<u64> {
        self.lane.taken.then_some(self.lane.id)
    }

    fn state(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.lane).expect("plain data is always encoded")
    }

    fn resume(&mut self, state: &[u8]) -> bool {
        let lane = postcard::from_bytes(state).map(|lane| self.lane = lane);
        lane.is_ok() && *self.lane.channel.timing() == self.timing
    }
}

impl Lane {
    /// Acts in cycle `now` and says when it must act next. Returns the request taken: write, line, transaction number.
    fn tick(
        &mut self,
        now: u64,
        sim: &mut impl Pins,
        ports: &Ports,
        timing: &DramTiming,
        memory: &mut impl Lines,
    ) -> Option<(bool, u64, u64)> {
        self.channel.advance(now);
        let request = self.take_request(now, sim, ports, timing, memory);
        self.offer(now, sim, ports);
        self.due = if self.taken {
            Some(now + 1)
        } else if self.offering {
            // The bank is awake when it becomes ready; until then only room in the queue can matter.
            self.channel.next_start().filter(|_| self.refused)
        } else {
            self.channel.next_event()
        };
        request
    }

    fn take_request(
        &mut self,
        now: u64,
        sim: &mut impl Pins,
        ports: &Ports,
        timing: &DramTiming,
        memory: &mut impl Lines,
    ) -> Option<(bool, u64, u64)> {
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
        let (line, id, write) = (sim.get(ports.line), sim.get(ports.req_id), sim.get(ports.write) == 1);
        let addr = line * u64::from(timing.line);
        let request = if write {
            Request::Write { addr, data: sim.limbs(ports.req_data).to_vec() }
        } else {
            Request::Read { addr, id }
        };
        self.channel.accept(now, request, memory);
        Some((write, line, id))
    }

    /// Takes an answer that was taken off the port, puts the next one there, and sees whether it is taken.
    fn offer(&mut self, now: u64, sim: &mut impl Pins, ports: &Ports) {
        let stood = self.offering;
        if std::mem::take(&mut self.taken) {
            self.offering = false;
        }
        if !self.offering
            && let Some(reply) = self.channel.take_reply(now)
        {
            sim.set(ports.rsp_id, reply.id);
            self.id = reply.id;
            sim.set_limbs(ports.rsp_data, &reply.data);
            self.offering = true;
        }
        if stood != self.offering {
            sim.set(ports.rsp_valid, u64::from(self.offering));
        }
        self.taken = self.offering && sim.get(ports.rsp_ready) == 1;
    }
}
