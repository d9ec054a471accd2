//! Timing of one DRAM channel, apart from any simulation.

use crate::memory::Lines;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramTiming {
    /// Bytes of a line, 64 or 128.
    pub line: u32,
    /// Bytes per cycle on the channel's data bus, at least 1.
    pub bandwidth: u32,
    /// Cycles from the acceptance of a read until its answer stands on the port, on an idle channel whose bus takes a line per cycle; at
    /// least 1. A narrower bus adds the cycles beyond the first that the line's transfer takes.
    pub latency: u32,
    /// Banks of the channel, at least 1. Neighbouring blocks of `interleave` bytes of the channel lie in neighbouring banks.
    pub banks: u32,
    /// Cycles for which an access occupies its bank, at least 1.
    pub bank_busy: u32,
    /// Requests that wait for their bank and the bus, at least 1; then the channel takes no more.
    pub queue: u32,
    /// Bytes of neighbouring addresses that lie in one bank: `il`.
    pub interleave: u64,
    /// Channels that share the address space in blocks of `interleave` bytes.
    pub channels: u32,
}

impl DramTiming {
    /// Bank of a physical address within its channel.
    pub fn bank_of(&self, addr: u64) -> u32 {
        (addr / self.interleave / u64::from(self.channels) % u64::from(self.banks)) as u32
    }
}

/// What a channel is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Read the line at a physical byte address; the answer carries `id`.
    Read {
        /// Physical byte address.
        addr: u64,
        /// Transaction number.
        id: u64,
    },
    /// Write the line at a physical byte address.
    Write {
        /// Physical byte address.
        addr: u64,
        /// The line in limbs.
        data: Vec<u64>,
    },
}

/// Answer to a read, or to a write that gets one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Transaction number of the request.
    pub id: u64,
    /// The line in limbs, and what else the answer carries.
    pub data: Vec<u64>,
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramCounters {
    /// Lines read.
    pub reads: u64,
    /// Lines written.
    pub writes: u64,
    /// Cycles from acceptance to the earliest possible answer, summed over all requests that get one.
    pub read_cycles: u64,
    /// Cycles that requests waited for their bank or the bus, summed over all requests.
    pub wait_cycles: u64,
}

impl DramCounters {
    /// Adds another channel's counters.
    pub fn add(&mut self, other: &DramCounters) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_cycles += other.read_cycles;
        self.wait_cycles += other.wait_cycles;
    }

    /// Name, unit, sentence and value of each counter.
    pub fn list(&self) -> [(&'static str, &'static str, &'static str, u64); 4] {
        [
            ("dram_reads", "lines", "lines read from DRAM", self.reads),
            ("dram_writes", "lines", "lines written to DRAM", self.writes),
            (
                "dram_read_cycles",
                "cycles",
                "time from a read's acceptance to its answer, summed",
                self.read_cycles,
            ),
            (
                "dram_wait_cycles",
                "cycles",
                "time that requests waited for their bank or the data bus, summed",
                self.wait_cycles,
            ),
        ]
    }
}

/// A request that waits for its bank and the bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    since: u64,
    bank: u32,
    reply: Option<Reply>,
}

/// One channel: a queue in front of banks, a data bus of limited bandwidth, answers in the order of completion.
///
/// Data moves when a request is accepted, so a read sees exactly the writes accepted before it; only the answer takes time. Each cycle the
/// oldest request whose bank is free starts, as soon as the bus has begun that cycle with room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    timing: DramTiming,
    queue: VecDeque<Waiting>,
    /// First cycle in which each bank takes an access.
    bank_free: Vec<u64>,
    /// Bytes that the bus could have carried from cycle 0 to the end of the last transfer.
    bus_free: u64,
    /// Answers by the first cycle in which they may stand on the port, then by start.
    replies: BTreeMap<(u64, u64), Reply>,
    started: u64,
    /// Counters.
    pub counters: DramCounters,
}

impl Channel {
    /// An idle channel.
    pub fn new(timing: DramTiming) -> Channel {
        Channel {
            timing,
            queue: VecDeque::new(),
            bank_free: vec![0; timing.banks as usize],
            bus_free: 0,
            replies: BTreeMap::new(),
            started: 0,
            counters: DramCounters::default(),
        }
    }

    /// Its parameters.
    pub fn timing(&self) -> &DramTiming {
        &self.timing
    }

    /// Starts what can start up to and in cycle `now`.
    pub fn advance(&mut self, now: u64) {
        while let Some((cycle, index)) = self.first_start().filter(|(cycle, _)| *cycle <= now) {
            let waiting = self.queue.remove(index).expect("chosen from the queue");
            let (line, bus) = (u64::from(self.timing.line), u64::from(self.timing.bandwidth));
            self.bank_free[waiting.bank as usize] = cycle + u64::from(self.timing.bank_busy);
            self.bus_free = self.bus_free.max(cycle * bus) + line;
            self.counters.wait_cycles += cycle - waiting.since;
            if let Some(reply) = waiting.reply {
                let last = (self.bus_free - 1) / bus;
                let due = last + u64::from(self.timing.latency);
                self.counters.read_cycles += due - waiting.since;
                self.replies.insert((due, self.started), reply);
                self.started += 1;
            }
        }
    }

    /// First cycle in which a waiting request starts, and its place in the queue.
    fn first_start(&self) -> Option<(u64, usize)> {
        let bus = self.bus_free / u64::from(self.timing.bandwidth);
        let cycle_of = |w: &Waiting| w.since.max(bus).max(self.bank_free[w.bank as usize]);
        // Of equal cycles the first in the queue, which is the oldest.
        self.queue.iter().enumerate().map(|(i, w)| (cycle_of(w), i)).min()
    }

    /// A request that comes now is taken. Call [`Channel::advance`] before.
    pub fn has_room(&self) -> bool {
        self.queue.len() < self.timing.queue as usize
    }

    /// Takes a request in cycle `now`. Call it only when there is room.
    pub fn accept(&mut self, now: u64, request: Request, memory: &mut impl Lines) {
        let (addr, reply) = match request {
            Request::Read { addr, id } => {
                let mut data = vec![0; self.timing.line as usize / 8];
                memory.read_limbs(addr, &mut data);
                (addr, Some(Reply { id, data }))
            }
            Request::Write { addr, data } => {
                memory.write_limbs(addr, &data);
                (addr, None)
            }
        };
        self.admit(now, addr, reply.is_none(), reply);
    }

    /// Takes a transaction on the line at a physical byte address in cycle `now` whose data has moved already. Call it only when there is room.
    pub fn admit(&mut self, now: u64, addr: u64, write: bool, reply: Option<Reply>) {
        let count = if write { &mut self.counters.writes } else { &mut self.counters.reads };
        *count += 1;
        self.queue.push_back(Waiting { since: now, bank: self.timing.bank_of(addr), reply });
        self.advance(now);
    }

    /// Removes and returns the answer that may stand on the port in cycle `now`, if any.
    pub fn take_reply(&mut self, now: u64) -> Option<Reply> {
        let first = self.replies.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// First cycle in which a waiting request leaves the queue.
    pub fn next_start(&self) -> Option<u64> {
        self.first_start().map(|(cycle, _)| cycle)
    }

    /// First cycle in which a request leaves the queue or an answer may stand on the port.
    pub fn next_event(&self) -> Option<u64> {
        let reply = self.replies.first_key_value().map(|((due, _), _)| *due);
        self.next_start().into_iter().chain(reply).min()
    }

    /// Nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.replies.is_empty()
    }
}
