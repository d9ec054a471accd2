//! The Spandex family: CPU cores and CUs, each with an L1 and a translation unit of some protocol, around one last-level cache, or, as
//! the baseline, CPU cores and a GPU L2 around a MESI directory (spandex.md section 9).
//!
//! | part | what |
//! | --- | --- |
//! | [`SpandexKeys`] | the keys of spandex.md section 1, and which combinations cannot be built |
//! | [`SpandexSystem`] | parameters of its hardware |
//! | [`devices`] | devices of other protocols, of an open list |
//! | `hardware` | ports and promises of the fabric |
//! | `port` | the memory channels behind the controllers |
//! | `banks`, `hier` | what the LLC, or the caches of a hierarchical system, hold newer than memory |
//! | `oracle` | who owns what a Flex L1 asks for, told by the LLC |
//! | `soc` | what stands around the hardware |
//! | `rest` | the check of owners and sharers at rest |
//! | `nacks` | the check that refused words are asked for again, in the end in a way that cannot be refused |
//! | `stash` | what stashes hold newer than memory |
//! | `slips` | faults put in to try the checks |
//! | `taps`, `traffic` | what enters the meshes; flit-hops by class of request |
//! | `metrics` | the figures of spandex.md section 13 |
//! | `energy` | energy proxy and traffic by kind of access (cu-and-consistency.md section 9) |
//!
//! The fabric's clock is that of the CPU cores; a CU has a tick in some of its cycles. Device numbers are those of the compute units of node 0: cores first.
//!
//! With several GPUs the LLC is that of all of them: a page lies in the memory of one GPU, and its lines in the banks there, wherever they are used. CPU cores are shared out evenly, as on boards
//! where each GPU has its own. All GPUs together have at most 64 CUs, 64 cores and 64 banks, which is what the numbers in messages reach; any of them fits the 32 bits of a word, so that an owner's
//! does.
//!
//! Memory controllers stand at the corners of the mesh (see [`weft_spandex::net`]); the channels behind them are behavioural.

mod banks;
mod build;
mod check;
pub mod devices;
mod energy;
mod hardware;
mod hier;
mod keys;
mod metrics;
mod nacks;
mod oracle;
mod port;
mod rest;
mod slips;
mod soc;
mod taps;
mod traffic;

pub use build::{Hierarchy, SpandexSystem};
pub use keys::{SpandexKeys, SpandexProtocol};
pub use slips::SpandexSlip;

use super::{Family, FigureInfo, Figures, Hardware};
use crate::config::{Common, ConfigError, FabricConfig, KeyInfo, Legal};
use crate::cu::{CuPolicy, Model};
use check::Checked;
use hardware::SpandexHardware;
use std::sync::Arc;

impl Family for SpandexKeys {
    fn name(&self) -> &'static str {
        "spandex"
    }

    /// 16 CUs like those of the flat GPU of cu-and-consistency.md section 1.
    fn common(&self) -> Common {
        Common {
            gpus: 1,
            cus: 16,
            model: Model::Drf1,
            scopes: false,
            lanes: 32,
            alu_width: 32,
            waves: 48,
            blocks: 8,
            issue_slots: 2,
            cu_policy: CuPolicy::Gto,
            lds_bytes: 16384,
            lsu_depth: 1,
            ..Common::default()
        }
    }

    fn adapt(&self, key: &mut KeyInfo) {
        let (legal, about) = match key.name {
            "gpus" => (Legal::Power(1, 8), "GPUs, each with a mesh of its own; links join them"),
            "gpms" => (Legal::Within(1, 1), "modules of a GPU: there are none in this family"),
            "line" => (Legal::Power(64, 64), key.about),
            "cus" => (Legal::Within(1, 64), "CUs of a GPU; at most 64 in all"),
            "placement" => (
                key.legal,
                "in whose memory a program's pages lie, and in whose banks; of no effect with one GPU",
            ),
            _ => return,
        };
        (key.legal, key.about) = (legal, about);
    }

    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
        Checked { config, common: &config.common, keys: self }.check()
    }

    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware> {
        Arc::new(SpandexHardware::new(self, &config.common))
    }

    fn figures(&self) -> Vec<FigureInfo> {
        metrics::counted().infos().into_iter().chain(energy::infos()).collect()
    }

    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)> {
        metrics::summary(figures)
    }
}
