//! Parameters of the models that a configuration stands for.

use super::devices::{Devices, kinds};
use super::keys::{Coherence, Local};
use super::{SpandexKeys, SpandexProtocol};
use crate::config::Common;
use crate::dram::DramTiming;
use std::fmt;
use std::sync::Arc;
use weft_blocks::common::grid::Grid;
use weft_blocks::registry::BlockError;
use weft_rtl::ir::Module;
use weft_spandex::bank::Bank;
use weft_spandex::denovo_l1::DenovoL1Params;
use weft_spandex::fabric::{
    denovo_device, flex_device, gpu_device, mesi_device, spandex_fabric, stash_device,
};
use weft_spandex::flex_l1::FlexL1Params;
use weft_spandex::gpu_l1::GpuL1Params;
use weft_spandex::hmesi;
use weft_spandex::hmesi::client::ClientParams;
use weft_spandex::hmesi::fabric::{hmesi_device, hmesi_fabric};
use weft_spandex::hmesi::gpu_l2::{GpuL2Params, gpu_l2};
use weft_spandex::hmesi::mesi_llc::{MesiLlcParams, mesi_llc};
use weft_spandex::llc::ReqsPolicy;
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::net::NetParams;
use weft_spandex::net::link::LinkParams;
use weft_spandex::params::Spandex;
use weft_spandex::stash::StashParams;
use weft_spandex::tu_denovo::TuDenovoParams;
use weft_spandex::tu_flex::{Opred, TuFlexParams};
use weft_spandex::tu_gpu::TuGpuParams;
use weft_spandex::tu_mesi::TuMesiParams;

/// The hardware of a configuration: everything between CPU cores, CUs and memory.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SpandexSystem {
    /// Message widths, numbers of devices and banks.
    pub s: Spandex,
    /// The banks.
    pub llc: LlcParams,
    /// The L1s with GPU coherence.
    pub gpu_l1: GpuL1Params,
    /// Their translation units.
    pub tu_gpu: TuGpuParams,
    /// The L1s of MESI cores and their translation units, if there are any.
    pub mesi: Option<(MesiL1Params, TuMesiParams)>,
    /// The DeNovo L1s of CPU cores and their translation units, if there are any.
    pub denovo_cores: Option<(DenovoL1Params, TuDenovoParams)>,
    /// Those of CUs.
    pub denovo_cus: Option<(DenovoL1Params, TuDenovoParams)>,
    /// The Flex L1s and their translation units, if all devices have them.
    pub flex: Option<(FlexL1Params, TuFlexParams)>,
    /// What a hierarchical system has in place of the LLC.
    pub hierarchy: Option<Hierarchy>,
    /// The stashes of the CUs, if they have any: devices behind the CUs, in their order.
    pub stash: Option<StashParams>,
    /// The network.
    pub net: NetParams,
    /// Devices of other protocols.
    pub devices: Devices,
}

/// A module is called by its parameters as this shows them, and committed digests and snapshots know the names: a system without devices of
/// other protocols is shown as one that cannot have any.
impl fmt::Debug for SpandexSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SpandexSystem");
        shown.field("s", &self.s).field("llc", &self.llc);
        shown.field("gpu_l1", &self.gpu_l1).field("tu_gpu", &self.tu_gpu);
        shown.field("mesi", &self.mesi);
        shown.field("denovo_cores", &self.denovo_cores).field("denovo_cus", &self.denovo_cus);
        shown.field("flex", &self.flex).field("hierarchy", &self.hierarchy).field("stash", &self.stash);
        shown.field("net", &self.net);
        if !self.devices.is_empty() {
            shown.field("devices", &self.devices);
        }
        shown.finish()
    }
}

/// The hierarchical baseline's own parts (spandex.md section 9).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hierarchy {
    /// What is below the L1 of a CPU core.
    pub client: ClientParams,
    /// The banks of the GPU L2.
    pub l2: GpuL2Params,
    /// The banks of the L3.
    pub l3: MesiLlcParams,
}

impl SpandexSystem {
    /// Elaborates it.
    ///
    /// # Errors
    /// A parameter that it or one of its blocks refuses.
    pub fn module(&self) -> Result<Arc<Module>, BlockError> {
        let plain = match &self.flex {
            Some((l1, tu)) => flex_device(l1, tu)?,
            None => gpu_device(&self.gpu_l1, &self.tu_gpu)?,
        };
        let cu = match &self.denovo_cus {
            Some((l1, tu)) => denovo_device(l1, tu)?,
            None => plain.clone(),
        };
        let core = match (&self.mesi, &self.denovo_cores) {
            (Some((l1, tu)), _) => match &self.hierarchy {
                Some(hierarchy) => hmesi_device(l1, &hierarchy.client)?,
                None => mesi_device(l1, tu)?,
            },
            (None, Some(_)) if self.denovo_cores == self.denovo_cus => cu.clone(),
            (None, Some((l1, tu))) => denovo_device(l1, tu)?,
            (None, None) => plain,
        };
        let mut devices = vec![core; self.s.cpus as usize];
        devices.resize((self.s.devs() - self.stashes()) as usize, cu);
        if let (Some(stash), Some((_, tu))) = (&self.stash, &self.denovo_cus) {
            devices.resize(self.s.devs() as usize, stash_device(stash, tu)?);
        }
        for (at, name) in self.devices.all() {
            let kind = kinds().iter().find(|kind| kind.name == name);
            if let (Some(place), Some(kind)) = (devices.get_mut(at as usize), kind) {
                *place = (kind.build)(&self.s)?;
            }
        }
        if let Some(Hierarchy { l2, l3, .. }) = &self.hierarchy {
            let banks = (&gpu_l2(l2)?, &mesi_llc(l3)?);
            return hmesi_fabric(&self.module_name(), &self.s, &devices, banks, &self.net);
        }
        spandex_fabric(&self.module_name(), &self.s, &devices, &spandex_llc(&self.llc)?, &self.net)
    }

    /// Devices that are stashes, the last ones.
    pub(super) fn stashes(&self) -> u32 {
        if self.stash.is_some() { self.s.cus / 2 } else { 0 }
    }

    /// Some device has an L1 with GPU coherence.
    pub(super) fn has_gpu_l1s(&self) -> bool {
        let cores = self.mesi.is_none() && self.denovo_cores.is_none();
        self.flex.is_none() && (cores || self.denovo_cus.is_none())
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let mut sum = 0xcbf2_9ce4_8422_2325_u64;
        for byte in format!("{self:?}").bytes() {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("spandex_{}_{}_{sum:016x}", self.s.cpus, self.s.cus)
    }
}

impl SpandexKeys {
    /// The hardware that they stand for.
    pub(super) fn system(&self, common: &Common) -> SpandexSystem {
        let mut system = self.sound(common);
        // A fault of a block that is not there changes nothing; it is refused when the keys are checked.
        let _ = self.inject.put(&mut system);
        system
    }

    /// The same without a fault.
    pub(super) fn sound(&self, common: &Common) -> SpandexSystem {
        let (core, cu) = self.protocol.l1s();
        let sharers = match core {
            Coherence::Mesi => self.cpus,
            Coherence::Flex => self.cpus + common.gpus * common.cus,
            Coherence::Gpu | Coherence::Denovo => 0,
        };
        let stashed = self.local_memory == Local::Stash;
        let plain = Spandex {
            cpus: self.cpus,
            cus: common.gpus * common.cus,
            sharers,
            addr_bits: common.addr_bits,
            line: common.line,
            banks: common.gpus * self.banks,
            mshrs: self.l1_mshrs,
            sb: self.l1_sb,
            wbb: self.l1_wbb,
            tbes: self.llc_tbes,
            gpus: common.gpus,
            home_shift: common.dram_bytes.trailing_zeros(),
        };
        let s = Spandex { cus: plain.cus * (1 + u32::from(stashed)), ..plain.clone() };
        let port = MesiPort { spandex: s.clone(), size: self.l1_size, ways: self.l1_ways };
        let weak_reads = self.reqs_policy.policy() == ReqsPolicy::Opt2;
        let mesi = (
            MesiL1Params { weak_reads, ..MesiL1Params::new(port.clone()) },
            TuMesiParams { flex_rsp: self.flex_rsp, ..TuMesiParams::new(port) },
        );
        let gpu_l1 = GpuL1Params {
            size: self.l1_size,
            ways: self.l1_ways,
            latency: self.l1_latency,
            targets: self.l1_targets,
            releases: self.l1_releases,
            sb_drain: self.sb_drain.drain(),
            scopes: common.scopes,
            hold: self.release_holds,
            ..GpuL1Params::published(s.clone())
        };
        let denovo = (
            DenovoL1Params {
                l1: gpu_l1.clone(),
                atomics: self.denovo_atomics.atomics(self.protocol),
                regions: self.ro_regions,
                ..DenovoL1Params::published(s.clone())
            },
            TuDenovoParams { spandex: s.clone(), n_fail: self.n_fail },
        );
        let flex = (
            FlexL1Params { l1: gpu_l1.clone(), ..FlexL1Params::published(s.clone()) },
            TuFlexParams {
                n_fail: self.n_fail,
                opred: self.prediction(),
                ..TuFlexParams::published(s.clone())
            },
        );
        let hierarchy = self.hierarchy(&s, &mesi.0.port);
        let grid = Grid { columns: self.mesh, rows: self.mesh_rows };
        let mut places =
            if hierarchy.is_some() { hmesi::net::spread(&s, grid) } else { NetParams::spread(&plain, grid) };
        if stashed {
            beside_their_cus(&mut places, &plain);
        }
        SpandexSystem {
            llc: LlcParams {
                reqs: self.reqs_policy.policy(),
                rvko: self.rvko_gran.gran(),
                flex: self.flex_rsp,
                sharers: self.sharer_mode.mode(),
                ..LlcParams::published(s.clone())
            }
            .sized(|b| Bank {
                size: self.llc_of_all(common),
                ways: self.llc_ways,
                stalls: self.llc_stalls,
                ..b
            }),
            gpu_l1,
            tu_gpu: TuGpuParams { n_fail: self.n_fail, ..TuGpuParams::published(s.clone()) },
            mesi: (core == Coherence::Mesi).then_some(mesi),
            denovo_cores: (core == Coherence::Denovo).then(|| denovo.clone()),
            denovo_cus: (cu == Coherence::Denovo).then_some(denovo),
            flex: (core == Coherence::Flex).then_some(flex),
            hierarchy,
            stash: stashed.then(|| self.stash(common, &s)),
            net: NetParams {
                hop: self.hop,
                ni: self.ni,
                bank: self.llc_latency,
                data: self.llc_data_latency,
                controllers: NetParams::corners(grid, common.gpus, self.channels()),
                link: self.link(common),
                ..places
            },
            devices: self.devices.clone(),
            s,
        }
    }

    fn stash(&self, common: &Common, s: &Spandex) -> StashParams {
        StashParams {
            size: common.lds_bytes,
            banks: common.lds_banks,
            targets: self.l1_targets,
            releases: self.l1_releases,
            sb_drain: self.sb_drain.drain(),
            ..StashParams::published(s.clone())
        }
    }

    /// The parts of a hierarchical system.
    fn hierarchy(&self, s: &Spandex, port: &MesiPort) -> Option<Hierarchy> {
        self.protocol.is_hierarchical().then(|| Hierarchy {
            client: ClientParams::new(port.clone()),
            l2: GpuL2Params {
                rvko: self.rvko_gran.gran(),
                flex: self.flex_rsp,
                ..GpuL2Params::published(s.clone())
            }
            .sized(|b| Bank {
                size: self.gpu_l2_size as u32,
                ways: self.gpu_l2_ways,
                stalls: self.llc_stalls,
                ..b
            }),
            l3: MesiLlcParams::published(s.clone()).sized(|b| Bank {
                size: self.llc_size as u32,
                ways: self.llc_ways,
                stalls: self.llc_stalls,
                ..b
            }),
        })
    }

    /// Who guesses owners.
    fn prediction(&self) -> Opred {
        if self.protocol == SpandexProtocol::SFlexPred { self.opred.prediction() } else { Opred::Off }
    }

    /// Data of all LLC banks; far above what can be built if it is too much.
    fn llc_of_all(&self, common: &Common) -> u32 {
        u32::try_from(self.llc_size * u64::from(common.gpus)).unwrap_or(u32::MAX)
    }

    /// Links between several GPUs: their halves, to and from a switch.
    fn link(&self, common: &Common) -> Option<LinkParams> {
        let link =
            LinkParams { bytes: self.link_bytes, latency: self.link_latency / 2, credits: self.link_credits };
        (common.gpus > 1).then_some(link)
    }

    /// Memory controllers of a GPU: a bank has one.
    pub(super) fn channels(&self) -> u32 {
        self.controllers.min(self.banks)
    }

    /// The memory channel behind a controller.
    pub(super) fn dram(&self, common: &Common) -> DramTiming {
        DramTiming {
            line: common.line,
            bandwidth: common.dram_bandwidth,
            latency: common.dram_latency,
            banks: common.dram_banks,
            bank_busy: common.dram_bank_busy,
            queue: common.dram_queue,
            interleave: u64::from(common.line),
            channels: common.gpus * self.channels(),
        }
    }
}

/// Gives every stash, a device behind those of a system without, the place of its CU.
fn beside_their_cus(net: &mut NetParams, plain: &Spandex) {
    let (cus, devices) = (plain.cpus as usize, plain.devs() as usize);
    let of_cus = net.places[cus..devices].to_vec();
    net.places.splice(devices..devices, of_cus);
}
