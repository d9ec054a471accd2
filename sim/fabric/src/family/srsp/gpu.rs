//! The hardware of a fabric of the family: L1s with scopes, or L1s that register lines: those of atomics, or all that are written.

use super::order::Heeds;
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_rtl::ir::Module;
use weft_srsp::fabric::{
    DenovoFabricParams, HlrcFabricParams, SrspFabricParams, registering_fabric, srsp_fabric,
};
use weft_srsp::params::Srsp;

/// Parameters of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Gpu {
    /// With scopes: Baseline, bRSP, sRSP.
    Scoped(SrspFabricParams),
    /// hLRC.
    Registering(HlrcFabricParams),
    /// DeNovo-B.
    RegisteringWrites(DenovoFabricParams),
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
            Gpu::RegisteringWrites(p) => p.srsp(),
        }
    }

    /// Its module.
    ///
    /// # Errors
    /// Parameters that cannot be built.
    pub fn module(&self) -> Result<Arc<Module>, BlockError> {
        match self {
            Gpu::Scoped(p) => srsp_fabric(p),
            Gpu::Registering(p) => registering_fabric(p),
            Gpu::RegisteringWrites(p) => registering_fabric(p),
        }
    }

    /// Name of its module.
    pub fn module_name(&self) -> String {
        match self {
            Gpu::Scoped(p) => p.module_name(),
            Gpu::Registering(p) => p.module_name(),
            Gpu::RegisteringWrites(p) => p.module_name(),
        }
    }

    /// What of an access's order its L1s heed.
    pub fn heeds(&self) -> Heeds {
        match self {
            Gpu::Scoped(_) => Heeds::Scopes,
            Gpu::Registering(_) => Heeds::Nothing,
            Gpu::RegisteringWrites(_) => Heeds::Semantics,
        }
    }

    pub(super) fn bank(&self) -> BankShape {
        let bank = match self {
            Gpu::Scoped(p) => &p.l2.bank,
            Gpu::Registering(p) => &p.l2.bank,
            Gpu::RegisteringWrites(p) => &p.l2.bank,
        };
        BankShape { sets: bank.sets(), ways: bank.ways, tag_bits: bank.tag_bits() }
    }
}
