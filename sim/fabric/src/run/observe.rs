//! What is seen of the run besides the hardware's own counters.

use super::sharing::{Sharing, SharingState};
use crate::check::precision::Beside;
use crate::check::{CheckError, Checks};
use crate::cu::{CuObserver, LineAccess, Who};
use crate::dram::Transfer;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use weft_blocks::msg::CuOp;
use weft_engine::Sim;
use weft_engine::runner::Problem;

/// Watches all compute units.
#[derive(Clone)]
pub(super) struct Observer {
    /// Lines that a GPU's L2 has been asked for, per GPU: 64 lines by the number of the first one / 64.
    touched: Vec<HashMap<u64, u64>>,
    /// First references to a line in a GPU.
    pub cold: u64,
    /// Loads that leave a GPU.
    pub sharing: Sharing,
    /// Home GPU of a line = line >> this.
    home_shift: u32,
    /// Checks of values and messages, if they are on.
    pub checks: Option<Checks>,
}

/// What changes in an [`Observer`], as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct ObserverState {
    /// In order, so that equal states are equal bytes.
    touched: Vec<BTreeMap<u64, u64>>,
    cold: u64,
    sharing: SharingState,
    checks: Option<Vec<u8>>,
}

impl Observer {
    /// What has to be saved.
    pub fn state(&self) -> ObserverState {
        let ordered = |lines: &HashMap<u64, u64>| lines.iter().map(|(k, v)| (*k, *v)).collect();
        ObserverState {
            touched: self.touched.iter().map(ordered).collect(),
            cold: self.cold,
            sharing: self.sharing.state(),
            checks: self.checks.as_ref().map(Checks::save),
        }
    }

    /// Goes on from what [`Observer::state`] gave; false when it is of another fabric or of other checks.
    #[must_use]
    pub fn resume(&mut self, state: ObserverState) -> bool {
        let loaded = match (&mut self.checks, &state.checks) {
            (Some(checks), Some(bytes)) => checks.load(bytes).is_ok(),
            (None, None) => true,
            _ => false,
        };
        if !loaded || state.touched.len() != self.touched.len() || !self.sharing.resume(state.sharing) {
            return false;
        }
        self.touched = state.touched.into_iter().map(|lines| lines.into_iter().collect()).collect();
        self.cold = state.cold;
        true
    }

    /// Of `nodes` nodes, `gpms` of which make a GPU.
    pub fn new(nodes: u32, gpms: u32, home_shift: u32, checks: Option<Checks>) -> Observer {
        let touched = vec![HashMap::new(); nodes as usize];
        Observer { touched, cold: 0, sharing: Sharing::new(nodes, gpms), home_shift, checks }
    }

    /// All writes so far are visible everywhere.
    pub fn boundary(&mut self, sim: &Sim, beside: Beside) -> Result<(), Problem> {
        self.checks.as_mut().map_or(Ok(()), |c| c.kernel_boundary(sim, beside)).map_err(problem)
    }

    /// The run is over and the fabric at rest.
    pub fn end(&mut self, sim: &Sim, beside: Beside) -> Result<(), CheckError> {
        self.checks.as_mut().map_or(Ok(()), |c| c.end(sim, beside))
    }

    /// Nothing will ever happen again.
    pub fn stuck(&mut self, sim: &Sim) -> Result<(), Problem> {
        let found = self.checks.as_mut().and_then(|c| c.stuck(sim));
        found.map_or(Ok(()), |error| Err(problem(error)))
    }

    /// Transfers at the ports of the DRAM channels; `banks` of them belong to each GPU.
    pub fn memory(&mut self, now: u64, banks: u32, transfers: &[Transfer]) {
        let Some(checks) = &mut self.checks else { return };
        let place = |channel: usize| (channel as u32 / banks, channel as u32 % banks);
        for transfer in transfers {
            match *transfer {
                Transfer::Request { channel, write, line, id } => {
                    let (gpu, bank) = place(channel);
                    checks.mem_req(now, gpu, bank, write, line, id as u32);
                }
                Transfer::Answer { channel, id } => {
                    let (gpu, bank) = place(channel);
                    checks.mem_rsp(now, gpu, bank, id as u32);
                }
            }
        }
    }

    /// What was found wrong up to this cycle.
    pub fn failure(&mut self, sim: &Sim) -> Result<(), Problem> {
        self.checks.as_mut().map_or(Ok(()), |c| c.cycle(sim)).map_err(problem)
    }

    fn touch(&mut self, gpu: u32, line: u64) {
        let home = (line >> self.home_shift) as usize;
        let bit = 1 << (line % 64);
        for g in [gpu as usize, home] {
            let word = self.touched[g].entry(line / 64).or_insert(0);
            self.cold += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }
}

/// Cycles shown after the last transfer at a port, in a fabric that has stopped: what was inside goes on for a while.
const AFTER_STOP: u64 = 256;

/// Servers in another GPU: its L2, the DRAM behind it.
const FAR: [u8; 2] = [4, 5];

fn problem(error: CheckError) -> Problem {
    let shown = match &error {
        CheckError::Deadlock(deadlock) => Some(deadlock.silent_since + AFTER_STOP),
        _ => None,
    };
    Problem { text: error.to_string(), shown, late: matches!(error, CheckError::Precision(_)) }
}

impl CuObserver for Observer {
    fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        self.touch(who.gpu, line);
        if let Some(checks) = &mut self.checks {
            CuObserver::load(checks, who, line, mask, data, issued, done);
        }
    }

    fn served(&mut self, who: &Who, access: &LineAccess, src: u8, merged: bool) {
        if access.op == CuOp::Ld {
            self.sharing.load(who.gpu, access.line, FAR.contains(&src) && !merged);
        }
    }

    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        self.touch(who.gpu, line);
        if let Some(checks) = &mut self.checks {
            CuObserver::store(checks, who, line, mask, data, now);
        }
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        self.touch(who.gpu, access.line);
        if let Some(checks) = &mut self.checks {
            CuObserver::amo(checks, who, access, old, issued, done);
        }
    }
}
