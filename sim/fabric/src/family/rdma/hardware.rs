//! An RDMA fabric as the run loop sees it.

use super::metrics::counted;
use super::{RdmaFabricParams, RdmaKeys};
use crate::check::CheckError;
use crate::config::Common;
use crate::cu::CuMode;
use crate::dram::DramTiming;
use crate::family::tsm::around::{Around, Place};
use crate::family::tsm::banks::Banks;
use crate::family::tsm::hardware::BANK_HIT;
use crate::family::tsm::lane::Ports;
use crate::family::{
    FamilyCheck, Hardware, HostSide, Link, Links, Meter, Promises, Shape, Surroundings, ValueRule, WholeLine,
};
use crate::memory::Memory;
use crate::run::FabricError;
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_engine::{Design, Sim};
use weft_mgcc::rdma::rdma_fabric;
use weft_rtl::ir::Module;

/// Hardware of the family and what is around it.
pub(super) struct RdmaHardware {
    params: RdmaFabricParams,
    dram: DramTiming,
    mode: CuMode,
    host: Option<HostSide>,
}

impl RdmaHardware {
    /// What a configuration stands for.
    pub fn new(keys: &RdmaKeys, common: &Common) -> RdmaHardware {
        let mode = CuMode { acks: true, ..common.mode(false) };
        let link = Link { bytes: common.host_link_bytes, latency: common.host_link_latency };
        let page = u64::from(keys.fault_page.max(common.page));
        let host = HostSide { link, fault_cycles: u64::from(keys.fault_cycles), page };
        let host = (link.bytes > 0).then_some(host);
        RdmaHardware { params: keys.params(common), dram: keys.dram(common), mode, host }
    }
}

impl Hardware for RdmaHardware {
    fn module(&self) -> Result<Arc<Module>, BlockError> {
        rdma_fabric(&self.params)
    }

    fn tag(&self) -> String {
        format!("rdma_{}", self.params.tag())
    }

    fn shape(&self) -> Shape {
        let r = &self.params.rdma;
        Shape {
            nodes: r.tsm.gpus,
            gpms: 1,
            cus: r.tsm.cus,
            cores: 0,
            line: self.dram.line,
            homes: r.tsm.gpus,
            home_bytes: 1 << r.home_bits,
        }
    }

    /// Behind the engines lines are those of the GPU's own memory; a request to another GPU says whose.
    fn whole_line(&self, block: &str, width: u32) -> Option<WholeLine> {
        let bits = self.params.rdma.home_line_bits();
        let own = block.strip_prefix("gpu").and_then(|rest| rest.split('.').next()?.parse().ok());
        let whole = move |line: u64, dst: Option<u64>| dst.or(own).unwrap_or(0) << bits | line;
        (width == bits).then(|| Box::new(whole) as WholeLine)
    }

    fn links(&self) -> Links {
        let gpus = Link { bytes: self.params.link_bpc, latency: self.params.switch_latency };
        Links { gpus, host: self.host }
    }

    fn mode(&self) -> CuMode {
        self.mode
    }

    /// Values are right across kernels; inside one an L1 may show an old one although its CU has synchronised.
    fn promises(&self) -> Promises {
        Promises { values: ValueRule::Counted, memory: true }
    }

    /// L1s are invalidated by KBEGIN, and home banks are their memories' only caches.
    fn has_fences(&self) -> bool {
        false
    }

    fn release_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn acquire_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn surroundings(&self, sim: &mut Sim, memory: Memory) -> Result<Box<dyn Surroundings>, FabricError> {
        let (p, r) = (&self.params, &self.params.rdma);
        let apart = 1 << r.home_line_bits();
        let units = "units gpuG.bankB with memories tags, dirty and lines";
        let banks =
            Banks::find(sim, &r.bank(), [p.l2_size, p.l2_ways], apart).ok_or(FabricError::Names { units })?;
        let place = |(g, b): (u32, u32)| Place {
            ports: format!("g{g}_b{b}"),
            name: format!("gpu {g} bank {b}"),
            first: u64::from(g) * apart,
        };
        let all = (0..r.tsm.gpus).flat_map(|g| (0..r.tsm.banks).map(move |b| (g, b)));
        let places = (all.map(place).collect(), r.tsm.l2_mshrs);
        let (banks_per_gpu, low) = (u64::from(r.tsm.banks), r.tsm.il - 6);
        let channel_of =
            move |line: u64| (line / apart * banks_per_gpu + (line >> low) % banks_per_gpu) as usize;
        Ok(Box::new(Around::<Ports>::new(
            sim,
            places,
            Arc::new(channel_of),
            self.dram,
            Some(banks.newer()),
            memory,
        )?))
    }

    fn checks(&self, _: &Design) -> Result<Vec<Box<dyn FamilyCheck>>, CheckError> {
        Ok(Vec::new())
    }

    fn meter(&self) -> Box<dyn Meter> {
        Box::new(counted(u64::from(self.params.l2_latency.saturating_sub(BANK_HIT))))
    }
}
