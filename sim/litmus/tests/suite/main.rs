//! Litmus tests: readers, enumeration, models, programs.

mod legal;
mod own;
mod program;
mod public;
mod readers;
mod same;
mod verdicts;
