//! Parameters of the L1.

use crate::msg::Sys;
use crate::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::bv::bits_for;

/// A fault that is put in on purpose: what litmus tests and the checks of a run must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum L1Inject {
    /// None.
    None,
    /// A release is answered at once, whatever the L2 has still to answer.
    EarlyRelease,
    /// An acquire drops no copy, and poisons no miss. A kernel's beginning does.
    KeepsCopies,
}

impl L1Inject {
    /// Every value with its word on the command line.
    pub const WORDS: &'static [(L1Inject, &'static str)] = &[
        (L1Inject::None, "none"),
        (L1Inject::EarlyRelease, "early-release"),
        (L1Inject::KeepsCopies, "keeps-copies"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        L1Inject::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }

    fn from_set(set: &ParamSet) -> Result<L1Inject, BlockError> {
        let text = set.text("inject");
        let found = L1Inject::WORDS.iter().find(|w| w.1 == text);
        found.map(|w| w.0).ok_or_else(|| set.illegal("inject", "it is not known"))
    }
}

/// What fixes an L1 cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L1Params {
    /// Widths; `line` and `l1_mshrs` (open misses, atomics and stores that the CU wants answered, together) are the L1's own sizes.
    pub sys: Sys,
    /// Capacity in bytes.
    pub size: u32,
    /// Ways, a power of two from 2.
    pub ways: u32,
    /// Loads that one miss can answer.
    pub targets: u32,
    /// Stores and atomics that may be unanswered by the L2, per release epoch, 1..255.
    pub stores: u32,
    /// Cycles from taking a load to showing the answer on a hit, 3..64.
    pub latency: u32,
    /// Lines homed in another GPU are not kept (the variant no-remote-caching).
    pub bypass_remote: bool,
    /// A load of a scope beyond the CU is a forced miss (hmg.md section 5.1).
    pub scoped: bool,
    /// Stores go to the L2 with their scope, which decides how far they may stay behind (hmg.md section 5.2, write-back).
    pub store_scope: bool,
    /// Fault (simulation only).
    pub inject: L1Inject,
}

impl L1Params {
    /// The published L1: 16 kB, 4 ways, 20 cycles (rec.md section 9).
    pub fn published(sys: Sys) -> L1Params {
        L1Params {
            sys,
            size: 16 << 10,
            ways: 4,
            targets: 8,
            stores: 64,
            latency: 20,
            bypass_remote: false,
            scoped: false,
            store_scope: false,
            inject: L1Inject::None,
        }
    }

    /// Number of sets: size / (line * ways).
    pub fn sets(&self) -> u32 {
        self.size / (self.sys.line * self.ways)
    }
    /// Width of a set number.
    pub fn set_bits(&self) -> u32 {
        bits_for(u64::from(self.sets()))
    }
    /// Width of a tag: line bits - set bits.
    pub fn tag_bits(&self) -> u32 {
        self.sys.line_bits() - self.set_bits()
    }
    /// Width of a way number and of an age.
    pub fn way_bits(&self) -> u32 {
        bits_for(u64::from(self.ways))
    }
    /// Width of a counter of unanswered stores.
    pub fn store_bits(&self) -> u32 {
        bits_for(u64::from(self.stores) + 1)
    }
    /// Rows of the delay ring: the pipeline itself takes two cycles.
    pub fn ring_rows(&self) -> u32 {
        self.latency - 2
    }
    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let s = &self.sys;
        let bypass = match (self.bypass_remote, s.gpms) {
            (false, _) => String::new(),
            (true, 1) => format!("_bypass{}", s.home_shift),
            (true, gpms) => format!("_bypass{}x{gpms}", s.home_shift),
        };
        let scoped = if self.scoped { "_scoped" } else { "" };
        let stores = if self.store_scope { "_stores" } else { "" };
        let fault = match self.inject {
            L1Inject::None => String::new(),
            fault => format!("_{}", fault.word().replace('-', "_")),
        };
        format!(
            "l1_cache_s{}_w{}_l{}_m{}_t{}_o{}_d{}_a{}_n{}_c{}{bypass}{scoped}{stores}{fault}",
            self.size,
            self.ways,
            s.line,
            s.l1_mshrs,
            self.targets,
            self.stores,
            self.latency,
            s.addr_bits,
            s.nodes(),
            s.l1s,
        )
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let s = &self.sys;
        let check = |good: bool, key: &str, value: u32, problem: &str, legal: &str| {
            if good {
                return Ok(());
            }
            Err(BlockError::Illegal {
                block: "l1-cache".into(),
                key: key.into(),
                value: value.to_string(),
                problem: problem.into(),
                legal: legal.into(),
            })
        };
        check(s.line == 64 || s.line == 128, "line", s.line, "it is no supported line size", "64, 128")?;
        check((32..=64).contains(&s.addr_bits), "addr_bits", s.addr_bits, "it lies outside", "32..64")?;
        let nodes = s.gpus * s.gpms;
        check((2..=64).contains(&nodes), "gpus", nodes, "GPUs times GPMs lie outside", "2..64 nodes in all")?;
        check((1..=256).contains(&s.l1_mshrs), "mshrs", s.l1_mshrs, "it lies outside", "1..256")?;
        let ways = self.ways.is_power_of_two() && (2..=16).contains(&self.ways);
        check(ways, "ways", self.ways, "it is no supported number of ways", "2, 4, 8, 16")?;
        let sets = self.size.is_multiple_of(s.line * self.ways) && self.sets().is_power_of_two();
        check(
            sets && (2..=4096).contains(&self.sets()),
            "size",
            self.size,
            "size / (line * ways) is not a power of two from 2 to 4096",
            "line * ways * 2^k, k in 1..12",
        )?;
        check((1..=16).contains(&self.targets), "targets", self.targets, "it lies outside", "1..16")?;
        let bypass = u32::from(self.bypass_remote);
        check(
            !self.bypass_remote || s.gpus > 1,
            "bypass_remote",
            bypass,
            "a lone GPU has no lines homed elsewhere",
            "0 with gpus = 1",
        )?;
        check((1..=255).contains(&self.stores), "stores", self.stores, "it lies outside", "1..255")?;
        check((3..=64).contains(&self.latency), "latency", self.latency, "it lies outside", "3..64")
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number or illegal.
    pub fn from_set(set: &ParamSet) -> Result<L1Params, BlockError> {
        let sys = Sys {
            gpus: set.within("gpus", 1, 16)? as u32,
            gpms: set.within("gpms", 1, 8)? as u32,
            addr_bits: set.within("addr_bits", 32, 64)? as u32,
            line: set.within("line", 64, 128)? as u32,
            banks: 16,
            l1s: set.within("l1s", 1, 256)? as u32,
            l2_mshrs: 64,
            l1_mshrs: set.within("mshrs", 1, 256)? as u32,
            il: 4096,
            home_shift: set.within("home_shift", 12, 60)? as u32,
            owners: false,
        };
        let params = L1Params {
            sys,
            size: set.within("size", 256, 1 << 23)? as u32,
            ways: set.within("ways", 2, 16)? as u32,
            targets: set.within("targets", 1, 16)? as u32,
            stores: set.within("stores", 1, 255)? as u32,
            latency: set.within("latency", 3, 64)? as u32,
            bypass_remote: set.within("bypass_remote", 0, 1)? == 1,
            scoped: set.within("scoped", 0, 1)? == 1,
            store_scope: set.within("store_scope", 0, 1)? == 1,
            inject: L1Inject::from_set(set)?,
        };
        let sys = &params.sys;
        if sys.home_shift + sys.node_bits() > sys.addr_bits {
            let most = sys.addr_bits - sys.node_bits();
            let problem = format!("no room for the home's number above it; it is at most {most} here");
            return Err(set.illegal("home_shift", &problem));
        }
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    vec![
        info("size", "16K", "line * ways * 2^k, k in 1..12", "bytes of data"),
        info("ways", "4", "2, 4, 8, 16", "ways of a set"),
        info("line", "64", "64, 128", "bytes of a line"),
        info("mshrs", "32", "1..256", "open misses, atomics and answered stores together"),
        info("targets", "8", "1..16", "loads that one miss can answer"),
        info("stores", "64", "1..255", "stores and atomics not yet answered by the L2, per release epoch"),
        info("latency", "20", "3..64", "cycles from taking a load to its answer on a hit"),
        info("bypass_remote", "0", "0, 1", "1: lines homed in another GPU are not kept"),
        info("scoped", "0", "0, 1", "1: loads of a scope beyond the CU are forced misses"),
        info("store_scope", "0", "0, 1", "1: stores go to the L2 with their scope"),
        info(
            "inject",
            "none",
            "none, early-release, keeps-copies",
            "fault put in on purpose, for simulation",
        ),
        info("addr_bits", "48", "32..64", "bits of a byte address"),
        info("gpus", "4", "1..16, 2..64 nodes in all", "GPUs of the system (home number width)"),
        info("gpms", "1", "1..8, 2..64 nodes in all", "GPU modules of a GPU"),
        info("l1s", "64", "1..256", "L1 caches of a GPU (own number width)"),
        info("home_shift", "32", "12..60", "home node = address >> home_shift"),
    ]
}
