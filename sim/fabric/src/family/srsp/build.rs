//! Parameters of the models that a configuration stands for.

use super::keys::{SrspProtocol, SrspSlip};
use super::{Gpu, SrspFabricParams, SrspKeys};
use crate::config::Common;
use crate::dram::DramTiming;
use weft_srsp::Shape;
use weft_srsp::bank::Bank;
use weft_srsp::fabric::{Network, RegisteringFabricParams, System};
use weft_srsp::hlrc_l2::{HlrcL2Fault, HlrcL2Params};
use weft_srsp::l1::{Inject, L1Params};
use weft_srsp::l2::L2Params;
use weft_srsp::params::{Impl, Srsp};
use weft_srsp::registering::RegisteringParams;

impl SrspKeys {
    /// The hardware: everything between compute units and DRAM.
    pub(super) fn gpu(&self, common: &Common) -> Gpu {
        let srsp = Srsp {
            cus: common.cus,
            addr_bits: common.addr_bits,
            line: common.line,
            banks: self.banks,
            mshrs: self.l1_mshrs,
            wbt: self.l1_wbt,
        };
        match self.protocol.system(self.broadcast_order) {
            Some(system) => Gpu::Scoped(self.scoped(srsp, system)),
            // A slip that they do not know is refused when the keys are checked.
            None if self.protocol == SrspProtocol::DenovoB => {
                Gpu::RegisteringWrites(self.registering(srsp, self.inject.registering_writes()))
            }
            None => Gpu::Registering(self.registering(srsp, self.inject.registering())),
        }
    }

    fn registering<I: System>(&self, srsp: Srsp, inject: Option<I>) -> RegisteringFabricParams<I> {
        let network = match self.mesh {
            0 => Network::Flat { link: self.crossbar_latency },
            columns => Network::Mesh { columns },
        };
        let published = RegisteringFabricParams::of(srsp, network);
        RegisteringFabricParams {
            l1: RegisteringParams {
                owned_aware: self.owned_aware,
                inject: inject.unwrap_or(I::NONE),
                ..published.l1
            }
            .sized(|s| Shape {
                size: self.l1_size,
                ways: self.l1_ways,
                latency: self.l1_latency,
                sfifo: self.l1_sfifo,
                targets: self.l1_targets,
                sq: self.sync_queue,
                ..s
            }),
            l2: HlrcL2Params {
                revokes: self.revokes,
                write: self.l2_write.write(),
                owned_aware: self.owned_aware,
                fault: if self.inject == SrspSlip::OldRead {
                    HlrcL2Fault::OldRead
                } else {
                    HlrcL2Fault::None
                },
                ..published.l2
            }
            .sized(|s| Bank {
                size: self.l2_size,
                ways: self.l2_ways,
                latency: self.l2_latency,
                sfifo: self.l2_sfifo,
                mshrs: self.l2_mshrs,
                targets: self.l2_targets,
                writes: self.l2_writes,
                ..s
            })
            .of(I::REGISTERED),
            network,
        }
    }

    fn scoped(&self, srsp: Srsp, system: Impl) -> SrspFabricParams {
        let published = SrspFabricParams::of(srsp, system);
        SrspFabricParams {
            l1: L1Params {
                pa: self.pa_entries,
                aff: self.aff_entries,
                closes: self.broadcast_closes.closes(),
                // A slip that they do not know is refused when the keys are checked.
                inject: self.inject.scoped().unwrap_or(Inject::None),
                ..published.l1
            }
            .sized(|s| Shape {
                size: self.l1_size,
                ways: self.l1_ways,
                latency: self.l1_latency,
                sfifo: self.l1_sfifo,
                targets: self.l1_targets,
                sq: self.sync_queue,
                ..s
            }),
            l2: L2Params { locks: self.locks, link: self.crossbar_latency, ..published.l2 }.sized(|s| Bank {
                size: self.l2_size,
                ways: self.l2_ways,
                latency: self.l2_latency,
                sfifo: self.l2_sfifo,
                mshrs: self.l2_mshrs,
                targets: self.l2_targets,
                writes: self.l2_writes,
                ..s
            }),
            link: self.crossbar_latency,
            columns: self.mesh,
            ..published
        }
    }

    /// The DRAM channel of a bank.
    pub(super) fn dram(&self, common: &Common) -> DramTiming {
        DramTiming {
            line: common.line,
            bandwidth: common.dram_bandwidth,
            latency: common.dram_latency,
            banks: common.dram_banks,
            bank_busy: common.dram_bank_busy,
            queue: common.dram_queue,
            interleave: u64::from(common.line),
            channels: self.banks,
        }
    }
}
