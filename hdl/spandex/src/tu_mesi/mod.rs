//! `tu-mesi`: the translation unit between a [MESI L1](crate::mesi_l1) and the network (spandex.md section 6).
//!
//! ```text
//!            +-------------------------------------------------------+
//!  l1_req -->| R1, R2 --> entry per MSHR, line buffer ---------------+--> req
//!            |                 ^         |                           |
//!  l1_down<--+------- engine --+---------+------- sink <-------------+<-- rsp
//!  ext <-----+        |    ^                                         |
//!  l1_up --->|        |    +------- forwards <-----------------------+<-- fwd
//!            |        +---> answers, triggered write-backs ----------+--> rsp_out, wb         fwd_out: idle
//!            |   write-back buffer, RAM of write-backs in place      |
//!            +-------------------------------------------------------+
//! ```
//! GetS becomes ReqS, GetM ReqO+data, both of the whole line; all answers are gathered before the L1 sees one. Put becomes ReqWB with data. Whatever takes several steps is a job of
//! the [engine](Step), one at a time, so that a forward sees L1, entries and buffers in one state; a data message takes its link for as many cycles.
//!
//! | what happens | line in the L1 | rest |
//! | --- | --- | --- |
//! | all words of an owned line are taken | I, or S after fwd ReqS | |
//! | some words are taken | WBP | ReqWB of the others, from here; 2 bits per word say what is awaited (R2) |
//! | words of an outstanding request are taken | installed as WBP: the core's operations, then the answers | the same |
//!
//! Decisions where the specification is silent or wrong:
//! - Of the delayed removals each keeps the bank's TBE number too: fwd ReqS is answered to two transactions. It also keeps which words the requestor wants.
//! - RspO+data carries `dirty`; a clean line that gets a dirty word is M. Without that an eviction would call the line clean and the word would be lost.
//! - **fwd ReqO for an outstanding request is delayed like the other removals**, where the specification answers at once. The answer tells a writer that its words are to be read
//!   nowhere else any more; but the line that is still to come may still be read at its former owner, which the writer does not wait for. With words that is a race of two writers; with
//!   lines the own request may want another word: then the writer would release, and the former owner, having acquired, read the old word.
//!   Whatever takes words of an outstanding request also closes the L1's list: later operations do not join.
//! - A NackV makes the unit ask for the **whole line** again by ReqO+data, when all other answers are in. Of V and O words no line can be made that the L1 may keep, and V words are
//!   served best by being asked for again.
//! - A delayed ReqV is answered whatever the request brings: it may have been forwarded to an earlier ownership, whose write-back is closed, and meet a request that is answered
//!   shared. The words are newer than the read all the same.
//! - A forward that finds its line in a write-back buffer entry whose ReqWB has not left waits for that: it needs WB only.
//! - Delayed answers of an entry go before any forward, so a forward never meets a line between the core's operations and them. A request whose entry is not free yet waits.
//! - Write-backs in place bear the transaction number of the first store buffer entry, for a MESI device has no others: their lines are found by lookup.
//! - Nothing is sent `direct`.
//!
//! `own` is the number of this device, a constant.
//!
//! # Transition tables
//!
#![doc = include_str!("../../docs/tu-mesi.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/tu-mesi.svg")]

mod buffer;
mod engine;
mod entries;
pub(crate) mod marks;
mod params;
mod requests;
mod sink;
pub mod table;

use crate::msg::{Fwd, Rsp, RspOp};
use buffer::Buffer;
use engine::Engine;
pub use engine::Step;
use entries::Entries;
use marks::Words;
pub use params::{TuMesiInject, TuMesiParams};
use sink::Sink;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// Answers that wait for the network. A job adds two at most.
const ANSWERS: u32 = 4;

/// Builds the unit.
///
/// # Errors
/// Illegal parameters.
pub fn tu_mesi(params: &TuMesiParams) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "tu-mesi".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "tu-mesi",
        about: "Translation unit between a MESI L1 and the Spandex network",
        params: params::infos,
        build: |set| tu_mesi(&TuMesiParams::from_set(set)?),
    }
}

/// State that all parts share.
struct Core {
    p: TuMesiParams,
    own: Bits,
    entries: Entries,
    buffer: Buffer,
    /// Per line of the L1: the words that are written back in place.
    in_place: (SramPort<Bits>, LaneWriter<Bits>),
    answers: Fifo<Rsp>,
}

fn describe(p: &TuMesiParams) {
    doc("Translation unit of a MESI L1: whole lines towards the L1, words towards the network.");
    let (port, s) = (&p.port, &p.port.spandex);
    for (key, value) in [
        ("size", port.size),
        ("ways", port.ways),
        ("mshrs", s.mshrs),
        ("wbb", s.wbb),
        ("flex_rsp", u32::from(p.flex_rsp)),
    ] {
        param(key, value);
    }
    param("inject", p.inject.word());
    let width = 2 * s.words();
    let in_place = sram::<Bits>("in_place", p.lines(), 1, width).fields(&[("wbp", width)]);
    let core = Core {
        p: p.clone(),
        own: input::<Bits>("own", s.dev_bits()),
        entries: Entries::new(p),
        buffer: Buffer::new(p),
        in_place: (in_place.read_port("look"), in_place.lane_writer("put")),
        answers: Fifo::new("answers", ANSWERS, s),
    };
    // A device without prediction sends no direct request.
    silent_out_channel::<Fwd>("fwd_out", s);
    let engine = Engine::new(&core);
    let sink = Sink::new(&core);
    engine.run(&core, &sink);
    requests::requests(&core);
    core.send_answers();
    core.entries.finish();
    core.buffer.finish();
    table::machine().check(&[]);
}

impl Core {
    /// Two answers find room.
    fn rsp_room(&self) -> Bool {
        self.answers.count.le(u64::from(ANSWERS - 2))
    }

    /// Queues an answer: one call per cycle.
    fn push(&self, rsp: &Rsp) {
        self.answers.push(rsp);
    }

    fn send_answers(&self) {
        let out = out_channel::<Rsp>("rsp_out", &self.p.port.spandex);
        let head = self.answers.head;
        let bears = head.op.is_any(&[RspOp::RspV, RspOp::RspS, RspOp::RspOData]);
        let bears = bears | (head.op.is(RspOp::RspRvkO) & !head.nodata);
        let none = lit_bv(Bv::zero(self.p.port.spandex.data_bits()));
        when(self.answers.valid & out.free, || {
            self.answers.pop();
            // What bears no data shows none.
            out.send(&Rsp { data: mux(bears, head.data, none), ..head });
        });
    }

    /// A response to a node and one of its transactions.
    fn rsp(&self, op: RspOp, line: Bits, mask: Bits, (dst, tag): (Bits, Bits), data: Bits) -> Rsp {
        let s = &self.p.port.spandex;
        Rsp {
            op: enum_lit(op),
            line,
            mask,
            extra: lit_bv(Bv::zero(s.words())),
            src: self.own.resize(s.node_bits()),
            dst,
            tag,
            nodata: bool_lit(false),
            kept_s: bool_lit(false),
            dirty: bool_lit(false),
            direct: bool_lit(false),
            data,
        }
    }

    /// Set of the L1 that a line belongs to.
    fn set_of(&self, line: Bits) -> Bits {
        self.p.port.geometry().set_of(line)
    }

    /// The row of the RAM of write-backs in place that was presented with what the L1 has found.
    fn words_in_place(&self) -> Words {
        Words::of(self.in_place.0.lane(0))
    }

    /// Words of a line that are written back in place.
    fn set_in_place(&self, line: Bits, way: Bits, words: &Words) {
        let place = cat(&[self.set_of(line), way]);
        self.in_place.1.write(place, &words.row());
    }
}
