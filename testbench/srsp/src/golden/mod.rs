//! Golden models of sRSP, bRSP and hLRC, written from srsp.md alone, and of DeNovo-B, from denovo-b.md: plain Rust, one slot or one message at a time.
//!
//! A model has no cycles. A call is one slot of an L1 or one message of a bank, in which everything that the specification calls atomic happens; which call is next is
//! the caller's choice, so a bench can follow the hardware and an explorer can try all orders. A call that must wait changes nothing and says so. All models are `Clone`
//! and `Hash`. Broken rules of the protocol are collected as text (`faults`), as are those that the state as a whole shows (`check`).
//!
//! | model | block | calls | sends |
//! | --- | --- | --- | --- |
//! | [`word::Atomic`] | `amo` | perform | old value |
//! | [`tables`] | `sfifo`, `lr_tbl`, `pa_tbl`, `wbt`, `aff_cache`, `lock_tbl` | | |
//! | [`l1::L1`] | `srsp_l1` | CU requests, answers, probes, PACKs, own slots | requests, write-backs, casts, PACKs, answers to the CU |
//! | [`l2::L2`] | `srsp_l2` | VN0, VN1, answers of memory | answers to L1s, requests to memory |
//! | [`hub::Hub`] | `sel_hub` | casts, cycles | copies |
//! | [`hlrc::l1::L1`], [`l2::L2`] | `hlrc_l1`, `hlrc_l2` | the same | the same |
//! | [`denovo_b::l1::L1`], [`l2::L2`] | `denovo_b_l1`, `denovo_b_l2` | the same | the same |
//! | [`system::System`] | L1s, hub, banks, memory | programs of waves | events for the checker |

pub mod core;
pub mod denovo_b;
pub mod hlrc;
pub mod hub;
pub mod l1;
pub mod l2;
pub mod lines;
pub mod msg;
pub mod slip;
pub mod system;
pub mod tables;
pub mod word;
