//! Litmus tests on fabrics, and the faults that they catch.

mod common;
mod directory;
mod faults;
mod litmus;
mod machine;
mod planted;
mod remote;
