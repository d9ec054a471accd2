//! The L1's transition tables (spandex.md section 7).
//!
//! A slot carries one row out as a whole, or waits and changes nothing.

use crate::mesi_port::{ExtOp, LineState};
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

/// The MSHR of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Mshr {
    /// There is none: the line is not pending.
    #[hw(label = "-")]
    None,
    /// That of the pending line takes the operation.
    #[hw(label = "open")]
    Open,
    /// It takes none: it is closed, or the store buffer is full.
    #[hw(label = "shut")]
    Shut,
}

/// What an operation of the core does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Operate {
    /// Answer.
    Hit,
    /// Write the line.
    Write,
    /// Perform an atomic on it.
    Perform,
    /// Reserve a way and ask for the line.
    Miss,
    /// Ask for ownership of a line that is here.
    Upgrade,
    /// The request is a GetM.
    Own,
    /// Join the operations that wait for the line.
    Join,
    /// Ask again later.
    Wait,
}

transitions! {
    /// What an operation of the core does.
    pub fn operations() {
        name "mesi_l1_operations", rows "spandex.mesi_l1.";
        on "access": Access, "state": LineState, "MSHR": Mshr;
        next LineState;
        does Operate;

        "Ld.I"      (Ld, I, _)   -> P [Miss]           "Reserve a way, evicting its line; GetS.";
        "Ld.S"      (Ld, S, _)        [Hit]            "Answer.";
        "Ld.E"      (Ld, E, _)        [Hit]            "Answer.";
        "Ld.M"      (Ld, M, _)        [Hit]            "Answer.";
        "Ld.P"      (Ld, P, Open)      [Join]           "Join the operations that wait for the line.";
        "Ld.P.shut" (Ld, P, Shut)      [Wait]           "Wait for the answer, then ask again.";
        "Ld.W"      (Ld, WE | WM, _)   [Wait]          "Wait until the line is written back.";
        "St.I"      (St, I, _)   -> P [Miss, Own]      "Reserve a way, evicting its line; GetM.";
        "St.S"      (St, S, _)   -> P [Upgrade, Own]   "GetM; the copy is not used any more.";
        "St.E"      (St, E, _)   -> M [Write]          "Write; the line is dirty.";
        "St.M"      (St, M, _)        [Write]          "Write.";
        "St.P"      (St, P, Open)      [Join]           "Join the operations that wait for the line.";
        "St.P.shut" (St, P, Shut)      [Wait]           "Wait for the answer, then ask again.";
        "St.W"      (St, WE | WM, _)   [Wait]          "Wait until the line is written back.";
        "At.I"      (At, I, _)   -> P [Miss, Own]      "Reserve a way, evicting its line; GetM.";
        "At.S"      (At, S, _)   -> P [Upgrade, Own]   "GetM; the copy is not used any more.";
        "At.E"      (At, E, _)   -> E | M [Perform]    "Perform here; the line is dirty if written.";
        "At.M"      (At, M, _)        [Perform]        "Perform here.";
        "At.P"      (At, P, Open)      [Join]           "Join the operations that wait for the line.";
        "At.P.shut" (At, P, Shut)      [Wait]           "Wait for the answer, then ask again.";
        "At.W"      (At, WE | WM, _)   [Wait]          "Wait until the line is written back.";
        never (_, P, None)                              "a pending line has an MSHR";
        never (_, I | S | E | M | WE | WM, Open | Shut) "a line that is not pending has none";
    }
}

/// What becomes of the line of a way that is taken for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Evict {
    /// Put it into the write-back buffer below.
    Put,
}

transitions! {
    /// A way that is taken for another line.
    pub fn victims() {
        name "mesi_l1_victims", rows "spandex.mesi_l1.";
        on "victim": LineState;
        does Evict;

        "Evict.I" (I)         "Nothing is there.";
        "Evict.S" (S)         "Dropped silently.";
        "Evict.E" (E) [Put]   "Put with data, clean.";
        "Evict.M" (M) [Put]   "Put with data, dirty.";
        never (P | WE | WM)   "lines that are pending or written back in place keep their way";
    }
}

/// What an operation does that has waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Serve {
    /// Write the line.
    Write,
    /// Perform an atomic on it.
    Perform,
    /// This and what follows wait for a GetM.
    Again,
}

transitions! {
    /// What an operation does that has waited for its line, as it is installed; P: it is used once.
    pub fn targets() {
        name "mesi_l1_targets", rows "spandex.mesi_l1.";
        on "access": Access, "state": LineState;
        next LineState;
        does Serve;

        "Wait.Ld"       (Ld, S | E | M | WE | WM)            "Answer.";
        "Wait.Ld.once"  (Ld, P)                              "Answer; the line is not kept.";
        "Wait.St"       (St, E | M) -> M         [Write]     "Write.";
        "Wait.St.W"     (St, WE | WM) -> WM      [Write]     "Write; then the line goes.";
        "Wait.St.again" (St, S | P)              [Again]     "This and what follows wait for a GetM.";
        "Wait.At"       (At, E | M) -> E | M     [Perform]   "Perform.";
        "Wait.At.W"     (At, WE | WM) -> WE | WM [Perform]   "Perform; then the line goes.";
        "Wait.At.again" (At, S | P)              [Again]     "This and what follows wait for a GetM.";
        never (_, I)                                         "an answer installs the line, or keeps its way reserved";
    }
}

/// What a lookup from below does to the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Change {
    /// Write the words given.
    Words,
    /// Keep a shared copy.
    Share,
    /// No other operation joins those that wait.
    Shut,
    /// The line goes.
    Gone,
    /// Some words go, the others will be written back.
    Hold,
}

transitions! {
    /// What a lookup from below changes.
    pub fn lookups() {
        name "mesi_l1_lookups", rows "spandex.mesi_l1.";
        on "lookup": ExtOp, "state": LineState;
        next LineState;
        does Change;

        "Look"       (Look, _)                                 "Nothing.";
        "Write.own"  (Write, E | M) -> M             [Words]   "Write the words given; the line is dirty.";
        "Write.none" (Write, I | S | P | WE | WM)              "Nothing.";
        "Share.own"  (Share, E | M) -> S             [Share]   "Keep a shared copy.";
        "Share.P"    (Share, P)                      [Shut]    "No other operation joins.";
        "Share.none" (Share, I | S | WE | WM)                  "Nothing.";
        "Drop.own"   (Drop, E | M) -> I              [Gone]    "The line goes.";
        "Drop.P"     (Drop, P)                       [Shut]    "No other operation joins.";
        "Drop.none"  (Drop, I | S | WE | WM)                   "Nothing.";
        "Hold.own"   (Hold, E | M) -> WE | WM        [Hold]    "Some words go, the others will be written back.";
        "Hold.P"     (Hold, P)                       [Shut]    "No other operation joins.";
        "Hold.none"  (Hold, I | S | WE | WM)                   "Nothing.";
        "Inv.S"      (Inv, S) -> I                   [Gone]    "The copy goes.";
        "Inv.P"      (Inv, P)                        [Shut]    "No other operation joins.";
        "Inv.none"   (Inv, I | E | M | WE | WM)                "Nothing: no copy, or a newer one.";
        "Free.W"     (Free, WE | WM) -> I            [Gone]    "Every word is written back.";
        "Keep.W"     (Keep, WE | WM) -> S            [Share]   "Every word was wanted shared: keep a copy.";
        never (Free | Keep, I | S | E | M | P)                 "only lines that are written back in place are told so";
    }
}

transitions! {
    /// What the first slot of an answer installs.
    pub fn answers() {
        name "mesi_l1_answers", rows "spandex.mesi_l1.";
        on "state": LineState, "answer": LineState;
        next LineState;

        "Data.once" (P, I)         "A line that serves the loads that wait, and goes.";
        "Data.S"    (P, S) -> S    "A shared line.";
        "Data.E"    (P, E) -> E    "An exclusive line.";
        "Data.M"    (P, M) -> M    "An exclusive line that others have written.";
        "Data.WE"   (P, WE) -> WE  "A line of which words are wanted back already, clean.";
        "Data.WM"   (P, WM) -> WM  "The same, dirty.";
        never (I | S | E | M | WE | WM, _) "the way of a line that is waited for stays reserved";
        never (P, P)               "an answer says in which state its line comes";
    }
}

/// Everything that moves a line; the last slot of an answer drops a line used once, or waits for it again.
pub fn machine() -> Machine<LineState> {
    use LineState::*;
    Machine::new("state of a line", I)
        .with(&operations())
        .with(&answers())
        .with(&targets())
        .with(&lookups())
        .also(&[P], I)
        .also(&[S], P)
}
