//! What fixes the arrays, tables and queues of a bank, whatever its system.

use crate::params::{Srsp, check, info, srsp_from, within};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// Sizes of a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bank {
    /// Message widths, numbers of CUs and banks.
    pub srsp: Srsp,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// sFIFO entries of all banks together, 2..256; at least 2 per bank.
    pub sfifo: u32,
    /// Cycles from the one in which a message is taken to the one in which its answer is offered, for a hit, 5..1000.
    pub latency: u32,
    /// Lines under way from memory, per bank, 1..128.
    pub mshrs: u32,
    /// Messages that wait for such a line, 1..64.
    pub targets: u32,
    /// Writes to memory that are not acknowledged, 1..64, and as many of what else a system has under way there.
    pub writes: u32,
}

impl Bank {
    /// The published sizes of a bank of an L2 of `size` bytes: 16 ways, 24 sFIFO entries in all, 24 cycles.
    pub(crate) fn published(srsp: Srsp, size: u32) -> Bank {
        Bank { srsp, size, ways: 16, sfifo: 24, latency: 24, mshrs: 32, targets: 8, writes: 16 }
    }
    /// Sets of a bank: size / (banks * line * ways).
    pub fn sets(&self) -> u32 {
        self.size / (self.srsp.banks * self.srsp.line * self.ways)
    }
    /// Width of a set's number; 1 also for a single set.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }
    /// Line bits that choose the bank.
    fn bank_select(&self) -> u32 {
        self.srsp.banks.trailing_zeros()
    }
    /// Line bits that choose the set.
    fn set_select(&self) -> u32 {
        self.sets().trailing_zeros()
    }
    /// Width of a tag: line bits without those of bank and set; 33 by default.
    pub fn tag_bits(&self) -> u32 {
        self.srsp.line_bits().saturating_sub(self.bank_select() + self.set_select())
    }
    /// Width of a way's number.
    pub fn way_bits(&self) -> u32 {
        self.ways.trailing_zeros()
    }
    /// Width of a place in the data array, {set, way}.
    pub fn row_bits(&self) -> u32 {
        bits_for(u64::from(self.sets() * self.ways))
    }
    /// sFIFO entries of a bank.
    pub fn sfifo_entries(&self) -> u32 {
        self.sfifo / self.srsp.banks
    }
    /// Width of an MSHR's number.
    pub fn mshr_bits(&self) -> u32 {
        bits_for(u64::from(self.mshrs))
    }
    /// Width of the number of a write under way, or of what else is counted by `writes`.
    pub fn write_bits(&self) -> u32 {
        bits_for(u64::from(self.writes))
    }
    /// Width of the number of an MSHR or of one of those.
    pub fn own_bits(&self) -> u32 {
        self.mshr_bits().max(self.write_bits())
    }
    /// Heads of ingress queues: REQ and WB of each L1.
    pub fn heads(&self) -> u32 {
        2 * self.srsp.cus
    }
    /// Width of a place among the messages that wait for a line.
    pub fn target_bits(&self) -> u32 {
        bits_for(u64::from(self.targets))
    }
    /// Set of a line.
    pub fn set_of(&self, line: Bits) -> Bits {
        match self.set_select() {
            0 => lit(0, 1),
            bits => line.slice(self.bank_select(), bits),
        }
    }
    /// Tag of a line.
    pub fn tag_of(&self, line: Bits) -> Bits {
        line.slice(self.bank_select() + self.set_select(), self.tag_bits())
    }
    /// The line of a tag and set of a bank.
    pub fn line_from(&self, tag: Bits, set: Bits, bank: Bits) -> Bits {
        let inside = if self.set_select() == 0 { tag } else { cat(&[tag, set]) };
        if self.bank_select() == 0 { inside } else { cat(&[inside, bank]) }
    }
    /// Place of a way in the data array.
    pub fn row_of(&self, set: Bits, way: Bits) -> Bits {
        cat(&[set, way]).resize(self.row_bits())
    }
    /// The first byte of a line.
    pub fn address(&self, line: Bits) -> Bits {
        cat(&[line, lit(0, self.srsp.line.trailing_zeros())])
    }

    /// Shows the sizes as parameters of the module, with `own`, what the system has of its own, behind the sFIFO.
    pub fn show(&self, own: Option<(&str, u32)>) {
        let sizes = [("cus", self.srsp.cus), ("banks", self.srsp.banks), ("size", self.size)];
        let rest = [("ways", self.ways), ("sfifo", self.sfifo)];
        for (name, value) in sizes.into_iter().chain(rest).chain(own).chain([("latency", self.latency)]) {
            param(name, value);
        }
    }

    /// Part of a module's name: sizes, with `own`, what the system keeps of its own, behind the sFIFO.
    pub fn name(&self, own: &str) -> String {
        let Bank { size, ways, sfifo, latency, mshrs, targets, writes, .. } = self;
        format!("s{size}_w{ways}_f{sfifo}_{own}_d{latency}_m{mshrs}_t{targets}_o{writes}")
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self, block: &str) -> Result<(), BlockError> {
        let ways = self.ways.is_power_of_two() && (2..=16).contains(&self.ways);
        check(block, ways, ("ways", self.ways), ("it is no supported number of ways", "2, 4, 8, 16"))?;
        let row = self.srsp.banks * self.srsp.line * self.ways;
        let sets = self.size.is_multiple_of(row) && self.sets().is_power_of_two();
        let sets = sets && self.sets() <= 65536 && self.tag_bits() > 0;
        let problem = "size / (banks * line * ways) is no power of two up to 65536 below the number of lines";
        check(block, sets, ("size", self.size), (problem, "banks * line * ways * 2^k, k in 0..16"))?;
        let entries = (2..=256).contains(&self.sfifo) && self.sfifo.is_multiple_of(self.srsp.banks);
        let problem = "it is not divided into at least 2 entries per bank";
        let good = entries && self.sfifo_entries() >= 2;
        let legal = "2..256, a multiple of banks, 2 and more each";
        check(block, good, ("sfifo", self.sfifo), (problem, legal))?;
        within(block, ("latency", self.latency), (5, 1000))?;
        within(block, ("l2_mshrs", self.mshrs), (1, 128))?;
        within(block, ("targets", self.targets), (1, 64))?;
        within(block, ("writes", self.writes), (1, 64))
    }

    /// Reads the sizes.
    ///
    /// # Errors
    /// A value that is no number.
    pub fn from_set(set: &ParamSet) -> Result<Bank, BlockError> {
        Ok(Bank {
            srsp: srsp_from(set)?,
            size: set.within("size", 0, 1 << 30)? as u32,
            ways: set.within("ways", 0, 64)? as u32,
            sfifo: count_of(set, "sfifo")?,
            latency: count_of(set, "latency")?,
            mshrs: count_of(set, "l2_mshrs")?,
            targets: count_of(set, "targets")?,
            writes: count_of(set, "writes")?,
        })
    }
}

/// Reads a number that is checked later.
pub(crate) fn count_of(set: &ParamSet, key: &'static str) -> Result<u32, BlockError> {
    set.within(key, 0, 1 << 16).map(|v| v as u32)
}

/// The parameters of a bank on the command line: those `before` its sizes, sizes with `own` behind the sFIFO, and those that follow. `size`: the default; `writes`: what they count.
pub(crate) fn infos(
    (before, own, after): (&[ParamInfo], ParamInfo, &[ParamInfo]),
    size: &str,
    writes: &'static str,
) -> Vec<ParamInfo> {
    let sfifo = "2..256, a multiple of banks, 2 and more each";
    let sizes = [
        info("size", size, "banks * line * ways * 2^k, k in 0..16", "bytes of all banks together"),
        info("ways", "16", "2, 4, 8, 16", "ways"),
        info("sfifo", "24", sfifo, "sFIFO entries of all banks together"),
        own,
        info("latency", "24", "5..1000", "cycles from a message to its answer, for a hit"),
        info("l2_mshrs", "32", "1..128", "lines under way from memory, per bank"),
        info("targets", "8", "1..64", "messages that wait for such a line"),
        info("writes", "16", "1..64", writes),
    ];
    [before, &sizes, after].concat()
}
