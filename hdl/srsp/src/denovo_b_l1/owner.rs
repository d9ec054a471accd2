//! The probe channel: REVOKEs and READs of lines that this L1 has registered. A slot answers one at once; nothing is flushed, so nothing is waited for but the channel to the L2.

use super::Core;
use super::arrays::Found;
use super::params::{DenovoInject, DenovoL1Params};
use super::table::{Give, LineState, OwnerOp, Where, probes};
use crate::msg::{OwnerProbe, WbOp};
use weft_rtl::prelude::*;

/// The channel, with the probe at work.
pub(super) struct Owner {
    pub probe: InChannel<OwnerProbe>,
    /// The one at the head waits for REG_DATA of its line.
    parked: Reg<Bool>,
}

/// The probe in a slot.
pub(super) struct Asked {
    row: Decoded<LineState, Give>,
    here: Bool,
    /// It is answered in this slot.
    pub done: Bool,
}

impl Asked {
    /// It is answered, with this action.
    pub fn does(&self, action: Give) -> Bool {
        self.done & self.row.does(action)
    }
}

impl Owner {
    pub fn new(p: &DenovoL1Params) -> Owner {
        let probe = in_channel::<OwnerProbe>("probe", &p.shape.srsp);
        Owner { probe, parked: reg::<Bool>("probe_parked", ()) }
    }

    /// Line of the probe at work.
    pub fn line(&self, p: &DenovoL1Params) -> Bits {
        p.shape.srsp.line_of(self.probe.msg.addr)
    }

    /// The next slot is wanted.
    pub fn wants(&self, core: &Core, here: Bool) -> Bool {
        self.probe.valid & !self.parked.get() & core.l2.wb.free & !here
    }

    /// The probe whose slot this is, if `here`.
    pub fn plan(&self, core: &Core, here: Bool, found: &Found) -> Asked {
        let m = &self.probe.msg;
        let line = self.line(&core.p);
        let place = mux(core.unregs.has(line), enum_lit(Where::GivenBack), enum_lit(Where::Frame));
        let row = probes().decode_about(line, here, (m.op, found.state, place));
        let text = "a probe comes to the L1 whose line it is about";
        assert_always("denovo_b_l1_probe_here", !self.probe.valid | m.req.eq(core.l2.own), text);
        let done = (here & row.does(Give::Done) & core.l2.wb.free).named("probe_done");
        if core.p.inject != DenovoInject::ReadTakes {
            row.leads_to_when(done, core.arrays.state_after(found, found.way, found.state));
        }
        Asked { row, here, done }
    }

    /// Carries it out.
    pub fn run(&self, core: &Core, asked: &Asked, found: &Found) {
        let (p, arrays, reads) = (&core.p, &core.arrays, self.probe.msg.op.is(OwnerOp::Read));
        let none = core.l2.no_bytes();
        when(asked.done, || {
            self.probe.take();
            let empty = asked.row.does(Give::Empty);
            let mask = mux(empty, none.0, arrays.mask(found.way));
            let mask = match p.inject {
                DenovoInject::LostMask => mux(reads, mask, none.0),
                _ => mask,
            };
            let bytes = (mask, mux(empty, none.1, arrays.data(found.way)));
            core.l2.send(WbOp::RevokeAck, self.line(p), (reads, !empty), core.l2.no_wbt(), bytes);
        });
        when(asked.here & asked.row.does(Give::Park), || self.parked.set(true));
        when(asked.does(Give::Line), || arrays.set_state(found, found.way, enum_lit(LineState::I)));
        when(asked.does(Give::Bytes), || match p.inject {
            DenovoInject::ToldAgain => {}
            DenovoInject::ReadTakes => arrays.set_state(found, found.way, enum_lit(LineState::I)),
            _ => arrays.put_mask(found, found.way, none.0),
        });
    }

    /// Declares what happens beside slots.
    pub fn finish(&self, core: &Core) {
        let granted = core.filler.ends.get() & core.filler.note.get();
        when(granted, || self.parked.set(false));
    }
}
