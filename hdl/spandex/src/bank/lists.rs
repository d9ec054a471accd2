//! Stall lists that replay from their TBE: each is a FIFO linked through the stall memory.

use super::entries::{Entries, File, change, each, marks, of, set_of};
use super::{Bank, some};
use weft_rtl::prelude::*;

/// First and last place of each entry's list.
pub(crate) struct Ends {
    head: Vec<Reg<Bits>>,
    tail: Vec<Reg<Bits>>,
}

impl Ends {
    /// Declares the registers.
    pub fn new(bank: &Bank) -> Ends {
        let (n, bits) = (bank.s.tbes, bank.stall_bits());
        Ends { head: each(n, "head", &bits), tail: each(n, "tail", &bits) }
    }
}

/// The lists, and the stall memory.
pub(crate) struct Lists<H: Data> {
    /// Entries whose list has requests.
    listed: Reg<Bits>,
    ends: Ends,
    stalled: Reg<Bits>,
    waiting: File<H>,
    next: File<Bits>,
}

/// The list of an entry.
pub(crate) struct List {
    /// It has requests.
    pub listed: Bool,
    pub head: Bits,
    pub tail: Bits,
}

impl<H: Data> Lists<H> {
    /// Declares the stall memory, empty; `listed` and `ends` stand with the entries.
    pub fn new(bank: &Bank, held: &H::Shape, listed: Reg<Bits>, ends: Ends) -> Lists<H> {
        Lists {
            listed,
            ends,
            stalled: marks("stalled", bank.stalls),
            waiting: File::new("stall", bank.stalls, held),
            next: File::new("stall_next", bank.stalls, &bank.stall_bits()),
        }
    }

    /// Places of the stall memory in use.
    pub fn stalled(&self) -> Bits {
        self.stalled.get()
    }
    /// The list of an entry.
    pub fn at(&self, index: Bits) -> List {
        List {
            listed: self.listed.get().bit_at(index),
            head: of(&self.ends.head, index),
            tail: of(&self.ends.tail, index),
        }
    }
    /// What a TBE has ready: the first of its list, which `replays`, or its own request.
    pub fn next<K: HwEnum, P: Data>(
        &self,
        entries: &Entries<K, H, P>,
        (replays, head): (Bool, Bits),
        index: Bits,
    ) -> H {
        mux(replays, self.waiting(head), entries.request(index))
    }
    /// A stalled request.
    fn waiting(&self, place: Bits) -> H {
        self.waiting.read(place)
    }
    /// The one that follows it.
    fn following(&self, place: Bits) -> Bits {
        self.next.read(place)
    }
    /// A free place of the stall memory; meaningful unless all are in use.
    fn free_place(&self) -> Bits {
        (!self.stalled.get()).lowest_set()
    }
    /// The list of an entry begins with another place.
    fn set_head(&self, index: Bits, place: Bits) {
        set_of(&self.ends.head, index, place);
    }
    /// Stage 3: a request joins a list, or the first of one goes on. Returns the place in question.
    pub fn join(&self, step: &Step, request: &H, head: Bits) -> Bits {
        let place = mux(step.fresh, self.free_place().resize(head.width()), head);
        when(step.joins & step.fresh, || self.waiting.write(self.free_place(), request));
        when(step.joins, || {
            let to = self.at(step.by);
            when(to.listed, || self.next.write(to.tail, &place)).otherwise(|| self.set_head(step.by, place));
            set_of(&self.ends.tail, step.by, place);
        });
        place
    }
    /// The first of an entry's list goes on, which is not its last.
    pub fn follow(&self, goes: Bool, index: Bits, head: Bits) {
        when(goes, || self.set_head(index, self.following(head)));
    }
    /// Changes the bits of all entries and places; `last`: it is the last of its list.
    pub fn update(&self, step: &Step, place: Bits, index: Bits, last: Bool) {
        let bit = |index: Bits, now: Bool| some(index.one_hot(self.listed.get().width()), now);
        let of_place = |now: Bool| some(place.one_hot(self.stalled.get().width()), now);
        let listed = (bit(step.by, step.joins), bit(index, step.replay & last));
        let stalled = (of_place(step.joins & step.fresh), of_place(step.replay & !step.joins));
        change(&self.listed, listed);
        change(&self.stalled, stalled);
    }
}

/// What stage 3 does to lists.
pub(crate) struct Step {
    /// A request joins the list of the entry `by`.
    pub joins: Bool,
    pub by: Bits,
    /// It comes from REQ, from the list of its own entry.
    pub fresh: Bool,
    pub replay: Bool,
}
