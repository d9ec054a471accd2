//! Tree pseudo-LRU against a tree of plain numbers.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_engine::{Design, Options, Sim};
use weft_rtl::prelude::*;

fn module(ways: u32) -> Arc<Module> {
    Module::build("plru_alone", ModuleKind::Part, || {
        let tree = input::<Bits>("tree", plru_bits(ways));
        let (may, way) = (input::<Bits>("may", ways), input::<Bits>("way", ways.trailing_zeros()));
        output::<Bits>("victim", ways.trailing_zeros()).set(plru_victim(tree, may, ways));
        output::<Bits>("updated", plru_bits(ways)).set(plru_touch(tree, way, ways));
    })
    .expect("sound")
}

/// The way found by walking down from the root.
fn victim(tree: u64, may: u64, ways: u32) -> u64 {
    let (mut first, mut count, mut node) = (0, ways, 0);
    while count > 1 {
        let half = count / 2;
        let some = |from: u32| may >> from & ((1 << half) - 1) != 0;
        let upper = if tree >> node & 1 == 1 { some(first + half) } else { !some(first) };
        node = 2 * node + 1 + u32::from(upper);
        first += if upper { half } else { 0 };
        count = half;
    }
    u64::from(first)
}

/// The tree after walking down to a way.
fn touch(mut tree: u64, way: u64, ways: u32) -> u64 {
    let (mut first, mut count, mut node) = (0, ways, 0);
    while count > 1 {
        let half = count / 2;
        let upper = way >= u64::from(first + half);
        tree = tree & !(1 << node) | u64::from(!upper) << node;
        node = 2 * node + 1 + u32::from(upper);
        first += if upper { half } else { 0 };
        count = half;
    }
    tree
}

#[test]
fn victims_and_uses_follow_the_tree() {
    let mut rng = SmallRng::seed_from_u64(1);
    for ways in [2, 4, 8, 16] {
        let mut sim = Sim::new(&Design::new(&module(ways), Options::default()).expect("compiles"));
        let [tree_in, may_in, way_in] = ["tree", "may", "way"].map(|name| sim.input(name).expect("a port"));
        let [victim_out, after_out] = ["victim", "updated"].map(|name| sim.output(name).expect("a port"));
        let mut tree = 0;
        for _ in 0..2_000 {
            let may = rng.random_range(1..1u64 << ways);
            let way = rng.random_range(0..u64::from(ways));
            for (port, value) in [(tree_in, tree), (may_in, may), (way_in, way)] {
                sim.set(port, value);
            }
            let found = sim.get(victim_out);
            assert_eq!(found, victim(tree, may, ways), "{ways} ways, tree {tree:b}, may {may:b}");
            assert!(may >> found & 1 == 1);
            let after = sim.get(after_out);
            assert_eq!(after, touch(tree, way, ways), "{ways} ways, tree {tree:b}, way {way}");
            assert_ne!(victim(after, (1 << ways) - 1, ways), way, "the way used last stays");
            tree = after;
        }
    }
}
