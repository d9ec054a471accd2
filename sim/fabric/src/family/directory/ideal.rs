//! `dir_ideal` (rec.md section 8): an unbounded exact directory beside the RTL, for protocol `ideal`. It never evicts, so it sends write Invs only.
//!
//! ```text
//!  gG_bB_dir_req -> queue (3) -> lookup, update -> gG_bB_dir_rsp
//!                                      \-> write Inv -> gG_bB_inv, then gG_bB_dir_rsp
//! ```
//!
//! Its timing is that of the RTL slice: an operation taken in cycle t is answered in t + 2; one with an Inv offers it in t + 3 and is answered in the
//! cycle after the Inv was accepted, while later operations wait.

use crate::port::{PortError, input, output};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use weft_blocks::msg::{Cause, DirOp};
use weft_engine::runner::{Model, Problem};
use weft_engine::{InPort, OutPort, Sim};
use weft_rtl::value::HwEnum;

/// Operations that a slice holds: its S1 and the two places of its input's skid buffer.
const DEPTH: usize = 3;

/// An operation of the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// RD_REM, WR_REM, WR_LOC or ATOM_REM, by its encoding.
    pub op: u64,
    /// Requesting GPU.
    pub src: u32,
    /// Line number.
    pub line: u64,
    /// Bank's operation number.
    pub id: u64,
}

/// Sharers of every line of one slice, exact and without bound: the table of rec.md section 4 with one slot per entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactMap {
    sharers: BTreeMap<u64, u64>,
}

/// What an operation found and does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The line had sharers.
    pub hit: bool,
    /// GPUs to invalidate, one bit each.
    pub invalidate: u64,
}

impl ExactMap {
    /// GPUs that may hold a line, one bit each.
    pub fn sharers(&self, line: u64) -> u64 {
        self.sharers.get(&line).copied().unwrap_or(0)
    }

    /// Lines with sharers.
    pub fn lines(&self) -> usize {
        self.sharers.len()
    }

    /// The sharers after an operation, and what it does.
    fn look_up(&self, operation: &Operation) -> (u64, Outcome) {
        let before = self.sharers(operation.line);
        let requester = 1 << operation.src;
        let (after, invalidate) = match operation.op {
            op if op == DirOp::RdRem.encoding() => (before | requester, 0),
            op if op == DirOp::WrRem.encoding() => (requester, before & !requester),
            op if op == DirOp::WrLoc.encoding() => (0, before),
            _ => (0, before & !requester),
        };
        (after, Outcome { hit: before != 0, invalidate })
    }

    /// Carries an operation out.
    pub fn apply(&mut self, operation: &Operation) -> Outcome {
        let (after, outcome) = self.look_up(operation);
        if after == 0 {
            self.sharers.remove(&operation.line);
        } else {
            self.sharers.insert(operation.line, after);
        }
        outcome
    }
}

/// What all slices have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdealCounters {
    /// Operations.
    pub operations: u64,
    /// Write Invs, each to one or more GPUs.
    pub write_invs: u64,
    /// Write Invs, counted once per GPU.
    pub unicasts: u64,
}

/// Handles of a slice's ports.
#[derive(Clone, Copy, Debug)]
struct Ports {
    req_valid: OutPort,
    req_ready: InPort,
    req: [OutPort; 4],
    rsp_valid: InPort,
    rsp_ready: OutPort,
    rsp: [InPort; 3],
    inv_valid: InPort,
    inv_ready: OutPort,
    inv: [InPort; 4],
}

impl Ports {
    fn find(sim: &Sim, prefix: &str) -> Result<Ports, PortError> {
        let o = |name: &str| output(sim, &format!("{prefix}_{name}"));
        let i = |name: &str| input(sim, &format!("{prefix}_{name}"));
        Ok(Ports {
            req_valid: o("dir_req_valid")?,
            req_ready: i("dir_req_ready")?,
            req: [o("dir_req_op")?, o("dir_req_src")?, o("dir_req_line")?, o("dir_req_id")?],
            rsp_valid: i("dir_rsp_valid")?,
            rsp_ready: o("dir_rsp_ready")?,
            rsp: [i("dir_rsp_id")?, i("dir_rsp_hit")?, i("dir_rsp_evicted")?],
            inv_valid: i("inv_valid")?,
            inv_ready: o("inv_ready")?,
            inv: [i("inv_line")?, i("inv_dest")?, i("inv_cause")?, i("inv_grp")?],
        })
    }
}

/// The Inv of a write or atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum WriteInv {
    /// None.
    Idle,
    /// To be offered in this cycle or later.
    Want { from: u64, line: u64, dest: u64, id: u64 },
    /// On the port.
    Sent { id: u64 },
    /// Accepted in the cycle before or earlier; the answer waits for its port.
    Answer { id: u64 },
}

/// One slice and what stands on its ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Slice {
    map: ExactMap,
    /// Operations with the cycle of their acceptance.
    queue: VecDeque<(u64, Operation)>,
    write_inv: WriteInv,
    ready: bool,
    rsp_up: bool,
    inv_up: bool,
    /// The message on the port is taken in the cycle in which the slice acted last.
    rsp_taken: bool,
    inv_taken: bool,
    due: Option<u64>,
    counters: IdealCounters,
}

impl Slice {
    fn new() -> Slice {
        Slice {
            map: ExactMap::default(),
            queue: VecDeque::new(),
            write_inv: WriteInv::Idle,
            ready: false,
            rsp_up: false,
            inv_up: false,
            rsp_taken: false,
            inv_taken: false,
            due: Some(0),
            counters: IdealCounters::default(),
        }
    }

    fn tick(&mut self, now: u64, sim: &mut Sim, ports: &Ports) {
        let (rsp_was, inv_was) = (self.rsp_up, self.inv_up);
        if std::mem::take(&mut self.rsp_taken) {
            self.rsp_up = false;
        }
        if std::mem::take(&mut self.inv_taken) {
            self.inv_up = false;
            if let WriteInv::Sent { id } = self.write_inv {
                self.write_inv = WriteInv::Answer { id };
            }
        }
        self.work(now, sim, ports);
        self.take(now, sim, ports);
        if rsp_was != self.rsp_up {
            sim.set(ports.rsp_valid, u64::from(self.rsp_up));
        }
        if inv_was != self.inv_up {
            sim.set(ports.inv_valid, u64::from(self.inv_up));
        }
        self.rsp_taken = self.rsp_up && sim.get(ports.rsp_ready) == 1;
        self.inv_taken = self.inv_up && sim.get(ports.inv_ready) == 1;
        self.due = (!self.is_idle()).then_some(now + 1);
    }

    /// One step of the operation in hand, or else of the oldest that waits.
    fn work(&mut self, now: u64, sim: &mut Sim, ports: &Ports) {
        match self.write_inv {
            WriteInv::Want { from, line, dest, id } if now >= from && !self.inv_up => {
                let values = [line, dest, Cause::Write.encoding(), 0];
                ports.inv.iter().zip(values).for_each(|(port, value)| sim.set(*port, value));
                (self.inv_up, self.write_inv) = (true, WriteInv::Sent { id });
            }
            WriteInv::Answer { id } if !self.rsp_up => {
                self.answer(sim, ports, id, true);
                self.write_inv = WriteInv::Idle;
            }
            WriteInv::Idle => self.next_operation(now, sim, ports),
            _ => {}
        }
    }

    fn next_operation(&mut self, now: u64, sim: &mut Sim, ports: &Ports) {
        let Some((_, operation)) = self.queue.front().copied().filter(|(since, _)| now >= since + 2) else {
            return;
        };
        if self.rsp_up && self.map.look_up(&operation).1.invalidate == 0 {
            return;
        }
        let outcome = self.map.apply(&operation);
        self.queue.pop_front();
        self.counters.operations += 1;
        if outcome.invalidate == 0 {
            self.answer(sim, ports, operation.id, outcome.hit);
            return;
        }
        self.counters.write_invs += 1;
        self.counters.unicasts += u64::from(outcome.invalidate.count_ones());
        let (line, dest, id) = (operation.line, outcome.invalidate, operation.id);
        self.write_inv = WriteInv::Want { from: now + 1, line, dest, id };
    }

    fn answer(&mut self, sim: &mut Sim, ports: &Ports, id: u64, hit: bool) {
        let values = [id, u64::from(hit), 0];
        ports.rsp.iter().zip(values).for_each(|(port, value)| sim.set(*port, value));
        self.rsp_up = true;
    }

    fn take(&mut self, now: u64, sim: &mut Sim, ports: &Ports) {
        let room = self.queue.len() < DEPTH;
        if room != self.ready {
            self.ready = room;
            sim.set(ports.req_ready, u64::from(room));
        }
        if room && sim.get(ports.req_valid) == 1 {
            let [op, src, line, id] = ports.req.map(|port| sim.get(port));
            self.queue.push_back((now, Operation { op, src: src as u32, line, id }));
        }
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.write_inv == WriteInv::Idle && !self.rsp_up && !self.inv_up
    }
}

/// The directory slices of all GPUs.
#[derive(Clone)]
pub struct IdealDirectory {
    ports: Vec<Ports>,
    slices: Vec<Slice>,
    banks: u32,
}

impl IdealDirectory {
    /// The slices behind ports `g0_b0_dir_req`... of a fabric of `gpus` GPUs with `banks` L2 banks each.
    ///
    /// # Errors
    /// A port that the design lacks: it is no fabric of protocol `ideal`.
    pub fn new(sim: &Sim, gpus: u32, banks: u32) -> Result<IdealDirectory, PortError> {
        let names = (0..gpus).flat_map(|g| (0..banks).map(move |b| format!("g{g}_b{b}")));
        let ports = names.map(|name| Ports::find(sim, &name)).collect::<Result<Vec<_>, _>>()?;
        Ok(IdealDirectory { slices: vec![Slice::new(); ports.len()], ports, banks })
    }

    /// GPUs that the slice of a home GPU's bank tracks for a line, one bit each.
    pub fn sharers(&self, home: u32, bank: u32, line: u64) -> u64 {
        self.slices[(home * self.banks + bank) as usize].map.sharers(line)
    }

    /// Lines with sharers, in all slices.
    pub fn lines(&self) -> usize {
        self.slices.iter().map(|s| s.map.lines()).sum()
    }

    /// Counters of all slices together.
    pub fn counters(&self) -> IdealCounters {
        self.slices.iter().fold(IdealCounters::default(), |sum, s| IdealCounters {
            operations: sum.operations + s.counters.operations,
            write_invs: sum.write_invs + s.counters.write_invs,
            unicasts: sum.unicasts + s.counters.unicasts,
        })
    }

    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.slices).expect("plain data is always encoded")
    }

    /// Restores a state that [`IdealDirectory::save`] gave for the same fabric; false, and unchanged, when the bytes are damaged or of another one.
    #[must_use]
    pub fn load(&mut self, bytes: &[u8]) -> bool {
        let saved = postcard::from_bytes::<Vec<Slice>>(bytes).ok();
        let fitting = saved.filter(|slices| slices.len() == self.slices.len());
        fitting.map(|slices| self.slices = slices).is_some()
    }

    /// No operation is on its way.
    pub fn is_idle(&self) -> bool {
        self.slices.iter().all(Slice::is_idle)
    }
}

impl Model for IdealDirectory {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        let now = sim.cycle();
        let mut due: Option<u64> = None;
        for (slice, ports) in self.slices.iter_mut().zip(&self.ports) {
            if slice.due.is_some_and(|cycle| cycle <= now) || sim.may_change(ports.req_valid) {
                slice.tick(now, sim, ports);
            }
            due = due.into_iter().chain(slice.due).min();
        }
        Ok(due)
    }
}
