//! What several keys must be together. The directory's rules are those of its own parameters, told with the configuration's keys.

use super::value::size;
use super::{ConfigError, FabricConfig, Place, Protocol};
use weft_blocks::directory::params::{DirKind, DirParams};
use weft_blocks::msg::Sys;
use weft_blocks::registry::BlockError;

impl FabricConfig {
    /// Counts and widths of the fabric's messages.
    pub fn sys(&self) -> Sys {
        Sys {
            gpus: self.gpus,
            gpms: self.gpms,
            addr_bits: self.addr_bits,
            line: self.line,
            banks: self.banks,
            l1s: self.cus,
            l2_mshrs: self.l2_mshrs,
            l1_mshrs: self.l1_mshrs,
            il: self.il,
            home_shift: self.dram_bytes.trailing_zeros(),
        }
    }

    /// GPUs, or GPMs of all GPUs: what has CUs, an L2, a directory and DRAM of its own.
    pub fn nodes(&self) -> u32 {
        self.gpus * self.gpms
    }

    /// L2 sets of a bank.
    pub fn l2_sets(&self) -> u32 {
        (self.l2_size / (u64::from(self.banks) * u64::from(self.l2_ways) * u64::from(self.line))) as u32
    }

    /// Bytes of DRAM in the whole system.
    pub fn memory_bytes(&self) -> u128 {
        u128::from(self.dram_bytes) * u128::from(self.nodes())
    }

    /// Refuses every combination that cannot be built.
    ///
    /// # Errors
    /// The first key that does not fit the others, with its place and its legal range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check_address()?;
        self.check_range()?;
        self.check_directory()?;
        self.check_caches()?;
        self.check_rest()?;
        self.check_hardware()
    }

    /// What the hardware refuses beyond all that, told with the configuration's keys.
    fn check_hardware(&self) -> Result<(), ConfigError> {
        let hardware = self.hardware();
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

    /// Refuses a key's value beside the others unless `good`.
    fn ensure(
        &self,
        good: bool,
        key: &str,
        problem: &str,
        legal: impl Into<String>,
    ) -> Result<(), ConfigError> {
        if good {
            return Ok(());
        }
        Err(ConfigError::Illegal {
            place: Box::new(self.places.get(key).cloned().unwrap_or(Place::Default)),
            key: key.into(),
            value: match self.get(key) {
                Some(serde_json::Value::String(text)) => text,
                Some(other) => other.to_string(),
                None => String::new(),
            },
            problem: problem.into(),
            legal: legal.into(),
        })
    }

    fn check_address(&self) -> Result<(), ConfigError> {
        // The directories of rec.md tell at most 16 nodes apart.
        let of_rec = self.protocol.dir_kind().is_some_and(|kind| !kind.modules());
        let wide = !of_rec && (self.protocol == Protocol::Nhcc || self.hardware().planes());
        let most = if wide { 64 } else { 16 };
        let problem = format!("{} GPUs of {} GPMs make {} nodes", self.gpus, self.gpms, self.nodes());
        let key = if self.places.get("gpms") == Some(&Place::Set) { "gpms" } else { "gpus" };
        let legal = format!("2 to {most} nodes with protocol {}", self.protocol.name());
        self.ensure((2..=most).contains(&self.nodes()), key, &problem, legal)?;
        let (line, il, banks) = (u64::from(self.line), u64::from(self.il), u64::from(self.banks));
        self.ensure(
            il >= 4 * line,
            "il",
            "it is smaller than four lines",
            format!("a power of two of at least {}", size(4 * line)),
        )?;
        let sys = self.sys();
        let most = self.addr_bits - sys.node_bits();
        self.ensure(
            self.dram_bytes >= il * banks,
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
                self.addr_bits
            ),
        )
    }

    fn check_range(&self) -> Result<(), ConfigError> {
        let (lo, hi) = (2 * self.line, (64 * self.line).min(self.il));
        let legal = format!("a power of two in {}..{}", size(lo.into()), size(hi.into()));
        let small = format!(
            "it is smaller than two lines of {} bytes (for single lines use protocol = baseline)",
            self.line
        );
        self.ensure(self.range >= lo, "range", &small, &*legal)?;
        let straddles =
            format!("it is larger than il = {}, and a range must not straddle two directory slices", self.il);
        self.ensure(self.range <= self.il, "range", &straddles, &*legal)?;
        self.ensure(self.range <= 64 * self.line, "range", "it is larger than 64 lines", &*legal)
    }

    fn check_directory(&self) -> Result<(), ConfigError> {
        let step = u64::from(self.banks) * u64::from(self.ways);
        let problem = format!("banks * ways = {} * {} = {step} does not divide it", self.banks, self.ways);
        let divides = u64::from(self.entries).is_multiple_of(step);
        // The key that was changed last is the one to blame: by --set before the file, the file before the published value.
        let keys = ["entries", "ways", "banks"];
        let changed = |k: &&&str| self.places.get(**k) == Some(&Place::Set);
        let given = |k: &&&str| self.places.contains_key(**k);
        let key = keys.iter().find(changed).or(keys.iter().find(given)).unwrap_or(&keys[0]);
        match *key {
            "entries" => self.ensure(divides, key, &problem, format!("a multiple of {step}"))?,
            key => {
                let problem = format!("banks * ways = {step} does not divide entries = {}", self.entries);
                let (other, count) = if key == "ways" { ("banks", self.banks) } else { ("ways", self.ways) };
                let legal = format!("a divisor of entries / {other} = {}", self.entries / count);
                self.ensure(divides, key, &problem, legal)?;
            }
        }
        // Protocols without a directory are held to the rules of one that goes with their nodes, so that a sweep over protocols cannot fail half-way.
        let kind = if self.gpms > 1 { DirKind::Nhcc } else { DirKind::Perline };
        let published = DirParams::published(kind, &self.sys(), 0);
        let baseline = DirParams {
            group: self.group,
            entries: self.entries,
            ways: self.ways,
            evb_depth: self.evb_depth,
            inv_rate: self.inv_rate,
            ..published
        };
        let slice = self.hardware().dir(0).unwrap_or(baseline);
        slice.validate().or_else(|e| {
            let legal = "banks * ways * c * 2^k with c odd and at most 15, within the address";
            self.ensure(false, e.key, &e.problem, legal)
        })
    }

    fn check_caches(&self) -> Result<(), ConfigError> {
        let way = self.line * self.l1_ways;
        let l1_sets = self.l1_size / way;
        self.ensure(
            self.l1_size.is_multiple_of(way) && l1_sets.is_power_of_two() && (2..=4096).contains(&l1_sets),
            "l1_size",
            &format!("it is not line * l1_ways = {way} bytes times a power of two in 2..4096"),
            format!("{way} * 2^k, k in 1..12"),
        )?;
        let row = u64::from(self.banks) * u64::from(self.l2_ways) * u64::from(self.line);
        let odd = |n: u32| n >> n.trailing_zeros().min(31);
        let fits = self.l2_size.is_multiple_of(row)
            && (2..=16384).contains(&(self.l2_size / row))
            && odd(self.l2_sets()) <= 15;
        self.ensure(
            fits,
            "l2_size",
            &format!(
                "it is not banks * l2_ways * line = {row} bytes times c * 2^k sets with c odd and at most 15"
            ),
            format!("{row} * c * 2^k, in all 2..16384 sets"),
        )?;
        self.ensure(
            self.l2_pool >= self.l2_mshrs,
            "l2_pool",
            &format!("it is smaller than l2_mshrs = {}", self.l2_mshrs),
            format!("{}..1024", self.l2_mshrs),
        )?;
        let per_sa = self.cus.is_multiple_of(self.cus_per_sa);
        let problem = format!("it does not divide cus = {}", self.cus);
        self.ensure(per_sa, "cus_per_sa", &problem, format!("a divisor of {}", self.cus))
    }

    fn check_rest(&self) -> Result<(), ConfigError> {
        for (key, latency) in
            [("link_latency", self.link_latency), ("gpm_link_latency", self.gpm_link_latency)]
        {
            self.ensure(latency.is_multiple_of(2), key, "it is odd", "an even number in 4..8K")?;
        }
        let shared = self.dram_banks.is_multiple_of(self.banks);
        let problem = format!("it does not divide among banks = {} DRAM channels", self.banks);
        self.ensure(shared, "dram_banks", &problem, format!("a multiple of {}", self.banks))?;
        self.ensure(
            self.page >= self.line,
            "page",
            "it is smaller than a line",
            format!("a power of two in {}..64M", self.line),
        )?;
        let page = u64::from(self.page) <= self.dram_bytes;
        self.ensure(
            page,
            "page",
            "it is larger than the memory of a GPU",
            format!("at most {}", size(self.dram_bytes)),
        )
    }
}
