//! `owner-predictor` against a table kept here, at random; each row of its lessons; parameters, storage, reset.

use rand::Rng;
use std::collections::BTreeMap;
use weft_bench::{Bench, pages};
use weft_rtl::area::area;
use weft_spandex::owner_predictor::{PredictorParams, info, lessons, owner_predictor};
use weft_spandex::params::Spandex;

fn small() -> PredictorParams {
    let s = Spandex { cpus: 2, cus: 3, sharers: 5, addr_bits: 32, ..Spandex::default() };
    PredictorParams { spandex: s, entries: 4 }
}

/// A predictor with what it should know: by index {line, owner, confidence}.
struct World {
    b: Bench,
    known: BTreeMap<u64, (u64, u64, u64)>,
    entries: u64,
}

impl World {
    fn new(p: &PredictorParams, seed: u64) -> World {
        let mut b = Bench::new(&owner_predictor(p).expect("legal"), seed);
        ["look_line", "heard", "heard_line", "heard_device", "heard_refused"]
            .into_iter()
            .for_each(|port| b.set(port, 0));
        World { b, known: BTreeMap::new(), entries: u64::from(p.entries) }
    }

    fn guess(&self, line: u64) -> Option<u64> {
        let known = self.known.get(&(line % self.entries));
        known.filter(|(of, _, confidence)| *of == line && *confidence >= 2).map(|known| known.1)
    }

    fn learn(&mut self, line: u64, device: u64, refused: bool) {
        let entry = self.known.get_mut(&(line % self.entries)).filter(|known| known.0 == line);
        match (entry, refused) {
            (Some((_, owner, confidence)), false) if *owner == device => *confidence = 3.min(*confidence + 1),
            (Some((_, owner, confidence)), true) if *owner == device => {
                *confidence = confidence.saturating_sub(1);
            }
            (_, true) => {}
            (_, false) => {
                self.known.insert(line % self.entries, (line, device, 1));
            }
        }
    }

    /// One cycle: looks a line up, hears of another, and compares.
    fn cycle(&mut self, look: u64, heard: Option<(u64, u64, bool)>) -> Option<u64> {
        let expected = self.guess(look);
        self.b.set("look_line", look);
        self.b.set("heard", u64::from(heard.is_some()));
        if let Some((line, device, refused)) = heard {
            self.b.set("heard_line", line);
            self.b.set("heard_device", device);
            self.b.set("heard_refused", u64::from(refused));
            self.learn(line, device, refused);
        }
        self.b.step();
        let got = (self.b.get("likely") == 1).then(|| self.b.get("owner"));
        assert_eq!(got, expected, "line {look:#x}");
        got
    }
}

#[test]
fn a_guess_is_used_from_the_second_answer_on() {
    let mut w = World::new(&small(), 1);
    let steps: [(u64, bool, Option<u64>); 12] = [
        (3, false, None),
        (3, false, Some(3)),
        (3, false, Some(3)),
        (3, false, Some(3)),
        (3, true, Some(3)),
        (3, true, None),
        (3, true, None),
        (3, true, None),
        (3, false, None),
        (3, false, Some(3)),
        (4, true, Some(3)),
        (4, false, None),
    ];
    for (device, refused, after) in steps {
        w.cycle(0x51, Some((0x51, device, refused)));
        assert_eq!(w.cycle(0x51, None), after);
    }
    // Another line of the same entry takes it.
    w.cycle(0, Some((0x51, 4, false)));
    assert_eq!(w.cycle(0x51, None), Some(4));
    w.cycle(0, Some((0x55, 1, false)));
    assert_eq!((w.cycle(0x51, None), w.cycle(0x55, None)), (None, None));
}

#[test]
fn what_it_guesses_is_what_it_was_told() {
    for seed in 0..4 {
        let mut w = World::new(&PredictorParams { entries: [2, 4, 16, 64][seed as usize], ..small() }, seed);
        let mut used = 0;
        for _ in 0..8_000 {
            let line = w.b.rng.random_range(0..3 * w.entries) * 0x1_0001;
            let look = w.b.rng.random_range(0..3 * w.entries) * 0x1_0001;
            // Mostly one device answers for a line, so that confidence grows.
            let device = if w.b.rng.random_bool(0.8) { line % 5 } else { w.b.rng.random_range(0..5) };
            let refused = w.b.rng.random_bool(0.3);
            let heard = w.b.rng.random_bool(0.8).then_some((line, device, refused));
            used += u64::from(w.cycle(look, heard).is_some());
        }
        assert!(used > 100, "{used} guesses");
        assert_eq!(w.b.uncovered(&[]), Vec::<String>::new());
    }
}

#[test]
fn a_reset_forgets_everything() {
    let mut w = World::new(&small(), 1);
    w.cycle(7, Some((7, 2, false)));
    w.cycle(7, Some((7, 2, false)));
    assert_eq!(w.cycle(7, None), Some(2));
    w.b.reset();
    w.known.clear();
    assert_eq!(w.cycle(7, None), None);
}

#[test]
fn storage_and_table() {
    let published = info().with(&[]).expect("legal");
    // 64 entries of {valid, tag 36, owner 5, confidence 2}.
    let bits: u64 = area(&published).fields.iter().filter(|f| f.field == "predictor").map(|f| f.bits).sum();
    assert_eq!(bits, 64 * (1 + 36 + 5 + 2));
    pages::is_current("spandex/docs/owner-predictor.md", &lessons().to_markdown());
}
