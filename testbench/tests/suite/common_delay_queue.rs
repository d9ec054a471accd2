//! The channel with a time of flight: when each message leaves, order, room for all that is under way.

use crate::common_bench;
use common_bench::*;
use proptest::prelude::*;
use weft_blocks::common::delay_queue::delay_queue;
use weft_rtl::prelude::*;

const WIDTH: u32 = 70;

fn bench(cycles: u32, seed: u64, count: usize) -> (Bench, Vec<Msg>) {
    let module = delay_queue::<Bits>(&format!("delay_queue_{cycles}"), cycles, &WIDTH).unwrap();
    let mut bench = Bench::new(&module, seed);
    bench.source::<Bits>("in", &WIDTH);
    bench.sink::<Bits>("out", &WIDTH);
    let sent: Vec<Msg> = (0..count).map(|_| random_msg::<Bits>(&mut bench.rng, &WIDTH)).collect();
    bench.sources[0].queue = sent.iter().cloned().collect();
    (bench, sent)
}

/// Cycles in which messages were taken and received.
fn times(b: &mut Bench, all: usize) -> (Vec<u64>, Vec<u64>) {
    let mut taken = Vec::new();
    let mut left = b.sources[0].queue.len();
    for _ in 0..40_000 {
        if b.sinks[0].got.len() == all {
            break;
        }
        let now = b.sim.cycle();
        b.run(1);
        let after = b.sources[0].queue.len();
        taken.extend((after..left).map(|_| now));
        left = after;
    }
    (taken, b.sinks[0].got.iter().map(|(cycle, _)| *cycle).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_is_early_and_order_is_kept(
        cycles in prop::sample::select(vec![3u32, 4, 7, 13, 14, 24, 61]),
        give in 0.1f64..1.0, take in 0.1f64..1.0, seed: u64,
    ) {
        let (mut b, sent) = bench(cycles, seed, 200);
        (b.sources[0].chance, b.sinks[0].chance) = (give, take);
        let (taken, got) = times(&mut b, sent.len());
        let received: Vec<Msg> = b.sinks[0].got.iter().map(|(_, m)| m.clone()).collect();
        prop_assert_eq!(received, sent);
        for (i, (start, end)) in taken.iter().zip(&got).enumerate() {
            prop_assert!(end - start >= u64::from(cycles), "message {i} took {} cycles", end - start);
        }
    }
}

#[test]
fn a_willing_receiver_gets_one_per_cycle_exactly_on_time() {
    for cycles in [3, 24] {
        let (mut b, sent) = bench(cycles, 5, 300);
        let (taken, got) = times(&mut b, sent.len());
        let flights: Vec<u64> = taken.iter().zip(&got).map(|(start, end)| end - start).collect();
        assert_eq!(flights, vec![u64::from(cycles); 300], "cycles {cycles}");
        assert_eq!(got[299] - got[0], 299, "one per cycle");
    }
}

#[test]
fn it_holds_what_arrives_in_its_time_and_two_more() {
    for cycles in [3, 14, 40] {
        let (mut b, sent) = bench(cycles, 1, 200);
        b.sinks[0].chance = 0.0;
        b.run(200);
        assert_eq!(sent.len() - b.sources[0].queue.len(), cycles as usize + 3, "and the output register");
    }
}

#[test]
fn sleeps_when_nothing_moves() {
    let (mut b, _) = bench(16, 3, 100);
    b.sinks[0].chance = 0.0;
    b.run(60);
    let (valid, ready) = (b.input("in_valid"), b.input("out_ready"));
    b.sim.set(valid, 0);
    b.sim.set(ready, 0);
    b.sim.run(20);
    assert!(b.sim.asleep());
}
