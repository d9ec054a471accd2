//! Words under locks: every line has words of several locks, counters that everybody adds to, and some lines have the locks themselves, so that lines are torn between devices all the time. Seeded.

use weft_workload::{
    Access, Addrs, AmoKind, Array, Class, Frame, HostStep, Kernel, Layout, LoadedValues, Op, Program, Scope,
    Unit, Values, VerifyError,
};

/// Words of a line: the first is a lock in the first lines, then words under locks, of which the last one is a stamp, then counters.
const LINE: u64 = 16;
const STAMP: u64 = 11;
const COUNTERS: u64 = 12;
const WORD: u8 = 4;
/// Words that a critical section reads; it changes some of them.
const TAKEN: u64 = 6;

/// States of a thread, in [`Frame::pc`].
const BEGIN: u32 = 0;
const TRIED: u32 = 1;
const READ: u32 = 2;

/// The program.
pub struct Locks {
    arrays: Vec<Array>,
    /// CPU cores with a thread each, work-groups, waves of one.
    cores: u32,
    groups: u32,
    waves: u32,
    locks: u64,
    lines: u64,
    rounds: u64,
    seed: u64,
    /// CUs with locks and words of their own, interleaved word by word, and scopes as wide as a CU; else all devices share everything.
    apart: Option<u64>,
}

/// What a thread does in one round.
struct Round {
    lock: u64,
    /// Words under it, each once, and whether each is changed.
    words: Vec<(u64, bool)>,
    /// Counters added to, inside and outside of the critical section.
    counters: [u64; 2],
    /// Stamp under it, written by whoever comes, whatever it holds.
    stamp: u64,
    /// Words read before the lock is taken, whatever they hold: one under the lock, two beside it in its line.
    early: [u64; 3],
    pause: u32,
}

impl Locks {
    /// In so many lines, for a fabric with so many cores and CUs. `apart`: each CU has locks and words of its own, interleaved so that every line has words of every CU, and all that synchronises is of CU
    /// scope; cores have no part.
    pub fn new(seed: u64, lines: u64, (cores, cus): (u32, u32), apart: bool) -> Locks {
        let (locks, rounds) = (4, 16);
        let areas = if apart { u64::from(cus) } else { 1 };
        let mut layout = Layout::new();
        layout.add("words", u64::from(WORD), lines * LINE * areas, false, vec![]);
        let arrays = layout.arrays().to_vec();
        let cores = if apart { 0 } else { cores };
        let apart = apart.then_some(areas);
        Locks { arrays, cores, groups: 2 * cus, waves: 2, locks, lines, rounds, seed, apart }
    }

    fn areas(&self) -> u64 {
        self.apart.unwrap_or(1)
    }

    /// Where a word of a thread's area is: work-group b runs on CU b mod their number.
    fn place(&self, thread: u64, word: u64) -> u64 {
        word * self.areas() + thread / u64::from(self.waves) % self.areas()
    }

    fn mix(&self, thread: u64, round: u64, what: u64) -> u64 {
        let mut z = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (thread << 40 | round << 20 | what);
        for _ in 0..2 {
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        }
        z ^ z >> 31
    }

    /// Words under a lock.
    fn under(&self, lock: u64) -> Vec<u64> {
        let all = (0..self.lines).flat_map(|i| (1..STAMP).map(move |w| (i, w)));
        all.filter(|(i, w)| (i + w) % self.locks == lock).map(|(i, w)| i * LINE + w).collect()
    }

    fn counter(&self, z: u64) -> u64 {
        z % self.lines * LINE + COUNTERS + z / self.lines % (LINE - COUNTERS)
    }

    fn round(&self, thread: u64, round: u64) -> Round {
        let mut r = self.round_of_one(thread, round);
        let one = |word: &mut u64| *word = self.place(thread, *word);
        r.words.iter_mut().for_each(|(word, _)| one(word));
        r.counters.iter_mut().chain(&mut r.early).chain([&mut r.lock, &mut r.stamp]).for_each(one);
        r
    }

    /// As if there were no other area.
    fn round_of_one(&self, thread: u64, round: u64) -> Round {
        let z = |what| self.mix(thread, round, what);
        let lock = z(0) % self.locks;
        let mut all = self.under(lock);
        let mut words = Vec::new();
        for i in 0..TAKEN {
            let word = all.swap_remove((z(10 + i) % all.len() as u64) as usize);
            words.push((word, z(20 + i) % 3 > 0));
        }
        let beside = |z: u64| words[0].0 / LINE * LINE + 1 + z % (COUNTERS - 1);
        Round {
            early: [words[0].0, beside(z(3)), beside(z(5))],
            // That of line i is under lock i + STAMP.
            stamp: ((lock + self.locks * LINE - STAMP) % self.locks
                + z(6) % (self.lines / self.locks) * self.locks)
                * LINE
                + STAMP,
            lock: lock * LINE,
            words,
            counters: [self.counter(z(1)), self.counter(z(2))],
            pause: (z(4) % 40) as u32 + 1,
        }
    }

    fn access(&self, word: u64, class: Class) -> Access {
        let base = word * u64::from(WORD);
        let scope = if self.apart.is_some() { Scope::Cu } else { Scope::Sys };
        Access { class, scope, ..Access::data(WORD, Addrs::Strided { base, stride: 0 }, 1) }
    }

    fn amo(&self, token: u32, word: u64, class: Class, kind: AmoKind, ret: bool) -> Op {
        let access = self.access(word, class);
        Op::Amo { token, access, kind, signed: false, values: Values::Const(1), compare: 0, ret }
    }

    fn load(&self, token: u32, word: u64) -> Op {
        Op::Load { token, access: self.access(word, Class::D) }
    }

    fn pause(ticks: u32) -> Op {
        Op::Compute { unit: Unit::Alu, latency: ticks, occupancy: 0, needs: vec![], token: Some(20) }
    }

    /// Takes the lock, once the words read before, the counter and the pause are through.
    fn attempt(&self, round: &Round, ticks: u32) -> Vec<Op> {
        let early = (25..).zip(round.early).map(|(token, word)| self.load(token, word));
        let rest = [
            Locks::pause(ticks),
            self.amo(0, round.lock, Class::P, AmoKind::Cas, true),
            Op::Await { tokens: vec![0, 20, 25, 26, 27] },
        ];
        early.chain(rest).collect()
    }

    fn change(&self, round: &Round, values: &LoadedValues) -> Vec<Op> {
        let changed = (1..).zip(&round.words).filter(|(_, (_, changes))| *changes);
        let store = |(token, (word, _)): (u32, &(u64, bool))| Op::Store {
            access: self.access(*word, Class::D),
            values: Values::Const(values.lane(token, 0) + 1),
        };
        let add = |i: usize| self.amo(23 + i as u32, round.counters[i], Class::C, AmoKind::Add, false);
        let free = Op::Store { access: self.access(round.lock, Class::P), values: Values::Const(0) };
        let stamp = Op::Store {
            access: self.access(round.stamp, Class::D),
            values: Values::Const(values.lane(1, 0) ^ 0xa5a5_0000),
        };
        let ops = [self.load(28, round.stamp), stamp].into_iter().chain(changed.map(store));
        let ops = ops.chain([add(0), free, add(1)]);
        ops.chain([Op::Await { tokens: vec![23, 24, 28] }]).collect()
    }

    fn threads(&self) -> u64 {
        u64::from(self.cores + self.groups * self.waves)
    }

    fn expected(&self) -> Vec<u64> {
        let mut all = vec![0; (self.lines * LINE * self.areas()) as usize];
        for (thread, number) in (0..self.threads()).flat_map(|t| (0..self.rounds).map(move |r| (t, r))) {
            let round = self.round(thread, number);
            let changed = round.words.iter().filter(|(_, changes)| *changes).map(|(word, _)| *word);
            changed.chain(round.counters).for_each(|word| all[word as usize] += 1);
        }
        all
    }
}

impl Program for Locks {
    fn name(&self) -> &str {
        "locks"
    }
    fn lanes(&self) -> u32 {
        1
    }
    fn arrays(&self) -> &[Array] {
        &self.arrays
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "locks".to_owned(),
                blocks: self.cores + self.groups,
                cpus: self.cores,
                waves_per_block: self.waves,
                lds_bytes: 0,
                args: vec![],
                co_resident: true,
            })
        })
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let group = u64::from(block.saturating_sub(self.cores)) * u64::from(self.waves) + u64::from(wave);
        let thread = if block < self.cores { u64::from(block) } else { u64::from(self.cores) + group };
        Frame { kernel: kernel.id, block, wave, pc: BEGIN, vars: vec![thread, 0] }
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let round = self.round(frame.vars[0], frame.vars[1]);
        match frame.pc {
            BEGIN if frame.vars[1] == self.rounds => vec![Op::End],
            BEGIN => {
                frame.pc = TRIED;
                self.attempt(&round, round.pause)
            }
            TRIED if values.lane(0, 0) != 0 => self.attempt(&round, 30 + round.pause),
            TRIED => {
                frame.pc = READ;
                let loads = (1..).zip(&round.words).map(|(token, (word, _))| self.load(token, *word));
                loads.chain([Op::Await { tokens: (1..=TAKEN as u32).collect() }]).collect()
            }
            _ => {
                (frame.pc, frame.vars[1]) = (BEGIN, frame.vars[1] + 1);
                self.change(&round, values)
            }
        }
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let found = |i: u64| {
            let bytes = memory(self.arrays[0].at(i), usize::from(WORD));
            bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let all = self.expected();
        let known = (0..all.len() as u64).filter(|i| i / self.areas() % LINE != STAMP);
        let wrong: Vec<u64> = known.filter(|i| found(*i) != all[*i as usize]).collect();
        let Some(first) = wrong.first() else { return Ok(()) };
        Err(VerifyError {
            program: "locks".to_owned(),
            array: "words".to_owned(),
            index: *first,
            found: found(*first).to_string(),
            expected: all[*first as usize].to_string(),
            wrong: wrong.len() as u64,
            total: all.len() as u64,
        })
    }
}
