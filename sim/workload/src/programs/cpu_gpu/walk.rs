//! The walk of a thread over the neighbours of its vertices.

use super::super::graphs;
use super::super::round::Round;
use super::super::simt::{Base, Thread};
use super::super::steal::work::Rows;
use super::team::Team;
use crate::data;

/// Registers.
pub const REGISTERS: usize = R_NEAR + UNROLL as usize;
const R_STATE: usize = 0;
const R_NEXT: usize = 1;
const R_LAST: usize = 2;
const R_COUNT: usize = 3;
/// The neighbours of the round. What a lane has loaded stays for one round only where other lanes of its wave may load in the same slots.
const R_NEAR: usize = 4;

const OPEN: u64 = 0;
const ROW: u64 = 1;
const COLUMNS: u64 = 2;
const LOADED: u64 = 3;

/// Neighbours that a thread looks at in a round.
const UNROLL: u64 = 4;

const S_ROW: u64 = 0;
const S_COLUMN: u64 = 2;
/// First slot of what is accessed of neighbour `i`: `S_NEAR + 4 * i` and the three after it.
pub const S_NEAR: u64 = 8;
/// First slot that the walk leaves to its program.
pub const S_OWN: u64 = S_NEAR + 4 * UNROLL;

/// A graph in memory.
#[derive(Clone, Debug)]
pub struct Walk {
    row: usize,
    column: usize,
}

impl Walk {
    /// Adds the arrays of the graph.
    pub fn new(base: &mut Base, rows: &Rows) -> Self {
        let row = base.input("row", data::u32_bytes(&rows.offsets));
        Self { row, column: base.input("column", data::u32_bytes(&graphs::padded(&rows.targets))) }
    }

    /// One round of the walk over the neighbours of `v`; whether it is over, and the next walk may begin in the next round. `near` loads what it
    /// wants to know of neighbour `u`, the `i`-th of its round, and `take` uses it a round later.
    pub fn round(
        &self,
        base: &Base,
        t: &Thread,
        v: u64,
        r: &mut [u64],
        io: &mut Round,
        near: impl Fn(u64, u64, &mut Round),
        mut take: impl FnMut(u64, u64, &mut Round),
    ) -> bool {
        match r[R_STATE] {
            OPEN => {
                io.read(S_ROW, base.at(self.row, v));
                io.read(S_ROW + 1, base.at(self.row, v + 1));
                r[R_STATE] = ROW;
                return false;
            }
            COLUMNS => {
                for i in 0..r[R_COUNT] {
                    let u = t.index(S_COLUMN + i);
                    r[R_NEAR + i as usize] = u;
                    near(i, u, io);
                }
                r[R_STATE] = LOADED;
                return false;
            }
            ROW => (r[R_NEXT], r[R_LAST]) = (t.index(S_ROW), t.index(S_ROW + 1)),
            _ => {
                io.alu(r[R_COUNT]);
                (0..r[R_COUNT]).for_each(|i| take(i, r[R_NEAR + i as usize], io));
            }
        }
        if r[R_NEXT] == r[R_LAST] {
            r[R_STATE] = OPEN;
            return true;
        }
        r[R_COUNT] = UNROLL.min(r[R_LAST] - r[R_NEXT]);
        (0..r[R_COUNT]).for_each(|i| io.read(S_COLUMN + i, base.at(self.column, r[R_NEXT] + i)));
        r[R_NEXT] += r[R_COUNT];
        r[R_STATE] = COLUMNS;
        false
    }
}

/// Vertex number `i` of a thread among those of its core, which has a contiguous part of all.
pub fn own(team: &Team, t: &Thread, vertices: u64, i: u64) -> Option<u64> {
    let core = team.core(t);
    let v = team.first(core, vertices) + t.local + i * team.width(t);
    (v < team.first(core + 1, vertices)).then_some(v)
}
