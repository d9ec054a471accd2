//! Ingress: a place for one message of each L1 and network, who waits for what, and whose turn it is.
//!
//! A message that cannot be served stays at the head of its queue with a note of what it waits for and is passed over; one round robin goes over all other heads. Most notes
//! are compared with the present state in every cycle:
//!
//! | waits for | passed over until |
//! | --- | --- |
//! | `lock` | the lock entry that it met is given up |
//! | `full` | a lock entry is free |
//! | `token` | the token is free |
//! | `sys` | no SYS operation is under way |
//! | `supply` | an MSHR and an entry for a write or an atomic at memory are free |
//! | `room` | the sFIFO has an entry; if it is full its head is popped meanwhile |
//! | `line` | some line has come from memory |
//! | `target` | its line has come from memory |
//!
//! Round robin alone starves: between two tries of a waiter others may lock its line again and again. So one waiter at a time is the *senior*, chosen in turn among those who wait
//! for a lock, an entry or the token. What it waits for goes to it next: the lock is handed to it when it is given up, a free entry or token is left to it. A waiter is
//! thus served after at most one tenure for each other L1.
//!
//! The probe of a lock's owner marks a fill that waits here for that lock, so that the L1 asks again when it comes. Were the next waiter granted at once, its probe would mark the
//! second fill too, and so on: an owner that wants to give its own lock back would never get the line while others spin on it. Therefore a line stays free for a
//! reader that had waited, until it has come back or a time has passed in which it could.

use super::params::L2Params;
use super::types::{Kind, Op, Target};
use crate::heads::{Flags, Slot};
use crate::lock_tbl::LockTbl;
use crate::msg::{Req, ReqOp, Wb, WbOp};
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_rtl::prelude::*;

/// The waiter that is served next.
pub(super) struct Senior {
    pub there: Reg<Bool>,
    pub who: Reg<Bits>,
    /// A lock was handed to it that it has not used yet, and which.
    pub holds: Reg<Bool>,
    pub entry: Reg<Bits>,
    /// Cycles for which the line of a read that had waited for a lock stays free for the reader.
    pub grace: Reg<Bits>,
    order: RoundRobin,
}

/// What a head waits for, one-hot.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    pub lock: Bool,
    pub full: Bool,
    pub token: Bool,
    pub sys: Bool,
    pub supply: Bool,
    pub room: Bool,
    pub line: Bool,
    pub target: Bool,
}

/// The present state of what heads wait for.
#[derive(Clone, Copy)]
pub(super) struct Supplies {
    /// A lock entry is free.
    pub entry: Bool,
    pub token: Bool,
    pub sys: Bool,
    pub supply: Bool,
    pub room: Bool,
}

/// The queues and their notes. Flags of `lock`, `full`, `token` and `sys` have a bit per L1, the others one per head: REQ, then WB.
pub(super) struct Ingress {
    p: L2Params,
    reqs: Vec<Slot<Req>>,
    wbs: Vec<Slot<Wb>>,
    lock: Flags,
    full: Flags,
    token: Flags,
    sys: Flags,
    supply: Flags,
    room: Flags,
    line: Flags,
    target: Flags,
    /// Lock entry that a waiter met.
    met: Memory<Bits>,
    met_in: LaneWriter<Bits>,
    pub senior: Senior,
    order: RoundRobin,
}

impl Ingress {
    /// Declares channels and registers.
    pub fn new(p: &L2Params, open: Bool) -> Ingress {
        let (cus, heads, s) = (p.srsp.cus, p.heads(), &p.srsp);
        let met = regfile::<Bits>("met", cus, p.lock_bits()).fields(&[("state", p.lock_bits())]);
        let met_in = met.lane_writer("put");
        Ingress {
            reqs: (0..cus).map(|c| Slot::new(&format!("req{c}"), s, open)).collect(),
            wbs: (0..cus).map(|c| Slot::new(&format!("wb{c}"), s, open)).collect(),
            lock: Flags::new("waits_lock", cus),
            full: Flags::new("waits_full", cus),
            token: Flags::new("waits_token", cus),
            sys: Flags::new("waits_sys", cus),
            supply: Flags::new("waits_supply", heads),
            room: Flags::new("waits_room", heads),
            line: Flags::new("waits_line", heads),
            target: Flags::new("waits_target", heads),
            met,
            met_in,
            senior: Senior {
                there: reg::<Bool>("senior_there", ()),
                who: reg::<Bits>("senior", s.cu_bits()),
                holds: reg::<Bool>("senior_holds", ()),
                entry: reg::<Bits>("senior_entry", p.lock_bits()),
                grace: reg::<Bits>("senior_grace", bits_for(u64::from(p.grace()) + 1)),
                order: RoundRobin::new("senior_order", cus),
            },
            order: RoundRobin::new("head_order", heads),
            p: p.clone(),
        }
    }

    /// Bit of a head.
    pub fn bit(&self, wb: Bool, src: Bits) -> Bits {
        let (cus, one) = (self.p.srsp.cus, src.one_hot(self.p.srsp.cus));
        let none = lit_bv(Bv::zero(cus));
        cat(&[mux(wb, one, none), mux(wb, none, one)])
    }

    /// The head that is served next, among those that do not wait; `busy`: the head in stage 1.
    pub fn pick(&self, has: Supplies, busy: Bits) -> Pick {
        let valid: Vec<Bool> = self.reqs.iter().map(|r| r.valid.get()).collect();
        let wbs: Vec<Bool> = self.wbs.iter().map(|w| w.valid.get()).collect();
        let unless = |flags: &Flags, good: Bool| flags.get() & (!good).repeat(flags.get().width());
        let requests = self.lock.get()
            | unless(&self.full, has.entry)
            | unless(&self.token, has.token)
            | unless(&self.sys, has.sys);
        let all = unless(&self.supply, has.supply) | unless(&self.room, has.room);
        let waits = all | self.line.get() | self.target.get() | requests.zext(self.p.heads());
        let there = cat(&[pack_bools(&wbs), pack_bools(&valid)]);
        self.order.pick((there & !waits & !busy).named("heads_ready"))
    }

    /// The head picked enters.
    pub fn picked(&self, pick: Pick) {
        self.order.granted(pick.index);
    }

    /// Whether the head picked is one of WB, and its L1.
    pub fn place(&self, pick: Pick) -> (Bool, Bits) {
        let (cus, index) = (u64::from(self.p.srsp.cus), pick.index);
        let wb = index.ge(cus);
        (wb, mux(wb, index - cus, index).resize(self.p.srsp.cu_bits()))
    }

    /// The message at the head of a queue.
    pub fn message(&self, wb: Bool, src: Bits, op: &Wire<Op>) {
        when(wb, || {
            switch_bits(src, |arms| {
                for (c, slot) in self.wbs.iter().enumerate() {
                    arms.case(c as u64, || op.set(self.of_wb(&slot.msg.get())));
                }
            });
        })
        .otherwise(|| {
            switch_bits(src, |arms| {
                for (c, slot) in self.reqs.iter().enumerate() {
                    arms.case(c as u64, || op.set(self.of_req(&slot.msg.get())));
                }
            });
        });
    }

    fn of_req(&self, m: &Req) -> Op {
        let is = |op| m.op.is(op);
        let pairs = [
            (is(ReqOp::Atm) & m.sys, Kind::AtmSys),
            (is(ReqOp::Atm) & !m.sys, Kind::Atm),
            (is(ReqOp::RemLock), Kind::RemLock),
            (is(ReqOp::Token), Kind::Token),
            (is(ReqOp::SysFlush), Kind::SysFlush),
            (is(ReqOp::SysInv), Kind::SysInv),
        ];
        let kind =
            pairs.iter().fold(enum_lit(Kind::Rd), |rest, (now, kind)| mux(*now, enum_lit(*kind), rest));
        let low = bool_lit(false);
        Op { kind, wb: low, src: m.src, mshr: m.mshr, atomic: m.atomic, ..self.blank() }
    }

    fn of_wb(&self, m: &Wb) -> Op {
        let is = |op| m.op.is(op);
        let pairs = [
            (is(WbOp::RemOp), Kind::RemOp),
            (is(WbOp::RemUnlock), Kind::RemUnlock),
            (is(WbOp::TokenRel), Kind::TokenRel),
        ];
        let kind =
            pairs.iter().fold(enum_lit(Kind::Wb), |rest, (now, kind)| mux(*now, enum_lit(*kind), rest));
        Op {
            kind,
            wb: bool_lit(true),
            src: m.src,
            atomic: m.atomic,
            keep: m.keep,
            wbt: m.wbt,
            epoch: m.epoch,
            mask: m.mask,
            data: m.data,
            ..self.blank()
        }
    }

    /// An operation of a head with nothing in it.
    pub fn blank(&self) -> Op {
        let zero = |bits: u32| lit_bv(Bv::zero(bits));
        let (p, s) = (&self.p, &self.p.srsp);
        let leaves: Vec<Bits> = leaves_of::<Op>(p, "op").iter().map(|l| zero(l.width)).collect();
        let blank = Op::from_leaves(p, &mut leaves.into_iter());
        Op { kind: enum_lit(Kind::Rd), from_head: bool_lit(true), src: zero(s.cu_bits()), ..blank }
    }

    /// The operation of a target: an atomic at the head of its queue, or a read.
    pub fn target_op(&self, target: &Target, address: Bits, op: &Wire<Op>) {
        when(target.read, || {
            let blank = self.blank();
            let atomic = crate::msg::Atomic { addr: address, ..blank.atomic };
            op.set(Op { from_head: bool_lit(false), src: target.src, mshr: target.mshr, atomic, ..blank });
        })
        .otherwise(|| self.message(target.wb, target.src, op));
    }

    /// Stage 1 leaves a head: it is taken, or notes what it waits for.
    pub fn leave(&self, head: Bits, takes: Bool, waits: &Waits, met: Bits, src: Bits) {
        let cus = self.p.srsp.cus;
        for (i, slot) in self.reqs.iter().enumerate() {
            when(takes & head.bit(i as u32), || slot.take.set(true));
        }
        for (i, slot) in self.wbs.iter().enumerate() {
            when(takes & head.bit(cus + i as u32), || slot.take.set(true));
        }
        let low = head.slice(0, cus);
        for (flags, now) in [
            (&self.lock, waits.lock),
            (&self.full, waits.full),
            (&self.token, waits.token),
            (&self.sys, waits.sys),
        ] {
            when(now, || flags.raise(low)).otherwise(|| flags.lower(low));
        }
        for (flags, now) in [(&self.supply, waits.supply), (&self.room, waits.room)] {
            when(now, || flags.raise(head)).otherwise(|| flags.lower(head));
        }
        for (flags, now) in [(&self.line, waits.line), (&self.target, waits.target)] {
            when(now, || flags.raise(head)).otherwise(|| flags.lower(head));
        }
        when(waits.lock, || self.met_in.write(src, &met));
    }

    /// A line has come from memory: who waits for some line may try again.
    pub fn line_came(&self) {
        self.line.lower(lit_bv(Bv::ones(self.p.heads())));
    }

    /// A head waits for room in the sFIFO.
    pub fn wants_room(&self) -> Bool {
        self.room.get().any()
    }

    /// The waiter that the present senior is waits for an entry of the lock table; for the token.
    pub fn claims(&self, src: Bits) -> (Bool, Bool) {
        let senior = &self.senior;
        let other = senior.there.get() & senior.who.get().ne(src);
        (other & self.full.get().bit_at(senior.who.get()), other & self.token.get().bit_at(senior.who.get()))
    }

    /// A lock is given up: it goes to the senior if that waits for it, else its entry is free and all who met it may try again.
    pub fn unlock(&self, locks: &LockTbl, entry: Bits) {
        let senior = &self.senior;
        let who = senior.who.get();
        let wanted = senior.there.get()
            & !senior.holds.get()
            & self.lock.get().bit_at(who)
            & self.met.read(who).eq(entry);
        when(wanted, || {
            locks.pass(entry, who);
            senior.holds.set(true);
            senior.entry.set(entry);
            self.lock.lower(who.one_hot(self.p.srsp.cus));
        })
        .otherwise(|| self.give_up(locks, entry));
    }

    /// A lock's entry is free.
    pub fn give_up(&self, locks: &LockTbl, entry: Bits) {
        locks.unlock(entry);
        let met: Vec<Bool> = (0..self.p.srsp.cus).map(|c| self.met.entry(c).eq(entry)).collect();
        self.lock.lower(pack_bools(&met));
    }

    /// The senior is served.
    pub fn retire(&self) {
        self.senior.there.set(false);
        self.senior.holds.set(false);
        self.senior.grace.set(0);
    }

    /// A read that had waited for a lock was served: its line stays free for the reader for a while.
    pub fn linger(&self) {
        self.senior.grace.set(u64::from(self.p.grace()));
    }

    /// The reader has not come back in time.
    pub fn expired(&self) -> Bool {
        self.senior.grace.get().eq(1)
    }

    /// Chooses a senior if there is none, and changes the flags; called once, before [`Ingress::retire`] and [`Ingress::unlock`] can be.
    pub fn choose(&self) {
        let senior = &self.senior;
        let grace = senior.grace.get();
        when(grace.gt(1), || senior.grace.set(grace - 1));
        let waiting = self.lock.get() | self.full.get() | self.token.get();
        let pick = senior.order.pick(waiting);
        when(!senior.there.get() & pick.any, || {
            senior.there.set(true);
            senior.who.set(pick.index.resize(self.p.srsp.cu_bits()));
            senior.order.granted(pick.index);
        });
    }

    /// Changes the flags; called once, after everything that touches them.
    pub fn connect(&self) {
        let few = [&self.lock, &self.full, &self.token, &self.sys];
        let all = [&self.supply, &self.room, &self.line, &self.target];
        few.into_iter().chain(all).for_each(Flags::connect);
    }

    /// L1s whose REQ waits for a lock, an entry or the token.
    pub fn locked_out(&self) -> Bits {
        self.lock.get() | self.full.get() | self.token.get()
    }

    /// Checks that each message is its sender's own.
    pub fn observe(&self) {
        for (c, (req, wb)) in self.reqs.iter().zip(&self.wbs).enumerate() {
            let own = |valid: Bool, src: Bits| !valid | src.eq(c as u64);
            let req_own = own(req.valid.get(), req.msg.get().src);
            assert_always(&format!("req{c}_own"), req_own, "a request comes from its sender's queue");
            let wb_own = own(wb.valid.get(), wb.msg.get().src);
            assert_always(&format!("wb{c}_own"), wb_own, "a write-back comes from its sender's queue");
        }
    }
}
