//! Why a block has no host port, and why a host gets no answer.

use std::io;
use thiserror::Error;
use weft_rtl::error::ElabErrors;

/// Why a block cannot be given a host port.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum HostError {
    #[error(
        "block {module} has {found} channels and loose ports, and a host port numbers at most {most}; split the block"
    )]
    TooMany { module: String, found: usize, most: usize },
    #[error("block {module} has a port {port}, a name that its host port needs; rename it")]
    Taken { module: String, port: String },
    #[error("{value} clocks per bit of a UART; legal: {legal}; choose another baud rate")]
    Baud { value: u64, legal: &'static str },
    #[error("the host port of {module} does not elaborate:\n{errors}")]
    Elab { module: String, errors: ElabErrors },
}

/// Why an exchange with a block failed.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum LinkError {
    #[error("the line to the block failed: {0}")]
    Io(#[from] io::Error),
    #[error(
        "nothing came back for {waiting} of {what}; check that the board is configured, and device and baud rate"
    )]
    Silent { what: String, waiting: String },
    #[error(
        "the board holds another block than {module}: interface {found:08x}, not {expected:08x}; load the bitstream made with the same parameters"
    )]
    OtherBlock { module: String, expected: u32, found: u32 },
    #[error("a byte {byte:#04x} came where a frame begins, which no frame of {module} does; reset the board")]
    NoFrame { module: String, byte: u8 },
    #[error("the board does not know a frame that was sent; reset the board")]
    Refused,
    #[error("{module} has no {kind} {name}; it has {known}")]
    NoEntry { module: String, kind: &'static str, name: String, known: String },
    #[error("{entry} of {module} has no field {field}; it has {known}")]
    NoField { module: String, entry: String, field: String, known: String },
    #[error("{field} of {entry} has {width} bits; {value:#x} does not fit")]
    TooLarge { entry: String, field: String, width: u32, value: u64 },
}
