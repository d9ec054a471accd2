//! What a user or a program can do wrong on a compute unit.

use thiserror::Error;

/// Errors of a compute unit. All but [`CuError::Param`], [`CuError::ProgramLanes`] and [`CuError::Snapshot`] appear while a
/// program runs; the compute unit stands still afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CuError {
    /// A parameter outside its legal range.
    #[error("compute unit: {key} = {value} is illegal, expected {legal}")]
    Param {
        /// Key.
        key: &'static str,
        /// Value found.
        value: u32,
        /// Legal values.
        legal: String,
    },
    /// A program whose waves are wider than the compute unit's.
    #[error("program {program} has {lanes} lanes per wave, expected at most the compute unit's {legal}")]
    ProgramLanes {
        /// Program.
        program: String,
        /// Its lanes.
        lanes: u32,
        /// Lanes of the compute unit.
        legal: u32,
    },
    /// A program for another local memory.
    #[error(
        "program {program} needs compute units with local memory {needs}, and these have {has}: set local_memory = \"{needs}\" on a fabric of family spandex, or give the program another memory (its parameter memory)"
    )]
    LocalMemory {
        /// Program.
        program: String,
        /// What it needs.
        needs: &'static str,
        /// What the compute unit has.
        has: &'static str,
    },
    /// The same of a single operation.
    #[error(
        "{who} maps its local memory for {needs}, and the compute unit has {has}; set local_memory = \"{needs}\""
    )]
    NoLocal {
        /// Kernel, work-group and wave.
        who: String,
        /// What the operation needs.
        needs: &'static str,
        /// What the compute unit has.
        has: &'static str,
    },
    /// A mapping that cannot be, or that not all waves have executed.
    #[error("{who} maps {cause}")]
    Mapping {
        /// Kernel, work-group and wave.
        who: String,
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// An access to a stash that cannot be.
    #[error("{who} accesses {cause}")]
    Stash {
        /// Kernel, work-group and wave.
        who: String,
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// A work-group that the compute unit cannot hold.
    #[error(
        "kernel {kernel} needs {waves} waves and {lds} scratchpad bytes per work-group, expected at most {max_waves} waves and {max_lds} bytes"
    )]
    NoRoom {
        /// Kernel.
        kernel: String,
        /// Waves of a work-group.
        waves: u32,
        /// Scratchpad bytes of a work-group.
        lds: u32,
        /// Waves free.
        max_waves: u32,
        /// Scratchpad bytes free.
        max_lds: u32,
    },
    /// A lane address that is no multiple of the access size, or an illegal size.
    #[error("{who} accesses {size} bytes at {addr:#x}, expected a size of 1, 2, 4 or 8 and a multiple of it")]
    Unaligned {
        /// Kernel, work-group and wave.
        who: String,
        /// Byte address.
        addr: u64,
        /// Bytes.
        size: u8,
    },
    /// An atomic access of a size that the caches do not perform.
    #[error("{who} makes an atomic access of {size} bytes, expected {legal} on this fabric")]
    AtomicSize {
        /// Kernel, work-group and wave.
        who: String,
        /// Bytes.
        size: u8,
        /// Sizes that they do.
        legal: &'static str,
    },
    /// A floating-point addition where caches do none.
    #[error("{who} adds floating-point numbers atomically, expected whole numbers on this fabric")]
    NoFloat {
        /// Kernel, work-group and wave.
        who: String,
    },
    /// A scratchpad address beyond the work-group's own bytes.
    #[error("{who} accesses {size} scratchpad bytes at {addr:#x}, expected an address below {end:#x}")]
    LdsRange {
        /// Kernel, work-group and wave.
        who: String,
        /// Byte address.
        addr: u64,
        /// Bytes.
        size: u8,
        /// Scratchpad bytes of the work-group.
        end: u64,
    },
    /// Active lanes beyond the wave.
    #[error("{who} activates lanes {mask:#x}, expected at most {lanes} lanes")]
    Lanes {
        /// Kernel, work-group and wave.
        who: String,
        /// Mask found.
        mask: u64,
        /// Lanes of a wave.
        lanes: u32,
    },
    /// A step without operations, not closed by Await, Barrier or End, or one that goes on after Barrier or End.
    #[error("{who} made a step with {found} at a wrong place, expected Await, Barrier or End to close it")]
    OpenStep {
        /// Kernel, work-group and wave.
        who: String,
        /// Operation found.
        found: String,
    },
    /// An answer that nothing waits for.
    #[error("the L1 of {at} cu {cu} answered transaction {id} with kind {kind}, expected {expected}")]
    Reply {
        /// Its node, in a sentence.
        at: String,
        /// Compute unit.
        cu: u32,
        /// Transaction number.
        id: u16,
        /// Kind of the answer.
        kind: u8,
        /// What was expected.
        expected: &'static str,
    },
    /// A saved state that does not belong to this compute unit.
    #[error(
        "the saved state of {at} cu {cu} is unusable: {cause}; restore from an intact snapshot of the same configuration"
    )]
    Snapshot {
        /// Its node, in a sentence.
        at: String,
        /// Compute unit.
        cu: u32,
        /// Reason.
        cause: String,
    },
}

impl CuError {
    pub(super) fn param(key: &'static str, value: u32, legal: String) -> Self {
        Self::Param { key, value, legal }
    }
}
