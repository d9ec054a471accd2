//! Golden model, checkers, benches and exploration of the H-MESI baseline (spandex.md, section 9): a MESI directory, its clients, and a GPU L2 between GPU L1s and the directory.

pub mod client;
pub mod explore;
pub mod golden;
pub mod watch;

pub use weft_bench as bench;
