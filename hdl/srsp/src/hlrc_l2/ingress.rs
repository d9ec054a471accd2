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
//! The first three end when memory answers, whatever L1s do: nothing of network 1 waits for another L1, nor for a REG.
//!
//! Round robin alone starves a REG: between two tries of it others may register its line again and again. So one that waits is the *senior*, chosen in turn among those who wait. While
//! there is one, other REGs of its line wait, what entry of a revocation it waits for is left to it, and if it waits for a frame nobody else takes one of its
//! set.

use super::params::{HlrcL2Fault, HlrcL2Params};
use super::types::{HeldReq, HeldWb, Kind, Op, Target};
use crate::heads::{Flags, Slot};
use crate::msg::{Req, ReqOp, Wb, WbOp};
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_rtl::prelude::*;

/// The REG that is served next.
pub(super) struct Senior {
    pub there: Reg<Bool>,
    pub who: Reg<Bits>,
    pub line: Reg<Bits>,
    /// It waits for a frame.
    pub frame: Reg<Bool>,
    order: RoundRobin,
}

/// What a head waits for, one-hot.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    pub supply: Bool,
    pub room: Bool,
    pub line: Bool,
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

/// The queues and their notes. Flags of `entry` and `turn` have a bit per L1, the others one per head: REQ, then WB.
pub(super) struct Ingress {
    p: HlrcL2Params,
    reqs: Vec<Slot<HeldReq>>,
    wbs: Vec<Slot<HeldWb>>,
    supply: Flags,
    room: Flags,
    line: Flags,
    entry: Flags,
    turn: Flags,
    pub senior: Senior,
    order: RoundRobin,
}

/// What is kept of a request; the rest is for other systems.
fn kept_req(p: &HlrcL2Params, m: &Req) -> HeldReq {
    unused_input(&m.sys);
    unused_input(&(m.atomic.op));
    unused_input(&m.atomic.wide);
    unused_input(&m.atomic.opnd);
    unused_input(&m.atomic.cmp);
    HeldReq { op: m.op, src: m.src, mshr: m.mshr, line: p.srsp.line_of(m.atomic.addr) }
}

fn kept_wb(p: &HlrcL2Params, m: &Wb) -> HeldWb {
    unused_input(&m.keep);
    unused_input(&m.atomic.op);
    unused_input(&m.atomic.wide);
    unused_input(&m.atomic.opnd);
    unused_input(&m.atomic.cmp);
    let Wb { op, src, has, wbt, epoch, mask, data, .. } = *m;
    HeldWb { op, src, line: p.srsp.line_of(m.atomic.addr), has, wbt, epoch, mask, data }
}

impl Ingress {
    /// Declares channels and registers.
    pub fn new(p: &HlrcL2Params, open: Bool) -> Ingress {
        let (cus, heads, s) = (p.srsp.cus, p.heads(), &p.srsp);
        let req = |c| Slot::keeping(&format!("req{c}"), (s, p), open, |m: &Req| kept_req(p, m));
        let wb = |c| Slot::keeping(&format!("wb{c}"), (s, p), open, |m: &Wb| kept_wb(p, m));
        Ingress {
            reqs: (0..cus).map(req).collect(),
            wbs: (0..cus).map(wb).collect(),
            supply: Flags::new("waits_supply", heads),
            room: Flags::new("waits_room", heads),
            line: Flags::new("waits_line", heads),
            entry: Flags::new("waits_entry", cus),
            turn: Flags::new("waits_turn", cus),
            senior: Senior {
                there: reg::<Bool>("senior_there", ()),
                who: reg::<Bits>("senior", s.cu_bits()),
                line: reg::<Bits>("senior_line", s.line_bits()),
                frame: reg::<Bool>("senior_frame", ()),
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
        let requests = self.turn.get() | unless(&self.entry, has.entry);
        let all = unless(&self.supply, has.supply) | unless(&self.room, has.room) | self.line.get();
        let waits = all | requests.zext(self.p.heads());
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

    fn of_req(&self, m: &HeldReq) -> Op {
        let kind = mux(m.op.is(ReqOp::Rdu), enum_lit(Kind::Rdu), enum_lit(Kind::Rd));
        let kind = mux(m.op.is(ReqOp::Reg), enum_lit(Kind::Reg), kind);
        Op { kind, wb: bool_lit(false), src: m.src, mshr: m.mshr, line: m.line, ..self.blank() }
    }

    fn of_wb(&self, m: &HeldWb) -> Op {
        let HeldWb { src, line, has, wbt, epoch, data, .. } = *m;
        let kind = mux(m.op.is(WbOp::Unreg), enum_lit(Kind::Unreg), enum_lit(Kind::Wb));
        let kind = mux(m.op.is(WbOp::RevokeAck), enum_lit(Kind::RevokeAck), kind);
        let lost = m.op.is(WbOp::RevokeAck) & !has;
        let lost = match self.p.fault {
            HlrcL2Fault::LostUnreg => lost | m.op.is(WbOp::Unreg),
            _ => lost,
        };
        let mask = m.mask & (!lost).repeat(self.p.srsp.line);
        Op { kind, wb: bool_lit(true), src, line, has, wbt, epoch, mask, data, ..self.blank() }
    }

    /// An operation of a head with nothing in it.
    pub fn blank(&self) -> Op {
        let zero = |bits: u32| lit_bv(Bv::zero(bits));
        let leaves: Vec<Bits> = leaves_of::<Op>(&self.p, "op").iter().map(|l| zero(l.width)).collect();
        let blank = Op::from_leaves(&self.p, &mut leaves.into_iter());
        Op { kind: enum_lit(Kind::Rd), from_head: bool_lit(true), ..blank }
    }

    /// The operation of a target.
    pub fn target_op(&self, target: &Target, line: Bits) -> Op {
        let low = bool_lit(false);
        let kind = mux(target.reg, enum_lit(Kind::Reg), enum_lit(Kind::Rd));
        let Target { src, mshr, .. } = *target;
        Op { kind, from_head: low, target: bool_lit(true), src, mshr, line, ..self.blank() }
    }

    /// Stage 1 leaves a head: it is taken, or notes what it waits for, or may try again.
    pub fn leave(&self, head: Bits, takes: Bool, waits: &Waits) {
        let cus = self.p.srsp.cus;
        for (i, slot) in self.reqs.iter().enumerate() {
            when(takes & head.bit(i as u32), || slot.take.set(true));
        }
        for (i, slot) in self.wbs.iter().enumerate() {
            when(takes & head.bit(cus + i as u32), || slot.take.set(true));
        }
        let low = head.slice(0, cus);
        for (flags, now) in [(&self.supply, waits.supply), (&self.room, waits.room), (&self.line, waits.line)]
        {
            when(now, || flags.raise(head)).otherwise(|| flags.lower(head));
        }
        for (flags, now) in [(&self.entry, waits.entry), (&self.turn, waits.turn)] {
            when(now, || flags.raise(low)).otherwise(|| flags.lower(low));
        }
    }

    /// A line has come from memory: who waits for some line may try again.
    pub fn line_came(&self) {
        self.line.lower(lit_bv(Bv::ones(self.p.heads())));
        self.turn_over();
    }

    /// A line has come from memory or from its owner, or the senior was served: REGs may try again. Called after [`Ingress::leave`].
    pub fn turn_over(&self) {
        self.turn.lower(lit_bv(Bv::ones(self.p.srsp.cus)));
    }

    /// A head waits for room in the sFIFO.
    pub fn wants_room(&self) -> Bool {
        self.room.get().any()
    }

    /// What the senior claims against a message of another L1.
    pub fn claims(&self, src: Bits, line: Bits) -> Claims {
        let senior = &self.senior;
        let other = senior.there.get() & senior.who.get().ne(src);
        let set = |line: Bits| self.p.set_of(line);
        Claims {
            line: other & senior.line.get().eq(line),
            entry: other & self.entry.get().bit_at(senior.who.get()),
            frame: other & senior.frame.get() & set(senior.line.get()).eq(set(line)),
        }
    }

    /// Chooses a senior if there is none, but not the head in stage 1 (`busy`), which may be served now; called before [`Ingress::retire`] can be.
    pub fn choose(&self, busy: Bits) {
        let senior = &self.senior;
        let pick = senior.order.pick(self.waiting() & !busy.slice(0, self.p.srsp.cus));
        let lines: Vec<Bits> = self.reqs.iter().map(|slot| slot.msg.get().line).collect();
        when(!senior.there.get() & pick.any, || {
            senior.there.set(true);
            senior.who.set(pick.index.resize(self.p.srsp.cu_bits()));
            senior.line.set(select(&lines, pick.index));
            senior.frame.set(false);
            senior.order.granted(pick.index);
        });
    }

    /// The senior was served.
    pub fn retire(&self) {
        self.senior.there.set(false);
        self.turn_over();
    }

    /// Changes the flags; called once, after everything that touches them.
    pub fn connect(&self) {
        [&self.supply, &self.room, &self.line, &self.entry, &self.turn].into_iter().for_each(Flags::connect);
    }

    /// L1s whose REG waits for another L1.
    pub fn waiting(&self) -> Bits {
        self.turn.get() | self.entry.get()
    }

    /// Checks that each message is its sender's own, and one of this system.
    pub fn observe(&self) {
        for (c, (req, wb)) in self.reqs.iter().zip(&self.wbs).enumerate() {
            let own = |valid: Bool, src: Bits| !valid | src.eq(c as u64);
            let (req_valid, wb_valid) = (req.valid.get(), wb.valid.get());
            let (req, wb) = (req.msg.get(), wb.msg.get());
            let text = "a request comes from its sender's queue";
            assert_always(&format!("req{c}_own"), own(req_valid, req.src), text);
            let text = "a write-back comes from its sender's queue";
            assert_always(&format!("wb{c}_own"), own(wb_valid, wb.src), text);
            let known = req.op.is_any(&[ReqOp::Rd, ReqOp::Rdu, ReqOp::Reg]);
            let text = "a request is RD, RDU or REG: scopes, locks and the token are of other systems";
            assert_always(&format!("req{c}_known"), !req_valid | known, text);
            let known = wb.op.is_any(&[WbOp::Wb, WbOp::Unreg, WbOp::RevokeAck]);
            let text = "network 1 carries WB, UNREG and REVOKE_ACK";
            assert_always(&format!("wb{c}_known"), !wb_valid | known, text);
        }
    }
}
