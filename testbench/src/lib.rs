//! Golden models, scoreboards, random stimulus, litmus tests and co-simulation of the Weft blocks.

pub mod campaign;
pub mod cosim;
pub mod cpu;
pub mod fault;
pub mod golden;
pub mod host;
pub mod idle;
pub mod ledger;
pub mod route;
pub mod synth;
pub mod tools;
