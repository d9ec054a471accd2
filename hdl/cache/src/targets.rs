//! Operations that wait in MSHRs for their lines.

use weft_rtl::prelude::*;

/// The targets of the MSHRs: of each MSHR the operations that wait for its line, in the order in which they came. One is read per cycle, one written.
pub struct Targets<T: Data> {
    mshrs: u32,
    /// Width of a target's number.
    bits: u32,
    port: SramPort<T>,
    put: LaneWriter<T>,
}

impl<T: Data> Targets<T> {
    /// Declares the ports of the memory of so many MSHRs of `2^bits` targets: `look`, and a `writer`.
    pub fn new(rows: &Memory<T>, mshrs: u32, bits: u32, writer: &str) -> Targets<T> {
        Targets { mshrs, bits, port: rows.read_port("look"), put: rows.lane_writer(writer) }
    }

    /// Declares that memory, `mshr_targets`.
    pub fn memory(mshrs: u32, bits: u32, shape: &T::Shape) -> Memory<T>
    where
        T::Shape: Clone,
    {
        sram::<T>("mshr_targets", mshrs << bits, 1, shape.clone())
    }

    /// Row of a target; other memories with a row per target have it there, too.
    pub fn row(&self, mshr: Bits, target: Bits) -> Bits {
        // One MSHR has a number of one bit, which is 0.
        let mshr = if self.mshrs == 1 { lit(0, 1) } else { mshr };
        cat(&[mshr, target]).resize(bits_for(u64::from(self.mshrs << self.bits)))
    }

    /// Chooses the target that is read in the next cycle.
    pub fn present(&self, mshr: Bits, target: Bits) {
        self.port.present(self.row(mshr, target));
    }

    /// The target presented in the cycle before.
    pub fn presented(&self) -> T {
        self.port.lane(0)
    }

    /// Writes the first target of an MSHR that is taken.
    pub fn put_first(&self, mshr: Bits, first: &T) {
        self.put(mshr, lit(0, self.bits), first);
    }

    /// Writes the target behind `count` others.
    pub fn put_behind(&self, mshr: Bits, count: Bits, target: &T) {
        self.put(mshr, count.resize(self.bits), target);
    }

    fn put(&self, mshr: Bits, target: Bits, value: &T) {
        self.put.write(self.row(mshr, target), value);
    }
}
