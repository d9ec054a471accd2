//! What an exploration has found, as text.

use super::reasons::why;
use super::system::System;
use std::collections::BTreeMap;
use weft_explore::net::Event;
use weft_explore::search::{Explored, Space, Violation};
use weft_rtl::ir::ProbeKind;

/// Observers of all blocks: kind and sum.
pub fn seen(system: &System) -> BTreeMap<String, (ProbeKind, u64)> {
    let mut all = BTreeMap::new();
    for block in &system.net.blocks {
        for (name, (kind, count)) in block.seen() {
            all.entry(name).or_insert((kind, 0)).1 += count;
        }
    }
    all
}

/// Rows of tables and named races of all blocks: those that were reached, and all.
pub fn covered(system: &System) -> (Vec<String>, Vec<String>) {
    let covers = seen(system).into_iter().filter(|(_, (kind, _))| *kind == ProbeKind::Cover);
    let (mut reached, mut all) = (Vec::new(), Vec::new());
    for (name, (_, count)) in covers {
        all.push(name.clone());
        if count > 0 {
            reached.push(name);
        }
    }
    (reached, all)
}

/// The result as a table; with `unreached` also the rows and races that were not reached.
pub fn table(system: &System, found: &Explored, unreached: bool) -> String {
    let end = match (&found.violation, found.complete) {
        (Some(_), _) => "violation",
        (None, true) => "all states visited, no violation",
        (None, false) if found.states == 0 => "no violation in random walks, whose longest has depth actions",
        (None, false) => "limit reached, no violation so far",
    };
    let mut out = format!(
        "{end}\nstates {}, transitions {}, depth {}, finished {}, logs {}\n\n{:<14} {:>9} {:>9}\n",
        found.states,
        found.transitions,
        found.depth,
        found.finished,
        system.net.worlds(),
        "block",
        "states",
        "steps"
    );
    for block in &system.net.blocks {
        out += &format!("{:<14} {:>9} {:>9}\n", block.name, block.states(), block.steps());
    }
    let (reached, all) = covered(system);
    out += &format!("\nrows of the tables and named races reached: {} of {}\n", reached.len(), all.len());
    if unreached {
        for name in all.iter().filter(|name| !reached.contains(name)) {
            out += &format!(
                "  not reached: {name}: {}\n",
                why(system.net.world().config(), name, found.complete)
            );
        }
    }
    out
}

/// The way to a violation: every message that moves, then what the CUs did and what is wrong.
pub fn counterexample(system: &mut System, violation: &Violation) -> String {
    let mut out = format!("{}\n\nafter {} actions:\n", violation.text, violation.path.len());
    let Ok(mut state) = system.start() else { return out };
    for (number, action) in violation.path.iter().enumerate() {
        let mut event = Event::default();
        let next = system.act(&state, *action, &mut event);
        for line in system.net.tell(&event) {
            out += &format!("{number:>5}  {line}\n");
        }
        match next {
            Ok(next) => state = next,
            Err(text) => out += &format!("{number:>5}  {text}\n"),
        }
    }
    out += "\noperations:\n";
    for line in system.net.world().story(system.net.world_of(&state)) {
        out += &format!("  {line}\n");
    }
    out
}
