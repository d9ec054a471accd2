//! What a slot does, for those who act on it.

use super::micro::Program;
use super::table::{LineState, Operate, Part};
use crate::write_combining::slot;
use weft_rtl::prelude::*;

/// What a slot does.
pub(super) type Plan = slot::Plan<LineState, Operate, Part, Own>;

/// What a slot does besides.
pub(super) struct Own {
    pub route: Route,
    pub registers: Bool,
    pub inv_goes: Bool,
    /// A request waits for the own operation at the L2.
    pub held: Bool,
    /// A request waits for the lock of another CU's broadcast.
    pub barred: Bool,
}

/// How the operation is carried out.
pub(super) struct Route {
    /// It is at work group scope, or is done there.
    pub wg: Bool,
    /// It is done in its line here, now or after a fill.
    pub local: Bool,
    /// Its address is in the PA-TBL.
    pub promoted: Bool,
    /// A remote operation that the own LR-TBL answers.
    pub converted: Bool,
    pub program: Enum<Program>,
}
