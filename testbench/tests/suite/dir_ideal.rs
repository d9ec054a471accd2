//! The ideal directory's map against the golden one, and the rows `ideal.*` of the ledger.

use crate::dir_support;

use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_fabric::family::directory::ideal::{ExactMap, Operation};
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::directory::Directory;
use weft_testbench::golden::params::{DirKind, DirParams};

#[test]
fn the_map_agrees_with_the_golden_ideal_directory() {
    let mut hits = BTreeMap::new();
    for (seed, (gpus, home)) in [(2, 1), (4, 0), (8, 3), (16, 15)].into_iter().enumerate() {
        let seed = seed as u64;
        let mut rng = SmallRng::seed_from_u64(seed);
        let p = DirParams { gpus, home, ..DirParams::new(DirKind::Ideal) };
        let (mut golden, mut map) = (Directory::new(p).unwrap(), ExactMap::default());
        let others: Vec<u32> = (0..gpus).filter(|g| *g != home).collect();
        let mut rows = BTreeMap::new();
        for id in 0..4000 {
            let code = rng.random_range(0..4);
            let op = DirOp::ALL[code];
            let src = if op == DirOp::WrLoc { home } else { others[rng.random_range(0..others.len())] };
            let line = rng.random_range(0..48);
            let expected = golden.op(op, src, line);
            let got = map.apply(&Operation { op: code as u64, src, line, id });
            let invalidate = expected.write_inv.map_or(0, |i| i.dest);
            assert_eq!(
                (got.hit, got.invalidate.into()),
                (expected.hit, invalidate),
                "{op:?} of {src} on {line}"
            );
            assert_eq!(u128::from(map.sharers(line)), golden.sharers_of(line));
            assert!(expected.eviction.is_none());
            *rows.entry(expected.row.id.to_string()).or_default() += 1;
        }
        add(&mut hits, rows, seed);
    }
    publish("dir_ideal_map", &hits);
    assert_all_hit("ideal-directory", &hits, &[]);
}
