//! What several keys of the family must be together. The directory's rules are those of its own parameters, told with the configuration's keys.

use super::DirectoryKeys;
use crate::config::{Common, ConfigError, FabricConfig, Place, size};
use crate::cu::Model;

use weft_blocks::directory::params::{DirKind, DirParams};
use weft_blocks::fabric::FabricParams;
use weft_blocks::registry::BlockError;

/// The keys of a configuration of this family.
pub(super) struct Checked<'a> {
    pub config: &'a FabricConfig,
    pub common: &'a Common,
    pub keys: &'a DirectoryKeys,
}

impl Checked<'_> {
    /// Refuses every combination that cannot be built.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_address()?;
        self.check_range()?;
        self.check_directory()?;
        self.check_caches()?;
        self.check_rest()?;
        self.check_hardware()
    }

    fn params(&self) -> FabricParams {
        self.keys.params(self.common)
    }

    /// What the hardware refuses beyond all that, told with the configuration's keys.
    fn check_hardware(&self) -> Result<(), ConfigError> {
        let hardware = self.params();
        let Err(BlockError::Illegal { block, key, problem, legal, .. }) = hardware.validate() else {
            return Ok(());
        };
        let key = match (block.as_str(), key.as_str()) {
            ("l1-cache", "size") => "l1_size",
            ("l1-cache", "ways") => "l1_ways",
            ("l1-cache", "mshrs") => "l1_mshrs",
            ("l1-cache", "targets") => "l1_targets",
            ("l1-cache", "stores") => "l1_stores",
            ("l1-cache", "latency") => "l1_latency",
            (_, "l1s") => "cus",
            (_, "home_shift") => "dram_bytes",
            (_, key) => key,
        };
        self.ensure(false, key, &problem, legal)
    }

    fn ensure(
        &self,
        good: bool,
        key: &str,
        problem: &str,
        legal: impl Into<String>,
    ) -> Result<(), ConfigError> {
        self.config.ensure(good, key, problem, legal)
    }

    fn check_address(&self) -> Result<(), ConfigError> {
        // The directories of rec.md tell at most 16 nodes apart.
        let directory = self.keys.protocol.directory();
        let wide = directory.map_or_else(|| self.params().planes(), DirKind::modules);
        let most = if wide { 64 } else { 16 };
        let problem = format!(
            "{} GPUs of {} GPMs make {} nodes",
            self.common.gpus,
            self.common.gpms,
            self.common.nodes()
        );
        let key = if self.config.places.get("gpms") == Some(&Place::Set) { "gpms" } else { "gpus" };
        let legal = format!("2 to {most} nodes with protocol {}", self.keys.protocol.name());
        self.ensure((2..=most).contains(&self.common.nodes()), key, &problem, legal)?;
        let (line, il, banks) =
            (u64::from(self.common.line), u64::from(self.keys.il), u64::from(self.keys.banks));
        self.ensure(
            il >= 4 * line,
            "il",
            "it is smaller than four lines",
            format!("a power of two of at least {}", size(4 * line)),
        )?;
        let sys = self.keys.sys(self.common);
        let most = self.common.addr_bits - sys.node_bits();
        self.ensure(
            self.common.dram_bytes >= il * banks,
            "dram_bytes",
            "it does not reach all banks of a GPU",
            format!("a power of two of at least il * banks = {}", size(il * banks)),
        )?;
        self.ensure(
            sys.home_shift <= most,
            "dram_bytes",
            "the memory of all GPUs is larger than the address space",
            format!(
                "a power of two of at most {} with {} address bits",
                size(1 << most.min(60)),
                self.common.addr_bits
            ),
        )
    }

    fn check_range(&self) -> Result<(), ConfigError> {
        let (lo, hi) = (2 * self.common.line, (64 * self.common.line).min(self.keys.il));
        let legal = format!("a power of two in {}..{}", size(lo.into()), size(hi.into()));
        let small = format!(
            "it is smaller than two lines of {} bytes (for single lines use protocol = baseline)",
            self.common.line
        );
        self.ensure(self.keys.range >= lo, "range", &small, &*legal)?;
        let straddles = format!(
            "it is larger than il = {}, and a range must not straddle two directory slices",
            self.keys.il
        );
        self.ensure(self.keys.range <= self.keys.il, "range", &straddles, &*legal)?;
        self.ensure(self.keys.range <= 64 * self.common.line, "range", "it is larger than 64 lines", &*legal)
    }

    fn check_directory(&self) -> Result<(), ConfigError> {
        let step = u64::from(self.keys.banks) * u64::from(self.keys.ways);
        let problem =
            format!("banks * ways = {} * {} = {step} does not divide it", self.keys.banks, self.keys.ways);
        let divides = u64::from(self.keys.entries).is_multiple_of(step);
        // The key that was changed last is the one to blame: by --set before the file, the file before the published value.
        let keys = ["entries", "ways", "banks"];
        let changed = |k: &&&str| self.config.places.get(**k) == Some(&Place::Set);
        let given = |k: &&&str| self.config.places.contains_key(**k);
        let key = keys.iter().find(changed).or(keys.iter().find(given)).unwrap_or(&keys[0]);
        match *key {
            "entries" => self.ensure(divides, key, &problem, format!("a multiple of {step}"))?,
            key => {
                let problem =
                    format!("banks * ways = {step} does not divide entries = {}", self.keys.entries);
                let (other, count) =
                    if key == "ways" { ("banks", self.keys.banks) } else { ("ways", self.keys.ways) };
                let legal = format!("a divisor of entries / {other} = {}", self.keys.entries / count);
                self.ensure(divides, key, &problem, legal)?;
            }
        }
        // Protocols without a directory are held to the rules of one that goes with their nodes, so that a sweep over protocols cannot fail half-way.
        let kind = if self.common.gpms > 1 { DirKind::NHCC } else { DirKind::PERLINE };
        let published = DirParams::published(kind, &self.keys.sys(self.common), 0);
        let baseline = DirParams {
            group: self.keys.group,
            entries: self.keys.entries,
            ways: self.keys.ways,
            evb_depth: self.keys.evb_depth,
            inv_rate: self.keys.inv_rate,
            ..published
        };
        let slice = self.params().dir(0).unwrap_or(baseline);
        slice.validate().or_else(|e| {
            let legal = match e.key {
                "entries" => "banks * ways * c * 2^k with c odd and at most 15, within the address".into(),
                "inv_rate" if slice.kind.acked => {
                    format!("1 with protocol {}", self.keys.protocol.name())
                }
                key => self.alone(key),
            };
            self.ensure(false, e.key, &e.problem, legal)
        })
    }

    /// What a key may be on its own.
    fn alone(&self, key: &str) -> String {
        let info = self.config.keys().into_iter().find(|info| info.name == key);
        info.map_or_else(String::new, |info| info.legal.to_string())
    }

    fn check_caches(&self) -> Result<(), ConfigError> {
        let way = self.common.line * self.keys.l1_ways;
        let l1_sets = self.keys.l1_size / way;
        self.ensure(
            self.keys.l1_size.is_multiple_of(way)
                && l1_sets.is_power_of_two()
                && (2..=4096).contains(&l1_sets),
            "l1_size",
            &format!("it is not line * l1_ways = {way} bytes times a power of two in 2..4096"),
            format!("{way} * 2^k, k in 1..12"),
        )?;
        let row = u64::from(self.keys.banks) * u64::from(self.keys.l2_ways) * u64::from(self.common.line);
        let odd = |n: u32| n >> n.trailing_zeros().min(31);
        let fits = self.keys.l2_size.is_multiple_of(row)
            && (2..=16384).contains(&(self.keys.l2_size / row))
            && odd(self.keys.l2_sets(self.common)) <= 15;
        self.ensure(
            fits,
            "l2_size",
            &format!(
                "it is not banks * l2_ways * line = {row} bytes times c * 2^k sets with c odd and at most 15"
            ),
            format!("{row} * c * 2^k, in all 2..16384 sets"),
        )?;
        self.ensure(
            self.keys.l2_pool >= self.keys.l2_mshrs,
            "l2_pool",
            &format!("it is smaller than l2_mshrs = {}", self.keys.l2_mshrs),
            format!("{}..1024", self.keys.l2_mshrs),
        )?;
        let per_sa = self.common.cus.is_multiple_of(self.keys.cus_per_sa);
        let problem = format!("it does not divide cus = {}", self.common.cus);
        self.ensure(per_sa, "cus_per_sa", &problem, format!("a divisor of {}", self.common.cus))
    }

    fn check_rest(&self) -> Result<(), ConfigError> {
        for (key, latency) in
            [("link_latency", self.keys.link_latency), ("gpm_link_latency", self.keys.gpm_link_latency)]
        {
            self.ensure(latency.is_multiple_of(2), key, "it is odd", "an even number in 4..8K")?;
        }
        let legal = "drf0, drf1, drfrlx";
        let why = "the caches keep release consistency: copies stay until an acquire";
        self.ensure(self.common.model != Model::Sc, "model", why, legal)?;
        let shared = self.common.dram_banks.is_multiple_of(self.keys.banks);
        let problem = format!("it does not divide among banks = {} DRAM channels", self.keys.banks);
        self.ensure(shared, "dram_banks", &problem, format!("a multiple of {}", self.keys.banks))
    }
}
