//! The hardware of a fabric of the family: L1s with scopes, or L1s that register their atomic lines.

use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_rtl::ir::Module;
use weft_srsp::fabric::{HlrcFabricParams, SrspFabricParams, hlrc_fabric, srsp_fabric};
use weft_srsp::params::Srsp;

/// Parameters of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Gpu {
    /// With scopes: Baseline, bRSP, sRSP.
    Scoped(SrspFabricParams),
    /// hLRC.
    Registering(HlrcFabricParams),
}

/// Sets, ways and tag bits of an L2 bank.
pub(super) struct BankShape {
    pub sets: u32,
    pub ways: u32,
    pub tag_bits: u32,
}

impl Gpu {
    /// Message widths, and numbers of L1s and banks.
    pub fn srsp(&self) -> &Srsp {
        match self {
            Gpu::Scoped(p) => p.srsp(),
            Gpu::Registering(p) => p.srsp(),
        }
    }

    /// Its module.
    ///
    /// # Errors
    /// Parameters that cannot be built.
    pub fn module(&self) -> Result<Arc<Module>, BlockError> {
        match self {
            Gpu::Scoped(p) => srsp_fabric(p),
            Gpu::Registering(p) => hlrc_fabric(p),
        }
    }

    /// Name of its module.
    pub fn module_name(&self) -> String {
        match self {
            Gpu::Scoped(p) => p.module_name(),
            Gpu::Registering(p) => p.module_name(),
        }
    }

    /// Scopes count; without them every atomic orders everything.
    pub fn scoped(&self) -> bool {
        matches!(self, Gpu::Scoped(_))
    }

    pub(super) fn bank(&self) -> BankShape {
        let bank = match self {
            Gpu::Scoped(p) => p.l2.bank(),
            Gpu::Registering(p) => p.l2.bank(),
        };
        BankShape { sets: bank.sets(), ways: bank.ways, tag_bits: bank.tag_bits() }
    }
}
