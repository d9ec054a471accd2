//! Event logs of runs: every message that one block hands to another, every row of a transition table and every race that was hit, by cycle and line.
//!
//! | module | holds |
//! | --- | --- |
//! | [`header`] | what a log says of the design: blocks, channels with the fields of their messages, rows |
//! | [`mod@write`] | a log as it grows |
//! | [`read`] | a whole log; what is wrong with a damaged one, and where |
//! | [`hops`] | messages followed from block to block, answers found for requests |
//! | [`life`] | what became of one line |
//!
//! # The file
//!
//! One gzip stream. Inside, in this order:
//!
//! | part | what |
//! | --- | --- |
//! | `weft-events-1` and a line feed | name and version of the format |
//! | a line of JSON | [`header::Header`] |
//! | records | [`write::Record`]s in [postcard](https://postcard.jamesmunns.com/wire-format)'s encoding, one behind the other |
//! | the last record | [`write::Record::End`], with the number of the others |
//!
//! Records that belong to a cycle follow the [`write::Record::Cycle`] that advances to it: rows by block, then messages by channel. The same run gives the
//! same bytes.

pub mod header;
pub mod hops;
pub mod life;
pub mod read;
pub mod write;

pub use header::{Actor, Array, Block, Channel, Field, Header, Meter, Row};
pub use read::{Event, Log, LogError, What};
pub use write::{Record, Step, Writer};
