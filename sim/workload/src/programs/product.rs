//! Chains of matrix products with one thread per element, as the PolyBench kernels do them.

use super::common::{LANES, SEED};
use super::matvec::{ACCUM, Accum};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Thread};
use crate::data;
use crate::program::VerifyError;

/// Work-group: 32 columns x 8 rows.
pub const TILE: (u64, u64) = (32, 8);
/// Elements of the inner dimension that a thread loads before it waits.
const UNROLL: u64 = 8;
/// Slot of the old element, beside those of the operands.
const S_OLD: u64 = 2 * UNROLL;

/// Parameters of a program with square matrices.
pub const SQUARE: &[ParamSpec] = &[
    ParamSpec {
        name: "n",
        default: "128",
        legal: Legal::Integer { min: 1, max: 8192 },
        unit: "rows",
        about: "Rows and columns of each matrix.",
    },
    ACCUM,
    LANES,
    SEED,
];

/// A matrix, row-major, f32.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    array: usize,
    rows: u64,
    columns: u64,
}

/// `target = alpha * left * right + beta * target`; at `beta` 0 the old elements are not read.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Result.
    pub target: Matrix,
    /// Left operand.
    pub left: Matrix,
    /// Right operand.
    pub right: Matrix,
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of the old elements.
    pub beta: f32,
    /// Kernel name.
    pub name: &'static str,
    /// Work-groups are numbered down the columns of the target first, so that each GPU gets a band of columns; else along the rows.
    pub column_bands: bool,
}

/// Products, one kernel each.
#[derive(Clone, Debug)]
pub struct Chain {
    base: Base,
    seed: u64,
    accum: Accum,
    products: Vec<Product>,
}

impl Chain {
    /// A chain without matrices.
    pub fn new(name: &'static str, params: &Params) -> Self {
        Self {
            base: Base::new(name, params),
            seed: params.integer("seed"),
            accum: Accum::of(params),
            products: vec![],
        }
    }

    /// Adds a matrix of input data, which a product may change if it is not `read_only`.
    pub fn input(&mut self, name: &str, rows: u64, columns: u64, read_only: bool) -> Matrix {
        let stream = self.base.count() as u64;
        let init = data::f32_bytes(&data::units(self.seed, stream, (rows * columns) as usize));
        Matrix { array: self.base.add(name, rows * columns, read_only, init), rows, columns }
    }

    /// Adds a matrix of zeros.
    pub fn result(&mut self, name: &str, rows: u64, columns: u64) -> Matrix {
        Matrix { array: self.base.zeros(name, rows * columns), rows, columns }
    }

    /// Adds a product.
    pub fn multiply(mut self, product: Product) -> Self {
        self.products.push(product);
        self
    }
}

/// Row and column of a thread of 32 x 8 work-groups over a matrix of `columns` columns.
pub fn tile_place(thread: &Thread, columns: u64) -> (u64, u64) {
    let across = columns.div_ceil(TILE.0);
    (
        thread.block / across * TILE.1 + thread.local / TILE.0,
        thread.block % across * TILE.0 + thread.local % TILE.0,
    )
}

/// A launch of 32 x 8 work-groups over `rows` x `columns` elements.
pub fn tiled(name: &'static str, phase: u32, rows: u64, columns: u64) -> Launch {
    let blocks = rows.div_ceil(TILE.1) * columns.div_ceil(TILE.0);
    Launch::new(name, phase, blocks * TILE.0 * TILE.1, (TILE.0 * TILE.1) as u32)
}

impl Kernels for Chain {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let p = self.products.get(index)?;
        Some(tiled(p.name, index as u32, p.target.rows, p.target.columns).registers(1))
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        let p = &self.products[t.phase as usize];
        let (row, column) = p.place(t);
        if row >= p.target.rows || column >= p.target.columns {
            return Flow::End;
        }
        match self.accum {
            Accum::Registers => self.batch(p, t, registers, io),
            Accum::Stores | Accum::Memory => self.step(p, t, registers, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now: Vec<Vec<f32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        for p in &self.products {
            let (inner, columns) = (p.left.columns as usize, p.target.columns as usize);
            let mut out = now[p.target.array].clone();
            for (i, old) in out.iter_mut().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let factors = (0..inner)
                    .map(|k| (now[p.left.array][row * inner + k], now[p.right.array][k * columns + column]));
                *old = if self.accum != Accum::Registers {
                    factors.fold(p.begin(*old), |sum, (a, b)| p.add(sum, a, b))
                } else {
                    p.finish(factors.fold(0.0, |sum, (a, b)| sum + a * b), *old)
                };
            }
            now[p.target.array] = out;
        }
        self.products.iter().try_for_each(|p| self.base.check(p.target.array, &now[p.target.array], memory))
    }
}

impl Chain {
    /// A round that adds up in registers.
    fn batch(&self, p: &Product, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        let (row, column) = p.place(t);
        let inner = p.left.columns;
        let mut sum = f32::from_bits(registers[0] as u32);
        if t.round > 0 {
            let done = UNROLL.min(inner - (t.round - 1) * UNROLL);
            for k in 0..done {
                sum += t.float(2 * k) * t.float(2 * k + 1);
            }
            registers[0] = u64::from(sum.to_bits());
            io.alu(done);
        }
        let from = t.round * UNROLL;
        let at = self.base.at(p.target.array, row * p.target.columns + column);
        if from >= inner {
            io.alu(UNROLL);
            let old = if p.beta == 0.0 { 0.0 } else { t.float(S_OLD) };
            io.put(0, at, p.finish(sum, old));
            return Flow::End;
        }
        if t.round == 0 && p.beta != 0.0 {
            io.load(S_OLD, at);
        }
        for k in from..inner.min(from + UNROLL) {
            io.read(2 * (k - from), self.base.at(p.left.array, row * inner + k));
            io.read(2 * (k - from) + 1, self.base.at(p.right.array, k * p.right.columns + column));
        }
        Flow::Next
    }

    /// A round that adds one product to the element in memory, or to a register that is then stored there.
    fn step(&self, p: &Product, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        let (row, column) = p.place(t);
        let at = self.base.at(p.target.array, row * p.target.columns + column);
        if t.round == 0 && p.beta != 0.0 {
            io.load(S_OLD, at);
            return Flow::Next;
        }
        let first = u64::from(p.beta != 0.0);
        let reloads = self.accum == Accum::Memory;
        let sum = match t.round - first {
            0 => p.begin(if p.beta == 0.0 { 0.0 } else { t.float(S_OLD) }),
            _ if reloads => p.add(t.float(S_OLD), t.float(0), t.float(1)),
            _ => p.add(f32::from_bits(registers[0] as u32), t.float(0), t.float(1)),
        };
        registers[0] = u64::from(sum.to_bits());
        io.alu(1);
        io.put(0, at, sum);
        let k = t.round - first;
        if k == p.left.columns {
            return Flow::End;
        }
        if reloads {
            io.load(S_OLD, at);
        }
        io.read(0, self.base.at(p.left.array, row * p.left.columns + k));
        io.read(1, self.base.at(p.right.array, k * p.right.columns + column));
        Flow::Next
    }
}

impl Product {
    /// Row and column of a thread.
    fn place(&self, thread: &Thread) -> (u64, u64) {
        if !self.column_bands {
            return tile_place(thread, self.target.columns);
        }
        let down = self.target.rows.div_ceil(TILE.1);
        (
            thread.block % down * TILE.1 + thread.local / TILE.0,
            thread.block / down * TILE.0 + thread.local % TILE.0,
        )
    }

    /// The element before the first product, where it grows in memory.
    fn begin(&self, old: f32) -> f32 {
        if self.beta == 0.0 { 0.0 } else { self.beta * old }
    }

    /// One product more.
    fn add(&self, sum: f32, left: f32, right: f32) -> f32 {
        sum + self.alpha * left * right
    }

    fn finish(&self, sum: f32, old: f32) -> f32 {
        if self.beta == 0.0 { self.alpha * sum } else { self.alpha * sum + self.beta * old }
    }
}
