//! The RDMA family: MGPU-RDMA, GPUs that own a part of memory each and reach what others own through RDMA engines and a PCIe switch (mgcc.md section 14).
//!
//! | part | what |
//! | --- | --- |
//! | [`RdmaKeys`] | the keys, and which combinations cannot be built |
//! | `hardware` | ports and promises of the fabric; the DRAM channels behind the home banks are those of family [`tsm`](super::tsm) |
//! | `metrics` | the figures of mgcc.md section 13 that this system has, and its RDMA transactions |
//!
//! Nothing keeps the L1s coherent inside a kernel; they are invalidated when one begins. Home banks stay as they are: each is its memory's only cache. Where pages lie decides how much crosses the switch;
//! the host's copies (keys `host_link_bytes`, `host_link_latency`) are those of every family.

mod build;
mod check;
mod hardware;
mod keys;
mod metrics;

pub use keys::{RdmaKeys, RdmaProtocol};
pub use weft_mgcc::rdma::RdmaFabricParams;

use super::{Family, FigureInfo, Figures, Hardware};
use crate::config::{Common, ConfigError, FabricConfig, KeyInfo, Legal, Placement};
use check::Checked;
use hardware::RdmaHardware;
use std::sync::Arc;

impl Family for RdmaKeys {
    fn name(&self) -> &'static str {
        "rdma"
    }

    /// That of Table 3.1: one line per cycle from each DRAM channel, copies of the host at 32 bytes per cycle, arrays split over the GPUs.
    fn common(&self) -> Common {
        Common { host_link_bytes: 32, placement: Placement::Block, ..Common::default() }
    }

    fn adapt(&self, key: &mut KeyInfo) {
        let (legal, about) = match key.name {
            "gpus" => (Legal::Power(2, 16), key.about),
            "gpms" => (Legal::Within(1, 1), "modules of a GPU: there are none in this family"),
            "line" => (Legal::Power(64, 64), key.about),
            "cus" => (Legal::Within(1, 128), key.about),
            "dram_banks" => (key.legal, "DRAM banks of each channel"),
            _ => return,
        };
        (key.legal, key.about) = (legal, about);
    }

    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
        Checked { config, common: &config.common, keys: self }.check()
    }

    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware> {
        Arc::new(RdmaHardware::new(self, &config.common))
    }

    fn figures(&self) -> Vec<FigureInfo> {
        metrics::counted(0).infos()
    }

    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)> {
        metrics::summary(figures)
    }
}

impl FabricConfig {
    /// Parameters of the hardware of a fabric of the RDMA family; `None` of another one.
    pub fn rdma(&self) -> Option<RdmaFabricParams> {
        self.of.keys().map(|keys: &RdmaKeys| keys.params(&self.common))
    }
}
