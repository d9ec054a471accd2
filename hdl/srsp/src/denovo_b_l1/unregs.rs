//! Lines that are given back, from their UNREG to its UNREG_ACK: the WBT, which holds nothing else here.

use crate::entries::Entries;
use crate::write_combining::Shape;
use weft_rtl::prelude::*;

/// A line given back.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
struct GivenBack {
    #[width(p.srsp.line_bits())]
    line: Bits,
}

/// The table.
pub(super) struct Unregs {
    n: u32,
    rows: Entries<GivenBack>,
    clears: Wire<Bool>,
    cleared: Wire<Bits>,
}

impl Unregs {
    pub fn new(p: &Shape) -> Unregs {
        let n = p.srsp.wbt;
        Unregs {
            n,
            rows: Entries::new("wbt", n, p),
            clears: wire_or::<Bool>("unreg_clears", (), false),
            cleared: wire_zero::<Bits>("unreg_cleared", bits_for(u64::from(n))),
        }
    }

    /// An entry is free.
    pub fn room(&self) -> Bool {
        !self.rows.full()
    }

    /// A line is given back: UNREG is under way.
    pub fn has(&self, line: Bits) -> Bool {
        self.rows.which(|row| row.line.eq(line)).any()
    }

    /// Some line is.
    pub fn some(&self) -> Bool {
        self.rows.valid().any()
    }

    /// Enters an UNREG; its number.
    pub fn enter(&self, line: Bits) -> Bits {
        let index = self.rows.free_index();
        self.rows.write(index, &GivenBack { line });
        index
    }

    /// An UNREG_ACK is taken in this cycle.
    pub fn acknowledge(&self, index: Bits) {
        self.clears.set(true);
        self.cleared.set(index);
    }

    /// Some UNREG_ACK is taken in this cycle.
    pub fn acknowledged(&self) -> Bool {
        self.clears.get()
    }

    /// Declares what leaves.
    pub fn finish(&self) {
        let index = self.cleared.get();
        self.rows.remove(index.one_hot(self.n) & self.clears.get().repeat(self.n));
        let known = self.rows.valid().bit_at(index);
        let text = "UNREG_ACK names a line given back";
        assert_always("denovo_b_l1_ack_known", !self.clears.get() | known, text);
    }
}
