//! The L1's transition tables, as data (srsp.md section 9).
//!
//! | state of a line | meaning |
//! | --- | --- |
//! | I | invalid |
//! | P | fill pending: the frame is reserved |
//! | V | all bytes valid, none dirty |
//! | D | all bytes valid, those of the mask dirty |
//! | W | only the bytes of the mask are valid, all of them dirty |
//! | PR | registration pending: the frame is reserved |
//! | O | owned: registered to this L1; the bytes of the mask were written by atomics |
//!
//! A slot carries one row out as a whole, or waits and changes nothing. A pair that no row lists never occurs, which the hardware asserts.

use crate::l1::table::column;
use weft_rtl::prelude::*;

pub use crate::l1::Access;

/// State of a line. Bit 0: every byte is valid; bit 1: some are dirty, or the line is owned; bit 2: a flash invalidation leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum OwnState {
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
    /// Registration pending.
    PR,
    /// Owned.
    O,
}

/// What makes a line leave, or its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Leaves {
    /// The head of the sFIFO is popped.
    Pop,
    /// The frame is taken for another line, or a kernel's end gives all owned lines back.
    Evict,
}

/// Where the line of a REVOKE is, if it is not in its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Where {
    /// Nowhere else.
    Frame,
    /// In the capture buffer, evicted: UNREG is not sent.
    Captured,
    /// UNREG is under way, in the WBT.
    GivenBack,
}

/// What an MSHR has asked of the L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Asked {
    /// RD: a line for plain loads.
    Rd,
    /// REG: a line for atomics.
    Reg,
    /// RDU: the bytes of an owned line as the L2 has them.
    Rdu,
}

/// What comes for an MSHR.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Comes {
    /// FILL.
    Fill,
    /// REG_DATA.
    RegData,
}

/// A step of an operation of several steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Step {
    /// The CU is answered; the operation ends.
    Reply,
    /// The CU gate closes.
    Close,
    /// The CU gate opens.
    Open,
    /// F: everything dirty is written to the L2, and acknowledged.
    Flush,
    /// Flash-inv of what is not owned.
    Drop,
    /// Every owned line is given back.
    GiveBack,
    /// Nothing that was given back is under way.
    Settle,
    /// The atomics of a gain are answered; the operation ends.
    Answer,
}

/// An operation of several steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Program {
    /// I after REG_DATA, then the answers. The gate is closed from REG_DATA to the Drop.
    Gain,
    /// A fence that acquires, of a scope beyond the work group.
    FenceAcq,
    /// A fence that releases, of a scope beyond the work group.
    FenceRel,
    /// A kernel begins.
    Begin,
    /// A kernel ends.
    End,
}

impl Program {
    /// Every program, by encoding.
    pub const ALL: [Program; 5] =
        [Program::Gain, Program::FenceAcq, Program::FenceRel, Program::Begin, Program::End];

    /// Name in tables and covers.
    pub fn name(self) -> &'static str {
        match self {
            Program::Gain => "Gain",
            Program::FenceAcq => "FenceAcq",
            Program::FenceRel => "FenceRel",
            Program::Begin => "Kbegin",
            Program::End => "Kend",
        }
    }

    /// Its steps.
    ///
    /// Decisions: a kernel's end gives every owned line back, so that the next kernel's plain accesses see what atomics have written, and its atomics what plain stores
    /// have; a fence, which orders accesses that need no order here, does what it says all the same.
    pub fn steps(self) -> &'static [Step] {
        use Step::*;
        match self {
            Program::Gain => &[Flush, Drop, Answer],
            Program::FenceAcq | Program::Begin => &[Close, Flush, Drop, Open, Reply],
            Program::FenceRel => &[Flush, Reply],
            Program::End => &[GiveBack, Settle, Flush, Reply],
        }
    }
}

/// The programs as Markdown.
pub fn programs() -> String {
    let mut out = String::from("| operation | steps |\n|---|---|\n");
    for program in Program::ALL {
        let words: Vec<String> = program.steps().iter().map(|s| format!("{s:?}")).collect();
        out += &format!("| `{}` | {} |\n", program.name(), words.join(", "));
    }
    out
}

fn codes<E: HwEnum>(values: &[E]) -> Vec<u64> {
    values.iter().map(|v| v.encoding()).collect()
}

const STATES: [&str; 7] = ["I", "V", "W", "D", "P", "PR", "O"];

/// A row as written down: identifier, what it accepts in three columns (nothing: everything), actions, sentence.
type Line<'a, A, B> = (&'a str, &'a [A], &'a [B], &'a [u64], &'a [&'static str], &'a str);

fn rows<A: HwEnum, B: HwEnum>(lines: &[Line<'_, A, B>]) -> Vec<Row> {
    let row = |(id, first, second, case, actions, text): &Line<'_, A, B>| Row {
        id: format!("srsp.hlrc_l1.{id}"),
        when: vec![codes(first), codes(second), case.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    lines.iter().map(row).collect()
}

/// In the columns `case`: no MSHR of the line is open, or in W the bytes asked for are not all there.
pub(super) const NO: u64 = 0;
/// The open MSHR of the line takes another operation; in W: the bytes are there.
pub(super) const YES: u64 = 1;
/// The open MSHR of the line takes no other operation: it is marked, or full.
pub(super) const SHUT: u64 = 2;

/// What an operation does to its line. `case`: in W, whether the bytes asked for are there; elsewhere, whether an open MSHR of the line takes another operation, `shut`
/// when it takes none.
///
/// Decisions: plain loads, like plain stores, wait in PR; an atomic waits in P; whatever is no load waits while an RDU of its line is open, so that a store never overtakes an
/// older load.
pub fn operations() -> Table {
    use Access::*;
    use OwnState::*;
    let lines: &[Line<'_, Access, OwnState>] = &[
        ("Ld.I", &[Ld], &[I], &[NO], &["reserve"], "Take a frame, send RD."),
        ("Ld.I.join", &[Ld], &[I], &[YES], &["join"], "Wait for the RDU sent when the line was owned."),
        ("Ld.I.wait", &[Ld], &[I], &[SHUT], &["wait"], "That RDU is marked or full: wait outside."),
        ("Ld.P.join", &[Ld], &[P], &[YES], &["join"], "Wait in the MSHR."),
        ("Ld.P.wait", &[Ld], &[P], &[SHUT], &["wait"], "The MSHR is marked or full: wait outside."),
        ("Ld.V", &[Ld], &[V], &[], &["hit"], "Answer."),
        ("Ld.D", &[Ld], &[D], &[], &["hit"], "Answer."),
        ("Ld.W.covered", &[Ld], &[W], &[YES], &["hit"], "Answer with the bytes written here."),
        ("Ld.W.miss", &[Ld], &[W], &[NO], &["write_back", "drop"], "Write back; the load then misses."),
        ("Ld.PR", &[Ld], &[PR], &[], &["wait"], "Wait for the registration."),
        ("Ld.O", &[Ld], &[O], &[NO], &["ask"], "Served by the L2: RDU, not installed."),
        ("Ld.O.join", &[Ld], &[O], &[YES], &["join"], "Wait for the RDU under way."),
        ("Ld.O.wait", &[Ld], &[O], &[SHUT], &["wait"], "That RDU is marked or full: wait outside."),
        ("St.I", &[St], &[I], &[NO], &["take", "dirties"], "Take a frame for the bytes written: no fetch."),
        ("St.I.wait", &[St], &[I], &[YES, SHUT], &["wait"], "Wait for the RDU under way."),
        ("St.P", &[St], &[P], &[], &["wait"], "Wait for the fill."),
        ("St.V", &[St], &[V], &[], &["merge", "dirties"], "Becomes D."),
        ("St.D", &[St], &[D], &[], &["merge"], "Merge."),
        ("St.W", &[St], &[W], &[], &["merge"], "Merge."),
        ("St.PR", &[St], &[PR], &[], &["wait"], "Wait for the registration."),
        ("St.O", &[St], &[O], &[NO], &["through"], "Done at the L2: the bytes are written back at once."),
        ("St.O.wait", &[St], &[O], &[YES, SHUT], &["wait"], "Wait for the RDU under way."),
        ("At.I", &[Atomic], &[I], &[NO], &["register"], "Take a frame, send REG."),
        ("At.I.wait", &[Atomic], &[I], &[YES, SHUT], &["wait"], "Wait for the RDU under way."),
        ("At.P", &[Atomic], &[P], &[], &["wait"], "Wait for the fill."),
        ("At.V", &[Atomic], &[V], &[], &["register"], "The frame stays, send REG."),
        ("At.D", &[Atomic], &[D], &[], &["write_back", "drop"], "Write back; the atomic then registers."),
        ("At.W", &[Atomic], &[W], &[], &["write_back", "drop"], "Write back; the atomic then registers."),
        ("At.PR.join", &[Atomic], &[PR], &[YES], &["join"], "Wait in the MSHR."),
        ("At.PR.wait", &[Atomic], &[PR], &[SHUT], &["wait"], "The MSHR is full: wait outside."),
        ("At.O", &[Atomic], &[O], &[], &["perform"], "Perform, answer."),
    ];
    Table {
        name: "operations",
        columns: vec![
            column::<Access>("access", &["Ld", "St", "At"]),
            column::<OwnState>("state", &STATES),
            Column { name: "case", values: vec![("no", NO), ("yes", YES), ("shut", SHUT)] },
        ],
        rows: rows(lines),
    }
}

/// What happens to a line that leaves, or whose bytes do. A line that is under way is no victim; what a flash invalidation does is told beside the rows
/// `srsp.hlrc_l1.flash.*`.
pub fn leaving() -> Table {
    use Leaves::*;
    use OwnState::*;
    let any = &[];
    let lines: &[Line<'_, Leaves, OwnState>] = &[
        ("pop.dead", &[Pop], &[I, P, V, PR, O], any, &["nothing"], "A dead entry: nothing to write."),
        ("pop.D", &[Pop], &[D], any, &["write_back", "clean"], "Write back; becomes V."),
        ("pop.W", &[Pop], &[W], any, &["write_back", "drop"], "Write back; becomes I."),
        ("evict.I", &[Evict], &[I], any, &["nothing"], "A free frame."),
        ("evict.V", &[Evict], &[V], any, &["drop"], "The frame's line is dropped."),
        ("evict.D", &[Evict], &[D], any, &["write_back", "drop"], "Written back; its sFIFO entry is dead."),
        ("evict.W", &[Evict], &[W], any, &["write_back", "drop"], "Written back; its sFIFO entry is dead."),
        ("evict.O", &[Evict], &[O], any, &["capture", "drop"], "Captured; F, then UNREG."),
    ];
    Table {
        name: "leaving",
        columns: vec![
            column::<Leaves>("event", &["pop", "evict"]),
            column::<OwnState>("state", &STATES),
            Column { name: "case", values: vec![("", 0)] },
        ],
        rows: rows(lines),
    }
}

/// What a REVOKE does. `buffer`: the capture buffer is busy.
pub fn revokes() -> Table {
    use OwnState::*;
    use Where::*;
    let lines: &[Line<'_, OwnState, Where>] = &[
        (
            "REVOKE.O",
            &[O],
            &[],
            &[0],
            &["capture", "done"],
            "Captured, I in one slot; F, then REVOKE_ACK{1}.",
        ),
        ("REVOKE.O.wait", &[O], &[], &[1], &["park"], "The capture buffer is busy: wait."),
        (
            "REVOKE.PR",
            &[PR],
            &[],
            &[],
            &["park"],
            "The grant is in flight: wait until it is served and its atomics are done.",
        ),
        (
            "REVOKE.captured",
            &[I],
            &[Captured],
            &[],
            &["convert", "done"],
            "When its F ends, REVOKE_ACK{1} is sent instead of UNREG.",
        ),
        (
            "REVOKE.unreg",
            &[I, W],
            &[GivenBack],
            &[],
            &["empty", "done"],
            "UNREG is under way: REVOKE_ACK{0} at once.",
        ),
    ];
    Table {
        name: "revokes",
        columns: vec![
            column::<OwnState>("state", &STATES),
            column::<Where>("line", &["frame", "captured", "unreg"]),
            Column { name: "buffer", values: vec![("free", 0), ("busy", 1)] },
        ],
        rows: rows(lines),
    }
}

/// What an answer of the L2 does. `marked`: a flash invalidation has passed since it was asked for.
pub fn answers() -> Table {
    use Asked::*;
    use Comes::*;
    let lines: &[Line<'_, Comes, Asked>] = &[
        ("FILL.P", &[Fill], &[Rd], &[0], &["install"], "The line is installed: V."),
        ("FILL.noinst", &[Fill], &[Rd], &[1], &["skip"], "Invalidated meanwhile: I; loads are answered."),
        ("FILL.RDU", &[Fill], &[Rdu], &[], &["nothing"], "Loads are answered; nothing is installed."),
        ("REG_DATA", &[RegData], &[Reg], &[0], &["own"], "O; the atomics perform, then I, then the answers."),
    ];
    Table {
        name: "answers",
        columns: vec![
            column::<Comes>("answer", &["FILL", "REG_DATA"]),
            column::<Asked>("asked", &["RD", "REG", "RDU"]),
            Column { name: "marked", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: rows(lines),
    }
}

/// Rows of a flash invalidation, by state: one cycle for all lines, so they are observed, not decoded. None is D or W then.
pub const FLASH: [(&str, OwnState, &str); 4] = [
    ("srsp.hlrc_l1.flash.V", OwnState::V, "Dropped."),
    ("srsp.hlrc_l1.flash.P", OwnState::P, "What comes answers its loads and is not installed."),
    ("srsp.hlrc_l1.flash.PR", OwnState::PR, "Stays: its atomics bring their own invalidation."),
    ("srsp.hlrc_l1.flash.O", OwnState::O, "Stays."),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(table: &Table, case: [u64; 3]) -> usize {
        let fits = |row: &&Row| row.when.iter().zip(case).all(|(p, v)| p.is_empty() || p.contains(&v));
        table.rows.iter().filter(fits).count()
    }

    /// What never occurs: nothing is under way to a line in P or PR; an open MSHR of a line in a state that has none; the third value of `case` in W.
    fn never(state: u64, case: u64) -> bool {
        let is = |s: OwnState| state == s.encoding();
        (is(OwnState::W) && case == SHUT) || ((is(OwnState::P) || is(OwnState::PR)) && case == NO)
    }

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        let operations = operations();
        for table in [&operations, &leaving(), &revokes(), &answers()] {
            assert_eq!(table.overlaps(), [], "{}", table.name);
        }
        for (access, state, case) in
            (0..3).flat_map(|a| (0..7).flat_map(move |s| [(a, s, NO), (a, s, YES), (a, s, SHUT)]))
        {
            let found = rows_of(&operations, [access, state, case]);
            assert!(found == 1 || (found == 0 && never(state, case)), "{access} {state} {case}: {found}");
        }
        for (event, state) in (0..2).flat_map(|e| (0..7).map(move |s| (e, s))) {
            let under_way = state == OwnState::P.encoding() || state == OwnState::PR.encoding();
            let none = event == Leaves::Evict.encoding() && under_way;
            assert_eq!(rows_of(&leaving(), [event, state, 0]), usize::from(!none), "{event} {state}");
        }
    }

    #[test]
    fn every_program_ends_once_and_drops_behind_a_flush() {
        for program in Program::ALL {
            let steps = program.steps();
            let ends = |step: &Step| [Step::Reply, Step::Answer].contains(step);
            assert_eq!(steps.iter().position(ends), Some(steps.len() - 1), "{program:?}");
            let at = |step| steps.iter().position(|s| *s == step);
            assert_eq!(at(Step::Close).is_some(), at(Step::Open).is_some());
            assert!(at(Step::Drop).is_none() || at(Step::Flush) < at(Step::Drop), "{program:?}");
            assert_eq!(Program::ALL[program.encoding() as usize], program);
        }
    }
}
