//! What stage 1 of `l2-wb` and of `gtsc-l2` decides of an operation.

use super::back_table::{BackDo, BackFill, BackState};
use super::mshr::Match;
use super::tags::Lookup;
use super::types::*;
use weft_rtl::prelude::*;

/// The decision of stage 1, for observers.
pub(super) struct BackDecision {
    pub op: Op,
    /// A request or a replay.
    pub asked: Bool,
    pub fill: Bool,
    pub flush: Bool,
    pub look: Lookup,
    pub found: Match,
    pub requests: Decoded<BackState, BackDo>,
    pub fills: Decoded<BackState, BackFill>,
    /// State that a request sees.
    pub seen: Enum<BackState>,
    /// The answer of memory is that to a write-back.
    pub written: Bool,
    /// Who asked first waits in the list.
    pub quiet: Bool,
    pub opens: Bool,
    /// The transaction opened is for dirty bytes that are in the way; or one whose requester waits in the list.
    pub writes: Bool,
    pub waits: Bool,
    /// Way that the operation is about.
    pub way: Bits,
    /// Dirty bytes go to memory.
    pub sends_dirty: Bool,
    /// A flush drops what it finds.
    pub drops: Bool,
}

impl BackDecision {
    /// A request or replay takes an action.
    pub fn r(&self, action: BackDo) -> Bool {
        self.asked & self.requests.does(action)
    }
    /// Somebody is answered.
    pub fn answers(&self) -> Bool {
        self.r(BackDo::Answer) | (self.fill & !self.written & !self.quiet)
    }
    /// It is a request of an L1, not a replay.
    pub fn first(&self) -> Bool {
        self.asked & self.op.class.is(Class::Request)
    }
    /// It is a replay.
    pub fn replay(&self) -> Bool {
        self.asked & self.op.class.is(Class::Replay)
    }
    /// A line comes into the way kept for it.
    pub fn installs(&self) -> Bool {
        self.fill & self.fills.does(BackFill::Install)
    }
}
