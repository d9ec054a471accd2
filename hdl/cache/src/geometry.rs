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
