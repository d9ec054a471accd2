//! Parameters of a bank.

use crate::l2::{L2Fault, L2Params};
use crate::params::{Impl, Srsp, srsp_from, srsp_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What becomes of data that L1s write back to a line that nobody has registered: srsp.md's `L2_WRITE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum L2Write {
    /// It is combined in the bank, as in `srsp_l2`.
    Combine,
    /// It goes to memory, which acknowledges it, and the bank's copy is dropped.
    ThroughInv,
}

impl L2Write {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(L2Write, &'static str)] =
        &[(L2Write::Combine, "combine"), (L2Write::ThroughInv, "through-inv")];

    /// Its word.
    pub fn word(self) -> &'static str {
        L2Write::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }
}

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
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
}

impl HlrcL2Fault {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(HlrcL2Fault, &'static str)] = &[
        (HlrcL2Fault::None, "none"),
        (HlrcL2Fault::GrantBeforeFlush, "grant-before-flush"),
        (HlrcL2Fault::LostUnreg, "lost-unreg"),
        (HlrcL2Fault::EarlyUnregAck, "early-unreg-ack"),
        (HlrcL2Fault::LostRecall, "lost-recall"),
        (HlrcL2Fault::EarlyWbAck, "early-wb-ack"),
        (HlrcL2Fault::StaleFill, "stale-fill"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        HlrcL2Fault::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HlrcL2Params {
    /// Message widths, numbers of CUs and banks.
    pub srsp: Srsp,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// sFIFO entries of all banks together, 2..256; at least 2 per bank.
    pub sfifo: u32,
    /// Revocations under way at once, per bank, 1..64.
    pub revokes: u32,
    /// Cycles from the one in which a message is taken to the one in which its answer or REVOKE is offered, for a hit, 5..1000.
    pub latency: u32,
    /// Lines under way from memory into the bank, per bank, 1..128.
    pub mshrs: u32,
    /// Messages that wait for such a line, 1..64.
    pub targets: u32,
    /// Writes to memory that are not acknowledged, 1..64; also the number of reads around the bank.
    pub writes: u32,
    /// What becomes of written data.
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
            srsp,
            size: 4 << 20,
            ways: 16,
            sfifo: 24,
            revokes: 8,
            latency: 24,
            mshrs: 32,
            targets: 8,
            writes: 16,
            write: L2Write::ThroughInv,
            owned_aware: true,
            fault: HlrcL2Fault::None,
        }
    }

    /// The `srsp_l2` of the same sizes.
    fn bank(&self) -> L2Params {
        L2Params {
            srsp: self.srsp.clone(),
            system: Impl::Base,
            size: self.size,
            ways: self.ways,
            sfifo: self.sfifo,
            locks: 1,
            latency: self.latency,
            mshrs: self.mshrs,
            targets: self.targets,
            writes: self.writes,
            link: 4,
            fault: L2Fault::None,
        }
    }

    /// Sets of a bank: size / (banks * line * ways).
    pub fn sets(&self) -> u32 {
        self.bank().sets()
    }
    /// Width of a set's number; 1 also for a single set.
    pub fn set_bits(&self) -> u32 {
        self.bank().set_bits()
    }
    /// Width of a tag: line bits without those of bank and set.
    pub fn tag_bits(&self) -> u32 {
        self.bank().tag_bits()
    }
    /// Width of a way's number.
    pub fn way_bits(&self) -> u32 {
        self.bank().way_bits()
    }
    /// Width of a place in the data array, {set, way}.
    pub fn row_bits(&self) -> u32 {
        self.bank().row_bits()
    }
    /// sFIFO entries of a bank.
    pub fn sfifo_entries(&self) -> u32 {
        self.bank().sfifo_entries()
    }
    /// Width of an MSHR's number.
    pub fn mshr_bits(&self) -> u32 {
        self.bank().mshr_bits()
    }
    /// Width of the number of a write, or of a read around the bank.
    pub fn write_bits(&self) -> u32 {
        self.bank().write_bits()
    }
    /// Width of the number of an MSHR or of one of those.
    pub(super) fn own_bits(&self) -> u32 {
        self.mshr_bits().max(self.write_bits())
    }
    /// Lines that may have come from memory and wait for the pipeline: those of MSHRs, then those of reads around the bank.
    pub(super) fn landings(&self) -> u32 {
        self.mshrs + self.writes
    }
    /// Heads of ingress queues: REQ and WB of each L1.
    pub fn heads(&self) -> u32 {
        self.bank().heads()
    }
    /// Width of a place among the messages that wait for a line.
    pub fn target_bits(&self) -> u32 {
        self.bank().target_bits()
    }
    /// Set of a line.
    pub fn set_of(&self, line: Bits) -> Bits {
        self.bank().set_of(line)
    }
    /// Tag of a line.
    pub fn tag_of(&self, line: Bits) -> Bits {
        self.bank().tag_of(line)
    }
    /// The line of a tag and set of a bank.
    pub fn line_from(&self, tag: Bits, set: Bits, bank: Bits) -> Bits {
        self.bank().line_from(tag, set, bank)
    }
    /// Place of a way in the data array.
    pub fn row_of(&self, set: Bits, way: Bits) -> Bits {
        self.bank().row_of(set, way)
    }
    /// The first byte of a line.
    pub fn address(&self, line: Bits) -> Bits {
        self.bank().address(line)
    }
    /// Data of unregistered lines is combined.
    pub(super) fn combines(&self) -> bool {
        self.write == L2Write::Combine
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let HlrcL2Params { size, ways, sfifo, revokes, latency, mshrs, targets, writes, .. } = self;
        let own = format!("s{size}_w{ways}_f{sfifo}_r{revokes}_d{latency}_m{mshrs}_t{targets}_o{writes}");
        let write = self.write.word().replace('-', "_");
        let victims = if self.owned_aware { "" } else { "_any" };
        let fault = match self.fault {
            HlrcL2Fault::None => String::new(),
            fault => format!("_{}", fault.word().replace('-', "_")),
        };
        format!("hlrc_l2_{write}{victims}_{}_{own}{fault}", self.srsp.tag())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        if !(1..=64).contains(&self.revokes) {
            return Err(BlockError::Illegal {
                block: "hlrc-l2".into(),
                key: "revokes".into(),
                value: self.revokes.to_string(),
                problem: "it lies outside".into(),
                legal: "1..64".into(),
            });
        }
        self.bank().validate().map_err(|error| match error {
            BlockError::Illegal { key, value, problem, legal, .. } => {
                BlockError::Illegal { block: "hlrc-l2".into(), key, value, problem, legal }
            }
            other => other,
        })
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<HlrcL2Params, BlockError> {
        let number = |key, hi| set.within(key, 0, hi).map(|v| v as u32);
        let (write, fault) = (set.text("l2_write"), set.text("inject"));
        let write = L2Write::WORDS.iter().find(|w| w.1 == write);
        let fault = HlrcL2Fault::WORDS.iter().find(|w| w.1 == fault);
        let p = HlrcL2Params {
            srsp: srsp_from(set)?,
            size: number("size", 1 << 30)?,
            ways: number("ways", 64)?,
            sfifo: number("sfifo", 1 << 16)?,
            revokes: number("revokes", 1 << 16)?,
            latency: number("latency", 1 << 16)?,
            mshrs: number("l2_mshrs", 1 << 16)?,
            targets: number("targets", 1 << 16)?,
            writes: number("writes", 1 << 16)?,
            write: write.ok_or_else(|| set.illegal("l2_write", "it is not known"))?.0,
            owned_aware: set.within("owned_aware", 0, 1)? == 1,
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
        info("size", "4M", "banks * line * ways * 2^k, k in 0..16", "bytes of all banks together"),
        info("ways", "16", "2, 4, 8, 16", "ways"),
        info(
            "sfifo",
            "24",
            "2..256, a multiple of banks, 2 and more each",
            "sFIFO entries of all banks together",
        ),
        info("revokes", "8", "1..64", "revocations under way, per bank"),
        info("latency", "24", "5..1000", "cycles from a message to its answer, for a hit"),
        info("l2_mshrs", "32", "1..128", "lines under way from memory, per bank"),
        info("targets", "8", "1..64", "messages that wait for such a line"),
        info("writes", "16", "1..64", "writes under way to memory, and as many reads around the bank"),
        info("l2_write", "through-inv", "combine, through-inv", "data written back to unregistered lines"),
        info("owned_aware", "1", "0, 1", "unregistered lines are replaced first"),
        info(
            "inject",
            "none",
            "none, grant-before-flush, lost-unreg, early-unreg-ack, lost-recall, early-wb-ack, stale-fill",
            "a fault put in on purpose (simulation only)",
        ),
    ];
    let cus = |p: ParamInfo| if p.name == "cus" { ParamInfo { default: "128".into(), ..p } } else { p };
    all.extend(srsp_params().into_iter().map(cus));
    all
}
