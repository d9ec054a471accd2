//! What is seen of the run besides the hardware's own counters.

use super::sharing::{Sharing, SharingState};
use crate::check::precision::Beside;
use crate::check::{CheckError, Checks};
use crate::cu::{CuObserver, LineAccess, Who};
use crate::dram::Transfer;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::{CuOp, Sys};
use weft_engine::Sim;
use weft_engine::runner::Problem;

/// Watches all compute units.
#[derive(Clone)]
pub(super) struct Observer {
    /// Lines that a node's L2 has been asked for, per node: 64 lines by the number of the first one / 64.
    touched: Vec<HashMap<u64, u64>>,
    /// First references to a line in an L2, of those that can miss there: loads in every L2 on their way, stores and atomics at home.
    pub cold: u64,
    /// Loads that leave a GPU.
    pub sharing: Sharing,
    /// Which L2s there are on the way.
    way: Way,
    /// Checks of values and messages, if they are on.
    pub checks: Option<Checks>,
}

/// The L2s that an access looks into.
#[derive(Clone, Debug)]
pub(super) struct Way {
    sys: Sys,
    /// Loads go through the GPU home.
    gpu_homes: bool,
}

impl Way {
    pub fn new(hardware: &FabricParams) -> Way {
        Way { sys: hardware.sys.clone(), gpu_homes: hardware.hier_banks() }
    }

    /// Of a node's load: its own, that of the GPU home, the home's.
    fn of_load(&self, node: u32, home: u32) -> [u32; 3] {
        let sys = &self.sys;
        let middle =
            if self.gpu_homes { sys.node(sys.gpu_of_node(node), sys.gpm_of_node(home)) } else { home };
        [node, middle, home]
    }

    /// Home of a line.
    fn home(&self, line: u64) -> u32 {
        (line >> (self.sys.home_shift - self.sys.line.trailing_zeros())) as u32
    }
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

    /// Of a fabric's compute units.
    pub fn new(hardware: &FabricParams, checks: Option<Checks>) -> Observer {
        let sys = &hardware.sys;
        let touched = vec![HashMap::new(); sys.nodes() as usize];
        Observer {
            touched,
            cold: 0,
            sharing: Sharing::new(sys.nodes(), sys.gpms),
            way: Way::new(hardware),
            checks,
        }
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

    fn touch(&mut self, nodes: &[u32], line: u64) {
        let bit = 1 << (line % 64);
        for node in nodes {
            let word = self.touched[*node as usize].entry(line / 64).or_insert(0);
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
        let home = self.way.home(line);
        self.touch(&self.way.of_load(who.gpu, home), line);
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
        self.touch(&[self.way.home(line)], line);
        if let Some(checks) = &mut self.checks {
            CuObserver::store(checks, who, line, mask, data, now);
        }
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        self.touch(&[self.way.home(access.line)], access.line);
        if let Some(checks) = &mut self.checks {
            CuObserver::amo(checks, who, access, old, issued, done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_blocks::fabric::Protocol;

    fn observer(protocol: Protocol) -> Observer {
        let mut hardware = FabricParams::scaled(protocol);
        (hardware.sys.gpus, hardware.sys.gpms) = (2, 2);
        Observer::new(&hardware, None)
    }

    fn who(node: u32) -> Who {
        Who { gpu: node, gpms: 2, cu: 0, kernel: 0, block: 0, wave: 0 }
    }

    fn load(seen: &mut Observer, node: u32, line: u64) -> u64 {
        CuObserver::load(seen, &who(node), line, 1, &[0; 16], 0, 1);
        seen.cold
    }

    #[test]
    fn a_load_is_cold_once_in_each_l2_on_its_way() {
        // Line 5 is at home in node 0. Node 3's GPU home for it is node 2.
        let mut seen = observer(Protocol::Hmg);
        assert_eq!([load(&mut seen, 3, 5), load(&mut seen, 3, 5)], [3, 3]);
        assert_eq!([load(&mut seen, 2, 5), load(&mut seen, 0, 5), load(&mut seen, 1, 5)], [3, 3, 4]);
        let mut flat = observer(Protocol::Nhcc);
        assert_eq!([load(&mut flat, 3, 5), load(&mut flat, 2, 5)], [2, 3]);
    }

    #[test]
    fn a_store_can_miss_at_home_only() {
        let mut seen = observer(Protocol::Hmg);
        CuObserver::store(&mut seen, &who(3), 5, 1, &[0; 16], 0);
        assert_eq!(seen.cold, 1);
        assert_eq!(load(&mut seen, 3, 5), 3, "the load finds nothing in the L2s of its own GPU");
    }
}
