//! What the microbenchmarks have in common: parameters, work-groups and their places, words in lines of their own.

use super::super::WorkloadError;
use super::super::common::SEED;
use super::super::cpu_gpu::LANES;
use super::super::machine::{GPMS, Grid, LINE, Spot};
use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::simt::{Base, Launch, Thread};

/// Parameter `gpus`.
pub const GPUS: ParamSpec = ParamSpec {
    name: "gpus",
    default: "1",
    legal: Legal::Integer { min: 1, max: 64 },
    unit: "GPUs",
    about: "GPUs, work-groups dispatched contiguously (the fabric's own number unless given).",
};

/// Parameter `cus`.
pub const CUS: ParamSpec = ParamSpec {
    name: "cus",
    default: "4",
    legal: Legal::Integer { min: 1, max: 1024 },
    unit: "CUs",
    about: "CUs of a GPU, all with equally many work-groups (the fabric's own number unless given).",
};

/// Parameter `per_cu`.
pub const PER_CU: ParamSpec = size("per_cu", "3", 64, "work-groups", "Work-groups of a CU.");

/// Parameter `group`.
pub const GROUP: ParamSpec =
    size("group", "32", 1024, "threads", "Threads of a work-group; the first synchronises for all.");

/// Parameter `iterations`.
pub const ITERATIONS: ParamSpec =
    size("iterations", "10", 1 << 20, "iterations", "Iterations of a work-group.");

/// Parameter `accesses`.
pub const ACCESSES: ParamSpec = size(
    "accesses",
    "10",
    100,
    "accesses",
    "Loads and stores of a thread in an iteration, each on a line of its half-wave's.",
);

/// Parameters that all have.
const COMMON: [ParamSpec; 8] = [PER_CU, GROUP, GPUS, GPMS, CUS, LINE, LANES, SEED];

/// A program's own parameters and those that all have, `N` in all.
///
/// # Panics
/// If they are not `N`, where it is compiled.
pub const fn with_common<const N: usize>(own: &[ParamSpec]) -> [ParamSpec; N] {
    assert!(N == own.len() + COMMON.len());
    let (mut all, mut i) = ([SEED; N], 0);
    while i < N {
        all[i] = if i < own.len() { own[i] } else { COMMON[i - own.len()] };
        i += 1;
    }
    all
}

/// Work-groups, their places, and lines.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name, lanes and arrays.
    pub base: Base,
    /// Which work-group is where.
    pub grid: Grid,
    /// Threads of a work-group.
    pub group: u64,
    /// Words of 4 bytes of a line.
    pub line: u64,
}

impl Setting {
    /// As the parameters of all these programs say.
    ///
    /// # Errors
    /// As [`Grid::new`].
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let grid = Grid::new(params, params.integer("per_cu"))?;
        let line = if params.text("line") == "128" { 32 } else { 16 };
        Ok(Self { base: Base::new(params.workload(), params), grid, group: params.integer("group"), line })
    }

    /// Adds an array of words, each in a line of its own.
    pub fn apart(&mut self, name: &str, words: u64) -> usize {
        self.base.zeros(name, words * self.line)
    }

    /// The same with first values.
    pub fn apart_with(&mut self, name: &str, words: &[u32]) -> usize {
        let init = self.spread(words);
        self.base.add(name, init.len() as u64, false, crate::data::u32_bytes(&init))
    }

    /// An array of [`Setting::apart`] with these words.
    pub fn spread(&self, words: &[u32]) -> Vec<u32> {
        let mut all = vec![0; words.len() * self.line as usize];
        words.iter().enumerate().for_each(|(i, word)| all[i * self.line as usize] = *word);
        all
    }

    /// Address of word `i` of such an array.
    #[inline]
    pub fn word(&self, array: usize, i: u64) -> u64 {
        self.base.at(array, i * self.line)
    }

    /// Place of a thread's work-group.
    pub fn spot(&self, t: &Thread) -> Spot {
        self.grid.spot(t.block)
    }

    /// The launch: all work-groups are resident, each on the CU that the program counts on.
    pub fn launch(&self, registers: usize) -> Launch {
        let threads = self.grid.blocks() * self.group;
        let launch = Launch::new(self.base.name(), 0, threads, self.group as u32);
        launch.registers(registers as u64).co_resident()
    }
}
