//! A TSM fabric as the run loop sees it.

use super::TsmKeys;
use super::around::{Around, Place};
use super::banks::Banks;
use super::lane::Ports;
use super::metrics::counted;
use super::times::{Times, full_time};
use crate::check::CheckError;
use crate::config::Common;
use crate::cu::{CuMode, Model};
use crate::dram::DramTiming;
use crate::family::{
    FamilyCheck, Fold, Hardware, Link, Links, Meter, Promises, Shape, Surroundings, ValueRule, WholeLine,
};
use crate::memory::Memory;
use crate::port::input;
use crate::run::FabricError;
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_engine::{Design, Sim};
use weft_mgcc::fabric::{TsmFabricParams, tsm_fabric};
use weft_rtl::ir::Module;

/// Cycles of a hit in a bank alone.
pub(in crate::family) const BANK_HIT: u32 = 3;

/// Hardware of the family and what is around it.
pub(super) struct TsmHardware {
    params: TsmFabricParams,
    /// Of reads and writes.
    leases: [u64; 2],
    dram: DramTiming,
    mode: CuMode,
    home_bytes: u64,
}

impl TsmHardware {
    /// What a configuration stands for.
    pub fn new(keys: &TsmKeys, common: &Common) -> TsmHardware {
        let mode = common.mode(false);
        let model = if keys.sequential() { Model::Sc } else { mode.model };
        TsmHardware {
            params: keys.params(common),
            leases: [keys.rd_lease, keys.wr_lease],
            dram: keys.dram(common),
            mode: CuMode { model, acks: true, ..mode },
            home_bytes: common.dram_bytes * u64::from(common.gpus),
        }
    }
}

impl Hardware for TsmHardware {
    fn module(&self) -> Result<Arc<Module>, BlockError> {
        tsm_fabric(&self.params)
    }

    fn tag(&self) -> String {
        self.params.tag()
    }

    fn shape(&self) -> Shape {
        let tsm = &self.params.tsm;
        Shape {
            nodes: tsm.gpus,
            gpms: 1,
            cus: tsm.cus,
            cores: 0,
            line: self.dram.line,
            homes: 1,
            home_bytes: self.home_bytes,
        }
    }

    /// A TSU knows the lines of its lane.
    fn whole_line(&self, block: &str, width: u32) -> Option<WholeLine> {
        let t = &self.params.tsm;
        let number = |part: &str| {
            let name = block.split('.').find_map(|name| name.strip_prefix(part))?;
            name.parse::<u64>().ok()
        };
        let lane = ["lane", "dram_req", "dram_rsp"].into_iter().find_map(number);
        let (bank, lane) = (number("umc")?, lane?);
        let (low, banks, lanes) = (t.il - 6, t.bank_select(), t.lane_select());
        let whole = move |line: u64, _: Option<u64>| {
            let inside = line << lanes | lane;
            (inside >> low) << (low + banks) | bank << low | inside & ((1 << low) - 1)
        };
        (width == t.lane_line_bits() && width < t.line_bits()).then(|| Box::new(whole) as WholeLine)
    }

    /// Those of one GPU to all UMCs.
    fn links(&self) -> Links {
        let bytes = self.params.link_bpc * self.params.tsm.banks;
        Links { gpus: Link { bytes, latency: self.params.switch_latency }, host: None }
    }

    fn mode(&self) -> CuMode {
        self.mode
    }

    /// With MGCC values are in the order of logical time, which is not that of cycles. Without, values are right across kernels; inside one a block may be stale
    /// although its CU has synchronised.
    fn promises(&self) -> Promises {
        let coherent = self.params.coherent();
        Promises {
            values: if coherent { ValueRule::Elsewhere } else { ValueRule::Counted },
            memory: !coherent,
        }
    }

    /// Those that invalidate L2 banks and write them back.
    fn has_fences(&self) -> bool {
        !self.params.coherent()
    }

    /// A fence of a wave concerns its L1 alone.
    fn release_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn acquire_fence(&self, _: u8) -> Option<u8> {
        None
    }

    fn kernel_acquires(&self) -> bool {
        !self.params.coherent()
    }

    /// The greatest clock: {epoch, ts} compares as one number (mgcc.md section 9), modulo its width.
    fn fold(&self) -> Option<Fold> {
        let cts = self.params.tsm.cts;
        let greatest: Fold = Arc::new(move |told| {
            let first = told.first().copied().unwrap_or(0);
            told.iter().map(|time| full_time(*time, first, cts)).max().unwrap_or(0) & (u64::MAX >> (64 - cts))
        });
        self.params.coherent().then_some(greatest)
    }

    fn surroundings(&self, sim: &mut Sim, memory: Memory) -> Result<Box<dyn Surroundings>, FabricError> {
        let (p, t) = (&self.params, self.params.tsm.clone());
        for (name, lease) in ["rd_lease", "wr_lease"].into_iter().zip(self.leases).filter(|_| p.coherent()) {
            let port = input(sim, name)?;
            sim.set(port, lease);
        }
        let units = "units gpuG.bankB with memories tags, dirty and lines";
        let banks = match p.write_back() {
            true => {
                let found = Banks::find(sim, &t, [p.l2_size, p.l2_ways], 0);
                Some(found.ok_or(FabricError::Names { units })?.newer())
            }
            false => None,
        };
        let place = |(u, l): (u32, u32)| Place {
            ports: format!("u{u}_l{l}"),
            name: format!("umc {u} lane {l}"),
            first: 0,
        };
        let lanes = (0..t.banks).flat_map(|u| (0..t.lanes).map(move |l| (u, l)));
        let places = (lanes.map(place).collect(), p.trk);
        let channel_of = move |line: u64| {
            let (low, select) = (t.il - 6, t.bank_select());
            let umc = line >> low & ((1 << select) - 1);
            let inside = line >> (low + select) << low | line & ((1 << low) - 1);
            let lanes = u64::from(t.lanes);
            (umc * lanes + inside % lanes) as usize
        };
        Ok(Box::new(Around::<Ports>::new(sim, places, Arc::new(channel_of), self.dram, banks, memory)?))
    }

    fn checks(&self, design: &Design) -> Result<Vec<Box<dyn FamilyCheck>>, CheckError> {
        if !self.params.coherent() {
            return Ok(Vec::new());
        }
        Ok(vec![Box::new(Times::new(design, &self.params)?)])
    }

    fn meter(&self) -> Box<dyn Meter> {
        Box::new(counted(u64::from(self.params.l2_latency.saturating_sub(BANK_HIT))))
    }
}
