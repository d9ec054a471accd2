//! A work queue: every work-group gives tasks and takes what anybody has given, until all are done.
//!
//! ```text
//! give:  i = ADD.U tail, 1;  slot[i] = task;  ST.P full[i] = 1
//! take:  h = LD.U head;  LD.U full[h] (the occupancy check; 0: later);  CAS.P head, h -> h + 1 (else later)
//!        LD.P full[h] (the second check, which orders the slot);  task = slot[h]
//! ```
//! The first check costs nothing where the queue is empty; only the second one, which finds what the first has found, lets
//! the slot be read. Slots are used once, so that a place in the queue never comes back.
//!
//! A task is a row of words that follow from it, one for each thread of the work-group that has taken it.

use super::super::common::SEED;
use super::super::cpu_gpu::LANES;
use super::super::machine::LINE;
use super::super::params::{Params, size};
use super::super::round::{Atomic, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{blocks, group, paired, relaxed};
use crate::data;
use crate::op::{AmoKind, Class, Sem};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "work-queue",
    about: "Work-groups give tasks to one queue and take them from it, with an unpaired check whether there is one (relaxed-atomics study, Work queue).",
    params: &[
        size("tasks", "8", 1 << 16, "tasks", "Tasks that each work-group gives."),
        size("work", "64", 1 << 16, "ticks", "Time of a task beside its accesses."),
        blocks("12"),
        group("32"),
        LINE,
        LANES,
        SEED,
    ],
    published: &[("blocks", "45"), ("tasks", "64")],
    takes_graph: false,
    make: |params, _| Simt::from_params(WorkQueue::new, params),
};

/// Ticks between two looks at an empty queue.
const POLL: u64 = 32;

const S_TICKET: u64 = 0;
const S_TASK: u64 = 1;
const S_FULL: u64 = 2;
const S_HEAD: u64 = 3;
const S_CLAIM: u64 = 4;
const S_CHECK: u64 = 5;
const S_SLOT: u64 = 6;
const S_RUNS: u64 = 7;
const S_SAID: u64 = 8;
const S_OUT: u64 = 9;
const S_TAKEN: u64 = 10;
const S_RAN: u64 = 11;

/// Scratchpad: the task, in two words used in turn, so that one is written while slow threads read the other.
const LDS: u64 = 8;
const NO_TASK: u64 = u32::MAX as u64;

/// Registers of a thread: where it is, tasks given and taken, the place that it has claimed, the word of the scratchpad.
const R_STATE: usize = 0;
const R_GIVEN: usize = 1;
const R_TAKEN: usize = 2;
const R_PLACE: usize = 3;
const R_TURN: usize = 4;
const REGISTERS: u64 = 5;

/// States of a leader until it has a task; then those of all threads.
const GIVE: u64 = 0;
const GIVEN: u64 = 1;
const LOOKED: u64 = 2;
const CHECKED: u64 = 3;
const CLAIMED: u64 = 4;
const ORDERED: u64 = 5;
const GOT: u64 = 6;
const HEAR: u64 = 7;
const RUN: u64 = 8;
const RAN: u64 = 9;

/// A queue of tasks.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    base: Base,
    tasks: u64,
    work: u64,
    blocks: u64,
    group: u64,
    seed: u64,
    /// Words of a line.
    line: u64,
    /// Head and tail.
    ends: usize,
    slots: usize,
    full: usize,
    /// By slot: who has taken it, in the upper half, and how many tasks it had taken before.
    taken: usize,
    runs: usize,
    out: usize,
}

impl WorkQueue {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [tasks, work, blocks, group, seed] =
            ["tasks", "work", "blocks", "group", "seed"].map(|key| params.integer(key));
        let line = if params.text("line") == "128" { 32 } else { 16 };
        if tasks * blocks >= 1 << 16 {
            let legal =
                format!("at most {}, so that a task and who takes it fit a word", (1 << 16) / blocks - 1);
            return Err(params.illegal("tasks", legal));
        }
        let mut base = Base::new(INFO.name, params);
        let all = tasks * blocks;
        let ends = base.zeros("ends", 2 * line);
        let [slots, full, taken, runs] = ["slots", "full", "taken", "runs"].map(|name| base.zeros(name, all));
        let out = base.zeros("out", all * group);
        Ok(Self { base, tasks, work, blocks, group, seed, line, ends, slots, full, taken, runs, out })
    }

    fn all(&self) -> u64 {
        self.tasks * self.blocks
    }

    fn head(&self) -> u64 {
        self.base.at(self.ends, 0)
    }

    fn tail(&self) -> u64 {
        self.base.at(self.ends, self.line)
    }

    fn result(&self, task: u64, thread: u64) -> u32 {
        data::mix(self.seed, task, thread) as u32
    }

    /// The next task is given, or the head looked at.
    fn begin(&self, r: &mut [u64], give: bool, io: &mut Round) {
        if give && r[R_GIVEN] < self.tasks {
            let add = Atomic::Amo(AmoKind::Add, 0);
            io.atomic(S_TICKET, add, 4, relaxed(Class::U), self.tail(), 1);
            r[R_STATE] = GIVEN;
        } else {
            io.atomic(S_HEAD, Atomic::Load, 4, relaxed(Class::U), self.head(), 0);
            r[R_STATE] = LOOKED;
        }
    }

    fn full_at(&self, place: u64) -> u64 {
        self.base.at(self.full, place)
    }

    /// A round of the leader; the task that it has, or that there will be none.
    fn lead(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Option<u64> {
        match r[R_STATE] {
            GIVEN => {
                let (place, task) = (t.index(S_TICKET), t.block * self.tasks + r[R_GIVEN]);
                io.store(S_TASK, self.base.at(self.slots, place), task);
                io.atomic(S_FULL, Atomic::Store, 4, paired(Sem::Release), self.full_at(place), 1);
                r[R_GIVEN] += 1;
                self.begin(r, false, io);
            }
            LOOKED if t.index(S_HEAD) == self.all() => return Some(NO_TASK),
            LOOKED => {
                r[R_PLACE] = t.index(S_HEAD);
                io.atomic(S_CHECK, Atomic::Load, 4, relaxed(Class::U), self.full_at(r[R_PLACE]), 0);
                r[R_STATE] = CHECKED;
            }
            CHECKED if t.index(S_CHECK) == 0 => {
                if r[R_GIVEN] == self.tasks {
                    io.pause(POLL);
                }
                self.begin(r, true, io);
            }
            CHECKED => {
                let cas = Atomic::Amo(AmoKind::Cas, r[R_PLACE]);
                io.atomic(S_CLAIM, cas, 4, paired(Sem::AcquireRelease), self.head(), r[R_PLACE] + 1);
                r[R_STATE] = CLAIMED;
            }
            CLAIMED if t.index(S_CLAIM) == r[R_PLACE] => {
                io.atomic(S_CHECK, Atomic::Load, 4, paired(Sem::Acquire), self.full_at(r[R_PLACE]), 0);
                r[R_STATE] = ORDERED;
            }
            CLAIMED => self.begin(r, true, io),
            ORDERED if t.index(S_CHECK) == 0 => {
                io.atomic(S_CHECK, Atomic::Load, 4, paired(Sem::Acquire), self.full_at(r[R_PLACE]), 0);
            }
            ORDERED => {
                io.load(S_SLOT, self.base.at(self.slots, r[R_PLACE]));
                io.store(S_TAKEN, self.base.at(self.taken, r[R_PLACE]), t.block << 16 | r[R_TAKEN]);
                r[R_STATE] = GOT;
                r[R_TAKEN] += 1;
            }
            GOT => return Some(t.index(S_SLOT)),
            _ => self.begin(r, true, io),
        }
        None
    }
}

impl Kernels for WorkQueue {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let launch = Launch::new(INFO.name, 0, self.blocks * self.group, self.group as u32);
        (index == 0).then(|| launch.registers(REGISTERS).lds(LDS).co_resident())
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let word = 4 * r[R_TURN];
        match r[R_STATE] {
            HEAR => {
                io.lds_load(S_SAID, word);
                r[R_STATE] = RUN;
                Flow::Next
            }
            RUN if t.index(S_SAID) == NO_TASK => Flow::End,
            RUN => {
                let task = t.index(S_SAID);
                io.pause(self.work);
                let out = self.base.at(self.out, task * self.group + t.local);
                io.store(S_OUT, out, u64::from(self.result(task, t.local)));
                if t.local == 0 {
                    io.load(S_RUNS, self.base.at(self.runs, task));
                }
                (r[R_STATE], r[R_TURN]) = (RAN, 1 - r[R_TURN]);
                Flow::Next
            }
            RAN => {
                if t.local == 0 {
                    io.store(S_RAN, self.base.at(self.runs, t.index(S_SAID)), t.index(S_RUNS) + 1);
                }
                r[R_STATE] = GIVE;
                Flow::Next
            }
            _ => {
                if t.local == 0 {
                    let Some(task) = self.lead(t, r, io) else { return Flow::Next };
                    io.lds_store(S_SAID, word, task);
                }
                r[R_STATE] = HEAR;
                Flow::Barrier
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (base, all) = (&self.base, self.all());
        let mut ends = vec![0u32; 2 * self.line as usize];
        (ends[0], ends[self.line as usize]) = (all as u32, all as u32);
        let ones = vec![1u32; all as usize];
        base.check(self.ends, &ends, memory)?;
        base.check(self.full, &ones, memory)?;
        base.check(self.runs, &ones, memory)?;
        let out: Vec<u32> =
            (0..all * self.group).map(|i| self.result(i / self.group, i % self.group)).collect();
        base.check(self.out, &out, memory)?;
        // Every work-group's tasks are in the queue in the order in which it gave them, and it has taken in the order of the queue.
        let (mut given, mut taken) = (vec![0; self.blocks as usize], vec![0; self.blocks as usize]);
        let next = |list: &mut Vec<u64>, block: u64| {
            let block = (block as usize).min(list.len() - 1);
            list[block] += 1;
            (block as u64, list[block] - 1)
        };
        for place in 0..all {
            let slot = u64::from(base.word(self.slots, place, memory));
            let (block, number) = next(&mut given, slot / self.tasks);
            self.one(self.slots, place, slot, block * self.tasks + number)?;
            let taker = u64::from(base.word(self.taken, place, memory));
            let (block, number) = next(&mut taken, taker >> 16);
            self.one(self.taken, place, taker, block << 16 | number)?;
        }
        Ok(())
    }
}

impl WorkQueue {
    fn one(&self, array: usize, index: u64, found: u64, expected: u64) -> Result<(), VerifyError> {
        if found == expected {
            return Ok(());
        }
        Err(self.base.wrong(array, index, &found.to_string(), &expected.to_string(), 1))
    }
}
