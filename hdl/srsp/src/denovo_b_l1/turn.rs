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
    /// That of a REVOKE or READ.
    Probe,
    /// The sync unit's.
    Sync,
    /// The drain's.
    Drain,
    /// That of the request in S1.
    Cu,
}

/// The turn; noted is that a pop has found its line's UNREG under way: the next one waits for an UNREG_ACK.
pub(super) type Turns = head::Turns<Turn, Reg<Bool>>;

impl Turns {
    /// Chooses the next slot and presents its row.
    pub(super) fn choose(&self, core: &Core, plan: &Plan) {
        let (requests, request_line) = self.head.accept(plan.leaves & self.is(Turn::Cu));
        let fills = core.filler.wants();
        // An UNREG_ACK of the cycle in which a pop is refused may be the one that it waits for.
        when(core.unregs.acknowledged(), || self.note.set(false))
            .elsewhen(self.is(Turn::Drain) & plan.own.behind_unreg, || self.note.set(true));
        // A pop that cannot go takes no slot from others.
        let pops = core.drain.wants(&core.sfifo) & core.can_register() & !self.note.get();
        let wants = [
            (Turn::Cu, requests & core.gate_open()),
            (Turn::Drain, pops),
            (Turn::Sync, core.sync.wants(core, self.is(Turn::Sync))),
            (Turn::Probe, core.owner.wants(core, self.is(Turn::Probe))),
            (Turn::Fill, fills),
        ];
        let next = self.choose_among(&wants);
        core.filler.present(&core.misses.all);
        let lines = [
            (Turn::Fill, core.misses.miss(core.filler.entry.get()).line),
            (Turn::Probe, core.owner.line(&core.p)),
            (Turn::Sync, core.sync.line()),
            (Turn::Drain, core.sfifo.oldest_next()),
        ];
        core.arrays.present(head::line_of(next, &lines, request_line));
    }
}
