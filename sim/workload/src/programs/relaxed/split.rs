//! Split counter: half of a work-group's threads add to counters of their own, the other half sum up all of them meanwhile.
//!
//! ```text
//! lower half:  ADD.Q counter[own], 1, again and again
//! upper half:  sum of LD.Q counter[i] for all i, 16 at a time, again and again
//! ```
//! A sum is of counters at different times, which is as good as another one: it is never more than what is added in all,
//! and a thread's sums never fall, for each counter only grows.

use super::super::common::SEED;
use super::super::cpu_gpu::LANES;
use super::super::params::{Params, size};
use super::super::round::{Atomic, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{blocks, group, relaxed};
use crate::op::{AmoKind, Class};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "split-counter",
    about: "Threads add to counters of their own while others sum up all of them, with quantum accesses (relaxed-atomics study, Split counter).",
    params: &[
        size("adds", "16", 1 << 20, "additions", "Additions of a thread that adds."),
        size("sums", "2", 1 << 16, "sums", "Sums of a thread that sums up."),
        blocks("12"),
        group("32"),
        LANES,
        SEED,
    ],
    published: &[("blocks", "112")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Split::new, params),
};

/// Counters that a thread loads in a round.
const UNROLL: u64 = 16;

const S_COUNTER: u64 = 0;
const S_ADD: u64 = UNROLL;
const S_SUM: u64 = UNROLL + 1;
const S_FELL: u64 = UNROLL + 2;

/// Registers of a thread: additions or sums done, counters asked for, the sum, the one before, how often a sum was less than the one before.
const R_DONE: usize = 0;
const R_NEXT: usize = 1;
const R_SUM: usize = 2;
const R_BEFORE: usize = 3;
const R_FELL: usize = 4;
const REGISTERS: u64 = 5;

/// A counter in parts.
#[derive(Clone, Debug)]
pub struct Split {
    base: Base,
    adds: u64,
    sums: u64,
    blocks: u64,
    group: u64,
    counters: usize,
    results: usize,
    fell: usize,
}

impl Split {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [adds, sums, blocks, group] = ["adds", "sums", "blocks", "group"].map(|key| params.integer(key));
        let mut base = Base::new(INFO.name, params);
        let adders = group.div_ceil(2);
        let readers = blocks * (group - adders);
        let counters = base.zeros("counters", blocks * adders);
        let results = base.zeros("sums", (readers * sums).max(1));
        let fell = base.zeros("fell", readers.max(1));
        Ok(Self { base, adds, sums, blocks, group, counters, results, fell })
    }

    /// Threads of a work-group that add.
    fn adders(&self) -> u64 {
        self.group.div_ceil(2)
    }

    fn counters(&self) -> u64 {
        self.blocks * self.adders()
    }

    fn add(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let counter = self.base.at(self.counters, t.block * self.adders() + t.local);
        io.post(S_ADD, AmoKind::Add, relaxed(Class::Q), counter, 1);
        io.settle(S_ADD);
        r[R_DONE] += 1;
        if r[R_DONE] == self.adds { Flow::End } else { Flow::Next }
    }

    fn sum(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let reader = t.block * (self.group - self.adders()) + t.local - self.adders();
        let last = r[R_NEXT];
        if last > 0 {
            let loaded = last - (last - 1) / UNROLL * UNROLL;
            io.alu(loaded);
            r[R_SUM] += (0..loaded).map(|i| t.index(S_COUNTER + i)).sum::<u64>();
        }
        if last == self.counters() {
            io.store(S_SUM, self.base.at(self.results, reader * self.sums + r[R_DONE]), r[R_SUM]);
            r[R_FELL] += u64::from(r[R_SUM] < r[R_BEFORE]);
            (r[R_BEFORE], r[R_SUM], r[R_NEXT]) = (r[R_SUM], 0, 0);
            r[R_DONE] += 1;
            if r[R_DONE] == self.sums {
                io.store(S_FELL, self.base.at(self.fell, reader), r[R_FELL]);
                return Flow::End;
            }
        }
        let to = self.counters().min(r[R_NEXT] + UNROLL);
        for i in r[R_NEXT]..to {
            let counter = self.base.at(self.counters, i);
            io.atomic(S_COUNTER + i % UNROLL, Atomic::Load, 4, relaxed(Class::Q), counter, 0);
        }
        r[R_NEXT] = to;
        Flow::Next
    }
}

impl Kernels for Split {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let launch = Launch::new(INFO.name, 0, self.blocks * self.group, self.group as u32);
        (index == 0).then(|| launch.registers(REGISTERS))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if t.local < self.adders() { self.add(t, r, io) } else { self.sum(t, r, io) }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let readers = (self.blocks * (self.group - self.adders())) as usize;
        let all = self.counters() * self.adds;
        self.base.check(self.counters, &vec![self.adds as u32; self.counters() as usize], memory)?;
        // A sum that can be is as good as the greatest one.
        let most = vec![all as u32; readers * self.sums as usize];
        self.base.check_by(self.results, &most, |found, most| found <= most, memory)?;
        self.base.check(self.fell, &vec![0u32; readers], memory)
    }
}
