//! Faults of the family's blocks, put in on purpose to try the checks of a run: simulation only, since a block with one is not exported.
//!
//! Each is one that a litmus test or a program shows, with the keys that bring its race about: the rows of `spandex.csv` and `flat.csv` of
//! `weft-conformance` hold the commands, and the campaign asks them. Faults of the blocks that none shows are not among them; the benches
//! of the blocks are for these.

use super::{SpandexKeys, SpandexProtocol, SpandexSystem};
use crate::config::{Common, Named, named};
use weft_spandex::denovo_l1::Atomics;
use weft_spandex::denovo_l1::Inject as DenovoL1;
use weft_spandex::flex_l1::Inject as FlexL1;
use weft_spandex::gpu_l1::Inject as GpuL1;
use weft_spandex::hmesi::client::ClientInject;
use weft_spandex::hmesi::gpu_l2::GpuL2Fault;
use weft_spandex::hmesi::mesi_llc::MesiLlcFault;
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
        /// MESI L1: a release does not wait for stores that wait for their line.
        MesiL1EarlyRelease = "mesi-l1-early-release",
        /// GPU unit: the words of a NackV are not asked for again.
        TuGpuNackLost = "tu-gpu-nack-lost",
        /// GPU unit: words of a NackV are asked for by ReqV for ever.
        TuGpuNoEscalation = "tu-gpu-no-escalation",
        /// GPU L1: a release does not wait for the answers of write-throughs.
        GpuL1EarlyRelease = "gpu-l1-early-release",
        /// GPU L1: an acquire leaves all lines.
        GpuL1KeepsCopies = "gpu-l1-keeps-copies",
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
        /// DeNovo L1: a release waits for no answer.
        DenovoL1EarlyRelease = "denovo-l1-early-release",
        /// DeNovo L1: an acquire leaves valid words.
        DenovoL1KeepsValid = "denovo-l1-keeps-valid",
        /// DeNovo L1: a write-back closes when it is answered, whatever forward crosses it.
        DenovoL1NoCross = "denovo-l1-no-cross",
        /// DeNovo L1: a removal that comes while ownership is asked for leaves the word owned.
        DenovoL1KeepsOwnership = "denovo-l1-keeps-ownership",
        /// DeNovo L1: a removal that comes while data is asked for is answered before the own atomic.
        DenovoL1NoDelay = "denovo-l1-no-delay",
        /// L3: a GetS of a shared line does not make its requestor a sharer.
        L3ForgottenSharer = "l3-forgotten-sharer",
        /// L3: a shared line is replaced without Inv.
        L3DropShared = "l3-drop-shared",
        /// L3: a Put of a client that is not the owner counts.
        L3StalePut = "l3-stale-put",
        /// L3: dirty data that comes back does not make the line dirty.
        L3LostDirty = "l3-lost-dirty",
        /// L3: DataM says one InvAck less than Invs are sent.
        L3ShortAcks = "l3-short-acks",
        /// L3: a busy line takes a Put.
        L3EarlyPut = "l3-early-put",
        /// L3: the old owner of a line that becomes shared is forgotten.
        L3ForgottenOwner = "l3-forgotten-owner",
        /// L3: Unblock ends a transaction although WbData is still to come.
        L3NoWbData = "l3-no-wb-data",
        /// GPU L2: an Inv is answered, but the line stays.
        GpuL2KeepInvalid = "gpu-l2-keep-invalid",
        /// GPU L2: a forward is answered without the words that L1s own.
        GpuL2NoRevoke = "gpu-l2-no-revoke",
        /// GPU L2: a shared line is written without GetM.
        GpuL2SilentUpgrade = "gpu-l2-silent-upgrade",
        /// GPU L2: a GetM counts as answered before its InvAcks have come.
        GpuL2EarlyData = "gpu-l2-early-data",
        /// GPU L2: a line that was written leaves as a clean one.
        GpuL2LostDirty = "gpu-l2-lost-dirty",
        /// GPU L2: a line is replaced without taking its owned words back.
        GpuL2DropOwned = "gpu-l2-drop-owned",
        /// GPU L2: a clean line is replaced without Put.
        GpuL2DropClean = "gpu-l2-drop-clean",
        /// GPU L2: RspWB does not say that a revocation crosses the write-back.
        GpuL2NoCross = "gpu-l2-no-cross",
        /// L3's client of a core: a line is asked for while its Put is open.
        ClientNoR2 = "client-no-r2",
        /// L3's client of a core: a writer does not wait for InvAcks.
        ClientEarlyM = "client-early-m",
        /// L3's client of a core: WbData calls a line that was written clean.
        ClientLostDirty = "client-lost-dirty",
        /// L3's client of a core: FwdGetM leaves a shared copy behind.
        ClientKeepCopy = "client-keep-copy",
        /// L3's client of a core: Inv is answered, the copy stays.
        ClientNoInv = "client-no-inv",
        /// L3's client of a core: a line used once is not unblocked.
        ClientNoUnblock = "client-no-unblock",
        /// Flex L1: a release waits for no answer.
        FlexL1EarlyRelease = "flex-l1-early-release",
        /// Flex L1: an acquire leaves valid words.
        FlexL1KeepsValid = "flex-l1-keeps-valid",
        /// Flex L1: a write-back closes when it is answered, whatever forward crosses it.
        FlexL1NoCross = "flex-l1-no-cross",
        /// Flex L1: a removal that comes while ownership is asked for leaves the word owned.
        FlexL1KeepsOwnership = "flex-l1-keeps-ownership",
        /// Flex L1: a removal that comes while data is asked for is forgotten.
        FlexL1NoDelay = "flex-l1-no-delay",
        /// Flex L1: extras are installed whatever happened to the line.
        FlexL1StaleExtras = "flex-l1-stale-extras",
        /// Flex L1: a line that comes in overwrites what was stored here meanwhile.
        FlexL1FillOverStore = "flex-l1-fill-over-store",
        /// Flex L1: the own copy of a word that the LLC updates stays.
        FlexL1KeepsCopy = "flex-l1-keeps-copy",
        /// Flex L1: Inv leaves shared words.
        FlexL1KeepsShared = "flex-l1-keeps-shared",
        /// Flex L1: words of a ReqS for which Inv has come already stay as shared.
        FlexL1KeepsOnce = "flex-l1-keeps-once",
        /// Flex L1: refused words of a write-through count as written.
        FlexL1DropsRefused = "flex-l1-drops-refused",
    }
}

/// Where a fault is put.
enum At {
    Llc(LlcFault),
    TuMesi(TuMesiInject),
    MesiL1(MesiL1Inject),
    TuGpu(TuGpu),
    GpuL1(GpuL1),
    DenovoL1(DenovoL1),
    MesiLlc(MesiLlcFault),
    GpuL2(GpuL2Fault),
    Client(ClientInject),
    FlexL1(FlexL1),
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
            LlcStaleOwner => At::Llc(LlcFault::StaleOwner),
            TuMesiKeepOnce => At::TuMesi(TuMesiInject::KeepOnce),
            TuMesiRemovalFirst => At::TuMesi(TuMesiInject::RemovalFirst),
            TuMesiLostWord => At::TuMesi(TuMesiInject::LostWord),
            TuMesiNoR2 => At::TuMesi(TuMesiInject::NoR2),
            TuMesiNoCross => At::TuMesi(TuMesiInject::NoCross),
            MesiL1EarlyRelease => At::MesiL1(MesiL1Inject::EarlyRelease),
            TuGpuNackLost => At::TuGpu(TuGpu::NackLost),
            TuGpuNoEscalation => At::TuGpu(TuGpu::NoEscalation),
            GpuL1EarlyRelease => At::GpuL1(GpuL1::EarlyRelease),
            GpuL1KeepsCopies => At::GpuL1(GpuL1::KeepsCopies),
            GpuL1NoStale => At::GpuL1(GpuL1::NoStale),
            GpuL1FillOverStore => At::GpuL1(GpuL1::FillOverStore),
            GpuL1AtomicNoMark => At::GpuL1(GpuL1::AtomicNoMark),
            GpuL1WtOvertakes => At::GpuL1(GpuL1::WtOvertakes),
            GpuL1AtomicOvertakes => At::GpuL1(GpuL1::AtomicOvertakes),
            GpuL1BufferUnseen => At::GpuL1(GpuL1::BufferUnseen),
            DenovoL1EarlyRelease => At::DenovoL1(DenovoL1::EarlyRelease),
            DenovoL1KeepsValid => At::DenovoL1(DenovoL1::KeepsValid),
            DenovoL1NoCross => At::DenovoL1(DenovoL1::NoCross),
            DenovoL1KeepsOwnership => At::DenovoL1(DenovoL1::KeepsOwnership),
            DenovoL1NoDelay => At::DenovoL1(DenovoL1::NoDelay),
            L3ForgottenSharer => At::MesiLlc(MesiLlcFault::ForgottenSharer),
            L3DropShared => At::MesiLlc(MesiLlcFault::DropShared),
            L3StalePut => At::MesiLlc(MesiLlcFault::StalePut),
            L3LostDirty => At::MesiLlc(MesiLlcFault::LostDirty),
            L3ShortAcks => At::MesiLlc(MesiLlcFault::ShortAcks),
            L3EarlyPut => At::MesiLlc(MesiLlcFault::EarlyPut),
            L3ForgottenOwner => At::MesiLlc(MesiLlcFault::ForgottenOwner),
            L3NoWbData => At::MesiLlc(MesiLlcFault::NoWbData),
            GpuL2KeepInvalid => At::GpuL2(GpuL2Fault::KeepInvalid),
            GpuL2NoRevoke => At::GpuL2(GpuL2Fault::NoRevoke),
            GpuL2SilentUpgrade => At::GpuL2(GpuL2Fault::SilentUpgrade),
            GpuL2EarlyData => At::GpuL2(GpuL2Fault::EarlyData),
            GpuL2LostDirty => At::GpuL2(GpuL2Fault::LostDirty),
            GpuL2DropOwned => At::GpuL2(GpuL2Fault::DropOwned),
            GpuL2DropClean => At::GpuL2(GpuL2Fault::DropClean),
            GpuL2NoCross => At::GpuL2(GpuL2Fault::NoCross),
            ClientNoR2 => At::Client(ClientInject::NoR2),
            ClientEarlyM => At::Client(ClientInject::EarlyM),
            ClientLostDirty => At::Client(ClientInject::LostDirty),
            ClientKeepCopy => At::Client(ClientInject::KeepCopy),
            ClientNoInv => At::Client(ClientInject::NoInv),
            ClientNoUnblock => At::Client(ClientInject::NoUnblock),
            FlexL1EarlyRelease => At::FlexL1(FlexL1::EarlyRelease),
            FlexL1KeepsValid => At::FlexL1(FlexL1::KeepsValid),
            FlexL1NoCross => At::FlexL1(FlexL1::NoCross),
            FlexL1KeepsOwnership => At::FlexL1(FlexL1::KeepsOwnership),
            FlexL1NoDelay => At::FlexL1(FlexL1::NoDelay),
            FlexL1StaleExtras => At::FlexL1(FlexL1::StaleExtras),
            FlexL1FillOverStore => At::FlexL1(FlexL1::FillOverStore),
            FlexL1KeepsCopy => At::FlexL1(FlexL1::KeepsCopy),
            FlexL1KeepsShared => At::FlexL1(FlexL1::KeepsShared),
            FlexL1KeepsOnce => At::FlexL1(FlexL1::KeepsOnce),
            FlexL1DropsRefused => At::FlexL1(FlexL1::DropsRefused),
        })
    }

    /// What it spoils happens in the system, if that has the block.
    fn matters(self, system: &SpandexSystem) -> bool {
        use SpandexSlip::*;
        let l1s = || system.denovo_cores.iter().chain(&system.denovo_cus);
        let (mesi, flex, denovo) = (system.mesi.is_some(), system.flex.is_some(), l1s().next().is_some());
        match self {
            // Only MESI and Flex share words that a writer has to invalidate.
            LlcEarlyAck | LlcUnlatchedPolicy | LlcForgottenSharer => mesi || flex,
            // GPU coherence owns nothing.
            LlcNoCross | LlcDropOwned | LlcLostDirty => mesi || denovo || flex,
            // Only GPU coherence and Flex write through, and what is owned must be somebody's.
            LlcStaleOwner => flex || (system.has_gpu_l1s() && (mesi || denovo)),
            // Only an owner refuses, and those of a hierarchical system are above the GPU L2.
            TuGpuNackLost | TuGpuNoEscalation => system.hierarchy.is_none() && (mesi || denovo),
            GpuL2NoRevoke | GpuL2DropOwned | GpuL2NoCross => system.denovo_cus.is_some(),
            DenovoL1NoDelay => l1s().any(|(l1, _)| l1.atomics != Atomics::Through),
            _ => true,
        }
    }

    /// Protocols with which it may be put in, the other keys as they are.
    pub(super) fn protocols(self, keys: &SpandexKeys, common: &Common) -> Vec<&'static str> {
        let takes = |protocol: SpandexProtocol| {
            let keys = SpandexKeys { protocol, ..keys.clone() };
            (common.gpus == 1 || !protocol.is_hierarchical()) && self.put(&mut keys.sound(common))
        };
        let all = SpandexProtocol::VALUES.iter().zip(SpandexProtocol::NAMES);
        all.filter(|(protocol, _)| takes(**protocol)).map(|(_, name)| *name).collect()
    }

    /// Puts it into the block; false when the system has none of this kind, or what the fault spoils never happens in it.
    #[must_use]
    pub(super) fn put(self, system: &mut SpandexSystem) -> bool {
        let Some(at) = self.at() else { return true };
        if !self.matters(system) {
            return false;
        }
        let gpu = system.has_gpu_l1s();
        match (at, &mut system.mesi, &mut system.hierarchy) {
            (At::Llc(fault), _, None) => system.llc.fault = fault,
            (At::TuGpu(fault), ..) if gpu => system.tu_gpu.inject = fault,
            (At::GpuL1(fault), ..) if gpu => system.gpu_l1.inject = fault,
            (At::TuMesi(fault), Some((_, unit)), None) => unit.inject = fault,
            (At::MesiL1(fault), Some((l1, _)), _) => l1.inject = fault,
            (At::MesiLlc(fault), _, Some(hierarchy)) => hierarchy.l3.fault = fault,
            (At::GpuL2(fault), _, Some(hierarchy)) => hierarchy.l2.fault = fault,
            (At::Client(fault), _, Some(hierarchy)) => hierarchy.client.inject = fault,
            (At::DenovoL1(fault), ..) => {
                let l1s = system.denovo_cores.iter_mut().chain(&mut system.denovo_cus);
                l1s.for_each(|(l1, _)| l1.inject = fault);
                return system.denovo_cores.is_some() || system.denovo_cus.is_some();
            }
            (At::FlexL1(fault), ..) => match &mut system.flex {
                Some((l1, _)) => l1.inject = fault,
                None => return false,
            },
            _ => return false,
        }
        true
    }
}
