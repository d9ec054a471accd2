//! The write-Inv register of a directory slice: one Inv that an operation causes at once, and the answer that waits for it.

use super::index::{base_of, nodes_of_sharers, slot_of};
use super::params::DirParams;
use super::types::{Lookup, Plan};
use crate::msg::{Cause, DirInv, DirRsp};
use weft_rtl::prelude::*;

/// State of the write-Inv register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum WriteInvState {
    /// Free.
    Idle,
    /// Waits for the `inv` port.
    Want,
    /// On the `inv` port, not yet accepted.
    Sent,
    /// Accepted; its answer waits for the `rsp` port.
    Answer,
}

/// The register.
pub(super) struct WriteInv {
    pub state: Reg<Enum<WriteInvState>>,
    pub line: Reg<Bits>,
    pub sharers: Reg<Bits>,
    id: Reg<Bits>,
}

impl WriteInv {
    /// Declares it.
    pub fn new(p: &DirParams) -> WriteInv {
        let field = |name, width| reg::<Bits>(name, width).field("pipeline");
        WriteInv {
            state: reg::<Enum<WriteInvState>>("write_inv_state", ()),
            line: field("write_inv_line", p.sys.line_bits()),
            sharers: field("write_inv_sharers_q", p.sharers()),
            id: field("write_inv_id", p.sys.dir_id_bits()),
        }
    }

    /// What it holds is for the slot that is looked up.
    pub fn is_for(&self, p: &DirParams, look: &Lookup) -> Bool {
        let line = self.line.get();
        let base = base_of(p, line).eq(look.base);
        if p.slots() == 1 { base } else { base & slot_of(p, line).eq(look.slot) }
    }

    /// Sharers of the slot that is looked up whose Inv has not been accepted yet.
    pub fn pending_sharers(&self, p: &DirParams, look: &Lookup, inv: &OutChannel<DirInv>) -> Bits {
        let state = self.state.get();
        let waits = state.is(WriteInvState::Want) | (state.is(WriteInvState::Sent) & !inv.free);
        let here = waits & self.is_for(p, look);
        self.sharers.get() & here.repeat(p.sharers())
    }

    /// Takes the Inv of the operation that leaves S1, if it has one; puts it onto the port before any of the expander's, and answers when it was accepted.
    pub fn run(
        &self,
        p: &DirParams,
        (taken, look, plan): (Bool, &Lookup, &Plan),
        inv: &OutChannel<DirInv>,
        rsp: &OutChannel<DirRsp>,
    ) {
        let no = bool_lit(false);
        let answer = || {
            rsp.send(&DirRsp { id: self.id.get(), hit: bool_lit(true), evicted: no, empty: no, owner: None });
            self.state.set(WriteInvState::Idle);
        };
        when(taken, || {
            self.state.set(WriteInvState::Want);
            self.line.set(look.req.line);
            self.sharers.set(plan.inv);
            self.id.set(look.req.id);
        });
        switch(self.state.get(), |arms| {
            arms.case(WriteInvState::Want, || {
                when(inv.free, || {
                    self.state.set(WriteInvState::Sent);
                    inv.send(&DirInv {
                        line: self.line.get(),
                        dest: nodes_of_sharers(p, self.sharers.get()),
                        cause: enum_lit(Cause::Write),
                        grp: bool_lit(p.names_groups()),
                        owner: None,
                    });
                });
            });
            arms.case(WriteInvState::Sent, || {
                when(inv.free & rsp.free, answer)
                    .elsewhen(inv.free, || self.state.set(WriteInvState::Answer));
            });
            arms.case(WriteInvState::Answer, || {
                when(rsp.free, answer);
            });
        });
    }
}
