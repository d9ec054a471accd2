//! Blocks inside rust-hdl designs.

mod errors;
mod queued_directory;
mod simulate;
mod support;
