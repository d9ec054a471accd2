//! Links, and what they join.

use crate::form::Form;

/// When a block may be clocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// A block that moves is clocked until it rests.
    Bursts,
    /// Every block at every moment.
    Free,
}

/// In which order a link delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// First in, first out.
    Fifo,
    /// Any.
    Any,
    /// Nothing happens between leaving and coming: a wire from one channel to another. The sender is held back while the receiver is not ready.
    Wire,
}

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// For texts.
    pub name: String,
    /// Order of delivery.
    pub order: Order,
    /// Messages it holds.
    pub capacity: usize,
}

/// What a message that leaves a block goes into.
pub enum Drain {
    /// One of these links, chosen by the message; without any it is taken and forgotten.
    Links(Vec<usize>, fn(&Form, &[u64]) -> usize),
    /// The world, by this port number.
    World(usize),
}

/// What feeds a receiving channel.
#[derive(Clone, Copy, Debug)]
pub enum Feed {
    /// A link.
    Link(usize),
    /// A link of which others get the rest: only messages of which this holds.
    Part(usize, fn(&Form, &[u64]) -> bool),
    /// The world, by this port number.
    World(usize),
}
