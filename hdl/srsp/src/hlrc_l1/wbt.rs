//! WBT: write-backs under way, each given back by its WB_ACK, and lines that are given back, until their UNREG_ACK (srsp.md sections 4 and 9).
//!
//! An UNREG gets its entry when its line is captured, so that what holds the capture buffer waits for write-backs alone; and one entry is never an UNREG's. Otherwise UNREGs
//! whose acknowledgement waits for the answer to a REVOKE could fill the table, while that REVOKE stands behind another one that waits for the capture buffer, whose flush
//! waits for an entry.
//!
//! A WB_ACK says its epoch itself, so `unreg` takes the place that the epoch has in `srsp-l1`: the entry is as wide.

use super::params::HlrcL1Params;
use crate::entries::Entries;
use crate::l1::wbt::Fence;
use weft_rtl::prelude::*;

/// A write-back, or a line given back, under way.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL1Params)]
struct WbtEntry {
    #[width(p.srsp.line_bits())]
    line: Bits,
    unreg: Bool,
}

/// The table with its fence, which counts write-backs alone.
pub(super) struct Wbt {
    n: u32,
    rows: Entries<WbtEntry>,
    /// What flushes wait for.
    pub fence: Fence,
    clears: Wire<Bool>,
    cleared: Wire<Bits>,
}

impl Wbt {
    pub fn new(p: &HlrcL1Params) -> Wbt {
        let n = p.srsp.wbt;
        Wbt {
            n,
            rows: Entries::new("wbt", n, p),
            fence: Fence::new("hlrc_l1", n),
            clears: wire_or::<Bool>("unreg_clears", (), false),
            cleared: wire_zero::<Bits>("unreg_cleared", bits_for(u64::from(n))),
        }
    }

    /// An entry is free for a write-back.
    pub fn room(&self) -> Bool {
        !self.rows.full()
    }

    fn unregs(&self) -> Bits {
        self.rows.which(|row| row.unreg)
    }

    /// An entry is free for an UNREG.
    pub fn room_to_unregister(&self) -> Bool {
        self.room() & self.unregs().popcount().zext(8).lt(u64::from(self.n - 1))
    }

    /// The line has a write-back or UNREG under way.
    pub fn has(&self, line: Bits) -> Bool {
        self.rows.which(|row| row.line.eq(line)).any()
    }

    /// The line is given back: UNREG is under way.
    pub fn gives_back(&self, line: Bits) -> Bool {
        self.rows.which(|row| row.unreg & row.line.eq(line)).any()
    }

    /// Some line is given back.
    pub fn some_given_back(&self) -> Bool {
        self.unregs().any()
    }

    /// Enters a write-back; its number and epoch.
    pub fn send(&self, line: Bits) -> (Bits, Bits) {
        let (index, epoch) = (self.rows.free_index(), self.fence.sent());
        self.rows.write(index, &WbtEntry { line, unreg: bool_lit(false) });
        (index, epoch)
    }

    /// Enters an UNREG to be sent; its number.
    pub fn reserve(&self, line: Bits) -> Bits {
        let index = self.rows.free_index();
        self.rows.write(index, &WbtEntry { line, unreg: bool_lit(true) });
        index
    }

    /// A WB_ACK is taken in this cycle.
    pub fn acknowledge(&self, index: Bits, epoch: Bits) {
        self.clear(index);
        self.fence.acked(epoch);
    }

    /// An UNREG_ACK is taken in this cycle.
    pub fn clear(&self, index: Bits) {
        self.clears.set(true);
        self.cleared.set(index);
    }

    /// Declares what leaves. `released`: an UNREG that is not to be sent, as one bit.
    pub fn finish(&self, released: Bits) {
        self.fence.finish();
        let (acks, _) = self.fence.acknowledged();
        let index = self.cleared.get();
        let gone = index.one_hot(self.n) & self.clears.get().repeat(self.n);
        self.rows.remove(gone | released);
        let known = self.rows.valid().bit_at(index) & (self.rows.read(index).unreg ^ acks);
        let text =
            "an acknowledgement names what is under way: WB_ACK a write-back, UNREG_ACK a line given back";
        assert_always("hlrc_l1_ack_known", !self.clears.get() | known, text);
    }
}
