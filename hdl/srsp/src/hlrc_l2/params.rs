//! Parameters of a bank.

use super::types::Kind;
use crate::bank::{self, Bank, count_of};
use crate::params::{Srsp, check, info, srsp_params, value, within};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// What becomes of data that L1s write back to a line that nobody has registered: srsp.md's `L2_WRITE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum L2Write {
    /// It is combined in the bank, as in `srsp_l2`.
    Combine,
    /// It goes to memory, which acknowledges it, and the bank's copy is dropped.
    ThroughInv,
}

/// Which lines L1s register: what tells a bank of DeNovo-B from one of hLRC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Registered {
    /// hLRC: lines of atomics. Plain accesses of a registered line are served by the bank.
    Atomics,
    /// DeNovo-B: every line that is written. No L1 writes through; who reads a registered line gets its owner's bytes.
    Writes,
}

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum HlrcL2Fault {
    /// None.
    None,
    /// The requester gets its REG_DATA together with the owner's REVOKE, before the owner has flushed.
    GrantBeforeFlush,
    /// The bytes of an UNREG are lost.
    LostUnreg,
    /// An UNREG that crosses a REVOKE is acknowledged before REVOKE_ACK.
    EarlyUnregAck,
    /// A recalled line is dropped without its dirty bytes.
    LostRecall,
    /// A write to memory is acknowledged before memory has answered.
    EarlyWbAck,
    /// THROUGH_INV: a write to a line on its way from memory does not wait for it, so that old bytes come to stay.
    StaleFill,
    /// DeNovo-B: who reads a registered line gets what the bank has of it.
    OldRead,
}

impl HlrcL2Fault {
    /// A bank can have the fault.
    fn fits(self, registered: Registered) -> bool {
        match self {
            HlrcL2Fault::EarlyWbAck | HlrcL2Fault::StaleFill => registered == Registered::Atomics,
            HlrcL2Fault::OldRead => registered == Registered::Writes,
            _ => true,
        }
    }
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HlrcL2Params {
    /// Sizes and widths; to the latency of the bank REVOKEs are held, too.
    pub bank: Bank,
    /// Revocations under way at once, per bank, 1..64.
    pub revokes: u32,
    /// Which lines are registered.
    pub registered: Registered,
    /// What becomes of written data; of no meaning where every line that is written is registered.
    pub write: L2Write,
    /// Lines that nobody has registered are replaced first: srsp.md's `OWNED_AWARE`.
    pub owned_aware: bool,
    /// A fault put in on purpose.
    pub fault: HlrcL2Fault,
}

impl HlrcL2Params {
    /// The bank of the hLRC study: a part of 4 MB, 16 ways, 24 cycles, data written through.
    pub fn published(srsp: Srsp) -> HlrcL2Params {
        HlrcL2Params {
            bank: Bank::published(srsp, 4 << 20),
            revokes: 8,
            registered: Registered::Atomics,
            write: L2Write::ThroughInv,
            owned_aware: true,
            fault: HlrcL2Fault::None,
        }
    }

    /// The same bank with other sizes.
    #[must_use]
    pub fn sized(self, change: impl FnOnce(Bank) -> Bank) -> HlrcL2Params {
        HlrcL2Params { bank: change(self.bank), ..self }
    }

    /// Data of unregistered lines is combined.
    pub(super) fn combines(&self) -> bool {
        self.write == L2Write::Combine
    }

    /// The same bank, where such lines are registered.
    #[must_use]
    pub fn of(self, registered: Registered) -> HlrcL2Params {
        let write = match registered {
            Registered::Atomics => self.write,
            Registered::Writes => L2Write::ThroughInv,
        };
        HlrcL2Params { registered, write, ..self }
    }

    /// Every line that is written is registered: DeNovo-B.
    pub(super) fn registers_writes(&self) -> bool {
        self.registered == Registered::Writes
    }

    /// Kinds of answers of an owner that was asked.
    pub(super) fn answers(&self) -> &'static [Kind] {
        if self.registers_writes() { &[Kind::RevokeAck, Kind::Wb] } else { &[Kind::RevokeAck] }
    }

    /// Name of the block on the command line.
    pub(super) fn block(&self) -> &'static str {
        if self.registers_writes() { "denovo-b-l2" } else { "hlrc-l2" }
    }

    /// How the names of its rows, races and modules begin.
    pub(super) fn head(&self) -> &'static str {
        if self.registers_writes() { "denovo_b_l2" } else { "hlrc_l2" }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let own = self.bank.name(&format!("r{}", self.revokes));
        let write = self.write.word().replace('-', "_");
        let victims = if self.owned_aware { "" } else { "_any" };
        let fault = match self.fault {
            HlrcL2Fault::None => String::new(),
            fault => format!("_{}", fault.word().replace('-', "_")),
        };
        let data = if self.registers_writes() { String::new() } else { format!("_{write}") };
        format!("{}{data}{victims}_{}_{own}{fault}", self.head(), self.bank.srsp.tag())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        within(self.block(), ("revokes", self.revokes), (1, 64))?;
        let fits = self.fault.fits(self.registered);
        let problem = "a bank of this protocol has no such fault";
        let legal = if self.registers_writes() { WRITES_FAULTS } else { ATOMICS_FAULTS };
        check(self.block(), fits, ("inject", self.fault.word()), (problem, legal))?;
        self.bank.validate(self.block())
    }

    /// Reads the parameters of the block that registers such lines.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet, registered: Registered) -> Result<HlrcL2Params, BlockError> {
        let p = HlrcL2Params {
            bank: Bank::from_set(set)?,
            revokes: count_of(set, "revokes")?,
            registered,
            write: match registered {
                Registered::Atomics => value(L2Write::WORDS, set, "l2_write")?,
                Registered::Writes => L2Write::ThroughInv,
            },
            owned_aware: set.within("owned_aware", 0, 1)? == 1,
            fault: value(HlrcL2Fault::WORDS, set, "inject")?,
        };
        p.validate()?;
        Ok(p)
    }
}

/// Faults of a bank in which lines of atomics are registered.
const ATOMICS_FAULTS: &str =
    "none, grant-before-flush, lost-unreg, early-unreg-ack, lost-recall, early-wb-ack, stale-fill";
/// Faults of one in which every line that is written is.
const WRITES_FAULTS: &str = "none, grant-before-flush, lost-unreg, early-unreg-ack, lost-recall, old-read";

/// The parameters of block `hlrc-l2` on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let data = "data written back to unregistered lines";
    infos_with(&[info("l2_write", "through-inv", L2Write::LEGAL, data)], ATOMICS_FAULTS)
}

/// The parameters of block `denovo-b-l2` on the command line.
pub(super) fn infos_of_writes() -> Vec<ParamInfo> {
    infos_with(&[], WRITES_FAULTS)
}

fn infos_with(own: &[ParamInfo], faults: &'static str) -> Vec<ParamInfo> {
    let revokes = info("revokes", "8", "1..64", "revocations under way, per bank");
    let rest = [
        info("owned_aware", "1", "0, 1", "unregistered lines are replaced first"),
        info("inject", "none", faults, "a fault put in on purpose (simulation only)"),
    ];
    let after = [own, &rest].concat();
    let writes = "writes under way to memory, and as many reads around the bank";
    let mut all = bank::infos((&[], revokes, &after), "4M", writes);
    let cus = |p: ParamInfo| if p.name == "cus" { ParamInfo { default: "128".into(), ..p } } else { p };
    all.extend(srsp_params().into_iter().map(cus));
    all
}
