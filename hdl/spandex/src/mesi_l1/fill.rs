//! An answer at work: the line is installed, then the operations that wait for it are done one per cycle, then Done tells the unit below. Nothing comes between, and nothing is waited
//! for but the core and `l1_up`, which always take.

use super::mshrs::Mshrs;
use super::params::MesiL1Params;
use crate::mesi_port::{DownOp, LineState, MesiDown};
use weft_rtl::prelude::*;

/// The answer at work.
pub(super) struct Filler {
    pub down: InChannel<MesiDown>,
    /// Operations follow.
    pub serves: Reg<Bool>,
    /// All that could be done is done: Done follows.
    pub ends: Reg<Bool>,
    /// Operations are left that need ownership.
    pub rest: Reg<Bool>,
    /// The line is used once.
    pub once: Reg<Bool>,
    pub mshr: Reg<Bits>,
    pub peer: Reg<Bool>,
    /// Some operation of the list was done before.
    pub merged: Reg<Bool>,
    entry: Reg<Bits>,
    entry_next: Wire<Bits>,
    installs: Wire<Bool>,
    over: Wire<Bool>,
}

impl Filler {
    pub fn new(p: &MesiL1Params) -> Filler {
        let flag = |name: &str| reg::<Bool>(name, ());
        let entry = reg::<Bits>("fill_entry", p.entry_bits()).field("pipeline");
        Filler {
            down: in_channel::<MesiDown>("l1_down", &p.port),
            serves: flag("fill_serves"),
            ends: flag("fill_ends"),
            rest: flag("fill_rest"),
            once: flag("fill_once"),
            mshr: reg::<Bits>("fill_mshr", p.port.spandex.mshr_bits()).field("pipeline"),
            peer: flag("fill_peer"),
            merged: flag("fill_merged"),
            entry_next: wire_or::<Bits>("fill_entry_next", p.entry_bits(), entry.get()),
            entry,
            installs: wire_or::<Bool>("fill_installs", (), false),
            over: wire_or::<Bool>("fill_over", (), false),
        }
    }

    fn works(&self) -> Bool {
        self.serves.get() | self.ends.get()
    }

    /// An answer waits to be installed.
    pub fn waits(&self) -> Bool {
        self.down.valid & self.down.msg.op.is(DownOp::Data) & !self.works()
    }

    /// The answer is installed; its operations follow.
    pub fn install(&self, mshrs: &Mshrs) {
        let m = &self.down.msg;
        self.down.take();
        self.installs.set(true);
        self.serves.set(true);
        self.rest.set(false);
        self.merged.set(false);
        self.once.set(m.state.is(LineState::I));
        self.mshr.set(m.tag);
        self.peer.set(m.peer);
        self.entry_next.set(mshrs.first(m.tag));
    }

    /// Number of the operation at work.
    pub fn entry(&self) -> Bits {
        self.entry.get()
    }

    /// The operation at work is done.
    pub fn served(&self, mshrs: &Mshrs, wrote: Bool) {
        let (mshr, entry) = (self.mshr.get(), self.entry.get());
        mshrs.done(entry, wrote);
        self.merged.set(true);
        when(mshrs.is_last(mshr, entry), || {
            self.serves.set(false);
            self.ends.set(true);
        })
        .otherwise(|| self.entry_next.set(mshrs.next(entry)));
    }

    /// The operation at work needs ownership.
    pub fn stops(&self) {
        self.serves.set(false);
        self.ends.set(true);
        self.rest.set(true);
    }

    /// Done is sent.
    pub fn end(&self) {
        self.ends.set(false);
        self.over.set(true);
    }

    /// The next slot is wanted.
    pub fn wants(&self) -> Bool {
        (self.waits() | self.works()) & !self.over.get()
    }

    /// Line of the next slot.
    pub fn line(&self, mshrs: &Mshrs) -> Bits {
        mshrs.miss(mux(self.works(), self.mshr.get(), self.down.msg.tag)).line
    }

    /// Presents the next operation; call it when the next slot is the filler's.
    pub fn present(&self, mshrs: &Mshrs) {
        mshrs.present(self.entry_next.get());
    }

    /// Declares what stays, after all slots.
    pub fn finish(&self, mshrs: &Mshrs) {
        self.entry.set(self.entry_next.get());
        let text = "an answer names a line that is waited for";
        let open = mshrs.is_busy(self.down.msg.tag);
        assert_always("mesi_l1_answer_known", !self.installs.get() | open, text);
    }
}
