//! The stall memory: lists of requests that wait for a TBE, and one of those that may be tried again.
//!
//! A list is a FIFO linked through the memory. When the TBE is done, its list joins the end of the list to be tried again, which is tried before REQ: so a TBE is free at once, and what was
//! stalled holds none while it waits for another. (A list that kept its TBE until all of it has been replayed would make the entry reserved for forwards one of a fill, and the bank one that
//! waits for itself.)

use super::params::GpuL2Params;
use crate::bank::entries::{File, change, each, marks, of, set_of};
use crate::bank::request::Held;
use crate::bank::some;
use weft_rtl::prelude::*;

/// The memory and its lists.
pub(super) struct Stalls {
    used: Reg<Bits>,
    waiting: File<Held>,
    next: File<Bits>,
    /// TBEs whose list has requests; first and last of each.
    listed: Reg<Bits>,
    head: Vec<Reg<Bits>>,
    tail: Vec<Reg<Bits>>,
    /// There is something to be tried again; the first and the last.
    pub some: Reg<Bool>,
    first: Reg<Bits>,
    last: Reg<Bits>,
    /// The first enters the pipeline in this cycle.
    pops: Wire<Bool>,
    /// The list of a TBE joins in this cycle.
    joins: Wire<Bool>,
    which: Wire<Bits>,
}

/// What stage 3 does to the lists.
pub(super) struct Stall {
    /// A request joins the list of a TBE: from REQ it takes a free place, else it has `place`.
    pub joins: Bool,
    pub fresh: Bool,
    pub place: Bits,
    pub by: Bits,
    /// One that was tried again needs its place no more.
    pub leaves: Bool,
    /// A TBE is done, and its list to be tried again.
    pub ends: Bool,
    pub index: Bits,
}

impl Stalls {
    /// Declares the memory, empty.
    pub fn new(p: &GpuL2Params) -> Stalls {
        let (n, bits) = (p.bank.s.tbes, p.bank.stall_bits());
        Stalls {
            used: marks("stalled", p.bank.stalls),
            waiting: File::new("stall", p.bank.stalls, &p.bank.s),
            next: File::new("stall_next", p.bank.stalls, &bits),
            listed: marks("tbe_listed", n),
            head: each(n, "head", &bits),
            tail: each(n, "tail", &bits),
            some: reg::<Bool>("again", ()).field("queue"),
            first: marks("again_first", bits),
            last: marks("again_last", bits),
            pops: wire_or::<Bool>("again_pops", (), false),
            joins: wire_or::<Bool>("again_joins", (), false),
            which: wire_zero::<Bits>("again_which", bits_for(u64::from(n))),
        }
    }

    /// Places in use.
    pub fn used(&self) -> Bits {
        self.used.get()
    }
    /// The first request to be tried again, and its place.
    pub fn again(&self) -> (Held, Bits) {
        (self.waiting.read(self.first.get()), self.first.get())
    }
    /// It enters the pipeline.
    pub fn pop(&self) {
        self.pops.set(bool_lit(true));
    }
    /// A TBE has a list.
    pub fn has(&self, index: Bits) -> Bool {
        self.listed.get().bit_at(index)
    }

    /// Stage 3; `request`: its request.
    pub fn update(&self, s: &Stall, request: &Held) {
        let n = self.listed.get().width();
        let free = (!self.used.get()).lowest_set().resize(s.place.width());
        let place = mux(s.fresh, free, s.place);
        when(s.joins & s.fresh, || self.waiting.write(place, request));
        when(s.joins, || {
            when(self.has(s.by), || self.next.write(of(&self.tail, s.by), &place)).otherwise(|| {
                set_of(&self.head, s.by, place);
            });
            set_of(&self.tail, s.by, place);
        });
        let bit = |at: Bits, width: u32, now: Bool| some(at.one_hot(width), now);
        let places = self.used.get().width();
        change(&self.used, (bit(place, places, s.joins & s.fresh), bit(s.place, places, s.leaves)));
        change(&self.listed, (bit(s.by, n, s.joins), bit(s.index, n, s.ends)));
        when(s.ends & self.has(s.index), || {
            self.joins.set(bool_lit(true));
            self.which.set(s.index);
        });
    }

    /// The list to be tried again: its first leaves, the list of a TBE joins, or both. Called once, after everything else.
    pub fn connect(&self) {
        let (joins, pops) = (self.joins.get(), self.pops.get());
        let (head, tail) = (of(&self.head, self.which.get()), of(&self.tail, self.which.get()));
        let alone = self.first.get().eq(self.last.get());
        let stays = self.some.get() & !(pops & alone);
        when(pops & !alone, || self.first.set(self.next.read(self.first.get())));
        when(pops & alone, || self.some.set(bool_lit(false)));
        when(joins, || {
            self.some.set(bool_lit(true));
            self.last.set(tail);
            when(stays, || self.next.write(self.last.get(), &head)).otherwise(|| self.first.set(head));
        });
        assert_always("gpu_l2_again_some", self.some.get() | !pops, "what is tried again is there");
    }
}
