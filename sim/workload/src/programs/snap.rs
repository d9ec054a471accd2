//! SNAP: discrete ordinates sweep.

use super::common::{LANES, SEED};
use super::gemv::GROUP;
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "snap",
    about: "Discrete ordinates transport sweep: for each octant one kernel per diagonal plane of cells, a thread per cell \
            and angle, which reads the upstream faces that the kernel before wrote; then the angles are summed (after SNAP).",
    params: &[
        ParamSpec {
            name: "cells",
            default: "10",
            legal: Legal::Integer { min: 1, max: 128 },
            unit: "cells",
            about: "Cells along each side.",
        },
        ParamSpec {
            name: "angles",
            default: "16",
            legal: Legal::Integer { min: 1, max: 128 },
            unit: "angles",
            about: "Angles of an octant.",
        },
        ParamSpec {
            name: "octants",
            default: "2",
            legal: Legal::Integer { min: 1, max: 8 },
            unit: "octants",
            about: "Octants swept.",
        },
        GROUP,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("cells", "64"), ("angles", "36"), ("octants", "8"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Snap::new, params),
};

/// Source and cross-section of each cell.
const SOURCE: usize = 0;
const SIGMA: usize = 1;
/// Three direction cosines of each angle, then its weight.
const COSINE: usize = 2;
/// Cells in the order of their planes.
const ORDER: usize = 3;
/// Angular flux on the faces between cells: columns along x, y and z.
const FACE: usize = 4;
/// Angular flux of the octant swept.
const PSI: usize = 5;
const FLUX: usize = 6;

const P_SWEEP: u32 = 0;
const P_SUM: u32 = 1;
/// Flux that enters at the box's sides.
const INCOMING: f32 = 1.0;

const S_CELL: u64 = 0;
const S_FACE: u64 = 1;
const S_COSINE: u64 = 4;
const S_SOURCE: u64 = 7;
const S_SIGMA: u64 = 8;

/// Angles in a round of the sum.
const UNROLL: u64 = 8;

/// The transport problem.
#[derive(Clone, Debug)]
pub struct Snap {
    base: Base,
    cells: u64,
    angles: u64,
    octants: u64,
    group: u32,
    /// First cell of each plane in the order, and the end.
    planes: Vec<u64>,
}

impl Snap {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [n, angles, octants] = ["cells", "angles", "octants"].map(|name| params.integer(name));
        let (seed, all) = (params.integer("seed"), n * n * n);
        let plane = |cell: u64| cell % n + cell / n % n + cell / (n * n);
        let mut order: Vec<u32> = (0..all as u32).collect();
        order.sort_by_key(|&cell| plane(u64::from(cell)));
        let mut planes = vec![0; 3 * n as usize - 1];
        (0..all).for_each(|cell| planes[plane(cell) as usize + 1] += 1);
        (1..planes.len()).for_each(|p| planes[p] += planes[p - 1]);
        let mut base = Base::new(INFO.name, params);
        base.input("source", data::f32_bytes(&data::units(seed, 0, all as usize)));
        base.input("sigma", data::f32_bytes(&data::units(seed, 1, all as usize)));
        base.input("cosine", data::f32_bytes(&data::units(seed, 2, 4 * angles as usize)));
        base.input("order", data::u32_bytes(&order));
        base.zeros("face", 3 * n * n * angles);
        base.zeros("psi", all * angles);
        base.zeros("flux", all);
        Ok(Self { base, cells: n, angles, octants, group: params.integer("group") as u32, planes })
    }

    /// A cell's place along the sweep, as an index of the box in direction of `octant`.
    fn cell(&self, octant: u64, place: u64) -> u64 {
        let n = self.cells;
        let [x, y, z] = self.split(place);
        let turn = |v: u64, axis: u64| if octant >> axis & 1 == 1 { n - 1 - v } else { v };
        (turn(z, 2) * n + turn(y, 1)) * n + turn(x, 0)
    }

    fn split(&self, place: u64) -> [u64; 3] {
        let n = self.cells;
        [place % n, place / n % n, place / (n * n)]
    }

    /// Face upstream of a place along an axis: one word for a whole column, rewritten as the sweep goes on.
    fn face(&self, place: u64, axis: u64, angle: u64) -> u64 {
        let [x, y, z] = self.split(place);
        let column = [z * self.cells + y, z * self.cells + x, y * self.cells + x][axis as usize];
        (axis * self.cells * self.cells + column) * self.angles + angle
    }

    fn sweep(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let (octant, first) = (t.args[0], t.args[1]);
        let angle = t.id % self.angles;
        if t.round == 0 {
            io.read(S_CELL, self.base.at(ORDER, first + t.id / self.angles));
            (0..3).for_each(|axis| io.read(S_COSINE + axis, self.base.at(COSINE, 4 * angle + axis)));
            return Flow::Next;
        }
        let place = if t.round == 1 { t.index(S_CELL) } else { r[0] };
        let cell = self.cell(octant, place);
        let inside = self.split(place).map(|v| v > 0);
        let face = |axis: u64| self.base.at(FACE, self.face(place, axis, angle));
        if t.round == 1 {
            r[0] = place;
            (0..3).filter(|&a| inside[a as usize]).for_each(|axis| io.load(S_FACE + axis, face(axis)));
            io.read(S_SOURCE, self.base.at(SOURCE, cell));
            io.read(S_SIGMA, self.base.at(SIGMA, cell));
            return Flow::Next;
        }
        let upstream = std::array::from_fn(|a| if inside[a] { t.float(S_FACE + a as u64) } else { INCOMING });
        let cosine = std::array::from_fn(|a| t.float(S_COSINE + a as u64));
        let (psi, downstream) = cross(t.float(S_SOURCE), t.float(S_SIGMA), cosine, upstream);
        io.sfu(1);
        io.alu(9);
        (0..).zip(downstream).for_each(|(axis, flux)| io.put(axis, face(axis), flux));
        io.put(3, self.base.at(PSI, cell * self.angles + angle), psi);
        Flow::End
    }

    fn sum(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let part = |round: u64| round * UNROLL..self.angles.min((round + 1) * UNROLL);
        if t.round == 0 {
            io.load(2 * UNROLL, self.base.at(FLUX, t.id));
        } else {
            let mut sum = f32::from_bits(if t.round == 1 { t.bits(2 * UNROLL) } else { r[0] } as u32);
            part(t.round - 1).zip(0..).for_each(|(_, i)| sum += t.float(2 * i) * t.float(2 * i + 1));
            r[0] = u64::from(sum.to_bits());
            io.alu(UNROLL);
        }
        if part(t.round).is_empty() {
            io.store(0, self.base.at(FLUX, t.id), r[0]);
            return Flow::End;
        }
        for (angle, i) in part(t.round).zip(0..) {
            io.read(2 * i, self.base.at(PSI, t.id * self.angles + angle));
            io.read(2 * i + 1, self.base.at(COSINE, 4 * angle + 3));
        }
        Flow::Next
    }
}

/// Diamond difference: the cell's flux, and the flux that leaves through the three downstream faces.
fn cross(source: f32, sigma: f32, cosine: [f32; 3], upstream: [f32; 3]) -> (f32, [f32; 3]) {
    let (mut inflow, mut total) = (source, sigma);
    for (c, u) in cosine.into_iter().zip(upstream) {
        inflow += 2.0 * c * u;
        total += 2.0 * c;
    }
    let psi = inflow / total;
    (psi, upstream.map(|u| (2.0 * psi - u).max(0.0)))
}

impl Kernels for Snap {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let planes = self.planes.len() - 1;
        let (octant, plane) = ((index / (planes + 1)) as u64, index % (planes + 1));
        if octant == self.octants {
            return None;
        }
        if plane == planes {
            let cells = self.cells.pow(3);
            return Some(Launch::new("snap_sum", P_SUM, cells, self.group).registers(1));
        }
        let (first, end) = (self.planes[plane], self.planes[plane + 1]);
        let threads = (end - first) * self.angles;
        Some(Launch::new("snap_sweep", P_SWEEP, threads, self.group).args(&[octant, first]).registers(1))
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        if t.phase == P_SWEEP { self.sweep(t, registers, io) } else { self.sum(t, registers, io) }
    }

    /// The host sweeps row after row, which respects the same dependencies.
    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let [source, sigma, cosine] = [SOURCE, SIGMA, COSINE].map(|a| self.base.first::<f32>(a));
        let (all, angles) = (self.cells.pow(3), self.angles as usize);
        let mut face = vec![0.0f32; 3 * (self.cells * self.cells) as usize * angles];
        let mut psi = vec![0.0f32; all as usize * angles];
        let mut flux = vec![0.0f32; all as usize];
        for octant in 0..self.octants {
            for place in 0..all {
                let cell = self.cell(octant, place) as usize;
                let inside = self.split(place).map(|v| v > 0);
                for angle in 0..angles {
                    let at: [usize; 3] =
                        std::array::from_fn(|axis| self.face(place, axis as u64, angle as u64) as usize);
                    let upstream = std::array::from_fn(|a| if inside[a] { face[at[a]] } else { INCOMING });
                    let c = std::array::from_fn(|axis| cosine[4 * angle + axis]);
                    let (value, out) = cross(source[cell], sigma[cell], c, upstream);
                    psi[cell * angles + angle] = value;
                    at.into_iter().zip(out).for_each(|(at, out)| face[at] = out);
                }
            }
            for (cell, flux) in flux.iter_mut().enumerate() {
                let weighed = |a: usize| psi[cell * angles + a] * cosine[4 * a + 3];
                *flux = (0..angles).fold(*flux, |sum, angle| sum + weighed(angle));
            }
        }
        self.base.check(FLUX, &flux, memory)?;
        self.base.check(PSI, &psi, memory)
    }
}
