//! `flex-l1` with `tu-flex`: several devices, some of other kinds, around a bank of the LLC, over a network that keeps no order. The world is that of `denovo-l1`'s bench.

mod directed;
mod random;
mod storage;
#[allow(dead_code, reason = "the bench of denovo-l1 uses the rest")]
use crate::denovo_l1::world;
