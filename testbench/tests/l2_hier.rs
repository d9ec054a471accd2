//! `l2-bank` in a hierarchy against the golden line models with data (hmg.md section 5): home lines, lines whose GPU home it is, lines that other GPMs
//! serve; requests of L1s, of other GPMs, of other GPUs, of all scopes; drains of both sorts, tokens, Invs passed on, copies dropped.

mod l2_bench;

use l2_bench::{Bench, Role, Seen};
use weft_blocks::cache::l2::{Caching, L2Params};
use weft_blocks::msg::Sys;

/// A bank of GPU 1, GPM 0 (of 2x2 nodes) or GPM 1.
fn small(gpus: u32, gpms: u32) -> L2Params {
    let sys = Sys {
        gpus,
        gpms,
        addr_bits: 40,
        line: 64,
        banks: 4,
        l1s: 4,
        l2_mshrs: 8,
        l1_mshrs: 8,
        il: 256,
        home_shift: 30,
    };
    L2Params {
        home: sys.node(1, u32::from(gpms > 2)),
        sys,
        sets: 2,
        ways: 4,
        pool: 24,
        caching: Caching::L1L2,
        dir: true,
        group: 4,
        hier: true,
        scoped: false,
        drops: false,
    }
}

fn run(p: &L2Params, seed: u64, cycles: u64, seen: &mut Seen) -> Bench {
    let mut bench = Bench::new(p, seed);
    bench.run(cycles);
    bench.drain();
    bench.collect(seen);
    assert!(bench.answered > cycles / 20, "only {} answers", bench.answered);
    bench
}

#[test]
fn every_row_and_race_of_a_hierarchy_is_hit() {
    let mut seen = Seen::default();
    let (mut tokens, mut fences) = ([0; 3], [0; 3]);
    for seed in 0..10 {
        let bench = run(&small(2, 2), seed, 6_000, &mut seen);
        tokens = std::array::from_fn(|i| tokens[i] + bench.tokens[i]);
        fences = std::array::from_fn(|i| fences[i] + bench.fences[i]);
    }
    for seed in 20..25 {
        run(&small(4, 4), seed, 6_000, &mut seen);
    }
    let drops = L2Params { dir: false, drops: true, sets: 8, ways: 2, ..small(4, 4) };
    for seed in 30..34 {
        let bench = run(&drops, seed, 6_000, &mut seen);
        assert!(bench.fences[2] > 3, "only {} drops", bench.fences[2]);
    }
    assert!(tokens.iter().all(|n| *n > 20), "tokens of fence markers: {tokens:?}");
    assert!(fences[0] > 5 && fences[1] > 50, "drains beside writes to other GPUs, far drains: {fences:?}");
    let hier = |id: &str| id.starts_with("l2gpu.") || id.starts_with("hmg.") || id.ends_with(".load_forced");
    seen.assert_all("l2_hier::every_row_and_race_of_a_hierarchy_is_hit", hier);
}
