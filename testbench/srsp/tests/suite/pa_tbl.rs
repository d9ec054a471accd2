//! `pa-tbl` against a set.

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use weft_rtl::area::area;
use weft_srsp::pa_tbl::{PaOp, PaParams, PaReq, PaRsp, pa_tbl};
use weft_srsp_bench::bench::{Bench, Msg};

fn run(p: PaParams, steps: &[(PaOp, u64)], seed: u64) -> Bench {
    let mut b = Bench::new(&pa_tbl(p).expect("legal"), seed);
    b.source::<PaReq>("req", &p);
    b.sink::<PaRsp>("rsp", &());
    b.sink_mut("rsp").chance = 0.7;
    let mut model: BTreeSet<u64> = BTreeSet::new();
    for (op, word) in steps {
        b.send("req", Msg::of::<PaReq>(&p, &[("op", *op as u64), ("word", *word)]));
        let m = b.wait("rsp").1;
        let hit = model.contains(word);
        let overflows = !hit && model.len() == p.entries as usize;
        assert_eq!((m.get("hit") == 1, m.get("overflows") == 1), (hit, overflows), "{op:?} {word}");
        match op {
            PaOp::Insert if !overflows => {
                model.insert(*word);
            }
            PaOp::Clear => model.clear(),
            _ => {}
        }
    }
    b
}

fn random(rng: &mut SmallRng, count: usize, words: u64) -> Vec<(PaOp, u64)> {
    let op = |rng: &mut SmallRng| match rng.random_range(0..20) {
        0 => PaOp::Clear,
        1..9 => PaOp::Look,
        _ => PaOp::Insert,
    };
    (0..count).map(|_| (op(rng), rng.random_range(0..words))).collect()
}

#[test]
fn random_traffic_as_the_model() {
    for (seed, entries) in [1, 5, 16, 128].into_iter().enumerate() {
        let mut rng = SmallRng::seed_from_u64(seed as u64);
        let steps = random(&mut rng, 600, 2 * u64::from(entries));
        let p = PaParams { entries, word_bits: 46 };
        run(p, &steps, seed as u64);
        let all: Vec<(PaOp, u64)> = (0..=u64::from(entries)).map(|i| (PaOp::Insert, i)).collect();
        let b = run(p, &[all, vec![(PaOp::Insert, 0)]].concat(), seed as u64);
        assert_eq!(b.uncovered(&[]), Vec::<String>::new());
    }
}

proptest! {
    #[test]
    fn any_sequence_as_the_model(seed in any::<u64>(), entries in 1u32..7) {
        let mut rng = SmallRng::seed_from_u64(seed);
        run(PaParams { entries, word_bits: 5 }, &random(&mut rng, 40, 9), 1);
    }
}

/// srsp.md section 4: 16 * 47 = 752 bits.
#[test]
fn it_stores_what_the_specification_says() {
    let found = area(&pa_tbl(PaParams { entries: 16, word_bits: 46 }).expect("legal"));
    let bits: u64 = found.fields.iter().filter(|f| f.field == "pa_tbl").map(|f| f.bits).sum();
    assert_eq!(bits, 752);
}
