//! STASH_MAP: where words lie, what becomes of those of an older mapping, and words that several mappings hold (cu-and-consistency.md section 8).

use crate::hand::{A, BANK, Unit, value};
use crate::stash::hand::{Area, Hand, W, small, with};
use crate::words::{bits, word};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use weft_blocks::msg::CuOp;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp};
use weft_spandex::stash::{Inject, StashParams};

/// Words of lines by global words.
fn lines(words: &[(u64, u32)]) -> BTreeMap<u64, Vec<(u64, u32)>> {
    let mut all: BTreeMap<u64, Vec<(u64, u32)>> = BTreeMap::new();
    words.iter().for_each(|(g, value)| all.entry(g / W).or_default().push((g % W, *value)));
    all.values_mut().for_each(|words| words.sort());
    all
}

/// Answers everything that the stash asks, until nothing comes any more; global words that it asked for, by operation.
fn serve(h: &mut Hand, word: impl Fn(u64) -> u32) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut asked: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut quiet = 0;
    while quiet < 30 {
        quiet += 1;
        h.b.run(1);
        while let Some((_, m)) = h.b.received("l1_req") {
            quiet = 0;
            let (op, line, words) = (m.get("op"), m.get("line"), m.get("mask"));
            let fresh = asked.entry(op).or_default();
            for w in bits(words) {
                assert!(fresh.insert(line * W + w), "a word is asked for once");
            }
            let answer = if op == ReqOp::ReqV as u64 { RspOp::RspV } else { RspOp::RspO };
            h.give(answer, line, (words, 0), m.get("tag"), |w| word(line * W + w));
        }
    }
    asked
}

/// Takes all write-backs; words with their values.
fn write_backs(h: &mut Hand) -> BTreeMap<u64, u32> {
    let mut all = BTreeMap::new();
    let mut quiet = 0;
    while quiet < 30 {
        quiet += 1;
        h.b.run(1);
        while let Some((_, m)) = h.b.received("l1_wb") {
            quiet = 0;
            let (line, words) = (m.get("line"), m.get("mask"));
            for w in bits(words) {
                let value = word(m.wide("data"), w);
                assert!(all.insert(line * W + w, value).is_none(), "a word is written back once");
            }
            h.give(RspOp::RspWb, line, (0, 0), m.get("tag"), |_| 0);
        }
    }
    all
}

fn random_area(rng: &mut SmallRng, p: &StashParams) -> Area {
    let words = u64::from(p.words());
    let element = [1, 1, 1, 2, 3, 5, 8, 16][rng.random_range(0..8usize)];
    let stride = element + [0, 0, 1, 2, 3, 7, 8, 13, 29, 1000, 40_000][rng.random_range(0..11usize)];
    let count = rng.random_range(1..=(words / 2) / element);
    let base = rng.random_range(0..=words - element * count);
    // Below 2^30 words.
    Area { base, global: rng.random_range(0..1 << 26), element, stride, count }
}

/// Any mapping: stores ask for the global words that the specification's formula names, forwards find each word where it lies and no other, and another mapping writes all of them back.
#[test]
fn words_lie_where_the_formula_says() {
    let mut rng = SmallRng::seed_from_u64(5);
    let mut h = Hand::new(&small());
    for round in 0..60 {
        let area = random_area(&mut rng, &h.p);
        h.map(1, area);
        let words = area.words();
        let some: Vec<(u64, u64)> = words.iter().filter(|_| rng.random_bool(0.8)).copied().collect();
        for (s, _) in &some {
            h.store(&[*s], |s| 0x1000 * round + s as u32);
        }
        let asked = serve(&mut h, |_| 0);
        let globals: BTreeSet<u64> = some.iter().map(|w| w.1).collect();
        assert_eq!(asked.get(&(ReqOp::ReqO as u64)).cloned().unwrap_or_default(), globals, "{area:?}");
        let held: Vec<(u64, u32)> = some.iter().map(|(s, g)| (*g, 0x1000 * round + *s as u32)).collect();
        for (line, words) in lines(&held).into_iter().take(6) {
            assert_eq!(h.owned(line), words, "{area:?}");
        }
        // What is not owned is read, whole lines of the mapping at once, and nothing else.
        let rest: Vec<(u64, u64)> = words.iter().filter(|w| !some.contains(w)).copied().collect();
        if let Some((s, g)) = rest.first() {
            let id = h.load(&[*s]);
            let asked = serve(&mut h, |g| g as u32 ^ 0x55);
            let of_line: BTreeSet<u64> = rest.iter().filter(|w| w.1 / W == g / W).map(|w| w.1).collect();
            assert_eq!(asked, BTreeMap::from([(ReqOp::ReqV as u64, of_line.clone())]), "{area:?}");
            assert_eq!(h.answered(id, &[*s]), [*g as u32 ^ 0x55]);
            for (s, g) in rest.iter().filter(|w| of_line.contains(&w.1)) {
                let id = h.load(&[*s]);
                assert_eq!(h.answered(id, &[*s]), [*g as u32 ^ 0x55], "{area:?}");
            }
        }
        let id = h.maps(1, Area::dense(0, 1 << 29, 1));
        let back = write_backs(&mut h);
        assert_eq!(back, held.into_iter().collect(), "{area:?}");
        h.acked(id);
        h.silent(&["l1_req", "l1_wb", "cu_rsp"]);
    }
}

/// The same mapping again keeps owned words, kernels between them too; any difference, or another mapping of part of the space, writes back what it takes away.
#[test]
fn a_mapping_that_comes_again_keeps_its_words() {
    let area = Area::dense(4, A * W, 12);
    let own = |h: &mut Hand| {
        h.reset();
        h.map(2, area);
        for w in 4..16 {
            h.store(&[w], value);
        }
        let id = h.order(CuOp::Kend);
        serve(h, |_| 0);
        h.acked(id);
        let id = h.order(CuOp::Kbegin);
        h.acked(id);
    };
    let back =
        |from: u64, to: u64| (from..to).map(|s| (A * W + s - 4, value(s))).collect::<BTreeMap<u64, u32>>();
    let mut h = Hand::new(&small());
    own(&mut h);
    h.map(2, area);
    assert_eq!(write_backs(&mut h), BTreeMap::new());
    let id = h.load(&[9, 10]);
    assert_eq!(h.answered(id, &[9, 10]), [value(9), value(10)]);
    let others = [
        (2, Area { count: 11, ..area }, back(4, 16)),
        (2, Area { base: 5, ..area }, back(4, 16)),
        (2, Area { global: A * W + 1, ..area }, back(4, 16)),
        (2, Area { stride: 2, ..area }, back(4, 16)),
        (2, Area { element: 2, stride: 2, count: 6, ..area }, back(4, 16)),
        (3, Area::dense(0, 1 << 20, 7), back(4, 7)),
        (3, Area::dense(14, 1 << 20, 40), back(12, 16)),
        (3, Area::dense(16, 1 << 20, 4), BTreeMap::new()),
    ];
    for (index, other, words) in others {
        own(&mut h);
        let id = h.maps(index, other);
        let found = write_backs(&mut h);
        assert!(words.iter().all(|w| found.get(w.0) == Some(w.1)), "{other:?}: {found:?}");
        // Words of a line go together.
        let lines: BTreeSet<u64> = words.keys().map(|g| g / W).collect();
        assert!(
            found.iter().all(|(g, v)| lines.contains(&(g / W)) && *v == value(g - A * W + 4)),
            "{found:?}"
        );
        h.acked(id);
        h.silent(&["l1_req", "l1_wb", "cu_rsp"]);
    }
}

/// A word of the old mapping that is still pending is waited for, asked to leave, and then written back; with the fault it is forgotten once owned.
#[test]
fn a_new_mapping_waits_for_pending_words() {
    let full = StashParams { sb_drain: weft_spandex::gpu_l1::SbDrain::Full, ..small() };
    let mut h = Hand::new(&full);
    h.map(0, Area::dense(0, A * W, W));
    h.store(&[2], value);
    h.silent(&["l1_req"]);
    let id = h.maps(0, Area::dense(0, (A + 1) * W, W));
    let tag = h.asked(ReqOp::ReqO, A, 0b100);
    h.silent(&["l1_wb", "cu_rsp"]);
    // Somebody takes another word of the line, and reads this one, meanwhile.
    h.forward(FwdOp::ReqV, A, (0b100, 0), (false, false, false));
    assert_eq!(h.answers()[0].data, [value(2)]);
    h.give(RspOp::RspO, A, (0b100, 0), tag, |_| 0);
    let (wb, data) = h.written_back(A, 0b100);
    assert_eq!(data, [value(2)]);
    h.acked(id);
    h.give(RspOp::RspWb, A, (0, 0), wb, |_| 0);
    h.silent(&["l1_req", "l1_wb", "cu_rsp"]);
}

#[test]
fn a_mapping_that_forgets_owned_words_is_noticed() {
    for (inject, words) in [(Inject::None, 1), (Inject::ForgetsOwned, 0)] {
        let mut h = Hand::new(&with(inject));
        h.map(0, Area::dense(0, A * W, W));
        h.own(&[2], A, 0b100, value);
        let id = h.maps(0, Area::dense(0, (A + 1) * W, W));
        assert_eq!(write_backs(&mut h).len(), words, "{inject:?}");
        h.acked(id);
    }
}

/// A full write-back buffer stops the walk, not forwards and accesses to other mappings.
#[test]
fn a_full_write_back_buffer_stops_the_walk_only() {
    let mut h = Hand::new(&small());
    h.map(0, Area::dense(0, A * W, 24));
    h.map(1, Area::dense(32, (A + 9) * W, 2));
    for line in 0..3 {
        h.own(&[line * W], A + line, 1, value);
    }
    h.own(&[32], A + 9, 1, value);
    let id = h.maps(0, Area::dense(0, (A + 20) * W, 24));
    let (first, _) = h.written_back(A, 1);
    h.written_back(A + 1, 1);
    h.silent(&["l1_wb", "cu_rsp"]);
    assert!(h.b.counted("spandex.race.stash_full_write_backs") > 0);
    assert_eq!(h.b.get("busy_map"), 1);
    let load = h.load(&[32]);
    assert_eq!(h.answered(load, &[32]), [value(32)]);
    h.forward(FwdOp::RvkO, A + 2, (0, 1), (false, false, false));
    let revoked = h.answers();
    assert_eq!((revoked.len(), revoked[0].data.clone()), (1, vec![value(16)]));
    // Nothing is left to write back: the walk goes on.
    h.acked(id);
    h.give(RspOp::RspWb, A, (0, 0), first, |_| 0);
    h.silent(&["l1_wb", "cu_rsp"]);
    assert_eq!(h.b.get("busy_map"), 0);
}

/// Words that another mapping of the stash has: owned ones are written back, and asked for only then; pending ones are waited for; copies go when the word is stored.
#[test]
fn a_word_is_owned_in_one_place() {
    for inject in [Inject::None, Inject::KeepsAlias] {
        let run = || {
            let mut h = Hand::new(&with(inject));
            h.map(0, Area::dense(0, A * W, W));
            h.map(1, Area { base: 8, global: A * W, element: 1, stride: 2, count: 4 });
            // Global words 0, 2 and 3 are owned by mapping 0; the second word of mapping 1 is global word 2.
            h.own(&[0, 2, 3], A, 0b1101, value);
            let id = h.load(&[9]);
            let (wb, data) = h.written_back(A, 0b100);
            assert_eq!(data, [value(2)]);
            h.silent(&["l1_req", "cu_rsp"]);
            h.give(RspOp::RspWb, A, (0, 0), wb, |_| 0);
            // Word 0 stays where it is, words 4 and 6 come along.
            let tag = h.asked(ReqOp::ReqV, A, 0b101_0100);
            h.give(RspOp::RspV, A, (0b101_0100, 0), tag, value);
            assert_eq!(h.answered(id, &[9]), [value(2)]);
            assert_eq!(h.owned(A), [(0, value(0)), (3, value(3))]);
            // A store through mapping 0 drops the copy of mapping 1.
            h.store(&[2], |_| 7);
            let tag = h.asked(ReqOp::ReqO, A, 0b100);
            let id = h.load(&[9]);
            h.silent(&["l1_req", "l1_wb", "cu_rsp"]);
            h.give(RspOp::RspO, A, (0b100, 0), tag, |_| 0);
            let (wb, data) = h.written_back(A, 0b100);
            assert_eq!(data, [7]);
            h.give(RspOp::RspWb, A, (0, 0), wb, |_| 0);
            let tag = h.asked(ReqOp::ReqV, A, 0b100);
            h.give(RspOp::RspV, A, (0b100, 0), tag, |_| 7);
            assert_eq!(h.answered(id, &[9]), [7]);
            // And a store through mapping 1 takes the word from mapping 0.
            h.store(&[8], |_| 9);
            let (wb, _) = h.written_back(A, 1);
            let tag = h.asked_after(wb, ReqOp::ReqO, A, 1);
            h.give(RspOp::RspO, A, (1, 0), tag, |_| 0);
            h.b.run(20);
            assert_eq!(h.owned(A), [(0, 9), (3, value(3))]);
        };
        let good = std::panic::catch_unwind(run).is_ok();
        assert_eq!(good, inject == Inject::None, "{inject:?}");
    }
}

impl Hand {
    /// A write-back is answered only when nothing has been asked for; then the words are.
    fn asked_after(&mut self, wb: u64, op: ReqOp, line: u64, words: u64) -> u64 {
        self.silent(&["l1_req"]);
        self.give(RspOp::RspWb, line, (0, 0), wb, |_| 0);
        self.asked(op, line, words)
    }
}

/// A forward for a word of the second mapping of its line.
#[test]
fn a_forward_looks_at_every_mapping() {
    for (inject, owns) in [(Inject::None, 2), (Inject::FirstMapOnly, 1)] {
        let mut h = Hand::new(&with(inject));
        h.map(0, Area { base: 0, global: A * W, element: 1, stride: 4, count: 4 });
        h.map(3, Area { base: 30, global: A * W + 1, element: 1, stride: 4, count: 4 });
        h.own(&[0], A, 1, value);
        h.own(&[30], A, 2, value);
        assert_eq!(h.owned(A).len(), owns, "{inject:?}");
    }
}

/// A read is under way for a mapping that ends: it answers its load, and is not kept.
#[test]
fn a_read_for_an_old_mapping_is_not_kept() {
    let mut h = Hand::new(&small());
    h.map(0, Area::dense(0, A * W, W));
    let id = h.load(&[3]);
    let tag = h.asked(ReqOp::ReqV, A, 0xff);
    h.map(0, Area::dense(0, (A + 1) * W, W));
    h.gives(BANK, RspOp::RspV, A, (0xff, 0), tag, value);
    assert_eq!(h.answered(id, &[3]), [value(3)]);
    let id = h.load(&[4]);
    let tag = h.asked(ReqOp::ReqV, A + 1, 0xff);
    h.give(RspOp::RspV, A + 1, (0xff, 0), tag, |_| 6);
    assert_eq!(h.answered(id, &[4]), [6]);
}

/// Words outside every mapping, and of a mapping that is not ready, are errors of the program; so is a mapping that does not fit.
#[test]
fn what_lies_in_no_mapping_is_refused() {
    let fails = |run: &dyn Fn(&mut Hand)| {
        let mut h = Hand::new(&small());
        run(&mut h);
        (0..60).any(|_| {
            h.b.advance();
            h.b.sim.failures().iter().any(|f| format!("{f:?}").contains("stash_m"))
        })
    };
    let area = Area::dense(0, A * W, W);
    assert!(!fails(&|h| {
        h.map(0, area);
        h.load(&[3]);
    }));
    assert!(fails(&|h| {
        h.load(&[3]);
    }));
    for bad in [
        Area { count: 0, ..area },
        Area { element: 0, ..area },
        Area { element: 2, count: 4, ..area },
        Area { base: 60, ..area },
    ] {
        assert!(fails(&|h| {
            h.maps(0, bad);
        }));
    }
    assert!(fails(&|h| {
        h.map(0, area);
        h.own(&[0], A, 1, value);
        h.b.sink_mut("l1_wb").chance = 0.0;
        h.own_all_lines();
    }));
}

impl Hand {
    /// The walk of a new mapping stops, since nobody takes write-backs, and somebody loads from it.
    fn own_all_lines(&mut self) {
        self.map(1, Area::dense(16, (A + 4) * W, 24));
        for line in 0..3 {
            self.own(&[16 + line * W], A + 4 + line, 1, value);
        }
        self.maps(1, Area::dense(16, (A + 9) * W, 24));
        self.b.run(20);
        self.load(&[38]);
    }
}
