//! The L1's transition tables, as data (spandex.md section 7).
//!
//! A line is I or V. A read entry of a line is *fresh* while nothing has marked it stale: at most one per line is.

use crate::msg::GpuOp;
use crate::tu_gpu::table::column;
use weft_rtl::prelude::*;

/// State of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum LineState {
    /// Invalid.
    I,
    /// Valid.
    V,
}

/// What an operation asks of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Access {
    /// Load.
    Ld,
    /// Store of whole words.
    St,
    /// Store of some bytes of words.
    Bytes,
    /// Atomic.
    Amo,
}

/// The fresh read entry of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Read {
    /// There is none.
    None,
    /// Another load can join it.
    Open,
    /// It has as many loads as it takes.
    Full,
}

/// What the store buffer, and byte stores on their way, mean to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Buffer {
    /// Nothing: a store finds room, nothing is to be waited for.
    Free,
    /// Every word of a load is buffered.
    Covers,
    /// No entry is free for a store; a load's bytes are on their way; words of an atomic are buffered or on their way.
    Waits,
}

fn codes<E: HwEnum>(values: &[E]) -> Vec<u64> {
    values.iter().map(|v| v.encoding()).collect()
}

/// A row as written down: identifier, what it accepts in the four columns (nothing: everything), actions, sentence.
type Line<'a> =
    (&'a str, &'a [Access], &'a [LineState], &'a [Read], &'a [Buffer], &'a [&'static str], &'a str);

/// What an operation does.
pub fn operations() -> Table {
    use Access::*;
    use Buffer::*;
    use LineState::*;
    let (none, open, full): (&[Read], &[Read], &[Read]) = (&[Read::None], &[Read::Open], &[Read::Full]);
    let any: &[Read] = &[];
    let lines: &[Line<'_>] = &[
        ("Ld.V", &[Ld], &[V], any, &[], &["hit"], "Answer."),
        ("Ld.I.covered", &[Ld], &[I], any, &[Covers], &["hit"], "Answer with the youngest buffered words."),
        (
            "Ld.I.bytes",
            &[Ld],
            &[I],
            any,
            &[Waits],
            &["wait"],
            "Wait: byte stores to its words are under way.",
        ),
        (
            "Ld.I.miss",
            &[Ld],
            &[I],
            none,
            &[Free],
            &["open"],
            "Read of the line; buffered words are captured.",
        ),
        ("Ld.I.join", &[Ld], &[I], open, &[Free], &["join"], "Wait in the read entry."),
        ("Ld.I.full", &[Ld], &[I], full, &[Free], &["wait"], "Wait outside."),
        ("St.V", &[St], &[V], none, &[Free], &["buffer", "update"], "Buffered; the copy is updated."),
        ("St.I", &[St], &[I], none, &[Free], &["buffer"], "Buffered; nothing is allocated."),
        (
            "St.I.read",
            &[St],
            &[I],
            &[Read::Open, Read::Full],
            &[Free],
            &["buffer", "capture"],
            "Buffered, and kept in the read entry, whose line must not overwrite it.",
        ),
        ("St.full", &[St], &[], any, &[Waits], &["wait"], "Wait: no entry of the store buffer is free."),
        ("Bytes.V", &[Bytes], &[V], any, &[Free], &["send", "drop"], "Line -> I; At with Merge."),
        (
            "Bytes.I",
            &[Bytes],
            &[I],
            any,
            &[Free],
            &["send"],
            "At with Merge; reads of the line become stale.",
        ),
        ("Bytes.wait", &[Bytes], &[], any, &[Waits], &["wait"], "Earlier stores to its words come first."),
        ("Amo.V", &[Amo], &[V], any, &[Free], &["send", "drop"], "Line -> I; At."),
        ("Amo.I", &[Amo], &[I], any, &[Free], &["send"], "At; reads of the line become stale."),
        ("Amo.wait", &[Amo], &[], any, &[Waits], &["wait"], "Earlier stores to its words come first."),
    ];
    let row = |(id, access, line, read, buffer, actions, text): &Line<'_>| Row {
        id: format!("spandex.gpu_l1.{id}"),
        when: vec![codes(access), codes(line), codes(read), codes(buffer)],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    Table {
        name: "gpu_l1_operations",
        columns: vec![
            column::<Access>("access", &["Ld", "St", "Bytes", "Amo"]),
            column::<LineState>("line", &["I", "V"]),
            column::<Read>("read", &["none", "open", "full"]),
            column::<Buffer>("buffer", &["free", "covers", "waits"]),
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// What the words of an operation that is done in the L1 are to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Words {
    /// All are here: in the line, or buffered.
    Here,
    /// Some are not.
    Missing,
    /// No entry of the store buffer is free, a release drains it, or stores and atomics at the LLC come first.
    Waits,
}

/// What an atomic or synchronising store of CU scope does, with `scopes=1` (cu-and-consistency.md section 4).
pub fn locals() -> Table {
    use LineState::*;
    use Words::*;
    type Line<'a> = (&'a str, &'a [LineState], &'a [Read], Words, &'a [&'static str], &'a str);
    let (none, some): (&[Read], &[Read]) = (&[Read::None], &[Read::Open, Read::Full]);
    let lines: &[Line<'_>] = &[
        ("Local.V", &[V], none, Here, &["apply", "renew"], "Done on the copy; the new words are buffered."),
        ("Local.I.covered", &[I], none, Here, &["apply"], "Done on the youngest buffered words."),
        (
            "Local.I.read",
            &[I],
            some,
            Here,
            &["apply", "keep"],
            "The same; the new words are kept in the read entry, whose line must not overwrite them.",
        ),
        ("Local.I.miss", &[I], none, Missing, &["fetch", "stay"], "Read of the line; wait for it."),
        ("Local.I.comes", &[I], some, Missing, &["stay"], "Wait for the line."),
        (
            "Local.wait",
            &[],
            &[],
            Waits,
            &["stay", "wait"],
            "Wait: no entry of the store buffer is free, a release drains it, or bytes of its words or an atomic of its line are at the LLC.",
        ),
    ];
    let row = |(id, line, read, words, actions, text): &Line<'_>| Row {
        id: format!("spandex.gpu_l1.{id}"),
        when: vec![codes(line), codes(read), vec![words.encoding()]],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    Table {
        name: "gpu_l1_locals",
        columns: vec![
            column::<LineState>("line", &["I", "V"]),
            column::<Read>("read", &["none", "open", "full"]),
            column::<Words>("words", &["here", "missing", "waits"]),
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// What the answer to a read or atomic does; that to a write-through is [`WRITTEN`], which needs no slot. `mark`: of a read, stale; of an atomic, 1 with acquire, 2 a byte store.
pub fn answers() -> Table {
    type Line<'a> = (&'a str, GpuOp, &'a [u64], &'a [&'static str], &'a str);
    let lines: &[Line<'_>] = &[
        (
            "Rd.fresh",
            GpuOp::Rd,
            &[0],
            &["install", "answer"],
            "The line is installed; its loads are answered.",
        ),
        ("Rd.stale", GpuOp::Rd, &[1], &["answer"], "Its loads are answered; nothing is installed."),
        ("At.plain", GpuOp::At, &[0], &["answer"], "The old words are answered."),
        ("At.acquire", GpuOp::At, &[1], &["answer", "flash"], "The same; every line becomes I."),
        ("At.bytes", GpuOp::At, &[2], &[], "A byte store is performed."),
    ];
    let row = |(id, op, mark, actions, text): &Line<'_>| Row {
        id: format!("spandex.gpu_l1.{id}"),
        when: vec![vec![op.encoding()], mark.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    Table {
        name: "gpu_l1_answers",
        columns: vec![
            column::<GpuOp>("answer", &["Rd", "Wt", "At"]),
            Column { name: "mark", values: vec![("no", 0), ("stale, acquire", 1), ("bytes", 2)] },
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// Row of the answer to a write-through.
pub const WRITTEN: (&str, &str) = ("spandex.gpu_l1.Wt", "The buffered words are written: the entry is free.");

/// Rows of a flash self-invalidation: one cycle for all lines, so they are observed, not decoded.
pub const FLASH: [(&str, &str); 2] = [
    ("spandex.gpu_l1.flash.V", "Every valid line becomes I."),
    ("spandex.gpu_l1.flash.read", "Reads under way become stale."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_of_an_operation_of_cu_scope_has_exactly_one_row() {
        let table = locals();
        assert_eq!(table.overlaps(), vec![]);
        for case in 0..2 * 3 * 3 {
            let (line, read, words) = (case % 2, case / 2 % 3, case / 6);
            // A valid line has all words and no fresh read entry.
            let never = line == 1 && words != Words::Waits.encoding() && (read != 0 || words != 0);
            assert_eq!(fitting(&table, &[line, read, words]), usize::from(!never), "{case}");
        }
    }

    fn fitting(table: &Table, case: &[u64]) -> usize {
        let fits = |row: &&Row| row.when.iter().zip(case).all(|(p, v)| p.is_empty() || p.contains(v));
        table.rows.iter().filter(fits).count()
    }

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        let table = operations();
        assert_eq!((table.overlaps(), answers().overlaps()), (vec![], vec![]));
        for case in 0..4 * 2 * 3 * 3 {
            let (access, line, read, buffer) = (case % 4, case / 4 % 2, case / 8 % 3, case / 24);
            // A valid line has no fresh read entry; only loads are covered.
            let store = access == Access::St.encoding();
            let never = (line == 1 && read != 0 && store && buffer == 0)
                || (buffer == Buffer::Covers.encoding() && access != Access::Ld.encoding());
            assert_eq!(fitting(&table, &[access, line, read, buffer]), usize::from(!never), "{case}");
        }
    }
}
