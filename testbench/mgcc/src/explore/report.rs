//! What an exploration has found, as text.

use super::System;
use weft_explore::report;
use weft_explore::search::{Explored, Violation};
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

/// In how many distinct steps each of [`WANTED`] happened.
pub fn reached(net: &System) -> Vec<(&'static str, u64)> {
    let seen = report::seen(&net.blocks);
    let count = |names: &[&str]| names.iter().filter_map(|name| seen.get(*name)).map(|s| s.1).sum();
    WANTED.iter().map(|(words, names)| (*words, count(names))).collect()
}

/// The result as a table.
pub fn table(net: &System, found: &Explored) -> String {
    let mut out = report::table(net, found);
    out += &format!("\n{:<42} {:>9}\n", "reached", "steps");
    for (words, count) in reached(net) {
        let count = if count == 0 { "-".to_string() } else { count.to_string() };
        out += &format!("{words:<42} {count:>9}\n");
    }
    let seen = report::seen(&net.blocks);
    let covers = || seen.values().filter(|(kind, _)| *kind == ProbeKind::Cover);
    let hit = covers().filter(|(_, count)| *count > 0).count();
    out += &format!("{:<42} {hit:>9} of {}\n", "rows of the tables and named races", covers().count());
    out
}

/// The way to a violation: every message that moves, then what the CUs did and what is wrong.
pub fn counterexample(net: &mut System, violation: &Violation) -> String {
    report::counterexample(net, violation, "values are CU.operation, - is the initial value")
}
