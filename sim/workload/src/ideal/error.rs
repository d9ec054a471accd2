//! What a program did that no machine can run.

use thiserror::Error;

use crate::op::LaneMask;

/// What a program did that no machine can run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdealError {
    /// An address outside all memory.
    #[error("{who} accesses {size} bytes at {addr:#x}, expected an address below {end:#x}")]
    OutOfRange {
        /// Kernel, work-group and wave.
        who: String,
        /// Byte address.
        addr: u64,
        /// Bytes.
        size: u64,
        /// First address beyond the memory.
        end: u64,
    },
    /// An address that is no multiple of the size, or a size that does not exist.
    #[error("{who} accesses {size} bytes at {addr:#x}, expected a size of 1, 2, 4 or 8 and a multiple of it")]
    Unaligned {
        /// Kernel, work-group and wave.
        who: String,
        /// Byte address.
        addr: u64,
        /// Bytes.
        size: u64,
    },
    /// A lane beyond the wave.
    #[error("{who} activates lanes {mask:#x}, expected at most {lanes} lanes")]
    Lanes {
        /// Kernel, work-group and wave.
        who: String,
        /// Mask found.
        mask: LaneMask,
        /// Lanes of a wave.
        lanes: u32,
    },
    /// A hint that names no request, or one that cannot serve the access.
    #[error("{who} gives hint {hint} to {op}, expected a request of spandex.md section 8 that serves it")]
    Hint {
        /// Kernel, work-group and wave.
        who: String,
        /// Hint found.
        hint: u8,
        /// Load, store or atomic.
        op: &'static str,
    },
    /// A mapping that cannot be, or an access of a stash outside of every mapping.
    #[error("{who} maps {cause}")]
    Mapping {
        /// Kernel, work-group and wave.
        who: String,
        /// What is wrong, and what was expected.
        cause: String,
    },
    /// A step without operations, one that does not end in Await, Barrier or End, or one that goes on after these.
    #[error("{who} made a step with {found} at a wrong place, expected Await, Barrier or End to close it")]
    OpenStep {
        /// Kernel, work-group and wave.
        who: String,
        /// Operation at the wrong place.
        found: String,
    },
    /// Waves that wait for one another for ever.
    #[error(
        "{who} made {steps} steps without ending, expected fewer; its work-groups may wait for one another"
    )]
    Endless {
        /// Kernel, work-group and wave.
        who: String,
        /// Steps made.
        steps: u64,
    },
}

/// An error of a memory operation, before the wave's name is known.
pub(super) enum Fault {
    OutOfRange { addr: u64, size: u64, end: u64 },
    Unaligned { addr: u64, size: u64 },
    Lanes { mask: LaneMask, lanes: u32 },
    Hint { hint: u8, op: &'static str },
    Mapping { cause: String },
}

impl Fault {
    /// The error of wave `who`.
    pub(super) fn at(self, who: String) -> IdealError {
        match self {
            Self::OutOfRange { addr, size, end } => IdealError::OutOfRange { who, addr, size, end },
            Self::Unaligned { addr, size } => IdealError::Unaligned { who, addr, size },
            Self::Lanes { mask, lanes } => IdealError::Lanes { who, mask, lanes },
            Self::Hint { hint, op } => IdealError::Hint { who, hint, op },
            Self::Mapping { cause } => IdealError::Mapping { who, cause },
        }
    }
}
