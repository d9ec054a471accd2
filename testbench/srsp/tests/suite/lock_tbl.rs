//! `lock_tbl` against a list of lines with owners.

use rand::Rng;
use weft_rtl::area::area;
use weft_srsp::lock_tbl::{LockOp, LockReq, LockRsp, lock_tbl};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::{Bench, Msg};

fn widths(cus: u32) -> Srsp {
    Srsp { cus, addr_bits: 32, ..Srsp::default() }
}

#[test]
fn locks_are_those_of_a_list() {
    for (seed, locks, cus) in [(1, 1, 5), (2, 3, 5), (3, 8, 64)] {
        let p = widths(cus);
        let mut b = Bench::new(&lock_tbl(&p, locks).expect("legal"), seed);
        b.source::<LockReq>("req", &p);
        b.sink::<LockRsp>("rsp", &p);
        let mut model: Vec<(u64, u64)> = Vec::new();
        // Lines that differ in one bit: addresses have 32, and lines 64 bytes.
        let base = b.rng.random::<u64>() % (1 << 26);
        for round in 0..100 {
            // Both sides hold back, or none does: then there is an answer in each cycle.
            let streams = round % 2 == 0;
            if streams {
                b.hold_nothing();
            } else {
                b.shuffle(&[0.3, 0.7]);
            }
            let mut answers = Vec::new();
            let lines: Vec<u64> = (0..locks + 2).map(|_| base ^ 1 << b.rng.random_range(0..26)).collect();
            for _ in 0..20 {
                let line = match b.rng.random_bool(0.3) && !model.is_empty() {
                    true => model[b.rng.random_range(0..model.len())].0,
                    false => lines[b.rng.random_range(0..lines.len())],
                };
                let src = b.rng.random_range(0..u64::from(cus));
                let op = [LockOp::Find, LockOp::Lock, LockOp::Unlock][b.rng.random_range(0..3)];
                let fields = [("op", op as u64), ("line", line), ("src", src)];
                b.send("req", Msg::of::<LockReq>(&p, &fields));
                let found = model.iter().position(|(l, _)| *l == line);
                let full = model.len() == locks as usize;
                let owner = found.map_or(0, |i| model[i].1);
                let done = match op {
                    LockOp::Find => found.is_some(),
                    LockOp::Lock => found.is_none() && !full,
                    LockOp::Unlock => found.is_some() && owner == src,
                };
                answers.push(((done, found.is_some(), owner, full), format!("{op:?} {line:#x} by {src}")));
                match (op, done) {
                    (LockOp::Lock, true) => model.push((line, src)),
                    (LockOp::Unlock, true) => drop(model.remove(found.expect("done"))),
                    _ => {}
                }
            }
            let mut last = None;
            for (answer, what) in answers {
                let (cycle, m) = b.wait("rsp");
                assert!(!streams || last.is_none_or(|last| cycle == last + 1), "an answer in each cycle");
                last = Some(cycle);
                let flag = |name: &str| m.get(name) == 1;
                assert_eq!((flag("done"), flag("locked"), m.get("owner"), flag("full")), answer, "{what}");
            }
            b.silent(10, &["rsp"]);
        }
        assert_eq!(b.uncovered(&[]), [""; 0]);
    }
}

/// 392 bits for the 8 entries of a bank of the published GPU (srsp.md section 4).
#[test]
fn the_published_table_has_392_bits() {
    let found = area(&lock_tbl(&Srsp::default(), 8).expect("legal"));
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!((bits("valid"), bits("tag"), bits("owner")), (8, 8 * 42, 8 * 6));
    assert_eq!(["valid", "tag", "owner"].map(bits).iter().sum::<u64>(), 392);
}

#[test]
fn illegal_numbers_are_refused() {
    assert!(lock_tbl(&widths(5), 0).is_err() && lock_tbl(&widths(5), 65).is_err());
}
