//! The check of directory precision as part of a run.

use super::around::Around;
use super::precision::{Beside, Precision, PrecisionCounts};
use crate::check::CheckError;
use crate::cu::CuObserver;
use crate::family::{FamilyCheck, Surroundings};
use std::any::Any;
use weft_blocks::fabric::FabricParams;
use weft_engine::{Design, Sim};

/// Its name in sentences.
const NAME: &str = "directory precision";
/// Cycles between two looks.
const EVERY: u64 = 4096;
/// Cycles between two looks while a failure is looked for.
const CLOSE: u64 = 4;

/// Looks at the directories every few thousand cycles, at kernel boundaries and at the end.
#[derive(Clone)]
pub(super) struct Precisely {
    precision: Precision,
    every: u64,
    /// Next look between boundaries.
    next: u64,
}

impl Precisely {
    /// The check of a design.
    pub fn new(design: &Design, params: &FabricParams) -> Result<Precisely, CheckError> {
        let precision = Precision::new(design, params).ok_or(CheckError::Names {
            units: "units gpuG.bankB and gpuG.dirB with the expected registers and memories",
            check: NAME,
        })?;
        Ok(Precisely { precision, every: EVERY, next: EVERY })
    }

    fn look_with(&mut self, sim: &Sim, beside: Beside) -> Result<(), CheckError> {
        let found = self.precision.check(sim, beside);
        found.map_err(|v| CheckError::Family { check: NAME, text: v.to_string(), late: true })
    }

    /// Looks with what stands around the fabric.
    fn look_beside(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        let around: &dyn Any = around;
        let Some(Around { dram, ideal, .. }) = around.downcast_ref::<Around>() else {
            return self.look_with(sim, Beside::default());
        };
        let read = |addr: u64, limbs: &mut [u64]| dram.read_limbs(addr, limbs);
        let known = ideal.as_ref();
        let sharers =
            |home: u32, bank: u32, line: u64| known.map_or(0, |ideal| ideal.sharers(home, bank, line));
        self.look_with(sim, Beside { memory: Some(&read), ideal: ideal.is_some().then_some(&sharers) })
    }
}

impl CuObserver for Precisely {}

impl FamilyCheck for Precisely {
    fn looks(&self) -> u64 {
        self.next
    }

    fn look(&mut self, sim: &Sim) -> Result<(), CheckError> {
        self.next = sim.cycle() + self.every;
        self.look_with(sim, Beside::default())
    }

    fn look_closely(&mut self) {
        self.every = CLOSE;
        self.next = 0;
    }

    fn boundary(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        self.look_beside(sim, around)
    }

    fn end(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        self.look_beside(sim, around)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self.precision.counts();
        vec![
            ("checks", counts.checks),
            ("at_rest", counts.at_rest),
            ("copies", counts.copies),
            ("excused", counts.excused),
            ("compared", counts.compared),
            ("entries", counts.entries),
        ]
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&(self.precision.counts(), self.next)).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok((counts, next)) = postcard::from_bytes::<(PrecisionCounts, u64)>(bytes) else { return false };
        self.precision.resume(counts);
        self.next = next;
        true
    }

    fn boxed(&self) -> Box<dyn FamilyCheck> {
        Box::new(self.clone())
    }
}
