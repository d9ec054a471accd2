//! Between a home bank and its DRAM channel: `dram-port` (mgcc.md section 14: a miss goes to the owner's DRAM).
//!
//! ```text
//!  req -> dram_req, with the bank's MSHR as its number
//!  rsp <- what was asked, by number <- dram_rsp
//! ```
//! A bank keeps one transaction per line, and no one else reaches its memory, so that nothing has to be ordered here.
//!
//! | state | values |
//! | --- | --- |
//! | `open` | which of the bank's transactions are in DRAM |
//! | `asked` | of each: read, write or atomic, and whether the answer has the line |
//!
//! # Transition table
//!
//! Of a transaction:
//!
#![doc = include_str!("../../docs/dram-port.md")]
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/dram-port.svg")]

use crate::msg::{DramReq, DramRsp, TsmOp, UmcReq, UmcRsp};
use crate::params::{Tsm, tsm_from, tsm_params};
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;
use weft_rtl::transitions::{Happens, follows, rows_of_entries};

/// What of a request its answer needs.
#[derive(Clone, Copy, Bundle)]
struct Asked {
    op: Enum<TsmOp>,
    /// The answer carries the line.
    line: Bool,
}

/// State of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum DramState {
    /// The bank has not asked.
    #[hw(label = "FREE")]
    Free,
    /// It is in DRAM.
    #[hw(label = "OPEN")]
    Open,
}

/// What happens to a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum DramEvent {
    /// A read goes to DRAM.
    #[hw(label = "read")]
    Read,
    /// A write does.
    #[hw(label = "write")]
    Write,
    /// An atomic does.
    #[hw(label = "atomic")]
    Atomic,
    /// The channel has no room.
    #[hw(label = "busy")]
    Busy,
    /// DRAM answers.
    #[hw(label = "answer")]
    Answer,
}

transitions! {
    /// A transaction of the bank. A request and an answer may come in one cycle, so the rows are not decoded but observed.
    pub fn table() {
        name "dram_port_table", rows "mgcc.dram.";
        on "state": DramState, "event": DramEvent;
        next DramState;

        (Free, Read) -> Open    "A line is read.";
        (Free, Write) -> Open   "Bytes are written; the answer has the line if there are others in it.";
        (Free, Atomic) -> Open  "A word is changed in DRAM: the bank has no way for the line.";
        (Free, Busy)            "The channel has no room: the request waits.";
        (Open, Answer) -> Free  "The bank gets what it has asked for.";
        never (Open, Read | Write | Atomic | Busy) "a bank's transaction asks once";
        never (Free, Answer)    "DRAM answers what was asked, once";
    }
}

/// What moves a transaction.
pub fn machine() -> Machine<DramState> {
    Machine::new("transaction of a bank", DramState::Free).with(&table())
}

/// Builds the port for a bank with these widths. Channels: `req` ([`UmcReq`]), `dram_rsp` ([`DramRsp`]) in; `dram_req` ([`DramReq`]), `rsp` ([`UmcRsp`]) out; input `own_gpu`.
///
/// # Errors
/// More MSHRs than a channel's numbers.
pub fn dram_port(t: &Tsm) -> Result<Arc<Module>, BlockError> {
    let built = Module::build(&format!("dram_port_{}", t.tag()), ModuleKind::Block, || {
        doc("A bank's way to its DRAM channel.");
        param("mshrs", t.l2_mshrs);
        if (1..=256).contains(&t.l2_mshrs) {
            describe(t);
        } else {
            elab_error(format!("mshrs = {}; legal: 1..256", t.l2_mshrs));
        }
    });
    built.map_err(|errors| BlockError::Elab { block: "dram-port".into(), errors })
}

fn describe(t: &Tsm) {
    let own = input::<Bits>("own_gpu", t.gpu_bits());
    let (request, dram) = (in_channel::<UmcReq>("req", t), out_channel::<DramReq>("dram_req", t));
    let (answer, back) = (in_channel::<DramRsp>("dram_rsp", t), out_channel::<UmcRsp>("rsp", t));
    let open = reg::<Bits>("open", t.l2_mshrs).field("valid");
    let asked = regfile::<Asked>("asked", t.l2_mshrs, ()).fields(&[("state", 3)]);
    let writer = asked.lane_writer("in");
    let m = &request.msg;
    let goes = (request.valid & dram.free).named("goes");
    let carries = !m.op.is(TsmOp::Wr) | !m.mask.all();
    when(goes, || {
        request.take();
        writer.write(m.txn, &Asked { op: m.op, line: carries });
        let UmcReq { op, txn, line, mask, data, amo, sgn, word, wide, .. } = *m;
        dram.send(&DramReq { op, line, mask, data, amo, sgn, word, wide, id: txn.zext(8) });
    });
    let txn = answer.msg.id.slice(0, t.l2_txn_bits());
    let comes = (answer.valid & back.free).named("comes");
    let of = asked.read(txn);
    when(comes, || {
        answer.take();
        back.send(&UmcRsp {
            op: of.op,
            dst: own,
            txn,
            tag: lit(0, t.eb),
            wts: lit(0, t.ts),
            rts: lit(0, t.ts),
            with_data: of.line,
            data: answer.msg.data,
            old: answer.msg.old,
        });
    });
    let taken = m.txn.one_hot(t.l2_mshrs) & goes.repeat(t.l2_mshrs);
    let left = txn.one_hot(t.l2_mshrs) & comes.repeat(t.l2_mshrs);
    open.set((open.get() & !left) | taken);
    let fresh = !request.valid | (!open.get().bit_at(m.txn) & !m.op.is(TsmOp::Evict) & m.src.eq(own));
    assert_always("dram_port_free", fresh, "a bank's transaction asks once, and nobody drops leases here");
    let known = answer.msg.id.zext(9).lt(u64::from(t.l2_mshrs)) & open.get().bit_at(txn);
    assert_always("dram_port_expected", !answer.valid | known, "DRAM answers what was asked, once");
    let asks = |now: Bool| m.txn.one_hot(t.l2_mshrs) & now.repeat(t.l2_mshrs);
    let op = |op| asks(goes & m.op.is(op));
    observe(
        &open,
        &[
            Happens::new(DramEvent::Read, op(TsmOp::Rd)),
            Happens::new(DramEvent::Write, op(TsmOp::Wr)),
            Happens::new(DramEvent::Atomic, op(TsmOp::Amo)),
            Happens::new(DramEvent::Busy, asks(request.valid & !dram.free)),
            Happens::new(DramEvent::Answer, left),
        ],
    );
}

/// Counts the rows taken; `open`: which transactions are.
fn observe(open: &Reg<Bits>, events: &[Happens<DramEvent>]) {
    let table = table();
    table.check();
    machine().check(&[]);
    let rows: Vec<_> = table.rows().iter().collect();
    let after = rows_of_entries(table.name(), &rows, &[open.get()], events);
    open.on_next(move |next| follows("dram_port_table", next, after[0]));
}

/// The port in the list of blocks.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "dram-port",
        about: "Way of a bank that is its memory's only cache to its DRAM channel",
        params: tsm_params,
        build: |set| dram_port(&tsm_from(set)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert_eq!(table().faults(), []);
    }
}
