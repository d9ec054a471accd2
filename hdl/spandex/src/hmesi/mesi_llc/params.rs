//! Parameters of a bank.

use crate::params::{Spandex, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MesiLlcFault {
    /// None.
    None,
    /// A GetS of a shared line does not make its requestor a sharer.
    ForgottenSharer,
    /// A shared line is replaced without Inv.
    DropShared,
    /// A Put of a client that is not the owner counts.
    StalePut,
    /// Dirty data that comes back does not make the line dirty.
    LostDirty,
    /// DataM says one InvAck less than Invs are sent.
    ShortAcks,
    /// A busy line takes a Put.
    EarlyPut,
    /// The old owner of a line that becomes shared is forgotten.
    ForgottenOwner,
    /// Unblock ends a transaction although WbData is still to come.
    NoWbData,
}

impl MesiLlcFault {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(MesiLlcFault, &'static str)] = &[
        (MesiLlcFault::None, "none"),
        (MesiLlcFault::ForgottenSharer, "forgotten-sharer"),
        (MesiLlcFault::DropShared, "drop-shared"),
        (MesiLlcFault::StalePut, "stale-put"),
        (MesiLlcFault::LostDirty, "lost-dirty"),
        (MesiLlcFault::ShortAcks, "short-acks"),
        (MesiLlcFault::EarlyPut, "early-put"),
        (MesiLlcFault::ForgottenOwner, "forgotten-owner"),
        (MesiLlcFault::NoWbData, "no-wb-data"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        MesiLlcFault::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MesiLlcParams {
    /// Message widths, numbers of clients, banks and TBEs.
    pub s: Spandex,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// Stalled requests, 1..256.
    pub stalls: u32,
    /// A fault put in on purpose.
    pub fault: MesiLlcFault,
}

impl MesiLlcParams {
    /// The published L3: 8 MB; 16 ways, 32 stalled requests per bank as in the Spandex LLC.
    pub fn published(s: Spandex) -> MesiLlcParams {
        MesiLlcParams { s, size: 8 << 20, ways: 16, stalls: 32, fault: MesiLlcFault::None }
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
    /// Width of a place among the stalled requests.
    pub fn stall_bits(&self) -> u32 {
        bits_for(u64::from(self.stalls))
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
        (own - u64::from(self.s.l3_node(0))).resize(self.s.bank_select().max(1))
    }
    /// Place of a way in the data array.
    pub fn row_of(&self, set: Bits, way: Bits) -> Bits {
        if self.index_bits() == 0 { way } else { cat(&[set, way]) }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let MesiLlcParams { s, size, ways, stalls, .. } = self;
        let fault = match self.fault {
            MesiLlcFault::None => String::new(),
            fault => format!("_{}", fault.word().replace('-', "_")),
        };
        format!("mesi_llc_{}_s{size}_w{ways}_n{stalls}{fault}", s.name_part())
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let bad = |key: &str, value: u32, problem: &str| {
            let legal = infos().iter().find(|i| i.name == key).map_or("", |i| i.legal);
            Err(BlockError::Illegal {
                block: "mesi-llc".into(),
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
    pub fn from_set(set: &ParamSet) -> Result<MesiLlcParams, BlockError> {
        let text = set.text("inject");
        let fault = MesiLlcFault::WORDS.iter().find(|w| w.1 == text).map(|w| w.0);
        let p = MesiLlcParams {
            s: spandex_from(set)?,
            size: set.within("size", 0, 1 << 30)? as u32,
            ways: set.within("ways", 2, 16)? as u32,
            stalls: set.within("n_stall", 1, 256)? as u32,
            fault: fault.ok_or_else(|| set.illegal("inject", "it is not known"))?,
        };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        vec![
            ("cpus", self.s.cpus.to_string()),
            ("cus", self.s.cus.to_string()),
            ("banks", self.s.banks.to_string()),
            ("line", self.s.line.to_string()),
            ("tbes", self.s.tbes.to_string()),
            ("size", self.size.to_string()),
            ("ways", self.ways.to_string()),
            ("n_stall", self.stalls.to_string()),
            ("inject", self.fault.word().into()),
        ]
    }
}

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut all = vec![
        info("size", "8M", "banks * line * ways * 2^k, k in 0..16", "bytes of all banks together"),
        info("ways", "16", "2, 4, 8, 16", "ways"),
        info("n_stall", "32", "1..256", "requests stalled at busy lines, per bank"),
        info(
            "inject",
            "none",
            "none, forgotten-sharer, drop-shared, stale-put, lost-dirty, short-acks, early-put, forgotten-owner, no-wb-data",
            "a fault put in on purpose (simulation only)",
        ),
    ];
    all.extend(spandex_params());
    all
}
