//! What a slot does, for those who act on it.

use super::table::{Operate, OwnState, Part};
use crate::write_combining::slot;
use weft_rtl::prelude::*;

/// What a slot does.
pub(super) type Plan = slot::Plan<OwnState, Operate, Part, Own>;

/// What a slot does besides.
pub(super) struct Own {
    /// An owned line leaves: as a victim, or at a kernel's end.
    pub evicts: Bool,
    /// An owned line leaves because it is revoked.
    pub revokes: Bool,
    /// A request waits, whose line is in the capture buffer.
    pub captured: Bool,
    /// A request waits, whose victim is owned, and the capture buffer or the WBT has no room.
    pub buffer: Bool,
}
