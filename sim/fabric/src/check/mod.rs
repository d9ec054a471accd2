//! Checks while a fabric runs (issue "Checks while running").
//!
//! ```text
//!  compute units --- loads, stores, atomics ---> values     each value is one that the memory model allows
//!  cu, mem, fence ports --- transfers ---------> messages   every request is answered exactly once
//!                                      \-------> watchdog   something moves, or a report says who waits for whom
//!  all of it, and the state of the design -----> family     what only this family of fabrics promises ([`FamilyCheck`])
//! ```
//!
//! The run loop tells [`Checks`] what happens and asks [`Checks::cycle`] once per clocked cycle; the first violation ends the run. Nothing here changes the run, and a
//! clone goes on from where the original was.

pub mod messages;
pub mod values;
pub mod watchdog;

use crate::cu::{CuObserver, Issuer, LineAccess, LineReply, Who};
use crate::family::{Channels, FamilyCheck, Hardware, Surroundings, Transfer, ValueRule};
use crate::memory::Memory;
use crate::run::memory::{HOST, read_newer};
use messages::{CuRequest, MessageCounts, MessageViolation, Messages};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use values::{ValueCounts, Values, Violation};
use watchdog::{Deadlock, WatchState, Watchdog};
use weft_blocks::msg::CuOp;
use weft_engine::{Design, Sim};

/// Which checks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Every load's value.
    pub values: bool,
    /// Every request answered once.
    pub messages: bool,
    /// The checks of the fabric's family.
    pub family: bool,
    /// Cycles without any transfer at a port of the fabric that are a deadlock while requests are open; 0: no watchdog.
    pub watchdog: u64,
}

impl CheckOptions {
    /// All checks.
    pub const ALL: CheckOptions =
        CheckOptions { values: true, messages: true, family: true, watchdog: 50_000 };
    /// No check, for speed.
    pub const NONE: CheckOptions =
        CheckOptions { values: false, messages: false, family: false, watchdog: 0 };
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
    /// Something that only fabrics of this family promise does not hold.
    #[error("{check}: {text}")]
    Family {
        /// Name of the check.
        check: &'static str,
        /// One sentence.
        text: String,
        /// Found by a look made only now and then.
        late: bool,
    },
    /// Nothing moves.
    #[error("watchdog: {0}")]
    Deadlock(Box<Deadlock>),
    /// The design lacks what a check of its family reads.
    #[error("the design has no {units}, which the check of {check} reads; switch that check off")]
    Names {
        /// What is missing.
        units: &'static str,
        /// Name of the check.
        check: &'static str,
    },
    /// A saved state that does not fit.
    #[error("the saved state of the checks is damaged or of other checks; start the run anew")]
    Load,
}

/// How much was checked; absent for checks that are off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Values.
    pub values: Option<ValueCounts>,
    /// Messages.
    pub messages: Option<MessageCounts>,
    /// Those of the family, by name.
    pub family: Vec<(&'static str, u64)>,
}

/// What changes, as it is saved.
#[derive(Serialize, Deserialize)]
struct Saved {
    values: Option<Values>,
    messages: Option<Messages>,
    family: Vec<Vec<u8>>,
    watchdog: Option<WatchState>,
}

/// All checks of a run. A clone is an independent copy; it shares pages of memory until they are written.
#[derive(Clone)]
pub struct Checks {
    options: CheckOptions,
    values: Option<Values>,
    /// Kept for the watchdog too, which asks what is open.
    messages: Option<Messages>,
    family: Vec<Box<dyn FamilyCheck>>,
    watchdog: Option<Watchdog>,
    /// Bytes of a line.
    line: u64,
    /// Memory holds what the program wrote once the fabric rests.
    coherent: bool,
    /// Loads that nothing explains are counted, and no failure.
    counted: bool,
}

impl Checks {
    /// The checks of a fabric with these memory channels.
    ///
    /// # Errors
    /// The checks of the family are asked for and the design's units have other names.
    pub fn new(
        design: &Design,
        hardware: &dyn Hardware,
        channels: Channels,
        options: CheckOptions,
    ) -> Result<Checks, CheckError> {
        let (shape, promises) = (hardware.shape(), hardware.promises());
        let watches = options.watchdog > 0;
        let values = options.values && promises.values != ValueRule::Elsewhere;
        Ok(Checks {
            options,
            values: values.then(|| Values::new(shape.line, shape.gpms)),
            messages: (options.messages || watches).then(|| Messages::new(&shape, channels)),
            family: if options.family { hardware.checks(design)? } else { Vec::new() },
            watchdog: watches.then(|| Watchdog::new(design, options.watchdog, shape.line)),
            line: u64::from(shape.line),
            coherent: promises.memory,
            counted: promises.values == ValueRule::Counted,
        })
    }

    /// How much was checked so far.
    pub fn counts(&self) -> CheckCounts {
        let values = self.values.as_ref().map(Values::counts);
        let stale = values.filter(|_| self.counted).map(|counts| ("stale", counts.violations));
        CheckCounts {
            values,
            messages: self.messages.as_ref().filter(|_| self.options.messages).map(Messages::counts),
            family: self.family.iter().flat_map(|check| check.counts()).chain(stale).collect(),
        }
    }

    /// A failure is looked for: checks that look now and then look often from now on.
    pub fn look_closely(&mut self) {
        self.family.iter_mut().for_each(|check| check.look_closely());
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

    /// The L1 of a compute unit takes an access, of a wave or not ([`FamilyCheck::request`]). An answer that frees its transaction number is told before it.
    pub fn cu_req(&mut self, now: u64, node: u32, cu: u32, a: &LineAccess, issuer: Option<&Issuer>) {
        self.host_req(now, node, cu, a);
        self.family.iter_mut().for_each(|check| check.request(now, node, cu, a, issuer));
    }

    /// The host takes an access of a compute unit; the fabric, and the checks of its family, have nothing to do with it.
    pub fn host_req(&mut self, now: u64, node: u32, cu: u32, a: &LineAccess) {
        if let Some(messages) = self.transfer(now) {
            let request = CuRequest { op: a.op, id: a.id, line: a.line, mask: a.mask, want_ack: a.want_ack };
            messages.cu_req(now, node, cu, &request);
        }
        if let Some(values) = self.values.as_mut().filter(|_| a.op == CuOp::Amo) {
            values.amo_taken(a.line);
        }
    }

    /// The L1 of a compute unit answers, with the time that the fabric tells of it, if it does.
    pub fn cu_rsp(&mut self, now: u64, node: u32, cu: u32, reply: &LineReply, time: Option<u64>) {
        self.host_rsp(now, node, cu, reply);
        self.family.iter_mut().for_each(|check| check.answer(now, node, cu, reply, time));
    }

    /// A stash takes the words of one line of a pass, as an access by global address, or a release or acquire.
    pub fn stash_req(&mut self, now: u64, node: u32, device: u32, a: &LineAccess) {
        self.family.iter_mut().for_each(|check| check.request(now, node, device, a, None));
    }

    /// A stash answers words of one line, or a release or acquire.
    pub fn stash_rsp(&mut self, now: u64, node: u32, device: u32, reply: &LineReply) {
        self.family.iter_mut().for_each(|check| check.answer(now, node, device, reply, None));
    }

    /// The host answers a compute unit.
    pub fn host_rsp(&mut self, now: u64, node: u32, cu: u32, reply: &LineReply) {
        if let Some(messages) = self.transfer(now) {
            messages.cu_rsp(now, node, cu, reply.id, reply.kind, reply.mask);
        }
    }

    /// A transfer at a port that no other method is for, such as a store of the host's copy engine or its answer.
    pub fn other_transfer(&mut self, now: u64) {
        self.transfer(now);
    }

    /// A memory channel takes a request, of a line that belongs to channel `home`.
    pub fn mem_req(&mut self, now: u64, request: &Transfer, home: usize) {
        if let Some(messages) = self.transfer(now) {
            messages.mem_req(now, request, home);
        }
    }

    /// The fabric takes an answer of a memory channel.
    pub fn mem_rsp(&mut self, now: u64, channel: usize, id: u64) {
        if let Some(messages) = self.transfer(now) {
            messages.mem_rsp(now, channel, id);
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
        self.family.iter_mut().for_each(|check| check.host_write(addr, bytes));
    }

    /// The first cycle from `now` on in which some check may look at the simulation, whatever happens in it; in
    /// all before, [`Checks::judge`] does. `moved`: the last cycle with a transfer at a port of which the checks
    /// have not heard.
    pub fn looks(&self, now: u64, moved: Option<u64>) -> u64 {
        let family = self.family.iter().map(|check| check.looks());
        family
            .chain(self.watchdog.as_ref().map(|watchdog| watchdog.looks(now, moved)))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// In place of [`Checks::cycle`] in a cycle in which no check [looks](Checks::looks) at the simulation.
    ///
    /// # Errors
    /// The first violation.
    pub fn judge(&mut self) -> Result<(), CheckError> {
        self.first()?;
        self.family.iter_mut().try_for_each(|check| check.judge())
    }

    /// To be called once per cycle that is clocked, after everything of the cycle was told.
    ///
    /// # Errors
    /// The first violation.
    #[inline]
    pub fn cycle(&mut self, sim: &Sim) -> Result<(), CheckError> {
        self.first()?;
        let now = sim.cycle();
        self.family.iter_mut().try_for_each(|check| {
            check.judge()?;
            if check.looks() <= now { check.look(sim) } else { Ok(()) }
        })?;
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

    /// All releases of a kernel or host copy are complete and no compute unit has anything open.
    ///
    /// # Errors
    /// The first violation.
    pub fn kernel_boundary(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        let now = sim.cycle();
        if let Some(values) = &mut self.values {
            values.kernel_boundary(now);
        }
        if let Some(messages) = self.messages.as_mut().filter(|_| self.options.messages) {
            messages.nothing_open(now);
        }
        self.first()?;
        self.family.iter_mut().try_for_each(|check| check.boundary(sim, around))
    }

    /// The run is over: after the last boundary the fabric has come to rest. `host` is memory of the host by the program's addresses.
    ///
    /// # Errors
    /// The first violation.
    pub fn end(&mut self, sim: &Sim, around: &dyn Surroundings, host: &Memory) -> Result<(), CheckError> {
        if let Some(messages) = self.messages.as_mut().filter(|_| self.options.messages) {
            messages.nothing_open(sim.cycle());
        }
        self.first()?;
        self.family.iter_mut().try_for_each(|check| check.end(sim, around))?;
        let Some(values) = self.values.as_mut().filter(|_| sim.asleep() && self.coherent) else {
            return Ok(());
        };
        let mut newer = around.newer(sim);
        newer.sort_by_key(|n| n.line);
        let line = self.line;
        values.compare_memory(sim.cycle(), &|addr, bytes| match addr & HOST {
            0 => read_newer(around, &newer, line, addr, bytes),
            _ => host.read(addr ^ HOST, bytes),
        });
        self.first()
    }

    #[inline]
    fn first(&self) -> Result<(), CheckError> {
        if let Some(violation) =
            self.values.as_ref().filter(|_| !self.counted).and_then(|v| v.violations().first())
        {
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
            family: self.family.iter().map(|check| check.save()).collect(),
            watchdog: self.watchdog.as_ref().map(|w| w.s.clone()),
        };
        postcard::to_stdvec(&saved).expect("plain data is always encoded")
    }

    /// Restores a state that [`Checks::save`] gave for the same fabric and options.
    ///
    /// # Errors
    /// Bytes that are damaged or of other checks; the run must then not go on.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), CheckError> {
        let saved: Saved = postcard::from_bytes(bytes).map_err(|_| CheckError::Load)?;
        let same = saved.values.is_some() == self.values.is_some()
            && saved.messages.is_some() == self.messages.is_some()
            && saved.family.len() == self.family.len()
            && saved.watchdog.is_some() == self.watchdog.is_some();
        if !same {
            return Err(CheckError::Load);
        }
        if !self.family.iter_mut().zip(&saved.family).all(|(check, bytes)| check.resume(bytes)) {
            return Err(CheckError::Load);
        }
        (self.values, self.messages) = (saved.values, saved.messages);
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
        for check in &mut self.family {
            CuObserver::load(&mut **check, who, line, mask, data, issued, done);
        }
    }

    fn served(&mut self, who: &Who, access: &LineAccess, src: u8, merged: bool) {
        self.family.iter_mut().for_each(|check| check.served(who, access, src, merged));
    }

    fn barrier(&mut self, who: &Who, now: u64) {
        self.family.iter_mut().for_each(|check| check.barrier(who, now));
    }

    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        if let Some(values) = &mut self.values {
            values.store(who, line, mask, data, now);
        }
        self.family.iter_mut().for_each(|check| check.store(who, line, mask, data, now));
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        if let Some(values) = &mut self.values {
            values.amo(who, access, old, issued, done);
        }
        self.family.iter_mut().for_each(|check| check.amo(who, access, old, issued, done));
    }
}
