//! `mesi-l1` between a core and a unit that is played by hand; its races with a directory are those of `tu_mesi`, where it sits on that unit.

mod directed;
mod hand;
mod storage;
