//! Golden model of the H-MESI baseline, written from spandex.md section 9 alone: plain Rust, one message at a time, as the golden models of Spandex.
//!
//! | model | calls | sends |
//! | --- | --- | --- |
//! | [`l3::L3`] | REQ, WB, RSP, memory, eviction | messages to clients, reads and writes of memory |
//! | [`client::cpu::Cpu`] | accesses, FWD, RSP, eviction | messages to the L3 and clients, replies |
//! | [`l2::L2`] | REQ_g, WB_g, RSP_g, FWD, RSP, eviction | messages to the L3, clients and GPU L1s |
//! | [`system::System`] | programs of threads, any message, drains, evictions | faults, outcomes |
//!
//! GPU L1s are devices of Spandex whose bank is the L2. The two tables are [`l3::table::TABLE`] and [`client::table::TABLE`]; the L2 is a client, too.
//!
//! Not in the models: finite outputs, a store buffer before a CPU L1, sets and replacement policies.

pub mod client;
pub mod cover;
pub mod l2;
pub mod l3;
pub mod msg;
pub mod slip;
pub mod system;
