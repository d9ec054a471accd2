//! The language: errors, pictures, SRAM estimates, the tutorial, Verilog.

mod errors;
mod next;
mod picture;
mod sram;
mod transitions;
mod tutorial;
mod values;
mod verilog;
