//! The TSM family: GPUs that share one physical memory, kept coherent by timestamps (MGCC) or by software at the boundaries of kernels (mgcc.md).
//!
//! | part | what |
//! | --- | --- |
//! | [`TsmKeys`] | the keys of mgcc.md section 2, and which combinations cannot be built |
//! | `around` | DRAM channels behind the lanes of the UMCs: masked writes and atomics that answer with the line (family [`rdma`](super::rdma) has the same) |
//! | `hardware` | ports and promises of the fabric; the lease registers |
//! | [`times`] | the check of logical time (section 3): every byte read is of the write with the greatest time up to the reader's |
//! | `metrics` | the figures of section 13 |
//!
//! There is one memory for all GPUs, so placement does not matter. Kernels hand the clocks' maximum on (section 9); without coherence each GPU's banks are invalidated when a
//! kernel begins and written back when it ends, by their fence unit.

pub(super) mod around;
pub(super) mod banks;
mod build;
mod check;
pub(super) mod hardware;
mod keys;
pub(super) mod lane;
pub(super) mod metrics;
pub mod times;
mod values;

pub use keys::TsmKeys;
pub use values::{LaneCount, MergeRaw, ReadTime};
pub use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol};

use super::{Family, FigureInfo, Figures, Hardware};
use crate::config::{Common, ConfigError, FabricConfig, KeyInfo, Legal};
use check::Checked;
use hardware::TsmHardware;
use std::sync::Arc;

impl Family for TsmKeys {
    fn name(&self) -> &'static str {
        "tsm"
    }

    /// That of Table 3.1: one line per cycle from each DRAM channel.
    fn common(&self) -> Common {
        Common::default()
    }

    fn adapt(&self, key: &mut KeyInfo) {
        let (legal, about) = match key.name {
            "gpus" => (Legal::Power(1, 16), key.about),
            "gpms" => (Legal::Within(1, 1), "modules of a GPU: there are none in this family"),
            "line" => (Legal::Power(64, 64), key.about),
            "cus" => (Legal::Within(1, 128), key.about),
            "dram_bytes" => (key.legal, "DRAM per GPU; all of it together is the one memory of the system"),
            "dram_banks" => (key.legal, "DRAM banks of each channel"),
            "placement" => (key.legal, "where a program's pages lie; of no effect: there is one memory"),
            "model" => (key.legal, "consistency model that the CUs keep; with protocol wt-c-sc it is sc"),
            _ => return,
        };
        (key.legal, key.about) = (legal, about);
    }

    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
        Checked { config, common: &config.common, keys: self }.check()
    }

    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware> {
        Arc::new(TsmHardware::new(self, &config.common))
    }

    fn figures(&self) -> Vec<FigureInfo> {
        metrics::counted(0).infos()
    }

    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)> {
        metrics::summary(figures)
    }
}

impl FabricConfig {
    /// Parameters of the hardware of a fabric of the TSM family; `None` of another one.
    pub fn tsm(&self) -> Option<TsmFabricParams> {
        self.of.keys().map(|keys: &TsmKeys| keys.params(&self.common))
    }
}
