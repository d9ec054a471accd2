//! Logical time: {epoch, ts} in full, and what of it storage and messages carry (mgcc.md sections 3 and 8).

/// A time: epochs count first. Compared unsigned, as the hardware compares its 64-bit clocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time {
    /// Epoch, CTS - TS bits.
    pub epoch: u64,
    /// Timestamp inside the epoch, TS bits.
    pub ts: u64,
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.epoch, self.ts)
    }
}

impl Time {
    /// The time `ts` of `epoch`.
    pub fn new(epoch: u64, ts: u64) -> Time {
        Time { epoch, ts }
    }
    /// As one number, `ts` in the lowest `bits` bits: the form of `cu_time`, SetCts and of the answer to Kend.
    pub fn pack(self, bits: u32) -> u64 {
        self.epoch << bits | self.ts
    }
    /// From the form of [`Time::pack`].
    pub fn unpack(value: u64, bits: u32) -> Time {
        Time { epoch: value >> bits, ts: value & ((1 << bits) - 1) }
    }
}

/// How a message's epoch stands to its receiver's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Age {
    /// The same epoch.
    Current,
    /// One ahead: the receiver rolls first.
    Newer,
    /// Already left: its times are over.
    Older,
}

/// Widths of stamps and of epoch tags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Widths {
    /// Bits of a timestamp, TS, 6..32.
    pub ts: u32,
    /// Bits of an epoch tag, EB, 3..8.
    pub eb: u32,
}

impl Widths {
    /// Greatest timestamp, TS_MAX.
    pub fn max(&self) -> u64 {
        (1 << self.ts) - 1
    }
    /// A UMC asks for a roll when a grant's rts is above this.
    pub fn roll_above(&self) -> u64 {
        (1 << self.ts) - (1 << (self.ts - 6))
    }
    /// Tag of an epoch.
    pub fn tag(&self, epoch: u64) -> u64 {
        epoch & ((1 << self.eb) - 1)
    }
    /// The epoch that a tag means to a receiver in epoch `now`: at most one ahead, at most 2^(EB-1) - 1 behind.
    ///
    /// # Panics
    /// The tag cannot have been sent by anybody whom the protocol allows to be that far away.
    pub fn epoch_of(&self, tag: u64, now: u64) -> u64 {
        let span = 1u64 << self.eb;
        let ahead = tag.wrapping_sub(now) & (span - 1);
        if ahead <= 1 {
            return now + ahead;
        }
        let behind = span - ahead;
        assert!(
            behind < span / 2 && behind <= now,
            "tag {tag} is no epoch from -2^(EB-1)+1 to +1 around {now}"
        );
        now - behind
    }
    /// How a tag stands to epoch `now`.
    ///
    /// # Panics
    /// As [`Widths::epoch_of`].
    pub fn age(&self, tag: u64, now: u64) -> Age {
        let epoch = self.epoch_of(tag, now);
        match epoch.cmp(&now) {
            std::cmp::Ordering::Equal => Age::Current,
            std::cmp::Ordering::Greater => Age::Newer,
            std::cmp::Ordering::Less => Age::Older,
        }
    }
}
