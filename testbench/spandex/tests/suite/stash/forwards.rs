//! Every forward meets words of every status, and any mix of them (spandex.md section 5).

use crate::hand::{A, BANK, Forward, Out, TBE, Unit, value};
use crate::stash::hand::{Area, Hand, W, small};
use crate::words::{bits, word};
use weft_spandex::msg::{FwdOp, ReqOp, RspOp};

/// Status of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    O,
    /// Owned in another mapping of the line.
    Elsewhere,
    Po,
    Wb,
    Other,
}

/// Words of a status in the line of [`mixed`].
fn words_of(status: Status) -> u64 {
    match status {
        Status::O => 0b10_0001,
        Status::Elsewhere => 0b1100_0000,
        Status::Po => 0b10,
        Status::Wb => 0b1000,
        Status::Other => 0b1_0000,
    }
}

const ALL: [Status; 5] = [Status::O, Status::Elsewhere, Status::Po, Status::Wb, Status::Other];

fn owned(status: Status) -> bool {
    matches!(status, Status::O | Status::Elsewhere)
}

/// Transactions of a line whose words have every status.
struct Mixed {
    po: u64,
    wb: u64,
}

/// Mapping 0 has the line; mapping 1 had a word that is being written back; mapping 2 has the last two words of the line, and the first two of the next.
fn mixed(h: &mut Hand) -> Mixed {
    h.reset();
    h.map(1, Area::dense(16, A * W + 3, 1));
    h.own(&[16], A, words_of(Status::Wb), |_| value(3));
    h.map(1, Area::dense(16, (A + 8) * W, 1));
    let (wb, data) = h.written_back(A, words_of(Status::Wb));
    assert_eq!(data, [value(3)]);
    h.map(0, Area::dense(0, A * W, W));
    h.map(2, Area::dense(25, A * W + 6, 4));
    h.own(&[0, 5], A, words_of(Status::O), value);
    h.own(&[25, 26], A, words_of(Status::Elsewhere), |w| value(w - 19));
    h.store(&[1], value);
    let po = h.asked(ReqOp::ReqO, A, words_of(Status::Po));
    assert_eq!(h.answers(), []);
    Mixed { po, wb }
}

/// Answers to a forward to words of a status; `wanted`: of ReqS.
fn expected(f: Forward, status: Status, wanted: u64) -> Vec<Out> {
    let words = words_of(status);
    use Status::*;
    match (f.op, status) {
        (FwdOp::ReqV, O | Elsewhere) => f.one(RspOp::RspV, words, true),
        (FwdOp::ReqV, Po | Wb) if !f.direct => f.one(RspOp::RspV, words, true),
        (FwdOp::ReqV, _) => f.nack(RspOp::NackV, words),
        (FwdOp::ReqWt, O | Elsewhere) => f.one(RspOp::RspWt, words, false),
        (FwdOp::ReqWt, _) => f.nack(RspOp::NackWt, words),
        (FwdOp::ReqO, _) => f.one(if f.for_wt { RspOp::RspWt } else { RspOp::RspO }, words, false),
        (FwdOp::ReqOData, _) => f.one(RspOp::RspOData, words, true),
        (FwdOp::RvkO, Wb) => vec![f.out(RspOp::RspRvkO, words, 1, false)],
        (FwdOp::RvkO, _) => f.one(RspOp::RspRvkO, words, true),
        (FwdOp::ReqS, _) => f.share(words, wanted, status == Wb),
        (FwdOp::Inv, _) => unreachable!("it names no words"),
    }
}

/// One forward at words of some statuses in one message, until everything under way is done: the answers, and who owns what afterwards.
fn meets(h: &mut Hand, f: Forward, some: &[Status]) {
    let t = mixed(h);
    let hit = |s: Status| if some.contains(&s) && f.removes() { words_of(s) } else { 0 };
    if f.late {
        h.give(RspOp::RspWb, A, (0, hit(Status::Wb)), t.wb, |_| 0);
        h.b.run(6);
    }
    let (wanted, own) = f.words(some.iter().map(|s| words_of(*s)).sum());
    let sent = if f.op == FwdOp::RvkO { 0 } else { wanted };
    h.forward(f.op, A, (sent, own), (f.for_wt, f.direct, false));
    let mut all: Vec<Out> = some.iter().flat_map(|s| expected(f, *s, wanted)).collect();
    all.sort();
    assert_eq!(h.answers(), all, "{f:?} at {some:?}");
    // Everything ends.
    h.give(RspOp::RspO, A, (words_of(Status::Po), 0), t.po, |_| 0);
    if !f.late {
        h.give(RspOp::RspWb, A, (0, hit(Status::Wb)), t.wb, |_| 0);
    }
    h.b.run(10);
    let lost: u64 = ALL.into_iter().map(hit).sum();
    let still = |s: &Status| if owned(*s) || *s == Status::Po { words_of(*s) & !lost } else { 0 };
    let owned_words = ALL.iter().map(still).sum::<u64>();
    let written = |w: u64| {
        let hit = |s: &Status| owned(*s) && words_of(*s) >> w & 1 == 1;
        if f.op == FwdOp::ReqWt && some.iter().any(hit) { 0x900 + w as u32 } else { value(w) }
    };
    let owns: Vec<(u64, u32)> = bits(owned_words).map(|w| (w, written(w))).collect();
    assert_eq!(h.owned(A), owns, "after {f:?} at {some:?}");
    // The write-back is closed: its word is asked for, with what nobody has. Words shared stay as copies.
    let shared = if f.op == FwdOp::ReqS { hit(Status::O) } else { 0 };
    let here = shared | owned_words;
    let id = h.load(&[3]);
    let (_, m) = h.b.wait("l1_req");
    let asked = m.get("mask");
    assert!(asked & 0b1000 != 0 && asked & here == 0, "{asked:b}");
    h.give(RspOp::RspV, A, (asked, 0), m.get("tag"), value);
    assert_eq!(h.answered(id, &[3]), [value(3)]);
    for w in bits(here & !words_of(Status::Elsewhere)) {
        let id = h.load(&[w]);
        assert_eq!(h.answered(id, &[w]), [written(w)], "word {w} after {f:?} at {some:?}");
    }
    h.silent(&["l1_req", "l1_wb", "l1_rsp_out", "cu_rsp"]);
}

fn missed(h: &Hand, rows: &[&str]) -> Vec<String> {
    let all = h.b.uncovered(&[]).into_iter();
    all.filter(|name| rows.iter().any(|row| name.contains(row)) && h.b.counted(name) == 0).collect()
}

/// Every row of the table of forwards, and every mix of statuses in one message: from pending to the expected state, from it, any other stable state; and in two mappings.
#[test]
fn forwards_meet_words_of_every_mix() {
    let mut h = Hand::new(&small());
    Forward::every_mix(&ALL, |f, some| meets(&mut h, f, some));
    h.forward(FwdOp::Inv, A, (0, 0), (false, false, false));
    let acks = h.answers();
    assert_eq!((acks.len(), acks[0].op, acks[0].dst, acks[0].tag), (1, RspOp::Ack as u64, BANK, TBE));
    let forwards =
        ["ReqV.", "ReqO.", "ReqOdata.", "RvkO.", "ReqS.", "ReqWT.", "Inv", "stash_split", "second_map"];
    assert_eq!(missed(&h, &forwards), Vec::<String>::new(), "never seen");
}

/// An owner adds its other words of the line where they are welcome, those of the same mapping.
#[test]
fn a_read_gets_other_owned_words() {
    let mut h = Hand::new(&small());
    mixed(&mut h);
    h.forward(FwdOp::ReqV, A, (1, 0), (false, false, true));
    h.b.run(20);
    let (_, m) = h.b.wait("l1_rsp_out");
    assert_eq!(["op", "mask", "extra"].map(|f| m.get(f)), [RspOp::RspV as u64, 1, 0b10_0000]);
    let data = m.wide("data");
    assert_eq!([0, 5].map(|w| word(data, w)), [value(0), value(5)]);
}

/// Both answers to a fwd ReqS come out whatever ends in between: here a word's own ownership.
#[test]
fn a_downgrade_is_answered_twice_whatever_comes_between() {
    let mut h = Hand::new(&small());
    let share = Forward::plain(FwdOp::ReqS);
    for (first, slow) in [(Status::O, 0), (Status::Po, 0), (Status::O, 3), (Status::Po, 3)] {
        for gap in 0..12 {
            let t = mixed(&mut h);
            let words = words_of(first);
            h.forward(FwdOp::ReqS, A, (words, words), (false, false, false));
            h.b.run(gap);
            h.give(RspOp::RspO, A, (words_of(Status::Po), 0), t.po, |_| 0);
            h.b.sink_mut("l1_rsp_out").chance = 0.0;
            h.b.run(slow);
            h.b.sink_mut("l1_rsp_out").chance = 1.0;
            let mut all = expected(share, first, words);
            all.sort();
            assert_eq!(h.answers(), all, "{first:?} after {gap}");
        }
    }
}

/// A reset in the midst of everything leaves nothing behind.
#[test]
fn a_reset_leaves_nothing() {
    let mut h = Hand::new(&small());
    for cycles in 0..20 {
        let t = mixed(&mut h);
        h.forward(FwdOp::ReqS, A, (0b1110_1011, 0b1110_1011), (false, false, false));
        h.give(RspOp::RspO, A, (words_of(Status::Po), 0), t.po, |_| 0);
        h.load(&[4]);
        h.maps(1, Area::dense(0, A * W, 5));
        h.b.run(cycles);
        h.reset();
        assert_eq!(h.owned(A), [], "after {cycles}");
        h.map(3, Area::dense(0, A * W, 1));
        let id = h.load(&[0]);
        let tag = h.asked(ReqOp::ReqV, A, 1);
        assert_eq!(tag, 0, "every MSHR is free");
        h.give(RspOp::RspV, A, (1, 0), tag, value);
        assert_eq!(h.answered(id, &[0]), [value(0)]);
    }
}
