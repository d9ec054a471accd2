//! What others say of the hardware: co-simulation of its Verilog with Verilator and Icarus, linters, synthesis with Yosys, proofs, place and route, boards
//! behind a host port, and the CPU time of peers.

pub mod campaign;
pub mod circuits;
pub mod cosim;
pub mod cpu;
pub mod external;
pub mod formal;
pub mod host;
pub mod idle;
pub mod route;
pub mod synth;
