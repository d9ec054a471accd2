//! LUD (Rodinia lud): decomposition by tiles, three kernels for each step of the diagonal.

use super::super::common::{LANES, SEED};
use super::super::lu::dominant;
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{GROUP, TILE, place};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "lud",
    about: "LU decomposition in place without pivots, by tiles of 16 x 16 in the scratchpad: for each step a kernel for the \
            tile on the diagonal, one for those right of it and below, one for the rest (Rodinia lud).",
    params: &[
        ParamSpec {
            name: "tiles",
            default: "10",
            legal: Legal::Integer { min: 1, max: 512 },
            unit: "tiles",
            about: "Rows and columns of the matrix in tiles of 16.",
        },
        LANES,
        SEED,
    ],
    published: &[("tiles", "16")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Lud::new, params),
};

const A: usize = 0;
const P_DIAGONAL: u32 = 0;
const P_PERIMETER: u32 = 1;
/// Bytes of a tile.
const BYTES: u64 = 4 * TILE * TILE;

/// The decomposition.
#[derive(Clone, Debug)]
pub struct Lud {
    base: Base,
    tiles: u64,
}

/// Scratchpad address of an element of tile number `tile`.
fn lds(tile: u64, row: u64, column: u64) -> u64 {
    tile * BYTES + 4 * (row * TILE + column)
}

/// Subtracts products of slots `left..` and `right..` from a value, one after the other.
fn eliminate(t: &Thread, value: f32, left: u64, right: u64, count: u64) -> f32 {
    (0..count).fold(value, |value, k| value - t.float(left + k) * t.float(right + k))
}

impl Lud {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let tiles = params.integer("tiles");
        let n = tiles * TILE;
        let mut base = Base::new(INFO.name, params);
        base.add("A", n * n, false, data::f32_bytes(&dominant(n, params.integer("seed"))));
        Ok(Self { base, tiles })
    }

    /// Address of an element of the tile in a row and column of tiles.
    fn at(&self, (down, across): (u64, u64), row: u64, column: u64) -> u64 {
        self.base.at(A, (down * TILE + row) * self.tiles * TILE + across * TILE + column)
    }

    /// A thread for each column, and below the diagonal for each row. Per step: its part of column `i` to read, to write; its part
    /// of row `i + 1` to read, to write.
    fn diagonal(&self, t: &Thread, io: &mut Round) -> Flow {
        let (own, tile) = (t.local, (t.args[0], t.args[0]));
        match t.round {
            0 => {
                (0..TILE).for_each(|row| io.load(row, self.at(tile, row, own)));
                return Flow::Next;
            }
            1 => {
                (0..TILE).for_each(|row| io.lds_store(row, lds(0, row, own), t.bits(row)));
                return Flow::Barrier;
            }
            _ => {}
        }
        let (i, part) = ((t.round - 2) / 4, (t.round - 2) % 4);
        if i == TILE - 1 {
            if part == 0 {
                (1..TILE).for_each(|row| io.lds_load(row, lds(0, row, own)));
                return Flow::Next;
            }
            (1..TILE).for_each(|row| io.store(row, self.at(tile, row, own), t.bits(row)));
            return Flow::End;
        }
        let works = own > i;
        match part {
            0 if works => {
                for k in 0..=i {
                    io.lds_load(k, lds(0, own, k));
                    io.lds_load(TILE + k, lds(0, k, i));
                }
            }
            1 if works => {
                io.alu(i);
                io.sfu(1);
                let value = eliminate(t, t.float(i), 0, TILE, i) / t.float(TILE + i);
                io.lds_store(0, lds(0, own, i), u64::from(value.to_bits()));
            }
            2 if works => {
                for k in 0..=i {
                    io.lds_load(k, lds(0, i + 1, k));
                    io.lds_load(TILE + k, lds(0, k, own));
                }
                io.lds_load(2 * TILE, lds(0, i + 1, own));
            }
            3 if works => {
                io.alu(i + 1);
                let value = eliminate(t, t.float(2 * TILE), 0, TILE, i + 1);
                io.lds_store(0, lds(0, i + 1, own), u64::from(value.to_bits()));
            }
            _ => {}
        }
        if part % 2 == 0 { Flow::Next } else { Flow::Barrier }
    }

    /// 16 threads for the columns of a tile right of the diagonal, 16 for the rows of one below it; scratchpad tile 0 is the
    /// diagonal's, 1 and 2 are those.
    fn perimeter(&self, t: &Thread, io: &mut Round) -> Flow {
        let (step, other) = (t.args[0], t.args[0] + 1 + t.block);
        let (below, own) = (t.local / TILE, t.local % TILE);
        let tile = if below == 0 { (step, other) } else { (other, step) };
        let half = TILE / 2 * below;
        match t.round {
            0 => {
                for row in 0..TILE / 2 {
                    io.load(row, self.at((step, step), half + row, own));
                }
                (0..TILE).for_each(|row| io.load(TILE + row, self.at(tile, row, own)));
                return Flow::Next;
            }
            1 => {
                for row in 0..TILE / 2 {
                    io.lds_store(row, lds(0, half + row, own), t.bits(row));
                }
                (0..TILE).for_each(|row| {
                    io.lds_store(TILE + row, lds(1 + below, row, own), t.bits(TILE + row));
                });
                return Flow::Barrier;
            }
            _ => {}
        }
        let (i, reads) = ((t.round - 2) / 2, t.round.is_multiple_of(2));
        if i == TILE {
            if reads {
                (0..TILE).for_each(|row| io.lds_load(row, lds(1 + below, row, own)));
                return Flow::Next;
            }
            (0..TILE).for_each(|row| io.store(row, self.at(tile, row, own), t.bits(row)));
            return Flow::End;
        }
        // Element i of the thread's own column, or row.
        let of = |k: u64| if below == 0 { lds(1, k, own) } else { lds(2, own, k) };
        if reads {
            for k in 0..i {
                io.lds_load(k, of(k));
                io.lds_load(TILE + k, if below == 0 { lds(0, i, k) } else { lds(0, k, i) });
            }
            io.lds_load(2 * TILE, of(i));
            if below == 1 {
                io.lds_load(2 * TILE + 1, lds(0, i, i));
            }
            return Flow::Next;
        }
        io.alu(i);
        let mut value = eliminate(t, t.float(2 * TILE), 0, TILE, i);
        if below == 1 {
            io.sfu(1);
            value /= t.float(2 * TILE + 1);
        }
        io.lds_store(0, of(i), u64::from(value.to_bits()));
        if i == TILE - 1 { Flow::Barrier } else { Flow::Next }
    }

    /// A thread for each element: subtracts the product of the tile left of it and the one above.
    fn internal(&self, t: &Thread, io: &mut Round) -> Flow {
        let (step, rest) = (t.args[0], self.tiles - 1 - t.args[0]);
        let (down, across) = (step + 1 + t.block / rest, step + 1 + t.block % rest);
        let (row, column) = place(t);
        let own = self.at((down, across), row, column);
        match t.round {
            0 => {
                io.load(0, self.at((down, step), row, column));
                io.load(1, self.at((step, across), row, column));
                Flow::Next
            }
            1 => {
                io.lds_store(0, lds(0, row, column), t.bits(0));
                io.lds_store(1, lds(1, row, column), t.bits(1));
                Flow::Barrier
            }
            2 => {
                for k in 0..TILE {
                    io.lds_load(k, lds(0, row, k));
                    io.lds_load(TILE + k, lds(1, k, column));
                }
                io.load(2 * TILE, own);
                Flow::Next
            }
            _ => {
                io.alu(TILE + 1);
                let sum = (0..TILE).fold(0.0, |sum, k| sum + t.float(k) * t.float(TILE + k));
                io.put(0, own, t.float(2 * TILE) - sum);
                Flow::End
            }
        }
    }
}

impl Kernels for Lud {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let (step, phase) = (index as u64 / 3, index as u32 % 3);
        let rest = (self.tiles - 1).checked_sub(step)?;
        let launch = match phase {
            P_DIAGONAL => Launch::new("lud_diagonal", phase, TILE, TILE as u32).lds(BYTES),
            _ if rest == 0 => return None,
            P_PERIMETER => {
                Launch::new("lud_perimeter", phase, rest * 2 * TILE, 2 * TILE as u32).lds(3 * BYTES)
            }
            _ => Launch::new("lud_internal", phase, rest * rest * u64::from(GROUP), GROUP).lds(2 * BYTES),
        };
        Some(launch.args(&[step]))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_DIAGONAL => self.diagonal(t, io),
            P_PERIMETER => self.perimeter(t, io),
            _ => self.internal(t, io),
        }
    }

    /// Element by element: what each tile before takes off is summed first, as the kernels do it.
    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (n, tile) = ((self.tiles * TILE) as usize, TILE as usize);
        let mut a = self.base.first::<f32>(A);
        let eliminated = |a: &[f32], i: usize, j: usize| {
            let product = |k: usize| a[i * n + k] * a[k * n + j];
            let before = i.min(j) / tile * tile;
            let tiles = (0..before).step_by(tile).map(|k| (k..k + tile).fold(0.0, |sum, k| sum + product(k)));
            let value = tiles.fold(a[i * n + j], |value, sum| value - sum);
            (before..i.min(j)).fold(value, |value, k| value - product(k))
        };
        for d in 0..n {
            for j in d..n {
                a[d * n + j] = eliminated(&a, d, j);
            }
            for i in d + 1..n {
                a[i * n + d] = eliminated(&a, i, d) / a[d * n + d];
            }
        }
        self.base.check(A, &a, memory)
    }
}
