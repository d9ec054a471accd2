//! What an operation is to its words: hint and states, by the table.

use super::Slot;
use crate::gpu_l1::op::{Kind, Op, Part};
use crate::word_l1::params::{Inject, WordL1Params};
use crate::word_l1::table::{Access, Operate, Words, operations};
use crate::word_l1::turn::Turn;
use weft_rtl::prelude::*;

/// Requests as a hint names them, in its bits 2..0; bit 3 asks for the line.
const REQ_S: u64 = 2;
const REQ_O: u64 = 3;
const REQ_O_DATA: u64 = 4;
const REQ_WT: u64 = 5;
const REQ_WT_FWD: u64 = 6;
const LINE: u32 = 3;

/// What a hint says to its access; of an L1 without hints nothing.
#[derive(Clone, Copy)]
pub(super) struct Asks {
    /// Load: shared words.
    pub shares: Bool,
    /// Load: ownership and data; store: those, not to be buffered.
    pub owns: Bool,
    /// Store: written through; of bytes, and atomic: done at the LLC.
    pub through: Bool,
    /// Store written through: to the owner.
    pub fwd: Bool,
    /// The whole line.
    pub line: Bool,
}

impl Asks {
    /// Decodes a hint.
    pub fn of(p: &WordL1Params, hint: Bits, op: &Op, part: &Part) -> Asks {
        if !p.flex() {
            let no = bool_lit(false);
            return Asks { shares: no, owns: no, through: no, fwd: no, line: no };
        }
        let request = hint.slice(0, LINE);
        let is = |code: u64| request.eq(code);
        let line = hint.bit(LINE);
        let (load, store, sync) = (op.kind.is(Kind::Load), op.kind.is(Kind::Store), op.kind.is(Kind::Sync));
        let shares = load & is(REQ_S);
        // Ownership of a line without its data is for who writes all of it.
        let whole = store & is(REQ_O) & line & !part.words.all();
        let owns = is(REQ_O_DATA) | whole;
        let through = ((store | sync) & is(REQ_WT)) | (store & is(REQ_WT_FWD));
        let reads = load & is(1);
        Asks { shares, owns, through, fwd: is(REQ_WT_FWD), line: line & (shares | owns | reads) }
    }
}

/// How a load's words are.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub missing: Bits,
    /// They are coming; to an own entry, which.
    comes: Bool,
    pub own: Bool,
    pub own_at: Bits,
    /// There is a fresh read of the line; which, and what it brings.
    pub read: Bool,
    pub read_at: Bits,
    coming: Bits,
    busy: Bool,
}

/// What was decided.
pub(super) struct Choice {
    pub row: Decoded<NoState, Operate>,
    /// Words that the row is done to, and those that it asks for.
    pub words: Bits,
    pub asked: Bits,
    pub load: Load,
    /// The own entry that an atomic joins.
    pub join_at: Bits,
}

impl Slot<'_> {
    /// An operation that needs old values, or that asks for them though it does not.
    pub fn updates(&self) -> Bool {
        self.is(Kind::Sync) | (self.is(Kind::Store) & (self.part.bytes | self.asks.owns))
    }

    /// An entry can take no load in this cycle: it is full, or a response changes it, which a slot must not do too.
    fn is_shut(&self, entry: Bits) -> Bool {
        let (mshrs, tag) = (&self.core.mshrs, self.rsp.msg.tag);
        let now = self.rsp.valid & tag.eq(entry.resize(tag.width()));
        mshrs.is_ready(entry) | !mshrs.takes_more(entry) | now
    }

    fn load(&self) -> Load {
        let mshrs = &self.core.mshrs;
        let valid = self.found.valid & !self.hides().repeat(self.found.valid.width());
        let here = valid | self.found.shared | self.usable() | self.buffered.words;
        let missing = self.part.words & !here;
        let no_wait = self.core.p.inject == Inject::NoWait;
        let open = if no_wait { self.none() } else { self.back.open };
        let blocked = (missing & (self.of_line.owning | open)).any();
        let (own, own_at) = mshrs.joinable(&self.of_line, missing);
        // What is newer here than in an entry would be answered to its other loads too.
        let newer = (self.part.words & !missing & mshrs.asked(own_at)).any();
        let read = self.of_line.fresh.any();
        let read_at = self.of_line.fresh.lowest_set();
        let coming = mux(read, mshrs.coming(read_at), self.none());
        let read_comes = read & (missing & !coming).none();
        // Whoever may get ownership asks alone.
        let alone = self.asks.shares | self.asks.owns;
        let reads = (missing & self.of_line.reading).any() & alone & !read_comes;
        let shut = read & (read_comes | !alone) & self.is_shut(read_at);
        let busy = mux(own, newer | self.is_shut(own_at), blocked | reads | shut);
        Load {
            missing,
            comes: own | read_comes,
            own,
            own_at,
            read,
            read_at,
            coming,
            busy: missing.any() & busy,
        }
    }

    /// Words of the line beside those of the operation that a request for the line asks for.
    fn others(&self) -> Bits {
        let under_way = self.of_line.owning | self.of_line.reading | self.back.open | self.buffered.words;
        let skipped = self.part.words | self.found.owned | under_way;
        let copies = self.found.valid | self.found.shared;
        let skipped = mux(self.asks.owns, skipped, skipped | self.found.shared);
        let skipped = mux(self.asks.owns | self.asks.shares, skipped, skipped | copies);
        !skipped & self.asks.line.repeat(skipped.width())
    }

    fn kind_of_access(&self) -> Enum<Access> {
        let (p, asks) = (&self.core.p, &self.asks);
        let access = |a: Access| enum_lit(a);
        if !p.flex() {
            let store = mux(self.part.bytes, access(Access::Rmw), access(Access::St));
            let atomic = if p.through() { Access::Through } else { Access::Rmw };
            let kind = mux(self.is(Kind::Load), access(Access::Ld), access(atomic));
            let kind = mux(self.is(Kind::Store), store, kind);
            return mux(self.turns.is(Turn::Drain), access(Access::Drain), kind);
        }
        let load = mux(asks.owns, access(Access::LdOwned), access(Access::Ld));
        let load = mux(asks.shares, access(Access::LdShared), load);
        let update = mux(asks.through, access(Access::Through), access(Access::Rmw));
        let store = mux(asks.through, access(Access::StThrough), access(Access::St));
        let store = mux(self.updates(), update, store);
        let kind = mux(self.is(Kind::Load), load, mux(self.is(Kind::Store), store, update));
        let drain = mux(self.leaves.through, access(Access::DrainThrough), access(Access::Drain));
        mux(self.turns.is(Turn::Drain), drain, kind)
    }

    /// A release drains the store buffer: no store may come in.
    pub(super) fn held(&self) -> Bool {
        let hold = self.core.p.l1.hold;
        if hold { self.core.releases.queue.valid & self.turns.is(Turn::Cu) } else { bool_lit(false) }
    }

    /// The oldest entry of the line leaves otherwise than the store would.
    pub(super) fn differs(&self) -> Bool {
        let how = self.core.pending.how(self.buffered.at);
        let other = how.through.bits().ne(self.asks.through.bits())
            | (how.through & how.fwd.bits().ne(self.asks.fwd.bits()));
        self.buffered.open & other & bool_lit(self.core.p.flex())
    }

    /// The row, the words it is done to, and those that it asks for.
    pub(super) fn decode(&self, looks: Bool) -> Choice {
        let (owned, of_line, buffered) = (self.usable(), &self.of_line, &self.buffered);
        let drain = self.turns.is(Turn::Drain);
        let state = |w: Words| enum_lit(w);
        let access = self.kind_of_access();
        let words = mux(drain, self.oldest.mask, self.part.words);
        let absent = words & !owned;
        let asked = of_line.owning | of_line.reading | self.back.open;
        let load = self.load();
        let ld = mux(load.comes, state(Words::Coming), state(Words::Missing));
        let ld = mux(load.missing.none(), state(Words::Here), mux(load.busy, state(Words::Busy), ld));
        // A store: in place only where nothing older of it is buffered.
        let in_place = absent.none() & (words & buffered.words).none();
        let full = (!buffered.open & self.core.buffer.full()) | self.differs();
        let blocked = (words & of_line.operating).any() | (!in_place & full) | self.held();
        let st = mux(in_place, state(Words::Here), state(Words::Missing));
        let st = mux(blocked, state(Words::Busy), st);
        let behind = (words & (buffered.words | asked)).any() | (self.held() & self.is(Kind::Store));
        let rmw = mux((words & owned).any(), state(Words::Here), state(Words::Missing));
        let rmw = mux(behind, state(Words::Busy), rmw);
        let (comes, join_at) = self.core.mshrs.joinable_own(of_line, words);
        let comes = comes & self.is(Kind::Sync) & !self.is_shut(join_at);
        let rmw = if self.core.p.joins() { mux(comes, state(Words::Coming), rmw) } else { rmw };
        // A write-through does not give ownership: reads of its words may be under way.
        let waits_for = mux(self.leaves.through, of_line.owning | self.back.open, asked);
        let dr = mux(absent.none(), state(Words::Here), state(Words::Missing));
        let dr = mux((absent & waits_for).any(), state(Words::Busy), dr);
        let loads = self.is(Kind::Load);
        let found = mux(loads, ld, mux(self.is(Kind::Store) & !self.updates(), st, rmw));
        let found = mux(drain, dr, found);
        let row = operations(self.core.p.kind, self.core.p.joins(), self.core.p.through());
        let row = row.decode_about(self.line, looks, (access, found));
        let here = mux(row.does(Operate::Perform) | drain, words & owned, words);
        let adds = !row.does(Operate::Through) & !row.does(Operate::Join);
        let others = self.others() & adds.repeat(words.width());
        let in_read = row.does(Operate::Read) | row.does(Operate::Join);
        let coming = mux(in_read, load.coming, self.none());
        let load_asks = (load.missing | others) & !coming;
        let update_asks = absent | (others & self.updates().repeat(words.width()));
        let asked = mux(drain, absent, mux(loads, load_asks, update_asks));
        Choice { row, words: here, asked, load, join_at }
    }
}
