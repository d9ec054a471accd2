//! CoMD: short-range molecular dynamics with cell lists.

use super::common::{LANES, SEED};
use super::gemv::GROUP;
use super::params::{Legal, ParamSpec, Params};
use super::particles::{apart, moved};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "comd",
    about: "Molecular dynamics with cell lists, two kernels per step: each atom's force from the atoms of its cell and the \
            26 around it, then velocities and positions (after CoMD).",
    params: &[
        ParamSpec {
            name: "cells",
            default: "8",
            legal: Legal::Integer { min: 3, max: 64 },
            unit: "cells",
            about: "Cells along each side of the periodic box; a cell has 2 to 4 atoms.",
        },
        ParamSpec {
            name: "steps",
            default: "2",
            legal: Legal::Integer { min: 1, max: 1000 },
            unit: "steps",
            about: "Time steps of two kernels.",
        },
        GROUP,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("cells", "64"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Comd::new, params),
};

/// Places for atoms in a cell.
const PLACES: u64 = 4;
const AROUND: u64 = 27;

const COUNT: usize = 0;
const PLACE: usize = 1;
const VELOCITY: usize = 2;
const FORCE: usize = 3;

const P_FORCE: u32 = 0;
const S_COUNT: u64 = 0;
const S_OWN: u64 = 1;
const S_OTHER: u64 = 4;

/// The simulation.
#[derive(Clone, Debug)]
pub struct Comd {
    base: Base,
    cells: u64,
    steps: u64,
    group: u32,
}

impl Comd {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (cells, seed) = (params.integer("cells"), params.integer("seed"));
        let all = cells * cells * cells;
        let places = all * PLACES;
        let count: Vec<u32> = (0..all).map(|cell| 2 + (data::mix(seed, 0, cell) % 3) as u32).collect();
        // Atoms stay near the corners of a tetrahedron in their cell, so that none are on one spot.
        let place = |i: u64| {
            let (axis, cell, own) = (i / places, i % places / PLACES, i % PLACES);
            let corner = [cell % cells, cell / cells % cells, cell / (cells * cells)][axis as usize];
            let inner = if (0b1100_1010_0110 >> (4 * axis + own)) & 1 == 1 { 0.7 } else { 0.2 };
            corner as f32 + inner + 0.1 * (data::unit(seed, 1, i) - 0.5)
        };
        let mut base = Base::new(INFO.name, params);
        base.input("count", data::u32_bytes(&count));
        let list: Vec<f32> = (0..3 * places).map(place).collect();
        base.add("place", 3 * places, false, data::f32_bytes(&list));
        base.zeros("velocity", 3 * places);
        base.zeros("force", 3 * places);
        Ok(Self { base, cells, steps: params.integer("steps"), group: params.integer("group") as u32 })
    }

    fn places(&self) -> u64 {
        self.cells * self.cells * self.cells * PLACES
    }

    fn axis(&self, array: usize, axis: u64, place: u64) -> u64 {
        self.base.at(array, axis * self.places() + place)
    }

    /// Cell `which` of the 27 around a cell, itself included.
    fn around(&self, cell: u64, which: u64) -> u64 {
        let n = self.cells;
        let step = |at: u64, by: u64| (at + by + n - 1) % n;
        let (x, y, z) = (cell % n, cell / n % n, cell / (n * n));
        (step(z, which / 9) * n + step(y, which / 3 % 3)) * n + step(x, which % 3)
    }

    /// One cell around in each round; registers hold the own position, then the force.
    fn force(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let cell = t.id / PLACES;
        let get = |r: &[u64], i: usize| f32::from_bits(r[i] as u32);
        if t.round == 0 {
            (0..3).for_each(|axis| io.read(S_OWN + axis, self.axis(PLACE, axis, t.id)));
        } else {
            if t.round == 1 {
                (0..3).for_each(|axis| r[axis] = t.bits(S_OWN + axis as u64));
            }
            let own = std::array::from_fn(|axis| get(r, axis));
            let mut force = std::array::from_fn(|axis| get(r, 3 + axis));
            let around = self.around(cell, t.round - 1);
            for other in (0..t.bits(S_COUNT)).filter(|o| around * PLACES + o != t.id) {
                let place = std::array::from_fn(|axis| t.float(S_OTHER + 3 * other + axis as u64));
                push(&mut force, own, place, self.cells as f32);
            }
            io.alu(14 * PLACES);
            io.sfu(PLACES);
            (0..3).for_each(|axis| r[3 + axis] = u64::from(force[axis].to_bits()));
        }
        if t.round == AROUND {
            (0..3).for_each(|axis| io.store(axis, self.axis(FORCE, axis, t.id), r[3 + axis as usize]));
            return Flow::End;
        }
        let around = self.around(cell, t.round);
        io.read(S_COUNT, self.base.at(COUNT, around));
        for other in 0..PLACES {
            (0..3).for_each(|axis| {
                io.read(S_OTHER + 3 * other + axis, self.axis(PLACE, axis, around * PLACES + other));
            });
        }
        Flow::Next
    }

    fn advance(&self, t: &Thread, io: &mut Round) -> Flow {
        if t.round == 0 {
            (0..)
                .zip([PLACE, VELOCITY, FORCE])
                .for_each(|(slot, array)| io.load(slot, self.base.at(array, t.id)));
            return Flow::Next;
        }
        let (place, velocity) = moved(t.float(0), t.float(1), t.float(2));
        io.alu(4);
        io.put(0, self.base.at(PLACE, t.id), place);
        io.put(1, self.base.at(VELOCITY, t.id), velocity);
        Flow::End
    }
}

/// Adds the Lennard-Jones force of an atom at `other`, if it is nearer than a cell in a periodic box of side `side`.
fn push(force: &mut [f32; 3], own: [f32; 3], other: [f32; 3], side: f32) {
    let (way, square) = apart(own, other, side);
    if square < 1.0 {
        let near = 0.16 / square;
        let sixth = near * near * near;
        let strength = sixth * (sixth - 0.5) * near;
        (0..3).for_each(|axis| force[axis] += way[axis] * strength);
    }
}

impl Kernels for Comd {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let phase = index as u32 % 2;
        ((index as u64) < 2 * self.steps).then(|| match phase {
            P_FORCE => Launch::new("comd_force", phase, self.places(), self.group).registers(6),
            _ => Launch::new("comd_move", phase, 3 * self.places(), self.group),
        })
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_FORCE => self.force(t, registers, io),
            _ => self.advance(t, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let count = self.base.first::<u32>(COUNT);
        let mut place = self.base.first::<f32>(PLACE);
        let mut velocity = self.base.first::<f32>(VELOCITY);
        let mut force = self.base.first::<f32>(FORCE);
        let places = self.places() as usize;
        for _ in 0..self.steps {
            for own in 0..places {
                let at = |i: usize| -> [f32; 3] { std::array::from_fn(|axis| place[axis * places + i]) };
                let mut sum = [0.0; 3];
                for which in 0..AROUND {
                    let cell = self.around(own as u64 / PLACES, which) as usize;
                    for other in (0..count[cell] as usize).map(|o| cell * PLACES as usize + o) {
                        if other != own {
                            push(&mut sum, at(own), at(other), self.cells as f32);
                        }
                    }
                }
                (0..3).for_each(|axis| force[axis * places + own] = sum[axis]);
            }
            for i in 0..3 * places {
                (place[i], velocity[i]) = moved(place[i], velocity[i], force[i]);
            }
        }
        self.base.check(FORCE, &force, memory)?;
        self.base.check(PLACE, &place, memory)?;
        self.base.check(VELOCITY, &velocity, memory)
    }
}
