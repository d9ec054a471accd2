//! Parameters of the stash.

use crate::gpu_l1::{GpuL1Params, SbDrain};
use crate::params::{Spandex, chosen, param_info, spandex_from, spandex_params};
use crate::word_l1::{Atomics, Inject as WordInject, L1Kind, WordL1Params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;
use weft_rtl::bv::bits_for;

/// Bits of the distance between two elements, in words.
pub const STRIDE: u32 = 16;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Inject {
    /// None.
    None,
    /// An acquire leaves no mark on reads under way.
    NoStale,
    /// A write-back closes when it is answered, whatever forward crosses it.
    NoCross,
    /// A removal that comes while ownership is asked for leaves the word pending, and then owned.
    KeepsOwnership,
    /// A read asks for words whose write-back is open.
    NoWait,
    /// A store leaves no mark on reads of its line under way.
    FillOverStore,
    /// Words that another mapping owns are asked for without writing them back first.
    KeepsAlias,
    /// A new mapping forgets owned words of its space.
    ForgetsOwned,
    /// A forward is looked up in the first mapping of its line only.
    FirstMapOnly,
}

/// What fixes a stash (cu-and-consistency.md sections 4 and 8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StashParams {
    /// Widths of messages; MSHRs, store buffer and write-back buffer entries.
    pub spandex: Spandex,
    /// Capacity in bytes: 16 KB.
    pub size: u32,
    /// Banks, one word wide: 32; a power of two of at least the words of a line, at most 64.
    pub banks: u32,
    /// Entries of the stash map: 32; a power of two, 2..64.
    pub maps: u32,
    /// Loads that wait for one MSHR, 1..64.
    pub targets: u32,
    /// Acknowledgements that wait for ownership, 1..64.
    pub releases: u32,
    /// When pending stores ask for ownership.
    pub sb_drain: SbDrain,
    /// Fault (simulation only).
    pub inject: Inject,
}

const SIZE: &str = "4 * stash_banks * 2^k, k in 1..10";
const BANKS: &str = "2, 4, 8, 16, 32, 64; at least the words of a line";

impl StashParams {
    /// The published stash: 16 KB in 32 banks; Decision: 32 mappings.
    pub fn published(spandex: Spandex) -> StashParams {
        StashParams {
            spandex,
            size: 16 << 10,
            banks: 32,
            maps: 32,
            targets: 8,
            releases: 8,
            sb_drain: SbDrain::Full,
            inject: Inject::None,
        }
    }

    /// Words.
    pub fn words(&self) -> u32 {
        self.size / 4
    }
    /// Words of a bank.
    pub fn rows(&self) -> u32 {
        self.words() / self.banks
    }
    /// Width of a row's number.
    pub fn row_bits(&self) -> u32 {
        bits_for(u64::from(self.rows()))
    }
    /// Width of a bank's number.
    pub fn bank_bits(&self) -> u32 {
        bits_for(u64::from(self.banks))
    }
    /// Width of a word's number: its row, then its bank.
    pub fn word_bits(&self) -> u32 {
        self.row_bits() + self.bank_bits()
    }
    /// Width of a mapping's number.
    pub fn map_bits(&self) -> u32 {
        bits_for(u64::from(self.maps))
    }
    /// Width of a number of words, 0 to all of them.
    pub fn count_bits(&self) -> u32 {
        bits_for(u64::from(self.words()) + 1)
    }
    /// Width of a global word's number.
    pub fn global_bits(&self) -> u32 {
        self.spandex.addr_bits - 2
    }
    /// Width of the number of a word in its line.
    pub fn offset_bits(&self) -> u32 {
        bits_for(u64::from(self.spandex.words()))
    }
    /// Width of a target's number.
    pub fn target_bits(&self) -> u32 {
        bits_for(u64::from(self.targets))
    }

    /// The same as parameters of the parts of an L1 whose words are owned one by one.
    pub(crate) fn word(&self) -> WordL1Params {
        let plain = GpuL1Params::published(self.spandex.clone());
        let (targets, releases, sb_drain) = (self.targets, self.releases, self.sb_drain);
        let inject = match self.inject {
            Inject::NoCross => WordInject::NoCross,
            Inject::KeepsOwnership => WordInject::KeepsOwnership,
            _ => WordInject::None,
        };
        let l1 = GpuL1Params { targets, releases, sb_drain, ..plain };
        WordL1Params { l1, kind: L1Kind::Stash, atomics: Atomics::Own, regions: false, inject }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let drain = self.sb_drain.word();
        let inject = self.inject.word().replace('-', "_");
        let (name, size, banks, maps) = (self.spandex.name_part(), self.size, self.banks, self.maps);
        let (targets, releases) = (self.targets, self.releases);
        format!("stash_{name}_s{size}_k{banks}_p{maps}_t{targets}_r{releases}_{drain}_{inject}")
    }

    /// The parameters beside [`Spandex`], for reports.
    pub fn described(&self) -> Vec<(&'static str, String)> {
        vec![
            ("size", self.size.to_string()),
            ("stash_banks", self.banks.to_string()),
            ("maps", self.maps.to_string()),
            ("targets", self.targets.to_string()),
            ("releases", self.releases.to_string()),
            ("sb_drain", self.sb_drain.word().into()),
            ("inject", self.inject.word().into()),
        ]
    }

    /// Checks the values that are not [`Spandex`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            if good {
                return Ok(());
            }
            let (block, key, value) = ("stash".into(), key.into(), value.to_string());
            let (problem, legal) = (problem.into(), legal.into());
            Err(BlockError::Illegal { block, key, value, problem, legal })
        };
        let outside = "it lies outside";
        let words = self.spandex.words();
        let banks = self.banks.is_power_of_two() && (words..=64).contains(&self.banks);
        let problem =
            format!("it is no supported number of banks; it is at least {words}, the words of a line, here");
        check(banks, "stash_banks", self.banks, &problem, BANKS)?;
        let whole = self.size.is_multiple_of(4 * self.banks) && self.rows().is_power_of_two();
        check(
            whole && (2..=1024).contains(&self.rows()),
            "size",
            self.size,
            "size / (4 * banks) is no power of two from 2 to 1024",
            SIZE,
        )?;
        let maps = self.maps.is_power_of_two() && (2..=64).contains(&self.maps);
        check(maps, "maps", self.maps, "it is no supported number of mappings", "2, 4, 8, 16, 32, 64")?;
        check((1..=64).contains(&self.targets), "targets", self.targets, outside, "1..64")?;
        check((1..=64).contains(&self.releases), "releases", self.releases, outside, "1..64")
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<StashParams, BlockError> {
        let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
        let params = StashParams {
            spandex: spandex_from(set)?,
            size: number("size", 16, 1 << 18)?,
            banks: number("stash_banks", 2, 64)?,
            maps: number("maps", 2, 64)?,
            targets: number("targets", 1, 64)?,
            releases: number("releases", 1, 64)?,
            sb_drain: chosen(set, "sb_drain", SbDrain::WORDS)?,
            inject: chosen(set, "inject", Inject::WORDS)?,
        };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = vec![
        param_info("size", "16K", SIZE, "bytes of data"),
        param_info("stash_banks", "32", BANKS, "banks of a word"),
        param_info("maps", "32", "2, 4, 8, 16, 32, 64", "entries of the stash map"),
        param_info("targets", "8", "1..64", "loads that wait for one read"),
        param_info("releases", "8", "1..64", "acknowledgements that wait for ownership"),
        param_info("sb_drain", "full", "full, highwater, eager", "when pending stores ask for ownership"),
        param_info("inject", "none", Inject::LEGAL, "fault put in on purpose, for simulation"),
    ];
    list.extend(spandex_params());
    list
}
