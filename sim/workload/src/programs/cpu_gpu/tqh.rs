//! TQH: histograms of frames; a CPU thread puts tasks into queues, work-groups take them.
//!
//! ```text
//! put (q):   until LD.P consumed[q] == LD.P written[q]:  q = next queue        (empty, and every task read)
//!            tasks of q = ...;  ADD.P written[q], n;  ST.P in_queue[q] = n
//! take (q):  if LD.P consumed[q] == LD.P written[q]  or  LD.P in_queue[q] <= 0:  q = next queue, again
//!            j = ADD.P in_queue[q], -1 - 1;  if j < 0: again
//!            task = tasks of q [j];  ADD.P consumed[q], 1
//! ```
//! Tasks that stop a work-group follow when every queue is empty, so that none overtakes a frame.

use super::super::common::SEED;
use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::hsti::BINS;
use super::phases::{APART, At, InPhases, Phases, Step};
use super::shared;
use super::team::{
    ATOMICS, GROUP, LANES, PRIVATISE, SPIN, Team, blocks, paired_amo, paired_load, paired_store,
};
use crate::data;
use crate::op::AmoKind;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "tqh",
    about: "Histograms of frames as tasks: a CPU thread fills queues, work-groups take a frame each and count it by atomics (Chai TQH).",
    params: &[
        ParamSpec {
            name: "cpu_threads",
            default: "1",
            legal: Legal::Integer { min: 1, max: 1 },
            unit: "threads",
            about: "CPU threads: the one that fills the queues.",
        },
        blocks("32", 1, "Work-groups."),
        size("frames", "20", 1 << 16, "frames", "Frames; the study has 80."),
        size("height", "66", 1 << 14, "pixels", "Height of a frame; the study has 133."),
        size("width", "88", 1 << 14, "pixels", "Width of a frame; the study has 176."),
        BINS,
        size("task_queues", "4", 1 << 10, "queues", "Queues."),
        size("queue_size", "8", 1 << 16, "tasks", "Tasks that a queue holds."),
        PRIVATISE,
        ATOMICS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[("frames", "80"), ("height", "133"), ("width", "176")],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Tqh::new(params)?)),
};

/// Bits of a pixel.
const PIXEL_BITS: u64 = 8;

/// Task that stops a work-group; all others are frames.
const STOP: u64 = u32::MAX as u64;

/// Registers: where the thread is, its queue, tasks put or the batch of the frame, and tasks of this turn or the tasks taken.
const R_STATE: usize = 0;
const R_QUEUE: usize = 1;
const R_DONE: usize = 2;
const R_COUNT: usize = 3;
/// Queues that the CPU thread has found empty after the last frame.
const R_EMPTY: usize = 4;
const REGISTERS: u64 = 5;

/// States of the CPU thread.
const ASK: u64 = 0;
const ASKED: u64 = 1;
const FILL: u64 = 2;
const FILLED: u64 = 3;

/// States of a work-group.
const CLEAR: u64 = 0;
const LOOK: u64 = 1;
const LOOKED: u64 = 2;
const PEEKED: u64 = 3;
const TAKEN: u64 = 4;
const READ: u64 = 5;
const GET: u64 = 6;
const GOT: u64 = 7;
const COUNT: u64 = 8;
const MERGE: u64 = 9;
const MERGE_ADD: u64 = 10;

const S_CONSUMED: u64 = 200;
const S_WRITTEN: u64 = 201;
const S_IN_QUEUE: u64 = 202;
const S_TAKE: u64 = 203;
const S_TASK: u64 = 204;
const S_LDS: u64 = 205;
const S_PUT: u64 = 206;

/// Frames and queues.
#[derive(Clone, Debug)]
pub struct Tqh {
    team: Team,
    frames: u64,
    pixels: u64,
    bins: u64,
    queues: u64,
    size: u64,
    privatise: bool,
    input: usize,
    histograms: usize,
    tasks: usize,
    in_queue: usize,
    written: usize,
    consumed: usize,
}

impl Tqh {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let [frames, bins, queues, size, seed] =
            ["frames", "bins", "task_queues", "queue_size", "seed"].map(|key| params.integer(key));
        let pixels = params.integer("height") * params.integer("width");
        let base = &mut team.base;
        let draw = |i| (data::mix(seed, 0, i) % (1 << PIXEL_BITS)) as u32;
        let first: Vec<u32> = (0..frames * pixels).map(draw).collect();
        let input = base.input("input", data::u32_bytes(&first));
        let histograms = base.zeros("histograms", frames * bins);
        let tasks = base.zeros("tasks", queues * size);
        let [in_queue, written, consumed] =
            ["in_queue", "written", "consumed"].map(|name| base.zeros(name, queues * APART));
        let privatise = params.text("privatise") == "on";
        Ok(Self {
            team,
            frames,
            pixels,
            bins,
            queues,
            size,
            privatise,
            input,
            histograms,
            tasks,
            in_queue,
            written,
            consumed,
        })
    }

    fn counter(&self, array: usize, queue: u64) -> u64 {
        self.team.base.at(array, queue * APART)
    }

    fn ask(&self, r: &mut [u64], io: &mut Round) {
        paired_load(io, S_CONSUMED, self.counter(self.consumed, r[R_QUEUE]));
        paired_load(io, S_WRITTEN, self.counter(self.written, r[R_QUEUE]));
    }

    fn next_queue(&self, r: &mut [u64], io: &mut Round) {
        r[R_QUEUE] = (r[R_QUEUE] + 1) % self.queues;
        io.pause(SPIN);
    }

    /// The CPU thread: frames first, then, when all queues have been found empty one after the other, a stop for each work-group.
    fn put(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let (all, frames_left) = (self.frames + self.team.blocks, r[R_DONE] < self.frames);
        let left = if frames_left { self.frames - r[R_DONE] } else { all - r[R_DONE] };
        match r[R_STATE] {
            ASKED if t.bits(S_CONSUMED) != t.bits(S_WRITTEN) && frames_left => self.next_queue(r, io),
            ASKED if t.bits(S_CONSUMED) != t.bits(S_WRITTEN) => io.pause(SPIN),
            ASKED if !frames_left && r[R_EMPTY] < self.queues => {
                r[R_EMPTY] += 1;
                r[R_QUEUE] = (r[R_QUEUE] + 1) % self.queues;
            }
            ASKED => {
                r[R_COUNT] = 0;
                r[R_STATE] = FILL;
                return self.fill(r, io, left.min(self.size));
            }
            FILL => return self.fill(r, io, left.min(self.size)),
            FILLED => {
                let count = r[R_COUNT];
                paired_amo(io, S_TAKE, AmoKind::Add, self.counter(self.written, r[R_QUEUE]), count);
                paired_store(io, S_PUT, self.counter(self.in_queue, r[R_QUEUE]), count);
                (r[R_DONE], r[R_STATE]) = (r[R_DONE] + count, ASK);
                r[R_QUEUE] = (r[R_QUEUE] + 1) % self.queues;
                return Step::Next;
            }
            _ => {}
        }
        if r[R_DONE] == all {
            return Step::End;
        }
        self.ask(r, io);
        r[R_STATE] = ASKED;
        Step::Next
    }

    /// Stores some of the `count` tasks of this turn.
    fn fill(&self, r: &mut [u64], io: &mut Round, count: u64) -> Step {
        let first = r[R_COUNT];
        r[R_COUNT] = count.min(first + Team::most());
        for j in first..r[R_COUNT] {
            let frame = r[R_DONE] + j;
            let task = if frame < self.frames { frame } else { STOP };
            io.store(j - first, self.team.base.at(self.tasks, r[R_QUEUE] * self.size + j), task);
        }
        if r[R_COUNT] == count {
            r[R_STATE] = FILLED;
        }
        Step::Next
    }

    /// A work-group's first thread takes a task; the others wait for it.
    fn take(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        if t.local != 0 {
            r[R_STATE] = GET;
            return Step::Meet;
        }
        let in_queue = self.counter(self.in_queue, r[R_QUEUE]);
        match r[R_STATE] {
            LOOKED if t.bits(S_CONSUMED) != t.bits(S_WRITTEN) => {
                paired_load(io, S_IN_QUEUE, in_queue);
                r[R_STATE] = PEEKED;
                return Step::Next;
            }
            PEEKED if t.int(S_IN_QUEUE) > 0 => {
                paired_amo(io, S_TAKE, AmoKind::Sub, in_queue, 1);
                r[R_STATE] = TAKEN;
                return Step::Next;
            }
            TAKEN if t.int(S_TAKE) > 0 => {
                let task = r[R_QUEUE] * self.size + t.bits(S_TAKE) - 1;
                io.load(S_TASK, self.team.base.at(self.tasks, task));
                r[R_STATE] = READ;
                return Step::Next;
            }
            READ => {
                paired_amo(io, S_TAKE, AmoKind::Add, self.counter(self.consumed, r[R_QUEUE]), 1);
                io.lds_store(S_LDS, self.lds_word(r), t.bits(S_TASK));
                r[R_STATE] = GET;
                return Step::Meet;
            }
            LOOK => {}
            _ => self.next_queue(r, io),
        }
        self.ask(r, io);
        r[R_STATE] = LOOKED;
        Step::Next
    }

    /// Scratchpad word of this task; the next task has the other one.
    fn lds_word(&self, r: &[u64]) -> u64 {
        4 * (r[R_COUNT] % 2)
    }

    fn bin(&self, pixel: u64) -> u64 {
        (pixel * self.bins) >> PIXEL_BITS
    }

    fn load_batch(&self, t: &Thread, r: &[u64], io: &mut Round) {
        let first = t.bits(S_LDS) * self.pixels;
        let batch = self.team.batch(t, self.pixels, r[R_DONE]);
        batch.for_each(|(i, e)| io.read(i, self.team.base.at(self.input, first + e)));
    }

    /// A work-group counts its frame, batch by batch.
    fn count(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        match r[R_STATE] {
            GET => {
                io.lds_load(S_LDS, self.lds_word(r));
                r[R_STATE] = GOT;
                return Step::Next;
            }
            GOT if t.bits(S_LDS) == STOP => return Step::End,
            GOT => {
                (r[R_STATE], r[R_DONE]) = (COUNT, 0);
                self.load_batch(t, r, io);
                return Step::Next;
            }
            _ => {}
        }
        for (i, _) in self.team.batch(t, self.pixels, r[R_DONE]) {
            let bin = self.bin(t.bits(i));
            if self.privatise {
                io.lds_amo(Team::most() + i, AmoKind::Add, shared::LDS + 4 * bin, 1);
            } else {
                let addr = self.team.base.at(self.histograms, t.bits(S_LDS) * self.bins + bin);
                self.team.update(io, Team::most() + i, AmoKind::Add, addr, 1);
            }
        }
        r[R_DONE] += 1;
        if r[R_DONE] < self.team.batches(t, self.pixels) {
            self.load_batch(t, r, io);
            return Step::Next;
        }
        if self.privatise {
            (r[R_STATE], r[R_DONE]) = (MERGE, 0);
            return Step::Meet;
        }
        self.close(r)
    }

    /// A work-group sets its own bins to zero.
    fn clear(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let batches = if self.privatise { self.team.batches(t, self.bins) } else { 0 };
        if r[R_DONE] == batches {
            r[R_STATE] = LOOK;
            return Step::Next;
        }
        let batch = self.team.batch(t, self.bins, r[R_DONE]);
        batch.for_each(|(i, bin)| io.lds_store(i, shared::LDS + 4 * bin, 0));
        r[R_DONE] += 1;
        Step::Next
    }

    fn close(&self, r: &mut [u64]) -> Step {
        (r[R_STATE], r[R_COUNT]) = (LOOK, r[R_COUNT] + 1);
        Step::Next
    }

    /// Adds a work-group's own bins to those of the frame: loads a batch, or adds it and clears it for the next frame.
    fn merge(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        if r[R_DONE] == self.team.batches(t, self.bins) {
            return self.close(r);
        }
        let added = r[R_STATE] == MERGE_ADD;
        for (i, bin) in self.team.batch(t, self.bins, r[R_DONE]) {
            if !added {
                io.lds_load(i, shared::LDS + 4 * bin);
                continue;
            }
            io.lds_store(Team::most() + i, shared::LDS + 4 * bin, 0);
            if t.bits(i) != 0 {
                let addr = self.team.base.at(self.histograms, t.bits(S_LDS) * self.bins + bin);
                self.team.update(io, 2 * Team::most() + i, AmoKind::Add, addr, t.bits(i));
            }
        }
        r[R_DONE] += u64::from(added);
        r[R_STATE] = if added { MERGE } else { MERGE_ADD };
        Step::Next
    }
}

impl Phases for Tqh {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        None
    }

    fn registers(&self) -> u64 {
        REGISTERS
    }

    fn lds(&self) -> u64 {
        shared::LDS + if self.privatise { 4 * self.bins } else { 0 }
    }

    fn round(&self, t: &Thread, _: At, r: &mut [u64], io: &mut Round) -> Step {
        if t.cpu {
            return self.put(t, r, io);
        }
        match r[R_STATE] {
            CLEAR => self.clear(t, r, io),
            LOOK..=READ => self.take(t, r, io),
            GET..=COUNT => self.count(t, r, io),
            _ => self.merge(t, r, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let base = &self.team.base;
        let mut histograms = vec![0u32; (self.frames * self.bins) as usize];
        for (i, pixel) in (0..).zip(base.first::<u32>(self.input)) {
            histograms[(i / self.pixels * self.bins + self.bin(u64::from(pixel))) as usize] += 1;
        }
        base.check(self.histograms, &histograms, memory)
    }
}
