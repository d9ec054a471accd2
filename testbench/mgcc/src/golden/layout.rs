//! How a line number names bank, UMC and lane (mgcc.md section 2).

/// The parameters that place a line. Bank i of every GPU and UMC i own the same lines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// L2 banks per GPU, a power of two.
    pub banks: u64,
    /// Lanes per UMC, a power of two.
    pub lanes: u64,
    /// The bank is in the address bits just above bit `il` - 1.
    pub il: u32,
}

impl Layout {
    fn low(&self) -> u32 {
        self.il - 6
    }
    /// Bank and UMC of a line.
    pub fn bank(&self, line: u64) -> usize {
        (line >> self.low() & (self.banks - 1)) as usize
    }
    /// Line number without the bank's bits.
    pub fn in_umc(&self, line: u64) -> u64 {
        let low = line & ((1 << self.low()) - 1);
        line >> self.low() >> self.banks.trailing_zeros() << self.low() | low
    }
    /// Lane of a line in its UMC.
    pub fn lane(&self, line: u64) -> usize {
        (self.in_umc(line) & (self.lanes - 1)) as usize
    }
    /// Line number inside its lane: what the TSU knows.
    pub fn in_lane(&self, line: u64) -> u64 {
        self.in_umc(line) >> self.lanes.trailing_zeros()
    }
}
