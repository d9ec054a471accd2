//! Mutants of a block, as RTL mutation testing makes them ([`weft_rtl::mutant`]): which to make ([`choose`]), and which of them are the same hardware.
//!
//! A mutant that no stimulus can tell from the block says nothing about tests. [`Subject::judge`] sorts such mutants out: first both run side by side under the random
//! stimulus of co-simulation ([`Reference`]), then, if no output has differed, a SAT solver is asked whether any state and input lets a next state or an output differ ([`prove`]).
//!
//! The solver is BatSat, MiniSat in Rust: one crate and one below it, used by RustSAT, too. Yosys would be a second way through the Verilog, a process that takes seconds to start, and
//! a tool that not every machine has.

mod blast;
mod choose;
mod graph;
mod prove;
mod reference;

pub use choose::{Candidate, choose, family};
pub use prove::{Proof, prove};
pub use reference::{Reference, Seen};

use std::sync::Arc;
use weft_engine::EngineError;
use weft_rtl::ir::Module;
use weft_rtl::lower::flatten;

/// What a mutant is, beside the block that it was made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// An output differs under random stimulus, in this cycle.
    Different {
        /// Cycle after reset.
        cycle: u64,
        /// The first output that differs.
        port: String,
    },
    /// No state and no input lets a next state or an output differ.
    Equivalent,
    /// Neither was found: it counts as different.
    Undecided,
}

/// A verdict, and the assertion of the block that failed under random stimulus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// What the mutant is.
    pub verdict: Verdict,
    /// The first assertion that fails in the mutant and never in the block.
    pub assertion: Option<String>,
}

/// A block with what its mutants are compared with.
pub struct Subject {
    block: Arc<Module>,
    reference: Reference,
}

impl Subject {
    /// Runs the block for so many cycles under random stimulus.
    ///
    /// # Errors
    /// A module that the engine refuses.
    pub fn new(block: &Arc<Module>, cycles: u64, seed: u64) -> Result<Subject, EngineError> {
        Ok(Subject { block: block.clone(), reference: Reference::new(block, cycles, seed)? })
    }

    /// Sets a mutant of the block beside it.
    ///
    /// # Errors
    /// A mutant that the engine refuses.
    pub fn judge(&self, mutant: &Arc<Module>) -> Result<Judged, EngineError> {
        let seen = self.reference.replay(mutant)?;
        let verdict = match seen.differs {
            Some((cycle, port)) => Verdict::Different { cycle, port },
            None => match prove(&flatten(&self.block)?, &flatten(mutant)?) {
                Proof::Equal => Verdict::Equivalent,
                Proof::Differs | Proof::TooLarge => Verdict::Undecided,
            },
        };
        Ok(Judged { verdict, assertion: seen.assertion })
    }
}

#[cfg(test)]
mod tests;
