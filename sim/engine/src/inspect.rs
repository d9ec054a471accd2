//! Looking into a running design: observers, registers, memories, named expressions.

use crate::flags::WRITTEN;
use crate::part::exchange;
use crate::sim::Sim;
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::ir::ProbeKind;

/// A memory inside a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemPort {
    part: usize,
    /// First limb in the state of the part.
    at: usize,
    /// Limbs of a lane.
    limbs: usize,
    /// Rows.
    pub rows: u32,
    /// Lanes of a row.
    pub lanes: u32,
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

impl Sim {
    /// All observers' readings up to now.
    pub fn probes(&self) -> impl Iterator<Item = ProbeReading<'_>> {
        self.design.units.iter().enumerate().flat_map(move |(u, unit)| {
            let ty = &self.design.types[unit.ty];
            let (part, own) = self.place(u);
            let (state, schedule) = (self.state(u), &part.core.units[own]);
            let slept = schedule.asleep.map_or(0, |since| self.cycle() - since);
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

    /// One observer's count up to now, by the number of its unit and its number among the probes of the unit's netlist.
    pub fn probe_count(&self, unit: usize, probe: usize) -> u64 {
        let (part, own) = self.place(unit);
        let (ty, schedule) = (&self.design.types[self.design.units[unit].ty], &part.core.units[own]);
        let slept = schedule.asleep.map_or(0, |since| self.cycle() - since);
        self.state(unit)[ty.layout.probes + probe].wrapping_add(schedule.rate[probe].wrapping_mul(slept))
    }

    /// The state's limbs of a unit, laid out by its type's [`crate::layout::Layout`].
    pub fn state(&self, unit: usize) -> &[u64] {
        let (part, own) = self.place(unit);
        let call = &part.wiring().calls[own];
        &part.core.limbs[call.base..][..self.design.types[call.ty].layout.copy]
    }

    /// Whether the last clock edge of a unit wrote one of its memories, or somebody did since.
    pub(crate) fn wrote(&self, unit: usize) -> bool {
        let (part, own) = self.place(unit);
        let call = &part.wiring().calls[own];
        part.core.limbs[call.base + self.design.types[call.ty].layout.flags] & WRITTEN != 0
    }

    /// Puts a unit into a state that [`Sim::state`] has given for this design, or one made of it: input slots are part of it. What it shows others follows. Failures so far are
    /// forgotten.
    ///
    /// # Panics
    /// When the state has another length.
    pub fn put_state(&mut self, unit: usize, state: &[u64]) {
        let design = self.design.clone();
        let ty = &design.types[design.units[unit].ty];
        let (part, own) = self.place_mut(unit);
        let (base, end) = (part.wiring().calls[own].base, part.wiring().calls[own].end);
        let limbs = &mut part.core.limbs[base..end];
        limbs[..ty.layout.copy].copy_from_slice(state);
        limbs.copy_within(0..ty.layout.buffered, ty.layout.copy);
        let counters = &state[ty.layout.probes..][..ty.netlist.probes.len()];
        part.core.units[own].reported.copy_from_slice(counters);
        part.show(own);
        part.disturb(own);
        exchange(&mut self.parts);
        self.failures.clear();
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
        let (part, own) = self.place(unit);
        let (at, limbs) =
            (part.wiring().calls[own].base + ty.layout.mems[number], ty.layout.lane_limbs[number]);
        Some(MemPort { part: part.number, at, limbs, rows: mem.rows, lanes: mem.lanes })
    }

    /// The limbs of one lane of a memory's row.
    ///
    /// # Panics
    /// When there is no such row or lane.
    pub fn lane(&self, memory: MemPort, row: u32, lane: u32) -> &[u64] {
        assert!(row < memory.rows && lane < memory.lanes, "row {row} lane {lane} of a memory");
        let number = row as usize * memory.lanes as usize + lane as usize;
        &self.parts[memory.part].core.limbs[memory.at + number * memory.limbs..][..memory.limbs]
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
        let (part, own) = self.place_mut(unit);
        let base = part.wiring().calls[own].base;
        part.core.limbs[base + at.start..base + at.end].copy_from_slice(value.limbs());
        part.disturb(own);
        true
    }
}
