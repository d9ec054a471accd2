//! Whose slot a cycle is, and S1, the place of the CU's request that is looked up next.

use super::Shape;
use super::op::{Kind, Op};
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuReq;
use weft_rtl::prelude::*;

/// The request in S1, and the port from which it comes.
pub(crate) struct Head {
    pub req: InChannel<CuReq>,
    pub valid: Reg<Bool>,
    pub op: Reg<Op>,
    /// The arrays are ready: requests are taken, slots chosen.
    pub ready: Bool,
}

impl Head {
    pub fn new(p: &Shape, ready: Bool) -> Head {
        Head {
            req: in_channel::<CuReq>("cu_req", &p.srsp.cu()),
            valid: reg::<Bool>("s1_valid", ()),
            op: reg::<Op>("s1", p.clone()).field("pipeline"),
            ready,
        }
    }

    /// Takes a request into S1, which one `leaves` perhaps; true while one waits there after this cycle, and its line.
    pub fn accept(&self, leaves: Bool) -> (Bool, Bits) {
        let m = &self.req.msg;
        unused_input(&m.region);
        unused_input(&m.hint);
        let accept = (self.req.valid & self.ready & (!self.valid.get() | leaves)).named("s0_accept");
        when(accept, || {
            self.req.take();
            self.op.set(Op::of(m));
        });
        let waits = accept | (self.valid.get() & !leaves);
        self.valid.set(waits);
        (waits, mux(accept, m.line, self.op.get().line))
    }

    /// There is a request here or at the port.
    pub fn some(&self) -> Bool {
        self.valid.get() | self.req.valid
    }

    /// Counts the requests that `left` and the cycles in which one waits, for the block; `syncs`: name and meaning of the counter of accesses with synchronisation.
    pub fn observe(&self, block: &str, left: Bool, op: &Op, syncs: (&str, &str)) {
        let counts = [
            (Kind::Load, ("loads", "plain loads carried out or put into an MSHR")),
            (Kind::Store, ("stores", "plain stores")),
            (Kind::Sync, syncs),
        ];
        for (kind, (name, text)) in counts {
            count(&format!("{block}_{name}"), left & op.kind.is(kind), text);
        }
        let text = "cycles in which the request at the head waits";
        count(&format!("{block}_wait_cycles"), self.valid.get() & !left, text);
    }

    /// Tells the CU why requests are not taken, unless that of S1 `leaves`; and whether an operation of several steps is at work.
    pub fn tell(&self, leaves: Bool, why: &Why, steps: Bool) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let busy = output_reg::<Bool>("busy_release", ()).doc("An operation of several steps is at work.");
        let blocked = self.valid.get() & !leaves;
        let cause = |c: StallCause| enum_lit(c);
        let of = mux(why.other, cause(StallCause::Other), cause(StallCause::None));
        let of = mux(why.misses, cause(StallCause::MshrFull), of);
        let of = mux(why.steps, cause(StallCause::Release), of);
        let of = mux(why.slot, of, cause(StallCause::Bank));
        stall.set(mux(blocked, of, cause(StallCause::None)));
        busy.set(steps);
    }
}

/// Why the request in S1 waits; a later one hides those before it.
pub(crate) struct Why {
    /// For room, or the write-back of its line.
    pub other: Bool,
    /// For an MSHR, or a line under way.
    pub misses: Bool,
    /// For an operation of several steps.
    pub steps: Bool,
    /// The slot is the request's, or the gate keeps it from one; else it waits for its slot.
    pub slot: Bool,
}

/// The line of a slot: that of its turn, else the request's.
pub(crate) fn line_of<T: HwEnum>(turn: Enum<T>, lines: &[(T, Bits)], request: Bits) -> Bits {
    lines.iter().fold(request, |rest, (t, line)| mux(turn.is(*t), *line, rest))
}

/// Whose slot a cycle is, one of `T`, with what the L1 notes of it, and S1.
pub(crate) struct Turns<T: HwEnum, N> {
    pub turn: Reg<Enum<T>>,
    pub note: N,
    pub head: Head,
}

impl<T: HwEnum, N> Turns<T, N> {
    /// Declares the turn, what is noted of it, and S1.
    pub fn new(p: &Shape, note: impl FnOnce() -> N, ready: Bool) -> Turns<T, N> {
        Turns { turn: reg::<Enum<T>>("turn", ()), note: note(), head: Head::new(p, ready) }
    }

    /// This cycle is the slot of one of these.
    pub fn is(&self, turn: T) -> Bool {
        self.turn.get().is(turn)
    }

    /// Chooses the next slot, once the arrays are ready: of these turns the last one that is wanted.
    pub fn choose_among(&self, wants: &[(T, Bool)]) -> Enum<T> {
        let none = enum_lit(T::VARIANTS[0]);
        let next = wants.iter().fold(none, |rest, (turn, wants)| mux(*wants, enum_lit(*turn), rest));
        let next = mux(self.head.ready, next, none).named("turn_next");
        self.turn.set(next);
        next
    }
}
