//! The L1's transition table.
//!
//! | state of the line | meaning |
//! | --- | --- |
//! | I | no copy, no miss that a load may join |
//! | V | valid copy |
//! | P | a read is under way; loads of the line join it, its answer is installed |
//!
//! A poisoned miss (PX) counts as I: it answers the loads that have joined it, nothing more, and a later load reads anew. The L2 bank must
//! make such a load wait (rec.md 6.1), because its network may reorder; the L1 need not, because its requests of one line arrive in order.

use weft_rtl::prelude::*;

/// What a request asks of the L1, decoded when it enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum L1Event {
    /// Load.
    #[hw(label = "load")]
    Load,
    /// Load of a line that may not be kept here (`bypass_remote`).
    #[hw(label = "load_bypass")]
    LoadBypass,
    /// Store.
    #[hw(label = "store")]
    Store,
    /// Atomic.
    #[hw(label = "atomic")]
    Atomic,
    /// Acquire beyond the CU, kernel begin.
    #[hw(label = "acquire")]
    Acquire,
    /// Release beyond the CU, kernel end.
    #[hw(label = "release")]
    Release,
    /// Nothing to do: acquire or release of CU scope.
    #[hw(label = "local")]
    Local,
    /// Load of a scope beyond the CU (`scoped`).
    #[hw(label = "load_forced")]
    LoadForced,
}

/// State of the addressed line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum L1State {
    /// No copy.
    I,
    /// Valid copy.
    V,
    /// Miss under way, not poisoned.
    P,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum L1Act {
    /// Take an entry of the miss file.
    #[hw(label = "alloc")]
    Alloc,
    /// Loads may join it, and its answer is installed.
    #[hw(label = "open")]
    Open,
    /// Read the line from the L2.
    #[hw(label = "read")]
    Read,
    /// Answer from the copy.
    #[hw(label = "hit")]
    Hit,
    /// Join the open miss.
    #[hw(label = "merge")]
    Merge,
    /// Write through.
    #[hw(label = "write")]
    Write,
    /// Write the copy.
    #[hw(label = "update")]
    Update,
    /// The open miss is not installed.
    #[hw(label = "poison")]
    Poison,
    /// Send the atomic to the L2.
    #[hw(label = "atomic")]
    Atomic,
    /// Drop the copy.
    #[hw(label = "drop")]
    Drop,
    /// Drop every copy, poison every open miss.
    #[hw(label = "flash")]
    Flash,
    /// Answer at once.
    #[hw(label = "ack")]
    Ack,
    /// Answer when the L2 has answered what was accepted before.
    #[hw(label = "release")]
    Release,
}

transitions! {
    /// The table of requests (cu-and-consistency.md 1.1 and 1.3, rec.md 7 and 9); that of a `scoped` cache has rows for loads of a scope beyond the CU: the
    /// forced misses of hmg.md 5.1. Their read goes on and is never answered from what was read before. The copy, or the older miss as a source of one, goes,
    /// so that no later load sees less than this one.
    pub fn requests(scoped: bool) {
        name "l1_requests", rows "l1.";
        on "event": L1Event, "state": L1State;
        next L1State;
        does L1Act;

        "I.load"    (Load, I) -> P   [Alloc, Open, Read]   "Open a miss: read the line from the L2.";
        "V.load"    (Load, V)        [Hit]                 "Answer from the copy.";
        "P.load"    (Load, P)        [Merge]               "Join the open miss.";
        "any.load_bypass" (LoadBypass, I | V | P) [Alloc, Read] "Read without keeping a copy.";
        "I.store"   (Store, I)       [Write]               "Write through; nothing is allocated.";
        "V.store"   (Store, V)       [Write, Update]       "Write through and update the copy.";
        "P.store"   (Store, P) -> I  [Write, Poison]       POISONS;
        "I.atomic"  (Atomic, I)      [Alloc, Atomic]       "Performed below.";
        "V.atomic"  (Atomic, V) -> I [Alloc, Atomic, Drop] "Drop the copy; performed below.";
        "P.atomic"  (Atomic, P) -> I [Alloc, Atomic, Poison] "P -> PX; performed below.";
        "any.acquire" (Acquire, I | V | P) -> I [Flash, Ack] "Drop every copy, poison every open miss, answer.";
        "any.release" (Release, I | V | P) [Release]       RELEASES;
        "any.local" (Local, I | V | P) [Ack]               "CU scope: the CU's own L1 is always up to date.";
        if scoped {
            "I.load_forced" (LoadForced, I) -> P [Alloc, Open, Read]         "Open a miss: read the line from the L2.";
            "V.load_forced" (LoadForced, V) -> P [Drop, Alloc, Open, Read]   DROPS;
            "P.load_forced" (LoadForced, P)      [Poison, Alloc, Open, Read] OPENS_ANOTHER;
        } else {
            never (LoadForced, _)    "this cache does not tell scopes apart";
        }
        never (LoadBypass, V | P)    "nothing is kept or joined of a line that loads bypass";
    }
}

const POISONS: &str = "Write through; the read under way may return what was before the store: P -> PX.";
const RELEASES: &str = "Answer when the L2 has answered every store and atomic accepted before.";
const DROPS: &str = "Drop the copy and open a miss, which later loads without a scope may join.";
const OPENS_ANOTHER: &str =
    "The older miss answers its loads, P -> PX; open another, which later loads without a scope may join.";

/// Everything that moves a line: requests, the answer of a miss, and another line that takes its way.
pub fn machine(scoped: bool) -> Machine<L1State> {
    Machine::new("state of a line", L1State::I)
        .with(&requests(scoped))
        .also(&[L1State::P], L1State::V)
        .also(&[L1State::V], L1State::I)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sound() {
        for scoped in [false, true] {
            assert_eq!(requests(scoped).faults(), []);
        }
    }
}
