//! `pa-tbl` against a set.

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use weft_rtl::area::area;
use weft_srsp::pa_tbl::{PaOp, PaParams, PaReq, PaRsp, pa_tbl};
use weft_srsp_bench::bench::{Bench, Msg};

/// Sends operations behind each other; every answer is the model's.
fn run(p: PaParams, steps: &[(PaOp, u64)], seed: u64) -> Bench {
    let mut b = Bench::new(&pa_tbl(p).expect("legal"), seed);
    b.source::<PaReq>("req", &p);
    b.sink::<PaRsp>("rsp", &());
    // Both sides hold back, or none does: then there is an answer in each cycle.
    let streams = seed.is_multiple_of(2);
    if !streams {
        (b.source_mut("req").chance, b.sink_mut("rsp").chance) = (0.7, 0.6);
    }
    let mut model: BTreeSet<u64> = BTreeSet::new();
    let mut answers = Vec::new();
    for (op, word) in steps {
        b.send("req", Msg::of::<PaReq>(&p, &[("op", *op as u64), ("word", *word)]));
        let hit = model.contains(word);
        let overflows = !hit && model.len() == p.entries as usize;
        answers.push((hit, overflows));
        match op {
            PaOp::Insert if !overflows => drop(model.insert(*word)),
            PaOp::Clear => model.clear(),
            _ => {}
        }
    }
    let mut last = None;
    for (answer, (op, word)) in answers.into_iter().zip(steps) {
        let (cycle, m) = b.wait("rsp");
        assert!(!streams || last.is_none_or(|last| cycle == last + 1), "an answer in each cycle");
        last = Some(cycle);
        assert_eq!((m.get("hit") == 1, m.get("overflows") == 1), answer, "{op:?} {word:#x}");
    }
    b.silent(20, &["rsp"]);
    b
}

/// Operations on words that differ in one bit of all, or in two.
fn random(rng: &mut SmallRng, p: PaParams, count: usize) -> Vec<(PaOp, u64)> {
    let base = rng.random::<u64>();
    let words: Vec<u64> = (0..3 * p.entries)
        .map(|_| [(); 2].iter().fold(base, |word, ()| word ^ 1 << rng.random_range(0..p.word_bits)))
        .map(|word| word & ((1 << p.word_bits) - 1))
        .collect();
    let op = |rng: &mut SmallRng| match rng.random_range(0..8 * p.entries) {
        0 => PaOp::Clear,
        n if n % 8 < 4 => PaOp::Look,
        _ => PaOp::Insert,
    };
    (0..count).map(|_| (op(rng), words[rng.random_range(0..words.len())])).collect()
}

#[test]
fn random_traffic_as_the_model() {
    for (seed, entries) in [1, 5, 16, 128].into_iter().enumerate() {
        let mut rng = SmallRng::seed_from_u64(seed as u64);
        let p = PaParams { entries, word_bits: 46 };
        run(p, &random(&mut rng, p, 60 * entries as usize), seed as u64);
        let all: Vec<(PaOp, u64)> = (0..=u64::from(entries)).map(|i| (PaOp::Insert, i)).collect();
        let b = run(p, &[all, vec![(PaOp::Insert, 0)]].concat(), seed as u64);
        assert_eq!(b.uncovered(&[]), Vec::<String>::new());
    }
}

/// A full table: each entry is found by its word, and by nothing that differs from it in one bit.
#[test]
fn every_entry_is_compared_bit_by_bit() {
    let p = PaParams { entries: 16, word_bits: 46 };
    for (seed, base) in (0..).zip([0, (1 << p.word_bits) - 1]) {
        let words: Vec<u64> = (0..u64::from(p.entries)).map(|i| base ^ 3 << (2 * i)).collect();
        let mut steps: Vec<(PaOp, u64)> = words.iter().map(|word| (PaOp::Insert, *word)).collect();
        for word in &words {
            steps.push((PaOp::Look, *word));
            steps.extend((0..p.word_bits).map(|bit| (PaOp::Look, word ^ 1 << bit)));
        }
        run(p, &steps, seed);
    }
}

proptest! {
    #[test]
    fn any_sequence_as_the_model(seed in any::<u64>(), entries in 1u32..7) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let p = PaParams { entries, word_bits: 5 };
        run(p, &random(&mut rng, p, 60), 1);
    }
}

/// srsp.md section 4: 16 * 47 = 752 bits.
#[test]
fn it_stores_what_the_specification_says() {
    let found = area(&pa_tbl(PaParams { entries: 16, word_bits: 46 }).expect("legal"));
    let bits: u64 = found.fields.iter().filter(|f| f.field == "pa_tbl").map(|f| f.bits).sum();
    assert_eq!(bits, 752);
}
