//! L1s whose words are owned one by one and that speak Spandex themselves: the parts that [`denovo-l1`](crate::denovo_l1) and [`flex-l1`](crate::flex_l1) share (spandex.md sections 5, 7 and 8).

pub(crate) mod answer;
mod arrays;
mod done;
pub(crate) mod forward;
pub(crate) mod messages;
mod mshrs;
pub(crate) mod params;
pub(crate) mod pending;
pub(crate) mod served;
mod slot;
pub mod table;
mod turn;
pub(crate) mod wbb;

use crate::gpu_l1::releases::Releases;
use crate::gpu_l1::reply::Replies;
use crate::gpu_l1::store_buffer::StoreBuffer;
use crate::msg::{FlexReq, Req, Rsp, RspOp, Wb};
use arrays::Arrays;
use forward::FwdUnit;
use mshrs::Mshrs;
pub use params::{Atomics, Inject, L1Kind, WordL1Params};
use pending::Pending;
use wbb::Wbb;
use weft_rtl::prelude::*;

/// State that all parts share.
struct Core {
    p: WordL1Params,
    own: Bits,
    arrays: Arrays,
    mshrs: Mshrs,
    buffer: StoreBuffer,
    pending: Pending,
    wbb: Wbb,
    releases: Releases,
    /// Words of the operation at the head of `releases` that are done.
    release_done: Reg<Bits>,
    replies: Replies,
    fwd: FwdUnit,
    req: Requests,
    wb: OutChannel<Wb>,
    rsp_out: OutChannel<Rsp>,
}

impl Core {
    fn new(p: &WordL1Params) -> Core {
        let s = &p.l1.spandex;
        Core {
            own: input::<Bits>("own", s.dev_bits()),
            arrays: Arrays::new(p),
            mshrs: Mshrs::new(p),
            buffer: StoreBuffer::new(p.block(), &p.l1),
            pending: Pending::new(p),
            wbb: Wbb::new(p),
            releases: Releases::new(p.block(), &p.l1, p.inject == Inject::EarlyRelease),
            release_done: reg::<Bits>("release_done", s.words()),
            replies: Replies::new(&p.l1),
            fwd: FwdUnit::new(s.words()),
            req: Requests::new(p),
            wb: out_channel::<Wb>("l1_wb", s),
            rsp_out: out_channel::<Rsp>("l1_rsp_out", s),
            p: p.clone(),
        }
    }

    /// An acquire; `kernel`: a kernel begins.
    fn flash(&self, kernel: Bool) {
        if self.p.inject != Inject::KeepsValid {
            self.arrays.flash(kernel);
        }
        self.mshrs.flash();
    }
}

/// Requests towards the translation unit.
enum Requests {
    Plain(OutChannel<Req>),
    Flex(OutChannel<FlexReq>),
}

impl Requests {
    fn new(p: &WordL1Params) -> Requests {
        let s = &p.l1.spandex;
        match p.kind {
            L1Kind::Denovo | L1Kind::Stash => Requests::Plain(out_channel::<Req>("l1_req", s)),
            L1Kind::Flex => Requests::Flex(out_channel::<FlexReq>("l1_req", s)),
        }
    }

    /// One may be sent in this cycle.
    fn free(&self) -> Bool {
        match self {
            Requests::Plain(out) => out.free,
            Requests::Flex(out) => out.free,
        }
    }

    /// Sends one; `again`: for words that were refused.
    fn send(&self, req: &Req, again: bool) {
        match self {
            Requests::Plain(out) => out.send(req),
            Requests::Flex(out) => out.send(&FlexReq { req: *req, again: bool_lit(again) }),
        }
    }
}

/// Describes an L1 with these parameters, in the module being built.
pub(crate) fn describe(p: &WordL1Params) {
    let core = Core::new(p);
    let rsp = in_channel::<Rsp>("l1_rsp", &p.l1.spandex);
    take_responses(&core, &rsp);
    let ready = core.arrays.initialise();
    let turns = turn::Turns::new(&core, ready);
    let slot = slot::Slot::new(&core, &turns, &rsp);
    let plan = slot.plan();
    slot.access(&plan);
    slot.forward();
    slot.done();
    slot.ask_again();
    let event = rsp.valid | turns.is(turn::Turn::Done) | turns.is(turn::Turn::Fwd);
    turns.choose(&core, plan.leaves & turns.is(turn::Turn::Cu), event);
    // Stores of before must be done. Loads need not be waited for, nor atomics that return a value: nobody
    // has seen what they will do, and the CU waits for those of the releasing wave itself.
    core.releases.finish(core.buffer.valid.get(), core.mshrs.storing(), event);
    core.mshrs.finish();
    core.pending.finish();
    core.wbb.finish();
    core.buffer.finish();
    core.arrays.finish();
    core.replies.finish();
}

/// Responses: each is taken when it comes. What nobody has asked for changes nothing.
fn take_responses(core: &Core, rsp: &InChannel<Rsp>) {
    let (s, m) = (&core.p.l1.spandex, &rsp.msg);
    unused_input(&m.dst);
    unused_input(&m.src);
    unused_input(&m.nodata);
    unused_input(&m.kept_s);
    unused_input(&m.dirty);
    when(rsp.valid, || rsp.take());
    let wide = m.tag.zext(m.tag.width() + 1);
    let mshr = wide.lt(u64::from(s.mshrs));
    let store = !mshr & wide.lt(u64::from(s.mshrs + s.sb));
    let at = (m.tag - u64::from(s.mshrs)).slice(0, core.p.l1.sb_bits());
    let back = (m.tag - u64::from(s.mshrs + s.sb)).slice(0, core.p.wbb_bits());
    let (busy, out) = (core.mshrs.busy.get().bit_at(m.tag), core.buffer.is_out(at));
    let open = core.wbb.is_open(back);
    when(rsp.valid & mshr & busy, || core.mshrs.answer(m));
    let stored = rsp.valid & store & out;
    if core.p.flex() {
        let refused = m.op.is(RspOp::NackWt) & bool_lit(core.p.inject != Inject::DropsRefused);
        when(stored & refused, || core.pending.refused(at, m.mask, m.direct));
        when(stored & !refused, || core.pending.answer(at, m.mask));
    } else {
        unused_input(&m.direct);
        when(stored, || core.pending.answer(at, m.mask));
    }
    when(rsp.valid & !mshr & !store & open, || core.wbb.answer(back, m.extra));
    let open = open & m.op.is(RspOp::RspWb);
    let expected = mux(mshr, read_expects(core, m), mux(store, store_expects(core, at, m), open));
    let text = "a response answers outstanding words of an entry that has asked so";
    assert_always(&core.p.named("response"), !rsp.valid | expected, text);
}

/// A response is one that its MSHR waits for.
fn read_expects(core: &Core, m: &Rsp) -> Bool {
    let entry = m.tag.slice(0, core.p.l1.spandex.mshr_bits());
    let mshrs = &core.mshrs;
    let owns = mux(mshrs.is_through(entry), m.op.is(RspOp::RspWtData), m.op.is(RspOp::RspOData));
    let shares = m.op.is_any(&[RspOp::RspS, RspOp::RspOData, RspOp::RspV]);
    let owns = mux(mshrs.is_sharing(entry), shares, owns);
    let wants = mux(mshrs.is_own(entry), owns, m.op.is(RspOp::RspV));
    mshrs.busy.get().bit_at(m.tag) & wants & (m.mask & !mshrs.left(entry)).none()
}

/// A response is one that its entry of the store buffer waits for.
fn store_expects(core: &Core, at: Bits, m: &Rsp) -> Bool {
    let written = m.op.is_any(&[RspOp::RspWt, RspOp::NackWt]);
    let op = mux(core.pending.how(at).through, written, m.op.is(RspOp::RspO));
    core.buffer.is_out(at) & op & (m.mask & !core.pending.left(at)).none()
}
