//! WBT: write-backs under way, each given back by its WB_ACK (srsp.md sections 4 and 5). The note of an entry is its epoch.

use crate::write_combining::Shape;
use crate::write_combining::wbt::WriteBacks;
use weft_rtl::prelude::*;

/// The table with its fence.
pub(super) struct Wbt {
    pub table: WriteBacks,
}

impl Wbt {
    pub fn new(p: &Shape) -> Wbt {
        Wbt { table: WriteBacks::new("srsp_l1", p) }
    }

    /// No write-back is under way.
    pub fn empty(&self) -> Bool {
        self.table.rows.valid().none()
    }

    /// Enters a write-back; its number and epoch.
    pub fn enter(&self, line: Bits) -> (Bits, Bits) {
        self.table.send(line, |epoch| epoch)
    }

    /// A WB_ACK is taken in this cycle.
    pub fn acknowledge(&self, index: Bits, epoch: Bits) {
        let rows = &self.table.rows;
        rows.remove(index.one_hot(rows.valid().width()));
        self.table.fence.acked(epoch);
    }

    /// Declares how the counters change; `ack` is the WB_ACK's number, of meaning while one is taken.
    pub fn finish(&self, ack: Bits) {
        let WriteBacks { rows, fence } = &self.table;
        fence.finish();
        let (acks, epoch) = fence.acknowledged();
        let known = rows.valid().bit_at(ack) & rows.read(ack).note.eq(epoch);
        let text = "a WB_ACK names a write-back under way, and its epoch";
        assert_always("srsp_l1_ack_known", !acks | known, text);
    }
}
