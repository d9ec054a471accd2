//! The output queues and who may use them when.
//!
//! Stage 2 always finds room, because an operation enters stage 0 only with three places left (its own and one for each
//! stage ahead). The fill engine and finished directory operations use the cycles that stage 2 leaves; when it leaves none, requests are
//! held for a cycle.

use super::dirops::DirOps;
use super::mshr::Tally;
use super::params::L2Params;
use super::queue::OutQueue;
use crate::common::fifo::Fifo;
use crate::msg::{DirRecv, InvDone, L1Rsp, MemReq, RecvDone, ReqKind, ReqMsg, RspMsg};
use weft_rtl::prelude::*;

/// Atomics of GPU scope that may wait for their line at a GPU home: at most half of the directory operations, since those of home lines must not
/// wait for other GPUs.
const LATE: u32 = 4;

/// Received Invs that may wait for the directory: more than the ingress delivers before they are applied, so that none waits at the bank's input and
/// holds the Invs of this GPU behind it.
const RECV: u32 = 16;

fn late_limit(p: &L2Params) -> u32 {
    LATE.min(p.sys.l2_mshrs / 2)
}

/// Output queues of the bank, without the directory's.
pub(super) struct Outputs {
    pub local: OutQueue<L1Rsp>,
    pub remote: OutQueue<RspMsg>,
    pub request: OutQueue<ReqMsg>,
    pub mem: OutQueue<MemReq>,
    pub inv_done: OutQueue<InvDone>,
    /// Stage 1 gives an Inv back.
    inv_applied: Wire<Bool>,
    /// Requests that a GPU home passes on to other GPUs.
    pub pass: Option<OutQueue<ReqMsg>>,
    /// Results of atomics that had waited for their line: they go before what is in `pass`, and none waits for room.
    late: Option<(Fifo<ReqMsg>, Tally)>,
    /// Invs of other GPUs, to the directory of the GPU home. The ingress lets at most eight of a bank be under way, so that there is always room.
    pub recv: Option<OutQueue<DirRecv>>,
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
            inv_applied: flag("s1_inv_applied"),
            pass: p.hier.then(|| OutQueue::new("far_out", &p.sys, 8)),
            late: p.hier.then(|| (Fifo::new("late", late_limit(p), &p.sys), Tally::new("late_used", 4))),
            recv: (p.hier && p.dir).then(|| OutQueue::new("recv_out", &p.sys, RECV)),
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

    /// A further atomic may wait for its line at this GPU home; `stage1`: one may be entering.
    pub fn late_room(&self, stage1: Bool) -> Bool {
        let Some((_, used)) = &self.late else { return bool_lit(true) };
        let (used, all) = (used.now.get(), u64::from(late_limit(&self.p)));
        used.lt(all - 1) | (used.lt(all) & !stage1)
    }

    /// An atomic begins to wait for its line.
    pub fn late_begins(&self) {
        self.late.iter().for_each(|(_, used)| used.up.set(true));
    }

    /// Its result leaves for the system home.
    pub fn late_result(&self, msg: &ReqMsg) {
        self.late.iter().for_each(|(queue, _)| queue.push(msg));
    }

    /// Such a result leaves in this cycle.
    pub fn late_goes(&self) -> Bool {
        match (&self.late, &self.pass) {
            (Some((queue, _)), Some(pass)) => queue.valid & pass.out.free,
            _ => bool_lit(false),
        }
    }

    /// An Inv is applied that is passed on to nobody.
    pub fn inv_applied(&self, link: Bits) {
        self.inv_applied.set(true);
        self.inv_done.push(&InvDone { link });
    }

    /// Takes what the directory says of an Inv that it passed on, and gives it back to the ingress.
    fn answer_passed_on(&self) {
        if self.recv.is_none() {
            return;
        }
        let done = in_channel::<RecvDone>("recv_done", &());
        when(done.valid & !self.inv_applied.get() & self.inv_done.room(2), || {
            done.take();
            self.inv_done.push(&InvDone { link: done.msg.link });
        });
    }

    /// Answers of writes and atomics that are done on both sides; `local_done` is called for those of this GPU.
    pub fn answer_finished(&self, ops: &DirOps, local_done: impl FnOnce(Bits)) {
        let done = ops.finished();
        let what = &done.purpose;
        let atom = what.kind.is(ReqKind::Atom);
        let to_local = done.valid & !what.remote & atom;
        let read = what.kind.is(ReqKind::Rd);
        let to_remote = match &ops.kept {
            Some(_) => done.valid & what.remote,
            None => done.valid & what.remote & !read,
        };
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
                src: mux(
                    done.beyond,
                    mux(done.slow, lit(5, 3), lit(4, 3)),
                    mux(done.slow, lit(3, 3), lit(1, 3)),
                ),
            });
        });
        let blank = lit_bv(Bv::zero(self.p.sys.data_bits()));
        let (blank, epoch) = match &ops.kept {
            Some(kept) => {
                when(send_remote & read, || kept.leave(done.index));
                (mux(read, kept.line(done.index), blank), mux(read, lit(0, 1), what.epoch))
            }
            None => (blank, what.epoch),
        };
        when(send_remote, || {
            self.remote.push(&RspMsg {
                kind: what.kind,
                src: self.own(),
                dst: what.who.resize(self.p.sys.node_bits()),
                bank: self.bank.get(),
                id: what.id.resize(self.p.sys.l2_id_bits()),
                epoch,
                data: mux(atom, old, blank),
                from_dram: done.slow,
                owner: None,
            });
        });
        let end = (send_local | send_remote | silent).named("op_ends");
        when(end, || ops.end(done.index));
        let counted = done.ask.map_or(end & !what.remote, |ask| end & !what.remote & !ask);
        when(counted, || local_done(what.epoch));
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
        self.answer_passed_on();
        self.inv_done.connect();
        self.recv.iter().for_each(OutQueue::connect);
        if let (Some(pass), Some((late, used))) = (&self.pass, &self.late) {
            when(self.late_goes(), || {
                late.pop();
                used.down.set(true);
            });
            pass.connect_behind(late.valid, &late.head);
            used.connect();
        }
    }
}
