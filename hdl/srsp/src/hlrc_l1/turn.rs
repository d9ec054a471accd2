//! Whose slot the next cycle is.

use super::Core;
use super::plan::Plan;
use crate::write_combining::head;
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
pub(super) type Turns = head::Turns<Turn, ()>;

impl Turns {
    /// Chooses the next slot and presents its row.
    pub(super) fn choose(&self, core: &Core, plan: &Plan) {
        let (requests, request_line) = self.head.accept(plan.leaves & self.is(Turn::Cu));
        let (fills, capture) = (core.filler.wants(), &core.capture);
        let wants = [
            (Turn::Cu, requests & core.gate_open()),
            (Turn::Drain, core.drain.wants(&core.sfifo)),
            (Turn::Sync, core.sync.wants(core, self.is(Turn::Sync))),
            (Turn::Hand, capture.wants_hand(core, self.is(Turn::Hand))),
            (Turn::Probe, capture.wants_probe(self.is(Turn::Probe))),
            (Turn::Fill, fills),
        ];
        let next = self.choose_among(&wants);
        when(fills, || core.filler.present(&core.misses.all)).otherwise(|| core.sync.present(core));
        let lines = [
            (Turn::Fill, core.misses.miss(core.filler.entry.get()).line),
            (Turn::Probe, capture.probed_line(&core.p)),
            (Turn::Sync, core.sync.walk_line()),
            (Turn::Drain, core.sfifo.oldest_next()),
        ];
        core.arrays.present(head::line_of(next, &lines, request_line));
    }
}
