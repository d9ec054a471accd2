//! Tags with states and owners, sharers and pseudo-LRU trees, read in stage 1; the lines, read in stage 2. Everything is written in stage 3.

use super::params::MesiLlcParams;
use super::types::{LineState, Tag};
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
pub(super) struct Arrays {
    p: MesiLlcParams,
    tags: Both<Tag>,
    sharers: Both<Bits>,
    trees: Both<Bits>,
    lines: Both<Bits>,
}

/// What a set says about a line, in the cycle after its presentation.
pub(super) struct Found {
    /// Ways that hold the line; at most one.
    pub matches: Bits,
    /// The way to replace, meaningful unless `full`.
    pub victim: Bits,
    /// No way may be replaced.
    pub full: Bool,
    pub tree: Bits,
}

impl Arrays {
    /// Declares the arrays.
    pub fn new(p: &MesiLlcParams) -> Arrays {
        let (sets, ways, clients, bits) = (p.sets(), p.ways, p.s.clients(), plru_bits(p.ways));
        let tags = sram::<Tag>("tags", sets, ways, p.clone());
        let sharers = sram::<Bits>("sharers", sets, ways, clients).fields(&[("sharers", clients)]);
        let trees = sram::<Bits>("trees", sets, 1, bits).fields(&[("replacement", bits)]);
        let lines = sram::<Bits>("lines", sets * ways, 1, p.s.data_bits());
        Arrays {
            p: p.clone(),
            tags: Both::new(&tags),
            sharers: Both::new(&sharers),
            trees: Both::new(&trees),
            lines: Both::new(&lines),
        }
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        self.tags.look.present(set);
        self.sharers.look.present(set);
        self.trees.look.present(set);
    }
    /// Starts the read of a line.
    pub fn present_line(&self, row: Bits) {
        self.lines.look.present(row);
    }
    /// The line presented in the cycle before.
    pub fn line(&self) -> Bits {
        self.lines.look.lane(0)
    }

    /// What the set presented says about a tag; `blocked`: ways that must stay. Ways without a line go first, then lines of which no client has a copy.
    pub fn look(&self, tag: Bits, blocked: Bits) -> Found {
        let p = &self.p;
        let row = self.tags.look.row();
        let are =
            |state: LineState| pack_bools(&row.iter().map(|t: &Tag| t.state.is(state)).collect::<Vec<_>>());
        let (empty, alone) = (are(LineState::I), are(LineState::C));
        let equal: Vec<Bool> = row.iter().map(|t| t.tag.eq(tag)).collect();
        let may = !blocked;
        let (none, free) = (empty & may, alone & may);
        let tree = self.trees.look.lane(0);
        let by_age = plru_victim(tree, mux(free.any(), free, may), p.ways);
        Found {
            matches: pack_bools(&equal) & !empty,
            victim: mux(none.any(), none.lowest_set(), by_age),
            full: may.none(),
            tree,
        }
    }

    /// A way of the set presented: tag and sharers.
    pub fn place(&self, way: Bits) -> (Tag, Bits) {
        (self.tags.look.lane_at(way), self.sharers.look.lane_at(way))
    }

    /// Writes a way, but for the line.
    pub fn put(&self, set: Bits, way: Bits, tag: Tag, sharers: Bits) {
        let (ways, lane) = (self.p.ways as usize, way.one_hot(self.p.ways));
        self.tags.put.write_masked(set, lane, &vec![tag; ways]);
        self.sharers.put.write_masked(set, lane, &vec![sharers; ways]);
    }

    /// What this cycle leaves in a way of a set that has `before`, but for sharers and line.
    pub fn left(&self, set: Bits, way: Bits, before: Tag) -> Tag {
        self.tags.put.leaves(set, way, &before)
    }

    /// Writes a line.
    pub fn put_line(&self, row: Bits, data: Bits) {
        self.lines.put.write(row, &[data]);
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
        self.tags.put.write_packed(set, all, zero(p.ways * (p.tag_bits() + 3 + p.s.client_bits())));
        self.sharers.put.write_packed(set, all, zero(p.ways * p.s.clients()));
        self.trees.put.write(set, &[zero(plru_bits(p.ways))]);
    }
}
