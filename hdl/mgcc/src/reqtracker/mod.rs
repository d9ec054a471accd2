//! The ReqTracker: first stage of a UMC's lane (mgcc.md section 7). It admits one transaction per line at a time, sends each to DRAM and TSU, and answers when both have.
//!
//! ```text
//!  req -> arrival -> entries -> selection -> issue stage -+-> dram_req
//!                      ^  |                               +-> tsu_req
//!  dram_rsp, tsu_rsp --+  +---> answer stage -> rsp
//! ```
//! | port | dir | |
//! | --- | --- | --- |
//! | `req`, `rsp` | in, out | from and to the L2 banks |
//! | `tsu_req`, `tsu_rsp` | out, in | absent without coherence |
//! | `dram_req`, `dram_rsp` | out, in | answers in any order |
//! | `epoch` | in | low EB bits of the TSU's epoch; absent without coherence |
//!
//! | state | values |
//! | --- | --- |
//! | `state_hi`, `state_lo` | per entry: FREE, PEND (waits), SERV (in service), ATT (a read that takes the line of the write in service) |
//! | `dram_done`, `granted`, `overflowed`, `answered` | what an entry in service has got and given |
//! | `same`, `before` | per entry: those of its line, and those that came before it |
//! | `age` | per entry: how often it was passed over |
//!
//! A write in service keeps its entry after its answer until the last read attached to it has answered: they take the line from its buffer.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/reqtracker.svg")]

mod answer;
mod arrive;
mod entries;
mod select;
mod table;
mod types;

pub use table::{TrkEvent, TrkState, machine, table};

pub use crate::choice::WrspData;
use crate::choice::{Choice, Coherence, Consistency};
use crate::msg::*;
use crate::params::{Tsm, tsm_from, tsm_params};
use entries::Entries;
use types::Chosen;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What fixes a ReqTracker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TrackerParams {
    /// Message widths.
    pub tsm: Tsm,
    /// Entries, 4..256.
    pub entries: u32,
    /// An issuable entry passed over so often goes first, 1..1023.
    pub age_max: u32,
    /// Order of issue.
    pub consistency: Consistency,
    /// A read takes the line of a write in service instead of waiting for it.
    pub merge_raw: bool,
    /// Without coherence there is no TSU.
    pub coherence: Coherence,
    /// Lines in answers to writes.
    pub wrsp_data: WrspData,
}

impl TrackerParams {
    /// 32 entries, AGE_MAX 64, reads merged under SC only (mgcc.md section 2).
    pub fn published(tsm: Tsm, consistency: Consistency) -> TrackerParams {
        TrackerParams {
            tsm,
            entries: 32,
            age_max: 64,
            consistency,
            merge_raw: consistency == Consistency::Sc,
            coherence: Coherence::Mgcc,
            wrsp_data: WrspData::Partial,
        }
    }

    /// There is a TSU.
    pub fn coherent(&self) -> bool {
        self.coherence == Coherence::Mgcc
    }
    /// Width of an entry's number.
    pub fn index_bits(&self) -> u32 {
        bits_for(u64::from(self.entries))
    }
    /// Width of an age.
    pub fn age_bits(&self) -> u32 {
        bits_for(u64::from(self.age_max) + 1)
    }
    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let merge = if self.merge_raw { "_merge" } else { "" };
        let always = if self.wrsp_data == WrspData::Always { "_always" } else { "" };
        let (order, coherence) = (self.consistency.word(), self.coherence.word());
        let (entries, age) = (self.entries, self.age_max);
        format!("reqtracker_{}_n{entries}_a{age}_{order}_{coherence}{merge}{always}", self.tsm.tag())
    }

    /// Checks the ReqTracker's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let within = |key: &str, value: u32, lo: u32, hi: u32| {
            let error = || BlockError::Illegal {
                block: "reqtracker".into(),
                key: key.into(),
                value: value.to_string(),
                problem: "it lies outside".into(),
                legal: format!("{lo}..{hi}"),
            };
            if (lo..=hi).contains(&value) { Ok(()) } else { Err(error()) }
        };
        within("entries", self.entries, 4, 256)?;
        within("age_max", self.age_max, 1, 1023)
    }
}

/// The ReqTracker: channels `req`, `dram_rsp`, `tsu_rsp` in; `rsp`, `dram_req`, `tsu_req` out; input `epoch`.
///
/// # Errors
/// A parameter outside its range.
pub fn reqtracker(p: &TrackerParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let built = Module::build(&p.module_name(), ModuleKind::Block, || {
        doc("ReqTracker: one transaction per line at a time, answered when DRAM and TSU have answered.");
        param("entries", p.entries);
        param("age_max", p.age_max);
        param("consistency", p.consistency.word());
        param("merge_raw", u32::from(p.merge_raw));
        param("coherence", p.coherence.word());
        param("wrsp_data", p.wrsp_data.word());
        describe(p);
    });
    built.map_err(|errors| BlockError::Elab { block: "reqtracker".into(), errors })
}

/// What the issue stage sends.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Tsm)]
struct Issue {
    /// Leaves to DRAM.
    dram: Bool,
    /// Leaves to the TSU.
    tsu: Bool,
    op: Enum<TsmOp>,
    #[width(p.line_bits())]
    line: Bits,
    #[width(p.eb)]
    tag: Bits,
    #[width(p.ts)]
    ts: Bits,
    #[width(8)]
    id: Bits,
}

fn describe(p: &TrackerParams) {
    let t = &p.tsm;
    let epoch = p.coherent().then(|| input::<Bits>("epoch", t.eb));
    let req = in_channel::<UmcReq>("req", t);
    let dram_req = out_channel::<DramReq>("dram_req", t);
    let tsu_req = p.coherent().then(|| out_channel::<TsuReq>("tsu_req", t));
    let e = Entries::new(p);

    let arrive = arrive::arrivals(p, &e, &req);
    let staged = reg::<Bool>("issue_valid", ());
    let stage = reg::<Issue>("issue", t.clone()).field("queue");
    let held = stage.get();
    let tsu_free = tsu_req.as_ref().map_or_else(|| bool_lit(true), |channel| channel.free);
    let go = (staged.get() & (!held.dram | dram_req.free) & (!held.tsu | tsu_free)).named("issue_go");
    let room = (!staged.get() | go).named("issue_room");

    let chosen = select::choose(p, &e, room, epoch);
    let note = (req.valid & req.msg.op.is(TsmOp::Evict)).named("note");
    let note_goes = (note & room & !chosen.any).named("note_goes");
    when(note, || req.take());
    staged.set((staged.get() & !go) | chosen.any | note_goes);
    when(chosen.any, || stage.set(issue_of(p, &e, &chosen)))
        .elsewhen(note_goes, || stage.set(note_of(p, &req.msg)));
    e.present_write(mux(room, chosen.index, held.id.slice(0, p.index_bits())));
    when(go & held.dram, || dram_req.send(&e.dram_request(&held)));
    if let Some(tsu_req) = &tsu_req {
        when(go & held.tsu, || {
            let (op, tag, ts, id) = (held.op, held.tag, held.ts, held.id);
            tsu_req.send(&TsuReq { op, line: t.in_lane(held.line), tag, ts, id });
        });
    } else {
        assert_always("no_notes", !note, "without coherence nobody sends notes");
    }
    let back = answer::results(p, &e);
    let answers = answer::answers(p, &e);
    e.update(p, arrive, &chosen, &back, &answers);
    e.check(p);
    table::observe(&e, arrive, &chosen, &back, &answers);
    observe(p, &e, &req, (go, &held), (note, note_goes));
}

fn issue_of(p: &TrackerParams, e: &Entries, chosen: &Chosen) -> Issue {
    let info = e.info.read(chosen.index);
    Issue {
        dram: !chosen.attach & !chosen.repeat,
        tsu: bool_lit(p.coherent()),
        op: info.op,
        line: e.lines.read(chosen.index),
        tag: info.tag,
        ts: info.ts,
        id: chosen.index.zext(8),
    }
}

fn note_of(p: &TrackerParams, msg: &UmcReq) -> Issue {
    let (no, yes) = (bool_lit(false), bool_lit(p.coherent()));
    Issue { dram: no, tsu: yes, op: msg.op, line: msg.line, tag: msg.tag, ts: msg.ts, id: lit(0, 8) }
}

fn observe(
    p: &TrackerParams,
    e: &Entries,
    req: &InChannel<UmcReq>,
    (go, held): (Bool, &Issue),
    (note, note_goes): (Bool, Bool),
) {
    let full = !e.free().any();
    count("trk_full", req.valid & !note & full, "cycles in which a request waited for an entry");
    let busy = e.busy();
    let held_entries = busy.popcount();
    count_amount("trk_occupancy", busy.any(), held_entries, "sum over cycles of the entries taken");
    count("trk_notes", note_goes, "notes passed to the TSU");
    count("trk_notes_dropped", note & !note_goes, "notes dropped because the TSU's port was taken");
    count("dram_reads", go & held.dram & held.op.is(TsmOp::Rd), "reads of DRAM");
    count("dram_writes", go & held.dram & !held.op.is(TsmOp::Rd), "writes and atomics in DRAM");
    cover("mgcc.race.trk_full", busy.all() & req.valid, "a request meets a full tracker");
    if p.coherent() {
        cover("mgcc.race.trk_note_dropped", note & !note_goes, "a note meets a taken port");
    }
}

/// The ReqTracker's own keys on the command line, which a lane shares.
pub(crate) fn own_params() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    vec![
        info("entries", "32", "4..256", "transactions of a lane"),
        info("age_max", "64", "1..1023", "an issuable transaction passed over so often goes first"),
        info("consistency", "rc", "sc, rc", "order of issue: by timestamp, or by arrival"),
        info("merge_raw", "0", "0, 1", "1: a read takes the line of a write in service"),
        info("wrsp_data", "partial", "partial, always", "when a write's answer carries the line"),
        info("coherence", "mgcc", "mgcc, none", "timestamps, or none and no TSU"),
    ]
}

/// Reads the parameters of the command line.
///
/// # Errors
/// A value outside its range.
pub(crate) fn from_set(set: &ParamSet) -> Result<TrackerParams, BlockError> {
    let p = TrackerParams {
        tsm: tsm_from(set)?,
        entries: set.within("entries", 4, 256)? as u32,
        age_max: set.within("age_max", 1, 1023)? as u32,
        consistency: Choice::from_set(set, "consistency")?,
        merge_raw: set.within("merge_raw", 0, 1)? == 1,
        coherence: Choice::from_set(set, "coherence")?,
        wrsp_data: Choice::from_set(set, "wrsp_data")?,
    };
    p.validate()?;
    Ok(p)
}

/// The ReqTracker in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "reqtracker",
        about: "First stage of a UMC's lane: one transaction per line at a time, to DRAM and TSU",
        params: || [own_params(), tsm_params()].concat(),
        build: |set| reqtracker(&from_set(set)?),
    }
}
