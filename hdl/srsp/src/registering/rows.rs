//! What stands in columns of transition tables, and rows, with actions of the same names.

use weft_rtl::prelude::*;

/// What makes a line leave, or its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Leaves {
    /// The head of the sFIFO is popped.
    #[hw(label = "pop")]
    Pop,
    /// The frame is taken for another line, or a kernel's end gives all owned lines back.
    #[hw(label = "evict")]
    Evict,
}

/// What comes for an MSHR.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Comes {
    /// FILL.
    #[hw(label = "FILL")]
    Fill,
    /// REG_DATA.
    #[hw(label = "REG_DATA")]
    RegData,
}

/// What an operation finds beside the state of its line: whether an open MSHR of the line takes it, or in W whether the bytes asked for are there. The tables say more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Case {
    /// No MSHR of the line is open; in W: the bytes are not all there.
    #[hw(label = "no")]
    No,
    /// The open MSHR of the line takes another operation; in W: the bytes are there.
    #[hw(label = "yes")]
    Yes,
    /// The open MSHR of the line takes no other operation: it is marked, or full.
    #[hw(label = "shut")]
    Shut,
}

transitions! {
    /// Loads of a line under way.
    pub(crate) rows joins {
        "Ld.P.join" (Ld, P, Yes)  [Join] "Wait in the MSHR.";
        "Ld.P.wait" (Ld, P, Shut) [Wait] "The MSHR is marked or full: wait outside.";
    }
}

transitions! {
    /// Atomics on a line under way, and on one that is clean.
    pub(crate) rows atomics {
        "At.P" (Atomic, P, _)       [Wait]     "Wait for the fill.";
        "At.V" (Atomic, V, _) -> PR [Register] "The frame stays, send REG.";
    }
}

transitions! {
    /// Answers find their frame as it was reserved.
    pub(crate) rows frames {
        never (I | V | W | D | PR | O, Fill, Rd, _)    "the frame of a line under way stays reserved";
        never (I | V | W | D | P | O, RegData, Reg, _) "the frame of a line to be registered stays reserved";
    }
}
