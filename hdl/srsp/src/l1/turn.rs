//! Whose slot the next cycle is.

use super::Core;
use super::op::Op;
use super::stage::Plan;
use weft_blocks::msg::CuReq;
use weft_rtl::prelude::*;

/// Whose slot a cycle is, in order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Turn {
    /// Nobody's.
    None,
    /// The FILL's.
    Fill,
    /// The probe's.
    Probe,
    /// The sync unit's.
    Sync,
    /// That of an atomic being replayed.
    Replay,
    /// The drain's.
    Drain,
    /// That of the request in S1.
    Cu,
}

/// The turn with what it needs.
pub(super) struct Turns {
    pub turn: Reg<Enum<Turn>>,
    /// The MSHR replayed, and which of its targets.
    pub entry: Reg<Bits>,
    pub target: Reg<Bits>,
    /// The last replay had to wait.
    yields: Reg<Bool>,
    pub req: InChannel<CuReq>,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<Op>,
    ready: Bool,
}

impl Turns {
    pub fn new(core: &Core, ready: Bool) -> Turns {
        let p = &core.p;
        Turns {
            turn: reg::<Enum<Turn>>("turn", ()),
            entry: reg::<Bits>("replay_entry", p.srsp.mshr_bits()),
            target: reg::<Bits>("replay_target", p.target_bits()),
            yields: reg::<Bool>("replay_yields", ()),
            req: in_channel::<CuReq>("cu_req", &p.srsp.cu()),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<Op>("s1", p.clone()).field("pipeline"),
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
        let open = core.gate.open();
        let (misses, sfifo) = (&core.misses, &core.sfifo);
        let replaying = misses.replaying() & !core.filler_entry();
        let replays = replaying.any() & open & !self.is(Turn::Replay);
        let cu = requests & open;
        let drains = core.drain.wants(sfifo);
        let turn = |t: Turn| enum_lit(t);
        let next = mux(self.yields.get() & replays, turn(Turn::Replay), turn(Turn::None));
        let next = mux(cu, turn(Turn::Cu), next);
        let next = mux(drains, turn(Turn::Drain), next);
        let next = mux(replays & !self.yields.get(), turn(Turn::Replay), next);
        let next = mux(core.sync.wants(core, self.is(Turn::Sync)), turn(Turn::Sync), next);
        let next = mux(core.probe.wants(self.is(Turn::Probe)), turn(Turn::Probe), next);
        let fills = core.filler.wants();
        let next = mux(fills, turn(Turn::Fill), next);
        let next = mux(self.ready, next, turn(Turn::None)).named("turn_next");
        self.turn.set(next);
        let waited = self.is(Turn::Replay) & !plan.leaves;
        when(waited, || self.yields.set(true))
            .elsewhen(next.is_any(&[Turn::Drain, Turn::Cu]), || self.yields.set(false));
        let entry = misses.choose(replaying);
        when(next.is(Turn::Replay), || {
            self.entry.set(entry);
            self.target.set(misses.waiting(entry).left.lowest_set());
            misses.chosen(entry);
        });
        let first = misses.waiting(entry).left.lowest_set();
        when(fills, || core.filler.present(misses)).otherwise(|| misses.present(entry, first));
        let lines = [
            (Turn::Fill, misses.line(core.filler.entry.get())),
            (Turn::Probe, core.p.srsp.line_of(core.probe.probe.msg.addr)),
            (Turn::Sync, core.sync.line(&core.p)),
            (Turn::Replay, misses.line(entry)),
            (Turn::Drain, sfifo.oldest_next()),
        ];
        let line = lines.iter().fold(request_line, |rest, (t, line)| mux(next.is(*t), *line, rest));
        core.arrays.present(line);
    }
}

impl Core {
    /// The MSHR whose FILL is at work, one bit: its targets are not yet to be replayed.
    fn filler_entry(&self) -> Bits {
        let n = self.p.srsp.mshrs;
        self.filler.entry.get().one_hot(n) & self.filler.valid.get().repeat(n)
    }
}
