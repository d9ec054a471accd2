//! DeNovo-B (denovo-b.md): every line that is written is registered; releases wait for registrations, acquires drop what is not owned.
//!
//! Lines that may simply be dropped are preferred as victims, then owned ones; where there is neither, a dirty one is registered.

pub mod l1;
pub mod l2;
