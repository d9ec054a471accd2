//! The L1's transition tables, as data (srsp.md section 5).
//!
//! | state of a line | meaning |
//! | --- | --- |
//! | I | invalid |
//! | P | fill pending: the frame is reserved |
//! | V | all bytes valid, none dirty |
//! | D | all bytes valid, those of the mask dirty |
//! | W | only the bytes of the mask are valid, all of them dirty |
//!
//! A slot carries one row out as a whole, or waits and changes nothing.

use weft_rtl::prelude::*;

/// State of a line. Bit 0: every byte is valid; bit 1: some are dirty; bit 2: pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LineState {
    /// Invalid.
    I,
    /// Valid.
    V,
    /// Written bytes only.
    W,
    /// Dirty.
    D,
    /// Pending.
    P,
}

/// What an operation asks of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Access {
    /// Plain load.
    Ld,
    /// Plain store.
    St,
    /// Atomic done here (A1), loads and stores with synchronisation too.
    Atomic,
}

/// What makes a line leave, or its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Leave {
    /// The head of the sFIFO is popped.
    Pop,
    /// The frame is taken for another line.
    Evict,
    /// Line-inv: a probe, or the own operation at the L2.
    Inv,
}

/// A row as written down: identifier, what it accepts in the three columns (nothing: everything), actions, sentence.
type Line<'a, A> = (&'a str, &'a [A], &'a [LineState], &'a [u64], &'a [&'static str], &'a str);

fn rows<A: HwEnum>(lines: &[Line<'_, A>]) -> Vec<Row> {
    let row = |(id, event, state, case, actions, text): &Line<'_, A>| Row {
        id: format!("srsp.l1.{id}"),
        when: vec![codes(event), codes(state), case.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    lines.iter().map(row).collect()
}

fn codes<E: HwEnum>(values: &[E]) -> Vec<u64> {
    values.iter().map(|v| v.encoding()).collect()
}

/// A column whose words stand for the variants of an enumeration, in their order.
pub(crate) fn column<E: HwEnum>(name: &'static str, words: &[&'static str]) -> Column {
    let variants = E::enum_type().variants.clone();
    Column { name, values: words.iter().zip(variants).map(|(word, (_, code))| (*word, code)).collect() }
}

const STATES: [&str; 5] = ["I", "V", "W", "D", "P"];

/// What an operation does to its line. `case`: in P, the MSHR takes another operation; in W, the bytes asked for are there.
pub fn operations() -> Table {
    use Access::*;
    use LineState::*;
    let lines: &[Line<'_, Access>] = &[
        ("Ld.I", &[Ld], &[I], &[], &["reserve"], "Take a frame, send RD."),
        ("Ld.P.join", &[Ld], &[P], &[1], &["join"], "Wait in the MSHR."),
        ("Ld.P.wait", &[Ld], &[P], &[0], &["wait"], "The MSHR is marked or full: wait outside."),
        ("Ld.V", &[Ld], &[V], &[], &["hit"], "Answer."),
        ("Ld.D", &[Ld], &[D], &[], &["hit"], "Answer."),
        ("Ld.W.covered", &[Ld], &[W], &[1], &["hit"], "Answer with the bytes written here."),
        ("Ld.W.miss", &[Ld], &[W], &[0], &["write_back", "drop"], "Write back; the load then misses."),
        ("St.I", &[St], &[I], &[], &["take", "dirties"], "Take a frame for the bytes written: no fetch."),
        ("St.P", &[St], &[P], &[], &["wait"], "Wait for the fill."),
        ("St.V", &[St], &[V], &[], &["merge", "dirties"], "Becomes D."),
        ("St.D", &[St], &[D], &[], &["merge"], "Merge."),
        ("St.W", &[St], &[W], &[], &["merge"], "Merge."),
        ("A1.I", &[Atomic], &[I], &[], &["reserve"], "Take a frame, send RD."),
        ("A1.P.join", &[Atomic], &[P], &[1], &["join"], "Wait in the MSHR."),
        ("A1.P.wait", &[Atomic], &[P], &[0], &["wait"], "The MSHR is marked or full: wait outside."),
        ("A1.V", &[Atomic], &[V], &[], &["perform", "dirties"], "Perform; becomes D if it writes."),
        ("A1.D", &[Atomic], &[D], &[], &["perform"], "Perform."),
        ("A1.W", &[Atomic], &[W], &[], &["write_back", "drop"], "Write back; the atomic then misses."),
    ];
    Table {
        name: "operations",
        columns: vec![
            column::<Access>("access", &["Ld", "St", "A1"]),
            column::<LineState>("state", &STATES),
            Column { name: "case", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: rows(lines),
    }
}

/// What happens to a line that leaves, or whose bytes do. A line that is under way is no victim; what a flash invalidation does is told beside the rows `srsp.l1.flash.*`.
pub fn leaving() -> Table {
    use Leave::*;
    use LineState::*;
    let any = &[];
    let lines: &[Line<'_, Leave>] = &[
        ("pop.dead", &[Pop], &[I, P, V], any, &["nothing"], "A dead entry: nothing to write."),
        ("pop.D", &[Pop], &[D], any, &["write_back", "clean"], "Write back; becomes V."),
        ("pop.W", &[Pop], &[W], any, &["write_back", "drop"], "Write back; becomes I."),
        ("evict.I", &[Evict], &[I], any, &["nothing"], "A free frame."),
        ("evict.V", &[Evict], &[V], any, &["drop"], "The frame's line is dropped."),
        ("evict.D", &[Evict], &[D], any, &["write_back", "drop"], "Written back; its sFIFO entry is dead."),
        ("evict.W", &[Evict], &[W], any, &["write_back", "drop"], "Written back; its sFIFO entry is dead."),
        ("inv.I", &[Inv], &[I], any, &["nothing"], "The line is not here."),
        ("inv.P", &[Inv], &[P], any, &["mark"], "What comes is not installed; its atomics replay."),
        ("inv.V", &[Inv], &[V], any, &["drop"], "Dropped."),
        ("inv.D", &[Inv], &[D], any, &["write_back", "drop"], "Written back, dropped."),
        ("inv.W", &[Inv], &[W], any, &["write_back", "drop"], "Written back, dropped."),
    ];
    Table {
        name: "leaving",
        columns: vec![
            column::<Leave>("event", &["pop", "evict", "line-inv"]),
            column::<LineState>("state", &STATES),
            Column { name: "case", values: vec![("", 0)] },
        ],
        rows: rows(lines),
    }
}

/// Rows of a flash invalidation, by state: one cycle for all lines, so they are observed, not decoded. None is D or W then.
pub const FLASH: [(&str, LineState, &str); 2] = [
    ("srsp.l1.flash.V", LineState::V, "Dropped."),
    (
        "srsp.l1.flash.P",
        LineState::P,
        "What comes answers its loads and is not installed; its atomics replay.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(table: &Table, case: [u64; 3]) -> usize {
        let fits = |row: &&Row| row.when.iter().zip(case).all(|(p, v)| p.is_empty() || p.contains(&v));
        table.rows.iter().filter(fits).count()
    }

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        let (operations, leaving) = (operations(), leaving());
        assert_eq!((operations.overlaps(), leaving.overlaps()), (vec![], vec![]));
        for (event, state, case) in (0..3).flat_map(|e| (0..5).flat_map(move |s| [(e, s, 0), (e, s, 1)])) {
            assert_eq!(rows_of(&operations, [event, state, case]), 1, "{event} {state} {case}");
            let never = event == Leave::Evict.encoding() && state == LineState::P.encoding();
            assert_eq!(rows_of(&leaving, [event, state, case]), usize::from(!never), "{event} {state}");
        }
    }
}
