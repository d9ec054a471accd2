//! Tags, data and ages of the lines of an L1: one row is read per cycle, one way of it changed.

use super::plru::{plru_bits, plru_touch, plru_victim};
use super::{Array, ByLane, ByRow, Geometry};
use weft_rtl::prelude::*;

/// What a cache keeps of its lines in further arrays: read with the row.
pub trait Presented {
    /// Chooses the row that is read in the next cycle.
    fn present(&self, set: Bits);
}

impl Presented for () {
    fn present(&self, _: Bits) {}
}
impl<T: Data> Presented for ByLane<T> {
    fn present(&self, set: Bits) {
        self.look.present(set);
    }
}
impl<T: Data> Presented for ByRow<T> {
    fn present(&self, set: Bits) {
        self.look.present(set);
    }
}

/// The arrays `tags`, `lines` and `ages`, between the first two of which stand those that the cache keeps beside them (`E`).
pub struct LineRows<E> {
    geometry: Geometry,
    tags: ByLane<Bits>,
    /// What is kept beside them.
    pub beside: E,
    data: ByLane<Bits>,
    ages: ByLane<Bits>,
}

/// An array of vectors, a set in a row.
pub fn vectors(name: &str, field: &str, sets: u32, lanes: u32, bits: u32) -> Memory<Bits> {
    sram::<Bits>(name, sets, lanes, bits).fields(&[(field, bits)])
}

impl<E: Presented> LineRows<E> {
    /// Declares the arrays; `data_bits`: bits of a line, `beside`: declares what is kept beside them.
    pub fn new(geometry: Geometry, data_bits: u32, beside: impl FnOnce() -> E) -> LineRows<E> {
        let Geometry { sets, ways, tag_bits, .. } = geometry;
        let array = |name: &str, field: &str, lanes: u32, bits: u32| {
            Array::by_lane(&vectors(name, field, sets, lanes, bits))
        };
        LineRows {
            geometry,
            tags: array("tags", "tag", ways, tag_bits),
            beside: beside(),
            data: array("lines", "data", ways, data_bits),
            ages: array("ages", "replacement", 1, plru_bits(ways)),
        }
    }

    /// Sets and ways.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Chooses the row of a line, which is read in the next cycle.
    pub fn present(&self, line: Bits) {
        let set = self.geometry.set_of(line).named("row_next");
        self.tags.look.present(set);
        self.beside.present(set);
        self.data.look.present(set);
        self.ages.look.present(set);
    }

    /// Ways of the row that hold a line, among those in use; `active`: the row was presented. One way at most does, which the assertion `name` says.
    pub fn hit(&self, line: Bits, used: Bits, active: Bool, name: &str) -> Bits {
        let tag = self.geometry.tag_of(line);
        let same: Vec<Bool> = (0..self.geometry.ways).map(|w| self.tags.look.lane(w).eq(tag)).collect();
        let hit = (pack_bools(&same) & used).named("ways_hit");
        let text = "a line is in one way at most";
        assert_always(name, !active | hit.popcount().zext(8).le(1), text);
        hit
    }

    /// The oldest way of the row that may be taken.
    pub fn oldest(&self, may: impl FnOnce() -> Bits) -> Bits {
        let tree = self.ages.look.lane(0);
        plru_victim(tree, may(), self.geometry.ways)
    }

    /// The way that a line takes: one that is not used, else the oldest.
    pub fn victim(&self, used: Bits, oldest: Bits) -> Bits {
        mux(used.all(), oldest, (!used).lowest_set()).named("victim")
    }

    /// Makes a way the most recently used of the row read, which is this set's.
    pub fn touch(&self, set: Bits, way: Bits) {
        self.ages.put.write(set, &plru_touch(self.ages.look.lane(0), way, self.geometry.ways));
    }

    /// After reset writes the ages, one set per cycle, and by `also` what else a set has; true when done.
    pub fn initialise(&self, also: impl FnOnce(Bits)) -> Bool {
        let done = reg::<Bool>("init_done", ());
        let row = reg::<Bits>("init_row", self.geometry().set_bits);
        when(!done.get(), || {
            self.clear_ages(row.get());
            also(row.get());
            row.set(row.get() + 1);
            when(row.get().all(), || done.set(true));
        });
        done.get()
    }

    /// Writes a set's ages as after reset.
    pub fn clear_ages(&self, set: Bits) {
        self.ages.put.write(set, &lit(0, plru_bits(self.geometry.ways)));
    }

    /// Line number of a way of the row read, which is this set's.
    pub fn line_in(&self, set: Bits, way: Bits) -> Bits {
        cat(&[self.tags.look.lane_at(way), set])
    }

    /// Writes the tag of a line into a way of its row.
    pub fn put_tag(&self, set: Bits, way: Bits, line: Bits) {
        self.tags.put.write_lane(set, way, &self.geometry.tag_of(line));
    }

    /// This cycle leaves the tag of a way of the row as it is; for observers.
    pub fn keeps_tag(&self, set: Bits, way: Bits) -> Bool {
        let tag = self.tags.look.lane_at(way);
        self.tags.put.leaves(set, way, &tag).eq(tag)
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.data.look.lane_at(way)
    }

    /// Writes the data of a way of the row.
    pub fn put_data(&self, set: Bits, way: Bits, data: Bits) {
        self.data.put.write_lane(set, way, &data);
    }
}
