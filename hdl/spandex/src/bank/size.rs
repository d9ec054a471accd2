//! Sets, ways and places of a bank, and the cut of a line's number.

use crate::params::{Spandex, param_info, spandex_from};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// What fixes the sets and places of a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bank {
    /// Message widths, numbers of devices, banks and TBEs.
    pub s: Spandex,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// Stalled requests per bank, N_STALL, 1..256.
    pub stalls: u32,
    /// Banks of an L3: their nodes are behind those of as many banks of L2s, else behind the devices.
    pub l3: bool,
}

impl Bank {
    /// The published sizes of a bank of a cache of `size` bytes: 16 ways, 32 stalled requests.
    pub(crate) fn published(s: Spandex, size: u32, l3: bool) -> Bank {
        Bank { s, size, ways: 16, stalls: 32, l3 }
    }

    /// Reads the sizes from the command line.
    ///
    /// # Errors
    /// A value that is no number, or lies outside.
    pub(crate) fn from_set(set: &ParamSet, l3: bool) -> Result<Bank, BlockError> {
        Ok(Bank {
            s: spandex_from(set)?,
            size: set.within("size", 0, 1 << 30)? as u32,
            ways: set.within("ways", 2, 16)? as u32,
            stalls: set.within("n_stall", 1, 256)? as u32,
            l3,
        })
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
    fn bank_of(&self, own: Bits) -> Bits {
        let first = if self.l3 { self.s.l3_node(0) } else { self.s.devs() };
        (own - u64::from(first)).resize(self.s.bank_select().max(1))
    }
    /// A line is of the bank whose node is `own`.
    pub fn is_home(&self, line: Bits, own: Bits) -> Bool {
        match self.s.bank_select() {
            0 => bool_lit(true),
            bits => line.slice(0, bits).eq(self.bank_of(own)),
        }
    }
    /// Place of a way in the data array.
    pub fn row_of(&self, set: Bits, way: Bits) -> Bits {
        if self.index_bits() == 0 { way } else { cat(&[set, way]) }
    }

    /// Checks the values; `infos`: parameters of the block, with their legal ranges.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub(crate) fn validate(&self, block: &str, infos: &[ParamInfo]) -> Result<(), BlockError> {
        let bad = |key: &str, value: u32, problem: &str| {
            let legal = infos.iter().find(|i| i.name == key).map_or("", |i| i.legal);
            Err(BlockError::Illegal {
                block: block.into(),
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

    /// Parameters for reports: of messages and numbers, of the bank.
    pub(crate) fn listed(&self) -> (Vec<(&'static str, String)>, Vec<(&'static str, String)>) {
        let s = &self.s;
        let of = |pairs: &[(&'static str, u32)]| pairs.iter().map(|(k, v)| (*k, v.to_string())).collect();
        (
            of(&[("cpus", s.cpus), ("cus", s.cus)]),
            of(&[
                ("banks", s.banks),
                ("line", s.line),
                ("tbes", s.tbes),
                ("size", self.size),
                ("ways", self.ways),
                ("n_stall", self.stalls),
            ]),
        )
    }

    /// The bank's part of a module's name.
    pub(crate) fn name_part(&self) -> String {
        format!("{}_s{}_w{}_n{}", self.s.name_part(), self.size, self.ways, self.stalls)
    }
}

/// The bank's parameters on the command line; `size`: by default, `blocked`: what requests are stalled at.
pub(crate) fn infos(size: &str, blocked: &'static str) -> Vec<ParamInfo> {
    vec![
        param_info("size", size, "banks * line * ways * 2^k, k in 0..16", "bytes of all banks together"),
        param_info("ways", "16", "2, 4, 8, 16", "ways"),
        param_info("n_stall", "32", "1..256", blocked),
    ]
}

/// What the name of a module says of a fault: nothing if there is none.
pub(crate) fn fault_part(word: &str) -> String {
    if word == "none" { String::new() } else { format!("_{}", word.replace('-', "_")) }
}
