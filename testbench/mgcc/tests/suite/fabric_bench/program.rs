//! Kernels whose waves own bytes, other ones in every kernel, with software coherence at the boundaries; atomics at any time.

use super::{Asked, CuWork, Fabric, World, initial};
use rand::Rng;
use std::collections::BTreeMap;
use weft_blocks::msg::AmoOp;
use weft_mgcc_bench::golden::msg::{Atomic, Data};
use weft_mgcc_bench::golden::time::Time;

/// Waves of a CU.
const WAVES: usize = 2;
/// A line that is only counted on.
const COUNTERS: u64 = 200;

/// Kernels without coherence; each of their waves owns bytes.
pub struct Program<P> {
    pub w: World<P>,
    lines: Vec<u64>,
    kernel: u64,
    /// Every line as its owners have left it.
    model: BTreeMap<u64, Data>,
    left: Vec<u32>,
    /// Counts that were returned, by word.
    counts: BTreeMap<u32, Vec<u64>>,
}

impl<P: Fabric> Program<P> {
    /// A program on these lines.
    pub fn new(p: &P, lines: &[u64], seed: u64) -> Program<P> {
        let mut w = World::new(p, seed);
        w.pressure = true;
        let left = vec![0; w.cus() * WAVES];
        Program { w, lines: lines.to_vec(), kernel: 0, model: BTreeMap::new(), left, counts: BTreeMap::new() }
    }

    /// Bytes of a line that a wave owns in this kernel: words of 8 bytes.
    fn owned(&self, wave: usize, line: u64) -> u64 {
        let owner = |word: u64| {
            let mixed = (line << 3 | word).wrapping_mul(0x9e37_79b9).wrapping_add(self.kernel * 0x85eb_ca6b);
            (mixed >> 7) as usize % self.left.len()
        };
        (0..8).filter(|word| owner(*word) == wave).fold(0, |mask, word| mask | 0xff << (8 * word))
    }

    fn next(&mut self, cu: usize, wave: usize) {
        let number = cu * WAVES + wave;
        let open = self.w.open[cu].values().filter(|a| a.wave == wave).count();
        if self.left[number] == 0 || open >= 4 || !self.w.b.rng.random_bool(0.3) {
            return;
        }
        self.left[number] -= 1;
        let rng = &mut self.w.b.rng;
        let line = self.lines[rng.random_range(0..self.lines.len())];
        let (choice, random, word) =
            (rng.random_range(0..100), rng.random::<u64>(), rng.random_range(0..8u32));
        let data = Data::from_words(rng.random());
        let owned = self.owned(number, line);
        let held = *self.model.entry(line).or_insert_with(|| initial(line));
        let asked = Asked {
            wave,
            seq: 0,
            line,
            work: CuWork::Load { mask: random | 1 << (random % 64), sync: choice < 5 },
            since: 0,
            expected: None,
        };
        let atomic = |op, word, operand| Atomic { op, signed: false, word, wide: true, operand, compare: 0 };
        let asked = match choice {
            0..40 => Asked { expected: Some((owned & (random | 1 << (random % 64)), held)), ..asked },
            40..80 if owned & random != 0 => {
                let mask = if choice < 60 { owned & random } else { owned };
                self.model.get_mut(&line).expect("entered").merge(mask, &data);
                Asked { work: CuWork::Store { mask, data, want_ack: choice % 2 == 0 }, ..asked }
            }
            80..90 if owned != 0 => {
                let a = atomic(AmoOp::Add, owned.trailing_zeros() / 4, random);
                a.perform(self.model.get_mut(&line).expect("entered"));
                Asked { work: CuWork::Atomic(a), expected: Some((a.mask(), held)), ..asked }
            }
            _ => Asked { line: COUNTERS, work: CuWork::Atomic(atomic(AmoOp::Add, 2 * word, 1)), ..asked },
        };
        self.w.ask(cu, asked);
    }

    fn take_answers(&mut self) {
        while let Some(a) = self.w.answers.pop_front() {
            if let (COUNTERS, CuWork::Atomic(atomic)) = (a.asked.line, a.asked.work) {
                let old = a.data.number(4 * atomic.word as usize, 8);
                self.counts.entry(atomic.word).or_default().push(old);
            }
            if let Some((mask, expected)) = a.asked.expected {
                let cycle = self.w.b.sim.cycle();
                let unit = self.w.unit(a.cu);
                let same = a.data.masked(mask) == expected.masked(mask);
                assert!(same, "cycle {cycle}, {unit}: {:?} got {:?}", a.asked, a.data);
            }
        }
    }

    /// A kernel of so many operations of each wave.
    pub fn run_kernel(&mut self, operations: u32) {
        self.kernel += 1;
        if self.w.p.fences() {
            self.w.fence(true);
        }
        self.w.ask_all(CuWork::Kbegin(Time::default()));
        self.left.fill(operations);
        while self.left.iter().any(|left| *left > 0) || self.w.open.iter().any(|open| !open.is_empty()) {
            for cu in 0..self.w.cus() {
                (0..WAVES).for_each(|wave| self.next(cu, wave));
            }
            self.w.step();
            self.take_answers();
        }
        self.w.ask_all(CuWork::Kend);
        if self.w.p.fences() {
            self.w.fence(false);
        }
    }

    /// What memory holds after a kernel is what the owners wrote, and every count was given once.
    pub fn check_memory(&self) {
        for (line, data) in self.model.iter().filter(|_| self.w.p.writes_back()) {
            assert_eq!(self.w.dram.line(*line), *data, "line {line:#x} after kernel {}", self.kernel);
        }
        for (word, olds) in &self.counts {
            let mut olds = olds.clone();
            olds.sort_unstable();
            let first = initial(COUNTERS).number(4 * *word as usize, 8);
            let expected: Vec<u64> = (0..olds.len() as u64).map(|i| first.wrapping_add(i)).collect();
            assert_eq!(olds, expected, "counter {word}");
        }
    }
}
