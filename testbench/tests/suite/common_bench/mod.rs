//! What the tests of the common blocks share: random senders and receivers on a block's channels.
#![allow(dead_code)]

pub mod link;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::sync::Arc;
use weft_engine::{Design, InPort, Options, OutPort, Sim};
use weft_rtl::prelude::*;

/// A message: its leaves in order.
pub type Msg = Vec<Bv>;

/// Number of a leaf by name.
pub fn leaf<T: Data>(shape: &T::Shape, name: &str) -> usize {
    leaves_of::<T>(shape, "").iter().position(|l| l.name == name).expect("the message has this field")
}

/// A value of `width` random bits.
pub fn random_bits(rng: &mut SmallRng, width: u32) -> Bv {
    let limbs: Vec<u64> = (0..width.div_ceil(64)).map(|_| rng.random()).collect();
    Bv::from_limbs(&limbs, width)
}

/// A message of random bits.
pub fn random_msg<T: Data>(rng: &mut SmallRng, shape: &T::Shape) -> Msg {
    leaves_of::<T>(shape, "").iter().map(|l| random_bits(rng, l.width)).collect()
}

/// Sends messages into a channel.
pub struct Source {
    valid: InPort,
    leaves: Vec<(InPort, u32)>,
    ready: OutPort,
    offering: bool,
    /// Messages still to send.
    pub queue: VecDeque<Msg>,
    /// Chance to offer a message in a cycle.
    pub chance: f64,
    /// The message taken in the present cycle.
    pub taken: Option<Msg>,
}

/// Takes messages from a channel.
pub struct Sink {
    valid: OutPort,
    leaves: Vec<OutPort>,
    ready: InPort,
    held: Option<Msg>,
    /// Chance to be ready in a cycle.
    pub chance: f64,
    /// A message is offered in the present cycle.
    pub offered: bool,
    /// Ready in the present cycle.
    pub is_ready: bool,
    /// Messages taken, with the cycle.
    pub got: Vec<(u64, Msg)>,
}

/// A simulation with its senders and receivers.
pub struct Bench {
    pub sim: Sim,
    pub rng: SmallRng,
    pub sources: Vec<Source>,
    pub sinks: Vec<Sink>,
}

impl Bench {
    pub fn new(module: &Arc<Module>, seed: u64) -> Bench {
        let design = Design::new(module, Options::default()).expect("the block compiles");
        let rng = SmallRng::seed_from_u64(seed);
        Bench { sim: Sim::new(&design), rng, sources: Vec::new(), sinks: Vec::new() }
    }

    pub fn input(&self, name: &str) -> InPort {
        self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"))
    }

    pub fn output(&self, name: &str) -> OutPort {
        self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"))
    }

    /// Adds a sender; returns its number.
    pub fn source<T: Data>(&mut self, name: &str, shape: &T::Shape) -> usize {
        let leaves = leaves_of::<T>(shape, &message_name::<T>(name, shape))
            .iter()
            .map(|l| (self.input(&l.name), l.width))
            .collect();
        let valid = self.input(&format!("{name}_valid"));
        let ready = self.output(&format!("{name}_ready"));
        let queue = VecDeque::new();
        self.sources.push(Source { valid, leaves, ready, offering: false, queue, chance: 1.0, taken: None });
        self.sources.len() - 1
    }

    /// Adds a receiver; returns its number.
    pub fn sink<T: Data>(&mut self, name: &str, shape: &T::Shape) -> usize {
        let leaves = leaves_of::<T>(shape, &message_name::<T>(name, shape))
            .iter()
            .map(|l| self.output(&l.name))
            .collect();
        let valid = self.output(&format!("{name}_valid"));
        let ready = self.input(&format!("{name}_ready"));
        self.sinks.push(Sink {
            valid,
            leaves,
            ready,
            held: None,
            chance: 1.0,
            offered: false,
            is_ready: false,
            got: Vec::new(),
        });
        self.sinks.len() - 1
    }

    /// Drives all channels for the present cycle and notes what is transferred in it; [`Bench::clock`] ends the cycle.
    pub fn drive(&mut self) {
        let Bench { sim, rng, sources, sinks } = self;
        for source in sources {
            source.offering |= !source.queue.is_empty() && rng.random_bool(source.chance);
            sim.set(source.valid, u64::from(source.offering));
            for (i, (port, width)) in source.leaves.iter().enumerate() {
                // Without a message the wires carry noise, which must not matter.
                let value =
                    if source.offering { source.queue[0][i].clone() } else { random_bits(rng, *width) };
                sim.set_bv(*port, &value);
            }
            let taken = source.offering && sim.get(source.ready) == 1;
            source.taken = if taken { source.queue.pop_front() } else { None };
            source.offering &= !taken;
        }
        for sink in sinks {
            sink.is_ready = rng.random_bool(sink.chance);
            sim.set(sink.ready, u64::from(sink.is_ready));
            sink.offered = sim.get(sink.valid) == 1;
            let msg: Option<Msg> =
                sink.offered.then(|| sink.leaves.iter().map(|port| sim.get_bv(*port)).collect());
            if let Some(held) = &sink.held {
                assert_eq!(
                    Some(held),
                    msg.as_ref(),
                    "cycle {}: an offer stands until it is taken",
                    sim.cycle()
                );
            }
            sink.held = if sink.is_ready { None } else { msg.clone() };
            if let (Some(msg), true) = (msg, sink.is_ready) {
                sink.got.push((sim.cycle(), msg));
            }
        }
    }

    /// Ends the cycle; no assertion of the hardware may fail.
    pub fn clock(&mut self) {
        self.sim.step();
        if let Some(failure) = self.sim.failures().first() {
            panic!("{failure:?}");
        }
    }

    /// Whole cycles.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.drive();
            self.clock();
        }
    }

    /// Sum of the counters of this name over all units.
    pub fn counted(&self, name: &str) -> u64 {
        self.sim.probes().filter(|p| p.name == name).map(|p| p.count).sum()
    }

    /// Nothing is left to send.
    pub fn all_sent(&self) -> bool {
        self.sources.iter().all(|s| s.queue.is_empty())
    }
}
