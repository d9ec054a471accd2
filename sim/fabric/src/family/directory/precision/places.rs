//! Where in a design's state the check finds registers and memories.

use std::collections::HashMap;
use weft_engine::{Design, Sim};
use weft_rtl::bv::limbs_for;

/// A register of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegAt {
    unit: usize,
    at: usize,
    limbs: usize,
}

impl RegAt {
    /// Its low 64 bits.
    pub fn get(self, sim: &Sim) -> u64 {
        sim.state(self.unit)[self.at]
    }

    /// All its limbs.
    pub fn limbs(self, sim: &Sim) -> &[u64] {
        &sim.state(self.unit)[self.at..][..self.limbs]
    }
}

/// A memory of a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemAt {
    unit: usize,
    at: usize,
    limbs: usize,
    pub rows: u32,
    pub lanes: u32,
}

impl MemAt {
    /// A lane of a row.
    pub fn lane(self, sim: &Sim, row: u32, lane: u32) -> &[u64] {
        let number = row as usize * self.lanes as usize + lane as usize;
        &sim.state(self.unit)[self.at + number * self.limbs..][..self.limbs]
    }
}

/// Numbers of the registers and memories of a type of unit, by their names.
struct Names<'a> {
    regs: HashMap<&'a str, usize>,
    mems: HashMap<&'a str, usize>,
}

/// All names of a design.
pub(super) struct Index<'a> {
    design: &'a Design,
    types: Vec<Names<'a>>,
}

impl<'a> Index<'a> {
    pub fn new(design: &'a Design) -> Index<'a> {
        let names = design.types.iter().map(|ty| Names {
            regs: ty.netlist.regs.iter().enumerate().map(|(at, reg)| (reg.path.as_str(), at)).collect(),
            mems: ty.netlist.mems.iter().enumerate().map(|(at, mem)| (mem.path.as_str(), at)).collect(),
        });
        Index { design, types: names.collect() }
    }
}

/// Looks names up.
#[derive(Clone, Copy)]
pub(super) struct Finder<'a> {
    pub design: &'a Design,
    index: &'a Index<'a>,
}

impl<'a> Finder<'a> {
    pub fn new(index: &'a Index<'a>) -> Finder<'a> {
        Finder { design: index.design, index }
    }

    pub fn unit(self, path: &str) -> Option<usize> {
        self.design.units.iter().position(|u| u.path == path)
    }

    pub fn reg(self, unit: usize, name: &str) -> Option<RegAt> {
        let kind = self.design.units[unit].ty;
        let ty = &self.design.types[kind];
        let number = *self.index.types[kind].regs.get(name)?;
        Some(RegAt { unit, at: ty.layout.regs[number], limbs: limbs_for(ty.netlist.regs[number].width) })
    }

    pub fn mem(self, unit: usize, name: &str) -> Option<MemAt> {
        let kind = self.design.units[unit].ty;
        let ty = &self.design.types[kind];
        let number = *self.index.types[kind].mems.get(name)?;
        let mem = &ty.netlist.mems[number];
        let (at, limbs) = (ty.layout.mems[number], ty.layout.lane_limbs[number]);
        Some(MemAt { unit, at, limbs, rows: mem.rows, lanes: mem.lanes })
    }

    /// Prefixes of all registers of a unit called `PREFIX_line` that hold a line number.
    pub fn lines(self, unit: usize, width: u32) -> Vec<String> {
        let ty = &self.design.types[self.design.units[unit].ty];
        let named = ty.netlist.regs.iter().filter(|r| r.width == width);
        named.filter_map(|r| r.path.strip_suffix("_line").map(str::to_string)).collect()
    }

    /// Names of a unit's memories.
    pub fn mems(self, unit: usize) -> Vec<String> {
        let ty = &self.design.types[self.design.units[unit].ty];
        ty.netlist.mems.iter().map(|m| m.path.clone()).collect()
    }
}

/// `width` (at most 64) bits from bit `lo` on.
pub(super) fn bits(limbs: &[u64], lo: u32, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (limb, shift) = ((lo / 64) as usize, lo % 64);
    let low = limbs[limb] >> shift;
    let high = match limbs.get(limb + 1) {
        Some(next) if shift > 0 => next << (64 - shift),
        _ => 0,
    };
    (low | high) & (u64::MAX >> (64 - width))
}
