//! Torn lines: words under locks that lie so that every line has words of several locks, and counters to
//! which everybody adds. The lines are torn between cores and CUs all the time: what moves ownership, takes
//! it back and writes it back does so in every order, the more so the fewer lines the caches hold.
//!
//! ```text
//! thread, round by round:
//!     load the last words of three lines, which nobody writes;  pause
//!     until CAS.P lock 0 1 == 0:  pause
//!     load TAKEN words under the lock;  store 1 more to some of them, a stamp to another line
//!     ADD.C counter 1;  ST.P lock 0;  ADD.C another counter 1
//! ```

use super::super::common::SEED;
use super::super::machine::{CUS, GPUS};
use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::{WorkloadError, WorkloadInfo};
use super::team::{LANES, cpu_threads};
use crate::data::{self, mix};
use crate::op::{Access, Addrs, AmoKind, Class, Hint, Hinted, Op, Request, Scope, Token, Unit, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "torn-lines",
    about: "Words under locks in lines that cores and CUs take from each other all the time: a stress of \
            ownership, revocations and write-backs; with caches of a few lines it meets most of their races.",
    params: &[
        cpu_threads("8", 0, "CPU threads."),
        GPUS,
        CUS,
        size("lines", "24", 1 << 16, "lines", "Lines, the locks among them."),
        size("rounds", "16", 1 << 16, "times", "Times that each thread takes a lock."),
        ParamSpec {
            name: "hints",
            default: "on",
            legal: Legal::Choice(&["on", "off"]),
            unit: "",
            about: "Every second access names a request, drawn; L1s without specialization ignore it.",
        },
        LANES,
        SEED,
    ],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(Box::new(TornLines::new(params)?)),
};

/// Words of a line of 64 bytes, and bytes of a word.
const LINE: u64 = 16;
const WORD: u8 = 4;
/// In a line: a lock in the first [`LOCKS`] lines; words under locks up to the stamp, which is under one,
/// too; counters; and a word that nobody writes.
const FIRST: u64 = 1;
const STAMP: u64 = 11;
const COUNTERS: u64 = 12;
const KEPT: u64 = 15;
/// Locks.
const LOCKS: u64 = 4;
/// Words that a critical section reads.
const TAKEN: u64 = 6;
/// Words read before the lock is tried.
const EARLY: u64 = 3;
/// Work-groups of a CU, and waves of a work-group, of which one lane works.
const GROUPS: u64 = 2;
const WAVES: u32 = 2;

/// States of a thread, in [`Frame::pc`].
const BEGIN: u32 = 0;
const TRIED: u32 = 1;
const READ: u32 = 2;

/// Tokens: of the lock, of the words from [`T_WORDS`] on, of a pause, of counters, of early words.
const T_LOCK: Token = 0;
const T_WORDS: Token = 1;
const T_PAUSE: Token = 20;
const T_COUNTERS: Token = 21;
const T_STAMP: Token = 23;
const T_EARLY: Token = 24;

/// The program.
#[derive(Clone, Debug)]
pub struct TornLines {
    arrays: Vec<Array>,
    lanes: u32,
    cpus: u32,
    groups: u32,
    lines: u64,
    rounds: u64,
    hints: bool,
    seed: u64,
}

/// What a thread does in one round.
struct Round {
    lock: u64,
    /// Words under it, each once, and whether each is changed.
    words: Vec<(u64, bool)>,
    counters: [u64; 2],
    stamp: u64,
    early: [u64; EARLY as usize],
    pause: u32,
}

impl TornLines {
    /// Builds the program.
    ///
    /// # Errors Too few lines for the locks.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [lines, rounds, seed, cpus] =
            ["lines", "rounds", "seed", "cpu_threads"].map(|key| params.integer(key));
        if lines < LOCKS {
            return Err(params.illegal("lines", format!("at least {LOCKS}, one for each lock")));
        }
        let first = |i: u64| if i % LINE == KEPT { Self::kept(seed, i) } else { 0 };
        let words: Vec<u32> = (0..lines * LINE).map(first).collect();
        let mut layout = Layout::new();
        layout.add("torn", u64::from(WORD), lines * LINE, false, data::u32_bytes(&words));
        Ok(Self {
            arrays: layout.arrays().to_vec(),
            lanes: params.integer("lanes") as u32,
            cpus: cpus as u32,
            groups: (params.integer("gpus") * params.integer("cus") * GROUPS) as u32,
            lines,
            rounds,
            hints: params.text("hints") == "on",
            seed,
        })
    }

    fn kept(seed: u64, word: u64) -> u32 {
        mix(seed, 1, word) as u32
    }

    /// What every thread leaves in a stamp.
    fn stamped(word: u64) -> u32 {
        0xa5a5_0000 | word as u32
    }

    /// Words under a lock.
    fn under(&self, lock: u64) -> Vec<u64> {
        let all = (0..self.lines).flat_map(|i| (FIRST..STAMP).map(move |w| (i, w)));
        all.filter(|(i, w)| (i + w) % LOCKS == lock).map(|(i, w)| i * LINE + w).collect()
    }

    fn counter(&self, z: u64) -> u64 {
        z % self.lines * LINE + COUNTERS + z / self.lines % (KEPT - COUNTERS)
    }

    fn draw(&self, thread: u64, round: u64, what: u64) -> u64 {
        mix(self.seed, 2, thread << 40 | round << 20 | what)
    }

    fn round(&self, thread: u64, round: u64) -> Round {
        let z = |what| self.draw(thread, round, what);
        let lock = z(0) % LOCKS;
        let mut all = self.under(lock);
        let take = |i: u64| {
            let word = all.swap_remove((z(10 + i) % all.len() as u64) as usize);
            (word, z(20 + i) % 3 > 0)
        };
        let words: Vec<(u64, bool)> = (0..TAKEN).map(take).collect();
        // The stamp of line i is under lock i mod LOCKS.
        let stamps = (self.lines - lock).div_ceil(LOCKS);
        let early = |i: usize| words[2 * i].0 / LINE * LINE + KEPT;
        Round {
            lock: lock * LINE,
            counters: [self.counter(z(1)), self.counter(z(2))],
            stamp: (lock + z(3) % stamps * LOCKS) * LINE + STAMP,
            early: [early(0), early(1), early(2)],
            pause: (z(4) % 40) as u32 + 1,
            words,
        }
    }

    /// A request that serves the access, for every second word and round.
    fn hint(&self, frame: &Frame, word: u64, on: Hinted) -> u8 {
        let z = mix(self.seed, 3, word << 40 | frame.vars[0] << 20 | frame.vars[1]);
        if !self.hints || z & 1 == 0 {
            return Hint::default().bits();
        }
        let fits: Vec<Request> = Request::ALL.into_iter().filter(|r| Hint::word(*r).fits(on)).collect();
        let request = fits[(z >> 2) as usize % fits.len()];
        if z & 2 == 0 { Hint::word(request).bits() } else { Hint::line(request).bits() }
    }

    fn access(&self, frame: &Frame, word: u64, class: Class, on: Hinted) -> Access {
        let addrs = Addrs::Strided { base: self.arrays[0].at(word), stride: 0 };
        let hint = self.hint(frame, word, on);
        Access { class, hint, scope: Scope::Sys, ..Access::data(WORD, addrs, 1) }
    }

    fn load(&self, frame: &Frame, token: Token, word: u64) -> Op {
        Op::Load { token, access: self.access(frame, word, Class::D, Hinted::Load) }
    }

    fn store(&self, frame: &Frame, word: u64, value: u64) -> Op {
        let access = self.access(frame, word, Class::D, Hinted::Store);
        Op::Store { access, values: Values::Const(value) }
    }

    fn amo(&self, frame: &Frame, (token, word): (Token, u64), class: Class, kind: AmoKind) -> Op {
        let access = self.access(frame, word, class, Hinted::Atomic);
        let ret = kind == AmoKind::Cas;
        Op::Amo { token, access, kind, signed: false, values: Values::Const(1), compare: 0, ret }
    }

    /// Takes the lock, once the words read before and the pause are through.
    fn attempt(&self, frame: &Frame, round: &Round, ticks: u32) -> Vec<Op> {
        let early = || T_EARLY..T_EARLY + EARLY as Token;
        let loads = early().zip(round.early).map(|(token, word)| self.load(frame, token, word));
        let token = Some(T_PAUSE);
        let pause = Op::Compute { unit: Unit::Alu, latency: ticks, occupancy: 0, needs: vec![], token };
        let take = self.amo(frame, (T_LOCK, round.lock), Class::P, AmoKind::Cas);
        let wait = Op::Await { tokens: [T_LOCK, T_PAUSE].into_iter().chain(early()).collect() };
        loads.chain([pause, take, wait]).collect()
    }

    fn change(&self, frame: &Frame, round: &Round, values: &LoadedValues) -> Vec<Op> {
        let changed = (T_WORDS..).zip(&round.words).filter(|(_, (_, changes))| *changes);
        let changed = changed.map(|(token, (word, _))| self.store(frame, *word, values.lane(token, 0) + 1));
        let add =
            |i: usize| self.amo(frame, (T_COUNTERS + i as Token, round.counters[i]), Class::C, AmoKind::Add);
        let access = self.access(frame, round.lock, Class::P, Hinted::Atomic);
        let free = Op::Store { access, values: Values::Const(0) };
        let stamp = self.store(frame, round.stamp, u64::from(Self::stamped(round.stamp)));
        let ops = [self.load(frame, T_STAMP, round.stamp), stamp].into_iter().chain(changed);
        ops.chain([add(0), free, add(1), Op::Await { tokens: vec![T_STAMP] }]).collect()
    }

    fn threads(&self) -> u64 {
        u64::from(self.cpus + self.groups * WAVES)
    }

    fn expected(&self) -> Vec<u32> {
        let first = |i: u64| if i % LINE == KEPT { Self::kept(self.seed, i) } else { 0 };
        let mut all: Vec<u32> = (0..self.lines * LINE).map(first).collect();
        for (thread, number) in (0..self.threads()).flat_map(|t| (0..self.rounds).map(move |r| (t, r))) {
            let round = self.round(thread, number);
            let changed = round.words.iter().filter(|(_, changes)| *changes).map(|(word, _)| *word);
            changed.chain(round.counters).for_each(|word| all[word as usize] += 1);
            all[round.stamp as usize] = Self::stamped(round.stamp);
        }
        all
    }
}

impl Program for TornLines {
    fn name(&self) -> &str {
        INFO.name
    }

    fn lanes(&self) -> u32 {
        self.lanes
    }

    fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: INFO.name.to_owned(),
                blocks: self.cpus + self.groups,
                cpus: self.cpus,
                waves_per_block: WAVES,
                lds_bytes: 0,
                args: vec![],
                co_resident: true,
            })
        })
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let thread = match block.checked_sub(self.cpus) {
            Some(group) => self.cpus + group * WAVES + wave,
            None => block,
        };
        Frame { kernel: kernel.id, block, wave, pc: BEGIN, vars: vec![u64::from(thread), 0] }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let round = self.round(frame.vars[0], frame.vars[1]);
        match frame.pc {
            BEGIN if frame.vars[1] == self.rounds => vec![Op::End],
            BEGIN => {
                frame.pc = TRIED;
                self.attempt(frame, &round, round.pause)
            }
            TRIED if values.lane(T_LOCK, 0) != 0 => self.attempt(frame, &round, 30 + round.pause),
            TRIED => {
                frame.pc = READ;
                let loads =
                    (T_WORDS..).zip(&round.words).map(|(token, (word, _))| self.load(frame, token, *word));
                let tokens = (T_WORDS..T_WORDS + TAKEN as Token).collect();
                loads.chain([Op::Await { tokens }]).collect()
            }
            _ => {
                let ops = self.change(frame, &round, values);
                (frame.pc, frame.vars[1]) = (BEGIN, frame.vars[1] + 1);
                ops
            }
        }
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        super::super::common::compare(INFO.name, &self.arrays[0], &self.expected(), memory)
    }
}
