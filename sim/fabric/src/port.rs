//! Finding a fabric's ports by name.

use thiserror::Error;
use weft_engine::{InPort, OutPort, Sim};

/// A behavioural model does not find its port.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the design has no {kind} {name}, which a behavioural model drives or reads; its ports do not fit the fabric's configuration"
)]
pub struct PortError {
    kind: &'static str,
    name: String,
}

/// The top-level input of this name.
///
/// # Errors
/// When the design has none.
pub fn input(sim: &Sim, name: &str) -> Result<InPort, PortError> {
    sim.input(name).ok_or_else(|| PortError { kind: "input", name: name.to_string() })
}

/// The top-level output of this name.
///
/// # Errors
/// When the design has none.
pub fn output(sim: &Sim, name: &str) -> Result<OutPort, PortError> {
    sim.output(name).ok_or_else(|| PortError { kind: "output", name: name.to_string() })
}
