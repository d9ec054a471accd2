//! Fence unit of a GPU (rec.md section 7): makes a release wait until every invalidation before it has landed everywhere.
//!
//! ```text
//!        start            all banks drained      all flushed (or switched off)    FenceReqs and own mark out
//!  IDLE -------> DRAIN -------------------> FLUSH -----------------------> SEND ---------------------> WAIT
//!    ^                                                                                                  |
//!    +------------------------------------- N*(N-1) acknowledgements ----------------------------------+
//! ```
//! | port | dir | fields | |
//! | --- | --- | --- | --- |
//! | `start` | in | seq | a release; always taken |
//! | `done` | out | seq | a fence is complete: the last release that it covers |
//! | `cmd{b}`, `done{b}` | out, in | op | DRAIN and FLUSH of a bank, and that they are carried out |
//! | `order{b}`, `ordered{b}` | out, in | requester | token of a marker to a bank and back |
//! | `req_out`, `req_in` | out, in | src, dst | FenceReq (REQ network) |
//! | `rsp_out`, `rsp_in` | out, in | src, dst | FenceAck (RSP network) |
//! | `mark_out` | out | requester | marker for every FIFO of the egress |
//! | `mark_in` | in | requester | the ingress has a source's markers from all links |
//!
//! Beside the state above: `batched`, a release waits for the next fence; `ordering`, a marker waits for the tokens of the banks; `acks`,
//! acknowledgements counted.
//!
//! Before the unit sends a marker, its own or another GPU's, every bank confirms (`order`, `ordered`) that the directory has answered the writes under
//! way in it: a GPU may have read such a write and then released, and the write's Invs must be ahead of its marker.
//!
//! One fence is in flight; releases that come meanwhile are batched into the next. Requests of other GPUs (`req_in`) are turned into fence
//! markers (`mark_out`) in every state. A marker received from all links of a source (`mark_in`) is an acknowledgement: of the own fence it
//! is counted here, of another GPU's it leaves as FenceAck (`rsp_out`).
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/fence-unit.svg")]

pub mod table;

use super::ports::{part_in, part_out};
use crate::common::sys::{sys_from, sys_params, sys_tag};
use crate::msg::*;
use crate::registry::{BlockError, ParamInfo, ParamSet, elaborated};
use table::{FenceEvent, machine, table};
use weft_rtl::prelude::*;

/// State of the fence in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum FenceState {
    /// No fence.
    #[hw(label = "IDLE")]
    Idle,
    /// The banks complete all writes of the old epoch.
    #[hw(label = "DRAIN")]
    Drain,
    /// The banks write back dirty lines.
    #[hw(label = "FLUSH")]
    Flush,
    /// Fence requests and the own marker leave.
    #[hw(label = "SEND")]
    Send,
    /// Acknowledgements come in.
    #[hw(label = "WAIT")]
    Wait,
}

/// Parameters of the fence unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenceParams {
    /// Message widths.
    pub sys: Sys,
    /// This GPU, below `sys.nodes()`.
    pub home: u32,
    /// A release writes back dirty L2 lines (the specification's `release_l2_flush`).
    pub flush: bool,
    /// Fault (simulation only): a fence is told complete when it begins.
    pub early: bool,
}

impl FenceParams {
    /// Acknowledgements of one fence: N*(N-1), one per source and receiver.
    pub fn acks(&self) -> u32 {
        self.sys.nodes() * (self.sys.nodes() - 1)
    }

    /// Width of their counter: ceil(log2(N*(N-1)+1)).
    pub fn ack_bits(&self) -> u32 {
        bits_for(u64::from(self.acks()) + 1)
    }
}

/// What a fence request or acknowledgement says; the other leaves of the network's message are constant zero.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Ends {
    #[width(p.node_bits())]
    src: Bits,
    #[width(p.node_bits())]
    dst: Bits,
}

/// The fence unit: channels `start`, `done{b}`, `ordered{b}`, `req_in`, `rsp_in`, `mark_in` in; `done`, `cmd{b}`, `order{b}`, `req_out`, `rsp_out`,
/// `mark_out` out.
///
/// # Errors
/// A home that is no GPU.
pub fn fence_unit(p: &FenceParams) -> Result<Arc<Module>, ElabErrors> {
    let flush = if p.flush { "flush" } else { "noflush" };
    let early = if p.early { "_early" } else { "" };
    let name = format!("fence_unit_{}_{flush}_h{}{early}", sys_tag(&p.sys), p.home);
    Module::build(&name, ModuleKind::Block, || {
        doc("Fence unit: completes a release when every earlier invalidation has been applied in every GPU.");
        param("home", p.home);
        param("flush", p.flush);
        if p.early {
            param("inject", EARLY);
        }
        if p.home >= p.sys.nodes() {
            elab_error(format!("home = {}; legal: 0..{}", p.home, p.sys.nodes() - 1));
            return;
        }
        describe(p);
    })
}

struct Unit {
    state: Reg<Enum<FenceState>>,
    /// A release waits for the next fence, and its number.
    batched: Reg<Bool>,
    batched_seq: Reg<Bits>,
    serving_seq: Reg<Bits>,
    /// Banks that have not got, and that have not carried out, the present command.
    to_tell: Reg<Bits>,
    to_answer: Reg<Bits>,
    /// Other homes that have not got a FenceReq.
    to_ask: Reg<Bits>,
    own_mark: Reg<Bool>,
    acks: Reg<Bits>,
    /// A marker waits for the banks, and whose it is.
    ordering: Reg<Bool>,
    ordering_for: Reg<Bits>,
    /// Banks that have not got, and that have not given back, its token.
    to_order: Reg<Bits>,
    to_confirm: Reg<Bits>,
}

fn describe(p: &FenceParams) {
    let sys = &p.sys;
    let u = Unit {
        state: reg::<Enum<FenceState>>("state", ()),
        batched: reg::<Bool>("batched", ()),
        batched_seq: reg::<Bits>("batched_seq", 8),
        serving_seq: reg::<Bits>("serving_seq", 8),
        to_tell: reg::<Bits>("to_tell", sys.banks),
        to_answer: reg::<Bits>("to_answer", sys.banks),
        to_ask: reg::<Bits>("to_ask", sys.nodes()),
        own_mark: reg::<Bool>("own_mark", ()),
        acks: reg::<Bits>("acks", p.ack_bits()),
        ordering: reg::<Bool>("ordering", ()),
        ordering_for: reg::<Bits>("ordering_for", sys.node_bits()),
        to_order: reg::<Bits>("to_order", sys.banks),
        to_confirm: reg::<Bits>("to_confirm", sys.banks),
    };
    let start = in_channel::<FenceToken>("start", &());
    let done = out_channel::<FenceToken>("done", &());
    let req_in = part_in::<ReqMsg, Ends>("req_in", sys);
    let rsp_in = part_in::<RspMsg, Ends>("rsp_in", sys);
    let mark_in = in_channel::<FenceMark>("mark_in", sys);
    let req_out = part_out::<ReqMsg, Ends>("req_out", sys);
    let rsp_out = part_out::<RspMsg, Ends>("rsp_out", sys);
    let mark_out = out_channel::<FenceMark>("mark_out", sys);
    let here = |state| u.state.get().is(state);

    releases(&u, &start);
    let answered = banks(p, &u);
    let drained = (here(FenceState::Drain) & answered).named("drained");
    let flushed = (here(FenceState::Flush) & answered).named("flushed");
    let marked = marks(p, &u, &req_in, &mark_out);
    let asked = requests(p, &u, &req_out);
    let sent = (here(FenceState::Send) & asked & !u.own_mark.get()).named("sent");
    let ack = acknowledgements(p, &u, &rsp_in, &mark_in, &rsp_out, done.free);
    let last = (ack.any & u.acks.get().eq(u64::from(p.acks() - 1))).named("last_ack");
    let begin = here(FenceState::Idle) & u.batched.get();
    let begin = if p.early { begin & done.free } else { begin };
    let begin = begin.named("fence_begins");
    let all_banks = lit_bv(Bv::ones(sys.banks));
    when(begin, || {
        u.state.set(FenceState::Drain);
        u.serving_seq.set(u.batched_seq.get());
        when(!start.valid, || u.batched.set(false));
        u.to_tell.set(all_banks);
        u.to_answer.set(all_banks);
    });
    when(drained, || {
        u.state.set(FenceState::Flush);
        if p.flush {
            u.to_tell.set(all_banks);
            u.to_answer.set(all_banks);
        }
    });
    when(flushed, || {
        u.state.set(FenceState::Send);
        let home = lit(u64::from(p.home), sys.node_bits()).one_hot(sys.nodes());
        u.to_ask.set(lit_bv(Bv::ones(sys.nodes())) & !home);
        u.own_mark.set(true);
    });
    assert_always(
        "ends_while_waiting",
        !(last & !here(FenceState::Wait)),
        "the last acknowledgement comes when markers have been sent everywhere",
    );
    when(sent, || u.state.set(FenceState::Wait));
    when(ack.any, || u.acks.set(u.acks.get() + 1));
    when(last, || {
        u.state.set(FenceState::Idle);
        u.acks.set(0);
        if !p.early {
            tell(&done, u.serving_seq.get());
        }
    });
    if p.early {
        when(begin, || tell(&done, u.batched_seq.get()));
    }
    let fired = [
        (FenceEvent::Release, start.valid),
        (FenceEvent::Drained, drained),
        (FenceEvent::Flushed, flushed),
        (FenceEvent::Sent, sent),
        (FenceEvent::Ack, ack.any & !last),
        (FenceEvent::LastAck, last),
        (FenceEvent::FenceReq, marked),
    ];
    observe_rows(&u, &fired, begin);
    machine().check(&[]);
    count("fences", begin, "fences begun");
    observe_races(p, &u, &start, marked, flushed, ack.own);
}

/// Everything up to this release is complete.
fn tell(done: &OutChannel<FenceToken>, seq: Bits) {
    done.send(&FenceToken { seq, scope: lit(2, 2), acquire: bool_lit(false) });
}

/// Takes every release at once: it is batched, and begins as soon as the unit is idle.
fn releases(u: &Unit, start: &InChannel<FenceToken>) {
    unused_input(&start.msg.scope);
    unused_input(&start.msg.acquire);
    when(start.valid, || {
        start.take();
        u.batched.set(true);
        u.batched_seq.set(start.msg.seq);
    });
}

/// Tells the banks what to do; true when all have done it.
fn banks(p: &FenceParams, u: &Unit) -> Bool {
    let op = mux(u.state.get().is(FenceState::Flush), enum_lit(FenceOp::Flush), enum_lit(FenceOp::Drain));
    let (mut told, mut answers) = (Vec::new(), Vec::new());
    for b in 0..p.sys.banks {
        let cmd = out_channel::<FenceCmd>(&format!("cmd{b}"), &());
        let answer = in_channel::<FenceDone>(&format!("done{b}"), &());
        let tell = u.to_tell.get().bit(b) & cmd.free;
        when(tell, || cmd.send(&FenceCmd { op }));
        when(answer.valid, || answer.take());
        assert_always(
            &format!("done{b}_answers_command"),
            !answer.valid | (answer.msg.op.bits().eq(op.bits()) & u.to_answer.get().bit(b)),
            "a bank answers the command that it was given, once",
        );
        told.push(tell);
        answers.push(answer.valid);
    }
    let (told, answers) = (pack_bools(&told), pack_bools(&answers));
    when(told.any(), || u.to_tell.set(u.to_tell.get() & !told));
    when(answers.any(), || u.to_answer.set(u.to_answer.get() & !answers));
    u.to_answer.get().none()
}

/// The own marker, else another GPU's, through the banks to the egress; true when another GPU's request was taken.
fn marks(p: &FenceParams, u: &Unit, req_in: &InChannel<Ends>, mark_out: &OutChannel<FenceMark>) -> Bool {
    let home = lit(u64::from(p.home), p.sys.node_bits());
    let own = u.own_mark.get();
    let next = !u.ordering.get();
    let other = (next & req_in.valid & !own).named("fence_req");
    when(other, || req_in.take());
    when(next & (own | req_in.valid), || {
        u.ordering.set(true);
        u.ordering_for.set(mux(own, home, req_in.msg.src));
        u.to_order.set(lit_bv(Bv::ones(p.sys.banks)));
        u.to_confirm.set(lit_bv(Bv::ones(p.sys.banks)));
    });
    confirm(p, u);
    when(u.ordering.get() & u.to_confirm.get().none() & mark_out.free, || {
        mark_out.send(&FenceMark { requester: u.ordering_for.get() });
        u.ordering.set(false);
        when(u.ordering_for.get().eq(u64::from(p.home)), || u.own_mark.set(false));
    });
    assert_always(
        "req_in_is_for_here",
        !req_in.valid | req_in.msg.dst.eq(u64::from(p.home)),
        "a fence request reaches the GPU it names",
    );
    other
}

/// Tokens to the banks and back.
fn confirm(p: &FenceParams, u: &Unit) {
    let (mut told, mut answers) = (Vec::new(), Vec::new());
    for b in 0..p.sys.banks {
        let order = out_channel::<FenceMark>(&format!("order{b}"), &p.sys);
        let ordered = in_channel::<FenceMark>(&format!("ordered{b}"), &p.sys);
        let tell = u.to_order.get().bit(b) & order.free;
        when(tell, || order.send(&FenceMark { requester: u.ordering_for.get() }));
        when(ordered.valid, || ordered.take());
        assert_always(
            &format!("ordered{b}_gives_back"),
            !ordered.valid | (u.to_confirm.get().bit(b) & ordered.msg.requester.eq(u.ordering_for.get())),
            "a bank gives back the token that it was given, once",
        );
        told.push(tell);
        answers.push(ordered.valid);
    }
    let (told, answers) = (pack_bools(&told), pack_bools(&answers));
    when(told.any(), || u.to_order.set(u.to_order.get() & !told));
    when(answers.any(), || u.to_confirm.set(u.to_confirm.get() & !answers));
}

/// FenceReq to the other homes, one per cycle; true when all have left.
fn requests(p: &FenceParams, u: &Unit, req_out: &OutChannel<Ends>) -> Bool {
    let next = u.to_ask.get().lowest_set();
    when(u.to_ask.get().any() & req_out.free, || {
        u.to_ask.set(u.to_ask.get() & !next.one_hot(p.sys.nodes()));
        req_out.send(&Ends { src: lit(u64::from(p.home), p.sys.node_bits()), dst: next });
    });
    u.to_ask.get().none()
}

/// An acknowledgement counted in this cycle.
struct Ack {
    any: Bool,
    own: Bool,
}

fn acknowledgements(
    p: &FenceParams,
    u: &Unit,
    rsp_in: &InChannel<Ends>,
    mark_in: &InChannel<FenceMark>,
    rsp_out: &OutChannel<Ends>,
    done_free: Bool,
) -> Ack {
    let home = u64::from(p.home);
    // The last one completes the fence, so it waits until `done` can be sent and the unit has left SEND.
    let is_last = u.acks.get().eq(u64::from(p.acks() - 1));
    let may = !is_last | (done_free & u.state.get().is(FenceState::Wait));
    let receipt = (mark_in.valid & mark_in.msg.requester.eq(home)).named("own_receipt");
    let own = (receipt & may).named("own_ack");
    let remote = (rsp_in.valid & may & !receipt).named("remote_ack");
    when(own, || mark_in.take());
    when(remote, || rsp_in.take());
    when(mark_in.valid & !receipt & rsp_out.free, || {
        mark_in.take();
        rsp_out.send(&Ends { src: lit(home, p.sys.node_bits()), dst: mark_in.msg.requester });
    });
    assert_always(
        "rsp_in_is_for_here",
        !rsp_in.valid | (rsp_in.msg.dst.eq(home) & rsp_in.msg.src.ne(home)),
        "an acknowledgement comes from another GPU and is for this one",
    );
    Ack { any: own | remote, own }
}

/// Rows of the table that are taken; a pair of state and event without a row fails, and so does a state to which the rows do not lead. A release that comes to
/// an idle unit `begins` in the next cycle.
fn observe_rows(u: &Unit, fired: &[(FenceEvent, Bool)], begins: Bool) {
    let (table, now) = (table(), u.state.get());
    table.check();
    let mut expected = mux(begins, enum_lit(FenceState::Drain), now);
    for (event, happens) in fired {
        let mut known = Vec::new();
        for row in table.rows().iter().filter(|row| row.when[1] == [event.encoding()]) {
            let here = any_of(&row.when[0].iter().map(|code| now.bits().eq(*code)).collect::<Vec<_>>());
            cover(&row.id, *happens & here, &row.why);
            known.push(here);
            let later = *event == FenceEvent::Release;
            for next in FenceState::VARIANTS.iter().filter(|s| !later && row.next == [s.encoding()]) {
                expected = mux(*happens & here, enum_lit(*next), expected);
            }
        }
        assert_always(
            &format!("{}_{}_listed", table.name(), event.label().to_lowercase()),
            !*happens | any_of(&known),
            "every pair of state and event that occurs has a row in the table",
        );
    }
    u.state.on_next(move |next| {
        let text = "the state that follows is the one to which the rows lead";
        assert_always("fence_table_next", next.bits().eq(expected.bits()), text);
    });
}

fn observe_races(
    p: &FenceParams,
    u: &Unit,
    start: &InChannel<FenceToken>,
    marked: Bool,
    flushed: Bool,
    own_ack: Bool,
) {
    let busy = !u.state.get().is(FenceState::Idle);
    cover("rec.race.fence_batching", start.valid & busy, "a release arrives while a fence is in flight");
    let second = start.valid & busy & u.batched.get();
    cover("rec.race.fence_batch_of_two", second, "a second release joins the batch of the next fence");
    cover(
        "rec.race.fences_cross",
        marked & busy,
        "another GPU's fence is served while an own one is in flight",
    );
    cover("rec.race.own_receipt_counts", own_ack, "the own receipt of a marker counts as an acknowledgement");
    if !p.flush {
        cover("rec.race.flush_switched_off", flushed, "FLUSH is passed without a flush");
    }
    for (state, name) in [
        (FenceState::Drain, "drain_cycles"),
        (FenceState::Flush, "flush_cycles"),
        (FenceState::Send, "send_cycles"),
        (FenceState::Wait, "wait_cycles"),
    ] {
        count(name, u.state.get().is(state), "cycles that fences spend in this state");
    }
}

/// Word of the fault on the command line.
pub(super) const EARLY: &str = "early-done";

/// The fault as a key on the command line.
pub(super) fn fault_info() -> ParamInfo {
    let about = "fault put in on purpose, for simulation: a fence is told complete when it begins";
    ParamInfo { name: "inject", default: "none".into(), legal: "none, early-done", about }
}

/// Whether the fault is put in.
///
/// # Errors
/// A word that is not known.
pub(super) fn fault(p: &ParamSet) -> Result<bool, BlockError> {
    match p.text("inject").as_str() {
        "none" => Ok(false),
        EARLY => Ok(true),
        _ => Err(p.illegal("inject", "it is not known")),
    }
}

/// Keys on the command line.
pub fn fence_params() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = sys_params();
    list.push(info("home", "0", "0..gpus-1", "this GPU"));
    list.push(info("flush", "on", "on, off", "a release writes back dirty L2 lines"));
    list.push(fault_info());
    list
}

/// Builds the fence unit by name.
///
/// # Errors
/// A value outside its range.
pub fn build_fence(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let sys = sys_from(p)?;
    let home = p.within("home", 0, u64::from(sys.nodes()) - 1)? as u32;
    let flush = match p.text("flush").as_str() {
        "on" => true,
        "off" => false,
        _ => return Err(p.illegal("flush", "it is not known")),
    };
    elaborated("fence-unit", fence_unit(&FenceParams { sys, home, flush, early: fault(p)? }))
}
