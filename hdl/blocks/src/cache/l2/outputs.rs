//! The output queues and who may use them when.
//!
//! Stage 2 always finds room, because an operation enters stage 0 only with three places left (its own and one for each
//! stage ahead). The fill engine and finished directory operations use the cycles that stage 2 leaves; when it leaves none, requests are
//! held for a cycle.

use super::dirops::DirOps;
use super::params::L2Params;
use super::queue::OutQueue;
use crate::msg::{InvDone, L1Rsp, MemReq, ReqKind, ReqMsg, RspMsg};
use weft_rtl::prelude::*;

/// Output queues of the bank, without the directory's.
pub(super) struct Outputs {
    pub local: OutQueue<L1Rsp>,
    pub remote: OutQueue<RspMsg>,
    pub request: OutQueue<ReqMsg>,
    pub mem: OutQueue<MemReq>,
    pub inv_done: OutQueue<InvDone>,
    /// Stage 2 sends an L1Rsp, a RspMsg, finishes a data step.
    pub s2_local: Wire<Bool>,
    pub s2_remote: Wire<Bool>,
    pub s2_data: Wire<Bool>,
    /// The fill engine wants to.
    pub fill_local: Wire<Bool>,
    pub fill_remote: Wire<Bool>,
    pub fill_data: Wire<Bool>,
    /// Somebody was held back by stage 2 in the cycle before.
    pub denied: Reg<Bool>,
    /// Number of this bank, learnt from the lines served.
    pub bank: Reg<Bits>,
    p: L2Params,
}

impl Outputs {
    /// Declares queues and channels.
    pub fn new(p: &L2Params) -> Outputs {
        let flag = |name| wire_or::<Bool>(name, (), false);
        Outputs {
            local: OutQueue::new("local_rsp", &p.sys, 8),
            remote: OutQueue::new("rsp_out", &p.sys, 8),
            request: OutQueue::new("req_out", &p.sys, 8),
            mem: OutQueue::new("mem_req", &p.sys, 8),
            inv_done: OutQueue::new("inv_done", &(), 4),
            s2_local: flag("s2_sends_local"),
            s2_remote: flag("s2_sends_remote"),
            s2_data: flag("s2_does_data"),
            fill_local: flag("fill_wants_local"),
            fill_remote: flag("fill_wants_remote"),
            fill_data: flag("fill_wants_data"),
            denied: reg::<Bool>("slot_denied", ()),
            bank: reg::<Bits>("bank", p.sys.bank_bits()),
            p: p.clone(),
        }
    }

    /// This GPU's number.
    pub fn own(&self) -> Bits {
        lit(u64::from(self.p.home), self.p.sys.node_bits())
    }

    /// The fill engine may send an L1Rsp.
    pub fn local_slot(&self) -> Bool {
        !self.s2_local.get() & self.local.room(2)
    }
    /// The fill engine may send a RspMsg.
    pub fn remote_slot(&self) -> Bool {
        !self.s2_remote.get() & self.remote.room(2)
    }
    /// The fill engine may finish a data step.
    pub fn data_slot(&self) -> Bool {
        !self.s2_data.get()
    }

    /// Answers of writes and atomics that are done on both sides; `local_done` is called for those of this GPU.
    pub fn answer_finished(&self, ops: &DirOps, local_done: impl FnOnce(Bits)) {
        let done = ops.finished();
        let what = &done.purpose;
        let atom = what.kind.is(ReqKind::Atom);
        let to_local = done.valid & !what.remote & atom;
        let to_remote = done.valid & what.remote & !what.kind.is(ReqKind::Rd);
        let silent = done.valid & !to_local & !to_remote;
        let send_local = to_local & self.local_slot() & !self.fill_local.get();
        let send_remote = to_remote & self.remote_slot() & !self.fill_remote.get();
        let old = pack(&vec![done.old; self.p.sys.line as usize / 8]);
        when(send_local, || {
            self.local.push(&L1Rsp {
                kind: what.kind,
                l1: what.who.resize(self.p.sys.l1_bits()),
                id: what.id.resize(self.p.sys.l1_id_bits()),
                data: old,
                src: mux(done.slow, lit(3, 3), lit(1, 3)),
            });
        });
        when(send_remote, || {
            self.remote.push(&RspMsg {
                kind: what.kind,
                src: self.own(),
                dst: what.who.resize(self.p.sys.node_bits()),
                bank: self.bank.get(),
                id: what.id.resize(self.p.sys.l2_id_bits()),
                epoch: what.epoch,
                data: mux(atom, old, lit_bv(Bv::zero(self.p.sys.data_bits()))),
                from_dram: done.slow,
            });
        });
        let end = (send_local | send_remote | silent).named("op_ends");
        when(end, || ops.end(done.index));
        when(end & !what.remote, || local_done(what.epoch));
        let denied = ((self.fill_local.get() | to_local) & self.s2_local.get())
            | ((self.fill_remote.get() | to_remote) & self.s2_remote.get())
            | (self.fill_data.get() & self.s2_data.get());
        self.denied.set(denied);
    }

    /// Moves messages; called once, after all pushes.
    pub fn connect(&self) {
        self.local.connect();
        self.remote.connect();
        self.request.connect();
        self.mem.connect();
        self.inv_done.connect();
    }
}
