//! What the unit remembers of each transaction of its L1.
//!
//! ```text
//!  all:   busy | done | left (W)                  MSHRs: atomic | peer | again | line | retry (W) | fails --> line buffer (SRAM)
//! ```

use super::params::TuGpuParams;
use super::table::Entry;
use crate::flags::Flags;
use crate::params::WORD;
use crate::retries::Retries;
use weft_rtl::prelude::*;

/// The entries. Transactions `0..mshrs` are reads and atomics, the others write-throughs.
pub(super) struct Entries {
    p: TuGpuParams,
    /// A request is under way, or its answer waits for the L1.
    pub busy: Flags,
    /// Its answer waits for the L1 and is not the next one.
    pub done: Flags,
    pub atomic: Flags,
    /// Some word came from another device.
    pub peer: Flags,
    left: Memory<Bits>,
    left_new: LaneWriter<Bits>,
    left_rsp: LaneWriter<Bits>,
    pub retries: Retries,
    port: SramPort<Bits>,
    words: RowWriter<Bits>,
}

impl Entries {
    pub fn new(p: &TuGpuParams) -> Entries {
        let s = &p.spandex;
        let flags = |name: &str, n: u32| Flags::new(name, n, "state");
        let file = |name: &str, n: u32, w: u32| regfile::<Bits>(name, n, w).fields(&[("tu", w)]);
        let left = file("left", p.entries(), s.words());
        let buffer = sram::<Bits>("buffer", s.mshrs, s.words(), WORD).fields(&[("line_buffer", WORD)]);
        Entries {
            busy: flags("busy", p.entries()),
            done: flags("done", p.entries()),
            atomic: flags("atomic", s.mshrs),
            peer: flags("peer", s.mshrs),
            left_new: left.lane_writer("new"),
            left_rsp: left.lane_writer("rsp"),
            left,
            retries: Retries::new(s, p.n_fail),
            port: buffer.read_port("out"),
            words: buffer.row_writer("rsp"),
            p: p.clone(),
        }
    }

    fn at(&self, tag: Bits) -> Bits {
        tag.slice(0, bits_for(u64::from(self.p.entries())))
    }

    /// MSHR of a transaction that is one.
    pub fn mshr(&self, tag: Bits) -> Bits {
        tag.slice(0, self.p.spandex.mshr_bits())
    }

    /// One bit for a transaction; none for a number past the last.
    pub fn one(&self, tag: Bits) -> Bits {
        tag.one_hot(self.p.entries())
    }

    /// The transaction is a read or an atomic.
    pub fn is_mshr(&self, tag: Bits) -> Bool {
        tag.zext(tag.width() + 1).lt(u64::from(self.p.spandex.mshrs))
    }

    /// One bit for the MSHR of a transaction; none if it is a write-through.
    pub fn one_mshr(&self, tag: Bits) -> Bits {
        tag.one_hot(self.p.spandex.mshrs)
    }

    /// What a transaction waits for.
    pub fn entry(&self, tag: Bits) -> Enum<Entry> {
        let kind = |entry: Entry| enum_lit(entry);
        let read = mux(self.atomic.get().bit_at(tag), kind(Entry::At), kind(Entry::Rd));
        let some = mux(self.is_mshr(tag), read, kind(Entry::Wt));
        mux(self.busy.get().bit_at(tag), some, kind(Entry::Free))
    }

    /// The same after this cycle, for observers.
    pub fn entry_after(&self, tag: Bits) -> Enum<Entry> {
        let kind = |entry: Entry| enum_lit(entry);
        let read = mux(self.atomic.after().bit_at(tag), kind(Entry::At), kind(Entry::Rd));
        let some = mux(self.is_mshr(tag), read, kind(Entry::Wt));
        mux(self.busy.after().bit_at(tag), some, kind(Entry::Free))
    }

    /// Words of a transaction that are outstanding.
    pub fn left(&self, tag: Bits) -> Bits {
        self.left.read(self.at(tag))
    }

    /// A request leaves: its words are outstanding.
    pub fn open(&self, tag: Bits, line: Bits, words: Bits, atomic: Bool) {
        self.busy.raise(self.one(tag));
        self.left_new.write(self.at(tag), &words);
        when(self.is_mshr(tag), || {
            let (mshr, one) = (self.mshr(tag), self.one_mshr(tag));
            self.retries.open(mshr, line);
            self.peer.lower(one);
            when(atomic, || self.atomic.raise(one)).otherwise(|| self.atomic.lower(one));
        });
    }

    /// Words are answered.
    pub fn answered(&self, tag: Bits, left: Bits) {
        self.left_rsp.write(self.at(tag), &left);
    }

    /// Words come in.
    pub fn store(&self, tag: Bits, mask: Bits, data: Bits) {
        self.words.write_packed(self.mshr(tag), mask, data);
    }

    /// Chooses the line buffer that is read in the next cycle.
    pub fn present(&self, tag: Bits) {
        self.port.present(self.mshr(tag));
    }

    /// The line buffer presented in the cycle before.
    pub fn row(&self) -> Bits {
        pack(&self.port.row())
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        [&self.busy, &self.done, &self.atomic, &self.peer, &self.retries.again]
            .into_iter()
            .for_each(Flags::finish);
    }
}
