//! What an exploration has found, as text.

use super::System;
use std::collections::BTreeMap;
use weft_explore::form::Form;
use weft_explore::net::Event;
use weft_explore::search::{Explored, Space, Violation};
use weft_rtl::ir::ProbeKind;

/// A message in words.
pub(super) fn message(form: &Form, message: &[u64]) -> String {
    form.text(message)
}

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

/// The head of a table of explorations.
pub const HEAD: &str = "| system | operations | states | transitions | depth | logs | rows and races |\n| --- | --- | --- | --- | --- | --- | --- |";

/// A line of that table.
pub fn row(name: &str, system: &System, found: &Explored) -> String {
    let seen = seen(system);
    let covers = seen.values().filter(|(kind, _)| *kind == ProbeKind::Cover);
    let (all, hit) = covers.fold((0, 0), |(all, hit), (_, count)| (all + 1, hit + u64::from(*count > 0)));
    let c = system.config();
    let budgets: Vec<String> = (0..c.devices.len()).map(|d| c.budget(d).to_string()).collect();
    format!(
        "| {name} | {} | {} | {} | {} | {} | {hit} of {all} |",
        budgets.join(" + "),
        found.states,
        found.transitions,
        found.depth,
        system.net.worlds()
    )
}

/// The result as a table.
pub fn table(system: &System, found: &Explored) -> String {
    let end = match (&found.violation, found.complete) {
        (Some(_), _) => "violation",
        (None, true) => "all states visited, no violation",
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
    let seen = seen(system);
    let covers = || seen.iter().filter(|(_, (kind, _))| *kind == ProbeKind::Cover);
    let hit = covers().filter(|(_, (_, count))| *count > 0).count();
    out += &format!("\n{:<42} {hit:>9} of {}\n", "rows of the tables and named races", covers().count());
    out
}

/// The way to a violation: every message that moves, then what the cores did and what is wrong.
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
    out += "\noperations (values are device + 1 and operation + 1, 80 is the initial value):\n";
    for line in system.net.world().story(system.memory(&state)) {
        out += &format!("  {line}\n");
    }
    out
}
