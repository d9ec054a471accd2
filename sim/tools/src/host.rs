//! Lines to a block behind its host port ([`weft_host`]) without a board: on the engine, and on the Verilog of a board's top module under Verilator. The host's code on them is that which drives a
//! board.

mod bare;
mod board;
mod engine;

pub use bare::{Bare, messages};
pub use board::BoardWire;
pub use engine::EngineWire;
