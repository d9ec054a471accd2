//! `hlrc-l1` between a CU and L2 banks that register lines, with other L1s that want them too.

mod directed;
pub mod l2;
mod others;
mod random;
mod storage;
pub mod world;
