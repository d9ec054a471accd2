//! Keys of the family, each declared once: field, default, unit, legal values, sentence.

use crate::config::Legal::{OneOf, Power, Switch, Within};
use crate::config::{M, Named, keys, named};
use weft_srsp::denovo_b_l1::DenovoInject;
use weft_srsp::hlrc_l1::HlrcInject;
use weft_srsp::hlrc_l2::L2Write;
use weft_srsp::l1::{Closes, Inject};
use weft_srsp::params::Impl;

named! {
    /// How work-groups synchronise.
    SrspProtocol {
        /// At GPU scope, without stealing: srsp.md's Baseline.
        Global = "global",
        /// At work-group scope, without stealing: Scope-only.
        Scope = "scope",
        /// At GPU scope, with stealing: Steal-only.
        Steal = "steal",
        /// Thieves by broadcast remote operations.
        Brsp = "brsp",
        /// Thieves by selective remote operations.
        Srsp = "srsp",
        /// The same with the local check and the predictor.
        SrspOpt = "srsp-opt",
        /// Unscoped atomics on lines that their L1 registers.
        Hlrc = "hlrc",
        /// The same, with every line registered that is written.
        DenovoB = "denovo-b",
    }
}

named! {
    /// Slips of an L1, to try the checks.
    SrspSlip {
        /// None.
        None = "none",
        /// SEL_INV does not insert into the PA-TBL.
        PaDropped = "pa-dropped",
        /// SEL_FLUSH stops one entry early.
        FlushShort = "flush-short",
        /// A SEL_FLUSH is acknowledged before its flush has completed.
        EarlyPack = "early-pack",
        /// A SEL_FLUSH that misses is acknowledged without a fence.
        NoMissFence = "no-miss-fence",
        /// A probe of a line under way leaves no mark.
        NoReplay = "no-replay",
        /// An invalidation leaves no mark on lines under way.
        NoNoinst = "no-noinst",
        /// The own remote operation leaves the CU gate open.
        OpenGate = "open-gate",
        /// With protocol brsp and a token: the flush of a broadcast locks nothing.
        OpenLock = "open-lock",
        /// The lock of a line ends before the invalidations under it are collected.
        EarlyUnlock = "early-unlock",
        /// A release ends at once: what is dirty leaves later.
        EarlyRelease = "early-release",
        /// An acquire leaves all lines.
        KeepsCopies = "keeps-copies",
        /// With protocol hlrc: a line is handed over before what was written before is flushed.
        FlushAfterAck = "flush-after-ack",
        /// With protocol hlrc: gaining a line drops nothing.
        NoGainInv = "no-gain-inv",
        /// With protocol denovo-b: a line that comes to be registered overwrites what was stored meanwhile.
        GrantOverwrites = "grant-overwrites",
        /// With protocol denovo-b: who reads a registered line takes it from its owner, and the L2 does not learn of it.
        ReadTakes = "read-takes",
        /// With protocol denovo-b: a line that is given back on demand does not say which bytes were written.
        LostMask = "lost-mask",
        /// With protocol denovo-b: what a reader was told is told again, which does no harm.
        ToldAgain = "told-again",
        /// With protocol denovo-b: who reads a registered line gets what the L2 has of it.
        OldRead = "old-read",
    }
}

named! {
    /// What becomes of data written to an L2 bank of protocol hlrc.
    DataWrite {
        /// It is combined in the bank.
        Combine = "combine",
        /// It goes to memory, and the bank's copy is dropped.
        ThroughInv = "through-inv",
    }
}

impl DataWrite {
    /// The hardware's word for it.
    pub(super) fn write(self) -> L2Write {
        match self {
            DataWrite::Combine => L2Write::Combine,
            DataWrite::ThroughInv => L2Write::ThroughInv,
        }
    }
}

named! {
    /// What keeps remote operations by broadcast apart. The publication leaves it open: it locks an address
    /// in every L1 and says nothing of two operations at once.
    BroadcastOrder {
        /// A token of the whole GPU: the lock of an address lies in the L1s, which can hold one.
        Token = "token",
        /// The lock of the line at its L2 bank, as with sRSP: operations on different lines go on side by
        /// side.
        Line = "line",
    }
}

named! {
    /// With a token: what a remote operation by broadcast keeps the other CUs from, from the flush of their
    /// L1s until these are invalidated (srsp.md sections 1, 5.1 and 5.2).
    BroadcastCloses {
        /// Every access: their L1s are closed.
        All = "all",
        /// Accesses that synchronise, whatever their address.
        Sync = "sync",
        /// Accesses to the line of the operation's address.
        Line = "line",
    }
}

impl BroadcastCloses {
    /// The hardware's word for it.
    pub(super) fn closes(self) -> Closes {
        match self {
            BroadcastCloses::All => Closes::All,
            BroadcastCloses::Sync => Closes::Sync,
            BroadcastCloses::Line => Closes::Line,
        }
    }
}

impl SrspSlip {
    /// The L1s of a protocol have what the slip leaves out.
    pub(super) fn exists(self, protocol: SrspProtocol, order: BroadcastOrder) -> bool {
        use SrspProtocol::{Brsp, DenovoB, Global, Scope, Srsp, SrspOpt, Steal};
        let token = protocol == Brsp && order == BroadcastOrder::Token;
        match self {
            SrspSlip::None => true,
            // Of SEL_FLUSH and SEL_INV.
            SrspSlip::PaDropped | SrspSlip::FlushShort | SrspSlip::EarlyPack | SrspSlip::NoMissFence => {
                matches!(protocol, Srsp | SrspOpt)
            }
            // Of remote operations, their own ones and those that reach them.
            SrspSlip::OpenGate => matches!(protocol, Brsp | Srsp | SrspOpt),
            // Of LOCK_FLUSH.
            SrspSlip::OpenLock => token,
            // Of locks of lines; a token keeps away what would delay an invalidation.
            SrspSlip::EarlyUnlock => matches!(protocol, Brsp | Srsp | SrspOpt) && !token,
            // Without probes all that an L1 hears of others comes on the channel of its fills, behind what was read
            // before: an invalidation finds no older line under way.
            SrspSlip::NoNoinst => !matches!(protocol, Global | Scope | Steal | DenovoB),
            slip if protocol == DenovoB => slip.registering_writes().is_some(),
            slip if protocol.system(order).is_some() => slip.scoped().is_some(),
            slip => slip.registering().is_some(),
        }
    }

    /// The hardware's word for it, of L1s with scopes.
    pub(super) fn scoped(self) -> Option<Inject> {
        Some(match self {
            SrspSlip::None => Inject::None,
            SrspSlip::PaDropped => Inject::PaDropped,
            SrspSlip::FlushShort => Inject::FlushShort,
            SrspSlip::EarlyPack => Inject::EarlyPack,
            SrspSlip::NoMissFence => Inject::NoMissFence,
            SrspSlip::NoReplay => Inject::NoReplay,
            SrspSlip::NoNoinst => Inject::NoNoinst,
            SrspSlip::OpenGate => Inject::OpenGate,
            SrspSlip::OpenLock => Inject::OpenLock,
            SrspSlip::EarlyUnlock => Inject::EarlyUnlock,
            SrspSlip::EarlyRelease => Inject::EarlyRelease,
            SrspSlip::KeepsCopies => Inject::KeepsCopies,
            _ => return None,
        })
    }

    /// The same of L1s that register lines.
    pub(super) fn registering(self) -> Option<HlrcInject> {
        match self {
            SrspSlip::None => Some(HlrcInject::None),
            SrspSlip::NoNoinst => Some(HlrcInject::NoNoinst),
            SrspSlip::FlushAfterAck => Some(HlrcInject::FlushAfterAck),
            SrspSlip::NoGainInv => Some(HlrcInject::NoGainInv),
            _ => None,
        }
    }
}

impl SrspSlip {
    /// The same of L1s that register all that is written, and their banks.
    pub(super) fn registering_writes(self) -> Option<DenovoInject> {
        match self {
            SrspSlip::None | SrspSlip::OldRead => Some(DenovoInject::None),
            SrspSlip::EarlyRelease => Some(DenovoInject::EarlyRelease),
            SrspSlip::KeepsCopies => Some(DenovoInject::KeepsCopies),
            SrspSlip::GrantOverwrites => Some(DenovoInject::GrantOverwrites),
            SrspSlip::ReadTakes => Some(DenovoInject::ReadTakes),
            SrspSlip::LostMask => Some(DenovoInject::LostMask),
            SrspSlip::ToldAgain => Some(DenovoInject::ToldAgain),
            _ => None,
        }
    }
}

impl SrspProtocol {
    /// The L1s, if they have scopes.
    pub(super) fn system(self, order: BroadcastOrder) -> Option<Impl> {
        match self {
            SrspProtocol::Global | SrspProtocol::Scope | SrspProtocol::Steal => Some(Impl::Base),
            SrspProtocol::Brsp => Some(match order {
                BroadcastOrder::Token => Impl::BrspToken,
                BroadcastOrder::Line => Impl::Brsp,
            }),
            SrspProtocol::Srsp => Some(Impl::Srsp),
            SrspProtocol::SrspOpt => Some(Impl::SrspOpt),
            SrspProtocol::Hlrc | SrspProtocol::DenovoB => None,
        }
    }

    /// The value of parameter `sync` of a program with work queues.
    pub(super) fn sync(self) -> &'static str {
        match self {
            SrspProtocol::Global => "baseline",
            SrspProtocol::Scope => "scope",
            SrspProtocol::Steal => "steal",
            SrspProtocol::Brsp | SrspProtocol::Srsp | SrspProtocol::SrspOpt => "remote",
            SrspProtocol::Hlrc | SrspProtocol::DenovoB => "atomic",
        }
    }
}

keys! {
    /// Keys of the family beside the common ones (srsp.md section 2); the default is the published system.
    SrspKeys {
        System {
            protocol: SrspProtocol = SrspProtocol::Srsp, "", OneOf(SrspProtocol::NAMES), "how work-groups synchronise, which a program with work queues follows, and the L1s that can do it";
        }
        Coherence {
            l1_sfifo: u32 = 16, "entries", Within(2, 256), "sFIFO of an L1, and so its LR-TBL";
            l2_sfifo: u32 = 24, "entries", Within(2, 256), "sFIFOs of all L2 banks together";
            pa_entries: u32 = 16, "entries", Within(1, 256), "PA-TBL of an L1";
            aff_entries: u32 = 64, "entries", Within(0, 1024), "predictor of an L1, with protocol srsp-opt: a power of two from 8; 0: off";
            sync_queue: u32 = 8, "operations", Within(1, 64), "synchronising operations that wait in an L1 behind the one at work";
            broadcast_order: BroadcastOrder = BroadcastOrder::Line, "", OneOf(BroadcastOrder::NAMES), "protocol brsp: what keeps remote operations apart: the lock of their line at the L2, under which those on other lines go on, or one token of the GPU, with the address locked in the L1s; either is right, and the lock is the simpler hardware";
            broadcast_closes: BroadcastCloses = BroadcastCloses::Line, "", OneOf(BroadcastCloses::NAMES), "protocol brsp with broadcast_order token (line: accesses to the line alone): what a remote operation keeps the other CUs from between the flush and the invalidation of their L1s: all accesses, those that synchronise, or those to the line of its address; each is right, and none of it would not be";
            locks: u32 = 8, "lines", Within(1, 64), "lines that are locked at once in an L2 bank";
            revokes: u32 = 8, "lines", Within(1, 64), "protocols hlrc and denovo-b: lines that are revoked at once in an L2 bank, or read at their owners";
            owned_aware: bool = true, "", Switch, "protocols hlrc and denovo-b: registered lines are replaced last, in L1s and L2 banks";
            l2_write: DataWrite = DataWrite::Combine, "", OneOf(DataWrite::NAMES), "protocol hlrc: written data is combined in the L2, or goes through it to memory and drops the copy there; of no effect with denovo-b, where it is registered";
            inject: SrspSlip = SrspSlip::None, "", OneOf(SrspSlip::NAMES), "a slip of the L1s, to try the checks; simulation only. With protocol srsp or srsp-opt alone pa-dropped, flush-short, early-pack, no-miss-fence; with brsp and broadcast_order token alone open-lock; with these three open-gate and, but for that order, early-unlock, and with hlrc too no-noinst; with all but hlrc and denovo-b no-replay, with all but hlrc early-release, keeps-copies; with hlrc alone flush-after-ack, no-gain-inv; with denovo-b alone grant-overwrites, read-takes, lost-mask, old-read and told-again, which does no harm";
        }
        Caches {
            banks: u32 = 4, "banks", Power(1, 8), "L2 banks, line interleaved, each with a DRAM channel";
            l1_size: u32 = 16384, "bytes", Within(256, M), "data of an L1";
            l1_ways: u32 = 16, "ways", Power(2, 32), "ways of an L1";
            l1_latency: u32 = 4, "cycles", Within(2, 64), "hit time of an L1";
            l1_mshrs: u32 = 16, "MSHRs", Within(1, 64), "misses of an L1 under way";
            l1_targets: u32 = 8, "accesses", Within(1, 64), "accesses of an L1 that wait for one line";
            l1_wbt: u32 = 16, "entries", Within(2, 64), "write-backs of an L1 that wait for their acknowledgement";
            l2_size: u32 = 524288, "bytes", Within(1024, 256 * M), "data of all L2 banks";
            l2_ways: u32 = 16, "ways", Power(2, 16), "ways of an L2 bank";
            l2_latency: u32 = 24, "cycles", Within(5, 1000), "hit time of an L2 bank";
            l2_mshrs: u32 = 32, "MSHRs", Within(1, 128), "lines of an L2 bank under way from memory";
            l2_targets: u32 = 8, "messages", Within(1, 64), "messages of an L2 bank that wait for such a line";
            l2_writes: u32 = 16, "writes", Within(1, 64), "writes of an L2 bank under way to memory";
        }
        Links {
            crossbar_latency: u32 = 4, "cycles", Within(1, 64), "time between L1s and L2 banks, and between L1s and the hub, one way (LINK_LAT)";
            mesh: u32 = 0, "columns", Within(0, 16), "columns of a mesh of CUs, 2 cycles per hop, in place of the crossbars; 0: none. Between L1s and the hub, which remote operations need, crossbar_latency stays";
        }
    }
}
