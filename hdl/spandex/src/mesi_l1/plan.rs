//! What a slot does, for those who act on it.

use super::table::{Evict, Operate, Serve};
use crate::mesi_port::LineState;
use weft_rtl::prelude::*;

/// What a slot does.
pub(super) struct Plan {
    pub row: Decoded<LineState, Operate>,
    pub target: Decoded<LineState, Serve>,
    pub victim: Decoded<NoState, Evict>,
    /// The request of S1 looks its line up.
    pub looks: Bool,
    /// Its row is carried out.
    pub goes: Bool,
    /// The request leaves S1.
    pub leaves: Bool,
    /// An operation of an answer is done.
    pub served: Bool,
    /// A lookup from below is carried out.
    pub looked: Bool,
    pub release_waits: Bool,
    pub waits: Waits,
}

/// Why a request waits.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    pub mshr: Bool,
    pub entry: Bool,
    /// Every way is pending or written back in place.
    pub room: Bool,
    /// The victim is owned and the write-back buffer full.
    pub credit: Bool,
}
