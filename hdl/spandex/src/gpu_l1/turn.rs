//! Whose slot the next cycle is.

use super::Core;
use super::op::Op;
use weft_blocks::msg::CuReq;
use weft_cache::Head;
use weft_rtl::prelude::*;

/// Whose slot a cycle is, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Turn {
    /// Nobody's.
    None,
    /// That of the answer at work.
    Fill,
    /// That of the operation whose release is complete.
    Release,
    /// That of the request in S1.
    Cu,
}

/// The turn, and the request in S1.
pub(super) struct Turns {
    turn: Reg<Enum<Turn>>,
    pub head: Head<CuReq, Op>,
    ready: Bool,
}

impl Turns {
    pub fn new(core: &Core, ready: Bool) -> Turns {
        let p = &core.p;
        Turns {
            turn: reg::<Enum<Turn>>("turn", ()),
            head: Head::new(in_channel::<CuReq>("cu_req", &p.spandex.cu()), p),
            ready,
        }
    }

    /// This cycle is the slot of one of these.
    pub fn is(&self, turn: Turn) -> Bool {
        self.turn.get().is(turn)
    }

    /// Takes a request into S1; true while one waits there after this cycle, and its line.
    fn accept(&self, core: &Core, leaves: Bool) -> (Bool, Bits) {
        let (head, m) = (&self.head, &self.head.req.msg);
        unused_input(&m.region);
        unused_input(&m.hint);
        unused_input(&m.remote);
        if !core.p.scopes {
            unused_input(&m.scope);
        }
        unused_input(&m.cmp);
        let (accept, waits) = head.accept(head.req.valid & self.ready, leaves, || {
            head.op.set(if core.p.scopes { Op::scoped(m) } else { Op::of(m, false) });
        });
        let text = "an operation is one that the L1 can carry out";
        assert_always("gpu_l1_legal", !accept | Op::legal(m), text);
        (waits, mux(accept, m.line, head.op.get().line))
    }

    /// Chooses the next slot and presents its row. `leaves`: the request leaves S1; `filling`: the entry of an answer that comes in; `answer`: something is answered.
    pub fn choose(&self, core: &Core, leaves: Bool, filling: Bits, answer: Bool) {
        let (requests, request_line) = self.accept(core, leaves);
        let turn = |t: Turn| enum_lit(t);
        let next = mux(requests, turn(Turn::Cu), turn(Turn::None));
        // Never twice in a row: what it waits for may need the CU's turn.
        let releases = core.releases.ready(answer) & !self.is(Turn::Release);
        let next = mux(releases, turn(Turn::Release), next);
        let fills = core.filler.wants();
        let next = mux(fills, turn(Turn::Fill), next);
        let next = mux(self.ready, next, turn(Turn::None)).named("turn_next");
        self.turn.set(next);
        let fill_line = core.filler.present(&core.mshrs, filling);
        let line = mux(next.is(Turn::Release), core.releases.queue.head.line, request_line);
        core.arrays.present(mux(next.is(Turn::Fill), fill_line, line));
    }
}
