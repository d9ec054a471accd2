//! Every forward meets words of every status, and any mix of them (spandex.md section 5).

use crate::stash::hand::{A, Area, BANK, Hand, Out, PEER, TAG, TBE, W, bits, small, value};
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

/// A forward of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Forward {
    op: FwdOp,
    for_wt: bool,
    direct: bool,
    /// RspWB, which says that the forward crosses, comes before it.
    late: bool,
}

impl Forward {
    fn removes(self) -> bool {
        !matches!(self.op, FwdOp::ReqV | FwdOp::ReqWt)
    }

    /// Answers to words of a status; `wanted`: of ReqS.
    fn expected(self, status: Status, wanted: u64) -> Vec<Out> {
        let words = words_of(status);
        let out = |op: RspOp, mask: u64, mark: u64, data: bool| {
            let to_bank = op == RspOp::RspRvkO;
            let (dst, tag) = if to_bank { (BANK, TBE) } else { (PEER, TAG) };
            let data = bits(mask).filter(|_| data).map(value).collect();
            Out { op: op as u64, line: A, mask, dst, tag, mark, data }
        };
        let one = |op: RspOp, data: bool| vec![out(op, words, 0, data)];
        let nack = |op: RspOp| vec![out(op, words, u64::from(self.direct), false)];
        use Status::*;
        match (self.op, status) {
            (FwdOp::ReqV, O | Elsewhere) => one(RspOp::RspV, true),
            (FwdOp::ReqV, Po | Wb) if !self.direct => one(RspOp::RspV, true),
            (FwdOp::ReqV, _) => nack(RspOp::NackV),
            (FwdOp::ReqWt, O | Elsewhere) => one(RspOp::RspWt, false),
            (FwdOp::ReqWt, _) => nack(RspOp::NackWt),
            (FwdOp::ReqO, _) => one(if self.for_wt { RspOp::RspWt } else { RspOp::RspO }, false),
            (FwdOp::ReqOData, _) => one(RspOp::RspOData, true),
            (FwdOp::RvkO, Wb) => vec![out(RspOp::RspRvkO, words, 1, false)],
            (FwdOp::RvkO, _) => one(RspOp::RspRvkO, true),
            (FwdOp::ReqS, _) => {
                let nodata = status == Wb;
                let to_req = (words & wanted != 0).then(|| out(RspOp::RspS, words & wanted, 0, true));
                let to_bank = out(RspOp::RspRvkO, words, u64::from(nodata), !nodata);
                to_req.into_iter().chain([to_bank]).collect()
            }
            (FwdOp::Inv, _) => unreachable!("it names no words"),
        }
    }
}

/// One forward at words of some statuses in one message, until everything under way is done: the answers, and who owns what afterwards.
fn meets(h: &mut Hand, f: Forward, some: &[Status]) {
    let t = mixed(h);
    let mask = |of: &[Status]| of.iter().map(|s| words_of(*s)).sum::<u64>();
    let hit = |s: Status| if some.contains(&s) && f.removes() { words_of(s) } else { 0 };
    if f.late {
        h.give(RspOp::RspWb, A, (0, hit(Status::Wb)), t.wb, |_| 0);
        h.b.run(6);
    }
    let all = mask(some);
    // The owner of a revoked line loses words that the requestor does not want.
    let wanted = if f.op == FwdOp::ReqS { all & !0b10_0010 } else { all };
    let own = if matches!(f.op, FwdOp::ReqS | FwdOp::RvkO) { all } else { 0 };
    let sent = if f.op == FwdOp::RvkO { 0 } else { wanted };
    h.fwd(f.op, A, (sent, own), (f.for_wt, f.direct, false));
    let mut expected: Vec<Out> = some.iter().flat_map(|s| f.expected(*s, wanted)).collect();
    expected.sort();
    assert_eq!(h.answers(), expected, "{f:?} at {some:?}");
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
    let plain = Forward { op: FwdOp::ReqV, for_wt: false, direct: false, late: false };
    let mut all = vec![plain, Forward { direct: true, ..plain }, Forward { op: FwdOp::ReqWt, ..plain }];
    for op in [FwdOp::ReqO, FwdOp::ReqOData, FwdOp::RvkO, FwdOp::ReqS] {
        let f = Forward { op, ..plain };
        all.extend([f, Forward { late: true, ..f }]);
    }
    all.push(Forward { op: FwdOp::ReqO, for_wt: true, ..plain });
    for f in all {
        let statuses = if f.removes() { &ALL[..4] } else { &ALL[..] };
        for some in 1..1u32 << statuses.len() {
            let some: Vec<Status> =
                statuses.iter().enumerate().filter(|(i, _)| some >> i & 1 == 1).map(|(_, s)| *s).collect();
            meets(&mut h, f, &some);
        }
    }
    h.fwd(FwdOp::Inv, A, (0, 0), (false, false, false));
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
    h.fwd(FwdOp::ReqV, A, (1, 0), (false, false, true));
    h.b.run(20);
    let (_, m) = h.b.wait("l1_rsp_out");
    assert_eq!(["op", "mask", "extra"].map(|f| m.get(f)), [RspOp::RspV as u64, 1, 0b10_0000]);
    let data = m.wide("data");
    assert_eq!([0, 5].map(|w| crate::stash::hand::word(data, w)), [value(0), value(5)]);
}

/// Both answers to a fwd ReqS come out whatever ends in between: here a word's own ownership.
#[test]
fn a_downgrade_is_answered_twice_whatever_comes_between() {
    let mut h = Hand::new(&small());
    let share = Forward { op: FwdOp::ReqS, for_wt: false, direct: false, late: false };
    for (first, slow) in [(Status::O, 0), (Status::Po, 0), (Status::O, 3), (Status::Po, 3)] {
        for gap in 0..12 {
            let t = mixed(&mut h);
            let words = words_of(first);
            h.fwd(FwdOp::ReqS, A, (words, words), (false, false, false));
            h.b.run(gap);
            h.give(RspOp::RspO, A, (words_of(Status::Po), 0), t.po, |_| 0);
            h.b.sink_mut("l1_rsp_out").chance = 0.0;
            h.b.run(slow);
            h.b.sink_mut("l1_rsp_out").chance = 1.0;
            let mut expected = share.expected(first, words);
            expected.sort();
            assert_eq!(h.answers(), expected, "{first:?} after {gap}");
        }
    }
}

/// A reset in the midst of everything leaves nothing behind.
#[test]
fn a_reset_leaves_nothing() {
    let mut h = Hand::new(&small());
    for cycles in 0..20 {
        let t = mixed(&mut h);
        h.fwd(FwdOp::ReqS, A, (0b1110_1011, 0b1110_1011), (false, false, false));
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
