//! `sfifo` against a queue.

use proptest::prelude::*;
use rand::Rng;
use std::collections::VecDeque;
use weft_rtl::area::area;
use weft_srsp::sfifo::{SfifoParams, SfifoReq, SfifoRsp, sfifo};
use weft_srsp_bench::bench::{Bench, Msg};

fn build(p: SfifoParams, seed: u64) -> Bench {
    let mut b = Bench::new(&sfifo(p).expect("legal"), seed);
    b.source::<SfifoReq>("req", &p);
    b.sink::<SfifoRsp>("rsp", &p);
    b
}

/// Sends operations; every answer is the model's.
fn run(p: SfifoParams, ops: &[(bool, u64)], chances: [f64; 2], seed: u64) -> Bench {
    let mut b = build(p, seed);
    b.source_mut("req").chance = chances[0];
    b.sink_mut("rsp").chance = chances[1];
    let n = u64::from(p.entries);
    let (mut model, mut head, mut expected) = (VecDeque::new(), 0, VecDeque::new());
    for (push, line) in ops {
        let line = line & ((1 << p.line_bits) - 1);
        b.send("req", Msg::of::<SfifoReq>(&p, &[("op", u64::from(!push)), ("line", line)]));
        let (done, index, out) = if *push {
            let index = (head + model.len() as u64) % n;
            let room = model.len() < p.entries as usize;
            if room {
                model.push_back(line);
            }
            (room, index, None)
        } else {
            let index = head;
            let out = model.pop_front();
            head = (head + u64::from(out.is_some())) % n;
            (out.is_some(), index, out)
        };
        expected.push_back((done, index, out, model.len() as u64));
    }
    while let Some((done, index, line, count)) = expected.pop_front() {
        let m = b.wait("rsp").1;
        assert_eq!((m.get("done") == 1, m.get("index"), m.get("count")), (done, index, count));
        line.iter().for_each(|line| assert_eq!(m.get("line"), *line));
    }
    b
}

#[test]
fn random_traffic_as_the_model() {
    for (seed, entries) in [2, 3, 6, 16, 24, 256].into_iter().enumerate() {
        let mut b = build(SfifoParams { entries, line_bits: 42 }, seed as u64);
        for phase in 0..6 {
            let more = [0.8, 0.5, 0.2][phase % 3];
            let ops: Vec<(bool, u64)> =
                (0..3 * entries).map(|_| (b.rng.random_bool(more), b.rng.random())).collect();
            run(SfifoParams { entries, line_bits: 42 }, &ops, [0.7, 0.6], seed as u64);
        }
        let fills: Vec<(bool, u64)> = (0..2 * entries + 2).map(|i| (i <= entries, u64::from(i))).collect();
        let b = run(SfifoParams { entries, line_bits: 42 }, &fills, [1.0, 1.0], seed as u64);
        assert_eq!(b.uncovered(&[]), Vec::<String>::new());
    }
}

proptest! {
    #[test]
    fn any_sequence_as_the_model(
        entries in 2u32..9,
        ops in prop::collection::vec((any::<bool>(), any::<u64>()), 1..60),
    ) {
        run(SfifoParams { entries, line_bits: 7 }, &ops, [1.0, 0.5], 1);
    }
}

/// srsp.md section 4: 685 bits in an L1, 1023 in an L2 of one bank, 261 in each of four.
#[test]
fn it_stores_what_the_specification_says() {
    for (entries, expected) in [(16, 685), (24, 1023), (6, 261)] {
        let found = area(&sfifo(SfifoParams { entries, line_bits: 42 }).expect("legal"));
        let bits: u64 = found.fields.iter().filter(|f| f.field == "sfifo").map(|f| f.bits).sum();
        assert_eq!(bits, expected);
    }
}

#[test]
fn illegal_values_are_refused() {
    assert!(sfifo(SfifoParams { entries: 1, line_bits: 42 }).is_err());
    assert!(sfifo(SfifoParams { entries: 257, line_bits: 42 }).is_err());
}
