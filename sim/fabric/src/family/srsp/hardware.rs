//! An sRSP fabric as the run loop sees it.

use super::banks::Banks;
use super::metrics::counted;
use super::order::Order;
use super::port::BankPorts;
use super::{Gpu, SrspKeys};
use crate::check::CheckError;
use crate::config::Common;
use crate::cu::{Atomics, CuMode};
use crate::dram::DramTiming;
use crate::family::tsm::around::{Around, Place};
use crate::family::{FamilyCheck, Fold, Hardware, Meter, Promises, Shape, Surroundings, ValueRule};
use crate::memory::Memory;
use crate::run::FabricError;
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_engine::{Design, Sim};
use weft_rtl::ir::Module;
use weft_srsp::params::Impl;

/// Hardware of the family and what is around it.
pub(super) struct SrspHardware {
    params: Gpu,
    sync: &'static str,
    dram: DramTiming,
    mode: CuMode,
    home_bytes: u64,
}

impl SrspHardware {
    /// What a configuration stands for.
    pub fn new(keys: &SrspKeys, common: &Common) -> SrspHardware {
        SrspHardware {
            params: keys.gpu(common),
            sync: keys.protocol.sync(),
            dram: keys.dram(common),
            mode: CuMode { fused: true, atomics: Atomics::Word, ..common.mode(false) },
            home_bytes: common.dram_bytes,
        }
    }
}

impl Hardware for SrspHardware {
    fn module(&self) -> Result<Arc<Module>, BlockError> {
        self.params.module()
    }

    fn tag(&self) -> String {
        self.params.module_name()
    }

    fn shape(&self) -> Shape {
        let cus = self.params.srsp().cus;
        Shape {
            nodes: 1,
            gpms: 1,
            cus,
            cores: 0,
            line: self.dram.line,
            homes: 1,
            home_bytes: self.home_bytes,
        }
    }

    fn mode(&self) -> CuMode {
        self.mode
    }

    /// An L1 may show an old value until its CU synchronises, and what a store puts there is not yet everybody's: the order of events in cycles explains neither; [`Order`] does.
    fn promises(&self) -> Promises {
        Promises { values: ValueRule::Elsewhere, memory: false }
    }

    fn sync(&self) -> Option<&'static str> {
        Some(self.sync)
    }

    /// L1s that register lines take every atomic for one of everybody's.
    fn promotes(&self) -> bool {
        match &self.params {
            Gpu::Scoped(p) => p.l1.system != Impl::Base,
            Gpu::Registering(_) | Gpu::RegisteringWrites(_) => true,
        }
    }

    fn has_fences(&self) -> bool {
        false
    }

    /// The L2 writes back what overflows its sFIFOs whenever that happens.
    fn rests(&self) -> bool {
        true
    }

    /// Kernels hand nothing on, but stores of the host stay in the L1 that carries them until a KEND.
    fn fold(&self) -> Option<Fold> {
        Some(Arc::new(|_: &[u64]| 0))
    }

    /// An L1 flushes and drops its lines alone.
    fn release_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn acquire_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn surroundings(&self, sim: &mut Sim, memory: Memory) -> Result<Box<dyn Surroundings>, FabricError> {
        let units = "units bankB with memories tags, masks and lines";
        let banks = Banks::find(sim, &self.params).ok_or(FabricError::Names { units })?;
        let place = |b: u32| Place { ports: format!("mem{b}"), name: format!("bank {b}"), first: 0 };
        let count = self.params.srsp().banks;
        let channel_of = move |line: u64| (line % u64::from(count)) as usize;
        let places = ((0..count).map(place).collect(), 256);
        let newer = Some(banks.newer());
        Ok(Box::new(Around::<BankPorts>::new(sim, places, Arc::new(channel_of), self.dram, newer, memory)?))
    }

    fn checks(&self, _: &Design) -> Result<Vec<Box<dyn FamilyCheck>>, CheckError> {
        Ok(vec![Box::new(Order::new(self.params.srsp().cus, self.params.heeds()))])
    }

    fn meter(&self) -> Box<dyn Meter> {
        Box::new(counted())
    }
}
