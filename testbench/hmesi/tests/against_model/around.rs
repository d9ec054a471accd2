//! The model around a block, and the watch of it.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use weft_hmesi_bench::golden::system::{Block, Event, Step, System, SystemParams};
use weft_hmesi_bench::watch::Watches;
use weft_spandex_bench::golden::msg::AmoOp;
use weft_spandex_bench::golden::system::explore::World;
use weft_spandex_bench::golden::system::program::{Instr, Sem, Thread, add, amo, ld, st, update};

/// A system without one block.
pub struct Around {
    pub system: System,
    pub watches: Watches,
    /// Steps of the model in a cycle.
    pub rate: f64,
}

/// Loads, stores and updates of a few words of these lines.
fn program(rng: &mut SmallRng, lines: &[u32], words: u8, length: usize, number: u32) -> Vec<Instr> {
    let any = |rng: &mut SmallRng, at: usize| {
        let word = rng.random_range(0..words);
        let value = 1000 * number + at as u32 + 100;
        let instr = match rng.random_range(0..10) {
            0..3 => ld(word),
            3..6 => st(word, value),
            6 => add(word, 1),
            7 => update(word, 1),
            8 => amo(AmoOp::Exch, word, value, Sem::Both),
            _ => amo(AmoOp::Read, word, 0, Sem::Acq),
        };
        instr.at(*lines.choose(rng).expect("some lines"))
    };
    (0..length).map(|at| any(rng, at)).collect()
}

impl Around {
    /// Two threads on every device that is modelled, without limit to evictions.
    pub fn new(p: SystemParams, absent: Block, lines: &[u32], length: usize, rng: &mut SmallRng) -> Around {
        let p = SystemParams { evictions: [u8::MAX; 3], warm: false, ..p };
        let devices = (0..p.kinds.len() as u8).filter(|dev| absent != Block::Cpu(*dev));
        let mut threads = Vec::new();
        for dev in devices.flat_map(|dev| [dev, dev]) {
            let number = threads.len() as u32;
            threads.push(Thread::new(dev, program(rng, lines, p.words, length, number)));
        }
        let watches = Watches::new(p.cpus(), p.banks, p.l2(), |_| None);
        let mut system = System::new(p, threads);
        system.absent = Some(absent);
        Around { system, watches, rate: 0.5 }
    }
    /// What the model may do in a cycle.
    pub fn step(&mut self, rng: &mut SmallRng) {
        if !rng.random_bool(self.rate) {
            return;
        }
        let mut steps = self.system.steps();
        let evicts = |step: &Step| matches!(step, Step::EvictL1(..) | Step::EvictL2(..) | Step::EvictL3(..));
        if !rng.random_bool(0.05) {
            steps.retain(|step| !evicts(step));
        }
        let Some(step) = steps.choose(rng) else { return };
        self.system.step(*step);
        assert_eq!(self.system.faults(), &[] as &[String]);
    }
    /// The block has taken or sent something.
    ///
    /// # Panics
    /// It may not.
    #[track_caller]
    pub fn see(&mut self, cycle: u64, event: &Event) {
        if let Err(wrong) = self.watches.see(event) {
            panic!("cycle {cycle}: {wrong}");
        }
    }
}
