//! `flex-l1` with `tu-flex`: several devices, some of other kinds, around a bank of the LLC, over a network that keeps no order. The world is that of `denovo-l1`'s bench.

mod directed;
mod random;
mod shape;
#[allow(dead_code, reason = "the bench of denovo-l1 uses the rest")]
#[path = "../denovo_l1/world.rs"]
mod world;
