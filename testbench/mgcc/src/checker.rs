//! Is a run coherent in logical time (mgcc.md section 3, "Golden checker")?
//!
//! [`LogicalTime`] takes a log: every load with the time T at which it bound and the bytes it got, every store and atomic with its stamp, fences, clocks. Times come from
//! the `cu_time` of an L1's answers, or from [`crate::golden::system::System`]. At the end of the run, when every write is known, [`LogicalTime::check`] looks for:
//! - a byte that is not from the write with the greatest time <= T, among all writes, also those performed later;
//! - two writes of a line at one instant (single writer; readers at that instant see its value by the first rule);
//! - a T that goes back along a wave (SC), across its fences (RC), or below the time that a barrier has brought;
//! - a wave that sees an older version of a line after a newer one (T itself may go back inside a version: a load that is sent again binds at the clock of then);
//! - a clock of a cache that goes back;
//! - operations of one instant that no total order can hold: (T, physical time) must respect program order (RC: across fences and per line) and show each load the latest
//!   write.

use crate::golden::msg::{Atomic, Data};
use crate::golden::time::Time;
use std::collections::BTreeMap;

mod order;

/// Consistency that a run promises.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Promise {
    /// Sequential consistency.
    Sc,
    /// Release consistency: order across fences only.
    Rc,
}

/// What an operation did.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Got these bytes.
    Load(Data),
    /// Wrote these bytes.
    Store(Data),
    /// Performed this on the old value.
    Atomic(Atomic, u64),
}

/// An operation on a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// The wave, a number unique in the system.
    pub wave: u32,
    /// Place of the instruction in the wave's program; accesses of one instruction share it and are not ordered.
    pub seq: u32,
    /// Line number.
    pub line: u64,
    /// Bytes accessed (of an atomic, ignored: its own).
    pub mask: u64,
    /// When it bound.
    pub time: Time,
    /// What it did.
    pub kind: Kind,
}

/// What is wrong with a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Fault {
    /// A load did not get the latest value of its time.
    #[error(
        "wave {wave}, operation {seq}: byte {byte} of line {line:#x} at {time} is {found:#04x}; the write with the greatest time up to then ({writer}) left {expected:#04x}"
    )]
    #[allow(missing_docs)]
    Stale { wave: u32, seq: u32, line: u64, byte: u32, time: Time, found: u8, expected: u8, writer: String },
    /// Two writers at one instant.
    #[error("line {line:#x} is written twice at {time}, by wave {first} and by wave {second}")]
    #[allow(missing_docs)]
    SameInstant { line: u64, time: Time, first: u32, second: u32 },
    /// Time went back along a wave.
    #[error("wave {wave}, operation {seq} binds at {time}, but must not bind before {floor}: {why}")]
    #[allow(missing_docs)]
    TimeBack { wave: u32, seq: u32, time: Time, floor: Time, why: &'static str },
    /// A cache's clock went back.
    #[error("the clock of {cache} goes back from {before} to {after}")]
    #[allow(missing_docs)]
    ClockBack { cache: String, before: Time, after: Time },
    /// A version of a line after a newer one.
    #[error(
        "wave {wave}, operation {seq} sees line {line:#x} as of {version}, after it has seen it as of {seen}"
    )]
    #[allow(missing_docs)]
    OldVersion { wave: u32, seq: u32, line: u64, version: Time, seen: Time },
    /// No total order of the operations of one instant.
    #[error("the operations at {time} have no order: wave {wave}, operation {seq} would come before itself")]
    #[allow(missing_docs)]
    NoOrder { time: Time, wave: u32, seq: u32 },
}

/// The log of a run. Entries may come in any order.
#[derive(Clone, Debug)]
pub struct LogicalTime {
    promise: Promise,
    accesses: Vec<Access>,
    /// Fences per wave.
    fences: BTreeMap<u32, Vec<u32>>,
    /// {seq, time} per wave: later operations bind no earlier.
    floors: BTreeMap<u32, Vec<(u32, Time)>>,
    clocks: BTreeMap<String, Time>,
    faults: Vec<Fault>,
}

impl LogicalTime {
    /// An empty log.
    pub fn new(promise: Promise) -> LogicalTime {
        LogicalTime {
            promise,
            accesses: Vec::new(),
            fences: BTreeMap::new(),
            floors: BTreeMap::new(),
            clocks: BTreeMap::new(),
            faults: Vec::new(),
        }
    }
    /// Logs a load, store or atomic.
    pub fn access(&mut self, access: Access) {
        self.accesses.push(access);
    }
    /// Logs a load of the bytes of `mask`.
    pub fn load(&mut self, (wave, seq): (u32, u32), line: u64, mask: u64, time: Time, data: Data) {
        self.access(Access { wave, seq, line, mask, time, kind: Kind::Load(data) });
    }
    /// Logs a store of the bytes of `mask` with its stamp.
    pub fn store(&mut self, (wave, seq): (u32, u32), line: u64, mask: u64, time: Time, data: Data) {
        self.access(Access { wave, seq, line, mask, time, kind: Kind::Store(data) });
    }
    /// Logs an atomic with its stamp and the old value it returned.
    pub fn atomic(&mut self, (wave, seq): (u32, u32), line: u64, time: Time, atomic: Atomic, old: u64) {
        self.access(Access { wave, seq, line, mask: atomic.mask(), time, kind: Kind::Atomic(atomic, old) });
    }
    /// Logs a fence at a place of a wave's program.
    pub fn fence(&mut self, wave: u32, seq: u32) {
        self.fences.entry(wave).or_default().push(seq);
    }
    /// Logs that synchronisation outside memory (kernel start, barrier) has brought this time: what the wave does after `seq` binds no earlier.
    pub fn floor(&mut self, wave: u32, seq: u32, time: Time) {
        self.floors.entry(wave).or_default().push((seq, time));
    }
    /// Logs a cache's clock, in physical order.
    pub fn clock(&mut self, cache: &str, time: Time) {
        match self.clocks.get_mut(cache) {
            Some(before) if *before > time => {
                let fault = Fault::ClockBack { cache: cache.to_string(), before: *before, after: time };
                self.faults.push(fault);
            }
            Some(before) => *before = time,
            None => {
                self.clocks.insert(cache.to_string(), time);
            }
        }
    }
    /// Operations logged.
    pub fn len(&self) -> usize {
        self.accesses.len()
    }
    /// Nothing was logged.
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }
    /// Everything that is wrong, values first. `initial` is what memory held before the run.
    pub fn check(&self, initial: impl Fn(u64) -> Data) -> Vec<Fault> {
        let mut faults = self.faults.clone();
        let mut lines: BTreeMap<u64, Vec<&Access>> = BTreeMap::new();
        for access in &self.accesses {
            lines.entry(access.line).or_default().push(access);
        }
        let mut versions = Versions::new();
        for (line, mut accesses) in lines {
            let writes = accesses.iter().filter(|access| !matches!(access.kind, Kind::Load(_)));
            let mut times: Vec<Time> = writes.map(|access| access.time).collect();
            times.sort_unstable();
            versions.insert(line, times);
            accesses.sort_by_key(|access| access.time);
            let mut memory = History { data: initial(line), writers: [None; 64] };
            accesses
                .chunk_by(|a, b| a.time == b.time)
                .for_each(|instant| memory.instant(instant, &mut faults));
        }
        self.check_waves(&versions, &mut faults);
        faults.extend(self.disorder());
        faults
    }

    /// T along each wave.
    fn check_waves(&self, versions: &Versions, faults: &mut Vec<Fault>) {
        let mut waves: BTreeMap<u32, Vec<&Access>> = BTreeMap::new();
        for access in &self.accesses {
            waves.entry(access.wave).or_default().push(access);
        }
        for (wave, mut accesses) in waves {
            accesses.sort_by_key(|access| access.seq);
            let mut fences = self.fences.get(&wave).cloned().unwrap_or_default();
            fences.sort_unstable();
            let mut along = Along::default();
            let mut passed = 0;
            for instruction in accesses.chunk_by(|a, b| a.seq == b.seq) {
                let seq = instruction[0].seq;
                let before = fences.partition_point(|fence| *fence < seq);
                if self.promise == Promise::Sc || before > passed {
                    along.floor = along.greatest;
                }
                passed = before;
                for (_, time) in self.floors.get(&wave).into_iter().flatten().filter(|(at, _)| *at < seq) {
                    along.barrier = along.barrier.max(*time);
                }
                instruction.iter().for_each(|access| along.check(access, versions, faults));
                instruction.iter().for_each(|access| along.pass(access, versions));
            }
        }
    }
}

/// Times of the writes of each line, ascending.
type Versions = BTreeMap<u64, Vec<Time>>;

/// Time of the write that an access sees, or is; 0.0 if there is none.
fn version(access: &Access, versions: &Versions) -> Time {
    let times = versions.get(&access.line).map_or(&[][..], Vec::as_slice);
    let up_to = times.partition_point(|time| *time <= access.time);
    times[..up_to].last().copied().unwrap_or_default()
}

/// Where a wave has got to.
#[derive(Default)]
struct Along {
    floor: Time,
    barrier: Time,
    greatest: Time,
    /// Newest version seen of each line.
    seen: BTreeMap<u64, Time>,
}

impl Along {
    fn check(&self, access: &Access, versions: &Versions, faults: &mut Vec<Fault>) {
        let Access { wave, seq, line, time, .. } = *access;
        let rules = [
            (self.floor, "earlier operations, ordered before it, bound there"),
            (self.barrier, "a barrier has brought that time"),
        ];
        for (floor, why) in rules.into_iter().filter(|(floor, _)| time < *floor) {
            faults.push(Fault::TimeBack { wave, seq, time, floor, why });
        }
        let version = version(access, versions);
        let seen = self.seen.get(&line).copied().unwrap_or_default();
        if version < seen {
            faults.push(Fault::OldVersion { wave, seq, line, version, seen });
        }
    }
    fn pass(&mut self, access: &Access, versions: &Versions) {
        self.greatest = self.greatest.max(access.time);
        let seen = self.seen.entry(access.line).or_default();
        *seen = (*seen).max(version(access, versions));
    }
}

/// A line as logical time goes on.
struct History {
    data: Data,
    writers: [Option<(u32, Time)>; 64],
}

impl History {
    /// All that happens to the line at one time: writes, then loads.
    fn instant(&mut self, accesses: &[&Access], faults: &mut Vec<Fault>) {
        let mut writer: Option<u32> = None;
        for access in accesses {
            let (mask, data) = match access.kind {
                Kind::Load(_) => continue,
                Kind::Store(data) => (access.mask, data),
                Kind::Atomic(atomic, old) => {
                    let mut found = Data::default();
                    found.set_number(4 * atomic.word as usize, atomic.size(), old);
                    self.compare(access, atomic.mask(), &found, faults);
                    let mut data = found;
                    atomic.perform(&mut data);
                    (atomic.mask(), data)
                }
            };
            if let Some(first) = writer {
                let Access { line, time, wave: second, .. } = **access;
                faults.push(Fault::SameInstant { line, time, first, second });
            }
            writer = Some(access.wave);
            self.data.merge(mask, &data);
            let bytes = self.writers.iter_mut().enumerate();
            bytes
                .filter(|(byte, _)| mask >> byte & 1 == 1)
                .for_each(|(_, by)| *by = Some((access.wave, access.time)));
        }
        for access in accesses {
            if let Kind::Load(data) = &access.kind {
                self.compare(access, access.mask, data, faults);
            }
        }
    }
    /// At most one fault per access: the first byte that differs.
    fn compare(&self, access: &Access, mask: u64, found: &Data, faults: &mut Vec<Fault>) {
        let differs = |byte: &usize| mask >> byte & 1 == 1 && found.0[*byte] != self.data.0[*byte];
        let Some(byte) = (0..64).find(differs) else { return };
        let Access { wave, seq, line, time, .. } = *access;
        let (found, expected) = (found.0[byte], self.data.0[byte]);
        let writer = match self.writers[byte] {
            Some((wave, time)) => format!("of wave {wave} at {time}"),
            None => "the initial value".to_string(),
        };
        faults.push(Fault::Stale { wave, seq, line, byte: byte as u32, time, found, expected, writer });
    }
}
