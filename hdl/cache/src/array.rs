//! A memory with one port to look at a row and one to write.

use weft_rtl::prelude::*;

/// A memory with a port to look and one to write.
pub struct Array<T: Data, W> {
    /// Presents a row in one cycle, which is read in the next.
    pub look: SramPort<T>,
    /// Writes.
    pub put: W,
}

/// One that is written a lane at a time.
pub type ByLane<T> = Array<T, LaneWriter<T>>;
/// One that is written a row at a time, or some lanes of it.
pub type ByRow<T> = Array<T, RowWriter<T>>;

impl<T: Data> ByLane<T> {
    /// The ports `look` and `put` of a memory.
    pub fn by_lane(memory: &Memory<T>) -> ByLane<T> {
        Array { look: memory.read_port("look"), put: memory.lane_writer("put") }
    }
}

impl<T: Data + Copy> ByRow<T> {
    /// The ports `look` and `put` of a memory.
    pub fn by_row(memory: &Memory<T>) -> ByRow<T> {
        Array { look: memory.read_port("look"), put: memory.row_writer("put") }
    }

    /// Writes zeros into a whole row.
    pub fn clear(&self, row: Bits, lanes: u32, shape: &T::Shape) {
        let zero = lit_bv(Bv::zero(lanes * width_of::<T>(shape)));
        self.put.write_packed(row, lit_bv(Bv::ones(lanes)), zero);
    }
}
