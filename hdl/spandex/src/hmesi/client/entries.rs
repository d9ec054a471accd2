//! What the client remembers: of each request of the L1, by the L1's MSHR, and of each line that the L1 has evicted, until WBAck.
//!
//! ```text
//!  MSHR:   busy | own | once | data | excl | peer | full | unblocks | line | acks --> line buffer (SRAM)
//!  buffer: busy | unsent | gone | dirty | line --> data (SRAM)
//! ```

use super::params::ClientParams;
use crate::tu_mesi::marks::{Marks, written};
use weft_rtl::prelude::*;

/// Parts that change marks: requests and responses are one, the engine the other.
pub(super) const NET: usize = 0;
pub(super) const ENGINE: usize = 1;

/// Requests that are out.
pub(super) struct Entries {
    n: u32,
    /// A request is out, or its line is not installed.
    pub busy: Marks,
    /// It is GetM.
    pub own: Marks,
    /// Inv has come.
    pub once: Marks,
    /// DataM has come.
    pub data: Marks,
    /// The line is owned.
    pub excl: Marks,
    pub peer: Marks,
    /// Everything has come: to be installed.
    pub full: Marks,
    /// Unblock or UnblockX is still to be sent.
    pub unblocks: Marks,
    lines: (Memory<Bits>, LaneWriter<Bits>),
    /// InvAcks to come, less those that came before DataM: two's complement.
    acks: Memory<Bits>,
    acks_new: LaneWriter<Bits>,
    acks_more: LaneWriter<Bits>,
    buffer: (SramPort<Bits>, LaneWriter<Bits>),
}

impl Entries {
    pub fn new(p: &ClientParams) -> Entries {
        let s = &p.port.spandex;
        let marks = |name: &str| Marks::new(name, s.mshrs, "client");
        let file =
            |name: &str, width: u32| regfile::<Bits>(name, s.mshrs, width).fields(&[("client", width)]);
        let acks = file("acks", s.client_bits() + 1);
        let buffer =
            sram::<Bits>("buffer", s.mshrs, 1, s.data_bits()).fields(&[("line_buffer", s.data_bits())]);
        Entries {
            n: s.mshrs,
            busy: marks("busy"),
            own: marks("own_line"),
            once: marks("once"),
            data: marks("data"),
            excl: marks("excl"),
            peer: marks("peer"),
            full: marks("full"),
            unblocks: marks("unblocks"),
            lines: written(file("line", s.line_bits())),
            acks_new: acks.lane_writer("new"),
            acks_more: acks.lane_writer("more"),
            acks,
            buffer: (buffer.read_port("out"), buffer.lane_writer("in")),
        }
    }

    pub fn one(&self, entry: Bits) -> Bits {
        entry.one_hot(self.n)
    }
    /// Entries with something of a line to do.
    pub fn of_line(&self, line: Bits) -> Bits {
        let at = |i: u32| self.lines.0.entry(i).eq(line);
        let open = self.busy.get() | self.unblocks.get();
        pack_bools(&(0..self.n).map(at).collect::<Vec<_>>()) & open
    }
    pub fn line(&self, entry: Bits) -> Bits {
        self.lines.0.read(entry)
    }
    pub fn acks(&self, entry: Bits) -> Bits {
        self.acks.read(entry)
    }
    /// A request leaves.
    pub fn open(&self, entry: Bits, line: Bits, own: Bool) {
        let one = self.one(entry);
        self.busy.raise(NET, one);
        self.lines.1.write(entry, &line);
        when(own, || self.own.raise(NET, one)).otherwise(|| self.own.lower(NET, one));
        let none = lit(0, self.acks(entry).width());
        self.acks_new.write(entry, &none);
        [&self.once, &self.data, &self.excl, &self.peer].iter().for_each(|m| m.lower(ENGINE, one));
    }
    pub fn set_acks(&self, entry: Bits, acks: Bits) {
        self.acks_more.write(entry, &acks);
    }
    /// The line comes.
    pub fn store(&self, entry: Bits, data: Bits) {
        self.buffer.1.write(entry, &data);
    }
    /// Chooses the line read in the next cycle.
    pub fn present(&self, entry: Bits) {
        self.buffer.0.present(entry);
    }
    /// The line presented in the cycle before.
    pub fn row(&self) -> Bits {
        self.buffer.0.lane(0)
    }
    /// Declares how the marks change; called last.
    pub fn finish(&self) {
        let marks = [&self.busy, &self.own, &self.once, &self.data];
        marks.into_iter().for_each(Marks::finish);
        let marks = [&self.excl, &self.peer, &self.full, &self.unblocks];
        marks.into_iter().for_each(Marks::finish);
    }
}

/// The write-back buffer. An entry is *unsent* from the L1's Put to its own.
pub(super) struct Buffer {
    n: u32,
    pub busy: Marks,
    pub unsent: Marks,
    /// II.
    pub gone: Marks,
    pub dirty: Marks,
    lines: (Memory<Bits>, LaneWriter<Bits>),
    data: (SramPort<Bits>, LaneWriter<Bits>),
    /// Entries that have come free and of which the L1 does not know.
    freed: Reg<Bits>,
    frees: Wire<Bool>,
    tells: Wire<Bool>,
}

impl Buffer {
    pub fn new(p: &ClientParams) -> Buffer {
        let s = &p.port.spandex;
        let marks = |name: &str| Marks::new(name, s.wbb, "wbb");
        let lines = regfile::<Bits>("wbb_line", s.wbb, s.line_bits()).fields(&[("wbb", s.line_bits())]);
        let data = sram::<Bits>("wbb_data", s.wbb, 1, s.data_bits()).fields(&[("wbb_data", s.data_bits())]);
        Buffer {
            n: s.wbb,
            busy: marks("wbb_busy"),
            unsent: marks("wbb_unsent"),
            gone: marks("wbb_gone"),
            dirty: marks("wbb_dirty"),
            lines: written(lines),
            data: (data.read_port("out"), data.lane_writer("in")),
            freed: reg::<Bits>("wbb_freed", bits_for(u64::from(s.wbb) + 1)),
            frees: wire_or::<Bool>("wbb_frees", (), false),
            tells: wire_or::<Bool>("wbb_tells", (), false),
        }
    }

    pub fn one(&self, index: Bits) -> Bits {
        index.one_hot(self.n)
    }
    /// One bit: the entry of a line.
    pub fn of_line(&self, line: Bits) -> Bits {
        let at = |i: u32| self.lines.0.entry(i).eq(line);
        pack_bools(&(0..self.n).map(at).collect::<Vec<_>>()) & self.busy.get()
    }
    pub fn line(&self, index: Bits) -> Bits {
        self.lines.0.read(index)
    }
    /// The L1 puts a line.
    pub fn put(&self, line: Bits, data: Bits, dirty: Bool) {
        let index = (!self.busy.get()).lowest_set();
        let one = self.one(index);
        self.busy.raise(NET, one);
        self.unsent.raise(NET, one);
        self.gone.lower(NET, one);
        when(dirty, || self.dirty.raise(NET, one)).otherwise(|| self.dirty.lower(NET, one));
        self.lines.1.write(index, &line);
        self.data.1.write(index, &data);
    }
    /// WBAck comes.
    pub fn close(&self, index: Bits) {
        self.busy.lower(ENGINE, self.one(index));
        self.frees.set(true);
    }
    /// Chooses the data read in the next cycle.
    pub fn present(&self, index: Bits) {
        self.data.0.present(index);
    }
    /// The data presented in the cycle before.
    pub fn row(&self) -> Bits {
        self.data.0.lane(0)
    }
    /// The L1 is to be told of a free entry.
    pub fn has_news(&self) -> Bool {
        self.freed.get().any()
    }
    /// It is told.
    pub fn tell(&self) {
        self.tells.set(true);
    }
    /// Declares how the entries change; called last.
    pub fn finish(&self) {
        [&self.busy, &self.unsent, &self.gone, &self.dirty].into_iter().for_each(Marks::finish);
        let (more, less) = (self.frees.get(), self.tells.get());
        when(more & !less, || self.freed.set(self.freed.get() + 1));
        when(less & !more, || self.freed.set(self.freed.get() - 1));
    }
}
