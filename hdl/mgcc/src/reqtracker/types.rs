//! What the parts of a ReqTracker pass on in a cycle.

use weft_rtl::prelude::*;

/// The entry that enters the issue stage.
pub(super) struct Chosen {
    pub any: Bool,
    pub index: Bits,
    /// A read that takes the line of the write in service: TSU only.
    pub attach: Bool,
    /// The TSU is asked again after a roll: TSU only.
    pub repeat: Bool,
    /// Entries that could have been issued while one was, that one among them.
    pub passed: Bits,
}

/// Entries that get something in this cycle, one-hot.
pub(super) struct Results {
    pub dram: Bits,
    pub granted: Bits,
    pub overflowed: Bits,
}

/// The answer that leaves in this cycle.
pub(super) struct Answers {
    pub leaves: Bool,
    pub index: Bits,
}
