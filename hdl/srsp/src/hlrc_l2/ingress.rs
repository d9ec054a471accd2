//! Ingress: a place for one message of each L1 and network, who waits for what, and whose turn it is.
//!
//! A message that cannot be served stays at the head of its queue with a note of what it waits for and is passed over; one round robin goes over all other heads:
//!
//! | waits for | passed over until | who |
//! | --- | --- | --- |
//! | `supply` | an MSHR and an entry for a write and for a read around the bank are free | all |
//! | `room` | the sFIFO has an entry; if it is full its head is popped meanwhile | all |
//! | `line` | some line has come from memory | RD, WB |
//! | `entry` | an entry for a revocation is free | REG |
//! | `turn` | some line has come from memory, or back from its owner, or the senior was served | REG |
//!
//! In DeNovo-B an RD waits for owners as a REG does, and what is said of REGs is said of RDs too.
//!
//! The first three end when memory answers, whatever L1s do: nothing of network 1 waits for another L1, nor for a REG.
//!
//! Round robin alone starves a REG: between two tries of it others may register its line again and again. So one that waits is the *senior*, chosen in turn among those who wait. While
//! there is one, other REGs of its line wait, what entry of a revocation it waits for is left to it, and if it waits for a frame nobody else takes one of its
//! set.

use super::params::{HlrcL2Fault, HlrcL2Params, Registered};
use super::types::{HeldReq, HeldWb, Kind, Named, Op, Target};
use crate::bank::{self, Asker, Queues, Short, Shortages, note, unless};
use crate::heads::{Flags, Slot};
use crate::msg::{Req, ReqOp, Wb, WbOp, Written};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// What is noted of the REG that is served next.
pub(super) struct Wants {
    pub line: Reg<Bits>,
    /// It waits for a frame.
    pub frame: Reg<Bool>,
}
/// The REG that is served next.
pub(super) type Senior = bank::Senior<Wants>;

/// What a head waits for, one-hot.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    pub short: Short,
    pub entry: Bool,
    pub turn: Bool,
}

/// The present state of what heads wait for.
#[derive(Clone, Copy)]
pub(super) struct Supplies {
    pub supply: Bool,
    pub room: Bool,
    pub entry: Bool,
}

/// What the senior claims of an L1's message.
#[derive(Clone, Copy)]
pub(super) struct Claims {
    /// Its line.
    pub line: Bool,
    /// A free entry for a revocation.
    pub entry: Bool,
    /// A frame of its set.
    pub frame: Bool,
}

/// The queues and their notes.
pub(super) type Ingress = bank::Ingress<HeldReq, HeldWb, Wants, Requests>;

/// What REGs wait for of other L1s.
pub(super) struct Requests {
    entry: Flags,
    turn: Flags,
    fault: HlrcL2Fault,
    registered: Registered,
}

/// What is kept of a request; the rest is for other systems.
fn kept_req(p: &HlrcL2Params, m: &Req) -> HeldReq {
    unused_input(&m.sys);
    unused_input(&(m.atomic.op));
    unused_input(&m.atomic.wide);
    unused_input(&m.atomic.opnd);
    unused_input(&m.atomic.cmp);
    HeldReq { op: m.op, src: m.src, mshr: m.mshr, line: p.bank.srsp.line_of(m.atomic.addr) }
}

fn kept_wb(p: &HlrcL2Params, m: &Wb) -> HeldWb {
    if !p.registers_writes() {
        unused_input(&m.keep);
    }
    unused_input(&m.atomic.op);
    unused_input(&m.atomic.wide);
    unused_input(&m.atomic.opnd);
    unused_input(&m.atomic.cmp);
    let Wb { op, src, has, written, .. } = *m;
    let op = match p.registered {
        Registered::Atomics => op,
        // A READ_ACK is held as what it is to the bank: bytes of somebody who keeps the line.
        Registered::Writes => mux(op.is(WbOp::RevokeAck) & m.keep, enum_lit(WbOp::Wb), op),
    };
    HeldWb { op, src, line: p.bank.srsp.line_of(m.atomic.addr), has, written }
}

impl Ingress {
    /// Declares channels and registers.
    pub fn new(p: &HlrcL2Params, open: Bool) -> Ingress {
        let (bank, cus, s) = (&p.bank, p.bank.srsp.cus, &p.bank.srsp);
        let req = |name: &str| Slot::keeping(name, (s, bank), open, |m: &Req| kept_req(p, m));
        let wb = |name: &str| Slot::keeping(name, (s, bank), open, |m: &Wb| kept_wb(p, m));
        let queues = Queues::new(bank, req, wb);
        let short = Shortages::new(bank.heads());
        let [entry, turn] = ["entry", "turn"].map(|of| Flags::new(&format!("waits_{of}"), cus));
        Ingress {
            queues,
            short,
            senior: Senior::new(bank, || Wants {
                line: reg::<Bits>("senior_line", s.line_bits()),
                frame: reg::<Bool>("senior_frame", ()),
            }),
            order: RoundRobin::new("head_order", bank.heads()),
            own: Requests { entry, turn, fault: p.fault, registered: p.registered },
            bank: bank.clone(),
        }
    }

    /// Heads that wait for what is not there.
    pub fn waits(&self, has: Supplies) -> Bits {
        let requests = self.own.turn.get() | unless(&self.own.entry, has.entry);
        self.short.waits(has.supply, has.room) | requests.zext(self.bank.heads())
    }

    /// The message at the head of a queue.
    pub fn message(&self, place: (Bool, Bits), op: &Wire<Op>) {
        self.queues.message(place, op, (|m: &HeldReq| self.of_req(m), |m: &HeldWb| self.of_wb(m)));
    }

    fn of_req(&self, m: &HeldReq) -> Op {
        let kind = mux(m.op.is(ReqOp::Rdu), enum_lit(Kind::Rdu), enum_lit(Kind::Rd));
        let kind = mux(m.op.is(ReqOp::Reg), enum_lit(Kind::Reg), kind);
        let blank = self.blank();
        let about = Named { line: m.line, ..blank.about };
        Op { kind, wb: bool_lit(false), src: m.src, mshr: m.mshr, about, ..blank }
    }

    fn of_wb(&self, m: &HeldWb) -> Op {
        let HeldWb { src, line, has, written, .. } = *m;
        let kind = mux(m.op.is(WbOp::Unreg), enum_lit(Kind::Unreg), enum_lit(Kind::Wb));
        let kind = mux(m.op.is(WbOp::RevokeAck), enum_lit(Kind::RevokeAck), kind);
        let lost = match self.own.registered {
            Registered::Atomics => m.op.is(WbOp::RevokeAck) & !has,
            Registered::Writes => m.op.is_any(&[WbOp::RevokeAck, WbOp::Wb]) & !has,
        };
        let lost = match self.own.fault {
            HlrcL2Fault::LostUnreg => lost | m.op.is(WbOp::Unreg),
            _ => lost,
        };
        let mask = written.mask & (!lost).repeat(self.bank.srsp.line);
        let about = Named { line, has };
        let written = Written { mask, ..written };
        Op { kind, wb: bool_lit(true), src, about, written, ..self.blank() }
    }

    /// An operation of a head with nothing in it.
    pub fn blank(&self) -> Op {
        self.queues.blank(Kind::Rd)
    }

    /// The operation of a target.
    pub fn target_op(&self, target: &Target, line: Bits) -> Op {
        let low = bool_lit(false);
        let kind = mux(target.reg, enum_lit(Kind::Reg), enum_lit(Kind::Rd));
        let Asker { src, mshr } = target.asker;
        let blank = self.blank();
        let about = Named { line, ..blank.about };
        Op { kind, from_head: low, target: bool_lit(true), src, mshr, about, ..blank }
    }

    /// Stage 1 leaves a head: it is taken, or notes what it waits for, or may try again.
    pub fn leave(&self, head: Bits, takes: Bool, waits: &Waits) {
        self.queues.take(head, takes);
        self.short.note(head, &waits.short);
        let low = self.requests(head);
        note(low, &[(&self.own.entry, waits.entry), (&self.own.turn, waits.turn)]);
    }

    /// A line has come from memory: who waits for some line may try again.
    pub fn line_came(&self) {
        self.short.line_came();
        self.turn_over();
    }

    /// A line has come from memory or from its owner, or the senior was served: REGs may try again. Called after [`Ingress::leave`].
    pub fn turn_over(&self) {
        self.own.turn.lower(lit_bv(Bv::ones(self.bank.srsp.cus)));
    }

    /// What the senior claims against a message of another L1.
    pub fn claims(&self, src: Bits, line: Bits) -> Claims {
        let senior = &self.senior;
        let other = senior.is_other(src);
        let set = |line: Bits| self.bank.set_of(line);
        Claims {
            line: other & senior.notes.line.get().eq(line),
            entry: other & self.own.entry.get().bit_at(senior.who.get()),
            frame: other & senior.notes.frame.get() & set(senior.notes.line.get()).eq(set(line)),
        }
    }

    /// Chooses a senior if there is none, but not the head in stage 1 (`busy`), which may be served now; called before [`Ingress::retire`] can be.
    pub fn choose(&self, busy: Bits) {
        let waiting = self.waiting() & !self.requests(busy);
        let lines: Vec<Bits> = self.queues.reqs.iter().map(|slot| slot.msg.get().line).collect();
        self.senior.choose(waiting, |wants, chosen| {
            wants.line.set(select(&lines, chosen));
            wants.frame.set(false);
        });
    }

    /// The senior was served.
    pub fn retire(&self) {
        self.senior.there.set(false);
        self.turn_over();
    }

    /// Changes the flags; called once, after everything that touches them.
    pub fn connect(&self) {
        self.short.connect();
        [&self.own.entry, &self.own.turn].into_iter().for_each(Flags::connect);
    }

    /// L1s whose REG, in DeNovo-B also RD, waits for another L1.
    pub fn waiting(&self) -> Bits {
        self.own.turn.get() | self.own.entry.get()
    }

    /// Checks that each message is its sender's own, and one of this system.
    pub fn observe(&self) {
        self.queues.observe((|m: &HeldReq| m.src, |m: &HeldWb| m.src));
        let (reqs, asks): (&[ReqOp], _) = match self.own.registered {
            Registered::Atomics => (
                &[ReqOp::Rd, ReqOp::Rdu, ReqOp::Reg],
                "a request is RD, RDU or REG: scopes, locks and the token are of other systems",
            ),
            Registered::Writes => (&[ReqOp::Rd, ReqOp::Reg], "a request is RD or REG"),
        };
        let text = match self.own.registered {
            Registered::Atomics => "network 1 carries WB, UNREG and REVOKE_ACK",
            Registered::Writes => "network 1 carries UNREG, REVOKE_ACK and READ_ACK",
        };
        for (c, (req, wb)) in self.queues.reqs.iter().zip(&self.queues.wbs).enumerate() {
            let known = req.msg.get().op.is_any(reqs);
            assert_always(&format!("req{c}_known"), !req.valid.get() | known, asks);
            let known = wb.msg.get().op.is_any(&[WbOp::Wb, WbOp::Unreg, WbOp::RevokeAck]);
            assert_always(&format!("wb{c}_known"), !wb.valid.get() | known, text);
        }
    }
}
