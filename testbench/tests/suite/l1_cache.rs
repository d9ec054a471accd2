//! `l1-cache` against a plain model: a random CU, a behavioural L2 that reorders answers, random back-pressure on every channel.
//!
//! Every row of the L1's table is hit (each test of random traffic checks that for its rows): l1.{I,V,P}.{load,load_forced,store,atomic},
//! l1.any.{load_bypass,acquire,release,local}. Races: a store or atomic passes an open miss (P -> PX); an acquire while misses are open; a fill in the
//! cycle before a store to its line; a release among stores of both epochs.

use crate::l1_bench;

use l1_bench::{Bench, Setup};
use weft_blocks::cache::l1::{L1Act, L1Inject, L1Params, l1_cache, requests};
use weft_blocks::msg::Sys;
use weft_rtl::value::HwEnum;
use weft_testbench::golden::l1_table::{Answer, Copies, L1, L1Event, L1Row};

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
        owners: false,
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
        scoped: false,
        store_scope: false,
        inject: L1Inject::None,
    }
}

fn run(params: &L1Params, setup: Setup) -> Bench {
    let module = l1_cache(params).expect("legal parameters");
    let mut bench = Bench::new(&module, params, setup);
    bench.run(20_000);
    bench.drain();
    bench
}

/// The actions that a golden row asks for.
fn actions(row: &L1Row) -> Vec<L1Act> {
    let mut out = match row.answer {
        Answer::Hit => vec![L1Act::Hit],
        Answer::Join => vec![L1Act::Merge],
        Answer::Read => vec![L1Act::Alloc, L1Act::Open, L1Act::Read],
        Answer::ReadOnly => vec![L1Act::Alloc, L1Act::Read],
        Answer::Write => vec![L1Act::Write],
        Answer::Atomic => vec![L1Act::Alloc, L1Act::Atomic],
        Answer::AtOnce => vec![L1Act::Ack],
        Answer::WhenWritten => vec![L1Act::Release],
    };
    out.extend(match row.copies {
        Copies::Keep => None,
        Copies::Update => Some(L1Act::Update),
        Copies::Drop => Some(L1Act::Drop),
        Copies::DropAll => Some(L1Act::Flash),
    });
    out.extend(row.poison.then_some(L1Act::Poison));
    out.sort_by_key(|action| action.encoding());
    out
}

#[test]
fn the_table_equals_the_golden_one() {
    for scoped in [false, true] {
        let table = requests(scoped);
        let golden: Vec<_> = L1.iter().filter(|r| scoped || r.event != L1Event::LoadForced).collect();
        assert_eq!(table.rows().len(), golden.len());
        for (row, expected) in table.rows().iter().zip(golden) {
            assert_eq!(row.id, expected.id);
            let states = expected.states.iter().map(|s| *s as u64);
            let states = if expected.states.is_empty() { vec![0, 1, 2] } else { states.collect() };
            assert_eq!(row.when, [vec![expected.event as u64], states], "{}", row.id);
            let mut named = row.actions.clone();
            named.sort_by_key(|action| action.encoding());
            assert_eq!(named, actions(expected), "{}", row.id);
        }
    }
}

#[test]
fn alone_every_load_returns_the_last_store_before_it() {
    for seed in 0..4 {
        let bench = run(&small(64), Setup { seed, ..Setup::default() });
        bench.every_row_but(&["l1.any.load_bypass"]);
        bench.publish(&format!("l1_alone_{seed}"));
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
        bench.publish(&format!("l1_bypass_{others}"));
        assert!(bench.remote_loads > 1_000);
    }
}

#[test]
fn lines_of_the_own_gpu_are_kept_whichever_gpm_they_are_homed_in() {
    let params = L1Params { sys: Sys { gpms: 2, ..sys(64) }, bypass_remote: true, ..small(64) };
    let bench = run(&params, Setup { seed: 40, remote: true, ..Setup::default() });
    bench.every_row_but(&[]);
    assert!(bench.remote_loads > 1_000);
    assert!(bench.neighbour_hits > 50, "only {} hits", bench.neighbour_hits);
}

#[test]
fn loads_beyond_the_cu_are_forced_misses() {
    let scoped = L1Params { scoped: true, ..small(64) };
    for (seed, others) in [(50, false), (51, true), (52, true), (53, true)] {
        let bench = run(&scoped, Setup { seed, others, ..Setup::default() });
        bench.every_row_but(&["l1.any.load_bypass"]);
        bench.publish(&format!("l1_scoped_{seed}"));
        assert!(bench.forced > 2_000, "only {} loads were forced misses", bench.forced);
        assert!(bench.reads > bench.forced);
    }
}

#[test]
fn stores_go_on_with_their_scope_where_that_matters() {
    for scoped in [false, true] {
        let params = L1Params { store_scope: true, scoped, ..small(64) };
        run(&params, Setup { seed: 70, others: true, ..Setup::default() });
    }
}

#[test]
fn a_bypassed_load_needs_no_forced_miss() {
    let params = L1Params { scoped: true, bypass_remote: true, ..small(64) };
    for others in [false, true] {
        let bench = run(&params, Setup { seed: 60, others, remote: true, ..Setup::default() });
        bench.every_row_but(&[]);
        assert!(bench.forced > 500 && bench.remote_loads > 1_000);
    }
}

#[test]
fn younger_loads_join_a_forced_miss_unless_they_are_forced_too() {
    let params = L1Params { scoped: true, ..L1Params::published(sys(64)) };
    let module = l1_cache(&params).expect("legal parameters");
    let mut bench = Bench::new(&module, &params, Setup { quiet: true, ..Setup::default() });
    bench.settle();
    let merged = |answers: Vec<(u64, bool)>| answers.iter().map(|a| a.1).collect::<Vec<_>>();
    let answers = bench.loads_of_a_line(&[0, 2, 0, 1, 0]);
    assert!(answers.iter().all(|a| a.0 != 0), "the L2 answers them all");
    assert_eq!(merged(answers), [false, false, true, false, true]);
    assert_eq!(bench.reads, 3);
    assert_eq!(bench.loads_of_a_line(&[0])[0].0, 0, "the youngest forced miss has installed the line");
    let answers = bench.loads_of_a_line(&[1, 0, 0]);
    assert_eq!((merged(answers), bench.reads), (vec![false, true, true], 4));
    assert_eq!(bench.loads_of_a_line(&[0])[0].0, 0);
    bench.sleeps_when_idle();
}

#[test]
fn a_forced_miss_of_an_absent_line_is_open_and_installed() {
    let params = L1Params { scoped: true, ..L1Params::published(sys(64)) };
    let module = l1_cache(&params).expect("legal parameters");
    let mut bench = Bench::new(&module, &params, Setup { quiet: true, ..Setup::default() });
    bench.settle();
    let answers = bench.loads_of_a_line(&[2, 0]);
    assert_eq!((answers[0].1, answers[1].1, bench.reads), (false, true, 1));
    assert_eq!(bench.loads_of_a_line(&[0])[0].0, 0);
}

/// Without the parameter the scope of a load is nobody's business here.
#[test]
fn a_cache_without_scopes_answers_scoped_loads_from_its_copy() {
    let params = L1Params::published(sys(64));
    let module = l1_cache(&params).expect("legal parameters");
    let mut bench = Bench::new(&module, &params, Setup { quiet: true, ..Setup::default() });
    bench.settle();
    bench.loads_of_a_line(&[0]);
    assert!(bench.loads_of_a_line(&[1, 2]).iter().all(|a| a.0 == 0));
    assert_eq!(bench.reads, 1);
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

#[test]
fn the_oldest_copy_is_replaced() {
    for params in [small(64), L1Params { ways: 2, size: 1024, ..small(64) }, L1Params::published(sys(64))] {
        let module = l1_cache(&params).expect("legal parameters");
        let mut bench = Bench::new(&module, &params, Setup { seed: 80, quiet: true, ..Setup::default() });
        let [misses, hits] = bench.replaces_the_oldest(3_000);
        assert!(misses > 300 && hits > 300, "{misses} misses, {hits} hits");
    }
}

#[test]
fn a_request_that_waits_says_why() {
    let module = l1_cache(&small(64)).expect("legal parameters");
    Bench::new(&module, &small(64), Setup { quiet: true, ..Setup::default() }).every_stall_has_its_cause();
}

/// Faults put in on purpose, and what the bench says of them.
#[test]
fn faults_are_seen() {
    let faults = [
        (L1Inject::EarlyRelease, "a release was answered before an older store"),
        (L1Inject::KeepsCopies, "is older than the last acquire"),
    ];
    for (inject, words) in faults {
        let params = L1Params { inject, ..small(64) };
        let run = || run(&params, Setup { seed: 1, others: true, ..Setup::default() });
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).err().expect("noticed");
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
        assert!(said.contains(words), "{inject:?}: {said}");
    }
}
