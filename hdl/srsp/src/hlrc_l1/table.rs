//! The L1's transition tables (srsp.md section 9).
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
//! A slot carries one row out as a whole, or waits and changes nothing.

use crate::registering::lines::OwnableStates;
pub use crate::registering::rows::{Case, Comes, Leaves};
use crate::registering::rows::{atomics, frames, joins};
use crate::registering::sync_unit::CommonSteps;
pub use crate::write_combining::op::Access;
use crate::write_combining::rows::{hits, leaves, partial, stores};
use crate::write_combining::steps;
use weft_rtl::prelude::*;

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

/// Where the line of a REVOKE is, if it is not in its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Where {
    /// Nowhere else.
    #[hw(label = "frame")]
    Frame,
    /// In the capture buffer, evicted: UNREG is not sent.
    #[hw(label = "captured")]
    Captured,
    /// UNREG is under way, in the WBT.
    #[hw(label = "unreg")]
    GivenBack,
}

/// What an MSHR has asked of the L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Asked {
    /// RD: a line for plain loads.
    #[hw(label = "RD")]
    Rd,
    /// REG: a line for atomics.
    #[hw(label = "REG")]
    Reg,
    /// RDU: the bytes of an owned line as the L2 has them.
    #[hw(label = "RDU")]
    Rdu,
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

impl CommonSteps for Step {
    const CLOSE: Step = Step::Close;
    const OPEN: Step = Step::Open;
    const GIVE_BACK: Step = Step::GiveBack;
    const SETTLE: Step = Step::Settle;
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
    #[hw(label = "Kbegin")]
    Begin,
    /// A kernel ends.
    #[hw(label = "Kend")]
    End,
}

impl Program {
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
    steps::programs(Program::steps)
}

/// What an operation does to its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Operate {
    /// Answer.
    Hit,
    /// Reserve a frame and send RD.
    Reserve,
    /// Reserve a frame, or keep that of the line, and send REG.
    Register,
    /// Send RDU.
    Ask,
    /// Wait in the line's MSHR.
    Join,
    /// Wait outside.
    Wait,
    /// Take a frame for the bytes written.
    Take,
    /// Merge the bytes into the line.
    Merge,
    /// Write the bytes into the line and to the L2.
    Through,
    /// Perform an atomic on the line.
    Perform,
    /// A clean line becomes dirty: it goes into the sFIFO.
    Dirties,
    /// Write the line back; the operation is tried again.
    WriteBack,
    /// The line goes.
    Drop,
}

transitions! {
    /// What an operation does to its line. `case`: in W, whether the bytes asked for are there; elsewhere, whether an open MSHR of the line takes another operation, `shut`
    /// when it takes none.
    ///
    /// Decisions: plain loads, like plain stores, wait in PR; an atomic waits in P; whatever is no load waits while an RDU of its line is open, so that a store never overtakes an
    /// older load.
    pub fn operations() {
        name "operations", rows "srsp.hlrc_l1.";
        on "access": Access, "state": OwnState, "case": Case;
        next OwnState;
        does Operate;

        "Ld.I"         (Ld, I, No)     -> P  [Reserve]         "Take a frame, send RD.";
        "Ld.I.join"    (Ld, I, Yes)          [Join]            "Wait for the RDU sent when the line was owned.";
        "Ld.I.wait"    (Ld, I, Shut)         [Wait]            "That RDU is marked or full: wait outside.";
        include joins;
        include hits;
        include partial;
        "Ld.PR"        (Ld, PR, _)           [Wait]            "Wait for the registration.";
        "Ld.O"         (Ld, O, No)           [Ask]             "Served by the L2: RDU, not installed.";
        "Ld.O.join"    (Ld, O, Yes)          [Join]            "Wait for the RDU under way.";
        "Ld.O.wait"    (Ld, O, Shut)         [Wait]            "That RDU is marked or full: wait outside.";
        "St.I"         (St, I, No)     -> W  [Take, Dirties]   "Take a frame for the bytes written: no fetch.";
        "St.I.wait"    (St, I, Yes | Shut)   [Wait]            "Wait for the RDU under way.";
        include stores;
        "St.PR"        (St, PR, _)           [Wait]            "Wait for the registration.";
        "St.O"         (St, O, No)           [Through]         "Done at the L2: the bytes are written back at once.";
        "St.O.wait"    (St, O, Yes | Shut)   [Wait]            "Wait for the RDU under way.";
        "At.I"         (Atomic, I, No) -> PR [Register]        "Take a frame, send REG.";
        "At.I.wait"    (Atomic, I, Yes | Shut) [Wait]          "Wait for the RDU under way.";
        include atomics;
        "At.D"         (Atomic, D, _)  -> I  [WriteBack, Drop] "Write back; the atomic then registers.";
        "At.W"         (Atomic, W, _)  -> I  [WriteBack, Drop] "Write back; the atomic then registers.";
        "At.PR.join"   (Atomic, PR, Yes)     [Join]            "Wait in the MSHR.";
        "At.PR.wait"   (Atomic, PR, Shut)    [Wait]            "The MSHR is full: wait outside.";
        "At.O"         (Atomic, O, _)        [Perform]         "Perform, answer.";
        never (_, P | PR, No)                "a line under way has an open MSHR";
        never (_, V | D, Yes | Shut)         "a line that an RDU is open for becomes neither valid nor dirty";
        never (_, W, Shut)                   "in W the bytes are there or not";
    }
}

/// What happens to a line that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Part {
    /// Write it back.
    WriteBack,
    /// It stays, clean.
    Clean,
    /// It goes.
    Drop,
    /// It goes into the capture buffer.
    Capture,
}

transitions! {
    /// What happens to a line that leaves, or whose bytes do. What a flash invalidation does is told beside the rows `srsp.hlrc_l1.flash.*`.
    pub fn leaving() {
        name "leaving", rows "srsp.hlrc_l1.";
        on "event": Leaves, "state": OwnState;
        next OwnState;
        does Part;

        "pop.dead" (Pop, I | P | V | PR | O)          "A dead entry: nothing to write.";
        include leaves;
        "evict.O"  (Evict, O) -> I [Capture, Drop]    "Captured; F, then UNREG.";
        never (Evict, P | PR)                         "a line under way is no victim";
    }
}

/// What a REVOKE does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Give {
    /// The line goes into the capture buffer, if that is free.
    Capture,
    /// REVOKE_ACK{1} takes the place of the captured line's UNREG.
    Convert,
    /// REVOKE_ACK{0}.
    Empty,
    /// The REVOKE waits at its channel's head.
    Park,
    /// It is taken.
    Done,
}

transitions! {
    /// What a REVOKE does. `busy`: the capture buffer is.
    pub fn revokes() {
        name "revokes", rows "srsp.hlrc_l1.";
        on "state": OwnState, "line": Where, "busy": Is;
        next OwnState;
        does Give;

        "REVOKE.O"        (O, _, No) -> I      [Capture, Done] "Captured, I in one slot; F, then REVOKE_ACK{1}.";
        "REVOKE.O.wait"   (O, _, Yes)          [Park]          "The capture buffer is busy: wait.";
        "REVOKE.PR"       (PR, _, _)           [Park]
            "The grant is in flight: wait until it is served and its atomics are done.";
        "REVOKE.captured" (I, Captured, _)     [Convert, Done]
            "When its F ends, REVOKE_ACK{1} is sent instead of UNREG.";
        "REVOKE.unreg"    (I | W, GivenBack, _) [Empty, Done]  "UNREG is under way: REVOKE_ACK{0} at once.";
        never (I | W, Frame, _)                "the L2 asks who has registered the line, and has not given it back";
        never (V | D | P, _, _)                "what was owned is read again only when its UNREG is acknowledged";
        never (PR | O, Captured | GivenBack, _) "a line is registered again only when its UNREG is acknowledged";
        never (W, Captured, _)                 "operations wait while their line is in the capture buffer";
        never (_, Captured, No)                "a captured line is in the buffer";
    }
}

/// What an answer of the L2 does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Answer {
    /// The line is installed, valid.
    Install,
    /// It is not.
    Skip,
    /// It is installed, owned.
    Own,
}

transitions! {
    /// What an answer of the L2 does. `marked`: a flash invalidation has passed since it was asked for.
    pub fn answers() {
        name "answers", rows "srsp.hlrc_l1.";
        on "state": OwnState, "answer": Comes, "asked": Asked, "marked": Is;
        next OwnState;
        does Answer;

        "FILL.P"      (_, Fill, Rd, No)     -> V [Install] "The line is installed: V.";
        "FILL.noinst" (_, Fill, Rd, Yes)    -> I [Skip]    "Invalidated meanwhile: I; loads are answered.";
        "FILL.RDU"    (_, Fill, Rdu, _)                    "Loads are answered; nothing is installed.";
        "REG_DATA"    (_, RegData, Reg, No) -> O [Own]     "O; the atomics perform, then I, then the answers.";
        include frames;
        never (V | W | D | P | PR, Fill, Rdu, _)           "only loads go on while an RDU of their line is open";
        never (_, Fill, Reg, _)                            "REG_DATA answers a REG";
        never (_, RegData, Rd | Rdu, _)                    "FILL answers an RD or RDU";
        never (_, RegData, Reg, Yes)                       "a flash invalidation does not mark a REG";
    }
}

/// Everything that moves a line. The rows of [`answers`] do not look at the state, which is that of a line under way.
pub fn machine() -> Machine<OwnState> {
    use OwnState::*;
    // The last move is a flash invalidation's, which drops all valid lines in one cycle.
    Machine::new("state of a line", I)
        .with(&operations())
        .with(&leaving())
        .with(&revokes())
        .also(&[P], V)
        .also(&[P], I)
        .also(&[PR], O)
        .also(&[V], I)
}

impl OwnableStates for OwnState {
    const BLOCK: &'static str = "hlrc_l1";
    const FLASH: [(&'static str, &'static str); 4] = [
        ("srsp.hlrc_l1.flash.V", "Dropped."),
        ("srsp.hlrc_l1.flash.P", "What comes answers its loads and is not installed."),
        ("srsp.hlrc_l1.flash.PR", "Stays: its atomics bring their own invalidation."),
        ("srsp.hlrc_l1.flash.O", "Stays."),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        assert_eq!(operations().faults(), []);
        assert_eq!(leaving().faults(), []);
        assert_eq!(revokes().faults(), []);
        assert_eq!(answers().faults(), []);
        assert_eq!(machine().unreached(), []);
    }

    #[test]
    fn every_program_ends_once_and_drops_behind_a_flush() {
        for program in Program::VARIANTS {
            let steps = program.steps();
            let ends = |step: &Step| [Step::Reply, Step::Answer].contains(step);
            assert_eq!(steps.iter().position(ends), Some(steps.len() - 1), "{program:?}");
            let at = |step| steps.iter().position(|s| *s == step);
            assert_eq!(at(Step::Close).is_some(), at(Step::Open).is_some());
            assert!(at(Step::Drop).is_none() || at(Step::Flush) < at(Step::Drop), "{program:?}");
            assert_eq!(Program::VARIANTS[program.encoding() as usize], *program);
        }
    }
}
