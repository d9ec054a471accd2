//! A network whose messages are numbered: each arrives once, where it should.

use crate::{Bench, Msg};
use std::collections::BTreeMap;

/// Messages on their way.
pub struct Mail {
    /// The network.
    pub b: Bench,
    /// Field of every message that has its number.
    field: &'static str,
    /// Channel that each should come out of and number, and the cycle in which it was offered.
    pub sent: BTreeMap<(String, u64), u64>,
    /// Number of the next message.
    pub next: u64,
    /// Cycles that messages have taken, by number.
    pub took: BTreeMap<u64, u64>,
}

impl Mail {
    /// Nothing is on its way.
    pub fn new(b: Bench, field: &'static str) -> Mail {
        Mail { b, field, sent: BTreeMap::new(), next: 0, took: BTreeMap::new() }
    }

    /// Sends the message of the next number, which should come out of channel `into`; its number.
    pub fn post(&mut self, out: &str, into: String, msg: Msg) -> u64 {
        let number = self.next;
        self.next += 1;
        self.b.send(out, msg);
        self.sent.insert((into, number), self.b.sim.cycle());
        number
    }

    /// One cycle.
    ///
    /// # Panics
    /// When a message comes that should not.
    pub fn step(&mut self) {
        self.b.step();
        let names: Vec<String> = self.b.sinks.keys().cloned().collect();
        for name in names {
            while let Some((cycle, m)) = self.b.received(&name) {
                let number = m.get(self.field);
                let begun = self.sent.remove(&(name.clone(), number));
                let begun = begun.unwrap_or_else(|| panic!("{number} comes to {name}"));
                self.took.insert(number, cycle - begun);
            }
        }
    }

    /// Steps until everything has arrived.
    ///
    /// # Panics
    /// When something does not in 20 000 cycles.
    pub fn drain(&mut self) {
        self.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
        for _ in 0..20_000 {
            if self.sent.is_empty() {
                return;
            }
            self.step();
        }
        panic!("{} messages never arrive: {:?}", self.sent.len(), self.sent.iter().next());
    }
}
