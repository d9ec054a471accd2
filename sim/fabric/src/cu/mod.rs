//! The behavioural compute unit (`cu-and-consistency.md` sections 1 to 1.3), the same for every fabric.
//!
//! ```text
//!   program --step--> wave queues --> issue slots --> units (compute)
//!                        ^                 |
//!                        |                 v                     offer / accepted
//!                     tokens            load-store unit --lines--> [out] ------------> L1
//!                        ^                 |    scratchpad                              |
//!                        +-----------------+---------------- reply --------------------+
//! ```
//!
//! **Ticks.** In each cycle the run loop asks [`Cu::offer`], tells [`Cu::accepted`] when the L1 takes the access, hands
//! over answers by [`Cu::reply`], then calls [`Cu::tick`]. What a tick sends is offered from the next cycle on. A cycle
//! before [`Cu::next_event`] may be left out: it would change nothing. A unit slower than the fabric's clock has a tick in
//! some cycles only ([`Pace`]): all its own times are ticks, what it is told and tells in cycles.
//!
//! **Decisions** where the specification is silent: an operation issued in tick t lets the next one of its wave issue
//! in t + 1; an answer counts in the tick of its arrival; AWAIT, BARRIER and END take an issue; only AWAIT is a branch,
//! so `refill` follows it alone; END waits until everything of the wave is answered; an operation without active lanes
//! is complete at once; readiness for `starve` is that of the data, not of the unit; lanes of a scratchpad atomic take
//! one pass each per bank, equal words included. Stall inspection (section 3) watches from within: [`Cu::inspecting`].

mod block;
mod counters;
mod dma;
mod error;
mod gsi;
mod issue;
mod lds;
mod lsu;
mod mem_op;
mod open;
mod pace;
mod params;
mod port;
mod reply;
mod stash;
mod wave;

use crate::activity::{CUS, STALLS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_blocks::msg::{CuOp, node_text};
use weft_workload::Program;

use block::Block;
pub use counters::{Cause, CuCounters, SpanTable, Spans};
use dma::Dma;
pub use error::CuError;
use gsi::Gsi;
pub use gsi::{GSI_COLUMNS, GsiCounts, StallClass, Structural};
use issue::Slot;
use lsu::Lsu;
use mem_op::MemKind;
pub use pace::Pace;
pub use params::{Atomics, CuFault, CuMode, CuParams, CuPolicy, Model};
pub use port::{CuObserver, IDS, Issuer, KIND_ACK, KIND_DATA, LineAccess, LineReply, NoObserver, Who};
use stash::StashOut;
pub use stash::{BankWord, StashMapping};
use wave::{Need, Status, Wave};

/// A kernel-boundary message of this compute unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Boundary {
    /// Nothing sent since the last end.
    #[default]
    None,
    /// KBEGIN sent.
    Beginning,
    /// KBEGIN acknowledged.
    Begun,
    /// KEND sent.
    Ending,
    /// KEND acknowledged.
    Ended,
}

/// All that changes: plain data.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    waves: Vec<Wave>,
    slots: Vec<Slot>,
    blocks: Vec<Option<Block>>,
    free_waves: u32,
    free_blocks: u32,
    lds_free: u32,
    /// Waves that ask again at a tick.
    timers: BinaryHeap<Reverse<(u64, u16)>>,
    lsu: Lsu,
    dma: Dma,
    stash: StashOut,
    boundary: Boundary,
    /// Its messages not answered: one, and one of the stash.
    boundary_open: u8,
    active_since: u64,
    counters: CuCounters,
    /// What the L1 answered to the last KEND.
    told: u64,
    /// Stall inspection of the present kernel, if it is on.
    gsi: Option<Gsi>,
}

/// One compute unit. A clone is an independent copy of its whole state.
#[derive(Clone)]
pub struct Cu {
    params: CuParams,
    mode: CuMode,
    program: Arc<dyn Program>,
    gpu: u32,
    cu: u32,
    /// Lanes of its waves.
    lanes: u32,
    occupancy: u32,
    /// Kernels are inspected.
    inspect: bool,
    s: State,
    /// An error met outside of [`Cu::tick`], which reports it.
    fault: Option<CuError>,
}

impl Cu {
    /// Compute unit `cu` of GPU `gpu`, empty.
    ///
    /// # Errors
    /// Illegal parameters; a program with wider waves, or for another local memory.
    pub fn new(params: CuParams, program: Arc<dyn Program>, gpu: u32, cu: u32) -> Result<Self, CuError> {
        let lanes = program.lanes();
        if lanes > params.lanes {
            let name = program.name().to_owned();
            return Err(CuError::ProgramLanes { program: name, lanes, legal: params.lanes });
        }
        let (needs, has) = (program.local_memory(), params.local);
        if !has.serves(needs) {
            let (program, needs, has) = (program.name().to_owned(), needs.word(), has.word());
            return Err(CuError::LocalMemory { program, needs, has });
        }
        Self::of_lanes(lanes, params, program, gpu, cu)
    }

    /// A CPU core (section 1.4): the same unit, on which the program's threads for cores run, a wave of one lane each.
    ///
    /// # Errors
    /// Illegal parameters.
    pub fn core(params: CuParams, program: Arc<dyn Program>, gpu: u32, cu: u32) -> Result<Self, CuError> {
        Self::of_lanes(1, params, program, gpu, cu)
    }

    fn of_lanes(
        lanes: u32,
        params: CuParams,
        program: Arc<dyn Program>,
        gpu: u32,
        cu: u32,
    ) -> Result<Self, CuError> {
        params.validate()?;
        let s = State {
            waves: (0..params.waves).map(|_| Wave::free()).collect(),
            slots: (0..params.issue_slots).map(|_| Slot::default()).collect(),
            blocks: (0..params.blocks).map(|_| None).collect(),
            free_waves: params.waves,
            free_blocks: params.blocks,
            lds_free: params.lds_bytes,
            timers: BinaryHeap::new(),
            lsu: Lsu::default(),
            dma: Dma::default(),
            stash: StashOut::default(),
            boundary: Boundary::None,
            boundary_open: 0,
            active_since: 0,
            counters: CuCounters::default(),
            told: 0,
            gsi: None,
        };
        let occupancy = params.default_occupancy();
        Ok(Self {
            params,
            mode: CuMode::default(),
            program,
            gpu,
            cu,
            lanes,
            occupancy,
            inspect: false,
            s,
            fault: None,
        })
    }

    /// The same compute unit under another consistency model or beside another L1.
    #[must_use]
    pub fn with_mode(mut self, mode: CuMode) -> Self {
        self.mode = mode;
        self
    }

    /// No resident wave and nothing outstanding.
    pub fn idle(&self) -> bool {
        self.s.free_waves as usize == self.s.waves.len() && self.s.lsu.flights.in_use() == 0
    }

    /// Resident work-groups.
    pub fn resident(&self) -> u32 {
        self.params.blocks - self.s.free_blocks
    }

    /// Line accesses offered or taken and not answered.
    pub fn outstanding(&self) -> usize {
        self.s.lsu.flights.in_use()
    }

    /// Accesses made and not yet taken.
    pub fn untaken(&self) -> usize {
        self.s.lsu.flights.out.len()
    }

    /// Accesses to a line whose number was a makeshift go to another one.
    pub fn placed(&mut self, makeshift: u64, line: u64) {
        for entry in &mut self.s.lsu.flights.pending {
            if entry.access.line == makeshift {
                entry.access.line = line;
            }
        }
    }

    /// Gives the access that [`Cu::offer`] shows another line.
    pub fn readdress(&mut self, line: u64) {
        if let Some(id) = self.s.lsu.flights.out.front() {
            self.s.lsu.flights.pending[usize::from(*id)].access.line = line;
        }
    }

    /// The access of a transaction number that the L1 has taken and not completely answered.
    pub fn taken(&self, id: u16) -> Option<&LineAccess> {
        let entry = self.s.lsu.flights.pending.get(usize::from(id))?;
        entry.taken.map(|_| &entry.access)
    }

    /// Where an access comes from that is offered or taken and not completely answered; `None` for kernel begin and end.
    pub fn issuer(&self, id: u16) -> Option<Issuer> {
        let op = self.s.lsu.flights.pending.get(usize::from(id))?.op?;
        let op = &self.s.lsu.ops[op as usize];
        Some(Issuer { who: self.who(op.wave), operation: op.number })
    }

    /// What has been counted.
    pub fn counters(&self) -> &CuCounters {
        &self.s.counters
    }

    /// Its parameters.
    pub fn params(&self) -> &CuParams {
        &self.params
    }

    /// Sends KBEGIN, an acquire of system scope, with `token` in bits 63..0 of its data. To be called while the compute unit is idle.
    pub fn begin_kernel(&mut self, now: u64, token: u64) {
        let pace = self.params.pace;
        self.s.gsi = self.inspect.then(|| Gsi::new(pace.tick(pace.from(now))));
        self.s.boundary = Boundary::Beginning;
        self.send_boundary(CuOp::Kbegin, 1, token);
    }

    /// Bits 63..0 of the data with which the L1 acknowledged the last KEND.
    pub fn told(&self) -> u64 {
        self.s.told
    }

    /// KBEGIN is acknowledged, and KEND not yet sent: work-groups may be launched.
    pub fn kbegin_done(&self) -> bool {
        self.s.boundary == Boundary::Begun
    }

    /// Sends KEND, a release of system scope. To be called when the last work-group has ended.
    pub fn end_kernel(&mut self, now: u64) {
        self.inspect_change(now);
        self.s.boundary = Boundary::Ending;
        self.send_boundary(CuOp::Kend, 2, 0);
    }

    /// KEND is acknowledged, and no KBEGIN sent since.
    pub fn kend_done(&self) -> bool {
        self.s.boundary == Boundary::Ended
    }

    fn send_boundary(&mut self, op: CuOp, sem: u8, token: u64) {
        let access = &mut self.s.lsu.flights.present(op).access;
        (access.want_ack, access.sem, access.data[0]) = (true, sem, token);
        self.s.boundary_open = 1 + u8::from(self.has_stash());
        if self.has_stash() {
            let access = &mut self.s.lsu.flights.passing(op).access;
            (access.want_ack, access.sem) = (true, sem);
            self.s.stash.out.push_back(access.id);
        }
    }

    /// The access presented to the L1 in cycle `now`; unchanged until [`Cu::accepted`]. With `lsu_rate` above 1 the next
    /// one may be taken in the same tick.
    #[inline]
    pub fn offer(&self, _now: u64) -> Option<&LineAccess> {
        self.s.lsu.flights.out.front().map(|&id| &self.s.lsu.flights.pending[usize::from(id)].access)
    }

    /// Cycle `now`, after its [`Cu::accepted`] and [`Cu::reply`]; of a slower unit it need not have a tick. `translate` gives the physical byte address of a
    /// line-aligned byte address of the program.
    ///
    /// # Errors
    /// What the program or the L1 did wrong; the compute unit must not be used afterwards.
    pub fn tick(
        &mut self,
        now: u64,
        translate: &dyn Fn(u64) -> u64,
        obs: &mut dyn CuObserver,
    ) -> Result<(), CuError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if !self.params.pace.is_tick(now) {
            return Ok(());
        }
        let now = self.params.pace.tick(now);
        STALLS.begin();
        self.inspect_until(now);
        CUS.begin();
        while let Some(&Reverse((tick, w))) = self.s.timers.peek() {
            if tick > now {
                break;
            }
            self.s.timers.pop();
            self.s.gsi.iter_mut().for_each(Gsi::changed);
            self.settle(w, now)?;
        }
        let issued = self.issue(now, obs)?;
        STALLS.begin();
        self.inspect_tick(issued);
        CUS.begin();
        let shape =
            |s: &State| (s.lsu.queue.len(), s.lsu.flights.out.len(), s.lsu.lds_end, s.stash.out.len());
        let before = shape(&self.s);
        self.lsu_tick(now, translate)?;
        self.dma_tick(translate);
        self.map_tick(translate)?;
        if shape(&self.s) != before {
            self.s.gsi.iter_mut().for_each(Gsi::changed);
        }
        Ok(())
    }

    /// Earliest cycle from `now` on in which [`Cu::tick`] does something without an acceptance or an answer before;
    /// `None` = never.
    pub fn next_event(&self, now: u64) -> Option<u64> {
        let pace = self.params.pace;
        self.next_tick(pace.tick(pace.from(now))).map(|tick| pace.cycle(tick))
    }

    /// The same in ticks.
    fn next_tick(&self, now: u64) -> Option<u64> {
        let mut next = self.s.timers.peek().map_or(u64::MAX, |&Reverse((tick, _))| tick);
        if self.fault.is_some() || next <= now {
            return Some(now);
        }
        if let Some(&index) = self.s.lsu.queue.front() {
            let op = &self.s.lsu.ops[index as usize];
            let wave = &self.s.waves[usize::from(op.wave)];
            if op.kind == MemKind::Lds && self.pending_dma(index) {
                // It waits for answers of the engine's requests.
            } else if op.kind == MemKind::Stash {
                if self.stash_acts(index) {
                    return Some(now);
                }
            } else if op.kind == MemKind::Lds {
                next = next.min(self.s.lsu.lds_end.unwrap_or(now));
            } else if self.s.lsu.can_send(index, wave, self.params.lsu_rate, self.params.wave_mem) {
                return Some(now);
            }
        }
        if self.dma_acts() || self.map_acts() {
            return Some(now);
        }
        let room = self.lsu_room();
        for slot in self.s.slots.iter().filter(|slot| !slot.waits(room)) {
            for &w in &slot.ready {
                let wave = &self.s.waves[usize::from(w)];
                let free = match wave.need {
                    Need::None => 0,
                    Need::Unit(unit) => slot.unit_free[usize::from(unit)],
                    Need::Lsu if room => 0,
                    Need::Lsu => continue,
                };
                next = next.min(free.max(wave.since));
            }
            if next <= now {
                return Some(now);
            }
        }
        (next != u64::MAX).then_some(next)
    }

    /// The whole state, as bytes.
    ///
    /// # Errors
    /// The state cannot be written (never for a state of this type).
    pub fn save(&self) -> Result<Vec<u8>, CuError> {
        postcard::to_stdvec(&self.s).map_err(|error| self.snapshot_error(&error.to_string()))
    }

    /// Goes back to a saved state of a compute unit with the same parameters and program.
    ///
    /// # Errors
    /// Bytes that are no such state; the compute unit is unchanged then.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), CuError> {
        let state: State =
            postcard::from_bytes(bytes).map_err(|error| self.snapshot_error(&error.to_string()))?;
        let shape = |s: &State| (s.waves.len(), s.slots.len(), s.blocks.len());
        if shape(&state) != shape(&self.s) {
            return Err(self.snapshot_error("its number of waves, issue slots or blocks differs"));
        }
        self.s = state;
        self.fault = None;
        Ok(())
    }

    fn snapshot_error(&self, cause: &str) -> CuError {
        CuError::Snapshot { at: node_text(self.gpu, self.params.gpms), cu: self.cu, cause: cause.to_owned() }
    }

    /// The wave in slot `w`, for observers.
    fn who(&self, w: u16) -> Who {
        let wave = &self.s.waves[usize::from(w)];
        let (kernel, block) = (wave.frame.kernel, wave.frame.block);
        match &self.s.blocks[usize::from(wave.block)] {
            Some(b) => Who {
                gpu: self.gpu,
                gpms: self.params.gpms,
                cu: self.cu,
                kernel: b.kernel.id,
                block: b.block,
                wave: wave.index,
            },
            None => {
                Who { gpu: self.gpu, gpms: self.params.gpms, cu: self.cu, kernel, block, wave: wave.index }
            }
        }
    }

    /// The wave in slot `w`, for sentences.
    fn name(&self, w: u16) -> String {
        let wave = &self.s.waves[usize::from(w)];
        let (kernel, block) = match &self.s.blocks[usize::from(wave.block)] {
            Some(b) => (b.kernel.name.as_str(), b.block),
            None => ("?", 0),
        };
        format!(
            "kernel {kernel} work-group {block} wave {} ({} cu {})",
            wave.index,
            node_text(self.gpu, self.params.gpms),
            self.cu
        )
    }

    /// A memory operation is complete at tick `at`: its token is set, its wave goes on if it can.
    fn complete(&mut self, index: u32, at: u64) -> Result<(), CuError> {
        let op = &mut self.s.lsu.ops[index as usize];
        let w = op.wave;
        let wave = &mut self.s.waves[usize::from(w)];
        wave.ops.retain(|&i| i != index);
        wave.writes -= u32::from(matches!(op.kind, MemKind::Store | MemKind::Amo));
        wave.unpaired -= u32::from(op.class == weft_workload::Class::U);
        op.open = 0;
        let values = std::mem::take(&mut op.values);
        if let Some(token) = op.token() {
            wave.set_due(token, at);
            wave.values.set(token, values);
        }
        if op.kind == MemKind::Dma {
            self.transferred(index, w);
        }
        self.pay(index);
        let wave = &mut self.s.waves[usize::from(w)];
        self.s.lsu.free_ops.push(index);
        if matches!(wave.status, Status::Waiting(_)) {
            return self.settle(w, at);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
