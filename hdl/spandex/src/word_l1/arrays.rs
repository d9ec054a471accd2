//! Word states, tags, data and ages of the lines: one row is read per cycle, one way of it changed.

use super::params::{Inject, WordL1Params};
use crate::flags::Flags;
use weft_cache::{Geometry, LineRows};
use weft_rtl::prelude::*;

/// The arrays.
pub(super) struct Arrays {
    p: WordL1Params,
    /// Two bits per word, in flip-flops, sets of ways: I 00, V 01, O 10, S 11 (`word_owned`, `word_valid`).
    low: Flags,
    high: Flags,
    /// One bit per line: requests of it are under way, so it keeps its way.
    pinned: Flags,
    /// One bit per line, with `regions`: its valid words outlive acquires.
    fixed: Option<Flags>,
    rows: LineRows<()>,
    flash: Wire<Bool>,
    drops: Wire<Bits>,
}

/// What the row read holds of a line, or the way that it may take.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub set: Bits,
    pub present: Bool,
    /// The matching way, or the victim.
    pub way: Bits,
    /// Words of the line, none while it is not there.
    pub valid: Bits,
    pub shared: Bits,
    pub owned: Bits,
    /// It was filled from a read-only region.
    pub fixed: Bool,
    /// Some way may be taken.
    pub room: Bool,
    /// The victim's line and its owned words.
    pub victim_line: Bits,
    pub victim_owned: Bits,
}

/// Words of a line by their state; the others are I.
#[derive(Clone, Copy)]
pub(super) struct States {
    pub valid: Bits,
    pub shared: Bits,
    pub owned: Bits,
}

impl Found {
    /// The states of its words.
    pub fn states(&self) -> States {
        States { valid: self.valid, shared: self.shared, owned: self.owned }
    }
}

impl States {
    /// The same without these words, which become I.
    pub fn without(self, words: Bits) -> States {
        States { valid: self.valid & !words, shared: self.shared & !words, owned: self.owned & !words }
    }
    /// These words become V.
    pub fn to_valid(self, words: Bits) -> States {
        let rest = self.without(words);
        States { valid: rest.valid | words, ..rest }
    }
    /// These words become S.
    pub fn to_shared(self, words: Bits) -> States {
        let rest = self.without(words);
        States { shared: rest.shared | words, ..rest }
    }
    /// These words become O.
    pub fn to_owned(self, words: Bits) -> States {
        let rest = self.without(words);
        States { owned: rest.owned | words, ..rest }
    }
}

impl Arrays {
    pub fn new(p: &WordL1Params) -> Arrays {
        let l1 = &p.l1;
        let (lines, words) = (l1.geometry().lines(), l1.spandex.words());
        Arrays {
            low: Flags::new("word_valid", lines * words, "state"),
            high: Flags::new("word_owned", lines * words, "state"),
            pinned: Flags::new("line_pinned", lines, "pin"),
            fixed: p.regions.then(|| Flags::new("line_ro", lines, "region")),
            rows: LineRows::new(l1.geometry(), l1.spandex.data_bits(), || ()),
            flash: wire_or::<Bool>("line_flash", (), false),
            drops: wire_zero::<Bits>("flash_drops", lines * words),
            p: p.clone(),
        }
    }

    fn geometry(&self) -> Geometry {
        self.rows.geometry()
    }

    /// Chooses the row that is read in the next cycle.
    pub fn present(&self, line: Bits) {
        self.rows.present(line);
    }

    /// Looks a line up in its row, which was presented in the cycle before; `active`: it was.
    pub fn look_up(&self, line: Bits, active: Bool) -> Found {
        let (set, ways) = (self.geometry().set_of(line), self.p.l1.ways);
        let words = self.p.l1.spandex.words();
        let row = |plane: &Flags, bits: u32| plane.get().element(set, ways * bits);
        let (low, high, pinned) = (row(&self.low, words), row(&self.high, words), row(&self.pinned, 1));
        let some: Vec<Bool> =
            (0..ways).map(|w| (low | high).slice(w * words, words).any() | pinned.bit(w)).collect();
        let used = pack_bools(&some).named("ways_used");
        let hit = self.rows.hit(line, used, active, &self.p.named("line_once"));
        let victim = self.rows.victim(used, self.rows.oldest(|| !pinned));
        let present = hit.any().named("found_present");
        let of_line = |plane: Bits| plane.element(hit.lowest_set(), words) & present.repeat(words);
        Found {
            set,
            present,
            way: mux(present, hit.lowest_set(), victim).named("found_way"),
            valid: of_line(low & !high).named("found_valid"),
            shared: of_line(low & high).named("found_shared"),
            owned: of_line(high & !low).named("found_owned"),
            fixed: self.fixed.as_ref().map_or(bool_lit(false), |fixed| (row(fixed, 1) & hit).any()),
            room: (!pinned).any(),
            victim_line: self.rows.line_in(set, victim),
            victim_owned: (high & !low).element(victim, words),
        }
    }

    /// Owned words of the way after this cycle, for observers.
    pub fn owned_after(&self, found: &Found) -> Bits {
        let words = self.p.l1.spandex.words();
        let way = |plane: Bits| plane.element(found.set, self.p.l1.ways * words).element(found.way, words);
        way(self.high.after()) & !way(self.low.after() & !self.drops.get())
    }

    /// Data of the way.
    pub fn data(&self, found: &Found) -> Bits {
        self.rows.data(found.way)
    }

    /// Makes the way the most recently used.
    pub fn touch(&self, found: &Found) {
        self.rows.touch(found.set, found.way);
    }

    /// After reset writes the ages, one set per cycle; true when done.
    pub fn initialise(&self) -> Bool {
        self.rows.initialise(|_| ())
    }

    /// Gives the words of the way other states; at most once per cycle. In the cycle of a flash none is valid afterwards: an atomic that acquires does not keep the other words of
    /// its own line.
    pub fn set_words(&self, found: &Found, now: &States) {
        let words = self.p.l1.spandex.words();
        let valid = now.valid & !self.flash.get().repeat(words);
        let lines = self.geometry().lines();
        let place = cat(&[found.set, found.way, lit(0, words.trailing_zeros())]);
        for (plane, now) in [(&self.low, valid | now.shared), (&self.high, now.owned | now.shared)] {
            plane.raise(now.zext(lines * words).shl_by(place));
            plane.lower((!now).zext(lines * words).shl_by(place));
        }
    }

    /// Writes the line of the way.
    pub fn put_data(&self, found: &Found, data: Bits) {
        self.rows.put_data(found.set, found.way, data);
    }

    /// The line takes the way, in which it stays for now.
    pub fn take(&self, found: &Found, line: Bits) {
        self.rows.put_tag(found.set, found.way, line);
        self.pinned.raise(self.place(found));
        self.touch(found);
    }

    /// From now on the valid words of the way are those of a read-only region, or not.
    pub fn fix(&self, found: &Found, fixed: Bool) {
        if let Some(flags) = &self.fixed {
            let place = self.place(found);
            when(fixed, || flags.raise(place)).otherwise(|| flags.lower(place));
        }
    }

    /// No request of the line is under way any more.
    pub fn unpin(&self, found: &Found) {
        self.pinned.lower(self.place(found));
    }

    fn place(&self, found: &Found) -> Bits {
        self.geometry().place(found.set, found.way)
    }

    /// Every valid word becomes I in this cycle, also one that a slot would leave valid; those of read-only regions when a kernel begins only. Owned and shared ones stay.
    pub fn flash(&self, kernel: Bool) {
        self.flash.set(true);
        let valid = self.valid();
        let all = lit_bv(Bv::ones(valid.width()));
        let drops = match &self.fixed {
            Some(_) if self.p.inject == Inject::KeepsRegion => !self.fixed_words(),
            Some(_) => !self.fixed_words() | kernel.repeat(all.width()),
            None => all,
        };
        self.drops.set(valid & drops);
        if let Some(fixed) = &self.fixed {
            when(kernel, || fixed.lower(lit_bv(Bv::ones(fixed.get().width()))));
        }
    }

    /// The valid words of all lines.
    fn valid(&self) -> Bits {
        self.low.get() & !self.high.get()
    }

    /// Words of lines that come from read-only regions.
    fn fixed_words(&self) -> Bits {
        let words = self.p.l1.spandex.words();
        let none = lit_bv(Bv::zero(self.low.get().width()));
        self.fixed.as_ref().map_or(none, |fixed| crate::amo::spread(fixed.get(), words))
    }

    /// Declares how states change; call it last.
    pub fn finish(&self) {
        let (flash, valid, drops) = (self.flash.get(), self.valid(), self.drops.get());
        self.low.finish_without(drops);
        [&self.high, &self.pinned].into_iter().chain(&self.fixed).for_each(Flags::finish);
        let row = |name: &str, cond: Bool, text: &str| cover(&self.p.row(name), cond, text);
        let (low, high) = (self.low.get(), self.high.get());
        row("flash.V", flash & valid.any(), "Every valid word becomes I.");
        row("flash.O", flash & (high & !low).any(), "Owned words stay.");
        if self.p.flex() {
            row("flash.S", flash & (high & low).any(), "Shared words stay.");
        } else {
            let text = "a word is valid or owned";
            assert_always(&self.p.named("one_state"), (high & low).none(), text);
        }
        if self.fixed.is_some() {
            let stays = flash & (valid & self.fixed_words() & !drops).any();
            row("flash.RO", stays, "Valid words of read-only regions stay, but for a kernel's beginning.");
        }
        let drops = drops.popcount().zext(32);
        count_amount(&self.p.named("self_invalidated"), flash, drops, "words that acquires drop");
        count(&self.p.named("flashes"), flash, "acquires");
    }
}
