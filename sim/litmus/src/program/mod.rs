//! A litmus test as a program: many runs of it at once, each with words of its own, random delays and stale copies
//! (cu-and-consistency.md section 6, harness).
//!
//! A kernel has one work-group on every CPU core and CU, and a wave (of one lane) for each thread of a run. In every second run a thread first loads
//! some of its run's words for nothing, or takes them by an atomic that changes nothing, so that copies of them lie in caches and some have owners; then come its
//! instructions, each after a random delay. In three kernels of four a further wave of each work-group makes traffic. A value is waited for where something computed needs it; what only passes it on (a store of a register)
//! is left to the CU. At the end the registers go to memory.

mod layout;
mod place;
mod thread;
mod traffic;

pub use layout::Layout;
pub use place::{Groups, Machine, Placement};

use crate::paths::ADDRESSES;
use crate::test::{Expr, Instr, Outcome, Test};
use layout::WORD;
use std::sync::Mutex;
use thiserror::Error;
use weft_workload::data::mix;
use weft_workload::{
    Array, Frame, HostStep, Kernel, Layout as Arrays, LoadedValues, Op, Program, VerifyError,
};

/// Why a test cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum FitError {
    #[error("{test} has {locs} locations, and a line holds {most}: leave out the layout of one line")]
    Line { test: String, locs: usize, most: usize },
    #[error("thread {thread} of {test} has {regs} registers; at most {most} can be followed: give it fewer")]
    Registers { test: String, thread: usize, regs: usize, most: usize },
    #[error(
        "this machine has no placement {placement} for {test}: it has not that many places, or the test's scopes bind its threads"
    )]
    Place { test: String, placement: Placement },
}

/// How a test is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// Runs of it.
    pub runs: u32,
    /// Where its threads are.
    pub placement: Placement,
    /// Where its locations are.
    pub layout: Layout,
    /// Most ticks before an operation.
    pub delay: u32,
    /// Most operations of a wave that only makes traffic, one per work-group; 0: there are none.
    pub traffic: u32,
    /// Whether the machine honours scopes.
    pub scopes: bool,
    /// Of everything that is drawn.
    pub seed: u64,
}

/// One thread of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    run: u32,
    thread: u32,
}

/// Runs of a test on a machine.
pub struct LitmusProgram {
    test: Test,
    how: How,
    machine: Machine,
    arrays: Vec<Array>,
    /// Address of each location of each run.
    words: Vec<Vec<u64>>,
    /// Address of the registers of the first thread of the first run, and bytes of a thread's.
    results: (u64, u64),
    /// Of each kernel, of each work-group, what its waves do.
    kernels: Vec<Vec<Vec<Task>>>,
    /// First byte of the words of the waves that make traffic.
    traffic: u64,
    /// Words may be taken by an atomic of system scope before the test begins.
    taken: bool,
    /// Whether words may hold addresses.
    pointers: bool,
    ends: Mutex<Vec<Outcome>>,
}

impl LitmusProgram {
    /// The runs of a test that `how` says.
    ///
    /// # Errors
    /// A test that does not fit the machine.
    pub fn new(test: &Test, machine: &Machine, how: How) -> Result<LitmusProgram, FitError> {
        let name = || test.name.clone();
        let most = 64;
        if let Some((thread, t)) = test.threads.iter().enumerate().find(|(_, t)| t.regs.len() > most) {
            return Err(FitError::Registers { test: name(), thread, regs: t.regs.len(), most });
        }
        let (words, bytes) = how.layout.words(test, how.runs, machine.line, how.seed)?;
        let regs = test.threads.iter().map(|t| t.regs.len() as u64).max().unwrap_or(0);
        let stride = (regs * WORD).next_multiple_of(u64::from(machine.line)).max(u64::from(machine.line));
        let mut arrays = Arrays::new();
        let threads = u64::from(how.runs) * test.threads.len() as u64;
        // The first page is theirs: no location has an address that a test's numbers reach.
        let results = arrays.add("registers", stride, threads, false, vec![]);
        let results = arrays.arrays()[results].addr;
        let at = arrays.end();
        let words: Vec<Vec<u64>> =
            words.into_iter().map(|run| run.into_iter().map(|word| at + word).collect()).collect();
        let mut init = vec![0; bytes as usize];
        for run in &words {
            for (loc, word) in test.locs.iter().zip(run) {
                let at = (word - at) as usize;
                init[at..at + WORD as usize].copy_from_slice(&encode(loc.init, run).to_le_bytes());
            }
        }
        arrays.add("locations", WORD, bytes / WORD, false, init);
        let waves = u64::from(machine.blocks()) * u64::from(machine.waves + 1);
        let line = u64::from(machine.line);
        let traffic = arrays.add("traffic", WORD, traffic::bytes(waves, line) / WORD, false, vec![]);
        let traffic = arrays.arrays()[traffic].addr;
        let kernels = kernels(test, machine, how)?;
        Ok(LitmusProgram {
            test: test.clone(),
            how,
            machine: *machine,
            arrays: arrays.arrays().to_vec(),
            words,
            results: (results, stride),
            kernels,
            traffic,
            taken: !how.scopes || !place::scoped(test),
            pointers: has_pointers(test),
            ends: Mutex::new(Vec::new()),
        })
    }

    /// How the runs ended, in their order; empty before the program has been verified.
    pub fn ends(&self) -> Vec<Outcome> {
        self.ends.lock().map(|ends| ends.clone()).unwrap_or_default()
    }

    fn decode(&self, bytes: &[u8], run: usize) -> i64 {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let loc = self.words[run].iter().position(|w| self.pointers && *w == u64::from(word));
        loc.map_or(i64::from(word as i32), |loc| ADDRESSES + loc as i64)
    }

    fn task(&self, kernel: u32, block: u32, wave: u32) -> Option<Task> {
        self.kernels[kernel as usize][block as usize].get(wave as usize).copied()
    }

    fn draw(&self, task: Task, count: u64) -> u64 {
        mix(self.how.seed ^ 0x5eed, u64::from(task.run) << 8 | u64::from(task.thread), count)
    }

    /// Longest delay in a run, in ticks: all that is asked for, or a quarter, a sixteenth, none. Accesses that must cross each other in a network of few hops meet
    /// only if they start within a few ticks of each other.
    fn longest(&self, run: u32) -> u64 {
        let most = u64::from(self.how.delay);
        [most, most / 4, most / 16, 0][mix(self.how.seed, 22, u64::from(run)) as usize % 4]
    }

    /// Whether the threads of a run begin with copies. In half of the runs none does, so that all begin at the same time.
    fn copies(&self, run: u32) -> bool {
        mix(self.how.seed, 23, u64::from(run)) & 1 == 0
    }

    /// Operations of a wave that makes traffic.
    fn length(&self, kernel: u32) -> u64 {
        traffic::length(self.how.traffic, self.how.seed ^ u64::from(kernel))
    }

    fn registers(&self, task: Task) -> u64 {
        let threads = self.test.threads.len() as u64;
        self.results.0 + (u64::from(task.run) * threads + u64::from(task.thread)) * self.results.1
    }
}

/// The word for a value: an address, if it is that of a location.
fn encode(value: i64, words: &[u64]) -> u32 {
    let loc = usize::try_from(value - ADDRESSES).ok().filter(|loc| *loc < words.len());
    loc.map_or(value as u32, |loc| words[loc] as u32)
}

fn has_pointers(test: &Test) -> bool {
    fn any(e: &Expr) -> bool {
        match e {
            Expr::Addr(_) => true,
            Expr::Const(_) | Expr::Reg(_) => false,
            Expr::Bin(_, a, b) => any(a) || any(b),
        }
    }
    test.threads.iter().any(|thread| {
        thread.start.iter().any(any)
            || thread.code.iter().any(|instr| match instr {
                Instr::Store { value, .. } | Instr::Set { value, .. } | Instr::Rmw { value, .. } => {
                    any(value)
                }
                Instr::Load { .. } | Instr::Fence { .. } | Instr::Branch { .. } => false,
            })
    })
}

/// Deals the threads of all runs to waves: to the first kernel in which all of them have room.
fn kernels(test: &Test, machine: &Machine, how: How) -> Result<Vec<Vec<Vec<Task>>>, FitError> {
    let groups = Groups::new(test, how.scopes);
    let blocks = machine.blocks() as usize;
    let mut kernels: Vec<Vec<Vec<Task>>> = Vec::new();
    // Kernels before this one are full, or nearly so.
    let mut open = 0;
    for run in 0..how.runs {
        let places = groups
            .place(machine, how.placement, mix(how.seed, 21, u64::from(run)))
            .ok_or_else(|| FitError::Place { test: test.name.clone(), placement: how.placement })?;
        let fits = |kernel: &Vec<Vec<Task>>| {
            places.iter().all(|block| {
                let waves = if *block < machine.cores { 1 } else { machine.waves as usize };
                kernel[*block as usize].len() + places.iter().filter(|b| *b == block).count() <= waves
            })
        };
        if places.iter().any(|b| places.iter().filter(|c| *c == b).count() > machine.waves as usize) {
            return Err(FitError::Place { test: test.name.clone(), placement: how.placement });
        }
        let at = (open..kernels.len()).find(|k| fits(&kernels[*k])).unwrap_or_else(|| {
            kernels.push(vec![Vec::new(); blocks]);
            kernels.len() - 1
        });
        open = open.max(at.saturating_sub(4));
        for (thread, block) in places.iter().enumerate() {
            kernels[at][*block as usize].push(Task { run, thread: thread as u32 });
        }
    }
    Ok(kernels)
}

impl Program for LitmusProgram {
    fn name(&self) -> &str {
        "litmus"
    }

    fn lanes(&self) -> u32 {
        1
    }

    fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    fn host_step(&self, index: usize, _memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let blocks = self.kernels.get(index)?;
        let most = blocks[self.machine.cores as usize..].iter().map(Vec::len).max().unwrap_or(0);
        Some(HostStep::Launch(Kernel {
            id: index as u32,
            name: self.test.name.clone(),
            blocks: self.machine.blocks(),
            cpus: self.machine.cores,
            waves_per_block: (most as u32 + u32::from(self.length(index as u32) > 0)).max(1),
            lds_bytes: 0,
            args: vec![],
            co_resident: true,
        }))
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let vars = match self.task(kernel.id, block, wave) {
            Some(task) => thread::start(&self.test.threads[task.thread as usize]),
            None => vec![0],
        };
        Frame { kernel: kernel.id, block, wave, pc: 0, vars }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        match self.task(frame.kernel, frame.block, frame.wave) {
            Some(task) => thread::step(self, task, frame, values),
            None => {
                let wave = u64::from(frame.block) * u64::from(self.machine.waves + 1) + u64::from(frame.wave);
                let words = traffic::Words { base: self.traffic, line: u64::from(self.machine.line), wave };
                let seed = self.how.seed ^ u64::from(frame.kernel);
                traffic::step(frame, words, self.length(frame.kernel), seed)
            }
        }
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let word = |at: u64, run: u32| self.decode(&memory(at, WORD as usize), run as usize);
        let end = |run: u32| Outcome {
            regs: (0..)
                .zip(&self.test.threads)
                .map(|(thread, t)| {
                    let at = self.registers(Task { run, thread });
                    (0..t.regs.len() as u64).map(|reg| word(at + reg * WORD, run)).collect()
                })
                .collect(),
            mem: self.words[run as usize].iter().map(|at| word(*at, run)).collect(),
        };
        let ends = (0..self.how.runs).map(end).collect();
        // A poisoned lock means that a thread has panicked, which the run reports itself.
        if let Ok(mut place) = self.ends.lock() {
            *place = ends;
        }
        Ok(())
    }
}
