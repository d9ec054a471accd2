//! The queue block: order, nothing lost, capacity, throughput.

use crate::common_bench;
use common_bench::*;
use proptest::prelude::*;
use weft_blocks::common::fifo::fifo;
use weft_rtl::prelude::*;

const WIDTH: u32 = 70;

fn bench(depth: u32, seed: u64) -> Bench {
    let module = fifo::<Bits>(&format!("fifo_{depth}"), depth, &WIDTH).unwrap();
    let mut bench = Bench::new(&module, seed);
    bench.source::<Bits>("in", &WIDTH);
    bench.sink::<Bits>("out", &WIDTH);
    bench
}

fn fill(bench: &mut Bench, count: usize) -> Vec<Msg> {
    let all: Vec<Msg> = (0..count).map(|_| random_msg::<Bits>(&mut bench.rng, &WIDTH)).collect();
    bench.sources[0].queue = all.iter().cloned().collect();
    all
}

fn received(bench: &Bench) -> Vec<Msg> {
    bench.sinks[0].got.iter().map(|(_, m)| m.clone()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn keeps_order_and_loses_nothing(
        depth in prop::sample::select(vec![1u32, 2, 3, 7, 15, 16, 17, 33]),
        give in 0.1f64..1.0, take in 0.1f64..1.0, seed: u64,
    ) {
        let mut b = bench(depth, seed);
        let sent = fill(&mut b, 200);
        (b.sources[0].chance, b.sinks[0].chance) = (give, take);
        for _ in 0..20_000 {
            if b.sinks[0].got.len() == sent.len() {
                break;
            }
            b.run(1);
        }
        prop_assert_eq!(received(&b), sent);
    }
}

#[test]
fn holds_its_rows_and_the_output_register() {
    for depth in [1, 2, 3, 15, 16, 40] {
        let mut b = bench(depth, 1);
        let sent = fill(&mut b, 100);
        b.sinks[0].chance = 0.0;
        b.run(100);
        assert_eq!(sent.len() - b.sources[0].queue.len(), depth as usize + 1, "depth {depth}");
    }
}

#[test]
fn passes_one_message_per_cycle() {
    for depth in [2, 16] {
        let mut b = bench(depth, 2);
        let sent = fill(&mut b, 50);
        // The first cycle raises ready; a message is then offered in the cycle after it was taken.
        b.run(52);
        assert_eq!(received(&b), sent, "depth {depth}");
    }
}

#[test]
fn sleeps_when_nothing_moves() {
    let mut b = bench(16, 3);
    fill(&mut b, 100);
    b.sinks[0].chance = 0.0;
    b.run(40);
    let (valid, ready) = (b.input("in_valid"), b.input("out_ready"));
    b.sim.set(valid, 0);
    b.sim.set(ready, 0);
    b.sim.run(3);
    assert!(b.sim.asleep());
}
