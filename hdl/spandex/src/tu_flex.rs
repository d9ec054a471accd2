//! `tu-flex`: the translation unit between a Flex L1 and the network (spandex.md sections 6 and 8). The L1 is word-granular and speaks Spandex itself; here reads that fail are asked for again, and
//! reads and write-throughs are sent to their likely owner.
//!
//! ```text
//!              +-- likely owner? --- direct -----> fwd_out
//!  l1_req ---->|                                                   l1_wb  -------> wb
//!              +---------------+--- retry ------> req              l1_rsp_out ---> rsp_out
//!  l1_rsp <----+-- who had it? |                                   l1_fwd <------- fwd
//!              +---------------+----------------- rsp
//! ```
//! | `opred` | a ReqV or ReqWT goes to |
//! | --- | --- |
//! | off | the LLC |
//! | table | the owner that [`owner-predictor`](crate::owner_predictor) holds for likely |
//! | oracle | the owner that somebody outside names with the request (simulation only: the fabric's surroundings read it from the LLC) |
//!
//! Words that a device does not have come back as NackV. After a direct request they are asked for at the LLC, which is not counted; after `n_fail` others by ReqWT+data READ, which the LLC serialises
//! and which cannot fail: a read always ends. Words of a ReqS that fail (option 2) are asked for by ReqO+data. The L1 gets READ's answer as RspV, like any other. Write-throughs that are refused (NackWT)
//! are the L1's: it has their data, and asks the LLC [again](crate::msg::FlexReq::again). Messages take one cycle; retries go before requests of the L1.
//!
//! A response is taken when it comes: the L1 takes each at once (section 2, rule 1), and a Nack only sets flags.
//!
//! `own` is the number of this device, a constant.
//!
//! Decisions: Nacks are counted per entry, and a retry does not ask for extras. Prediction `hint` (the program names the owner) is not there: the CU's request has no room for a device.
//!
//! # Transition table
//!
#![doc = include_str!("../docs/tu-flex.md")]
//!
//! # Picture
//!
#![doc = include_str!("../pictures/tu-flex.svg")]

use crate::flags::Flags;
use crate::msg::{FlexReq, Fwd, FwdOp, GuessedReq, Req, ReqOp, Rsp, RspOp, Wb};
use crate::owner_predictor::{Predictor, PredictorParams};
use crate::params::{Spandex, param_info, spandex_from, spandex_params};
use crate::retries::Retries;
use crate::tu_denovo::pass;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::Words;
use weft_rtl::prelude::*;

/// Who guesses the owner of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Opred {
    /// Nobody.
    Off,
    /// Somebody outside, with each request (simulation only).
    Oracle,
    /// A table in the unit.
    Table,
}

/// What fixes a unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TuFlexParams {
    /// Widths of messages; MSHRs of the L1.
    pub spandex: Spandex,
    /// Nacks of a read before its words are asked for by ReqWT+data READ, 1..7.
    pub n_fail: u32,
    /// Who guesses owners.
    pub opred: Opred,
    /// Entries of the table, a power of two, 2..1024.
    pub entries: u32,
}

impl TuFlexParams {
    /// The published unit: one Nack, no prediction; a table of 64 entries where there is one.
    pub fn published(spandex: Spandex) -> TuFlexParams {
        TuFlexParams { spandex, n_fail: 1, opred: Opred::Off, entries: 64 }
    }

    fn predictor(&self) -> PredictorParams {
        PredictorParams { spandex: self.spandex.clone(), entries: self.entries }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let entries = if self.opred == Opred::Table { self.entries } else { 0 };
        format!("tu_flex_{}_f{}_{}{entries}", self.spandex.name_part(), self.n_fail, self.opred.word())
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<TuFlexParams, BlockError> {
        let text = set.text("opred");
        let opred = Opred::WORDS.iter().find(|w| w.1 == text).map(|w| w.0);
        Ok(TuFlexParams {
            spandex: spandex_from(set)?,
            n_fail: set.within("n_fail", 1, 7)? as u32,
            opred: opred.ok_or_else(|| set.illegal("opred", "it is not known"))?,
            entries: set.within("entries", 2, 1024)? as u32,
        })
    }

    /// Checks the values that are not [`Spandex`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        if !(1..=7).contains(&self.n_fail) {
            return Err(BlockError::Illegal {
                block: "tu-flex".into(),
                key: "n_fail".into(),
                value: self.n_fail.to_string(),
                problem: "it lies outside".into(),
                legal: "1..7".into(),
            });
        }
        self.predictor().validate().map_err(|e| e.of("tu-flex"))
    }
}

/// What an MSHR of the L1 has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Asked {
    /// Anything else than words to read.
    #[hw(label = "other")]
    Other,
    /// Words to read (ReqV).
    #[hw(label = "read")]
    Read,
    /// Words to share (ReqS).
    #[hw(label = "shared")]
    Shared,
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
    /// It brings escalation nearer.
    Count,
}

transitions! {
    /// What a response does. `last`: of a NackV, that it is the last one before escalation; `direct`: it answers a guess.
    pub fn responses() {
        name "tu_flex_responses", rows "spandex.tu_flex.";
        on "response": RspOp, "asked": Asked, "last": Is, "direct": Is;
        does Answer;

        "RspV"         (RspV, Read | Shared, _, _)   [Pass]         "Words for the L1.";
        "RspS"         (RspS, Shared, _, _)          [Pass]         "Words for the L1, which is a sharer.";
        "READ"         (RspWtData, Read, _, _)       [Pass, AsRead] "Escalated words: RspV for the L1.";
        "pass"         (RspO | RspOData | RspWt | RspWb | NackWt, _, _, _) [Pass]
            "Ownership, write-throughs and write-backs are the L1's.";
        "RspWTdata"    (RspWtData, Other, _, _)      [Pass]         "An update done at the LLC is the L1's.";
        "NackV.direct" (NackV, Read, _, Yes)         [Retry]
            "A guess was wrong: the LLC is asked; this does not count.";
        "NackV.again"  (NackV, Read, No, No)         [Retry, Count] "The failed words are asked for again.";
        "NackV.last"   (NackV, Read, Yes, No)        [Retry, Count] "They are asked for by ReqWT+data READ.";
        "NackV.shared" (NackV, Shared, _, No)        [Retry]        "They are asked for by ReqO+data.";
        never (RspV | NackV, Other, _, _)                           "they answer reads";
        never (RspS, Other | Read, _, _)                            "it answers ReqS";
        never (RspWtData, Shared, _, _)                             "words of a failed ReqS are owned, not escalated";
        never (NackV, Shared, _, Yes)                               "only ReqV and ReqWT are sent to a likely owner";
        never (RspRvkO | Ack, _, _, _)                              "they go to banks";
        never (RspV | RspS | RspO | RspOData | RspWt | RspWtData | RspWb | NackWt, _, Yes, _)
            "only Nacks of reads are counted";
        never (RspV | RspS | RspO | RspOData | RspWt | RspWtData | RspWb, _, _, Yes)
            "only Nacks tell whose request they answer";
    }
}

/// Builds the unit.
///
/// # Errors
/// Illegal parameters.
pub fn tu_flex(p: &TuFlexParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    Module::build(&p.module_name(), ModuleKind::Block, || describe(p))
        .map_err(|errors| BlockError::Elab { block: "tu-flex".into(), errors })
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = vec![
        param_info("n_fail", "1", "1..7", "Nacks of a read before it is serialised at the LLC"),
        param_info("opred", "off", Opred::LEGAL, "who guesses owners; oracle for simulation"),
        param_info("entries", "64", "2, 4, .. 1024", "entries of the table"),
    ];
    list.extend(spandex_params());
    list
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "tu-flex",
        about: "Translation unit between a Flex L1 and the Spandex network; owner prediction",
        params: infos,
        build: |set| tu_flex(&TuFlexParams::from_set(set)?),
    }
}

/// A request of the L1 with the owner it is likely to have.
struct Head {
    valid: Bool,
    flex: FlexReq,
    likely: Bool,
    owner: Bits,
    take: Box<dyn Fn()>,
}

/// What MSHRs have asked for.
struct Kinds {
    reads: Flags,
    shares: Flags,
}

fn describe(p: &TuFlexParams) {
    doc(
        "Translation unit of a Flex L1: repeats failed reads, sends requests to likely owners, passes everything else.",
    );
    let s = &p.spandex;
    param("mshrs", s.mshrs);
    param("n_fail", p.n_fail);
    param("opred", p.opred.word());
    param("observe", p.opred == Opred::Oracle);
    let own = input::<Bits>("own", s.dev_bits());
    pass::<Wb>("l1_wb", "wb", s);
    pass::<Rsp>("l1_rsp_out", "rsp_out", s);
    pass::<Fwd>("fwd", "l1_fwd", s);
    let retries = Retries::new(s, p.n_fail);
    let kinds = Kinds {
        reads: Flags::new("reads", s.mshrs, "state"),
        shares: Flags::new("shares", s.mshrs, "state"),
    };
    let predictor = (p.opred == Opred::Table).then(|| Predictor::new(&p.predictor()));
    let nacked = answer(p, &retries, &kinds, predictor.as_ref());
    let head = head(p, predictor.as_ref());
    let (req, fwd) = (out_channel::<Req>("req", s), out_channel::<Fwd>("fwd_out", s));
    let retry = retries.choose(nacked);
    let goes = (retry.any & req.free).named("retries");
    let m = &head.flex.req;
    let guessed = m.op.is_any(&[ReqOp::ReqV, ReqOp::ReqWt]) & !head.flex.again;
    let direct = (head.likely & guessed & head.owner.ne(own)).named("direct");
    let may = mux(direct, fwd.free, req.free & !retry.any);
    let takes = (head.valid & may).named("takes_request");
    when(takes, || {
        (head.take)();
        when(direct, || fwd.send(&directed(s, m, own, head.owner))).otherwise(|| req.send(m));
        note(s, m, &retries, &kinds);
    });
    when(goes, || {
        retries.asked(&retry);
        let shared = kinds.shares.get().bit_at(retry.mshr);
        let again = retries.request(&retry, own);
        req.send(&Req { op: mux(shared, enum_lit(ReqOp::ReqOData), again.op), ..again });
    });
    observe(&head, (takes, direct, goes), kinds.shares.get().bit_at(retry.mshr));
    retries.observe("tu_flex", &retry, goes & !kinds.shares.get().bit_at(retry.mshr));
    retries.again.finish();
    kinds.reads.finish();
    kinds.shares.finish();
}

/// What the L1 asks next, and who is said to own it.
fn head(p: &TuFlexParams, predictor: Option<&Predictor>) -> Head {
    let s = &p.spandex;
    if p.opred == Opred::Oracle {
        let l1 = in_channel::<GuessedReq>("l1_req", s);
        let GuessedReq { flex, known, owner } = l1.msg;
        return Head { valid: l1.valid, flex, likely: known, owner, take: Box::new(move || l1.take()) };
    }
    let l1 = in_channel::<FlexReq>("l1_req", s);
    let flex = l1.msg;
    let guess = predictor.map(|predictor| predictor.look(flex.req.line));
    let none = || (bool_lit(false), lit(0, s.dev_bits()));
    let (likely, owner) = guess.map_or_else(none, |guess| (guess.likely, guess.owner));
    Head { valid: l1.valid, flex, likely, owner, take: Box::new(move || l1.take()) }
}

/// The request as its likely owner gets it.
fn directed(s: &Spandex, m: &Req, own: Bits, owner: Bits) -> Fwd {
    Fwd {
        op: mux(m.op.is(ReqOp::ReqV), enum_lit(FwdOp::ReqV), enum_lit(FwdOp::ReqWt)),
        line: m.line,
        mask: m.mask,
        own: m.mask,
        src: own.resize(s.node_bits()),
        dst: owner,
        req: own,
        tag: m.tag,
        tbe: lit(0, s.tbe_bits()),
        flex: m.flex,
        for_wt: bool_lit(false),
        direct: bool_lit(true),
        data: m.data,
    }
}

/// Notes what an MSHR asks for.
fn note(s: &Spandex, m: &Req, retries: &Retries, kinds: &Kinds) {
    let one = m.tag.one_hot(s.mshrs);
    let (read, shared) = (m.op.is(ReqOp::ReqV), m.op.is(ReqOp::ReqS));
    when(read | shared, || retries.open(m.tag.slice(0, s.mshr_bits()), m.line));
    when(read, || kinds.reads.raise(one)).otherwise(|| kinds.reads.lower(one));
    when(shared, || kinds.shares.raise(one)).otherwise(|| kinds.shares.lower(one));
}

/// Counters of prediction (section 13) and covers.
fn observe(head: &Head, (takes, direct, goes): (Bool, Bool, Bool), shared: Bool) {
    let row = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.tu_flex.{name}"), cond, text);
    let sent = takes & direct;
    row("direct.ReqV", sent & head.flex.req.op.is(ReqOp::ReqV), "A read goes to its likely owner.");
    row("direct.ReqWT", sent & head.flex.req.op.is(ReqOp::ReqWt), "A write-through does.");
    row("retry.ReqOdata", goes & shared, "Words of a failed ReqS are owned.");
    count("spandex_tu_direct", sent, "requests sent to a likely owner");
    count("spandex_tu_request_waits", head.valid & !takes, "cycles in which a request of the L1 waits");
}

/// Responses; one bit for the MSHR that gets a NackV in this cycle.
fn answer(p: &TuFlexParams, retries: &Retries, kinds: &Kinds, predictor: Option<&Predictor>) -> Bits {
    let s = &p.spandex;
    let rsp = in_channel::<Rsp>("rsp", s);
    let out = out_channel::<Rsp>("l1_rsp", s);
    let m = &rsp.msg;
    let mshr = m.tag.slice(0, s.mshr_bits());
    let fails = retries.with_one_more(mshr);
    let nack = m.op.is(RspOp::NackV);
    let takes = (rsp.valid & (out.free | nack)).named("takes_response");
    when(takes, || rsp.take());
    let direct = m.direct & m.op.is_any(&[RspOp::NackV, RspOp::NackWt]);
    let last = nack & fails.eq(u64::from(p.n_fail));
    let (read, shared) = (kinds.reads.get().bit_at(m.tag), kinds.shares.get().bit_at(m.tag));
    let asked = mux(shared, enum_lit(Asked::Shared), enum_lit(Asked::Other));
    let asked = mux(read, enum_lit(Asked::Read), asked);
    let row = responses().decode_about(m.line, takes, (m.op, asked, last, direct));
    when(takes & row.does(Answer::Pass), || {
        out.send(&Rsp { op: mux(row.does(Answer::AsRead), enum_lit(RspOp::RspV), m.op), ..*m });
    });
    let fail = takes & row.does(Answer::Retry);
    let counted = mux(row.does(Answer::Count), fails, retries.fails(mshr));
    when(fail, || retries.failed(mshr, m.mask, counted));
    let joins = fail & retries.again.get().bit_at(m.tag);
    let text = "a second Nack comes before the words of the first are asked for";
    cover("spandex.race.flex_two_nacks", joins, text);
    let none_sent = bool_lit(p.opred == Opred::Off);
    assert_always("tu_flex_direct", !(takes & direct & none_sent), "no direct request is out");
    let known = !fail | retries.line(mshr).eq(m.line);
    assert_always("tu_flex_line", known, "a Nack names the line of its read");
    count("spandex_tu_nacks", fail & row.does(Answer::Count), "Nacks of reads");
    count("spandex_tu_direct_refused", takes & direct, "Nacks of direct requests");
    if let Some(predictor) = predictor {
        // Banks have higher numbers than devices, and never refuse.
        let device = m.src.zext(s.node_bits() + 1).lt(u64::from(s.devs()));
        let refused = m.op.is_any(&[RspOp::NackV, RspOp::NackWt]);
        let says = refused | m.op.is_any(&[RspOp::RspV, RspOp::RspWt]);
        predictor.hear(takes & device & says, m.line, m.src.resize(s.dev_bits()), refused);
    }
    m.tag.one_hot(s.mshrs) & fail.repeat(s.mshrs)
}
