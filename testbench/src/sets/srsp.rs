//! Parameter sets of the blocks of sRSP and bRSP (srsp.md).

/// Each block of `weft_srsp::blocks`, in its order, with three parameter sets.
pub const SETS: &[(&str, [&str; 3])] = &[
    (
        "srsp-l1",
        [
            "size=256 ways=2 latency=2 sfifo=2 pa=1 targets=1 sq=1 cus=2 banks=2 mshrs=2 wbt=2 addr_bits=32",
            "impl=srsp-opt size=1K ways=4 latency=5 sfifo=5 pa=3 aff=8 targets=3 sq=2 cus=5 banks=1 mshrs=3 wbt=3 addr_bits=33",
            "impl=brsp size=512 line=128 ways=2 sfifo=4 targets=2 sq=3 cus=1 banks=4 mshrs=1 wbt=4 addr_bits=40",
        ],
    ),
    ("sfifo", ["entries=2 addr_bits=32 line=128", "entries=6", "entries=24 addr_bits=64"]),
    ("lr-tbl", ["entries=2 addr_bits=32", "entries=5", "entries=16 addr_bits=64"]),
    ("pa-tbl", ["entries=1 addr_bits=32", "entries=5", "entries=16 addr_bits=64"]),
];
