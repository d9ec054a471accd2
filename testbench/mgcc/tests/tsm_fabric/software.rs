//! Protocols without coherence: kernels whose waves own bytes, other ones in every kernel, with software coherence at the boundaries; atomics at memory at any time.

use super::world::{Asked, CuWork, World, initial};
use super::{LINES, tiny};
use rand::Rng;
use std::collections::BTreeMap;
use weft_blocks::msg::AmoOp;
use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol, TsuScale};
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::golden::msg::{Atomic, Data};
use weft_mgcc_bench::golden::time::Time;

/// Waves of a CU.
const WAVES: usize = 2;
/// A line that is only counted on.
const COUNTERS: u64 = 200;

struct Program {
    w: World,
    kernel: u64,
    /// Every line as its owners have left it.
    model: BTreeMap<u64, Data>,
    left: Vec<u32>,
    /// Counts that were returned, by word.
    counts: BTreeMap<u32, Vec<u64>>,
}

impl Program {
    fn new(p: &TsmFabricParams, seed: u64) -> Program {
        let mut w = World::new(p, seed);
        w.pressure = true;
        let left = vec![0; w.cus() * WAVES];
        Program { w, kernel: 0, model: BTreeMap::new(), left, counts: BTreeMap::new() }
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
        let line = LINES[rng.random_range(0..LINES.len())];
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

    fn run_kernel(&mut self, operations: u32) {
        self.kernel += 1;
        self.w.fence(true);
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
        self.w.fence(false);
    }

    /// What memory holds after a kernel is what the owners wrote, and every count was given once.
    fn check_memory(&self) {
        for (line, data) in &self.model {
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

fn sound(p: &TsmFabricParams, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut program = Program::new(p, seed);
        for _ in 0..4 {
            program.run_kernel(60);
            program.check_memory();
        }
        let hits = program.w.b.counted("l2_hits");
        assert!(hits > 10, "only {hits} hits");
    }
}

#[test]
fn write_back_banks_keep_what_owners_wrote() {
    sound(&tiny(TsmProtocol::WbNcRc), 0..2);
}

#[test]
fn write_through_banks_keep_what_owners_wrote() {
    sound(&tiny(TsmProtocol::WtNcRc), 10..12);
}

#[test]
fn one_gpu_and_many_lanes() {
    let p = tiny(TsmProtocol::WbNcRc);
    let p = TsmFabricParams { tsm: Tsm { gpus: 1, banks: 1, lanes: 4, ..p.tsm.clone() }, link_bpc: 512, ..p };
    sound(&p, 20..21);
}

#[test]
fn long_all_sizes_of_systems_are_sound() {
    for (i, gpus) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        for protocol in [TsmProtocol::WbNcRc, TsmProtocol::WtNcRc] {
            let p = tiny(protocol);
            let tsu_scale = if gpus == 1 { TsuScale::Half } else { TsuScale::Quarter };
            let p = TsmFabricParams { tsm: Tsm { gpus, ..p.tsm.clone() }, tsu_scale, ..p };
            sound(&p, 40 + i as u64..42 + i as u64);
        }
    }
}
