//! `srsp-l1` between a CU, L2 banks, a hub and other L1s.

mod directed;
mod memory;
mod races;
mod random;
mod storage;
mod world;
