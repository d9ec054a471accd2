//! The engine: compiles a module, clocks it, traces it, snapshots it.

pub mod wave;
