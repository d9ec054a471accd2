//! `denovo-l1` with `tu-denovo`: several devices, some with GPU coherence, around a bank of the LLC, over a network that keeps no order.

mod directed;
mod hand;
mod joins;
mod polls;
mod random;
mod reads;
mod storage;
#[allow(dead_code, reason = "the bench of flex-l1 uses the rest")]
pub(crate) mod world;
