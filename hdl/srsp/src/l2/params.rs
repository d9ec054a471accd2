//! Parameters of a bank.

use crate::bank::{self, Bank, count_of};
use crate::lock_tbl::locks_info;
use crate::params::{Impl, Srsp, info, srsp_params, value, within};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;
use weft_rtl::prelude::*;

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum L2Fault {
    /// None.
    None,
    /// REM_LOCK is granted, but the line is not locked.
    #[word("lock_not_taken")]
    LockNotTaken,
    /// A failed compare-and-swap that was to keep the lock keeps it: nobody will unlock.
    #[word("unlock_missed")]
    UnlockMissed,
    /// An overflow of the sFIFO drops its head without writing the line back.
    #[word("overflow_loses_head")]
    OverflowLosesHead,
    /// A line that comes from memory overwrites the dirty bytes that are here.
    #[word("fill_overwrites")]
    FillOverwrites,
    /// SYS_ACK does not wait for memory's acknowledgements.
    #[word("fence_missed")]
    FenceMissed,
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L2Params {
    /// Sizes and widths.
    pub bank: Bank,
    /// The system.
    pub system: Impl,
    /// Lines locked at once, per bank, 1..64.
    pub locks: u32,
    /// Cycles of a link to an L1, 1..64: for how long a line stays free for a read that has waited.
    pub link: u32,
    /// A fault put in on purpose.
    pub fault: L2Fault,
}

impl L2Params {
    /// The published bank: a quarter of 512 KB, 16 ways, 24 sFIFO entries in all, 24 cycles.
    pub fn published(srsp: Srsp, system: Impl) -> L2Params {
        let bank = Bank::published(srsp, 512 << 10);
        L2Params { bank, system, locks: 8, link: 4, fault: L2Fault::None }
    }

    /// The same bank with other sizes.
    #[must_use]
    pub fn sized(self, change: impl FnOnce(Bank) -> Bank) -> L2Params {
        L2Params { bank: change(self.bank), ..self }
    }

    /// Width of a lock's number.
    pub fn lock_bits(&self) -> u32 {
        bits_for(u64::from(self.locks))
    }
    /// Cycles for which a line stays free for a read that had waited for a lock: an answer's way and back.
    pub fn grace(&self) -> u32 {
        self.bank.latency + 16 + 2 * self.link.max(16)
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let fault = match self.fault {
            L2Fault::None => String::new(),
            fault => format!("_{}", fault.word()),
        };
        let link = if self.link == 4 { String::new() } else { format!("_j{}", self.link) };
        let own = self.bank.name(&format!("k{}", self.locks));
        let system = self.system.word().replace('-', "_");
        format!("srsp_l2_{system}_{}_{own}{link}{fault}", self.bank.srsp.tag())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.bank.validate("srsp-l2")?;
        within("srsp-l2", ("locks", self.locks), (1, 64))?;
        within("srsp-l2", ("link", self.link), (1, 64))
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<L2Params, BlockError> {
        let p = L2Params {
            bank: Bank::from_set(set)?,
            system: value(Impl::WORDS, set, "impl")?,
            locks: count_of(set, "locks")?,
            link: count_of(set, "link")?,
            fault: value(L2Fault::WORDS, set, "inject")?,
        };
        p.validate()?;
        Ok(p)
    }
}

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let link = "cycles of a link to an L1: how long a line stays free for a read that has waited";
    let before = [info("impl", "srsp", Impl::LEGAL, "the system")];
    let after = [
        info("link", "4", "1..64", link),
        info("inject", "none", L2Fault::LEGAL, "a fault put in on purpose (simulation only)"),
    ];
    let writes = "writes under way to memory, and as many atomics";
    let sizes = bank::infos((&before, locks_info(), &after), "512K", writes);
    [sizes, srsp_params()].concat()
}
