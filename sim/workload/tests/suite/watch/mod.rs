//! What tests of programs that synchronise share: programs watched or changed, and runs in which all work-groups are resident.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use weft_workload::ideal::{IdealRun, Order, Races, run_checked};
use weft_workload::program::{Array, Frame, HostStep, Kernel, LoadedValues, Program, VerifyError};
use weft_workload::{Class, Op, WorkloadError, build, workloads};

/// A program's name and settings.
pub type Small = (&'static str, &'static [(&'static str, &'static str)]);

pub fn settings(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

pub fn try_make(name: &str, list: &[(&str, &str)]) -> Result<Box<dyn Program>, WorkloadError> {
    build(name, &settings(list), None)
}

pub fn make(name: &str, list: &[(&str, &str)]) -> Box<dyn Program> {
    try_make(name, list).unwrap_or_else(|e| panic!("{e}"))
}

pub fn has(name: &str, key: &str) -> bool {
    workloads().iter().any(|w| w.name == name && w.params.iter().any(|p| p.name == key))
}

/// The small settings of a program, with others before them.
pub fn with(
    all: &[Small],
    name: &str,
    own: &[(&'static str, &'static str)],
) -> Vec<(&'static str, &'static str)> {
    let small = all.iter().find(|s| s.0 == name).unwrap_or_else(|| panic!("{name}")).1;
    let rest = small.iter().filter(|(key, _)| own.iter().all(|(k, _)| k != key));
    own.iter().chain(rest).copied().collect()
}

pub fn run_in(program: &dyn Program, order: Order) -> (IdealRun, Races) {
    run_checked(program, order).unwrap_or_else(|e| panic!("{}: {e}", program.name()))
}

pub fn verified(program: &dyn Program, order: Order) -> (IdealRun, Races) {
    let (done, races) = run_in(program, order);
    program.verify(&|addr, count| done.memory.read(addr, count)).unwrap_or_else(|e| panic!("{order:?}: {e}"));
    (done, races)
}

/// A program, each of whose operations is changed, or only seen; its work-groups are all resident, so that they meet.
pub struct Changed<F> {
    program: Box<dyn Program>,
    change: F,
}

impl<F: Fn(&mut Op) + Send + Sync> Changed<F> {
    pub fn new(program: Box<dyn Program>, change: F) -> Self {
        Self { program, change }
    }
}

impl<F: Fn(&mut Op) + Send + Sync> Program for Changed<F> {
    fn name(&self) -> &str {
        self.program.name()
    }
    fn lanes(&self) -> u32 {
        self.program.lanes()
    }
    fn arrays(&self) -> &[Array] {
        self.program.arrays()
    }
    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        match self.program.host_step(index, memory) {
            Some(HostStep::Launch(kernel)) => Some(HostStep::Launch(Kernel { co_resident: true, ..kernel })),
            other => other,
        }
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        self.program.start(kernel, block, wave)
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let mut ops = self.program.step(frame, values);
        ops.iter_mut().for_each(&self.change);
        ops
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        self.program.verify(memory)
    }
}

/// A program, and which accesses other than data it makes: kind, class, what it orders by its kind or by itself, scope.
pub struct Watched {
    program: Box<dyn Program>,
    seen: Mutex<BTreeSet<String>>,
}

impl Watched {
    pub fn new(program: Box<dyn Program>) -> Self {
        Self { program, seen: Mutex::default() }
    }

    pub fn seen(&self) -> BTreeSet<String> {
        self.seen.lock().expect("no thread has panicked").clone()
    }
}

impl Program for Watched {
    fn name(&self) -> &str {
        self.program.name()
    }
    fn lanes(&self) -> u32 {
        self.program.lanes()
    }
    fn arrays(&self) -> &[Array] {
        self.program.arrays()
    }
    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        self.program.host_step(index, memory)
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        self.program.start(kernel, block, wave)
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let ops = self.program.step(frame, values);
        for op in &ops {
            let (access, kind) = match op {
                Op::Load { access, .. } => (access, "load".to_owned()),
                Op::Store { access, .. } => (access, "store".to_owned()),
                Op::Amo { access, kind, .. } => (access, format!("{kind:?}")),
                _ => continue,
            };
            if access.class != Class::D {
                let seen = format!("{kind} {:?} {:?} {:?}", access.class, access.sem, access.scope);
                self.seen.lock().expect("no thread has panicked").insert(seen);
            }
        }
        ops
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        self.program.verify(memory)
    }
}
