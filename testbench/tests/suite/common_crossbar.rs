//! Arbiters and crossbars against a plain model that predicts every transfer and its cycle.

use crate::common_bench;
use common_bench::*;
use proptest::prelude::*;
use rand::Rng;
use std::collections::VecDeque;
use weft_blocks::common::arbiter::{Order, arbiter};
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::register::{Routed, RoutedShape};
use weft_rtl::prelude::*;

/// A crossbar in plain Rust: queues in front, one register per output.
struct Model {
    order: Order,
    queues: Vec<VecDeque<(usize, Msg)>>,
    /// Cycle in which each input's oldest message came to the head.
    since: Vec<u64>,
    next: Vec<usize>,
    held: Vec<Option<Msg>>,
    taken: Vec<Vec<Msg>>,
}

impl Model {
    fn new(order: Order, n: usize, m: usize) -> Model {
        Model {
            order,
            queues: vec![VecDeque::new(); n],
            since: vec![0; n],
            next: vec![0; m],
            held: vec![None; m],
            taken: vec![Vec::new(); m],
        }
    }

    fn choose(&self, output: usize) -> Option<usize> {
        let n = self.queues.len();
        let asks = |i: &usize| self.queues[*i].front().is_some_and(|(dest, _)| *dest == output);
        match self.order {
            Order::RoundRobin => (0..n).map(|k| (self.next[output] + k) % n).find(asks),
            Order::OldestFirst => (0..n).filter(asks).min_by_key(|i| (self.since[*i], *i)),
        }
    }

    fn cycle(&mut self, now: u64, arrived: Vec<Option<(usize, Msg)>>, ready: &[bool]) {
        for (i, msg) in arrived.into_iter().enumerate() {
            if let Some(msg) = msg {
                if self.queues[i].is_empty() {
                    self.since[i] = now;
                }
                self.queues[i].push_back(msg);
            }
        }
        let choices: Vec<Option<usize>> = (0..self.held.len()).map(|j| self.choose(j)).collect();
        for (j, choice) in choices.into_iter().enumerate() {
            if ready[j]
                && let Some(msg) = self.held[j].take()
            {
                self.taken[j].push(msg);
            }
            if self.held[j].is_none()
                && let Some(i) = choice
            {
                self.held[j] = self.queues[i].pop_front().map(|(_, msg)| msg);
                self.since[i] = now + 1;
                self.next[j] = (i + 1) % self.queues.len();
            }
        }
    }
}

/// Runs a block beside the model; `dest` reads a message's output.
fn compare(b: &mut Bench, mut model: Model, dest: impl Fn(&Msg) -> usize, cycles: u64) {
    for now in 0..cycles {
        b.drive();
        for (j, sink) in b.sinks.iter().enumerate() {
            assert_eq!(sink.offered, model.held[j].is_some(), "cycle {now}, output {j}");
        }
        let arrived = b.sources.iter_mut().map(|s| s.taken.take().map(|m| (dest(&m), m))).collect();
        let ready: Vec<bool> = b.sinks.iter().map(|s| s.is_ready).collect();
        model.cycle(now, arrived, &ready);
        b.clock();
    }
    let mut total = 0;
    for (j, sink) in b.sinks.iter().enumerate() {
        let got: Vec<&Msg> = sink.got.iter().map(|(_, m)| m).collect();
        assert_eq!(got, model.taken[j].iter().collect::<Vec<_>>(), "output {j}");
        total += got.len();
    }
    assert!(total > 0, "something was transferred");
}

fn run_crossbar(n: u32, m: u32, give: f64, take: f64, seed: u64) {
    let shape = RoutedShape { outputs: m, width: 67 };
    let module = crossbar::<Routed>(&format!("xbar_{n}x{m}"), n, m, &shape, |msg| msg.dest).unwrap();
    let mut b = Bench::new(&module, seed);
    for i in 0..n {
        let s = b.source::<Routed>(&format!("in{i}"), &shape);
        b.sources[s].chance = give;
        for _ in 0..60 {
            let mut msg = random_msg::<Routed>(&mut b.rng, &shape);
            msg[0] = Bv::from_u64(b.rng.random_range(0..u64::from(m)), bits_for(u64::from(m)));
            b.sources[s].queue.push_back(msg);
        }
    }
    for j in 0..m {
        let s = b.sink::<Routed>(&format!("out{j}"), &shape);
        b.sinks[s].chance = take;
    }
    let model = Model::new(Order::RoundRobin, n as usize, m as usize);
    compare(&mut b, model, |msg| msg[0].low_u64() as usize, 400);
}

fn run_arbiter(order: Order, n: u32, give: f64, take: f64, seed: u64) {
    let module = arbiter::<Bits>(&format!("arb_{n}"), order, n, &40).unwrap();
    let mut b = Bench::new(&module, seed);
    for i in 0..n {
        let s = b.source::<Bits>(&format!("in{i}"), &40);
        b.sources[s].chance = give;
        b.sources[s].queue = (0..60).map(|k| vec![Bv::from_u64(u64::from(i) << 20 | k, 40)]).collect();
    }
    b.sink::<Bits>("out", &40);
    b.sinks[0].chance = take;
    compare(&mut b, Model::new(order, n as usize, 1), |_| 0, 300);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn crossbar_follows_the_model(
        n in 1u32..6, m in 1u32..6, give in 0.2f64..1.0, take in 0.2f64..1.0, seed: u64,
    ) {
        run_crossbar(n, m, give, take, seed);
    }

    #[test]
    fn round_robin_follows_the_model(n in 1u32..9, give in 0.05f64..1.0, take in 0.2f64..1.0, seed: u64) {
        run_arbiter(Order::RoundRobin, n, give, take, seed);
    }

    #[test]
    fn oldest_first_follows_the_model(n in 1u32..9, give in 0.05f64..1.0, take in 0.2f64..1.0, seed: u64) {
        run_arbiter(Order::OldestFirst, n, give, take, seed);
    }
}

#[test]
fn many_inputs() {
    run_crossbar(33, 3, 0.5, 0.9, 7);
    run_arbiter(Order::RoundRobin, 65, 0.1, 0.9, 8);
    run_arbiter(Order::OldestFirst, 65, 0.1, 0.9, 9);
}

#[test]
fn full_rate() {
    // A permutation of inputs onto outputs passes without loss of a cycle.
    let shape = RoutedShape { outputs: 4, width: 8 };
    let module = crossbar::<Routed>("xbar_rate", 4, 4, &shape, |msg| msg.dest).unwrap();
    let mut b = Bench::new(&module, 0);
    for i in 0..4u64 {
        let s = b.source::<Routed>(&format!("in{i}"), &shape);
        b.sources[s].queue =
            (0..100).map(|k| vec![Bv::from_u64((i + 1) % 4, 2), Bv::from_u64(k, 8)]).collect();
        b.sink::<Routed>(&format!("out{i}"), &shape);
    }
    b.run(102);
    assert!(b.sinks.iter().all(|s| s.got.len() == 100));
}
