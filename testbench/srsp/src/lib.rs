//! Golden models, checkers and benches of sRSP, bRSP and hLRC (srsp.md).

pub mod checker;
pub mod golden;
