//! Who may do what to which bytes of a program's memory.

use crate::Ground;
use weft_workload::op::Scope;

/// Bytes of what has one role.
pub(crate) const CELL: u64 = 8;

/// Who may do what to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Loads and stores of data.
    Data,
    /// Synchronisation, in words of so many bytes, at this scope by what is inside of it: a compute unit or a GPU by its number. Perhaps data, too.
    Synchronise { size: u8, scope: Scope, home: u32, data: bool },
}

/// Roles of all cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roles<'a> {
    /// Where the program runs.
    pub ground: &'a Ground,
    /// What they are drawn from.
    pub seed: u64,
    /// Share of cells that are for synchronisation, of 256.
    pub cells: u8,
}

impl Roles<'_> {
    /// That of the cell at an address.
    pub fn of(&self, addr: u64) -> Role {
        let drawn = mix(self.seed ^ (addr / CELL));
        if drawn as u8 >= self.cells {
            return Role::Data;
        }
        let size = if self.ground.wide && drawn >> 8 & 3 == 0 { 8 } else { 4 };
        let scope = match (self.ground.scopes, drawn >> 10 & 3) {
            (true, 0) => Scope::Cu,
            (true, 1) => Scope::Gpu,
            _ => Scope::Sys,
        };
        let unit = (drawn >> 16) as u32 % self.ground.units();
        let home = match scope {
            Scope::Cu => unit,
            Scope::Gpu => self.ground.gpu(unit),
            Scope::Sys => 0,
        };
        Role::Synchronise { size, scope, home, data: self.ground.mixed && drawn >> 12 & 1 == 1 }
    }

    /// Whether a wave of a unit may synchronise on such a cell: `Some` of whether it takes a remote operation.
    pub fn reached(&self, role: Role, by: u32) -> Option<bool> {
        let Role::Synchronise { scope, home, .. } = role else { return None };
        let gpu = |unit| self.ground.gpu(unit);
        match scope {
            Scope::Sys => Some(false),
            Scope::Gpu => (gpu(by) == home).then_some(false),
            Scope::Cu if by == home => Some(false),
            Scope::Cu => (self.ground.remote && gpu(by) == gpu(home)).then_some(true),
        }
    }
}

/// 64 well mixed bits (splitmix64).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
