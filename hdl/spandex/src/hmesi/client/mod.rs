//! `hmesi-client`: what stands between a [MESI L1](crate::mesi_l1) and the L3 of the hierarchical baseline (spandex.md section 9).
//!
//! ```text
//!            +----------------------------------------------+
//!  l1_req -->|----> entry per MSHR, line buffer ------------+--> req
//!            |         ^        |                           |
//!  l1_down<--+------ engine ----+------- sink <-------------+<-- rsp
//!  ext <-----+        |  ^                                  |
//!  l1_up --->|        |  +------- forwards <----------------+<-- fwd
//!            |        +---> answers, Puts ------------------+--> rsp_out, wb
//!            |   write-back buffer                          |
//!            +----------------------------------------------+
//! ```
//! The L1 holds I, S, E, M; the transient states are here: IS, ISI, IM in the entries (SM is IM, for the L1 does not use a copy that it upgrades), MI and II in the write-back buffer.
//!
//! Decisions where the specification is silent:
//! - UnblockX leaves as soon as everything has come, beside the L1's operations on the line: answers are installed before any forward, so whatever the L3 sends then finds the line in the L1.
//! - A Put whose line has been taken while it had not left is sent all the same, and answered.
//!
//! `own` is the number of this device, a constant.
//!
//! # Transition tables
//!
#![doc = include_str!("../../../docs/hmesi-client.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../../pictures/hmesi-client.svg")]

mod engine;
mod entries;
mod params;
mod sink;
pub mod table;

use crate::bank::blank;
use crate::hmesi::msg::{HRsp, HRspOp};
use engine::Engine;
pub use engine::Step;
use entries::{Buffer, Entries};
pub use params::{ClientInject, ClientParams};
use weft_blocks::common::fifo::Fifo;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// Answers that wait for the network. A job adds two at most, an Unblock one.
const ANSWERS: u32 = 4;

/// Builds the client.
///
/// # Errors
/// Illegal parameters.
pub fn hmesi_client(params: &ClientParams) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    Module::build(&params.module_name(), ModuleKind::Block, || describe(params))
        .map_err(|errors| BlockError::Elab { block: "hmesi-client".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "hmesi-client",
        about: "Client of a MESI directory below a MESI L1",
        params: params::infos,
        build: |set| hmesi_client(&ClientParams::from_set(set)?),
    }
}

/// State that all parts share.
struct Core {
    p: ClientParams,
    own: Bits,
    entries: Entries,
    buffer: Buffer,
    answers: Fifo<HRsp>,
}

fn describe(p: &ClientParams) {
    doc("Client of a MESI directory below the MESI L1 of a core.");
    let (port, s) = (&p.port, &p.port.spandex);
    for (key, value) in [("size", port.size), ("ways", port.ways), ("mshrs", s.mshrs), ("wbb", s.wbb)] {
        param(key, value);
    }
    param("inject", p.inject.word());
    let core = Core {
        p: p.clone(),
        own: input::<Bits>("own", s.dev_bits()),
        entries: Entries::new(p),
        buffer: Buffer::new(p),
        answers: Fifo::new("answers", ANSWERS, s),
    };
    let engine = Engine::new(&core);
    let closed = engine.run(&core);
    sink::sink(&core, closed);
    sink::requests(&core);
    core.send_answers();
    core.entries.finish();
    core.buffer.finish();
}

impl Core {
    /// Three answers find room: two of a job that begins, and an Unblock that goes first.
    fn rsp_room(&self) -> Bool {
        self.answers.count.le(u64::from(ANSWERS - 3))
    }

    fn send_answers(&self) {
        let out = out_channel::<HRsp>("rsp_out", &self.p.port.spandex);
        when(self.answers.valid & out.free, || {
            out.send(&self.answers.head);
            self.answers.pop();
        });
    }

    /// A response without data to a node and one of its transactions.
    fn rsp(&self, op: Enum<HRspOp>, line: Bits, dst: Bits, tag: Bits) -> HRsp {
        let s = &self.p.port.spandex;
        HRsp { op, line, src: self.own.zext(s.h_node_bits()), dst, tag, ..blank::<HRsp>(s) }
    }
}
