//! What a slot does, for those who act on it.

use super::table::{LineState, Operate, Part};
use crate::write_combining::slot;
use weft_rtl::prelude::*;

/// What a slot does.
pub(super) type Plan = slot::Plan<LineState, Operate, Part, Own>;

/// What a slot does besides.
pub(super) struct Own {
    /// An owned line leaves: as a victim, or at a kernel's end.
    pub evicts: Bool,
    /// A victim is owned, and cannot be given back now.
    pub no_channel: Bool,
    /// A written line is registered by a pop.
    pub registers: Bool,
    /// A pop has found its line's UNREG under way.
    pub behind_unreg: Bool,
    /// A request waits for a frame that a pop makes free.
    pub wants_pop: Bool,
}
