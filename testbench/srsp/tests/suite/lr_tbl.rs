//! `lr-tbl` against a map.

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_rtl::area::area;
use weft_srsp::lr_tbl::{LrOp, LrParams, LrReq, LrRsp, lr_tbl};
use weft_srsp_bench::bench::{Bench, Msg};

/// An operation with an address and a place.
type Step = (LrOp, u64, u64);

/// Sends operations behind each other; every answer is the model's. As in an L1 a place is pointed to by one entry at most: its older entry has died when
/// it is used again.
fn run(p: LrParams, steps: &[Step], seed: u64) -> Bench {
    let mut b = Bench::new(&lr_tbl(p).expect("legal"), seed);
    b.source::<LrReq>("req", &p);
    b.sink::<LrRsp>("rsp", &p);
    // Both sides hold back, or none does: then there is an answer in each cycle.
    let streams = seed.is_multiple_of(2);
    if !streams {
        (b.source_mut("req").chance, b.sink_mut("rsp").chance) = (0.7, 0.6);
    }
    let mut model: BTreeMap<u64, u64> = BTreeMap::new();
    let mut answers = Vec::new();
    for (op, word, ptr) in steps {
        let ptr = ptr % u64::from(p.entries);
        let taken = *op == LrOp::Register && model.values().any(|p| *p == ptr);
        let op = if taken { LrOp::Pop } else { *op };
        b.send("req", Msg::of::<LrReq>(&p, &[("op", op as u64), ("word", *word), ("ptr", ptr)]));
        let old = model.get(word).copied();
        let full = model.len() == p.entries as usize;
        let hit = if op == LrOp::Pop { model.values().any(|p| *p == ptr) } else { old.is_some() };
        answers.push((hit, old.unwrap_or(0), full));
        match op {
            LrOp::Register if old.is_some() || !full => drop(model.insert(*word, ptr)),
            LrOp::Pop => model.retain(|_, p| *p != ptr),
            LrOp::Clear => model.clear(),
            _ => {}
        }
    }
    let mut last = None;
    for (answer, step) in answers.into_iter().zip(steps) {
        let (cycle, m) = b.wait("rsp");
        assert!(!streams || last.is_none_or(|last| cycle == last + 1), "an answer in each cycle");
        last = Some(cycle);
        assert_eq!((m.get("hit") == 1, m.get("ptr"), m.get("full") == 1), answer, "{step:?}");
    }
    b.silent(20, &["rsp"]);
    b
}

/// Operations on words that differ in one bit of all, or in two.
fn random(rng: &mut SmallRng, p: LrParams, count: usize) -> Vec<Step> {
    let base = rng.random::<u64>();
    let words: Vec<u64> = (0..3 * p.entries)
        .map(|_| [(); 2].iter().fold(base, |word, ()| word ^ 1 << rng.random_range(0..p.word_bits)))
        .map(|word| word & ((1 << p.word_bits) - 1))
        .collect();
    let op = |rng: &mut SmallRng| match rng.random_range(0..8 * p.entries) {
        0 => LrOp::Clear,
        n if n % 8 < 2 => LrOp::Look,
        n if n % 8 < 4 => LrOp::Pop,
        _ => LrOp::Register,
    };
    let step = |_| (op(rng), words[rng.random_range(0..words.len())], rng.random_range(0..256));
    (0..count).map(step).collect()
}

#[test]
fn random_traffic_as_the_model() {
    for (seed, entries) in [2, 5, 16, 64].into_iter().enumerate() {
        let p = LrParams { entries, word_bits: 46 };
        let mut rng = SmallRng::seed_from_u64(seed as u64);
        run(p, &random(&mut rng, p, 100 * entries as usize), seed as u64);
        let all: Vec<Step> = (0..u64::from(entries)).map(|i| (LrOp::Register, i, i)).collect();
        let more = [(LrOp::Look, 99_999, 0), (LrOp::Pop, 0, 0), (LrOp::Register, 1, 0)];
        let b = run(p, &[all, more.to_vec()].concat(), seed as u64);
        assert_eq!(b.uncovered(&[]), Vec::<String>::new());
    }
}

/// A full table: each entry is found by its word and its place, and by nothing that differs from them in one bit.
#[test]
fn every_entry_is_compared_bit_by_bit() {
    let p = LrParams { entries: 16, word_bits: 46 };
    let n = u64::from(p.entries);
    // All bits of words and places are the other way round the second time.
    for (seed, base, turn) in [(0, 0, 0), (1, (1 << p.word_bits) - 1, n - 1)] {
        let words: Vec<u64> = (0..n).map(|i| base ^ 3 << (2 * i)).collect();
        let place = |i: u64| (5 * i % n) ^ turn;
        let mut steps: Vec<Step> = (0..n).map(|i| (LrOp::Register, words[i as usize], place(i))).collect();
        for word in &words {
            steps.push((LrOp::Look, *word, 0));
            steps.extend((0..p.word_bits).map(|bit| (LrOp::Look, word ^ 1 << bit, 0)));
        }
        for i in 0..n {
            steps.push((LrOp::Pop, 0, place(i)));
            steps.extend(words.iter().map(|word| (LrOp::Look, *word, 0)));
            steps.push((LrOp::Register, words[i as usize], place(i)));
        }
        run(p, &steps, seed);
    }
}

proptest! {
    #[test]
    fn any_sequence_as_the_model(seed in any::<u64>(), entries in 2u32..7) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let p = LrParams { entries, word_bits: 5 };
        run(p, &random(&mut rng, p, 60), 1);
    }
}

/// srsp.md section 4: 16 * 51 = 816 bits.
#[test]
fn it_stores_what_the_specification_says() {
    let found = area(&lr_tbl(LrParams { entries: 16, word_bits: 46 }).expect("legal"));
    let bits: u64 = found.fields.iter().filter(|f| f.field == "lr_tbl").map(|f| f.bits).sum();
    assert_eq!(bits, 816);
}
