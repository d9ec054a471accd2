//! Tags with states, owned words, sharers and pseudo-LRU trees, read in stage 1; the words, read in stage 2. Everything is written in stage 3.

use super::params::{LlcParams, SharerMode, word_bits};
use super::types::LineTag;
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_rtl::prelude::*;

/// A port to read and one to write.
struct Both<T: Data> {
    look: SramPort<T>,
    put: RowWriter<T>,
}

impl<T: Data> Both<T> {
    fn new(memory: &Memory<T>) -> Both<T> {
        Both { look: memory.read_port("look"), put: memory.row_writer("put") }
    }
}

/// The arrays.
pub(crate) struct Arrays<T: LineTag> {
    p: LlcParams,
    tags: Both<T>,
    owned: Both<Bits>,
    /// There is none without sharers to keep.
    sharers: Option<Both<Bits>>,
    trees: Both<Bits>,
    lines: Both<Bits>,
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

/// What a line's place holds, but for the words.
#[derive(Clone, Copy)]
pub(crate) struct Place<T> {
    pub there: T,
    pub owned: Bits,
    pub sharers: Bits,
}

impl<T: LineTag> Arrays<T> {
    /// Declares the arrays.
    pub fn new(p: &LlcParams) -> Arrays<T> {
        let (sets, ways, words, bits) = (p.sets(), p.ways, p.s.words(), plru_bits(p.ways));
        let tags = sram::<T>("tags", sets, ways, p.clone());
        let owned = sram::<Bits>("owned", sets, ways, words).fields(&[("owned", words)]);
        let kept = p.sharer_bits();
        let sharers = (kept > 0).then(|| {
            let sharers = sram::<Bits>("sharers", sets, ways, kept).fields(&[("sharers", kept)]);
            Both::new(&sharers)
        });
        let trees = sram::<Bits>("trees", sets, 1, bits).fields(&[("replacement", bits)]);
        let lines = sram::<Bits>("lines", sets * ways, words, word_bits());
        Arrays {
            p: p.clone(),
            tags: Both::new(&tags),
            owned: Both::new(&owned),
            sharers,
            trees: Both::new(&trees),
            lines: Both::new(&lines),
        }
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        self.tags.look.present(set);
        self.owned.look.present(set);
        if let Some(sharers) = &self.sharers {
            sharers.look.present(set);
        }
        self.trees.look.present(set);
    }

    /// Starts the read of a line's words.
    pub fn present_line(&self, row: Bits) {
        self.lines.look.present(row);
    }

    /// The words of the line presented in the cycle before.
    pub fn line(&self) -> Bits {
        pack(&self.lines.look.row())
    }

    /// What the set presented says about a tag; `blocked`: ways that must stay. Ways without a line go first, then lines that nobody has to be asked for.
    pub fn look(&self, tag: Bits, blocked: Bits) -> Found {
        let p = &self.p;
        let row = self.tags.look.row();
        let empty = pack_bools(&row.iter().map(LineTag::absent).collect::<Vec<_>>());
        let equal: Vec<Bool> = row.iter().map(|t| t.tag().eq(tag)).collect();
        let held: Vec<Bool> = (0..p.ways)
            .map(|w| {
                let place = self.place(lit(u64::from(w), p.way_bits()));
                place.owned.any() | place.is_shared(p)
            })
            .collect();
        let may = !blocked;
        let (none, free) = (empty & may, !pack_bools(&held) & may);
        let tree = self.trees.look.lane(0);
        let by_age = plru_victim(tree, mux(free.any(), free, may), p.ways);
        Found {
            matches: pack_bools(&equal) & !empty,
            victim: mux(none.any(), none.lowest_set(), by_age),
            full: may.none(),
            tree,
        }
    }

    /// A way of the set presented.
    pub fn place(&self, way: Bits) -> Place<T> {
        let sharing = self.p.sharing();
        let sharers = match &self.sharers {
            Some(sharers) => sharers.look.lane_at(way),
            None => lit_bv(Bv::zero(sharing)),
        };
        Place { there: self.tags.look.lane_at(way), owned: self.owned.look.lane_at(way), sharers }
    }

    /// Writes a way, but for the words.
    pub fn put(&self, set: Bits, way: Bits, place: &Place<T>) {
        let (ways, lane) = (self.p.ways as usize, way.one_hot(self.p.ways));
        self.tags.put.write_masked(set, lane, &vec![place.there; ways]);
        self.owned.put.write_masked(set, lane, &vec![place.owned; ways]);
        if let Some(sharers) = &self.sharers {
            sharers.put.write_masked(set, lane, &vec![place.sharers; ways]);
        }
    }

    /// What this cycle leaves in a way of a set that has `before`: the tag, and the words owned.
    pub fn left(&self, set: Bits, way: Bits, before: &Place<T>) -> (T, Bits) {
        let there = self.tags.put.leaves(set, way, &before.there);
        (there, self.owned.put.leaves(set, way, &before.owned))
    }

    /// Writes words of a line.
    pub fn put_words(&self, row: Bits, mask: Bits, data: Bits) {
        self.lines.put.write_packed(row, mask, data);
    }

    /// Notes that a way was used.
    pub fn touch(&self, set: Bits, tree: Bits, way: Bits) {
        self.trees.put.write(set, &[plru_touch(tree, way, self.p.ways)]);
    }

    /// Empties a set.
    pub fn empty(&self, set: Bits) {
        let p = &self.p;
        let zero = |width: u32| lit_bv(Bv::zero(width));
        let all = lit_bv(Bv::ones(p.ways));
        self.tags.put.write_packed(set, all, zero(p.ways * width_of::<T>(p)));
        self.owned.put.write_packed(set, all, zero(p.ways * p.s.words()));
        if let Some(sharers) = &self.sharers {
            sharers.put.write_packed(set, all, zero(p.ways * p.sharer_bits()));
        }
        self.trees.put.write(set, &[zero(plru_bits(p.ways))]);
    }
}

impl<T: LineTag> Place<T> {
    /// Somebody may have to be invalidated before the line goes.
    pub fn is_shared(&self, p: &LlcParams) -> Bool {
        match p.sharers {
            SharerMode::Exact => self.sharers.any() & !self.there.absent(),
            SharerMode::Broadcast => self.there.shared(),
        }
    }
}
