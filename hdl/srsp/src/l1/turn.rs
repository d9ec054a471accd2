//! Whose slot the next cycle is.

use super::Core;
use super::plan::Plan;
use crate::write_combining::{Shape, head};
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

/// What is noted of a replay.
pub(super) struct Replay {
    /// The MSHR replayed, and which of its targets.
    pub entry: Reg<Bits>,
    pub target: Reg<Bits>,
    /// The last replay had to wait.
    yields: Reg<Bool>,
}

impl Replay {
    pub fn new(p: &Shape) -> Replay {
        Replay {
            entry: reg::<Bits>("replay_entry", p.srsp.mshr_bits()),
            target: reg::<Bits>("replay_target", p.target_bits()),
            yields: reg::<Bool>("replay_yields", ()),
        }
    }
}

/// The turn with what it needs.
pub(super) type Turns = head::Turns<Turn, Replay>;

impl Turns {
    /// Chooses the next slot and presents its row.
    pub(super) fn choose(&self, core: &Core, plan: &Plan) {
        let (requests, request_line) = self.head.accept(plan.leaves & self.is(Turn::Cu));
        let open = core.gate.open();
        let (misses, sfifo) = (&core.misses, &core.sfifo);
        let replaying = misses.replaying() & !core.filler_entry();
        let replays = replaying.any() & open & !self.is(Turn::Replay);
        let cu = requests & open;
        let drains = core.drain.wants(sfifo);
        let turn = |t: Turn| enum_lit(t);
        let next = mux(self.note.yields.get() & replays, turn(Turn::Replay), turn(Turn::None));
        let next = mux(cu, turn(Turn::Cu), next);
        let next = mux(drains, turn(Turn::Drain), next);
        let next = mux(replays & !self.note.yields.get(), turn(Turn::Replay), next);
        let next = mux(core.sync.wants(core, self.is(Turn::Sync)), turn(Turn::Sync), next);
        let next = mux(core.probe.wants(self.is(Turn::Probe)), turn(Turn::Probe), next);
        let fills = core.filler.at.wants();
        let next = mux(fills, turn(Turn::Fill), next);
        let next = mux(self.head.ready, next, turn(Turn::None)).named("turn_next");
        self.turn.set(next);
        let waited = self.is(Turn::Replay) & !plan.leaves;
        when(waited, || self.note.yields.set(true))
            .elsewhen(next.is_any(&[Turn::Drain, Turn::Cu]), || self.note.yields.set(false));
        let entry = misses.choose(replaying);
        when(next.is(Turn::Replay), || {
            self.note.entry.set(entry);
            self.note.target.set(misses.all.waiting(entry).left.lowest_set());
            misses.chosen(entry);
        });
        let first = misses.all.waiting(entry).left.lowest_set();
        when(fills, || core.filler.at.present(&misses.all)).otherwise(|| misses.all.present(entry, first));
        let lines = [
            (Turn::Fill, misses.line(core.filler.at.entry.get())),
            (Turn::Probe, core.p.shape.srsp.line_of(core.probe.probe.msg.addr)),
            (Turn::Sync, core.sync.line(&core.p)),
            (Turn::Replay, misses.line(entry)),
            (Turn::Drain, sfifo.oldest_next()),
        ];
        core.arrays.present(head::line_of(next, &lines, request_line));
    }
}

impl Core {
    /// The MSHR whose FILL is at work, one bit: its targets are not yet to be replayed.
    fn filler_entry(&self) -> Bits {
        let n = self.p.shape.srsp.mshrs;
        self.filler.at.entry.get().one_hot(n) & self.filler.at.valid.get().repeat(n)
    }
}
