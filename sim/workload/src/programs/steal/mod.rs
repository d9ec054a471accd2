//! Pannotia's graph programs with work queues, one for each work-group, and lock-free stealing (srsp.md section 11).

pub mod clr;
pub mod lock;
pub mod mis;
pub mod prk;
mod queue;
pub mod sssp;
mod sync;
pub mod work;
