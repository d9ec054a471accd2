//! Stall inspection (`cu-and-consistency.md` section 3): every tick of a compute unit has one class, from KBEGIN to the end
//! of the kernel.
//!
//! ```text
//!   head of each wave --Algorithm 1--> class --Algorithm 2, if nothing issues--> class of the tick
//!                                                 |  memory data: +1 to the blame of one operation, paid when it completes
//!                                                 |  memory structural: what blocks the load-store unit, or the L1's port
//! ```
//!
//! Ticks that the run loop leaves out have the class of the state that they leave alone: they are added when something
//! happens next. Nothing of it changes what the unit does.
//!
//! **Decisions** where the specification is silent: an access held back by the same-word rule, and END, wait for an access
//! and not for a token; behind a load or atomic that is memory data with this one blamed, behind a store memory
//! structural with what blocks the store, *other* when the L1 has taken it and its acknowledgement is awaited. Under model
//! `sc` the order of all accesses is synchronization. Lanes of an atomic on one word are *further line accesses of an
//! earlier instruction*, a bank conflict. An L1 that refuses an access without saying why is *other*, and so is what
//! keeps an access from the L1 (a page on its way, a fence of the node's L2). `kernel_flush` counts from the unit's KEND
//! to its acknowledgement; until the last unit's acknowledgement the unit is idle.

mod classify;

use serde::{Deserialize, Serialize};

pub(super) use classify::Gsi;

/// Class of a tick, in the order of Algorithm 2: that of the first cause which some wave has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StallClass {
    /// An operation issues.
    NoStall,
    /// The load-store unit cannot take a memory operation.
    MemoryStructural,
    /// A wave waits for an unanswered load or atomic.
    MemoryData,
    /// A pending acquire, release, fence or barrier, or the order of paired and unpaired accesses.
    Synchronization,
    /// The unit of a compute operation is occupied.
    ComputeStructural,
    /// A needed token belongs to an unfinished compute operation.
    ComputeData,
    /// The next operation is not available: dispatch, refill after a branch.
    Control,
    /// No wave is resident.
    Idle,
}

/// What blocks in a tick of class [`StallClass::MemoryStructural`], in the order of the specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Structural {
    /// A mapping under transfer.
    Dma,
    /// A store is held while a flush runs.
    Release,
    /// No free MSHR in the L1.
    Mshr,
    /// No free entry in the L1's store buffer.
    StoreBuffer,
    /// A bank or port, passes of the scratchpad, further line accesses of an earlier instruction.
    Bank,
    /// Back-pressure of links, `wave_mem`, everything else.
    #[default]
    Other,
}

impl Structural {
    /// What the status output `stall` of an L1 (section 1.1) says: 0 none, 1 mshr_full, 2 sb_full, 3 bank, 4 release, 5 dma, 6 other.
    pub fn of_status(stall: u64) -> Structural {
        match stall {
            1 => Structural::Mshr,
            2 => Structural::StoreBuffer,
            3 => Structural::Bank,
            4 => Structural::Release,
            5 => Structural::Dma,
            _ => Structural::Other,
        }
    }
}

/// Ticks of one or several compute units by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GsiCounts {
    /// All ticks, counted from the begin and the end of the inspection and not from the classes.
    pub ticks: u64,
    /// By [`StallClass`].
    pub classes: [u64; 8],
    /// Those of memory structural by [`Structural`].
    pub structural: [u64; 6],
    /// Those of memory data by where the blamed access was served: L1, coalescing with an earlier miss, L2, another L1, memory.
    pub data: [u64; 5],
    /// Of the L2's and memory's: behind another GPM or GPU (`src` 4 and 5).
    pub far: [u64; 2],
    /// Of the idle ones: from KEND to its acknowledgement.
    pub kernel_flush: u64,
    /// Of the idle ones: between kernels.
    pub between: u64,
}

/// Columns of [`GsiCounts::values`]: name and meaning.
pub const GSI_COLUMNS: [(&str, &str); 24] = [
    ("ticks", "ticks from the first kernel's begin to the last kernel's end"),
    ("no_stall", "ticks in which an operation issues"),
    ("memory_structural", "ticks in which the load-store unit cannot take a memory operation"),
    ("memory_data", "ticks in which a wave waits for an unanswered load or atomic"),
    (
        "synchronization",
        "ticks in which a wave waits for an acquire, release, fence, barrier or the order of atomics",
    ),
    ("compute_structural", "ticks in which a unit of a compute operation is occupied"),
    ("compute_data", "ticks in which a wave waits for an unfinished compute operation"),
    ("control", "ticks in which no operation is available: dispatch, refill after a branch"),
    ("idle", "ticks without a resident wave"),
    ("memory_structural.dma", "of memory_structural: a mapping under transfer"),
    ("memory_structural.release", "of memory_structural: a store held while a flush runs"),
    ("memory_structural.mshr", "of memory_structural: no free MSHR in the L1"),
    ("memory_structural.store_buffer", "of memory_structural: no free store-buffer entry in the L1"),
    (
        "memory_structural.bank",
        "of memory_structural: bank or port, scratchpad passes, further line accesses of an earlier instruction",
    ),
    ("memory_structural.other", "of memory_structural: back-pressure of links, wave_mem, everything else"),
    ("memory_data.l1", "of memory_data: served by the L1, or the scratchpad"),
    ("memory_data.coalescing", "of memory_data: served by a miss that another access had opened in the L1"),
    ("memory_data.l2", "of memory_data: served by an L2, LLC or middle level"),
    ("memory_data.remote_l1", "of memory_data: served by another L1"),
    ("memory_data.memory", "of memory_data: served by memory"),
    ("memory_data.far_l2", "of memory_data.l2: the L2 of another GPM or GPU"),
    ("memory_data.far_memory", "of memory_data.memory: behind another GPM or GPU"),
    ("kernel_flush", "of idle: from a unit's kernel end to its acknowledgement"),
    ("between_kernels", "of idle: between kernels"),
];

impl GsiCounts {
    /// The count of a class.
    pub fn of(&self, class: StallClass) -> u64 {
        self.classes[class as usize]
    }

    /// The count of what blocks.
    pub fn blocked_by(&self, what: Structural) -> u64 {
        self.structural[what as usize]
    }

    /// Numbers in the order of [`GSI_COLUMNS`].
    pub fn values(&self) -> [u64; 24] {
        let mut all = [0; 24];
        all[0] = self.ticks;
        all[1..9].copy_from_slice(&self.classes);
        all[9..15].copy_from_slice(&self.structural);
        all[15..20].copy_from_slice(&self.data);
        all[20..22].copy_from_slice(&self.far);
        (all[22], all[23]) = (self.kernel_flush, self.between);
        all
    }

    /// Adds the ticks of another unit or kernel.
    pub fn add(&mut self, other: &GsiCounts) {
        let sum = |to: &mut [u64], from: &[u64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        sum(&mut self.classes, &other.classes);
        sum(&mut self.structural, &other.structural);
        sum(&mut self.data, &other.data);
        sum(&mut self.far, &other.far);
        self.ticks += other.ticks;
        self.kernel_flush += other.kernel_flush;
        self.between += other.between;
    }

    /// Adds idle ticks between kernels.
    pub fn add_between(&mut self, ticks: u64) {
        self.ticks += ticks;
        self.between += ticks;
        self.classes[StallClass::Idle as usize] += ticks;
    }

    /// A memory-data stall of so many ticks is paid: the blamed access was served by `src` (section 1.1), or by the miss of another access.
    fn pay(&mut self, src: u8, merged: bool, ticks: u64) {
        let place = match src {
            _ if merged => 1,
            0 => 0,
            1 | 4 | 6 => 2,
            2 => 3,
            // 7: the host's memory, or another GPU's over RDMA.
            3 | 5 | 7 => 4,
            _ => return,
        };
        self.data[place] += ticks;
        if matches!(src, 4 | 5) && !merged {
            self.far[usize::from(src) - 4] += ticks;
        }
    }

    /// The sums of section 3: classes to ticks, subclasses to their class.
    ///
    /// # Errors
    /// The first sum that does not hold.
    pub fn check(&self) -> Result<(), String> {
        let sum = |parts: &[u64]| parts.iter().sum::<u64>();
        let idle = self.of(StallClass::Idle);
        let sums = [
            ("the classes", sum(&self.classes), "the ticks", self.ticks),
            (
                "the subclasses of memory structural stalls",
                sum(&self.structural),
                "their class",
                self.of(StallClass::MemoryStructural),
            ),
            (
                "the subclasses of memory data stalls",
                sum(&self.data),
                "their class",
                self.of(StallClass::MemoryData),
            ),
        ];
        for (parts, found, whole, expected) in sums {
            if found != expected {
                return Err(format!("{parts} sum to {found} and not to {whole}, {expected}"));
            }
        }
        if self.kernel_flush + self.between > idle {
            return Err(format!(
                "{} ticks of kernel flush and {} between kernels are more than the {idle} idle ones",
                self.kernel_flush, self.between
            ));
        }
        Ok(())
    }
}
