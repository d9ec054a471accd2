//! Whose slot the next cycle is.

use super::Core;
use super::stage::Plan;
use crate::l1::op::Op;
use weft_blocks::msg::CuReq;
use weft_rtl::prelude::*;

/// Whose slot a cycle is, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Turn {
    /// Nobody's.
    None,
    /// That of a FILL or REG_DATA.
    Fill,
    /// The REVOKE's.
    Probe,
    /// That of the capture buffer, whose line is handed over.
    Hand,
    /// The sync unit's.
    Sync,
    /// The drain's.
    Drain,
    /// That of the request in S1.
    Cu,
}

/// The turn with what it needs.
pub(super) struct Turns {
    pub turn: Reg<Enum<Turn>>,
    pub req: InChannel<CuReq>,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<Op>,
    ready: Bool,
}

impl Turns {
    pub fn new(core: &Core, ready: Bool) -> Turns {
        Turns {
            turn: reg::<Enum<Turn>>("turn", ()),
            req: in_channel::<CuReq>("cu_req", &core.p.srsp.cu()),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<Op>("s1", core.p.shared()).field("pipeline"),
            ready,
        }
    }

    /// This cycle is the slot of one of these.
    pub fn is(&self, turn: Turn) -> Bool {
        self.turn.get().is(turn)
    }

    /// Takes a request into S1; true while one waits there after this cycle, and its line.
    fn accept(&self, leaves: Bool) -> (Bool, Bits) {
        let m = &self.req.msg;
        unused_input(&m.region);
        unused_input(&m.hint);
        let accept = (self.req.valid & self.ready & (!self.s1_valid.get() | leaves)).named("s0_accept");
        when(accept, || {
            self.req.take();
            self.s1.set(Op::of(m));
        });
        let waits = accept | (self.s1_valid.get() & !leaves);
        self.s1_valid.set(waits);
        (waits, mux(accept, m.line, self.s1.get().line))
    }

    /// Chooses the next slot and presents its row.
    pub fn choose(&self, core: &Core, plan: &Plan) {
        let (requests, request_line) = self.accept(plan.leaves & self.is(Turn::Cu));
        let (fills, capture) = (core.filler.wants(), &core.capture);
        let wants = [
            (Turn::Cu, requests & core.gate_open()),
            (Turn::Drain, core.drain.wants(&core.sfifo)),
            (Turn::Sync, core.sync.wants(core, self.is(Turn::Sync))),
            (Turn::Hand, capture.wants_hand(core, self.is(Turn::Hand))),
            (Turn::Probe, capture.wants_probe(self.is(Turn::Probe))),
            (Turn::Fill, fills),
        ];
        let none = enum_lit(Turn::None);
        let next = wants.iter().fold(none, |rest, (turn, wants)| mux(*wants, enum_lit(*turn), rest));
        let next = mux(self.ready, next, none).named("turn_next");
        self.turn.set(next);
        when(fills, || core.filler.present(&core.misses)).otherwise(|| core.sync.present(core));
        let lines = [
            (Turn::Fill, core.misses.miss(core.filler.entry.get()).line),
            (Turn::Probe, capture.probed_line(&core.p)),
            (Turn::Sync, core.sync.walk_line()),
            (Turn::Drain, core.sfifo.oldest_next()),
        ];
        let line = lines.iter().fold(request_line, |rest, (t, line)| mux(next.is(*t), *line, rest));
        core.arrays.present(line);
    }
}
