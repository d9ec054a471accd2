//! One file per verb.

pub mod ledger;
pub mod list;
pub mod sim;
