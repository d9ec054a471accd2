//! Golden models, checkers and benches of the MGPU-TSM family (mgcc.md).

pub mod checker;
pub mod explore;
pub mod golden;

pub use weft_bench as bench;
