//! Applications without synchronisation inside their kernels (`cu-and-consistency.md` section 7, from Rodinia and Parboil),
//! most of them in work-groups of 16 x 16 threads with a tile in the scratchpad.
//!
//! | in the specification | program | published input |
//! | --- | --- | --- |
//! | BP | [`backprop`] | `inputs=8192` |
//! | PF | `pathfinder`, one directory up | `columns=100000 rows=10` |
//! | LUD | [`lud`] (`lu` is PolyBench's, without tiles) | `tiles=16` |
//! | NW | `nw`, one directory up | `tiles=32` |
//! | SGEMM | [`sgemm`] (`gemm` is PolyBench's, without tiles) | `m=1024 k=992 n=1056` |
//! | ST | [`stencil3d`] (`stencil` is SHOC's, on a plane) | `n=128 depth=4 iterations=4` |
//! | HS | [`hotspot`] | `n=512` |
//! | NN | [`nn`] | `records=171056` |
//! | SRAD v2 | [`srad`] | `n=256` |
//! | LAVA | [`lava`] | `boxes=2 particles=100` |
//!
//! Arrays that a kernel only reads are read-only regions of that kernel, whole arrays, so that no line of one is written.
//! Sizes need not fill tiles: threads beyond the data load and store nothing.

pub mod backprop;
pub mod hotspot;
pub mod lava;
pub mod lud;
pub mod nn;
pub mod sgemm;
pub mod srad;
pub mod stencil3d;

use super::simt::{Round, Thread};

/// Rows and columns of a tile.
const TILE: u64 = 16;
/// Threads of a work-group, one for each element of a tile.
const GROUP: u32 = (TILE * TILE) as u32;
/// Words from one row of a tile with a border of one element to the next.
const PITCH: u64 = TILE + 2;

/// Row and column of a thread in its tile.
fn place(t: &Thread) -> (u64, u64) {
    (t.local / TILE, t.local % TILE)
}

/// Row and column of a thread in a grid whose tiles lie `across` in a row.
fn cell(t: &Thread, across: u64) -> (u64, u64) {
    let (row, column) = place(t);
    (t.block / across * TILE + row, t.block % across * TILE + column)
}

/// Scratchpad address of a cell of a tile with a border; rows and columns count the border.
fn bordered(row: u64, column: u64) -> u64 {
    4 * (row * PITCH + column)
}

/// A square grid in tiles with a border.
#[derive(Clone, Copy, Debug)]
struct Grid {
    /// Rows and columns.
    n: u64,
}

impl Grid {
    /// Tiles in a row.
    fn across(self) -> u64 {
        self.n.div_ceil(TILE)
    }

    /// Threads of a launch.
    fn threads(self) -> u64 {
        self.across() * self.across() * u64::from(GROUP)
    }

    /// Row and column of a thread, if it has a cell.
    fn cell(self, t: &Thread) -> Option<(u64, u64)> {
        let (row, column) = cell(t, self.across());
        (row < self.n && column < self.n).then_some((row, column))
    }

    /// Cells north, south, west and east of one; beyond the border that on it.
    fn around(self, row: u64, column: u64) -> [(u64, u64); 4] {
        let last = self.n - 1;
        [
            (row.saturating_sub(1), column),
            ((row + 1).min(last), column),
            (row, column.saturating_sub(1)),
            (row, (column + 1).min(last)),
        ]
    }

    /// Index of a cell.
    fn at(self, (row, column): (u64, u64)) -> u64 {
        row * self.n + column
    }
}

/// Slots of a cell and of those north, south, west and east of it.
const S_HERE: u64 = 0;
const S_AROUND: u64 = 1;

/// Round 0 of a kernel that brings a tile with its border to the scratchpad: reads the thread's own cell and, at an edge of the
/// tile, those beyond the edge.
fn read_tile(grid: Grid, t: &Thread, io: &mut Round, address: impl Fn(u64) -> u64) {
    let Some((row, column)) = grid.cell(t) else { return };
    io.read(S_HERE, address(grid.at((row, column))));
    for (side, cell) in (0..).zip(grid.around(row, column)) {
        if beyond(t, side) {
            io.read(S_AROUND + side, address(grid.at(cell)));
        }
    }
}

/// Round 1: stores what round 0 has read; a barrier follows.
fn keep_tile(grid: Grid, t: &Thread, io: &mut Round) {
    if grid.cell(t).is_none() {
        return;
    }
    let (row, column) = place(t);
    io.lds_store(0, bordered(row + 1, column + 1), t.bits(S_HERE));
    for side in 0..4 {
        if beyond(t, side) {
            let (row, column) = beside(t, side);
            io.lds_store(1 + side, bordered(row, column), t.bits(S_AROUND + side));
        }
    }
}

/// Round 2: the cells around the thread's own.
fn load_around(grid: Grid, t: &Thread, io: &mut Round) {
    let Some((row, column)) = grid.cell(t) else { return };
    for (side, cell) in (0..).zip(grid.around(row, column)) {
        // A cell on the border of the grid is its own neighbour there.
        let (row, column) = if cell == (row, column) && !beyond(t, side) {
            let (row, column) = place(t);
            (row + 1, column + 1)
        } else {
            beside(t, side)
        };
        io.lds_load(S_AROUND + side, bordered(row, column));
    }
}

/// Whether the cell on a side (north, south, west, east) of a thread is in another tile.
fn beyond(t: &Thread, side: u64) -> bool {
    let (row, column) = place(t);
    [row == 0, row == TILE - 1, column == 0, column == TILE - 1][side as usize]
}

/// Where the cell on a side of a thread lies in the scratchpad.
fn beside(t: &Thread, side: u64) -> (u64, u64) {
    let (row, column) = place(t);
    [(row, column + 1), (row + 2, column + 1), (row + 1, column), (row + 1, column + 2)][side as usize]
}
