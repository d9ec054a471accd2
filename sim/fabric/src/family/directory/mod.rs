//! The directory family: GPUs, or GPMs, each with its own memory behind L2 banks, and L2s that keep copies of other nodes' lines (rec.md, hmg.md).
//!
//! # A protocol of somebody else
//!
//! NHCC with twice the entries:
//!
//! ```standalone_crate
//! use weft_blocks::directory::params::DirKind;
//! use weft_blocks::directory::protocols::{Features, Protocol, install};
//! use weft_fabric::config::FabricConfig;
//!
//! struct Nhcc2x;
//!
//! impl Features for Nhcc2x {
//!     fn directory(&self) -> Option<DirKind> {
//!         Some(DirKind::NHCC)
//!     }
//!     fn entries(&self, given: u32) -> u32 {
//!         2 * given
//!     }
//! }
//!
//! install(vec![Protocol::new("nhcc-2x", &Nhcc2x)]);
//! let entries = |protocol: &str| {
//!     let mut fabric = FabricConfig::load("hmg-4gpu-small").unwrap();
//!     fabric.set(&format!("protocol={protocol}")).unwrap();
//!     fabric.validate().unwrap();
//!     fabric.directory().and_then(|params| params.dir(0)).map(|slice| slice.entries)
//! };
//! assert_eq!(entries("nhcc-2x"), entries("nhcc").map(|given| 2 * given));
//! assert!(FabricConfig::load("hmg-4gpu-small").unwrap().set("protocol=nhcc-3x").is_err());
//! ```

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
pub(crate) mod protocol;
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
