//! Stage 0: which head enters the pipeline. A head enters only with everything reserved that it may need (rec.md section 5):
//! priority INV, then ends of fills, then flush, then remote and local requests in turn.

use super::dirops::DirOps;
use super::fence::Fence;
use super::fill::Fill;
use super::mshr::{Mshrs, Tally};
use super::outputs::Outputs;
use super::params::L2Params;
use super::sinks::{InvSink, ReqSink};
use super::tags::Tags;
use super::types::{Class, Demand, Op};
use crate::msg::ReqKind;
use weft_rtl::prelude::*;

/// Stage 0 and the register of stage 1.
pub(super) struct Select {
    pub inv: InvSink,
    pub remote: ReqSink,
    pub local: ReqSink,
    /// An operation is in stage 1.
    pub s1_valid: Reg<Bool>,
    /// The operation in stage 1.
    pub s1: Reg<Op>,
    turn: Reg<Bool>,
    inv_run: Reg<Bits>,
    p: L2Params,
}

/// What a head lacks, for observers.
pub(super) struct Lacks {
    pub mshr: Bool,
    /// Only the quota of remote-homed lines is used up.
    pub quota: Bool,
    pub egress: Bool,
    pub write_back: Bool,
    pub directory: Bool,
}

impl Lacks {
    /// Nothing is lacking.
    pub fn nothing(&self) -> Bool {
        !(self.mshr | self.quota | self.egress | self.write_back | self.directory)
    }
}

/// The decision of a cycle, for observers.
pub(super) struct Choice {
    pub end_ok: Bool,
    pub remote_ok: Bool,
    pub local_ok: Bool,
    pub inv: Bool,
    pub end: Bool,
    pub flush: Bool,
    pub remote: Bool,
    pub local: Bool,
    pub remote_lacks: Lacks,
    pub local_lacks: Lacks,
    /// An invalidation was made to wait after four in a row.
    pub inv_limited: Bool,
}

impl Select {
    /// Declares channels and registers.
    pub fn new(p: &L2Params) -> Select {
        Select {
            inv: InvSink::new(p),
            remote: ReqSink::remote(p),
            local: ReqSink::local(p),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<Op>("s1", p.clone()),
            turn: reg::<Bool>("turn_local", ()),
            inv_run: reg::<Bits>("inv_run", 3),
            p: p.clone(),
        }
    }

    /// A request is in stage 1.
    pub fn s1_demand(&self) -> Bool {
        self.s1_valid.get() & self.s1.get().class.is_any(&[Class::Remote, Class::Local])
    }

    fn mshr_room(&self, tally: &Tally, all: u32) -> Bool {
        let used = tally.now.get();
        used.lt(u64::from(all - 1)) | (used.lt(u64::from(all)) & !self.s1_demand())
    }

    fn lacks(&self, req: &Demand, remote: bool, m: &Mshrs, ops: &DirOps, outs: &Outputs) -> Lacks {
        let (n, pool) = (self.p.sys.l2_mshrs, self.p.pool);
        let any = self.mshr_room(&m.used, n) & self.mshr_room(&m.pool_count, pool);
        let quota = self.mshr_room(&m.used_remote, self.p.mshr_quota())
            & self.mshr_room(&m.pool_remote, self.p.pool_quota());
        let away = !req.homed;
        let opens = req.homed | !req.kind.is(ReqKind::Wr);
        let egress = if remote {
            outs.remote.room(3)
        } else {
            outs.local.room(3) & (req.homed | outs.request.room(3))
        };
        Lacks {
            mshr: opens & !any,
            quota: opens & away & any & !quota,
            egress: !egress,
            write_back: !outs.mem.room(3),
            directory: req.homed & ops.needed(bool_lit(remote), req) & !ops.room(self.s1_demand()),
        }
    }

    /// Chooses and moves a head into stage 1.
    pub fn connect(
        &self,
        m: &Mshrs,
        ops: &DirOps,
        outs: &Outputs,
        tags: &Tags,
        fill: &Fill,
        fence: &Fence,
    ) -> Choice {
        let ready = tags.ready.get();
        let remote_lacks = self.lacks(&self.remote.head, true, m, ops, outs);
        let local_lacks = self.lacks(&self.local.head, false, m, ops, outs);
        let calm = ready & !outs.denied.get();
        let remote_ok = (self.remote.valid & calm & remote_lacks.nothing()).named("s0_remote_ok");
        let local_ok = (self.local.valid & calm & local_lacks.nothing() & fence.room()).named("s0_local_ok");
        let end_ok = (fill.asks() & outs.mem.room(3)).named("s0_end_ok");
        let s1_flush = self.s1_valid.get() & self.s1.get().class.is(Class::Flush);
        let flush_ok = fence.asks() & !s1_flush & outs.mem.room(3);
        let inv_ok = (self.inv.channel.valid & ready & outs.inv_done.room(2)).named("s0_inv_ok");
        let others = end_ok | flush_ok | remote_ok | local_ok;
        let inv_limited = inv_ok & self.inv_run.get().eq(4) & others;
        let inv = (inv_ok & !inv_limited).named("s0_inv");
        let end = (!inv & end_ok).named("s0_end");
        let flush = (!inv & !end & flush_ok).named("s0_flush");
        let request = !inv & !end & !flush;
        let remote = (request & remote_ok & (!local_ok | !self.turn.get())).named("s0_remote");
        let local = (request & local_ok & (!remote_ok | self.turn.get())).named("s0_local");
        when(remote, || self.turn.set(true));
        when(local, || self.turn.set(false));
        when(inv, || when_below(&self.inv_run, 4)).elsewhen(others | !inv_ok, || self.inv_run.set(0));
        let choice = Choice {
            end_ok,
            remote_ok,
            local_ok,
            inv,
            end,
            flush,
            remote,
            local,
            remote_lacks,
            local_lacks,
            inv_limited,
        };
        self.enter(&choice, m, tags, fill, fence);
        choice
    }

    fn enter(&self, choice: &Choice, m: &Mshrs, tags: &Tags, fill: &Fill, fence: &Fence) {
        let shape = self.p.clone();
        let class = wire_zero::<Enum<Class>>("s0_class", ());
        let req = wire_zero::<Demand>("s0_req", shape.clone());
        let line = wire_zero::<Bits>("s0_line", self.p.sys.line_bits());
        let go = choice.inv | choice.end | choice.flush | choice.remote | choice.local;
        when(choice.inv, || {
            class.set(Class::Inv);
            line.set(self.inv.line);
            self.inv.take();
        })
        .elsewhen(choice.end, || {
            class.set(Class::End);
            line.set(m.line_of(fill.mshr.get()));
            fill.granted();
        })
        .elsewhen(choice.flush, || class.set(Class::Flush))
        .elsewhen(choice.remote, || {
            class.set(Class::Remote);
            req.set(self.remote.head);
            line.set(self.remote.head.line);
            self.remote.take();
        })
        .elsewhen(choice.local, || {
            class.set(Class::Local);
            req.set(self.local.head);
            line.set(self.local.head.line);
            self.local.take();
        });
        let set = mux(choice.flush, fence.set.get(), self.p.set_of(line.get())).named("s0_set");
        let demand = choice.remote | choice.local;
        let homed = mux(demand, req.get().homed, self.p.sys.home_of(line.get()).eq(u64::from(self.p.home)));
        self.s1_valid.set(go);
        when(go, || {
            tags.present(set);
            self.s1.set(Op {
                class: class.get(),
                req: Demand { line: line.get(), homed, ..req.get() },
                cause: self.inv.channel.msg.cause,
                link: self.inv.channel.msg.link,
                last: self.inv.last,
                set,
            });
        });
    }
}

fn when_below(counter: &Reg<Bits>, limit: u64) {
    when(counter.get().ne(limit), || counter.set(counter.get() + 1));
}
