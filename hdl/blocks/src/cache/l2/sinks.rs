//! The incoming channels: requests with their held heads, invalidations, and answers that land at once.

use super::fence::Fence;
use super::mshr::Mshrs;
use super::params::L2Params;
use super::types::Demand;
use crate::msg::{BankInv, L1Req, MemRsp, ReqKind, ReqMsg, RspMsg};
use weft_rtl::prelude::*;

/// A request queue whose head can be sent back by stage 1: it is then held, with the queue behind it, until an MSHR is freed.
pub(super) struct ReqSink {
    /// A head may be tried.
    pub valid: Bool,
    /// The head.
    pub head: Demand,
    /// The head was sent back before.
    pub held_valid: Reg<Bool>,
    held: Reg<Demand>,
    /// Held and nothing has changed since.
    pub blocked: Reg<Bool>,
    /// Some message of the class is in the bank and not past stage 1.
    pub here: Bool,
    /// Stage 1 sends its operation of this class back in this cycle.
    pub sent_back: Wire<Bool>,
    accept: Wire<Bool>,
}

impl ReqSink {
    fn new(name: &str, p: &L2Params, here: Bool, msg: Demand, take: impl FnOnce()) -> ReqSink {
        let held_valid = reg::<Bool>(&format!("{name}_held_valid"), ());
        let held = reg::<Demand>(&format!("{name}_held"), p.clone()).field("queue");
        let blocked = reg::<Bool>(&format!("{name}_blocked"), ());
        let sent_back = wire_or::<Bool>(&format!("{name}_sent_back"), (), false);
        let accept = wire_or::<Bool>(&format!("{name}_accept"), (), false);
        when(accept.get(), || {
            when(held_valid.get(), || held_valid.set(false)).otherwise(take);
        });
        ReqSink {
            // A request behind one that is being sent back must not overtake it.
            valid: (held_valid.get() & !blocked.get()) | (!held_valid.get() & here & !sent_back.get()),
            head: mux(held_valid.get(), held.get(), msg),
            here: held_valid.get() | here,
            held_valid,
            held,
            blocked,
            sent_back,
            accept,
        }
    }

    /// The L1s' requests.
    pub fn local(p: &L2Params) -> ReqSink {
        let channel = in_channel::<L1Req>("local_req", &p.sys);
        let m = &channel.msg;
        let msg = Demand {
            kind: m.kind,
            line: m.line,
            mask: m.mask,
            data: m.data,
            amo: m.amo,
            sgn: m.sgn,
            cmp: m.cmp,
            who: m.l1.zext(p.who_bits()),
            id: m.id.zext(p.id_bits()),
            epoch: lit(0, 1),
            cacheable: p.keeps(m.line),
            scope: m.scope,
            homed: p.homed(m.line),
            gpu_homed: p.gpu_homed(m.line),
        };
        ReqSink::new("local", p, channel.valid, msg, || channel.take())
    }

    /// The requests of other nodes; their lines have their home here, or in a hierarchy, where they are of the own GPU, their GPU home.
    pub fn remote(p: &L2Params) -> ReqSink {
        let sys = &p.sys;
        let own = lit(u64::from(p.home), sys.node_bits());
        let channel = in_channel::<ReqMsg>("remote_req", sys);
        if !p.downgrade {
            let down = channel.valid & channel.msg.kind.is(ReqKind::Down);
            assert_always("l2_no_down", !down, "only banks with a downgrade are told that copies are gone");
        }
        let m = &channel.msg;
        let here = p.homed(m.line) | p.gpu_homed(m.line);
        let source = if p.hier { p.near(m.src) } else { bool_lit(true) };
        assert_always(
            "l2_remote_req_home",
            !channel.valid | (here & source & m.dst.eq(own) & m.src.ne(own)),
            if p.hier {
                "a request of another GPM is for a line that this GPM serves in its GPU"
            } else {
                "a request of another GPU is for a line of this home"
            },
        );
        if !p.keeps_remote() {
            assert_always(
                "l2_remote_req_uncacheable",
                !(channel.valid & m.cacheable),
                "where GPUs keep no copies in their L2s, no request asks for one",
            );
        }
        if p.acks {
            assert_always(
                "l2_remote_read_tracked",
                !channel.valid | !m.kind.is(ReqKind::Rd) | m.cacheable,
                "a read whose answer waits for the directory is one of the directory's operations",
            );
        }
        ReqSink::of_network("remote", p, channel)
    }

    /// The requests of other GPUs in a hierarchy; their lines have their home here.
    pub fn far(p: &L2Params) -> ReqSink {
        let channel = in_channel::<ReqMsg>("far_req", &p.sys);
        let m = &channel.msg;
        let here = m.dst.eq(u64::from(p.home)) & p.homed(m.line) & !p.near(m.src);
        assert_always(
            "l2_far_req_home",
            !channel.valid | here,
            "a request of another GPU is for a line of this home",
        );
        ReqSink::of_network("far", p, channel)
    }

    fn of_network(name: &str, p: &L2Params, channel: InChannel<ReqMsg>) -> ReqSink {
        let m = &channel.msg;
        let msg = Demand {
            kind: m.kind,
            line: m.line,
            mask: m.mask,
            data: m.data,
            amo: m.amo,
            sgn: m.sgn,
            cmp: m.cmp,
            who: m.src.zext(p.who_bits()),
            id: m.id.zext(p.id_bits()),
            epoch: m.epoch,
            cacheable: m.cacheable,
            scope: m.scope,
            homed: if p.hier { p.homed(m.line) } else { bool_lit(true) },
            gpu_homed: p.gpu_homed(m.line),
        };
        ReqSink::new(name, p, channel.valid, msg, || channel.take())
    }

    /// The head has entered the pipeline.
    pub fn take(&self) {
        self.accept.set(true);
    }

    /// Stage 1 sends its operation back.
    pub fn send_back(&self, req: &Demand) {
        self.sent_back.set(true);
        self.held_valid.set(true);
        self.held.set(req);
        self.blocked.set(true);
    }

    /// An MSHR is freed: the head is tried again.
    pub fn wake(&self) {
        self.blocked.set(false);
    }
}

/// Invalidations: a group is looked up line by line.
pub(super) struct InvSink {
    pub channel: InChannel<BankInv>,
    /// Line to look up.
    pub line: Bits,
    /// Last lookup of the message.
    pub last: Bool,
    /// Line of the group; none where a group is one line.
    sub: Option<Reg<Bits>>,
}

impl InvSink {
    /// Declares channel `inv`.
    pub fn new(p: &L2Params) -> InvSink {
        let channel = in_channel::<BankInv>("inv", &p.sys);
        let (line, grp, bits) = (channel.msg.line, channel.msg.grp, p.group.trailing_zeros());
        if bits == 0 {
            return InvSink { line, last: bool_lit(true), channel, sub: None };
        }
        let sub = reg::<Bits>("inv_sub", bits);
        let member = cat(&[line.slice(bits, line.width() - bits), sub.get()]);
        InvSink { line: mux(grp, member, line), last: !grp | sub.get().all(), channel, sub: Some(sub) }
    }

    /// One lookup has entered the pipeline.
    pub fn take(&self) {
        if let Some(sub) = &self.sub {
            when(self.channel.msg.grp, || sub.set(sub.get() + 1));
        }
        when(self.last, || self.channel.take());
    }
}

/// Answers of other homes and of DRAM: both land at once, whatever else waits.
pub(super) fn land_answers(p: &L2Params, m: &Mshrs, fence: &Fence) {
    let rsp = in_channel::<RspMsg>("rsp_in", &p.sys);
    let mem = in_channel::<MemRsp>("mem_rsp", &p.sys);
    let write = rsp.msg.kind.is(ReqKind::Wr);
    let lands = rsp.valid & !write;
    let near = if p.hier { p.near(rsp.msg.src) } else { bool_lit(true) };
    when(rsp.valid, || {
        rsp.take();
        when(!rsp.msg.kind.is(ReqKind::Rd), || fence.acknowledged(near, rsp.msg.epoch));
    });
    let far = !near | (rsp.msg.kind.is(ReqKind::Rd) & rsp.msg.epoch.as_bool());
    when(lands, || m.land(rsp.msg.id, rsp.msg.data, rsp.msg.from_dram, far)).elsewhen(mem.valid, || {
        mem.take();
        m.land(mem.msg.id, mem.msg.data, bool_lit(true), bool_lit(false));
    });
    let waits = |kind: &Reg<Bits>, id: Bits| (m.valid.get() & kind.get() & !m.filled.now.get()).bit_at(id);
    assert_always(
        "l2_rd_rsp_awaited",
        !(rsp.valid & rsp.msg.kind.is(ReqKind::Rd)) | waits(&m.read, rsp.msg.id),
        "a RdRsp answers an open read (rows I.RdRsp and V.RdRsp of l2req and l2gpu are errors)",
    );
    assert_always(
        "l2_atom_rsp_awaited",
        !(rsp.valid & rsp.msg.kind.is(ReqKind::Atom)) | waits(&m.atom, rsp.msg.id),
        "an AtomRsp answers an open atomic",
    );
    let fetch = m.valid.get() & !m.read.get() & !m.atom.get() & !m.filled.now.get();
    assert_always(
        "l2_fill_awaited",
        !mem.valid | fetch.bit_at(mem.msg.id),
        "a DRAM fill answers an open fetch (rows l2home.I.fill, V.fill and D.fill are errors)",
    );
}
