//! The language: bundles, errors, pictures, SRAM estimates, the tutorial, Verilog, words.

mod bundles;
mod errors;
mod mutants;
mod next;
mod picture;
mod sram;
mod transitions;
mod transitions_included;
mod transitions_seen;
mod tutorial;
mod values;
mod verilog;
mod words;
