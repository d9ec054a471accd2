//! The sRSP family: one GPU whose L1s are not coherent, with scoped synchronisation and remote scope promotion (srsp.md).
//!
//! | part | what |
//! | --- | --- |
//! | [`SrspKeys`] | the keys of srsp.md section 2, and which combinations cannot be built |
//! | [`Gpu`] | parameters of its hardware: with scopes, hLRC or DeNovo-B |
//! | `hardware` | ports and promises of the fabric |
//! | `port` | the memory channels behind the L2 banks |
//! | `banks` | what the L2 holds newer than memory |
//! | [`order`] | the check of what loads and synchronising accesses find |
//! | `metrics` | the figures of srsp.md section 12 |
//!
//! An L1 performs the acquire and release of an access as part of it. A kernel begins with an invalidation of every L1 and ends with a flush of it to the L2, which stays as it is.

mod banks;
mod build;
mod check;
mod gpu;
mod hardware;
mod keys;
mod metrics;
pub mod order;
mod port;

pub use gpu::Gpu;
pub use keys::{SrspKeys, SrspProtocol};
pub use weft_srsp::fabric::SrspFabricParams;

use super::{Family, FigureInfo, Figures, Hardware};
use crate::config::{Common, ConfigError, FabricConfig, KeyInfo, Legal};
use crate::cu::Model;
use check::Checked;
use hardware::SrspHardware;
use std::sync::Arc;

impl Family for SrspKeys {
    fn name(&self) -> &'static str {
        "srsp"
    }

    /// One GPU of 64 CUs; 4 DRAM channels of 500 MHz stand for the published 8.
    fn common(&self) -> Common {
        Common { gpus: 1, model: Model::Drfrlx, scopes: true, ..Common::default() }
    }

    fn adapt(&self, key: &mut KeyInfo) {
        let (legal, about) = match key.name {
            "gpus" => (Legal::Within(1, 1), "GPUs: one in this family"),
            "gpms" => (Legal::Within(1, 1), "modules of a GPU: there are none in this family"),
            "line" => (Legal::Power(64, 64), key.about),
            "cus" => (Legal::Within(1, 128), key.about),
            "placement" => (key.legal, "where a program's pages lie; of no effect: there is one memory"),
            _ => return,
        };
        (key.legal, key.about) = (legal, about);
    }

    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
        Checked { config, common: &config.common, keys: self }.check()
    }

    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware> {
        Arc::new(SrspHardware::new(self, &config.common))
    }

    fn figures(&self) -> Vec<FigureInfo> {
        metrics::counted().infos()
    }

    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)> {
        metrics::summary(figures)
    }
}

impl FabricConfig {
    /// The hardware of a fabric of the sRSP family; `None` of another one.
    pub fn srsp(&self) -> Option<Gpu> {
        self.of.keys().map(|keys: &SrspKeys| keys.gpu(&self.common))
    }
}
