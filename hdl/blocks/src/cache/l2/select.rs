//! Stage 0: which head enters the pipeline. A head enters only with everything reserved that it may need (rec.md section 5):
//! priority INV, then ends of fills, then flush, then remote and local requests in turn.

use super::dirops::DirOps;
use super::down::Down;
use super::fence::Fence;
use super::fill::Fill;
use super::mshr::{Mshrs, Tally};
use super::outputs::Outputs;
use super::params::L2Params;
use super::sinks::{InvSink, ReqSink};
use super::tags::Tags;
use super::types::{Class, Demand, Op};
use crate::common::arbiter::RoundRobin;
use crate::msg::ReqKind;
use weft_rtl::prelude::*;

/// Stage 0 and the register of stage 1.
pub(super) struct Select {
    pub inv: InvSink,
    pub remote: ReqSink,
    pub local: ReqSink,
    /// Requests of other GPUs in a hierarchy, and the order of the three queues.
    pub far: Option<(ReqSink, RoundRobin)>,
    /// An operation is in stage 1.
    pub s1_valid: Reg<Bool>,
    /// The operation in stage 1.
    pub s1: Reg<Op>,
    /// Of a flat bank: the local head is next.
    turn: Option<Reg<Bool>>,
    inv_run: Reg<Bits>,
    /// The operation stays in stage 1 for another cycle.
    pub again: Option<Wire<Bool>>,
    p: L2Params,
}

/// Where a head finds what it may need.
pub(super) struct Needs<'a> {
    pub m: &'a Mshrs,
    pub ops: &'a DirOps,
    pub outs: &'a Outputs,
    pub fence: &'a Fence,
    pub down: Option<&'a Down>,
}

/// What a head lacks, for observers.
pub(super) struct Lacks {
    pub mshr: Bool,
    /// Only the quota of remote-homed lines is used up.
    pub quota: Bool,
    pub egress: Bool,
    pub write_back: Bool,
    pub directory: Bool,
    /// A place for the result of an atomic that waits for its line (GPU home).
    pub late: Bool,
}

impl Lacks {
    /// Nothing is lacking.
    pub fn nothing(&self) -> Bool {
        !(self.mshr | self.quota | self.egress | self.write_back | self.directory | self.late)
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
    /// Which walk over dirty bytes could go with `flush`: of lines that other GPMs serve, of lines with their GPU home here.
    pub walks: Option<[Bool; 2]>,
    pub remote: Bool,
    pub local: Bool,
    pub remote_lacks: Lacks,
    pub local_lacks: Lacks,
    pub far_lacks: Option<Lacks>,
    /// The request of another GPU in a hierarchy.
    pub far: Bool,
    /// A step of a downgrade: it takes what the others leave.
    pub down: Option<Bool>,
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
            far: p.hier.then(|| (ReqSink::far(p), RoundRobin::new("turn", 3))),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<Op>("s1", p.clone()),
            turn: (!p.hier).then(|| reg::<Bool>("turn_local", ())),
            inv_run: reg::<Bits>("inv_run", 3),
            again: p.write_back.then(|| wire_or::<Bool>("s1_stays", (), false)),
            p: p.clone(),
        }
    }

    /// A request is in stage 1.
    pub fn s1_demand(&self) -> Bool {
        self.s1_valid.get() & self.s1.get().class.is_any(&[Class::Remote, Class::Local])
    }

    /// The operation in stage 1 may start one of the directory.
    fn s1_starts(&self) -> Bool {
        match self.p.downgrade {
            true => self.s1_demand() | (self.s1_valid.get() & self.s1.get().class.is(Class::Down)),
            false => self.s1_demand(),
        }
    }

    /// Stage 1 sends its operation back to the queue that it came from.
    pub fn send_back(&self, op: &Op) {
        when(op.class.is(Class::Local), || self.local.send_back(&op.req)).otherwise(|| match &self.far {
            Some((far, _)) => {
                when(op.far, || far.send_back(&op.req)).otherwise(|| self.remote.send_back(&op.req));
            }
            None => self.remote.send_back(&op.req),
        });
    }

    /// An MSHR is freed: heads that were sent back are tried again.
    pub fn wake(&self) {
        self.local.wake();
        self.remote.wake();
        self.far.iter().for_each(|(far, _)| far.wake());
    }

    fn mshr_room(&self, tally: &Tally, all: u32) -> Bool {
        self.room_in(tally.now.get(), all)
    }

    fn room_in(&self, used: Bits, all: u32) -> Bool {
        used.lt(u64::from(all - 1)) | (used.lt(u64::from(all)) & !self.s1_demand())
    }

    /// What a request lacks; of the queues of other nodes if `remote`.
    fn lacks(&self, req: &Demand, remote: bool, with: &Needs) -> Lacks {
        let Needs { m, ops, outs, fence, .. } = with;
        let (n, pool) = (self.p.sys.l2_mshrs, self.p.pool);
        let any = self.mshr_room(&m.used, n) & self.mshr_room(&m.pool_count, pool);
        let quota = self.mshr_room(&m.used_remote, self.p.mshr_quota())
            & self.mshr_room(&m.pool_remote, self.p.pool_quota());
        let away = !req.homed;
        let opens = req.homed | !req.kind.is(ReqKind::Wr);
        let answer = match (&ops.kept, remote) {
            (Some(kept), true) => !req.kind.is(ReqKind::Rd) | kept.room(3),
            (None, true) => outs.remote.room(3),
            (_, false) => outs.local.room(3),
        };
        let (passes, late, half_used) = match (&outs.pass, &m.leaf) {
            (Some(pass), Some([mshrs, entries])) => {
                let room = pass.room(self.p.places()) & fence.far_room();
                let waits = req.kind.is(ReqKind::Atom) & req.scope.ne(2);
                // Lines of both sorts have half at most, so that each sort goes on while the other one waits for its network.
                let (half, pool_half) = (self.p.away_half(), self.p.away_pool_half());
                let of_leaf = self.mshr_room(mshrs, half) & self.mshr_room(entries, pool_half);
                let of_gpu = self.room_in(m.used_remote.now.get() - mshrs.now.get(), half)
                    & self.room_in(m.pool_remote.now.get() - entries.now.get(), pool_half);
                (
                    !req.gpu_homed | room,
                    req.gpu_homed & waits & !outs.late_room(self.s1_demand()),
                    !mux(req.gpu_homed, of_gpu, of_leaf),
                )
            }
            _ => (bool_lit(true), bool_lit(false), bool_lit(false)),
        };
        let sends = if remote {
            bool_lit(true)
        } else {
            req.homed | req.gpu_homed | outs.request.room(self.p.places())
        };
        let operates = (req.homed | req.gpu_homed) & ops.needed(bool_lit(remote), req);
        Lacks {
            mshr: opens & !any,
            quota: opens & away & any & (!quota | half_used),
            egress: !(answer & sends & passes),
            write_back: !outs.mem.room(3),
            directory: operates & !ops.room(self.s1_starts()),
            late,
        }
    }

    /// Chooses and moves a head into stage 1.
    pub fn connect(&self, with: &Needs, tags: &Tags, fill: &Fill) -> Choice {
        let Needs { m, ops, outs, fence, down } = with;
        let ready = self.unless_again(tags.ready.get() & fence.serves());
        let remote_lacks = self.lacks(&self.remote.head, true, with);
        let local_lacks = self.lacks(&self.local.head, false, with);
        let calm = ready & !outs.denied.get();
        let remote_ok = (self.remote.valid & calm & remote_lacks.nothing()).named("s0_remote_ok");
        let local_ok = (self.local.valid & calm & local_lacks.nothing() & fence.room()).named("s0_local_ok");
        let far_lacks = self.far.as_ref().map(|(far, _)| self.lacks(&far.head, true, with));
        let far_ok = match (&self.far, &far_lacks) {
            (Some((far, _)), Some(lacks)) => (far.valid & calm & lacks.nothing()).named("s0_far_ok"),
            _ => bool_lit(false),
        };
        let end_ok = self.unless_again(fill.asks() & fence.serves() & outs.mem.room(3)).named("s0_end_ok");
        let s1_flush = self.s1_valid.get() & self.s1.get().class.is(Class::Flush);
        let flush_ok = self.unless_again(fence.asks() & !s1_flush & outs.mem.room(3));
        let walks = fence.walks_ask(ready & !s1_flush, outs);
        let flush_ok = walks.map_or(flush_ok, |[near, far]| flush_ok | near | far);
        let inv_room = outs.inv_done.room(2) & outs.recv.as_ref().map_or(bool_lit(true), |recv| recv.room(2));
        let inv_ok = (self.inv.channel.valid & ready & inv_room).named("s0_inv_ok");
        let others = end_ok | flush_ok | remote_ok | local_ok | far_ok;
        let inv_limited = inv_ok & self.inv_run.get().eq(4) & others;
        let inv = (inv_ok & !inv_limited).named("s0_inv");
        let end = (!inv & end_ok).named("s0_end");
        let flush = (!inv & !end & flush_ok).named("s0_flush");
        let request = !inv & !end & !flush;
        let [remote, local, far] = self.in_turn(request, [remote_ok, local_ok, far_ok]);
        let down = down.map(|down| {
            let home = outs.pass.as_ref().map_or(bool_lit(false), |pass| pass.room(3));
            let asks = down.asks(outs.request.room(3), home, ops.room(self.s1_starts()));
            let step = (request & ready & asks & !(remote | local | far)).named("s0_down");
            when(step, || down.granted());
            (step, down.line())
        });
        when(inv, || when_below(&self.inv_run, 4)).elsewhen(others | !inv_ok, || self.inv_run.set(0));
        let choice = Choice {
            end_ok,
            remote_ok,
            local_ok,
            inv,
            end,
            flush,
            walks,
            remote,
            local,
            remote_lacks,
            local_lacks,
            far_lacks,
            far,
            down: down.map(|(step, _)| step),
            inv_limited,
        };
        self.enter(&choice, down.map(|(_, line)| line), m, tags, fill, fence);
        choice
    }

    /// Which of the heads of remote, local and far requests goes.
    fn in_turn(&self, may: Bool, ok: [Bool; 3]) -> [Bool; 3] {
        let [remote_ok, local_ok, _] = ok;
        match (&self.far, &self.turn) {
            (Some((_, turn)), _) => {
                let pick = turn.pick(pack_bools(&ok));
                let one = |i: u64| may & pick.any & pick.index.eq(i);
                when(may & pick.any, || turn.granted(pick.index));
                [one(0).named("s0_remote"), one(1).named("s0_local"), one(2).named("s0_far")]
            }
            (None, Some(turn)) => {
                let remote = (may & remote_ok & (!local_ok | !turn.get())).named("s0_remote");
                let local = (may & local_ok & (!remote_ok | turn.get())).named("s0_local");
                when(remote, || turn.set(true));
                when(local, || turn.set(false));
                [remote, local, bool_lit(false)]
            }
            (None, None) => unreachable!("a bank has one order of its queues"),
        }
    }

    fn enter(
        &self,
        choice: &Choice,
        down_line: Option<Bits>,
        m: &Mshrs,
        tags: &Tags,
        fill: &Fill,
        fence: &Fence,
    ) {
        let shape = self.p.clone();
        let class = wire_zero::<Enum<Class>>("s0_class", ());
        let req = wire_zero::<Demand>("s0_req", shape.clone());
        let line = wire_zero::<Bits>("s0_line", self.p.sys.line_bits());
        let go = choice.inv | choice.end | choice.flush | choice.remote | choice.local | choice.far;
        let go = choice.down.map_or(go, |down| go | down);
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
        if let Some((far, _)) = &self.far {
            when(choice.far, || {
                class.set(Class::Remote);
                req.set(far.head);
                line.set(far.head.line);
                far.take();
            });
        }
        if let (Some(down), Some(of)) = (choice.down, down_line) {
            when(down, || {
                class.set(Class::Down);
                line.set(of);
            });
        }
        let set =
            mux(choice.flush, fence.walked_set(choice.walks), self.p.set_of(line.get())).named("s0_set");
        let demand = choice.remote | choice.local | choice.far;
        let homed = mux(demand, req.get().homed, self.p.homed(line.get()));
        let gpu_homed = mux(demand, req.get().gpu_homed, self.p.gpu_homed(line.get()));
        self.s1_valid.set(go);
        let kind = req.get().kind;
        let kind = choice.down.map_or(kind, |down| mux(down, enum_lit(ReqKind::Down), kind));
        when(go, || {
            tags.present(set);
            self.s1.set(Op {
                class: class.get(),
                req: Demand { kind, line: line.get(), homed, gpu_homed, ..req.get() },
                cause: self.inv.channel.msg.cause,
                link: self.inv.channel.msg.link,
                last: self.inv.last,
                // A walk that is not the one of lines that other GPMs serve.
                far: choice.walks.map_or(choice.far, |[near, far]| choice.far | (choice.flush & !near & far)),
                set,
            });
        });
        if let Some(again) = &self.again {
            when(again.get(), || {
                self.s1_valid.set(true);
                tags.present(self.s1.get().set);
            });
        }
    }

    /// `ok`, unless stage 1 keeps its operation.
    fn unless_again(&self, ok: Bool) -> Bool {
        self.again.as_ref().map_or(ok, |again| ok & !again.get())
    }
}

fn when_below(counter: &Reg<Bits>, limit: u64) {
    when(counter.get().ne(limit), || counter.set(counter.get() + 1));
}
