//! `srsp-l1` between a CU, L2 banks, a hub and other L1s.

mod addresses;
mod alone;
mod atomics;
mod directed;
mod memory;
mod order;
mod programs;
mod races;
mod random;
mod stalls;
mod storage;
mod world;
