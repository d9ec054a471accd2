//! The transition table of the L1 (rec.md sections 7 to 9, hmg.md section 5.1), as data.
//!
//! | state | of the line addressed |
//! | --- | --- |
//! | I | no copy, no open miss |
//! | V | a copy |
//! | P | an open miss: its answer will be installed |
//!
//! A poisoned miss (PX) answers the loads that wait for it and installs nothing: a later request finds I.

/// State of the addressed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum L1State {
    /// Nothing.
    I,
    /// A copy.
    V,
    /// An open miss.
    P,
}

/// What the CU asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum L1Event {
    /// Load, of whatever scope where the L1 knows none, else of CU scope.
    Load,
    /// Load of a line that is not kept here (`no-remote-caching`).
    LoadBypass,
    /// Store.
    Store,
    /// Atomic.
    Atomic,
    /// Acquire beyond the CU, or a kernel's begin.
    Acquire,
    /// Release beyond the CU, or a kernel's end.
    Release,
    /// Acquire or release of the CU.
    Local,
    /// Load of a scope beyond the CU where the L1 knows scopes.
    LoadForced,
}

/// What becomes of the copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Nothing changes.
    Keep,
    /// The line's copy gets the bytes stored.
    Update,
    /// The line's copy is dropped.
    Drop,
    /// All copies are dropped, all open misses poisoned.
    DropAll,
}

/// Where the answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The copy: a hit.
    Hit,
    /// The open miss of the line, which is joined.
    Join,
    /// A read of the line, whose answer is installed unless poisoned.
    Read,
    /// A read of the line, whose answer is not installed.
    ReadOnly,
    /// The write below; without `want_ack` there is none.
    Write,
    /// The atomic below.
    Atomic,
    /// The L1 at once.
    AtOnce,
    /// The L1, when everything written before is answered below.
    WhenWritten,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L1Row {
    /// Stable identifier, the name of the row's cover point.
    pub id: &'static str,
    /// Event.
    pub event: L1Event,
    /// States; all where none is named.
    pub states: &'static [L1State],
    /// What becomes of the copies.
    pub copies: Copies,
    /// The open miss of the line is poisoned.
    pub poison: bool,
    /// Who answers.
    pub answer: Answer,
    /// Where the row comes from.
    pub source: &'static str,
    /// The row in words.
    pub text: &'static str,
}

use Answer::{AtOnce, Atomic, Hit, Join, Read, ReadOnly, WhenWritten, Write};
use Copies::{Drop, DropAll, Keep, Update};
use L1State::{I, P, V};

const fn row(
    id: &'static str,
    (event, states): (L1Event, &'static [L1State]),
    (copies, poison, answer): (Copies, bool, Answer),
    source: &'static str,
    text: &'static str,
) -> L1Row {
    L1Row { id, event, states, copies, poison, answer, source, text }
}

/// The rows; those of [`L1Event::LoadForced`] exist in an L1 that knows scopes.
pub const L1: [L1Row; 16] = [
    row("l1.I.load", (L1Event::Load, &[I]), (Keep, false, Read), "rec.md 9", "read -> P"),
    row("l1.V.load", (L1Event::Load, &[V]), (Keep, false, Hit), "rec.md 9", "hit"),
    row("l1.P.load", (L1Event::Load, &[P]), (Keep, false, Join), "rec.md 9", "join the open miss"),
    row(
        "l1.any.load_bypass",
        (L1Event::LoadBypass, &[]),
        (Keep, false, ReadOnly),
        "rec.md 8",
        "read, nothing is kept",
    ),
    row(
        "l1.I.store",
        (L1Event::Store, &[I]),
        (Keep, false, Write),
        "rec.md 9",
        "write through, no allocation",
    ),
    row("l1.V.store", (L1Event::Store, &[V]), (Update, false, Write), "rec.md 9", "write through, update"),
    row("l1.P.store", (L1Event::Store, &[P]), (Keep, true, Write), "rec.md 9", "write through -> PX"),
    row("l1.I.atomic", (L1Event::Atomic, &[I]), (Keep, false, Atomic), "rec.md 9", "performed below"),
    row("l1.V.atomic", (L1Event::Atomic, &[V]), (Drop, false, Atomic), "rec.md 9", "performed below -> I"),
    row("l1.P.atomic", (L1Event::Atomic, &[P]), (Keep, true, Atomic), "rec.md 9", "performed below -> PX"),
    row(
        "l1.any.acquire",
        (L1Event::Acquire, &[]),
        (DropAll, false, AtOnce),
        "rec.md 7",
        "drop all copies, poison all open misses",
    ),
    row(
        "l1.any.release",
        (L1Event::Release, &[]),
        (Keep, false, WhenWritten),
        "rec.md 7",
        "answer when everything written before is answered",
    ),
    row("l1.any.local", (L1Event::Local, &[]), (Keep, false, AtOnce), "rec.md 7", "nothing to do"),
    row("l1.I.load_forced", (L1Event::LoadForced, &[I]), (Keep, false, Read), "hmg.md 5.1", "read -> P"),
    row(
        "l1.V.load_forced",
        (L1Event::LoadForced, &[V]),
        (Drop, false, Read),
        "hmg.md 5.1",
        "forced miss: drop the copy, read -> P",
    ),
    row(
        "l1.P.load_forced",
        (L1Event::LoadForced, &[P]),
        (Keep, true, Read),
        "hmg.md 5.1",
        "forced miss: never joins; the older miss -> PX, a read of its own -> P",
    ),
];
