//! `denovo-l1` with `tu-denovo`: several devices, some with GPU coherence, around a bank of the LLC, over a network that keeps no order.

mod directed;
mod random;
mod shape;
mod world;
