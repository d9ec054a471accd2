//! Reference counters: threads take and drop references to two shared counters, and who drops the last one marks it.
//!
//! ```text
//! each repeat:  INC.Q first, INC.Q second;  work;  DEC.Q first, DEC.Q second;  where the old value was 1:  mark in the own slot
//! ```
//! One of a thread's counters is shared with threads of other work-groups, the other with its neighbours. Counts are exact
//! whatever their order, so that all end at 0; who drops the last reference depends on it, but somebody does.

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
    name: "reference-counter",
    about: "Threads take and drop references to shared counters with quantum accesses (relaxed-atomics study, Reference counter).",
    params: &[
        size("sharers", "32", 1 << 16, "threads", "Threads that share a counter."),
        size(
            "repeats",
            "4",
            1 << 16,
            "repeats",
            "References of a thread to each of its counters, one after the other.",
        ),
        size("work", "32", 1 << 16, "ticks", "How long a thread holds its references."),
        blocks("24"),
        group("32"),
        LANES,
        SEED,
    ],
    published: &[("blocks", "64")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Reference::new, params),
};

/// Slots of the two counters, each two: taking and dropping; and of the marks.
const S_TAKE: u64 = 0;
const S_DROP: u64 = 2;
const S_MARK: u64 = 4;

/// Registers of a thread: where it is, repeats done, marks for each counter.
const R_STATE: usize = 0;
const R_DONE: usize = 1;
const R_MARKS: usize = 2;
const REGISTERS: u64 = 4;

const TAKE: u64 = 0;
const DROP: u64 = 1;

/// Counters of a thread.
const OWN: u64 = 2;

/// Shared counters.
#[derive(Clone, Debug)]
pub struct Reference {
    base: Base,
    sharers: u64,
    repeats: u64,
    work: u64,
    blocks: u64,
    group: u64,
    counters: usize,
    marks: usize,
}

impl Reference {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [sharers, repeats, work, blocks, group] =
            ["sharers", "repeats", "work", "blocks", "group"].map(|key| params.integer(key));
        let mut base = Base::new(INFO.name, params);
        let threads = blocks * group;
        let counters = base.zeros("counters", OWN * threads.div_ceil(sharers));
        let marks = base.zeros("marks", OWN * threads);
        Ok(Self { base, sharers, repeats, work, blocks, group, counters, marks })
    }

    fn threads(&self) -> u64 {
        self.blocks * self.group
    }

    /// Counter `i` of a thread.
    fn counter(&self, id: u64, i: u64) -> u64 {
        let half = self.threads().div_ceil(self.sharers);
        if i == 0 { id % half } else { half + id / self.sharers }
    }
}

impl Kernels for Reference {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let launch = Launch::new(INFO.name, 0, self.threads(), self.group as u32);
        (index == 0).then(|| launch.registers(REGISTERS))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let order = relaxed(Class::Q);
        let counter = |i| self.base.at(self.counters, self.counter(t.id, i));
        if r[R_STATE] == DROP {
            io.pause(self.work);
            for i in 0..OWN {
                io.settle(S_TAKE + i);
                let drop = Atomic::Amo(AmoKind::Dec, 0);
                io.atomic(S_DROP + i, drop, 4, order, counter(i), u64::from(u32::MAX));
            }
            (r[R_STATE], r[R_DONE]) = (TAKE, r[R_DONE] + 1);
            return Flow::Next;
        }
        let dropped = r[R_DONE] > 0;
        for i in (0..OWN).filter(|i| dropped && t.index(S_DROP + i) == 1) {
            r[R_MARKS + i as usize] += 1;
            let mark = self.base.at(self.marks, OWN * t.id + i);
            io.atomic(S_MARK + i, Atomic::Store, 4, order, mark, r[R_MARKS + i as usize]);
        }
        if r[R_DONE] == self.repeats {
            return Flow::End;
        }
        (0..OWN).for_each(|i| io.post(S_TAKE + i, AmoKind::Inc, order, counter(i), u64::from(u32::MAX)));
        r[R_STATE] = DROP;
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let counters = OWN * self.threads().div_ceil(self.sharers);
        self.base.check(self.counters, &vec![0u32; counters as usize], memory)?;
        let most = vec![self.repeats as u32; (OWN * self.threads()) as usize];
        self.base.check_by(self.marks, &most, |found, most| found <= most, memory)?;
        // Of each counter's users one at least has dropped the last reference.
        let mut marks = vec![0; counters as usize];
        for mark in 0..OWN * self.threads() {
            let counter = self.counter(mark / OWN, mark % OWN);
            marks[counter as usize] += u64::from(self.base.word(self.marks, mark, memory));
        }
        let unmarked = |mark: &u64| marks[self.counter(mark / OWN, mark % OWN) as usize] == 0;
        match (0..OWN * self.threads()).find(unmarked) {
            None => Ok(()),
            Some(mark) => {
                let wrong = marks.iter().filter(|marks| **marks == 0).count() as u64;
                Err(self.base.wrong(self.marks, mark, "0", "a mark of one who shares the counter", wrong))
            }
        }
    }
}
