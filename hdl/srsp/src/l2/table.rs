//! Transition tables of a bank (srsp.md section 6), as data.
//!
//! States of a line as in `types.rs`: I; P, on its way from memory; Pd, the same with dirty bytes; V; D; W, only the masked bytes valid.
//!
//! Decision: a REM_LOCK by the owner waits. The specification says that it never comes, but REM_UNLOCK is not acknowledged and travels on another network, so that the next
//! REM_LOCK of the same L1 can overtake it.
//!
//! `_in` marks an access whose bytes are all among the valid ones of a line in W. Pairs that are not listed never occur, which the hardware asserts.
//!
#![doc = include_str!("../../docs/srsp-l2.md")]

use crate::params::Impl;
use weft_rtl::prelude::*;

/// State or place, event, actions, text.
type Cell = (&'static str, &'static str, &'static [&'static str], &'static str);

/// Names of the states, by encoding.
pub(super) const STATES: [&str; 6] = ["I", "P", "Pd", "V", "D", "W"];
/// Events at a line. `AMO` is an atomic at the L2, by ATM or REM_OP.
pub(super) const EVENTS: [&str; 8] = ["RD", "RD_in", "AMO", "AMO_in", "ATM_SYS", "WB", "POP", "FILL"];

const LINES: [Cell; 34] = [
    ("I", "RD", &["fetch"], "a frame is reserved, RD to memory: P"),
    ("I", "AMO", &["fetch"], "a frame is reserved, RD to memory: P; the atomic waits at its queue's head"),
    ("I", "ATM_SYS", &["to_memory"], "memory performs the atomic"),
    (
        "I",
        "WB",
        &["take"],
        "a frame is taken for the bytes, no fetch: W, pushed; without a frame they go to memory",
    ),
    ("I", "POP", &["pop"], "dead entry"),
    ("P", "RD", &["join"], "waits for the line"),
    ("P", "AMO", &["join"], "waits for the line"),
    ("P", "ATM_SYS", &["wait"], "waits for the line, to drop it then"),
    ("P", "WB", &["merge", "push"], "bytes into the frame: Pd, pushed"),
    ("P", "POP", &["pop"], "dead entry: nothing is dirty"),
    ("P", "FILL", &["fill"], "line into its frame: V"),
    ("Pd", "RD", &["join"], "waits for the line"),
    ("Pd", "AMO", &["join"], "waits for the line"),
    ("Pd", "ATM_SYS", &["wait"], "waits for the line, to write it back and drop it then"),
    ("Pd", "WB", &["merge"], "bytes into the frame"),
    ("Pd", "POP", &["hold"], "a line on its way is not popped: the sFIFO waits for memory"),
    ("Pd", "FILL", &["fill"], "bytes from memory where none are dirty: D"),
    ("V", "RD", &["read"], "hit"),
    ("V", "AMO", &["modify", "push"], "done here; if it wrote: D, pushed"),
    ("V", "ATM_SYS", &["drop", "to_memory"], "dropped, memory performs the atomic: I"),
    ("V", "WB", &["merge", "push"], "bytes merged: D, pushed"),
    ("V", "POP", &["pop"], "dead entry"),
    ("D", "RD", &["read"], "hit"),
    ("D", "AMO", &["modify"], "done here"),
    (
        "D",
        "ATM_SYS",
        &["clean", "drop", "to_memory"],
        "written back and dropped, memory performs the atomic: I",
    ),
    ("D", "WB", &["merge"], "bytes merged"),
    ("D", "POP", &["pop", "clean"], "dirty bytes to memory: V"),
    ("W", "RD", &["fetch"], "bytes are missing: RD to memory: Pd"),
    ("W", "RD_in", &["read"], "hit: all bytes have been written"),
    ("W", "AMO", &["fetch"], "the word's bytes are missing: RD to memory: Pd"),
    ("W", "AMO_in", &["modify"], "done here"),
    (
        "W",
        "ATM_SYS",
        &["clean", "drop", "to_memory"],
        "written back and dropped, memory performs the atomic: I",
    ),
    ("W", "WB", &["merge"], "bytes merged"),
    ("W", "POP", &["pop", "clean", "drop"], "bytes to memory: I"),
];

/// Where a line that is not here can go, by the state of the way chosen: invalid ways first, then the pseudo-LRU one of those not on their way.
pub(super) const PLACES: [&str; 6] = ["own", "I", "V", "D", "W", "none"];
/// What it goes there for.
pub(super) const USES: [&str; 2] = ["fetch", "take"];

const FRAMES: [Cell; 11] = [
    ("own", "fetch", &["reserve"], "the line's own frame, with its dirty bytes"),
    ("I", "fetch", &["reserve"], "an empty frame"),
    ("I", "take", &["occupy"], "an empty frame"),
    ("V", "fetch", &["reserve"], "a clean line is dropped"),
    ("V", "take", &["occupy"], "a clean line is dropped"),
    ("D", "fetch", &["reserve", "evict"], "a dirty line is written back; its sFIFO entry stays, dead"),
    ("D", "take", &["occupy", "evict"], "a dirty line is written back; its sFIFO entry stays, dead"),
    ("W", "fetch", &["reserve", "evict"], "a line of dirty bytes is written back"),
    ("W", "take", &["occupy", "evict"], "a line of dirty bytes is written back"),
    ("none", "fetch", &["stay"], "every way is on its way from memory: waits"),
    ("none", "take", &["around"], "every way is on its way from memory: bytes to memory, acknowledged by it"),
];

/// State of a line's lock for who asks; `full`: free, but no entry is.
pub(super) const LOCKS: [&str; 4] = ["free", "own", "other", "full"];
/// Messages as the lock sees them.
pub(super) const MESSAGES: [&str; 5] = ["RD_ATM", "REM_LOCK", "WB", "REM_OP", "REM_UNLOCK"];

const LOCKING: [Cell; 13] = [
    ("free", "RD_ATM", &["serve"], "served"),
    ("own", "RD_ATM", &["queue"], "waits at ingress: the L1's own remote operation comes first"),
    ("other", "RD_ATM", &["queue"], "waits at ingress"),
    ("free", "REM_LOCK", &["lock"], "locked, REM_GRANT"),
    ("own", "REM_LOCK", &["queue"], "has overtaken the L1's own REM_UNLOCK, which is on its way: waits"),
    ("other", "REM_LOCK", &["queue"], "waits for its turn"),
    ("full", "REM_LOCK", &["room"], "waits for an entry"),
    ("free", "WB", &["serve"], "served"),
    ("own", "WB", &["serve"], "served although the line is locked"),
    ("other", "WB", &["serve"], "served although the line is locked"),
    ("free", "REM_OP", &["serve"], "bRSP with a token, which is enough"),
    ("own", "REM_OP", &["serve"], "done; unlocks unless it keeps the lock and wrote"),
    ("own", "REM_UNLOCK", &["unlock"], "unlocked"),
];

/// The token of bank 0.
pub(super) const TOKENS: [&str; 2] = ["free", "held"];
/// Messages about it.
pub(super) const TOKEN_MESSAGES: [&str; 2] = ["TOKEN", "TOKEN_REL"];

const TOKEN: [Cell; 3] = [
    ("free", "TOKEN", &["token"], "TOKEN_GRANT"),
    ("held", "TOKEN", &["queue"], "waits for its turn"),
    ("held", "TOKEN_REL", &["release"], "the token is free"),
];

fn build(
    name: &'static str,
    columns: [(&'static str, &[&'static str]); 2],
    cells: impl Iterator<Item = Cell>,
) -> Table {
    let column = |(name, values): (&'static str, &[&'static str])| Column {
        name,
        values: values.iter().enumerate().map(|(i, v)| (*v, i as u64)).collect(),
    };
    let columns = columns.map(column).to_vec();
    let code = |column: &Column, wanted: &str| -> Vec<u64> {
        column.values.iter().filter(|v| v.0 == wanted).map(|v| v.1).collect()
    };
    let rows = cells
        .map(|(state, event, actions, text)| Row {
            id: format!("srsp.l2.{state}.{event}"),
            when: vec![code(&columns[0], state), code(&columns[1], event)],
            actions: actions.to_vec(),
            text: text.to_string(),
        })
        .collect();
    Table { name, columns, rows }
}

/// What becomes of a line.
pub fn lines() -> Table {
    build("l2_lines", [("state", &STATES), ("event", &EVENTS)], LINES.iter().copied())
}

/// Where a line that is not here goes.
pub fn frames() -> Table {
    build("l2_frames", [("frame", &PLACES), ("use", &USES)], FRAMES.iter().copied())
}

/// Messages and locks; nobody locks a line without remote operations, and only bRSP with a token has remote
/// operations without a lock.
pub fn locks(system: Impl) -> Table {
    let there = move |c: &Cell| {
        let remote = c.0 != "free" || c.1.starts_with("REM_");
        let unlocked = (c.0, c.1) == ("free", "REM_OP");
        (system != Impl::Base || !remote) && (system == Impl::BrspToken || !unlocked)
    };
    build("l2_locks", [("lock", &LOCKS), ("message", &MESSAGES)], LOCKING.iter().copied().filter(there))
}

/// The token.
pub fn token() -> Table {
    build("l2_token", [("token", &TOKENS), ("message", &TOKEN_MESSAGES)], TOKEN.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_has_two_rows() {
        for table in [lines(), frames(), token()] {
            assert_eq!(table.overlaps(), [], "{}", table.name);
        }
        for (system, _) in Impl::WORDS {
            assert_eq!(locks(*system).overlaps(), [], "{system:?}");
        }
    }

    #[test]
    fn identifiers_differ() {
        let all = [lines(), frames(), locks(Impl::BrspToken), token()];
        let mut ids: Vec<String> = all.iter().flat_map(|t| t.rows.iter().map(|r| r.id.clone())).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn every_message_has_a_row_for_every_state_but_those_that_never_occur() {
        let table = lines();
        let never = ["I.FILL", "V.FILL", "D.FILL", "W.FILL"];
        for state in STATES {
            for event in EVENTS {
                let inside = event.ends_with("_in");
                let id = format!("{state}.{event}");
                let expected = !never.contains(&id.as_str()) && (!inside || state == "W");
                let found = table.rows.iter().any(|r| r.id == format!("srsp.l2.{id}"));
                assert_eq!(found, expected, "{id}");
            }
        }
    }
}
