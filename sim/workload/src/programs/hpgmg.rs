//! HPGMG: multigrid V-cycles for Poisson's equation.

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
    name: "hpgmg",
    about: "V-cycles of cell-centred multigrid on a cube, zero on its faces: 7-point weighted Jacobi smoothing, residual, \
            restriction and prolongation, one kernel each, down to 2 cells a side (after HPGMG).",
    params: &[
        ParamSpec {
            name: "levels",
            default: "4",
            legal: Legal::Integer { min: 2, max: 9 },
            unit: "levels",
            about: "Grids; the finest has 2^levels cells a side.",
        },
        ParamSpec {
            name: "cycles",
            default: "3",
            legal: Legal::Integer { min: 1, max: 100 },
            unit: "cycles",
            about: "V-cycles.",
        },
        GROUP,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("levels", "8"), ("cycles", "10"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Hpgmg::new, params),
};

/// Weight of the Jacobi correction over the diagonal, 2/3 / 6.
const DAMP: f32 = 1.0 / 9.0;
/// Arrays of a level: both buffers of the solution, right-hand side, residual.
const U: usize = 0;
const F: usize = 2;
const R: usize = 3;
const PER_LEVEL: usize = 4;

const P_SMOOTH: u32 = 0;
const P_RESIDUAL: u32 = 1;
const P_RESTRICT: u32 = 2;
const P_PROLONG: u32 = 3;

/// A kernel of the schedule: phase, level that it writes, buffer of the solution that it reads.
type Stage = (u32, usize, usize);

/// The solver.
#[derive(Clone, Debug)]
pub struct Hpgmg {
    base: Base,
    levels: usize,
    group: u32,
    schedule: Vec<Stage>,
}

impl Hpgmg {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let levels = params.integer("levels") as usize;
        let mut base = Base::new(INFO.name, params);
        for level in 0..levels {
            let cells = 1u64 << (3 * (levels - level));
            base.zeros(&format!("u{level}"), cells);
            base.zeros(&format!("v{level}"), cells);
            if level == 0 {
                let f = data::units(params.integer("seed"), 0, cells as usize);
                base.input("f0", data::f32_bytes(&f));
            } else {
                base.zeros(&format!("f{level}"), cells);
            }
            base.zeros(&format!("r{level}"), cells);
        }
        let schedule = (0..params.integer("cycles")).flat_map(|_| cycle(levels)).collect();
        Ok(Self { base, levels, group: params.integer("group") as u32, schedule })
    }

    fn side(&self, level: usize) -> u64 {
        1 << (self.levels - level)
    }

    fn cells(&self, level: usize) -> u64 {
        self.side(level).pow(3)
    }

    /// The cell itself and its neighbours; `None` outside.
    fn seven(&self, level: usize, cell: u64) -> [Option<u64>; 7] {
        let n = self.side(level);
        let (x, y, z) = (cell % n, cell / n % n, cell / (n * n));
        [
            Some(cell),
            (x > 0).then(|| cell - 1),
            (x + 1 < n).then(|| cell + 1),
            (y > 0).then(|| cell - n),
            (y + 1 < n).then(|| cell + n),
            (z > 0).then(|| cell - n * n),
            (z + 1 < n).then(|| cell + n * n),
        ]
    }

    /// The eight cells of the next finer level in a cell.
    fn eight(&self, level: usize, cell: u64) -> [u64; 8] {
        let n = self.side(level);
        let (x, y, z) = (cell % n, cell / n % n, cell / (n * n));
        std::array::from_fn(|i| {
            let (dx, dy, dz) = (i as u64 % 2, i as u64 / 2 % 2, i as u64 / 4);
            ((2 * z + dz) * 2 * n + 2 * y + dy) * 2 * n + 2 * x + dx
        })
    }

    /// The cell of the next coarser level around a cell.
    fn parent(&self, level: usize, cell: u64) -> u64 {
        let n = self.side(level);
        let (x, y, z) = (cell % n, cell / n % n, cell / (n * n));
        ((z / 2) * (n / 2) + y / 2) * (n / 2) + x / 2
    }

    /// Square of the distance of cells, which is 1 at the finest level.
    fn square(&self, level: usize) -> f32 {
        (1u64 << (2 * level)) as f32
    }

    /// Array and index of all that a cell's new value depends on.
    fn needs(&self, stage: Stage, cell: u64) -> Vec<Option<(usize, u64)>> {
        let (phase, level, buffer) = stage;
        let of = |kind: usize, level: usize| move |i: u64| (PER_LEVEL * level + kind, i);
        match phase {
            P_SMOOTH | P_RESIDUAL => {
                let mut list = vec![Some(of(F, level)(cell))];
                list.extend(self.seven(level, cell).map(|i| i.map(of(U + buffer, level))));
                list
            }
            P_RESTRICT => self.eight(level, cell).map(|i| Some(of(R, level - 1)(i))).to_vec(),
            _ => vec![Some(of(U, level)(cell)), Some(of(U, level + 1)(self.parent(level, cell)))],
        }
    }

    /// A cell's new value. A cell outside holds minus the value of the one beside it, so that the solution is zero on the
    /// cube's faces at every level.
    fn value(&self, stage: Stage, v: impl Fn(usize) -> Option<f32>) -> f32 {
        let (phase, level, _) = stage;
        let at = |i| v(i).unwrap_or(0.0);
        match phase {
            P_SMOOTH | P_RESIDUAL => {
                let around = (2..8).fold(0.0, |sum, i| sum + v(i).unwrap_or(-at(1)));
                let rest = self.square(level) * at(0) - (6.0 * at(1) - around);
                if phase == P_SMOOTH { at(1) + DAMP * rest } else { rest / self.square(level) }
            }
            P_RESTRICT => 0.125 * (0..8).fold(0.0, |sum, i| sum + at(i)),
            _ => at(0) + at(1),
        }
    }

    fn target(&self, stage: Stage) -> usize {
        let (phase, level, buffer) = stage;
        PER_LEVEL * level
            + match phase {
                P_SMOOTH => U + 1 - buffer,
                P_RESIDUAL => R,
                P_RESTRICT => F,
                _ => U,
            }
    }
}

/// The kernels of one V-cycle; smoothing in pairs keeps the solution in the first buffer.
fn cycle(levels: usize) -> Vec<Stage> {
    let smooth = |level, pairs: usize| (0..2 * pairs).map(move |i| (P_SMOOTH, level, i % 2));
    let mut list = vec![];
    for level in 0..levels - 1 {
        list.extend(smooth(level, 1));
        list.extend([(P_RESIDUAL, level, 0), (P_RESTRICT, level + 1, 0)]);
    }
    list.extend(smooth(levels - 1, 3));
    for level in (0..levels - 1).rev() {
        list.push((P_PROLONG, level, 0));
        list.extend(smooth(level, 1));
    }
    list
}

impl Kernels for Hpgmg {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let &(phase, level, buffer) = self.schedule.get(index)?;
        let names = ["hpgmg_smooth", "hpgmg_residual", "hpgmg_restrict", "hpgmg_prolong"];
        let launch = Launch::new(names[phase as usize], phase, self.cells(level), self.group);
        Some(launch.args(&[level as u64, buffer as u64]))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let stage = (t.phase, t.args[0] as usize, t.args[1] as usize);
        let needs = self.needs(stage, t.id);
        if t.round == 0 {
            for (slot, need) in (0..).zip(needs) {
                if let Some((array, index)) = need {
                    io.load(slot, self.base.at(array, index));
                }
            }
            return Flow::Next;
        }
        io.alu(needs.len() as u64 + 2);
        let value = self.value(stage, |i| needs[i].map(|_| t.float(i as u64)));
        io.put(0, self.base.at(self.target(stage), t.id), value);
        if t.phase == P_RESTRICT {
            io.put(1, self.base.at(PER_LEVEL * stage.1 + U, t.id), 0.0);
        }
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now: Vec<Vec<f32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        for &stage in &self.schedule {
            let result = |cell| {
                let needs = self.needs(stage, cell);
                self.value(stage, |i| needs[i].map(|(array, index)| now[array][index as usize]))
            };
            let target = self.target(stage);
            now[target] = (0..self.cells(stage.1)).map(result).collect();
            if stage.0 == P_RESTRICT {
                now[PER_LEVEL * stage.1 + U].fill(0.0);
            }
        }
        (0..self.levels)
            .try_for_each(|level| self.base.check(PER_LEVEL * level + U, &now[PER_LEVEL * level + U], memory))
    }
}
