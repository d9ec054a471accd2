//! Copies of a line that may have an owner: their states, as the arrays of L2 banks with owners have them ([`crate::msg::Sys::owners`]).

use weft_rtl::prelude::*;

/// State of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Copy {
    /// None.
    I,
    /// One of several, which memory or an owner has, too.
    S,
    /// The one that answers for the line; other nodes have S.
    O,
    /// The only one, as in memory.
    E,
    /// The only one, written.
    M,
}
