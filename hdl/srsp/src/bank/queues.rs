//! Ingress: a place for one message of each L1 and network, and whose turn it is.

use super::{Bank, BankData, Op};
use crate::heads::{Flags, Slot};
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_rtl::prelude::*;

/// The heads: REQ of each L1, then WB.
pub(crate) struct Queues<Q: Data, B: Data> {
    bank: Bank,
    pub reqs: Vec<Slot<Q>>,
    pub wbs: Vec<Slot<B>>,
}

impl<Q: Data, B: Data> Queues<Q, B> {
    /// Declares the places of each L1: `req` and `wb` with its number.
    pub fn new(bank: &Bank, req: impl Fn(&str) -> Slot<Q>, wb: impl Fn(&str) -> Slot<B>) -> Queues<Q, B> {
        let cus = bank.srsp.cus;
        Queues {
            bank: bank.clone(),
            reqs: (0..cus).map(|c| req(&format!("req{c}"))).collect(),
            wbs: (0..cus).map(|c| wb(&format!("wb{c}"))).collect(),
        }
    }

    /// Bit of a head.
    pub fn bit(&self, wb: Bool, src: Bits) -> Bits {
        let (cus, one) = (self.bank.srsp.cus, src.one_hot(self.bank.srsp.cus));
        let none = lit_bv(Bv::zero(cus));
        cat(&[mux(wb, one, none), mux(wb, none, one)])
    }

    /// Bit of the head that is in stage 1, if one is.
    pub fn in_s1<K: HwEnum, A: BankData>(&self, valid: Bool, s1: &Op<K, A>) -> Bits {
        let from_head = valid & s1.from_head;
        self.bit(s1.wb, s1.src) & from_head.repeat(self.bank.heads())
    }

    /// Heads that hold a message.
    pub fn there(&self) -> Bits {
        let valid: Vec<Bool> = self.reqs.iter().map(|r| r.valid.get()).collect();
        let wbs: Vec<Bool> = self.wbs.iter().map(|w| w.valid.get()).collect();
        cat(&[pack_bools(&wbs), pack_bools(&valid)])
    }

    /// Whether the head picked is one of WB, and its L1.
    pub fn place(&self, pick: Pick) -> (Bool, Bits) {
        let (cus, index) = (u64::from(self.bank.srsp.cus), pick.index);
        let wb = index.ge(cus);
        (wb, mux(wb, index - cus, index).resize(self.bank.srsp.cu_bits()))
    }

    /// The message at the head of a queue as an operation.
    pub fn message<K: HwEnum, A: BankData>(
        &self,
        (wb, src): (Bool, Bits),
        op: &Wire<Op<K, A>>,
        (of_req, of_wb): (impl Fn(&Q) -> Op<K, A>, impl Fn(&B) -> Op<K, A>),
    ) {
        when(wb, || {
            switch_bits(src, |arms| {
                for (c, slot) in self.wbs.iter().enumerate() {
                    arms.case(c as u64, || op.set(of_wb(&slot.msg.get())));
                }
            });
        })
        .otherwise(|| {
            switch_bits(src, |arms| {
                for (c, slot) in self.reqs.iter().enumerate() {
                    arms.case(c as u64, || op.set(of_req(&slot.msg.get())));
                }
            });
        });
    }

    /// An operation of a head with nothing in it, of this kind.
    pub fn blank<K: HwEnum, A: BankData>(&self, kind: K) -> Op<K, A> {
        let leaves = leaves_of::<Op<K, A>>(&self.bank, "op");
        let zeros: Vec<Bits> = leaves.iter().map(|l| lit_bv(Bv::zero(l.width))).collect();
        let blank = Op::from_leaves(&self.bank, &mut zeros.into_iter());
        Op { kind: enum_lit(kind), from_head: bool_lit(true), ..blank }
    }

    /// Takes the message of a head.
    pub fn take(&self, head: Bits, takes: Bool) {
        let cus = self.bank.srsp.cus;
        for (i, slot) in self.reqs.iter().enumerate() {
            when(takes & head.bit(i as u32), || slot.take.set(true));
        }
        for (i, slot) in self.wbs.iter().enumerate() {
            when(takes & head.bit(cus + i as u32), || slot.take.set(true));
        }
    }

    /// Checks that each message is its sender's own.
    pub fn observe(&self, (req_src, wb_src): (impl Fn(&Q) -> Bits, impl Fn(&B) -> Bits)) {
        let own = |valid: Bool, src: Bits, c: usize| !valid | src.eq(c as u64);
        for (c, (req, wb)) in self.reqs.iter().zip(&self.wbs).enumerate() {
            let text = "a request comes from its sender's queue";
            assert_always(&format!("req{c}_own"), own(req.valid.get(), req_src(&req.msg.get()), c), text);
            let text = "a write-back comes from its sender's queue";
            assert_always(&format!("wb{c}_own"), own(wb.valid.get(), wb_src(&wb.msg.get()), c), text);
        }
    }
}

/// The flags where what they wait for is not there.
pub(crate) fn unless(flags: &Flags, good: Bool) -> Bits {
    flags.get() & (!good).repeat(flags.get().width())
}

/// Raises or lowers the bits of a mask.
pub(crate) fn note(mask: Bits, notes: &[(&Flags, Bool)]) {
    for (flags, now) in notes {
        when(*now, || flags.raise(mask)).otherwise(|| flags.lower(mask));
    }
}

/// What a head lacks.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    /// An MSHR or an entry for a request at memory.
    pub supply: Bool,
    /// An entry of the sFIFO.
    pub room: Bool,
    /// A line that comes from memory.
    pub line: Bool,
}

impl Short {
    /// Nothing.
    pub fn of_nothing() -> Short {
        let low = bool_lit(false);
        Short { supply: low, room: low, line: low }
    }
}

/// Heads that wait for memory: until there are supplies, until the sFIFO has room, until some line has come.
pub(crate) struct Shortages {
    supply: Flags,
    room: Flags,
    line: Flags,
}

impl Shortages {
    /// Declares the flags, one of each per head.
    pub fn new(heads: u32) -> Shortages {
        Shortages {
            supply: Flags::new("waits_supply", heads),
            room: Flags::new("waits_room", heads),
            line: Flags::new("waits_line", heads),
        }
    }

    /// Heads that wait still, when supplies and room are there or not.
    pub fn waits(&self, supply: Bool, room: Bool) -> Bits {
        unless(&self.supply, supply) | unless(&self.room, room) | self.line.get()
    }

    /// Notes what a head lacks.
    pub fn note(&self, head: Bits, short: &Short) {
        note(head, &[(&self.supply, short.supply), (&self.room, short.room), (&self.line, short.line)]);
    }

    /// A line has come from memory: who waits for some line may try again.
    pub fn line_came(&self) {
        self.line.lower(lit_bv(Bv::ones(self.line.get().width())));
    }

    /// A head waits for room in the sFIFO.
    pub fn wants_room(&self) -> Bool {
        self.room.get().any()
    }

    /// Changes the flags; called once.
    pub fn connect(&self) {
        [&self.supply, &self.room, &self.line].into_iter().for_each(Flags::connect);
    }
}

/// The waiter that is served next, chosen in turn among those who wait for another L1, with what is noted of it (`N`).
pub(crate) struct Senior<N> {
    pub there: Reg<Bool>,
    pub who: Reg<Bits>,
    pub notes: N,
    bits: u32,
    order: RoundRobin,
}

impl<N> Senior<N> {
    /// Declares the registers.
    pub fn new(bank: &Bank, notes: impl FnOnce() -> N) -> Senior<N> {
        Senior {
            there: reg::<Bool>("senior_there", ()),
            who: reg::<Bits>("senior", bank.srsp.cu_bits()),
            notes: notes(),
            bits: bank.srsp.cu_bits(),
            order: RoundRobin::new("senior_order", bank.srsp.cus),
        }
    }

    /// Chooses one of those who wait if there is none; `notes`: what is noted of the one chosen.
    pub fn choose(&self, waiting: Bits, notes: impl FnOnce(&N, Bits)) {
        let pick = self.order.pick(waiting);
        when(!self.there.get() & pick.any, || {
            self.there.set(true);
            self.who.set(pick.index.resize(self.bits));
            notes(&self.notes, pick.index);
            self.order.granted(pick.index);
        });
    }

    /// It is there, and not this L1.
    pub fn is_other(&self, src: Bits) -> Bool {
        self.there.get() & self.who.get().ne(src)
    }

    /// It is this L1.
    pub fn is(&self, src: Bits) -> Bool {
        self.there.get() & self.who.get().eq(src)
    }
}

/// The heads, what they wait for, and whose turn it is; `own`: what they wait for of other L1s.
pub(crate) struct Ingress<Q: Data, B: Data, N, X> {
    pub bank: Bank,
    pub queues: Queues<Q, B>,
    pub short: Shortages,
    pub senior: Senior<N>,
    pub order: RoundRobin,
    pub own: X,
}

impl<Q: Data, B: Data, N, X> Ingress<Q, B, N, X> {
    /// One of the heads that do not wait enters, if one `may`: its queue. `busy`: the head in stage 1. True when one does.
    pub fn serve(
        &self,
        (waits, busy): (Bits, Bits),
        may: impl FnOnce() -> Bool,
        enter: impl FnOnce((Bool, Bits)),
    ) -> Bool {
        let pick = self.order.pick((self.queues.there() & !waits & !busy).named("heads_ready"));
        let message = (may() & pick.any).named("s0_message");
        when(message, || {
            enter(self.queues.place(pick));
            self.order.granted(pick.index);
        });
        message
    }

    /// The part of a mask of heads that is of requests.
    pub fn requests(&self, heads: Bits) -> Bits {
        heads.slice(0, self.bank.srsp.cus)
    }
}
