//! What is seen of the run besides the hardware's own counters.

mod noted;

pub(super) use noted::{Notes, PartNotes};

use super::fence::Fence;
use super::record::Recorder;
use crate::activity::CHECKS;
use crate::check::{CheckError, Checks};
use crate::cu::{CuObserver, Issuer, LineAccess, LineReply, Who};
use crate::family::{Meter, Surroundings, Transfer};
use crate::memory::Memory;
use serde::{Deserialize, Serialize};
use weft_engine::Sim;
use weft_engine::runner::Problem;
use weft_workload::{Op, Scope, Sem};

/// Hears what happens at compute units and their ports. `at` is a node and the number of a compute unit, or of a stash, there.
pub(super) trait Observe: CuObserver {
    /// Somebody checks what happens at the ports.
    fn checks(&self) -> bool;

    /// The L1 takes an access.
    fn request(&mut self, now: u64, at: (u32, u32), access: &LineAccess, issuer: Option<&Issuer>);

    /// The L1 answers, with a time that goes with the answer where there is one.
    fn answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply, time: Option<u64>);

    /// The host takes an access in place of the L1.
    fn host_request(&mut self, now: u64, at: (u32, u32), access: &LineAccess);

    /// The host answers.
    fn host_answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply);

    /// A fence unit takes (`start`) or completes fence `seq` of a scope.
    fn fence(&mut self, now: u64, node: u32, start: bool, seq: u8, fence: Fence);

    /// A release or acquire is complete: [`Checks::synchronised`].
    fn synchronised(&mut self, at: (u32, u32), acquire: bool, scope: u8, span: (u64, u64));

    /// A stash takes words of one line, or a release or acquire.
    fn stash_request(&mut self, now: u64, at: (u32, u32), access: &LineAccess);

    /// A stash answers words of one line, or a release or acquire.
    fn stash_answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply);

    /// A transfer that no other method is for.
    fn other_transfer(&mut self, now: u64);
}

/// Watches all compute units.
#[derive(Clone)]
pub(super) struct Observer {
    /// What the family measures.
    pub meter: Box<dyn Meter>,
    /// Checks, if they are on.
    pub checks: Option<Checks>,
    /// What is recorded, if anything is.
    pub recorder: Option<Recorder>,
}

/// What changes in an [`Observer`], as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct ObserverState {
    meter: Vec<u8>,
    checks: Option<Vec<u8>>,
}

impl Observer {
    /// What has to be saved.
    pub fn state(&self) -> ObserverState {
        ObserverState { meter: self.meter.save(), checks: self.checks.as_ref().map(Checks::save) }
    }

    /// Goes on from what [`Observer::state`] gave; false when it is of another fabric or of other checks.
    #[must_use]
    pub fn resume(&mut self, state: &ObserverState) -> bool {
        let loaded = match (&mut self.checks, &state.checks) {
            (Some(checks), Some(bytes)) => checks.load(bytes).is_ok(),
            (None, None) => true,
            _ => false,
        };
        loaded && self.meter.resume(&state.meter)
    }

    /// All writes so far are visible everywhere.
    pub fn boundary(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), Problem> {
        if let Some(recorder) = &mut self.recorder {
            recorder.boundary(sim.cycle());
        }
        self.checks.as_mut().map_or(Ok(()), |c| c.kernel_boundary(sim, around)).map_err(problem)
    }

    /// The run is over and the fabric at rest.
    pub fn end(&mut self, sim: &Sim, around: &dyn Surroundings, host: &Memory) -> Result<(), CheckError> {
        self.checks.as_mut().map_or(Ok(()), |c| c.end(sim, around, host))
    }

    /// Nothing will ever happen again.
    pub fn stuck(&mut self, sim: &Sim) -> Result<(), Problem> {
        let found = self.checks.as_mut().and_then(|c| c.stuck(sim));
        found.map_or(Ok(()), |error| Err(problem(error)))
    }

    /// Transfers at the ports of the memory channels in this cycle.
    pub fn memory(&mut self, now: u64, around: &dyn Surroundings) {
        if self.checks.is_some() {
            for transfer in around.transfers() {
                self.transfer(now, transfer, home(transfer, &|line| around.channel_of(line)));
            }
        }
    }

    /// A transfer at a memory channel; `home` is the channel of its line.
    fn transfer(&mut self, now: u64, transfer: &Transfer, home: usize) {
        let Some(checks) = &mut self.checks else { return };
        match *transfer {
            Transfer::Request { .. } => checks.mem_req(now, transfer, home),
            Transfer::Answer { channel, id } => checks.mem_rsp(now, channel, id),
        }
    }

    /// The first cycle from `now` on in which [`Observer::failure`] has to see the simulation, whatever happens
    /// in it. `moved`: the last cycle in which something happened at the ports of which the observer has not
    /// heard.
    pub fn looks(&self, now: u64, moved: Option<u64>) -> u64 {
        self.checks.as_ref().map_or(u64::MAX, |checks| checks.looks(now, moved))
    }

    /// What was found wrong up to a cycle in which nothing [`Observer::looks`].
    pub fn judge(&mut self) -> Result<(), Problem> {
        self.checks.as_mut().map_or(Ok(()), Checks::judge).map_err(problem)
    }

    /// What was found wrong up to this cycle.
    pub fn failure(&mut self, sim: &Sim) -> Result<(), Problem> {
        self.checks.as_mut().map_or(Ok(()), |c| c.cycle(sim)).map_err(problem)
    }
}

/// The channel of the line of a transfer.
fn home(transfer: &Transfer, channel_of: &dyn Fn(u64) -> usize) -> usize {
    match *transfer {
        Transfer::Request { line, .. } => channel_of(line),
        Transfer::Answer { channel, .. } => channel,
    }
}

/// Cycles shown after the last transfer at a port, in a fabric that has stopped: what was inside goes on for a while.
const AFTER_STOP: u64 = 256;

fn problem(error: CheckError) -> Problem {
    let shown = match &error {
        CheckError::Deadlock(deadlock) => Some(deadlock.silent_since + AFTER_STOP),
        _ => None,
    };
    Problem {
        text: error.to_string(),
        shown,
        late: matches!(error, CheckError::Family { late: true, .. }),
        at: None,
    }
}

impl Observe for Observer {
    fn checks(&self) -> bool {
        self.checks.is_some()
    }

    fn request(&mut self, now: u64, (node, cu): (u32, u32), access: &LineAccess, issuer: Option<&Issuer>) {
        if let Some(checks) = &mut self.checks {
            let _noted = CHECKS.within();
            checks.cu_req(now, node, cu, access, issuer);
        }
    }

    fn answer(&mut self, now: u64, (node, cu): (u32, u32), reply: &LineReply, time: Option<u64>) {
        if let Some(checks) = &mut self.checks {
            let _noted = CHECKS.within();
            checks.cu_rsp(now, node, cu, reply, time);
        }
    }

    fn host_request(&mut self, now: u64, (node, cu): (u32, u32), access: &LineAccess) {
        if let Some(checks) = &mut self.checks {
            checks.host_req(now, node, cu, access);
        }
    }

    fn host_answer(&mut self, now: u64, (node, cu): (u32, u32), reply: &LineReply) {
        if let Some(checks) = &mut self.checks {
            checks.host_rsp(now, node, cu, reply);
        }
    }

    fn fence(&mut self, now: u64, node: u32, start: bool, seq: u8, Fence { scope, acquire }: Fence) {
        self.meter.node_fence(now, node, start, scope, acquire);
        match &mut self.checks {
            Some(checks) if start => checks.fence_start(now, node, seq, scope, acquire),
            Some(checks) => checks.fence_done(now, node, seq, scope, acquire),
            None => {}
        }
    }

    fn synchronised(&mut self, (node, cu): (u32, u32), acquire: bool, scope: u8, span: (u64, u64)) {
        if let Some(checks) = &mut self.checks {
            checks.synchronised(node, cu, acquire, scope, span);
        }
    }

    fn stash_request(&mut self, now: u64, (node, device): (u32, u32), access: &LineAccess) {
        if let Some(checks) = &mut self.checks {
            checks.stash_req(now, node, device, access);
        }
    }

    fn stash_answer(&mut self, now: u64, (node, device): (u32, u32), reply: &LineReply) {
        if let Some(checks) = &mut self.checks {
            checks.stash_rsp(now, node, device, reply);
        }
    }

    fn other_transfer(&mut self, now: u64) {
        if let Some(checks) = &mut self.checks {
            checks.other_transfer(now);
        }
    }
}

impl CuObserver for Observer {
    fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        let _noted = CHECKS.within();
        CuObserver::load(&mut *self.meter, who, line, mask, data, issued, done);
        if let Some(checks) = &mut self.checks {
            CuObserver::load(checks, who, line, mask, data, issued, done);
        }
    }

    fn served(&mut self, who: &Who, access: &LineAccess, src: u8, merged: bool) {
        let _noted = CHECKS.within();
        self.meter.served(who, access, src, merged);
        if let Some(checks) = &mut self.checks {
            checks.served(who, access, src, merged);
        }
    }

    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        let _noted = CHECKS.within();
        self.meter.store(who, line, mask, data, now);
        if let Some(checks) = &mut self.checks {
            CuObserver::store(checks, who, line, mask, data, now);
        }
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        let _noted = CHECKS.within();
        self.meter.amo(who, access, old, issued, done);
        if let Some(checks) = &mut self.checks {
            CuObserver::amo(checks, who, access, old, issued, done);
        }
    }

    fn barrier(&mut self, who: &Who, now: u64) {
        let _noted = CHECKS.within();
        self.meter.barrier(who, now);
        if let Some(checks) = &mut self.checks {
            checks.barrier(who, now);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.barrier(who, now);
        }
    }

    fn operation(&mut self, who: &Who, number: u32, op: &Op) {
        if let Some(recorder) = &mut self.recorder {
            recorder.operation(who, number, op);
        }
    }

    fn fence(&mut self, who: &Who, fence: (Sem, Scope), parts: u32, now: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.fence(who, fence, parts, now);
        }
    }

    fn taken(&mut self, from: &Issuer, access: &LineAccess, addr: u64, now: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.taken(from, access, addr, now);
        }
    }

    fn complete(&mut self, who: &Who, access: &LineAccess, old: Option<&[u64; 16]>, now: u64) {
        if let Some(recorder) = &mut self.recorder {
            recorder.complete(who, access, old, now);
        }
    }
}
