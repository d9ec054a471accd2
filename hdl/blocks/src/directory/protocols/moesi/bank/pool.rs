//! Requests of the node that wait: for their line, for a place, for those before them.

use crate::cache::l2::L2Params;
use crate::cache::l2::mshr::Flags;
use crate::cache::l2::types::Payload;
use crate::msg::{L1Req, ReqKind};
use weft_rtl::prelude::*;

/// A request.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Request {
    #[width(p.sys.line_bits())]
    pub line: Bits,
    pub kind: Enum<ReqKind>,
    #[width(p.sys.l1_bits())]
    pub l1: Bits,
    #[width(p.sys.l1_id_bits())]
    pub id: Bits,
    /// Epoch of its acceptance.
    #[width(1)]
    pub epoch: Bits,
    #[flat]
    #[shape(p.clone())]
    pub payload: Payload,
}

impl Request {
    /// Of an L1's message.
    pub fn of(m: &L1Req, epoch: Bits) -> Request {
        let atom = m.kind.is(ReqKind::Atom);
        let payload = Payload { atom, mask: m.mask, data: m.data, amo: m.amo, sgn: m.sgn, cmp: m.cmp };
        Request { kind: m.kind, line: m.line, l1: m.l1, id: m.id, epoch, payload }
    }

    /// It writes.
    pub fn writes(&self) -> Bool {
        !self.kind.is(ReqKind::Rd)
    }
}

/// A ring: requests enter at its tail and leave in any order; those of a line in theirs.
pub(super) struct Pool {
    p: L2Params,
    pub used: Flags,
    /// Tried, and nothing has changed since.
    blocked: Reg<Bits>,
    block: Wire<Bits>,
    wakes: Wire<Bool>,
    rows: Memory<Request>,
    writer: LaneWriter<Request>,
    tail: Reg<Bits>,
}

impl Pool {
    pub fn new(p: &L2Params) -> Pool {
        let rows = regfile::<Request>("pool", p.pool, p.clone()).fields(&[("pool", width_of::<Request>(p))]);
        Pool {
            used: Flags::new("pool_used", p.pool),
            blocked: reg::<Bits>("pool_blocked", p.pool),
            block: wire_zero::<Bits>("pool_block", p.pool),
            wakes: wire_or::<Bool>("pool_wakes", (), false),
            writer: rows.lane_writer("in"),
            rows,
            tail: reg::<Bits>("pool_tail", p.pool_bits()),
            p: p.clone(),
        }
    }

    /// The next place is free, and the one behind it.
    pub fn room(&self) -> Bool {
        let used = self.used.now.get();
        !used.bit_at(self.tail.get()) & !used.bit_at(self.next(self.tail.get()))
    }

    fn next(&self, at: Bits) -> Bits {
        crate::common::fifo::wrapping_next(at, self.p.pool)
    }

    pub fn put(&self, request: &Request) {
        self.writer.write(self.tail.get(), request);
        self.used.raise(self.tail.get());
        self.tail.set(self.next(self.tail.get()));
    }

    pub fn get(&self, index: Bits) -> Request {
        self.rows.read(index)
    }

    /// Those of a line.
    pub fn of_line(&self, line: Bits) -> Bits {
        let here = |i: u32| self.used.now.get().bit(i) & self.rows.entry(i).line.eq(line);
        pack_bools(&(0..self.p.pool).map(here).collect::<Vec<_>>())
    }

    /// Those that may be tried.
    pub fn ready(&self) -> Bits {
        self.used.now.get() & !self.blocked.get()
    }

    /// The oldest of some: the first from the tail on, around the ring.
    pub fn oldest(&self, of: Bits) -> Bits {
        let after: Vec<Bool> =
            (0..self.p.pool).map(|i| of.bit(i) & self.tail.get().le(u64::from(i))).collect();
        let after = pack_bools(&after);
        mux(after.any(), after.lowest_set(), of.lowest_set())
    }

    /// One has left.
    pub fn leave(&self, index: Bits) {
        self.used.lower(index);
    }

    /// One was tried in vain.
    pub fn stays(&self, index: Bits) {
        self.block.set(index.one_hot(self.p.pool));
    }

    /// What some wait for may be there: they are tried again.
    pub fn wake(&self) {
        self.wakes.set(true);
    }

    /// Moves the flags; called once, at the end.
    pub fn connect(&self) {
        let blocked = self.blocked.get() | self.block.get();
        self.blocked.set(mux(self.wakes.get(), lit_bv(Bv::zero(self.p.pool)), blocked));
        self.used.connect();
    }
}
