//! What a unit that is clocked tells of itself, one bit each.

/// In a clock function's flags: a memory was written.
pub(crate) const WRITTEN: u64 = 1;

/// In a unit's word: it has fallen asleep. It takes the place of [`WRITTEN`].
pub(crate) const ASLEEP: u64 = 1;

/// In both: one of the unit's assertions failed.
pub(crate) const FAILED: u64 = 2;

/// First flag of an output channel, above those.
pub(crate) const FIRST_FLAG: u32 = 2;
