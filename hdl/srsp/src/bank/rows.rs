//! Tags, states, dirty bytes and the pseudo-LRU trees: one lookup per cycle, read in one cycle and written in the next.

use super::{Bank, BankState, Tag};
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_cache::{Array, ByLane, ByRow, Presented, vectors};
use weft_rtl::prelude::*;

/// What a bank keeps of its lines beside tags and dirty bytes: presented between them, and written with them.
pub(crate) trait Beside: Presented {
    /// What is kept of a line.
    type Kept: Copy;
    /// The memory that keeps it.
    type Memory;
    /// Declares the memory.
    fn declare(bank: &Bank) -> Self::Memory;
    /// Declares its ports.
    fn new(bank: &Bank, memory: &Self::Memory) -> Self;
    /// That of a way of the row presented in the cycle before.
    fn of(&self, way: Bits) -> Self::Kept;
    /// Writes that of the ways of a mask.
    fn put(&self, set: Bits, ways: Bits, kept: Self::Kept);
    /// Clears a set.
    fn clear(&self, set: Bits);
}

impl Beside for () {
    type Kept = ();
    type Memory = ();
    fn declare(_: &Bank) {}
    fn new(_: &Bank, (): &()) {}
    fn of(&self, _: Bits) {}
    fn put(&self, _: Bits, _: Bits, (): ()) {}
    fn clear(&self, _: Bits) {}
}

/// The arrays `tags`, `masks` and `trees`.
pub(crate) struct Rows<S: BankState, E> {
    bank: Bank,
    tags: ByRow<Tag<S>>,
    masks: ByRow<Bits>,
    beside: E,
    trees: ByLane<Bits>,
}

/// Result of a lookup, valid in the cycle after its presentation.
pub(crate) struct Looked<S: BankState, K> {
    /// Ways that hold the line; at most one.
    pub matches: Bits,
    /// Some way does.
    pub hit: Bool,
    /// That way, else the one that the line would go to.
    pub way: Bits,
    /// State of the line, I without a way.
    pub state: Enum<S>,
    /// Tag and state of the way.
    pub there: Tag<S>,
    /// Its dirty bytes.
    pub mask: Bits,
    /// What else is kept of it.
    pub kept: K,
    /// Some way may leave.
    pub room: Bool,
    tree: Bits,
}

/// What state and dirty bytes of the way looked up come to be, unless something else is said of them.
pub(crate) struct Next<S: BankState> {
    pub state: Wire<Enum<S>>,
    pub mask: Wire<Bits>,
}

impl<S: BankState> Next<S> {
    /// What is as it was found.
    pub fn of<K>(look: &Looked<S, K>) -> Next<S> {
        Next {
            state: wire_or::<Enum<S>>("s1_next", (), look.state),
            mask: wire_or::<Bits>("s1_next_dirty", look.mask.width(), look.mask),
        }
    }

    /// What bytes and lines do that come and go.
    pub fn moves<K>(&self, look: &Looked<S, K>, bytes: Bits, moves: &Moves) {
        let none = lit_bv(Bv::zero(look.mask.width()));
        when(moves.occupies, || {
            self.mask.set(bytes);
            self.state.set(S::W);
        });
        when(moves.reserves, || {
            self.mask.set(mux(look.hit, look.mask, none));
            self.state.set(mux(look.hit, enum_lit(S::PD), enum_lit(S::P)));
        });
        self.complete(moves.fills, || look.state.is(S::PD));
        when(moves.cleans, || {
            self.mask.set(none);
            self.state.set(S::V);
        });
    }

    /// All bytes are there: those that were `dirty` stay so.
    pub fn complete(&self, now: Bool, dirty: impl Fn() -> Bool) {
        when(now, || self.state.set(mux(dirty(), enum_lit(S::D), enum_lit(S::V))));
    }
}

/// What becomes of the way looked up.
pub(crate) struct Moves {
    /// Bytes take it.
    pub occupies: Bool,
    /// A line that is fetched takes it, its own if it has one.
    pub reserves: Bool,
    /// The line comes from memory.
    pub fills: Bool,
    /// Its dirty bytes go to memory.
    pub cleans: Bool,
}

impl<S: BankState, E: Beside> Rows<S, E> {
    /// Declares the arrays.
    pub fn new(bank: &Bank) -> Rows<S, E> {
        let (sets, bits) = (bank.sets(), plru_bits(bank.ways));
        let state = S::enum_type().width;
        let tags = sram::<Tag<S>>("tags", sets, bank.ways, bank.clone());
        let tags = tags.fields(&[("tag", bank.tag_bits()), ("state", state)]);
        let masks = vectors("masks", "dirty", sets, bank.ways, bank.srsp.line);
        let beside = E::declare(bank);
        let trees = vectors("trees", "replacement", sets, 1, bits);
        Rows {
            bank: bank.clone(),
            tags: Array::by_row(&tags),
            beside: E::new(bank, &beside),
            masks: Array::by_row(&masks),
            trees: Array::by_lane(&trees),
        }
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        self.tags.look.present(set);
        self.beside.present(set);
        self.masks.look.present(set);
        self.trees.look.present(set);
    }

    /// What the set presented in the cycle before says about a tag. `may`: which ways may leave, when told by states which ways are in one of them.
    pub fn look(&self, tag: Bits, may: impl FnOnce(&dyn Fn(&[S]) -> Bits) -> Bits) -> Looked<S, E::Kept> {
        let row = self.tags.look.row();
        let is = |states: &[S]| {
            pack_bools(&row.iter().map(|t: &Tag<S>| t.state.is_any(states)).collect::<Vec<_>>())
        };
        let empty = is(&[S::I]);
        let equal: Vec<Bool> = row.iter().map(|t| t.tag.eq(tag)).collect();
        let matches = (pack_bools(&equal) & !empty).named("s1_matches");
        let hit = matches.any().named("s1_hit");
        let may = may(&is);
        let tree = self.trees.look.lane(0);
        let oldest = plru_victim(tree, may, self.bank.ways);
        let victim = mux(empty.any(), empty.lowest_set(), oldest).named("s1_victim");
        let way = mux(hit, matches.lowest_set(), victim).named("s1_way");
        let there = self.tags.look.lane_at(way);
        let state = mux(hit, there.state, enum_lit(S::I)).named("s1_state");
        let mask = self.masks.look.lane_at(way).named("s1_dirty");
        let kept = self.beside.of(way);
        Looked { matches, hit, way, state, there, mask, kept, room: may.any(), tree }
    }

    /// Writes tag, state, dirty bytes and what else is kept of a way.
    pub fn put(&self, set: Bits, way: Bits, tag: Tag<S>, mask: Bits, kept: E::Kept) {
        let ways = self.bank.ways as usize;
        let lane = way.one_hot(self.bank.ways);
        self.tags.put.write_masked(set, lane, &vec![tag; ways]);
        self.beside.put(set, lane, kept);
        self.masks.put.write_masked(set, lane, &vec![mask; ways]);
    }

    /// The state in which this cycle leaves the line looked up, which has this tag: another line may get its way.
    pub fn state_after(&self, set: Bits, look: &Looked<S, E::Kept>, tag: Bits) -> Enum<S> {
        let after = self.tags.put.leaves(set, look.way, &look.there);
        mux(after.tag.eq(tag), after.state, enum_lit(S::I))
    }

    /// Notes that the way of the set looked up was used.
    pub fn touch(&self, set: Bits, look: &Looked<S, E::Kept>) {
        self.trees.put.write(set, &plru_touch(look.tree, look.way, self.bank.ways));
    }

    /// Empties a set.
    pub fn empty(&self, set: Bits) {
        let ways = self.bank.ways;
        self.tags.clear(set, ways, &self.bank);
        self.beside.clear(set);
        self.masks.clear(set, ways, &self.bank.srsp.line);
    }

    /// Writes a set's tree as after reset.
    pub fn clear_tree(&self, set: Bits) {
        self.trees.put.write(set, &lit(0, plru_bits(self.bank.ways)));
    }

    /// All ways of the set presented in the cycle before are in one of these states.
    pub fn all_in(&self, states: &[S]) -> Bool {
        let row = self.tags.look.row();
        all_of(&row.iter().map(|t: &Tag<S>| t.state.is_any(states)).collect::<Vec<_>>())
    }
}
