//! `lock_tbl` against a list of lines with owners.

use rand::Rng;
use weft_rtl::area::area;
use weft_srsp::lock_tbl::{LockOp, LockReq, LockRsp, lock_tbl};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::{Bench, Msg};

fn widths() -> Srsp {
    Srsp { cus: 5, addr_bits: 32, ..Srsp::default() }
}

fn ask(b: &mut Bench, op: LockOp, line: u64, src: u64) -> (bool, bool, u64, bool) {
    b.send("req", Msg::of::<LockReq>(&widths(), &[("op", op as u64), ("line", line), ("src", src)]));
    let (_, m) = b.wait("rsp");
    (m.get("done") == 1, m.get("locked") == 1, m.get("owner"), m.get("full") == 1)
}

#[test]
fn locks_are_those_of_a_list() {
    for (seed, locks) in [(1, 1), (2, 3), (3, 8)] {
        let mut b = Bench::new(&lock_tbl(&widths(), locks).expect("legal"), seed);
        b.source::<LockReq>("req", &widths());
        b.sink::<LockRsp>("rsp", &widths());
        let mut model: Vec<(u64, u64)> = Vec::new();
        for _ in 0..2_000 {
            if b.rng.random_bool(0.02) {
                b.sink_mut("rsp").chance = b.rng.random_range(0.2..1.0);
            }
            let line = b.rng.random_range(0..u64::from(locks) + 2) << (b.rng.random_range(0..2) * 20);
            let src = b.rng.random_range(0..5);
            let op = [LockOp::Find, LockOp::Lock, LockOp::Unlock][b.rng.random_range(0..3)];
            let found = model.iter().position(|(l, _)| *l == line);
            let full = model.len() == locks as usize;
            let owner = found.map_or(0, |i| model[i].1);
            let done = match op {
                LockOp::Find => found.is_some(),
                LockOp::Lock => found.is_none() && !full,
                LockOp::Unlock => found.is_some() && owner == src,
            };
            let answer = ask(&mut b, op, line, src);
            assert_eq!(answer, (done, found.is_some(), owner, full), "{op:?} {line:#x} by {src}");
            match (op, done) {
                (LockOp::Lock, true) => model.push((line, src)),
                (LockOp::Unlock, true) => drop(model.remove(found.expect("done"))),
                _ => {}
            }
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
    assert!(lock_tbl(&widths(), 0).is_err() && lock_tbl(&widths(), 65).is_err());
}
