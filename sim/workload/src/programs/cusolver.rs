//! Blocked Cholesky decomposition with flags between the work-groups of a GPU, as dense solvers on GPUs do it.

use super::common::{LANES, SEED};
use super::machine::{CUS, GPUS, Machine};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::Scope;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "cusolver",
    about: "Blocked Cholesky decomposition, one kernel per column of 16 x 16 tiles: each GPU factors the panel for itself, \
            releases a .gpu-scoped flag per tile, and the work-groups that update its own trailing tiles acquire them \
            (domino synchronisation of dense solvers).",
    params: &[
        ParamSpec {
            name: "tiles",
            default: "8",
            legal: Legal::Integer { min: 1, max: 256 },
            unit: "tiles",
            about: "Rows and columns of the matrix in tiles of 16.",
        },
        GPUS,
        CUS,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("tiles", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Cusolver::new, params),
};

const TILE: u64 = 16;
const CELLS: u64 = TILE * TILE;
const GROUP: u64 = 64;
/// Neighbouring elements of an updated tile that a thread computes.
const OWN: u64 = CELLS / GROUP;
/// Elements of the inner dimension in a round of an update.
const CHUNK: u64 = 4;
/// Longest pause between two looks at a flag, in ticks.
const LONGEST_PAUSE: u64 = 256;

const A: usize = 0;
const L: usize = 1;
/// Per GPU: the diagonal tile, then the panel below it, one tile per row of tiles.
const PANEL: usize = 2;
/// Per GPU and column of tiles: a flag for each tile of the panel.
const FLAG: usize = 3;

const R_TASK: usize = 0;
const R_STAGE: usize = 1;
const R_PAUSE: usize = 2;
const R_ROW: usize = 3;

/// Work that one work-group does without others; a number of a later task never comes before what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Factor the diagonal tile.
    Diagonal,
    /// Solve the panel's tile of this row of tiles.
    Solve(u64),
    /// Update a trailing tile (row, column).
    Update(u64, u64),
}

/// The decomposition.
#[derive(Clone, Debug)]
pub struct Cusolver {
    base: Base,
    tiles: u64,
    machine: Machine,
    /// Work-groups of a GPU: one per CU, so that all are resident whatever else a CU can hold.
    workers: u64,
}

impl Cusolver {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (tiles, machine) = (params.integer("tiles"), Machine::new(params));
        let n = tiles * TILE;
        let seed = params.integer("seed");
        let element = |i: u64, j: u64| {
            let (low, high) = (i.min(j), i.max(j));
            data::unit(seed, 0, high * n + low) + if i == j { 2.0 * n as f32 } else { 0.0 }
        };
        let a: Vec<f32> = (0..n * n).map(|x| element(x / n, x % n)).collect();
        let mut base = Base::new(INFO.name, params);
        base.add("A", n * n, false, data::f32_bytes(&a));
        base.zeros("L", n * n);
        base.zeros("panel", machine.gpus * tiles * CELLS);
        base.zeros("flag", machine.gpus * tiles * tiles);
        Ok(Self { base, tiles, machine, workers: params.integer("cus") })
    }

    /// Task `number` of a GPU in step `k`: the diagonal, the panel, the trailing tiles that the GPU owns.
    fn task(&self, gpu: u64, k: u64, number: u64) -> Option<Task> {
        let below = self.tiles - 1 - k;
        match number {
            0 => Some(Task::Diagonal),
            n if n <= below => Some(Task::Solve(k + n)),
            n => (k + 1..self.tiles)
                .flat_map(|i| (k + 1..=i).map(move |j| (i, j)))
                .filter(|(i, j)| (i * (i + 1) / 2 + j) % self.machine.gpus == gpu)
                .nth((n - below - 1) as usize)
                .map(|(i, j)| Task::Update(i, j)),
        }
    }

    fn element(&self, array: usize, tile: (u64, u64), row: u64, column: u64) -> u64 {
        self.base.at(array, (tile.0 * TILE + row) * self.tiles * TILE + tile.1 * TILE + column)
    }

    fn panel(&self, gpu: u64, tile: u64, row: u64, column: u64) -> u64 {
        self.base.at(PANEL, (gpu * self.tiles + tile) * CELLS + row * TILE + column)
    }

    fn flag(&self, gpu: u64, k: u64, tile: u64) -> u64 {
        self.base.at(FLAG, (gpu * self.tiles + k) * self.tiles + tile)
    }

    /// Writes a finished row of the panel; one of the GPUs writes it to the result, too.
    fn finish_row(&self, gpu: u64, k: u64, tile: u64, t: &Thread, row: &[f32], io: &mut Round) {
        for (column, &value) in (0..).zip(row) {
            io.put(column, self.panel(gpu, tile, t.local, column), value);
            if k % self.machine.gpus == gpu {
                io.put(TILE + column, self.element(L, (tile, k), t.local, column), value);
            }
        }
    }

    /// Looks at flags until all are set, with pauses that double. Returns whether they are.
    fn wait(&self, t: &Thread, r: &mut [u64], io: &mut Round, flags: &[u64]) -> bool {
        if r[R_STAGE] > 0 && (0..flags.len() as u64).all(|slot| t.bits(slot) == 1) {
            r[R_PAUSE] = 0;
            return true;
        }
        if r[R_STAGE] > 0 {
            r[R_PAUSE] = (2 * r[R_PAUSE]).clamp(8, LONGEST_PAUSE);
            io.pause(r[R_PAUSE]);
        }
        r[R_STAGE] = 1;
        (0..).zip(flags).for_each(|(slot, &flag)| io.acquire(slot, flag, Scope::Gpu));
        false
    }

    /// Two rounds per column: publish it, then read it and update the rest of the own row.
    fn diagonal(&self, gpu: u64, k: u64, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let (stage, own) = (r[R_STAGE], t.local < TILE);
        r[R_STAGE] += 1;
        let done = stage.saturating_sub(1) / 2;
        if own && stage == 0 {
            (0..TILE).for_each(|c| io.load(c, self.element(A, (k, k), t.local, c)));
        } else if own && stage % 2 == 1 && done <= TILE {
            let mut row = take_row(t, r, stage == 1);
            if done > 0 {
                eliminate(&mut row, t, done - 1);
                io.sfu(2);
                io.alu(TILE);
            }
            keep_row(r, &row);
            if done < TILE {
                io.lds_store(0, 4 * t.local, u64::from(row[done as usize].to_bits()));
            } else {
                self.finish_row(gpu, k, k, t, &row[..=t.local as usize], io);
            }
        } else if own && stage <= 2 * TILE {
            (0..TILE).for_each(|c| io.lds_load(c, 4 * c));
        }
        if stage <= 2 * TILE + 1 {
            return if stage == 0 { Flow::Next } else { Flow::Barrier };
        }
        self.publish(gpu, k, k, t, r, io)
    }

    /// After a barrier: everything of the tile is written, so one thread releases its flag.
    fn publish(&self, gpu: u64, k: u64, tile: u64, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if t.local == 0 {
            io.release(0, self.flag(gpu, k, tile), 1, Scope::Gpu);
        }
        self.next_task(r)
    }

    fn next_task(&self, r: &mut [u64]) -> Flow {
        r[R_TASK] += self.workers;
        r[R_STAGE] = 0;
        Flow::Next
    }

    /// A row of the tile for each of 16 threads: one column of the diagonal tile's transpose in each round.
    fn solve(&self, gpu: u64, k: u64, tile: u64, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let own = t.local < TILE;
        if r[R_STAGE] < 2 {
            if self.wait(t, r, io, &[self.flag(gpu, k, k)]) {
                r[R_STAGE] = 2;
                if own {
                    (0..TILE).for_each(|c| io.load(c, self.element(A, (tile, k), t.local, c)));
                }
            }
            return Flow::Next;
        }
        let column = r[R_STAGE] - 2;
        r[R_STAGE] += 1;
        if column > TILE {
            return self.publish(gpu, k, tile, t, r, io);
        }
        if own {
            let mut row = take_row(t, r, column == 0);
            if let Some(c) = column.checked_sub(1) {
                let c = c as usize;
                let left = (0..c).fold(row[c], |left, m| left - row[m] * t.float(m as u64));
                row[c] = left / t.float(c as u64);
                io.alu(c as u64);
                io.sfu(1);
            }
            keep_row(r, &row);
            if column < TILE {
                (0..=column).for_each(|m| io.load(m, self.panel(gpu, k, column, m)));
            } else {
                self.finish_row(gpu, k, tile, t, &row, io);
            }
        }
        if column < TILE { Flow::Next } else { Flow::Barrier }
    }

    fn update(&self, gpu: u64, k: u64, at: (u64, u64), t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let (row, column) = (t.local * OWN / TILE, t.local * OWN % TILE);
        let old = CHUNK * (1 + OWN);
        if r[R_STAGE] < 2 {
            if !self.wait(t, r, io, &[self.flag(gpu, k, at.0), self.flag(gpu, k, at.1)]) {
                return Flow::Next;
            }
            r[R_STAGE] = 2;
            (0..OWN).for_each(|c| io.load(old + c, self.element(A, at, row, column + c)));
        } else {
            for c in 0..OWN {
                let first = if r[R_STAGE] == 3 { t.bits(old + c) } else { r[R_ROW + c as usize] };
                let left = (0..CHUNK).fold(f32::from_bits(first as u32), |left, m| {
                    left - t.float(m) * t.float(CHUNK + c * CHUNK + m)
                });
                r[R_ROW + c as usize] = u64::from(left.to_bits());
            }
            io.alu(CHUNK * OWN);
        }
        let from = (r[R_STAGE] - 2) * CHUNK;
        r[R_STAGE] += 1;
        if from == TILE {
            for c in 0..OWN {
                io.store(c, self.element(A, at, row, column + c), r[R_ROW + c as usize]);
            }
            return self.next_task(r);
        }
        for m in 0..CHUNK {
            io.load(m, self.panel(gpu, at.0, row, from + m));
            for c in 0..OWN {
                io.load(CHUNK + c * CHUNK + m, self.panel(gpu, at.1, column + c, from + m));
            }
        }
        Flow::Next
    }
}

/// The thread's row, from the slots at first and from its registers later.
fn take_row(t: &Thread, r: &[u64], first: bool) -> [f32; TILE as usize] {
    std::array::from_fn(|c| if first { t.float(c as u64) } else { f32::from_bits(r[R_ROW + c] as u32) })
}

fn keep_row(r: &mut [u64], row: &[f32]) {
    r[R_ROW..].iter_mut().zip(row).for_each(|(r, v)| *r = u64::from(v.to_bits()));
}

/// Divides column `done`, whose unscaled elements are in the slots, by its pivot's root and subtracts it from the row.
fn eliminate(row: &mut [f32], t: &Thread, done: u64) {
    let (d, own) = (done as usize, t.local as usize);
    if own < d {
        return;
    }
    let pivot = t.float(done).sqrt();
    row[d] = if own == d { pivot } else { row[d] / pivot };
    for c in d + 1..=own {
        row[c] -= row[d] * (t.float(c as u64) / pivot);
    }
}

impl Kernels for Cusolver {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let k = index as u64;
        (k < self.tiles).then(|| {
            let threads = self.machine.gpus * self.workers * GROUP;
            Launch::new("cholesky_step", 0, threads, GROUP as u32)
                .args(&[k])
                .registers(R_ROW as u64 + TILE)
                .lds(4 * TILE)
                .co_resident()
        })
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let k = t.args[0];
        let gpu = t.block / self.workers;
        if t.round == 0 {
            r[R_TASK] = t.block % self.workers;
        }
        match self.task(gpu, k, r[R_TASK]) {
            None => Flow::End,
            Some(Task::Diagonal) => self.diagonal(gpu, k, t, r, io),
            Some(Task::Solve(tile)) => self.solve(gpu, k, tile, t, r, io),
            Some(Task::Update(i, j)) => self.update(gpu, k, (i, j), t, r, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = (self.tiles * TILE) as usize;
        let a = self.base.first::<f32>(A);
        let mut l = vec![0.0f32; n * n];
        for j in 0..n {
            for i in j..n {
                let left = (0..j).fold(a[i * n + j], |left, m| left - l[i * n + m] * l[j * n + m]);
                l[i * n + j] = if i == j { left.sqrt() } else { left / l[j * n + j] };
            }
        }
        self.base.check(L, &l, memory)
    }
}
