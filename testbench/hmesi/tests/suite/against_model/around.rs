//! The model around a block, and the watch of it.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use std::collections::{BTreeMap, VecDeque};
use weft_hmesi_bench::bench::{Bench, Msg};
use weft_hmesi_bench::golden::msg::Packet;
use weft_hmesi_bench::golden::system::{Block, Event, Step, System, SystemParams};
use weft_hmesi_bench::watch::Watches;
use weft_spandex_bench::golden::msg::AmoOp;
use weft_spandex_bench::golden::system::explore::World;
use weft_spandex_bench::golden::system::program::{Instr, Sem, Thread, add, amo, ld, st, update};

/// A system without one block, whose messages reach the block late and in any order.
pub struct Around {
    pub system: System,
    pub watches: Watches,
    /// Chance of a step of the model in a cycle.
    pub rate: f64,
    /// Longest time of a message to the block.
    pub delay: u64,
    /// On their way to the block: when, channel, message.
    post: Vec<(u64, &'static str, Msg, Packet)>,
    /// At the channels of the block.
    offered: BTreeMap<&'static str, VecDeque<Packet>>,
}

/// A block beside the model.
pub trait Beside {
    /// Quiet cycles after which all is over.
    const CALM: u32;
    /// The bench, and the model.
    fn parts(&mut self) -> (&mut Bench, &mut Around);
    /// One cycle of both.
    fn step(&mut self);
    /// What stands between block and model is not done.
    fn owes(&self) -> bool {
        false
    }

    /// To the end of all programs.
    ///
    /// # Panics
    /// They do not end, or something is owed then.
    fn settle(&mut self) {
        let mut calm = 0;
        for cycle in 0..150_000u64 {
            if cycle % 500 == 0 {
                let (b, around) = self.parts();
                around.shuffle(b);
            }
            self.step();
            calm = if self.parts().1.quiet() && !self.owes() { calm + 1 } else { 0 };
            if calm == Self::CALM {
                return self.parts().1.rest();
            }
        }
        panic!("the programs do not end");
    }
}

/// Loads, stores and updates of a few words of these lines; `sums`: no stores, and every update adds one.
fn program(
    rng: &mut SmallRng,
    lines: &[u32],
    words: u8,
    length: usize,
    number: u32,
    sums: bool,
) -> Vec<Instr> {
    let any = |rng: &mut SmallRng, at: usize| {
        let word = rng.random_range(0..words);
        let value = 1000 * number + at as u32 + 100;
        let instr = match rng.random_range(0..10) {
            0..3 => ld(word),
            3..=5 if !sums => st(word, value),
            6 => update(word, 1),
            7 if !sums => amo(AmoOp::Exch, word, value, Sem::Both),
            8 => amo(AmoOp::Read, word, 0, Sem::Acq),
            _ => add(word, 1),
        };
        instr.at(*lines.choose(rng).expect("some lines"))
    };
    (0..length).map(|at| any(rng, at)).collect()
}

impl Around {
    /// Two threads on every device that is modelled, without limit to evictions.
    pub fn new(p: SystemParams, absent: Block, lines: &[u32], sums: bool, rng: &mut SmallRng) -> Around {
        let p = SystemParams { evictions: [u8::MAX; 3], warm: false, ..p };
        let devices = (0..p.kinds.len() as u8).filter(|dev| absent != Block::Cpu(*dev));
        let mut threads = Vec::new();
        for dev in devices.flat_map(|dev| [dev, dev]) {
            let number = threads.len() as u32;
            threads.push(Thread::new(dev, program(rng, lines, p.words, 60, number, sums)));
        }
        let watches = Watches::new(p.cpus(), p.banks, p.l2(), |_| None);
        let mut system = System::new(p, threads);
        system.absent = Some(absent);
        Around { system, watches, rate: 0.5, delay: 20, post: Vec::new(), offered: BTreeMap::new() }
    }
    /// How busy the model and how slow the networks are.
    pub fn shuffle(&mut self, b: &mut Bench) {
        self.delay = [1, 20, 100][b.rng.random_range(0..3)];
        self.rate = [0.1, 0.5, 1.0][b.rng.random_range(0..3)];
        let chance = [0.2, 1.0][b.rng.random_range(0..2)];
        b.sinks.values_mut().for_each(|sink| sink.chance = chance);
    }
    /// What the model does in a cycle; its messages to the block go by a channel each.
    pub fn step(&mut self, b: &mut Bench, encode: impl Fn(&mut Packet) -> (&'static str, Msg)) {
        let now = b.sim.cycle();
        if b.rng.random_bool(self.rate) {
            let mut steps = self.system.steps();
            if !b.rng.random_bool(0.05) {
                steps.retain(|step| !self.system.evicts(*step));
            }
            if let Some(step) = steps.choose(&mut b.rng) {
                self.system.step(*step);
            }
            assert_eq!(self.system.faults(), &[] as &[String]);
        }
        for mut packet in std::mem::take(&mut self.system.outbox) {
            let (channel, msg) = encode(&mut packet);
            let due = now + b.rng.random_range(0..=self.delay);
            self.post.push((due, channel, msg, packet));
        }
        while let Some(at) = self.post.iter().position(|post| post.0 <= now) {
            let (_, channel, msg, packet) = self.post.swap_remove(at);
            self.offered.entry(channel).or_default().push_back(packet);
            b.send(channel, msg);
        }
    }
    /// What the block has taken in this cycle.
    pub fn taken(&mut self, b: &mut Bench) {
        let mut taken = Vec::new();
        for (channel, packets) in &mut self.offered {
            if b.taken(channel).is_some() {
                taken.extend(packets.pop_front());
            }
        }
        taken.into_iter().for_each(|packet| self.see(b.sim.cycle(), &Event::Taken(packet)));
    }
    /// The block has sent a message.
    pub fn sent(&mut self, cycle: u64, judged: Packet, delivered: Packet) {
        self.see(cycle, &Event::Sent(judged));
        self.system.inject(delivered);
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
    /// Nothing is under way but in the block.
    pub fn quiet(&self) -> bool {
        let offered = self.offered.values().all(VecDeque::is_empty);
        self.system.done() && self.system.outbox.is_empty() && self.post.is_empty() && offered
    }
    /// The block is idle, too.
    ///
    /// # Panics
    /// It owes something.
    pub fn rest(&mut self) {
        if let Err(wrong) = self.watches.rest() {
            panic!("at rest: {wrong}");
        }
    }
    /// Makes the L3 evict all lines, as far as it can now.
    pub fn evict_all(&mut self, lines: &[u32]) {
        for line in lines {
            let bank = line % u32::from(self.system.params().banks);
            self.system.step(Step::EvictL3(bank as u8, *line));
        }
    }
}
