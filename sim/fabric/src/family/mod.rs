//! Families of fabrics: what differs in kind, so that the run loop, the compute units and the checks know none of them.
//!
//! A family is a folder here and a variant of [`FamilyKeys`], which is the one place that lists them. It provides
//!
//! | trait | for |
//! | --- | --- |
//! | [`Family`], of its keys | the configuration: keys, combinations that cannot be built, the figures that it measures |
//! | [`Hardware`] | the run loop: the module, counts, fences, what kernels hand on |
//! | [`Surroundings`] | models at the other ports, memories above all |
//! | [`FamilyCheck`] | checks that only this family has |
//! | [`Meter`] | figures of a run |

mod check;
mod counted;
pub mod directory;
mod figures;
mod hardware;
mod held;
mod links;
pub mod rdma;
pub mod spandex;
pub mod srsp;
mod surroundings;
#[cfg(test)]
mod toy;
pub mod tsm;

pub use check::FamilyCheck;
pub use figures::{Figure, FigureColumn, FigureInfo, FigureValue, Figures, Meter, Parts, Seen};
pub use hardware::{Fold, Hardware, Promises, Shape, ValueRule, WholeLine};
pub use links::{HostSide, Link, Links};
pub use surroundings::{Channels, MemOp, Newer, Surroundings, Transfer, Unit};

use crate::config::{Common, ConfigError, FabricConfig, Group, KeyInfo};
use directory::DirectoryKeys;
use rdma::RdmaKeys;
use spandex::SpandexKeys;
use srsp::SrspKeys;
use std::collections::BTreeMap;
use std::sync::Arc;
use tsm::TsmKeys;
use weft_workload::Offer;

/// The keys of a fabric's family.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyKeys {
    /// Caches and memory at home nodes, kept coherent by directories, by software, or by nothing (rec.md, hmg.md).
    Directory(DirectoryKeys),
    /// GPUs that share one physical memory, kept coherent by timestamps, or by software between kernels (mgcc.md).
    Tsm(TsmKeys),
    /// GPUs with memories of their own that reach one another's through RDMA engines and a switch (mgcc.md section 14).
    Rdma(RdmaKeys),
    /// One GPU with scoped synchronisation and remote scope promotion (srsp.md).
    Srsp(SrspKeys),
    /// CPU cores and CUs around one last-level cache (spandex.md).
    Spandex(Box<SpandexKeys>),
    /// For tests.
    #[cfg(test)]
    Toy(toy::ToyKeys),
}

impl Default for FamilyKeys {
    fn default() -> FamilyKeys {
        FamilyKeys::Directory(DirectoryKeys::default())
    }
}

impl FamilyKeys {
    /// The published keys of every family.
    pub fn all() -> Vec<FamilyKeys> {
        vec![
            FamilyKeys::default(),
            FamilyKeys::Tsm(TsmKeys::default()),
            FamilyKeys::Rdma(RdmaKeys::default()),
            FamilyKeys::Srsp(SrspKeys::default()),
            FamilyKeys::Spandex(Box::default()),
            #[cfg(test)]
            FamilyKeys::Toy(toy::ToyKeys::default()),
        ]
    }

    /// Names of all families.
    pub fn names() -> Vec<&'static str> {
        FamilyKeys::all().iter().map(|of| of.family().name()).collect()
    }

    /// The family.
    pub fn family(&self) -> &dyn Family {
        match self {
            FamilyKeys::Directory(keys) => keys,
            FamilyKeys::Tsm(keys) => keys,
            FamilyKeys::Rdma(keys) => keys,
            FamilyKeys::Srsp(keys) => keys,
            FamilyKeys::Spandex(keys) => &**keys,
            #[cfg(test)]
            FamilyKeys::Toy(keys) => keys,
        }
    }

    /// The family, to change its keys.
    pub fn family_mut(&mut self) -> &mut dyn Family {
        match self {
            FamilyKeys::Directory(keys) => keys,
            FamilyKeys::Tsm(keys) => keys,
            FamilyKeys::Rdma(keys) => keys,
            FamilyKeys::Srsp(keys) => keys,
            FamilyKeys::Spandex(keys) => &mut **keys,
            #[cfg(test)]
            FamilyKeys::Toy(keys) => keys,
        }
    }

    /// The published keys of the same family.
    pub fn published(&self) -> FamilyKeys {
        match self {
            FamilyKeys::Directory(_) => FamilyKeys::Directory(DirectoryKeys::default()),
            FamilyKeys::Tsm(_) => FamilyKeys::Tsm(TsmKeys::default()),
            FamilyKeys::Rdma(_) => FamilyKeys::Rdma(RdmaKeys::default()),
            FamilyKeys::Srsp(_) => FamilyKeys::Srsp(SrspKeys::default()),
            FamilyKeys::Spandex(_) => FamilyKeys::Spandex(Box::default()),
            #[cfg(test)]
            FamilyKeys::Toy(_) => FamilyKeys::Toy(toy::ToyKeys::default()),
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

    /// The hardware that a configuration with these keys stands for.
    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware>;

    /// The figures of every run, in order.
    fn figures(&self) -> Vec<FigureInfo>;

    /// What a person wants to know of a run first: title and text of each row.
    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)>;
}

impl FabricConfig {
    /// Fills in what a program wants to know of the fabric, unless it is given; the result names what was filled in.
    pub fn offer(&self, workload: &str, params: &mut BTreeMap<String, String>) -> Vec<&'static str> {
        let Common { gpus, gpms, cus, line, .. } = self.common;
        let hardware = self.hardware();
        let shape = hardware.shape();
        let unit = hardware.compute_unit(shape.cores_each(), self.common.cu());
        let machine = Offer { gpus, gpms, cus: gpms * cus, lanes: unit.lanes, cores: shape.cores, line };
        let mut followed = weft_workload::offer(workload, params, machine);
        let words = [("memory", Some(unit.local.word())), ("sync", hardware.sync())];
        for (key, word) in words {
            if word.is_some_and(|word| weft_workload::supply(workload, params, key, word)) {
                followed.push(key);
            }
        }
        followed
    }

    /// The hardware that it stands for.
    pub fn hardware(&self) -> Arc<dyn Hardware> {
        self.of.family().hardware(self)
    }
}
