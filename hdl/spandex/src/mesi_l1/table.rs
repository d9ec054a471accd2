//! The L1's transition tables, as data (spandex.md section 7).
//!
//! A slot carries one row out as a whole, or waits and changes nothing. A pair that no row lists never occurs, which the hardware asserts.

use crate::mesi_port::{ExtOp, LineState, codes, variants};
use weft_rtl::prelude::*;

/// What the core does to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Access {
    /// Load.
    Ld,
    /// Store.
    St,
    /// Atomic, or a load that needs ownership.
    At,
}

/// No case: the line is not pending.
pub(super) const NONE: u64 = 0;
/// The MSHR of the pending line takes the operation.
pub(super) const JOINS: u64 = 1;
/// It takes none: it is closed, or the store buffer is full.
pub(super) const SHUT: u64 = 2;

type Line<'a, A> = (&'a str, &'a [A], &'a [LineState], &'a [u64], &'a [&'static str], &'a str);

fn rows<A: HwEnum>(lines: &[Line<'_, A>]) -> Vec<Row> {
    let row = |(id, first, states, case, actions, text): &Line<'_, A>| Row {
        id: format!("spandex.mesi_l1.{id}"),
        when: vec![codes(first), codes(states), case.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    lines.iter().map(row).collect()
}

fn case_column() -> Column {
    Column { name: "MSHR", values: vec![("-", NONE), ("open", JOINS), ("shut", SHUT)] }
}

/// What an operation of the core does.
pub fn operations() -> Table {
    use Access::{At, Ld, St};
    use LineState::*;
    let lines: &[Line<'_, Access>] = &[
        ("Ld.I", &[Ld], &[I], &[], &["miss"], "Reserve a way, evicting its line; GetS."),
        ("Ld.S", &[Ld], &[S], &[], &["hit"], "Answer."),
        ("Ld.E", &[Ld], &[E], &[], &["hit"], "Answer."),
        ("Ld.M", &[Ld], &[M], &[], &["hit"], "Answer."),
        ("Ld.P", &[Ld], &[P], &[JOINS], &["join"], "Join the operations that wait for the line."),
        ("Ld.P.shut", &[Ld], &[P], &[SHUT], &["wait"], "Wait for the answer, then ask again."),
        ("Ld.W", &[Ld], &[WE, WM], &[], &["wait"], "Wait until the line is written back."),
        ("St.I", &[St], &[I], &[], &["miss", "own"], "Reserve a way, evicting its line; GetM."),
        ("St.S", &[St], &[S], &[], &["upgrade", "own"], "GetM; the copy is not used any more."),
        ("St.E", &[St], &[E], &[], &["write"], "Write; the line is dirty."),
        ("St.M", &[St], &[M], &[], &["write"], "Write."),
        ("St.P", &[St], &[P], &[JOINS], &["join"], "Join the operations that wait for the line."),
        ("St.P.shut", &[St], &[P], &[SHUT], &["wait"], "Wait for the answer, then ask again."),
        ("St.W", &[St], &[WE, WM], &[], &["wait"], "Wait until the line is written back."),
        ("At.I", &[At], &[I], &[], &["miss", "own"], "Reserve a way, evicting its line; GetM."),
        ("At.S", &[At], &[S], &[], &["upgrade", "own"], "GetM; the copy is not used any more."),
        ("At.E", &[At], &[E], &[], &["perform"], "Perform here; the line is dirty if written."),
        ("At.M", &[At], &[M], &[], &["perform"], "Perform here."),
        ("At.P", &[At], &[P], &[JOINS], &["join"], "Join the operations that wait for the line."),
        ("At.P.shut", &[At], &[P], &[SHUT], &["wait"], "Wait for the answer, then ask again."),
        ("At.W", &[At], &[WE, WM], &[], &["wait"], "Wait until the line is written back."),
    ];
    Table {
        name: "mesi_l1_operations",
        columns: vec![
            variants::<Access>("access", &["Ld", "St", "At"]),
            variants::<LineState>("state", &LineState::NAMES),
            case_column(),
        ],
        rows: rows(lines),
    }
}

/// A way that is taken for another line. Pending lines and those being written back in place are never victims.
pub fn victims() -> Table {
    use LineState::*;
    let row = |id: &str, state: LineState, action: &'static str, text: &str| Row {
        id: format!("spandex.mesi_l1.{id}"),
        when: vec![codes(&[state])],
        actions: vec![action],
        text: text.into(),
    };
    Table {
        name: "mesi_l1_victims",
        columns: vec![variants::<LineState>("victim", &LineState::NAMES)],
        rows: vec![
            row("Evict.I", I, "drop", "Nothing is there."),
            row("Evict.S", S, "drop", "Dropped silently."),
            row("Evict.E", E, "put", "Put with data, clean."),
            row("Evict.M", M, "put", "Put with data, dirty."),
        ],
    }
}

/// What an operation does that has waited for its line, as it is installed; P: it is used once.
pub fn targets() -> Table {
    use Access::{At, Ld, St};
    use LineState::*;
    let lines: &[Line<'_, Access>] = &[
        ("Wait.Ld", &[Ld], &[S, E, M, WE, WM], &[], &["answer"], "Answer."),
        ("Wait.Ld.once", &[Ld], &[P], &[], &["answer"], "Answer; the line is not kept."),
        ("Wait.St", &[St], &[E, M], &[], &["write"], "Write."),
        ("Wait.St.W", &[St], &[WE, WM], &[], &["write"], "Write; then the line goes."),
        ("Wait.St.again", &[St], &[S, P], &[], &["again"], "This and what follows wait for a GetM."),
        ("Wait.At", &[At], &[E, M], &[], &["perform"], "Perform."),
        ("Wait.At.W", &[At], &[WE, WM], &[], &["perform"], "Perform; then the line goes."),
        ("Wait.At.again", &[At], &[S, P], &[], &["again"], "This and what follows wait for a GetM."),
    ];
    Table {
        name: "mesi_l1_targets",
        columns: vec![
            variants::<Access>("access", &["Ld", "St", "At"]),
            variants::<LineState>("state", &LineState::NAMES),
            case_column(),
        ],
        rows: rows(lines),
    }
}

/// What a lookup from below changes.
pub fn lookups() -> Table {
    use ExtOp::*;
    use LineState::{E, I, M, P, S, WE, WM};
    let lines: &[Line<'_, ExtOp>] = &[
        ("Look", &[Look], &[], &[], &["stay"], "Nothing."),
        ("Write.own", &[Write], &[E, M], &[], &["words"], "Write the words given; the line is dirty."),
        ("Write.none", &[Write], &[I, S, P, WE, WM], &[], &["stay"], "Nothing."),
        ("Share.own", &[Share], &[E, M], &[], &["share"], "Keep a shared copy."),
        ("Share.P", &[Share], &[P], &[], &["shut"], "No other operation joins."),
        ("Share.none", &[Share], &[I, S, WE, WM], &[], &["stay"], "Nothing."),
        ("Drop.own", &[Drop], &[E, M], &[], &["gone"], "The line goes."),
        ("Drop.P", &[Drop], &[P], &[], &["shut"], "No other operation joins."),
        ("Drop.none", &[Drop], &[I, S, WE, WM], &[], &["stay"], "Nothing."),
        ("Hold.own", &[Hold], &[E, M], &[], &["hold"], "Some words go, the others will be written back."),
        ("Hold.P", &[Hold], &[P], &[], &["shut"], "No other operation joins."),
        ("Hold.none", &[Hold], &[I, S, WE, WM], &[], &["stay"], "Nothing."),
        ("Inv.S", &[Inv], &[S], &[], &["gone"], "The copy goes."),
        ("Inv.P", &[Inv], &[P], &[], &["shut"], "No other operation joins."),
        ("Inv.none", &[Inv], &[I, E, M, WE, WM], &[], &["stay"], "Nothing: no copy, or a newer one."),
        ("Free.W", &[Free], &[WE, WM], &[], &["gone"], "Every word is written back."),
        ("Keep.W", &[Keep], &[WE, WM], &[], &["share"], "Every word was wanted shared: keep a copy."),
    ];
    Table {
        name: "mesi_l1_lookups",
        columns: vec![
            variants::<ExtOp>("lookup", &["Look", "Write", "Share", "Drop", "Hold", "Inv", "Free", "Keep"]),
            variants::<LineState>("state", &LineState::NAMES),
            case_column(),
        ],
        rows: rows(lines),
    }
}
