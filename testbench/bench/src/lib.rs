//! A block in simulation with random senders and receivers on its channels.
//!
//! A crate of its own, which the benches of every family share.

mod checked;
pub mod locks;
pub mod mail;
pub mod pages;
pub mod seeds;

pub use checked::Checked;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use weft_engine::{InPort, OutPort, Sim};
use weft_rtl::bv::{limbs_for, top_mask};
use weft_rtl::ir::ProbeKind;
use weft_rtl::prelude::*;

/// A message: its leaves by name. Absent leaves are sent as noise, which must not matter.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Msg(pub BTreeMap<String, Bv>);

impl Msg {
    /// A message of small numbers; of fields that stand twice the last one counts.
    pub fn of<T: Data>(shape: &T::Shape, fields: &[(&str, u64)]) -> Msg {
        let leaves = leaves_of::<T>(shape, "");
        let value = |(name, value): &(&str, u64)| {
            let leaf = leaves.iter().find(|l| l.name == *name).unwrap_or_else(|| panic!("no field {name}"));
            (name.to_string(), Bv::from_u64(*value, leaf.width))
        };
        Msg(fields.iter().map(value).collect())
    }

    /// The same with a wide field.
    pub fn with(mut self, name: &str, value: Bv) -> Msg {
        self.0.insert(name.to_string(), value);
        self
    }

    /// A field's low 64 bits.
    ///
    /// # Panics
    /// When the message has no such field.
    pub fn get(&self, name: &str) -> u64 {
        self.wide(name).low_u64()
    }

    /// A field.
    ///
    /// # Panics
    /// When the message has no such field.
    pub fn wide(&self, name: &str) -> &Bv {
        self.0.get(name).unwrap_or_else(|| panic!("the message has no field {name}"))
    }
}

/// Whether a receiver waits for an offer before it is ready; drawn from the channel's name and a seed. A sender must work with both: one that waits, too, for
/// ready before it offers would wait for ever.
pub fn patient(channel: &str, seed: u64) -> bool {
    let mixed = channel.bytes().fold(seed, |all, byte| (all ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    mixed.count_ones() & 1 == 1
}

/// A value of `width` random bits.
pub fn random_bits(rng: &mut SmallRng, width: u32) -> Bv {
    let limbs: Vec<u64> = (0..width.div_ceil(64)).map(|_| rng.random()).collect();
    Bv::from_limbs(&limbs, width)
}

/// Sends messages into a channel.
pub struct Source {
    valid: InPort,
    leaves: Vec<(String, InPort, u32)>,
    ready: OutPort,
    offering: bool,
    /// Messages still to send.
    pub queue: VecDeque<Msg>,
    /// Chance to offer a message in a cycle.
    pub chance: f64,
    /// The message taken in the cycle before the present one.
    pub taken: Option<Msg>,
}

/// Takes messages from a channel.
pub struct Sink {
    valid: OutPort,
    leaves: Vec<(String, OutPort)>,
    ready: InPort,
    held: Option<Msg>,
    /// Chance to be ready in a cycle.
    pub chance: f64,
    patient: bool,
    /// It was ready in the cycle before the present one.
    pub is_ready: bool,
    /// Messages taken and not yet looked at, with the cycle.
    pub got: VecDeque<(u64, Msg)>,
}

impl Source {
    /// Drives the channel in this cycle; `limbs` is room to work in.
    fn advance(&mut self, sim: &mut Sim, rng: &mut SmallRng, limbs: &mut Vec<u64>) {
        self.offering |= !self.queue.is_empty() && rng.random_bool(self.chance);
        sim.set(self.valid, u64::from(self.offering));
        let mut offered = self.queue.front_mut().filter(|_| self.offering);
        for (name, port, width) in &self.leaves {
            let Some(msg) = &mut offered else {
                limbs.clear();
                limbs.extend((0..limbs_for(*width)).map(|_| rng.random::<u64>()));
                if let Some(last) = limbs.last_mut() {
                    *last &= top_mask(*width);
                }
                sim.set_limbs(*port, limbs);
                continue;
            };
            // An offer stands, noise included.
            if !msg.0.contains_key(name) {
                msg.0.insert(name.clone(), random_bits(rng, *width));
            }
            sim.set_bv(*port, &msg.0[name]);
        }
        let taken = self.offering && sim.get(self.ready) == 1;
        self.taken = if taken { self.queue.pop_front() } else { None };
        self.offering &= !taken;
    }
}

impl Sink {
    /// Looks at the channel in this cycle.
    fn advance(&mut self, name: &str, sim: &mut Sim, rng: &mut SmallRng) {
        let offered = sim.get(self.valid) == 1;
        let ready = rng.random_bool(self.chance) && (offered || !self.patient);
        self.is_ready = ready;
        sim.set(self.ready, u64::from(ready));
        if let Some(held) = &self.held {
            let stands = offered && self.leaves.iter().all(|(n, port)| is(sim, *port, held.wide(n)));
            assert!(stands, "cycle {}: {name} withdraws its offer of {held:?}", sim.cycle());
        } else if offered {
            let leaves = self.leaves.iter();
            self.held = Some(Msg(leaves.map(|(n, port)| (n.clone(), sim.get_bv(*port))).collect()));
        }
        if ready && let Some(msg) = self.held.take() {
            self.got.push_back((sim.cycle(), msg));
        }
    }
}

/// An output has this value.
fn is(sim: &mut Sim, port: OutPort, value: &Bv) -> bool {
    if port.is_register() { sim.limbs(port) == value.limbs() } else { sim.get_bv(port) == *value }
}

/// A simulation with its senders and receivers. What it has covered is noted for the race ledger when it ends.
pub struct Bench {
    seed: u64,
    /// The block.
    pub sim: Checked,
    /// Chance.
    pub rng: SmallRng,
    /// Senders by channel.
    pub sources: BTreeMap<String, Source>,
    /// Receivers by channel.
    pub sinks: BTreeMap<String, Sink>,
    limbs: Vec<u64>,
}

impl Bench {
    /// Compiles a block.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn new(module: &Arc<Module>, seed: u64) -> Bench {
        let rng = SmallRng::seed_from_u64(seed);
        Bench {
            seed,
            sim: Checked::new(module),
            rng,
            sources: BTreeMap::new(),
            sinks: BTreeMap::new(),
            limbs: Vec::new(),
        }
    }

    fn input(&self, name: &str) -> InPort {
        self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"))
    }

    fn output(&self, name: &str) -> OutPort {
        self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"))
    }

    /// Drives an input that is no channel.
    pub fn set(&mut self, name: &str, value: u64) {
        let port = self.input(name);
        self.sim.set(port, value);
    }

    /// Reads an output that is no channel.
    pub fn get(&mut self, name: &str) -> u64 {
        let port = self.output(name);
        self.sim.get(port)
    }

    /// Adds a sender to a channel.
    pub fn source<T: Data>(&mut self, name: &str, shape: &T::Shape) {
        let port = |l: Leaf| {
            let full = join_name(&message_name::<T>(name, shape), &l.name);
            (l.name, self.input(&full), l.width)
        };
        let leaves = leaves_of::<T>(shape, "").into_iter().map(port).collect();
        let (valid, ready) = (self.input(&format!("{name}_valid")), self.output(&format!("{name}_ready")));
        let queue = VecDeque::new();
        let source = Source { valid, leaves, ready, offering: false, queue, chance: 1.0, taken: None };
        self.sources.insert(name.to_string(), source);
    }

    /// Adds a receiver to a channel.
    pub fn sink<T: Data>(&mut self, name: &str, shape: &T::Shape) {
        let port = |l: Leaf| {
            let full = join_name(&message_name::<T>(name, shape), &l.name);
            (l.name, self.output(&full))
        };
        let leaves = leaves_of::<T>(shape, "").into_iter().map(port).collect();
        let (valid, ready) = (self.output(&format!("{name}_valid")), self.input(&format!("{name}_ready")));
        let got = VecDeque::new();
        let patient = patient(name, self.seed);
        let sink = Sink { valid, leaves, ready, held: None, chance: 1.0, patient, is_ready: false, got };
        self.sinks.insert(name.to_string(), sink);
    }

    /// Queues a message for a channel.
    pub fn send(&mut self, name: &str, msg: Msg) {
        self.source_mut(name).queue.push_back(msg);
    }

    /// The sender of a channel.
    ///
    /// # Panics
    /// When there is none.
    pub fn source_mut(&mut self, name: &str) -> &mut Source {
        self.sources.get_mut(name).unwrap_or_else(|| panic!("no sender on {name}"))
    }

    /// The receiver of a channel.
    ///
    /// # Panics
    /// When there is none.
    pub fn sink_mut(&mut self, name: &str) -> &mut Sink {
        self.sinks.get_mut(name).unwrap_or_else(|| panic!("no receiver on {name}"))
    }

    /// The oldest message received on a channel and not yet looked at, with its cycle.
    pub fn received(&mut self, name: &str) -> Option<(u64, Msg)> {
        self.sink_mut(name).got.pop_front()
    }

    /// The message of a channel that was taken in the cycle before.
    pub fn taken(&mut self, name: &str) -> Option<Msg> {
        self.source_mut(name).taken.take()
    }

    /// One cycle.
    ///
    /// # Panics
    /// When an assertion of the hardware fails, or an offered message changes.
    pub fn step(&mut self) {
        self.advance();
        if let Some(failure) = self.sim.failures().first() {
            panic!("{failure:?}");
        }
    }

    /// One cycle, for a bench that looks at failed assertions itself.
    ///
    /// # Panics
    /// When an offered message changes.
    pub fn advance(&mut self) {
        let Bench { sim, rng, sources, sinks, limbs, .. } = self;
        sources.values_mut().for_each(|source| source.advance(sim, rng, limbs));
        sinks.iter_mut().for_each(|(name, sink)| sink.advance(name, sim, rng));
        sim.step();
    }

    /// Resets the block for four cycles, whatever it was doing: all channels are idle and forget what was under way. Cycles and counters go on.
    pub fn reset(&mut self) {
        for source in self.sources.values_mut() {
            source.queue.clear();
            (source.offering, source.taken) = (false, None);
            self.sim.set(source.valid, 0);
        }
        for sink in self.sinks.values_mut() {
            sink.got.clear();
            sink.held = None;
            self.sim.set(sink.ready, 0);
        }
        (0..4).for_each(|_| self.sim.step_in_reset());
    }

    /// Whole cycles.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Steps until a channel has received something; returns it.
    ///
    /// # Panics
    /// When nothing comes in 10 000 cycles.
    pub fn wait(&mut self, name: &str) -> (u64, Msg) {
        for _ in 0..10_000 {
            if let Some(got) = self.received(name) {
                return got;
            }
            self.step();
        }
        panic!("nothing comes on {name}");
    }

    /// Chances of receivers to be ready.
    ///
    /// # Panics
    /// When a channel has no receiver.
    pub fn chances(&mut self, chances: &[(&str, f64)]) {
        chances.iter().for_each(|(sink, chance)| self.sink_mut(sink).chance = *chance);
    }

    /// Nobody holds anything back.
    pub fn hold_nothing(&mut self) {
        self.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
        self.sources.values_mut().for_each(|source| source.chance = 1.0);
    }

    /// Every receiver and every sender has one of these chances, at random.
    pub fn shuffle(&mut self, chances: &[f64]) {
        let rng = &mut self.rng;
        for sink in self.sinks.values_mut() {
            sink.chance = chances[rng.random_range(0..chances.len())];
        }
        for source in self.sources.values_mut() {
            source.chance = chances[rng.random_range(0..chances.len())];
        }
    }

    /// No sender has anything to send.
    pub fn has_sent_all(&self) -> bool {
        self.sources.values().all(|source| source.queue.is_empty())
    }

    /// Cycles after which none of these channels has received anything.
    ///
    /// # Panics
    /// When one has.
    pub fn silent(&mut self, cycles: u64, channels: &[&str]) {
        self.run(cycles);
        for channel in channels {
            assert_eq!(self.received(channel), None, "{channel}");
        }
    }

    /// Without work nothing changes: after some cycles the engine skips the block.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn falls_asleep(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.sim.step());
        assert!(self.sim.asleep(), "without work nothing changes");
    }

    /// Sum of the counters and covers of this name over all units.
    pub fn counted(&self, name: &str) -> u64 {
        self.sim.probes().filter(|p| p.name == name).map(|p| p.count).sum()
    }

    /// Covers never seen, whose names do not begin with one of `but`.
    pub fn uncovered(&self, but: &[&str]) -> Vec<String> {
        let missed = |p: &weft_engine::ProbeReading| {
            p.kind == ProbeKind::Cover && p.count == 0 && !but.iter().any(|b| p.name.starts_with(b))
        };
        self.sim.probes().filter(missed).map(|p| p.name.to_string()).collect()
    }
}

/// Beginnings of the names of cover points that are entries of the race ledger.
const LEDGER: [&str; 4] = ["mgcc.", "gtsc.", "srsp.", "spandex."];

/// Notes for the race ledger what a simulation has covered, under the name of the running test. A test that fails notes nothing: it proves nothing.
///
/// # Panics
/// When the file of hits cannot be written.
pub fn note_covers(sim: &Sim, seed: u64) {
    let name = std::thread::current().name().map(str::to_string);
    let Some(test) = name.filter(|_| !std::thread::panicking()) else { return };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for probe in sim.probes().filter(|p| p.kind == ProbeKind::Cover) {
        if LEDGER.iter().any(|prefix| probe.name.starts_with(prefix)) {
            *counts.entry(probe.name.to_string()).or_default() += probe.count;
        }
    }
    if let Err((path, cause)) = weft_ledger::note(&test, seed, &counts) {
        panic!("{}: {cause}", path.display());
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        note_covers(&self.sim, self.seed);
    }
}
