//! Sizes and widths of a write-combining L1.

use crate::params::{Srsp, check, info, srsp_from, within};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_cache::Geometry;
use weft_rtl::prelude::*;

/// What fixes sizes and widths of an L1, of whichever system (srsp.md section 2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Widths of messages; MSHRs and WBT entries.
    pub srsp: Srsp,
    /// Capacity in bytes.
    pub size: u32,
    /// Ways, a power of two, 2..32.
    pub ways: u32,
    /// Cycles from the slot of an operation to its answer, 2..64.
    pub latency: u32,
    /// Entries of the sFIFO, 2..256.
    pub sfifo: u32,
    /// Operations that wait for one line, 1..64.
    pub targets: u32,
    /// Operations of several steps that wait behind the one at work, 1..64.
    pub sq: u32,
}

impl Shape {
    /// The published sizes: 16 KB in 16 ways, 4 cycles.
    pub fn published(srsp: Srsp) -> Shape {
        Shape { srsp, size: 16 << 10, ways: 16, latency: 4, sfifo: 16, targets: 8, sq: 8 }
    }

    /// Sets.
    pub fn sets(&self) -> u32 {
        self.size / (self.srsp.line * self.ways)
    }
    /// Width of a set number.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }
    /// Width of a tag.
    pub fn tag_bits(&self) -> u32 {
        self.srsp.line_bits() - self.set_bits()
    }
    /// Width of a way number.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }
    /// Width of an sFIFO index: the paper's `s`.
    pub fn ptr_bits(&self) -> u32 {
        bits_for(u64::from(self.sfifo))
    }
    /// Width of a target's number.
    pub fn target_bits(&self) -> u32 {
        bits_for(u64::from(self.targets))
    }
    /// Width of a byte offset in a line.
    pub fn offset_bits(&self) -> u32 {
        self.srsp.line.trailing_zeros()
    }
    /// Sets and ways.
    pub fn geometry(&self) -> Geometry {
        Geometry { sets: self.sets(), ways: self.ways, set_bits: self.set_bits(), tag_bits: self.tag_bits() }
    }

    /// Part of a module's name: widths, size, ways, latency, sFIFO.
    pub fn tag(&self) -> String {
        let Shape { size, ways, latency, sfifo, .. } = self;
        format!("{}_s{size}_w{ways}_d{latency}_f{sfifo}", self.srsp.tag())
    }

    /// Tells the module its size, ways, latency and sFIFO.
    pub fn tell_cache(&self) {
        param("size", self.size);
        param("ways", self.ways);
        param("latency", self.latency);
        param("sfifo", self.sfifo);
    }

    /// Tells the module its places for operations that wait.
    pub fn tell_queues(&self) {
        param("targets", self.targets);
        param("sq", self.sq);
    }

    /// Checks the sizes of a block.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self, block: &str) -> Result<(), BlockError> {
        let ways = self.ways.is_power_of_two() && (2..=32).contains(&self.ways);
        check(block, ways, ("ways", self.ways), ("it is no supported number of ways", "2, 4, 8, 16, 32"))?;
        let sets = self.size.is_multiple_of(self.srsp.line * self.ways) && self.sets().is_power_of_two();
        check(
            block,
            sets && (2..=1024).contains(&self.sets()),
            ("size", self.size),
            ("size / (ways * line) is no power of two from 2 to 1024", "ways * line * 2^k, k in 1..10"),
        )?;
        within(block, ("latency", self.latency), (2, 64))?;
        within(block, ("sfifo", self.sfifo), (2, 256))?;
        within(block, ("targets", self.targets), (1, 64))?;
        within(block, ("sq", self.sq), (1, 64))
    }

    /// Reads the sizes and widths from the command line.
    ///
    /// # Errors
    /// A value that is no number or outside its range.
    pub fn from_set(set: &ParamSet) -> Result<Shape, BlockError> {
        let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
        Ok(Shape {
            srsp: srsp_from(set)?,
            size: number("size", 128, 1 << 22)?,
            ways: number("ways", 2, 32)?,
            latency: number("latency", 2, 64)?,
            sfifo: number("sfifo", 2, 256)?,
            targets: number("targets", 1, 64)?,
            sq: number("sq", 1, 64)?,
        })
    }
}

/// Size, ways and latency on the command line, with their defaults.
pub fn cache_infos() -> Vec<ParamInfo> {
    vec![
        info("size", "16K", "ways * line * 2^k, k in 1..10", "bytes of data"),
        info("ways", "16", "2, 4, 8, 16, 32", "ways of a set"),
        info("latency", "4", "2..64", "cycles from the slot of an operation to its answer"),
    ]
}

/// Places for operations that wait, on the command line, with their defaults.
pub fn queue_infos() -> Vec<ParamInfo> {
    vec![
        info("targets", "8", "1..64", "operations that wait for one line"),
        info("sq", "8", "1..64", "operations of several steps that wait behind the one at work"),
    ]
}
