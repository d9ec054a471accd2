//! What litmus tests need to know of a fabric.

use weft_fabric::config::FabricConfig;
use weft_fabric::cu::Model;
use weft_litmus::model::drf::{Drf, Level};
use weft_litmus::program::Machine;

/// Waves of a CU that tests use at once, at most: enough to disturb each other, few enough to overlap in time. One more makes traffic.
const WAVES: u32 = 8;

/// Where threads can be on a fabric.
pub fn machine(config: &FabricConfig) -> Machine {
    let shape = config.hardware().shape();
    Machine {
        cores: shape.cores,
        nodes: shape.nodes,
        gpms: shape.gpms,
        cus: shape.cus - shape.cores_each(),
        waves: config.common.waves.saturating_sub(1).clamp(1, WAVES),
        line: shape.line,
        mixed: config.hardware().data_coherent(),
        hints: config.hardware().follows_hints(),
    }
}

/// What a fabric promises (section 5.2).
pub fn model(config: &FabricConfig) -> Drf {
    let hardware = config.hardware();
    let mode = hardware.mode();
    let level = match mode.model {
        Model::Sc => Level::Sc,
        Model::Drf0 => Level::Drf0,
        Model::Drf1 => Level::Drf1,
        Model::Drfrlx => Level::DrfRlx,
    };
    Drf { level, scopes: mode.scopes, data_coherent: hardware.data_coherent() }
}
