//! What fixes the widths of all messages of a Spandex system (spandex.md section 1).

use weft_blocks::msg::Sys;
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// Bits of a word, the unit of ownership.
pub const WORD: u32 = 32;

/// What fixes the widths of all messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spandex {
    /// CPU cores, the devices `0..cpus`, 0..64.
    pub cpus: u32,
    /// GPU CUs, the devices after them, 1..64.
    pub cus: u32,
    /// Devices `0..sharers` may hold words in state S (MESI and Flex L1s), 0..128. The others never send ReqS.
    pub sharers: u32,
    /// Bits of a byte address, 32..64.
    pub addr_bits: u32,
    /// Bytes of a line, a power of two, 8..256: 2 to 64 words.
    pub line: u32,
    /// LLC banks, line interleaved: a power of two, 1..64.
    pub banks: u32,
    /// Misses of an L1 under way, 1..256.
    pub mshrs: u32,
    /// Lines in the store buffer of an L1, 1..256.
    pub sb: u32,
    /// Lines in the write-back buffer of an L1, 1..64.
    pub wbb: u32,
    /// Transactions of a bank under way, 1..64.
    pub tbes: u32,
    /// GPUs, a power of two, 1..8. CPU cores, CUs and banks are numbered through, the first GPU's first, each with an equal share of them.
    pub gpus: u32,
    /// With several GPUs: byte address `a` lies in the memory, and in a bank, of GPU `a >> home_shift`; lines are interleaved over its banks.
    pub home_shift: u32,
}

impl Default for Spandex {
    /// The published system (Table 5.6): 8 CPU cores with MESI L1s, 16 CUs, 16 banks.
    fn default() -> Spandex {
        Spandex {
            cpus: 8,
            cus: 16,
            sharers: 8,
            addr_bits: 48,
            line: 64,
            banks: 16,
            mshrs: 128,
            sb: 128,
            wbb: 16,
            tbes: 16,
            gpus: 1,
            home_shift: 30,
        }
    }
}

impl Spandex {
    /// Devices N_DEV.
    pub fn devs(&self) -> u32 {
        self.cpus + self.cus
    }
    /// Width of a device's number ND: 5 by default; 1 also for a single device.
    pub fn dev_bits(&self) -> u32 {
        bits_for(u64::from(self.devs()))
    }
    /// Nodes of the network: the devices, then the banks.
    pub fn nodes(&self) -> u32 {
        self.devs() + self.banks
    }
    /// Width of a node's number.
    pub fn node_bits(&self) -> u32 {
        bits_for(u64::from(self.nodes()))
    }
    /// Words of a line W.
    pub fn words(&self) -> u32 {
        8 * self.line / WORD
    }
    /// Width of a line's data.
    pub fn data_bits(&self) -> u32 {
        8 * self.line
    }
    /// Width of a line number: 42 by default.
    pub fn line_bits(&self) -> u32 {
        self.addr_bits - self.line.trailing_zeros()
    }
    /// Transactions of a device: numbers `0..mshrs` are its MSHRs, then come the store buffer's entries, then the write-back buffer's.
    pub fn tags(&self) -> u32 {
        self.mshrs + self.sb + self.wbb
    }
    /// Width of a transaction's number: 9 by default. A bank's TBE index travels in the same field.
    pub fn tag_bits(&self) -> u32 {
        bits_for(u64::from(self.tags().max(self.tbes)))
    }
    /// Width of an MSHR's number.
    pub fn mshr_bits(&self) -> u32 {
        bits_for(u64::from(self.mshrs))
    }
    /// Width of a TBE's number.
    pub fn tbe_bits(&self) -> u32 {
        bits_for(u64::from(self.tbes))
    }
    /// Width of a message's length in flits of 16 bytes: at most a header and all words.
    pub fn flit_bits(&self) -> u32 {
        bits_for(u64::from(2 + self.words().div_ceil(4)))
    }
    /// Width of a bank's number; 1 also for a single bank.
    pub fn bank_bits(&self) -> u32 {
        bits_for(u64::from(self.banks))
    }
    /// Banks of a GPU.
    pub fn banks_each(&self) -> u32 {
        self.banks / self.gpus
    }
    /// Lowest line bits, which choose the bank of a GPU.
    pub fn bank_select(&self) -> u32 {
        self.banks_each().trailing_zeros()
    }
    /// Node of the bank of a line: banks follow the devices.
    pub fn home(&self, line: Bits) -> Bits {
        let (gpu, bank) = (self.gpus.trailing_zeros(), self.bank_select());
        let mut number = Vec::new();
        if gpu > 0 {
            number.push(line.slice(self.home_shift - self.line.trailing_zeros(), gpu));
        }
        if bank > 0 {
            number.push(line.slice(0, bank));
        }
        let first = lit(u64::from(self.devs()), self.node_bits());
        if number.is_empty() { first } else { first + cat(&number).resize(self.node_bits()) }
    }
    /// GPU of a device, and its number there: CPU cores come first.
    pub fn unit(&self, device: u32) -> (u32, u32) {
        let (cpus, cus) = ((self.cpus / self.gpus).max(1), (self.cus / self.gpus).max(1));
        match device.checked_sub(self.cpus) {
            None => (device / cpus, device % cpus),
            Some(cu) => (cu / cus, self.cpus / self.gpus + cu % cus),
        }
    }
    /// Checks what several GPUs share.
    ///
    /// # Errors
    /// A number of GPUs outside its range, or of cores, CUs or banks that cannot be shared evenly; memories that the address does not reach.
    pub fn validate_gpus(&self) -> Result<(), BlockError> {
        let illegal = |key: &str, value: u32, problem: &str, legal: String| {
            let (block, key, value, problem) =
                ("spandex-net".into(), key.into(), value.to_string(), problem.into());
            Err(BlockError::Illegal { block, key, value, problem, legal })
        };
        if !self.gpus.is_power_of_two() || self.gpus > 8 {
            return illegal("gpus", self.gpus, "it is no power of two of at most 8", "1, 2, 4 or 8".into());
        }
        for (key, value) in [("cpus", self.cpus), ("cus", self.cus), ("banks", self.banks)] {
            if !value.is_multiple_of(self.gpus) {
                let legal = format!("a multiple of gpus = {}", self.gpus);
                return illegal(key, value, "every GPU has as many", legal);
            }
        }
        let (least, most) =
            (self.line.trailing_zeros() + self.bank_select(), self.addr_bits - self.gpus.trailing_zeros());
        if self.gpus > 1 && !(least..=most).contains(&self.home_shift) {
            let problem = "an address does not reach the memories of all GPUs";
            return illegal("home_shift", self.home_shift, problem, format!("{least}..{most}"));
        }
        Ok(())
    }
    /// The widths of the CU port: the same messages as in every other family.
    pub fn cu(&self) -> Sys {
        Sys {
            gpus: 2,
            gpms: 1,
            addr_bits: self.addr_bits,
            line: self.line,
            banks: 1,
            l1s: 2,
            l2_mshrs: 2,
            l1_mshrs: 2,
            il: self.line,
            home_shift: self.addr_bits - 5,
            owners: false,
        }
    }
    /// Part of a module's name that these parameters determine.
    pub fn name_part(&self) -> String {
        let gpus =
            if self.gpus == 1 { String::new() } else { format!("_g{}_{}", self.gpus, self.home_shift) };
        format!(
            "d{}_{}_{}_a{}_l{}_b{}_m{}_{}_{}_t{}{gpus}",
            self.cpus,
            self.cus,
            self.sharers,
            self.addr_bits,
            self.line,
            self.banks,
            self.mshrs,
            self.sb,
            self.wbb,
            self.tbes
        )
    }
}

/// The parameters that fix message widths on the command line, with the published values as defaults.
pub fn spandex_params() -> Vec<ParamInfo> {
    let s = Spandex::default();
    let info =
        |name, default: u32, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    vec![
        info("cpus", s.cpus, "0..64", "CPU cores, the first devices"),
        info("cus", s.cus, "1..64", "GPU CUs, the devices after them"),
        info("sharers", s.sharers, "0..cpus + cus", "devices that may hold words in state S, the first ones"),
        info("addr_bits", s.addr_bits, "32..64", "bits of a byte address"),
        info("line", s.line, "8, 16, 32, 64, 128 or 256", "bytes of a line"),
        info("banks", s.banks, "1, 2, 4, 8, 16, 32 or 64", "LLC banks, line interleaved"),
        info("mshrs", s.mshrs, "1..256", "misses of an L1 under way"),
        info("sb", s.sb, "1..256", "lines in the store buffer of an L1"),
        info("wbb", s.wbb, "1..64", "lines in the write-back buffer of an L1"),
        info("tbes", s.tbes, "1..64", "transactions of a bank under way"),
    ]
}

/// Reads the parameters of [`spandex_params`].
///
/// # Errors
/// A value outside its range, or values that do not go together.
pub fn spandex_from(p: &ParamSet) -> Result<Spandex, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let power = |key, lo, hi| {
        let value = number(key, lo, hi)?;
        if value.is_power_of_two() { Ok(value) } else { Err(p.illegal(key, "it is no power of two")) }
    };
    let s = Spandex {
        cpus: number("cpus", 0, 64)?,
        cus: number("cus", 1, 64)?,
        sharers: number("sharers", 0, 128)?,
        addr_bits: number("addr_bits", 32, 64)?,
        line: power("line", 8, 256)?,
        banks: power("banks", 1, 64)?,
        mshrs: number("mshrs", 1, 256)?,
        sb: number("sb", 1, 256)?,
        wbb: number("wbb", 1, 64)?,
        tbes: number("tbes", 1, 64)?,
        ..Spandex::default()
    };
    if s.sharers > s.devs() {
        return Err(p.illegal("sharers", &format!("there are only cpus + cus = {} devices", s.devs())));
    }
    Ok(s)
}

/// A parameter of the command line.
pub(crate) fn param_info(
    name: &'static str,
    default: &str,
    legal: &'static str,
    about: &'static str,
) -> ParamInfo {
    ParamInfo { name, default: default.into(), legal, about }
}

/// The value that a parameter names.
///
/// # Errors
/// An unknown word.
pub(crate) fn chosen<T: Copy>(set: &ParamSet, key: &str, words: &[(T, &str)]) -> Result<T, BlockError> {
    let text = set.text(key);
    let found = words.iter().find(|w| w.1 == text).map(|w| w.0);
    found.ok_or_else(|| set.illegal(key, "it is not known"))
}
