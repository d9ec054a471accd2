//! Every RTL block of Weft: one folder per system, one file per block.

pub mod cache;
pub mod common;
pub mod directory;
pub mod fabric;
pub mod msg;
pub mod registry;
