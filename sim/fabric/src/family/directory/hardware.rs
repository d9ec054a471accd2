//! A directory fabric as the run loop sees it.

use super::around::Around;
use super::banks::Banks;
use super::checks::Precisely;
use super::ideal::IdealDirectory;
use super::meter::DirectoryMeter;
use super::oracle::Oracle;
use crate::check::CheckError;
use crate::cu::CuMode;
use crate::dram::{Dram, DramTiming};
use crate::family::{FamilyCheck, Hardware, Link, Links, Meter, Promises, Shape, Surroundings, ValueRule};
use crate::memory::Memory;
use crate::run::FabricError;
use std::sync::Arc;
use weft_blocks::fabric::{FabricParams, rec_fabric};
use weft_blocks::registry::BlockError;
use weft_engine::{Design, Sim};
use weft_rtl::ir::Module;

/// Hardware of the directory family and what is around it.
pub(super) struct DirectoryHardware {
    pub params: FabricParams,
    pub dram: DramTiming,
    pub mode: CuMode,
    pub clock_ghz: f64,
}

impl Hardware for DirectoryHardware {
    fn module(&self) -> Result<Arc<Module>, BlockError> {
        rec_fabric(&self.params)
    }

    fn tag(&self) -> String {
        format!("{:?}", self.params)
    }

    fn shape(&self) -> Shape {
        let sys = &self.params.sys;
        Shape {
            nodes: sys.nodes(),
            gpms: sys.gpms,
            cus: sys.l1s,
            cores: 0,
            line: sys.line,
            homes: sys.nodes(),
            home_bytes: 1 << sys.home_shift,
        }
    }

    fn links(&self) -> Links {
        let (link, count) = (self.params.link, self.params.links);
        Links { gpus: Link { bytes: link.bytes_per_cycle * count, latency: 2 * link.latency }, host: None }
    }

    fn mode(&self) -> CuMode {
        self.mode
    }

    /// Under ideal caching memory lags behind: the values are those of [`Oracle`].
    fn promises(&self) -> Promises {
        Promises { values: ValueRule::Kept, memory: !self.params.incoherent() }
    }

    fn common_releases(&self) -> bool {
        self.params.joins()
    }

    fn has_fences(&self) -> bool {
        true
    }

    fn release_fence(&self, scope: u8) -> Option<u8> {
        self.params.release_fence(scope)
    }

    fn acquire_fence(&self, scope: u8) -> Option<u8> {
        self.params.acquire_fence(scope)
    }

    fn surroundings(&self, sim: &mut Sim, memory: Memory) -> Result<Box<dyn Surroundings>, FabricError> {
        let (p, sys) = (&self.params, &self.params.sys);
        let oracle = p.incoherent().then(|| Oracle::new(memory.clone(), u64::from(sys.line)));
        let ideal = p.outside_directory().then(|| IdealDirectory::new(sim, sys.nodes(), sys.banks));
        Ok(Box::new(Around {
            dram: Dram::new(sim, sys.nodes(), sys.banks, self.dram, memory)?,
            ideal: ideal.transpose()?,
            oracle,
            banks: Banks::find(sim, p)
                .ok_or(FabricError::Names { units: "units gpuG.bankB with memories tags and data" })?,
            sys: sys.clone(),
        }))
    }

    fn checks(&self, design: &Design) -> Result<Vec<Box<dyn FamilyCheck>>, CheckError> {
        Ok(vec![Box::new(Precisely::new(design, &self.params)?)])
    }

    fn meter(&self) -> Box<dyn Meter> {
        Box::new(DirectoryMeter::new(&self.params, self.clock_ghz))
    }
}
