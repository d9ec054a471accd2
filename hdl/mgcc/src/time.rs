//! Logical time in hardware: {epoch, ts} and the epoch tags of messages (mgcc.md sections 3 and 8).

use crate::params::Tsm;
use weft_rtl::prelude::*;

/// How a message's epoch tag stands to the receiver's epoch. A tag is read as the nearest epoch: at most one ahead, at most 2^(EB-1) - 1 behind.
#[derive(Clone, Copy)]
pub struct Age {
    /// The sender's epoch is the receiver's.
    pub current: Bool,
    /// The sender is one epoch ahead: the receiver rolls first.
    pub newer: Bool,
    /// The sender has left that epoch: the message's times are over.
    pub older: Bool,
}

/// Compares a tag with an epoch; `valid` is when it matters. Asserts that the difference lies in [-2^(EB-1)+1, +1].
pub fn age(p: &Tsm, name: &str, valid: Bool, tag: Bits, epoch: Bits) -> Age {
    let ahead = (tag - epoch.slice(0, p.eb)).named(&format!("{name}_ahead"));
    let (current, newer) = (ahead.eq(0), ahead.eq(1));
    let negative = ahead.bit(p.eb - 1) & !ahead.eq(1 << (p.eb - 1));
    assert_always(
        &format!("{name}_epoch_known"),
        !valid | current | newer | negative,
        "a message is at most one epoch ahead of its receiver and fewer than 2^(EB-1) behind",
    );
    Age { current, newer, older: !current & !newer }
}

/// The greater of two unsigned values.
pub fn max(a: Bits, b: Bits) -> Bits {
    mux(a.lt(b), b, a)
}
