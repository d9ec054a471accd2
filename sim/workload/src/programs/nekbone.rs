//! Nekbone: conjugate gradients on spectral elements.

use super::common::{LANES, SEED};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "nekbone",
    about: "Conjugate gradients on a box of spectral elements: small dense tensors per element through the scratchpad, \
            gather-scatter of the points that elements share, dot products by work-groups (after Nekbone).",
    params: &[
        ParamSpec {
            name: "elements",
            default: "4",
            legal: Legal::Integer { min: 1, max: 32 },
            unit: "elements",
            about: "Elements along each side.",
        },
        ParamSpec {
            name: "points",
            default: "4",
            legal: Legal::Integer { min: 2, max: 8 },
            unit: "points",
            about: "Points of an element along each side.",
        },
        ParamSpec {
            name: "iterations",
            default: "3",
            legal: Legal::Integer { min: 1, max: 1000 },
            unit: "iterations",
            about: "Iterations of eight kernels.",
        },
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("elements", "16"), ("points", "8"), ("iterations", "100")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Nekbone::new, params),
};

/// Threads of a work-group where elements do not matter.
const GROUP: u64 = 64;
/// Values that one thread adds in a round.
const UNROLL: u64 = 8;

/// Derivative matrix, metric of each point, 1 / copies of each point.
const D: usize = 0;
const METRIC: usize = 1;
const SHARE: usize = 2;
/// Copies of each global point: first of each, then the points.
const FIRST: usize = 3;
const COPY: usize = 4;
/// Vectors of all elements' points.
const X: usize = 5;
const RESIDUAL: usize = 6;
const DIRECTION: usize = 7;
const W: usize = 8;
/// Sums of work-groups; and finished dot products: 2 i of residuals, 2 i + 1 of direction and W, iteration i.
const PART: usize = 9;
const SCALAR: usize = 10;

const P_TENSOR: u32 = 0;
const P_GATHER: u32 = 1;
const P_DOT: u32 = 2;
const P_SUM: u32 = 3;
const P_ADVANCE: u32 = 4;
const P_TURN: u32 = 5;

/// The kernels of one iteration: phase and, for sums, which scalar after that of the iteration's residual.
const ITERATION: [(u32, u64); 8] = [
    (P_TENSOR, 0),
    (P_GATHER, 0),
    (P_DOT, 1),
    (P_SUM, 1),
    (P_ADVANCE, 0),
    (P_DOT, 2),
    (P_SUM, 2),
    (P_TURN, 0),
];

/// The solver.
#[derive(Clone, Debug)]
pub struct Nekbone {
    base: Base,
    elements: u64,
    /// Points of an element along a side.
    p: u64,
    globals: u64,
    iterations: u64,
}

impl Nekbone {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [e, p, iterations] = ["elements", "points", "iterations"].map(|name| params.integer(name));
        let (seed, points) = (params.integer("seed"), (e * p).pow(3));
        let side = e * (p - 1) + 1;
        let global = |point: u64| {
            let (element, inner) = (point / p.pow(3), point % p.pow(3));
            let axis = |i: u32| element / e.pow(i) % e * (p - 1) + inner / p.pow(i) % p;
            (axis(2) * side + axis(1)) * side + axis(0)
        };
        let mut copies = vec![vec![]; side.pow(3) as usize];
        (0..points).for_each(|point| copies[global(point) as usize].push(point as u32));
        let mut first = vec![0];
        copies.iter().for_each(|list| first.push(first[first.len() - 1] + list.len() as u32));
        let share: Vec<f32> = (0..points).map(|i| 1.0 / copies[global(i) as usize].len() as f32).collect();
        // One value per global point, so that all copies agree.
        let right: Vec<f32> = (0..points).map(|i| data::unit(seed, 0, global(i))).collect();
        let derivative = |i: u64| data::unit(seed, 1, i) - if i / p == i % p { 0.0 } else { 1.0 };
        let d: Vec<f32> = (0..p * p).map(derivative).collect();
        let mut base = Base::new(INFO.name, params);
        base.input("D", data::f32_bytes(&d));
        base.input("metric", data::f32_bytes(&data::units(seed, 2, points as usize)));
        base.input("share", data::f32_bytes(&share));
        base.input("first", data::u32_bytes(&first));
        base.input("copy", data::u32_bytes(&copies.concat()));
        base.zeros("x", points);
        base.add("residual", points, false, data::f32_bytes(&right));
        base.add("direction", points, false, data::f32_bytes(&right));
        base.zeros("w", points);
        base.zeros("part", points.div_ceil(GROUP));
        base.zeros("scalar", 2 * iterations + 1);
        Ok(Self { base, elements: e.pow(3), p, globals: side.pow(3), iterations })
    }

    fn points(&self) -> u64 {
        self.elements * self.p.pow(3)
    }

    /// Index of the point `l` along an axis through a point of an element.
    fn along(&self, point: u64, axis: u32, l: u64) -> u64 {
        let step = self.p.pow(axis);
        point + l * step - point / step % self.p * step
    }

    /// Phase and arguments of launch `index`.
    fn plan(&self, index: u64) -> Option<(u32, u64)> {
        // The first residual's dot product comes before the iterations.
        match index.checked_sub(2) {
            None => Some(([P_DOT, P_SUM][index as usize], 0)),
            Some(i) => {
                let (phase, scalar) = ITERATION[(i % 8) as usize];
                (i / 8 < self.iterations).then_some((phase, 2 * (i / 8) + scalar))
            }
        }
    }

    /// w = D^T (metric (D direction)) along each axis.
    fn tensor(&self, t: &Thread, io: &mut Round) -> Flow {
        let p = self.p;
        let at = |axis: u32| t.local / p.pow(axis) % p;
        // Slots: rows of D for each axis, columns of D for each axis, then what comes from the scratchpad.
        let (row, column) = (|axis: u64, l: u64| axis * p + l, |axis: u64, l: u64| (3 + axis) * p + l);
        let (s_u, s_metric, s_lds) = (6 * p, 6 * p + 1, 6 * p + 2);
        let lds = |array: u64, point: u64| 4 * (array * p.pow(3) + point);
        match t.round {
            0 => {
                io.load(s_u, self.base.at(DIRECTION, t.id));
                io.read(s_metric, self.base.at(METRIC, t.id));
                for (axis, l) in (0..3 * p).map(|i| (i / p, i % p)) {
                    io.read(row(axis, l), self.base.at(D, at(axis as u32) * p + l));
                    io.read(column(axis, l), self.base.at(D, l * p + at(axis as u32)));
                }
                Flow::Next
            }
            1 => {
                io.lds_store(0, lds(0, t.local), t.bits(s_u));
                Flow::Barrier
            }
            2 | 4 => {
                for (axis, l) in (0..3 * p).map(|i| (i / p, i % p)) {
                    let array = if t.round == 2 { 0 } else { 1 + axis };
                    io.lds_load(s_lds + axis * p + l, lds(array, self.along(t.local, axis as u32, l)));
                }
                Flow::Next
            }
            3 => {
                for axis in 0..3 {
                    let value = derive(p, |l| t.float(row(axis, l)), |l| t.float(s_lds + axis * p + l));
                    let value = t.float(s_metric) * value;
                    io.lds_store(axis, lds(1 + axis, t.local), u64::from(value.to_bits()));
                }
                io.alu(3 * p + 3);
                Flow::Barrier
            }
            _ => {
                let along = |axis| derive(p, |l| t.float(column(axis, l)), |l| t.float(s_lds + axis * p + l));
                io.alu(3 * p + 2);
                io.put(0, self.base.at(W, t.id), (0..3).map(along).fold(0.0, |sum, v| sum + v));
                Flow::End
            }
        }
    }

    /// Adds the copies of a global point and writes the sum to all of them.
    fn gather(&self, t: &Thread, io: &mut Round) -> Flow {
        let count = || t.index(1) - t.index(0);
        match t.round {
            0 => (0..2).for_each(|i| io.read(i, self.base.at(FIRST, t.id + i))),
            1 => (0..count()).for_each(|i| io.read(2 + i, self.base.at(COPY, t.index(0) + i))),
            2 => (0..count()).for_each(|i| io.load(10 + i, self.base.at(W, t.index(2 + i)))),
            _ => {
                let sum = (0..count()).fold(0.0, |sum, i| sum + t.float(10 + i));
                io.alu(count());
                (0..count()).for_each(|i| io.put(i, self.base.at(W, t.index(2 + i)), sum));
                return Flow::End;
            }
        }
        Flow::Next
    }

    /// Vectors whose dot product scalar `scalar` is.
    fn factors(scalar: u64) -> [usize; 2] {
        if scalar % 2 == 1 { [DIRECTION, W] } else { [RESIDUAL, RESIDUAL] }
    }

    /// Each work-group adds its products in the scratchpad; its first thread adds them one after the other.
    fn dot(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let count = GROUP.min(self.points() - t.block * GROUP);
        match t.round {
            0 => {
                let [a, b] = Self::factors(t.args[0]);
                (0..).zip([a, b, SHARE]).for_each(|(slot, array)| io.load(slot, self.base.at(array, t.id)));
                Flow::Next
            }
            1 => {
                let value = t.float(0) * t.float(1) * t.float(2);
                io.alu(2);
                io.lds_store(0, 4 * t.local, u64::from(value.to_bits()));
                Flow::Barrier
            }
            _ if t.local > 0 => Flow::End,
            round => {
                let load = |io: &mut Round, slot, i| io.lds_load(slot, 4 * i);
                let target = self.base.at(PART, t.block);
                Self::add_up(round - 2, count, t, r, io, load).map_or(Flow::Next, |sum| {
                    io.store(0, target, sum);
                    Flow::End
                })
            }
        }
    }

    /// One work-group adds the sums of all: each thread every [`GROUP`]th of them, its first thread what the others have.
    fn sum(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let parts = self.points().div_ceil(GROUP);
        // All threads take as many rounds, for they meet at the barrier.
        let (own, rounds) = (stripe(parts, t.local), stripe(parts, 0).div_ceil(UNROLL));
        if t.round <= rounds {
            let load = |io: &mut Round, slot, i: u64| io.load(slot, self.base.at(PART, t.local + i * GROUP));
            let sum = Self::add_up(t.round, own, t, r, io, load).unwrap_or(r[0]);
            if t.round < rounds {
                return Flow::Next;
            }
            io.lds_store(0, 4 * t.local, sum);
            r[0] = 0;
            return Flow::Barrier;
        }
        if t.local > 0 {
            return Flow::End;
        }
        let load = |io: &mut Round, slot, i| io.lds_load(slot, 4 * i);
        Self::add_up(t.round - rounds - 1, GROUP, t, r, io, load).map_or(Flow::Next, |sum| {
            io.store(0, self.base.at(SCALAR, t.args[0]), sum);
            Flow::End
        })
    }

    /// One thread adds `count` values to its register, some in each round; gives their sum when it has them all.
    fn add_up(
        round: u64,
        count: u64,
        t: &Thread,
        r: &mut [u64],
        io: &mut Round,
        load: impl Fn(&mut Round, u64, u64),
    ) -> Option<u64> {
        let part = |round: u64| (round * UNROLL).min(count)..((round + 1) * UNROLL).min(count);
        if let Some(before) = round.checked_sub(1) {
            let start = f32::from_bits(r[0] as u32);
            let sum = part(before).zip(0..).fold(start, |sum, (_, slot)| sum + t.float(slot));
            r[0] = u64::from(sum.to_bits());
            io.alu(UNROLL);
        }
        part(round).zip(0..).for_each(|(i, slot)| load(io, slot, i));
        part(round).is_empty().then_some(r[0])
    }

    /// Vector updates with the ratio of two scalars.
    fn combine(&self, t: &Thread, io: &mut Round) -> Flow {
        let residual = t.args[0] / 2 * 2;
        let (below, above) =
            if t.phase == P_ADVANCE { (residual + 1, residual) } else { (residual, residual + 2) };
        if t.round == 0 {
            io.read(0, self.base.at(SCALAR, above));
            io.read(1, self.base.at(SCALAR, below));
            (2..).zip([X, RESIDUAL, DIRECTION, W]).for_each(|(slot, array)| {
                io.load(slot, self.base.at(array, t.id));
            });
            return Flow::Next;
        }
        let ratio = t.float(0) / t.float(1);
        io.sfu(1);
        io.alu(2);
        if t.phase == P_ADVANCE {
            io.put(0, self.base.at(X, t.id), t.float(2) + ratio * t.float(4));
            io.put(1, self.base.at(RESIDUAL, t.id), t.float(3) - ratio * t.float(5));
        } else {
            io.put(0, self.base.at(DIRECTION, t.id), t.float(3) + ratio * t.float(4));
        }
        Flow::End
    }

    fn host_tensor(&self, now: &[Vec<f32>]) -> Vec<f32> {
        let (p, n) = (self.p, self.points());
        let at = |point: u64, axis: u32| point / p.pow(axis) % p;
        let inner = |axis: u32, point: u64| {
            let row = at(point, axis) * p;
            let u = |l| now[DIRECTION][self.along(point, axis, l) as usize];
            now[METRIC][point as usize] * derive(p, |l| now[D][(row + l) as usize], u)
        };
        let scaled: Vec<Vec<f32>> = (0..3).map(|axis| (0..n).map(|i| inner(axis, i)).collect()).collect();
        let outer = |point: u64| {
            let along = |axis: u32| {
                let v = |l| scaled[axis as usize][self.along(point, axis, l) as usize];
                derive(p, |l| now[D][(l * p + at(point, axis)) as usize], v)
            };
            (0..3).map(along).fold(0.0, |sum, v| sum + v)
        };
        (0..n).map(outer).collect()
    }

    fn host_gather(&self, w: &mut [f32]) {
        let (first, copy) = (self.base.first::<u32>(FIRST), self.base.first::<u32>(COPY));
        for bounds in first.windows(2) {
            let copies = &copy[bounds[0] as usize..bounds[1] as usize];
            let sum = copies.iter().fold(0.0, |sum, &i| sum + w[i as usize]);
            copies.iter().for_each(|&i| w[i as usize] = sum);
        }
    }
}

fn derive(p: u64, d: impl Fn(u64) -> f32, u: impl Fn(u64) -> f32) -> f32 {
    (0..p).fold(0.0, |sum, l| sum + d(l) * u(l))
}

/// How many of `count` values thread `local` of [`GROUP`] has, which take them in turn.
fn stripe(count: u64, local: u64) -> u64 {
    count.saturating_sub(local).div_ceil(GROUP)
}

/// `a + factor * b`, element by element.
fn plus(a: &[f32], factor: f32, b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + factor * b).collect()
}

impl Kernels for Nekbone {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let (phase, scalar) = self.plan(index as u64)?;
        let all = |name| Launch::new(name, phase, self.points(), GROUP as u32).args(&[scalar]);
        Some(match phase {
            P_TENSOR => {
                let group = self.p.pow(3);
                Launch::new("nekbone_tensor", phase, self.points(), group as u32).lds(16 * group)
            }
            P_GATHER => Launch::new("nekbone_gather", phase, self.globals, GROUP as u32),
            P_DOT => all("nekbone_dot").registers(1).lds(4 * GROUP),
            P_SUM => Launch::new("nekbone_sum", phase, GROUP, GROUP as u32)
                .args(&[scalar])
                .registers(1)
                .lds(4 * GROUP),
            P_ADVANCE => all("nekbone_advance"),
            _ => all("nekbone_turn"),
        })
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_TENSOR => self.tensor(t, io),
            P_GATHER => self.gather(t, io),
            P_DOT => self.dot(t, registers, io),
            P_SUM => self.sum(t, registers, io),
            _ => self.combine(t, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now: Vec<Vec<f32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        let dot = |now: &[Vec<f32>], scalar: u64| {
            let [a, b] = Self::factors(scalar);
            let products: Vec<f32> =
                (0..now[a].len()).map(|i| now[a][i] * now[b][i] * now[SHARE][i]).collect();
            let add = |values: &mut dyn Iterator<Item = f32>| values.fold(0.0, |sum, value| sum + value);
            let parts: Vec<f32> =
                products.chunks(GROUP as usize).map(|part| add(&mut part.iter().copied())).collect();
            let of_thread =
                |local: usize| add(&mut parts.iter().copied().skip(local).step_by(GROUP as usize));
            add(&mut (0..GROUP as usize).map(of_thread))
        };
        now[SCALAR][0] = dot(&now, 0);
        for i in 0..self.iterations as usize {
            let mut w = self.host_tensor(&now);
            self.host_gather(&mut w);
            now[W] = w;
            now[SCALAR][2 * i + 1] = dot(&now, 1);
            let alpha = now[SCALAR][2 * i] / now[SCALAR][2 * i + 1];
            let x = plus(&now[X], alpha, &now[DIRECTION]);
            let residual = plus(&now[RESIDUAL], -alpha, &now[W]);
            (now[X], now[RESIDUAL]) = (x, residual);
            now[SCALAR][2 * i + 2] = dot(&now, 2);
            let beta = now[SCALAR][2 * i + 2] / now[SCALAR][2 * i];
            now[DIRECTION] = plus(&now[RESIDUAL], beta, &now[DIRECTION]);
        }
        [X, RESIDUAL, SCALAR].into_iter().try_for_each(|array| self.base.check(array, &now[array], memory))
    }
}
