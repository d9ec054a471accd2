//! Caches: the write-through L1 and the L2 bank (rec.md sections 6 and 9).

pub mod l1;
pub mod l2;
pub mod owned;
