//! The directory family: GPUs, or GPMs, each with its own memory behind L2 banks, and L2s that keep copies of other nodes' lines (rec.md, hmg.md).

mod build;
mod check;
mod keys;
mod protocol;
mod values;

pub use keys::DirectoryKeys;
pub use values::{DirPolicy, L2Policy};
pub use weft_blocks::fabric::Protocol;

use super::{Family, FamilyKeys};
use crate::config::{ConfigError, FabricConfig};
use check::Checked;
use weft_blocks::fabric::FabricParams;

impl Family for DirectoryKeys {
    fn name(&self) -> &'static str {
        "directory"
    }

    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
        Checked { config, common: &config.common, keys: self }.check()
    }
}

impl FabricConfig {
    /// Parameters of the hardware of a fabric of the directory family; `None` of another one.
    pub fn directory(&self) -> Option<FabricParams> {
        match &self.of {
            FamilyKeys::Directory(keys) => Some(keys.params(&self.common)),
        }
    }
}
