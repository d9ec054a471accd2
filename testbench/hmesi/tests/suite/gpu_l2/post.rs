//! A network that keeps no order, between the channels of a module under test.

use rand::Rng;
use weft_spandex_bench::bench::{Bench, Msg};

/// Messages on their way.
pub struct Post {
    /// When, into which channel.
    due: Vec<(u64, String, Msg)>,
    /// Longest time of most messages.
    pub slow: u64,
}

impl Post {
    /// An empty network.
    pub fn new() -> Post {
        Post { due: Vec::new(), slow: 20 }
    }

    /// A message sets out.
    pub fn send(&mut self, b: &mut Bench, to: String, m: Msg) {
        // Now and then a message takes so long that whole critical sections lie between.
        let long = if b.rng.random_bool(0.03) { 10 * self.slow } else { self.slow };
        let due = b.sim.cycle() + b.rng.random_range(1..=long);
        self.due.push((due, to, m));
    }

    /// All messages that a channel has sent set out; `to` names the channel for each.
    pub fn route(&mut self, b: &mut Bench, from: &str, to: impl Fn(&Msg) -> String) {
        while let Some((_, m)) = b.received(from) {
            self.send(b, to(&m), m);
        }
    }

    /// What is due arrives.
    pub fn deliver(&mut self, b: &mut Bench) {
        let now = b.sim.cycle();
        let (arrived, rest) = std::mem::take(&mut self.due).into_iter().partition(|d| d.0 <= now);
        self.due = rest;
        let arrived: Vec<(u64, String, Msg)> = arrived;
        arrived.into_iter().for_each(|(_, to, m)| b.send(&to, m));
    }
}
