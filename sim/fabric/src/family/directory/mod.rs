//! The directory family: GPUs, or GPMs, each with its own memory behind L2 banks, and L2s that keep copies of other nodes' lines (rec.md, hmg.md).

mod around;
mod banks;
mod build;
mod check;
mod checks;
mod hardware;
pub mod ideal;
mod keys;
mod meter;
mod oracle;
pub mod precision;
mod protocol;
mod releases;
mod sharing;
mod values;

pub use keys::DirectoryKeys;
pub use values::{Acquire, DirPolicy, Fence, L2Policy};
pub use weft_blocks::directory::protocols::{ALL as PROTOCOLS, Protocol};

use super::{Family, FigureInfo, Figures, Hardware};
use crate::config::{ConfigError, FabricConfig};
use crate::cu::CuMode;
use check::Checked;
use hardware::DirectoryHardware;
use std::sync::Arc;
use weft_blocks::fabric::FabricParams;

impl Family for DirectoryKeys {
    fn name(&self) -> &'static str {
        "directory"
    }

    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
        Checked { config, common: &config.common, keys: self }.check()
    }

    /// The L1s of these fabrics take atomics on one word at a time, and the L2s answer stores that are on their way to their homes (rec.md section 6.1).
    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware> {
        let common = &config.common;
        Arc::new(DirectoryHardware {
            params: self.params(common),
            dram: self.dram(common),
            mode: CuMode { posted: true, ..common.mode(false) },
            clock_ghz: common.clock_ghz,
        })
    }

    fn figures(&self) -> Vec<FigureInfo> {
        meter::metrics::infos()
    }

    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)> {
        meter::metrics::summary(figures)
    }
}

impl FabricConfig {
    /// Parameters of the hardware of a fabric of the directory family; `None` of another one.
    pub fn directory(&self) -> Option<FabricParams> {
        self.of.keys().map(|keys: &DirectoryKeys| keys.params(&self.common))
    }
}
