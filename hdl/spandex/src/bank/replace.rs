//! What a line that is not here does to a way.

use weft_rtl::prelude::*;

/// What happens to the way that a line takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Replace {
    /// It is the next line's.
    Take,
    /// The line in it is written to memory.
    Write,
    /// The line in it is given back to the L3.
    Put,
    /// Whoever has copies or words of the line in it is asked first.
    Evict,
    /// The request joins a stall list.
    Join,
}
