//! What an exploration has found, as text.

use super::System;
use std::collections::BTreeMap;
use weft_explore::net::Event;
use weft_explore::search::{Explored, Space, Violation};
use weft_rtl::ir::ProbeKind;

/// What an exploration of this protocol should reach: in words, and the observers that tell (one of them is enough).
pub const WANTED: &[(&str, &[&str])] = &[
    ("load of an expired block, L1", &["mgcc.l1.ld.expired"]),
    ("load of an expired block, bank", &["mgcc.l2.X.RdReq"]),
    ("response older than its reader's clock", &["mgcc.race.l2_uncovered", "mgcc.race.l1_primary_refused"]),
    ("TSU entry replaced", &["tsu_evictions_capacity"]),
    ("TSU entry dropped by an EvictNote", &["tsu_evictions_note"]),
    ("floor raised", &["tsu_floor_rises"]),
    ("entry begins at the floor", &["mgcc.race.tsu_base_from_floor"]),
    ("write does not fit the epoch", &["mgcc.tsu.write.ovf"]),
    ("... after DRAM was written", &["mgcc.race.trk_overflow_after_dram"]),
    ("epoch begun by the controller", &["mgcc.epoch.IDLE.ask"]),
    ("TSU asked again after the roll", &["mgcc.reqtracker.SERV.repeat"]),
    ("TSU rolled by a request, before its Roll", &["mgcc.race.tsu_rolled_by_request"]),
    ("bank rolled by a Roll", &["mgcc.race.l2_roll_by_message"]),
    ("bank rolled by a request", &["mgcc.race.l2_roll_by_request"]),
    ("bank rolled by an answer", &["mgcc.race.l2_roll_by_answer"]),
    ("L1 rolled by an answer", &["mgcc_l1_rolls_response"]),
    ("sweep with a transaction open", &["mgcc.race.l2_roll_in_flight"]),
    ("request of an older epoch, TSU", &["mgcc.race.tsu_older_ts"]),
    ("request of an older epoch, bank", &["mgcc.race.l2_old_request"]),
    ("answer of an older epoch, bank", &["mgcc.race.l2_old_answer"]),
];

/// Observers of all blocks: kind and sum.
pub fn seen(net: &System) -> BTreeMap<String, (ProbeKind, u64)> {
    let mut all = BTreeMap::new();
    for block in &net.blocks {
        for (name, (kind, count)) in block.seen() {
            all.entry(name).or_insert((kind, 0)).1 += count;
        }
    }
    all
}

/// In how many distinct steps each of [`WANTED`] happened.
pub fn reached(net: &System) -> Vec<(&'static str, u64)> {
    let seen = seen(net);
    let count = |names: &[&str]| names.iter().filter_map(|name| seen.get(*name)).map(|s| s.1).sum();
    WANTED.iter().map(|(words, names)| (*words, count(names))).collect()
}

/// How many rows of tables and named races of all blocks were reached, and how many there are.
pub fn covered(net: &System) -> (usize, usize) {
    let seen = seen(net);
    let covers = || seen.values().filter(|(kind, _)| *kind == ProbeKind::Cover);
    (covers().filter(|(_, count)| *count > 0).count(), covers().count())
}

/// The result as a table.
pub fn table(net: &System, found: &Explored) -> String {
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
        net.worlds(),
        "block",
        "states",
        "steps"
    );
    for block in &net.blocks {
        out += &format!("{:<14} {:>9} {:>9}\n", block.name, block.states(), block.steps());
    }
    out += &format!("\n{:<42} {:>9}\n", "reached", "steps");
    for (words, count) in reached(net) {
        let count = if count == 0 { "-".to_string() } else { count.to_string() };
        out += &format!("{words:<42} {count:>9}\n");
    }
    let (hit, all) = covered(net);
    out += &format!("{:<42} {hit:>9} of {all}\n", "rows of the tables and named races");
    out
}

/// The way to a violation: every message that moves, then what the CUs did and what is wrong.
pub fn counterexample(net: &mut System, violation: &Violation) -> String {
    let mut out = format!("{}\n\nafter {} actions:\n", violation.text, violation.path.len());
    let Ok(mut state) = net.start() else { return out };
    for (number, action) in violation.path.iter().enumerate() {
        let mut event = Event::default();
        let next = net.act(&state, *action, &mut event);
        for line in net.tell(&event) {
            out += &format!("{number:>5}  {line}\n");
        }
        match next {
            Ok(next) => state = next,
            Err(text) => out += &format!("{number:>5}  {text}\n"),
        }
    }
    out += "\noperations (values are CU.operation, - is the initial value):\n";
    for line in net.world().story(net.world_of(&state)) {
        out += &format!("  {line}\n");
    }
    out
}
