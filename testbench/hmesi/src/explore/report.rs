//! What an exploration has found, as text.

use super::reasons::why;
use super::system::System;
use weft_explore::report;
use weft_explore::search::{Explored, Violation};

/// The result as a table; with `unreached` also the rows and races that were not reached.
pub fn table(system: &System, found: &Explored, unreached: bool) -> String {
    let net = &system.net;
    let reason = |name: &str| why(system.config(), name, found.complete);
    report::table(net, found) + &report::coverage(&net.blocks, unreached.then_some(&reason))
}

/// The way to a violation: every message that moves, then what cores and CUs did and what is wrong.
pub fn counterexample(system: &mut System, violation: &Violation) -> String {
    let values = "values are device + 1 and operation + 1, 80 is the initial value";
    report::counterexample(system, violation, values)
}
