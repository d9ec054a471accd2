//! Answers to reads of other nodes that wait for the directory (GPU-VI, hmg.md section 8).
//!
//! Data steps run ahead of the directory. Where a store is complete only when every other copy is gone, a node that could read it before, and then release, would let others
//! know of it while old copies are still about. So the answer to a read waits until the directory has performed the read, which is behind that
//! store; its line waits here.

use super::params::L2Params;
use weft_rtl::prelude::*;

/// Lines that may wait.
const LINES: u32 = 8;

/// The lines, and where that of each directory operation is.
pub(super) struct ReadLines {
    lines: Memory<Bits>,
    writer: LaneWriter<Bits>,
    places: Memory<Bits>,
    place_writer: LaneWriter<Bits>,
    used: Reg<Bits>,
    kept: Wire<Bits>,
    left: Wire<Bits>,
}

impl ReadLines {
    /// Declares them.
    pub fn new(p: &L2Params) -> ReadLines {
        let bits = bits_for(u64::from(LINES));
        let lines =
            regfile::<Bits>("read_lines", LINES, p.sys.data_bits()).fields(&[("queue", p.sys.data_bits())]);
        let places = regfile::<Bits>("read_places", p.sys.l2_mshrs, bits).fields(&[("queue", bits)]);
        ReadLines {
            writer: lines.lane_writer("keep"),
            lines,
            place_writer: places.lane_writer("keep"),
            places,
            used: reg::<Bits>("read_lines_used", LINES).field("queue"),
            kept: wire_zero::<Bits>("read_line_kept", LINES),
            left: wire_zero::<Bits>("read_line_left", LINES),
        }
    }

    /// At least so many places are free.
    pub fn room(&self, places: u32) -> Bool {
        self.used.get().popcount().le(u64::from(LINES - places))
    }

    /// Keeps the line of an operation; the caller has made sure of room.
    pub fn keep(&self, op: Bits, line: Bits) {
        let place = (!self.used.get()).lowest_set();
        self.writer.write(place, &line);
        self.place_writer.write(op, &place);
        self.kept.set(place.one_hot(LINES));
    }

    /// The line of an operation.
    pub fn line(&self, op: Bits) -> Bits {
        self.lines.read(self.places.read(op))
    }

    /// It leaves.
    pub fn leave(&self, op: Bits) {
        self.left.set(self.places.read(op).one_hot(LINES));
    }

    /// Updates what is used; called once.
    pub fn connect(&self) {
        let (kept, left) = (self.kept.get(), self.left.get());
        when(kept.any() | left.any(), || self.used.set((self.used.get() | kept) & !left));
        assert_always(
            "l2_read_line_free",
            kept.none() | (self.used.get() & kept).none(),
            "a line is kept only where there is room",
        );
        cover(
            "gpu_vi.race.read_lines_full",
            !self.room(3),
            "Reads wait since too many answers wait for the directory.",
        );
    }
}
