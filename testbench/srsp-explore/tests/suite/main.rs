//! The tests of this crate, one program.

mod explore;
