//! What is known of a line in logical time: its writes in order, those whose time is not known yet, and the reads that wait for them.

use serde::{Deserialize, Serialize};

/// A line in limbs.
pub(super) type Data = [u64; 8];

/// Who made an access: a wave, or the host's copy engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct By {
    /// GPU.
    pub gpu: u32,
    /// Compute unit.
    pub cu: u32,
    /// Kernel, work-group and wave in it; `None` for the host.
    pub wave: Option<(u32, u32, u32)>,
    /// Number of the memory operation along the wave.
    pub operation: u32,
}

/// Bytes that an access reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// The bytes, one bit each.
    pub mask: u64,
    /// The line in limbs.
    pub data: [u64; 8],
}

impl Bytes {
    /// Puts them into a line.
    pub fn merge_into(&self, line: &mut [u64; 8]) {
        for (limb, (to, from)) in line.iter_mut().zip(&self.data).enumerate() {
            let bits = spread((self.mask >> (8 * limb)) as u8);
            *to = *to & !bits | from & bits;
        }
    }

    /// The lowest byte in which a line differs.
    fn differs(&self, line: &Data) -> Option<u32> {
        let limb = |(limb, (own, other)): (usize, (&u64, &u64))| {
            let wrong = (own ^ other) & spread((self.mask >> (8 * limb)) as u8);
            (wrong != 0).then(|| 8 * limb as u32 + wrong.trailing_zeros() / 8)
        };
        self.data.iter().zip(line).enumerate().find_map(limb)
    }
}

/// The bits of some bytes of a limb.
fn spread(bytes: u8) -> u64 {
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 2048 {
            table[i / 8] |= (((i as u64 / 8) >> (i % 8)) & 1) * (0xff << (8 * (i % 8)));
            i += 1;
        }
        table
    };
    TABLE[usize::from(bytes)]
}

/// A write.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Version {
    time: u64,
    bytes: Bytes,
    by: By,
}

/// A write that the fabric has taken and not answered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Open {
    number: u64,
    /// Reads answered before bound up to here: the write must be later.
    floor: u64,
}

/// A read whose value is to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// When it bound.
    pub time: u64,
    /// It is the old value of an atomic that bound then: it sees what was before.
    pub before: bool,
    /// What it got.
    pub bytes: Bytes,
    /// Whose.
    pub by: By,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// A read did not get the latest value of its time; the writer whose value it should have got, if that is not the value before.
    Stale {
        /// The read.
        read: Box<Read>,
        /// The byte of the line.
        byte: u32,
        /// What it should have got.
        expected: u8,
        /// Time of the write that left it.
        written: Option<(u64, By)>,
    },
    /// A read binds before the time at which all compute units were.
    TooOld {
        /// The read.
        read: Box<Read>,
        /// That time.
        floor: u64,
    },
    /// A write binds not after reads of the line that were answered before it was made.
    Late {
        /// Time of the write.
        time: u64,
        /// Whose.
        by: By,
        /// Time of the reads.
        floor: u64,
    },
    /// Two writes at one time.
    Twice {
        /// The time.
        time: u64,
        /// Whose.
        by: By,
        /// Whose else.
        other: By,
    },
}

/// A read found right, with the time of the version that it saw: 0 for the one before all.
pub(super) type Judged = (Read, u64);

/// Writes kept of a line before older ones are dropped.
const KEPT: usize = 64;

/// The log of a line since it was last at rest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Log {
    /// By time.
    versions: Vec<Version>,
    /// By number.
    open: Vec<Open>,
    /// Reads answered while these writes, up to a number, were open.
    waiting: Vec<(u64, Read)>,
    /// Reads before this time cannot be judged any more; the base holds the version of then.
    floor: u64,
    /// Time of the base's version.
    base_version: u64,
    /// Versions at which the next pruning is worth it.
    next: usize,
}

impl Log {
    /// Nothing waits for anything.
    pub fn is_settled(&self) -> bool {
        self.open.is_empty() && self.waiting.is_empty()
    }

    /// A write is taken, after reads up to `floor`.
    pub fn open(&mut self, number: u64, floor: u64) {
        self.open.push(Open { number, floor });
    }

    /// The write of this number is complete. Adds what is now judged.
    pub fn write(
        &mut self,
        base: &Data,
        number: u64,
        (time, by): (u64, By),
        bytes: Bytes,
        judged: &mut Vec<Judged>,
    ) -> Result<(), LineFault> {
        if let Some(at) = self.open.iter().position(|open| open.number == number) {
            let Open { floor, .. } = self.open.remove(at);
            if time <= floor {
                return Err(LineFault::Late { time, by, floor });
            }
        }
        let at = self.versions.partition_point(|version| version.time < time);
        if let Some(other) = self.versions.get(at).filter(|version| version.time == time) {
            return Err(LineFault::Twice { time, by, other: other.by });
        }
        self.versions.insert(at, Version { time, bytes, by });
        self.settle(base, judged)
    }

    /// A read is answered: it is judged now, or when all writes are known that were open.
    pub fn read(&mut self, base: &Data, read: Read, judged: &mut Vec<Judged>) -> Result<(), LineFault> {
        match self.open.last() {
            Some(open) => self.waiting.push((open.number, read)),
            None => judged.push((read, self.judge(base, &read)?)),
        }
        Ok(())
    }

    /// Judges the reads that wait for nothing any more.
    fn settle(&mut self, base: &Data, judged: &mut Vec<Judged>) -> Result<(), LineFault> {
        let oldest = self.open.first().map_or(u64::MAX, |open| open.number);
        let ready: Vec<Read> =
            self.waiting.iter().filter(|(until, _)| *until < oldest).map(|w| w.1).collect();
        self.waiting.retain(|(until, _)| *until >= oldest);
        for read in ready {
            judged.push((read, self.judge(base, &read)?));
        }
        Ok(())
    }

    /// The time of the version that a read must have seen.
    fn judge(&self, base: &Data, read: &Read) -> Result<u64, LineFault> {
        if read.time < self.floor {
            return Err(LineFault::TooOld { read: Box::new(*read), floor: self.floor });
        }
        let sees = |version: &Version| version.time < read.time || version.time == read.time && !read.before;
        let upto = self.versions.partition_point(sees);
        let mut left = read.bytes;
        for version in self.versions[..upto].iter().rev() {
            let seen = Bytes { mask: left.mask & version.bytes.mask, data: left.data };
            if let Some(byte) = seen.differs(&version.bytes.data) {
                return Err(stale(read, byte, &version.bytes.data, Some((version.time, version.by))));
            }
            left.mask &= !version.bytes.mask;
            if left.mask == 0 {
                break;
            }
        }
        if let Some(byte) = left.differs(base) {
            return Err(stale(read, byte, base, None));
        }
        Ok(self.versions[..upto].last().map_or(self.base_version, |version| version.time))
    }

    /// Moves versions up to `floor` into the base, which no read will be older than. Only while nothing waits.
    pub fn prune(&mut self, base: &mut Data, floor: impl FnOnce() -> u64) {
        if self.versions.len() < self.next.max(KEPT) || !self.waiting.is_empty() {
            return;
        }
        let floor = floor();
        let upto = self.versions.partition_point(|version| version.time <= floor);
        for version in self.versions.drain(..upto) {
            version.bytes.merge_into(base);
            self.base_version = version.time;
        }
        self.floor = self.floor.max(floor);
        self.next = 2 * self.versions.len();
    }

    /// All versions go into the base.
    pub fn finish(mut self, base: &mut Data) {
        self.versions.drain(..).for_each(|version| version.bytes.merge_into(base));
    }
}

fn stale(read: &Read, byte: u32, line: &Data, written: Option<(u64, By)>) -> LineFault {
    let expected = (line[byte as usize / 8] >> (8 * (byte % 8))) as u8;
    LineFault::Stale { read: Box::new(*read), byte, expected, written }
}
