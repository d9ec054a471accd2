//! One file per verb.

pub mod ledger;
pub mod list;
