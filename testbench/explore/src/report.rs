//! What an exploration has found, as text: the same for every family.

use crate::block::Block;
use crate::net::{Event, Net, World};
use crate::search::{Explored, Space, Violation};
use std::collections::BTreeMap;
use weft_rtl::ir::ProbeKind;

/// A space whose ways can be told.
pub trait Told: Space {
    /// Carries an action out; what happened is left in `event`.
    ///
    /// # Errors
    /// What went wrong.
    fn act(&mut self, state: &[u32], action: u64, event: &mut Event) -> Result<Box<[u32]>, String>;
    /// An event in words, a line per message.
    fn tell(&self, event: &Event) -> Vec<String>;
    /// What was asked up to a state, a line per operation.
    fn story(&self, state: &[u32]) -> Vec<String>;
}

impl<W: World> Told for Net<W> {
    fn act(&mut self, state: &[u32], action: u64, event: &mut Event) -> Result<Box<[u32]>, String> {
        Net::act(self, state, action, event)
    }
    fn tell(&self, event: &Event) -> Vec<String> {
        Net::tell(self, event)
    }
    fn story(&self, state: &[u32]) -> Vec<String> {
        self.world().story(self.world_of(state))
    }
}

/// Observers of all blocks: kind and sum.
pub fn seen(blocks: &[Block]) -> BTreeMap<String, (ProbeKind, u64)> {
    let mut all = BTreeMap::new();
    for (name, (kind, count)) in blocks.iter().flat_map(Block::seen) {
        all.entry(name).or_insert((kind, 0)).1 += count;
    }
    all
}

/// Rows of tables and named races of all blocks: those that were reached, and all.
pub fn covered(blocks: &[Block]) -> (Vec<String>, Vec<String>) {
    let covers = seen(blocks).into_iter().filter(|(_, (kind, _))| *kind == ProbeKind::Cover);
    let (mut reached, mut all) = (Vec::new(), Vec::new());
    for (name, (_, count)) in covers {
        all.push(name.clone());
        if count > 0 {
            reached.push(name);
        }
    }
    (reached, all)
}

/// How an exploration has ended.
pub fn verdict(found: &Explored) -> &'static str {
    match (&found.violation, found.complete) {
        (Some(_), _) => "violation",
        (None, true) => "all states visited, no violation",
        (None, false) if found.states == 0 => "no violation in random walks, whose longest has depth actions",
        (None, false) => "limit reached, no violation so far",
    }
}

/// How an exploration has ended, and the states of each block.
pub fn table<W: World>(net: &Net<W>, found: &Explored) -> String {
    let mut out = format!(
        "{}\nstates {}, transitions {}, depth {}, finished {}, logs {}\n\n{:<14} {:>9} {:>9}\n",
        verdict(found),
        found.states,
        found.transitions,
        found.depth,
        found.finished,
        net.worlds(),
        "block",
        "states",
        "steps"
    );
    for block in &net.blocks {
        out += &format!("{:<14} {:>9} {:>9}\n", block.name, block.states(), block.steps());
    }
    out
}

/// Rows and races reached, as a number; with `why` also each of those that were not, and its reason.
pub fn coverage(blocks: &[Block], why: Option<&dyn Fn(&str) -> &'static str>) -> String {
    let (reached, all) = covered(blocks);
    let mut out =
        format!("\nrows of the tables and named races reached: {} of {}\n", reached.len(), all.len());
    if let Some(why) = why {
        for name in all.iter().filter(|name| !reached.contains(name)) {
            out += &format!("  not reached: {name}: {}\n", why(name));
        }
    }
    out
}

/// The way to a violation: every message that moves, then what was asked and what is wrong. `values`: how
/// operations show values, if that needs words.
pub fn counterexample(space: &mut impl Told, violation: &Violation, values: &str) -> String {
    let mut out = format!("{}\n\nafter {} actions:\n", violation.text, violation.path.len());
    let Ok(mut state) = space.start() else { return out };
    for (number, action) in violation.path.iter().enumerate() {
        let mut event = Event::default();
        let next = space.act(&state, *action, &mut event);
        for line in space.tell(&event) {
            out += &format!("{number:>5}  {line}\n");
        }
        match next {
            Ok(next) => state = next,
            Err(text) => out += &format!("{number:>5}  {text}\n"),
        }
    }
    let values = if values.is_empty() { String::new() } else { format!(" ({values})") };
    out += &format!("\noperations{values}:\n");
    for line in space.story(&state) {
        out += &format!("  {line}\n");
    }
    out
}
