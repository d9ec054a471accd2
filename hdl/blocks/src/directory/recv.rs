//! Received Invs of `hmg-directory` and `hmg-rec-directory` (hmg.md section 4, last column; rec.md section 8.1).
//!
//! ```text
//!  recv -> skid -> register -> lookup in S1 -> S2 clears the slot, and frees the entry with the last one
//!                                  |  \-> inv_l, then recv_done
//!             also, eviction buffer, write-Inv register, inv ports
//! ```
//! A received Inv is taken when the one before it is answered. It then has the array port for a cycle and S1 in the next, whatever waits there: nothing
//! but `inv_l` and `recv_done` is needed for the rest, so an operation that stalls, because the network between GPUs does not take the slice's
//! own Invs, never holds it. It tells whoever is recorded, whoever has been recorded and is not told yet, and the GPMs that the bank names.

use super::evb::Pending;
use super::index::{base_of, near_sharers, nodes_of_sharers, set_of, sharers_of_gpms};
use super::params::DirParams;
use super::types::{Lookup, Plan, Source};
use super::write_inv::WriteInv;
use crate::msg::{DirInv, DirRecv, DirReq, RecvDone};
use weft_rtl::prelude::*;

/// State of the register of received Invs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum RecvState {
    /// Free.
    Idle,
    /// S1 works on it.
    Look,
    /// Passed on, on the `inv_l` port, not yet accepted.
    Sent,
    /// Its answer waits for the `recv_done` port.
    Answer,
}

/// The register, its channels, and what the Inv in it causes.
pub(super) struct Recv {
    pub input: InChannel<DirRecv>,
    pub inv: OutChannel<DirInv>,
    done: OutChannel<RecvDone>,
    pub state: Reg<Enum<RecvState>>,
    pub msg: Reg<DirRecv>,
    /// It is taken; its set is to be presented.
    pub accept: Bool,
    /// The lookup of this cycle is its.
    pub looks: Bool,
}

/// Whom a received Inv tells, by why.
pub(super) struct Told {
    pub recorded: Bits,
    /// Of an eviction Inv that is pending.
    pub evicted: Bits,
    /// Of the write-Inv register.
    pub written: Bits,
    /// Named by the bank.
    pub also: Bits,
    pub all: Bits,
}

impl Recv {
    /// Declares it.
    pub fn new(p: &DirParams, run: Bool) -> Recv {
        let input = in_channel_when::<DirRecv>("recv", &p.sys, run);
        let state = reg::<Enum<RecvState>>("recv_state", ());
        let accept = (input.valid & run & state.get().is(RecvState::Idle)).named("recv_accept");
        let looks = state.get().is(RecvState::Look).named("recv_looks");
        let msg = reg::<DirRecv>("recv_q", p.sys.clone()).field("pipeline");
        when(accept, || {
            input.take();
            msg.set(input.msg);
            state.set(RecvState::Look);
        });
        Recv {
            input,
            inv: out_channel::<DirInv>("inv_l", &p.sys),
            done: out_channel::<RecvDone>("recv_done", &()),
            state,
            msg,
            accept,
            looks,
        }
    }

    /// Whom the Inv in S1 tells; meaningful while it is there.
    pub fn told(
        &self,
        p: &DirParams,
        (look, plan): (&Lookup, &Plan),
        pending: &Pending,
        (write, inv): (&WriteInv, &OutChannel<DirInv>),
    ) -> Told {
        let written = write.pending_sharers(p, look, inv);
        let also = sharers_of_gpms(p, self.msg.get().also);
        let near = near_sharers(p, plan.inv | pending.sharers | written);
        Told {
            recorded: plan.inv,
            evicted: pending.sharers,
            written,
            also,
            all: (near | also).named("recv_told"),
        }
    }

    /// Passes the Inv in S1 on, and answers when that was accepted.
    pub fn run(&self, p: &DirParams, told: &Told) {
        let msg = self.msg.get();
        let answer = || {
            self.done.send(&RecvDone { link: msg.link });
            self.state.set(RecvState::Idle);
        };
        let passes = told.all.any();
        assert_always(
            "recv_inv_free",
            !(self.looks & passes) | self.inv.free,
            "the Inv passed on before has been accepted when the next is looked up",
        );
        switch(self.state.get(), |arms| {
            arms.case(RecvState::Look, || {
                when(passes, || {
                    self.inv.send(&DirInv {
                        line: msg.line,
                        dest: nodes_of_sharers(p, told.all),
                        cause: msg.cause,
                        grp: bool_lit(p.names_groups()),
                        owner: None,
                    });
                    self.state.set(RecvState::Sent);
                })
                .otherwise(|| self.state.set(RecvState::Answer));
            });
            arms.case(RecvState::Sent, || {
                when(self.inv.free & self.done.free, answer)
                    .elsewhen(self.inv.free, || self.state.set(RecvState::Answer));
            });
            arms.case(RecvState::Answer, || {
                when(self.done.free, answer);
            });
        });
    }
}

/// The operation in S1, or the received Inv whose lookup the cycle is.
pub(super) fn source(s1_valid: Bool, req: DirReq, recv: Option<&Recv>) -> Source {
    let Some(recv) = recv else {
        return Source { valid: s1_valid, any: s1_valid, req, event: req.op.bits(), line: req.line };
    };
    let (looks, msg) = (recv.looks, recv.msg.get());
    let received = pack(&[msg.cause.bits(), lit(0, 2), lit(1, 1)]);
    Source {
        valid: (s1_valid & !looks).named("s1_turn"),
        any: s1_valid | looks,
        req,
        event: mux(looks, received, req.op.bits().zext(4)),
        line: mux(looks, msg.line, req.line),
    }
}

/// The set presented for the next cycle: of the received Inv that is taken, else of the operation that is, else of the one that stays in S1.
pub(super) fn next_set(
    p: &DirParams,
    (accept, accepted): (Bool, Bits),
    (kept, looked_up): (Bits, Bits),
    recv: Option<&Recv>,
) -> Bits {
    let set = |line| set_of(p, base_of(p, line));
    match recv {
        None => mux(accept, set(accepted), looked_up),
        // The set looked up may be that of a received Inv.
        Some(recv) => set(mux(recv.accept, recv.input.msg.line, mux(accept, accepted, kept))),
    }
}
