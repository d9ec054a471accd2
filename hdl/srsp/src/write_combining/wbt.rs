//! Write-backs under way, each given back by its WB_ACK, and the two counters of the fence, for which flushes wait (srsp.md sections 4 and 5). In DeNovo-B the fence counts
//! registrations of written lines.

use super::Shape;
use crate::entries::Entries;
use weft_rtl::prelude::*;

/// The fence: its epoch and, per epoch, the number of write-backs sent in it and not acknowledged.
pub(crate) struct Fence {
    block: &'static str,
    epoch: Reg<Bits>,
    counts: [Reg<Bits>; 2],
    sends: Wire<Bool>,
    acks: Wire<Bool>,
    acked_epoch: Wire<Bits>,
}

impl Fence {
    /// Declares the fence over up to `wbt` write-backs; `block` begins the names of its assertions.
    pub fn new(block: &'static str, wbt: u32) -> Fence {
        let bits = bits_for(u64::from(wbt) + 1);
        let count = |name| reg::<Bits>(name, bits).field("fence");
        Fence {
            block,
            epoch: reg::<Bits>("fence_epoch", 1).field("fence"),
            counts: [count("fence_open0"), count("fence_open1")],
            sends: wire_or::<Bool>("wbt_sends", (), false),
            acks: wire_or::<Bool>("wbt_acks", (), false),
            acked_epoch: wire_zero::<Bits>("wbt_acked_epoch", 1),
        }
    }

    /// A write-back is sent in this cycle; its epoch.
    pub fn sent(&self) -> Bits {
        self.sends.set(true);
        self.epoch.get()
    }

    /// The epoch of what is sent in this cycle.
    pub fn epoch(&self) -> Bits {
        self.epoch.get()
    }

    /// A write-back of an epoch is acknowledged in this cycle.
    pub fn acked(&self, epoch: Bits) {
        self.acks.set(true);
        self.acked_epoch.set(epoch);
    }

    /// A write-back is acknowledged in this cycle, and its epoch.
    pub fn acknowledged(&self) -> (Bool, Bits) {
        (self.acks.get(), self.acked_epoch.get())
    }

    /// Begins a fence: later write-backs belong to the other epoch.
    pub fn flip(&self) {
        self.epoch.set(!self.epoch.get());
    }

    /// All write-backs sent before the last flip are acknowledged.
    pub fn fenced(&self) -> Bool {
        mux(self.epoch.get().bit(0), self.counts[0].get(), self.counts[1].get()).none()
    }

    /// Declares how the counters change.
    pub fn finish(&self) {
        for (e, count) in self.counts.iter().enumerate() {
            let mine = |epoch: Bits| epoch.eq(e as u64);
            let up = self.sends.get() & mine(self.epoch.get());
            let down = self.acks.get() & mine(self.acked_epoch.get());
            when(up & !down, || count.set(count.get() + 1));
            when(down & !up, || count.set(count.get() - 1));
            let text = "no more write-backs are acknowledged than were sent";
            let name = format!("{}_fence{e}_underflow", self.block);
            assert_always(&name, !down | count.get().any(), text);
        }
    }
}

/// A write-back under way.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(crate) struct WriteBack {
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    /// What the L1 notes of it.
    #[width(1)]
    pub note: Bits,
}

/// The table of what is under way, with its fence.
pub(crate) struct WriteBacks {
    pub rows: Entries<WriteBack>,
    /// What flushes wait for.
    pub fence: Fence,
}

impl WriteBacks {
    /// Declares the table; `block` begins the names of its assertions.
    pub fn new(block: &'static str, p: &Shape) -> WriteBacks {
        WriteBacks { rows: Entries::new("wbt", p.srsp.wbt, p), fence: Fence::new(block, p.srsp.wbt) }
    }

    /// An entry is free.
    pub fn room(&self) -> Bool {
        !self.rows.full()
    }

    /// The line has an entry.
    pub fn has(&self, line: Bits) -> Bool {
        self.rows.which(|row| row.line.eq(line)).any()
    }

    /// Enters a write-back with a note, perhaps of its epoch; its number and epoch.
    pub fn send(&self, line: Bits, note: impl FnOnce(Bits) -> Bits) -> (Bits, Bits) {
        let (index, epoch) = (self.rows.free_index(), self.fence.sent());
        self.rows.write(index, &WriteBack { line, note: note(epoch) });
        (index, epoch)
    }
}
