//! `mgcc-l1` against the golden L1: a random CU, banks that answer late and in any order, other GPUs that write, rolls, back-pressure.
//!
//! Every row `mgcc.l1.*` of the two tables and every race `mgcc.race.l1_*` is hit by the random tests. Each loaded byte is also compared with what memory held at the time that `cu_time` tells.

use crate::mgcc_l1_bench;

use mgcc_l1_bench::{Traffic, Trial, small};
use std::collections::BTreeSet;
use weft_mgcc::choice::{Coherence, Consistency, Inject};
use weft_mgcc::l1::L1Params;
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::golden::l1::CuWork;
use weft_mgcc_bench::golden::msg::Data;
use weft_mgcc_bench::golden::time::Time;

fn params(consistency: Consistency, coherence: Coherence) -> L1Params {
    small(&L1Params::published(Tsm::default(), consistency, coherence))
}

/// Random traffic with several seeds; covers that none of them has hit.
fn trials(p: &L1Params, seeds: std::ops::Range<u64>, traffic: Traffic, mean: f64) -> BTreeSet<String> {
    let mut missed: Option<BTreeSet<String>> = None;
    for seed in seeds {
        let mut trial = Trial::new(p, seed, traffic);
        trial.memory.mean = mean;
        for _ in 0..4 {
            trial.run(3_000);
            trial.drain();
        }
        let now: BTreeSet<String> = trial.b.uncovered(&[]).into_iter().collect();
        missed = Some(match missed {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        });
        assert!(trial.answers.iter().all(|n| *n > 50), "answers by blocks, L2, merged: {:?}", trial.answers);
    }
    missed.unwrap_or_default()
}

/// Nothing happens by itself, and everything below is quick.
fn quiet(p: &L1Params) -> Trial {
    let traffic = Traffic { chance: 0.0, others: 0.0, rolls: 0.0, ready: 1.0, ..Traffic::default() };
    let mut trial = Trial::new(p, 1, traffic);
    trial.memory.slow = 1;
    (0..p.sets() + 8).for_each(|_| trial.cycle(false));
    trial
}

const LOAD: CuWork = CuWork::Load { sync: false };

fn store(want_ack: bool) -> CuWork {
    CuWork::Store { data: Data::from_words([7; 8]), want_ack }
}

#[test]
fn release_consistency_as_the_model() {
    let p = params(Consistency::Rc, Coherence::Mgcc);
    let missed = trials(&p, 0..4, Traffic::default(), 0.05);
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn sequential_consistency_as_the_model() {
    let p = params(Consistency::Sc, Coherence::Mgcc);
    let missed = trials(&p, 10..14, Traffic::default(), 0.05);
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

#[test]
fn without_coherence_as_the_model() {
    for consistency in [Consistency::Rc, Consistency::Sc] {
        let p = params(consistency, Coherence::None);
        let traffic = Traffic { rolls: 0.0, others: 0.0, ..Traffic::default() };
        let missed = trials(&p, 20..23, traffic, 0.0);
        assert!(missed.is_empty(), "never seen: {missed:?}");
    }
}

#[test]
fn faults_as_the_model_has_them() {
    for inject in [Inject::LitReadCts, Inject::LitBrts, Inject::LitAckNodata] {
        for consistency in [Consistency::Rc, Consistency::Sc] {
            let p = L1Params { inject, ..params(consistency, Coherence::Mgcc) };
            trials(&p, 30..31, Traffic::default(), 0.0);
        }
    }
}

/// Other sizes: the published one with lines that crowd its sets, the smallest, one bank, a slow CU, every choice once.
#[test]
fn other_sizes_and_choices_as_the_model() {
    let rc = params(Consistency::Rc, Coherence::Mgcc);
    let sc = params(Consistency::Sc, Coherence::Mgcc);
    let none = params(Consistency::Rc, Coherence::None);
    let published = L1Params::published(Tsm::default(), Consistency::Rc, Coherence::Mgcc);
    let wide = Tsm { ts: 9, ..rc.tsm.clone() };
    let sets: [(&str, L1Params); 8] = [
        ("published", L1Params { observe: true, latency: 20, size: 4096, ..published }),
        (
            "one MSHR, one pool entry",
            L1Params { pool: 1, tsm: Tsm { l1_mshrs: 1, ..rc.tsm.clone() }, ..rc.clone() },
        ),
        ("one bank", L1Params { tsm: Tsm { banks: 1, cus: 2, ..rc.tsm.clone() }, latency: 3, ..rc.clone() }),
        ("eager rc", L1Params { eager: true, repl_ts: false, ..rc.clone() }),
        ("no steps of the clock", L1Params { self_inc: 0, ..rc.clone() }),
        ("bytes", L1Params { tsm: wide.clone(), ..rc }),
        ("bytes, sc", L1Params { tsm: wide, ways: 4, size: 512, self_inc: 2, observe: false, ..sc }),
        ("none", L1Params { tsm: Tsm { ts: 16, eb: 4, cts: 64, ..none.tsm.clone() }, ..none }),
    ];
    for (i, (name, p)) in sets.iter().enumerate() {
        println!("{name}");
        let rolls = if p.coherent() { 0.01 } else { 0.0 };
        let others = if p.coherent() { 0.05 } else { 0.0 };
        let lines = u64::from(p.sets() * p.ways * 3);
        let traffic = Traffic { lines, rolls, others, slow_cu: i % 2 == 0, ..Traffic::default() };
        let mut trial = Trial::new(p, 40 + i as u64, traffic);
        for _ in 0..3 {
            trial.run(2_500);
            trial.drain();
        }
        assert!(trial.log.len() > 150, "{name}: only {} answers", trial.log.len());
    }
}

/// Without timestamps from the L1 a bank behind it answers too old, and the read is asked again.
#[test]
fn without_timestamps_reads_are_asked_again() {
    let p = L1Params { inject: Inject::LitNoTs, ..params(Consistency::Rc, Coherence::Mgcc) };
    let mut trial = Trial::new(&p, 50, Traffic { rolls: 0.01, ..Traffic::default() });
    trial.run(8_000);
    assert_eq!(trial.b.counted("mgcc_l1_ts_attached"), 0);
    assert!(trial.b.counted("mgcc_l1_replays_again") > 20);
}

#[test]
fn a_hit_takes_the_latency_and_hits_stream() {
    for latency in [3, 4, 60] {
        let p = L1Params { latency, self_inc: 0, ..params(Consistency::Rc, Coherence::Mgcc) };
        let mut trial = quiet(&p);
        trial.alone(3, 0xff, LOAD);
        let (cycles, answer) = trial.alone(3, 0xff, LOAD);
        assert_eq!((cycles, answer.src), (u64::from(latency), 0));
        for _ in 0..40 {
            trial.offer(3, u64::MAX, LOAD);
        }
        trial.drain();
        let times: Vec<u64> = trial.log[2..].iter().map(|(cycle, _)| *cycle).collect();
        assert!(times.windows(2).all(|w| w[1] == w[0] + 1), "one hit per cycle: {times:?}");
        assert_eq!(trial.b.counted("mgcc_l1_hits"), 41);
        // Inputs stand still from here on; before, unused ones carry noise.
        trial.b.sim.run(20);
        assert!(trial.b.sim.asleep(), "an idle cache sleeps");
    }
}

/// Why requests wait.
#[test]
fn every_stall_has_its_cause() {
    let p = L1Params { self_inc: 0, ..params(Consistency::Rc, Coherence::Mgcc) };
    crate::l1_ports::every_stall_has_its_cause(&mut quiet(&p).b, &p);
}

#[test]
fn a_hit_leaves_in_its_cycle() {
    let p = L1Params { self_inc: 0, ..params(Consistency::Rc, Coherence::Mgcc) };
    crate::l1_ports::a_hit_leaves_in_its_cycle(&mut quiet(&p).b, &p);
}

#[test]
fn the_latency_counter_is_the_sum_of_what_the_cu_measures() {
    let mut trial = quiet(&params(Consistency::Rc, Coherence::Mgcc));
    for i in 0..60 {
        let line = i * 7 % 12;
        let work = if i % 3 == 0 { store(true) } else { LOAD };
        trial.alone(line, 0xff, work);
        trial.alone(0, 0, CuWork::Fence);
    }
    assert_eq!(trial.b.counted("mgcc_l1_latency"), trial.latency);
    // Several at a time: requests wait in front of S1 too, which only the CU sees.
    for i in 0..30 {
        trial.offer(i % 5, 1, LOAD);
    }
    trial.drain();
    let counted = trial.b.counted("mgcc_l1_latency");
    assert!(counted <= trial.latency && counted * 10 > trial.latency * 5, "{counted} of {}", trial.latency);
}

#[test]
fn a_sweep_takes_one_cycle_per_set_and_keeps_locked_blocks() {
    let p = L1Params { size: 2048, ways: 2, ..params(Consistency::Rc, Coherence::Mgcc) };
    let mut trial = quiet(&p);
    for line in 0..8 {
        trial.alone(line, 1, LOAD);
    }
    trial.memory.slow = 400;
    trial.offer(2, u64::MAX, store(true));
    (0..10).for_each(|_| trial.cycle(false));
    let locked = |trial: &Trial| {
        trial.b.sim.peek("locked0").unwrap().low_u64() | trial.b.sim.peek("locked1").unwrap().low_u64()
    };
    assert_eq!(locked(&trial), 1 << 2);
    trial.begin_epoch();
    (0..150).for_each(|_| trial.cycle(false));
    assert_eq!(trial.b.counted("mgcc_l1_rolls_told"), 1);
    assert_eq!(trial.b.counted("mgcc_l1_sweep_cycles"), u64::from(p.sets()));
    assert_eq!(locked(&trial), 1 << 2, "a locked block outlives the roll");
    assert_eq!(
        trial.b.sim.peek("valid0").unwrap().low_u64() | trial.b.sim.peek("valid1").unwrap().low_u64(),
        0
    );
    trial.drain();
    let (_, answer) = trial.alone(5, 1, LOAD);
    assert_eq!((answer.src != 0, answer.time.epoch), (true, 1), "what was leased before is over");
}

/// A store without acknowledgement is the L1's duty: a fence behind it waits, and times go from kernel to kernel.
#[test]
fn fences_wait_for_stores_and_carry_the_clock() {
    let mut trial = quiet(&params(Consistency::Rc, Coherence::Mgcc));
    trial.memory.slow = 200;
    trial.offer(1, u64::MAX, store(false));
    trial.offer(1, 3, store(false));
    let (cycles, fence) = trial.alone(0, 0, CuWork::Fence);
    assert_eq!(
        trial.b.counted("mgcc_l1_responses"),
        2,
        "both stores have completed, also the one that waited"
    );
    assert!(cycles > 4 && fence.ack);
    trial.memory.slow = 1;
    let (_, end) = trial.alone(0, 0, CuWork::Kend);
    let told = end.data.number(0, 8);
    assert_eq!(told, trial.golden.cts().pack(trial.p.tsm.ts));
    assert!(told > 0, "the second store's wts");
    trial.alone(0, 0, CuWork::Kbegin(Time::new(0, told + 9)));
    assert_eq!(trial.golden.cts().ts, told + 9);
    trial.alone(0, 0, CuWork::Kbegin(Time::new(0, 1)));
    assert_eq!(trial.golden.cts().ts, told + 9, "the clock does not go back");
}
