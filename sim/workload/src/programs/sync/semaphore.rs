//! Reader/writer semaphores, one for each CU: one of its work-groups writes, the others read.
//!
//! ```text
//! full = max + 1;  semaphore {lock = 0, count = full, waiting = 0}
//! wait:  CAS.P(acq)(lock, 0 -> 1), else again
//!        writer:  if count == full: count = 0, waiting = 0, enters      else waiting = 1
//!        reader:  if waiting == 0 and count > 1: count -= 1, enters
//!        ST.P lock = 0;  who has not entered begins again
//! post:  lock as above;  count += full (writer) or 1 (reader);  ST.P lock = 0
//! ```
//! Who has had the lock and has not entered lets the others at it: it pauses for some ticks, in each work-group and after each failure for others. Retrying at once, waves
//! fall into step where every access takes the same time: the writer then gets the lock back each time just before the reader for whose post it waits, for ever.
//!
//! In an iteration the writer stores the number of the iteration into all words of its CU's readers, and a reader loads
//! its words: it must find one number in all of them, not below the one that it has found before.

use super::super::params::{Legal, ParamSpec, Params};
use super::super::round::{Atomic, Order, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::backoff::{self, Backoff};
use super::setting::{ACCESSES, ITERATIONS, Setting, with_common};
use crate::data;
use crate::op::{AmoKind, Scope, Sem};
use crate::program::VerifyError;

const MAX: ParamSpec = ParamSpec {
    name: "max",
    default: "10",
    legal: Legal::Integer { min: 1, max: 1 << 16 },
    unit: "readers",
    about: "Readers that may be inside at once.",
};

/// Retrying at once.
pub const SS_L: WorkloadInfo = WorkloadInfo {
    name: "ss-l",
    about: "The work-groups of each CU share its lines under its reader/writer semaphore, one of them writing (SyncPrims SS_L).",
    params: &with_common::<11>(&[ITERATIONS, ACCESSES, MAX]),
    published: &[("iterations", "100"), ("cus", "15")],
    takes_graph: false,
    make: |params, _| Simt::from_params(|params| Semaphore::new(params, None), params),
};

/// Retrying with back-off.
pub const SSBO_L: WorkloadInfo = WorkloadInfo {
    name: "ssbo-l",
    about: "The same as ss-l, with linear back-off after each failure (SyncPrims SSBO_L).",
    params: &with_common::<14>(&[
        ITERATIONS,
        ACCESSES,
        MAX,
        backoff::BACKOFF,
        backoff::STEP,
        backoff::failures("25"),
    ]),
    published: SS_L.published,
    takes_graph: false,
    make: |params, _| Simt::from_params(|params| Semaphore::new(params, Some(Backoff::new(params))), params),
};

/// Words of a semaphore.
const LOCK: u64 = 0;
const COUNT: u64 = 1;
const WAITING: u64 = 2;
const WORDS: u64 = 3;

/// Threads that share lines, and accesses of a thread in a round.
const HALF: u64 = 16;
const UNROLL: u64 = 10;

const S_LOCK: u64 = 0;
const S_COUNT: u64 = 1;
const S_WAITING: u64 = 2;
const S_PUT: u64 = 3;
const S_PUT2: u64 = 4;
const S_UNLOCK: u64 = 5;
const S_DONE: u64 = 6;
const S_DONE2: u64 = 7;
const S_WORD: u64 = 8;

/// Registers of a thread: where it is, iterations done, rounds at work, failures, the number it has found, words that did not agree, words read, ticks before it tries again.
const R_STATE: usize = 0;
const R_DONE: usize = 1;
const R_STEP: usize = 2;
const R_FAILED: usize = 3;
const R_SEEN: usize = 4;
const R_TORN: usize = 5;
const R_READ: usize = 6;
const R_PAUSE: usize = 7;
const REGISTERS: usize = 8;

/// Longest pause of who has had the lock and has not entered, in ticks: some issues of the other waves.
const COURTESY: u64 = 32;

/// States: waiting, at work, posting. To wait and to post are the same three: to try the lock, tried, looked.
const TRY: u64 = 0;
const TRIED: u64 = 1;
const WORK: u64 = 3;
const POST: u64 = 4;
const POST_LOOKED: u64 = 6;
const REPORT: u64 = 7;

/// Work under semaphores.
#[derive(Clone, Debug)]
pub struct Semaphore {
    setting: Setting,
    backoff: Option<Backoff>,
    seed: u64,
    iterations: u64,
    accesses: u64,
    full: u64,
    /// Readers of a CU that have words, and half-waves of a work-group.
    readers: u64,
    halves: u64,
    semaphores: usize,
    words: usize,
    counters: usize,
    torn: usize,
    reads: usize,
}

impl Semaphore {
    /// Builds the program.
    pub fn new(params: &Params, backoff: Option<Backoff>) -> Result<Self, WorkloadError> {
        let mut setting = Setting::new(params)?;
        let [iterations, accesses, max, seed] =
            ["iterations", "accesses", "max", "seed"].map(|key| params.integer(key));
        let (readers, halves) = ((setting.grid.per_cu - 1).max(1), setting.group.div_ceil(HALF));
        let (cus, threads) = (setting.grid.cus(), setting.grid.blocks() * setting.group);
        let full = max + 1;
        let free = [0, full as u32, 0].repeat(cus as usize);
        let semaphores = setting.apart_with("semaphores", &free);
        let words = setting.apart("words", cus * readers * halves * accesses);
        let counters = setting.apart("counters", cus);
        let [torn, reads] = ["torn", "reads"].map(|name| setting.base.zeros(name, threads));
        Ok(Self {
            setting,
            backoff,
            seed,
            iterations,
            accesses,
            full,
            readers,
            halves,
            semaphores,
            words,
            counters,
            torn,
            reads,
        })
    }

    /// Which of its CU's work-groups writes.
    fn writer(&self, cu: u64) -> u64 {
        cu % self.setting.grid.per_cu
    }

    fn writes(&self, t: &Thread) -> bool {
        let spot = self.setting.spot(t);
        spot.turn == self.writer(spot.cu)
    }

    fn word(&self, t: &Thread, i: u64) -> u64 {
        self.setting.word(self.semaphores, self.setting.spot(t).cu * WORDS + i)
    }

    /// Word `n` of a thread in the lines of a reader.
    fn line(&self, t: &Thread, reader: u64, n: u64) -> u64 {
        let set = (self.setting.spot(t).cu * self.readers + reader) * self.halves + t.local / HALF;
        self.setting.word(self.words, set * self.accesses + n) + 4 * (t.local % HALF)
    }

    fn attempt(&self, t: &Thread, io: &mut Round) {
        let acquire = Order::paired(Sem::Acquire, Scope::Cu);
        io.atomic(S_LOCK, Atomic::Amo(AmoKind::Cas, 0), 4, acquire, self.word(t, LOCK), 1);
    }

    fn unlock(&self, t: &Thread, io: &mut Round) {
        let release = Order::paired(Sem::Release, Scope::Cu);
        io.atomic(S_UNLOCK, Atomic::Store, 4, release, self.word(t, LOCK), 0);
    }

    /// A failure; the pause that follows.
    fn again(&self, r: &mut [u64], io: &mut Round) -> u64 {
        io.fail();
        r[R_FAILED] += 1;
        self.backoff.map_or(0, |backoff| backoff.ticks(r[R_FAILED] - 1))
    }

    /// Pause before the next attempt of who has not entered, and must not be as fast as the others.
    fn courtesy(&self, t: &Thread, r: &[u64]) -> u64 {
        1 + data::mix(self.seed, t.block, r[R_FAILED]) % COURTESY
    }

    /// Takes the lock and loads the semaphore, from state `first` on; whether it is there.
    fn open(&self, t: &Thread, r: &mut [u64], first: u64, io: &mut Round) -> bool {
        match r[R_STATE] - first {
            TRY => {
                io.pause(std::mem::take(&mut r[R_PAUSE]));
                self.attempt(t, io);
            }
            TRIED if t.bits(S_LOCK) != 0 => {
                let pause = self.again(r, io);
                io.pause(pause);
                self.attempt(t, io);
                return false;
            }
            TRIED => {
                io.load(S_COUNT, self.word(t, COUNT));
                io.load(S_WAITING, self.word(t, WAITING));
            }
            _ => return true,
        }
        r[R_STATE] += 1;
        false
    }

    /// A round of the leader outside; whether it has entered.
    fn wait(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> bool {
        if !self.open(t, r, TRY, io) {
            return false;
        }
        let (count, waiting) = (t.index(S_COUNT), t.index(S_WAITING));
        let entered = match self.writes(t) {
            true => count == self.full,
            false => waiting == 0 && count > 1,
        };
        match (self.writes(t), entered) {
            (true, true) => {
                io.store(S_PUT, self.word(t, COUNT), 0);
                io.store(S_PUT2, self.word(t, WAITING), 0);
            }
            (true, false) => io.store(S_PUT2, self.word(t, WAITING), 1),
            (false, true) => io.store(S_PUT, self.word(t, COUNT), count - 1),
            (false, false) => {}
        }
        self.unlock(t, io);
        if !entered {
            // After the unlocking, which a pause in this round would delay.
            r[R_PAUSE] = self.again(r, io) + self.courtesy(t, r);
            r[R_STATE] = TRY;
        }
        entered
    }

    /// A round of the leader that leaves; whether it has.
    fn post(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> bool {
        if !self.open(t, r, POST, io) {
            return false;
        }
        let back = if self.writes(t) { self.full } else { 1 };
        io.store(S_PUT, self.word(t, COUNT), t.index(S_COUNT) + back);
        self.unlock(t, io);
        true
    }

    /// A round inside; whether it was the last.
    fn work(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> bool {
        let (spot, step) = (self.setting.spot(t), r[R_STEP]);
        r[R_STEP] += 1;
        if self.writes(t) {
            if t.local == 0 {
                let counter = self.setting.word(self.counters, spot.cu);
                match step {
                    0 => io.load(S_DONE, counter),
                    1 => io.store(S_DONE2, counter, t.bits(S_DONE) + 1),
                    _ => {}
                }
            }
            let all = self.readers * self.accesses;
            for i in 0..UNROLL.min(all.saturating_sub(step * UNROLL)) {
                let i = step * UNROLL + i;
                let word = self.line(t, i / self.accesses, i % self.accesses);
                io.store(S_WORD + i % UNROLL, word, r[R_DONE] + 1);
            }
            return step > 0 && (step + 1) * UNROLL >= all;
        }
        let before = step.saturating_sub(1) * UNROLL;
        if step > 0 {
            for i in 0..UNROLL.min(self.accesses - before) {
                let found = t.index(S_WORD + i);
                let fits = if before + i == 0 { found >= r[R_SEEN] } else { found == r[R_SEEN] };
                r[R_TORN] += u64::from(!fits);
                r[R_READ] += 1;
                r[R_SEEN] = found;
            }
        }
        let reader = spot.turn - u64::from(spot.turn > self.writer(spot.cu));
        for i in 0..UNROLL.min(self.accesses.saturating_sub(step * UNROLL)) {
            io.load(S_WORD + i, self.line(t, reader, step * UNROLL + i));
        }
        step * UNROLL >= self.accesses
    }

    fn report(&self, t: &Thread, r: &[u64], io: &mut Round) {
        io.store(S_DONE, self.setting.base.at(self.torn, t.id), r[R_TORN]);
        io.store(S_DONE2, self.setting.base.at(self.reads, t.id), r[R_READ]);
    }
}

impl Kernels for Semaphore {
    fn base(&self) -> &Base {
        &self.setting.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| self.setting.launch(REGISTERS))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        match r[R_STATE] {
            WORK => {
                if !self.work(t, r, io) {
                    return Flow::Next;
                }
                (r[R_STATE], r[R_STEP], r[R_FAILED]) = (POST, 0, 0);
                Flow::Barrier
            }
            POST..=POST_LOOKED => {
                if t.local == 0 && !self.post(t, r, io) {
                    return Flow::Next;
                }
                r[R_DONE] += 1;
                (r[R_STATE], r[R_FAILED]) = (if r[R_DONE] == self.iterations { REPORT } else { TRY }, 0);
                Flow::Next
            }
            REPORT => {
                self.report(t, r, io);
                Flow::End
            }
            _ => {
                if t.local == 0 && !self.wait(t, r, io) {
                    return Flow::Next;
                }
                r[R_STATE] = WORK;
                Flow::Barrier
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (setting, grid) = (&self.setting, self.setting.grid);
        let (base, cus) = (&setting.base, grid.cus() as usize);
        base.check(self.counters, &setting.spread(&vec![self.iterations as u32; cus]), memory)?;
        let free = [0, self.full as u32, 0].repeat(cus);
        base.check(self.semaphores, &setting.spread(&free), memory)?;
        let (line, rows) = (setting.line, base.first::<u32>(self.words).len() as u64 / setting.line);
        let last = |(row, column): (u64, u64)| {
            let half = row / self.accesses % self.halves;
            let used = column < HALF && half * HALF + column < setting.group;
            if used { self.iterations as u32 } else { 0 }
        };
        let words: Vec<u32> = (0..rows * line).map(|i| last((i / line, i % line))).collect();
        base.check(self.words, &words, memory)?;
        let reads = |block| {
            let spot = grid.spot(block);
            let words = if spot.turn == self.writer(spot.cu) { 0 } else { self.iterations * self.accesses };
            vec![words as u32; setting.group as usize]
        };
        let reads: Vec<u32> = (0..grid.blocks()).flat_map(reads).collect();
        base.check(self.reads, &reads, memory)?;
        base.check(self.torn, &vec![0; reads.len()], memory)
    }
}
