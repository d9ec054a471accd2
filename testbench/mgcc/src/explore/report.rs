//! What an exploration has found, as text.

use super::System;
use super::reasons::{Seen, why};
use super::world::Protocol;
use weft_explore::report;
use weft_explore::search::{Explored, Violation};

/// Something that an exploration may reach: in words, and the observers that tell (one of them is enough).
type Wanted = (&'static str, &'static [&'static str]);

const MGCC: &[Wanted] = &[
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

const GTSC: &[Wanted] = &[
    ("load of an expired block, L1", &["gtsc.l1.ld.expired"]),
    ("lease renewed without the line", &["l2_renewals"]),
    ("renewal refused: a newer version", &["mgcc.race.gtsc_l2_changed"]),
    ("store into an old version", &["mgcc.race.gtsc_l2_stale_write"]),
    ("response older than its reader's clock", &["mgcc.race.l1_primary_refused"]),
    ("block dropped by the bank", &["l2_evictions"]),
    ("dirty victim written back", &["mgcc.race.gtsc_l2_evicts"]),
    ("request past the bank", &["mgcc.race.gtsc_l2_no_way"]),
    ("lease ends at TS_MAX", &["mgcc.race.gtsc_l2_saturates"]),
    ("bank waits for the roll", &["mgcc.race.gtsc_l2_full"]),
    ("epoch begun by the controller", &["mgcc.epoch.IDLE.ask"]),
    ("bank rolled by a Roll", &["mgcc.race.gtsc_l2_roll_by_message"]),
    ("bank rolled by a request", &["mgcc.race.gtsc_l2_roll_by_request"]),
    ("L1 rolled by an answer", &["mgcc_l1_rolls_response"]),
    ("roll with a transaction open", &["mgcc.race.gtsc_l2_roll_in_flight"]),
    ("roll over dirty lines", &["mgcc.race.gtsc_l2_roll_dirty"]),
    ("request of an older epoch, bank", &["mgcc.race.gtsc_l2_old_request"]),
    ("block of an older epoch told to the bank", &["mgcc.race.gtsc_l2_old_block"]),
];

/// What an exploration of a protocol may reach, and in how many distinct steps each of it happened.
pub fn reached(net: &System) -> Vec<(&'static str, u64)> {
    let seen = report::seen(&net.blocks);
    let count = |names: &[&str]| names.iter().filter_map(|name| seen.get(*name)).map(|s| s.1).sum();
    let wanted = match net.world().protocol() {
        Protocol::Mgcc => MGCC,
        Protocol::Gtsc => GTSC,
    };
    wanted.iter().map(|(words, names)| (*words, count(names))).collect()
}

/// The result as a table; with `unreached` also the rows and races that were not reached.
pub fn table(net: &System, found: &Explored, unreached: bool) -> String {
    let mut out = report::table(net, found);
    out += &format!("\n{:<42} {:>9}\n", "reached", "steps");
    for (words, count) in reached(net) {
        let count = if count == 0 { "-".to_string() } else { count.to_string() };
        out += &format!("{words:<42} {count:>9}\n");
    }
    let all = report::seen(&net.blocks);
    let happened = |end: &str| all.iter().any(|(name, (_, count))| *count > 0 && name.ends_with(end));
    let ends = |end: String| net.blocks.iter().filter(|block| block.name.ends_with(&end)).count();
    let seen = Seen {
        asks: net.world().asks(),
        gpus: ends("bank0".into()),
        banks: (0..).take_while(|bank| ends(format!("bank{bank}")) > 0).count(),
        happened: &happened,
        complete: found.complete,
    };
    let reason = |name: &str| why(&seen, name);
    out + &report::coverage(&net.blocks, unreached.then_some(&reason))
}

/// The way to a violation: every message that moves, then what the CUs did and what is wrong.
pub fn counterexample(net: &mut System, violation: &Violation) -> String {
    report::counterexample(net, violation, "values are WAVE.operation, - is the initial value")
}
