//! Families of fabrics: what differs in kind, so that the run loop, the compute units and the checks know none of them.
//!
//! A family is a folder here and an entry of `BUILT_IN`, which is the one place that lists them; families of others are added by [`install`] and are no less.
//! It provides
//!
//! | trait | for |
//! | --- | --- |
//! | [`Family`], of its keys | the configuration: keys, combinations that cannot be built, the figures that it measures |
//! | [`Hardware`] | the run loop: the module, counts, fences, what kernels hand on |
//! | [`Surroundings`] | models at the other ports, memories above all |
//! | [`FamilyCheck`] | checks that only this family has |
//! | [`Meter`] | figures of a run |
//!
//! # A family of somebody else
//!
//! REC directories whose links are described by their length:
//!
//! ```standalone_crate
//! use std::sync::Arc;
//! use weft_fabric::config::{ConfigError, FabricConfig, Legal, keys};
//! use weft_fabric::family::directory::DirectoryKeys;
//! use weft_fabric::family::{Family, FamilyKeys, FigureInfo, Figures, Hardware, install};
//!
//! keys! {
//!     /// Keys of family `far`.
//!     FarKeys {
//!         Links { length: u32 = 4, "m", Legal::Within(1, 40), "length of the links between GPUs"; }
//!     }
//! }
//!
//! impl FarKeys {
//!     /// The fabric with directories that a configuration stands for.
//!     fn rec(&self, config: &FabricConfig) -> FabricConfig {
//!         let mut rec = FabricConfig::default();
//!         rec.common = config.common.clone();
//!         rec.set(&format!("link_latency={}", 100 + 10 * self.length)).expect("legal");
//!         rec
//!     }
//! }
//!
//! impl Family for FarKeys {
//!     fn name(&self) -> &'static str {
//!         "far"
//!     }
//!     fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
//!         self.rec(config).validate()
//!     }
//!     fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware> {
//!         self.rec(config).hardware()
//!     }
//!     fn figures(&self) -> Vec<FigureInfo> {
//!         DirectoryKeys::default().figures()
//!     }
//!     fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)> {
//!         DirectoryKeys::default().summary(figures)
//!     }
//! }
//!
//! install(vec![FamilyKeys::of::<FarKeys>]);
//! let mut fabric = FabricConfig::parse("family = \"far\"\nlength = 20\n", "far", "far.toml").unwrap();
//! fabric.validate().unwrap();
//! assert_eq!(fabric.hardware().links().gpus.latency, 300);
//! assert!(fabric.set("length=50").is_err());
//! ```

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
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tsm::TsmKeys;
use weft_lists::Further;
use weft_workload::Offer;

/// The published keys of one family: what a list of families holds.
pub type Published = fn() -> FamilyKeys;

/// The families that come with this crate.
const BUILT_IN: &[Published] = &[
    FamilyKeys::of::<DirectoryKeys>,
    FamilyKeys::of::<TsmKeys>,
    FamilyKeys::of::<RdmaKeys>,
    FamilyKeys::of::<SrspKeys>,
    FamilyKeys::of::<SpandexKeys>,
];

/// Those of others.
static FURTHER: Further<Published> = Further::new();

/// Installs families from outside this crate, each by [`FamilyKeys::of`] its keys; before any fabric is asked for, and once.
///
/// # Panics
/// When families have been asked for or installed already.
pub fn install(families: Vec<Published>) {
    FURTHER.install(families);
}

/// Names of the families that come with this crate.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|published| published().family().name())
}

/// The families of others.
fn further() -> &'static [Published] {
    #[cfg(test)]
    {
        static TOY: std::sync::Once = std::sync::Once::new();
        TOY.call_once(|| install(vec![FamilyKeys::of::<toy::ToyKeys>]));
    }
    FURTHER.all()
}

/// The keys of a fabric's family.
#[derive(Debug)]
pub struct FamilyKeys(Box<dyn Family>);

impl Default for FamilyKeys {
    fn default() -> FamilyKeys {
        FamilyKeys::of::<DirectoryKeys>()
    }
}

impl Clone for FamilyKeys {
    fn clone(&self) -> FamilyKeys {
        FamilyKeys(self.0.boxed())
    }
}

impl PartialEq for FamilyKeys {
    fn eq(&self, other: &FamilyKeys) -> bool {
        self.0.is(&*other.0)
    }
}

impl FamilyKeys {
    /// The published keys of a family.
    pub fn of<T: Family + Default>() -> FamilyKeys {
        FamilyKeys(Box::new(T::default()))
    }

    /// The published keys of every family.
    pub fn all() -> Vec<FamilyKeys> {
        BUILT_IN.iter().chain(further()).map(|published| published()).collect()
    }

    /// Names of all families.
    pub fn names() -> Vec<&'static str> {
        FamilyKeys::all().iter().map(|of| of.family().name()).collect()
    }

    /// The family.
    pub fn family(&self) -> &dyn Family {
        &*self.0
    }

    /// The family, to change its keys.
    pub fn family_mut(&mut self) -> &mut dyn Family {
        &mut *self.0
    }

    /// The keys of the family that asks; `None` of another one.
    pub fn keys<T: Family>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The published keys of the same family.
    pub fn published(&self) -> FamilyKeys {
        FamilyKeys(self.0.published())
    }
}

/// What the keys of every family can do because they are plain data; nobody writes it.
pub trait Data: Any + fmt::Debug + Send + Sync {
    /// The same keys once more.
    fn boxed(&self) -> Box<dyn Family>;

    /// The published keys of the family.
    fn published(&self) -> Box<dyn Family>;

    /// Keys of the same family, with the same values.
    fn is(&self, other: &dyn Family) -> bool;
}

impl<T: Family + Clone + Default + PartialEq> Data for T {
    fn boxed(&self) -> Box<dyn Family> {
        Box::new(self.clone())
    }

    fn published(&self) -> Box<dyn Family> {
        Box::new(T::default())
    }

    fn is(&self, other: &dyn Family) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

/// What a family's keys say beside their values.
pub trait Family: Group + Data {
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
