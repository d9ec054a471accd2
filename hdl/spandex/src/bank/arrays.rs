//! Tags with states, owned words, sharers and pseudo-LRU trees, read in stage 1; the lines, read in stage 2. Everything is written in stage 3.

use super::Bank;
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_cache::{Array, ByRow};
use weft_rtl::prelude::*;

/// What the arrays know of a line but for its words: a tag, and a state of which only absence matters to them.
pub(crate) trait LineTag: Data<Shape = Bank> + Copy {
    /// Tag of the line.
    fn tag(&self) -> Bits;
    /// The way is empty.
    fn absent(&self) -> Bool;
}

/// Bits of what is kept of a line.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    /// Owned words; without any there is no such array.
    pub owned: u32,
    /// Sharers; without any there is no such array.
    pub sharers: u32,
    /// Bits for sharers where they are read, also if there is no such array; 0 if nobody looks.
    pub sharing: u32,
    /// Lanes of the line: its words, if they are written one by one.
    pub lanes: u32,
}

/// The arrays.
pub(crate) struct Arrays<T: LineTag> {
    bank: Bank,
    pub kept: Kept,
    tags: ByRow<T>,
    owned: Option<ByRow<Bits>>,
    sharers: Option<ByRow<Bits>>,
    trees: ByRow<Bits>,
    lines: ByRow<Bits>,
}

/// What a set says about a line, in the cycle after its presentation.
pub(crate) struct Found {
    /// Ways that hold the line; at most one.
    pub matches: Bits,
    /// The way to replace, meaningful unless `full`.
    pub victim: Bits,
    /// No way may be replaced.
    pub full: Bool,
    pub tree: Bits,
}

/// Lines that may go before others, way by way.
pub(crate) enum Spare {
    /// Nobody has to be asked for them.
    Alone(Bits),
    /// All but these, for which somebody has to be asked.
    Held(Vec<Bool>),
}

/// What a line's place holds, but for the words.
#[derive(Clone, Copy)]
pub(crate) struct Place<T> {
    pub there: T,
    pub owned: Bits,
    pub sharers: Bits,
}

fn zero(width: u32) -> Bits {
    lit_bv(Bv::zero(width))
}

impl<T: LineTag> Arrays<T> {
    /// Declares the arrays.
    pub fn new(bank: &Bank, kept: Kept) -> Arrays<T> {
        let (sets, ways, bits) = (bank.sets(), bank.ways, plru_bits(bank.ways));
        let tags = sram::<T>("tags", sets, ways, bank.clone());
        let beside = |name: &str, width: u32| {
            (width > 0).then(|| sram::<Bits>(name, sets, ways, width).fields(&[(name, width)]))
        };
        let (owned, sharers) = (beside("owned", kept.owned), beside("sharers", kept.sharers));
        let port = |memory: Option<&Memory<Bits>>| memory.map(Array::by_row);
        // Beside owned words the ports of sharers stand before those of tags.
        let first = port(sharers.as_ref().filter(|_| owned.is_some()));
        let trees = sram::<Bits>("trees", sets, 1, bits).fields(&[("replacement", bits)]);
        let lines = sram::<Bits>("lines", sets * ways, kept.lanes, bank.s.data_bits() / kept.lanes);
        Arrays {
            bank: bank.clone(),
            tags: Array::by_row(&tags),
            sharers: first.or_else(|| port(sharers.as_ref())),
            owned: port(owned.as_ref()),
            trees: Array::by_row(&trees),
            lines: Array::by_row(&lines),
            kept,
        }
    }

    /// What is kept beside tags.
    fn beside(&self) -> impl Iterator<Item = (&ByRow<Bits>, u32)> {
        let owned = self.owned.iter().map(|array| (array, self.kept.owned));
        owned.chain(self.sharers.iter().map(|array| (array, self.kept.sharers)))
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        self.tags.look.present(set);
        self.beside().for_each(|(array, _)| array.look.present(set));
        self.trees.look.present(set);
    }

    /// Starts the read of a line.
    pub fn present_line(&self, row: Bits) {
        self.lines.look.present(row);
    }

    /// The line presented in the cycle before.
    pub fn line(&self) -> Bits {
        pack(&self.lines.look.row())
    }

    /// What the set presented says about a tag; `blocked`: ways that must stay, `spare`: which lines go after ways without one.
    pub fn look(&self, tag: Bits, blocked: Bits, spare: impl FnOnce(&[T]) -> Spare) -> Found {
        let row = self.tags.look.row();
        let empty = pack_bools(&row.iter().map(LineTag::absent).collect::<Vec<_>>());
        let equal: Vec<Bool> = row.iter().map(|t| t.tag().eq(tag)).collect();
        let spare = spare(&row);
        let may = !blocked;
        let none = empty & may;
        let free = match spare {
            Spare::Alone(ways) => ways & may,
            Spare::Held(held) => !pack_bools(&held) & may,
        };
        let tree = self.trees.look.lane(0);
        let by_age = plru_victim(tree, mux(free.any(), free, may), self.bank.ways);
        Found {
            matches: pack_bools(&equal) & !empty,
            victim: mux(none.any(), none.lowest_set(), by_age),
            full: may.none(),
            tree,
        }
    }

    /// A way of the set presented.
    pub fn place(&self, way: Bits) -> Place<T> {
        let of = |array: &Option<ByRow<Bits>>, width: u32| match array {
            Some(array) => array.look.lane_at(way),
            None => zero(width),
        };
        let sharers = || of(&self.sharers, self.kept.sharing.max(1));
        // Beside owned words sharers are read before tags.
        let first = self.owned.is_some().then(sharers);
        let there = self.tags.look.lane_at(way);
        Place { there, owned: of(&self.owned, 1), sharers: first.unwrap_or_else(sharers) }
    }

    /// Ways of the set presented with owned words, or which are `shared`: somebody has to be asked before they go.
    pub fn held(&self, shared: impl Fn(&Place<T>) -> Bool) -> Spare {
        let bits = self.bank.way_bits();
        let held = (0..self.bank.ways).map(|way| {
            let place = self.place(lit(u64::from(way), bits));
            place.owned.any() | shared(&place)
        });
        Spare::Held(held.collect())
    }

    /// Writes a way, but for the line.
    pub fn put(&self, set: Bits, way: Bits, place: &Place<T>) {
        let (ways, lane) = (self.bank.ways as usize, way.one_hot(self.bank.ways));
        self.tags.put.write_masked(set, lane, &vec![place.there; ways]);
        if let Some(owned) = &self.owned {
            owned.put.write_masked(set, lane, &vec![place.owned; ways]);
        }
        if let Some(sharers) = &self.sharers {
            sharers.put.write_masked(set, lane, &vec![place.sharers; ways]);
        }
    }

    /// What this cycle leaves in a way of a set that has `before`: the tag, and the words owned.
    pub fn left(&self, set: Bits, way: Bits, before: &Place<T>) -> (T, Bits) {
        let there = self.tags.put.leaves(set, way, &before.there);
        let owned = self.owned.as_ref().map_or(before.owned, |o| o.put.leaves(set, way, &before.owned));
        (there, owned)
    }

    /// Writes lanes of a line.
    pub fn put_lanes(&self, row: Bits, mask: Bits, data: Bits) {
        self.lines.put.write_packed(row, mask, data);
    }

    /// Writes a line that has one lane.
    pub fn put_line(&self, row: Bits, data: Bits) {
        self.lines.put.write(row, &[data]);
    }

    /// Notes that a way was used.
    pub fn touch(&self, set: Bits, tree: Bits, way: Bits) {
        self.trees.put.write(set, &[plru_touch(tree, way, self.bank.ways)]);
    }

    /// Empties a set.
    pub fn empty(&self, set: Bits) {
        let ways = self.bank.ways;
        self.tags.clear(set, ways, &self.bank);
        self.beside().for_each(|(array, width)| array.clear(set, ways, &width));
        self.trees.put.write(set, &[zero(plru_bits(ways))]);
    }
}
