//! What stage 1 has found, on its way to stage 3.

use super::Bank;
use super::arrays::{Kept, LineTag, Place};
use weft_rtl::prelude::*;

/// What stage 1 finds of a line.
pub(crate) struct Searched {
    /// The line is in the way.
    pub hit: Bool,
    /// The line's way, or the TBE's, or the one to replace.
    pub way: Bits,
    /// The set's pseudo-LRU tree.
    pub tree: Bits,
    /// A TBE blocks the line.
    pub blocked: Bool,
    /// No way of the set may be replaced.
    pub full: Bool,
    /// TBE that blocks the line, else one that blocks a way of its set.
    pub by: Bits,
}

/// What stage 1 has found of a line. What a bank does not keep is not in the registers.
#[derive(Clone, Copy)]
pub(crate) struct Look<T> {
    /// The line is in the way.
    pub hit: Bool,
    /// The line's way, or the TBE's, or the one to replace.
    pub way: Bits,
    pub there: T,
    pub owned: Bits,
    pub sharers: Bits,
    /// The set's pseudo-LRU tree.
    pub tree: Bits,
    /// A TBE blocks the line; of a write-back of words: revokes words of it.
    pub blocked: Bool,
    /// No way of the set may be replaced.
    pub full: Bool,
    /// TBE that blocks the line, else one that blocks a way of its set.
    pub by: Bits,
    /// There are owned words, sharers.
    has: [bool; 2],
}

fn has(kept: &Kept) -> [bool; 2] {
    [kept.owned > 0, kept.sharing > 0]
}

impl<T: LineTag> Look<T> {
    /// Of what was searched, and its place.
    pub fn new(found: Searched, place: Place<T>, kept: &Kept) -> Look<T> {
        let Searched { hit, way, tree, blocked, full, by } = found;
        let Place { there, owned, sharers } = place;
        Look { hit, way, there, owned, sharers, tree, blocked, full, by, has: has(kept) }
    }

    /// From leaves, with a tag that makes itself of its own.
    fn of(
        has: [bool; 2],
        there: impl FnOnce(&mut dyn Iterator<Item = Bits>) -> T,
        leaves: &mut dyn Iterator<Item = Bits>,
    ) -> Look<T> {
        fn next(leaves: &mut dyn Iterator<Item = Bits>) -> Bits {
            Bits::from_leaves(&0, leaves)
        }
        fn flag(leaves: &mut dyn Iterator<Item = Bits>) -> Bool {
            Bool::from_leaves(&(), leaves)
        }
        let (hit, way) = (flag(leaves), next(leaves));
        let there = there(leaves);
        let [owned, sharers] = has.map(|has| if has { next(leaves) } else { lit(0, 1) });
        let (tree, blocked) = (next(leaves), flag(leaves));
        Look { hit, way, there, owned, sharers, tree, blocked, full: flag(leaves), by: next(leaves), has }
    }
}

impl<T: LineTag> Data for Look<T> {
    type Shape = (Bank, Kept);

    fn leaves((bank, kept): &Self::Shape, prefix: &str, out: &mut Vec<Leaf>) {
        let name = |name: &str| join_name(prefix, name);
        Bool::leaves(&(), &name("hit"), out);
        Bits::leaves(&bank.way_bits(), &name("way"), out);
        T::leaves(bank, &name("there"), out);
        let [owned, sharers] = has(kept);
        if owned {
            Bits::leaves(&kept.owned, &name("owned"), out);
        }
        if sharers {
            Bits::leaves(&kept.sharing, &name("sharers"), out);
        }
        Bits::leaves(&(bank.ways - 1), &name("tree"), out);
        Bool::leaves(&(), &name("blocked"), out);
        Bool::leaves(&(), &name("full"), out);
        Bits::leaves(&bank.s.tbe_bits(), &name("by"), out);
    }
    fn from_leaves((bank, kept): &Self::Shape, leaves: &mut dyn Iterator<Item = Bits>) -> Look<T> {
        Look::of(has(kept), |leaves| T::from_leaves(bank, leaves), leaves)
    }
    fn to_leaves(&self, out: &mut Vec<Bits>) {
        self.hit.to_leaves(out);
        out.push(self.way);
        self.there.to_leaves(out);
        let kept = [self.owned, self.sharers].into_iter().zip(self.has);
        out.extend(kept.filter_map(|(bits, has)| has.then_some(bits)));
        out.push(self.tree);
        self.blocked.to_leaves(out);
        self.full.to_leaves(out);
        out.push(self.by);
    }
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Look<T> {
        Look::of(self.has, |leaves| self.there.with_leaves(leaves), leaves)
    }
}
