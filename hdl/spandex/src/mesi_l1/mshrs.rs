//! The MSHRs, one per line asked for, and the store buffer: every operation that waits for a line, in order.
//!
//! ```text
//!  MSHR: busy | shut | own | again | line, way | first, last --> store buffer: operation | next --> operation | next ...
//! ```
//! A store that is not to be acknowledged is complete for the core when it is in the list. A list that begins with loads asks for a shared line; what is left at the first store or
//! atomic that cannot be done on it asks again (`again`), for ownership.

use super::op::Work;
use super::params::MesiL1Params;
use crate::mesi_port::{Get, MesiReq};
use weft_rtl::prelude::*;

/// The line that an MSHR waits for.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiL1Params)]
pub(super) struct Miss {
    #[width(p.port.spandex.line_bits())]
    #[field("mshr")]
    pub line: Bits,
    /// The way reserved.
    #[width(p.port.way_bits())]
    #[field("mshr")]
    pub way: Bits,
}

/// MSHRs and store buffer. A slot changes one MSHR and its list.
pub(super) struct Mshrs {
    p: MesiL1Params,
    busy: Reg<Bits>,
    shut: Reg<Bits>,
    /// Ownership is asked for.
    own: Reg<Bits>,
    again: Reg<Bits>,
    used: Reg<Bits>,
    misses: Memory<Miss>,
    miss_writer: LaneWriter<Miss>,
    first: (Memory<Bits>, LaneWriter<Bits>),
    last: (Memory<Bits>, LaneWriter<Bits>),
    next: (Memory<Bits>, LaneWriter<Bits>),
    port: SramPort<Work>,
    op_writer: LaneWriter<Work>,
    /// Stores and atomics in the lists.
    writes: Reg<Bits>,
    req: OutChannel<MesiReq>,
    takes: Wire<Bits>,
    frees: Wire<Bits>,
    shuts: Wire<Bits>,
    owns: Wire<Bits>,
    repeats: Wire<Bits>,
    lists: Wire<Bits>,
    leaves: Wire<Bits>,
    counts: Wire<Bool>,
    uncounts: Wire<Bool>,
    flash: Wire<Bool>,
}

impl Mshrs {
    pub fn new(p: &MesiL1Params) -> Mshrs {
        let s = &p.port.spandex;
        let bits = |name: &str, n: u32, field: &str| reg::<Bits>(name, n).field(field);
        let event = |name: &str, n: u32| wire_zero::<Bits>(name, n);
        let flag = |name: &str| wire_or::<Bool>(name, (), false);
        let misses = regfile::<Miss>("mshr_miss", s.mshrs, p.clone());
        let pointers = |name: &str, n: u32, field: &str| {
            let file = regfile::<Bits>(name, n, p.entry_bits()).fields(&[(field, p.entry_bits())]);
            let writer = file.lane_writer("in");
            (file, writer)
        };
        let ops = sram::<Work>("store_buffer", s.sb, 1, p.clone());
        Mshrs {
            p: p.clone(),
            busy: bits("mshr_busy", s.mshrs, "mshr"),
            shut: bits("mshr_shut", s.mshrs, "mshr"),
            own: bits("mshr_own", s.mshrs, "mshr"),
            again: bits("mshr_again", s.mshrs, "mshr"),
            used: bits("entries_used", s.sb, "store_buffer"),
            miss_writer: misses.lane_writer("in"),
            misses,
            first: pointers("mshr_first", s.mshrs, "mshr"),
            last: pointers("mshr_last", s.mshrs, "mshr"),
            next: pointers("entries_next", s.sb, "store_buffer"),
            port: ops.read_port("look"),
            op_writer: ops.lane_writer("in"),
            writes: reg::<Bits>("writes_listed", bits_for(u64::from(s.sb) + 1)),
            req: out_channel::<MesiReq>("l1_req", &p.port),
            takes: event("mshr_takes", s.mshrs),
            frees: event("mshr_frees", s.mshrs),
            shuts: event("mshr_shuts", s.mshrs),
            owns: event("mshr_owns", s.mshrs),
            repeats: event("mshr_repeats", s.mshrs),
            lists: event("entries_list", s.sb),
            leaves: event("entries_leave", s.sb),
            counts: flag("writes_more"),
            uncounts: flag("writes_less"),
            flash: flag("mshr_flash"),
        }
    }

    fn one(&self, mshr: Bits) -> Bits {
        mshr.one_hot(self.p.port.spandex.mshrs)
    }

    fn one_entry(&self, entry: Bits) -> Bits {
        entry.one_hot(self.p.port.spandex.sb)
    }

    /// One bit: the MSHR of a line.
    pub fn of_line(&self, line: Bits) -> Bits {
        let n = self.p.port.spandex.mshrs;
        let same: Vec<Bool> = (0..n).map(|i| self.misses.entry(i).line.eq(line)).collect();
        pack_bools(&same) & self.busy.get()
    }

    pub fn miss(&self, mshr: Bits) -> Miss {
        self.misses.read(mshr)
    }

    pub fn is_shut(&self, mshr: Bits) -> Bool {
        self.shut.get().bit_at(mshr)
    }

    pub fn is_busy(&self, mshr: Bits) -> Bool {
        self.busy.get().bit_at(mshr)
    }

    pub fn full(&self) -> Bool {
        self.busy.get().all()
    }

    /// No entry of the store buffer is free.
    pub fn entries_full(&self) -> Bool {
        self.used.get().all()
    }

    /// No store or atomic waits for its line.
    pub fn written(&self) -> Bool {
        self.writes.get().none()
    }

    /// A miss may ask now.
    pub fn can_ask(&self) -> Bool {
        self.req.free & self.again.get().none()
    }

    /// First operation of a list.
    pub fn first(&self, mshr: Bits) -> Bits {
        self.first.0.read(mshr)
    }

    /// The operation after one.
    pub fn next(&self, entry: Bits) -> Bits {
        self.next.0.read(entry)
    }

    /// The operation is the last of its list.
    pub fn is_last(&self, mshr: Bits, entry: Bits) -> Bool {
        self.last.0.read(mshr).eq(entry)
    }

    /// Chooses the operation that is read in the next cycle.
    pub fn present(&self, entry: Bits) {
        self.port.present(entry);
    }

    /// The operation presented in the cycle before.
    pub fn op(&self) -> Work {
        self.port.lane(0)
    }

    fn ask(&self, get: Enum<Get>, line: Bits, mshr: Bits) {
        self.req.send(&MesiReq { op: get, line, tag: mshr });
    }

    fn enter(&self, op: &Work, writes: Bool) -> Bits {
        let entry = (!self.used.get()).lowest_set();
        self.lists.set(self.one_entry(entry));
        self.op_writer.write(entry, op);
        when(writes, || self.counts.set(true));
        entry
    }

    /// Takes an MSHR with its first operation, and asks.
    pub fn take(&self, miss: &Miss, own: Bool, op: &Work, writes: Bool) {
        let mshr = (!self.busy.get()).lowest_set();
        let entry = self.enter(op, writes);
        self.takes.set(self.one(mshr));
        when(own, || self.owns.set(self.one(mshr)));
        self.miss_writer.write(mshr, miss);
        self.first.1.write(mshr, &entry);
        self.last.1.write(mshr, &entry);
        self.ask(mux(own, enum_lit(Get::GetM), enum_lit(Get::GetS)), miss.line, mshr);
    }

    /// An operation joins a list.
    pub fn join(&self, mshr: Bits, op: &Work, writes: Bool) {
        let entry = self.enter(op, writes);
        self.next.1.write(self.last.0.read(mshr), &entry);
        self.last.1.write(mshr, &entry);
    }

    /// No other operation joins.
    pub fn shut(&self, mshr: Bits) {
        self.shuts.set(self.one(mshr));
    }

    /// No other operation joins a list that asks for a shared line.
    pub fn shut_reads(&self) {
        self.flash.set(true);
    }

    /// Some list asks for a shared line.
    pub fn some_read(&self) -> Bool {
        (self.busy.get() & !self.own.get()).any()
    }

    /// An operation is done.
    pub fn done(&self, entry: Bits, wrote: Bool) {
        self.leaves.set(self.one_entry(entry));
        when(wrote, || self.uncounts.set(true));
    }

    /// The list is empty.
    pub fn free(&self, mshr: Bits) {
        self.frees.set(self.one(mshr));
    }

    /// What is left, from this operation on, asks for ownership.
    pub fn repeat(&self, mshr: Bits, entry: Bits) {
        self.first.1.write(mshr, &entry);
        self.repeats.set(self.one(mshr));
    }

    /// Declares how the entries change; call it last.
    pub fn finish(&self) {
        let again = self.again.get();
        let mshr = again.lowest_set();
        let sends = (again.any() & self.req.free).named("asks_again");
        when(sends, || self.ask(enum_lit(Get::GetM), self.misses.read(mshr).line, mshr));
        let (takes, frees, repeats) = (self.takes.get(), self.frees.get(), self.repeats.get());
        when(takes.any() | frees.any(), || self.busy.set((self.busy.get() | takes) & !frees));
        let sent = self.one(mshr) & sends.repeat(again.width());
        when(repeats.any() | sends, || self.again.set((again & !sent) | repeats));
        let reads = self.busy.get() & !self.own.get();
        let flash = reads & self.flash.get().repeat(reads.width());
        let shuts = (self.shuts.get() | flash).named("mshr_closed");
        let opens = takes | repeats;
        when(shuts.any() | opens.any(), || self.shut.set((self.shut.get() | shuts) & !opens));
        when(opens.any(), || self.own.set((self.own.get() & !opens) | self.owns.get() | repeats));
        let (lists, leaves) = (self.lists.get(), self.leaves.get());
        when(lists.any() | leaves.any(), || self.used.set((self.used.get() | lists) & !leaves));
        let (more, less) = (self.counts.get(), self.uncounts.get());
        when(more & !less, || self.writes.set(self.writes.get() + 1));
        when(less & !more, || self.writes.set(self.writes.get() - 1));
    }
}
