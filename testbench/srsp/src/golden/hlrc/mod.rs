//! hLRC (srsp.md section 9): no scopes; every atomic needs its line registered to its L1.
//!
//! `OWNED_AWARE` is 1 in the models: a line that is not registered is preferred as a victim.

pub mod l1;
pub mod l2;
pub mod owner;
