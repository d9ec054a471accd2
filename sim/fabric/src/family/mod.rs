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
pub(crate) mod figures;
pub(crate) mod hardware;
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

use crate::config::{Common, FabricConfig};
pub use crate::config::{Family, FamilyKeys};
use directory::DirectoryKeys;
use rdma::RdmaKeys;
use spandex::SpandexKeys;
use srsp::SrspKeys;
use std::collections::BTreeMap;
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

impl Default for FamilyKeys {
    fn default() -> FamilyKeys {
        FamilyKeys::of::<DirectoryKeys>()
    }
}

impl FamilyKeys {
    /// The published keys of every family.
    pub fn all() -> Vec<FamilyKeys> {
        BUILT_IN.iter().chain(further()).map(|published| published()).collect()
    }

    /// Names of all families.
    pub fn names() -> Vec<&'static str> {
        FamilyKeys::all().iter().map(|of| of.family().name()).collect()
    }
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
