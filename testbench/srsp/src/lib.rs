//! Golden models, checkers and benches of sRSP, bRSP and hLRC (srsp.md), and of DeNovo-B (denovo-b.md).

pub mod arith;
pub mod checker;
pub mod golden;
pub mod memory;

pub use weft_bench as bench;
