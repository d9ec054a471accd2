//! Transition tables of a bank (srsp.md section 9, and section 6 for what nobody has registered), as data.
//!
//! States of a line as in `types.rs`: I; P, on its way from memory; Pd, the same with dirty bytes; V; D; W, only the masked bytes valid; R, registered to an L1; RV, the same with
//! a REVOKE under way.
//!
//! `_in` marks an access to a line in W all of whose bytes have been written. Pairs that are not listed never occur, which the hardware asserts.
//!
#![doc = include_str!("../../docs/hlrc-l2.md")]

use super::params::L2Write;
use weft_rtl::prelude::*;

/// State or place, event, actions, text.
type Cell = (&'static str, &'static str, &'static [&'static str], &'static str);

/// Names of the states, by encoding.
pub(super) const STATES: [&str; 8] = ["I", "P", "Pd", "V", "D", "W", "R", "RV"];
/// Events at a line. `RD` is also RDU; `ACK` is a REVOKE_ACK with or without the line.
pub(super) const EVENTS: [&str; 9] =
    ["RD", "RD_in", "REG", "REG_in", "WB", "UNREG", "REVOKE_ACK", "POP", "FILL"];

/// Whatever becomes of written data.
const ALWAYS: [Cell; 24] = [
    (
        "I",
        "RD",
        &["fetch"],
        "a frame is reserved, RD to memory: P; without a frame memory's line is passed on",
    ),
    ("I", "REG", &["fetch"], "a frame is reserved, RD to memory: P"),
    ("I", "POP", &["pop"], "dead entry"),
    ("P", "RD", &["join"], "waits for the line"),
    ("P", "REG", &["join"], "waits for the line; a second one at ingress"),
    ("P", "POP", &["pop"], "dead entry: nothing is dirty"),
    ("P", "FILL", &["fill"], "line into its frame: V"),
    ("V", "RD", &["read"], "hit"),
    ("V", "REG", &["grant"], "REG_DATA: R"),
    ("V", "POP", &["pop"], "dead entry"),
    ("D", "RD", &["read"], "hit"),
    ("D", "REG", &["grant"], "REG_DATA: R; its bytes stay dirty, its sFIFO entry is dead"),
    ("D", "POP", &["pop", "clean"], "dirty bytes to memory: V"),
    ("R", "RD", &["read"], "from the bank's data, the owner keeps the line"),
    ("R", "REG", &["revoke"], "REVOKE to the owner, the requester is noted: RV"),
    ("R", "WB", &["merge"], "into the bank's data, the owner keeps the line"),
    ("R", "UNREG", &["merge", "give_back"], "UNREG_ACK; with dirty bytes D, pushed, else V"),
    ("R", "POP", &["pop"], "dead entry: a registered line is not written to memory"),
    ("RV", "RD", &["read"], "from the bank's data"),
    ("RV", "REG", &["queue"], "waits at ingress until the line has come back"),
    ("RV", "WB", &["merge"], "into the bank's data"),
    ("RV", "POP", &["pop"], "dead entry: a registered line is not written to memory"),
    ("RV", "UNREG", &["merge", "note"], "noted: UNREG_ACK when the REVOKE has been answered"),
    ("RV", "REVOKE_ACK", &["back"], "the line is back, as the revocation's row says"),
];

/// Where written data is combined, besides.
const COMBINE: [Cell; 15] = [
    (
        "I",
        "WB",
        &["take"],
        "a frame is taken for the bytes, no fetch: W, pushed; without a frame they go to memory",
    ),
    ("P", "WB", &["merge", "push"], "bytes into the frame: Pd, pushed"),
    ("Pd", "RD", &["join"], "waits for the line"),
    ("Pd", "REG", &["join"], "waits for the line; a second one at ingress"),
    ("Pd", "WB", &["merge"], "bytes into the frame"),
    ("Pd", "POP", &["hold"], "a line on its way is not popped: the sFIFO waits for memory"),
    ("Pd", "FILL", &["fill"], "bytes from memory where none are dirty: D"),
    ("V", "WB", &["merge", "push"], "bytes merged: D, pushed"),
    ("D", "WB", &["merge"], "bytes merged"),
    ("W", "RD", &["fetch"], "bytes are missing: RD to memory: Pd"),
    ("W", "RD_in", &["read"], "hit: all bytes have been written"),
    ("W", "REG", &["fetch"], "bytes are missing: RD to memory: Pd"),
    ("W", "REG_in", &["grant"], "all bytes have been written: REG_DATA: R"),
    ("W", "WB", &["merge"], "bytes merged"),
    ("W", "POP", &["pop", "clean", "drop"], "bytes to memory: I"),
];

/// Where it goes to memory, besides.
const THROUGH: [Cell; 4] = [
    ("I", "WB", &["through"], "bytes to memory, which acknowledges them"),
    ("P", "WB", &["wait"], "waits for the line, to drop it then"),
    ("V", "WB", &["through", "drop"], "bytes to memory, which acknowledges them; the copy is dropped: I"),
    (
        "D",
        "WB",
        &["through", "drop"],
        "bytes to memory together with those that an owner has left; the copy is dropped: I",
    ),
];

/// Where a line that is not here can go, by the state of the way chosen: invalid ways first, then the pseudo-LRU one of those that may leave.
pub(super) const PLACES: [&str; 7] = ["own", "I", "V", "D", "W", "R", "none"];
/// What it goes there for: a read, a registration, bytes written.
pub(super) const USES: [&str; 3] = ["fetch", "register", "take"];

const FRAMES: [Cell; 9] = [
    ("I", "fetch", &["reserve"], "an empty frame"),
    ("I", "register", &["reserve"], "an empty frame"),
    ("V", "fetch", &["reserve"], "a clean line is dropped"),
    ("V", "register", &["reserve"], "a clean line is dropped"),
    ("D", "fetch", &["reserve", "evict"], "a dirty line is written back; its sFIFO entry stays, dead"),
    ("D", "register", &["reserve", "evict"], "a dirty line is written back; its sFIFO entry stays, dead"),
    (
        "R",
        "register",
        &["recall", "stay"],
        "REVOKE to the owner of a registered line, on nobody's behalf; waits",
    ),
    ("none", "fetch", &["direct"], "no way may leave: memory's line is passed on, uncached"),
    (
        "none",
        "register",
        &["stay"],
        "every way is on its way from memory or being revoked, or another registration is first: waits",
    ),
];

const FRAMES_COMBINE: [Cell; 9] = [
    ("own", "fetch", &["reserve"], "the line's own frame, with its dirty bytes"),
    ("own", "register", &["reserve"], "the line's own frame, with its dirty bytes"),
    ("I", "take", &["occupy"], "an empty frame"),
    ("V", "take", &["occupy"], "a clean line is dropped"),
    ("D", "take", &["occupy", "evict"], "a dirty line is written back; its sFIFO entry stays, dead"),
    ("W", "fetch", &["reserve", "evict"], "a line of dirty bytes is written back"),
    ("W", "register", &["reserve", "evict"], "a line of dirty bytes is written back"),
    ("W", "take", &["occupy", "evict"], "a line of dirty bytes is written back"),
    ("none", "take", &["around"], "no way may leave: bytes to memory, acknowledged by it"),
];

/// Where registered lines are replaced like others.
const FRAMES_ANY: [Cell; 1] = [(
    "R",
    "fetch",
    &["recall", "direct"],
    "REVOKE to the owner, on nobody's behalf; memory's line is passed on, uncached",
)];
const FRAMES_ANY_COMBINE: [Cell; 1] =
    [("R", "take", &["recall", "around"], "REVOKE to the owner, on nobody's behalf; bytes to memory")];

/// On whose behalf a REVOKE was sent: a registration's, or nobody's, to free a frame.
pub(super) const CAUSES: [&str; 2] = ["asked", "recall"];
/// What comes back: the line; nothing, since an UNREG has brought it; nothing, its UNREG_ACK being sent; what never comes.
pub(super) const COMES: [&str; 4] = ["line", "unregistered", "acknowledged", "never"];

const REVOKES: [Cell; 5] = [
    ("asked", "line", &["bring", "pass"], "merged, REG_DATA to the requester: R"),
    ("asked", "unregistered", &["answer"], "UNREG_ACK to the old owner; the requester comes next"),
    ("asked", "acknowledged", &["pass"], "REG_DATA to the requester: R"),
    ("recall", "line", &["bring", "expel"], "merged; dirty bytes to memory: I"),
    ("recall", "unregistered", &["answer", "expel"], "UNREG_ACK; dirty bytes to memory: I"),
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
            id: format!("srsp.hlrc_l2.{state}.{event}"),
            when: vec![code(&columns[0], state), code(&columns[1], event)],
            actions: actions.to_vec(),
            text: text.to_string(),
        })
        .collect();
    Table { name, columns, rows }
}

/// What becomes of a line.
pub fn lines(write: L2Write) -> Table {
    let besides: Vec<Cell> = match write {
        L2Write::Combine => COMBINE.to_vec(),
        L2Write::ThroughInv => THROUGH.to_vec(),
    };
    build("l2_lines", [("state", &STATES), ("event", &EVENTS)], ALWAYS.iter().copied().chain(besides))
}

/// Where a line that is not here goes.
pub fn frames(write: L2Write, owned_aware: bool) -> Table {
    let combines = write == L2Write::Combine;
    let mut cells = FRAMES.to_vec();
    cells.extend(FRAMES_COMBINE.iter().filter(|_| combines));
    cells.extend(FRAMES_ANY.iter().filter(|_| !owned_aware));
    cells.extend(FRAMES_ANY_COMBINE.iter().filter(|_| combines && !owned_aware));
    build("l2_frames", [("frame", &PLACES), ("use", &USES)], cells.into_iter())
}

/// The answer to a REVOKE.
pub fn revokes() -> Table {
    build("l2_revokes", [("cause", &CAUSES), ("comes", &COMES)], REVOKES.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Table> {
        let mut all = vec![revokes()];
        for (write, _) in L2Write::WORDS {
            all.push(lines(*write));
            all.extend([frames(*write, true), frames(*write, false)]);
        }
        all
    }

    #[test]
    fn no_pair_has_two_rows() {
        for table in all() {
            assert_eq!(table.overlaps(), [], "{}", table.name);
        }
    }

    #[test]
    fn every_message_has_a_row_for_every_state_but_those_that_never_occur() {
        for (write, _) in L2Write::WORDS {
            let table = lines(*write);
            for (state, event) in STATES.iter().flat_map(|s| EVENTS.iter().map(move |e| (*s, *e))) {
                let occurs = match event {
                    "FILL" => matches!(state, "P" | "Pd"),
                    "UNREG" => matches!(state, "R" | "RV"),
                    "REVOKE_ACK" => state == "RV",
                    "RD_in" | "REG_in" => state == "W",
                    _ => true,
                };
                let known = *write == L2Write::Combine || !matches!(state, "W" | "Pd");
                let id = format!("srsp.hlrc_l2.{state}.{event}");
                assert_eq!(table.rows.iter().any(|r| r.id == id), occurs && known, "{write:?}: {id}");
            }
        }
    }

    #[test]
    fn a_write_back_waits_for_memory_alone() {
        let forbidden = ["queue", "stay", "revoke"];
        for table in all() {
            for row in table.rows.iter().filter(|r| r.id.ends_with(".WB") || r.id.ends_with(".take")) {
                assert!(!row.actions.iter().any(|a| forbidden.contains(a)), "{}", row.id);
            }
        }
    }
}
