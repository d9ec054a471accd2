//! A run of a block under random stimulus, and its mutants under the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use weft_engine::{BackendKind, Design, EngineError, Options, Probes, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_tools::cosim::{Recording, Traffic};

/// Mutants run for a short time and once: what it takes to compile them would be longer.
const OPTIONS: Options = Options { backend: BackendKind::Interp, probes: Probes::Asserts, sleep: true };

/// A block's run: messages for three quarters of the time, then raw values, as in co-simulation.
pub struct Reference {
    run: Recording,
    /// Assertions that random answers of neighbours break in the block itself.
    broken: BTreeSet<String>,
}

/// What shows of a mutant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// The first cycle in which an output differs, and the output.
    pub differs: Option<(u64, String)>,
    /// The first assertion that fails while messages keep the channel rule, and never fails in the block.
    pub assertion: Option<String>,
}

impl Reference {
    /// Runs the block.
    ///
    /// # Errors
    /// A module that the engine refuses.
    pub fn new(block: &Arc<Module>, cycles: u64, seed: u64) -> Result<Reference, EngineError> {
        let run = Recording::random(block, cycles, seed, Traffic::Both, OPTIONS)?;
        let mut reference = Reference { run, broken: BTreeSet::new() };
        let mut sim = Replay::new(&reference, block)?;
        for cycle in 0..cycles {
            sim.step(cycle, true);
        }
        reference.broken = sim.failed(0);
        Ok(reference)
    }

    /// Runs a mutant of the block on the same inputs.
    ///
    /// # Errors
    /// A module that the engine refuses.
    pub fn replay(&self, mutant: &Arc<Module>) -> Result<Seen, EngineError> {
        let mut sim = Replay::new(self, mutant)?;
        let cycles = self.run.cycles();
        let messages = cycles - cycles / 4;
        let mut seen = Seen::default();
        let mut failures = 0;
        for cycle in 0..cycles {
            let differs = sim.step(cycle, seen.differs.is_some());
            if cycle < messages && seen.assertion.is_none() {
                seen.assertion = sim.failed(failures).into_iter().find(|name| !self.broken.contains(name));
                failures = sim.sim.failures().len();
            }
            if let Some(port) = differs {
                seen.differs = Some((cycle, self.run.ports.outputs[port].name.clone()));
            }
            if seen.differs.is_some() && (seen.assertion.is_some() || cycle >= messages) {
                break;
            }
        }
        Ok(seen)
    }
}

struct Replay<'a> {
    run: &'a Recording,
    sim: Sim,
    inputs: Vec<weft_engine::InPort>,
    outputs: Vec<weft_engine::OutPort>,
}

impl<'a> Replay<'a> {
    fn new(reference: &'a Reference, module: &Arc<Module>) -> Result<Replay<'a>, EngineError> {
        let run = &reference.run;
        let sim = Sim::new(&Design::new(module, OPTIONS)?);
        let inputs = run.ports.inputs.iter().map(|p| sim.input(&p.name).expect("the block's port")).collect();
        let outputs =
            run.ports.outputs.iter().map(|p| sim.output(&p.name).expect("the block's port")).collect();
        Ok(Replay { run, sim, inputs, outputs })
    }

    /// One cycle; the first output that differs, unless nobody asks.
    fn step(&mut self, cycle: u64, known: bool) -> Option<usize> {
        for (port, value) in self.inputs.iter().zip(&self.run.inputs[cycle as usize]) {
            self.sim.set_bv(*port, value);
        }
        let expected: &[Bv] = &self.run.outputs[cycle as usize];
        let differs = if known {
            None
        } else {
            let mut pairs = self.outputs.iter().zip(expected);
            pairs.position(|(port, value)| self.sim.get_bv(*port) != *value)
        };
        self.sim.step();
        differs
    }

    /// Names of the assertions behind the first few failures.
    fn failed(&self, first: usize) -> BTreeSet<String> {
        self.sim.failures()[first..].iter().map(|failure| failure.name.clone()).collect()
    }
}
