//! What the benches of the two switches share: sizes of messages, receivers that are compared cycle by cycle, covers over several sets of parameters.

use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_blocks::msg::AmoOp;
use weft_mgcc_bench::bench::{Bench, Msg, random_bits};
use weft_rtl::bv::Bv;
use weft_rtl::ir::ProbeKind;

/// Bytes of a message by the table of mgcc.md section 10, without timestamps.
pub fn bytes(m: &Msg, response: bool) -> u64 {
    match (response, m.get("op")) {
        (false, 1) if m.wide("mask").limbs()[0] == u64::MAX => 76,
        (false, 1) => 84,
        (false, 2) if m.get("amo") == AmoOp::Cas as u64 => 28,
        (false, 2) => 20,
        (false, _) => 12,
        (true, 0) => 80,
        (true, 1) if m.get("with_data") == 1 => 76,
        (true, 1) => 12,
        (true, _) => 88,
    }
}

/// All bytes of a line, or any.
pub fn any_mask(rng: &mut SmallRng) -> Bv {
    if rng.random_bool(0.5) { Bv::ones(64) } else { random_bits(rng, 64) }
}

/// Kind of a response, and whether it has a line.
pub fn any_response(rng: &mut SmallRng) -> [(&'static str, u64); 2] {
    let op = rng.random_range(0..3u64);
    [("op", op), ("with_data", u64::from(op != 1 || rng.random_bool(0.5)))]
}

/// Other chances of all receivers, and the chance of a message.
pub fn shuffle(b: &mut Bench) -> f64 {
    for sink in b.sinks.values_mut() {
        sink.chance = [0.02, 1.0, 1.0, 0.5][b.rng.random_range(0..4)];
    }
    [0.02, 0.3, 1.0][b.rng.random_range(0..3)]
}

/// A receiver gets in cycle `now` exactly what the model offered at its begin, if it is ready: whether it was, and whether something came.
pub fn delivers(b: &mut Bench, now: u64, port: &str, offered: Option<&Msg>) -> (bool, bool) {
    let sink = b.sink_mut(port);
    let got = sink.got.pop_front();
    let expected = offered.filter(|_| sink.is_ready);
    let same = match (&got, &expected) {
        (None, None) => true,
        (Some((at, m)), Some(e)) => *at == now && e.0.iter().all(|(name, value)| &m.0[name] == value),
        _ => false,
    };
    assert!(same, "cycle {now}, {port}: {got:?} instead of {expected:?}");
    (sink.is_ready, got.is_some())
}

/// Covers of several sets of parameters.
#[derive(Default)]
pub struct Covers(BTreeMap<String, u64>);

impl Covers {
    /// Adds those of a bench.
    pub fn add(&mut self, b: &Bench) {
        for probe in b.sim.probes().filter(|probe| probe.kind == ProbeKind::Cover) {
            *self.0.entry(probe.name.to_string()).or_default() += probe.count;
        }
    }

    /// Every cover was seen, and there are as many as rows and more.
    pub fn check(&self, rows: usize) {
        let missed: Vec<_> = self.0.iter().filter(|(_, count)| **count == 0).collect();
        assert!(missed.is_empty() && self.0.len() >= rows, "{missed:?} of {}", self.0.len());
    }
}
