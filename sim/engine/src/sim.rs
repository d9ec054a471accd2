//! A running design: clocked cycle by cycle, idle units skipped.

use crate::activity::Activity;
use crate::clock::{self, ASLEEP, FAILED, Room};
use crate::design::{Call, Design, EngineError, Source, UnitType};
use crate::interp::needed_for;
use crate::ports::OutPort;
use crate::state::{Core, Failure};
use std::sync::Arc;

/// A simulation's state at one moment, kept in memory.
#[derive(Clone)]
pub struct Checkpoint(Core);

impl Checkpoint {
    /// The cycle at which it was taken.
    pub fn cycle(&self) -> u64 {
        self.0.cycle
    }
}

/// A simulation of a [`Design`].
pub struct Sim {
    pub(crate) design: Arc<Design>,
    pub(crate) core: Core,
    /// One for each thread.
    pub(crate) rooms: Vec<Room>,
}

impl Sim {
    /// A simulation after reset.
    pub fn new(design: &Arc<Design>) -> Sim {
        let mut sim = Sim { design: design.clone(), core: Core::new(design), rooms: Vec::new() };
        sim.set_threads(1);
        sim.reset();
        sim
    }

    /// Clocks units on this many threads from now on, those of the rayon pool in which [`Sim::step`] is called; results do not depend on it.
    ///
    /// It pays when many units are awake: a cycle is shared out and brought together again in a few microseconds.
    pub fn set_threads(&mut self, threads: usize) {
        let need = |t: &UnitType| t.interp.scratch_size() + t.layout.probes + t.netlist.probes.len();
        let size = self.design.types.iter().map(need).max().unwrap_or(0);
        let room = Room { scratch: vec![0; size], events: Vec::with_capacity(self.design.units.len()) };
        self.rooms.resize(threads.max(1), room);
    }

    /// Registers take their reset values; then those without one (SRAM addresses) are clocked once, as while reset is held.
    fn reset(&mut self) {
        let design = self.design.clone();
        for (sink, value) in &design.constants {
            self.core.limbs[sink.at..][..value.limbs().len()].copy_from_slice(value.limbs());
        }
        self.core.reset_registers(&design);
        self.clock_unreset(&design);
    }

    /// One clock cycle with reset held: registers take their reset values, memories keep theirs, SRAMs take the addresses presented. Counters and
    /// assertions rest.
    ///
    /// A simulation starts as if this had been done before; it is only needed for a reset in the middle of a run.
    pub fn step_in_reset(&mut self) {
        let design = self.design.clone();
        (0..design.units.len()).for_each(|unit| self.core.wake(&design, unit));
        self.clock_unreset(&design);
        self.core.reset_registers(&design);
        self.core.cycle += 1;
    }

    /// Clocks the registers that have no reset value: the address registers of SRAMs.
    fn clock_unreset(&mut self, design: &Design) {
        let needed = |ty: &UnitType| {
            let free = ty.netlist.regs.iter().filter(|reg| reg.reset.is_none());
            needed_for(&ty.netlist, free.map(|reg| reg.next))
        };
        let needed: Vec<Vec<u32>> = design.types.iter().map(needed).collect();
        for (u, unit) in design.units.iter().enumerate() {
            let ty = &design.types[unit.ty];
            let state = &mut self.core.limbs[design.bases[u]..design.bases[u + 1]];
            ty.interp.evaluate_some(&needed[unit.ty], state, &mut self.rooms[0].scratch);
            for (i, reg) in ty.netlist.regs.iter().enumerate().filter(|(_, r)| r.reset.is_none()) {
                let next = ty.interp.value(&self.rooms[0].scratch, reg.next);
                state[ty.layout.regs[i]..][..next.len()].copy_from_slice(next);
            }
            state.copy_within(0..ty.layout.buffered, ty.layout.copy);
        }
    }

    /// The design simulated.
    pub fn design(&self) -> &Arc<Design> {
        &self.design
    }

    /// Cycles clocked since reset.
    pub fn cycle(&self) -> u64 {
        self.core.cycle
    }

    /// One clock cycle.
    pub fn step(&mut self) {
        let Sim { design, core, rooms } = self;
        if let [Call { native: Some(native), mask: 0, .. }] = &design.calls[..]
            && core.cycle < core.watch[0]
            && core.active[0] != 0
        {
            // A block alone: no unit hears it, not even itself.
            if native.clock(&mut core.limbs) & FAILED != 0 {
                core.report(design, 0);
            }
            core.cycle += 1;
            return;
        }
        Activity::SCHEDULE.begin();
        clock::clock(design, core, rooms);
        Activity::MESSAGES.begin();
        let events = || rooms.iter().flat_map(|room| &room.events);
        for (unit, word) in events() {
            if word & ASLEEP != 0 {
                core.active[*unit as usize / 64] &= !(1 << (unit % 64));
            }
            if word & FAILED != 0 {
                core.report(design, *unit as usize);
            }
        }
        core.cycle += 1;
        for (unit, word) in events() {
            core.copy_out(design, *unit as usize, word & !(ASLEEP | FAILED));
        }
    }

    /// Clocks `cycles` cycles, or fewer when an assertion fails; sleeping stretches are jumped over.
    pub fn run(&mut self, cycles: u64) {
        let end = self.core.cycle + cycles;
        while self.core.cycle < end && self.core.failures.is_empty() {
            if self.asleep() {
                self.skip(end - self.core.cycle);
            } else {
                self.step();
            }
        }
    }

    /// True when no unit can do anything until an input changes.
    pub fn asleep(&self) -> bool {
        self.core.active.iter().all(|w| *w == 0)
    }

    /// Whether a unit is clocked in the next cycle.
    pub fn is_awake(&self, unit: usize) -> bool {
        self.core.is_active(unit)
    }

    /// Whether an output may differ from what it was in the cycle before: its unit is awake. The outputs of a unit at rest stand still.
    #[inline]
    pub fn may_change(&self, port: OutPort) -> bool {
        match &self.design.output_sources[port.number as usize] {
            Source::Unit { unit, .. } => self.is_awake(*unit),
            Source::Const(_) => false,
            Source::Top(_) => true,
        }
    }

    /// The units that are clocked in the next cycle, in order.
    pub fn awake(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        let words = self.core.active.iter().enumerate();
        words.flat_map(move |(at, word)| bits(*word).map(move |bit| 64 * at + bit))
    }

    /// Number of units that are clocked in the next cycle.
    pub fn awake_units(&self) -> usize {
        self.core.active.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Jumps over `cycles` cycles in which nothing happens.
    ///
    /// # Panics
    /// When a unit is awake.
    pub fn skip(&mut self, cycles: u64) {
        assert!(self.asleep(), "time jumps only while every unit sleeps");
        self.core.cycle += cycles;
    }

    /// Assertions that failed so far, in order.
    pub fn failures(&self) -> &[Failure] {
        &self.core.failures
    }

    /// The whole state, to go back to.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.core.clone())
    }

    /// Limbs of the state of all units.
    pub fn limbs_in_all(&self) -> usize {
        self.core.limbs.len()
    }

    /// Goes back to a state of this simulation.
    pub fn restore(&mut self, checkpoint: Checkpoint) {
        self.core = checkpoint.0;
    }

    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&(&self.design.name, &self.core)).expect("plain data serialises")
    }

    /// Restores a state saved from the same design.
    ///
    /// # Errors
    /// Bytes of another design or damaged ones; the simulation is then unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let saved: (String, Core) =
            postcard::from_bytes(bytes).map_err(|e| EngineError::Snapshot(e.to_string()))?;
        let (name, core) = saved;
        let fits = name == self.design.name
            && core.limbs.len() == self.core.limbs.len()
            && core.units.len() == self.core.units.len();
        if !fits {
            return Err(EngineError::Snapshot(format!("it was saved from {name}")));
        }
        self.core = core;
        Ok(())
    }
}
