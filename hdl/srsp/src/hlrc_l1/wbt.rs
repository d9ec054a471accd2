//! WBT: write-backs under way, each given back by its WB_ACK, and lines that are given back, until their UNREG_ACK (srsp.md sections 4 and 9).
//!
//! An UNREG gets its entry when its line is captured, so that what holds the capture buffer waits for write-backs alone; and one entry is never an UNREG's. Otherwise UNREGs
//! whose acknowledgement waits for the answer to a REVOKE could fill the table, while that REVOKE stands behind another one that waits for the capture buffer, whose flush
//! waits for an entry.
//!
//! A WB_ACK says its epoch itself, so `unreg` takes the place that the epoch has in `srsp-l1`: the entry is as wide.

use crate::write_combining::Shape;
use crate::write_combining::wbt::{WriteBack, WriteBacks};
use weft_rtl::prelude::*;

/// The table with its fence, which counts write-backs alone. The note of an entry is that it is a line given back.
pub(super) struct Wbt {
    n: u32,
    pub table: WriteBacks,
    clears: Wire<Bool>,
    cleared: Wire<Bits>,
}

impl Wbt {
    pub fn new(p: &Shape) -> Wbt {
        let n = p.srsp.wbt;
        Wbt {
            n,
            table: WriteBacks::new("hlrc_l1", p),
            clears: wire_or::<Bool>("unreg_clears", (), false),
            cleared: wire_zero::<Bits>("unreg_cleared", bits_for(u64::from(n))),
        }
    }

    fn unregs(&self) -> Bits {
        self.table.rows.which(|row| row.note.bit(0))
    }

    /// An entry is free for an UNREG.
    pub fn room_to_unregister(&self) -> Bool {
        self.table.room() & self.unregs().popcount().zext(8).lt(u64::from(self.n - 1))
    }

    /// The line is given back: UNREG is under way.
    pub fn gives_back(&self, line: Bits) -> Bool {
        self.table.rows.which(|row| row.note.bit(0) & row.line.eq(line)).any()
    }

    /// Some line is given back.
    pub fn some_given_back(&self) -> Bool {
        self.unregs().any()
    }

    /// Enters a write-back; its number and epoch.
    pub fn enter(&self, line: Bits) -> (Bits, Bits) {
        self.table.send(line, |_| lit(0, 1))
    }

    /// Enters an UNREG to be sent; its number.
    pub fn reserve(&self, line: Bits) -> Bits {
        let index = self.table.rows.free_index();
        self.table.rows.write(index, &WriteBack { line, note: lit(1, 1) });
        index
    }

    /// A WB_ACK is taken in this cycle.
    pub fn acknowledge(&self, index: Bits, epoch: Bits) {
        self.clear(index);
        self.table.fence.acked(epoch);
    }

    /// An UNREG_ACK is taken in this cycle.
    pub fn clear(&self, index: Bits) {
        self.clears.set(true);
        self.cleared.set(index);
    }

    /// Declares what leaves. `released`: an UNREG that is not to be sent, as one bit.
    pub fn finish(&self, released: Bits) {
        let WriteBacks { rows, fence } = &self.table;
        fence.finish();
        let (acks, _) = fence.acknowledged();
        let index = self.cleared.get();
        let gone = index.one_hot(self.n) & self.clears.get().repeat(self.n);
        rows.remove(gone | released);
        let known = rows.valid().bit_at(index) & (rows.read(index).note.bit(0) ^ acks);
        let text =
            "an acknowledgement names what is under way: WB_ACK a write-back, UNREG_ACK a line given back";
        assert_always("hlrc_l1_ack_known", !self.clears.get() | known, text);
    }
}
