//! Parameters of a bank.

use crate::params::{Spandex, WORD, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// How a bank answers ReqS: spandex.md's `REQS_POLICY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ReqsPolicy {
    /// The requestor becomes a sharer.
    Opt1,
    /// It gets the words to use once.
    Opt2,
    /// It gets ownership.
    Opt3,
    /// Sharer if the line is S or a word is owned by a device that may hold S, else ownership.
    Eval,
}

impl ReqsPolicy {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(ReqsPolicy, &'static str)] = &[
        (ReqsPolicy::Opt1, "opt1"),
        (ReqsPolicy::Opt2, "opt2"),
        (ReqsPolicy::Opt3, "opt3"),
        (ReqsPolicy::Eval, "eval"),
    ];
}

/// What is revoked for a ReqWT+data: spandex.md's `RVKO_GRAN`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RvkoGran {
    /// All words of the line that the owner of a target word owns.
    Line,
    /// The target words.
    Word,
}

impl RvkoGran {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(RvkoGran, &'static str)] =
        &[(RvkoGran::Line, "line"), (RvkoGran::Word, "word")];
}

/// What is kept of the sharers of a line: spandex.md's `SHARER_MODE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SharerMode {
    /// A bit per device that may hold S.
    Exact,
    /// Nothing: Inv goes to all of them.
    Broadcast,
}

impl SharerMode {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(SharerMode, &'static str)] =
        &[(SharerMode::Exact, "exact"), (SharerMode::Broadcast, "broadcast")];
}

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LlcFault {
    /// None.
    None,
    /// An Inv counts as answered when it is sent.
    EarlyAck,
    /// RspWB does not say that a revocation crosses the write-back.
    NoCross,
    /// How a ReqS is answered is decided again after the revocation.
    UnlatchedPolicy,
    /// A line is replaced without taking its owned words back.
    DropOwned,
    /// A ReqS does not make its requestor a sharer.
    ForgottenSharer,
    /// Extras are taken of owned words, too: owners' numbers instead of data.
    OwnedExtras,
    /// Dirty words that come back do not make the line dirty.
    LostDirty,
    /// A revocation ends when the owner has answered, although its write-back is still to come.
    NoWait,
    /// A write-through leaves the old owner in the line.
    StaleOwner,
}

impl LlcFault {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(LlcFault, &'static str)] = &[
        (LlcFault::None, "none"),
        (LlcFault::EarlyAck, "early-ack"),
        (LlcFault::NoCross, "no-cross"),
        (LlcFault::UnlatchedPolicy, "unlatched-policy"),
        (LlcFault::DropOwned, "drop-owned"),
        (LlcFault::ForgottenSharer, "forgotten-sharer"),
        (LlcFault::OwnedExtras, "owned-extras"),
        (LlcFault::LostDirty, "lost-dirty"),
        (LlcFault::NoWait, "no-wait"),
        (LlcFault::StaleOwner, "stale-owner"),
    ];
}

fn word<T: Copy + PartialEq>(words: &[(T, &'static str)], value: T) -> &'static str {
    words.iter().find(|w| w.0 == value).map_or("", |w| w.1)
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LlcParams {
    /// Message widths, numbers of devices, banks and TBEs.
    pub s: Spandex,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// Stalled requests N_STALL, 1..256.
    pub stalls: u32,
    /// How ReqS is answered.
    pub reqs: ReqsPolicy,
    /// What is revoked for a ReqWT+data.
    pub rvko: RvkoGran,
    /// The bank adds what else it has of a line to RspV, and lets owners do so.
    pub flex: bool,
    /// What is kept of sharers.
    pub sharers: SharerMode,
    /// A fault put in on purpose.
    pub fault: LlcFault,
}

impl LlcParams {
    /// The published LLC: 8 MB, 16 ways, 32 stalled requests per bank.
    pub fn published(s: Spandex) -> LlcParams {
        LlcParams {
            s,
            size: 8 << 20,
            ways: 16,
            stalls: 32,
            reqs: ReqsPolicy::Eval,
            rvko: RvkoGran::Line,
            flex: true,
            sharers: SharerMode::Exact,
            fault: LlcFault::None,
        }
    }

    /// Sets of a bank: size / (banks * line * ways).
    pub fn sets(&self) -> u32 {
        self.size / (self.s.banks * self.s.line * self.ways)
    }
    /// Line bits that choose the set; 0 for a single set.
    fn index_bits(&self) -> u32 {
        self.sets().trailing_zeros()
    }
    /// Width of a set's number; 1 also for a single set.
    pub fn set_bits(&self) -> u32 {
        self.index_bits().max(1)
    }
    /// Width of a tag: line bits without those of bank and set; 29 by default.
    pub fn tag_bits(&self) -> u32 {
        self.s.line_bits() - self.s.bank_select() - self.index_bits()
    }
    /// Width of a way's number.
    pub fn way_bits(&self) -> u32 {
        self.ways.trailing_zeros()
    }
    /// Width of a place in the data array, {set, way}.
    pub fn row_bits(&self) -> u32 {
        bits_for(u64::from(self.sets() * self.ways))
    }
    /// Width of a place among the stalled requests.
    pub fn stall_bits(&self) -> u32 {
        bits_for(u64::from(self.stalls))
    }
    /// Sharer bits of a line, N_S.
    pub fn sharer_bits(&self) -> u32 {
        if self.sharers == SharerMode::Exact { self.s.sharers } else { 0 }
    }
    /// Width of what stands for a line's sharers inside the bank: a bit per device that may hold S, 1 also if there is none.
    pub(super) fn sharing(&self) -> u32 {
        self.s.sharers.max(1)
    }
    /// Width of the owners of all words of a line.
    pub(super) fn owners_bits(&self) -> u32 {
        self.s.words() * self.s.dev_bits()
    }

    /// Set of a line.
    pub fn set_of(&self, line: Bits) -> Bits {
        match self.index_bits() {
            0 => lit(0, 1),
            bits => line.slice(self.s.bank_select(), bits),
        }
    }
    /// Tag of a line.
    pub fn tag_of(&self, line: Bits) -> Bits {
        line.slice(self.s.bank_select() + self.index_bits(), self.tag_bits())
    }
    /// The line of a tag and set of a bank, whose node is `own`.
    pub fn line_from(&self, tag: Bits, set: Bits, own: Bits) -> Bits {
        let mut parts = vec![tag];
        if self.index_bits() > 0 {
            parts.push(set);
        }
        if self.s.bank_select() > 0 {
            parts.push(self.bank_of(own));
        }
        cat(&parts)
    }
    /// A bank's number, by its node; of a width that also a single bank has.
    pub fn bank_of(&self, own: Bits) -> Bits {
        (own - u64::from(self.s.devs())).resize(self.s.bank_select().max(1))
    }
    /// Place of a way in the data array.
    pub fn row_of(&self, set: Bits, way: Bits) -> Bits {
        if self.index_bits() == 0 { way } else { cat(&[set, way]) }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let LlcParams { s, size, ways, stalls, .. } = self;
        let keys = [word(ReqsPolicy::WORDS, self.reqs), word(RvkoGran::WORDS, self.rvko)].join("_");
        let flex = if self.flex { "_flex" } else { "" };
        let sharers = if self.sharers == SharerMode::Exact { "" } else { "_broadcast" };
        let fault = match self.fault {
            LlcFault::None => String::new(),
            fault => format!("_{}", word(LlcFault::WORDS, fault).replace('-', "_")),
        };
        format!("spandex_llc_{}_s{size}_w{ways}_n{stalls}_{keys}{flex}{sharers}{fault}", s.name_part())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let bad = |key: &str, value: u32, problem: &str| {
            let legal = infos().iter().find(|i| i.name == key).map_or("", |i| i.legal);
            Err(BlockError::Illegal {
                block: "spandex-llc".into(),
                key: key.into(),
                value: value.to_string(),
                problem: problem.into(),
                legal: legal.into(),
            })
        };
        if ![2, 4, 8, 16].contains(&self.ways) {
            return bad("ways", self.ways, "it is none of them");
        }
        let sets = self.sets();
        if !sets.is_power_of_two()
            || sets > 1 << 16
            || sets * self.ways * self.s.line * self.s.banks != self.size
        {
            return bad("size", self.size, "it is not banks * line * ways * 2^k");
        }
        if self.s.line_bits() <= self.s.bank_select() + self.index_bits() {
            return bad("size", self.size, "no bits of the line number are left for tags");
        }
        if !(1..=256).contains(&self.stalls) {
            return bad("n_stall", self.stalls, "it lies outside");
        }
        Ok(())
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<LlcParams, BlockError> {
        fn known<T: Copy>(set: &ParamSet, key: &str, words: &[(T, &str)]) -> Result<T, BlockError> {
            let text = set.text(key);
            let found = words.iter().find(|w| w.1 == text).map(|w| w.0);
            found.ok_or_else(|| set.illegal(key, "it is not known"))
        }
        let p = LlcParams {
            s: spandex_from(set)?,
            size: set.within("size", 0, 1 << 30)? as u32,
            ways: set.within("ways", 2, 16)? as u32,
            stalls: set.within("n_stall", 1, 256)? as u32,
            reqs: known(set, "reqs_policy", ReqsPolicy::WORDS)?,
            rvko: known(set, "rvko_gran", RvkoGran::WORDS)?,
            flex: set.within("flex_rsp", 0, 1)? == 1,
            sharers: known(set, "sharer_mode", SharerMode::WORDS)?,
            fault: known(set, "inject", LlcFault::WORDS)?,
        };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        vec![
            ("cpus", self.s.cpus.to_string()),
            ("cus", self.s.cus.to_string()),
            ("sharers", self.s.sharers.to_string()),
            ("banks", self.s.banks.to_string()),
            ("line", self.s.line.to_string()),
            ("tbes", self.s.tbes.to_string()),
            ("size", self.size.to_string()),
            ("ways", self.ways.to_string()),
            ("n_stall", self.stalls.to_string()),
            ("reqs_policy", word(ReqsPolicy::WORDS, self.reqs).into()),
            ("rvko_gran", word(RvkoGran::WORDS, self.rvko).into()),
            ("flex_rsp", u32::from(self.flex).to_string()),
            ("sharer_mode", word(SharerMode::WORDS, self.sharers).into()),
            ("inject", word(LlcFault::WORDS, self.fault).into()),
        ]
    }
}

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut all = vec![
        info("size", "8M", "banks * line * ways * 2^k, k in 0..16", "bytes of all banks together"),
        info("ways", "16", "2, 4, 8, 16", "ways"),
        info("n_stall", "32", "1..256", "requests stalled at blocked lines, per bank"),
        info("reqs_policy", "eval", "opt1, opt2, opt3, eval", "how ReqS is answered"),
        info("rvko_gran", "line", "line, word", "what is revoked for a ReqWT+data"),
        info("flex_rsp", "1", "0, 1", "available words of the line are added to RspV"),
        info("sharer_mode", "exact", "exact, broadcast", "sharers of a line are kept, or Inv goes to all"),
        info(
            "inject",
            "none",
            "none, early-ack, no-cross, unlatched-policy, drop-owned, forgotten-sharer, owned-extras, lost-dirty, no-wait, stale-owner",
            "a fault put in on purpose (simulation only)",
        ),
    ];
    all.extend(spandex_params());
    all
}

/// Width of a word, for the arrays.
pub(super) const fn word_bits() -> u32 {
    WORD
}
