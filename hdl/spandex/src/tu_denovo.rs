//! `tu-denovo`: the translation unit between a DeNovo L1 and the network (spandex.md section 6). The L1 is word-granular and speaks Spandex itself: requests, write-backs, forwards
//! and answers pass; only Nacks of reads end here.
//!
//! ```text
//!  l1_req ------> | ------ retry -----> req         l1_wb  -------> wb
//!                 |          ^                      l1_rsp_out ---> rsp_out
//!  l1_rsp <------ | <--------+--------- rsp         l1_fwd <------- fwd          fwd_out: idle
//! ```
//! Words that an owner no longer has (NackV) are asked for again, after `n_fail` Nacks of the read by ReqWT+data READ, which the LLC serialises and which cannot fail. The
//! L1 gets their answer as RspV, like any other. Messages take one cycle; retries go before requests of the L1.
//!
//! A response is taken when it comes: the L1 takes each at once (section 2, rule 1), and a Nack only sets flags.
//!
//! `own` is the number of this device, a constant.
//!
//! Decisions: as `tu-gpu`, Nacks are counted per read, and a retry does not ask for extras. Nothing is sent `direct`: an answer to a direct request is an assertion.
//!
//! # Transition table
//!
#![doc = include_str!("../docs/tu-denovo.md")]
//!
//! # Picture
//!
#![doc = include_str!("../pictures/tu-denovo.svg")]

use crate::flags::Flags;
use crate::msg::{Fwd, Req, ReqOp, Rsp, RspOp, Wb};
use crate::params::{Spandex, spandex_from, spandex_params};
use crate::retries::Retries;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// What fixes a unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TuDenovoParams {
    /// Widths of messages; MSHRs of the L1.
    pub spandex: Spandex,
    /// Nacks of a read before its words are asked for by ReqWT+data READ, 1..7.
    pub n_fail: u32,
}

/// What an MSHR of the L1 has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Asked {
    /// Anything else than words to read.
    #[hw(label = "other")]
    Other,
    /// Words to read (ReqV).
    #[hw(label = "read")]
    Read,
}

/// What a response does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Answer {
    /// It goes to the L1.
    Pass,
    /// As RspV.
    AsRead,
    /// Its words are asked for again.
    Retry,
}

transitions! {
    /// What a response does. `last`: of a NackV, that it is the last one before escalation.
    pub fn responses() {
        name "tu_denovo_responses", rows "spandex.tu_denovo.";
        on "response": RspOp, "asked": Asked, "last": Is;
        does Answer;

        "RspV"        (RspV, Read, _)                  [Pass]         "Words for the L1.";
        "READ"        (RspWtData, Read, _)             [Pass, AsRead] "Escalated words: RspV for the L1.";
        "pass"        (RspO | RspOData | RspWb, _, _)  [Pass]         "Ownership and write-backs are the L1's.";
        "RspWTdata"   (RspWtData, Other, _)            [Pass]         "An update done at the LLC is the L1's.";
        "NackV.again" (NackV, Read, No)                [Retry]        "The failed words are asked for again.";
        "NackV.last"  (NackV, Read, Yes)               [Retry]        "They are asked for by ReqWT+data READ.";
        never (RspV | NackV, Other, _)                                "they answer reads";
        never (RspS | RspWt | NackWt, _, _)
            "the L1 asks for no shared words and writes nothing through";
        never (RspRvkO | Ack, _, _)                                   "they go to banks";
        never (RspV | RspO | RspOData | RspWtData | RspWb, _, Yes)    "only Nacks are counted";
    }
}

/// Builds the unit.
///
/// # Errors
/// Illegal parameters.
pub fn tu_denovo(p: &TuDenovoParams) -> Result<Arc<Module>, BlockError> {
    if !(1..=7).contains(&p.n_fail) {
        return Err(BlockError::Illegal {
            block: "tu-denovo".into(),
            key: "n_fail".into(),
            value: p.n_fail.to_string(),
            problem: "it lies outside".into(),
            legal: "1..7".into(),
        });
    }
    let name = format!("tu_denovo_{}_f{}", p.spandex.name_part(), p.n_fail);
    Module::build(&name, ModuleKind::Block, || describe(p))
        .map_err(|errors| BlockError::Elab { block: "tu-denovo".into(), errors })
}

fn infos() -> Vec<ParamInfo> {
    let about = "Nacks of a read before it is serialised at the LLC";
    let mut list = vec![ParamInfo { name: "n_fail", default: "1".into(), legal: "1..7", about }];
    list.extend(spandex_params());
    list
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "tu-denovo",
        about: "Translation unit between a DeNovo L1 and the Spandex network",
        params: infos,
        build: |set| {
            let n_fail = set.within("n_fail", 1, 7)? as u32;
            tu_denovo(&TuDenovoParams { spandex: spandex_from(set)?, n_fail })
        },
    }
}

fn describe(p: &TuDenovoParams) {
    doc("Translation unit of a DeNovo L1: repeats failed reads, passes everything else.");
    let s = &p.spandex;
    param("mshrs", s.mshrs);
    param("n_fail", p.n_fail);
    let own = input::<Bits>("own", s.dev_bits());
    pass::<Wb>("l1_wb", "wb", s);
    pass::<Rsp>("l1_rsp_out", "rsp_out", s);
    pass::<Fwd>("fwd", "l1_fwd", s);
    // Without prediction nothing is sent direct.
    silent_out_channel::<Fwd>("fwd_out", s);
    let retries = Retries::new(s, p.n_fail);
    let reads = Flags::new("reads", s.mshrs, "state");
    let nacked = answer(p, &retries, &reads);
    let l1 = in_channel::<Req>("l1_req", s);
    let req = out_channel::<Req>("req", s);
    let retry = retries.choose(nacked);
    let goes = (retry.any & req.free).named("retries");
    let takes = (l1.valid & req.free & !retry.any).named("takes_request");
    let m = &l1.msg;
    let one = m.tag.one_hot(s.mshrs);
    let read = m.op.is(ReqOp::ReqV);
    when(takes, || {
        l1.take();
        req.send(m);
        when(read, || {
            retries.open(m.tag.slice(0, s.mshr_bits()), m.line);
            reads.raise(one);
        })
        .otherwise(|| reads.lower(one));
    });
    when(goes, || {
        retries.asked(&retry);
        req.send(&retries.request(&retry, own));
    });
    let text = "an MSHR reads";
    assert_always("tu_denovo_tag", !(takes & read) | one.any(), text);
    retries.observe("tu_denovo", &retry, goes);
    count("spandex_tu_request_waits", l1.valid & !takes, "cycles in which a request of the L1 waits");
    retries.again.finish();
    reads.finish();
}

/// A channel that passes as it is.
pub(crate) fn pass<T: Data<Shape = Spandex>>(from: &str, to: &str, s: &Spandex) {
    let (source, sink) = (in_channel::<T>(from, s), out_channel::<T>(to, s));
    when(source.valid & sink.free, || {
        source.take();
        sink.send(&source.msg);
    });
}

/// Responses; one bit for the MSHR that gets a NackV in this cycle.
fn answer(p: &TuDenovoParams, retries: &Retries, reads: &Flags) -> Bits {
    let s = &p.spandex;
    let rsp = in_channel::<Rsp>("rsp", s);
    let out = out_channel::<Rsp>("l1_rsp", s);
    let m = &rsp.msg;
    let mshr = m.tag.slice(0, s.mshr_bits());
    let fails = retries.with_one_more(mshr);
    let nack = m.op.is(RspOp::NackV);
    let takes = (rsp.valid & (out.free | nack)).named("takes_response");
    when(takes, || rsp.take());
    let last = nack & fails.eq(u64::from(p.n_fail));
    let asked = reads.get().bit_at(m.tag).bits();
    let row = responses().decode_about(m.line, takes, (m.op, asked, last));
    when(takes & row.does(Answer::Pass), || {
        out.send(&Rsp { op: mux(row.does(Answer::AsRead), enum_lit(RspOp::RspV), m.op), ..*m });
    });
    let fail = takes & row.does(Answer::Retry);
    when(fail, || retries.failed(mshr, m.mask, fails));
    let joins = fail & retries.again.get().bit_at(m.tag);
    let text = "a second Nack comes before the words of the first are asked for";
    cover("spandex.race.denovo_two_nacks", joins, text);
    assert_always("tu_denovo_direct", !(fail & m.direct), "no direct request is out");
    let known = !(takes & row.does(Answer::Retry)) | retries.line(mshr).eq(m.line);
    assert_always("tu_denovo_line", known, "a Nack names the line of its read");
    count("spandex_tu_nacks", fail, "Nacks of reads");
    m.tag.one_hot(s.mshrs) & fail.repeat(s.mshrs)
}
