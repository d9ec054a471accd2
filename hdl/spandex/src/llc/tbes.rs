//! Transaction entries (TBEs) and the stall memory.
//!
//! ```text
//! REQ ---------------> Fill ---- memory ----+
//!   |                   ^                   |
//!   +----------------> Evict -- all back ---+-> (its request commits) -> List -> free
//!   |                                       |     ^   its stall list replays; a request
//!   +----------------> Phase1 - all back ---+     +-- that blocks again takes it along
//! ```
//! A TBE blocks its line and its way; while it evicts, also the line that is to come. Requests that find their line blocked, or no way that may be replaced, join its list: a FIFO linked
//! through the stall memory. Everything here is changed by stage 3, but for the messages still to be sent, which their unit ticks off.

use super::params::LlcParams;
use super::types::*;
use weft_rtl::prelude::*;

/// The entries.
pub(super) struct Tbes {
    p: LlcParams,
    valid: Reg<Bits>,
    /// All it waited for has come, or its list replays.
    ready: Reg<Bits>,
    /// Its stall list has requests.
    listed: Reg<Bits>,
    kind: Vec<Reg<Enum<TbeKind>>>,
    /// The line that it blocks; the one replaced while it evicts.
    line: Vec<Reg<Bits>>,
    /// Line of its request.
    wants: Vec<Reg<Bits>>,
    way: Vec<Reg<Bits>>,
    head: Vec<Reg<Bits>>,
    tail: Vec<Reg<Bits>>,
    /// Devices to which Inv is still to be sent.
    pub todo_inv: Vec<Reg<Bits>>,
    /// Words for which a revocation is still to be sent.
    pub todo_rv: Vec<Reg<Bits>>,
    request: (Memory<Held>, LaneWriter<Held>),
    progress: (Memory<Progress>, LaneWriter<Progress>),
    owners: (Memory<Bits>, LaneWriter<Bits>),
    stalled: Reg<Bits>,
    waiting: (Memory<Held>, LaneWriter<Held>),
    next: (Memory<Bits>, LaneWriter<Bits>),
}

/// An entry's registers.
pub(super) struct Tbe {
    pub kind: Enum<TbeKind>,
    pub line: Bits,
    pub way: Bits,
    pub listed: Bool,
    pub head: Bits,
    pub tail: Bits,
    /// Messages of it are still to be sent.
    pub sends: Bool,
}

/// How stage 3 begins a transaction, or goes on with one.
pub(super) struct Begin {
    pub kind: Enum<TbeKind>,
    pub line: Bits,
    pub way: Bits,
    pub progress: Progress,
    pub owners: Bits,
    /// Acks count as come (a fault put in on purpose).
    pub acked: bool,
}

fn file<T: Data>(name: &str, rows: u32, shape: &T::Shape) -> (Memory<T>, LaneWriter<T>) {
    let memory = regfile::<T>(name, rows, shape.clone()).fields(&[("queue", width_of::<T>(shape))]);
    let writer = memory.lane_writer("put");
    (memory, writer)
}

fn values<T: Data>(registers: &[Reg<T>]) -> Vec<T> {
    registers.iter().map(|r| r.get()).collect()
}

impl Tbes {
    /// Declares the entries, all free.
    pub fn new(p: &LlcParams) -> Tbes {
        let n = p.s.tbes;
        let each = |name: &str, width: u32| -> Vec<Reg<Bits>> {
            (0..n).map(|i| reg::<Bits>(&format!("tbe{i}_{name}"), width).field("queue")).collect()
        };
        Tbes {
            valid: reg::<Bits>("tbe_valid", n).field("queue"),
            ready: reg::<Bits>("tbe_ready", n).field("queue"),
            listed: reg::<Bits>("tbe_listed", n).field("queue"),
            kind: (0..n).map(|i| reg::<Enum<TbeKind>>(&format!("tbe{i}_kind"), ()).field("queue")).collect(),
            line: each("line", p.s.line_bits()),
            wants: each("wants", p.s.line_bits()),
            way: each("way", p.way_bits()),
            head: each("head", p.stall_bits()),
            tail: each("tail", p.stall_bits()),
            todo_inv: each("todo_inv", p.sharing()),
            todo_rv: each("todo_rv", p.s.words()),
            request: file("tbe_request", n, p),
            progress: file("tbe_progress", n, p),
            owners: file("tbe_owners", n, &p.owners_bits()),
            stalled: reg::<Bits>("stalled", p.stalls).field("queue"),
            waiting: file("stall", p.stalls, p),
            next: file("stall_next", p.stalls, &p.stall_bits()),
            p: p.clone(),
        }
    }

    /// Entries in use.
    pub fn valid(&self) -> Bits {
        self.valid.get()
    }
    /// Places of the stall memory in use.
    pub fn stalled(&self) -> Bits {
        self.stalled.get()
    }
    /// Entries of a kind.
    pub fn of_kind(&self, kind: TbeKind) -> Bits {
        let is: Vec<Bool> = self.kind.iter().map(|k| k.get().is(kind)).collect();
        pack_bools(&is) & self.valid.get()
    }
    /// Entries that have something for the pipeline.
    pub fn ready(&self) -> Bits {
        self.ready.get()
    }
    /// Entries with messages still to be sent.
    pub fn sending(&self) -> Bits {
        let todo: Vec<Bool> =
            self.todo_inv.iter().zip(&self.todo_rv).map(|(i, r)| i.get().any() | r.get().any()).collect();
        pack_bools(&todo)
    }
    /// Sets of the entries.
    pub fn sets(&self) -> Vec<Bits> {
        self.line.iter().map(|l| self.p.set_of(l.get())).collect()
    }

    /// An entry.
    pub fn at(&self, index: Bits) -> Tbe {
        Tbe {
            kind: select(&values(&self.kind), index),
            line: select(&values(&self.line), index),
            way: select(&values(&self.way), index),
            listed: self.listed.get().bit_at(index),
            head: select(&values(&self.head), index),
            tail: select(&values(&self.tail), index),
            sends: self.sending().bit_at(index),
        }
    }
    /// Calls `use_it` with the kind that an entry has after this cycle.
    pub fn on_kind(&self, index: Bits, use_it: impl FnOnce(Enum<TbeKind>) + 'static) {
        let kinds = self.kind.clone();
        after_cycle(move |after| {
            let kinds: Vec<_> = kinds.iter().map(|kind| after.of(kind)).collect();
            use_it(select(&kinds, index));
        });
    }

    /// Its request.
    pub fn request(&self, index: Bits) -> Held {
        self.request.0.read(index)
    }
    /// What it waits for.
    pub fn progress(&self, index: Bits) -> Progress {
        self.progress.0.read(index)
    }
    /// Owners of its line's words when it began.
    pub fn owners(&self, index: Bits) -> Bits {
        self.owners.0.read(index)
    }
    /// A stalled request.
    pub fn waiting(&self, place: Bits) -> Held {
        self.waiting.0.read(place)
    }
    /// The one that follows it.
    pub fn following(&self, place: Bits) -> Bits {
        self.next.0.read(place)
    }
    /// A free entry; meaningful unless all are in use.
    pub fn free_index(&self) -> Bits {
        (!self.valid.get()).lowest_set()
    }
    /// A free place of the stall memory; meaningful unless all are in use.
    pub fn free_place(&self) -> Bits {
        (!self.stalled.get()).lowest_set()
    }

    /// Entries that block a line for requests.
    pub fn blocking(&self, line: Bits) -> Bits {
        let hits: Vec<Bool> =
            self.line.iter().zip(&self.wants).map(|(l, w)| l.get().eq(line) | w.get().eq(line)).collect();
        pack_bools(&hits) & self.valid.get()
    }
    /// Entries that revoke words of a line.
    pub fn revoking(&self, line: Bits) -> Bits {
        let hits: Vec<Bool> = self
            .line
            .iter()
            .zip(&self.kind)
            .map(|(l, k)| l.get().eq(line) & k.get().is_any(&[TbeKind::Phase1, TbeKind::Evict]))
            .collect();
        pack_bools(&hits) & self.valid.get()
    }
    /// Entries of a set.
    pub fn of_set(&self, set: Bits) -> Bits {
        let hits: Vec<Bool> = self.sets().iter().map(|s| s.eq(set)).collect();
        pack_bools(&hits) & self.valid.get()
    }
    /// Ways of a set that some of these entries block.
    pub fn ways_of(&self, entries: Bits) -> Bits {
        let none = lit_bv(Bv::zero(self.p.ways));
        self.way.iter().enumerate().fold(none, |sum, (i, way)| {
            sum | (way.get().one_hot(self.p.ways) & entries.bit(i as u32).repeat(self.p.ways))
        })
    }

    /// Stage 3 begins a transaction in an entry, for a request.
    pub fn begin(&self, index: Bits, request: &Held, b: &Begin) {
        for i in 0..self.p.s.tbes {
            let at = i as usize;
            when(index.eq(u64::from(i)), || {
                self.kind[at].set(b.kind);
                self.line[at].set(b.line);
                self.wants[at].set(request.line);
                self.way[at].set(b.way);
                self.todo_inv[at].set(b.progress.ack);
                self.todo_rv[at].set(b.progress.rv);
            });
        }
        self.request.1.write(index, request);
        let ack = if b.acked { lit_bv(Bv::zero(self.p.sharing())) } else { b.progress.ack };
        self.progress.1.write(index, &Progress { ack, ..b.progress });
        self.owners.1.write(index, &b.owners);
    }
    /// What an entry waits for changes.
    pub fn set_progress(&self, index: Bits, progress: &Progress) {
        self.progress.1.write(index, progress);
    }
    /// An entry's own request is done, its list begins to replay: it blocks the line that it asked for.
    pub fn to_list(&self, index: Bits) {
        for (i, kind) in self.kind.iter().enumerate() {
            when(index.eq(i as u64), || {
                kind.set(TbeKind::List);
                self.line[i].set(self.wants[i].get());
            });
        }
    }
    /// A stalled request is written.
    pub fn stall(&self, request: &Held) {
        self.waiting.1.write(self.free_place(), request);
    }
    /// The list of an entry begins with another place.
    pub fn set_head(&self, index: Bits, place: Bits) {
        for (i, head) in self.head.iter().enumerate() {
            when(index.eq(i as u64), || head.set(place));
        }
    }
    /// A place joins the end of an entry's list.
    pub fn append(&self, index: Bits, to: &Tbe, place: Bits) {
        when(to.listed, || self.next.1.write(to.tail, &place)).otherwise(|| self.set_head(index, place));
        for (i, tail) in self.tail.iter().enumerate() {
            when(index.eq(i as u64), || tail.set(place));
        }
    }
    /// Changes the bits of all entries and places.
    pub fn update(&self, bits: &Changes) {
        let change = |register: &Reg<Bits>, (up, down): (Bits, Bits)| {
            when(up.any() | down.any(), || register.set((register.get() & !down) | up));
        };
        change(&self.valid, bits.valid);
        change(&self.ready, bits.ready);
        change(&self.listed, bits.listed);
        change(&self.stalled, bits.stalled);
    }
}

/// Bits that are set and bits that are cleared; what is set wins.
pub(super) struct Changes {
    pub valid: (Bits, Bits),
    pub ready: (Bits, Bits),
    pub listed: (Bits, Bits),
    pub stalled: (Bits, Bits),
}
