//! Any block behind a port of bytes, ready for an FPGA board, and the host's side of that port.
//!
//! ```text
//!   host: Link --- bytes --- | uart-rx --> host-port --- channels --- the block |
//!         (serial device)    | uart-tx <--           --- loose ports --         |
//! ```
//! [`Interface::of`] lists what a block's ports carry: its channels, and the ports that belong to none. Everything else follows from that list: the hardware ([`port`]) and
//! the host ([`link`]) read the same one.
//!
//! # Frames
//!
//! A frame is a number of one byte, then the message in as many whole bytes as it needs: the leaves in order of declaration, the first one in the lowest bits, the lowest
//! byte first, the bits left over zero. The number is the entry's place in the interface.
//!
//! | towards the block | then | does | answered by |
//! | --- | --- | --- | --- |
//! | number of a channel into the block | message | offers the message on the channel | `0x80` + number, once the message is handed over |
//! | number of an input without a channel | value | holds the input at the value (0 after reset) | `0x80` + number |
//! | number of an output without a channel | | reads it | the same number, value |
//! | `0xff` | | nothing | `0xff`, four bytes: the [signature](Interface::signature) of the interface |
//! | any other number | | nothing | `0xfe` |
//!
//! Whenever the block sends a message on a channel, a frame with the channel's number and the message leaves; frames of one channel keep their order, channels take turns.
//!
//! # Flow
//!
//! The bytes go through a queue of [`BUFFER`] bytes, and a UART cannot say "wait". So the host keeps at most [`BUFFER`] bytes of unanswered frames under way; a frame longer than that goes
//! alone, for then nothing holds it up. What comes back must always be read. [`Link`] does both.
//!
//! # Levels
//!
//! - [`hosted`]: the block and its port as one fabric with byte channels `rx` and `tx` (valid, ready, 8 bits), for any transport that can wait.
//! - [`with_uart`]: the same behind a UART (8 data bits, no parity, 1 stop bit).
//! - [`board::Board`]: the top module of a board and its constraints.

pub mod board;
mod error;
mod interface;
pub mod link;
mod message;
pub mod port;
pub mod uart_rx;
pub mod uart_tx;
mod wrap;

pub use error::{HostError, LinkError};
pub use interface::{Entry, Interface, Kind};
pub use link::{Link, Received, Wire};
pub use message::Message;
pub use port::BUFFER;
pub use wrap::{hosted, with_uart};
