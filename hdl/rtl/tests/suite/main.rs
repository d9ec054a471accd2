//! The language: errors, pictures, SRAM estimates, the tutorial, Verilog.

mod errors;
mod picture;
mod sram;
mod transitions;
mod tutorial;
mod values;
mod verilog;
