//! The entries of the race ledger ([`weft_ledger`]): every row of a golden table and every race that a specification names. Cover points in the
//! hardware carry their identifiers as names.

use crate::golden::PARTS;
use crate::golden::dir_table::{DirOp, Found, table};
use crate::golden::fence_table::FENCE;
use crate::golden::hier_fence::table::HIER_FENCE;
use crate::golden::l1_table::L1;
use crate::golden::l2::held_table::{GPU_HOME_HELD, REQUESTER_HELD};
use crate::golden::l2::hier_table::{FORCED, GPU_HOME};
use crate::golden::l2::table::{HOME, Legality, REQUESTER};
use crate::golden::mgcc;
use crate::golden::params::DirKind;
use crate::golden::races::{Race, all_races};
use crate::golden::spandex;
use crate::golden::srsp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use weft_ledger::{Entry, EntryKind, Hit, Ledger, LedgerError, hits_dir, write_hits};

fn directory_rows(out: &mut Vec<Entry>) {
    let kinds = [
        (DirKind::Perline, "baseline-directory"),
        (DirKind::Group4, "group-directory"),
        (DirKind::Rec, "rec-directory"),
        (DirKind::Ideal, "ideal-directory"),
        (DirKind::Nhcc, "nhcc-directory"),
        (DirKind::Hmg, "hmg-directory"),
        (DirKind::HmgRec, "hmg-rec-directory"),
    ];
    for (kind, block) in kinds {
        for row in table(kind) {
            let source = match kind {
                DirKind::Ideal => "rec.md 8",
                DirKind::Nhcc | DirKind::Hmg => "hmg.md 4",
                DirKind::HmgRec => "rec.md 8.1",
                _ => "rec.md 4",
            };
            let who = if source.starts_with("hmg") { "s" } else { "g" };
            let op = match row.op {
                DirOp::RdRem => format!("RD_REM of {who}"),
                DirOp::WrRem => format!("WR_REM of {who}"),
                DirOp::WrLoc => "WR_LOC".into(),
                DirOp::AtomRem => format!("ATOM_REM of {who}"),
                DirOp::InvRecv => "INV received (cause WRITE)".into(),
                DirOp::InvRecvEvict => "INV received (cause EVICT)".into(),
                DirOp::Downgrade => format!("DOWNGRADE of {who}"),
            };
            let found = match row.found {
                Found::Miss => "miss",
                Found::SlotEmpty => "hit, slot empty",
                Found::SlotSet if who == "s" => "hit",
                Found::SlotSet => "hit, s not empty",
            };
            out.push(entry(row.id, block, EntryKind::Row, format!("{op}, {found}: {}.", row.text), source));
        }
    }
}

fn entry(id: &str, block: &str, kind: EntryKind, text: String, source: &str) -> Entry {
    Entry { id: id.into(), block: block.into(), kind, text, source: source.into() }
}

/// Every entry: rows of the golden tables that can occur, then the races, in a fixed order.
pub fn all_entries() -> Vec<Entry> {
    let mut out = Vec::new();
    directory_rows(&mut out);
    for part in PARTS {
        let source = format!("{} {}", part.page, part.section);
        out.extend(
            (part.rows)().into_iter().map(|(id, text)| entry(id, part.block, EntryKind::Row, text, &source)),
        );
    }
    for row in REQUESTER.iter().filter(|r| r.legality == Legality::Legal) {
        let text = format!("Remote-homed line in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "rec.md 6.1"));
    }
    for row in HOME.iter().filter(|r| r.legality == Legality::Legal) {
        let text = format!("Home line in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "rec.md 6.2"));
    }
    for row in &L1 {
        let states = match row.states {
            [state] => format!("Line in {state:?}"),
            _ => "Any state".into(),
        };
        let text = format!("{states}, {:?}: {}.", row.event, row.text);
        out.push(entry(row.id, "l1-cache", EntryKind::Row, text, row.source));
    }
    for row in &FORCED {
        let text = format!("Line served by another node in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5.1"));
    }
    for row in GPU_HOME.iter().filter(|r| r.legality == Legality::Legal) {
        let text = format!("Line at its GPU home in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5"));
    }
    for row in &REQUESTER_HELD {
        let text = format!(
            "Write-back, line served by another node in {:?}, {:?}: {}.",
            row.state, row.event, row.text
        );
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5.2"));
    }
    for row in &GPU_HOME_HELD {
        let text =
            format!("Write-back, line at its GPU home in {:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "l2-bank", EntryKind::Row, text, "hmg.md 5.2"));
    }
    for row in &FENCE {
        let text = format!("{:?}, {:?}: {}.", row.state, row.event, row.text);
        out.push(entry(row.id, "fence-unit", EntryKind::Row, text, "rec.md 7"));
    }
    for row in HIER_FENCE {
        let text = format!("Engine {}, {} -> {}: {}.", row.engine, row.state, row.next, row.text);
        out.push(entry(row.id, "hier-fence-unit", EntryKind::Row, text, "hmg.md 6"));
    }
    out.extend(mgcc::entries());
    out.extend(srsp::entries());
    out.extend(spandex::entries());
    for race in all_races() {
        let source = format!("{} {}", race.page(), race.section);
        out.push(entry(race.id, race.block, EntryKind::Race, race.text.into(), &source));
    }
    for part in PARTS {
        let race = |race: &Race| {
            let source = format!("{} {}", part.page, race.section);
            entry(race.id, race.block, EntryKind::Race, race.text.into(), &source)
        };
        out.extend(part.races.iter().map(race));
    }
    out
}

/// Pairs of state and event that a table calls an error: identifiers of assertions, never of cover points.
pub fn error_rows() -> Vec<(&'static str, &'static str)> {
    let req = REQUESTER.iter().filter(|r| r.legality == Legality::Error).map(|r| (r.id, "rec.md 6.1"));
    let home = HOME.iter().filter(|r| r.legality == Legality::Error).map(|r| (r.id, "rec.md 6.2"));
    let gpu = GPU_HOME.iter().filter(|r| r.legality == Legality::Error).map(|r| (r.id, "hmg.md 5"));
    req.chain(home).chain(gpu).collect()
}

/// The ledger of all entries, none of them hit.
pub fn ledger() -> Ledger {
    Ledger::new(all_entries())
}

/// Writes what a test has hit, by identifier its count and smallest seed, into [`hits_dir`]; identifiers that are no entries are left out.
pub fn publish(test: &str, counts: &BTreeMap<String, (u64, u64)>) -> Result<PathBuf, LedgerError> {
    publish_in(&hits_dir(), test, counts)
}

/// The same into a folder of one's own.
pub fn publish_in(
    dir: &Path,
    test: &str,
    counts: &BTreeMap<String, (u64, u64)>,
) -> Result<PathBuf, LedgerError> {
    let ledger = ledger();
    let known = counts.iter().filter(|(id, (count, _))| *count > 0 && ledger.tally(id).is_some());
    let hits: Vec<Hit> = known
        .map(|(id, (count, seed))| Hit { id: id.clone(), count: *count, seed: *seed, test: test.into() })
        .collect();
    write_hits(dir, test, &hits).map_err(|(path, cause)| LedgerError::Io { path, cause })
}

#[cfg(test)]
mod tests;
