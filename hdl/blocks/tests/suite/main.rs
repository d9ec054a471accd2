//! Blocks and fabrics of this crate over their parameters, and what pictures show.

mod fabric;
mod l1_cache;
mod l2_bank;
mod pictures;
