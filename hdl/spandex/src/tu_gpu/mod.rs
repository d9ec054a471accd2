//! `tu-gpu`: the translation unit between an L1 with GPU coherence and the network (spandex.md section 6).
//!
//! ```text
//!            +--------------------------------------------+
//!  l1_req -->| entry: free --> outstanding words -- retry -+--> req
//!            |                     ^      |               |
//!  l1_rsp <--+--- line buffer <----+------+---------------+<-- rsp
//!            |                                            |
//!            |        Ack of Inv, NackV, NackWT <---------+<-- fwd
//!            +------------------------------------------->+--> rsp_out          wb, fwd_out: idle
//! ```
//! A line that the L1 reads comes in parts, from the LLC and from the owners of its words; a write-through is complete when the LLC and all old owners have
//! answered. The L1 gets one answer per request. Words that an owner no longer has (NackV) are asked for again, after `n_fail` Nacks of the read by ReqWT+data READ,
//! which the LLC serialises and which cannot fail.
//!
//! A response is taken in the cycle in which it comes, whatever else waits (section 2, rule 1): work that it causes is a flag of its entry. It is in the line buffer in the
//! next cycle, and the L1 has its line in the cycle after. Retries go before new requests. A forward needs a place on `rsp_out` only.
//!
//! `own` is the number of this device, a constant.
//!
//! Decisions: ReqV does not ask for extras (`flex`), for it asks for the whole line already, and a retry for all that is missing; extras that come are ignored. Nacks are counted per
//! read, not per word, so that the second of two that cross counts twice: words are escalated early at worst. An atomic is answered as a whole. Nothing is sent `direct`, so
//! answers to direct requests, and NackWT, are assertions; forwards that take ownership are too.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/tu-gpu.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/tu-gpu.svg")]

mod entries;
mod params;
pub(crate) mod table;

use crate::msg::{Fwd, GpuOp, GpuReq, GpuRsp, Req, ReqOp, Rsp, RspOp, Wb};
use crate::retries::Retry;
use entries::Entries;
pub use params::{Inject, TuGpuParams};
pub use table::{Answered, Ask, Entry, Refuse, forwards, machine, requests, responses};
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// Builds the unit.
///
/// # Errors
/// Illegal parameters.
pub fn tu_gpu(params: &TuGpuParams) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "tu-gpu".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "tu-gpu",
        about: "Translation unit between an L1 with GPU coherence and the Spandex network",
        params: params::infos,
        build: |set| tu_gpu(&TuGpuParams::from_set(set)?),
    }
}

/// State that all parts share.
struct Core {
    p: TuGpuParams,
    own: Bits,
    entries: Entries,
}

/// What a response does in this cycle.
struct Outcome {
    tag: Bits,
    completes: Bool,
    /// One bit for the MSHR that gets a NackV.
    nacked: Bits,
}

fn describe(p: &TuGpuParams) {
    doc("Translation unit of an L1 with GPU coherence: gathers partial answers, repeats failed reads.");
    let s = &p.spandex;
    for (key, value) in [("mshrs", s.mshrs), ("sb", s.sb), ("n_fail", p.n_fail)] {
        param(key, value);
    }
    param("inject", p.inject.word());
    let own = input::<Bits>("own", s.dev_bits());
    let core = Core { p: p.clone(), own, entries: Entries::new(p) };
    // A device without ownership writes nothing back; without prediction it sends no direct request.
    silent_out_channel::<Wb>("wb", s);
    silent_out_channel::<Fwd>("fwd_out", s);
    let answered = core.responses();
    core.requests(&answered);
    core.answers(&answered);
    core.forwards();
    core.entries.finish();
    machine().check(&[]);
}

impl Core {
    /// Requests of the L1, and reads of failed words.
    fn requests(&self, answered: &Outcome) {
        let (s, entries) = (&self.p.spandex, &self.entries);
        let l1 = in_channel::<GpuReq>("l1_req", s);
        let req = out_channel::<Req>("req", s);
        let retry = entries.retries.choose(answered.nacked);
        let never = bool_lit(self.p.inject == Inject::NoEscalation);
        let retry = Retry { escalates: retry.escalates & !never, ..retry };
        let retries = (retry.any & req.free).named("retries");
        let m = &l1.msg;
        let takes = (l1.valid & req.free & !retry.any).named("takes_request");
        let row = requests().decode_about(m.line, takes, (m.op, entries.entry(m.tag)));
        let words = mux(row.does(Ask::WholeLine), lit_bv(Bv::ones(s.words())), m.mask);
        when(takes, || {
            l1.take();
            entries.open(m.tag, m.line, words, m.op.is(GpuOp::At));
            req.send(&self.new_request(m, words));
        });
        // A transaction of the wrong kind is found by another check.
        let fits = m.op.is(GpuOp::Wt).eq(!entries.is_mshr(m.tag));
        row.leads_to_when(fits, entries.entry_after(m.tag));
        when(retries, || {
            entries.retries.asked(&retry);
            req.send(&entries.retries.request(&retry, self.own));
        });
        entries.retries.observe("tu_gpu", &retry, retries);
        self.check_request(m, takes);
        let waits = l1.valid & !takes;
        count("spandex_tu_request_waits", waits, "cycles in which a request of the L1 waits");
    }

    fn new_request(&self, m: &GpuReq, words: Bits) -> Req {
        let s = &self.p.spandex;
        let code = |op: ReqOp| enum_lit(op);
        let op = mux(m.op.is(GpuOp::Wt), code(ReqOp::ReqWt), code(ReqOp::ReqWtData));
        Req {
            op: mux(m.op.is(GpuOp::Rd), code(ReqOp::ReqV), op),
            line: m.line,
            mask: words,
            src: self.own,
            dst: s.home(m.line),
            tag: m.tag,
            flex: bool_lit(false),
            fwd: bool_lit(false),
            amo: m.amo,
            cmp: m.cmp,
            bmask: m.bmask,
            data: m.data,
        }
    }

    fn check_request(&self, m: &GpuReq, takes: Bool) {
        let writes = !self.entries.is_mshr(m.tag);
        let text = "MSHRs read and do atomics, entries of the store buffer write through";
        assert_always("tu_gpu_tag", !takes | m.op.is(GpuOp::Wt).eq(writes), text);
        let some = m.op.is(GpuOp::Rd) | m.mask.any();
        assert_always("tu_gpu_words", !takes | some, "a write-through or atomic has words");
    }

    /// Responses: each is taken when it comes.
    fn responses(&self) -> Outcome {
        let (s, entries) = (&self.p.spandex, &self.entries);
        let rsp = in_channel::<Rsp>("rsp", s);
        when(rsp.valid, || rsp.take());
        let m = &rsp.msg;
        unused_input(&m.dst);
        unused_input(&m.nodata);
        unused_input(&m.kept_s);
        unused_input(&m.dirty);
        let (tag, mshr) = (m.tag, entries.mshr(m.tag));
        unused_input(&m.extra);
        let words = if self.p.inject == Inject::Extras { m.mask | m.extra } else { m.mask };
        let left = entries.left(tag);
        let after = (left & !words).named("left_after");
        let fails = entries.retries.with_one_more(mshr);
        let whole = if self.p.inject == Inject::EarlyWt {
            let from_bank = m.src.zext(16).ge(u64::from(s.devs()));
            after.none() | (m.op.is(RspOp::RspWt) & from_bank)
        } else {
            after.none()
        };
        let last = mux(m.op.is(RspOp::NackV), fails.eq(u64::from(self.p.n_fail)), whole);
        let entry = entries.entry(tag);
        let row = responses().decode_about(m.line, rsp.valid, (m.op, entry, last));
        row.leads_to(entries.entry_after(tag));
        let does = |action| rsp.valid & row.does(action);
        when(does(Answered::Store) | does(Answered::Note), || entries.answered(tag, after));
        when(does(Answered::Store), || entries.store(tag, words, m.data));
        let peer = does(Answered::Store) & m.src.zext(16).lt(u64::from(s.devs()));
        when(peer, || entries.peer.raise(entries.one_mshr(tag)));
        let retry = does(Answered::Retry) & bool_lit(self.p.inject != Inject::NackLost);
        when(retry, || entries.retries.failed(mshr, m.mask, fails));
        self.check_response(&rsp, left);
        self.observe_response(&rsp, left, after, &row);
        let nacked = entries.one_mshr(tag) & retry.repeat(s.mshrs);
        Outcome { tag, completes: does(Answered::Complete), nacked }
    }

    fn check_response(&self, rsp: &InChannel<Rsp>, left: Bits) {
        let m = &rsp.msg;
        let wanted = m.mask.any() & (m.mask & !left).none();
        let text = "a response answers outstanding words only";
        assert_always("tu_gpu_outstanding", !rsp.valid | wanted, text);
        let known =
            !self.entries.is_mshr(m.tag) | self.entries.retries.line(self.entries.mshr(m.tag)).eq(m.line);
        assert_always("tu_gpu_line", !rsp.valid | known, "a response names the line of its entry");
        let nack = rsp.valid & m.op.is(RspOp::NackV);
        assert_always("tu_gpu_direct", !(nack & m.direct), "no direct request is out");
    }

    fn observe_response(
        &self,
        rsp: &InChannel<Rsp>,
        left: Bits,
        after: Bits,
        row: &Decoded<Entry, Answered>,
    ) {
        let m = &rsp.msg;
        let stores = rsp.valid & row.does(Answered::Store);
        let race = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.race.{name}"), cond, text);
        let extras = stores & (m.extra & after).any();
        race("gpu_extra_outstanding", extras, "extras name words that another responder will answer");
        let again = self.entries.retries.again.get().bit_at(m.tag) & rsp.valid & self.entries.is_mshr(m.tag);
        race("gpu_answer_before_retry", again & stores, "words come while others wait to be asked for again");
        let nack = rsp.valid & row.does(Answered::Retry);
        race(
            "gpu_two_nacks",
            again & nack,
            "a second Nack comes before the words of the first are asked for",
        );
        let words = left.popcount().zext(8).gt(m.mask.popcount().zext(8));
        let read = rsp.valid & m.op.is(RspOp::RspWtData) & words;
        race("gpu_read_before_parts", read, "escalated words come before others that were asked for earlier");
        count("spandex_tu_partial", stores & after.any(), "responses with a part of a line");
        count("spandex_tu_nacks", nack, "Nacks of reads");
        count("spandex_tu_extras", stores & m.extra.any(), "responses with extras, which are ignored");
    }

    /// Answers for the L1: the next one is chosen one cycle ahead, when its line buffer is presented.
    fn answers(&self, answered: &Outcome) {
        let (s, entries) = (&self.p.spandex, &self.entries);
        let out = out_channel::<GpuRsp>("l1_rsp", s);
        let chosen = reg::<Bool>("answer_valid", ());
        let tag = reg::<Bits>("answer_tag", s.tag_bits());
        let sends = (chosen.get() & out.free).named("answers");
        when(sends, || {
            let at = self.entries.atomic.get().bit_at(tag.get());
            let read = mux(at, enum_lit(GpuOp::At), enum_lit(GpuOp::Rd));
            out.send(&GpuRsp {
                op: mux(entries.is_mshr(tag.get()), read, enum_lit(GpuOp::Wt)),
                tag: tag.get(),
                peer: entries.peer.get().bit_at(tag.get()),
                data: entries.row(),
            });
            entries.busy.lower(entries.one(tag.get()));
        });
        let held = chosen.get() & !out.free;
        let turn = RoundRobin::new("answer_turn", self.p.entries());
        let done = turn.pick(entries.done.get());
        let from_done = (!held & done.any).named("answer_from_done");
        let at_once = (answered.completes & !held & !done.any).named("answer_at_once");
        when(answered.completes & !at_once, || entries.done.raise(entries.one(answered.tag)));
        when(from_done, || {
            turn.granted(done.index);
            entries.done.lower(done.index.one_hot(self.p.entries()));
        });
        let next = mux(from_done, done.index.resize(s.tag_bits()), answered.tag);
        let next = mux(held, tag.get(), next).named("answer_next");
        chosen.set(held | from_done | at_once);
        when(from_done | at_once, || tag.set(next));
        when(held | from_done | at_once, || entries.present(next));
    }

    /// Forwards: answered from nothing but the message.
    fn forwards(&self) {
        let s = &self.p.spandex;
        let fwd = in_channel::<Fwd>("fwd", s);
        let out = out_channel::<Rsp>("rsp_out", s);
        let m = &fwd.msg;
        unused_input(&m.dst);
        unused_input(&m.own);
        unused_input(&m.flex);
        unused_input(&m.for_wt);
        unused_input(&m.data);
        let takes = (fwd.valid & out.free).named("takes_forward");
        let row = forwards().decode_about(m.line, takes, (m.op,));
        let ack = row.does(Refuse::Ack);
        let code = |op: RspOp| enum_lit(op);
        let nack = mux(row.does(Refuse::NackWt), code(RspOp::NackWt), code(RspOp::NackV));
        when(takes, || {
            fwd.take();
            out.send(&Rsp {
                op: mux(ack, code(RspOp::Ack), nack),
                line: m.line,
                mask: m.mask,
                extra: lit_bv(Bv::zero(s.words())),
                src: self.own.resize(s.node_bits()),
                dst: mux(ack, m.src, m.req.resize(s.node_bits())),
                tag: mux(ack, m.tbe.resize(s.tag_bits()), m.tag),
                nodata: bool_lit(false),
                kept_s: bool_lit(false),
                dirty: bool_lit(false),
                direct: m.direct & !ack,
                data: lit_bv(Bv::zero(s.data_bits())),
            });
        });
        count("spandex_tu_acks", takes & ack, "invalidations acknowledged");
        count("spandex_tu_refused", takes & !ack, "forwards answered by a Nack");
    }
}
