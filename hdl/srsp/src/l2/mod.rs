//! `srsp_l2`: one bank of the L2 of a GPU with scoped synchronisation, sync point of cmp scope (srsp.md section 6).
//!
//! ```text
//!  req0, req1, ... --> heads --+    S0         S1          S2
//!  wb0, wb1, ...   --> heads --+- select --- decide --- line, amo --+--> answers (latency) --> rsp
//!  mem_rsp --> landing, acks --+               |                    +--> jobs --> mem_req
//!  sFIFO head, SYS             +            tags, masks, locks
//! ```
//! S0 presents the set to the arrays of tags and dirty bytes, S1 compares and decides, S2 reads and writes the line; an atomic is carried out there in one slot. Arrays show what was
//! written the cycle before, so that no stage forwards to another. One operation enters per cycle.
//!
//! Stores are combined: bytes that come to a line that is not here take a frame without a fetch (W); a read or atomic that needs other bytes of it fetches, and what comes from memory
//! fills the bytes that are not dirty. The sFIFO holds the lines in the order in which they became dirty; a push into a full one pops its head to memory first.
//!
//! REQ may wait for a lock, WB never does, both may wait for memory. Remote operations lock a line (`lock_tbl`) independently of whether it is here.
//! What waits stays at its queue's head and is passed over (`ingress.rs`).
//!
//! | bank | states |
//! | --- | --- |
//! | line | I; P on its way from memory; Pd the same with dirty bytes; V; D; W only dirty bytes valid |
//! | lock | free, or owned by an L1 |
//! | token (bank 0) | free, held |
//! | SYS | Idle, Drain, Flush, Fence, Drop, Answer |
//!
//! Decisions where the specification is silent: a state Pd beside P, since write-backs go on while a line is fetched; such a line is neither victim nor popped, and the sFIFO waits
//! behind it. A read whose set has only lines on their way waits for memory. `wrote` of an ATM.sys is not told, since memory does not tell it. A W whose bytes have all been
//! written is read without a fetch but stays W.
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/srsp-l2.svg")]

mod data;
mod decide;
mod ingress;
mod memory;
mod observe;
mod params;
mod select;
mod sys;
pub mod table;
mod types;

pub use params::{L2Fault, L2Params};

use crate::lock_tbl::LockTbl;
use crate::sfifo::Sfifo;
use select::{Parts, Token};
use sys::SysNeeds;
use types::Select;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_rtl::prelude::*;

/// The block as listed.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "srsp-l2",
        about: "Bank of the L2 of a GPU with scoped synchronisation: write-combining, line locks, atomics",
        params: params::infos,
        build: |set| srsp_l2(&L2Params::from_set(set)?),
    }
}

/// Builds a bank. Channels: `req{c}` ([`Req`](crate::msg::Req)), `wb{c}` ([`Wb`](crate::msg::Wb)) in from each L1, `mem_rsp` ([`MemRsp`](crate::msg::MemRsp)) in; `rsp`
/// ([`Rsp`](crate::msg::Rsp)), `mem_req` ([`MemReq`](crate::msg::MemReq)) out. Input `own`: the bank's number, constant.
///
/// # Errors
/// A parameter outside its range.
pub fn srsp_l2(p: &L2Params) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    Module::build(&p.module_name(), ModuleKind::Block, || {
        doc("Bank of the L2 of a GPU with scoped synchronisation (srsp.md section 6).");
        p.bank.show(None);
        param("impl", p.system.word());
        param("inject", p.fault.word());
        describe(p);
    })
    .map_err(|errors| BlockError::Elab { block: "srsp-l2".into(), errors })
}

fn describe(p: &L2Params) {
    let bank = &p.bank;
    let select = Select::new(bank);
    let ingress = ingress::Ingress::new(p, select.open);
    let memory = memory::UnderWay::new(p, select.open);
    let outs = data::Outputs::new(p);
    let sfifo = Sfifo::new("sfifo", bank.sfifo_entries(), p.bank.srsp.line_bits());
    let locks = LockTbl::new("lock_tbl", p.locks, &p.bank.srsp);
    let sys = sys::SysUnit::new(p);
    let token = Token {
        held: reg::<Bool>("token_held", ()),
        owner: reg::<Bits>("token_owner", p.bank.srsp.cu_bits()),
    };
    let parts = Parts {
        p,
        bank,
        ingress: &ingress,
        memory: &memory,
        outs: &outs,
        sfifo: &sfifo,
        locks: &locks,
        sys: &sys,
        token: &token,
        select: &select,
    };
    select.clear();
    memory.receive();
    let choice = select::connect(&parts);
    let quiet = !select.s1_valid.get() & !outs.stage.valid.get();
    let needs = SysNeeds {
        drained: quiet & memory.lines.mshrs.valid().none(),
        owes: if p.fault == L2Fault::FenceMissed { bool_lit(false) } else { memory.owes() },
        count: sfifo.count(),
        pops: sfifo.pops(),
        answered: choice.sys_answer,
    };
    sys.connect(p, &needs, &memory.own.epoch);
    ingress.choose();
    let d = decide::connect(&parts);
    let effects = outs.connect(memory.lines.line(), (&select.rows, &sfifo), (&ingress, &locks));
    select::drop_sets(&select.rows, &sys);
    table::machine().check(&[]);
    observe::connect(&observe::Seen { parts: &parts, choice: &choice, d: &d, effects: &effects });
    ingress.connect();
    memory.connect(|()| ());
}
