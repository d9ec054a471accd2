//! Golden models and scoreboards of the Weft blocks, and the entries of the race ledger.

pub mod fault;
pub mod golden;
pub mod ledger;
