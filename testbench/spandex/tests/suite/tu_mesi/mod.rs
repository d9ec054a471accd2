//! `mesi-l1` on `tu-mesi`, between a core and a world of banks and other devices.

mod device;
mod directed;
mod hand;
mod llc;
mod random;
mod storage;
mod world;
