//! `gpu-l1` with `tu-gpu`, between a CU, LLC banks and other devices.

mod directed;
mod llc;
mod random;
mod scopes;
mod storage;
mod world;
