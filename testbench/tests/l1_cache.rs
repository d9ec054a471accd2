//! `l1-cache` against a plain model: a random CU, a behavioural L2 that reorders answers, random back-pressure on every channel.
//!
//! Every row of the L1's table is hit (each test of random traffic checks that for its rows): l1.{I,V,P}.{load,store,atomic},
//! l1.any.{load_bypass,acquire,release,local}. Races: a store or atomic passes an open miss (P -> PX); an acquire while misses are open; a fill in the
//! cycle before a store to its line; a release among stores of both epochs.

mod l1_bench;

use l1_bench::{Bench, Setup};
use weft_blocks::cache::l1::{L1Params, l1_cache};
use weft_blocks::msg::Sys;

fn sys(line: u32) -> Sys {
    Sys {
        gpus: 4,
        gpms: 1,
        addr_bits: 40,
        line,
        banks: 4,
        l1s: 4,
        l2_mshrs: 16,
        l1_mshrs: 6,
        il: 4096,
        home_shift: 30,
    }
}

fn small(line: u32) -> L1Params {
    L1Params {
        sys: sys(line),
        size: 4 * line * 4,
        ways: 4,
        targets: 3,
        stores: 5,
        latency: 7,
        bypass_remote: false,
    }
}

fn run(params: &L1Params, setup: Setup) -> Bench {
    let module = l1_cache(params).expect("legal parameters");
    let mut bench = Bench::new(&module, params, setup);
    bench.run(20_000);
    bench.drain();
    bench
}

#[test]
fn alone_every_load_returns_the_last_store_before_it() {
    for seed in 0..4 {
        let bench = run(&small(64), Setup { seed, ..Setup::default() });
        bench.every_row_but(&["l1.any.load_bypass"]);
        assert!(bench.loads > 3_000, "only {} loads", bench.loads);
    }
}

#[test]
fn with_128_byte_lines_and_two_ways() {
    let params = L1Params { ways: 2, size: 128 * 2 * 8, latency: 3, ..small(128) };
    let bench = run(&params, Setup { seed: 11, ..Setup::default() });
    bench.every_row_but(&["l1.any.load_bypass"]);
}

#[test]
fn with_other_writers_no_load_is_older_than_the_last_acquire() {
    for seed in 20..24 {
        let bench = run(&small(64), Setup { seed, others: true, ..Setup::default() });
        bench.every_row_but(&["l1.any.load_bypass"]);
        assert!(bench.stale_allowed > 100, "the test never saw a stale copy, so it shows little");
    }
}

#[test]
fn remote_lines_are_never_kept_when_bypassed() {
    let params = L1Params { bypass_remote: true, ..small(64) };
    for others in [false, true] {
        let bench = run(&params, Setup { seed: 30, others, remote: true, ..Setup::default() });
        bench.every_row_but(&[]);
        assert!(bench.remote_loads > 1_000);
    }
}

#[test]
fn without_back_pressure_a_hit_takes_the_stated_latency_and_hits_stream() {
    for latency in [3, 4, 20] {
        let params = L1Params { latency, ..L1Params::published(sys(64)) };
        let module = l1_cache(&params).expect("legal parameters");
        let mut bench = Bench::new(&module, &params, Setup { quiet: true, ..Setup::default() });
        let times = bench.stream_of_hits(40);
        for (sent, answered) in &times {
            assert_eq!(answered - sent, u64::from(latency));
        }
        assert!(times.windows(2).all(|w| w[1].0 == w[0].0 + 1), "one hit per cycle");
        bench.sleeps_when_idle();
    }
}
