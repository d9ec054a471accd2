//! Parameters of a compute unit (`cu-and-consistency.md` section 1).

use serde::{Deserialize, Serialize};
use weft_workload::{Class, Kernel, LocalMemory};

use super::error::CuError;
use super::pace::Pace;

/// Which ready wave of an issue slot goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CuPolicy {
    /// The oldest wave: least (work-group launch number, wave in its work-group).
    #[default]
    Oldest,
    /// Greedy, then oldest: the wave that issued last while it is ready, else the oldest.
    Gto,
    /// The next wave in turn.
    RoundRobin,
}

/// Sizes and rates of a compute unit. The default is the column "REC" of section 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CuParams {
    /// Lanes of a wave, 1..=64.
    pub lanes: u32,
    /// Lanes that an execution unit takes per tick, 1..=64.
    pub alu_width: u32,
    /// Resident waves, 1..=256.
    pub waves: u32,
    /// Resident work-groups, 1..=64.
    pub blocks: u32,
    /// Issue slots, 1..=8; wave slot `w` belongs to issue slot `w mod issue_slots`.
    pub issue_slots: u32,
    /// Order of ready waves.
    pub policy: CuPolicy,
    /// Scratchpad bytes, 0..=262144.
    pub lds_bytes: u32,
    /// What the local memory is.
    pub local: LocalMemory,
    /// Scratchpad banks of 4-byte words, a power of two, 1..=128.
    pub lds_banks: u32,
    /// Line accesses that the load-store unit makes per tick, 1..=4.
    pub lsu_rate: u32,
    /// Operations that wait in the load-store unit, 1..=16.
    pub lsu_depth: u32,
    /// Ticks without operations after a branch, 0..=16.
    pub refill: u32,
    /// Line accesses of one wave in flight, 1..=256.
    pub wave_mem: u32,
    /// A wave that has been ready for so many ticks goes first once, >= 16; `None` = never.
    pub starve: Option<u32>,
    /// Ticks from the dispatch of a work-group to its first operation, 0..=65535.
    pub launch: u32,
    /// Bytes of a line, 64 or 128.
    pub line: u32,
    /// GPMs of a GPU: how the unit's node is called in sentences.
    pub gpms: u32,
    /// Its ticks in the fabric's cycles.
    pub pace: Pace,
}

impl Default for CuParams {
    fn default() -> Self {
        Self {
            lanes: 64,
            alu_width: 16,
            waves: 40,
            blocks: 16,
            issue_slots: 4,
            policy: CuPolicy::Oldest,
            lds_bytes: 64 << 10,
            local: LocalMemory::Scratchpad,
            lds_banks: 32,
            lsu_rate: 1,
            lsu_depth: 4,
            refill: 2,
            wave_mem: 64,
            starve: Some(1024),
            launch: 10,
            line: 64,
            gpms: 1,
            pace: Pace::default(),
        }
    }
}

impl CuParams {
    /// A CPU core (section 1.4) at lines of these bytes: one thread of one lane, in order, an operation per tick, at most `mlp` (1..=8) accesses under way.
    pub fn core(line: u32, mlp: u32) -> CuParams {
        CuParams {
            lanes: 1,
            alu_width: 1,
            waves: 1,
            blocks: 1,
            issue_slots: 1,
            lds_bytes: 0,
            lsu_depth: 1,
            refill: 0,
            wave_mem: mlp,
            launch: 0,
            line,
            ..CuParams::default()
        }
    }

    /// Checks every value against its legal range.
    ///
    /// # Errors
    /// The first illegal value, with its key and legal range.
    pub fn validate(&self) -> Result<(), CuError> {
        let ranges = [
            ("lanes", self.lanes, 1, 64),
            ("alu_width", self.alu_width, 1, 64),
            ("waves", self.waves, 1, 256),
            ("blocks", self.blocks, 1, 64),
            ("issue_slots", self.issue_slots, 1, 8),
            ("lds_bytes", self.lds_bytes, 0, 256 << 10),
            ("lsu_rate", self.lsu_rate, 1, 4),
            ("lsu_depth", self.lsu_depth, 1, 16),
            ("refill", self.refill, 0, 16),
            ("wave_mem", self.wave_mem, 1, 256),
            ("launch", self.launch, 0, 65_535),
        ];
        for (key, value, min, max) in ranges {
            if !(min..=max).contains(&value) {
                return Err(CuError::param(key, value, format!("a whole number {min}..{max}")));
            }
        }
        if !self.lds_banks.is_power_of_two() || self.lds_banks > 128 {
            return Err(CuError::param("lds_banks", self.lds_banks, "a power of two 1..128".to_owned()));
        }
        if !matches!(self.line, 64 | 128) {
            return Err(CuError::param("line", self.line, "64 or 128".to_owned()));
        }
        let Pace { ticks, cycles } = self.pace;
        if !(1..=1000).contains(&cycles) || !(1..=cycles).contains(&ticks) {
            return Err(CuError::param("pace", ticks, format!("1..{cycles} ticks in 1..1000 cycles")));
        }
        match self.starve {
            Some(ticks) if ticks < 16 => {
                Err(CuError::param("starve", ticks, "a whole number of at least 16, or off".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Work-groups of `kernel` that can be resident at once; 0 when not even one fits.
    pub fn capacity(&self, kernel: &Kernel) -> u32 {
        let by_waves = self.waves / kernel.waves_per_block.max(1);
        let by_lds = self.lds_bytes.checked_div(kernel.lds_bytes).unwrap_or(u32::MAX);
        self.blocks.min(by_waves).min(by_lds)
    }

    /// Ticks for which an operation holds its unit when the program does not say.
    pub fn default_occupancy(&self) -> u32 {
        self.lanes.div_ceil(self.alu_width)
    }
}

/// The consistency model of a run (section 1.3), which turns a program's classes into effective ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Model {
    /// Every access waits until the wave's previous one is performed.
    Sc,
    /// Every atomic access is paired.
    #[default]
    Drf0,
    /// Relaxed classes become unpaired.
    Drf1,
    /// All classes as the program says.
    Drfrlx,
}

/// What an L1 takes of accesses of a class other than D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Atomics {
    /// Loads and stores as of data, which the L1 orders by messages beside them; read-modify-writes on 4 or 8 bytes.
    #[default]
    Data,
    /// Words of 4 bytes, of loads and stores several in an access; no floating-point additions.
    Words,
    /// One word of 4 or 8 bytes in an access.
    Word,
}

impl Atomics {
    /// Sizes in bytes, for sentences, and whether one is among them, of a read-modify-write or of a load or store.
    ///
    /// # Errors
    /// What is legal, as words, if it is not.
    pub fn takes(self, rmw: bool, size: u8) -> Result<(), &'static str> {
        let (legal, text): (&[u8], _) = match (self, rmw) {
            (Atomics::Data, false) => (&[1, 2, 4, 8], "1, 2, 4 or 8"),
            (Atomics::Words, true) => (&[4], "4"),
            _ => (&[4, 8], "4 or 8"),
        };
        if legal.contains(&size) { Ok(()) } else { Err(text) }
    }
}

/// A fault of the waiting rules, put in on purpose: what litmus tests and the checks of a run must find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CuFault {
    /// None.
    #[default]
    None,
    /// An unpaired or relaxed atomic access does not wait for the end of the paired access or fence before it.
    RelaxedOvertakes,
}

/// What the fabric around a compute unit promises and understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CuMode {
    /// Consistency model.
    pub model: Model,
    /// Scopes are honoured; otherwise every synchronisation is of system scope.
    pub scopes: bool,
    /// The L1 takes atomics on several words of a line in one access; otherwise one word per access.
    pub wide_amo: bool,
    /// What the L1 takes of accesses of a class other than D.
    pub atomics: Atomics,
    /// Every store asks for an acknowledgement, so that it is complete for its wave when it is performed; otherwise only paired ones and those of model `sc`.
    pub acks: bool,
    /// The memory answers a store when it has accepted it, not when it is performed as far as its scope (the L2s of rec.md section 6.1): what section 1.3 says of
    /// a paired store, *performed; then on*, is then up to a release. It is sent before the wave's next atomic access, the first that can tell: data come
    /// later than the store only for who has synchronised with this wave since, and that takes a release anyway.
    pub posted: bool,
    /// The L1 releases and acquires as part of a paired access (`sem`, `scope`); otherwise the compute unit sends a release before it and an acquire after it.
    pub fused: bool,
    /// Fault.
    pub fault: CuFault,
}

impl CuMode {
    /// Effective class of an access of class `class`.
    pub fn effective(&self, class: Class) -> Class {
        match (self.model, class) {
            (Model::Sc, _) | (_, Class::D) => Class::D,
            (Model::Drf0, _) => Class::P,
            (Model::Drf1, Class::C | Class::N | Class::S | Class::Q) => Class::U,
            (Model::Drf1 | Model::Drfrlx, own) => own,
        }
    }
}
