//! The models at the ports of a fabric that are not those of compute units and fence units: memories above all.

use crate::cu::LineAccess;
use crate::lanes::ByPart;
use crate::memory::SharedMemory;
use crate::run::counter::Counter;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use weft_engine::Sim;
use weft_engine::runner::Problem;

/// A compute unit: node and number.
pub type Unit = (u32, u32);

/// What a memory channel is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemOp {
    /// Give a line.
    Read,
    /// Replace bytes of a line.
    Write,
    /// Update a word of a line.
    Atomic,
}

impl MemOp {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            MemOp::Read => "read",
            MemOp::Write => "write",
            MemOp::Atomic => "atomic",
        }
    }

    /// What the fabric does by it.
    pub fn verb(self) -> &'static str {
        match self {
            MemOp::Read => "reads",
            MemOp::Write => "writes",
            MemOp::Atomic => "updates",
        }
    }
}

/// A transfer at the port of a memory channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transfer {
    /// A request is taken.
    Request {
        /// Number of the channel.
        channel: usize,
        /// What is asked.
        op: MemOp,
        /// It gets an answer.
        answered: bool,
        /// Line number.
        line: u64,
        /// Transaction number.
        id: u64,
    },
    /// An answer is taken by the fabric.
    Answer {
        /// Number of the channel.
        channel: usize,
        /// Transaction number of the request.
        id: u64,
    },
}

impl Transfer {
    /// Number of the channel.
    pub fn channel(&self) -> usize {
        match *self {
            Transfer::Request { channel, .. } | Transfer::Answer { channel, .. } => channel,
        }
    }
}

/// The memory channels of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    /// What is behind each in sentences, such as `gpu 0 bank 3`.
    pub names: Vec<String>,
    /// Transaction numbers of each.
    pub ids: u32,
}

/// Bytes of a line that a cache holds and memory does not.
#[derive(Clone, Debug)]
pub struct Newer<'a> {
    /// Line number.
    pub line: u64,
    /// The bytes, one bit each.
    pub mask: u128,
    /// The line in limbs.
    pub data: Cow<'a, [u64]>,
}

/// Behavioural models around a fabric. They are cloned and saved with the run.
pub trait Surroundings: Any + Send {
    /// Acts in the present cycle, after the compute units; returns the next cycle in which they must act even if every unit sleeps.
    ///
    /// # Errors
    /// What the fabric did wrong at their ports.
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem>;

    /// Nothing of it needs more than one part of the simulation: [`Surroundings::by_part`].
    fn are_apart(&self) -> bool {
        false
    }

    /// The memory channels by part of the simulation, to act side by side in place of [`Surroundings::tick`],
    /// if they [`Surroundings::are_apart`].
    fn by_part(&mut self) -> ByPart<'_> {
        ByPart { lanes: Vec::new(), memory: SharedMemory::default(), channel_of: Box::new(|_| 0) }
    }

    /// Nothing waits and nothing is on its way.
    fn is_idle(&self) -> bool;

    /// The memory channels.
    fn channels(&self) -> Channels;

    /// Number of the channel that a line belongs to.
    fn channel_of(&self, line: u64) -> usize;

    /// Transfers at the memory channels in the present cycle.
    fn transfers(&self) -> &[Transfer];

    /// Bytes of the program from a physical address on, as memory holds them.
    fn read(&self, addr: u64, bytes: &mut [u8]);

    /// Replaces bytes of memory at once: pages that get their first contents late.
    fn write(&mut self, addr: u64, bytes: &[u8]);

    /// What caches hold newer than [`Surroundings::read`] gives, while no compute unit has anything under way. Of one line several may hold some; of a byte that several hold the last counts.
    fn newer<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>>;

    /// They hear of every access: [`Surroundings::taken`], [`Surroundings::answered`]. A cycle's compute units then stay on one thread.
    fn hears(&self) -> bool {
        false
    }

    /// An L1 has taken an access.
    fn taken(&mut self, unit: Unit, access: &LineAccess) {
        let _ = (unit, access);
    }

    /// An access is answered with `data`, which they may replace before the compute unit gets it.
    fn answered(&mut self, unit: Unit, access: &LineAccess, data: &mut [u64; 16]) {
        let _ = (unit, access, data);
    }

    /// Their counters, as `block.counter`.
    fn counters(&self) -> BTreeMap<String, Counter>;

    /// The whole state as bytes; equal states give equal bytes.
    fn save(&self) -> Vec<u8>;

    /// Goes on from what [`Surroundings::save`] gave for the same fabric; false when the bytes are damaged or of another one.
    #[must_use]
    fn resume(&mut self, bytes: &[u8]) -> bool;

    /// A copy.
    fn boxed(&self) -> Box<dyn Surroundings>;
}

impl Clone for Box<dyn Surroundings> {
    fn clone(&self) -> Box<dyn Surroundings> {
        (**self).boxed()
    }
}
