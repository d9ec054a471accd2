//! Miss registers, the pool of waiting requests with their lists, and the answers of memory that wait for the pipeline.
//!
//! An MSHR stands for the one transaction of its line. Its first requester is kept in `infos`, those behind it in a list in the pool. The entry stays until its list
//! is empty; when the head of the list needs a transaction of its own it takes the entry over.

use super::params::L2Params;
use super::types::*;
use crate::choice::Inject;
use crate::msg::UmcRsp;
use weft_blocks::common::cam::Cam;
use weft_rtl::prelude::*;

/// One bit per MSHR.
pub(super) struct Flags {
    pub now: Reg<Bits>,
    up: Wire<Bits>,
    down: Wire<Bits>,
    n: u32,
}

impl Flags {
    /// Declares the bits, all low.
    pub fn new(name: &str, n: u32) -> Flags {
        Flags {
            now: reg::<Bits>(name, n).field("state"),
            up: wire_zero::<Bits>(&format!("{name}_up"), n),
            down: wire_zero::<Bits>(&format!("{name}_down"), n),
            n,
        }
    }

    /// Sets or clears a bit in this cycle.
    pub fn put(&self, index: Bits, high: Bool) {
        when(high, || self.raise(index)).otherwise(|| self.lower(index));
    }

    /// Sets a bit in this cycle.
    pub fn raise(&self, index: Bits) {
        self.up.set(index.one_hot(self.n));
    }

    /// Clears a bit in this cycle.
    pub fn lower(&self, index: Bits) {
        self.down.set(index.one_hot(self.n));
    }

    /// The bit of an entry.
    pub fn at(&self, index: Bits) -> Bool {
        self.now.get().bit_at(index)
    }

    /// Changes the bits; called once.
    pub fn connect(&self) {
        self.now.set((self.now.get() & !self.down.get()) | self.up.get());
    }
}

/// Result of a search for a line.
pub(super) struct Match {
    /// The line has a transaction.
    pub hit: Bool,
    pub index: Bits,
    /// Entries that hold the line; at most one.
    pub entries: Bits,
}

type File<T> = (Memory<T>, LaneWriter<T>);

fn file<T: Data>(name: &str, rows: u32, shape: &T::Shape, field: &str) -> File<T> {
    let memory = regfile::<T>(name, rows, shape.clone());
    let memory = memory.fields(&[(field, width_of::<T>(shape))]);
    let writer = memory.lane_writer("put");
    (memory, writer)
}

/// The MSHRs, the pool and the landing place.
pub(super) struct Mshrs {
    lines: Cam,
    n: u32,
    pool: u32,
    infos: File<Waiting>,
    needs: Option<File<Need>>,
    lists: Memory<List>,
    list_in: LaneWriter<List>,
    list_out: LaneWriter<List>,
    /// An answer has landed.
    pub landed: Flags,
    /// The list is to be gone through.
    pub walk: Flags,
    /// The first requester must be tried again before the list.
    pub redo: Flags,
    /// Of a write-back bank: the first requester waits in the list.
    pub quiet: Option<Flags>,
    /// Of a write-back bank: dirty bytes on their way to memory, which are in the way of the list.
    pub writes: Option<Flags>,
    /// Of a write-back bank: the request went past it.
    pub past: Option<Flags>,
    /// The write found a live block (slip `lit_ack_nodata`).
    pub was_live: Option<Flags>,
    freed: [Wire<Bits>; 2],
    used: Reg<Bits>,
    taken: Wire<Bits>,
    left: Wire<Bits>,
    headers: File<Waiting>,
    header_needs: Option<File<Need>>,
    /// Of G-TSC: wts that MSHRs' and waiting requests have told.
    wts: Option<[File<Bits>; 2]>,
    next: File<Bits>,
    payload_in: LaneWriter<Payload>,
    /// Payload of the head of the list that is gone through.
    pub payload: SramPort<Payload>,
    land_in: LaneWriter<Landing>,
    /// The answer for a fill, and for a list.
    pub landing: [SramPort<Landing>; 2],
    stamps_in: Option<LaneWriter<Stamps>>,
    /// Other stamps than those granted (slip `lit_brts`).
    stamps_again: Option<LaneWriter<Stamps>>,
    /// Its stamps.
    pub stamps: Option<[SramPort<Stamps>; 2]>,
    epochs: Option<File<Bits>>,
}

impl Mshrs {
    /// Declares everything.
    pub fn new(p: &L2Params) -> Mshrs {
        let (n, pool, t) = (p.tsm.l2_mshrs, p.pool, &p.tsm);
        let flags = |name: &str| Flags::new(name, n);
        let lists = regfile::<List>("mshr_lists", n, p.clone());
        let lists = lists.fields(&[("queue", width_of::<List>(p))]);
        let payloads = sram::<Payload>("pool_payloads", pool, 1, p.clone());
        let payloads = payloads.fields(&[("queue", width_of::<Payload>(p))]);
        let landing = sram::<Landing>("landing", n, 1, p.clone());
        let landing = landing.fields(&[("queue", width_of::<Landing>(p))]);
        // Only the blocks' own stamps are counted as those.
        let fields = [("timestamp", 2 * t.ts)];
        let stamps = || sram::<Stamps>("landing_stamps", n, 1, p.clone()).fields(&fields);
        let stamps = p.mgcc().then(stamps);
        let event = |name: &str, bits: u32| wire_zero::<Bits>(name, bits);
        Mshrs {
            lines: Cam::new("mshr_lines", n, t.line_bits()),
            n,
            pool,
            infos: file("mshr_infos", n, p, "queue"),
            needs: p.coherent().then(|| file("mshr_needs", n, p, "timestamp")),
            list_in: lists.lane_writer("append"),
            list_out: lists.lane_writer("pop"),
            lists,
            landed: flags("mshr_landed"),
            walk: flags("mshr_walk"),
            redo: flags("mshr_redo"),
            quiet: p.back().then(|| flags("mshr_quiet")),
            writes: p.back().then(|| flags("mshr_writes")),
            past: p.back().then(|| flags("mshr_past")),
            was_live: (p.inject == Inject::LitAckNodata).then(|| flags("mshr_was_live")),
            freed: [event("mshr_freed_by_fill", n), event("mshr_freed_by_walk", n)],
            used: reg::<Bits>("pool_used", pool).field("state"),
            taken: event("pool_taken", pool),
            left: event("pool_left", pool),
            headers: file("pool_headers", pool, p, "queue"),
            wts: p.gtsc().then(|| {
                [file("mshr_wts", n, &t.ts, "timestamp"), file("pool_wts", pool, &t.ts, "timestamp")]
            }),
            header_needs: p.coherent().then(|| file("pool_needs", pool, p, "timestamp")),
            next: file("pool_next", pool, &p.pool_bits(), "queue"),
            payload_in: payloads.lane_writer("put"),
            payload: payloads.read_port("look"),
            land_in: landing.lane_writer("put"),
            landing: [landing.read_port("fill"), landing.read_port("walk")],
            stamps_in: stamps.as_ref().map(|s| s.lane_writer("put")),
            stamps_again: stamps
                .as_ref()
                .filter(|_| p.inject == Inject::LitBrts)
                .map(|s| s.lane_writer("again")),
            stamps: stamps.as_ref().map(|s| [s.read_port("fill"), s.read_port("walk")]),
            epochs: p.mgcc().then(|| file("landing_epochs", n, &t.eb, "timestamp")),
        }
    }

    /// The transaction of a line.
    pub fn find(&self, line: Bits) -> Match {
        let entries = self.lines.matches(line).named("s1_entries");
        Match { hit: entries.any(), index: entries.lowest_set(), entries }
    }

    /// Line of an entry.
    pub fn line_of(&self, index: Bits) -> Bits {
        self.lines.key(index)
    }

    /// Valid bits of the entries.
    pub fn valid(&self) -> Bits {
        self.lines.valid()
    }

    /// The entry that a new transaction takes.
    pub fn free_index(&self) -> Bits {
        self.lines.free_index()
    }

    /// Entries taken.
    pub fn in_use(&self) -> Bits {
        self.lines.valid().popcount()
    }

    /// Requests waiting in lists.
    pub fn waiting(&self) -> Bits {
        self.used.get().popcount()
    }

    /// One more of `all` is free, also after what stage 1 may take (`s1`).
    fn room(used: Bits, all: u32, s1: Bool) -> Bool {
        used.lt(u64::from(all - 1)) | (used.lt(u64::from(all)) & !s1)
    }

    /// An MSHR for one more request.
    pub fn mshr_room(&self, s1: Bool) -> Bool {
        Mshrs::room(self.in_use(), self.n, s1)
    }

    /// A pool entry for one more request.
    pub fn pool_room(&self, s1: Bool) -> Bool {
        Mshrs::room(self.waiting(), self.pool, s1)
    }

    /// First requester of an entry.
    pub fn info(&self, index: Bits) -> Waiting {
        self.infos.0.read(index)
    }

    /// Clock at which it was taken.
    pub fn need(&self, index: Bits) -> Option<Need> {
        self.needs.as_ref().map(|(needs, _)| needs.read(index))
    }

    /// The list of an entry.
    pub fn list(&self, index: Bits) -> List {
        self.lists.read(index)
    }

    /// A waiting request.
    pub fn header(&self, entry: Bits) -> Waiting {
        self.headers.0.read(entry)
    }

    /// Clock at which it was taken.
    pub fn header_need(&self, entry: Bits) -> Option<Need> {
        self.header_needs.as_ref().map(|(needs, _)| needs.read(entry))
    }

    /// Epoch of the stamps that have landed for an entry.
    pub fn epoch(&self, index: Bits) -> Option<Bits> {
        self.epochs.as_ref().map(|(epochs, _)| epochs.read(index))
    }

    /// Takes an answer of memory in.
    pub fn land(&self, m: &UmcRsp) {
        self.land_in.write(m.txn, &Landing { with_data: m.with_data, old: m.old, data: m.data });
        if let (Some(stamps), Some((_, epochs))) = (&self.stamps_in, &self.epochs) {
            stamps.write(m.txn, &Stamps { wts: m.wts, rts: m.rts });
            epochs.write(m.txn, &m.tag);
        }
        self.landed.raise(m.txn);
    }

    /// Puts other stamps in place of those that have landed (slip `lit_brts`).
    pub fn rewrite(&self, fill: Bool, index: Bits, stamps: &Stamps) {
        if let Some(writer) = &self.stamps_again {
            when(fill, || writer.write(index, stamps));
        }
    }

    /// A list of nobody.
    pub fn empty_list(&self) -> List {
        let none = lit(0, self.next.0.addr_bits());
        List { head: none, tail: none, count: lit(0, bits_for(u64::from(self.pool) + 1)) }
    }

    /// Opens the free entry for a line, with an empty list.
    pub fn open(&self, line: Bits) {
        self.lines.write(self.free_index(), line);
        self.list_in.write(self.free_index(), &self.empty_list());
    }

    /// Says whose transaction an entry is.
    pub fn own(&self, index: Bits, who: &Waiting, need: Option<Need>) {
        self.infos.1.write(index, who);
        if let (Some((_, writer)), Some(need)) = (&self.needs, need) {
            writer.write(index, &need);
        }
    }

    /// wts that the first requester of an entry has told.
    pub fn first_wts(&self, index: Bits) -> Option<Bits> {
        self.wts.as_ref().map(|[first, _]| first.0.read(index))
    }

    /// wts that a waiting request has told.
    pub fn header_wts(&self, entry: Bits) -> Option<Bits> {
        self.wts.as_ref().map(|[_, waiting]| waiting.0.read(entry))
    }

    /// Keeps the wts that an entry's first requester has told.
    pub fn own_wts(&self, index: Bits, wts: Option<Bits>) {
        if let (Some([first, _]), Some(wts)) = (&self.wts, wts) {
            first.1.write(index, &wts);
        }
    }

    /// Keeps the wts of the request appended in this cycle.
    pub fn append_wts(&self, wts: Option<Bits>) {
        if let (Some([_, waiting]), Some(wts)) = (&self.wts, wts) {
            waiting.1.write((!self.used.get()).lowest_set(), &wts);
        }
    }

    /// Appends a request to the list of an entry, which is `list` so far.
    pub fn append(&self, index: Bits, list: List, who: &Waiting, payload: &Payload, need: Option<Need>) {
        let entry = (!self.used.get()).lowest_set();
        let first = list.count.none();
        self.headers.1.write(entry, who);
        self.payload_in.write(entry, payload);
        if let (Some((_, writer)), Some(need)) = (&self.header_needs, need) {
            writer.write(entry, &need);
        }
        when(!first, || self.next.1.write(list.tail, &entry));
        let head = mux(first, entry, list.head);
        self.list_in.write(index, &List { head, tail: entry, count: list.count + 1 });
        self.taken.set(entry.one_hot(self.pool));
    }

    /// Takes the head off the list of an entry.
    pub fn pop(&self, index: Bits) {
        let list = self.list(index);
        let head = self.next.0.read(list.head);
        self.list_out.write(index, &List { head, tail: list.tail, count: list.count - 1 });
        self.left.set(list.head.one_hot(self.pool));
    }

    /// Frees an entry whose list is empty, at the end of a fill.
    pub fn free_by_fill(&self, index: Bits) {
        self.freed[0].set(index.one_hot(self.n));
    }

    /// Frees an entry whose list has become empty.
    pub fn free_by_walk(&self, index: Bits) {
        self.freed[1].set(index.one_hot(self.n));
    }

    /// Changes the flags; called once.
    pub fn connect(&self) {
        self.lines.remove(self.freed[0].get() | self.freed[1].get());
        self.used.set((self.used.get() & !self.left.get()) | self.taken.get());
        for flags in [&self.landed, &self.walk, &self.redo] {
            flags.connect();
        }
        let others = [&self.quiet, &self.writes, &self.past, &self.was_live];
        others.into_iter().flatten().for_each(Flags::connect);
    }
}
