//! What several keys of the family must be together. The rules of the blocks are their own, told with the configuration's keys.

use super::build::Hierarchy;
use super::devices::kinds;
use super::keys::{Coherence, Local, Opred};
use super::{SpandexKeys, SpandexProtocol};
use crate::config::{Common, ConfigError, FabricConfig, size};
use crate::cu::Model;
use std::collections::BTreeSet;
use weft_blocks::registry::BlockError;
use weft_spandex::denovo_l1::Atomics;

/// The keys of a configuration of this family.
pub(super) struct Checked<'a> {
    pub config: &'a FabricConfig,
    pub common: &'a Common,
    pub keys: &'a SpandexKeys,
}

impl Checked<'_> {
    /// Refuses every combination that cannot be built.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.ensure(
            self.common.model != Model::Sc,
            "model",
            "the L1s synchronise by the order of an access, which CUs that keep sc do not send",
            "drf0, drf1, drfrlx",
        )?;
        let most = 1u128 << self.common.addr_bits;
        self.ensure(
            self.common.memory_bytes() <= most,
            "dram_bytes",
            "the memory is larger than the address space",
            format!("a power of two of at most {}", size(most.min(1 << 60) as u64)),
        )?;
        self.ensure(
            self.keys.opred == Opred::Oracle || self.keys.protocol == SpandexProtocol::SFlexPred,
            "opred",
            "owners are guessed with protocol s-flex-pred only",
            "oracle, which means nothing here, or protocol = s-flex-pred",
        )?;
        let (core, cu) = self.keys.protocol.l1s();
        self.ensure(
            !self.keys.ro_regions || core == Coherence::Denovo || cu == Coherence::Denovo,
            "ro_regions",
            "only DeNovo L1s keep lines of read-only arrays over acquires, and the protocol has none",
            "false, or a protocol with denovo in its name",
        )?;
        self.local_memory(cu)?;
        self.gpus()?;
        self.devices()?;
        let system = self.keys.system(self.common);
        self.ensure(
            self.common.gpus == 1 || system.hierarchy.is_none(),
            "gpus",
            "the GPU L2 and the directory of a hierarchical system are those of one GPU",
            "1, or with several a protocol s-...",
        )?;
        self.ensure(
            self.keys.inject.put(&mut self.keys.sound(self.common)),
            "inject",
            "the protocol has no block of this kind, or what the fault spoils never happens under it",
            format!("none, or protocol = {}", self.keys.inject.protocols(self.keys, self.common).join(", ")),
        )?;
        let l1 =
            [("size", "l1_size"), ("ways", "l1_ways"), ("latency", "l1_latency"), ("targets", "l1_targets")];
        self.told(system.gpu_l1.validate(), &[&l1[..], &[("releases", "l1_releases")]].concat())?;
        for (cache, _) in system.denovo_cores.iter().chain(&system.denovo_cus) {
            self.told(cache.validate(), &l1)?;
        }
        if let Some((cache, unit)) = &system.mesi {
            self.told(cache.validate(), &l1)?;
            self.told(unit.validate(), &l1)?;
        }
        if let Some((cache, unit)) = &system.flex {
            self.told(cache.validate(), &[&l1[..], &[("releases", "l1_releases")]].concat())?;
            self.told(unit.validate(), &[])?;
        }
        if let Some(stash) = &system.stash {
            self.told(
                stash.validate(),
                &[("size", "lds_bytes"), ("banks", "lds_banks"), ("targets", "l1_targets")],
            )?;
        }
        let llc = [("size", "llc_size"), ("ways", "llc_ways"), ("n_stall", "llc_stalls")];
        let net = [("bank", "llc_latency"), ("data", "llc_data_latency")];
        let Some(Hierarchy { client, l2, l3 }) = &system.hierarchy else {
            self.told(system.llc.validate(), &llc)?;
            return self.told(system.net.validate(&system.s), &net);
        };
        self.told(client.validate(), &l1)?;
        self.told(l3.validate(), &llc)?;
        let names = [
            ("size", "gpu_l2_size"),
            ("ways", "gpu_l2_ways"),
            ("n_stall", "llc_stalls"),
            ("tbes", "llc_tbes"),
        ];
        self.told(l2.validate(), &names)?;
        self.told(weft_spandex::hmesi::net::validate(&system.s, &system.net), &net)
    }

    fn local_memory(&self, cu: Coherence) -> Result<(), ConfigError> {
        let installs = cu == Coherence::Denovo
            && self.keys.denovo_atomics.atomics(self.keys.protocol) != Atomics::Through;
        self.ensure(
            self.keys.local_memory != Local::Dma || !installs,
            "local_memory",
            "a DeNovo L1 asks for ownership of what the DMA engine transfers, and keeps it",
            "scratchpad, or dma with denovo_atomics = through",
        )?;
        self.ensure(
            self.keys.local_memory != Local::Stash
                || (cu == Coherence::Denovo
                    && !self.keys.protocol.is_hierarchical()
                    && self.common.gpus == 1),
            "local_memory",
            "a stash speaks for a CU with DeNovo, to an LLC of one GPU",
            "scratchpad, dma, or stash with a protocol s-...-denovo and gpus = 1",
        )?;
        self.ensure(
            self.keys.local_memory != Local::Stash || self.common.blocks <= 8,
            "blocks",
            "the stash map has 32 entries, 4 for each work-group of a CU",
            "1..8",
        )?;
        self.ensure(
            self.keys.local_memory != Local::Stash || matches!(self.common.lds_banks, 16 | 32),
            "lds_banks",
            "a stash has as many banks as a line has words, or twice as many",
            "16, 32",
        )
    }

    /// Which devices may be of other protocols.
    fn devices(&self) -> Result<(), ConfigError> {
        let devices = &self.keys.devices;
        let count = self.keys.cpus + self.common.gpus * self.common.cus;
        let mut seen = BTreeSet::new();
        for (at, name) in devices.all() {
            let known = || kinds().iter().map(|kind| kind.name);
            let problem = format!("there is no kind of device {name}");
            let legal = match kinds() {
                [] => "none comes with Weft; `weft new` writes a program that adds one".into(),
                _ => weft_names::choice(name, known()),
            };
            self.ensure(known().any(|kind| kind == name), "devices", &problem, legal)?;
            let problem = format!("there is no device {at}");
            self.ensure(at < count, "devices", &problem, format!("device numbers 0..{}", count - 1))?;
            self.ensure(seen.insert(at), "devices", &format!("device {at} is given twice"), "each once")?;
        }
        self.ensure(
            devices.is_empty() || !self.keys.protocol.is_hierarchical(),
            "devices",
            "the caches of a hierarchical system speak protocols of their own",
            "none, or a protocol s-...",
        )
    }

    /// What several GPUs share, and what they cannot.
    fn gpus(&self) -> Result<(), ConfigError> {
        let gpus = self.common.gpus;
        self.ensure(
            self.keys.cpus.is_multiple_of(gpus),
            "cpus",
            "every GPU has as many cores",
            format!("a multiple of gpus = {gpus}"),
        )?;
        let all = [("cus", "CUs", self.common.cus), ("banks", "banks", self.keys.banks)];
        for (key, name, each) in all {
            let problem = format!("{gpus} GPUs have more than 64 {name} then");
            self.ensure(gpus * each <= 64, key, &problem, format!("1..{}", 64 / gpus))?;
        }
        self.ensure(
            self.keys.link_latency.is_multiple_of(2),
            "link_latency",
            "half of it is on either side of the switch",
            "an even number",
        )
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

    fn told(&self, found: Result<(), BlockError>, names: &[(&str, &str)]) -> Result<(), ConfigError> {
        let Err(BlockError::Illegal { key, problem, legal, .. }) = found else { return Ok(()) };
        let name = names.iter().find(|(block, _)| *block == key).map_or(key.as_str(), |(_, own)| own);
        self.ensure(false, name, &problem, legal)
    }
}
