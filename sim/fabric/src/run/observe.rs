//! What is seen of the run besides the hardware's own counters.

use crate::cu::{CuObserver, LineAccess, Who};
use std::collections::HashMap;

/// Watches all compute units.
#[derive(Clone)]
pub(super) struct Observer {
    /// Lines that a GPU's L2 has been asked for, per GPU: 64 lines by the number of the first one / 64.
    touched: Vec<HashMap<u64, u64>>,
    /// First references to a line in a GPU.
    pub cold: u64,
    /// Home GPU of a line = line >> this.
    home_shift: u32,
    problem: Option<String>,
}

impl Observer {
    pub fn new(gpus: u32, home_shift: u32) -> Observer {
        Observer { touched: vec![HashMap::new(); gpus as usize], cold: 0, home_shift, problem: None }
    }

    /// All writes so far are visible everywhere.
    pub fn boundary(&mut self, _now: u64) -> Result<(), String> {
        Ok(())
    }

    /// What was found wrong since the last call.
    pub fn failure(&mut self) -> Result<(), String> {
        self.problem.take().map_or(Ok(()), Err)
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

impl CuObserver for Observer {
    fn load(&mut self, who: &Who, line: u64, _mask: u128, _data: &[u64; 16], _issued: u64, _done: u64) {
        self.touch(who.gpu, line);
    }

    fn store(&mut self, who: &Who, line: u64, _mask: u128, _data: &[u64; 16], _now: u64) {
        self.touch(who.gpu, line);
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, _old: &[u64; 16], _issued: u64, _done: u64) {
        self.touch(who.gpu, access.line);
    }
}
