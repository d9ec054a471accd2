//! The command processor: host steps in order, kernels cut over the GPUs, and the fences that end them (rec.md section 7,
//! cu-and-consistency.md section 1.2).

use super::calls::{Called, HostCalls};
use super::copies::HostCopies;
use super::dispatch::{Blocks, Going, Rules, Waits};
use super::fence::Fence;
use super::fences::{NodeFences, Waiter};
use super::observe::Observer;
use super::room::{self, NoRoom};
use super::schedule::part;
use super::seat::Seat;
use super::stalls::Stalls;
use super::stream::{Copied, Order, Stream};
use crate::check::Checks;
use crate::config::CtaSchedule;
use crate::cu::LineAccess;
use crate::family::{Fold, Shape};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use weft_engine::Sim;
use weft_workload::Kernel;

/// What the command processor is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Phase {
    /// Asks the program for the next host step.
    Next,
    /// Acquires of all nodes before a kernel (software coherence).
    Acquire,
    /// Waits for KBEGIN's answers.
    Begin,
    /// Work-groups run.
    Run,
    /// Compute units end their kernel.
    End,
    /// Stores of the host or of a copy engine are on their way.
    Copy,
    /// Fences of all nodes.
    Fence,
    /// The program has ended.
    Done,
    /// The host copies input arrays to the GPUs, before everything else.
    CopyIn,
    /// It copies output arrays back.
    CopyOut,
    /// It is at the call of the next step.
    Call,
}

/// What all nodes are at, as far as it changes from window to window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Errand {
    phase: Phase,
    fences: usize,
}

/// Name of a copy from memory to memory in the record.
pub(super) const COPY: &str = "copy";

/// A kernel that has run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KernelRecord {
    /// Its name.
    pub name: String,
    /// Cycle of the first KBEGIN.
    pub start: u64,
    /// Cycle in which its last fence was complete.
    pub end: u64,
}

/// What changes in a [`Processor`], as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct ProcessorState {
    phase: Phase,
    step: usize,
    kernel: Option<Arc<Kernel>>,
    blocks: Vec<Blocks>,
    threads: u32,
    ended: Vec<bool>,
    fences: usize,
    records: Vec<KernelRecord>,
    boundary: bool,
    token: u64,
    stream: Stream,
    copied: Copied,
    until: u64,
    called: Called,
    paid: bool,
    stalls: Option<Stalls>,
}

/// The host and the command processors of all GPUs.
#[derive(Clone)]
pub(super) struct Processor {
    phase: Phase,
    /// Number of the next host step.
    step: usize,
    kernel: Option<Arc<Kernel>>,
    blocks: Vec<Blocks>,
    ended: Vec<bool>,
    /// Fences asked for and not complete.
    fences: usize,
    schedule: CtaSchedule,
    /// Kernels begin with an acquire in the L2s too.
    acquires: bool,
    pub cus: usize,
    /// Of the fabric.
    shape: Shape,
    /// CPU cores of a node, the first of its compute units.
    cores: usize,
    /// CPU threads of the kernel not yet launched.
    threads: u32,
    /// Bytes of a line.
    line: u64,
    pub records: Vec<KernelRecord>,
    /// A fence has just ended a kernel or a copy.
    pub boundary: bool,
    /// What kernels hand on, if they do.
    fold: Option<Fold>,
    /// What the next KBEGIN carries.
    token: u64,
    /// What is to be stored and has not arrived.
    stream: Stream,
    pub copied: Copied,
    /// Copies of the host, if they take time.
    pub copies: Option<HostCopies>,
    /// A kernel has ended only when the fabric is at rest.
    pub rests: bool,
    /// What calls of the host take.
    calls: HostCalls,
    pub called: Called,
    /// The call of the next step was made.
    paid: bool,
    /// End of the copy or call under way.
    until: u64,
    /// What compute units counted, if they are inspected.
    pub stalls: Option<Stalls>,
    /// Name of the program, for sentences.
    workload: String,
    /// What the last kernel had no room for, if that ended the run.
    pub lack: Option<NoRoom>,
}

impl Processor {
    /// The processors of all nodes; with `acquires` a kernel begins with a fence in which the L2s drop copies, with a `fold` kernels hand something on.
    pub fn new(shape: &Shape, schedule: CtaSchedule, acquires: bool, fold: Option<Fold>) -> Processor {
        let (nodes, cus) = (shape.nodes, shape.cus);
        Processor {
            phase: Phase::Next,
            step: 0,
            kernel: None,
            fences: 0,
            blocks: vec![Blocks::default(); nodes as usize],
            ended: vec![false; (nodes * cus) as usize],
            schedule,
            acquires,
            cus: cus as usize,
            shape: *shape,
            cores: shape.cores_each() as usize,
            threads: 0,
            line: u64::from(shape.line),
            records: Vec::new(),
            boundary: false,
            fold,
            token: 0,
            stream: Stream::default(),
            copied: Copied::default(),
            copies: None,
            rests: false,
            calls: HostCalls::default(),
            called: Called::default(),
            paid: false,
            until: 0,
            stalls: None,
            workload: String::new(),
            lack: None,
        }
    }

    /// The same for a program of this name.
    pub fn of(self, workload: &str) -> Processor {
        Processor { workload: workload.into(), ..self }
    }

    /// The same where caches may still write back when the last fence is complete: a kernel ends when they have.
    pub fn resting(self, rests: bool) -> Processor {
        Processor { rests, ..self }
    }

    /// The same with stall inspection on or off.
    pub fn inspecting(self, on: bool) -> Processor {
        Processor { stalls: on.then(Stalls::default), ..self }
    }

    /// CPU cores and all compute units of a node.
    pub fn units(&self) -> (usize, usize) {
        (self.cores, self.cus)
    }

    /// The same with copies of the host.
    pub fn with_copies(self, copies: Option<HostCopies>) -> Processor {
        let until = copies.map_or(0, |copies| copies.cycles[0]);
        let phase = if until > 0 { Phase::CopyIn } else { self.phase };
        Processor { phase, until, copies, ..self }
    }

    /// The same with calls of the host that take so long.
    pub fn with_calls(self, calls: HostCalls) -> Processor {
        Processor { calls, ..self }
    }

    /// It asks the program for the next host step in this cycle.
    pub fn asks(&self) -> bool {
        matches!(self.phase, Phase::Next | Phase::CopyIn | Phase::Call)
    }

    /// The cycle in which the copy or call under way ends.
    pub fn wakes(&self) -> Option<u64> {
        matches!(self.phase, Phase::CopyIn | Phase::CopyOut | Phase::Call).then_some(self.until)
    }

    /// What has to be saved.
    pub fn state(&self) -> ProcessorState {
        ProcessorState {
            phase: self.phase,
            step: self.step,
            kernel: self.kernel.clone(),
            blocks: self.blocks.clone(),
            threads: self.threads,
            ended: self.ended.clone(),
            fences: self.fences,
            records: self.records.clone(),
            boundary: self.boundary,
            token: self.token,
            stream: self.stream.clone(),
            copied: self.copied,
            until: self.until,
            called: self.called,
            paid: self.paid,
            stalls: self.stalls.clone(),
        }
    }

    /// Goes on from what [`Processor::state`] gave; false, and unchanged, when it is of a fabric of another size.
    #[must_use]
    pub fn resume(&mut self, state: ProcessorState) -> bool {
        if (state.blocks.len(), state.ended.len()) != (self.blocks.len(), self.ended.len()) {
            return false;
        }
        (self.phase, self.step, self.kernel) = (state.phase, state.step, state.kernel);
        (self.blocks, self.ended) = (state.blocks, state.ended);
        self.threads = state.threads;
        (self.fences, self.records) = (state.fences, state.records);
        (self.boundary, self.token) = (state.boundary, state.token);
        (self.stream, self.copied, self.until) = (state.stream, state.copied, state.until);
        (self.called, self.paid) = (state.called, state.paid);
        self.stalls = state.stalls;
        true
    }

    pub fn finished(&self) -> bool {
        self.phase == Phase::Done
    }

    /// A compute unit of this GPU has room again.
    pub fn freed(&mut self, gpu: usize) {
        self.blocks[gpu].freed();
    }

    /// Acts in this cycle, in which the fabric is at rest or not; `ask` gives the host's order of a number, `place` turns an access of the host into nodes that store it and physical lines. Returns
    /// whether the next cycle matters even if nothing else happens.
    pub fn tick(
        &mut self,
        (sim, quiet): (&Sim, bool),
        seats: &mut [Seat],
        fences: &mut [NodeFences],
        ask: &dyn Fn(&Sim, usize) -> Option<Order>,
        place: &dyn Fn(u64, &[u8]) -> Vec<(usize, LineAccess)>,
        observer: &mut Observer,
    ) -> Result<bool, String> {
        let now = sim.cycle();
        self.boundary = false;
        if matches!(self.phase, Phase::CopyIn | Phase::Call) && now >= self.until {
            self.phase = Phase::Next;
        }
        match self.phase {
            Phase::Next => {
                self.next_step(sim, seats, fences, ask, place, observer)?;
                return Ok(true);
            }
            Phase::Acquire if self.fences == 0 => {
                self.begin(now, seats);
                return Ok(true);
            }
            Phase::Begin if seats.iter().all(|s| s.cu.kbegin_done()) => {
                self.phase = Phase::Run;
                return Ok(true);
            }
            Phase::Run => return self.dispatch(now, seats),
            Phase::End if seats.iter().all(|s| s.cu.kend_done()) => {
                if let (Some(stalls), Some(record)) = (&mut self.stalls, self.records.last()) {
                    stalls.end(now, &record.name, seats, (self.cores, self.cus))?;
                }
                if let Some(fold) = &self.fold {
                    let told: Vec<u64> = seats.iter().map(|s| s.cu.told()).collect();
                    self.token = fold(&told);
                }
                self.ask_fences(fences, false);
                self.phase = Phase::Fence;
                return Ok(true);
            }
            Phase::Copy if !self.stream.is_empty() => {
                self.stream.arrive(now, seats);
                return Ok(true);
            }
            Phase::Copy if seats.iter().all(|s| s.host.is_empty() && s.host_open == 0) => {
                self.copied(now, seats, fences);
                return Ok(true);
            }
            Phase::Fence if self.fences == 0 && self.rests && !quiet => return Ok(true),
            Phase::Fence if self.fences == 0 => {
                self.phase = Phase::Next;
                self.boundary = true;
                if let Some(record) = self.records.last_mut() {
                    record.end = now;
                }
                return Ok(true);
            }
            Phase::CopyOut if now >= self.until => {
                self.phase = Phase::Done;
                return Ok(true);
            }
            Phase::Acquire | Phase::Fence | Phase::Begin | Phase::End | Phase::Copy | Phase::Done => {}
            Phase::CopyIn | Phase::CopyOut | Phase::Call => {}
        }
        Ok(false)
    }

    fn next_step(
        &mut self,
        sim: &Sim,
        seats: &mut [Seat],
        fences: &mut [NodeFences],
        ask: &dyn Fn(&Sim, usize) -> Option<Order>,
        place: &dyn Fn(u64, &[u8]) -> Vec<(usize, LineAccess)>,
        observer: &mut Observer,
    ) -> Result<(), String> {
        let now = sim.cycle();
        let step = ask(sim, self.step);
        let call = self.calls.before(step.as_ref(), self.step);
        if call > 0 && !self.paid {
            self.called = Called { calls: self.called.calls + 1, cycles: self.called.cycles + call };
            (self.phase, self.until, self.paid) = (Phase::Call, now + call, true);
            return Ok(());
        }
        self.paid = false;
        self.step += 1;
        match step {
            None => {
                let copy = self.copies.map_or(0, |copies| copies.cycles[1]);
                (self.phase, self.until) =
                    if copy > 0 { (Phase::CopyOut, now + copy) } else { (Phase::Done, 0) };
            }
            Some(Order::Launch(kernel)) => {
                self.cut(&kernel, seats)?;
                if let Some(recorder) = &mut observer.recorder {
                    recorder.kernel(&kernel.name, now);
                }
                self.records.push(KernelRecord { name: kernel.name.clone(), start: now, end: now });
                self.kernel = Some(Arc::new(kernel));
                if self.acquires {
                    self.ask_fences(fences, true);
                    self.phase = Phase::Acquire;
                } else {
                    self.begin(now, seats);
                }
            }
            Some(Order::Store { name, addr, bytes, over }) => {
                self.records.push(KernelRecord { name: name.into(), start: now, end: now });
                if let Some(recorder) = &mut observer.recorder {
                    recorder.memory(addr, &bytes);
                }
                let stores = place(addr, &bytes);
                if let Some(checks) = &mut observer.checks {
                    stores.iter().for_each(|(_, access)| host_write(checks, access, self.line));
                }
                let crossing = over.map_or(0, |(_, crossing)| crossing);
                match name {
                    COPY => {
                        (self.copied.copies, self.copied.bytes) =
                            (self.copied.copies + 1, self.copied.bytes + crossing)
                    }
                    _ => self.copied.host_bytes += crossing,
                }
                self.stream.send(stores, over, now, self.cus, seats);
                self.phase = Phase::Copy;
            }
        }
        Ok(())
    }

    /// The stores are performed; what kernels hand on must know of them.
    fn copied(&mut self, now: u64, seats: &mut [Seat], fences: &mut [NodeFences]) {
        if self.fold.is_none() {
            self.ask_fences(fences, false);
            self.phase = Phase::Fence;
            return;
        }
        for seat in seats {
            seat.cu.end_kernel(now);
            seat.next = now;
        }
        self.phase = Phase::End;
    }

    fn begin(&mut self, now: u64, seats: &mut [Seat]) {
        if let Some(stalls) = &mut self.stalls {
            stalls.begin(now, seats);
        }
        for seat in seats {
            seat.cu.begin_kernel(now, self.token);
            seat.next = now;
        }
        self.phase = Phase::Begin;
    }

    /// Gives each GPU its part of the kernel's work-groups, and CPU cores their threads.
    fn cut(&mut self, kernel: &Kernel, seats: &[Seat]) -> Result<(), String> {
        let unit = seats.get(self.cores).unwrap_or(&seats[0]).cu.params();
        if let Err(lack) = room::check(&self.workload, kernel, &self.shape, self.schedule, unit) {
            let text = lack.to_string();
            self.lack = Some(lack);
            return Err(text);
        }
        self.threads = kernel.cpus;
        for (node, blocks) in (0..).zip(&mut self.blocks) {
            let part = part(self.schedule, &self.shape, node, kernel.cpus..kernel.blocks);
            blocks.begin(part);
        }
        self.ended.fill(false);
        Ok(())
    }

    /// Launches at most one work-group per node, and ends the kernel on compute units that have nothing left.
    fn dispatch(&mut self, now: u64, seats: &mut [Seat]) -> Result<bool, String> {
        let kernel = self.kernel.clone().ok_or("work-groups run without a kernel")?;
        let cus = self.cus;
        let mut again = self.threads > 0;
        while self.threads > 0 {
            self.threads -= 1;
            let (node, core) = self.shape.core(self.threads, kernel.cpus);
            let seat = &mut seats[node as usize * cus + core as usize];
            self.blocks[node as usize].launch(seat, &kernel, self.threads, now)?;
        }
        let rules = Rules { kernel: &kernel, schedule: self.schedule, cores: self.cores };
        let seats = seats.chunks_mut(cus).zip(self.ended.chunks_mut(cus));
        for (blocks, (seats, ended)) in self.blocks.iter_mut().zip(seats) {
            again |= blocks.dispatch(rules, seats, ended, now)?;
        }
        self.ends();
        Ok(again)
    }

    /// All compute units have ended the kernel that runs, if they have.
    pub fn ends(&mut self) {
        if self.phase == Phase::Run && self.blocks.iter().all(|blocks| blocks.over(self.cus)) {
            self.phase = Phase::End;
        }
    }

    /// What nodes do by themselves, if they do, with what is left to launch by node, and by compute unit whether
    /// it has ended the kernel.
    pub fn going(&mut self) -> Option<(Going<'_>, &mut [Blocks], &mut [bool])> {
        let going = match (self.phase, &self.kernel) {
            (Phase::Run, Some(kernel)) if self.threads == 0 => {
                Going::Run(Rules { kernel, schedule: self.schedule, cores: self.cores })
            }
            (Phase::Acquire | Phase::Fence, _) if self.fences > 0 => Going::Wait(Waits::Fence),
            (Phase::Begin, _) => Going::Wait(Waits::Begin),
            (Phase::End, _) => Going::Wait(Waits::End),
            (Phase::Copy, _) if self.stream.is_empty() => Going::Wait(Waits::Copy),
            _ => return None,
        };
        Some((going, &mut self.blocks, &mut self.ended))
    }

    /// Work-groups run.
    pub fn runs(&self) -> bool {
        self.phase == Phase::Run
    }

    /// What all nodes are at.
    pub fn errand(&self) -> Errand {
        Errand { phase: self.phase, fences: self.fences }
    }

    /// All nodes are at this.
    pub fn run_errand(&mut self, Errand { phase, fences }: Errand) {
        (self.phase, self.fences) = (phase, fences);
    }

    /// What is left to launch on these nodes, and by their compute units whether they have ended the kernel.
    pub fn of_nodes(&self, nodes: Range<usize>) -> (Vec<Blocks>, Vec<bool>) {
        let units = nodes.start * self.cus..nodes.end * self.cus;
        (self.blocks[nodes].to_vec(), self.ended[units].to_vec())
    }

    /// Puts back what [`Processor::of_nodes`] gave.
    pub fn set_nodes(&mut self, nodes: Range<usize>, (blocks, ended): (&[Blocks], &[bool])) {
        self.ended[nodes.start * self.cus..nodes.end * self.cus].copy_from_slice(ended);
        self.set_blocks(nodes, blocks);
    }

    /// Puts back the first half of it.
    pub fn set_blocks(&mut self, nodes: Range<usize>, blocks: &[Blocks]) {
        self.blocks[nodes].copy_from_slice(blocks);
    }

    /// Asks for a fence of system scope at every node.
    fn ask_fences(&mut self, fences: &mut [NodeFences], acquire: bool) {
        self.fences = fences.len();
        fences.iter_mut().for_each(|node| node.ask(Fence { scope: 2, acquire }, Waiter::Processor));
    }

    /// A fence that the command processor has asked for is complete.
    pub fn fenced(&mut self) {
        self.fences -= 1;
    }
}

/// Tells the checks what a store of the host will have written.
fn host_write(checks: &mut Checks, access: &LineAccess, line: u64) {
    for i in (0..line).filter(|i| access.mask >> i & 1 == 1) {
        let byte = (access.data[i as usize / 8] >> (8 * (i % 8))) as u8;
        checks.host_write(access.line * line + i, &[byte]);
    }
}
