//! Sets and ways.

use weft_rtl::prelude::*;

/// Sets and ways of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Sets, a power of two.
    pub sets: u32,
    /// Ways, a power of two of at least 2.
    pub ways: u32,
    /// Bits of a line's number that name its set: the lowest.
    pub set_bits: u32,
    /// Bits above them.
    pub tag_bits: u32,
}

impl Geometry {
    /// A cache of `size` bytes with lines of `line` bytes, whose numbers have `line_bits` bits.
    pub fn new(size: u32, line: u32, ways: u32, line_bits: u32) -> Geometry {
        let sets = size / (line * ways);
        let set_bits = bits_for(u64::from(sets));
        Geometry { sets, ways, set_bits, tag_bits: line_bits - set_bits }
    }
    /// Lines.
    pub fn lines(&self) -> u32 {
        self.sets * self.ways
    }
    /// Set of a line.
    pub fn set_of(&self, line: Bits) -> Bits {
        line.slice(0, self.set_bits)
    }
    /// Tag of a line.
    pub fn tag_of(&self, line: Bits) -> Bits {
        line.slice(self.set_bits, self.tag_bits)
    }
    /// One bit per line, sets of ways: that of a way of a set.
    pub fn place(&self, set: Bits, way: Bits) -> Bits {
        cat(&[set, way]).one_hot(self.lines())
    }
}
