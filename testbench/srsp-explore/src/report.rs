//! What an exploration has found, as text.

use super::reasons::why;
use super::system::System;
use weft_explore::report;
use weft_explore::search::{Explored, Violation};

/// The result as a table; with `unreached` also the rows and races that were not reached.
pub fn table(system: &System, found: &Explored, unreached: bool) -> String {
    let net = &system.net;
    let reason = |name: &str| why(net.world().config(), name, found.complete);
    report::table(net, found) + &report::coverage(&net.blocks, unreached.then_some(&reason))
}

/// The way to a violation: every message that moves, then what the CUs did and what is wrong.
pub fn counterexample(system: &mut System, violation: &Violation) -> String {
    report::counterexample(system, violation, "of a line its data / its variable")
}
