//! The MSHRs, one per line under way, and the pool of requests that wait for their lines.
//!
//! ```text
//!  MSHR: busy | replay | again | some | pins | line, kind, primary | need | head, tail --> pool --> pool --> pool
//! ```
//! An entry is taken by the request that opens the transaction, its *primary*; later requests of the line form a FIFO in the pool. When the answer is in
//! and requests are left, the entry is replayed: the head is carried out as a new request and takes the entry over if it needs a transaction.

use super::{L1Event, L1Params, S1Req};
use crate::choice::Inject;
use crate::msg::TsmOp;
use crate::params::LINE;
use weft_rtl::prelude::*;

/// What an MSHR keeps of its line and of its primary.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct MissInfo {
    #[width(p.tsm.line_bits())]
    #[field("queue")]
    pub line: Bits,
    /// R, W or A.
    #[field("queue")]
    pub kind: Enum<TsmOp>,
    /// R: was a LD_SYNC.
    #[field("queue")]
    pub force: Bool,
    #[field("queue")]
    pub want_ack: Bool,
    /// A: the operand has 8 bytes.
    #[field("queue")]
    pub wide: Bool,
    #[width(LINE)]
    #[field("queue")]
    pub mask: Bits,
    #[width(12)]
    #[field("queue")]
    pub id: Bits,
    /// W, A: fence epoch in which the request was taken.
    #[width(1)]
    #[field("queue")]
    pub fence: Bits,
}

/// A request in the pool, without its data.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct Waiting {
    #[field("queue")]
    pub event: Enum<L1Event>,
    #[field("queue")]
    pub want_ack: Bool,
    #[field("queue")]
    pub amo: Enum<weft_blocks::msg::AmoOp>,
    #[field("queue")]
    pub sgn: Bool,
    #[width(LINE)]
    #[field("queue")]
    pub mask: Bits,
    #[width(12)]
    #[field("queue")]
    pub id: Bits,
    #[width(1)]
    #[field("queue")]
    pub fence: Bits,
}

/// Data of a request in the pool.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct WaitingData {
    #[width(p.tsm.data_bits())]
    #[field("data")]
    pub data: Bits,
    #[width(64)]
    #[field("data")]
    pub cmp: Bits,
}

/// `need` of MSHRs and of pool entries: the clock when the request was taken or its transaction opened.
pub(super) struct Needs {
    pub entry: Memory<Bits>,
    pub entry_writer: LaneWriter<Bits>,
    pub pool: Memory<Bits>,
    pub pool_writer: LaneWriter<Bits>,
}

/// MSHRs and pool.
pub(super) struct Misses {
    p: L1Params,
    count: u32,
    pub busy: Reg<Bits>,
    /// The answer is in; what is left is to be replayed.
    pub replay: Reg<Bits>,
    /// The primary itself is replayed: the answer did not cover it.
    pub again: Reg<Bits>,
    /// The FIFO is not empty.
    pub some: Reg<Bits>,
    /// The line is in the arrays, in state V, in way `pin_way`.
    pub pins: Reg<Bits>,
    /// Only with the fault `lit_ack_nodata`: the store hit a live block.
    pub hits: Option<Reg<Bits>>,
    pin_way: Memory<Bits>,
    pin_writer: LaneWriter<Bits>,
    pub info: Memory<MissInfo>,
    info_writer: LaneWriter<MissInfo>,
    pub heads: Memory<Bits>,
    tails: Memory<Bits>,
    head_s1: LaneWriter<Bits>,
    head_serve: LaneWriter<Bits>,
    tail_writer: LaneWriter<Bits>,
    next: Memory<Bits>,
    next_writer: LaneWriter<Bits>,
    pub waiting: Memory<Waiting>,
    waiting_writer: LaneWriter<Waiting>,
    data_port: SramPort<WaitingData>,
    data_writer: LaneWriter<WaitingData>,
    pub needs: Option<Needs>,
    pub pool_busy: Reg<Bits>,
    /// One-hot changes of this cycle.
    pub taken: Wire<Bits>,
    freed_s1: Wire<Bits>,
    freed_fill: Wire<Bits>,
    appended: Wire<Bits>,
    emptied_s1: Wire<Bits>,
    emptied_serve: Wire<Bits>,
    replay_on: Wire<Bits>,
    replay_off: Wire<Bits>,
    again_on: Wire<Bits>,
    again_off: Wire<Bits>,
    pool_taken: Wire<Bits>,
    pool_freed_s1: Wire<Bits>,
    pool_freed_serve: Wire<Bits>,
    pinned: Wire<Bits>,
    unpinned: Wire<Bits>,
}

impl Misses {
    pub fn new(p: &L1Params) -> Misses {
        let n = p.mshrs();
        let bits = |name: &str| reg::<Bits>(&format!("miss_{name}"), n);
        let event = |name: &str, width: u32| wire_zero::<Bits>(&format!("miss_{name}"), width);
        let link = |name: &str, rows: u32| {
            regfile::<Bits>(name, rows, p.pool_bits()).fields(&[("queue", p.pool_bits())])
        };
        let info = regfile::<MissInfo>("miss_info", n, p.clone());
        let pin_way = regfile::<Bits>("miss_way", n, p.way_bits()).fields(&[("queue", p.way_bits())]);
        let (heads, tails) = (link("miss_head", n), link("miss_tail", n));
        let next = link("pool_next", p.pool);
        let waiting = regfile::<Waiting>("pool_waiting", p.pool, p.clone());
        let data = sram::<WaitingData>("pool_data", p.pool, 1, p.clone());
        Misses {
            p: p.clone(),
            count: n,
            busy: bits("busy"),
            replay: bits("replay").field("state"),
            again: bits("again").field("state"),
            some: bits("some"),
            pins: bits("pins"),
            hits: (p.inject == Inject::LitAckNodata).then(|| bits("hits")),
            pin_writer: pin_way.lane_writer("set"),
            pin_way,
            info_writer: info.lane_writer("open"),
            info,
            head_s1: heads.lane_writer("s1"),
            head_serve: heads.lane_writer("serve"),
            tail_writer: tails.lane_writer("append"),
            heads,
            tails,
            next_writer: next.lane_writer("append"),
            next,
            waiting_writer: waiting.lane_writer("append"),
            waiting,
            data_port: data.read_port("replay"),
            data_writer: data.lane_writer("append"),
            needs: p.coherent().then(|| Needs::new(p)),
            pool_busy: reg::<Bits>("pool_busy", p.pool),
            taken: event("taken", n),
            freed_s1: event("freed_s1", n),
            freed_fill: event("freed_fill", n),
            appended: event("appended", n),
            emptied_s1: event("emptied_s1", n),
            emptied_serve: event("emptied_serve", n),
            replay_on: event("replay_on", n),
            replay_off: event("replay_off", n),
            again_on: event("again_on", n),
            again_off: event("again_off", n),
            pool_taken: wire_zero::<Bits>("pool_taken", p.pool),
            pool_freed_s1: wire_zero::<Bits>("pool_freed_s1", p.pool),
            pool_freed_serve: wire_zero::<Bits>("pool_freed_serve", p.pool),
            pinned: event("pinned", n),
            unpinned: event("unpinned", n),
        }
    }

    fn one_hot(&self, entry: Bits) -> Bits {
        entry.one_hot(self.count)
    }

    /// Number of an entry from a message's transaction number.
    pub fn row(&self, txn: Bits) -> Bits {
        txn.resize(self.info.addr_bits())
    }

    /// One bit per MSHR of the line; at most one.
    pub fn of_line(&self, line: Bits) -> Bits {
        let same: Vec<Bool> =
            (0..self.count).map(|i| self.busy.get().bit(i) & self.info.entry(i).line.eq(line)).collect();
        pack_bools(&same)
    }

    /// One bit per way of the set: it holds, in state V, a line that has an MSHR.
    pub fn pinned_ways(&self, set: Bits) -> Bits {
        let pins = self.pins.get();
        let ways = (0..self.count).map(|i| {
            let own_set = self.info.entry(i).line.slice(0, self.p.set_bits());
            let here = pins.bit(i) & own_set.eq(set);
            let way = self.pin_way.entry(i).one_hot(self.p.ways);
            here.repeat(self.p.ways) & way
        });
        ways.reduce(|a, b| a | b).expect("at least one MSHR")
    }

    /// Entry `entry` knows that its line is in `way` in state V.
    pub fn pin(&self, entry: Bits, way: Bits) {
        self.pinned.set(self.one_hot(entry));
        self.pin_writer.write(entry, &way);
    }

    /// The way that [`Misses::pin`] told of.
    pub fn pin_way(&self, entry: Bits) -> Bits {
        self.pin_way.read(entry)
    }

    /// The line of `entry` is in no way, or locked.
    pub fn unpin(&self, entry: Bits) {
        self.unpinned.set(self.one_hot(entry));
    }

    /// Every V block is dropped.
    pub fn unpin_all(&self) {
        self.unpinned.set(lit_bv(Bv::ones(self.count)));
    }

    /// Opens a transaction in `entry`, a free one or the one replayed.
    pub fn open(&self, entry: Bits, info: &MissInfo, need: Option<Bits>) {
        self.taken.set(self.one_hot(entry));
        self.replay_off.set(self.one_hot(entry));
        self.info_writer.write(entry, info);
        if let (Some(needs), Some(need)) = (&self.needs, need) {
            needs.entry_writer.write(entry, &need);
        }
    }

    /// Tells of an opened store whether it hit (fault `lit_ack_nodata`).
    pub fn note_hit(&self, entry: Bits, hit: Bool) {
        if let Some(hits) = &self.hits {
            let here = self.one_hot(entry);
            hits.set(mux(hit, hits.get() | here, hits.get() & !here));
        }
    }

    /// Appends a request to the FIFO of `entry`.
    pub fn append(&self, entry: Bits, req: &S1Req, fence: Bits, need: Option<Bits>) {
        let slot = (!self.pool_busy.get()).lowest_set();
        let first = !self.some.get().bit_at(entry);
        self.appended.set(self.one_hot(entry));
        self.pool_taken.set(slot.one_hot(self.p.pool));
        let (event, want_ack, amo, sgn) = (req.event, req.want_ack, req.amo, req.sgn);
        let (mask, id) = (req.mask, req.id);
        self.waiting_writer.write(slot, &Waiting { event, want_ack, amo, sgn, mask, id, fence });
        self.data_writer.write(slot, &WaitingData { data: req.data, cmp: req.cmp });
        if let (Some(needs), Some(need)) = (&self.needs, need) {
            needs.pool_writer.write(slot, &need);
        }
        when(first, || self.head_s1.write(entry, &slot))
            .otherwise(|| self.next_writer.write(self.tails.read(entry), &slot));
        self.tail_writer.write(entry, &slot);
    }

    /// The FIFO of `entry` holds one request.
    pub fn last(&self, entry: Bits) -> Bool {
        self.heads.read(entry).eq(self.tails.read(entry))
    }

    /// The head of `entry` has been replayed.
    pub fn pop_replayed(&self, entry: Bits) {
        let head = self.heads.read(entry);
        self.pool_freed_s1.set(head.one_hot(self.p.pool));
        when(self.last(entry), || self.emptied_s1.set(self.one_hot(entry)))
            .otherwise(|| self.head_s1.write(entry, &self.next.read(head)));
    }

    /// The head of `entry` has been answered by the response.
    pub fn pop_served(&self, entry: Bits) {
        let head = self.heads.read(entry);
        self.pool_freed_serve.set(head.one_hot(self.p.pool));
        when(self.last(entry), || self.emptied_serve.set(self.one_hot(entry)))
            .otherwise(|| self.head_serve.write(entry, &self.next.read(head)));
    }

    /// A replayed request was a hit and the last one.
    pub fn free_replayed(&self, entry: Bits) {
        self.freed_s1.set(self.one_hot(entry));
        self.replay_off.set(self.one_hot(entry));
    }

    /// The primary of `entry` is replayed.
    pub fn primary_replayed(&self, entry: Bits) {
        self.again_off.set(self.one_hot(entry));
    }

    /// The response is done with: the entry is free, or what waits is replayed, the primary first if `refused`.
    pub fn settle(&self, entry: Bits, refused: Bool) {
        let here = self.one_hot(entry);
        let left = (self.some.get() & !self.emptied_serve.get()).bit_at(entry) | refused;
        when(refused, || self.again_on.set(here));
        when(left, || self.replay_on.set(here)).otherwise(|| self.freed_fill.set(here));
    }

    /// The entry to replay in the next cycle, if any: (some, entry). `now`: the one replayed in this cycle and whether its head leaves.
    pub fn choose_replay(&self, now: Bits, pops: Bool) -> (Bool, Bits) {
        let after = (self.replay.get() & !self.replay_off.get()).named("replay_after");
        let entry = after.lowest_set().named("replay_next");
        let head = self.heads.read(entry);
        let moved = pops & entry.eq(now);
        self.data_port.present(mux(moved, self.next.read(head), head));
        (after.any(), entry)
    }

    /// Data of the head that [`choose_replay`](Misses::choose_replay) chose in the cycle before.
    pub fn replayed_data(&self) -> WaitingData {
        self.data_port.lane(0)
    }

    /// Changes of the entries' states.
    pub fn finish(&self) {
        let gone = self.freed_s1.get() | self.freed_fill.get();
        self.busy.set((self.busy.get() & !gone) | self.taken.get());
        self.replay.set((self.replay.get() & !self.replay_off.get()) | self.replay_on.get());
        self.again.set((self.again.get() & !self.again_off.get()) | self.again_on.get());
        let stays = self.some.get() & !self.emptied_s1.get() & !self.emptied_serve.get();
        self.some.set(stays | self.appended.get());
        self.pins.set(((self.pins.get() & !self.unpinned.get()) | self.pinned.get()) & !gone);
        let stays = self.pool_busy.get() & !self.pool_freed_s1.get() & !self.pool_freed_serve.get();
        self.pool_busy.set(stays | self.pool_taken.get());
        let idle = !self.busy.get();
        let text = "only an MSHR in use waits, is replayed or holds a way";
        let stray = (self.some.get() | self.replay.get() | self.again.get() | self.pins.get()) & idle;
        assert_always("mgcc_l1_idle_is_empty", stray.none(), text);
    }
}

impl Needs {
    fn new(p: &L1Params) -> Needs {
        let fields = [("timestamp", p.need_bits())];
        let entry = regfile::<Bits>("miss_need", p.mshrs(), p.need_bits()).fields(&fields);
        let pool = regfile::<Bits>("pool_need", p.pool, p.need_bits()).fields(&fields);
        Needs {
            entry_writer: entry.lane_writer("open"),
            entry,
            pool_writer: pool.lane_writer("append"),
            pool,
        }
    }
}
