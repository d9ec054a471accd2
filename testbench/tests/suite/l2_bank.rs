//! `l2-bank` against the golden line models with data: random L1s, GPUs, homes, directory, DRAM and fences, random
//! back-pressure on every channel.
//!
//! Together the tests hit every row `l2req.*` and `l2home.*` and every race that the specification names for the bank (the last
//! test checks the sum and writes the ledger).

#[allow(dead_code)] // The bench serves two tests.
use crate::l2_bench;

use l2_bench::{Bench, Role, Seen};
use weft_blocks::cache::l2::{Caching, L2Params};
use weft_blocks::msg::Sys;
use weft_rtl::transitions::{Columns, Transitions};
use weft_rtl::value::HwEnum;

fn small() -> L2Params {
    let sys = Sys {
        gpus: 3,
        gpms: 1,
        addr_bits: 40,
        line: 64,
        banks: 4,
        l1s: 4,
        l2_mshrs: 8,
        l1_mshrs: 8,
        il: 256,
        home_shift: 30,
        owners: false,
    };
    L2Params {
        sys,
        home: 1,
        sets: 2,
        ways: 4,
        pool: 24,
        caching: Caching::L1L2,
        dir: true,
        group: 4,
        hier: false,
        scoped: false,
        drops: false,
        drops_all: false,
        downgrade: false,
        write_back: false,
        acks: false,
    }
}

/// Rows of hmg.md, which banks of flat fabrics without scopes do not have.
fn of_scopes(id: &str) -> bool {
    let held = id.starts_with("l2req.D.") || id.starts_with("l2req.W.") || id.ends_with("_held");
    held || id.starts_with("l2gpu.") || id.ends_with(".load_forced")
}

/// Returns the tokens given back, those that waited, and those that were back before a younger write was answered.
fn run(p: &L2Params, seed: u64, cycles: u64, seen: &mut Seen) -> [u64; 3] {
    let mut bench = Bench::new(p, seed);
    bench.run(cycles);
    bench.drain();
    bench.collect(seen);
    assert!(bench.answered > cycles / 20, "only {} answers", bench.answered);
    bench.tokens
}

#[test]
fn every_row_and_race_is_hit() {
    let mut seen = Seen::default();
    let mut tokens = [0; 3];
    for seed in 0..12 {
        let more = run(&small(), seed, 6_000, &mut seen);
        tokens = std::array::from_fn(|i| tokens[i] + more[i]);
    }
    assert!(tokens[0] > 300 && tokens[1] > 100 && tokens[2] > 30, "tokens of fence markers: {tokens:?}");
    // Few MSHRs against a long pool, and the other way round: both limits are met.
    let mut few = small();
    few.sys.l2_mshrs = 4;
    let few = L2Params { sets: 3, pool: 32, ..few };
    for seed in 20..24 {
        run(&few, seed, 6_000, &mut seen);
    }
    let bypass = L2Params { caching: Caching::L1Only, ..small() };
    for seed in 30..33 {
        run(&bypass, seed, 6_000, &mut seen);
    }
    let flat = |id: &str| id.starts_with("rec.") || (id.starts_with("l2") && !of_scopes(id));
    seen.assert_all("l2_bank::every_row_and_race_is_hit", flat);
}

#[test]
fn long_lines_and_two_ways() {
    let mut seen = Seen::default();
    let mut p = small();
    p.sys.line = 128;
    p.sys.il = 512;
    p.sys.l2_mshrs = 16;
    let p = L2Params { ways: 2, sets: 6, pool: 16, home: 0, ..p };
    for seed in 40..43 {
        run(&p, seed, 4_000, &mut seen);
    }
}

#[test]
fn groups_of_one_two_and_eight_lines() {
    let mut seen = Seen::default();
    for (seed, group) in [(70, 1), (71, 2), (72, 8)] {
        let mut p = L2Params { group, ..small() };
        p.sys.il = p.sys.line * group.max(4);
        run(&p, seed, 4_000, &mut seen);
    }
}

#[test]
fn without_a_directory_acknowledgements_need_the_data_step_only() {
    let mut seen = Seen::default();
    let p = L2Params { caching: Caching::None, dir: false, home: 2, ..small() };
    for seed in 50..52 {
        let [given, waited, _] = run(&p, seed, 4_000, &mut seen);
        assert!(given > 10 && waited == 0, "nobody is invalidated: a token comes back at once");
    }
}

#[test]
fn hits_stream_at_one_per_cycle_and_take_three_cycles() {
    for role in [Role::Home, Role::Leaf] {
        let mut bench = Bench::new(&small(), 60);
        let count = 24;
        assert_eq!(bench.stream_of_hits(role, count), count + 3);
    }
}

#[test]
fn a_bank_that_has_done_nothing_gives_a_token_back_at_once() {
    assert_eq!(Bench::new(&small(), 62).idle_token(), 3, "taken, given back, received");
}

#[test]
fn lines_served_elsewhere_hold_three_quarters_of_mshrs_and_entries() {
    let (p, bench) = (small(), || Bench::new(&small(), 61));
    let lines = |bench: &mut Bench| bench.accepted_without_answer(|lines, n| lines[n]);
    assert_eq!(lines(&mut bench()), p.mshr_quota() as usize, "MSHRs, one for each line");
    let few = p.mshr_quota() as usize / 2;
    let loads = |bench: &mut Bench| bench.accepted_without_answer(|lines, n| lines[n % few]);
    assert_eq!(loads(&mut bench()), p.pool_quota() as usize, "entries, one for each load of these lines");
}

/// Identifiers of a table's rows.
fn ids<C: Columns, S: HwEnum, A: HwEnum>(table: &Transitions<C, S, A>) -> Vec<String> {
    table.rows().iter().map(|row| row.id.clone()).collect()
}

#[test]
fn the_tables_have_the_rows_of_the_specification() {
    use weft_blocks::cache::l2::tables;
    use weft_testbench::golden::l2::table::{HOME, HomeEvent, Legality, REQUESTER, ReqEvent};
    let requester = REQUESTER.iter().filter(|r| r.event != ReqEvent::Victim);
    let home = HOME.iter().filter(|r| r.event != HomeEvent::Victim);
    let legal = |l: Legality| l == Legality::Legal;
    let mut wanted: Vec<&str> = requester.filter(|r| legal(r.legality)).map(|r| r.id).collect();
    wanted.extend(home.filter(|r| legal(r.legality)).map(|r| r.id));
    let mut rows: Vec<String> = ids(&tables::requester(false, false));
    rows.extend(ids(&tables::home()));
    assert_eq!(rows, wanted, "victims apart, the rows in the order of the specification");
}
