//! Whose slot the next cycle is.

use super::Core;
use super::op::Op;
use super::plan::Plan;
use crate::mesi_port::MesiExt;
use weft_blocks::msg::CuReq;
use weft_cache::Head;
use weft_rtl::prelude::*;

/// Whose slot a cycle is, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Turn {
    /// Nobody's.
    None,
    /// That of an answer.
    Fill,
    /// That of a lookup from below.
    Ext,
    /// That of the request in S1.
    Cu,
}

/// The turn with what it needs.
pub(super) struct Turns {
    pub turn: Reg<Enum<Turn>>,
    pub head: Head<CuReq, Op>,
    pub ext: InChannel<MesiExt>,
    pub ready: Bool,
}

impl Turns {
    pub fn new(core: &Core, ready: Bool) -> Turns {
        let turn = reg::<Enum<Turn>>("turn", ());
        let req = in_channel::<CuReq>("cu_req", &core.p.port.spandex.cu());
        let ext = in_channel::<MesiExt>("ext", &core.p.port);
        Turns { turn, head: Head::new(req, &core.p), ext, ready }
    }

    /// This cycle is the slot of one of these.
    pub fn is(&self, turn: Turn) -> Bool {
        self.turn.get().is(turn)
    }

    /// Takes a request into S1; true while one waits there after this cycle, and its line.
    fn accept(&self, core: &Core, leaves: Bool) -> (Bool, Bits) {
        let (head, m) = (&self.head, &self.head.req.msg);
        for unused in [m.scope, m.hint] {
            unused_input(&unused);
        }
        unused_input(&m.remote);
        unused_input(&m.region);
        unused_input(&m.cmp);
        let (accept, waits) = head.accept(head.req.valid & self.ready, leaves, || {
            head.op.set(Op::of(m, core.p.sync_own));
        });
        (waits, mux(accept, m.line, head.op.get().line))
    }

    /// Chooses the next slot and presents its row.
    pub fn choose(&self, core: &Core, plan: &Plan) {
        let (requests, request_line) = self.accept(core, plan.leaves);
        let fills = core.filler.wants();
        let looks = self.ext.valid & !plan.looked;
        let none = enum_lit(Turn::None);
        let next = mux(requests, enum_lit(Turn::Cu), none);
        let next = mux(looks, enum_lit(Turn::Ext), next);
        let next = mux(fills, enum_lit(Turn::Fill), next);
        let next = mux(self.ready, next, none).named("turn_next");
        self.turn.set(next);
        when(fills, || core.filler.present(&core.mshrs));
        let line = mux(next.is(Turn::Ext), self.ext.msg.line, request_line);
        core.arrays.present(mux(next.is(Turn::Fill), core.filler.line(&core.mshrs), line));
    }
}
