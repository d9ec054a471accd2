//! Seqlocks: readers take copies of what a lock protects, and keep those that no writer has disturbed.
//!
//! ```text
//! reader:  s = LD.P seq, until it is even;  LD.S data;  t = ADD.P seq, 0;  again if s != t
//! writer:  s = LD.P seq, until it is even;  CAS.P seq, s -> s + 1, else again;  ST.S data;  ST.P seq = s + 2
//! ```
//! The second look is a read-modify-write, so that the next writer's compare-and-swap is after the copy. The compare-and-swap
//! is paired: the published unpaired one lets a reader that ends before it race with the writes after it.
//!
//! A work-group's first thread has the lock, each thread a word. Words follow from the version, so that every thread sees
//! whether its copy is of the version that the lock says.

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
    name: "seqlocks",
    about: "Readers and few writers of words under sequence locks, data speculative (relaxed-atomics study, Seqlocks).",
    params: &[
        size("locks", "4", 1 << 16, "locks", "Locks; a work-group draws one in each iteration."),
        size("iterations", "10", 1 << 16, "iterations", "Copies or writes of a work-group."),
        size("every", "16", 4096, "work-groups", "One work-group of so many writes, the others read."),
        blocks("32"),
        group("64"),
        LINE,
        LANES,
        SEED,
    ],
    published: &[("blocks", "512"), ("group", "128")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Seqlocks::new, params),
};

/// Ticks between two looks at a lock that somebody holds.
const SPIN: u64 = 16;

const S_SEQ: u64 = 0;
const S_DATA: u64 = 1;
const S_AGAIN: u64 = 2;
const S_PUT: u64 = 3;
const S_SAID: u64 = 4;
const S_KEPT: u64 = 5;
const S_TORN: u64 = 6;
const S_COPIES: u64 = 7;

/// Scratchpad: the lock's version, and whether the copy is kept.
const LDS_SAID: u64 = 0;
const LDS_KEPT: u64 = 4;
const LDS: u64 = 8;

/// Registers of a thread: where it is, iterations done, the lock's word as the leader has seen it, copies that are not what they must be, copies kept.
const R_STATE: usize = 0;
const R_DONE: usize = 1;
const R_SEQ: usize = 2;
const R_TORN: usize = 3;
const R_KEPT: usize = 4;
const REGISTERS: usize = 5;

/// States: before the leader looks, it has looked, a writer has tried, all write or copy, a copy is there, the leader has looked again, all hear of it, and
/// act on it; a writer unlocks; the end.
const LOOK: u64 = 0;
const LOOKED: u64 = 1;
const TRIED: u64 = 2;
const HEAR: u64 = 3;
const ACT: u64 = 4;
const AGAIN: u64 = 5;
const COMPARE: u64 = 6;
const ASK: u64 = 7;
const JUDGE: u64 = 8;
const UNLOCK: u64 = 9;
const REPORT: u64 = 10;

/// Words under locks.
#[derive(Clone, Debug)]
pub struct Seqlocks {
    base: Base,
    locks: u64,
    iterations: u64,
    every: u64,
    blocks: u64,
    group: u64,
    seed: u64,
    line: u64,
    sequences: usize,
    words: usize,
    torn: usize,
    copies: usize,
}

impl Seqlocks {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [locks, iterations, every, blocks, group, seed] =
            ["locks", "iterations", "every", "blocks", "group", "seed"].map(|key| params.integer(key));
        let line = if params.text("line") == "128" { 32 } else { 16 };
        let mut base = Base::new(INFO.name, params);
        let sequences = base.zeros("sequences", locks * line);
        let first: Vec<u32> = (0..locks * group).map(|i| word(seed, i / group, 0, i % group)).collect();
        let words = base.add("words", locks * group, false, data::u32_bytes(&first));
        let [torn, copies] = ["torn", "copies"].map(|name| base.zeros(name, blocks * group));
        Ok(Self { base, locks, iterations, every, blocks, group, seed, line, sequences, words, torn, copies })
    }

    fn writes(&self, block: u64) -> bool {
        block.is_multiple_of(self.every)
    }

    /// Lock of a work-group in an iteration.
    fn lock(&self, block: u64, iteration: u64) -> u64 {
        data::mix(self.seed, block, iteration) % self.locks
    }

    fn sequence(&self, lock: u64) -> u64 {
        self.base.at(self.sequences, lock * self.line)
    }

    /// A round of the leader until it knows an even number or, to write, has made it odd; whether it has.
    fn open(&self, t: &Thread, seq: u64, r: &mut [u64], io: &mut Round) -> bool {
        match r[R_STATE] {
            LOOKED if t.index(S_SEQ).is_multiple_of(2) => {
                r[R_SEQ] = t.index(S_SEQ);
                if !self.writes(t.block) {
                    return true;
                }
                let cas = Atomic::Amo(AmoKind::Cas, r[R_SEQ]);
                io.atomic(S_SEQ, cas, 4, paired(Sem::AcquireRelease), seq, r[R_SEQ] + 1);
                r[R_STATE] = TRIED;
            }
            TRIED if t.index(S_SEQ) == r[R_SEQ] => {
                io.lds_store(S_SAID, LDS_SAID, r[R_SEQ]);
                return true;
            }
            state => {
                if state != LOOK {
                    io.pause(SPIN);
                }
                io.atomic(S_SEQ, Atomic::Load, 4, paired(Sem::Acquire), seq, 0);
                r[R_STATE] = LOOKED;
            }
        }
        false
    }

    /// All threads write or copy their words.
    fn act(&self, t: &Thread, lock: u64, r: &mut [u64], io: &mut Round) -> Flow {
        let addr = self.base.at(self.words, lock * self.group + t.local);
        if self.writes(t.block) {
            let version = t.index(S_SAID) / 2 + 1;
            let value = u64::from(word(self.seed, lock, version, t.local));
            io.atomic(S_PUT, Atomic::Store, 4, relaxed(Class::S), addr, value);
            r[R_STATE] = UNLOCK;
        } else {
            io.atomic(S_DATA, Atomic::Load, 4, relaxed(Class::S), addr, 0);
            r[R_STATE] = AGAIN;
        }
        Flow::Barrier
    }

    /// The leader looks again and says whether the copy is kept, and of which version it is.
    fn look_again(&self, t: &Thread, seq: u64, r: &mut [u64], io: &mut Round) -> Flow {
        if t.local == 0 && r[R_STATE] == AGAIN {
            let add = Atomic::Amo(AmoKind::Add, 0);
            io.atomic(S_AGAIN, add, 4, paired(Sem::AcquireRelease), seq, 0);
            r[R_STATE] = COMPARE;
            return Flow::Next;
        }
        if t.local == 0 {
            io.lds_store(S_SAID, LDS_SAID, r[R_SEQ]);
            io.lds_store(S_KEPT, LDS_KEPT, u64::from(t.index(S_AGAIN) == r[R_SEQ]));
        }
        r[R_STATE] = ASK;
        Flow::Barrier
    }

    fn judge(&self, t: &Thread, lock: u64, r: &mut [u64]) -> Flow {
        r[R_STATE] = LOOK;
        if t.index(S_KEPT) == 0 {
            return Flow::Next;
        }
        let right = word(self.seed, lock, t.index(S_SAID) / 2, t.local);
        r[R_TORN] += u64::from(t.index(S_DATA) != u64::from(right));
        r[R_KEPT] += 1;
        self.done(r)
    }

    fn done(&self, r: &mut [u64]) -> Flow {
        r[R_DONE] += 1;
        r[R_STATE] = if r[R_DONE] == self.iterations { REPORT } else { LOOK };
        Flow::Next
    }
}

/// Word of a thread under a lock in a version.
fn word(seed: u64, lock: u64, version: u64, thread: u64) -> u32 {
    data::mix(seed ^ lock << 32, version + 1, thread) as u32
}

impl Kernels for Seqlocks {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let launch = Launch::new(INFO.name, 0, self.blocks * self.group, self.group as u32);
        (index == 0).then(|| launch.registers(REGISTERS as u64).lds(LDS))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let lock = self.lock(t.block, r[R_DONE]);
        let seq = self.sequence(lock);
        match r[R_STATE] {
            HEAR if self.writes(t.block) => {
                io.lds_load(S_SAID, LDS_SAID);
                r[R_STATE] = ACT;
                Flow::Next
            }
            HEAR | ACT => self.act(t, lock, r, io),
            AGAIN | COMPARE => self.look_again(t, seq, r, io),
            ASK => {
                io.lds_load(S_SAID, LDS_SAID);
                io.lds_load(S_KEPT, LDS_KEPT);
                r[R_STATE] = JUDGE;
                Flow::Next
            }
            JUDGE => self.judge(t, lock, r),
            UNLOCK => {
                if t.local == 0 {
                    io.atomic(S_SEQ, Atomic::Store, 4, paired(Sem::Release), seq, r[R_SEQ] + 2);
                }
                self.done(r)
            }
            REPORT => {
                io.store(S_TORN, self.base.at(self.torn, t.id), r[R_TORN]);
                io.store(S_COPIES, self.base.at(self.copies, t.id), r[R_KEPT]);
                Flow::End
            }
            _ => {
                if t.local == 0 && !self.open(t, seq, r, io) {
                    return Flow::Next;
                }
                r[R_STATE] = HEAR;
                Flow::Barrier
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut versions = vec![0u64; self.locks as usize];
        for block in (0..self.blocks).filter(|block| self.writes(*block)) {
            (0..self.iterations).for_each(|i| versions[self.lock(block, i) as usize] += 1);
        }
        let mut sequences = vec![0u32; (self.locks * self.line) as usize];
        let mut words = vec![];
        for (lock, version) in (0..).zip(versions) {
            sequences[(lock * self.line) as usize] = 2 * version as u32;
            words.extend((0..self.group).map(|thread| word(self.seed, lock, version, thread)));
        }
        let copies = |id| if self.writes(id / self.group) { 0 } else { self.iterations as u32 };
        let copies: Vec<u32> = (0..self.blocks * self.group).map(copies).collect();
        self.base.check(self.sequences, &sequences, memory)?;
        self.base.check(self.words, &words, memory)?;
        self.base.check(self.copies, &copies, memory)?;
        self.base.check(self.torn, &vec![0; copies.len()], memory)
    }
}
