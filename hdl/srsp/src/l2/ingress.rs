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
use super::types::{Access, Kind, Op, Target};
use crate::bank::{self, Asker, Queues, Short, Shortages, chosen, note, unless};
use crate::heads::{Flags, Slot};
use crate::lock_tbl::LockTbl;
use crate::msg::{Atomic, Req, ReqOp, Wb, WbOp};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// What is noted of the waiter that is served next.
pub(super) struct Claim {
    /// A lock was handed to it that it has not used yet, and which.
    pub holds: Reg<Bool>,
    pub entry: Reg<Bits>,
    /// Cycles for which the line of a read that had waited for a lock stays free for the reader.
    pub grace: Reg<Bits>,
}
/// The waiter that is served next.
pub(super) type Senior = bank::Senior<Claim>;

/// What a head waits for, one-hot.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    pub lock: Bool,
    pub full: Bool,
    pub token: Bool,
    pub sys: Bool,
    pub short: Short,
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

/// The queues and their notes.
pub(super) type Ingress = bank::Ingress<Req, Wb, Claim, Requests>;

/// What heads wait for of other L1s. Flags of `lock`, `full`, `token` and `sys` have a bit per L1, those of `target` one per head: REQ, then WB.
pub(super) struct Requests {
    lock: Flags,
    full: Flags,
    token: Flags,
    sys: Flags,
    target: Flags,
    /// Lock entry that a waiter met.
    met: Memory<Bits>,
    met_in: LaneWriter<Bits>,
    grace: u32,
}

impl Ingress {
    /// Declares channels and registers.
    pub fn new(p: &L2Params, open: Bool) -> Ingress {
        let (bank, cus, s) = (&p.bank, p.bank.srsp.cus, &p.bank.srsp);
        let met = regfile::<Bits>("met", cus, p.lock_bits()).fields(&[("state", p.lock_bits())]);
        let met_in = met.lane_writer("put");
        let queues = Queues::new(bank, |name| Slot::new(name, s, open), |name| Slot::new(name, s, open));
        let [lock, full, token, sys] =
            ["lock", "full", "token", "sys"].map(|of| Flags::new(&format!("waits_{of}"), cus));
        let short = Shortages::new(bank.heads());
        let target = Flags::new("waits_target", bank.heads());
        Ingress {
            queues,
            short,
            senior: Senior::new(bank, || Claim {
                holds: reg::<Bool>("senior_holds", ()),
                entry: reg::<Bits>("senior_entry", p.lock_bits()),
                grace: reg::<Bits>("senior_grace", bits_for(u64::from(p.grace()) + 1)),
            }),
            order: RoundRobin::new("head_order", bank.heads()),
            own: Requests { lock, full, token, sys, target, met, met_in, grace: p.grace() },
            bank: bank.clone(),
        }
    }

    /// Heads that wait for what is not there.
    pub fn waits(&self, has: Supplies) -> Bits {
        let requests = self.own.lock.get()
            | unless(&self.own.full, has.entry)
            | unless(&self.own.token, has.token)
            | unless(&self.own.sys, has.sys);
        let waits = self.short.waits(has.supply, has.room) | self.own.target.get();
        waits | requests.zext(self.bank.heads())
    }

    /// The message at the head of a queue.
    pub fn message(&self, place: (Bool, Bits), op: &Wire<Op>) {
        self.queues.message(place, op, (|m: &Req| self.of_req(m), |m: &Wb| self.of_wb(m)));
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
        let kind = chosen(&pairs, Kind::Rd);
        let low = bool_lit(false);
        let blank = self.blank();
        let about = Access { atomic: m.atomic, ..blank.about };
        Op { kind, wb: low, src: m.src, mshr: m.mshr, about, ..blank }
    }

    fn of_wb(&self, m: &Wb) -> Op {
        let is = |op| m.op.is(op);
        let pairs = [
            (is(WbOp::RemOp), Kind::RemOp),
            (is(WbOp::RemUnlock), Kind::RemUnlock),
            (is(WbOp::TokenRel), Kind::TokenRel),
        ];
        let kind = chosen(&pairs, Kind::Wb);
        Op {
            kind,
            wb: bool_lit(true),
            src: m.src,
            about: Access { atomic: m.atomic, keep: m.keep },
            written: m.written,
            ..self.blank()
        }
    }

    /// An operation of a head with nothing in it.
    pub fn blank(&self) -> Op {
        self.queues.blank(Kind::Rd)
    }

    /// The operation of a target: an atomic at the head of its queue, or a read.
    pub fn target_op(&self, target: &Target, address: Bits, op: &Wire<Op>) {
        when(target.read, || {
            let blank = self.blank();
            let about = Access { atomic: Atomic { addr: address, ..blank.about.atomic }, ..blank.about };
            let Asker { src, mshr } = target.asker;
            op.set(Op { from_head: bool_lit(false), src, mshr, about, ..blank });
        })
        .otherwise(|| self.message((target.wb, target.asker.src), op));
    }

    /// Stage 1 leaves a head: it is taken, or notes what it waits for.
    pub fn leave(&self, head: Bits, takes: Bool, waits: &Waits, met: Bits, src: Bits) {
        self.queues.take(head, takes);
        let low = self.requests(head);
        let requests =
            [(&self.own.lock, waits.lock), (&self.own.full, waits.full), (&self.own.token, waits.token)];
        note(low, &requests);
        note(low, &[(&self.own.sys, waits.sys)]);
        self.short.note(head, &waits.short);
        note(head, &[(&self.own.target, waits.target)]);
        when(waits.lock, || self.own.met_in.write(src, &met));
    }

    /// The waiter that the present senior is waits for an entry of the lock table; for the token.
    pub fn claims(&self, src: Bits) -> (Bool, Bool) {
        let senior = &self.senior;
        let other = senior.is_other(src);
        (
            other & self.own.full.get().bit_at(senior.who.get()),
            other & self.own.token.get().bit_at(senior.who.get()),
        )
    }

    /// A lock is given up: it goes to the senior if that waits for it, else its entry is free and all who met it may try again.
    pub fn unlock(&self, locks: &LockTbl, entry: Bits) {
        let senior = &self.senior;
        let who = senior.who.get();
        let wanted = senior.there.get()
            & !senior.notes.holds.get()
            & self.own.lock.get().bit_at(who)
            & self.own.met.read(who).eq(entry);
        when(wanted, || {
            locks.pass(entry, who);
            senior.notes.holds.set(true);
            senior.notes.entry.set(entry);
            self.own.lock.lower(who.one_hot(self.bank.srsp.cus));
        })
        .otherwise(|| self.give_up(locks, entry));
    }

    /// A lock's entry is free.
    pub fn give_up(&self, locks: &LockTbl, entry: Bits) {
        locks.unlock(entry);
        let met: Vec<Bool> = (0..self.bank.srsp.cus).map(|c| self.own.met.entry(c).eq(entry)).collect();
        self.own.lock.lower(pack_bools(&met));
    }

    /// The senior is served.
    pub fn retire(&self) {
        self.senior.there.set(false);
        self.senior.notes.holds.set(false);
        self.senior.notes.grace.set(0);
    }

    /// A read that had waited for a lock was served: its line stays free for the reader for a while.
    pub fn linger(&self) {
        self.senior.notes.grace.set(u64::from(self.own.grace));
    }

    /// The reader has not come back in time.
    pub fn expired(&self) -> Bool {
        self.senior.notes.grace.get().eq(1)
    }

    /// Chooses a senior if there is none, and changes the flags; called once, before [`Ingress::retire`] and [`Ingress::unlock`] can be.
    pub fn choose(&self) {
        let senior = &self.senior;
        let grace = senior.notes.grace.get();
        when(grace.gt(1), || senior.notes.grace.set(grace - 1));
        let waiting = self.own.lock.get() | self.own.full.get() | self.own.token.get();
        senior.choose(waiting, |_, _| ());
    }

    /// Changes the flags; called once, after everything that touches them.
    pub fn connect(&self) {
        [&self.own.lock, &self.own.full, &self.own.token, &self.own.sys].into_iter().for_each(Flags::connect);
        self.short.connect();
        self.own.target.connect();
    }

    /// L1s whose REQ waits for a lock, an entry or the token.
    pub fn locked_out(&self) -> Bits {
        self.own.lock.get() | self.own.full.get() | self.own.token.get()
    }

    /// Checks that each message is its sender's own.
    pub fn observe(&self) {
        self.queues.observe((|m: &Req| m.src, |m: &Wb| m.src));
    }
}
