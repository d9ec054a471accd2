//! `hlrc_l2`: one bank of the L2 of a GPU with hLRC, which keeps the owner of every line that atomics use (srsp.md section 9).
//!
//! ```text
//!  req0, req1, ... --> heads --+    S0         S1         S2
//!  wb0, wb1, ...   --> heads --+- select --- decide --- line --+--> answers (latency) --> rsp
//!  mem_rsp --> landing, acks --+               |               +--> jobs --> mem_req
//!  sFIFO head                  +    tags, owners, masks, revocations --> REVOKEs (latency) --> probe
//! ```
//! S0 presents the set to the arrays, S1 compares and decides, S2 reads and writes the line. Arrays show what was written the cycle before, so that no stage forwards to another. One
//! operation enters per cycle.
//!
//! A REG makes the line its sender's; if it is another L1's, that is asked by a REVOKE to give it back, which it does when it has flushed. Between the two the line is RV and further
//! REGs of it wait at their queues' heads. Reads and write-backs of a registered line are served from the bank's data. An owner may also give its line back by itself (UNREG); if this
//! crosses a REVOKE it is acknowledged after REVOKE_ACK, for until then the owner must know what it answers.
//!
//! What waits stays at its queue's head and is passed over (`ingress.rs`). Only REGs wait for other L1s; write-backs, UNREGs and REVOKE_ACKs wait for memory alone.
//!
//! | bank | states |
//! | --- | --- |
//! | line | I; P on its way from memory; Pd the same with dirty bytes; V; D; W only dirty bytes valid; R registered; RV registered, with a REVOKE under way |
//! | revocation | free; for a registration, or a recall; UNREG has come, acknowledged |
//! | fill | Idle, Serve |
//!
//! Data that is written back to an unregistered line is combined as in [`srsp_l2`](crate::l2), or goes to memory and drops the bank's copy (parameter `l2_write`). In the latter case no
//! line is W or Pd, and D only what an owner has left.
//!
//! Decisions where the specification is silent:
//! - The L1 that a REVOKE goes to stands in the message's `req`.
//! - A line that comes back dirty without a requester is pushed into the sFIFO; one whose entry is still there gets a second, and the older is dead. A registered line is not popped.
//! - Through-inv: a write to a line on its way from memory waits until it is here, then drops it; a write to a line in D goes out together with the bytes that its
//!   owner has left.
//! - With `owned_aware` only a REG recalls, and only if all ways of the set are registered; other messages go around such a set. Without, whoever misses recalls the pseudo-LRU line
//!   and goes around if it must not wait. A set has one recall at a time.
//! - One REG at a time among those that wait is served first (`ingress.rs`), so that none starves.
//! - An RD without a frame is served from memory also where nobody has registered anything.
//!
//! # DeNovo-B
//!
//! With [`Registered::Writes`] the bank is block `denovo-b-l2` (denovo-b.md): no L1 writes through, and a read of a registered line asks its owner by a READ, who stays the owner. The
//! table of revocations has an entry for it, marked as a read, and the line is RV until the owner has answered; so a READ and a REVOKE of one line are never under way together. Reads
//! wait for owners then, as registrations do, and take their turn among them.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/hlrc-l2.svg")]
//!
#![doc = include_str!("../../pictures/denovo-b-l2.svg")]

mod arrays;
mod data;
mod decide;
mod ingress;
mod memory;
mod observe;
mod params;
mod revokes;
mod select;
pub mod table;
mod types;

pub use params::{HlrcL2Fault, HlrcL2Params, L2Write, Registered};

use crate::heads::Flags;
use crate::sfifo::Sfifo;
use arrays::Select;
use select::Parts;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// The block as listed.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "hlrc-l2",
        about: "Bank of the L2 of a GPU with hLRC: owners of registered lines, revocations",
        params: params::infos,
        build: |set| hlrc_l2(&HlrcL2Params::from_set(set, Registered::Atomics)?),
    }
}

/// The bank of DeNovo-B as listed.
pub fn info_of_writes() -> BlockInfo {
    BlockInfo {
        name: "denovo-b-l2",
        about: "Bank of the L2 of a GPU with DeNovo-B: owners of written lines, revocations, reads of owned lines",
        params: params::infos_of_writes,
        build: |set| hlrc_l2(&HlrcL2Params::from_set(set, Registered::Writes)?),
    }
}

/// Builds a bank. Channels: `req{c}` ([`Req`](crate::msg::Req)), `wb{c}` ([`Wb`](crate::msg::Wb)) in from each L1, `mem_rsp` ([`MemRsp`](crate::msg::MemRsp)) in; `rsp`
/// ([`Rsp`](crate::msg::Rsp)), `probe` ([`Probe`](crate::msg::Probe), for the L1 of its `req`), `mem_req` ([`MemReq`](crate::msg::MemReq)) out. Input `own`: the bank's number,
/// constant.
///
/// # Errors
/// A parameter outside its range.
pub fn hlrc_l2(p: &HlrcL2Params) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    Module::build(&p.module_name(), ModuleKind::Block, || {
        match p.registered {
            Registered::Atomics => doc("Bank of the L2 of a GPU with hLRC (srsp.md section 9)."),
            Registered::Writes => doc("Bank of the L2 of a GPU with DeNovo-B (denovo-b.md)."),
        }
        p.bank.show(Some(("revokes", p.revokes)));
        if !p.registers_writes() {
            param("l2_write", p.write.word());
        }
        param("owned_aware", u32::from(p.owned_aware));
        param("inject", p.fault.word());
        describe(p);
    })
    .map_err(|errors| BlockError::Elab { block: p.block().into(), errors })
}

fn describe(p: &HlrcL2Params) {
    let bank = &p.bank;
    let select = Select::new(bank);
    let ingress = ingress::Ingress::new(p, select.open);
    let memory = memory::UnderWay::new(p, select.open);
    let outs = data::Outputs::new(bank, bank, || ());
    let sfifo = Sfifo::new("sfifo", bank.sfifo_entries(), p.bank.srsp.line_bits());
    let revokes = revokes::Revokes::new(p);
    let parts = Parts {
        p,
        bank,
        ingress: &ingress,
        memory: &memory,
        outs: &outs,
        sfifo: &sfifo,
        revokes: &revokes,
        select: &select,
    };
    select.clear();
    memory.receive();
    let choice = select::connect(&parts);
    let d = decide::connect(&parts);
    data::connect(&outs, memory.lines.line());
    table::machine(p.write, p.registered).check(table::absent(p.write));
    observe::connect(&observe::Seen { parts: &parts, choice: &choice, d: &d });
    ingress.connect();
    memory.connect(Flags::connect);
    revokes.connect();
}
