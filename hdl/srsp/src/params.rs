//! What fixes the widths of all messages of a GPU with scoped synchronisation (srsp.md section 2), and which system it is.

use weft_blocks::msg::Sys;
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;
use weft_rtl::prelude::*;

/// The system that an L1 or an L2 bank belongs to: srsp.md's `IMPL`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Impl {
    /// Scopes without remote operations: a remote one is an assertion.
    Base,
    /// Remote operations broadcast flush and invalidation to every L1; the line is locked at the L2, as with
    /// sRSP.
    Brsp,
    /// The same, with the address locked in every L1, one remote operation of the GPU at a time: a token
    /// orders them.
    BrspToken,
    /// Remote operations act where LR-TBL and PA-TBL say.
    Srsp,
    /// sRSP with the local check, PACKs that say hit or miss, and the predictor of the local modifier (section 5.3).
    SrspOpt,
}

impl Impl {
    /// LR-TBL and PA-TBL are there.
    pub fn selective(self) -> bool {
        matches!(self, Impl::Srsp | Impl::SrspOpt)
    }

    /// Remote operations are broadcast to every L1.
    pub fn broadcasts(self) -> bool {
        matches!(self, Impl::Brsp | Impl::BrspToken)
    }

    /// Every remote operation holds the lock of its line at the L2, from before its first probe until it is
    /// performed, or what it invalidates is invalidated.
    pub fn locks_lines(self) -> bool {
        matches!(self, Impl::Brsp | Impl::Srsp | Impl::SrspOpt)
    }
}

/// What fixes the widths of all messages of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Srsp {
    /// CUs, and so L1s, 1..128.
    pub cus: u32,
    /// Bits of a byte address, 32..64.
    pub addr_bits: u32,
    /// Bytes of a line: 64 or 128.
    pub line: u32,
    /// L2 banks, line interleaved: 1, 2, 4 or 8.
    pub banks: u32,
    /// MSHRs of an L1, 1..64.
    pub mshrs: u32,
    /// Write-backs of an L1 that wait for their WB_ACK, 2..64.
    pub wbt: u32,
}

impl Default for Srsp {
    /// The published GPU: 64 CUs.
    fn default() -> Srsp {
        Srsp { cus: 64, addr_bits: 48, line: 64, banks: 4, mshrs: 16, wbt: 16 }
    }
}

impl Srsp {
    /// Width of a line number LA: 42 by default.
    pub fn line_bits(&self) -> u32 {
        self.addr_bits - self.line.trailing_zeros()
    }
    /// Width of a line's data in bits: 512.
    pub fn data_bits(&self) -> u32 {
        8 * self.line
    }
    /// Width of the address of a word of 4 bytes, which the tables hold: 46.
    pub fn word_bits(&self) -> u32 {
        self.addr_bits - 2
    }
    /// Width of a CU's number `c`; 1 also for a single CU.
    pub fn cu_bits(&self) -> u32 {
        bits_for(u64::from(self.cus))
    }
    /// Width of a bank's number as a field; 1 also for a single bank.
    pub fn bank_bits(&self) -> u32 {
        bits_for(u64::from(self.banks))
    }
    /// Width of an MSHR's number `m`.
    pub fn mshr_bits(&self) -> u32 {
        bits_for(u64::from(self.mshrs))
    }
    /// Width of a WBT entry's number `w`.
    pub fn wbt_bits(&self) -> u32 {
        bits_for(u64::from(self.wbt))
    }
    /// Bank of a line number: its lowest bits.
    pub fn bank_of(&self, line: Bits) -> Bits {
        if self.banks == 1 { lit(0, 1) } else { line.slice(0, self.banks.trailing_zeros()) }
    }
    /// Line number of a byte address.
    pub fn line_of(&self, addr: Bits) -> Bits {
        addr.slice(self.line.trailing_zeros(), self.line_bits())
    }
    /// The widths of the CU port: the same messages as in every other family.
    pub fn cu(&self) -> Sys {
        Sys {
            gpus: 2,
            gpms: 1,
            addr_bits: self.addr_bits,
            line: self.line,
            banks: self.banks,
            l1s: self.cus,
            l2_mshrs: 2,
            l1_mshrs: self.mshrs,
            il: self.line,
            home_shift: self.addr_bits - 5,
            owners: false,
        }
    }
    /// Part of a module's name that these parameters determine.
    pub fn tag(&self) -> String {
        format!(
            "c{}_a{}_l{}_b{}_m{}_w{}",
            self.cus, self.addr_bits, self.line, self.banks, self.mshrs, self.wbt
        )
    }
}

/// The parameters that fix message widths on the command line, with the published values as defaults.
pub fn srsp_params() -> Vec<ParamInfo> {
    let s = Srsp::default();
    let info =
        |name, default: u32, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    vec![
        info("cus", s.cus, "1..128", "compute units, and so L1s"),
        info("addr_bits", s.addr_bits, "32..64", "bits of a byte address"),
        info("line", s.line, "64 or 128", "bytes of a line"),
        info("banks", s.banks, "1, 2, 4 or 8", "L2 banks, line interleaved"),
        info("mshrs", s.mshrs, "1..64", "misses of an L1 under way"),
        info("wbt", s.wbt, "2..64", "write-backs of an L1 that wait for their acknowledgement"),
    ]
}

/// Reads `addr_bits` and `line` alone, for blocks that have no other parameter of [`srsp_params`].
///
/// # Errors
/// A value outside its range.
pub fn widths_from(p: &ParamSet) -> Result<Srsp, BlockError> {
    let addr_bits = p.within("addr_bits", 32, 64)? as u32;
    let line = p.within("line", 64, 128)? as u32;
    let legal = line.is_power_of_two();
    if legal {
        Ok(Srsp { addr_bits, line, ..Srsp::default() })
    } else {
        Err(p.illegal("line", "it is no power of two"))
    }
}

/// Reads the parameters of [`srsp_params`].
///
/// # Errors
/// A value outside its range.
pub fn srsp_from(p: &ParamSet) -> Result<Srsp, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let power = |key, lo, hi| {
        let value = number(key, lo, hi)?;
        if value.is_power_of_two() { Ok(value) } else { Err(p.illegal(key, "it is no power of two")) }
    };
    Ok(Srsp {
        cus: number("cus", 1, 128)?,
        addr_bits: number("addr_bits", 32, 64)?,
        line: power("line", 64, 128)?,
        banks: power("banks", 1, 8)?,
        mshrs: number("mshrs", 1, 64)?,
        wbt: number("wbt", 2, 64)?,
    })
}

/// Refuses the value of a key of a block unless it is `good`: what is wrong with it, and what is legal.
///
/// # Errors
/// It is not.
pub(crate) fn check(
    block: &str,
    good: bool,
    (key, value): (&str, impl ToString),
    (problem, legal): (&str, &str),
) -> Result<(), BlockError> {
    if good {
        return Ok(());
    }
    let (key, value, problem, legal) = (key.into(), value.to_string(), problem.into(), legal.into());
    Err(BlockError::Illegal { block: block.into(), key, value, problem, legal })
}

/// Refuses the value of a key of a block outside a range.
///
/// # Errors
/// It lies there.
pub(crate) fn within(block: &str, of: (&str, u32), (lo, hi): (u32, u32)) -> Result<(), BlockError> {
    check(block, (lo..=hi).contains(&of.1), of, ("it lies outside", &format!("{lo}..{hi}")))
}

/// The value of a key that is given by a word.
///
/// # Errors
/// A word that is not known.
pub(crate) fn value<T: Copy>(
    words: &[(T, &'static str)],
    set: &ParamSet,
    key: &str,
) -> Result<T, BlockError> {
    let text = set.text(key);
    let found = words.iter().find(|w| w.1 == text);
    found.map(|w| w.0).ok_or_else(|| set.illegal(key, "it is not known"))
}

/// A parameter of the command line.
pub(crate) fn info(name: &'static str, default: &str, legal: &'static str, about: &'static str) -> ParamInfo {
    ParamInfo { name, default: default.into(), legal, about }
}
