//! The host's side: frames to send, frames that come back, and never more bytes under way than the port can hold.

use crate::error::LinkError;
use crate::interface::{Interface, Kind};
use crate::port::{ANSWER, BUFFER, HELLO, UNKNOWN};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use weft_rtl::bv::Bv;

/// A line of bytes to a port.
pub trait Wire {
    /// Sends bytes, and returns those that have come; it may wait for some time if there are none. Every byte that comes must be returned by some exchange.
    ///
    /// # Errors
    /// Those of the line.
    fn exchange(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>>;
}

/// A serial device that was set up before, so that reading gives up after a tenth of a second:
/// `stty -F /dev/ttyUSB0 raw -echo 115200 min 0 time 1`.
pub struct Serial(pub File);

impl Wire for Serial {
    fn exchange(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        self.0.write_all(bytes)?;
        let mut come = vec![0; 4096];
        let count = self.0.read(&mut come)?;
        come.truncate(count);
        Ok(come)
    }
}

/// A message that came from the block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Number of its entry.
    pub number: usize,
    /// The message, the first leaf lowest.
    pub message: Bv,
}

/// Exchanges without a byte after which an answer is given up.
const PATIENCE: u32 = 20;

/// A block at the other end of a line.
pub struct Link<W> {
    interface: Interface,
    wire: W,
    /// Bytes that are no whole frame yet.
    come: Vec<u8>,
    /// First byte of the answer that each unanswered frame will get, in order, with its length.
    unanswered: VecDeque<(u8, usize)>,
    received: VecDeque<Received>,
    /// Value of the output that was read last.
    read: Option<Received>,
}

impl<W: Wire> Link<W> {
    /// Asks which block is there.
    ///
    /// # Errors
    /// [`LinkError::OtherBlock`], or no answer.
    pub fn open(interface: Interface, wire: W) -> Result<Link<W>, LinkError> {
        let mut link = Link {
            interface,
            wire,
            come: Vec::new(),
            unanswered: VecDeque::new(),
            received: VecDeque::new(),
            read: None,
        };
        link.frame(HELLO, HELLO, None)?;
        link.settle("the question which block is there")?;
        Ok(link)
    }

    /// The interface of the block.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The line.
    pub fn wire(&self) -> &W {
        &self.wire
    }

    /// Sends a message on a channel into the block, from values by leaf; what is not named is 0. Waits only until the port has room for the frame.
    ///
    /// # Errors
    /// A wrong name or value, or no answer.
    pub fn send(&mut self, channel: &str, values: &[(&str, u64)]) -> Result<(), LinkError> {
        let number = self.interface.number(Kind::Into, channel)?;
        let message = self.interface.message(number, values)?;
        self.frame(number as u8, number as u8 | ANSWER, Some(&message))
    }

    /// Holds an input that belongs to no channel at a value.
    ///
    /// # Errors
    /// A wrong name or value, or no answer.
    pub fn set(&mut self, input: &str, value: u64) -> Result<(), LinkError> {
        let number = self.interface.number(Kind::Set, input)?;
        let message = self.interface.message(number, &[("", value)])?;
        self.frame(number as u8, number as u8 | ANSWER, Some(&message))
    }

    /// Reads an output that belongs to no channel, after everything sent before.
    ///
    /// # Errors
    /// A wrong name, or no answer.
    pub fn get(&mut self, output: &str) -> Result<Bv, LinkError> {
        let number = self.interface.number(Kind::Get, output)?;
        self.frame(number as u8, number as u8, None)?;
        self.settle(output)?;
        let silent = || LinkError::Silent { what: output.into(), waiting: "the value".into() };
        self.read.take().map(|read| read.message).ok_or_else(silent)
    }

    /// Waits until every frame sent is answered.
    ///
    /// # Errors
    /// No answer.
    pub fn settle(&mut self, what: &str) -> Result<(), LinkError> {
        self.until(what, |link| link.unanswered.is_empty())
    }

    /// The next message that the block has sent; `None` if there is none by the end of an exchange.
    ///
    /// # Errors
    /// A failed line, or bytes that are no frame.
    pub fn receive(&mut self) -> Result<Option<Received>, LinkError> {
        if self.received.is_empty() {
            self.exchange(&[])?;
        }
        Ok(self.received.pop_front())
    }

    /// Sends a frame as soon as the port has room for it.
    fn frame(&mut self, number: u8, answer: u8, message: Option<&Bv>) -> Result<(), LinkError> {
        let mut bytes = vec![number];
        if let Some(message) = message {
            let count = message.width().div_ceil(8) as usize;
            bytes.extend((0..count).map(|at| (message.limbs()[at / 8] >> (8 * (at % 8))) as u8));
        }
        let room = |link: &Link<W>| {
            let waiting: usize = link.unanswered.iter().map(|(_, length)| length).sum();
            waiting == 0 || waiting + bytes.len() <= BUFFER as usize
        };
        self.until("room for a frame", room)?;
        self.unanswered.push_back((answer, bytes.len()));
        self.exchange(&bytes).map(|_| ())
    }

    fn until(&mut self, what: &str, reached: impl Fn(&Link<W>) -> bool) -> Result<(), LinkError> {
        let mut silent = 0;
        while !reached(self) {
            silent = if self.exchange(&[])? == 0 { silent + 1 } else { 0 };
            if silent == PATIENCE {
                let waiting = format!("{} frames", self.unanswered.len());
                return Err(LinkError::Silent { what: what.into(), waiting });
            }
        }
        Ok(())
    }

    /// One exchange; the number of bytes that came.
    fn exchange(&mut self, bytes: &[u8]) -> Result<usize, LinkError> {
        let come = self.wire.exchange(bytes)?;
        self.come.extend(&come);
        let mut at = 0;
        while let Some(length) = self.decode(at)? {
            at += length;
        }
        self.come.drain(..at);
        Ok(come.len())
    }

    /// Takes the frame that begins at a place, and its length; `None` if it is not there to its end.
    fn decode(&mut self, at: usize) -> Result<Option<usize>, LinkError> {
        let Some(head) = self.come.get(at).copied() else { return Ok(None) };
        let no_frame = || LinkError::NoFrame { module: self.interface.module.clone(), byte: head };
        let entry = self.interface.entries.get(usize::from(head));
        let (width, is_answer) = match (head, entry.map(|e| e.kind)) {
            (UNKNOWN, _) => return Err(LinkError::Refused),
            (HELLO, _) => (32, true),
            (head, None) if head & ANSWER != 0 => (0, true),
            (_, Some(Kind::OutOf)) => (entry.map_or(0, |e| e.width()), false),
            (_, Some(Kind::Get)) => (entry.map_or(0, |e| e.width()), true),
            _ => return Err(no_frame()),
        };
        let length = 1 + width.div_ceil(8) as usize;
        let Some(body) = self.come.get(at + 1..at + length) else { return Ok(None) };
        let mut limbs = vec![0; body.len().div_ceil(8).max(1)];
        body.iter().enumerate().for_each(|(at, byte)| limbs[at / 8] |= u64::from(*byte) << (8 * (at % 8)));
        let frame = Received { number: usize::from(head), message: Bv::from_limbs(&limbs, width) };
        if !is_answer {
            self.received.push_back(frame);
            return Ok(Some(length));
        }
        if self.unanswered.front().map(|(answer, _)| *answer) != Some(head) {
            return Err(no_frame());
        }
        self.unanswered.pop_front();
        if head == HELLO {
            let (expected, found) = (self.interface.signature(), frame.message.low_u64() as u32);
            let module = self.interface.module.clone();
            return if expected == found {
                Ok(Some(length))
            } else {
                Err(LinkError::OtherBlock { module, expected, found })
            };
        }
        self.read = Some(frame).filter(|_| head & ANSWER == 0);
        Ok(Some(length))
    }
}
