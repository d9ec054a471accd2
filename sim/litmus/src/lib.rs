//! Litmus tests (cu-and-consistency.md sections 5 and 6): what a program of few instructions may do under a memory model, by enumeration.
//!
//! ```text
//! file --[read]--> Test --[paths]--> paths of each thread --[execution]--> candidate executions --[model]--> ends that are possible
//!                                                                                              --[race]---> races, by kind
//! ```
//! - [`mod@test`]: a test, whatever it was written in. [`read`]: readers of the formats.
//! - [`paths`], [`values`], [`barrier`] and [`execution`]: enumeration. [`relation`]: relations over events.
//! - [`program`]: many runs of a test as a program for the fabrics.
//! - [`model`]: models as predicates on executions: those that the formats come from, and Weft's own.

pub mod barrier;
pub mod execution;
pub mod library;
pub mod model;
pub mod paths;
pub mod program;
pub mod race;
pub mod read;
pub mod relation;
pub mod test;
pub mod values;
mod words;
