//! A random program: kernels of waves, each a list of operations that depend on nothing that is loaded.

use crate::{Ground, Shape};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeSet;
use weft_litmus::model::drf::Level;
use weft_workload::op::{Addrs, AmoKind, Class, Scope, Sem, Token, Unit};
use weft_workload::trace::op::{TraceAccess, TraceOp, TraceValue};
use weft_workload::trace::{Trace, TraceKernel, TraceStep};

/// Bytes of what has one role.
const CELL: u64 = 8;
/// Results that a wave may wait for at once.
const TOKENS: u32 = 16;

/// A wave of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Work-group, which runs on the CPU core or compute unit of this number.
    pub unit: u32,
    /// Number in the work-group.
    pub number: u32,
    /// What it does, without the end.
    pub ops: Vec<TraceOp>,
}

/// A kernel, and what the host copies before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// First byte and bytes of each copy.
    pub copies: Vec<(u64, u64)>,
    /// Waves that do something.
    pub waves: Vec<Wave>,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Lanes of a wave.
    pub lanes: u32,
    /// Work-groups of each kernel: one for every unit, CPU cores first.
    pub units: u32,
    /// CPU cores among them.
    pub cores: u32,
    /// Waves of a work-group.
    pub waves: u32,
    /// In order.
    pub kernels: Vec<Kernel>,
}

/// Who may do what to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Loads and stores of data.
    Data,
    /// Synchronisation, in words of so many bytes, at this scope by what is inside of it: a compute unit or a GPU by its number. Perhaps data, too.
    Synchronise { size: u8, scope: Scope, home: u32, data: bool },
}

impl Program {
    /// One of this shape.
    pub fn draw(rng: &mut SmallRng, ground: &Ground, shape: &Shape) -> Program {
        let roles: u64 = rng.random();
        let ground = &if shape.cores { ground.clone() } else { ground.without_cores() };
        let kernels = (0..shape.kernels)
            .map(|_| {
                let all = (0..shape.lines).map(|line| (shape.address(line, ground.line), ground.line));
                let copies = if share(rng, shape.copies) { all.collect() } else { Vec::new() };
                let of = |unit| if unit < ground.cores { 1 } else { shape.waves };
                let waves = (0..ground.units()).flat_map(|unit| (0..of(unit)).map(move |n| (unit, n)));
                let wave = |(unit, number)| {
                    let ops = Drawn {
                        rng,
                        ground,
                        shape,
                        roles,
                        unit,
                        ops: Vec::new(),
                        open: BTreeSet::new(),
                        next: 0,
                    };
                    Wave { unit, number, ops: ops.wave() }
                };
                Kernel { copies, waves: waves.map(wave).collect() }
            })
            .collect();
        let Ground { lanes, cores, .. } = *ground;
        Program { lanes, units: ground.units(), cores, waves: shape.waves, kernels }
    }

    /// As a trace.
    pub fn trace(&self) -> Trace {
        let mut steps = Vec::new();
        for (number, kernel) in self.kernels.iter().enumerate() {
            steps.extend(
                kernel.copies.iter().map(|(addr, bytes)| TraceStep::Copy { addr: *addr, bytes: *bytes }),
            );
            let threads = [self.lanes * self.waves, 1, 1];
            let mut trace =
                TraceKernel::new(&format!("k{number}"), [self.units, 1, 1], threads, 0, self.lanes);
            trace.cpus = self.cores;
            for wave in &kernel.waves {
                let ops: Vec<TraceOp> = wave.ops.iter().cloned().chain([TraceOp::End]).collect();
                let added = trace.add_wave(wave.unit, wave.number, &ops);
                assert!(added.is_some(), "wave {} of unit {} is of the kernel, once", wave.number, wave.unit);
            }
            steps.push(TraceStep::Kernel(trace));
        }
        Trace { lanes: self.lanes, steps }
    }

    /// Loads, stores and atomics of its lanes.
    pub fn operations(&self) -> u64 {
        self.ops().map(operations).sum()
    }

    /// Operations of all waves.
    pub fn ops(&self) -> impl Iterator<Item = &TraceOp> {
        self.kernels.iter().flat_map(|kernel| &kernel.waves).flat_map(|wave| &wave.ops)
    }
}

/// Lanes that access memory.
fn operations(op: &TraceOp) -> u64 {
    op.access().map_or(0, |access| u64::from(access.mask.count_ones()))
}

fn share(rng: &mut SmallRng, of_256: u8) -> bool {
    rng.random::<u8>() < of_256
}

/// 64 well mixed bits (splitmix64).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A wave under way.
struct Drawn<'a> {
    rng: &'a mut SmallRng,
    ground: &'a Ground,
    shape: &'a Shape,
    roles: u64,
    unit: u32,
    ops: Vec<TraceOp>,
    /// Results that it has not waited for.
    open: BTreeSet<Token>,
    next: Token,
}

impl Drawn<'_> {
    fn wave(mut self) -> Vec<TraceOp> {
        let count = self.rng.random_range(1..=self.shape.operations);
        for number in 0..count {
            // All waves of a block have the same barriers.
            let barriers = |upto: u32| upto * self.shape.barriers / count;
            for _ in barriers(number)..barriers(number + 1) {
                self.ops.push(TraceOp::Barrier);
            }
            self.operation();
        }
        self.wait();
        self.ops
    }

    fn operation(&mut self) {
        let Shape { pauses, pause, fences, synchronise, stores, awaits, .. } = *self.shape;
        if share(self.rng, pauses) {
            let latency = self.rng.random_range(1..=pause);
            self.ops.push(TraceOp::Compute { unit: Unit::Alu, latency, token: None, needs: Vec::new() });
        }
        if self.ground.coherent && share(self.rng, fences) {
            let sem = [Sem::Acquire, Sem::Release, Sem::AcquireRelease][self.rng.random_range(0..3)];
            let scope = [Scope::Cu, Scope::Gpu, Scope::Sys][self.rng.random_range(0..3)];
            self.ops.push(TraceOp::Fence { sem, scope });
        }
        if self.ground.coherent && share(self.rng, synchronise) {
            self.synchronise();
        } else {
            let store = share(self.rng, stores);
            self.data(store);
        }
        if share(self.rng, awaits) {
            self.wait();
        }
    }

    fn wait(&mut self) {
        if !self.open.is_empty() {
            let tokens = std::mem::take(&mut self.open).into_iter().collect();
            self.ops.push(TraceOp::Await { tokens });
        }
    }

    /// A name for a result, which nobody waits for.
    fn token(&mut self) -> Token {
        let token = self.next;
        self.next = (token + 1) % TOKENS;
        if self.open.remove(&token) {
            self.ops.push(TraceOp::Await { tokens: vec![token] });
        }
        self.open.insert(token);
        token
    }

    fn line(&mut self) -> u64 {
        let line = self.rng.random_range(0..self.shape.lines);
        self.shape.address(line, self.ground.line)
    }

    fn role(&self, addr: u64) -> Role {
        let drawn = mix(self.roles ^ (addr / CELL));
        if drawn as u8 >= self.shape.cells {
            return Role::Data;
        }
        let size = if self.ground.wide && drawn >> 8 & 3 == 0 { 8 } else { 4 };
        let scope = match (self.ground.scopes, drawn >> 10 & 3) {
            (true, 0) => Scope::Cu,
            (true, 1) => Scope::Gpu,
            _ => Scope::Sys,
        };
        let unit = (drawn >> 16) as u32 % self.ground.units();
        let home = match scope {
            Scope::Cu => unit,
            Scope::Gpu => self.ground.gpu(unit),
            Scope::Sys => 0,
        };
        Role::Synchronise { size, scope, home, data: self.ground.mixed && drawn >> 12 & 1 == 1 }
    }

    /// Lanes that an access may have.
    fn lanes(&mut self) -> Vec<u32> {
        if self.unit < self.ground.cores {
            return vec![0];
        }
        let [one, few, _] = self.shape.lanes;
        let (drawn, all) = (self.rng.random::<u8>(), self.ground.lanes);
        if drawn < one {
            vec![self.rng.random_range(0..all)]
        } else if drawn - one < few {
            let mask: u64 = self.rng.random::<u64>() & self.rng.random::<u64>();
            (0..all).filter(|lane| mask >> lane & 1 == 1).collect()
        } else {
            (0..all).collect()
        }
    }

    /// Addresses of these lanes, each a word of `size` bytes of its own that may be accessed so: one behind the other, or anywhere.
    fn addresses(&mut self, size: u64, lanes: &[u32], fits: impl Fn(&Self, u64) -> bool) -> (Vec<u64>, u64) {
        let dense = self.rng.random::<bool>();
        let (mut line, words) = (self.line(), self.ground.line / size);
        let mut word = self.rng.random_range(0..words);
        let (mut list, mut mask, mut taken) = (vec![0; self.ground.lanes as usize], 0, BTreeSet::new());
        for lane in lanes {
            let addr = line + word * size;
            if fits(self, addr) && taken.insert(addr) {
                list[*lane as usize] = addr;
                mask |= 1 << lane;
            }
            if dense && word + 1 < words {
                word += 1;
            } else {
                line = self.line();
                word = if dense { 0 } else { self.rng.random_range(0..words) };
            }
        }
        (list, mask)
    }

    fn data(&mut self, store: bool) {
        let size = [4, 4, 4, 8, 1, 2][self.rng.random_range(0..6)];
        let lanes = self.lanes();
        let fits = |of: &Self, addr: u64| match of.role(addr) {
            Role::Data => true,
            // From outside of its scope that would be a heterogeneous race, whose values nobody promises.
            role @ Role::Synchronise { data, size: word, .. } => {
                data && size == u64::from(word) && of.reached(role) == Some(false)
            }
        };
        let (list, mask) = self.addresses(size, &lanes, fits);
        if mask == 0 {
            return;
        }
        let access = TraceAccess::data(size as u8, Addrs::Lanes(list), mask);
        if store {
            self.ops.push(TraceOp::Store { access, value: TraceValue::Unique });
        } else {
            let token = self.token();
            self.ops.push(TraceOp::Load { token, access });
        }
    }

    /// A load, store or atomic that synchronises, on cells of one role.
    fn synchronise(&mut self) {
        let lanes = self.lanes();
        // The first cell that is found says what the others are to be like.
        let found = (0..32).find_map(|_| {
            let addr = self.line() + self.rng.random_range(0..self.ground.line / CELL) * CELL;
            self.reached(self.role(addr)).map(|remote| (self.role(addr), remote))
        });
        let Some((Role::Synchronise { size, scope, .. }, remote)) = found else {
            return self.data(false);
        };
        let fits = |of: &Self, addr: u64| match of.role(addr) {
            Role::Data => false,
            role @ Role::Synchronise { size: s, scope: c, .. } => {
                (s, c) == (size, scope) && of.reached(role) == Some(remote)
            }
        };
        let (list, mask) = self.addresses(u64::from(size), &lanes, fits);
        if mask == 0 {
            return;
        }
        let class = if remote { Class::P } else { self.class() };
        let scope = if remote { Scope::Gpu } else { scope };
        let access = |sem| {
            let sem = if class == Class::P { sem } else { Sem::Relaxed };
            TraceAccess { class, sem, scope, remote, ..TraceAccess::data(size, Addrs::Lanes(list), mask) }
        };
        match self.rng.random_range(0..4) {
            0 => {
                let (token, access) = (self.token(), access(Sem::Acquire));
                self.ops.push(TraceOp::Load { token, access });
            }
            1 => self.ops.push(TraceOp::Store { access: access(Sem::Release), value: TraceValue::Unique }),
            _ => {
                let sem = [Sem::Acquire, Sem::Release, Sem::AcquireRelease][self.rng.random_range(0..3)];
                let (token, access) = (self.token(), access(sem));
                let kinds =
                    [AmoKind::Add, AmoKind::Exch, AmoKind::Cas, AmoKind::Or, AmoKind::Max, AmoKind::Inc];
                let kind = kinds[self.rng.random_range(0..kinds.len())];
                let value = match self.rng.random::<bool>() {
                    true => TraceValue::Unique,
                    false => TraceValue::Const(self.rng.random_range(0..4)),
                };
                let compare = if kind == AmoKind::Cas { self.rng.random_range(0..4) } else { 0 };
                self.ops.push(TraceOp::Amo { token, access, kind, value, compare });
            }
        }
    }

    /// Whether this wave may synchronise on such a cell: `Some` of whether it takes a remote operation.
    fn reached(&self, role: Role) -> Option<bool> {
        let Role::Synchronise { scope, home, .. } = role else { return None };
        let gpu = |unit| self.ground.gpu(unit);
        match scope {
            Scope::Sys => Some(false),
            Scope::Gpu => (gpu(self.unit) == home).then_some(false),
            Scope::Cu if self.unit == home => Some(false),
            Scope::Cu => (self.ground.remote && gpu(self.unit) == gpu(home)).then_some(true),
        }
    }

    fn class(&mut self) -> Class {
        let classes: &[Class] = match self.ground.level {
            Level::Sc | Level::Drf0 => &[Class::P],
            Level::Drf1 => &[Class::P, Class::U],
            Level::DrfRlx => &[Class::P, Class::P, Class::U, Class::C, Class::N],
        };
        classes[self.rng.random_range(0..classes.len())]
    }
}
