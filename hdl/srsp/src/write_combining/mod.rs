//! What the L1s of scoped synchronisation and of hLRC are made of: write-combining caches of one CU, which do one slot per cycle and are not coherent by themselves (srsp.md sections 4 and 5).
//!
//! | part | what it is |
//! | --- | --- |
//! | [`rows`] | rows of transition tables |
//! | [`Shape`] | what fixes sizes and widths |
//! | [`op`] | what the CU asks, decoded |
//! | [`Lines`] | states, tags, dirty masks, data and ages of the lines |
//! | [`WriteBacks`](wbt::WriteBacks) | write-backs under way, with the counters that flushes wait for |
//! | [`drain`] | pops the sFIFO up to a marker, then fences |
//! | [`Mshrs`](mshrs::Mshrs) | lines asked of the L2, with the operations that wait for them |
//! | [`Misses`](misses::Misses) | what MSHRs of L1s that register lines ask for |
//! | [`Filler`](fill::Filler) | an answer of the L2 at work |
//! | [`Head`](head::Head) | S1, and the port of requests |
//! | [`Looked`](slot::Looked), [`Plan`](slot::Plan) | what a slot sees and does |
//! | [`Steps`](steps::Steps) | operations of several steps |
//! | [`Replies`](reply::Replies) | answers to the CU |

pub(crate) mod drain;
pub(crate) mod fill;
pub(crate) mod head;
mod lines;
pub(crate) mod misses;
pub(crate) mod mshrs;
pub(crate) mod op;
pub(crate) mod reply;
pub(crate) mod rows;
pub(crate) mod shape;
pub(crate) mod slot;
pub(crate) mod steps;
pub(crate) mod wbt;

pub(crate) use lines::{Found, LineStates, Lines};
pub use shape::Shape;
