//! Faults of the family's blocks, put in on purpose to try the checks of a run: simulation only, since a block with one is not exported.

use super::SpandexSystem;
use crate::config::named;
use weft_spandex::gpu_l1::Inject as GpuL1;
use weft_spandex::llc::LlcFault;
use weft_spandex::mesi_l1::MesiL1Inject;
use weft_spandex::tu_gpu::Inject as TuGpu;
use weft_spandex::tu_mesi::TuMesiInject;

named! {
    /// A fault: the block, then its own word for it.
    SpandexSlip {
        /// None.
        None = "none",
        /// LLC: an Inv counts as answered when it is sent.
        LlcEarlyAck = "llc-early-ack",
        /// LLC: RspWB does not say that a revocation crosses the write-back.
        LlcNoCross = "llc-no-cross",
        /// LLC: how a ReqS is answered is decided again after the revocation.
        LlcUnlatchedPolicy = "llc-unlatched-policy",
        /// LLC: a line is replaced without taking its owned words back.
        LlcDropOwned = "llc-drop-owned",
        /// LLC: a ReqS does not make its requestor a sharer.
        LlcForgottenSharer = "llc-forgotten-sharer",
        /// LLC: dirty words that come back do not make the line dirty.
        LlcLostDirty = "llc-lost-dirty",
        /// LLC: a revocation ends when the owner has answered, although its write-back is still to come.
        LlcNoWait = "llc-no-wait",
        /// LLC: a write-through leaves the old owner in the line.
        LlcStaleOwner = "llc-stale-owner",
        /// MESI unit: a shared line whose invalidation has come already is kept.
        TuMesiKeepOnce = "tu-mesi-keep-once",
        /// MESI unit: delayed removals are answered with the line as it came.
        TuMesiRemovalFirst = "tu-mesi-removal-first",
        /// MESI unit: a triggered write-back forgets its lowest word.
        TuMesiLostWord = "tu-mesi-lost-word",
        /// MESI unit: a line is asked for while its write-back is open.
        TuMesiNoR2 = "tu-mesi-no-r2",
        /// MESI unit: a removal that crosses a write-back is not waited for.
        TuMesiNoCross = "tu-mesi-no-cross",
        /// MESI L1: operations join an MSHR that was closed by an invalidation or removal.
        MesiL1JoinShut = "mesi-l1-join-shut",
        /// MESI L1: a release does not wait for stores that wait for their line.
        MesiL1EarlyRelease = "mesi-l1-early-release",
        /// MESI L1: a line being written back in place is open to loads.
        MesiL1ReadWbp = "mesi-l1-read-wbp",
        /// GPU unit: the words of a NackV are not asked for again.
        TuGpuNackLost = "tu-gpu-nack-lost",
        /// GPU unit: a write-through is complete when the LLC has answered, whatever the old owners do.
        TuGpuEarlyWt = "tu-gpu-early-wt",
        /// GPU unit: extras answer words that are outstanding.
        TuGpuExtras = "tu-gpu-extras",
        /// GPU L1: a release does not wait for the answers of write-throughs.
        GpuL1EarlyRelease = "gpu-l1-early-release",
        /// GPU L1: an acquire leaves no mark on reads under way.
        GpuL1NoStale = "gpu-l1-no-stale",
        /// GPU L1: a line that comes in overwrites what was stored here meanwhile.
        GpuL1FillOverStore = "gpu-l1-fill-over-store",
        /// GPU L1: an atomic leaves no mark on reads of its line.
        GpuL1AtomicNoMark = "gpu-l1-atomic-no-mark",
        /// GPU L1: a write-through does not wait for the one of the same line before it.
        GpuL1WtOvertakes = "gpu-l1-wt-overtakes",
        /// GPU L1: an atomic does not wait for buffered stores to its words.
        GpuL1AtomicOvertakes = "gpu-l1-atomic-overtakes",
        /// GPU L1: a load does not see buffered stores.
        GpuL1BufferUnseen = "gpu-l1-buffer-unseen",
    }
}

/// Where a fault is put.
enum At {
    Llc(LlcFault),
    TuMesi(TuMesiInject),
    MesiL1(MesiL1Inject),
    TuGpu(TuGpu),
    GpuL1(GpuL1),
}

impl SpandexSlip {
    fn at(self) -> Option<At> {
        use SpandexSlip::*;
        Some(match self {
            None => return Option::None,
            LlcEarlyAck => At::Llc(LlcFault::EarlyAck),
            LlcNoCross => At::Llc(LlcFault::NoCross),
            LlcUnlatchedPolicy => At::Llc(LlcFault::UnlatchedPolicy),
            LlcDropOwned => At::Llc(LlcFault::DropOwned),
            LlcForgottenSharer => At::Llc(LlcFault::ForgottenSharer),
            LlcLostDirty => At::Llc(LlcFault::LostDirty),
            LlcNoWait => At::Llc(LlcFault::NoWait),
            LlcStaleOwner => At::Llc(LlcFault::StaleOwner),
            TuMesiKeepOnce => At::TuMesi(TuMesiInject::KeepOnce),
            TuMesiRemovalFirst => At::TuMesi(TuMesiInject::RemovalFirst),
            TuMesiLostWord => At::TuMesi(TuMesiInject::LostWord),
            TuMesiNoR2 => At::TuMesi(TuMesiInject::NoR2),
            TuMesiNoCross => At::TuMesi(TuMesiInject::NoCross),
            MesiL1JoinShut => At::MesiL1(MesiL1Inject::JoinShut),
            MesiL1EarlyRelease => At::MesiL1(MesiL1Inject::EarlyRelease),
            MesiL1ReadWbp => At::MesiL1(MesiL1Inject::ReadWbp),
            TuGpuNackLost => At::TuGpu(TuGpu::NackLost),
            TuGpuEarlyWt => At::TuGpu(TuGpu::EarlyWt),
            TuGpuExtras => At::TuGpu(TuGpu::Extras),
            GpuL1EarlyRelease => At::GpuL1(GpuL1::EarlyRelease),
            GpuL1NoStale => At::GpuL1(GpuL1::NoStale),
            GpuL1FillOverStore => At::GpuL1(GpuL1::FillOverStore),
            GpuL1AtomicNoMark => At::GpuL1(GpuL1::AtomicNoMark),
            GpuL1WtOvertakes => At::GpuL1(GpuL1::WtOvertakes),
            GpuL1AtomicOvertakes => At::GpuL1(GpuL1::AtomicOvertakes),
            GpuL1BufferUnseen => At::GpuL1(GpuL1::BufferUnseen),
        })
    }

    /// Puts it into the block; false when the system has none of this kind.
    #[must_use]
    pub(super) fn put(self, system: &mut SpandexSystem) -> bool {
        let gpu = system.has_gpu_l1s();
        match (self.at(), &mut system.mesi) {
            (None, _) => {}
            (Some(At::Llc(fault)), _) => system.llc.fault = fault,
            (Some(At::TuGpu(fault)), _) if gpu => system.tu_gpu.inject = fault,
            (Some(At::GpuL1(fault)), _) if gpu => system.gpu_l1.inject = fault,
            (Some(At::TuMesi(fault)), Some((_, unit))) => unit.inject = fault,
            (Some(At::MesiL1(fault)), Some((l1, _))) => l1.inject = fault,
            (Some(_), _) => return false,
        }
        true
    }
}
