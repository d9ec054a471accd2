//! The L1's transition tables (denovo-b.md).
//!
//! | state of a line | meaning |
//! | --- | --- |
//! | I | invalid |
//! | P | fill pending: the frame is reserved |
//! | V | all bytes valid, none written here |
//! | D | all bytes valid, those of the mask written here; others may be old |
//! | W | only the bytes of the mask are valid, written here |
//! | PR | registration pending: the frame holds the bytes of the mask, written here |
//! | O | owned: registered to this L1; the L2 does not know the bytes of the mask |
//!
//! A slot carries one row out as a whole, or waits and changes nothing.

pub use crate::msg::OwnerOp;
use crate::registering::lines::OwnableStates;
pub use crate::registering::rows::{Case, Comes, Leaves};
use crate::registering::rows::{atomics, frames, joins};
use crate::registering::sync_unit::CommonSteps;
pub use crate::write_combining::op::Access;
use crate::write_combining::rows::{hits, stores};
use crate::write_combining::steps;
use weft_rtl::prelude::*;

/// State of a line. Bit 0: every byte is valid; bit 1: some are written, or the line is owned; bit 2: a flash invalidation leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LineState {
    /// Invalid.
    I,
    /// Valid.
    V,
    /// Written bytes only.
    W,
    /// Written.
    D,
    /// Pending.
    P,
    /// Registration pending.
    PR,
    /// Owned.
    O,
}

/// Where the line of a REVOKE or READ is, if it is not in its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Where {
    /// Nowhere else.
    #[hw(label = "frame")]
    Frame,
    /// UNREG is under way, in the WBT.
    #[hw(label = "unreg")]
    GivenBack,
}

/// What an MSHR has asked of the L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Asked {
    /// RD: a line for plain loads.
    #[hw(label = "RD")]
    Rd,
    /// REG: a line to own.
    #[hw(label = "REG")]
    Reg,
}

/// A step of an operation of several steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Step {
    /// The CU is answered; the operation ends.
    Answer,
    /// The CU gate closes.
    Close,
    /// The CU gate opens.
    Open,
    /// F of a release: everything that was stored is registered.
    Register,
    /// The access. Unless it acquires on an owned line, the operation ends with it.
    Access,
    /// F of an acquire: behind it no line is D or W.
    Flush,
    /// Flash-inv of what is not owned.
    Drop,
    /// Every owned line is given back.
    GiveBack,
    /// Nothing that was given back is under way.
    Settle,
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
    /// I of an acquire that REG_DATA has performed. The gate is closed from there to the Drop.
    Acquired,
    /// An acquire that has found its line owned. The gate is closed from the access to the Drop.
    Acquire,
    /// An access that releases, and perhaps acquires.
    Release,
    /// A fence that acquires.
    FenceAcq,
    /// A fence that releases.
    FenceRel,
    /// A kernel begins.
    #[hw(label = "Kbegin")]
    Begin,
    /// A kernel ends.
    #[hw(label = "Kend")]
    End,
}

impl Program {
    /// Those with an access, to which its answer belongs.
    pub const ACCESSES: [Program; 3] = [Program::Acquired, Program::Acquire, Program::Release];

    /// Its steps.
    pub fn steps(self) -> &'static [Step] {
        use Step::*;
        match self {
            Program::Acquired => &[Flush, Drop, Answer],
            Program::Acquire => &[Access, Flush, Drop, Answer],
            Program::Release => &[Register, Access, Flush, Drop, Answer],
            Program::FenceAcq | Program::Begin => &[Close, Flush, Drop, Open, Answer],
            Program::FenceRel => &[Register, Answer],
            Program::End => &[Register, GiveBack, Settle, Answer],
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
    /// The operation is tried again.
    Again,
    /// Wait in the line's MSHR.
    Join,
    /// Wait outside.
    Wait,
    /// Take a frame for the bytes written.
    Take,
    /// Merge the bytes into the line.
    Merge,
    /// Merge them into a line that is registered, or is going to be.
    Keep,
    /// Perform an atomic on the line.
    Perform,
    /// The sync unit performs it.
    Queue,
    /// A clean line becomes written: it goes into the sFIFO.
    Dirties,
}

transitions! {
    /// What an operation does to its line. `case`: in W, whether the bytes asked for are all there; in P and PR, whether the MSHR takes another operation, `shut` when it takes none, and in PR
    /// `no` when nothing waits for the line; in O, whether it is an acquire of the CU, not an access that is done in its slot.
    ///
    /// Decisions: an atomic waits in P. A store waits in PR behind what waits there, so that it never overtakes an older load or atomic.
    pub fn operations() {
        name "operations", rows "srsp.denovo_b_l1.";
        on "access": Access, "state": LineState, "case": Case;
        next LineState;
        does Operate;

        "Ld.I"         (Ld, I, _)       -> P  [Reserve]         "Take a frame, send RD.";
        include joins;
        include hits;
        "Ld.W.miss"    (Ld, W, No)      -> PR [Register, Again] "Registered as by a pop; the load is tried again.";
        "Ld.PR.join"   (Ld, PR, No | Yes)     [Join]            "Wait in the MSHR.";
        "Ld.PR.wait"   (Ld, PR, Shut)         [Wait]            "The MSHR is full: wait outside.";
        "Ld.O"         (Ld, O, _)             [Hit]             "Answer.";
        "St.I"         (St, I, _)       -> W  [Take, Dirties]   "Take a frame for the bytes written: no fetch.";
        include stores;
        "St.PR"        (St, PR, No)           [Keep]            "Merge: REG_DATA leaves what is written.";
        "St.PR.wait"   (St, PR, Yes | Shut)   [Wait]            "Wait behind those who wait for the line.";
        "St.O"         (St, O, _)             [Keep]            "Merge: no message.";
        "At.I"         (Atomic, I, _)   -> PR [Register]        "Take a frame, send REG.";
        include atomics;
        "At.D"         (Atomic, D, _)   -> PR [Register]        "The frame stays with its written bytes, send REG.";
        "At.W"         (Atomic, W, _)   -> PR [Register]        "The frame stays with its written bytes, send REG.";
        "At.PR.join"   (Atomic, PR, No | Yes) [Join]            "Wait in the MSHR.";
        "At.PR.wait"   (Atomic, PR, Shut)     [Wait]            "The MSHR is full: wait outside.";
        "At.O"         (Atomic, O, No)        [Perform]         "Perform, answer; an acquire is answered behind its I.";
        "At.O.acquire" (Atomic, O, Yes)       [Queue]           "The sync unit performs it, then I, then the answer.";
        never (_, P, No)                      "a line that is asked for has somebody who asks";
        never (_, I | V | D, Yes | Shut)      "a line with an open MSHR is under way";
        never (_, W | O, Shut)                "they have no MSHR";
        never (Ld | St, O, Yes)               "plain accesses do not acquire";
    }
}

/// What happens to a line that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Part {
    /// Send REG; the frame stays.
    Register,
    /// It goes.
    Drop,
    /// Send UNREG.
    GiveBack,
}

transitions! {
    /// What happens to a line that leaves, or is registered. What a flash invalidation does is told beside the rows `srsp.denovo_b_l1.flash.*`.
    pub fn leaving() {
        name "leaving", rows "srsp.denovo_b_l1.";
        on "event": Leaves, "state": LineState;
        next LineState;
        does Part;

        "pop.dead" (Pop, I | P | V | PR | O)            "A dead entry: nothing to register.";
        "pop.D"    (Pop, D) -> PR   [Register]          "Send REG; its written bytes stay.";
        "pop.W"    (Pop, W) -> PR   [Register]          "Send REG; its written bytes stay.";
        "evict.I"  (Evict, I)                           "A free frame.";
        "evict.V"  (Evict, V) -> I  [Drop]              "The frame's line is dropped.";
        "evict.O"  (Evict, O) -> I  [GiveBack, Drop]    "UNREG with what is written.";
        never (Evict, P | PR)                           "a line under way is no victim";
        never (Evict, D | W)                            "what is written is registered before it leaves";
    }
}

/// What a REVOKE or READ does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Give {
    /// The line goes, its written bytes to the L2.
    Line,
    /// Its written bytes go to the L2, which knows them then.
    Bytes,
    /// The answer has nothing in it.
    Empty,
    /// It waits at its channel's head.
    Park,
    /// It is taken.
    Done,
}

transitions! {
    /// What a REVOKE or READ does.
    pub fn probes() {
        name "probes", rows "srsp.denovo_b_l1.";
        on "probe": OwnerOp, "state": LineState, "line": Where;
        next LineState;
        does Give;

        "REVOKE.O"     (Revoke, O, _) -> I         [Line, Done]  "REVOKE_ACK{1} with what is written: I.";
        "REVOKE.PR"    (Revoke, PR, _)             [Park]
            "The grant is in flight: wait until it is served and what waits for it is done.";
        "REVOKE.unreg" (Revoke, I | W, GivenBack)  [Empty, Done] "UNREG is under way: REVOKE_ACK{0}.";
        "READ.O"       (Read, O, _)                [Bytes, Done] "READ_ACK{1} with what is written, which the L2 knows then.";
        "READ.PR"      (Read, PR, _)               [Park]
            "The grant is in flight: wait until it is served and what waits for it is done.";
        "READ.unreg"   (Read, I | W, GivenBack)    [Empty, Done] "UNREG is under way: READ_ACK{0}.";
        never (_, I | W, Frame)         "the L2 asks who has registered the line, and has not given it back";
        never (_, V | D | P, _)         "what was owned is read again only when its UNREG is acknowledged";
        never (_, PR | O, GivenBack)    "a line is registered again only when its UNREG is acknowledged";
    }
}

/// What an answer of the L2 does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Install {
    /// The line is installed, valid.
    Copy,
    /// It is not.
    Skip,
    /// Bytes that are not written here are installed; the line is owned.
    Own,
}

transitions! {
    /// What an answer of the L2 does. `marked`: a flash invalidation has passed since it was asked for.
    pub fn answers() {
        name "answers", rows "srsp.denovo_b_l1.";
        on "state": LineState, "answer": Comes, "asked": Asked, "marked": Is;
        next LineState;
        does Install;

        "FILL.P"      (_, Fill, Rd, No)     -> V [Copy]    "The line is installed: V.";
        "FILL.noinst" (_, Fill, Rd, Yes)    -> I [Skip]    "Invalidated meanwhile: I; loads are answered.";
        "REG_DATA"    (_, RegData, Reg, No) -> O [Own]     "Bytes not written here are installed: O; what waits is done in order.";
        include frames;
        never (_, Fill, Reg, _)                            "REG_DATA answers a REG";
        never (_, RegData, Rd, _)                          "FILL answers an RD";
        never (_, RegData, Reg, Yes)                       "a flash invalidation does not mark a REG";
    }
}

/// Everything that moves a line. The rows of [`answers`] do not look at the state, which is that of a line under way.
pub fn machine() -> Machine<LineState> {
    use LineState::*;
    // The last move is a flash invalidation's, which drops all valid lines in one cycle.
    Machine::new("state of a line", I)
        .with(&operations())
        .with(&leaving())
        .with(&probes())
        .also(&[P], V)
        .also(&[P], I)
        .also(&[PR], O)
        .also(&[V], I)
}

impl OwnableStates for LineState {
    const BLOCK: &'static str = "denovo_b_l1";
    const FLASH: [(&'static str, &'static str); 4] = [
        ("srsp.denovo_b_l1.flash.V", "Dropped."),
        ("srsp.denovo_b_l1.flash.P", "What comes answers its loads and is not installed."),
        ("srsp.denovo_b_l1.flash.PR", "Stays: what comes is new."),
        ("srsp.denovo_b_l1.flash.O", "Stays."),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        assert_eq!(operations().faults(), []);
        assert_eq!(leaving().faults(), []);
        assert_eq!(probes().faults(), []);
        assert_eq!(answers().faults(), []);
        assert_eq!(machine().unreached(), []);
    }

    #[test]
    fn every_program_answers_at_its_end_and_drops_behind_a_flush() {
        for program in Program::VARIANTS {
            let steps = program.steps();
            assert_eq!(steps.iter().position(|s| *s == Step::Answer), Some(steps.len() - 1), "{program:?}");
            let at = |step| steps.iter().position(|s| *s == step);
            assert_eq!(at(Step::Close).is_some(), at(Step::Open).is_some());
            assert!(at(Step::Drop).is_none() || at(Step::Flush) < at(Step::Drop), "{program:?}");
            assert!(at(Step::Register).is_none_or(|at| at == 0), "what is stored is registered first");
            assert_eq!(Program::VARIANTS[program.encoding() as usize], *program);
        }
    }
}
