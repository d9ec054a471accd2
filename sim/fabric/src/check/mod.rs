//! Checks while a fabric runs (issue "Checks while running").
//!
//! ```text
//!  compute units --- loads, stores, atomics ---> values   each value is one that the memory model allows
//!  cu, mem, fence ports --- transfers ---------> messages every request is answered exactly once
//! ```
//!
//! The run loop tells [`Checks`] what happens and asks [`Checks::cycle`] once per cycle; the first violation ends the run.

pub mod messages;
pub mod precision;
pub mod values;

use crate::cu::{CuObserver, LineAccess, Who};
use messages::{CuRequest, MessageViolation, Messages};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use values::{Values, Violation};
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::CuOp;
use weft_engine::{Design, Sim};

/// Which checks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Every load's value.
    pub values: bool,
    /// Every request answered once.
    pub messages: bool,
}

impl CheckOptions {
    /// All checks.
    pub const ALL: CheckOptions = CheckOptions { values: true, messages: true };
    /// No check, for speed.
    pub const NONE: CheckOptions = CheckOptions { values: false, messages: false };
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions::ALL
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// A load returned a value that no write explains.
    #[error("value check: {0}")]
    Value(Violation),
    /// A request was lost or answered twice.
    #[error("message check: {0}")]
    Message(MessageViolation),
    /// A saved state that does not fit.
    #[error("the saved state of the checks is damaged or of another fabric; start the run anew")]
    Load,
}

impl CheckError {
    /// Cycle in which it shows, for the rewind.
    pub fn cycle(&self) -> u64 {
        match self {
            CheckError::Value(v) => v.cycle,
            CheckError::Message(v) => v.cycle,
            CheckError::Load => 0,
        }
    }
}

/// State of all checks that are switched on.
#[derive(Clone, Serialize, Deserialize)]
struct State {
    values: Option<Values>,
    messages: Option<Messages>,
}

/// All checks of a run. A clone is an independent copy; it shares pages of memory until they are written.
#[derive(Clone)]
pub struct Checks {
    s: State,
}

impl Checks {
    /// The checks of a fabric.
    pub fn new(_design: &Design, params: &FabricParams, options: CheckOptions) -> Checks {
        let s = State {
            values: options.values.then(|| Values::new(params.sys.line)),
            messages: options.messages.then(|| Messages::new(&params.sys)),
        };
        Checks { s }
    }

    /// The L1 of a compute unit takes a request. An answer that frees its transaction number is told before it.
    pub fn cu_req(&mut self, now: u64, gpu: u32, cu: u32, request: &CuRequest) {
        if let Some(messages) = &mut self.s.messages {
            messages.cu_req(now, gpu, cu, request);
        }
        if let Some(values) = self.s.values.as_mut().filter(|_| request.op == CuOp::Amo) {
            values.amo_taken(request.line);
        }
    }

    /// The L1 of a compute unit answers: `kind` 0 data of the bytes of `mask`, 1 acknowledgement.
    pub fn cu_rsp(&mut self, now: u64, gpu: u32, cu: u32, id: u16, kind: u8, mask: u128) {
        if let Some(messages) = &mut self.s.messages {
            messages.cu_rsp(now, gpu, cu, id, kind, mask);
        }
    }

    /// A memory channel takes a request of its L2 bank.
    pub fn mem_req(&mut self, now: u64, gpu: u32, bank: u32, write: bool, line: u64, id: u32) {
        if let Some(messages) = &mut self.s.messages {
            messages.mem_req(now, gpu, bank, write, line, id);
        }
    }

    /// An L2 bank takes an answer of its memory channel.
    pub fn mem_rsp(&mut self, now: u64, gpu: u32, bank: u32, id: u32) {
        if let Some(messages) = &mut self.s.messages {
            messages.mem_rsp(now, gpu, bank, id);
        }
    }

    /// A fence unit takes a release.
    pub fn fence_start(&mut self, now: u64, gpu: u32, seq: u8) {
        if let Some(messages) = &mut self.s.messages {
            messages.fence_start(now, gpu, seq);
        }
    }

    /// A fence unit completes the releases up to `seq`.
    pub fn fence_done(&mut self, now: u64, gpu: u32, seq: u8) {
        if let Some(messages) = &mut self.s.messages {
            messages.fence_done(now, gpu, seq);
        }
    }

    /// The host replaces memory at physical byte address `addr`; no kernel runs.
    pub fn host_write(&mut self, addr: u64, bytes: &[u8]) {
        if let Some(values) = &mut self.s.values {
            values.host_write(addr, bytes);
        }
    }

    /// To be called once per cycle that is clocked, after everything of the cycle was told.
    ///
    /// # Errors
    /// The first violation.
    pub fn cycle(&mut self, _sim: &Sim) -> Result<(), CheckError> {
        self.first()
    }

    /// All releases of a kernel are complete and no compute unit has anything open.
    ///
    /// # Errors
    /// The first violation.
    pub fn kernel_boundary(&mut self, sim: &Sim) -> Result<(), CheckError> {
        let now = sim.cycle();
        if let Some(values) = &mut self.s.values {
            values.kernel_boundary(now);
        }
        if let Some(messages) = &mut self.s.messages {
            messages.nothing_open(now);
        }
        self.first()
    }

    fn first(&self) -> Result<(), CheckError> {
        if let Some(violation) = self.s.values.as_ref().and_then(|v| v.violations().first()) {
            return Err(CheckError::Value(violation.clone()));
        }
        if let Some(violation) = self.s.messages.as_ref().and_then(|m| m.violations().first()) {
            return Err(CheckError::Message(violation.clone()));
        }
        Ok(())
    }

    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.s).expect("plain data is always encoded")
    }

    /// Restores a state that [`Checks::save`] gave for the same fabric and options.
    ///
    /// # Errors
    /// Bytes that are damaged or of other checks; the state is then unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), CheckError> {
        let state: State = postcard::from_bytes(bytes).map_err(|_| CheckError::Load)?;
        let same = state.values.is_some() == self.s.values.is_some()
            && state.messages.is_some() == self.s.messages.is_some();
        if !same {
            return Err(CheckError::Load);
        }
        self.s = state;
        Ok(())
    }
}

impl CuObserver for Checks {
    fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        if let Some(values) = &mut self.s.values {
            values.load(who, line, mask, data, issued, done);
        }
    }

    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        if let Some(values) = &mut self.s.values {
            values.store(who, line, mask, data, now);
        }
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        if let Some(values) = &mut self.s.values {
            values.amo(who, access, old, issued, done);
        }
    }
}
