//! `hlrc-l1` between a CU and L2 banks that register lines, with other L1s that want them too.

mod directed;
mod l2;
mod random;
mod storage;
mod world;
