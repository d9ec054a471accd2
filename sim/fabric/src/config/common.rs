//! The keys that every family of fabrics has, and what they stand for.

use super::group::keys;
use super::value::Legal::{OneOf, Power, Real, Switch, Within, WithinOrOff};
use super::value::{CtaSchedule, G, K, M, Named, Placement, Runtime, size};
use super::{ConfigError, FabricConfig};
use crate::cu::{CuFault, CuMode, CuParams, CuPolicy, Model, Pace};

keys! {
    /// Keys of every family (rec.md sections 9 and 10, cu-and-consistency.md section 1): topology, DRAM, placement, compute units, checks. The default is that of
    /// the published REC system; a family may have another one, or other legal values ([`crate::family::Family::adapt`]).
    Common {
        System {
            gpus: u32 = 4, "GPUs", Within(1, 16), "GPUs in the system";
            gpms: u32 = 1, "GPMs", Power(1, 8), "modules of a GPU, each with CUs, L2, directory and DRAM of its own; what other keys count per GPU they count per GPM; 2 to 64 in the system";
            addr_bits: u32 = 48, "bits", Within(32, 64), "bits of a physical byte address";
            line: u32 = 64, "bytes", Power(64, 128), "cache line";
            clock_ghz: f64 = 1.0, "GHz", Real(0.01, 100.0), "clock of everything, for rates in bytes per second";
        }
        Units {
            cus: u32 = 64, "CUs", Within(1, 256), "compute units per GPU, each with an L1";
        }
        Links {
            host_link_bytes: u32 = 0, "bytes/cycle", Within(0, K), "bandwidth of the host's link to each GPU and direction: before the first kernel input arrays are copied over it, after the last one all that kernels may write; 0: no copies";
            host_link_latency: u32 = 140, "cycles", Within(1, 64 * K), "time through the switch of such a copy; recorded with host_link_bytes";
        }
        Memory {
            dram_bytes: u64 = 4 * G, "bytes", Power(64 * K, 1 << 60), "DRAM per GPU; home GPU of an address = address / dram_bytes";
            dram_banks: u32 = 16, "banks", Within(1, 4096), "DRAM banks per GPU, divided evenly among its channels (one per L2 bank)";
            dram_bandwidth: u32 = 64, "bytes/cycle", Within(1, K), "bandwidth of each DRAM channel";
            dram_latency: u32 = 100, "cycles", Within(1, 64 * K), "time of a DRAM read on an idle channel";
            dram_bank_busy: u32 = 1, "cycles", Within(1, 4 * K), "time for which an access occupies its DRAM bank";
            dram_queue: u32 = 32, "requests", Within(1, K), "requests that wait in a DRAM channel";
        }
        Programs {
            placement: Placement = Placement::PageRr, "", OneOf(Placement::OF_ALL), "where a program's pages lie; first-touch: at the node of the first CU that accesses them";
            placement_written: Placement = Placement::Same, "", OneOf(Placement::OF_WRITTEN), "where pages of arrays lie that kernels write, if elsewhere than the others; recorded then";
            page: u32 = 4096, "bytes", Power(512, 64 * M), "page";

            lanes: u32 = 64, "lanes", Within(1, 64), "lanes of a wave";
            alu_width: u32 = 16, "lanes", Within(1, 64), "lanes that an arithmetic unit serves per cycle";
            waves: u32 = 40, "waves", Within(1, 256), "waves resident in a CU";
            blocks: u32 = 16, "blocks", Within(1, 64), "work-groups resident in a CU";
            issue_slots: u32 = 4, "slots", Within(1, 8), "issue slots (SIMDs) of a CU";
            cu_policy: CuPolicy = CuPolicy::Oldest, "", OneOf(CuPolicy::NAMES), "which ready wave issues";
            lds_bytes: u32 = 65536, "bytes", Within(0, 256 * K), "scratchpad of a CU";
            lds_banks: u32 = 32, "banks", Power(1, 128), "scratchpad banks";
            lsu_rate: u32 = 1, "accesses/cycle", Within(1, 4), "line accesses that a CU sends to its L1 per cycle";
            lsu_depth: u32 = 4, "instructions", Within(1, 16), "memory instructions that wait in a CU";
            refill: u32 = 2, "cycles", Within(0, 16), "cycles after a branch until the wave may issue";
            wave_mem: u32 = 64, "accesses", Within(1, 256), "line accesses in flight per wave";
            starve: Option<u32> = Some(1024), "cycles", WithinOrOff(16, G), "a wave ready for so long goes first once";
            launch: u32 = 10, "cycles", Within(0, 65_535), "cycles from the dispatch of a work-group until its waves may issue";
            runtime: Runtime = Runtime::Keys, "", OneOf(Runtime::NAMES), "what a call of the host takes: the keys call_launch, call_copy and call_sync, or, of cuda, 0.9, 6 and 5.8 us; recorded if it takes anything";
            call_launch: u32 = 0, "cycles", Within(0, 16 * M), "a kernel's launch by the host, before its first work-group is dispatched; see runtime";
            call_copy: u32 = 0, "cycles", Within(0, 16 * M), "a copy's call, before its first byte; see runtime";
            call_sync: u32 = 0, "cycles", Within(0, 16 * M), "from the end of a kernel or copy until the host goes on; see runtime";
            cta_schedule: CtaSchedule = CtaSchedule::Contiguous, "", OneOf(CtaSchedule::NAMES), "which GPU, and with rr-cu which CU, runs a work-group";

            model: Model = Model::Drf0, "", OneOf(Model::NAMES), "consistency model that the CUs keep";
            scopes: bool = false, "", Switch, "scopes of synchronisation are honoured; else all are of system scope";
        }
        Checks {
            checks: bool = true, "", Switch, "scoreboards watch the run";
            gsi: bool = true, "", Switch, "every tick of a CU is told by what keeps it from issuing";
            inject_cu: CuFault = CuFault::None, "", OneOf(CuFault::NAMES), "a fault of the CUs' waiting rules, to try the checks; with model drf1 or drfrlx, which have relaxed atomics; recorded if there is one";
            watchdog: Option<u32> = Some(100_000), "cycles", WithinOrOff(K, G), "cycles without progress after which the run is called stuck";
        }
    }
}

impl Common {
    /// GPUs, or GPMs of all GPUs: what has CUs of its own.
    pub fn nodes(&self) -> u32 {
        self.gpus * self.gpms
    }

    /// Bytes of DRAM in the whole system.
    pub fn memory_bytes(&self) -> u128 {
        u128::from(self.dram_bytes) * u128::from(self.nodes())
    }

    /// The compute units.
    pub fn cu(&self) -> CuParams {
        CuParams {
            lanes: self.lanes,
            alu_width: self.alu_width,
            waves: self.waves,
            blocks: self.blocks,
            issue_slots: self.issue_slots,
            policy: self.cu_policy,
            lds_bytes: self.lds_bytes,
            lds_banks: self.lds_banks,
            lsu_rate: self.lsu_rate,
            lsu_depth: self.lsu_depth,
            refill: self.refill,
            wave_mem: self.wave_mem,
            starve: self.starve,
            launch: self.launch,
            line: self.line,
            gpms: self.gpms,
            pace: Pace::default(),
            local: weft_workload::LocalMemory::Scratchpad,
        }
    }

    /// What the compute units keep to, with stores that nobody waits for unacknowledged; `wide_amo`: their L1s take atomics on several words of a line at a time.
    pub fn mode(&self, wide_amo: bool) -> CuMode {
        CuMode {
            model: self.model,
            scopes: self.scopes,
            wide_amo,
            fault: self.inject_cu,
            ..CuMode::default()
        }
    }
}

impl FabricConfig {
    /// What the common keys must be together.
    pub(super) fn check_common(&self) -> Result<(), ConfigError> {
        let common = &self.common;
        self.ensure(
            common.page >= common.line,
            "page",
            "it is smaller than a line",
            format!("a power of two in {}..64M", common.line),
        )?;
        self.ensure(
            u64::from(common.page) <= common.dram_bytes,
            "page",
            "it is larger than the memory of a GPU",
            format!("at most {}", size(common.dram_bytes)),
        )?;
        let relaxed = matches!(common.model, Model::Drf1 | Model::Drfrlx);
        self.ensure(
            common.inject_cu == CuFault::None || relaxed,
            "inject_cu",
            "this model takes every atomic for a paired one, so that none is relaxed and nothing could show",
            "none, or one of the faults with model = drf1 or drfrlx",
        )?;
        self.ensure(
            common.placement_written == Placement::Same || common.placement != Placement::FirstTouch,
            "placement_written",
            "with placement = first-touch all pages lie where they are touched",
            "same with placement = first-touch",
        )?;
        let keys = [
            ("call_launch", common.call_launch),
            ("call_copy", common.call_copy),
            ("call_sync", common.call_sync),
        ];
        for (key, cycles) in keys {
            self.ensure(
                cycles == 0 || common.runtime == Runtime::Keys,
                key,
                &format!("calls of runtime = {} take times of their own", common.runtime.name()),
                "0, or another value with runtime = keys",
            )?;
        }
        let nowhere = common.placement == Placement::FirstTouch && common.host_link_bytes > 0;
        self.ensure(
            !nowhere,
            "host_link_bytes",
            "with placement = first-touch pages lie nowhere when the host copies them",
            "0 with placement = first-touch",
        )
    }
}
