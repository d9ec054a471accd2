//! What a compute unit counts.

use serde::{Deserialize, Serialize};

/// Events of a compute unit since it was made. Operations are counted when they issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CuCounters {
    /// Operations of all kinds.
    pub instructions: u64,
    /// Compute operations.
    pub computes: u64,
    /// Global loads.
    pub loads: u64,
    /// Global stores.
    pub stores: u64,
    /// Global atomics.
    pub amos: u64,
    /// Fences.
    pub fences: u64,
    /// Scratchpad operations.
    pub lds_ops: u64,
    /// Ticks for which scratchpad operations held the load-store unit.
    pub lds_passes: u64,
    /// Mappings executed by waves.
    pub maps: u64,
    /// Line accesses of the DMA engine.
    pub dma_lines: u64,
    /// Passes of waves through the stash.
    pub stash_passes: u64,
    /// Waves that arrived at a barrier.
    pub barriers: u64,
    /// Barriers that opened although a wave of the work-group had ended (a warning, section 1.2).
    pub barriers_short: u64,
    /// Line accesses of loads.
    pub load_lines: u64,
    /// Line accesses of stores.
    pub store_lines: u64,
    /// Line accesses of atomics.
    pub amo_lines: u64,
    /// Releases sent by waves.
    pub releases: u64,
    /// Acquires sent by waves.
    pub acquires: u64,
    /// Answered line accesses of loads and atomics by server, the `src` of their last answer (section 1.1): 0 L1, 1 local
    /// L2, 2 another L1, 3 DRAM of the home, 4 L2 of another GPU, 5 DRAM behind another GPU, 6 middle level, 7 unused.
    pub served: [u64; 8],
    /// Those of `served` that a miss of another access answered.
    pub merged: u64,
    /// Work-groups ended.
    pub blocks: u64,
    /// Ticks in which at least one wave was resident; complete when none is.
    pub active_ticks: u64,
    /// Ticks in which at least one operation issued.
    pub issue_ticks: u64,
}

impl CuCounters {
    /// All line accesses.
    pub fn line_accesses(&self) -> u64 {
        self.load_lines + self.store_lines + self.amo_lines
    }
}
