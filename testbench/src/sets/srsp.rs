//! Parameter sets of the blocks of sRSP and bRSP (srsp.md).

/// Each block of `weft_srsp::blocks`, in its order, with three parameter sets.
pub const SETS: &[(&str, [&str; 3])] = &[
    ("sfifo", ["entries=2 addr_bits=32 line=128", "entries=6", "entries=24 addr_bits=64"]),
    ("lr-tbl", ["entries=2 addr_bits=32", "entries=5", "entries=16 addr_bits=64"]),
    ("pa-tbl", ["entries=1 addr_bits=32", "entries=5", "entries=16 addr_bits=64"]),
];
