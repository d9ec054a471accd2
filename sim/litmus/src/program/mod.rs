//! A litmus test as a program: many runs of it at once, each with words of its own, random delays and stale copies
//! (cu-and-consistency.md section 6, harness).
//!
//! A kernel has one work-group on every CPU core and CU, and a wave for each thread of a run: of one lane, or of several, each of which is the thread of a run of its own
//! ([`How::lanes`]). In every second run a thread first loads some of its run's words for nothing, or takes them by an atomic that changes nothing, so that copies of them lie in caches and
//! some have owners; then come its instructions, each after a random delay. In three kernels of four a further wave of each work-group makes traffic, after it has taken copies of words of any run.
//! A value is waited for where something computed needs it; what only passes it on (a store of a register) is left to the CU. At the end the registers go to memory.

mod layout;
mod place;
mod thread;
mod traffic;

pub use layout::Layout;
pub use place::{Groups, Machine, Placement};

use crate::paths::{address, located};
use crate::test::{Expr, Instr, Outcome, Proxy, Test};
use layout::WORD;
use std::sync::Mutex;
use thiserror::Error;
use weft_workload::data::mix;
use weft_workload::op::Class;
use weft_workload::{
    Array, Frame, HostStep, Kernel, Layout as Arrays, LoadedValues, Op, Program, VerifyError,
};

/// Why a test cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum FitError {
    #[error(
        "{test} has {what}, which the fabrics' programs have not: judge it by enumeration, without --fabric"
    )]
    Beyond { test: String, what: &'static str },
    #[error("{test} has {locs} locations, and a line holds {most}: leave out the layout of one line")]
    Line { test: String, locs: usize, most: usize },
    #[error(
        "{test} has {locs} locations of data or of flags, and a page holds {most} lines: leave out the layout page"
    )]
    Page { test: String, locs: usize, most: usize },
    #[error("thread {thread} of {test} has {regs} registers; at most {most} can be followed: give it fewer")]
    Registers { test: String, thread: usize, regs: usize, most: usize },
    #[error(
        "this machine has no placement {placement} for {test}: it has not that many places, or the test's scopes bind its threads"
    )]
    Place { test: String, placement: Placement },
}

/// What a test has that no program of a fabric does.
fn beyond(test: &Test) -> Option<&'static str> {
    let odd = |instr: &Instr| match instr {
        Instr::Barrier(_) => Some("a barrier"),
        Instr::StoreExclusive { .. } => Some("a store exclusive"),
        Instr::Load { attr, .. }
        | Instr::Store { attr, .. }
        | Instr::Rmw { attr, .. }
        | Instr::Fence { attr } => (attr.proxy != Proxy::Generic).then_some("a proxy"),
        Instr::Set { .. } | Instr::Branch { .. } => None,
    };
    let aliases = (!test.aliases.is_empty()).then_some("virtual addresses");
    test.threads.iter().flat_map(|thread| &thread.code).find_map(odd).or(aliases)
}

/// How a test is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct How {
    /// Runs of it.
    pub runs: u32,
    /// Where its threads and where its locations are: each has its share of the runs.
    pub ways: Vec<(Placement, Layout)>,
    /// Runs whose threads are lanes of one wave, at most, 1..64; on CPU cores one.
    pub lanes: u32,
    /// Most bundles of runs (see `lanes`) that a kernel has at once; 0: as many as find room. Releases of one GPU that meet
    /// share a fence, and so wait longer than each needs to: what a release that is too short leaves undone shows where few meet.
    pub together: u32,
    /// Most ticks before an operation.
    pub delay: u32,
    /// Most operations of a wave that only makes traffic, one per work-group; 0: there are none.
    pub traffic: u32,
    /// Whether the machine honours scopes.
    pub scopes: bool,
    /// Of everything that is drawn.
    pub seed: u64,
}

/// Runs that share waves, a lane each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bundle {
    /// Its place in [`How::ways`].
    way: usize,
    /// Its first run, and how many these are.
    first: u32,
    count: u32,
}

/// One thread of the runs of one bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    bundle: u32,
    thread: u32,
}

/// A kernel.
#[derive(Clone, Debug, Default)]
struct Launch {
    /// Of each work-group, what its waves do.
    blocks: Vec<Vec<Task>>,
    /// Its bundles.
    bundles: Vec<u32>,
}

/// Runs of a test on a machine.
pub struct LitmusProgram {
    test: Test,
    how: How,
    machine: Machine,
    arrays: Vec<Array>,
    bundles: Vec<Bundle>,
    /// Address of each location of each run.
    words: Vec<Vec<u64>>,
    /// Address of the registers of the first thread of the first run, and bytes of a thread's.
    results: (u64, u64),
    kernels: Vec<Launch>,
    /// First byte of the words of the waves that make traffic.
    traffic: u64,
    /// Of each location, whether it may be taken by an atomic of system scope before the test begins.
    taken: Vec<bool>,
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
        if let Some(what) = beyond(test) {
            return Err(FitError::Beyond { test: name(), what });
        }
        let most = 64;
        if let Some((thread, t)) = test.threads.iter().enumerate().find(|(_, t)| t.regs.len() > most) {
            return Err(FitError::Registers { test: name(), thread, regs: t.regs.len(), most });
        }
        let bundles = bundles(&how);
        let (words, bytes) = words(test, machine, &how, &bundles)?;
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
        let kernels = kernels(test, machine, &how, &bundles)?;
        let free = !how.scopes || !place::scoped(test);
        let taken = |loc| free && (machine.mixed || !is_data(test, loc));
        let taken = (0..test.locs.len()).map(taken).collect();
        Ok(LitmusProgram {
            test: test.clone(),
            how,
            bundles,
            machine: *machine,
            arrays: arrays.arrays().to_vec(),
            words,
            results: (results, stride),
            kernels,
            traffic,
            taken,
            pointers: has_pointers(test),
            ends: Mutex::new(Vec::new()),
        })
    }

    /// How the runs ended, each with its place in [`How::ways`]; empty before the program has been verified.
    pub fn ends(&self) -> Vec<(usize, Outcome)> {
        let ends = self.ends.lock().map(|ends| ends.clone()).unwrap_or_default();
        let ways = self.bundles.iter().flat_map(|b| vec![b.way; b.count as usize]);
        ways.zip(ends).collect()
    }

    fn decode(&self, bytes: &[u8], run: usize) -> i64 {
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let loc = self.words[run].iter().position(|w| self.pointers && *w == u64::from(word));
        loc.map_or(i64::from(word as i32), address)
    }

    fn task(&self, kernel: u32, block: u32, wave: u32) -> Option<Task> {
        self.kernels[kernel as usize].blocks[block as usize].get(wave as usize).copied()
    }

    fn draw(&self, task: Task, count: u64) -> u64 {
        let first = self.bundles[task.bundle as usize].first;
        mix(self.how.seed ^ 0x5eed, u64::from(first) << 8 | u64::from(task.thread), count)
    }

    /// Longest delay in the runs of a bundle, in ticks: all that is asked for, or a quarter, a sixteenth, none. Accesses that must cross each other in a network of few hops meet
    /// only if they start within a few ticks of each other.
    fn longest(&self, bundle: Bundle) -> u64 {
        let most = u64::from(self.how.delay);
        [most, most / 4, most / 16, 0][mix(self.how.seed, 22, u64::from(bundle.first)) as usize % 4]
    }

    /// Whether the threads of a bundle begin with copies. In half of them none does, so that all begin at the same time.
    fn copies(&self, bundle: Bundle) -> bool {
        mix(self.how.seed, 23, u64::from(bundle.first)) & 1 == 0
    }

    /// Whether the accesses of a bundle have hints.
    fn hinted(&self, bundle: Bundle) -> bool {
        self.machine.hints && mix(self.how.seed, 24, u64::from(bundle.first)) & 1 == 0
    }

    /// Operations of a wave that makes traffic.
    fn length(&self, kernel: u32) -> u64 {
        traffic::length(self.how.traffic, self.how.seed ^ u64::from(kernel))
    }

    /// Words of runs of a kernel of which a wave that makes traffic takes copies, each with whether an atomic takes it; drawn by `seed`.
    fn others(&self, kernel: u32, seed: u64) -> Vec<(u64, bool)> {
        let bundles = &self.kernels[kernel as usize].bundles;
        let drawn = |n: u64| {
            let of = |stream: u64, count: usize| mix(seed, 40 + stream, n) as usize % count.max(1);
            let bundle = self.bundles[bundles[of(0, bundles.len())] as usize];
            let words = &self.words[bundle.first as usize + of(1, bundle.count as usize)];
            let loc = of(2, words.len());
            // As few as this: a paired atomic drops what tests mean to find stale.
            (words[loc], self.taken[loc] && of(3, 16) == 0)
        };
        (0..traffic::COPIES).map(drawn).collect()
    }

    fn registers(&self, run: u32, thread: u32) -> u64 {
        let threads = self.test.threads.len() as u64;
        self.results.0 + (u64::from(run) * threads + u64::from(thread)) * self.results.1
    }
}

/// The word for a value: an address, if it is that of a location.
fn encode(value: i64, words: &[u64]) -> u32 {
    let loc = located(value, words.len());
    loc.map_or(value as u32, |loc| words[loc] as u32)
}

/// Whether some access of class D may be to a location.
fn is_data(test: &Test, loc: usize) -> bool {
    test.threads.iter().flat_map(|thread| &thread.code).any(|instr| match instr {
        Instr::Load { at, attr, .. }
        | Instr::Store { at, attr, .. }
        | Instr::StoreExclusive { at, attr, .. }
        | Instr::Rmw { at, attr, .. } => {
            attr.class == Class::D && (*at == Expr::Addr(loc) || !matches!(at, Expr::Addr(_)))
        }
        Instr::Fence { .. } | Instr::Barrier(_) | Instr::Branch { .. } | Instr::Set { .. } => false,
    })
}

fn has_pointers(test: &Test) -> bool {
    fn any(e: &Expr) -> bool {
        match e {
            Expr::Addr(_) => true,
            Expr::Const(_) | Expr::Reg(_) => false,
            Expr::Bin(_, a, b) => any(a) || any(b),
            Expr::Select(a, b, c) => any(a) || any(b) || any(c),
        }
    }
    test.threads.iter().any(|thread| {
        thread.start.iter().any(any)
            || thread.code.iter().any(|instr| match instr {
                Instr::Store { value, .. }
                | Instr::StoreExclusive { value, .. }
                | Instr::Set { value, .. }
                | Instr::Rmw { value, .. } => any(value),
                Instr::Load { .. } | Instr::Fence { .. } | Instr::Barrier(_) | Instr::Branch { .. } => false,
            })
    })
}

/// Deals the runs to bundles: each way has its share of the runs, and the ways take turns. Where threads are on cores the share is a quarter of the others': a kernel has
/// room for a run or two of these, and for many others beside them.
fn bundles(how: &How) -> Vec<Bundle> {
    let weight = |(placement, _): &(Placement, Layout)| if *placement == Placement::Cpu { 1 } else { 4 };
    let before = |n: usize| how.ways[..n].iter().map(weight).sum::<u64>();
    let share = |n: usize| (u64::from(how.runs) * before(n) / before(how.ways.len())) as u32;
    let mut left: Vec<u32> = (0..how.ways.len()).map(|way| share(way + 1) - share(way)).collect();
    let (mut all, mut first) = (Vec::new(), 0);
    while first < how.runs {
        for (way, (placement, _)) in how.ways.iter().enumerate() {
            // A core has one lane.
            let lanes = if *placement == Placement::Cpu { 1 } else { how.lanes };
            let count = left[way].min(lanes);
            if count > 0 {
                all.push(Bundle { way, first, count });
                (left[way], first) = (left[way] - count, first + count);
            }
        }
    }
    all
}

/// Byte offset of each location in each run, and the bytes in all: runs of one layout lie together.
fn words(
    test: &Test,
    machine: &Machine,
    how: &How,
    bundles: &[Bundle],
) -> Result<(Vec<Vec<u64>>, u64), FitError> {
    let mut all = vec![Vec::new(); how.runs as usize];
    let mut end = 0;
    for layout in Layout::ALL {
        let mine = |b: &&Bundle| how.ways[b.way].1 == layout;
        let runs: Vec<u32> = bundles.iter().filter(mine).flat_map(|b| b.first..b.first + b.count).collect();
        if runs.is_empty() {
            continue;
        }
        let (words, bytes) = layout.words(test, runs.len() as u32, machine.line, how.seed)?;
        for (run, words) in runs.iter().zip(words) {
            all[*run as usize] = words.into_iter().map(|word| end + word).collect();
        }
        end += bytes;
    }
    Ok((all, end))
}

/// Deals the threads of all bundles to waves: to the first kernel in which all of them have room.
fn kernels(test: &Test, machine: &Machine, how: &How, bundles: &[Bundle]) -> Result<Vec<Launch>, FitError> {
    let groups = Groups::new(test, how.scopes);
    let blocks = machine.blocks() as usize;
    let mut kernels: Vec<Launch> = Vec::new();
    // Kernels before this one are full, or nearly so.
    let mut open = 0;
    for (bundle, b) in (0..).zip(bundles) {
        let placement = how.ways[b.way].0;
        let nowhere = || FitError::Place { test: test.name.clone(), placement };
        let seed = mix(how.seed, 21, u64::from(b.first));
        let places = groups.place(machine, placement, seed).ok_or_else(nowhere)?;
        let threads = |block: u32| places.iter().filter(|b| **b == block).count();
        let alone = |kernel: &Launch| how.together == 0 || kernel.bundles.len() < how.together as usize;
        let fits = |kernel: &Launch| {
            alone(kernel)
                && places.iter().all(|block| {
                    let waves = if *block < machine.cores { 1 } else { machine.waves as usize };
                    kernel.blocks[*block as usize].len() + threads(*block) <= waves
                })
        };
        if places.iter().any(|block| threads(*block) > machine.waves as usize) {
            return Err(nowhere());
        }
        let at = (open..kernels.len()).find(|k| fits(&kernels[*k])).unwrap_or_else(|| {
            kernels.push(Launch { blocks: vec![Vec::new(); blocks], bundles: Vec::new() });
            kernels.len() - 1
        });
        open = open.max(at.saturating_sub(OPEN));
        kernels[at].bundles.push(bundle);
        for (thread, block) in places.iter().enumerate() {
            kernels[at].blocks[*block as usize].push(Task { bundle, thread: thread as u32 });
        }
    }
    Ok(kernels)
}

/// Kernels that are looked at for room, before the last one in which there was some.
const OPEN: usize = 12;

impl Program for LitmusProgram {
    fn name(&self) -> &str {
        "litmus"
    }

    fn lanes(&self) -> u32 {
        self.bundles.iter().map(|b| b.count).max().unwrap_or(1)
    }

    fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    fn host_step(&self, index: usize, _memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let blocks = &self.kernels.get(index)?.blocks;
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
            Some(task) => {
                let lanes = self.bundles[task.bundle as usize].count;
                thread::start(&self.test.threads[task.thread as usize], lanes)
            }
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
                if frame.pc == 0 {
                    frame.pc = 1;
                    return traffic::copies(&self.others(frame.kernel, seed ^ wave << 20));
                }
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
                    let at = self.registers(run, thread);
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
