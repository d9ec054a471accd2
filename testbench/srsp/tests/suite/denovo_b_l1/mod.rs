//! `denovo-b-l1` between a CU and L2 banks that know the owners of lines, with other L1s that want them too.

mod directed;
mod random;
mod world;
