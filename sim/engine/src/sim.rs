//! A running design: clocked cycle by cycle, idle units skipped.

use crate::activity::Activity;
use crate::cut::{Cut, Place};
use crate::design::{Design, EngineError, UnitType};
use crate::flags::FAILED;
use crate::interp::needed_for;
use crate::links::Call;
use crate::native::NativeCall;
use crate::part::{FAILURES_KEPT, Part, Parts};
use crate::state::{Core, Failure, Saved};
use crate::team::Team;
use std::sync::Arc;

/// A simulation's state at one moment, kept in memory.
#[derive(Clone)]
pub struct Checkpoint {
    parts: Vec<Core>,
    failures: Vec<Failure>,
}

impl Checkpoint {
    /// The cycle at which it was taken.
    pub fn cycle(&self) -> u64 {
        self.parts[0].cycle
    }
}

/// Fewer awake units than this are clocked on one thread: to share them out would take longer.
pub const WORTH_SHARING: usize = 16;

/// A simulation of a [`Design`].
pub struct Sim {
    pub(crate) design: Arc<Design>,
    pub(crate) cut: Arc<Cut>,
    pub(crate) parts: Parts,
    pub(crate) failures: Vec<Failure>,
    /// The code of a block alone, which no unit hears, not even itself.
    alone: Option<NativeCall>,
}

impl Sim {
    /// A simulation after reset.
    pub fn new(design: &Arc<Design>) -> Sim {
        Sim::cut_by(design, design.whole.clone())
    }

    /// A simulation after reset, cut into parts that can be clocked side by side: `part_of` gives the part of
    /// every unit of the design. Parts are numbered from 0 on without those that have no unit. Results do not
    /// depend on it.
    ///
    /// # Panics
    /// When `part_of` has another length than the design has units.
    pub fn cut(design: &Arc<Design>, part_of: &[u32]) -> Sim {
        assert_eq!(part_of.len(), design.units.len(), "every unit is in a part");
        Sim::cut_by(design, Arc::new(Cut::new(&design.whole, part_of)))
    }

    fn cut_by(design: &Arc<Design>, cut: Arc<Cut>) -> Sim {
        let parts = Parts::new(design, &cut);
        let alone = match &design.whole.parts[0].calls[..] {
            [Call { native, mask: 0, .. }] => *native,
            _ => None,
        };
        let mut sim = Sim { design: design.clone(), cut, parts, failures: Vec::new(), alone };
        sim.reset();
        sim
    }

    /// The part of a unit, and the unit there.
    #[inline]
    pub(crate) fn place(&self, unit: usize) -> (&Part, usize) {
        let Place { part, unit } = self.cut.places[unit];
        (&self.parts[part as usize], unit as usize)
    }

    #[inline]
    pub(crate) fn place_mut(&mut self, unit: usize) -> (&mut Part, usize) {
        let Place { part, unit } = self.cut.places[unit];
        (&mut self.parts[part as usize], unit as usize)
    }

    /// The parts, to be driven, read and clocked by themselves: [`Part::begin`], [`Part::step`]. Then
    /// [`Sim::settle`].
    pub fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        self.parts.iter_mut()
    }

    /// The part of a unit.
    pub fn part_of(&self, unit: usize) -> usize {
        self.cut.places[unit].part as usize
    }

    /// Registers take their reset values; then those without one (SRAM addresses) are clocked once, as while reset is held.
    fn reset(&mut self) {
        let design = self.design.clone();
        for (sink, value) in &design.constants {
            let (part, sink) = self.cut.sink(&design.whole, *sink);
            self.parts[part as usize].core.limbs[sink.at..][..value.limbs().len()]
                .copy_from_slice(value.limbs());
        }
        self.reset_registers();
        self.clock_unreset();
    }

    /// One clock cycle with reset held: registers take their reset values, memories keep theirs, SRAMs take the addresses presented. Counters and
    /// assertions rest.
    ///
    /// A simulation starts as if this had been done before; it is only needed for a reset in the middle of a run.
    pub fn step_in_reset(&mut self) {
        for part in self.parts.iter_mut() {
            (0..part.wiring().calls.len()).for_each(|unit| part.wake(unit));
        }
        self.clock_unreset();
        self.reset_registers();
        self.parts.iter_mut().for_each(|part| part.core.cycle += 1);
        self.forget();
    }

    /// Nothing is on its way between parts.
    pub(crate) fn forget(&mut self) {
        let cycle = self.cycle();
        self.parts[0].mail.clear(cycle);
        self.parts.iter_mut().for_each(Part::forget);
    }

    /// Gives every register that has one its reset value, and passes outputs on.
    fn reset_registers(&mut self) {
        let design = self.design.clone();
        for part in self.parts.iter_mut() {
            for call in &part.cut.parts[part.number].calls {
                let ty = &design.types[call.ty];
                let state = &mut part.core.limbs[call.base..call.end];
                for (i, reg) in ty.netlist.regs.iter().enumerate() {
                    if let Some(value) = &reg.reset {
                        state[ty.layout.regs[i]..][..value.limbs().len()].copy_from_slice(value.limbs());
                    }
                }
                state.copy_within(0..ty.layout.buffered, ty.layout.copy);
            }
        }
        for part in self.parts.iter_mut() {
            (0..part.wiring().calls.len()).for_each(|unit| part.disturb(unit));
        }
        self.show_all();
    }

    /// Copies what all units show to those that see it, of which none need be told.
    fn show_all(&mut self) {
        let cut = self.cut.clone();
        for (number, wiring) in cut.parts.iter().enumerate() {
            for link in wiring.links.iter().flat_map(|links| &links.list) {
                self.parts[number].core.copy(link.from, link.sink.at, link.limbs);
            }
            for crossing in wiring.crossings.iter().flat_map(|crossings| &crossings.list) {
                let limbs = self.parts[number].core.limbs[crossing.from..][..crossing.limbs].to_vec();
                let at = cut.parts[crossing.to as usize].arrivals[crossing.number].sink.at;
                self.parts[crossing.to as usize].core.limbs[at..][..limbs.len()].copy_from_slice(&limbs);
            }
        }
    }

    /// Clocks the registers that have no reset value: the address registers of SRAMs.
    fn clock_unreset(&mut self) {
        let design = self.design.clone();
        let needed = |ty: &UnitType| {
            let free = ty.netlist.regs.iter().filter(|reg| reg.reset.is_none());
            needed_for(&ty.netlist, free.map(|reg| reg.next))
        };
        let needed: Vec<Vec<u32>> = design.types.iter().map(needed).collect();
        for Part { cut, number, core, scratch, .. } in self.parts.iter_mut() {
            for call in &cut.parts[*number].calls {
                let ty = &design.types[call.ty];
                let state = &mut core.limbs[call.base..call.end];
                ty.interp.evaluate_some(&needed[call.ty], state, scratch);
                for (i, reg) in ty.netlist.regs.iter().enumerate().filter(|(_, r)| r.reset.is_none()) {
                    let next = ty.interp.value(scratch, reg.next);
                    state[ty.layout.regs[i]..][..next.len()].copy_from_slice(next);
                }
                state.copy_within(0..ty.layout.buffered, ty.layout.copy);
            }
        }
    }

    /// The design simulated.
    pub fn design(&self) -> &Arc<Design> {
        &self.design
    }

    /// Cycles clocked since reset.
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.parts[0].core.cycle
    }

    /// One clock cycle.
    pub fn step(&mut self) {
        if let Some(native) = self.alone {
            let part = &mut self.parts[0];
            if part.core.cycle < part.core.watch[0] && part.core.active[0] != 0 {
                let failed = native.clock(&mut part.core.limbs) & FAILED != 0;
                if failed {
                    part.report(0);
                }
                part.core.cycle += 1;
                if failed {
                    self.collect();
                }
                return;
            }
        }
        self.parts.iter_mut().for_each(Part::step);
        self.settle();
    }

    /// One clock cycle on the threads of a team.
    pub fn step_by(&mut self, team: &mut Team) {
        if self.awake_units() < WORTH_SHARING {
            return self.step();
        }
        let mut parts: Vec<&mut Part> = self.parts.iter_mut().collect();
        team.each(&mut parts, &|part| part.step());
        Activity::MESSAGES.begin();
        self.settle();
    }

    /// All parts, which have been clocked up to the same cycle, read what was sent to them, and failed
    /// assertions are known.
    ///
    /// # Panics
    /// When parts are in different cycles.
    pub fn settle(&mut self) {
        self.note_failures();
        let cycle = self.cycle();
        for part in self.parts.iter_mut() {
            assert_eq!(part.cycle(), cycle, "all parts of a simulation are in the same cycle");
            part.hear_all();
        }
    }

    /// Failed assertions of the parts are known, as in [`Sim::settle`]; parts may be in different cycles.
    pub fn note_failures(&mut self) {
        if self.parts.iter().any(|part| !part.failed.is_empty()) {
            self.collect();
        }
    }

    /// Failures since the last call, by cycle, in the order of units.
    #[cold]
    fn collect(&mut self) {
        let mut failed: Vec<(u32, Failure)> =
            self.parts.iter_mut().flat_map(|part| std::mem::take(&mut part.failed)).collect();
        failed.sort_by_key(|(unit, failure)| (failure.cycle, *unit));
        let room = FAILURES_KEPT - self.failures.len();
        self.failures.extend(failed.into_iter().take(room).map(|(_, failure)| failure));
    }

    /// Clocks `cycles` cycles, or fewer when an assertion fails; sleeping stretches are jumped over.
    pub fn run(&mut self, cycles: u64) {
        let end = self.cycle() + cycles;
        while self.cycle() < end && self.failures.is_empty() {
            if self.asleep() {
                self.skip(end - self.cycle());
            } else {
                self.step();
            }
        }
    }

    /// True when no unit can do anything until an input changes.
    #[inline]
    pub fn asleep(&self) -> bool {
        self.parts.iter().all(Part::asleep)
    }

    /// Whether a unit is clocked in the next cycle.
    #[inline]
    pub fn is_awake(&self, unit: usize) -> bool {
        let (part, unit) = self.place(unit);
        part.core.is_active(unit)
    }

    /// The units that are clocked in the next cycle, in order.
    pub fn awake(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.cut.places.len()).filter(|unit| self.is_awake(*unit))
    }

    /// Number of units that are clocked in the next cycle.
    pub fn awake_units(&self) -> usize {
        let words = self.parts.iter().flat_map(|part| &part.core.active);
        words.map(|w| w.count_ones() as usize).sum()
    }

    /// Jumps over `cycles` cycles in which nothing happens.
    ///
    /// # Panics
    /// When a unit is awake.
    pub fn skip(&mut self, cycles: u64) {
        assert!(self.asleep(), "time jumps only while every unit sleeps");
        for part in self.parts.iter_mut() {
            part.core.cycle += cycles;
            part.has_heard(part.core.cycle);
        }
    }

    /// Goes back to a cycle from which on nothing has happened.
    ///
    /// # Panics
    /// When a unit was awake in between.
    pub fn go_back(&mut self, cycle: u64) {
        let mut units = self.parts.iter().flat_map(|part| &part.core.units);
        let rested = units.all(|unit| unit.asleep.is_some_and(|since| since <= cycle));
        drop(units);
        assert!(cycle <= self.cycle() && rested, "time goes back only over cycles in which every unit slept");
        self.parts.iter_mut().for_each(|part| part.core.cycle = cycle);
        self.forget();
    }

    /// Assertions that failed so far, in order.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The whole state, to go back to.
    pub fn checkpoint(&self) -> Checkpoint {
        let parts = self.parts.iter().map(|part| part.core.clone()).collect();
        Checkpoint { parts, failures: self.failures.clone() }
    }

    /// Limbs of the state of all units.
    pub fn limbs_in_all(&self) -> usize {
        self.parts.iter().map(|part| part.core.limbs.len()).sum()
    }

    /// Goes back to a state of this simulation.
    pub fn restore(&mut self, checkpoint: Checkpoint) {
        self.parts.iter_mut().zip(checkpoint.parts).for_each(|(part, core)| part.restore(core));
        self.failures = checkpoint.failures;
        // Also those parts that another process was clocking.
        self.set_far(&|_| false);
    }

    /// The whole state as bytes, which do not depend on the parts.
    pub fn save(&self) -> Vec<u8> {
        let mut core = Core::new(&self.design, &self.design.whole.parts[0]);
        core.cycle = self.cycle();
        core.active.fill(0);
        for (unit, whole) in self.design.whole.parts[0].calls.iter().enumerate() {
            let (part, own) = self.place(unit);
            let call = &part.wiring().calls[own];
            core.limbs[whole.base..whole.end].copy_from_slice(&part.core.limbs[call.base..call.end]);
            core.units[unit] = part.core.units[own].clone();
            core.watch[unit] = part.core.watch[own];
            core.active[unit / 64] |= u64::from(part.core.is_active(own)) << (unit % 64);
        }
        let saved = Saved { core, failures: self.failures.clone() };
        postcard::to_stdvec(&(&self.design.name, &saved)).expect("plain data serialises")
    }

    /// Restores a state saved from the same design.
    ///
    /// # Errors
    /// Bytes of another design or damaged ones; the simulation is then unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let saved: (String, Saved) =
            postcard::from_bytes(bytes).map_err(|e| EngineError::Snapshot(e.to_string()))?;
        let (name, Saved { core, failures }) = saved;
        let units = self.design.units.len();
        let fits = name == self.design.name
            && core.limbs.len() == self.limbs_in_all()
            && (core.units.len(), core.watch.len(), core.active.len()) == (units, units, units.div_ceil(64));
        if !fits {
            return Err(EngineError::Snapshot(format!("it was saved from {name}")));
        }
        let design = self.design.clone();
        for (unit, whole) in design.whole.parts[0].calls.iter().enumerate() {
            let (part, own) = self.place_mut(unit);
            let call = part.cut.parts[part.number].calls[own];
            part.core.limbs[call.base..call.end].copy_from_slice(&core.limbs[whole.base..whole.end]);
            part.core.units[own] = core.units[unit].clone();
            part.core.watch[own] = core.watch[unit];
            let bit = 1 << (own % 64);
            match core.is_active(unit) {
                true => part.core.active[own / 64] |= bit,
                false => part.core.active[own / 64] &= !bit,
            }
        }
        for part in self.parts.iter_mut() {
            part.core.cycle = core.cycle;
        }
        self.forget();
        self.failures = failures;
        Ok(())
    }
}
