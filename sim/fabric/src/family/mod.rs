//! Families of fabrics: what differs in kind, so that the run loop, the compute units and the checks know none of them.
//!
//! A family is a folder here and a variant of [`FamilyKeys`], which is the one place that lists them.

pub mod directory;

use crate::config::{Common, ConfigError, FabricConfig, Group, KeyInfo};
use directory::DirectoryKeys;

/// The keys of a fabric's family.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyKeys {
    /// Caches and memory at home nodes, kept coherent by directories, by software, or by nothing (rec.md, hmg.md).
    Directory(DirectoryKeys),
}

impl Default for FamilyKeys {
    fn default() -> FamilyKeys {
        FamilyKeys::Directory(DirectoryKeys::default())
    }
}

impl FamilyKeys {
    /// The published keys of every family.
    pub fn all() -> Vec<FamilyKeys> {
        vec![FamilyKeys::default()]
    }

    /// Names of all families.
    pub fn names() -> Vec<&'static str> {
        FamilyKeys::all().iter().map(|of| of.family().name()).collect()
    }

    /// The family.
    pub fn family(&self) -> &dyn Family {
        match self {
            FamilyKeys::Directory(keys) => keys,
        }
    }

    /// The family, to change its keys.
    pub fn family_mut(&mut self) -> &mut dyn Family {
        match self {
            FamilyKeys::Directory(keys) => keys,
        }
    }

    /// The published keys of the same family.
    pub fn published(&self) -> FamilyKeys {
        match self {
            FamilyKeys::Directory(_) => FamilyKeys::Directory(DirectoryKeys::default()),
        }
    }
}

/// What a family's keys say beside their values.
pub trait Family: Group {
    /// Its name, as in `family = "..."` of a fabric's file.
    fn name(&self) -> &'static str;

    /// The common keys of its published system.
    fn common(&self) -> Common {
        Common::default()
    }

    /// Changes what a list of keys says of a common key: its legal values, its sentence.
    fn adapt(&self, key: &mut KeyInfo) {
        let _ = key;
    }

    /// Refuses every combination of keys that cannot be built; `config` is the configuration that these keys belong to.
    ///
    /// # Errors
    /// The first key that does not fit the others, with its place and its legal range.
    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError>;
}
