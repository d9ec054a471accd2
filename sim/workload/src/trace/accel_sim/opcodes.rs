//! What instructions do with memory, and how long others take: sm_70 to sm_100, by their names in NVIDIA's
//! list of machine instructions (CUDA Binary Utilities, chapter "Instruction Set Reference").

use crate::op::{AmoKind, Unit};

/// Which memory an instruction's addresses are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory.
    Global,
    /// Any: the windows in the header of the kernel say which, lane by lane.
    Generic,
    /// A thread's own.
    Local,
    /// The scratchpad of the block ("shared memory").
    Scratchpad,
}

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Loads.
    Load(Space),
    /// Stores.
    Store(Space),
    /// Reads, changes and writes, and gives the old value.
    Atomic(Space),
    /// Reads, changes and writes; nothing waits for it.
    Reduction(Space),
    /// The same for a whole warp at one address, behind a release.
    Release,
    /// Stores for a whole warp at one address, behind a release.
    StoreRelease,
    /// Loads rows of 16 bytes from the scratchpad, whose addresses are in the first lanes.
    LoadMatrix,
    /// Stores such rows.
    StoreMatrix,
    /// Loads from global memory and stores into the scratchpad when the data are there.
    Copy,
    /// Reads constants: one tick of the memory path.
    Constant,
    /// A hint to caches, or a question about an address: no bytes move.
    Hint,
    /// Moves bytes of global memory that the trace does not name; the sentence says why.
    Untold(&'static str),
}

const DESCRIPTOR: &str = "its addresses are in a descriptor, which a trace does not hold";
const TEXELS: &str = "it names texels, not addresses";

/// Instructions that have to do with memory.
pub const MEMORY: &[(&str, Does)] = &[
    ("LD", Does::Load(Space::Generic)),
    ("LDG", Does::Load(Space::Global)),
    ("LDL", Does::Load(Space::Local)),
    ("LDS", Does::Load(Space::Scratchpad)),
    ("LDSM", Does::LoadMatrix),
    ("LDGSTS", Does::Copy),
    ("ST", Does::Store(Space::Generic)),
    ("STG", Does::Store(Space::Global)),
    ("STL", Does::Store(Space::Local)),
    ("STS", Does::Store(Space::Scratchpad)),
    ("STSM", Does::StoreMatrix),
    // Scratchpads of other blocks of a cluster are timed as the own one.
    ("STAS", Does::Store(Space::Scratchpad)),
    ("REDAS", Does::Atomic(Space::Scratchpad)),
    ("ATOM", Does::Atomic(Space::Generic)),
    ("ATOMG", Does::Atomic(Space::Global)),
    ("ATOMS", Does::Atomic(Space::Scratchpad)),
    ("RED", Does::Reduction(Space::Generic)),
    ("REDG", Does::Reduction(Space::Generic)),
    ("UREDGR", Does::Release),
    ("USTGR", Does::StoreRelease),
    // Barriers in the scratchpad.
    ("SYNCS", Does::Atomic(Space::Scratchpad)),
    ("ARRIVES", Does::Atomic(Space::Scratchpad)),
    ("UMEMSETS", Does::Store(Space::Scratchpad)),
    ("LDC", Does::Constant),
    ("LDCU", Does::Constant),
    ("ULDC", Does::Constant),
    ("CS2UR", Does::Constant),
    ("CCTL", Does::Hint),
    ("CCTLL", Does::Hint),
    ("CCTLT", Does::Hint),
    ("UTMACCTL", Does::Hint),
    ("UTMACMDFLUSH", Does::Hint),
    ("UBLKPF", Does::Hint),
    ("UTMAPF", Does::Hint),
    ("QSPC", Does::Hint),
    // Tensor memory belongs to a compute unit, and what is copied there comes from the scratchpad.
    ("LDT", Does::Hint),
    ("LDTM", Does::Hint),
    ("STT", Does::Hint),
    ("STTM", Does::Hint),
    ("UTCCP", Does::Hint),
    ("UTCBAR", Does::Hint),
    ("UTCATOMSWS", Does::Hint),
    ("UBLKCP", Does::Untold(DESCRIPTOR)),
    ("UBLKRED", Does::Untold(DESCRIPTOR)),
    ("UTMALDG", Does::Untold(DESCRIPTOR)),
    ("UTMASTG", Does::Untold(DESCRIPTOR)),
    ("UTMAREDG", Does::Untold(DESCRIPTOR)),
    ("LDGMC", Does::Untold("it reduces over the memories of several GPUs at a multicast address")),
    ("TEX", Does::Untold(TEXELS)),
    ("TLD", Does::Untold(TEXELS)),
    ("TLD4", Does::Untold(TEXELS)),
    ("TXD", Does::Untold(TEXELS)),
    ("SULD", Does::Untold(TEXELS)),
    ("SUST", Does::Untold(TEXELS)),
    ("SUATOM", Does::Untold(TEXELS)),
    ("SURED", Does::Untold(TEXELS)),
];

/// What an instruction does with memory; `None` for one that is not in [`MEMORY`].
pub fn memory(name: &str) -> Option<Does> {
    MEMORY.iter().find(|(known, _)| *known == name).map(|(_, does)| *does)
}

/// The operation that an atomic's modifiers name; addition if they name none.
pub(super) fn amo(parts: &[&str]) -> AmoKind {
    let kinds = [
        ("ADD", AmoKind::Add),
        ("INC", AmoKind::Inc),
        ("DEC", AmoKind::Dec),
        ("AND", AmoKind::And),
        ("OR", AmoKind::Or),
        ("XOR", AmoKind::Xor),
        ("MIN", AmoKind::Min),
        ("MAX", AmoKind::Max),
        ("EXCH", AmoKind::Exch),
        ("CAS", AmoKind::Cas),
    ];
    let named = |part: &&str| kinds.iter().find(|(name, _)| *name == *part).map(|(_, kind)| *kind);
    parts.iter().find_map(named).unwrap_or(AmoKind::Add)
}

/// Opcode prefixes, their unit, and ticks until the result. The longest prefix counts.
pub const LATENCIES: &[(&str, Unit, u32)] = &[
    ("MUFU", Unit::Sfu, 16),
    ("I2F", Unit::Sfu, 8),
    ("F2I", Unit::Sfu, 8),
    ("F2F", Unit::Sfu, 8),
    ("DADD", Unit::Alu, 8),
    ("DMUL", Unit::Alu, 8),
    ("DFMA", Unit::Alu, 8),
    ("DSETP", Unit::Alu, 8),
    ("HMMA", Unit::Alu, 16),
    ("IMMA", Unit::Alu, 16),
    ("S2R", Unit::Mem, 12),
    ("S2UR", Unit::Mem, 12),
    ("SHFL", Unit::Mem, 12),
    ("LDC", Unit::Mem, 1),
    ("ULDC", Unit::Mem, 1),
    ("IMAD", Unit::Alu, 4),
    ("UIMAD", Unit::Alu, 4),
    ("IADD", Unit::Alu, 4),
    ("UIADD", Unit::Alu, 4),
    ("VIADD", Unit::Alu, 4),
    ("ISETP", Unit::Alu, 4),
    ("LEA", Unit::Alu, 4),
    ("LOP3", Unit::Alu, 4),
    ("PLOP3", Unit::Alu, 4),
    ("ULOP3", Unit::Alu, 4),
    ("SHF", Unit::Alu, 4),
    ("USHF", Unit::Alu, 4),
    ("MOV", Unit::Alu, 4),
    ("UMOV", Unit::Alu, 4),
    ("SEL", Unit::Alu, 4),
    ("PRMT", Unit::Alu, 4),
    ("IABS", Unit::Alu, 4),
    ("IMNMX", Unit::Alu, 4),
    ("FADD", Unit::Alu, 4),
    ("FMUL", Unit::Alu, 4),
    ("FFMA", Unit::Alu, 4),
    ("FSETP", Unit::Alu, 4),
    ("FMNMX", Unit::Alu, 4),
    ("FSEL", Unit::Alu, 4),
    ("HFMA2", Unit::Alu, 4),
    ("HADD2", Unit::Alu, 4),
    ("HMUL2", Unit::Alu, 4),
    ("NOP", Unit::Alu, 1),
    ("EXIT", Unit::Alu, 1),
    ("WARPSYNC", Unit::Alu, 1),
    ("BSSY", Unit::Alu, 1),
];

/// Opcodes after which the next instruction is not known at once.
pub(super) const BRANCHES: &[&str] = &["BRA", "BRX", "JMP", "JMX", "CALL", "RET", "BSYNC", "BREAK"];
