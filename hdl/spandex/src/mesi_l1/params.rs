//! Parameters of the MESI L1.

use crate::mesi_port::MesiPort;
use crate::params::{chosen, param_info, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum MesiL1Inject {
    /// None.
    None,
    /// Operations join an MSHR that was closed by an invalidation or removal.
    JoinShut,
    /// A release does not wait for stores that wait for their line.
    EarlyRelease,
    /// A line being written back in place is open to loads.
    ReadWbp,
}

/// What fixes a MESI L1 (spandex.md section 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MesiL1Params {
    /// Widths, size and ways.
    pub port: MesiPort,
    /// A load that synchronises needs ownership, as every other access that does (section 7); else it may read a shared copy.
    pub sync_own: bool,
    /// Shared reads may be answered by words that nobody invalidates (`REQS_POLICY` = opt2): after an acquire no operation joins an older read.
    pub weak_reads: bool,
    /// Fault (simulation only).
    pub inject: MesiL1Inject,
}

/// Checks size and ways of an L1.
pub(crate) fn check_port(block: &str, port: &MesiPort) -> Result<(), BlockError> {
    let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
        if good {
            return Ok(());
        }
        let (key, value, problem, legal) = (key.into(), value.to_string(), problem.into(), legal.into());
        Err(BlockError::Illegal { block: block.into(), key, value, problem, legal })
    };
    let ways = port.ways.is_power_of_two() && (2..=32).contains(&port.ways);
    check(ways, "ways", port.ways, "it is no supported number of ways", "2, 4, 8, 16, 32")?;
    let even = port.size.is_multiple_of(port.spandex.line * port.ways);
    let sets = even && port.sets().is_power_of_two() && (2..=1024).contains(&port.sets());
    let problem = "size / (ways * line) is no power of two from 2 to 1024";
    check(sets, "size", port.size, problem, "ways * line * 2^k, k in 1..10")
}

/// Reads size and ways, and what fixes the widths.
pub(crate) fn port_from(set: &ParamSet) -> Result<MesiPort, BlockError> {
    let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
    let (size, ways) = (number("size", 32, 8 << 20)?, number("ways", 2, 32)?);
    Ok(MesiPort { spandex: spandex_from(set)?, size, ways })
}

/// Size and ways with their defaults.
pub(crate) fn port_infos() -> Vec<ParamInfo> {
    vec![
        param_info("size", "32K", "ways * line * 2^k, k in 1..10", "bytes of data in the L1"),
        param_info("ways", "8", "2, 4, 8, 16, 32", "ways of a set of the L1"),
    ]
}

impl MesiL1Params {
    /// An L1 without faults.
    pub fn new(port: MesiPort) -> MesiL1Params {
        MesiL1Params { port, sync_own: true, weak_reads: false, inject: MesiL1Inject::None }
    }

    /// Width of a number of an entry of the store buffer.
    pub fn entry_bits(&self) -> u32 {
        weft_rtl::bv::bits_for(u64::from(self.port.spandex.sb))
    }

    /// Width of a byte offset in a line.
    pub fn offset_bits(&self) -> u32 {
        self.port.spandex.line.trailing_zeros()
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        format!(
            "mesi_l1_{}_s{}_w{}_o{}_v{}_{}",
            self.port.spandex.name_part(),
            self.port.size,
            self.port.ways,
            u8::from(self.sync_own),
            u8::from(self.weak_reads),
            self.inject.word().replace('-', "_"),
        )
    }

    /// Checks the values that are not [`Spandex`](crate::params::Spandex)'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        check_port("mesi-l1", &self.port)
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<MesiL1Params, BlockError> {
        let params = MesiL1Params {
            port: port_from(set)?,
            sync_own: set.within("sync_own", 0, 1)? == 1,
            weak_reads: set.within("weak_reads", 0, 1)? == 1,
            inject: chosen(set, "inject", MesiL1Inject::WORDS)?,
        };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = port_infos();
    list.extend([
        param_info("sync_own", "1", "0 or 1", "1: a load that synchronises needs ownership of its line"),
        param_info("weak_reads", "0", "0 or 1", "1: no operation after an acquire joins a read before it"),
        param_info("inject", "none", MesiL1Inject::LEGAL, "fault put in on purpose, for simulation"),
    ]);
    list.extend(spandex_params());
    list
}
