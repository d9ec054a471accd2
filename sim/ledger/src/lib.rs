//! The race ledger: every row of a transition table and every race that a specification names, with its hit count, the
//! smallest seed that reproduces it, and the test.
//!
//! Tests and runs write hits as JSON lines, one file per process, into a folder (`target/ledger`): [`note`]. [`Ledger::merge_dir`]
//! collects them. What the entries are the golden models say; cover points in the hardware carry their identifiers as names.

mod hits;
mod tally;

pub use hits::{Hit, hits_dir, note, write_hits};
pub use tally::{Entry, EntryKind, Ledger, LedgerError, Tally};
