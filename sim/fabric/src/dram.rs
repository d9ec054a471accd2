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
use crate::memory::Memory;
use crate::port::{PortError, input, output};
use serde::{Deserialize, Serialize};
use weft_engine::runner::{Model, Problem};
use weft_engine::{InPort, OutPort, Sim};

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

/// All DRAM channels of a fabric.
#[derive(Clone)]
pub struct Dram {
    ports: Vec<Ports>,
    lanes: Vec<Lane>,
    timing: DramTiming,
    /// The memory behind the channels; the host loads and reads it here.
    pub memory: Memory,
    /// Transfers of the cycle in which the channels acted last, for observers; channels are numbered by GPU, then bank.
    pub transfers: Vec<Transfer>,
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
        let ports = names.map(|name| Ports::find(sim, &name)).collect::<Result<Vec<_>, _>>()?;
        let lane = Lane {
            channel: Channel::new(timing),
            ready: false,
            refused: false,
            offering: false,
            id: 0,
            taken: false,
            due: Some(0),
        };
        Ok(Dram { lanes: vec![lane; ports.len()], ports, timing, memory, transfers: Vec::new() })
    }

    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&(&self.lanes, &self.memory)).expect("plain data is always encoded")
    }

    /// Restores a state that [`Dram::save`] gave for the same fabric.
    ///
    /// # Errors
    /// Bytes that are damaged or of another fabric; the state is then unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), DramLoadError> {
        let (lanes, memory): (Vec<Lane>, Memory) = postcard::from_bytes(bytes).map_err(|_| DramLoadError)?;
        if lanes.len() != self.lanes.len() || lanes.iter().any(|lane| *lane.channel.timing() != self.timing) {
            return Err(DramLoadError);
        }
        (self.lanes, self.memory) = (lanes, memory);
        Ok(())
    }

    /// Counters of all channels together.
    pub fn counters(&self) -> DramCounters {
        let mut sum = DramCounters::default();
        self.lanes.iter().for_each(|lane| sum.add(&lane.channel.counters));
        sum
    }

    /// No request waits and no answer is on its way.
    pub fn is_idle(&self) -> bool {
        self.lanes.iter().all(|lane| lane.channel.is_idle() && !lane.offering)
    }
}

impl Model for Dram {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        let now = sim.cycle();
        let mut due: Option<u64> = None;
        self.transfers.clear();
        for (channel, (lane, ports)) in self.lanes.iter_mut().zip(&self.ports).enumerate() {
            // A rested unit's outputs are what they were when the lane acted last.
            if lane.due.is_some_and(|cycle| cycle <= now) || sim.may_change(ports.req_valid) {
                let request = lane.tick(now, sim, ports, &self.timing, &mut self.memory);
                self.transfers.extend(request.map(|(write, line, id)| {
                    let op = if write { MemOp::Write } else { MemOp::Read };
                    Transfer::Request { channel, op, answered: !write, line, id }
                }));
                self.transfers.extend(lane.taken.then_some(Transfer::Answer { channel, id: lane.id }));
            }
            due = due.into_iter().chain(lane.due).min();
        }
        Ok(due)
    }
}

impl Lane {
    /// Acts in cycle `now` and says when it must act next. Returns the request taken: write, line, transaction number.
    fn tick(
        &mut self,
        now: u64,
        sim: &mut Sim,
        ports: &Ports,
        timing: &DramTiming,
        memory: &mut Memory,
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
        sim: &mut Sim,
        ports: &Ports,
        timing: &DramTiming,
        memory: &mut Memory,
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
    fn offer(&mut self, now: u64, sim: &mut Sim, ports: &Ports) {
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
