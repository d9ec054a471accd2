//! Matrix transpose (AMD APP SDK): 64 x 64 tiles through the scratchpad, work-groups numbered down column strips of the result.

use super::common::{LANES, SEED};
use super::params::{Params, size};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "mt",
    about: "Transpose of a square matrix through 64 x 64 scratchpad tiles; GPUs work on column strips of the result, so most of one side crosses GPUs (AMD APP SDK MatrixTranspose).",
    params: &[size("n", "512", 16384, "rows", "Rows and columns."), LANES, SEED],
    published: &[("n", "4096")],
    takes_graph: false,
    make: |params, _| Simt::from_params(MatrixTranspose::new, params),
};

/// Rows and columns of a tile.
const TILE: u64 = 64;
/// Threads of a work-group.
const GROUP: u64 = 256;
/// Rows of a tile that the threads cover at once, and elements of a thread.
const STRIP: u64 = GROUP / TILE;
const EACH: u64 = TILE / STRIP;
/// Words from one tile row to the next, so that a column lies in different banks.
const PITCH: u64 = TILE + 1;
const IN: usize = 0;
const OUT: usize = 1;

/// The transpose.
#[derive(Clone, Debug)]
pub struct MatrixTranspose {
    base: Base,
    n: u64,
}

impl MatrixTranspose {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (n, seed) = (params.integer("n"), params.integer("seed"));
        let mut base = Base::new(INFO.name, params);
        base.input("in", data::f32_bytes(&data::units(seed, 0, (n * n) as usize)));
        base.zeros("out", n * n);
        base.split();
        Ok(Self { base, n })
    }
}

impl Kernels for MatrixTranspose {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let tiles = self.n.div_ceil(TILE).pow(2);
        (index == 0).then(|| Launch::new("mt", 0, tiles * GROUP, GROUP as u32).lds(4 * TILE * PITCH))
    }

    /// Loads rows of the input's tile, puts them in the scratchpad, takes columns out, stores rows of the result's tile.
    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let down = self.n.div_ceil(TILE);
        // Row and column of the tile in the result.
        let (row, column) = (t.block % down * TILE, t.block / down * TILE);
        let (x, y) = (t.local % TILE, t.local / TILE);
        for i in 0..EACH {
            let line = y + i * STRIP;
            let (from, to) = ((column + line, row + x), (row + line, column + x));
            let inside = |(r, c): (u64, u64)| r < self.n && c < self.n;
            match t.round {
                0 if inside(from) => io.read(i, self.base.at(IN, from.0 * self.n + from.1)),
                1 if inside(from) => io.lds_store(i, 4 * (line * PITCH + x), t.bits(i)),
                2 if inside(to) => io.lds_load(i, 4 * (x * PITCH + line)),
                3 if inside(to) => io.store(i, self.base.at(OUT, to.0 * self.n + to.1), t.bits(i)),
                _ => {}
            }
        }
        match t.round {
            1 => Flow::Barrier,
            3 => Flow::End,
            _ => Flow::Next,
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (input, n) = (self.base.first::<f32>(IN), self.n as usize);
        let expected: Vec<f32> = (0..n * n).map(|i| input[i % n * n + i / n]).collect();
        self.base.check(OUT, &expected, memory)
    }
}
