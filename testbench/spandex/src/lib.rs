//! Golden models, checkers and benches of the Spandex blocks (spandex.md).

pub mod devices;
pub mod explore;
pub mod golden;
pub mod memory;

pub use weft_bench as bench;
