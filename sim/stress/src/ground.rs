//! What random programs need to know of a fabric.

use weft_conformance::{machine, model};
use weft_fabric::config::FabricConfig;
use weft_fabric::family::ValueRule;
use weft_litmus::model::drf::Level;

/// Most waves of a compute unit that a program uses.
const WAVES: u32 = 8;

/// Where a program's waves are, and what they may do there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// Nodes: GPUs, or GPMs of all GPUs.
    pub nodes: u32,
    /// Nodes of a GPU.
    pub gpms: u32,
    /// CPU cores of all nodes, which are units 0, 1 and so on; each has one wave of one lane.
    pub cores: u32,
    /// Compute units of a node, without CPU cores.
    pub cus: u32,
    /// Waves of a compute unit, at most 8.
    pub waves: u32,
    /// Lanes of a wave.
    pub lanes: u32,
    /// Bytes of a line.
    pub line: u64,
    /// Words may be accessed as data and by synchronisation.
    pub mixed: bool,
    /// Atomics of 8 bytes are legal beside those of 4.
    pub wide: bool,
    /// Classes of accesses that are told apart.
    pub level: Level,
    /// Scopes are honoured.
    pub scopes: bool,
    /// Remote operations promote what others do at narrower scope.
    pub remote: bool,
    /// Some L1 sends the request that an access names.
    pub hints: bool,
    /// Something orders accesses of different compute units inside a kernel.
    pub coherent: bool,
}

impl Ground {
    /// That of a configuration.
    pub fn of(config: &FabricConfig) -> Ground {
        let (machine, model, hardware) = (machine(config), model(config), config.hardware());
        let shape = hardware.shape();
        Ground {
            nodes: shape.nodes,
            gpms: shape.gpms,
            cores: shape.cores,
            cus: shape.cus - shape.cores_each(),
            waves: config.common.waves.clamp(1, WAVES),
            lanes: config.common.lanes,
            line: u64::from(shape.line),
            mixed: machine.mixed,
            wide: hardware.mode().atomics.takes(true, 8).is_ok(),
            level: model.level,
            scopes: model.scopes,
            remote: model.scopes && hardware.promotes(),
            hints: hardware.follows_hints(),
            coherent: hardware.promises().values != ValueRule::Counted,
        }
    }

    /// The same without CPU cores.
    #[must_use]
    pub fn without_cores(&self) -> Ground {
        Ground { cores: 0, ..self.clone() }
    }

    /// CPU cores and compute units in all.
    pub fn units(&self) -> u32 {
        self.cores + self.nodes * self.cus
    }

    /// GPU of a unit.
    pub fn gpu(&self, unit: u32) -> u32 {
        let node = match unit.checked_sub(self.cores) {
            Some(unit) => unit / self.cus,
            None => unit * self.nodes / self.cores,
        };
        node / self.gpms
    }
}
