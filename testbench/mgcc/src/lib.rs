//! Golden models, checkers and benches of the MGPU-TSM family (mgcc.md).

pub mod bench;
pub mod checker;
pub mod explore;
pub mod golden;
