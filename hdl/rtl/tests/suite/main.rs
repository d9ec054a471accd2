//! The language: errors, pictures, SRAM estimates, the tutorial, Verilog.

mod errors;
mod next;
mod picture;
mod sram;
mod transitions;
mod transitions_seen;
mod tutorial;
mod values;
mod verilog;
