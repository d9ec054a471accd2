//! SRAD v2 (Rodinia srad_v2): removes speckle from an image by diffusion that stops at edges.

use super::super::common::{LANES, SEED};
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{GROUP, Grid, PITCH, S_AROUND, S_HERE, keep_tile, load_around, read_tile};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "srad",
    about: "Speckle reducing diffusion of an image, two kernels per iteration through scratchpad tiles of 16 x 16 with their \
            four neighbours; between iterations the host measures the speckle (Rodinia srad_v2).",
    params: &[
        ParamSpec {
            name: "n",
            default: "96",
            legal: Legal::Integer { min: 1, max: 8192 },
            unit: "points",
            about: "Rows and columns of the image.",
        },
        ParamSpec {
            name: "iterations",
            default: "2",
            legal: Legal::Integer { min: 1, max: 10_000 },
            unit: "iterations",
            about: "Iterations of two kernels.",
        },
        LANES,
        SEED,
    ],
    published: &[("n", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Srad::new, params),
};

const IMAGE: usize = 0;
/// Diffusion coefficients, and differences to the north, south, west and east.
const COEFFICIENT: usize = 1;
const DIFFERENCE: usize = 2;
const P_COEFFICIENT: u32 = 0;
const S_DIFFERENCE: u64 = 5;
const S_IMAGE: u64 = 9;
/// Rows and columns of the corner whose speckle the host measures.
const CORNER: u64 = 128;
/// Size of a step.
const LAMBDA: f32 = 0.5;

/// The diffusion.
#[derive(Clone, Debug)]
pub struct Srad {
    base: Base,
    grid: Grid,
    iterations: u64,
}

/// Coefficient of a point: 1 in the open, 0 at an edge.
fn coefficient(here: f32, [north, south, west, east]: [f32; 4], speckle: f32) -> f32 {
    let gradient = (north * north + south * south + west * west + east * east) / (here * here);
    let laplacian = (north + south + west + east) / here;
    let above = 0.5 * gradient - (1.0 / 16.0) * (laplacian * laplacian);
    let below = 1.0 + 0.25 * laplacian;
    let variation = above / (below * below);
    let excess = (variation - speckle) / (speckle * (1.0 + speckle));
    (1.0 / (1.0 + excess)).clamp(0.0, 1.0)
}

/// New value of a point from the coefficients of it, south and east of it.
fn diffused(here: f32, own: f32, south: f32, east: f32, difference: [f32; 4]) -> f32 {
    let sum = own * difference[0] + south * difference[1] + own * difference[2] + east * difference[3];
    here + 0.25 * LAMBDA * sum
}

impl Srad {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [n, iterations, seed] = ["n", "iterations", "seed"].map(|name| params.integer(name));
        let mut base = Base::new(INFO.name, params);
        base.add("image", n * n, false, data::f32_bytes(&data::units(seed, 0, (n * n) as usize)));
        for name in ["coefficient", "north", "south", "west", "east"] {
            base.zeros(name, n * n);
        }
        Ok(Self { base, grid: Grid { n }, iterations })
    }

    /// Squared coefficient of variation in the corner.
    fn speckle(&self, image: &[f32]) -> f32 {
        let side = self.grid.n.min(CORNER);
        let corner = (0..side * side).map(|i| image[self.grid.at((i / side, i % side)) as usize]);
        let (sum, squares) = corner.fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
        let count = (side * side) as f32;
        let mean: f32 = sum / count;
        // Of one point, or of equal ones, no variation is left to divide by.
        ((squares / count - mean * mean) / (mean * mean)).max(1e-6)
    }

    /// Differences and coefficient of a thread's point.
    fn edges(&self, t: &Thread, io: &mut Round) -> Flow {
        match t.round {
            0 => read_tile(self.grid, t, io, |at| self.base.at(IMAGE, at)),
            1 => {
                keep_tile(self.grid, t, io);
                return Flow::Barrier;
            }
            2 => load_around(self.grid, t, io),
            _ => {
                let Some(cell) = self.grid.cell(t) else { return Flow::End };
                let here = t.float(S_HERE);
                let difference = std::array::from_fn(|side| t.float(S_AROUND + side as u64) - here);
                let own = coefficient(here, difference, f32::from_bits(t.args[0] as u32));
                io.alu(20);
                io.sfu(5);
                for (side, difference) in difference.into_iter().enumerate() {
                    io.put(side as u64, self.base.at(DIFFERENCE + side, self.grid.at(cell)), difference);
                }
                io.put(4, self.base.at(COEFFICIENT, self.grid.at(cell)), own);
                return Flow::End;
            }
        }
        Flow::Next
    }

    /// New value of a thread's point.
    fn diffuse(&self, t: &Thread, io: &mut Round) -> Flow {
        match t.round {
            0 => {
                read_tile(self.grid, t, io, |at| self.base.at(COEFFICIENT, at));
                if let Some(cell) = self.grid.cell(t) {
                    for side in 0..4 {
                        let at = self.base.at(DIFFERENCE + side, self.grid.at(cell));
                        io.read(S_DIFFERENCE + side as u64, at);
                    }
                    io.load(S_IMAGE, self.base.at(IMAGE, self.grid.at(cell)));
                }
            }
            1 => {
                keep_tile(self.grid, t, io);
                return Flow::Barrier;
            }
            2 => load_around(self.grid, t, io),
            _ => {
                let Some(cell) = self.grid.cell(t) else { return Flow::End };
                let [south, east] = [1, 3].map(|side| t.float(S_AROUND + side));
                let difference = std::array::from_fn(|side| t.float(S_DIFFERENCE + side as u64));
                io.alu(9);
                let value = diffused(t.float(S_IMAGE), t.float(S_HERE), south, east, difference);
                io.put(0, self.base.at(IMAGE, self.grid.at(cell)), value);
                return Flow::End;
            }
        }
        Flow::Next
    }
}

impl Kernels for Srad {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, memory: &Memory) -> Option<Launch> {
        let (iteration, phase) = (index as u64 / 2, index as u32 % 2);
        if iteration == self.iterations {
            return None;
        }
        let launch = if phase == P_COEFFICIENT {
            let bytes = memory(self.base.at(IMAGE, 0), 4 * (self.grid.n * self.grid.n) as usize);
            let speckle = self.speckle(&data::f32_values(&bytes));
            Launch::new("srad_1", phase, self.grid.threads(), GROUP).args(&[u64::from(speckle.to_bits())])
        } else {
            Launch::new("srad_2", phase, self.grid.threads(), GROUP)
        };
        Some(launch.lds(4 * PITCH * PITCH))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        if t.phase == P_COEFFICIENT { self.edges(t, io) } else { self.diffuse(t, io) }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = self.grid.n;
        let mut image = self.base.first::<f32>(IMAGE);
        let mut own = Vec::new();
        let mut differences = Vec::new();
        let around = |at: usize| {
            let at = at as u64;
            self.grid.around(at / n, at % n).map(|cell| self.grid.at(cell) as usize)
        };
        for _ in 0..self.iterations {
            let speckle = self.speckle(&image);
            let points = || image.iter().copied().enumerate();
            differences = points().map(|(at, here)| around(at).map(|side| image[side] - here)).collect();
            own = points().map(|(at, here)| coefficient(here, differences[at], speckle)).collect();
            let new = points().map(|(at, here)| {
                let [_, south, _, east] = around(at);
                diffused(here, own[at], own[south], own[east], differences[at])
            });
            image = new.collect();
        }
        self.base.check(IMAGE, &image, memory)?;
        self.base.check(COEFFICIENT, &own, memory)?;
        (0..4).try_for_each(|side| {
            let expected: Vec<f32> = differences.iter().map(|of| of[side]).collect();
            self.base.check(DIFFERENCE + side, &expected, memory)
        })
    }
}
