//! `epoch-ctl` and `gpu-relay`: one roll at a time, told to everybody once, over when everybody has acknowledged it. Rows hit: all of `mgcc.epoch.*`.

use rand::Rng;
use weft_mgcc::epoch_ctl::{epoch_ctl, relay};
use weft_mgcc::msg::{Roll, RollAck};
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::bench::{Bench, Msg};

fn tsm() -> Tsm {
    Tsm { gpus: 4, banks: 2, cus: 3, ..Tsm::default() }
}

/// An epoch as the wires carry it.
fn number(t: &Tsm, epoch: u64) -> u64 {
    epoch & ((1 << t.epoch_bits()) - 1)
}

fn ack(t: &Tsm, epoch: u64) -> Msg {
    Msg::of::<RollAck>(t, &[("epoch", number(t, epoch))])
}

/// Receivers of Rolls: when each will acknowledge the epoch that it was told. Epochs are counted in full; on the wires they are modulo 2^(CTS-TS).
struct Receivers {
    t: Tsm,
    ports: Vec<(String, String)>,
    told: Vec<u64>,
    due: Vec<Option<u64>>,
    acked: Vec<u64>,
}

impl Receivers {
    fn new(b: &mut Bench, t: &Tsm, ports: Vec<(String, String)>) -> Receivers {
        for (roll, ack) in &ports {
            b.sink::<Roll>(roll, t);
            b.source::<RollAck>(ack, t);
        }
        let n = ports.len();
        Receivers { t: t.clone(), ports, told: vec![0; n], due: vec![None; n], acked: vec![0; n] }
    }

    /// Notes what was told and acknowledges after a while.
    fn step(&mut self, b: &mut Bench) {
        let now = b.sim.cycle();
        for (i, (roll, ack_port)) in self.ports.iter().enumerate() {
            if let Some((_, m)) = b.received(roll) {
                let next = number(&self.t, self.told[i] + 1);
                assert_eq!(m.get("epoch"), next, "{roll}: each epoch once, in order");
                assert_eq!(self.acked[i], self.told[i], "{roll}: told again before it has acknowledged");
                self.told[i] += 1;
                self.due[i] = Some(now + b.rng.random_range(0..60));
            }
            if self.due[i].is_some_and(|at| at <= now) {
                self.due[i] = None;
                b.send(ack_port, ack(&self.t, self.told[i]));
            }
            if b.taken(ack_port).is_some() {
                self.acked[i] = self.told[i];
            }
        }
        let (first, last) = (self.told.iter().max(), self.acked.iter().min());
        assert!(first <= last.map(|l| l + 1).as_ref(), "a roll begins before the last one is over");
    }
}

/// Clocks with the fewest epochs: 8.
fn short() -> Tsm {
    Tsm { ts: 7, eb: 3, cts: 10, ..tsm() }
}

#[test]
fn one_roll_at_a_time_for_everybody_who_is_asked_for() {
    for seed in 0..4 {
        one_roll_at_a_time(&tsm(), seed);
    }
}

#[test]
fn epochs_begin_again_at_0() {
    for seed in 4..8 {
        one_roll_at_a_time(&short(), seed);
    }
}

/// More rolls than short clocks have epochs, asked for by UMCs that may be an epoch behind.
fn one_roll_at_a_time(t: &Tsm, seed: u64) {
    let mut b = Bench::new(&epoch_ctl(t).expect("legal widths"), seed);
    let gpus = (0..t.gpus).map(|g| (format!("roll{g}"), format!("ack{g}")));
    let umcs = (0..t.banks).map(|u| (format!("rollu{u}"), format!("acku{u}")));
    let mut all = Receivers::new(&mut b, t, gpus.chain(umcs).collect());
    let asks: Vec<String> = (0..t.banks).map(|u| format!("ask{u}")).collect();
    asks.iter().for_each(|ask| b.source::<RollAck>(ask, t));
    let (mut asked, mut sent) = (0, vec![0; asks.len()]);
    for cycle in 0..8_000 {
        if cycle % 200 == 0 {
            for sink in b.sinks.values_mut() {
                sink.chance = b.rng.random_range(0.05..1.0);
            }
        }
        // A UMC asks for the end of the epoch that it has been told of, or of one that is over.
        for (u, ask) in asks.iter().enumerate() {
            if b.source_mut(ask).queue.is_empty() && b.rng.random_bool(0.02) {
                let own = all.told[t.gpus as usize + u];
                // Of short clocks an ask is only a few epochs old.
                let least = if t.epoch_bits() == 3 { own.saturating_sub(3) } else { 0 };
                let late = own > 0 && b.rng.random_bool(0.3);
                let left = if late { b.rng.random_range(least..own) } else { own };
                b.send(ask, ack(t, left));
                sent[u] = left;
            }
        }
        b.step();
        for (u, ask) in asks.iter().enumerate() {
            if b.taken(ask).is_some() {
                asked = asked.max(sent[u] + 1);
            }
        }
        all.step(&mut b);
        let begun = b.counted("rolls");
        assert!(begun <= asked && all.told.iter().all(|told| *told <= begun), "a roll that nobody asked for");
    }
    for _ in 0..2_000 {
        b.step();
        all.step(&mut b);
    }
    let begun = b.counted("rolls");
    assert!(begun > 20 && all.acked.iter().all(|acked| *acked == begun), "{begun} rolls, {:?}", all.acked);
    assert!(b.sources.values().all(|s| s.queue.is_empty()), "an ask waits for ever");
    // What was asked for has come.
    assert_eq!(begun, asked);
    assert_eq!(b.uncovered(&[]), [""; 0]);
}

#[test]
fn two_asks_of_one_epoch_make_one_roll() {
    let t = tsm();
    let mut b = Bench::new(&epoch_ctl(&t).expect("legal widths"), 9);
    let ports = ["roll0", "roll1", "roll2", "roll3", "rollu0", "rollu1"];
    let ports = ports.map(|roll| (roll.to_string(), roll.replace("roll", "ack")));
    let mut all = Receivers::new(&mut b, &t, ports.to_vec());
    for u in 0..2 {
        b.source::<RollAck>(&format!("ask{u}"), &t);
        b.send(&format!("ask{u}"), ack(&t, 0));
    }
    for _ in 0..300 {
        b.step();
        all.step(&mut b);
    }
    b.send("ask1", ack(&t, 0));
    for _ in 0..300 {
        b.step();
        all.step(&mut b);
    }
    assert_eq!((b.counted("rolls"), all.acked), (1, vec![1; 6]));
}

#[test]
fn a_relay_acknowledges_when_all_have() {
    for (seed, leaves) in [(1, 1), (2, 5), (3, 72)] {
        let t = tsm();
        let mut b = Bench::new(&relay(&t, leaves).expect("legal widths"), seed);
        b.source::<Roll>("roll", &t);
        b.sink::<RollAck>("ack", &t);
        let ports = (0..leaves).map(|i| (format!("roll{i}"), format!("ack{i}"))).collect();
        let mut all = Receivers::new(&mut b, &t, ports);
        for epoch in 1..30 {
            b.sink_mut("ack").chance = b.rng.random_range(0.1..1.0);
            b.send("roll", Msg::of::<Roll>(&t, &[("epoch", epoch)]));
            let mut done = None;
            while done.is_none() {
                b.step();
                all.step(&mut b);
                done = b.received("ack");
            }
            assert_eq!(done.map(|(_, m)| m.get("epoch")), Some(epoch));
            assert!(all.acked.iter().all(|acked| *acked == epoch), "{:?}", all.acked);
        }
    }
}
