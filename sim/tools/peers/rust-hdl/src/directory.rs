//! An 8-way directory of 1024 sets in rust-hdl: tags compared in all ways, sharers updated, FIFO replacement.

use rust_hdl::prelude::*;

/// Ways of a set.
pub const WAYS: usize = 8;
/// Bits of a set's number: 1024 sets.
pub const SET: usize = 10;
/// Bits of a tag.
pub const TAG: usize = 20;
/// Bits of a sharer vector.
pub const SHARERS: usize = 4;
/// Bits of a way's number, and of a set's FIFO pointer.
pub const WAY: usize = 3;
/// Bits of an entry: valid, sharers, tag (from the most significant bit down).
pub const ENTRY: usize = 1 + SHARERS + TAG;

/// One request at a time, two cycles each: in the first the rows are read, in the second the request is decided and the
/// way is written. `victim_sharers` with `evict` are the sharers to invalidate.
#[derive(LogicBlock)]
pub struct Directory {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// High: the request is taken if `ready`.
    pub valid: Signal<In, Bit>,
    /// Set and tag of the requested range.
    pub set: Signal<In, Bits<SET>>,
    /// Tag of the requested range.
    pub tag: Signal<In, Bits<TAG>>,
    /// One-hot requester.
    pub requester: Signal<In, Bits<SHARERS>>,
    /// High: a store, which leaves the requester as the only sharer.
    pub store: Signal<In, Bit>,
    /// High: a request is taken in this cycle.
    pub ready: Signal<Out, Bit>,
    /// High in the cycle that decides a request.
    pub done: Signal<Out, Bit>,
    /// High with `done`: the range had an entry.
    pub hit: Signal<Out, Bit>,
    /// High with `done`: a valid entry was replaced.
    pub evict: Signal<Out, Bit>,
    /// With `done`: the sharers that lose their copy.
    pub invalidate: Signal<Out, Bits<SHARERS>>,
    ways: [RAM<Bits<ENTRY>, SET>; WAYS],
    fifo: RAM<Bits<WAY>, SET>,
    busy: DFF<Bit>,
    set_q: DFF<Bits<SET>>,
    tag_q: DFF<Bits<TAG>>,
    requester_q: DFF<Bits<SHARERS>>,
    store_q: DFF<Bit>,
    entry: [Signal<Local, Bits<ENTRY>>; WAYS],
    found: Signal<Local, Bit>,
    way: Signal<Local, Bits<WAY>>,
    old: Signal<Local, Bits<ENTRY>>,
    old_sharers: Signal<Local, Bits<SHARERS>>,
    next_sharers: Signal<Local, Bits<SHARERS>>,
    new_entry: Signal<Local, Bits<ENTRY>>,
    sharers_at: Constant<Bits<ENTRY>>,
    valid_at: Constant<Bits<ENTRY>>,
    way_numbers: [Constant<Bits<WAY>>; WAYS],
}

impl Default for Directory {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            valid: Default::default(),
            set: Default::default(),
            tag: Default::default(),
            requester: Default::default(),
            store: Default::default(),
            ready: Default::default(),
            done: Default::default(),
            hit: Default::default(),
            evict: Default::default(),
            invalidate: Default::default(),
            ways: Default::default(),
            fifo: Default::default(),
            busy: Default::default(),
            set_q: Default::default(),
            tag_q: Default::default(),
            requester_q: Default::default(),
            store_q: Default::default(),
            entry: Default::default(),
            found: Default::default(),
            way: Default::default(),
            old: Default::default(),
            old_sharers: Default::default(),
            next_sharers: Default::default(),
            new_entry: Default::default(),
            sharers_at: Constant::new(bits(TAG as u64)),
            valid_at: Constant::new(bits((TAG + SHARERS) as u64)),
            way_numbers: std::array::from_fn(|way| Constant::new(bits(way as u64))),
        }
    }
}

impl Logic for Directory {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, busy, set_q, tag_q, requester_q, store_q);
        self.fifo.read_clock.next = self.clock.val();
        self.fifo.write_clock.next = self.clock.val();
        self.fifo.read_address.next = self.set.val();
        self.fifo.write_address.next = self.set_q.q.val();
        self.fifo.write_data.next = self.fifo.read_data.val() + 1;
        self.fifo.write_enable.next = false;

        self.ready.next = !self.busy.q.val();
        self.busy.d.next = false;
        if self.valid.val() & !self.busy.q.val() {
            self.busy.d.next = true;
            self.set_q.d.next = self.set.val();
            self.tag_q.d.next = self.tag.val();
            self.requester_q.d.next = self.requester.val();
            self.store_q.d.next = self.store.val();
        }

        self.found.next = false;
        self.way.next = self.fifo.read_data.val();
        self.old.next = bits::<ENTRY>(0);
        for i in 0..8 {
            self.ways[i].read_clock.next = self.clock.val();
            self.ways[i].write_clock.next = self.clock.val();
            self.ways[i].read_address.next = self.set.val();
            self.ways[i].write_address.next = self.set_q.q.val();
            self.entry[i].next = self.ways[i].read_data.val();
            if self.fifo.read_data.val().index() == i {
                self.old.next = self.entry[i].val();
            }
        }
        for i in 0..8 {
            if self.entry[i].val().get_bit(24)
                & (self.entry[i].val().get_bits::<TAG>(0) == self.tag_q.q.val())
            {
                self.found.next = true;
                self.way.next = self.way_numbers[i].val();
                self.old.next = self.entry[i].val();
            }
        }

        self.old_sharers.next = self.old.val().get_bits::<SHARERS>(20);
        self.next_sharers.next = self.requester_q.q.val();
        self.invalidate.next = self.old_sharers.val();
        if self.found.val() {
            self.invalidate.next = bits::<SHARERS>(0);
            self.next_sharers.next = self.old_sharers.val() | self.requester_q.q.val();
            if self.store_q.q.val() {
                self.invalidate.next = self.old_sharers.val() & !self.requester_q.q.val();
                self.next_sharers.next = self.requester_q.q.val();
            }
        }
        self.new_entry.next = (bits::<ENTRY>(1) << self.valid_at.val())
            | (bit_cast::<ENTRY, SHARERS>(self.next_sharers.val()) << self.sharers_at.val())
            | bit_cast::<ENTRY, TAG>(self.tag_q.q.val());
        for i in 0..8 {
            self.ways[i].write_data.next = self.new_entry.val();
            self.ways[i].write_enable.next = self.busy.q.val() & (self.way.val().index() == i);
        }
        self.fifo.write_enable.next = self.busy.q.val() & !self.found.val();

        self.done.next = self.busy.q.val();
        self.hit.next = self.busy.q.val() & self.found.val();
        self.evict.next = self.busy.q.val() & !self.found.val() & self.old.val().get_bit(24);
    }
}
