//! Checks while a fabric runs (issue "Checks while running").
//!
//! ```text
//!  compute units --- loads, stores, atomics ---> values     each value is one that the memory model allows
//!  cu, mem, fence ports --- transfers ---------> messages   every request is answered exactly once
//!                                      \-------> watchdog   something moves, or a report says who waits for whom
//!  state of the design ------------------------> precision  a GPU that the directory does not know has no copy
//! ```
//!
//! The run loop tells [`Checks`] what happens and asks [`Checks::cycle`] once per clocked cycle; the first violation ends the run. Nothing here changes the run, and a
//! clone goes on from where the original was.

pub mod messages;
pub mod precision;
pub mod values;
pub mod watchdog;

use crate::cu::{CuObserver, LineAccess, Who};
use messages::{CuRequest, MessageCounts, MessageViolation, Messages};
use precision::{Beside, Precision, PrecisionCounts, PrecisionViolation};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use values::{ValueCounts, Values, Violation};
use watchdog::{Deadlock, WatchState, Watchdog};
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
    /// Directory precision every so many cycles, and at kernel boundaries; 0: never.
    pub precision: u64,
    /// Cycles without any transfer at a port of the fabric that are a deadlock while requests are open; 0: no watchdog.
    pub watchdog: u64,
}

impl CheckOptions {
    /// All checks.
    pub const ALL: CheckOptions =
        CheckOptions { values: true, messages: true, precision: 4096, watchdog: 50_000 };
    /// No check, for speed.
    pub const NONE: CheckOptions = CheckOptions { values: false, messages: false, precision: 0, watchdog: 0 };
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions::ALL
    }
}

/// Cycles between two looks at the directories while a failure is looked for.
const CLOSE: u64 = 4;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// A load returned a value that no write explains.
    #[error("value check: {0}")]
    Value(Violation),
    /// A request was lost or answered twice.
    #[error("message check: {0}")]
    Message(MessageViolation),
    /// A copy that its home's directory does not know, or a damaged entry.
    #[error("directory precision: {0}")]
    Precision(PrecisionViolation),
    /// Nothing moves.
    #[error("watchdog: {0}")]
    Deadlock(Box<Deadlock>),
    /// The design has no banks and directory slices under the expected names.
    #[error(
        "the design has no units gpuG.bankB and gpuG.dirB with the expected registers and memories, which the check of directory precision reads; switch that check off"
    )]
    Names,
    /// A saved state that does not fit.
    #[error("the saved state of the checks is damaged or of other checks; start the run anew")]
    Load,
}

/// How much was checked; absent for checks that are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCounts {
    /// Values.
    pub values: Option<ValueCounts>,
    /// Messages.
    pub messages: Option<MessageCounts>,
    /// Directory precision.
    pub precision: Option<PrecisionCounts>,
}

/// What changes, as it is saved.
#[derive(Serialize, Deserialize)]
struct Saved {
    values: Option<Values>,
    messages: Option<Messages>,
    precision: Option<PrecisionCounts>,
    watchdog: Option<WatchState>,
    next: u64,
}

/// All checks of a run. A clone is an independent copy; it shares pages of memory until they are written.
#[derive(Clone)]
pub struct Checks {
    options: CheckOptions,
    values: Option<Values>,
    /// Kept for the watchdog too, which asks what is open.
    messages: Option<Messages>,
    precision: Option<Precision>,
    watchdog: Option<Watchdog>,
    /// Next periodic look at the directories.
    next: u64,
    /// Memory holds what the program wrote once the fabric rests.
    coherent: bool,
}

impl Checks {
    /// The checks of a fabric.
    ///
    /// # Errors
    /// Directory precision is asked for and the design's units have other names.
    pub fn new(design: &Design, params: &FabricParams, options: CheckOptions) -> Result<Checks, CheckError> {
        let sys = &params.sys;
        let precision = match options.precision {
            0 => None,
            _ => Some(Precision::new(design, params).ok_or(CheckError::Names)?),
        };
        let watches = options.watchdog > 0;
        Ok(Checks {
            options,
            values: options.values.then(|| Values::new(sys.line, sys.gpms)),
            messages: (options.messages || watches).then(|| Messages::new(sys)),
            precision,
            watchdog: watches.then(|| Watchdog::new(design, options.watchdog, sys.line)),
            next: options.precision,
            coherent: !params.incoherent(),
        })
    }

    /// How much was checked so far.
    pub fn counts(&self) -> CheckCounts {
        CheckCounts {
            values: self.values.as_ref().map(Values::counts),
            messages: self.messages.as_ref().filter(|_| self.options.messages).map(Messages::counts),
            precision: self.precision.as_ref().map(Precision::counts),
        }
    }

    /// Looks at the directories every few cycles from now on.
    pub fn look_closely(&mut self) {
        self.options.precision = self.options.precision.min(CLOSE);
        self.next = 0;
    }

    /// Last cycle with a transfer at a port of the fabric, if a watchdog knows it.
    pub fn moved(&self) -> Option<u64> {
        self.watchdog.as_ref().map(Watchdog::moved)
    }

    fn transfer(&mut self, now: u64) -> Option<&mut Messages> {
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.progress(now);
        }
        self.messages.as_mut()
    }

    /// The L1 of a compute unit takes a request. An answer that frees its transaction number is told before it.
    pub fn cu_req(&mut self, now: u64, gpu: u32, cu: u32, request: &CuRequest) {
        if let Some(messages) = self.transfer(now) {
            messages.cu_req(now, gpu, cu, request);
        }
        if let Some(values) = self.values.as_mut().filter(|_| request.op == CuOp::Amo) {
            values.amo_taken(request.line);
        }
    }

    /// The L1 of a compute unit answers: `kind` 0 data of the bytes of `mask`, 1 acknowledgement.
    pub fn cu_rsp(&mut self, now: u64, gpu: u32, cu: u32, id: u16, kind: u8, mask: u128) {
        if let Some(messages) = self.transfer(now) {
            messages.cu_rsp(now, gpu, cu, id, kind, mask);
        }
    }

    /// A transfer at a port that no other method is for, such as a store of the host's copy engine or its answer.
    pub fn other_transfer(&mut self, now: u64) {
        self.transfer(now);
    }

    /// A memory channel takes a request of its L2 bank.
    pub fn mem_req(&mut self, now: u64, gpu: u32, bank: u32, write: bool, line: u64, id: u32) {
        if let Some(messages) = self.transfer(now) {
            messages.mem_req(now, gpu, bank, write, line, id);
        }
    }

    /// An L2 bank takes an answer of its memory channel.
    pub fn mem_rsp(&mut self, now: u64, gpu: u32, bank: u32, id: u32) {
        if let Some(messages) = self.transfer(now) {
            messages.mem_rsp(now, gpu, bank, id);
        }
    }

    /// A fence unit takes a release, or an acquire, of a scope (1 GPU, 2 system).
    pub fn fence_start(&mut self, now: u64, gpu: u32, seq: u8, scope: u8, acquire: bool) {
        if let Some(messages) = self.transfer(now) {
            messages.fence_start(now, gpu, seq, scope, acquire);
        }
    }

    /// A fence unit completes the releases, or the acquires, of a scope up to `seq`.
    pub fn fence_done(&mut self, now: u64, gpu: u32, seq: u8, scope: u8, acquire: bool) {
        if let Some(messages) = self.transfer(now) {
            messages.fence_done(now, gpu, seq, scope, acquire);
        }
    }

    /// A release or acquire of a compute unit is complete that was taken in the first cycle of `span`, and completed in the second; `scope` is 0 (CU), 1 (GPU)
    /// or 2 (system).
    pub fn synchronised(&mut self, gpu: u32, cu: u32, acquire: bool, scope: u8, span: (u64, u64)) {
        if let Some(values) = &mut self.values {
            values.synchronised(gpu, cu, acquire, scope, span);
        }
    }

    /// The host replaces memory at physical byte address `addr`, before the run or after a boundary.
    pub fn host_write(&mut self, addr: u64, bytes: &[u8]) {
        if let Some(values) = &mut self.values {
            values.host_write(addr, bytes);
        }
    }

    /// To be called once per cycle that is clocked, after everything of the cycle was told.
    ///
    /// # Errors
    /// The first violation.
    #[inline]
    pub fn cycle(&mut self, sim: &Sim) -> Result<(), CheckError> {
        self.first()?;
        if self.precision.is_some() && sim.cycle() >= self.next {
            self.next = sim.cycle() + self.options.precision;
            self.precise(sim, Beside::default())?;
        }
        if let Some(watchdog) = &mut self.watchdog {
            let open = self.messages.as_ref().is_some_and(|m| m.open() > 0);
            watchdog.cycle(sim, open).map_err(|deadlock| self.deadlock(*deadlock))?;
        }
        Ok(())
    }

    /// Nothing can happen any more although requests are open: every unit sleeps and no model wants to act.
    pub fn stuck(&mut self, sim: &Sim) -> Option<CheckError> {
        let open = self.messages.as_ref().is_some_and(|m| m.open() > 0);
        let deadlock = self.watchdog.as_mut().filter(|_| open)?.report(sim);
        Some(self.deadlock(deadlock))
    }

    fn deadlock(&self, mut deadlock: Deadlock) -> CheckError {
        let open = self.messages.as_ref().map(Messages::outstanding).unwrap_or_default();
        deadlock.open = open.into_iter().map(|(_, text)| text).collect();
        CheckError::Deadlock(Box::new(deadlock))
    }

    fn precise(&mut self, sim: &Sim, beside: Beside) -> Result<(), CheckError> {
        let Some(precision) = &mut self.precision else { return Ok(()) };
        precision.check(sim, beside).map_err(CheckError::Precision)
    }

    /// All releases of a kernel or host copy are complete and no compute unit has anything open.
    ///
    /// # Errors
    /// The first violation.
    pub fn kernel_boundary(&mut self, sim: &Sim, beside: Beside) -> Result<(), CheckError> {
        let now = sim.cycle();
        if let Some(values) = &mut self.values {
            values.kernel_boundary(now);
        }
        if let Some(messages) = self.messages.as_mut().filter(|_| self.options.messages) {
            messages.nothing_open(now);
        }
        self.first()?;
        self.precise(sim, beside)
    }

    /// The run is over: after the last boundary the fabric has come to rest.
    ///
    /// # Errors
    /// The first violation.
    pub fn end(&mut self, sim: &Sim, beside: Beside) -> Result<(), CheckError> {
        if let Some(messages) = self.messages.as_mut().filter(|_| self.options.messages) {
            messages.nothing_open(sim.cycle());
        }
        self.first()?;
        self.precise(sim, beside)?;
        let (Some(values), Some(precision), Some(memory)) =
            (&mut self.values, &self.precision, beside.memory.filter(|_| sim.asleep() && self.coherent))
        else {
            return Ok(());
        };
        let newer = precision.dirty(sim);
        values.compare_memory(sim.cycle(), &|addr, bytes| {
            let line = precision.line_bytes();
            for (i, piece) in bytes.chunks_mut(line).enumerate() {
                let mut limbs = [0; 16];
                let limbs = &mut limbs[..line / 8];
                let at = addr + (i * line) as u64;
                match newer.get(&(at / line as u64)) {
                    Some(data) => limbs.copy_from_slice(data),
                    None => memory(at, limbs),
                }
                for (eight, limb) in piece.as_chunks_mut::<8>().0.iter_mut().zip(limbs) {
                    *eight = limb.to_le_bytes();
                }
            }
        });
        self.first()
    }

    #[inline]
    fn first(&self) -> Result<(), CheckError> {
        if let Some(violation) = self.values.as_ref().and_then(|v| v.violations().first()) {
            return Err(CheckError::Value(violation.clone()));
        }
        let messages = self.messages.as_ref().filter(|_| self.options.messages);
        if let Some(violation) = messages.and_then(|m| m.violations().first()) {
            return Err(CheckError::Message(violation.clone()));
        }
        Ok(())
    }

    /// The whole state as bytes.
    pub fn save(&self) -> Vec<u8> {
        let saved = Saved {
            values: self.values.clone(),
            messages: self.messages.clone(),
            precision: self.precision.as_ref().map(Precision::counts),
            watchdog: self.watchdog.as_ref().map(|w| w.s.clone()),
            next: self.next,
        };
        postcard::to_stdvec(&saved).expect("plain data is always encoded")
    }

    /// Restores a state that [`Checks::save`] gave for the same fabric and options.
    ///
    /// # Errors
    /// Bytes that are damaged or of other checks; the state is then unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), CheckError> {
        let saved: Saved = postcard::from_bytes(bytes).map_err(|_| CheckError::Load)?;
        let same = saved.values.is_some() == self.values.is_some()
            && saved.messages.is_some() == self.messages.is_some()
            && saved.precision.is_some() == self.precision.is_some()
            && saved.watchdog.is_some() == self.watchdog.is_some();
        if !same {
            return Err(CheckError::Load);
        }
        (self.values, self.messages, self.next) = (saved.values, saved.messages, saved.next);
        if let (Some(precision), Some(counts)) = (&mut self.precision, saved.precision) {
            precision.resume(counts);
        }
        if let (Some(watchdog), Some(state)) = (&mut self.watchdog, saved.watchdog) {
            watchdog.s = state;
        }
        Ok(())
    }
}

impl CuObserver for Checks {
    fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        if let Some(values) = &mut self.values {
            values.load(who, line, mask, data, issued, done);
        }
    }

    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        if let Some(values) = &mut self.values {
            values.store(who, line, mask, data, now);
        }
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        if let Some(values) = &mut self.values {
            values.amo(who, access, old, issued, done);
        }
    }
}
