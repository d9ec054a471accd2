//! Golden models of Spandex, written from spandex.md sections 1 to 8 and 13 alone: plain Rust, one message at a time.
//!
//! A model has no cycles. A call is one message, access, replacement or drain, in which everything that the specification calls atomic happens; which call is next is the
//! caller's choice, so a bench can follow the hardware and an explorer can try all orders. A call that must wait changes nothing and says so. Broken rules of the protocol
//! are collected as text, as are those that the state as a whole shows (`check`). Lines have at most 16 words.
//!
//! | model | calls | sends |
//! | --- | --- | --- |
//! | [`llc::Bank`] | REQ, WB, RSP, memory, eviction | messages to devices, reads and writes of memory |
//! | [`device::Device`] | accesses, FWD, RSP, drain, eviction | messages to banks and devices, replies |
//! | [`system::System`] | programs of threads, any message, drains, evictions | faults, outcomes |
//!
//! The two tables of the page are [`llc::table::COMMIT`] and [`device::table::EXTERNAL`]. [`system::sc`] tells which outcomes of a program are sequentially consistent and
//! whether it has a data race; [`system::explore`] visits all interleavings.
//!
//! Not in the models: finite outputs and so rules 1, 2 and 4 of section 2 (rule 3 is, where forwards come in order), read-only regions, whole-line hints of buffered stores,
//! the prediction table (a hint names the device), section 9. A store buffer may drain whenever it can, which covers every `sb_drain`.

pub mod cover;
pub mod device;
pub mod llc;
pub mod msg;
pub mod slip;
pub mod system;
