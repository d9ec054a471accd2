//! Parameters of a bank.

use crate::lock_tbl::locks_info;
use crate::params::{Impl, Srsp, srsp_from, srsp_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum L2Fault {
    /// None.
    None,
    /// REM_LOCK is granted, but the line is not locked.
    LockNotTaken,
    /// A failed compare-and-swap that was to keep the lock keeps it: nobody will unlock.
    UnlockMissed,
    /// An overflow of the sFIFO drops its head without writing the line back.
    OverflowLosesHead,
    /// A line that comes from memory overwrites the dirty bytes that are here.
    FillOverwrites,
    /// SYS_ACK does not wait for memory's acknowledgements.
    FenceMissed,
}

impl L2Fault {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(L2Fault, &'static str)] = &[
        (L2Fault::None, "none"),
        (L2Fault::LockNotTaken, "lock_not_taken"),
        (L2Fault::UnlockMissed, "unlock_missed"),
        (L2Fault::OverflowLosesHead, "overflow_loses_head"),
        (L2Fault::FillOverwrites, "fill_overwrites"),
        (L2Fault::FenceMissed, "fence_missed"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        L2Fault::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L2Params {
    /// Message widths, numbers of CUs and banks.
    pub srsp: Srsp,
    /// The system.
    pub system: Impl,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// sFIFO entries of all banks together, 2..256; at least 2 per bank.
    pub sfifo: u32,
    /// Lines locked at once, per bank, 1..64.
    pub locks: u32,
    /// Cycles from the one in which a message is taken to the one in which its answer is offered, for a hit, 5..1000.
    pub latency: u32,
    /// Lines under way from memory, per bank, 1..128.
    pub mshrs: u32,
    /// Messages that wait for such a line, 1..64.
    pub targets: u32,
    /// Writes to memory that are not acknowledged, 1..64; also the number of atomics under way there.
    pub writes: u32,
    /// Cycles of a link to an L1, 1..64: for how long a line stays free for a read that has waited.
    pub link: u32,
    /// A fault put in on purpose.
    pub fault: L2Fault,
}

impl L2Params {
    /// The published bank: a quarter of 512 KB, 16 ways, 24 sFIFO entries in all, 24 cycles.
    pub fn published(srsp: Srsp, system: Impl) -> L2Params {
        L2Params {
            srsp,
            system,
            size: 512 << 10,
            ways: 16,
            sfifo: 24,
            locks: 8,
            latency: 24,
            mshrs: 32,
            targets: 8,
            writes: 16,
            link: 4,
            fault: L2Fault::None,
        }
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
    /// Width of the number of a write under way.
    pub fn write_bits(&self) -> u32 {
        bits_for(u64::from(self.writes))
    }
    /// Width of a lock's number.
    pub fn lock_bits(&self) -> u32 {
        bits_for(u64::from(self.locks))
    }
    /// Heads of ingress queues: REQ and WB of each L1.
    pub fn heads(&self) -> u32 {
        2 * self.srsp.cus
    }
    /// Width of a place among the messages that wait for a line.
    pub fn target_bits(&self) -> u32 {
        bits_for(u64::from(self.targets))
    }
    /// Cycles for which a line stays free for a read that had waited for a lock: an answer's way and back.
    pub fn grace(&self) -> u32 {
        self.latency + 16 + 2 * self.link.max(16)
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

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let L2Params { size, ways, sfifo, locks, latency, mshrs, targets, writes, .. } = self;
        let fault = match self.fault {
            L2Fault::None => String::new(),
            fault => format!("_{}", fault.word()),
        };
        let link = if self.link == 4 { String::new() } else { format!("_j{}", self.link) };
        let own = format!("s{size}_w{ways}_f{sfifo}_k{locks}_d{latency}_m{mshrs}_t{targets}_o{writes}");
        let system = self.system.word().replace('-', "_");
        format!("srsp_l2_{system}_{}_{own}{link}{fault}", self.srsp.tag())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            let error = || BlockError::Illegal {
                block: "srsp-l2".into(),
                key: key.into(),
                value: value.to_string(),
                problem: problem.into(),
                legal: legal.into(),
            };
            if good { Ok(()) } else { Err(error()) }
        };
        let range = |key: &str, value: u32, lo: u32, hi: u32| {
            check((lo..=hi).contains(&value), key, value, "it lies outside", &format!("{lo}..{hi}"))
        };
        let ways = self.ways.is_power_of_two() && (2..=16).contains(&self.ways);
        check(ways, "ways", self.ways, "it is no supported number of ways", "2, 4, 8, 16")?;
        let row = self.srsp.banks * self.srsp.line * self.ways;
        let sets = self.size.is_multiple_of(row) && self.sets().is_power_of_two();
        check(
            sets && self.sets() <= 65536 && self.tag_bits() > 0,
            "size",
            self.size,
            "size / (banks * line * ways) is no power of two up to 65536 below the number of lines",
            "banks * line * ways * 2^k, k in 0..16",
        )?;
        let entries = (2..=256).contains(&self.sfifo) && self.sfifo.is_multiple_of(self.srsp.banks);
        let problem = "it is not divided into at least 2 entries per bank";
        let good = entries && self.sfifo_entries() >= 2;
        check(good, "sfifo", self.sfifo, problem, "2..256, a multiple of banks, 2 and more each")?;
        range("locks", self.locks, 1, 64)?;
        range("latency", self.latency, 5, 1000)?;
        range("l2_mshrs", self.mshrs, 1, 128)?;
        range("targets", self.targets, 1, 64)?;
        range("writes", self.writes, 1, 64)?;
        range("link", self.link, 1, 64)
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<L2Params, BlockError> {
        let number = |key, hi| set.within(key, 0, hi).map(|v| v as u32);
        let word = set.text("inject");
        let fault = L2Fault::WORDS.iter().find(|w| w.1 == word);
        let p = L2Params {
            srsp: srsp_from(set)?,
            system: Impl::from_set(set)?,
            size: number("size", 1 << 30)?,
            ways: number("ways", 64)?,
            sfifo: number("sfifo", 1 << 16)?,
            locks: number("locks", 1 << 16)?,
            latency: number("latency", 1 << 16)?,
            mshrs: number("l2_mshrs", 1 << 16)?,
            targets: number("targets", 1 << 16)?,
            writes: number("writes", 1 << 16)?,
            link: number("link", 1 << 16)?,
            fault: fault.ok_or_else(|| set.illegal("inject", "it is not known"))?.0,
        };
        p.validate()?;
        Ok(p)
    }
}

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut all = vec![
        info("impl", "srsp", "base, brsp, brsp-token, srsp, srsp-opt", "the system"),
        info("size", "512K", "banks * line * ways * 2^k, k in 0..16", "bytes of all banks together"),
        info("ways", "16", "2, 4, 8, 16", "ways"),
        info(
            "sfifo",
            "24",
            "2..256, a multiple of banks, 2 and more each",
            "sFIFO entries of all banks together",
        ),
        locks_info(),
        info("latency", "24", "5..1000", "cycles from a message to its answer, for a hit"),
        info("l2_mshrs", "32", "1..128", "lines under way from memory, per bank"),
        info("targets", "8", "1..64", "messages that wait for such a line"),
        info("writes", "16", "1..64", "writes under way to memory, and as many atomics"),
        info(
            "link",
            "4",
            "1..64",
            "cycles of a link to an L1: how long a line stays free for a read that has waited",
        ),
        info(
            "inject",
            "none",
            "none, lock_not_taken, unlock_missed, overflow_loses_head, fill_overwrites, fence_missed",
            "a fault put in on purpose (simulation only)",
        ),
    ];
    all.extend(srsp_params());
    all
}
