//! A running design: clocked cycle by cycle, idle units skipped.

use crate::design::{Design, EngineError, OutSource, Sink, Source, UnitType};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use weft_rtl::bv::{Bv, limbs_for, top_mask};
use weft_rtl::ir::ProbeKind;

/// A top-level input of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InPort {
    number: u32,
    width: u32,
    /// Its input slot, when there is exactly one.
    only: Option<(u32, u32)>,
}

/// Top-level inputs that are driven together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InGroup {
    unit: u32,
    /// First limb of the first input's slot in the state of the whole design.
    at: u32,
    limbs: u32,
}

/// A top-level output of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutPort {
    number: u32,
    width: u32,
    /// First limb in the state of the whole design, when it is a register.
    at: Option<u32>,
}

impl OutPort {
    /// Whether it is a register, whose limbs can be read in place ([`Sim::limbs`]); otherwise it is constant or computed on demand.
    #[inline]
    pub fn is_register(self) -> bool {
        self.at.is_some()
    }
}

/// A memory inside a design.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemPort {
    /// First limb in the state of the whole design.
    at: usize,
    /// Limbs of a lane.
    limbs: usize,
    /// Rows.
    pub rows: u32,
    /// Lanes of a row.
    pub lanes: u32,
}

/// A failed assertion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Cycle in which the condition did not hold.
    pub cycle: u64,
    /// Unit and scope.
    pub path: String,
    /// Name of the assertion.
    pub name: String,
    /// What should have held.
    pub text: String,
    /// Source line.
    pub at: String,
}

/// An observer's reading.
#[derive(Clone, Debug)]
pub struct ProbeReading<'a> {
    /// Unit's path.
    pub unit: &'a str,
    /// Name of the unit's module.
    pub module: &'a str,
    /// Scope inside the unit.
    pub scope: &'a str,
    /// Name.
    pub name: &'a str,
    /// Kind.
    pub kind: ProbeKind,
    /// What it means.
    pub text: &'a str,
    /// Cycles (or sum); for an assertion the number of cycles in which it failed.
    pub count: u64,
}

/// What a unit's scheduling needs besides its state.
#[derive(Clone, Serialize, Deserialize)]
struct Schedule {
    /// Skipped since this cycle.
    asleep: Option<u64>,
    /// Cycles from one check to the next; doubles while the unit works.
    interval: u64,
    /// What each counter gains per cycle while asleep.
    rate: Vec<u64>,
    /// Counters of assertions at the last failure reported.
    reported: Vec<u64>,
}

/// Longest time from one check of a working unit to the next, in cycles.
const LONGEST_INTERVAL: u64 = 32;

/// All that changes while a design runs.
#[derive(Clone, Serialize, Deserialize)]
struct Core {
    /// State of all units, one after the other.
    limbs: Vec<u64>,
    units: Vec<Schedule>,
    /// For each unit, by its place in the clocking order, the next cycle in which it is checked whether it has anything left to do.
    watch: Vec<u64>,
    /// One bit per unit, by its place, that is not asleep.
    active: Vec<u64>,
    cycle: u64,
    failures: Vec<Failure>,
}

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
    design: Arc<Design>,
    core: Core,
    scratch: Vec<u64>,
    /// Units clocked in this cycle and the flags that they set.
    changed: Vec<(u32, u64)>,
}

/// Most failures kept; later ones are only counted by their probes.
const FAILURES_KEPT: usize = 100;

impl Sim {
    /// A simulation after reset.
    pub fn new(design: &Arc<Design>) -> Sim {
        let units: Vec<Schedule> = design
            .units
            .iter()
            .map(|u| {
                let none = vec![0; design.types[u.ty].netlist.probes.len()];
                Schedule { asleep: None, interval: 1, rate: none.clone(), reported: none }
            })
            .collect();
        let mut active = vec![0u64; units.len().div_ceil(64)];
        (0..units.len()).for_each(|u| active[u / 64] |= 1 << (u % 64));
        let limbs = vec![0; design.bases.last().copied().unwrap_or(0)];
        let first = if design.options.sleep { 0 } else { u64::MAX };
        let watch = vec![first; units.len()];
        let core = Core { limbs, units, watch, active, cycle: 0, failures: Vec::new() };
        // For the interpreter, and before it for what a watched unit was.
        let need = |t: &UnitType| t.interp.scratch_size() + t.layout.probes + t.netlist.probes.len();
        let scratch = design.types.iter().map(need).max().unwrap_or(0);
        let mut sim = Sim { design: design.clone(), core, scratch: vec![0; scratch], changed: Vec::new() };
        sim.reset();
        sim
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
        for (u, unit) in design.units.iter().enumerate() {
            let ty = &design.types[unit.ty];
            let state = &mut self.core.limbs[design.bases[u]..design.bases[u + 1]];
            ty.interp.evaluate(state, &mut self.scratch);
            for (i, reg) in ty.netlist.regs.iter().enumerate().filter(|(_, r)| r.reset.is_none()) {
                let next = ty.interp.value(&self.scratch, reg.next);
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

    /// The top-level input of this name.
    pub fn input(&self, name: &str) -> Option<InPort> {
        let number = self.design.inputs.iter().position(|p| p.name == name)?;
        let only = match self.design.input_sinks[number][..] {
            [Sink { unit, at }] => Some((unit as u32, at as u32)),
            _ => None,
        };
        Some(InPort { number: number as u32, width: self.design.inputs[number].width, only })
    }

    /// The top-level output of this name.
    pub fn output(&self, name: &str) -> Option<OutPort> {
        let number = self.design.outputs.iter().position(|p| p.name == name)?;
        let at = match &self.design.output_sources[number] {
            Source::Unit { unit, output } => {
                match &self.design.types[self.design.units[*unit].ty].outputs[*output] {
                    OutSource::Reg(at) => Some((self.design.bases[*unit] + at) as u32),
                    _ => None,
                }
            }
            _ => None,
        };
        Some(OutPort { number: number as u32, width: self.design.outputs[number].width, at })
    }

    /// Drives an input from now on. The value is cut to the port's width.
    #[inline]
    pub fn set(&mut self, port: InPort, value: u64) {
        if port.width <= 64 {
            self.set_limbs(port, &[value & top_mask(port.width)]);
        } else {
            self.set_limbs(port, Bv::from_u64(value, port.width).limbs());
        }
    }

    /// Drives an input from now on.
    pub fn set_bv(&mut self, port: InPort, value: &Bv) {
        self.set_limbs(port, value.limbs());
    }

    /// Inputs that lie next to each other in one unit, in this order, such as the message of a channel; `None` when they do not.
    pub fn group(&self, ports: &[InPort]) -> Option<InGroup> {
        let (unit, at) = ports.first()?.only?;
        let mut limbs = 0;
        for port in ports {
            if port.only? != (unit, at + limbs) {
                return None;
            }
            limbs += limbs_for(port.width) as u32;
        }
        Some(InGroup { unit, at, limbs })
    }

    /// Drives the inputs of a group from now on, from their limbs one after the other, with zeros above each port's width.
    #[inline]
    pub fn set_group(&mut self, group: InGroup, limbs: &[u64]) {
        let slot = &mut self.core.limbs[group.at as usize..][..group.limbs as usize];
        slot.iter_mut().zip(limbs).for_each(|(to, from)| *to = *from);
        self.core.wake(&self.design, group.unit as usize);
    }

    /// Drives an input from now on, from limbs with zeros above the port's width.
    #[inline]
    pub fn set_limbs(&mut self, port: InPort, limbs: &[u64]) {
        if let Some((unit, at)) = port.only {
            let sink = Sink { unit: unit as usize, at: at as usize };
            return self.core.drive(&self.design, sink, limbs);
        }
        for sink in &self.design.input_sinks[port.number as usize] {
            self.core.drive(&self.design, *sink, limbs);
        }
    }

    /// The value of an output in the present cycle.
    pub fn get_bv(&mut self, port: OutPort) -> Bv {
        if let Some(at) = port.at {
            return Bv::from_limbs(&self.core.limbs[at as usize..][..limbs_for(port.width)], port.width);
        }
        match &self.design.output_sources[port.number as usize] {
            Source::Const(v) => v.clone(),
            Source::Top(_) => Bv::zero(port.width),
            Source::Unit { unit, output } => {
                let ty = &self.design.types[self.design.units[*unit].ty];
                match &ty.outputs[*output] {
                    OutSource::Const(v) => v.clone(),
                    OutSource::Comb(node) => {
                        let state = &self.core.limbs[self.design.bases[*unit]..self.design.bases[*unit + 1]];
                        ty.interp.evaluate(state, &mut self.scratch);
                        Bv::from_limbs(ty.interp.value(&self.scratch, *node), port.width)
                    }
                    OutSource::Reg(_) => unreachable!("the port knows its register"),
                }
            }
        }
    }

    /// The limbs of an output that is a register or a constant.
    ///
    /// # Panics
    /// When the output is combinational; [`Sim::get_bv`] reads those too.
    #[inline]
    pub fn limbs(&self, port: OutPort) -> &[u64] {
        match port.at {
            Some(at) => &self.core.limbs[at as usize..][..limbs_for(port.width)],
            None => self.constant(port),
        }
    }

    #[cold]
    fn constant(&self, port: OutPort) -> &[u64] {
        match &self.design.output_sources[port.number as usize] {
            Source::Const(v) => return v.limbs(),
            Source::Unit { unit, output } => {
                if let OutSource::Const(v) = &self.design.types[self.design.units[*unit].ty].outputs[*output]
                {
                    return v.limbs();
                }
            }
            Source::Top(_) => {}
        }
        panic!("output {} is combinational", self.design.outputs[port.number as usize].name)
    }

    /// The low 64 bits of an output in the present cycle.
    #[inline]
    pub fn get(&mut self, port: OutPort) -> u64 {
        match port.at {
            Some(at) => self.core.limbs[at as usize],
            None => self.get_bv(port).low_u64(),
        }
    }

    /// One clock cycle.
    pub fn step(&mut self) {
        let Sim { design, core, scratch, changed } = self;
        changed.clear();
        for word in 0..core.active.len() {
            let mut bits = core.active[word];
            while bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let call = &design.calls[place];
                let flags = if core.cycle < core.watch[place] {
                    let state = &mut core.limbs[call.base..call.end];
                    match &call.native {
                        Some(native) => native.clock(state),
                        None => design.types[call.ty].interpret(state, scratch),
                    }
                } else {
                    core.look(design, place, scratch)
                };
                if flags & 2 != 0 {
                    core.report(design, call.unit);
                }
                if flags & call.mask != 0 {
                    changed.push((call.unit as u32, flags & call.mask));
                }
            }
        }
        core.cycle += 1;
        for (unit, flags) in changed {
            core.copy_out(design, *unit as usize, *flags);
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
        self.core.is_active(self.design.places[unit] as usize)
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

    /// All observers' readings up to now.
    pub fn probes(&self) -> impl Iterator<Item = ProbeReading<'_>> {
        self.design.units.iter().enumerate().flat_map(move |(u, unit)| {
            let ty = &self.design.types[unit.ty];
            let (state, schedule) = (self.state(u), &self.core.units[u]);
            let slept = schedule.asleep.map_or(0, |since| self.core.cycle - since);
            ty.netlist.probes.iter().enumerate().map(move |(i, p)| ProbeReading {
                unit: &unit.path,
                module: &ty.module.name,
                scope: &p.scope,
                name: &p.name,
                kind: p.kind,
                text: &p.text,
                count: state[ty.layout.probes + i].wrapping_add(schedule.rate[i].wrapping_mul(slept)),
            })
        })
    }

    /// The state's limbs of a unit, laid out by its type's [`crate::layout::Layout`].
    pub fn state(&self, unit: usize) -> &[u64] {
        let base = self.design.bases[unit];
        &self.core.limbs[base..base + self.design.types[self.design.units[unit].ty].layout.copy]
    }

    /// Splits a hierarchical name into unit number and name inside it.
    fn locate<'a>(&self, path: &'a str) -> Option<(usize, &'a str)> {
        self.design.units.iter().enumerate().find_map(|(i, u)| {
            if u.path.is_empty() {
                return Some((i, path));
            }
            path.strip_prefix(u.path.as_str())?.strip_prefix('.').map(|rest| (i, rest))
        })
    }

    /// The value of a register by its hierarchical name.
    pub fn peek(&self, path: &str) -> Option<Bv> {
        let (unit, name) = self.locate(path)?;
        let ty = &self.design.types[self.design.units[unit].ty];
        let number = ty.netlist.regs.iter().position(|r| r.path == name)?;
        let width = ty.netlist.regs[number].width;
        Some(Bv::from_limbs(&self.state(unit)[ty.layout.regs[number]..][..limbs_for(width)], width))
    }

    /// The memory of this hierarchical name, to be read often.
    pub fn memory(&self, path: &str) -> Option<MemPort> {
        let (unit, name) = self.locate(path)?;
        let ty = &self.design.types[self.design.units[unit].ty];
        let number = ty.netlist.mems.iter().position(|m| m.path == name)?;
        let mem = &ty.netlist.mems[number];
        let (at, limbs) = (self.design.bases[unit] + ty.layout.mems[number], ty.layout.lane_limbs[number]);
        Some(MemPort { at, limbs, rows: mem.rows, lanes: mem.lanes })
    }

    /// The limbs of one lane of a memory's row.
    ///
    /// # Panics
    /// When there is no such row or lane.
    pub fn lane(&self, memory: MemPort, row: u32, lane: u32) -> &[u64] {
        assert!(row < memory.rows && lane < memory.lanes, "row {row} lane {lane} of a memory");
        let number = row as usize * memory.lanes as usize + lane as usize;
        &self.core.limbs[memory.at + number * memory.limbs..][..memory.limbs]
    }

    fn cell(&self, path: &str, row: u32, lane: u32) -> Option<(usize, std::ops::Range<usize>, u32)> {
        let (unit, name) = self.locate(path)?;
        let ty = &self.design.types[self.design.units[unit].ty];
        let number = ty.netlist.mems.iter().position(|m| m.path == name)?;
        let mem = &ty.netlist.mems[number];
        if row >= mem.rows || lane >= mem.lanes {
            return None;
        }
        let limbs = ty.layout.lane_limbs[number];
        let at = ty.layout.mems[number] + (row as usize * mem.lanes as usize + lane as usize) * limbs;
        Some((unit, at..at + limbs, mem.lane_width))
    }

    /// One lane of a memory row by the memory's hierarchical name.
    pub fn peek_mem(&self, path: &str, row: u32, lane: u32) -> Option<Bv> {
        let (unit, at, width) = self.cell(path, row, lane)?;
        Some(Bv::from_limbs(&self.state(unit)[at], width))
    }

    /// Overwrites one lane of a memory row; false when there is no such memory, row or lane.
    pub fn poke_mem(&mut self, path: &str, row: u32, lane: u32, value: &Bv) -> bool {
        let Some((unit, at, _)) = self.cell(path, row, lane) else {
            return false;
        };
        let base = self.design.bases[unit];
        self.core.limbs[base + at.start..base + at.end].copy_from_slice(value.limbs());
        self.core.wake(&self.design, unit);
        true
    }

    /// Values of all named expressions of a unit in the present cycle: calls `f` with the number in `netlist.names` and the limbs.
    pub fn observe(&mut self, unit: usize, mut f: impl FnMut(usize, &[u64])) {
        let design = self.design.clone();
        let ty = &design.types[design.units[unit].ty];
        ty.interp.evaluate(&self.core.limbs[design.bases[unit]..design.bases[unit + 1]], &mut self.scratch);
        for (i, name) in ty.netlist.names.iter().enumerate() {
            f(i, ty.interp.value(&self.scratch, name.node));
        }
    }

    /// The whole state, to go back to.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.core.clone())
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

impl Core {
    /// Gives every register that has one its reset value, and passes outputs on.
    fn reset_registers(&mut self, design: &Design) {
        for (u, unit) in design.units.iter().enumerate() {
            let ty = &design.types[unit.ty];
            let state = &mut self.limbs[design.bases[u]..design.bases[u + 1]];
            for (i, reg) in ty.netlist.regs.iter().enumerate() {
                if let Some(value) = &reg.reset {
                    state[ty.layout.regs[i]..][..value.limbs().len()].copy_from_slice(value.limbs());
                }
            }
            state.copy_within(0..ty.layout.buffered, ty.layout.copy);
        }
        for (u, links) in design.links.iter().enumerate() {
            debug_assert!(
                links.list.iter().all(|l| (design.bases[u]..design.bases[u + 1]).contains(&l.from))
            );
            links.list.iter().for_each(|l| self.limbs.copy_within(l.from..l.from + l.limbs, l.sink.at));
        }
    }

    #[inline]
    fn drive(&mut self, design: &Design, sink: Sink, limbs: &[u64]) {
        if let [limb] = limbs {
            if self.limbs[sink.at] != *limb {
                self.limbs[sink.at] = *limb;
                self.wake(design, sink.unit);
            }
            return;
        }
        let slot = &mut self.limbs[sink.at..][..limbs.len()];
        if slot != limbs {
            slot.copy_from_slice(limbs);
            self.wake(design, sink.unit);
        }
    }

    #[inline]
    fn is_active(&self, place: usize) -> bool {
        self.active[place / 64] >> (place % 64) & 1 == 1
    }

    #[inline]
    fn wake(&mut self, design: &Design, unit: usize) {
        if !self.is_active(design.places[unit] as usize) {
            self.awaken(design, unit);
        }
    }

    /// Ends a unit's sleep: its counters take what they gained meanwhile.
    #[inline(never)]
    fn awaken(&mut self, design: &Design, unit: usize) {
        let schedule = &mut self.units[unit];
        let since = schedule.asleep.take().expect("a unit that is not active sleeps");
        let probes = design.bases[unit] + design.types[design.units[unit].ty].layout.probes;
        let slept = self.cycle - since;
        for (i, rate) in schedule.rate.iter().enumerate().filter(|(_, rate)| **rate != 0) {
            self.limbs[probes + i] = self.limbs[probes + i].wrapping_add(rate.wrapping_mul(slept));
        }
        schedule.interval = 1;
        let place = design.places[unit] as usize;
        self.watch[place] = self.cycle;
        self.active[place / 64] |= 1 << (place % 64);
    }

    /// Clocks one unit and lets it sleep when the cycle changed no register and wrote no memory: as long as its inputs stay, every further cycle
    /// would do the same, and add the same to the counters.
    #[inline(never)]
    fn look(&mut self, design: &Design, place: usize, scratch: &mut [u64]) -> u64 {
        let call = &design.calls[place];
        let ty = &design.types[call.ty];
        let state = &mut self.limbs[call.base..call.end];
        let schedule = &mut self.units[call.unit];
        let (regs, watched) = (ty.layout.probes, ty.layout.probes + ty.netlist.probes.len());
        let (before, scratch) = scratch.split_at_mut(watched);
        before.copy_from_slice(&state[..watched]);
        let flags = ty.clock(state, scratch);
        if flags & 1 == 0 && state[..regs] == before[..regs] {
            let gained =
                state[regs..watched].iter().zip(&before[regs..]).map(|(now, old)| now.wrapping_sub(*old));
            schedule.rate.iter_mut().zip(gained).for_each(|(rate, gained)| *rate = gained);
            schedule.asleep = Some(self.cycle + 1);
            self.active[place / 64] &= !(1 << (place % 64));
        } else {
            schedule.interval = (2 * schedule.interval).min(LONGEST_INTERVAL);
            self.watch[place] = self.cycle + schedule.interval;
        }
        flags
    }

    /// Records which assertions of a unit failed in this cycle.
    #[cold]
    fn report(&mut self, design: &Design, unit: usize) {
        let ty = &design.types[design.units[unit].ty];
        let probes = design.bases[unit] + ty.layout.probes;
        for (i, info) in ty.netlist.probes.iter().enumerate().filter(|(_, p)| p.kind == ProbeKind::Assert) {
            let count = self.limbs[probes + i];
            if std::mem::replace(&mut self.units[unit].reported[i], count) == count
                || self.failures.len() >= FAILURES_KEPT
            {
                continue;
            }
            let parts = [design.units[unit].path.as_str(), info.scope.as_str()];
            let path = parts.iter().filter(|p| !p.is_empty()).copied().collect::<Vec<_>>().join(".");
            let (name, text, at) = (info.name.clone(), info.text.clone(), info.at.clone());
            self.failures.push(Failure { cycle: self.cycle, path, name, text, at });
        }
    }

    /// Copies the outputs whose flags are set to the units that read them.
    #[inline]
    fn copy_out(&mut self, design: &Design, unit: usize, flags: u64) {
        let links = &design.links[unit];
        let mut left = flags;
        while left != 0 {
            let flag = left.trailing_zeros();
            left &= left - 1;
            for link in links.of(flag) {
                if self.copy(link.from, link.sink.at, link.limbs) {
                    self.wake(design, link.sink.unit);
                }
            }
        }
    }

    /// Copies limbs of the state; whether any changed.
    #[inline]
    fn copy(&mut self, from: usize, to: usize, limbs: usize) -> bool {
        let (low, high) = self.limbs.split_at_mut(from.max(to));
        let (old, new) = if from < to {
            (&mut high[..limbs], &low[from..][..limbs])
        } else {
            (&mut low[to..][..limbs], &high[..limbs])
        };
        let mut differ = 0;
        for (old, new) in old.iter_mut().zip(new) {
            differ |= *old ^ new;
            *old = *new;
        }
        differ != 0
    }
}
