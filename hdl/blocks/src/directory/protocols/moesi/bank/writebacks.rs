//! The write-back buffer of `moesi-l2`: lines of other homes that were replaced, until their home has taken them.

use super::table::Copy;
use crate::cache::l2::L2Params;
use crate::cache::l2::mshr::Flags;
use weft_rtl::prelude::*;

/// Most places.
const PLACES: u32 = 8;

/// A line.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Left {
    #[width(p.sys.line_bits())]
    pub line: Bits,
    #[width(p.sys.data_bits())]
    pub data: Bits,
}

/// The buffer.
pub(super) struct Writebacks {
    pub used: Flags,
    places: u32,
    rows: Memory<Left>,
    writer: LaneWriter<Left>,
    /// State of each copy; I: it was given to another, and the Put is of nothing any more.
    copies: Vec<Reg<Enum<Copy>>>,
}

impl Writebacks {
    pub fn new(p: &L2Params) -> Writebacks {
        // A place's number is a transaction number of the bank.
        let places = PLACES.min(p.sys.l2_mshrs);
        let rows = regfile::<Left>("writebacks", places, p.clone()).fields(&[("queue", width_of::<Left>(p))]);
        Writebacks {
            used: Flags::new("writeback_used", places),
            places,
            writer: rows.lane_writer("in"),
            rows,
            copies: (0..places).map(|i| reg::<Enum<Copy>>(&format!("writeback_copy{i}"), ())).collect(),
        }
    }

    /// Width of a place's number.
    pub fn bits(&self) -> u32 {
        bits_for(u64::from(self.places))
    }

    /// No place is free.
    pub fn full(&self) -> Bool {
        self.used.now.get().all()
    }

    /// The place that is taken next.
    pub fn free(&self) -> Bits {
        (!self.used.now.get()).lowest_set()
    }

    /// The place of a line.
    pub fn of_line(&self, line: Bits) -> Bits {
        let here = |i: u32| self.used.now.get().bit(i) & self.rows.entry(i).line.eq(line);
        pack_bools(&(0..self.places).map(here).collect::<Vec<_>>())
    }

    /// Takes a line in.
    pub fn put(&self, left: &Left, copy: Enum<Copy>) {
        let index = self.free();
        self.writer.write(index, left);
        self.used.raise(index);
        self.becomes(index, copy);
    }

    /// State and bytes of a place.
    pub fn get(&self, index: Bits) -> (Enum<Copy>, Bits) {
        let copies: Vec<Bits> = self.copies.iter().map(|copy| copy.get().bits()).collect();
        (select(&copies, index).as_enum(), self.rows.read(index).data)
    }

    /// A place's state changes.
    pub fn becomes(&self, index: Bits, copy: Enum<Copy>) {
        for (i, reg) in self.copies.iter().enumerate() {
            when(index.eq(i as u64), || reg.set(copy));
        }
    }
}
