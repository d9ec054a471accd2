//! A running design: clocked cycle by cycle, idle units skipped.

use crate::design::{Connection, Design, EngineError, OutSource, Sink, Source};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use weft_rtl::bv::{Bv, limbs_for, top_mask};
use weft_rtl::ir::ProbeKind;

/// A top-level input of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InPort(usize);

/// A top-level output of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutPort(usize);

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

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Rest {
    /// Clocked every cycle.
    Awake,
    /// The last cycle changed nothing; one more is clocked to learn what the counters add per cycle.
    Drowsy,
    /// Skipped since the given cycle.
    Asleep { since: u64 },
}

#[derive(Clone, Serialize, Deserialize)]
struct UnitState {
    limbs: Vec<u64>,
    rest: Rest,
    /// What each counter gains per cycle while asleep.
    rate: Vec<u64>,
    /// Counters of assertions at the last failure reported.
    reported: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    design: String,
    cycle: u64,
    units: Vec<UnitState>,
    active: Vec<u64>,
    failures: Vec<Failure>,
}

/// A simulation of a [`Design`].
pub struct Sim {
    design: Arc<Design>,
    units: Vec<UnitState>,
    /// One bit per unit that is not asleep.
    active: Vec<u64>,
    scratch: Vec<u64>,
    changed: Vec<usize>,
    cycle: u64,
    failures: Vec<Failure>,
}

/// Most failures kept; later ones are only counted by their probes.
const FAILURES_KEPT: usize = 100;

impl Sim {
    /// A simulation after reset.
    pub fn new(design: &Arc<Design>) -> Sim {
        let units: Vec<UnitState> = design
            .units
            .iter()
            .map(|u| {
                let ty = &design.types[u.ty];
                {
                    let none = vec![0; ty.netlist.probes.len()];
                    UnitState {
                        limbs: vec![0; ty.layout.size],
                        rest: Rest::Awake,
                        rate: none.clone(),
                        reported: none,
                    }
                }
            })
            .collect();
        let scratch = design.types.iter().map(|t| t.interp.scratch_size()).max().unwrap_or(0);
        let mut active = vec![0u64; units.len().div_ceil(64)];
        (0..units.len()).for_each(|u| active[u / 64] |= 1 << (u % 64));
        let mut sim = Sim {
            design: design.clone(),
            units,
            active,
            scratch: vec![0; scratch],
            changed: Vec::new(),
            cycle: 0,
            failures: Vec::new(),
        };
        sim.reset();
        sim
    }

    /// Registers take their reset values; then those without one (SRAM addresses) are clocked once, as while reset is held.
    fn reset(&mut self) {
        let design = self.design.clone();
        for (u, unit) in design.units.iter().enumerate() {
            let ty = &design.types[unit.ty];
            for (i, reg) in ty.netlist.regs.iter().enumerate() {
                if let Some(value) = &reg.reset {
                    self.units[u].limbs[ty.layout.regs[i]..][..value.limbs().len()]
                        .copy_from_slice(value.limbs());
                }
            }
        }
        for (sink, value) in &design.constants {
            self.units[sink.unit].limbs[sink.at..][..value.limbs().len()].copy_from_slice(value.limbs());
        }
        for (u, connections) in design.connections.iter().enumerate() {
            self.copy_out(u, connections);
        }
        for (u, unit) in design.units.iter().enumerate() {
            let ty = &design.types[unit.ty];
            ty.interp.evaluate(&self.units[u].limbs, &mut self.scratch);
            for (i, reg) in ty.netlist.regs.iter().enumerate().filter(|(_, r)| r.reset.is_none()) {
                let next = ty.interp.value(&self.scratch, reg.next);
                self.units[u].limbs[ty.layout.regs[i]..][..next.len()].copy_from_slice(next);
            }
        }
    }

    /// The design simulated.
    pub fn design(&self) -> &Arc<Design> {
        &self.design
    }

    /// Cycles clocked since reset.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// The top-level input of this name.
    pub fn input(&self, name: &str) -> Option<InPort> {
        self.design.inputs.iter().position(|p| p.name == name).map(InPort)
    }

    /// The top-level output of this name.
    pub fn output(&self, name: &str) -> Option<OutPort> {
        self.design.outputs.iter().position(|p| p.name == name).map(OutPort)
    }

    /// Drives an input from now on. The value is cut to the port's width.
    pub fn set(&mut self, port: InPort, value: u64) {
        let width = self.design.inputs[port.0].width;
        if width <= 64 {
            self.set_limbs(port, &[value & top_mask(width)]);
        } else {
            self.set_limbs(port, Bv::from_u64(value, width).limbs());
        }
    }

    /// Drives an input from now on.
    pub fn set_bv(&mut self, port: InPort, value: &Bv) {
        self.set_limbs(port, value.limbs());
    }

    /// Drives an input from now on, from limbs with zeros above the port's width.
    pub fn set_limbs(&mut self, port: InPort, limbs: &[u64]) {
        let design = self.design.clone();
        for sink in &design.input_sinks[port.0] {
            self.drive(*sink, limbs);
        }
    }

    fn drive(&mut self, sink: Sink, limbs: &[u64]) {
        let slot = &mut self.units[sink.unit].limbs[sink.at..][..limbs.len()];
        if slot != limbs {
            slot.copy_from_slice(limbs);
            self.wake(sink.unit);
        }
    }

    fn wake(&mut self, unit: usize) {
        let state = &mut self.units[unit];
        if let Rest::Asleep { since } = state.rest {
            settle(&self.design, unit, state, self.cycle - since);
            self.active[unit / 64] |= 1 << (unit % 64);
        }
        state.rest = Rest::Awake;
    }

    /// The limbs of an output in the present cycle.
    pub fn get_bv(&mut self, port: OutPort) -> Bv {
        let width = self.design.outputs[port.0].width;
        match &self.design.clone().output_sources[port.0] {
            Source::Const(v) => v.clone(),
            Source::Top(_) => Bv::zero(width),
            Source::Unit { unit, output } => {
                let ty = &self.design.types[self.design.units[*unit].ty];
                match &ty.outputs[*output] {
                    OutSource::Reg(at) => {
                        Bv::from_limbs(&self.units[*unit].limbs[*at..][..limbs_for(width)], width)
                    }
                    OutSource::Const(v) => v.clone(),
                    OutSource::Comb(node) => {
                        ty.interp.evaluate(&self.units[*unit].limbs, &mut self.scratch);
                        Bv::from_limbs(ty.interp.value(&self.scratch, *node), width)
                    }
                }
            }
        }
    }

    /// The limbs of an output that is a register.
    ///
    /// # Panics
    /// When the output is a constant or combinational; [`Sim::get_bv`] reads those too.
    pub fn limbs(&self, port: OutPort) -> &[u64] {
        let width = self.design.outputs[port.0].width;
        let Source::Unit { unit, output } = &self.design.output_sources[port.0] else {
            panic!("output {} is a constant", self.design.outputs[port.0].name)
        };
        match &self.design.types[self.design.units[*unit].ty].outputs[*output] {
            OutSource::Reg(at) => &self.units[*unit].limbs[*at..][..limbs_for(width)],
            OutSource::Const(v) => v.limbs(),
            OutSource::Comb(_) => panic!("output {} is combinational", self.design.outputs[port.0].name),
        }
    }

    /// The low 64 bits of an output in the present cycle.
    pub fn get(&mut self, port: OutPort) -> u64 {
        if let Source::Unit { unit, output } = self.design.output_sources[port.0]
            && let OutSource::Reg(at) = self.design.types[self.design.units[unit].ty].outputs[output]
        {
            return self.units[unit].limbs[at];
        }
        self.get_bv(port).low_u64()
    }

    /// One clock cycle.
    pub fn step(&mut self) {
        let design = self.design.clone();
        let mut changed = std::mem::take(&mut self.changed);
        changed.clear();
        for word in 0..self.active.len() {
            let mut bits = self.active[word];
            while bits != 0 {
                let unit = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if self.clock(&design, unit) {
                    changed.push(unit);
                }
            }
        }
        self.cycle += 1;
        for unit in &changed {
            self.copy_out(*unit, &design.connections[*unit]);
        }
        self.changed = changed;
    }

    /// Clocks `cycles` cycles, or fewer when an assertion fails; sleeping stretches are jumped over.
    pub fn run(&mut self, cycles: u64) {
        let end = self.cycle + cycles;
        while self.cycle < end && self.failures.is_empty() {
            if self.asleep() {
                self.skip(end - self.cycle);
            } else {
                self.step();
            }
        }
    }

    /// Clocks one unit; returns whether its registers or memories changed.
    fn clock(&mut self, design: &Design, unit: usize) -> bool {
        let ty = &design.types[design.units[unit].ty];
        let state = &mut self.units[unit];
        let probes = ty.layout.probes..ty.layout.probes + ty.netlist.probes.len();
        let before = (state.rest == Rest::Drowsy).then(|| state.limbs[probes.clone()].to_vec());
        let (changed, failed) = match &ty.native {
            Some(code) => code.clock(&mut state.limbs),
            None => {
                ty.interp.evaluate(&state.limbs, &mut self.scratch);
                let failed = ty.interp.count(&mut state.limbs, &self.scratch);
                (ty.interp.commit(&mut state.limbs, &self.scratch), failed)
            }
        };
        if failed {
            self.report(design, unit);
        }
        let state = &mut self.units[unit];
        if changed || !design.options.sleep {
            state.rest = Rest::Awake;
        } else if let Some(before) = before {
            let now = &state.limbs[probes];
            state.rate = now.iter().zip(&before).map(|(a, b)| a.wrapping_sub(*b)).collect();
            state.rest = Rest::Asleep { since: self.cycle + 1 };
            self.active[unit / 64] &= !(1 << (unit % 64));
        } else {
            state.rest = Rest::Drowsy;
        }
        changed
    }

    /// Records which assertions of a unit failed in this cycle.
    fn report(&mut self, design: &Design, unit: usize) {
        let ty = &design.types[design.units[unit].ty];
        let state = &mut self.units[unit];
        for (i, info) in ty.netlist.probes.iter().enumerate().filter(|(_, p)| p.kind == ProbeKind::Assert) {
            let count = state.limbs[ty.layout.probes + i];
            if std::mem::replace(&mut state.reported[i], count) == count
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

    fn copy_out(&mut self, unit: usize, connections: &[Connection]) {
        for link in connections {
            for sink in &link.sinks {
                if sink.unit == unit {
                    let value = self.units[unit].limbs[link.from..][..link.limbs].to_vec();
                    self.drive(*sink, &value);
                    continue;
                }
                let Ok([from, to]) = self.units.get_disjoint_mut([unit, sink.unit]) else {
                    unreachable!("two different units")
                };
                let value = &from.limbs[link.from..][..link.limbs];
                let slot = &mut to.limbs[sink.at..][..link.limbs];
                if slot != value {
                    slot.copy_from_slice(value);
                    self.wake(sink.unit);
                }
            }
        }
    }

    /// True when no unit can do anything until an input changes.
    pub fn asleep(&self) -> bool {
        self.active.iter().all(|w| *w == 0)
    }

    /// Whether a unit is clocked in the next cycle.
    pub fn is_awake(&self, unit: usize) -> bool {
        self.active[unit / 64] >> (unit % 64) & 1 == 1
    }

    /// Number of units that are clocked in the next cycle.
    pub fn awake_units(&self) -> usize {
        self.active.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Jumps over `cycles` cycles in which nothing happens.
    ///
    /// # Panics
    /// When a unit is awake.
    pub fn skip(&mut self, cycles: u64) {
        assert!(self.asleep(), "time jumps only while every unit sleeps");
        self.cycle += cycles;
    }

    /// Assertions that failed so far, in order.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// All observers' readings up to now.
    pub fn probes(&self) -> impl Iterator<Item = ProbeReading<'_>> {
        self.design.units.iter().enumerate().flat_map(move |(u, unit)| {
            let ty = &self.design.types[unit.ty];
            let state = &self.units[u];
            let slept = match state.rest {
                Rest::Asleep { since } => self.cycle - since,
                _ => 0,
            };
            ty.netlist.probes.iter().enumerate().map(move |(i, p)| ProbeReading {
                unit: &unit.path,
                module: &ty.module.name,
                scope: &p.scope,
                name: &p.name,
                kind: p.kind,
                text: &p.text,
                count: state.limbs[ty.layout.probes + i].wrapping_add(state.rate[i].wrapping_mul(slept)),
            })
        })
    }

    /// The state's limbs of a unit, laid out by its type's [`crate::layout::Layout`].
    pub fn state(&self, unit: usize) -> &[u64] {
        &self.units[unit].limbs
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
        Some(Bv::from_limbs(&self.units[unit].limbs[ty.layout.regs[number]..][..limbs_for(width)], width))
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
        Some(Bv::from_limbs(&self.units[unit].limbs[at], width))
    }

    /// Overwrites one lane of a memory row; false when there is no such memory, row or lane.
    pub fn poke_mem(&mut self, path: &str, row: u32, lane: u32, value: &Bv) -> bool {
        let Some((unit, at, _)) = self.cell(path, row, lane) else {
            return false;
        };
        self.units[unit].limbs[at].copy_from_slice(value.limbs());
        self.wake(unit);
        true
    }

    /// Values of all named expressions of a unit in the present cycle: calls `f` with the number in `netlist.names` and the limbs.
    pub fn observe(&mut self, unit: usize, mut f: impl FnMut(usize, &[u64])) {
        let design = self.design.clone();
        let ty = &design.types[design.units[unit].ty];
        ty.interp.evaluate(&self.units[unit].limbs, &mut self.scratch);
        for (i, name) in ty.netlist.names.iter().enumerate() {
            f(i, ty.interp.value(&self.scratch, name.node));
        }
    }

    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        let saved = Saved {
            design: self.design.name.clone(),
            cycle: self.cycle,
            units: self.units.clone(),
            active: self.active.clone(),
            failures: self.failures.clone(),
        };
        postcard::to_stdvec(&saved).expect("plain data serialises")
    }

    /// Restores a state saved from the same design.
    ///
    /// # Errors
    /// Bytes of another design or damaged ones; the simulation is then unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let saved: Saved = postcard::from_bytes(bytes).map_err(|e| EngineError::Snapshot(e.to_string()))?;
        let fits = saved.design == self.design.name
            && saved.units.len() == self.units.len()
            && saved.units.iter().zip(&self.units).all(|(a, b)| a.limbs.len() == b.limbs.len());
        if !fits {
            return Err(EngineError::Snapshot(format!("it was saved from {}", saved.design)));
        }
        self.cycle = saved.cycle;
        self.units = saved.units;
        self.active = saved.active;
        self.failures = saved.failures;
        Ok(())
    }
}

/// Adds what the counters of a unit gained while it slept.
fn settle(design: &Design, unit: usize, state: &mut UnitState, cycles: u64) {
    let probes = design.types[design.units[unit].ty].layout.probes;
    for (i, rate) in state.rate.iter().enumerate() {
        state.limbs[probes + i] = state.limbs[probes + i].wrapping_add(rate.wrapping_mul(cycles));
    }
}
