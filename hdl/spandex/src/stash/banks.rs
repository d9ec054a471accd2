//! The banks, the state of each word, and the mapping that each word belongs to.

use super::maps::Run;
use super::params::StashParams;
use crate::flags::Flags;
use weft_rtl::prelude::*;

/// State of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum WordState {
    /// Nothing is known of it.
    I,
    /// Fresh, or stale but dropped before a read that must not see it.
    V,
    /// Owned.
    O,
    /// Pending: stored here, in the store buffer until it is owned.
    P,
}

/// One bit per word (of a line, of a run, or of all banks) for each state but I.
#[derive(Clone, Copy)]
pub(super) struct States {
    pub valid: Bits,
    pub owned: Bits,
    pub pending: Bits,
}

impl States {
    fn of(low: Bits, high: Bits) -> States {
        States { valid: low & !high, owned: high & !low, pending: high & low }
    }
    /// Words with a value.
    pub fn here(&self) -> Bits {
        self.valid | self.owned | self.pending
    }
}

/// The words.
pub(super) struct Banks {
    p: StashParams,
    data: Vec<(SramPort<Bits>, LaneWriter<Bits>)>,
    /// I 00, V 01, O 10, P 11.
    low: Flags,
    high: Flags,
    owners: Memory<Bits>,
    owners_walk: RowWriter<Bits>,
}

impl Banks {
    pub fn new(p: &StashParams) -> Banks {
        let bank = |b: u32| {
            let mem = sram::<Bits>(&format!("bank_{b}"), p.rows(), 1, 32).fields(&[("data", 32)]);
            (mem.read_port("look"), mem.lane_writer("put"))
        };
        let owners = regfile_lanes::<Bits>("owner_map", p.rows(), p.banks, p.map_bits())
            .fields(&[("owner_map", p.map_bits())]);
        Banks {
            data: (0..p.banks).map(bank).collect(),
            low: Flags::new("word_valid", p.words(), "state"),
            high: Flags::new("word_owned", p.words(), "state"),
            owners_walk: owners.row_writer("walk"),
            owners,
            p: p.clone(),
        }
    }

    /// Bank of a word, and its row.
    fn split(&self, word: Bits) -> (Bits, Bits) {
        let bank = self.p.bank_bits();
        (word.slice(0, bank), word.slice(bank, self.p.row_bits()))
    }

    /// Row of each bank for the words from `first` on.
    pub fn rows_from(&self, first: Bits) -> Bits {
        let (bank, row) = self.split(first);
        let of = |b: u32| row + lit(u64::from(b), bank.width()).lt(bank).bits().zext(row.width());
        pack(&(0..self.p.banks).map(of).collect::<Vec<Bits>>())
    }

    /// Chooses the rows that are read in the next cycle, one of each bank.
    pub fn present(&self, rows: Bits) {
        let width = self.p.row_bits();
        for (b, bank) in (0..).zip(&self.data) {
            bank.0.present(rows.slice(b * width, width));
        }
    }

    /// Words of all banks, presented in the cycle before.
    pub fn data(&self) -> Bits {
        pack(&self.data.iter().map(|bank| bank.0.lane(0)).collect::<Vec<Bits>>())
    }

    /// Writes words of some banks.
    pub fn put(&self, mask: Bits, rows: Bits, data: Bits) {
        let width = self.p.row_bits();
        for (b, bank) in (0..).zip(&self.data) {
            when(mask.bit(b), || bank.1.write(rows.slice(b * width, width), &data.slice(32 * b, 32)));
        }
    }

    /// States of the words of some rows, one bit per bank.
    pub fn states_at(&self, rows: Bits) -> States {
        let (width, bank) = (self.p.row_bits(), self.p.bank_bits());
        let bits = |plane: &Flags| {
            let of = |b: u32| {
                let row = rows.slice(b * width, width);
                plane.get().bit_at(cat(&[row, lit(u64::from(b), bank)]))
            };
            pack_bools(&(0..self.p.banks).map(of).collect::<Vec<Bool>>())
        };
        States::of(bits(&self.low), bits(&self.high))
    }

    /// States of the words of one row.
    pub fn states_of_row(&self, row: Bits) -> States {
        let bits = |plane: &Flags| plane.get().element(row, self.p.banks);
        States::of(bits(&self.low), bits(&self.high))
    }

    /// States of the words of a run that belong to its mapping, in the places of their line; and which these are.
    pub fn states_of(&self, run: &Run, map: Bits) -> (States, Bits) {
        let bits = |plane: &Flags| {
            let from = plane.get().shr_by(run.first).slice(0, run.mapped.width());
            run.to_line(from)
        };
        let (low, high) = (bits(&self.low), bits(&self.high));
        let mine = run.to_line(self.owned_by(run.first, map)).named("view_mine");
        (States::of(low & mine, high & mine), mine)
    }

    /// The same states after this cycle, for observers.
    pub fn states_after(&self, run: &Run, mine: Bits) -> States {
        let bits = |plane: &Flags| {
            let from = plane.after().shr_by(run.first).slice(0, run.mapped.width());
            run.to_line(from) & mine
        };
        States::of(bits(&self.low), bits(&self.high))
    }

    /// Of the words from `first` on those that belong to a mapping.
    pub fn owned_by(&self, first: Bits, map: Bits) -> Bits {
        let (bank, row) = self.split(first);
        let same = |row: Bits| {
            let all = self.owners.read_row(row);
            pack_bools(&all.iter().map(|owner| owner.eq(map)).collect::<Vec<Bool>>())
        };
        let both = cat(&[same(row + 1), same(row)]);
        both.shr_by(bank).slice(0, self.p.spandex.words())
    }

    /// The mapping that a word belongs to.
    pub fn owner(&self, word: Bits) -> Bits {
        let (bank, row) = self.split(word);
        self.owners.read_lane(row, bank)
    }

    /// Words of a row that belong to a mapping.
    pub fn row_owned_by(&self, row: Bits, map: Bits) -> Bits {
        let all = self.owners.read_row(row);
        pack_bools(&all.iter().map(|owner| owner.eq(map)).collect::<Vec<Bool>>())
    }

    /// Mappings to which some words of a row belong.
    pub fn owners_of_row(&self, row: Bits, mask: Bits) -> Bits {
        let maps = self.p.maps;
        let all = (0..).zip(self.owners.read_row(row));
        let none = lit_bv(Bv::zero(maps));
        all.fold(none, |sum, (b, owner)| sum | (owner.one_hot(maps) & mask.bit(b).repeat(maps)))
    }

    /// Words of a row belong to a mapping from now on.
    pub fn give(&self, row: Bits, mask: Bits, map: Bits) {
        let all = pack(&vec![map; self.p.banks as usize]);
        self.owners_walk.write_packed(row, mask, all);
    }

    /// Words of a run, side by side, from the rows presented for it.
    pub fn run_data(&self, run: &Run) -> Bits {
        let (bank, _) = self.split(run.first);
        let data = self.data();
        let by = cat(&[bank, lit(0, 5)]);
        cat(&[data, data]).shr_by(by).slice(0, self.p.spandex.data_bits())
    }

    /// Values of a run's words, side by side, moved to their banks.
    pub fn to_banks(&self, first: Bits, values: Bits) -> Bits {
        let (bank, _) = self.split(first);
        let width = values.width() / self.p.spandex.words();
        let all = width * self.p.banks;
        let by = if width == 1 { bank } else { cat(&[bank, lit(0, width.trailing_zeros())]) };
        let moved = values.zext(2 * all).shl_by(by);
        moved.slice(0, all) | moved.slice(all, all)
    }

    /// Back: of one bit per bank those of the run's words, side by side.
    pub fn of_banks(&self, first: Bits, bits: Bits) -> Bits {
        let (bank, _) = self.split(first);
        cat(&[bits, bits]).shr_by(bank).slice(0, self.p.spandex.words())
    }

    /// Gives words of a run, side by side, another state; once per cycle.
    pub fn set(&self, first: Bits, words: Bits, state: WordState) {
        let all = words.zext(self.p.words()).shl_by(first);
        self.set_all(all, state);
    }

    /// Words of a row become I.
    pub fn drop_row(&self, row: Bits, words: Bits) {
        let first = cat(&[row, lit(0, self.p.bank_bits())]);
        self.set_all(words.zext(self.p.words()).shl_by(first), WordState::I);
    }

    fn set_all(&self, all: Bits, state: WordState) {
        let code = state as u64;
        for (plane, bit) in [(&self.low, 0), (&self.high, 1)] {
            if code >> bit & 1 == 1 {
                plane.raise(all);
            } else {
                plane.lower(all);
            }
        }
    }

    /// Every valid word becomes I.
    pub fn flash(&self, flash: Bool) {
        let (low, high) = (self.low.get(), self.high.get());
        let valid = low & !high;
        when(flash, || self.low.lower(valid));
        let row = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.stash.{name}"), cond, text);
        row("flash.V", flash & valid.any(), "Every valid word becomes I.");
        row("flash.O", flash & (high & !low).any(), "Owned words stay.");
        row("flash.P", flash & (high & low).any(), "Pending words stay.");
        let dropped = valid.popcount().zext(32);
        count_amount("stash_self_invalidated", flash, dropped, "words that acquires drop");
        count("stash_flashes", flash, "acquires");
    }

    /// Declares how states change; called last.
    pub fn finish(&self) {
        [&self.low, &self.high].into_iter().for_each(Flags::finish);
    }
}
