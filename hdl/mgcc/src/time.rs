//! Logical time in hardware: {epoch, ts} and the epoch tags of messages (mgcc.md sections 3 and 8).
//!
//! # Epochs are compared modulo
//!
//! An epoch has CTS - TS bits, its tag in a message EB of them; either may begin again at 0. So no comparison asks which number is greater: [`later`] and [`age`] ask which
//! epoch comes first the nearer way round. That is right while the epochs at hand lie within half of the numbers:
//!
//! - The controller opens a Roll to epoch C only when everybody has acknowledged C - 1 ([`crate::epoch_ctl`]). So L1s, banks, TSUs and relays are in C - 1 or C, and every Roll
//!   and RollAck under way is of C: two epochs, where the shortest clock has 8. Each receiver asserts it (`roll_in_order`).
//! - An ask for the end of an epoch may be late. The controller takes one of any other epoch than its own as over, so no comparison can mislead it.
//! - A time that a kernel's begin brings is the greatest of those at the end of the kernel before, so of C - 1 or C.
//! - A message's tag is of its sender's epoch when it was sent. It must come while fewer than 2^(EB-1) epochs have begun since: [`age`] asserts it at each receiver. What a message
//!   waits for longest is the requests of its line before it, at most one of each L1, and an epoch has stamps for so many grants of a line that fewer epochs than a tag tells
//!   apart pass meanwhile ([`Tsm::rolls_outlived`]). A fabric whose TS, EB and leases do not keep that is refused.

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

/// Whether epoch `a` begins after `b`: the nearer way round, of numbers of the same width.
pub fn later(a: Bits, b: Bits) -> Bool {
    let ahead = a - b;
    ahead.any() & !ahead.bit(ahead.width() - 1)
}

/// Asserts, when `valid`, that a Roll is to the epoch after the receiver's, or to one that has begun by a message before it.
pub fn assert_roll_in_order(name: &str, valid: Bool, roll: Bits, epoch: Bits) {
    assert_always(
        name,
        !valid | roll.eq(epoch) | roll.eq(epoch + 1),
        "a Roll begins the epoch after the present one, or one that has begun",
    );
}

/// The greater of two unsigned values.
pub fn max(a: Bits, b: Bits) -> Bits {
    mux(a.lt(b), b, a)
}
