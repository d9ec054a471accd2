//! A Spandex fabric as the run loop sees it.

use super::banks::Banks;
use super::energy::{Energy, SpandexMeter};
use super::hier::HierBanks;
use super::metrics::counted;
use super::nacks::Progress;
use super::oracle::Oracle;
use super::port::{ControllerPorts, TBE_BITS};
use super::rest::AtRest;
use super::soc::Soc;
use super::traffic::Traffic;
use super::{SpandexKeys, SpandexSystem};
use crate::check::CheckError;
use crate::config::Common;
use crate::cu::{Atomics, CuMode, CuParams, Pace};
use crate::dram::DramTiming;
use crate::family::srsp::order::{Heeds, Order};
use crate::family::tsm::around::{Around, Place};
use crate::family::{
    FamilyCheck, Fold, Hardware, Link, Links, Meter, Promises, Shape, Surroundings, ValueRule,
};
use crate::memory::Memory;
use crate::run::FabricError;
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_engine::{Design, Sim};
use weft_rtl::ir::Module;
use weft_spandex::net::link::LinkParams;
use weft_spandex::tu_flex::Opred;
use weft_workload::LocalMemory;

/// Cycles in which [`SpandexKeys::cu_ticks`] are counted.
const CYCLES: u32 = 20;

/// Hardware of the family and what is around it.
pub(super) struct SpandexHardware {
    system: SpandexSystem,
    core: CuParams,
    pace: Pace,
    local: LocalMemory,
    dram: DramTiming,
    mode: CuMode,
    home_bytes: u64,
    energy: Energy,
}

impl SpandexHardware {
    /// What a configuration stands for.
    pub fn new(keys: &SpandexKeys, common: &Common) -> SpandexHardware {
        SpandexHardware {
            system: keys.system(common),
            core: CuParams::core(common.line, keys.cpu_mlp),
            pace: Pace { ticks: keys.cu_ticks, cycles: CYCLES },
            local: keys.local_memory.memory(),
            dram: keys.dram(common),
            // A stash must hear of what orders memory, too.
            mode: CuMode {
                fused: keys.local_memory.memory() != LocalMemory::Stash,
                atomics: Atomics::Words,
                ..common.mode(false)
            },
            home_bytes: common.dram_bytes,
            energy: Energy::new(keys),
        }
    }
}

impl SpandexHardware {
    fn oracle(&self, sim: &Sim) -> Result<Oracle, FabricError> {
        let units = "units bankB with memories tags, owned and lines";
        let banks = Banks::find(sim, &self.system).ok_or(FabricError::Names { units })?;
        Ok(Oracle::find(sim, &self.system, banks)?)
    }
}

impl Hardware for SpandexHardware {
    fn module(&self) -> Result<Arc<Module>, BlockError> {
        self.system.module()
    }

    fn tag(&self) -> String {
        self.system.module_name()
    }

    fn shape(&self) -> Shape {
        Shape {
            nodes: self.system.s.gpus,
            gpms: 1,
            cus: (self.system.s.devs() - self.system.stashes()) / self.system.s.gpus,
            cores: self.system.s.cpus,
            line: self.dram.line,
            homes: self.system.s.gpus,
            home_bytes: self.home_bytes,
        }
    }

    /// All links of a GPU.
    fn links(&self) -> Links {
        let (net, links) = (&self.system.net, Links::default());
        let of = |link: &LinkParams| Link { bytes: link.bytes * net.grid.rows, latency: 2 * link.latency };
        Links { gpus: net.link.as_ref().map_or(links.gpus, of), ..links }
    }

    fn mode(&self) -> CuMode {
        self.mode
    }

    fn compute_unit(&self, number: u32, common: CuParams) -> CuParams {
        if number < self.system.s.cpus / self.system.s.gpus {
            self.core.clone()
        } else {
            CuParams { pace: self.pace, local: self.local, ..common }
        }
    }

    fn stash(&self, number: u32) -> Option<(u32, (u32, u32))> {
        let (stash, cpus) = (self.system.stash.as_ref()?, self.system.s.cpus);
        (number >= cpus).then(|| (number + self.system.stashes(), (stash.rows(), stash.banks)))
    }

    /// An L1 may show an old value until its device synchronises, and a store is nobody else's until it is drained: the order of events in cycles explains neither; [`Order`] does.
    fn promises(&self) -> Promises {
        Promises { values: ValueRule::Elsewhere, memory: false }
    }

    fn data_coherent(&self) -> bool {
        true
    }

    fn follows_hints(&self) -> bool {
        self.system.flex.is_some()
    }

    fn has_fences(&self) -> bool {
        false
    }

    /// Lines leave the LLC whenever there is no room.
    fn rests(&self) -> bool {
        true
    }

    /// Kernels hand nothing on, but stores of the host stay in the L1 that carries them until a KEND.
    fn fold(&self) -> Option<Fold> {
        Some(Arc::new(|_: &[u64]| 0))
    }

    /// An L1 drains and drops its lines alone.
    fn release_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn acquire_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn surroundings(&self, sim: &mut Sim, memory: Memory) -> Result<Box<dyn Surroundings>, FabricError> {
        let newer = match &self.system.hierarchy {
            None => Banks::find(sim, &self.system).map(Banks::newer),
            Some(h) => HierBanks::find(sim, &self.system, h).map(HierBanks::newer),
        };
        let units = "units bankB, or l2_bankB and l3_bankB, with memories tags, owned and lines";
        let newer = Some(newer.ok_or(FabricError::Names { units })?);
        let place = |c: u32| Place { ports: format!("mem{c}"), name: format!("controller {c}"), first: 0 };
        let count = self.dram.channels;
        let (each, gpus) = (u64::from(count / self.system.s.gpus), u64::from(self.system.s.gpus));
        let home = self.home_bytes / u64::from(self.dram.line);
        let channel_of = move |line: u64| (line / home % gpus * each + line % each) as usize;
        let places = ((0..count).map(place).collect(), 1 << (6 + TBE_BITS));
        let memory =
            Around::<ControllerPorts>::new(sim, places, Arc::new(channel_of), self.dram, newer, memory)?;
        let routers = "units routerN with the own inputs of all virtual networks";
        let hierarchical = self.system.hierarchy.is_some();
        let traffic =
            Traffic::find(sim, &self.system, hierarchical).ok_or(FabricError::Names { units: routers })?;
        let asks = self.system.flex.as_ref().is_some_and(|(_, unit)| unit.opred == Opred::Oracle);
        let oracle = asks.then(|| self.oracle(sim)).transpose()?;
        Ok(Box::new(Soc { memory, traffic, oracle }))
    }

    fn checks(&self, _: &Design) -> Result<Vec<Box<dyn FamilyCheck>>, CheckError> {
        let s = &self.system.s;
        let order = Order::new(s.devs(), Heeds::Scopes).of_nodes(s.gpus).of_words();
        let stashes = self.system.stashes();
        let order = if stashes > 0 { order.of_stashes(stashes) } else { order };
        let progress = Progress::new(&self.system);
        Ok(vec![Box::new(order), Box::new(progress), Box::new(AtRest::new(&self.system))])
    }

    fn meter(&self) -> Box<dyn Meter> {
        Box::new(SpandexMeter { counted: counted(), energy: self.energy })
    }
}
