//! Capture buffer: the one owned line that leaves, from the slot in which it is copied to its message to the L2; and the probe channel, on which only REVOKEs come (srsp.md
//! section 9).
//!
//! | state | values |
//! | --- | --- |
//! | `capture_busy` | a line is held, until REVOKE_ACK or UNREG is sent |
//! | `capture_revoked` | REVOKE_ACK is sent, else UNREG |
//! | `capture_flushed` | its F has completed |
//! | `revoke_parked` | the REVOKE at the head waits: for REG_DATA of its line, or for the buffer |

use super::Core;
use super::arrays::Found;
use super::params::{HlrcInject, HlrcL1Params};
use super::table::{Give, OwnState, Where, revokes};
use crate::msg::{Probe, ProbeOp, WbOp};
use weft_rtl::prelude::*;

/// The buffer, with the REVOKE that is at work.
pub(super) struct Capture {
    pub probe: InChannel<Probe>,
    pub busy: Reg<Bool>,
    line: Reg<Bits>,
    mask: Reg<Bits>,
    data: Reg<Bits>,
    /// WBT entry of an evicted line.
    wbt: Reg<Bits>,
    pub revoked: Reg<Bool>,
    pub flushed: Reg<Bool>,
    parked: Reg<Bool>,
    /// Of the faults: the REVOKE_ACK has gone; the flush before the capture is at work, or done.
    sent: Option<Reg<Bool>>,
    late: Option<(Reg<Bool>, Reg<Bool>)>,
    frees: Wire<Bool>,
    /// An UNREG that is not to be sent, as one bit of the WBT.
    pub released: Wire<Bits>,
}

/// The REVOKE in a slot.
pub(super) struct Revoke {
    row: Decoded<OwnState, Give>,
    here: Bool,
    /// The line is captured in this slot.
    pub captures: Bool,
    /// The REVOKE is done in this slot.
    pub done: Bool,
}

impl Revoke {
    /// The row at work takes an action.
    pub fn does(&self, action: Give) -> Bool {
        self.here & self.row.does(action)
    }
}

impl Capture {
    pub fn new(p: &HlrcL1Params) -> Capture {
        let part = |name: &str, bits: u32| reg::<Bits>(&format!("capture_{name}"), bits).field("capture");
        let flag = |name: &str| reg::<Bool>(name, ());
        let late = p.inject == HlrcInject::LateCapture;
        Capture {
            probe: in_channel::<Probe>("probe", &p.shape.srsp),
            busy: flag("capture_busy"),
            line: part("line", p.shape.srsp.line_bits()),
            mask: part("mask", p.shape.srsp.line),
            data: part("data", p.shape.srsp.data_bits()),
            wbt: reg::<Bits>("capture_wbt", p.shape.srsp.wbt_bits()),
            revoked: flag("capture_revoked"),
            flushed: flag("capture_flushed"),
            parked: flag("revoke_parked"),
            sent: (p.inject == HlrcInject::FlushAfterAck).then(|| flag("capture_sent")),
            late: late.then(|| (flag("capture_late"), flag("capture_late_flushed"))),
            frees: wire_or::<Bool>("capture_frees", (), false),
            released: wire_zero::<Bits>("capture_released", p.shape.srsp.wbt),
        }
    }

    /// The buffer holds a line.
    pub fn holds(&self, line: Bits) -> Bool {
        self.busy.get() & self.line.get().eq(line)
    }

    /// Line of the REVOKE at work.
    pub fn probed_line(&self, p: &HlrcL1Params) -> Bits {
        p.shape.srsp.line_of(self.probe.msg.addr)
    }

    /// The next slot is wanted for a REVOKE.
    pub fn wants_probe(&self, here: Bool) -> Bool {
        self.probe.valid & !self.parked.get() & !here
    }

    /// The line is to be handed over.
    fn ready(&self) -> Bool {
        match &self.sent {
            Some(sent) => self.busy.get() & !sent.get() & (self.flushed.get() | self.revoked.get()),
            None => self.busy.get() & self.flushed.get(),
        }
    }

    /// The next slot is wanted to hand the line over.
    pub fn wants_hand(&self, core: &Core, here: Bool) -> Bool {
        self.ready() & core.l2.wb.free & !here
    }

    /// The REVOKE whose slot this is, if `here`.
    pub fn plan(&self, core: &Core, here: Bool, found: &Found) -> Revoke {
        let m = &self.probe.msg;
        let line = self.probed_line(&core.p);
        let code = |place: Where| enum_lit(place);
        let given = mux(core.wbt.gives_back(line), code(Where::GivenBack), code(Where::Frame));
        let captured = self.holds(line) & !self.revoked.get();
        let place = mux(captured, code(Where::Captured), given);
        let busy = self.busy.get();
        let row = revokes().decode_about(line, here, (found.state, place, busy));
        let text = "the L2 sends REVOKEs alone";
        assert_always("hlrc_l1_revoke", !self.probe.valid | m.op.is(ProbeOp::Revoke), text);
        let text = "a REVOKE comes to the L1 whose line it is about";
        assert_always("hlrc_l1_revoke_here", !self.probe.valid | m.req.eq(core.l2.own), text);
        let waits = self.late.as_ref().map_or(bool_lit(false), |late| !late.1.get());
        let captures = here & row.does(Give::Capture) & !waits;
        let sends = !row.does(Give::Empty) | core.l2.wb.free;
        let done = here & row.does(Give::Done) & sends & (!row.does(Give::Capture) | captures);
        let put_off = row.does(Give::Capture) & !captures;
        row.leads_to_when(!put_off, core.arrays.state_after(found, found.way, found.state));
        Revoke { row, here, captures, done }
    }

    /// Carries a REVOKE out.
    pub fn run(&self, core: &Core, revoke: &Revoke) {
        when(revoke.done, || self.probe.take());
        when(revoke.does(Give::Park), || self.parked.set(true));
        when(revoke.does(Give::Convert), || {
            self.revoked.set(true);
            self.released.set(self.wbt.get().one_hot(core.p.shape.srsp.wbt));
        });
        when(revoke.does(Give::Empty) & core.l2.wb.free, || {
            let none = core.l2.no_bytes();
            let line = self.probed_line(&core.p);
            core.l2.send(WbOp::RevokeAck, line, (bool_lit(false), bool_lit(false)), core.l2.no_wbt(), none);
        });
        if let Some((late, _)) = &self.late {
            when(revoke.does(Give::Capture) & !revoke.captures & !late.get(), || {
                late.set(true);
                self.parked.set(true);
                core.drain.flush_all(core.drain.probe(), &core.sfifo);
            });
        }
    }

    /// Takes a line with its bytes, revoked or evicted; its flush begins.
    pub fn take(&self, core: &Core, line: Bits, (mask, data): (Bits, Bits), revoked: Bool) {
        self.busy.set(true);
        self.line.set(line);
        self.mask.set(mask);
        self.data.set(data);
        self.revoked.set(revoked);
        self.flushed.set(false);
        when(!revoked, || self.wbt.set(core.wbt.reserve(line)));
        let flush = || core.drain.flush_all(core.drain.probe(), &core.sfifo);
        match &self.late {
            None => flush(),
            Some((late, done)) => when(revoked, || {
                self.flushed.set(true);
                late.set(false);
                done.set(false);
            })
            .otherwise(flush),
        }
    }

    /// The slot in which the line is handed over.
    pub fn hand(&self, core: &Core, here: Bool) -> Bool {
        let goes = here & self.ready() & core.l2.wb.free;
        let bytes = (self.mask.get(), self.data.get());
        when(goes & self.revoked.get(), || {
            core.l2.send(
                WbOp::RevokeAck,
                self.line.get(),
                (bool_lit(false), bool_lit(true)),
                core.l2.no_wbt(),
                bytes,
            );
        });
        when(goes & !self.revoked.get(), || {
            let wbt = (self.wbt.get(), lit(0, 1));
            core.l2.send(WbOp::Unreg, self.line.get(), (bool_lit(false), bool_lit(false)), wbt, bytes);
        });
        match &self.sent {
            None => when(goes, || self.free()),
            Some(sent) => {
                when(goes, || sent.set(true));
                when((goes | sent.get()) & self.flushed.get(), || {
                    sent.set(false);
                    self.free();
                })
            }
        };
        goes
    }

    fn free(&self) {
        self.busy.set(false);
        self.frees.set(true);
    }

    /// Declares what happens beside slots.
    pub fn finish(&self, core: &Core) {
        let flushed = core.drain.probe().done.get();
        when(flushed & self.busy.get(), || self.flushed.set(true));
        let granted = core.filler.ends.get() & core.filler.note.get();
        when(granted | self.frees.get(), || self.parked.set(false));
        if let Some((late, done)) = &self.late {
            when(flushed & late.get(), || {
                done.set(true);
                self.parked.set(false);
            });
        }
    }
}
