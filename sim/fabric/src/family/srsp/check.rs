//! What several keys of the family must be together. The rules of the blocks are their own, told with the configuration's keys.

use super::keys::{BroadcastCloses, BroadcastOrder, SrspProtocol, SrspSlip};
use super::{Gpu, SrspKeys};
use crate::config::{Common, ConfigError, FabricConfig, Named, size};
use crate::cu::Model;
use weft_blocks::registry::BlockError;
use weft_srsp::fabric::{RegisteringFabricParams, System};

/// The keys of a configuration of this family.
pub(super) struct Checked<'a> {
    pub config: &'a FabricConfig,
    pub common: &'a Common,
    pub keys: &'a SrspKeys,
}

impl Checked<'_> {
    /// Refuses every combination that cannot be built.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.ensure(self.common.scopes, "scopes", "the L1s go by scopes", "true")?;
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
        self.check_slip()?;
        self.check_broadcasts()?;
        self.check_hardware()
    }

    /// A slip is one that L1s of the protocol can have.
    fn check_slip(&self) -> Result<(), ConfigError> {
        let (protocol, order) = (self.keys.protocol, self.keys.broadcast_order);
        let slips = SrspSlip::VALUES.iter().filter(|slip| slip.exists(protocol, order));
        let legal = slips.map(|slip| slip.name()).collect::<Vec<_>>().join(", ");
        let ordered = match protocol {
            SrspProtocol::Brsp => format!(" with broadcast_order {}", order.name()),
            _ => String::new(),
        };
        let problem = format!("the L1s of protocol {}{ordered} have no such slip", protocol.name());
        self.ensure(self.keys.inject.exists(protocol, order), "inject", &problem, legal)
    }

    /// What a broadcast closes is a choice of L1s with a lock of their own.
    fn check_broadcasts(&self) -> Result<(), ConfigError> {
        let SrspKeys { protocol, broadcast_order, broadcast_closes, .. } = self.keys;
        let lines = *protocol == SrspProtocol::Brsp && *broadcast_order == BroadcastOrder::Line;
        self.ensure(
            !lines || *broadcast_closes == BroadcastCloses::Line,
            "broadcast_closes",
            "with broadcast_order line the L2 locks the line of the address, and the L1s nothing",
            BroadcastCloses::Line.name(),
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

    /// What the hardware refuses, told with the configuration's keys.
    fn check_hardware(&self) -> Result<(), ConfigError> {
        let scoped = match self.keys.gpu(self.common) {
            Gpu::Scoped(params) => params,
            Gpu::Registering(params) => return self.check_registering(&params),
            Gpu::RegisteringWrites(params) => return self.check_registering(&params),
        };
        let l1 = [("size", "l1_size"), ("ways", "l1_ways"), ("latency", "l1_latency"), ("sfifo", "l1_sfifo")];
        let l1 = l1.into_iter().chain([("pa", "pa_entries"), ("aff", "aff_entries")]);
        let l1 = l1.chain([("targets", "l1_targets"), ("sq", "sync_queue")]);
        self.told(scoped.l1.validate(), &l1.collect::<Vec<_>>())?;
        let l2 = [("size", "l2_size"), ("ways", "l2_ways"), ("latency", "l2_latency"), ("sfifo", "l2_sfifo")];
        let l2 = l2.into_iter().chain([("mshrs", "l2_mshrs"), ("targets", "l2_targets")]);
        self.told(scoped.l2.validate(), &l2.chain([("writes", "l2_writes")]).collect::<Vec<_>>())?;
        self.told(scoped.validate(), &[("columns", "mesh"), ("link", "crossbar_latency")])
    }

    fn check_registering<I: System>(&self, params: &RegisteringFabricParams<I>) -> Result<(), ConfigError> {
        let of_l1 = ["size", "ways", "latency", "sfifo", "targets"];
        let of_l2 = ["size", "ways", "latency", "sfifo", "mshrs", "targets", "writes"];
        let name = |level: &str, key: &str| format!("{level}_{key}");
        let names = |level: &str, keys: &[&'static str]| -> Vec<(&'static str, String)> {
            keys.iter().map(|key| (*key, name(level, key))).collect()
        };
        let refer = |list: &[(&'static str, String)], found| {
            let pairs: Vec<(&str, &str)> = list.iter().map(|(key, own)| (*key, own.as_str())).collect();
            self.told(found, &pairs)
        };
        refer(&names("l1", &of_l1), params.l1.validate())?;
        refer(&names("l2", &of_l2), params.l2.validate())?;
        self.told(params.validate(), &[("columns", "mesh"), ("link", "crossbar_latency")])
    }

    fn told(&self, found: Result<(), BlockError>, names: &[(&str, &str)]) -> Result<(), ConfigError> {
        let Err(BlockError::Illegal { key, problem, legal, .. }) = found else { return Ok(()) };
        let name = names.iter().find(|(block, _)| *block == key).map_or(key.as_str(), |(_, own)| own);
        self.ensure(false, name, &problem, legal)
    }
}
