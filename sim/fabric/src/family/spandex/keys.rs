//! Keys of the family, each declared once: field, default, unit, legal values, sentence.

use super::SpandexSlip;
use super::devices::Devices;
use crate::config::Legal::{Form, OneOf, Power, Switch, Within};
use crate::config::{G, K, M, Named, keys, named};
use weft_spandex::denovo_l1::Atomics;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::llc::{ReqsPolicy, RvkoGran, SharerMode};
use weft_workload::LocalMemory;

named! {
    /// The L1s of CPU cores and CUs (spandex.md section 1, where a letter stands for each).
    SpandexProtocol {
        /// MESI CPU cores, CUs with GPU coherence: SMG.
        SMesiGpu = "s-mesi-gpu",
        /// MESI CPU cores, CUs with DeNovo: SMD.
        SMesiDenovo = "s-mesi-denovo",
        /// CPU cores with DeNovo whose atomics go to the LLC, CUs with GPU coherence: SDG.
        SDenovoGpu = "s-denovo-gpu",
        /// DeNovo everywhere: SDD.
        SDenovoDenovo = "s-denovo-denovo",
        /// Flex everywhere: SO.
        SFlex = "s-flex",
        /// Flex everywhere, with owner prediction: SO+pred.
        SFlexPred = "s-flex-pred",
        /// GPU coherence everywhere: no configuration of the study, the plainest use of the LLC.
        SGpuGpu = "s-gpu-gpu",
        /// MESI CPU cores, CUs with GPU coherence below a GPU L2, a MESI directory above both: HMG, the hierarchical baseline.
        HMesiGpu = "h-mesi-gpu",
        /// The same with DeNovo at the CUs: HMD.
        HMesiDenovo = "h-mesi-denovo",
    }
}

named! {
    /// Where DeNovo L1s do atomics on words that they do not own.
    DenovoAtomics {
        /// At the LLC under `s-denovo-gpu`, else in the L1, as published: `join`.
        Protocol = "protocol",
        /// In the L1, which asks for ownership and data; atomics of its CU on a word under way join its
        /// request.
        Join = "join",
        /// The same, each with a request of its own.
        Own = "own",
        /// At the LLC.
        Through = "through",
    }
}

named! {
    /// Who guesses the owner of what a Flex L1 reads or writes through: `opred`.
    Opred {
        /// Nobody.
        Off = "off",
        /// The LLC, at once.
        Oracle = "oracle",
        /// A table in each translation unit.
        Table = "table",
    }
}

/// The coherence of an L1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coherence {
    /// GPU coherence.
    Gpu,
    /// DeNovo.
    Denovo,
    /// MESI.
    Mesi,
    /// Dynamic coherence specialization.
    Flex,
}

impl SpandexProtocol {
    /// CUs are below a GPU L2, and a MESI directory is above all.
    pub(super) fn is_hierarchical(self) -> bool {
        matches!(self, SpandexProtocol::HMesiGpu | SpandexProtocol::HMesiDenovo)
    }

    /// The L1s of CPU cores, and of CUs.
    pub(super) fn l1s(self) -> (Coherence, Coherence) {
        use Coherence::*;
        match self {
            SpandexProtocol::SMesiGpu | SpandexProtocol::HMesiGpu => (Mesi, Gpu),
            SpandexProtocol::SMesiDenovo | SpandexProtocol::HMesiDenovo => (Mesi, Denovo),
            SpandexProtocol::SDenovoGpu => (Denovo, Gpu),
            SpandexProtocol::SDenovoDenovo => (Denovo, Denovo),
            SpandexProtocol::SFlex | SpandexProtocol::SFlexPred => (Flex, Flex),
            SpandexProtocol::SGpuGpu => (Gpu, Gpu),
        }
    }
}

impl DenovoAtomics {
    /// The hardware's word for it.
    pub(super) fn atomics(self, protocol: SpandexProtocol) -> Atomics {
        match self {
            DenovoAtomics::Protocol if protocol == SpandexProtocol::SDenovoGpu => Atomics::Through,
            DenovoAtomics::Through => Atomics::Through,
            DenovoAtomics::Protocol | DenovoAtomics::Join => Atomics::Join,
            DenovoAtomics::Own => Atomics::Own,
        }
    }
}

named! {
    /// What local memory CUs have (cu-and-consistency.md section 8).
    Local {
        /// A scratchpad.
        Scratchpad = "scratchpad",
        /// The same, with a DMA engine.
        Dma = "dma",
        /// A stash, a device of its own beside the L1.
        Stash = "stash",
    }
}

named! {
    /// How a bank answers ReqS: `REQS_POLICY`.
    Reqs {
        /// The requestor becomes a sharer.
        Opt1 = "opt1",
        /// It gets the words to use once.
        Opt2 = "opt2",
        /// It gets ownership.
        Opt3 = "opt3",
        /// By the line's state and owners.
        Eval = "eval",
    }
}

named! {
    /// What is revoked for an update at the LLC: `RVKO_GRAN`.
    Rvko {
        /// All words of the line that the owner has.
        Line = "line",
        /// The words updated.
        Word = "word",
    }
}

named! {
    /// What a bank keeps of sharers: `SHARER_MODE`.
    Sharers {
        /// A bit for each.
        Exact = "exact",
        /// Nothing.
        Broadcast = "broadcast",
    }
}

named! {
    /// When buffered stores leave an L1: `sb_drain`.
    Drain {
        /// At a release, and the oldest while the buffer is full.
        Full = "full",
        /// The oldest while it is three quarters full, too.
        Highwater = "highwater",
        /// As soon as they can.
        Eager = "eager",
    }
}

impl Opred {
    /// The hardware's word for it.
    pub(super) fn prediction(self) -> weft_spandex::tu_flex::Opred {
        match self {
            Opred::Off => weft_spandex::tu_flex::Opred::Off,
            Opred::Oracle => weft_spandex::tu_flex::Opred::Oracle,
            Opred::Table => weft_spandex::tu_flex::Opred::Table,
        }
    }
}

impl Local {
    /// The compute units' word for it.
    pub(super) fn memory(self) -> LocalMemory {
        match self {
            Local::Scratchpad => LocalMemory::Scratchpad,
            Local::Dma => LocalMemory::Dma,
            Local::Stash => LocalMemory::Stash,
        }
    }
}

impl Reqs {
    /// The hardware's word for it.
    pub(super) fn policy(self) -> ReqsPolicy {
        match self {
            Reqs::Opt1 => ReqsPolicy::Opt1,
            Reqs::Opt2 => ReqsPolicy::Opt2,
            Reqs::Opt3 => ReqsPolicy::Opt3,
            Reqs::Eval => ReqsPolicy::Eval,
        }
    }
}

impl Rvko {
    /// The hardware's word for it.
    pub(super) fn gran(self) -> RvkoGran {
        match self {
            Rvko::Line => RvkoGran::Line,
            Rvko::Word => RvkoGran::Word,
        }
    }
}

impl Sharers {
    /// The hardware's word for it.
    pub(super) fn mode(self) -> SharerMode {
        match self {
            Sharers::Exact => SharerMode::Exact,
            Sharers::Broadcast => SharerMode::Broadcast,
        }
    }
}

impl Drain {
    /// The hardware's word for it.
    pub(super) fn drain(self) -> SbDrain {
        match self {
            Drain::Full => SbDrain::Full,
            Drain::Highwater => SbDrain::Highwater,
            Drain::Eager => SbDrain::Eager,
        }
    }
}

keys! {
    /// Keys of the family beside the common ones (spandex.md section 1); the default is the published system.
    SpandexKeys {
        System {
            protocol: SpandexProtocol = SpandexProtocol::SMesiGpu, "", OneOf(SpandexProtocol::NAMES), "the L1s of CPU cores and CUs";
            devices: Devices = Devices::default(), "", Form("KIND@DEVICE or KIND@FIRST..LAST, several separated by blanks"), "devices of other protocols in the place of L1s, by number, CPU cores first; their kinds are those that a program of one's own adds";
            cpus: u32 = 8, "cores", Within(0, 64), "CPU cores, beside the CUs; of several GPUs each has as many";
            cpu_mlp: u32 = 1, "accesses", Within(1, 8), "accesses of a CPU core under way";
            local_memory: Local = Local::Scratchpad, "", OneOf(Local::NAMES), "what local memory a CU has, of lds_bytes in lds_banks: a scratchpad, or one with a DMA engine, whose requests the LLC serves (READ and WRITE of ReqWT+data) and the L1 keeps no copy of; a stash, whose words are mapped to memory and owned one by one";
            cu_ticks: u32 = 7, "ticks", Within(1, 20), "ticks of a CU in 20 cycles of the CPU cores' clock, which is the fabric's";
        }
        Coherence {
            n_fail: u32 = 1, "Nacks", Within(1, 7), "Nacks of a read before its words are asked for by an update at the LLC (N_FAIL)";
            reqs_policy: Reqs = Reqs::Eval, "", OneOf(Reqs::NAMES), "how the LLC answers ReqS (REQS_POLICY)";
            rvko_gran: Rvko = Rvko::Line, "", OneOf(Rvko::NAMES), "what is revoked for an update at the LLC (RVKO_GRAN)";
            flex_rsp: bool = true, "", Switch, "who answers a read adds what else it has of the line (FLEX_RSP)";
            sharer_mode: Sharers = Sharers::Exact, "", OneOf(Sharers::NAMES), "what the LLC keeps of sharers (SHARER_MODE)";
            sb_drain: Drain = Drain::Full, "", OneOf(Drain::NAMES), "when buffered stores leave an L1";
            release_holds: bool = false, "", Switch, "while an operation of an L1 with GPU coherence, DeNovo or Flex waits for a release, the L1 takes no stores (pending release), nor atomics of CU scope that it does itself";
            denovo_atomics: DenovoAtomics = DenovoAtomics::Protocol, "", OneOf(DenovoAtomics::NAMES), "where a DeNovo L1 does atomics on words that it does not own";
            ro_regions: bool = false, "", Switch, "lines of read-only arrays outlive acquires in DeNovo L1s";
            opred: Opred = Opred::Oracle, "", OneOf(Opred::NAMES), "who guesses owners under s-flex-pred: the LLC itself (oracle, simulation only), a table in each translation unit, nobody";
            inject: SpandexSlip = SpandexSlip::None, "", OneOf(SpandexSlip::NAMES), "a fault of a block, to try the checks; simulation only";
        }
        Caches {
            l1_size: u32 = 32768, "bytes", Within(256, M), "data of an L1";
            l1_ways: u32 = 8, "ways", Power(2, 32), "ways of an L1";
            l1_latency: u32 = 1, "cycles", Within(1, 64), "hit time of an L1";
            l1_mshrs: u32 = 128, "MSHRs", Within(1, 256), "misses of an L1 under way (N_MSHR)";
            l1_targets: u32 = 8, "loads", Within(1, 64), "loads of an L1 that wait for one line";
            l1_sb: u32 = 128, "lines", Within(1, 256), "store buffer of an L1 (SB)";
            l1_wbb: u32 = 16, "lines", Within(1, 64), "write-back buffer of an L1 (N_WBB)";
            l1_releases: u32 = 8, "operations", Within(1, 64), "operations of an L1 that wait for a release";
            banks: u32 = 16, "banks", Power(1, 64), "LLC banks of a GPU, line interleaved (N_BANK)";
            llc_size: u64 = 8 * M, "bytes", Within(1024, G), "data of all LLC banks of a GPU";
            llc_ways: u32 = 16, "ways", Power(2, 16), "ways of an LLC bank";
            llc_latency: u32 = 6, "cycles", Within(0, 64), "time of a request before an LLC bank's pipeline";
            llc_data_latency: u32 = 3, "cycles", Within(0, 64), "time of an answer behind it; forwards to owners have none";
            llc_tbes: u32 = 16, "entries", Within(1, 64), "transactions of an LLC bank under way (N_TBE)";
            llc_stalls: u32 = 32, "requests", Within(1, 256), "requests of an LLC bank that wait for blocked lines (N_STALL)";
            gpu_l2_size: u64 = 4 * M, "bytes", Within(1024, G), "h-...: data of all GPU L2 banks; the LLC is the L3, a GPU L2 bank stands by each of its banks";
            gpu_l2_ways: u32 = 16, "ways", Power(2, 16), "h-...: ways of a GPU L2 bank";
        }
        Links {
            mesh: u32 = 4, "columns", Within(1, 16), "columns of the mesh of a GPU";
            mesh_rows: u32 = 4, "rows", Within(1, 16), "rows of the mesh of a GPU";
            hop: u32 = 3, "cycles", Within(1, 8), "time of a hop; 16 bytes per cycle and link";
            ni: u32 = 0, "cycles", Within(0, 64), "time of a message at the interface of its sender";
            controllers: u32 = 4, "controllers", Power(1, 4), "memory controllers of a GPU at corners of its mesh, line interleaved; at most one per bank";
            link_bytes: u32 = 10, "bytes/cycle", Within(1, 512), "bandwidth of each link between GPUs and direction; a GPU has one at each row of its mesh, of which no more than 16 can be used";
            link_latency: u32 = 280, "cycles", Within(4, 8 * K), "time one way from GPU to GPU, an even number: half to the switch, half from it";
            link_credits: u32 = 64, "messages", Within(1, K), "places per virtual network in the buffer at the end of each wire between GPUs";
        }
        Energy {
            energy_instruction: u32 = 20, "units", Within(0, M), "energy proxy: an operation of a wave; only ratios of such numbers mean something";
            energy_lds: u32 = 6, "units", Within(0, M), "energy proxy: an access of the banks of a scratchpad";
            energy_l1: u32 = 10, "units", Within(0, M), "energy proxy: an access of an L1";
            energy_llc: u32 = 40, "units", Within(0, M), "energy proxy: an access of an LLC bank, which is the L2 of the flat GPU";
            energy_hop: u32 = 5, "units", Within(0, M), "energy proxy: a flit over a link of a mesh";
        }
    }
}
